//! Between files, pipes and folders, on several threads.

use super::{ByteRange, LOG2_CHUNK, Sealed, Secret, truncated, within};
use crate::archive;
use crate::error::{AesFileError, Error, InFile, IoContext, OutputError, Result};
use crate::io::input::Input;
use crate::io::output::{NewFolder, Output, is_inside};
use crate::pipeline::{self, Drain, Filler, Piece, read_full};
use crate::scheme::engine::rng;
use crate::watch::{Meter, Stage, Watch};
use he_core::aes::container::{Content, Extent, FileKey, Layout, Lock, TAG};
use he_core::aes::{Bulk, BulkCipher};
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

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

/// The data to encrypt.
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
    let (header, key) = secret.close(layout, content, &mut rng, &name)?;
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

impl Sealed {
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
        let key = secret.open(&header, &name)?;
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
        let mut file =
            input.into_file().ok_or_else(|| AesFileError::RangeOfStream { name: self.name.clone() })?;
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
