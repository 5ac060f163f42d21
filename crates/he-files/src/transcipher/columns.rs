//! Numbers into sensor files and back, by whoever has the sensor key.

use super::header::Header;
use super::stream::{Encryptor, SensorFile};
use crate::error::Result;
use crate::io::output::Output;
use crate::note::KeyId;
use crate::tfhe::columns::Clear;
use crate::watch::{Meter, Stage, Watch};
use he_core::aes::BLOCK;
use he_core::transcipher::SensorKey;
use num_bigint::BigUint;
use rand::CryptoRng;

/// Encrypts a table or a picture into a file; returns its header and its bytes. The first counter
/// block is drawn at random: two files of one key have blocks of the key stream in common with a
/// probability of about their blocks in 2^128.
///
/// # Errors
/// There are more rows than can be transciphered; the output cannot be written.
pub fn encrypt(
    key: &SensorKey,
    clear: &Clear,
    output: Output,
    rng: &mut (impl CryptoRng + ?Sized),
    watch: &dyn Watch,
) -> Result<(Header, u64)> {
    // Columns that are too long for the parameters that keys of transciphering have.
    let content = clear.describe(super::params(false, false)?.tfhe())?;
    let (integers, bytes) = (content.integers(), content.width as usize / 8);
    let mut counter = [0; BLOCK];
    rng.fill_bytes(&mut counter);
    let header = Header { content, key: key.id(), counter };
    let mut encryptor = Encryptor::new(key, &header, output)?;
    let progress = Meter::new(watch, Stage::Encrypting, clear.table.columns().len() as u64);
    for values in clear.table.columns() {
        for value in values {
            let mut number = integers.bits_of(value).to_bytes_le();
            number.resize(bytes, 0);
            encryptor.push(&number)?;
        }
        progress.inc(1);
    }
    progress.finish();
    Ok((header, encryptor.commit()?))
}

/// Decrypts a file, whose `key` lies in the file `key_name`.
///
/// # Errors
/// It is encrypted under another key; it is truncated, or goes on after its end.
pub fn decrypt(mut file: SensorFile, key: &SensorKey, key_name: &str, watch: &dyn Watch) -> Result<Clear> {
    file.check_sensor(&KeyId::of_sensor(key.id()), key_name)?;
    let note = file.header.content.clone();
    let (integers, bytes) = (note.integers(), note.width as usize / 8);
    let progress = Meter::new(watch, Stage::Decrypting, file.header.data_len());
    let mut numbers = Vec::new();
    file.decrypt(key, |piece| {
        let number = |number| integers.number_of(BigUint::from_bytes_le(number));
        numbers.extend(piece.chunks_exact(bytes).map(number));
        progress.inc(piece.len() as u64);
        Ok(())
    })?;
    progress.finish();
    let mut numbers = numbers.into_iter();
    let column = |_| numbers.by_ref().take(note.rows as usize).collect();
    let columns = note.columns.iter().map(column).collect();
    Clear::from_columns(&note, columns)
}
