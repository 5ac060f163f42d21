//! Key files.

use crate::error::{Error, InFile, KeyError, Result, Wanted};
use crate::file_start::{AnyStart, FileFormat, FileStart, check_start, read_start};
use crate::io::input::Input;
use crate::note::{self, KeyId, KeyNote, Note};
use crate::on_scheme;
use crate::passphrase::{self, Passphrases, Purpose};
use crate::scheme::{Family, KeyPart, OfKeySet, OneOf, Rotations, Scheme, Start};
use crate::tfhe;
use he::Device;
use he_core::aes::container::UserKey;
use he_core::ring::Ring;
use he_core::rlwe::Fingerprint;
use he_core::transcipher::SensorKey;
use he_core::wire::{Frame, FrameKind, FrameReader, FrameWriter, Wire, WireError, WireKeys, WireParams};
use std::collections::BTreeSet;
use std::io::{BufReader, Read, Write};

/// Bytes of the end mark's body.
pub const END_MARK: u64 = 40;
/// The longest sealed secret key that is read.
const MAX_SEALED: u64 = 1 << 20;
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
    /// For what is to be transciphered.
    Sensor(AesKey<SensorKey>),
}

/// A key of AES: for files, or a [`SensorKey`].
pub struct AesKey<K = UserKey> {
    /// Its name in errors.
    pub name: String,
    /// The key.
    pub key: K,
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
        check_start(&mut input, needed, Wanted::Key)?;
        let name = input.name().to_owned();
        Self::read_plain(BufReader::with_capacity(1 << 16, input), &name, needed, false)
    }

    /// Reads a sealed secret key.
    ///
    /// # Errors
    /// The same as for [`read`](Self::read).
    pub fn read_sealed(input: Input, passphrase: &dyn Passphrases) -> Result<Self> {
        let name = input.name().to_owned();
        let plain =
            passphrase::read_sealed(input, MAX_SEALED, |name| passphrase.obtain(Purpose::Open, name))?;
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
            AnyStart::Bootstrap(..) => {
                let (name, needed) = (name.to_owned(), needed.to_owned());
                return Err(KeyError::Bootstrapping { name, needed }.into());
            }
            AnyStart::Aes(key) => return Ok(Self::Aes(AesKey { name: name.to_owned(), key, sealed })),
            AnyStart::Sensor(key) => return Ok(Self::Sensor(AesKey { name: name.to_owned(), key, sealed })),
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
            Self::Aes(AesKey { name, .. }) | Self::Sensor(AesKey { name, .. }) => {
                Err(KeyError::OfAes { name, needed: needed.to_owned() }.into())
            }
        }
    }

    /// A key for files.
    ///
    /// # Errors
    /// It is another kind of key.
    pub fn aes(self) -> Result<AesKey> {
        match self {
            Self::Aes(key) => Ok(key),
            other => {
                let (name, found) = other.named();
                Err(KeyError::NotAes { name, found }.into())
            }
        }
    }

    /// A key for what is to be transciphered.
    ///
    /// # Errors
    /// It is another kind of key.
    pub fn sensor(self) -> Result<AesKey<SensorKey>> {
        match self {
            Self::Sensor(key) => Ok(key),
            other => {
                let (name, found) = other.named();
                Err(KeyError::NotSensor { name, found }.into())
            }
        }
    }

    /// A key of TFHE; `needed` is the expected kind.
    ///
    /// # Errors
    /// It is another kind of key.
    pub fn tfhe(self, needed: &str) -> Result<tfhe::keys::KeyFile> {
        match self {
            Self::Tfhe(file) => Ok(*file),
            other => {
                let (name, found) = other.named();
                Err(KeyError::NotTfhe { name, found, needed: needed.to_owned() }.into())
            }
        }
    }

    /// Its name in errors, and the kind of the key, with an article.
    fn named(self) -> (String, &'static str) {
        match self {
            Self::Aes(key) => (key.name, "an AES key"),
            Self::Sensor(key) => (key.name, "a sensor key"),
            Self::Tfhe(file) => {
                let kind = file.kind();
                (file.name, kind)
            }
            Self::Scheme(file) => on_scheme!(file, file => {
                let kind = file.kind();
                (file.name, kind)
            }),
        }
    }
}

