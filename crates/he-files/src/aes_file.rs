//! Files under AES: `he_core::aes::container` between files, pipes and folders.

pub mod stream;
#[cfg(not(target_family = "wasm"))]
mod transfer;

#[cfg(not(target_family = "wasm"))]
pub use transfer::{Done, FileCipher, Source, Target, encrypt};

use crate::error::{AesFileError, Error, InFile, Result};
use crate::io::input::Input;
use crate::passphrase::{self, Passphrase, Passphrases, Purpose};
use he_core::aes::container::{
    ContainerError, Content, Cost, Extent, FileKey, HEADER, Header, Layout, Lock, MAGIC, UserKey,
};
use rand::rngs::ChaCha20Rng;
use std::io::{ErrorKind, Read};
use std::ops::Range;
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

impl Secret<'_> {
    /// Header and key of a new file, which errors call `name`.
    fn close(
        self,
        layout: Layout,
        content: Content,
        rng: &mut ChaCha20Rng,
        name: &str,
    ) -> Result<(Header, FileKey)> {
        match self {
            Self::Key(key) => Ok(Header::with_key(key, layout, content, rng)),
            Self::Passphrase(passphrases) => {
                let phrase = passphrases.obtain(Purpose::Seal, name)?;
                let stretch = |salt: &[u8; 32], cost| user_key(&phrase, salt, cost);
                Header::with_passphrase(Cost::USUAL, layout, content, rng, stretch)
            }
        }
    }

    /// The key of a file, which errors call `name`.
    fn open(self, header: &Header, name: &str) -> Result<FileKey> {
        match (header.lock(), self) {
            (_, Self::Key(key)) => header.open(key).in_file(name),
            (Lock::Passphrase(_), Self::Passphrase(passphrases)) => {
                let phrase = passphrases.obtain(Purpose::Open, name)?;
                let stretch = |salt: &[u8; 32], cost| user_key(&phrase, salt, cost);
                header.open_with_passphrase(phrase.most_cost(), stretch).in_file(name)
            }
            (Lock::Key, Self::Passphrase(_)) => Err(ContainerError::Header).in_file(name),
        }
    }

    /// Checks that it is of the kind that locks a file, which errors call `name`.
    ///
    /// # Errors
    /// The file is locked by the other kind.
    fn check(self, header: &Header, name: &str) -> Result<()> {
        let name = name.to_owned();
        match (header.lock(), self) {
            (Lock::Key, Self::Passphrase(_)) => {
                Err(AesFileError::NeedsKey { name, key: header.id().to_string() }.into())
            }
            (Lock::Passphrase(_), Self::Key(_)) => Err(AesFileError::NeedsPassphrase { name }.into()),
            _ => Ok(()),
        }
    }
}

fn user_key(passphrase: &Passphrase, salt: &[u8], cost: Cost) -> Result<UserKey> {
    Ok(UserKey::new(&*passphrase::stretch(cost, salt, passphrase)?))
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
        input.read_exact(&mut header).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => truncated(&name),
            _ => Error::io(error, "read", &name),
        })?;
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
        secret.check(header, name)?;
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
