//! Key files.

use crate::data::picture::Format;
use crate::data::picture::format::SNIFF_LEN;
use crate::error::{Error, FileError, InFile, KeyError, Result, bad_params};
use crate::io::input::Input;
use crate::note::{self, KeyId, KeyNote, Note};
use crate::on_scheme;
use crate::passphrase::{self, Passphrases, Purpose};
use crate::scheme::{BigCkks, Ckks, Family, KeyPart, OfKeySet, On, OneOf, Scheme, Start};
use crate::tfhe;
use he_core::aes::container::{self, UserKey};
use he_core::backend::RingOps;
use he_core::bfv::Bfv;
use he_core::bgv::Bgv;
use he_core::bigckks::BigCkksParams;
use he_core::ckks::CkksParams;
use he_core::exact::Params;
use he_core::ring::Ring;
use he_core::rlwe::Fingerprint;
use he_core::wire::{Frame, FrameKind, FrameReader, FrameWriter, WireParams, first_frame_limit};
use std::collections::BTreeSet;
use std::io::{BufReader, Read, Write};

/// Bytes of the end mark's body.
pub const END_MARK: u64 = 40;
/// The longest sealed secret key that is read.
const MAX_SEALED: u64 = 1 << 20;
/// The remedy if a file and a key are of different sets.
pub const SAME_SET: &str = "use the keys of the same keygen; he-cli info FILE shows the key set";

/// Key files, by scheme.
pub struct KeyFiles;

impl Family for KeyFiles {
    type Of<S: Scheme> = KeyFile<S>;
}

/// A key file of any kind.
pub enum AnyKey {
    /// For ciphertexts.
    Scheme(OneOf<KeyFiles>),
    /// For integers under TFHE.
    Tfhe(Box<tfhe::keys::KeyFile>),
    /// For files under AES.
    Aes(AesKey),
}

/// A key for files under AES.
pub struct AesKey {
    /// Its name in errors.
    pub name: String,
    /// The key.
    pub key: UserKey,
    /// Whether a passphrase protects it.
    pub sealed: bool,
}

impl AnyKey {
    /// Reads and checks a key file. `needed` is the expected kind; a sealed key is opened with the
    /// passphrase, or refused if no secret key is needed.
    ///
    /// # Errors
    /// It is not a key file, or it is damaged or of insecure parameters, or the passphrase is
    /// wrong.
    pub fn read(mut input: Input, needed: &str, passphrase: Option<&dyn Passphrases>) -> Result<Self> {
        if let Some(passphrase) = passphrase
            && passphrase::is_sealed(input.peek(8)?)
        {
            return Self::read_sealed(input, passphrase);
        }
        check_start(
            &mut input,
            needed,
            "keygen writes secret.key for decrypt, public.key for encrypt, eval.key for eval",
        )?;
        let name = input.name().to_owned();
        Self::read_plain(BufReader::with_capacity(1 << 16, input), &name, needed, false)
    }

    /// Reads a sealed secret key.
    ///
    /// # Errors
    /// The same as for [`read`](Self::read).
    pub fn read_sealed(input: Input, passphrase: &dyn Passphrases) -> Result<Self> {
        let name = input.name().to_owned();
        let bytes = input.read_all(MAX_SEALED)?;
        let passphrase = passphrase.obtain(Purpose::Open, &name)?;
        let plain = passphrase::open(&bytes, &passphrase).in_file(&name)?;
        Self::read_plain(&plain[..], &name, "a secret key", true)
    }

