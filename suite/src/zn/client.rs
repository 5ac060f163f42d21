//! The stages of the client.

use super::files::{self, BATCH};
use super::folders::Folders;
use super::numbers::{self, Numbers};
use super::{params, ring};
use crate::error::{At as _, Error};
use crate::frames::{Reader, Writer};
use crate::output::Output;
use crate::progress::Progress;
use he::Device;
use he::rlwe::KeyRequirements;
use he::wire::Wire as _;
use he::words::{Multiplicand, Multiplier, WordDecryptor, WordEncryptor};
use std::io::Write as _;

/// Generates the secret key and the relinearisation key.
pub(super) fn generate_keys(folders: &Folders) -> Result<(), Error> {
    folders.keys().generate(params()?.ckks(), KeyRequirements::new().relinearisation())
}

/// Encrypts both sides of all pairs into one file, batch by batch.
pub(super) fn encrypt(folders: &Folders) -> Result<(), Error> {
    let (params, mut rng) = (params()?, he::rand::rng());
    let ring = ring(&params, Device::cpu())?;
    let encryptor = WordEncryptor::new(&params, &folders.keys().secret(params.ckks())?, &ring)?;
    let paths = ["lhs", "rhs"].map(|side| folders.numbers(side));
    let (mut lhs, mut rhs) = (Numbers::open(&paths[0])?, Numbers::open(&paths[1])?);
    let mut writer = Writer::create(&folders.operands(), params.ckks())?;
    let most = BATCH * params.words_per_ciphertext();
    let (mut done, mut progress) = (0, Progress::new("encrypted pairs", lines(&paths[0])?));
    loop {
        let (left, right) = (lhs.next(most)?, rhs.next(most)?);
        if left.len() != right.len() {
            let [found, expected] = [right.len(), left.len()].map(|len| done + len as u64);
            return Err(Error::count(&paths[1], format!("{found} numbers"), expected));
        }
        if left.is_empty() {
            return writer.finish();
        }
        let left = encryptor.encrypt::<Multiplicand>(&left, &mut rng)?;
        writer.write(&left.ciphertext().to_frame(params.ckks())?)?;
        done += right.len() as u64;
        let right = encryptor.encrypt::<Multiplier>(&right, &mut rng)?;
        writer.write(&right.ciphertext().to_frame(params.ckks())?)?;
        progress.tell(done);
    }
}

/// About how many numbers a file has, for the progress alone: random ones have nearly 20 digits.
fn lines(path: &std::path::Path) -> Result<u64, Error> {
    Ok(std::fs::metadata(path).at(path)?.len().div_ceil(21))
}

/// Decrypts all products to text.
pub(super) fn decrypt(folders: &Folders, count: u64) -> Result<(), Error> {
    let params = params()?;
    let ring = ring(&params, Device::cpu())?;
    let decryptor = WordDecryptor::new(&params, &folders.keys().secret(params.ckks())?, &ring)?;
    let mut reader = Reader::open(&folders.products(), params.ckks())?;
    let path = folders.decrypted();
    let (output, mut text) = Output::create(&path)?;
    let (mut left, mut progress) = (count, Progress::new("decrypted products", count));
    while let Some(batch) = files::products(&mut reader, &params)? {
        let words = decryptor.decrypt_reduced(&batch)?;
        let whole = files::ciphertexts(&params, left);
        if batch.batch() as u64 > whole {
            return Err(reader.count("more ciphertexts", format!("{count} products")));
        }
        let used = words.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        numbers::write(&mut text, &words[..used]).at(&path)?;
        left -= used as u64;
        progress.tell(count - left);
    }
    if left > 0 {
        return Err(reader.count(format!("{} products", count - left), count));
    }
    text.flush().at(&path)?;
    output.complete()
}