/// The keys in the files of a scheme.
pub trait KeyFormat: FileFormat {
    /// A key, which still needs a device unless it is secret.
    type Key;

    /// Reads everything after parameters and description. Errors call the file `name`.
    ///
    /// # Errors
    /// The frames are damaged, or not those of one key.
    fn read_key(
        reader: &mut FrameReader<impl Read>,
        params: &Self::Params,
        note: &KeyNote,
        name: &str,
    ) -> Result<Self::Key>;
    /// The kind of a key, with an article.
    fn key_name(key: &Self::Key) -> &'static str;
}

/// A key file: its parameters, its key set, and the key.
pub struct KeyFile<F: KeyFormat> {
    /// Its name in errors.
    pub name: String,
    /// The parameters.
    pub params: F::Params,
    /// The key set.
    pub id: KeyId,
    /// The key.
    pub key: F::Key,
    /// Whether a passphrase protects it.
    pub sealed: bool,
}

impl<F: KeyFormat> KeyFile<F> {
    /// Reads everything after parameters and description.
    ///
    /// # Errors
    /// The same as for [`AnyKey::read`]; the description is not that of a key.
    pub fn read_rest(
        mut reader: FrameReader<impl Read>,
        (params, note): FileStart<F>,
        name: &str,
        sealed: bool,
    ) -> Result<Self> {
        let Note::Key(note) = note else { return Err(not_a_key(name)) };
        let key = F::read_key(&mut reader, &params, &note, name)?;
        Ok(Self { name: name.to_owned(), params, id: note.key_id, key, sealed })
    }

    /// The kind of its key, with an article.
    pub fn kind(&self) -> &'static str {
        F::key_name(&self.key)
    }

    /// The error that this is another kind of key than the required one.
    pub fn wrong_kind(&self, needed: &str) -> Error {
        let (name, found, needed) = (self.name.clone(), self.kind(), needed.to_owned());
        KeyError::Kind { name, found, needed }.into()
    }

    /// Checks that a file belongs to this key set.
    ///
    /// # Errors
    /// It belongs to another key set.
    pub fn check_owner(&self, params: &F::Params, id: &KeyId, name: &str) -> Result<()> {
        if &self.params == params && &self.id == id {
            return Ok(());
        }
        let (set, own) = (id.short().to_owned(), self.id.short().to_owned());
        Err(KeyError::Foreign { name: name.to_owned(), set, key: self.name.clone(), own }.into())
    }
}