    fn read_plain(reader: impl Read, name: &str, needed: &str, sealed: bool) -> Result<Self> {
        let mut reader = FrameReader::new(reader);
        let not_a_key =
            || -> Error { KeyError::Encrypted { name: name.to_owned(), needed: needed.to_owned() }.into() };
        let start = match read_start(&mut reader, name)? {
            AnyStart::Scheme(start) => start,
            AnyStart::Tfhe((_, Note::Payload(_))) => return Err(not_a_key()),
            AnyStart::Tfhe(start) => {
                let file = tfhe::keys::KeyFile::read_rest(reader, start, name, sealed)?;
                return Ok(Self::Tfhe(Box::new(file)));
            }
            AnyStart::Aes(key) => return Ok(Self::Aes(AesKey { name: name.to_owned(), key, sealed })),
        };
        if matches!(start.note(), Note::Payload(_)) {
            return Err(not_a_key());
        }
        Ok(Self::Scheme(match start {
            Start::Ckks(start) => OneOf::Ckks(KeyFile::read_rest(reader, start, name, sealed)?),
            Start::Bfv(start) => OneOf::Bfv(KeyFile::read_rest(reader, start, name, sealed)?),
            Start::Bgv(start) => OneOf::Bgv(KeyFile::read_rest(reader, start, name, sealed)?),
            Start::BigCkks(start) => OneOf::BigCkks(KeyFile::read_rest(reader, start, name, sealed)?),
        }))
    }

    /// A key of a scheme.
    ///
    /// # Errors
    /// It is a key of TFHE, or a key for files.
    pub fn scheme(self, needed: &str) -> Result<OneOf<KeyFiles>> {
        match self {
            Self::Scheme(file) => Ok(file),
            Self::Tfhe(file) => {
                Err(KeyError::OfTfhe { name: file.name.clone(), needed: needed.to_owned() }.into())
            }
            Self::Aes(key) => {
                Err(KeyError::OfAes { name: key.name.clone(), needed: needed.to_owned() }.into())
            }
        }
    }

    /// A key for files.
    ///
    /// # Errors
    /// It is a key for ciphertexts.
    pub fn aes(self) -> Result<AesKey> {
        let not_aes =
            |name: &str, found: &'static str| Err(KeyError::NotAes { name: name.to_owned(), found }.into());
        match self {
            Self::Aes(key) => Ok(key),
            Self::Tfhe(file) => not_aes(&file.name, file.key.name()),
            Self::Scheme(file) => on_scheme!(file, file => not_aes(&file.name, file.key.name())),
        }
    }
}

/// A key file: its parameters, its key set, and the key, which still needs a device unless it is
/// secret.
pub struct KeyFile<S: Scheme> {
    /// Its name in errors.
    pub name: String,
    /// The parameters.
    pub params: S::Params,
    /// The key set.
    pub id: KeyId,
    /// The key.
    pub key: Key<S>,
    /// Whether a passphrase protects it.
    pub sealed: bool,
}

/// The kinds of keys.
pub enum Key<S: Scheme> {
    /// A secret key.
    Secret(S::Secret),
    /// A public key.
    Public(Frame),
    /// Evaluation keys.
    Evaluation(Vec<Frame>),
}

impl<S: Scheme> Key<S> {
    /// Its kind, with an article.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Secret(_) => "a secret key",
            Self::Public(_) => "a public key",
            Self::Evaluation(_) => "an evaluation key",
        }
    }
}

impl<S: Scheme> KeyFile<S> {
    /// Reads everything after parameters and description.
    ///
    /// # Errors
    /// The same as for [`AnyKey::read`]; the description is not that of a key.
    pub fn read_rest(
        mut reader: FrameReader<impl Read>,
        (params, note): (S::Params, Note),
        name: &str,
        sealed: bool,
    ) -> Result<Self> {
        let not_a_key = || -> Error { KeyError::NoKey { name: name.to_owned() }.into() };
        let Note::Key(note) = note else { return Err(not_a_key()) };
        let limit = |kind, _| S::key_frame_limit(&params, kind);
        // Every Galois element once, and the relinearisation key.
        let most = S::ring(&params).n() + 1;
        let mut frames = Vec::new();
        while let Some(frame) = reader.next_frame(limit).in_file(name)? {
            if frames.len() == most {
                return Err(KeyError::TooMany { name: name.to_owned() }.into());
            }
            frames.push(frame);
        }
        let mut seen = BTreeSet::new();
        for frame in &frames {
            let element = match S::key_part(frame) {
                Some(KeyPart::Relin) => None,
                // A Galois key starts with its element, in every scheme.
                Some(KeyPart::Galois) => frame.body.first_chunk().copied().map(u64::from_le_bytes),
                _ => continue,
            };
            if !seen.insert(element) {
                let which = element.map_or_else(
                    || "relinearisation key".to_owned(),
                    |element| format!("Galois key of element {element}"),
                );
                return Err(KeyError::Twice { name: name.to_owned(), key: which }.into());
            }
        }
        let evaluation = |frame: &Frame| matches!(S::key_part(frame), Some(KeyPart::Relin | KeyPart::Galois));
        let key = match frames.as_mut_slice() {
            [frame] if S::key_part(frame) == Some(KeyPart::Secret) => {
                Key::Secret(S::decode_secret(&params, frame).in_file(name)?.of(&note.key_id))
            }
            [frame] if S::key_part(frame) == Some(KeyPart::Public) => match frames.pop() {
                Some(frame) => Key::Public(frame),
                None => return Err(not_a_key()),
            },
            some if !some.is_empty() && some.iter().all(evaluation) => Key::Evaluation(frames),
            _ => return Err(not_a_key()),
        };
        Ok(Self { name: name.to_owned(), params, id: note.key_id, key, sealed })
    }

