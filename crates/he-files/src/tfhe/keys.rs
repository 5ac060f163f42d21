//! Key files of TFHE: the secret key, which encrypts and decrypts; the public key, which encrypts;
//! the bootstrapping key, of single bits or a multi-bit one, which computes, with the key of
//! circuit bootstrapping if it transciphers as well; and encrypted sensor keys.

use super::Tfhe;
use crate::error::{InFile, Result, TranscipherError};
use crate::file_start::end_of_key;
use crate::key_file::{self, KeyFormat, not_a_key, write_frames};
use crate::note::{KeyId, KeyNote};
use crate::scheme::OfKeySet;
pub use he_any::tfhe::GROUP;
use he_any::tfhe::bootstrap_key;
use he_core::tfhe::{BootstrapKey, CircuitKey, CircuitParams, CompactPublicKey, TfheParams, TfheSecretKey};
use he_core::transcipher::{EncryptedAesKey, SensorKey};
use he_core::wire::{Frame, FrameKind, FrameReader, Wire, WireParams};
use rand::CryptoRng;
use std::io::{Read, Write};

/// A key file.
pub type KeyFile = key_file::KeyFile<Tfhe>;

/// The kinds of keys.
pub enum Key {
    /// A secret key.
    Secret(TfheSecretKey),
    /// A public key.
    Public(CompactPublicKey),
    /// A bootstrapping key, and what transciphering takes besides.
    Evaluation(BootstrapKey, Option<CircuitKey>),
    /// An encrypted sensor key, and the identity of that key.
    Sensor(EncryptedAesKey, KeyId),
}

/// A key that encrypts.
#[derive(Clone, Copy)]
pub enum Encryptor<'a> {
    /// Into bodies and a seed.
    Secret(&'a TfheSecretKey),
    /// Into compact lists.
    Public(&'a CompactPublicKey),
}

/// The kinds of frames of bootstrapping keys: of single bits, and by groups of bits.
pub const BOOTSTRAP_KINDS: [FrameKind; 2] = [FrameKind::TfheBootstrapKey, FrameKind::TfheMultiBitKey];

impl KeyFormat for Tfhe {
    type Key = Key;

    fn read_key(
        reader: &mut FrameReader<impl Read>,
        params: &TfheParams,
        note: &KeyNote,
        name: &str,
    ) -> Result<Key> {
        let id = &note.key_id;
        let limit = |kind, _| match (kind, &note.sensor) {
            (FrameKind::TfheSecretKey | FrameKind::TfhePublicKey, None)
            | (FrameKind::EncryptedAesKey, Some(_)) => params.key_frame_limit(kind),
            (kind, None) if BOOTSTRAP_KINDS.contains(&kind) => params.key_frame_limit(kind),
            _ => 0,
        };
        let frame = reader.next_frame(limit).in_file(name)?.ok_or_else(|| not_a_key(name))?;
        match (frame.kind, &note.sensor) {
            (FrameKind::TfheSecretKey, _) => {
                end_of_key(reader, name)?;
                let key = TfheSecretKey::from_frame(params, (), &frame).in_file(name)?;
                Ok(Key::Secret(key.of(id)))
            }
            (FrameKind::TfhePublicKey, _) => {
                end_of_key(reader, name)?;
                let key = CompactPublicKey::from_frame(params, (), &frame).in_file(name)?;
                Ok(Key::Public(key.of(id)))
            }
            (kind, _) if BOOTSTRAP_KINDS.contains(&kind) => {
                let key = BootstrapKey::from_frame(params, (), &frame).in_file(name)?;
                // It need not be in memory twice while the other key is read.
                drop(frame);
                let limit = |kind, _| match kind {
                    FrameKind::TfheCircuitKey => params.key_frame_limit(kind),
                    _ => 0,
                };
                let circuit = match reader.next_frame(limit).in_file(name)? {
                    None => None,
                    Some(frame) => {
                        end_of_key(reader, name)?;
                        Some(CircuitKey::from_frame(params, (), &frame).in_file(name)?.of(id))
                    }
                };
                Ok(Key::Evaluation(key.of(id), circuit))
            }
            (FrameKind::EncryptedAesKey, Some(sensor)) => {
                end_of_key(reader, name)?;
                let key = EncryptedAesKey::from_frame(params, (), &frame).in_file(name)?;
                Ok(Key::Sensor(key.of(id), sensor.clone()))
            }
            _ => Err(not_a_key(name)),
        }
    }

    fn key_name(key: &Key) -> &'static str {
        match key {
            Key::Secret(_) => "a secret key",
            Key::Public(_) => "a public key",
            Key::Evaluation(..) => "an evaluation key",
            Key::Sensor(..) => "an encrypted sensor key",
        }
    }
}

