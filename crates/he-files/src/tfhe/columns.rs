//! Columns of integers: from CSV into ciphertexts and back.

use super::file::{Column, Reader, Writer};
use super::keys::Encryptor;
use super::note::{CONDITION, ColumnsNote, Integers, Pixels, sample_depth};
use crate::cipher_file::Written;
use crate::contents::numbers::Numbers;
use crate::contents::view::View;
use crate::data::kind::{Kind, PEEK};
use crate::data::picture::{Channels, Format, Picture, PictureBuilder};
use crate::data::table::{Field, Table, TableOptions, looks_like_table, signed as signed_field, unsigned};
use crate::error::{ContentError, Problem, Result};
use crate::io::input::Input;
use crate::publication::{LOOKUPS_LOG2, Publication};
use crate::watch::{Meter, Stage, Watch};
use he::Device;
use he_core::tfhe::{TfheParams, TfheSecretKey};
use num_bigint::BigInt;
use rand::CryptoRng;
use std::borrow::Cow;
use std::io::Write;

impl Field for BigInt {
    fn text(&self) -> Cow<'_, str> {
        self.to_string().into()
    }
}

/// Columns of integers in the clear: those of a table, or the channels of a picture.
#[derive(Debug)]
pub struct Clear {
    /// The columns.
    pub table: Table<BigInt>,
    /// The width and sign of the integers.
    pub integers: Integers,
    /// The picture whose channels they are.
    pub picture: Option<Pixels>,
}

/// Options for reading columns.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadOptions<'a> {
    /// Options for tables.
    pub table: TableOptions<'a>,
    /// Bits of each integer of a table; [`WIDTH`] if not given.
    pub width: Option<u32>,
    /// Whether the integers of a table have a sign.
    pub signed: bool,
    /// The picture of several in a file.
    pub frame: Option<u32>,
}

/// The default width of integers, in bits.
pub const WIDTH: u32 = 32;

impl Clear {
    /// Reads a table of integers or a picture, recognised by its content, to be encrypted under
    /// these parameters.
    ///
    /// # Errors
    /// The input is neither, or a picture that is too large; a field, which is named by line and
    /// column, is not such an integer; the options are for the other kind of input.
    pub fn read(
        mut input: Input,
        options: ReadOptions<'_>,
        params: &TfheParams,
        watch: &dyn Watch,
    ) -> Result<Self> {
        let ReadOptions { table, width, signed, frame } = options;
        match Kind::of(&mut input, frame)? {
            Kind::Table => {
                let integers = Integers { bits: width.unwrap_or(WIDTH), signed };
                let table = read(input, table, integers, watch)?;
                Ok(Self { table, integers, picture: None })
            }
            Kind::Picture if width.is_some() || signed => {
                Err(ContentError::SampleIntegers { name: input.name().to_owned() }.into())
            }
            Kind::Picture => Self::of_picture(&Picture::read(input, frame)?, params),
        }
    }

    /// The channels of a picture.
    ///
    /// # Errors
    /// It is too large.
    fn of_picture(picture: &Picture, params: &TfheParams) -> Result<Self> {
        let pixels = Pixels { width: picture.width(), height: picture.height() };
        let (rows, integers) = (pixels.count() as usize, Integers::unsigned(picture.depth().bits()));
        let names = picture.channels().names().iter().map(|&name| name.to_owned());
        // Before there are integers, which take more memory than samples.
        ColumnsNote::new(integers, rows, names.clone().map(Some).collect(), Some(pixels), params)?;
        let column = |channel| picture.samples_of(channel, 0..rows).into_iter().map(BigInt::from).collect();
        let columns = (0..picture.channels().count()).map(column).collect();
        let table = Table::new(Some(names.collect()), columns)?;
        Ok(Self { table, integers, picture: Some(pixels) })
    }

    /// Makes the data that a description states of these columns.
    ///
    /// # Errors
    /// The columns are not of one length.
    pub fn from_columns(note: &ColumnsNote, columns: Vec<Vec<BigInt>>) -> Result<Self> {
        let table = Table::new(note.columns.iter().cloned().collect(), columns)?;
        Ok(Self { table, integers: note.integers(), picture: note.picture })
    }

    /// The description of its encryption.
    ///
    /// # Errors
    /// There are too many rows, or pixels.
    pub fn describe(&self, params: &TfheParams) -> Result<ColumnsNote> {
        describe(&self.table, self.integers, self.picture, params)
    }

    /// Writes them: a table as CSV, a picture in its format, or its numbers as CSV.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn write(&self, view: View, format: Format, out: &mut impl Write) -> Result<()> {
        if view == View::Numbers
            && let Some(numbers) = self.to_numbers()?
        {
            return numbers.write(out);
        }
        match self.to_picture()? {
            Some(picture) => picture.encode(format, out),
            None => self.table.write(out, b','),
        }
    }

    /// The numbers of the picture whose channels they are, if they are those of one.
    ///
    /// # Errors
    /// There is not enough memory.
    fn to_numbers(&self) -> Result<Option<Numbers>> {
        let columns = self.table.columns();
        let (Some(pixels), Some(channels)) = (self.picture, Channels::of_count(columns.len())) else {
            return Ok(None);
        };
        let mut numbers = Numbers::whole(pixels.width, channels);
        for (channel, values) in columns.iter().enumerate() {
            numbers
                .push_whole(channel, values.iter().map(|value| i64::try_from(value).unwrap_or(i64::MAX)))?;
        }
        Ok(Some(numbers))
    }

    /// The picture whose channels they are, if they are those of one. Conditions are black and
    /// white.
    ///
    /// # Errors
    /// There is not enough memory.
    fn to_picture(&self) -> Result<Option<Picture>> {
        let columns = self.table.columns();
        let form = Channels::of_count(columns.len()).zip(sample_depth(self.integers));
        let (Some(pixels), Some((channels, depth))) = (self.picture, form) else { return Ok(None) };
        let white = if self.integers.bits == CONDITION { i64::from(depth.peak()) } else { 1 };
        let mut picture = PictureBuilder::new(pixels.width, pixels.height, channels, depth)?;
        for (channel, values) in columns.iter().enumerate() {
            let sample = |value: &BigInt| i64::try_from(value).unwrap_or(i64::MAX).saturating_mul(white);
            picture.write_samples(channel, 0, values.iter().map(sample));
        }
        Ok(Some(picture.finish()))
    }
}