    /// The error that this is another kind of key than the required one.
    pub fn wrong_kind(&self, needed: &str) -> Error {
        KeyError::Kind { name: self.name.clone(), found: self.key.name(), needed: needed.to_owned() }.into()
    }

    /// The secret key.
    ///
    /// # Errors
    /// The file holds another kind of key.
    pub fn secret(&self) -> Result<&S::Secret> {
        match &self.key {
            Key::Secret(key) => Ok(key),
            _ => Err(self.wrong_kind("a secret key")),
        }
    }

    /// The public key on a device.
    ///
    /// # Errors
    /// The file holds another kind of key, or it is damaged.
    pub fn public<B: RingOps>(&self, ring: &Ring<B>) -> Result<S::Public>
    where
        S: On<B>,
    {
        match &self.key {
            Key::Public(frame) => {
                Ok(S::decode_public(&self.params, ring, frame).in_file(&self.name)?.of(&self.id))
            }
            _ => Err(self.wrong_kind("a public key")),
        }
    }

    /// The evaluation keys on a device.
    ///
    /// # Errors
    /// The file holds another kind of key, or it is damaged.
    pub fn evaluation<B: RingOps>(&self, ring: &Ring<B>) -> Result<S::Evaluation>
    where
        S: On<B>,
    {
        let Key::Evaluation(frames) = &self.key else {
            return Err(self.wrong_kind("an evaluation key"));
        };
        Ok(S::decode_evaluation(&self.params, ring, frames).in_file(&self.name)?.of(&self.id))
    }

    /// Checks that a file belongs to this key set.
    ///
    /// # Errors
    /// It belongs to another key set.
    pub fn check_owner(&self, params: &S::Params, id: &KeyId, name: &str) -> Result<()> {
        if &self.params == params && &self.id == id {
            return Ok(());
        }
        Err(foreign(name, id, &self.name, &self.id))
    }
}

/// A file of one key set, and a key of another.
pub fn foreign(name: &str, id: &KeyId, key: &str, key_id: &KeyId) -> Error {
    let (set, own) = (id.short().to_owned(), key_id.short().to_owned());
    KeyError::Foreign { name: name.to_owned(), set, key: key.to_owned(), own }.into()
}

/// Looks at the first bytes of what should be a file of frames and refuses what is easily known to
/// be something else.
///
/// # Errors
/// The file is empty, a picture, or a sealed key.
pub fn check_start(input: &mut Input, needed: &str, hint: &str) -> Result<()> {
    let start = input.peek(SNIFF_LEN)?;
    let found = if start.is_empty() {
        "empty".to_owned()
    } else if passphrase::is_sealed(start) {
        "a sealed secret key".to_owned()
    } else if start.starts_with(&container::MAGIC) {
        "a file encrypted by AES".to_owned()
    } else if let Some(format) = Format::sniff(start) {
        format!("a {} picture", format.name())
    } else {
        return Ok(());
    };
    Err(FileError::Kind {
        name: input.name().to_owned(),
        found,
        needed: needed.to_owned(),
        what_to_do: hint.to_owned(),
    }
    .into())
}

/// The beginning of a file of frames.
pub enum AnyStart {
    /// The parameters of a scheme, and the description behind them.
    Scheme(Start),
    /// The same of TFHE.
    Tfhe(tfhe::keys::Start),
    /// An AES key, which is the whole content.
    Aes(UserKey),
}

