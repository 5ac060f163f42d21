//! Key files of TFHE: the secret key, which encrypts and decrypts, and the bootstrapping key, which
//! computes.

use super::note::UnsignedNote;
use crate::error::{Error, FileError, InFile, KeyError, Result, bad_params};
use crate::key_file::{foreign, write_frames};
use crate::note::{KeyId, Note};
use crate::scheme::OfKeySet;
use he_core::tfhe::{BootstrapKey, TfheParams, TfheSecretKey};
use he_core::wire::{Frame, FrameKind, FrameReader, Wire, WireParams};
use std::io::{Read, Write};

/// The beginning of a file of TFHE.
pub type Start = (TfheParams, Note<UnsignedNote>);

/// A key file.
pub struct KeyFile {
    /// Its name in errors.
    pub name: String,
    /// The parameters.
    pub params: TfheParams,
    /// The key set.
    pub id: KeyId,
    /// The key.
    pub key: Key,
    /// Whether a passphrase protects it.
    pub sealed: bool,
}

/// The kinds of keys.
pub enum Key {
    /// A secret key.
    Secret(TfheSecretKey),
    /// A bootstrapping key.
    Evaluation(BootstrapKey),
}

impl Key {
    /// Its kind, with an article.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Secret(_) => "a secret key",
            Self::Evaluation(_) => "an evaluation key",
        }
    }
}

/// The parameters of a file, and the description that follows.
///
/// # Errors
/// They are missing, damaged or insecure; the description is impossible.
pub fn read_start<R: Read>(reader: &mut FrameReader<R>, first: &Frame, name: &str) -> Result<Start> {
    let params = TfheParams::from_frame(first).map_err(bad_params).in_file(name)?;
    let missing = || -> Error { FileError::NoParams { name: name.to_owned() }.into() };
    let limit = |kind, _| if kind == FrameKind::Attachment { Frame::MAX_ATTACHMENT } else { 0 };
    let second = reader.next_frame(limit).in_file(name)?.ok_or_else(missing)?;
    let check = |note: &UnsignedNote| note.check(&params);
    let note = Note::checked(params.fingerprint(), &second, check).in_file(name)?;
    Ok((params, note))
}

impl KeyFile {
    /// Reads everything after parameters and description.
    ///
    /// # Errors
    /// The file is not a key, or it is damaged.
    pub fn read_rest(
        mut reader: FrameReader<impl Read>,
        (params, note): Start,
        name: &str,
        sealed: bool,
    ) -> Result<Self> {
        let not_a_key = || -> Error { KeyError::NoKey { name: name.to_owned() }.into() };
        let Note::Key(note) = note else { return Err(not_a_key()) };
        let limit = |kind, _| match kind {
            FrameKind::TfheSecretKey | FrameKind::TfheBootstrapKey => params.key_frame_limit(kind),
            _ => 0,
        };
        let frame = reader.next_frame(limit).in_file(name)?.ok_or_else(not_a_key)?;
        if reader.next_frame(|_, _| 0).in_file(name)?.is_some() {
            return Err(KeyError::Several { name: name.to_owned() }.into());
        }
        let key = match frame.kind {
            FrameKind::TfheSecretKey => {
                Key::Secret(TfheSecretKey::from_frame(&params, (), &frame).in_file(name)?.of(&note.key_id))
            }
            FrameKind::TfheBootstrapKey => {
                let key = BootstrapKey::from_frame(&params, (), &frame).in_file(name)?;
                Key::Evaluation(key.of(&note.key_id))
            }
            _ => return Err(not_a_key()),
        };
        Ok(Self { name: name.to_owned(), params, id: note.key_id, key, sealed })
    }

    /// The error that this is another kind of key than the required one.
    pub fn wrong_kind(&self, needed: &str) -> Error {
        KeyError::TfheKind { name: self.name.clone(), found: self.key.name(), needed: needed.to_owned() }
            .into()
    }

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

    /// Checks that a file belongs to this key set.
    ///
    /// # Errors
    /// It belongs to another key set.
    pub fn check_owner(&self, params: &TfheParams, id: &KeyId, name: &str) -> Result<()> {
        if &self.params == params && &self.id == id {
            return Ok(());
        }
        Err(foreign(name, id, &self.name, &self.id))
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