/// Reads a table of integers.
///
/// # Errors
/// The input is not a table, or a field, which is named by line and column, is not such an integer.
pub fn read(
    mut input: Input,
    options: TableOptions<'_>,
    integers: Integers,
    watch: &dyn Watch,
) -> Result<Table<BigInt>> {
    let name = input.name().to_owned();
    let start = input.peek(PEEK)?;
    if !start.is_empty() && (Format::sniff(start).is_some() || !looks_like_table(start)) {
        return Err(ContentError::NotATable { name }.into());
    }
    let Integers { bits, signed } = integers;
    let mut table = Table::read_fields(input, &name, options, |_, _, _| {
        Ok(move |_: usize, field: &[u8]| -> Result<BigInt, Problem> {
            if signed { signed_field(field, bits) } else { unsigned(field, bits).map(BigInt::from) }
        })
    })?;
    table.tell(&name, watch);
    if options.nameless {
        table.forget_names();
    }
    Ok(table)
}

/// Reads a public table to be looked up: its entries, one per row.
///
/// # Errors
/// The input is not a table of integers of at most 256 bits, or has more columns than one.
pub fn entries(input: Input, options: TableOptions<'_>, watch: &dyn Watch) -> Result<Vec<BigInt>> {
    /// The greatest width, and a sign.
    const ANY: Integers = Integers { bits: 257, signed: true };
    let name = input.name().to_owned();
    let table = read(input, options, ANY, watch)?;
    match table.columns() {
        [entries] => Ok(entries.clone()),
        columns => Err(ContentError::EntryColumns { name, found: columns.len() }.into()),
    }
}

/// Describes columns to be encrypted, or the channels of a picture.
///
/// # Errors
/// There are too many rows, or pixels.
pub fn describe<T>(
    table: &Table<T>,
    integers: Integers,
    picture: Option<Pixels>,
    params: &TfheParams,
) -> Result<ColumnsNote> {
    let named = |i: usize| table.header().map(|names| names[i].clone());
    let columns = (0..table.columns().len()).map(named).collect();
    ColumnsNote::new(integers, table.rows(), columns, picture, params)
}

/// Encrypts a table into a file, on the CPU: fresh ciphertexts are their bodies and a seed, or
/// compact lists.
///
/// # Errors
/// The output cannot be written.
pub fn encrypt(
    key: Encryptor<'_>,
    table: &Table<BigInt>,
    integers: Integers,
    mut writer: Writer,
    rng: &mut (impl CryptoRng + ?Sized),
    watch: &dyn Watch,
) -> Result<Written> {
    let progress = Meter::new(watch, Stage::Encrypting, table.columns().len() as u64);
    for values in table.columns() {
        let bits: Vec<_> = values.iter().map(|value| integers.bits_of(value)).collect();
        let width = integers.bits as usize;
        match key {
            Encryptor::Secret(key) => writer.fresh_column(&key.encrypt_uint_seeded(&bits, width, rng)?)?,
            Encryptor::Public(key) => writer.fresh_column(&key.encrypt_uint(&bits, width, rng)?)?,
        }
        progress.inc(1);
    }
    progress.finish();
    writer.commit()
}

/// The numbers of a column; conditions become 0 and 1.
///
/// # Errors
/// The column is not one of integers or conditions; the device fails.
pub fn numbers(key: &TfheSecretKey, note: &ColumnsNote, column: Column) -> Result<Vec<BigInt>> {
    Ok(match column {
        Column::Integers(x) if note.signed => key.decrypt_int(&x.reinterpret())?,
        Column::Integers(x) => key.decrypt_uint(&x)?.into_iter().map(BigInt::from).collect(),
        Column::Conditions(flags) => {
            key.decrypt_flags(&flags)?.into_iter().map(|flag| u8::from(flag).into()).collect()
        }
    })
}

/// Counts the decryptions of a file that others will see, one per integer or condition, before it
/// is decrypted.
///
/// # Errors
/// The parameters fail too often, or more is decrypted than the publication allows.
pub fn publish(key: &TfheSecretKey, note: &ColumnsNote, publication: &Publication) -> Result<()> {
    let count = note.rows as usize * note.columns.len();
    Ok(publication.count(count, |publisher| key.publish(count, LOOKUPS_LOG2, publisher))?)
}

/// Decrypts a file; conditions become 0 and 1.
///
/// # Errors
/// The file is damaged; the device fails.
pub fn decrypt(
    device: &Device,
    key: &TfheSecretKey,
    reader: &mut Reader,
    watch: &dyn Watch,
) -> Result<Clear> {
    let note = reader.payload.content.clone();
    let progress = Meter::new(watch, Stage::Decrypting, note.columns.len() as u64);
    let mut columns = Vec::with_capacity(note.columns.len());
    for _ in &note.columns {
        columns.push(numbers(key, &note, reader.column(device)?)?);
        progress.inc(1);
    }
    progress.finish();
    reader.end()?;
    Clear::from_columns(&note, columns)
}