/// Reads the beginning of a file.
///
/// # Errors
/// The beginning is missing or damaged, or the parameters are insecure.
pub fn read_start<R: Read>(reader: &mut FrameReader<R>, name: &str) -> Result<AnyStart> {
    let missing = || -> Error { FileError::NoParams { name: name.to_owned() }.into() };
    let first = reader.next_frame(|kind, _| first_frame_limit(kind)).in_file(name)?.ok_or_else(missing)?;
    Ok(AnyStart::Scheme(match first.kind {
        FrameKind::AesKey => {
            let key = UserKey::from_frame(&first).in_file(name)?;
            return match reader.next_frame(|_, _| 0).in_file(name)? {
                None => Ok(AnyStart::Aes(key)),
                Some(_) => Err(KeyError::Several { name: name.to_owned() }.into()),
            };
        }
        FrameKind::TfheParams => return Ok(AnyStart::Tfhe(tfhe::keys::read_start(reader, &first, name)?)),
        FrameKind::CkksParams => {
            Start::Ckks(described::<Ckks, R>(reader, CkksParams::from_frame(&first), name)?)
        }
        FrameKind::BfvParams => Start::Bfv(described::<Bfv, R>(reader, Params::from_frame(&first), name)?),
        FrameKind::BgvParams => Start::Bgv(described::<Bgv, R>(reader, Params::from_frame(&first), name)?),
        FrameKind::BigCkksParams => {
            let params = BigCkksParams::from_frame(&first);
            Start::BigCkks(described::<BigCkks, R>(reader, params, name)?)
        }
        _ => return Err(missing()),
    }))
}

/// The parameters, and the description that follows.
fn described<S: Scheme, R: Read>(
    reader: &mut FrameReader<R>,
    params: he_core::Result<S::Params>,
    name: &str,
) -> Result<(S::Params, Note)> {
    let params = params.map_err(bad_params).in_file(name)?;
    let missing = || -> Error { FileError::NoParams { name: name.to_owned() }.into() };
    let limit = |kind, _| if kind == FrameKind::Attachment { Frame::MAX_ATTACHMENT } else { 0 };
    let second = reader.next_frame(limit).in_file(name)?.ok_or_else(missing)?;
    let note = Note::checked(S::fingerprint(&params), &second, |content| S::check_content(&params, content))
        .in_file(name)?;
    Ok((params, note))
}

/// Writes an AES key; returns the bytes.
///
/// # Errors
/// The output cannot be written.
pub fn write_aes_key(out: impl Write, key: &UserKey, name: &str) -> Result<u64> {
    let mut writer = FrameWriter::new(out);
    let bytes = writer.write(&key.to_frame()).in_output(name)?;
    writer.finish(Fingerprint(key.fingerprint())).in_output(name)?;
    Ok(bytes + Frame::size(END_MARK))
}

/// Writes parameters, key set and key frames; returns the bytes.
///
/// # Errors
/// The output cannot be written.
pub fn write_key<S: Scheme>(
    out: impl Write,
    params: &S::Params,
    id: &KeyId,
    frames: impl IntoIterator<Item = he_core::Result<Frame>>,
    name: &str,
) -> Result<u64> {
    write_frames(out, &S::encode_params(params), id, frames, name)
}

/// The same with the parameters as a frame, of any scheme.
///
/// # Errors
/// The output cannot be written.
pub fn write_frames(
    out: impl Write,
    params: &Frame,
    id: &KeyId,
    frames: impl IntoIterator<Item = he_core::Result<Frame>>,
    name: &str,
) -> Result<u64> {
    let mut writer = FrameWriter::new(out);
    let mut bytes = writer.write(params).in_output(name)?;
    let note = note::to_frame(params.fingerprint, &KeyNote { key_id: id.clone() })?;
    bytes += writer.write(&note).in_output(name)?;
    for frame in frames {
        bytes += writer.write(&frame?).in_output(name)?;
    }
    writer.finish(params.fingerprint).in_output(name)?;
    Ok(bytes + Frame::size(END_MARK))
}
