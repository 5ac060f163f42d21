//! Columns of unsigned integers: from CSV into ciphertexts and back.

use super::file::{Column, Reader, Writer};
use super::note::UnsignedNote;
use crate::cipher_file::Written;
use crate::data::picture::Format;
use crate::data::table::{Field, Table, TableOptions, looks_like_table, unsigned};
use crate::error::{ContentError, Problem, Result};
use crate::io::input::Input;
use crate::publication::{LOOKUPS_LOG2, Publication};
use crate::watch::{Meter, Stage, Watch};
use he::Device;
use he_core::tfhe::{TfheParams, TfheSecretKey};
use num_bigint::BigUint;
use rand::CryptoRng;
use std::borrow::Cow;

/// Bytes by which a table is recognised.
const PEEK: usize = 4096;

impl Field for BigUint {
    fn text(&self) -> Cow<'_, str> {
        self.to_string().into()
    }
}

/// Reads a table of unsigned integers of `width` bits.
///
/// # Errors
/// The input is not a table, or a field, which is named by line and column, is not such an integer.
pub fn read(
    mut input: Input,
    options: TableOptions<'_>,
    width: u32,
    watch: &dyn Watch,
) -> Result<Table<BigUint>> {
    let name = input.name().to_owned();
    let start = input.peek(PEEK)?;
    if !start.is_empty() && (Format::sniff(start).is_some() || !looks_like_table(start)) {
        return Err(ContentError::NotATable { name }.into());
    }
    let table = Table::read_fields(input, &name, options, |_, _, _| {
        Ok(move |_: usize, field: &[u8]| -> Result<BigUint, Problem> { unsigned(field, width) })
    })?;
    table.tell(&name, watch);
    Ok(table)
}

/// Describes a table to be encrypted.
///
/// # Errors
/// The table has too many rows.
pub fn describe(table: &Table<BigUint>, width: u32, params: &TfheParams) -> Result<UnsignedNote> {
    let named = |i: usize| table.header().map(|names| names[i].clone());
    let columns = (0..table.columns().len()).map(named).collect();
    UnsignedNote::new(width, table.rows(), columns, params)
}

/// Encrypts a table into a file, on the CPU: fresh ciphertexts are their bodies and a seed.
///
/// # Errors
/// The output cannot be written.
pub fn encrypt(
    key: &TfheSecretKey,
    table: &Table<BigUint>,
    width: u32,
    mut writer: Writer,
    rng: &mut (impl CryptoRng + ?Sized),
    watch: &dyn Watch,
) -> Result<Written> {
    let progress = Meter::new(watch, Stage::Encrypting, table.columns().len() as u64);
    for values in table.columns() {
        writer.fresh_column(&key.encrypt_uint_seeded(values, width as usize, rng)?)?;
        progress.inc(1);
    }
    progress.finish();
    writer.commit()
}

/// Counts the decryptions of a file that others will see, one per integer or condition, before it
/// is decrypted.
///
/// # Errors
/// The parameters fail too often, or more is decrypted than the publication allows.
pub fn publish(key: &TfheSecretKey, note: &UnsignedNote, publication: &Publication) -> Result<()> {
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
) -> Result<Table<BigUint>> {
    let names = reader.payload.content.columns.clone();
    let progress = Meter::new(watch, Stage::Decrypting, names.len() as u64);
    let mut columns = Vec::with_capacity(names.len());
    for _ in &names {
        columns.push(match reader.column(device)? {
            Column::Unsigned(x) => key.decrypt_uint(&x)?,
            Column::Conditions(flags) => {
                key.decrypt_flags(&flags)?.into_iter().map(|flag| u8::from(flag).into()).collect()
            }
        });
        progress.inc(1);
    }
    progress.finish();
    reader.end()?;
    Table::new(names.into_iter().collect(), columns)
}
