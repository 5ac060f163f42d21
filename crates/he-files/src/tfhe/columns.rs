//! Columns of integers: from CSV into ciphertexts and back.

use super::file::{Column, Reader, Writer};
use super::note::{ColumnsNote, Integers};
use crate::cipher_file::Written;
use crate::data::picture::Format;
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

/// Bytes by which a table is recognised.
const PEEK: usize = 4096;

impl Field for BigInt {
    fn text(&self) -> Cow<'_, str> {
        self.to_string().into()
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
    let table = Table::read_fields(input, &name, options, |_, _, _| {
        Ok(move |_: usize, field: &[u8]| -> Result<BigInt, Problem> {
            if signed { signed_field(field, bits) } else { unsigned(field, bits).map(BigInt::from) }
        })
    })?;
    table.tell(&name, watch);
    Ok(table)
}

/// Reads a public table to be looked up: its entries, one per row.
///
/// # Errors
/// The input is not a table of integers of at most 256 bits, or has more columns than one.
pub fn entries(input: Input, watch: &dyn Watch) -> Result<Vec<BigInt>> {
    /// The greatest width, and a sign.
    const ANY: Integers = Integers { bits: 257, signed: true };
    let name = input.name().to_owned();
    let table = read(input, TableOptions::default(), ANY, watch)?;
    match table.columns() {
        [entries] => Ok(entries.clone()),
        columns => Err(ContentError::EntryColumns { name, found: columns.len() }.into()),
    }
}

/// Describes a table to be encrypted.
///
/// # Errors
/// The table has too many rows.
pub fn describe<T>(table: &Table<T>, integers: Integers, params: &TfheParams) -> Result<ColumnsNote> {
    let named = |i: usize| table.header().map(|names| names[i].clone());
    let columns = (0..table.columns().len()).map(named).collect();
    ColumnsNote::new(integers, table.rows(), columns, params)
}

/// Encrypts a table into a file, on the CPU: fresh ciphertexts are their bodies and a seed.
///
/// # Errors
/// The output cannot be written.
pub fn encrypt(
    key: &TfheSecretKey,
    table: &Table<BigInt>,
    integers: Integers,
    mut writer: Writer,
    rng: &mut (impl CryptoRng + ?Sized),
    watch: &dyn Watch,
) -> Result<Written> {
    let progress = Meter::new(watch, Stage::Encrypting, table.columns().len() as u64);
    for values in table.columns() {
        let bits: Vec<_> = values.iter().map(|value| integers.bits_of(value)).collect();
        writer.fresh_column(&key.encrypt_uint_seeded(&bits, integers.bits as usize, rng)?)?;
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
) -> Result<Table<BigInt>> {
    let note = reader.payload.content.clone();
    let progress = Meter::new(watch, Stage::Decrypting, note.columns.len() as u64);
    let mut columns = Vec::with_capacity(note.columns.len());
    for _ in &note.columns {
        columns.push(numbers(key, &note, reader.column(device)?)?);
        progress.inc(1);
    }
    progress.finish();
    reader.end()?;
    Table::new(note.columns.into_iter().collect(), columns)
}
