//! The stages of the client, who has the AES key, and the secret key of TFHE.

use super::instance::Instance;
use super::message::{BLOCK, Message, hexadecimal};
use crate::error::{At as _, Error};
use crate::frames::{Reader, Writer};
use crate::keys::{read_secret, write_secret};
use crate::output;
use he::Device;
use he::aes::Key;
use he::tfhe::{BootstrapKey, CircuitKey, CircuitParams, CircuitSpec, EncryptedUint, TfheSecretKey};
use he::transcipher::EncryptedAesKey;
use he::wire::{FrameKind, Wire as _, WireParams as _};
use std::path::Path;

/// Generates the secret key, and the keys of the server.
pub(super) fn generate_keys(instance: &Instance) -> Result<(), Error> {
    let (folders, params, mut rng) = (&instance.folders, &instance.params, he::rand::rng());
    let secret = TfheSecretKey::generate(params, &mut rng);
    write_secret(&folders.secret(), &secret.to_bytes(params)?)?;
    let circuit = CircuitParams::new(params, CircuitSpec::default()).map_err(he::Error::from)?;
    let mut writer = Writer::create(&folders.evaluation(), params)?;
    writer.write(&BootstrapKey::generate(&secret, &mut rng).to_frame(params)?)?;
    writer.write(&CircuitKey::generate(&secret, &circuit, &mut rng)?.to_frame(params)?)?;
    writer.finish()
}

/// Encrypts the AES key, and puts the message beside it, as the harness encrypted it.
pub(super) fn encrypt_key(instance: &Instance) -> Result<(), Error> {
    let (folders, params) = (&instance.folders, &instance.params);
    let key = Key::from_slice(&hexadecimal(&folders.data("aes_key.hex"), BLOCK)?)?;
    let encrypted = EncryptedAesKey::generate(&secret(instance)?, &key, &mut he::rand::rng())?;
    let mut writer = Writer::create(&folders.aes_key(), params)?;
    writer.write(&encrypted.to_frame(params)?)?;
    writer.finish()?;
    output::write(&folders.message(), &Message::from_harness(instance)?.to_bytes())
}

fn secret(instance: &Instance) -> Result<TfheSecretKey, Error> {
    let (path, params) = (instance.folders.secret(), &instance.params);
    TfheSecretKey::from_bytes(params, &read_secret(&path)?).at(&path)
}

/// Decrypts all numbers.
pub(super) fn decrypt_numbers(instance: &Instance) -> Result<(), Error> {
    let count = Message::from_harness(instance)?.numbers();
    let folders = &instance.folders;
    decrypt(instance, &folders.numbers(), &folders.decrypted_numbers(), count)
}

/// Decrypts the result.
pub(super) fn decrypt_result(instance: &Instance) -> Result<(), Error> {
    let folders = &instance.folders;
    decrypt(instance, &folders.result(), &folders.decrypted_result(), 1)
}

/// Decrypts so many numbers to text, one in a line.
fn decrypt(instance: &Instance, from: &Path, to: &Path, count: usize) -> Result<(), Error> {
    let (params, secret, device) = (&instance.params, secret(instance)?, Device::cpu());
    let mut reader = Reader::open(from, params)?;
    let (mut text, mut left) = (String::new(), count);
    let most = params.ciphertext_frame_limit(super::server::CIPHERTEXTS);
    while let Some(frame) = reader.next(FrameKind::TfheUint, most)? {
        let numbers = EncryptedUint::from_frame(params, &device, &frame).at(from)?;
        if numbers.batch() > left {
            return Err(reader.count("more numbers", count));
        }
        left -= numbers.batch();
        text.extend(secret.decrypt_u64(&numbers)?.iter().map(|number| format!("{number}\n")));
    }
    match left {
        0 => output::write(to, text.as_bytes()),
        _ => Err(reader.count(format!("{} numbers", count - left), count)),
    }
}