impl KeyFile {
    /// The secret key.
    ///
    /// # Errors
    /// The file holds another kind of key.
    pub fn secret(&self) -> Result<&TfheSecretKey> {
        match &self.key {
            Key::Secret(key) => Ok(key),
            _ => Err(self.wrong_kind("a secret key")),
        }
    }

    /// The public or secret key.
    ///
    /// # Errors
    /// The file holds another kind of key.
    pub fn encryptor(&self) -> Result<Encryptor<'_>> {
        match &self.key {
            Key::Secret(key) => Ok(Encryptor::Secret(key)),
            Key::Public(key) => Ok(Encryptor::Public(key)),
            _ => Err(self.wrong_kind("a public or secret key")),
        }
    }

    /// The bootstrapping key.
    ///
    /// # Errors
    /// The file holds another kind of key.
    pub fn evaluation(&self) -> Result<&BootstrapKey> {
        match &self.key {
            Key::Evaluation(key, _) => Ok(key),
            _ => Err(self.wrong_kind("an evaluation key")),
        }
    }

    /// The keys that transcipher.
    ///
    /// # Errors
    /// The file holds another kind of key, or one that does not transcipher.
    pub fn transciphering(&self) -> Result<(&BootstrapKey, &CircuitKey)> {
        match &self.key {
            Key::Evaluation(key, Some(circuit)) => Ok((key, circuit)),
            Key::Evaluation(_, None) => {
                Err(TranscipherError::NoCircuitKey { name: self.name.clone() }.into())
            }
            _ => Err(self.wrong_kind("an evaluation key")),
        }
    }

    /// The encrypted sensor key, and the identity of that key.
    ///
    /// # Errors
    /// The file holds another kind of key.
    pub fn sensor(&self) -> Result<(&EncryptedAesKey, &KeyId)> {
        match &self.key {
            Key::Sensor(key, id) => Ok((key, id)),
            _ => Err(self.wrong_kind("an encrypted sensor key")),
        }
    }
}

/// Writes parameters, key set and key; returns the bytes.
///
/// # Errors
/// The output cannot be written.
pub fn write_key(out: impl Write, params: &TfheParams, id: &KeyId, key: Frame, name: &str) -> Result<u64> {
    write_frames(out, &params.to_frame(), &KeyNote::of(id), [Ok(key)], name)
}

/// Makes the evaluation key of a secret one, by groups of so many bits (1: of single bits), and
/// writes it, with the key of circuit bootstrapping if there are parameters for it; returns the
/// bytes. One of both keys is in memory at a time.
///
/// # Errors
/// The output cannot be written; there is no such group.
pub fn write_evaluation(
    out: impl Write,
    secret: &TfheSecretKey,
    (group, circuit): (usize, Option<&CircuitParams>),
    id: &KeyId,
    rng: &mut (impl CryptoRng + ?Sized),
    name: &str,
) -> Result<u64> {
    let params = secret.params();
    let frame = |circuit: Option<&CircuitParams>| match circuit {
        None => bootstrap_key(secret, group, rng)?.to_frame(params),
        Some(circuit) => CircuitKey::generate(secret, circuit, rng)?.to_frame(params),
    };
    let frames = std::iter::once(None).chain(circuit.map(Some)).map(frame);
    write_frames(out, &params.to_frame(), &KeyNote::of(id), frames, name)
}

/// Encrypts a sensor key and writes it; returns the bytes.
///
/// # Errors
/// The output cannot be written.
pub fn write_sensor(
    out: impl Write,
    secret: &TfheSecretKey,
    key: &SensorKey,
    id: &KeyId,
    rng: &mut (impl CryptoRng + ?Sized),
    name: &str,
) -> Result<u64> {
    let params = secret.params();
    let frame = EncryptedAesKey::generate(secret, key.key(), rng)?.to_frame(params);
    let note = KeyNote { sensor: Some(KeyId::of_sensor(key.id())), ..KeyNote::of(id) };
    write_frames(out, &params.to_frame(), &note, [frame], name)
}
