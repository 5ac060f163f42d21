//! Key files of TFHE: the secret key, which encrypts and decrypts, and the bootstrapping key, which
//! computes.

use super::Tfhe;
use crate::error::{InFile, KeyError, Result};
use crate::key_file::{self, KeyFormat, not_a_key, write_frames};
use crate::note::KeyId;
use crate::scheme::OfKeySet;
use he_core::tfhe::{BootstrapKey, TfheParams, TfheSecretKey};
use he_core::wire::{Frame, FrameKind, FrameReader, Wire, WireParams};
use std::io::{Read, Write};

/// A key file.
pub type KeyFile = key_file::KeyFile<Tfhe>;

/// The kinds of keys.
pub enum Key {
    /// A secret key.
    Secret(TfheSecretKey),
    /// A bootstrapping key.
    Evaluation(BootstrapKey),
}

impl KeyFormat for Tfhe {
    type Key = Key;

    fn read_key(
        reader: &mut FrameReader<impl Read>,
        params: &TfheParams,
        id: &KeyId,
        name: &str,
    ) -> Result<Key> {
        let limit = |kind, _| match kind {
            FrameKind::TfheSecretKey | FrameKind::TfheBootstrapKey => params.key_frame_limit(kind),
            _ => 0,
        };
        let frame = reader.next_frame(limit).in_file(name)?.ok_or_else(|| not_a_key(name))?;
        if reader.next_frame(|_, _| 0).in_file(name)?.is_some() {
            return Err(KeyError::Several { name: name.to_owned() }.into());
        }
        match frame.kind {
            FrameKind::TfheSecretKey => {
                let key = TfheSecretKey::from_frame(params, (), &frame).in_file(name)?;
                Ok(Key::Secret(key.of(id)))
            }
            FrameKind::TfheBootstrapKey => {
                let key = BootstrapKey::from_frame(params, (), &frame).in_file(name)?;
                Ok(Key::Evaluation(key.of(id)))
            }
            _ => Err(not_a_key(name)),
        }
    }

    fn key_name(key: &Key) -> &'static str {
        match key {
            Key::Secret(_) => "a secret key",
            Key::Evaluation(_) => "an evaluation key",
        }
    }

    fn wrong_kind(name: String, found: &'static str, needed: String) -> KeyError {
        KeyError::TfheKind { name, found, needed }
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
            Key::Evaluation(_) => Err(self.wrong_kind("a secret key")),
        }
    }

    /// The bootstrapping key.
    ///
    /// # Errors
    /// The file holds another kind of key.
    pub fn evaluation(&self) -> Result<&BootstrapKey> {
        match &self.key {
            Key::Evaluation(key) => Ok(key),
            Key::Secret(_) => Err(self.wrong_kind("an evaluation key")),
        }
    }
}

/// Writes parameters, key set and key; returns the bytes.
///
/// # Errors
/// The output cannot be written.
pub fn write_key(out: impl Write, params: &TfheParams, id: &KeyId, key: Frame, name: &str) -> Result<u64> {
    let start = params.to_frame();
    write_frames(out, &start, id, [Ok(key)], name)
}