/// A file that is not a key file.
pub fn not_a_key(name: &str) -> Error {
    KeyError::NoKey { name: name.to_owned() }.into()
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

/// The next frame of a key file, of which one of several parties is not part.
fn next_frame(
    reader: &mut FrameReader<impl Read>,
    limit: impl Fn(FrameKind, Fingerprint) -> u64,
    name: &str,
) -> Result<Option<Frame>> {
    use FrameKind::{EphemeralKey, PartyKey, PartyShare, SecretShare, Session, ThresholdKey};
    match reader.next_frame(limit) {
        Err(WireError::Length {
            kind: kind @ (Session | PartyShare | SecretShare | PartyKey | ThresholdKey | EphemeralKey),
            expected: 0,
            ..
        }) => Err(KeyError::OfParties { name: name.to_owned(), found: kind.to_string() }.into()),
        frame => frame.in_file(name),
    }
}

impl<S: Scheme> KeyFormat for S {
    type Key = Key<S>;

    fn read_key(
        reader: &mut FrameReader<impl Read>,
        params: &Self::Params,
        note: &KeyNote,
        name: &str,
    ) -> Result<Key<S>> {
        if note.sensor.is_some() {
            return Err(not_a_key(name));
        }
        let limit = |kind, _| params.key_frame_limit(kind);
        // Every Galois element once, and the relinearisation key.
        let most = S::ring(params).n() + 1;
        let mut frames = Vec::new();
        while let Some(frame) = next_frame(reader, limit, name)? {
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
        Ok(match frames.as_mut_slice() {
            [frame] if S::key_part(frame) == Some(KeyPart::Secret) && note.parties.is_none() => {
                Key::Secret(S::Secret::from_frame(params, (), frame).in_file(name)?.of(&note.key_id))
            }
            [frame] if S::key_part(frame) == Some(KeyPart::Public) => match frames.pop() {
                Some(frame) => Key::Public(frame),
                None => return Err(not_a_key(name)),
            },
            some if !some.is_empty() && some.iter().all(evaluation) => Key::Evaluation(frames),
            _ => return Err(not_a_key(name)),
        })
    }

    fn key_name(key: &Key<S>) -> &'static str {
        match key {
            Key::Secret(_) => "a secret key",
            Key::Public(_) => "a public key",
            Key::Evaluation(_) => "an evaluation key",
        }
    }
}

impl<S: Scheme> KeyFile<S> {
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
    pub fn public(&self, ring: &Ring<Device>) -> Result<S::Public> {
        match &self.key {
            Key::Public(frame) => {
                Ok(S::Public::from_frame(&self.params, ring, frame).in_file(&self.name)?.of(&self.id))
            }
            _ => Err(self.wrong_kind("a public key")),
        }
    }

    /// The evaluation keys on a device. Memory of the host is freed key by key.
    ///
    /// # Errors
    /// The file holds another kind of key, or it is damaged.
    pub fn evaluation(self, ring: &Ring<Device>) -> Result<S::Evaluation> {
        let wrong_kind = self.wrong_kind("an evaluation key");
        let Key::Evaluation(frames) = self.key else { return Err(wrong_kind) };
        let mut keys = S::Evaluation::empty(&self.params, ring).in_file(&self.name)?;
        for frame in frames {
            keys.insert_frame(&self.params, &frame).in_file(&self.name)?;
        }
        Ok(keys.of(&self.id))
    }
}

/// Writes an AES key, which is its frame; returns the bytes.
///
/// # Errors
/// The output cannot be written.
pub fn write_aes_key(out: impl Write, key: &Frame, name: &str) -> Result<u64> {
    let mut writer = FrameWriter::new(out);
    let bytes = writer.write(key).in_output(name)?;
    writer.finish(key.fingerprint).in_output(name)?;
    Ok(bytes + Frame::size(END_MARK))
}

/// Bytes of a file of keys that take so many: parameters, key set and end mark as well.
pub fn file_bytes(params: &Frame, keys: u64) -> u64 {
    /// Bytes of the note about the key set.
    const NOTE: u64 = 45;
    Frame::size(params.body.len() as u64) + Frame::size(NOTE) + keys + Frame::size(END_MARK)
}

/// Bytes of the file of evaluation keys for products and for these rotations, before there are any.
pub fn evaluation_bytes<S: Scheme>(
    params: &S::Params,
    [relin, galois]: [FrameKind; 2],
    rotations: &Rotations,
) -> u64 {
    let [relin, galois] = [relin, galois].map(|kind| Frame::size(params.key_frame_limit(kind)));
    file_bytes(&params.to_frame(), relin + rotations.count() as u64 * galois)
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
    write_frames(out, &params.to_frame(), &KeyNote::of(id), frames, name)
}

/// The same with the parameters as a frame, of any scheme.
///
/// # Errors
/// The output cannot be written.
pub fn write_frames(
    out: impl Write,
    params: &Frame,
    note: &KeyNote,
    frames: impl IntoIterator<Item = he_core::Result<Frame>>,
    name: &str,
) -> Result<u64> {
    let mut writer = FrameWriter::new(out);
    let mut bytes = writer.write(params).in_output(name)?;
    bytes += writer.write(&note::key_frame(params.fingerprint, note)?).in_output(name)?;
    for frame in frames {
        bytes += writer.write(&frame?).in_output(name)?;
    }
    writer.finish(params.fingerprint).in_output(name)?;
    Ok(bytes + Frame::size(END_MARK))
}
