//! Files under AES: `he_core::aes::container` between files, pipes and folders.

use crate::archive;
use crate::error::{AesFileError, Error, InFile, IoContext, OutputError, Result};
use crate::io::input::Input;
use crate::io::output::{NewFolder, Output, is_inside};
use crate::passphrase::{self, Passphrase, Passphrases, Purpose};
use crate::pipeline::{self, Drain, Filler, Piece, read_full};
use crate::scheme::engine::rng;
use crate::watch::{Meter, Stage, Watch};
use he_core::aes::container::{
    ContainerError, Content, Cost, Extent, FileKey, HEADER, Header, Layout, Lock, MAGIC, TAG, UserKey,
};
use he_core::aes::{Bulk, BulkCipher};
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// log2 of the bytes of a chunk in new files.
const LOG2_CHUNK: u8 = 20;
/// Bytes by which a file is recognised.
pub const SNIFF_LEN: usize = MAGIC.len();

/// Returns whether a file with this start is encrypted by AES ([`SNIFF_LEN`] bytes suffice).
pub fn is_container(start: &[u8]) -> bool {
    start.starts_with(&MAGIC)
}

/// The secret that opens and closes files.
#[derive(Clone, Copy)]
pub enum Secret<'a> {
    /// A key.
    Key(&'a UserKey),
    /// A passphrase, to be obtained.
    Passphrase(&'a dyn Passphrases),
}

fn user_key(passphrase: &Passphrase, salt: &[u8], cost: Cost) -> Result<UserKey> {
    Ok(UserKey::new(&*passphrase::stretch(cost, salt, passphrase)?))
}

/// The outcome of encryption or decryption.
#[derive(Clone, Debug)]
pub struct Done {
    /// The plain bytes, which for a folder are those of the archive.
    pub plain: u64,
    /// The bytes of the encrypted file, if all of it was read or written.
    pub encrypted: u64,
    /// The bytes that were written, which for a folder are those of the archive.
    pub written: u64,
    folder: bool,
    lock: Lock,
    id: String,
    device: String,
}

impl Done {
    /// For programs.
    pub fn facts(&self) -> Map<String, Value> {
        let key = match self.lock {
            Lock::Key => ("key", json!(self.id)),
            Lock::Passphrase(_) => ("passphrase", json!(true)),
        };
        let kind = if self.folder { "folder" } else { "file" };
        let facts = [
            ("cipher", json!("AES-256-GCM")),
            ("content", json!({ "type": kind, "bytes": self.plain })),
            ("bytes", json!(self.written)),
            ("device", json!(self.device)),
            key,
        ];
        facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// The cipher that encrypts and decrypts the bytes of files.
pub struct FileCipher {
    /// The cipher, which makes the same bytes on every device.
    pub cipher: Box<dyn BulkCipher>,
    /// The bytes that it should get at a time.
    pub piece: usize,
}

impl FileCipher {
    /// The CPU.
    pub fn cpu() -> Self {
        Self { cipher: Box::new(he_core::aes::Cpu::new()), piece: 4 << 20 }
    }
}

/// What is encrypted.
pub enum Source {
    /// A file, or anything else that can be read.
    Input(Input),
    /// A folder, as an archive.
    Folder(PathBuf),
}

impl Source {
    /// Opens a file or folder that is to be encrypted into the file `output`.
    ///
    /// # Errors
    /// It cannot be read, or the output lies in the folder.
    pub fn open(path: &Path, output: &Path) -> Result<Self> {
        if path.as_os_str() == "-" || !path.is_dir() {
            return Ok(Self::Input(Input::open(path)?));
        }
        if output.as_os_str() != "-" && is_inside(output, path) {
            return Err(OutputError::InsideInput {
                path: output.display().to_string(),
                folder: path.display().to_string(),
            }
            .into());
        }
        Ok(Self::Folder(path.to_owned()))
    }

    /// Its length in bytes, if known before it is read.
    pub fn known_len(&self) -> Option<u64> {
        match self {
            Self::Input(input) => input.known_len(),
            Self::Folder(_) => None,
        }
    }
}

/// Encrypts a file, a stream or a folder into `out`.
///
/// # Errors
/// Something cannot be read, written, computed or obtained. No output is left then.
pub fn encrypt(
    source: Source,
    mut out: Output,
    secret: Secret<'_>,
    cipher: FileCipher,
    watch: &dyn Watch,
) -> Result<Done> {
    let is_folder = matches!(source, Source::Folder(_));
    let len = source.known_len();
    let content = if is_folder { Content::Tar } else { Content::Bytes };
    let (name, layout) = (out.name(), Layout::new(LOG2_CHUNK)?);
    let FileCipher { cipher, piece } = cipher;
    let mut rng = rng()?;
    let (header, key) = match secret {
        Secret::Key(key) => Header::with_key(key, layout, content, &mut rng),
        Secret::Passphrase(passphrases) => {
            let phrase = passphrases.obtain(Purpose::Seal, &name)?;
            let stretch = |salt: &[u8; 32], cost| user_key(&phrase, salt, cost);
            Header::with_passphrase(Cost::USUAL, layout, content, &mut rng, stretch)?
        }
    };
    out.write_all(&header.to_bytes()).writing(&name)?;
    let mut plain = 0;
    let progress = len.map(|len| Meter::new(watch, Stage::Encrypting, len));
    let fill = |filler: &mut Filler| match source {
        Source::Input(mut source) => {
            let name = source.name().to_owned();
            filler.read_plain(&mut source, |error| Error::io(error, "read", &name))
        }
        Source::Folder(folder) => archive::pack(&folder, filler),
    };
    let seal = |piece: &mut Piece| {
        let (first, end) = (piece.first, piece.end);
        let (data, tags) = piece.parts();
        tags.resize(data.len().div_ceil(layout.chunk_len()).max(1), [0; TAG]);
        let len = data.len() as u64;
        plain += len;
        key.seal(&*cipher, first, end, Bulk::in_place(data), tags)?;
        progress.iter().for_each(|progress| progress.inc(len));
        Ok(())
    };
    pipeline::run(layout, piece, fill, seal, |drain| {
        drain.chunks(|data, tag| out.write_all(data).and_then(|()| out.write_all(tag)).writing(&name))
    })?;
    let encrypted = out.bytes();
    out.commit()?;
    let (lock, id, device) = (header.lock(), header.id().to_string(), cipher.name());
    Ok(Done { plain, encrypted, written: encrypted, folder: is_folder, lock, id, device })
}

/// An encrypted file whose header has been read.
pub struct Sealed {
    input: Input,
    /// The header; authentic once a key opens it.
    pub header: Header,
}

impl Sealed {
    /// Reads the header.
    ///
    /// # Errors
    /// It is truncated, or a field is out of range.
    pub fn read(mut input: Input) -> Result<Self> {
        let mut header = [0; HEADER];
        let name = input.name().to_owned();
        if read_full(&mut input, &mut header).at(&name)? < HEADER {
            return Err(truncated(&name));
        }
        let header = Header::parse(&header).in_file(&name)?;
        Ok(Self { input, header })
    }

    /// The size of the content according to the length of the file, if known.
    ///
    /// # Errors
    /// No file has this length.
    pub fn extent(&self) -> Result<Option<Extent>> {
        let extent = self.input.known_len().map(|len| self.header.layout().extent(len));
        extent.transpose().in_file(self.input.name())
    }

    /// Checks, before anything is written, that it can be decrypted by a secret of this kind, and
    /// cut into a range if one is requested.
    ///
    /// # Errors
    /// It is locked by the other kind; it is a folder, or not a regular file, or too short for the
    /// range.
    pub fn check(&self, secret: Secret<'_>, range: Option<ByteRange>) -> Result<()> {
        let (name, header) = (self.input.name(), &self.header);
        match (header.lock(), secret) {
            (Lock::Key, Secret::Passphrase(_)) => {
                return Err(
                    AesFileError::NeedsKey { name: name.to_owned(), key: header.id().to_string() }.into()
                );
            }
            (Lock::Passphrase(_), Secret::Key(_)) => {
                return Err(AesFileError::NeedsPassphrase { name: name.to_owned() }.into());
            }
            _ => {}
        }
        if header.content() == Content::Tar && range.is_some() {
            return Err(AesFileError::RangeOfFolder { name: name.to_owned() }.into());
        }
        let extent = self.extent()?;
        range.map_or(Ok(()), |range| within(range, extent, name).map(drop))
    }

    /// Returns whether it holds a folder.
    pub fn is_folder(&self) -> bool {
        self.header.content() == Content::Tar
    }

    /// Decrypts all of it, or a range, to a file, a stream or a folder. `cipher` makes the cipher
    /// for this many bytes, if their number is known.
    ///
    /// # Errors
    /// The secret is a different one; the file is not as it was encrypted; something cannot be
    /// read, written, computed or obtained. No output is left then, and nothing unverified was
    /// written.
    pub fn decrypt(
        self,
        secret: Secret<'_>,
        target: Target,
        range: Option<ByteRange>,
        cipher: impl FnOnce(Option<u64>) -> Result<FileCipher>,
        watch: &dyn Watch,
    ) -> Result<Done> {
        self.check(secret, range)?;
        let (name, extent) = (self.input.name().to_owned(), self.extent()?);
        let Self { input, header } = self;
        let is_folder = header.content() == Content::Tar;
        let range = range.map(|range| within(range, extent, &name)).transpose()?;
        let key = match (header.lock(), secret) {
            (_, Secret::Key(key)) => header.open(key),
            (Lock::Passphrase(cost), Secret::Passphrase(passphrases)) => {
                let phrase = passphrases.obtain(Purpose::Open, &name)?;
                header.open(&user_key(&phrase, header.salt(), cost)?)
            }
            (Lock::Key, Secret::Passphrase(_)) => Err(ContainerError::Header),
        }
        .in_file(&name)?;
        let (lock, id) = (header.lock(), header.id().to_string());
        let length = input.length();
        let file = OpenedFile { name, key, cipher: cipher(extent.map(|extent| extent.plain))? };
        let (plain, written) = match (target, range) {
            (Target::File(mut out), None) => {
                let to = out.name();
                let plain = file.all(input, extent, watch, |drain| {
                    drain.chunks(|data, _| out.write_all(data).writing(&to))
                })?;
                out.commit()?;
                (plain, plain)
            }
            (Target::File(mut out), Some((range, extent))) => {
                file.range(input, range, extent, &mut out)?;
                let written = out.bytes();
                out.commit()?;
                (extent.plain, written)
            }
            (Target::Folder(folder), _) => {
                let plain = file.all(input, None, watch, |drain| {
                    archive::unpack(drain, &folder.inside(), &folder.name())
                })?;
                folder.commit()?;
                (plain, plain)
            }
        };
        let (encrypted, device) = (length.bytes(), file.cipher.cipher.name());
        Ok(Done { plain, encrypted, written, folder: is_folder, lock, id, device })
    }
}

/// The destination of a decrypted file.
pub enum Target {
    /// A file or a stream, which for a folder receives its archive.
    File(Output),
    /// A folder, for files that hold one.
    Folder(NewFolder),
}

/// A range of bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange {
    /// The first byte.
    pub start: u64,
    /// One past the last byte; the end of the file if not given.
    pub end: Option<u64>,
}

impl FromStr for ByteRange {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        const FORM: &str = "give two numbers of bytes, as in 1000..2000, or one, as in 1000..";
        // Only digits, because numbers would also parse with a sign.
        let number = |digits: &str| match digits.bytes().all(|b| b.is_ascii_digit()) {
            true => digits.parse::<u64>().map_err(|_| FORM.to_owned()),
            false => Err(FORM.to_owned()),
        };
        let (start, end) = text.split_once("..").ok_or(FORM)?;
        let end = if end.is_empty() { None } else { Some(number(end)?) };
        let range = Self { start: number(start)?, end };
        match range.end {
            Some(end) if end < range.start => Err("the range ends before it starts".to_owned()),
            _ => Ok(range),
        }
    }
}

/// The range as numbers, and the available length.
fn within(range: ByteRange, extent: Option<Extent>, name: &str) -> Result<(Range<u64>, Extent)> {
    let Some(extent) = extent else {
        return Err(AesFileError::RangeOfStream { name: name.to_owned() }.into());
    };
    let range = range.start..range.end.unwrap_or(extent.plain);
    if range.start > extent.plain || range.end > extent.plain {
        return Err(AesFileError::Range { name: name.to_owned(), bytes: extent.plain }.into());
    }
    Ok((range, extent))
}

fn truncated(name: &str) -> Error {
    AesFileError::Truncated { name: name.to_owned() }.into()
}

/// An encrypted file with its key.
struct OpenedFile {
    name: String,
    key: FileKey,
    cipher: FileCipher,
}

impl OpenedFile {
    /// Verifies and decrypts some consecutive chunks.
    fn open(&self, first: u64, end: bool, data: &mut [u8], tags: &[[u8; TAG]]) -> Result<()> {
        self.key.open(&*self.cipher.cipher, first, end, tags, Bulk::in_place(data)).in_file(&self.name)
    }

    fn fill(&self, filler: &mut Filler, first: u64, input: &mut impl Read) -> Result<()> {
        let failed = |error| Error::io(error, "read", &self.name);
        filler.read_sealed(first, input, failed, || truncated(&self.name))
    }

    /// Decrypts everything after the header, and returns the number of plain bytes.
    fn all(
        &self,
        mut input: Input,
        extent: Option<Extent>,
        watch: &dyn Watch,
        sink: impl FnOnce(&mut Drain) -> Result<()> + Send,
    ) -> Result<u64> {
        let mut plain = 0;
        let progress = extent.map(|extent| Meter::new(watch, Stage::Decrypting, extent.plain));
        let open = |piece: &mut Piece| {
            let (first, end) = (piece.first, piece.end);
            let (data, tags) = piece.parts();
            self.open(first, end, data, tags)?;
            plain += data.len() as u64;
            progress.iter().for_each(|progress| progress.inc(data.len() as u64));
            Ok(())
        };
        let fill = |filler: &mut Filler| self.fill(filler, 0, &mut input);
        pipeline::run(self.key.layout(), self.cipher.piece, fill, open, sink)?;
        Ok(plain)
    }

    /// Decrypts a range, once the last chunk is known to be the last: a truncated file yields
    /// nothing.
    fn range(&self, input: Input, range: Range<u64>, extent: Extent, out: &mut Output) -> Result<()> {
        let (layout, to) = (self.key.layout(), out.name());
        let (chunk_len, last) = (layout.chunk_len() as u64, extent.chunks - 1);
        let mut file = input.into_file().ok_or_else(|| truncated(&self.name))?;
        self.seek(&mut file, last)?;
        let mut tag = [0; TAG];
        let mut data = vec![0; (extent.plain - last * chunk_len) as usize];
        let read =
            read_full(&mut file, &mut data).and_then(|data| Ok(data + read_full(&mut file, &mut tag)?));
        if read.at(&self.name)? < data.len() + TAG {
            return Err(truncated(&self.name));
        }
        self.open(last, true, &mut data, &[tag])?;
        if range.is_empty() {
            return Ok(());
        }
        let chunks = range.start / chunk_len..(range.end - 1) / chunk_len + 1;
        self.seek(&mut file, chunks.start)?;
        let mut file = file.take((chunks.end - chunks.start) * (chunk_len + TAG as u64));
        let open = |piece: &mut Piece| {
            let (first, end) = (piece.first, piece.end && chunks.end == extent.chunks);
            let (data, tags) = piece.parts();
            self.open(first, end, data, tags)
        };
        let mut at = chunks.start * chunk_len;
        pipeline::run(
            layout,
            self.cipher.piece,
            |filler| self.fill(filler, chunks.start, &mut file),
            open,
            |drain| {
                drain.chunks(|data, _| {
                    let inside = |place: u64| place.saturating_sub(at).min(data.len() as u64) as usize;
                    let wanted = &data[inside(range.start)..inside(range.end)];
                    at += data.len() as u64;
                    out.write_all(wanted).writing(&to)
                })
            },
        )?;
        // The file may have been shortened meanwhile.
        if at < range.end { Err(truncated(&self.name)) } else { Ok(()) }
    }

    fn seek(&self, file: &mut File, chunk: u64) -> Result<()> {
        let position = self.key.layout().position(chunk).ok_or_else(|| truncated(&self.name))?;
        file.seek(SeekFrom::Start(position)).at(&self.name)?;
        Ok(())
    }
}
