//! Encrypted files: the format of `docs/format.md`, "Files under AES", over slices. A [`Header`] of
//! fixed length, then chunks of AES-256-GCM, each followed by its tag.
//!
//! Every file has a fresh random key, which is wrapped by the user's key: by AES-256-GCM under
//! BLAKE3(user key, salt), with the header as associated data. Chunk i has the nonce i (64 bits,
//! big-endian), three zero bytes and a byte that is 1 for the last chunk only: the construction
//! STREAM of Hoang, Reyhanitabar, Rogaway and Vizar (Online authenticated-encryption and its
//! nonce-reuse misuse-resistance, 2015).
//!
//! Up to the forgery bound of GCM, an attacker without the key cannot
//! - change a bit of a chunk or tag, or of the header: its tag, or that of the wrapped key, no
//!   longer fits;
//! - reorder, repeat or drop chunks: a chunk would be read under another number, and therefore
//!   under another nonce;
//! - truncate: the new last chunk was encrypted under flag 0 and is read under flag 1; a file has
//!   at least one chunk;
//! - append: the old last chunk was encrypted under flag 1 and is read under flag 0;
//! - join chunks or headers of two files: each file has its own random key, which only its own
//!   header unwraps.
//!
//! The plaintext of a container does not depend on the choice of the reader's key: the header holds
//! 128 bits of a hash of the user key, so finding two keys that open one container costs 2^64
//! hashes (2^64 runs of Argon2id for passphrases).
//!
//! ```
//! use he_core::aes::container::{Content, Header, Layout, UserKey};
//! use he_core::aes::{Bulk, Cpu};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut rng = he_core::rand::rng();
//! let (user, layout) = (UserKey::generate(&mut rng), Layout::new(12)?);
//! let (header, key) = Header::with_key(&user, layout, Content::Bytes, &mut rng);
//! let (mut data, mut tags) = (vec![7; 5000], [[0; 16]; 2]);
//! key.seal(&Cpu::new(), 0, true, Bulk::in_place(&mut data), &mut tags)?;
//!
//! let header = Header::parse(&header.to_bytes())?;
//! header.open(&user)?.open(&Cpu::new(), 0, true, &tags, Bulk::in_place(&mut data))?;
//! assert_eq!(data, [7; 5000]);
//! # Ok(())
//! # }
//! ```

use super::{AesError, Bulk, BulkCipher, Cpu, GcmChunks, Key, KeySize};
use crate::error::errors;
use crate::reveal;
use rand::CryptoRng;
use std::fmt;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// The bytes with which files start.
pub const MAGIC: [u8; 8] = *b"HEAESGCM";
/// The version of the format.
pub const VERSION: u8 = 1;
/// The length of a header in bytes.
pub const HEADER: usize = 120;
/// The length of a tag in bytes.
pub const TAG: usize = 16;

/// The header bytes that the wrapped key authenticates.
const BOUND: usize = HEADER - UserKey::LEN - TAG;
const SALT: usize = 32;
const ID: usize = 16;
/// Contexts of BLAKE3's key derivation.
const WRAPPING: &str = "he 2026-01 aes file: wrapping key of user key and salt, version 1";
const FINGERPRINT: &str = "he 2026-01 aes file: fingerprint of user key, version 1";

/// Result with [`ContainerError`].
pub type Result<T, E = ContainerError> = std::result::Result<T, E>;

errors! {
    /// Errors of a container, or of its use. No message depends on a key or on plaintext.
    #[derive(Debug)]
    #[non_exhaustive]
    pub enum ContainerError {
        /// The magic is missing.
        NotThisFormat:
            ("these bytes are not a file encrypted by AES");
        /// A version unknown to this program.
        Version {
            /// The version found.
            found: u8,
        }:
            ("container version {found} is unknown, this program reads {VERSION}"),
            ("update the program");
        /// A field with an impossible value.
        Field {
            /// The field.
            field: &'static str,
        }:
            ("the header holds an impossible {field}");
        /// Chunks of a length that the format does not have.
        ChunkLength {
            /// log2 of the length.
            found: u8,
        }:
            ("chunks of 2^{found} bytes, and the format has 2^{} to 2^{}", Layout::LOG2.start(), Layout::LOG2.end());
        /// Another user key.
        WrongKey {
            /// The key given.
            found: KeyId,
            /// The key of the file.
            expected: KeyId,
        }:
            ("the file was encrypted under key {expected}, and this is key {found}");
        /// More work to stretch a passphrase than the caller allows for.
        Cost {
            /// The cost that the file states.
            found: Cost,
            /// The greatest cost that was allowed.
            most: Cost,
        }:
            ("stretching the passphrase takes {found} as the file states, more than the {most} allowed"),
            ("allow the cost if you know who made the file: a hostile one wastes time and memory");
        /// Another passphrase, or a changed salt, cost or identity: these cannot be distinguished.
        WrongPassphrase:
            ("wrong passphrase, or the header is damaged");
        /// The right user key does not unwrap the key of the file.
        Header:
            ("the header is damaged");
        /// A length that a container cannot have.
        FileLength {
            /// The length of the file in bytes.
            found: u64,
        }:
            ("a file of {found} bytes cannot be whole: it was truncated or extended");
        /// A chunk that is not the one encrypted at its place.
        Chunk {
            /// Number of the first such chunk, from 0.
            index: u64,
        }:
            ("chunk {index} is not what was encrypted there: the file is damaged, truncated, extended or reordered");
        /// Chunks that are neither full nor at the end, no chunks at all, or an end where there
        /// cannot be one.
        Partial {
            /// The bytes passed.
            found: usize,
            /// The bytes of a full chunk.
            chunk_len: usize,
        }:
            ("{found} bytes are not whole chunks of {chunk_len}"),
            ("pass full chunks, and the rest at the end");
        /// More than 2^64 chunks.
        TooManyChunks:
            ("more than 2^64 chunks"),
            ("split the data");
    }
    wrapping {
        /// The cipher failed.
        Aes(error: AesError): error.message(), error.hint();
    }
}

/// A user's key for files: 256 bits. Wiped when dropped; never printed.
#[derive(Clone, ZeroizeOnDrop)]
pub struct UserKey([u8; Self::LEN]);

impl UserKey {
    /// The length of a key in bytes.
    pub const LEN: usize = 32;

    /// Draws a fresh key.
    pub fn generate(rng: &mut (impl CryptoRng + ?Sized)) -> Self {
        let mut key = Self([0; Self::LEN]);
        rng.fill_bytes(&mut key.0);
        key
    }

    /// Makes a key from its bytes. The caller must wipe its own copy.
    pub fn new(bytes: &[u8; Self::LEN]) -> Self {
        Self(*bytes)
    }

    /// The secret itself.
    pub fn expose_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }

    /// A hash of the key, which is public.
    pub fn fingerprint(&self) -> [u8; 32] {
        reveal::bytes(*derive(FINGERPRINT, &[&self.0]))
    }

    /// The identity by which files name the key that opens them: the first half of the fingerprint.
    pub fn id(&self) -> KeyId {
        KeyId::of_fingerprint(&self.fingerprint())
    }
}

impl fmt::Debug for UserKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UserKey({})", self.id())
    }
}

/// 128 bits of a hash of a key, public.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyId(pub [u8; ID]);

impl KeyId {
    /// The first half of a fingerprint.
    pub(crate) fn of_fingerprint(fingerprint: &[u8; 32]) -> Self {
        let mut id = Self([0; ID]);
        id.0.copy_from_slice(&fingerprint[..ID]);
        id
    }
}

impl fmt::Display for KeyId {
    /// The first four bytes in hexadecimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..4].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyId({self})")
    }
}

/// BLAKE3 in its key-derivation mode over the parts in sequence, all of which except the last have
/// fixed lengths.
pub(crate) fn derive(context: &str, parts: &[&[u8]]) -> Zeroizing<[u8; 32]> {
    let mut hasher = blake3::Hasher::new_derive_key(context);
    for part in parts {
        hasher.update(part);
    }
    let (mut key, mut output) = (Zeroizing::new([0; 32]), hasher.finalize_xof());
    output.fill(&mut *key);
    output.zeroize();
    hasher.zeroize();
    key
}

/// The cost of Argon2id (RFC 9106): time grows with the product of memory and passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Memory in KiB.
    pub memory_kib: u32,
    /// Passes over the memory.
    pub passes: u32,
    /// Lanes.
    pub lanes: u32,
}

impl Cost {
    /// The cost for new files: the second recommendation of RFC 9106 (64 MiB, 3 passes) in one
    /// lane.
    pub const USUAL: Self = Self { memory_kib: 64 * 1024, passes: 3, lanes: 1 };
    /// The greatest cost that is worked for unless more is allowed, since files from elsewhere
    /// state what they like: four times that of new files, in memory and in time.
    pub const LIMIT: Self = Self { memory_kib: 256 * 1024, passes: 3, lanes: 4 };
    /// The greatest cost that is accepted from a file at all: 1 GiB, and 85 times the time of a new
    /// file.
    pub const MAX: Self = Self { memory_kib: 1024 * 1024, passes: 16, lanes: 4 };

    /// Whether it takes no more memory and no more time than another cost.
    pub fn is_within(self, most: Self) -> bool {
        let work = |cost: Self| u64::from(cost.memory_kib) * u64::from(cost.passes);
        self.memory_kib <= most.memory_kib && work(self) <= work(most)
    }

    /// Checks that it is [within](Self::is_within) what is allowed.
    ///
    /// # Errors
    /// [`ContainerError::Cost`].
    pub fn check(self, most: Self) -> Result<()> {
        if self.is_within(most) { Ok(()) } else { Err(ContainerError::Cost { found: self, most }) }
    }

    /// Returns whether this is a valid cost of Argon2id of at most [`MAX`](Self::MAX).
    pub fn is_acceptable(self) -> bool {
        (1..=Self::MAX.passes).contains(&self.passes)
            && (1..=Self::MAX.lanes).contains(&self.lanes)
            && (8 * self.lanes..=Self::MAX.memory_kib).contains(&self.memory_kib)
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let passes = if self.passes == 1 { "pass" } else { "passes" };
        write!(f, "{} MiB in {} {passes}", self.memory_kib.div_ceil(1024), self.passes)
    }
}

/// The way in which the user key of a file is obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// A key of the user.
    Key,
    /// Argon2id of a passphrase and the file's salt.
    Passphrase(Cost),
}

/// The kind of plaintext.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Content {
    /// Any bytes.
    Bytes = 0,
    /// A folder, as a tar archive.
    Tar = 1,
}

/// The places of the chunks of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    log2: u8,
}

/// The amount of data in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Number of chunks, at least 1.
    pub chunks: u64,
    /// Bytes of plaintext.
    pub plain: u64,
}

impl Layout {
    /// log2 of the possible lengths of chunks.
    pub const LOG2: std::ops::RangeInclusive<u8> = 12..=24;

    /// A layout with chunks of `2^log2` bytes.
    ///
    /// # Errors
    /// [`ContainerError::ChunkLength`] outside 12 ..= 24.
    pub fn new(log2: u8) -> Result<Self> {
        if Self::LOG2.contains(&log2) {
            Ok(Self { log2 })
        } else {
            Err(ContainerError::ChunkLength { found: log2 })
        }
    }

    /// Bytes of plaintext in every chunk but the last.
    pub const fn chunk_len(self) -> usize {
        1 << self.log2
    }

    const fn sealed_chunk(self) -> u64 {
        self.chunk_len() as u64 + TAG as u64
    }

    /// The place in the file where a chunk starts; `None` beyond 2^64 bytes.
    pub fn position(self, index: u64) -> Option<u64> {
        index.checked_mul(self.sealed_chunk())?.checked_add(HEADER as u64)
    }

    /// The contents of a file of this many bytes, including the header.
    ///
    /// # Errors
    /// [`ContainerError::FileLength`] if no file has this length.
    pub fn extent(self, file_len: u64) -> Result<Extent> {
        let wrong = ContainerError::FileLength { found: file_len };
        let Some(body) = file_len.checked_sub(HEADER as u64) else { return Err(wrong) };
        let (full, rest) = (body / self.sealed_chunk(), body % self.sealed_chunk());
        // Only the single chunk of an empty file is empty.
        let chunks = match rest {
            0 if full > 0 => full,
            16 if full == 0 => 1,
            17.. => full + 1,
            _ => return Err(wrong),
        };
        Ok(Extent { chunks, plain: body - chunks * TAG as u64 })
    }

    /// The length of the file that holds this many bytes of plaintext; `None` beyond 2^64.
    pub fn file_len(self, plain: u64) -> Option<u64> {
        let chunks = plain.div_ceil(self.chunk_len() as u64).max(1);
        plain.checked_add(chunks * TAG as u64)?.checked_add(HEADER as u64)
    }
}

/// The header before the chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    lock: Lock,
    layout: Layout,
    content: Content,
    salt: [u8; SALT],
    id: KeyId,
    wrapped: [u8; UserKey::LEN],
    tag: [u8; TAG],
}

impl Header {
    /// Makes the header and key of a new file under a user's key.
    pub fn with_key(
        user: &UserKey,
        layout: Layout,
        content: Content,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> (Self, FileKey) {
        let mut salt = [0; SALT];
        rng.fill_bytes(&mut salt);
        Self::create(Lock::Key, salt, user, layout, content, rng)
    }

    /// Makes the header and key of a new file under a passphrase: `stretch(salt, cost)` is
    /// Argon2id, version 0x13, of the passphrase, 32 bytes.
    ///
    /// # Errors
    /// The errors of `stretch`.
    pub fn with_passphrase<E>(
        cost: Cost,
        layout: Layout,
        content: Content,
        rng: &mut (impl CryptoRng + ?Sized),
        stretch: impl FnOnce(&[u8; SALT], Cost) -> Result<UserKey, E>,
    ) -> Result<(Self, FileKey), E> {
        let mut salt = [0; SALT];
        rng.fill_bytes(&mut salt);
        let user = stretch(&salt, cost)?;
        Ok(Self::create(Lock::Passphrase(cost), salt, &user, layout, content, rng))
    }

    /// `salt` must be fresh: wrapping keys are used once, under the nonce 0.
    fn create(
        lock: Lock,
        salt: [u8; SALT],
        user: &UserKey,
        layout: Layout,
        content: Content,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> (Self, FileKey) {
        let key = Key::generate(KeySize::Bits256, rng);
        let mut header =
            Self { lock, layout, content, salt, id: user.id(), wrapped: [0; UserKey::LEN], tag: [0; TAG] };
        header.wrapped.copy_from_slice(key.expose_bytes());
        let bound = header.bound();
        header.tag = Cpu::new()
            .gcm_seal(&header.wrapping_key(user), &[0; 12], &bound, Bulk::in_place(&mut header.wrapped))
            .expect("GCM takes 32 bytes, and the processor does not fail");
        (header, FileKey { key, layout })
    }

    fn wrapping_key(&self, user: &UserKey) -> Key {
        Key::from_slice(&*derive(WRAPPING, &[&user.0, &self.salt])).expect("32 bytes are an AES key")
    }

    /// Returns the key of the file, if this is the user key under which it was encrypted (stretched
    /// by [`Lock::Passphrase`]'s cost with [`salt`](Self::salt), if a passphrase locks it).
    /// Constant time.
    ///
    /// # Errors
    /// [`ContainerError::WrongKey`], [`ContainerError::WrongPassphrase`],
    /// [`ContainerError::Header`].
    pub fn open(&self, user: &UserKey) -> Result<FileKey> {
        let found = user.id();
        if !bool::from(found.0.ct_eq(&self.id.0)) {
            return Err(match self.lock {
                Lock::Key => ContainerError::WrongKey { found, expected: self.id },
                Lock::Passphrase(_) => ContainerError::WrongPassphrase,
            });
        }
        let mut key = Zeroizing::new(self.wrapped);
        Cpu::new()
            .gcm_open(&self.wrapping_key(user), &[0; 12], &self.bound(), &self.tag, Bulk::in_place(&mut *key))
            .map_err(|_| ContainerError::Header)?;
        Ok(FileKey { key: Key::from_slice(&*key)?, layout: self.layout })
    }

    /// Opens a file under a passphrase, with the `stretch(salt, cost)` of
    /// [`with_passphrase`](Self::with_passphrase), which is not called for more than `most`,
    /// usually [`Cost::LIMIT`].
    ///
    /// # Errors
    /// [`ContainerError::Cost`]; [`ContainerError::Header`] for a file under a key; those of
    /// `stretch` and of [`open`](Self::open).
    pub fn open_with_passphrase<E: From<ContainerError>>(
        &self,
        most: Cost,
        stretch: impl FnOnce(&[u8; SALT], Cost) -> Result<UserKey, E>,
    ) -> Result<FileKey, E> {
        let Lock::Passphrase(cost) = self.lock else { return Err(ContainerError::Header.into()) };
        cost.check(most)?;
        Ok(self.open(&stretch(&self.salt, cost)?)?)
    }

    /// Says whether a key or a passphrase locks the file.
    pub fn lock(&self) -> Lock {
        self.lock
    }

    /// The layout of its chunks.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The kind of its content.
    pub fn content(&self) -> Content {
        self.content
    }

    /// The salt.
    pub fn salt(&self) -> &[u8; SALT] {
        &self.salt
    }

    /// The identity of the user key.
    pub fn id(&self) -> KeyId {
        self.id
    }

    fn bound(&self) -> [u8; BOUND] {
        let cost = match self.lock {
            Lock::Key => Cost { memory_kib: 0, passes: 0, lanes: 0 },
            Lock::Passphrase(cost) => cost,
        };
        let lock = if self.lock == Lock::Key { 1 } else { 2 };
        let mut bytes = [0; BOUND];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&[VERSION, lock, self.layout.log2, self.content as u8]);
        bytes[12..16].copy_from_slice(&cost.memory_kib.to_le_bytes());
        bytes[16..20].copy_from_slice(&cost.passes.to_le_bytes());
        bytes[20..24].copy_from_slice(&cost.lanes.to_le_bytes());
        bytes[24..56].copy_from_slice(&self.salt);
        bytes[56..72].copy_from_slice(&self.id.0);
        bytes
    }

    /// The bytes at the start of the file.
    pub fn to_bytes(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..BOUND].copy_from_slice(&self.bound());
        bytes[BOUND..BOUND + UserKey::LEN].copy_from_slice(&self.wrapped);
        bytes[BOUND + UserKey::LEN..].copy_from_slice(&self.tag);
        bytes
    }

    /// Reads the output of [`to_bytes`](Self::to_bytes). Every field is checked against its domain;
    /// nothing is authenticated yet.
    ///
    /// # Errors
    /// [`ContainerError::NotThisFormat`], [`ContainerError::Version`], [`ContainerError::Field`],
    /// [`ContainerError::ChunkLength`].
    pub fn parse(bytes: &[u8; HEADER]) -> Result<Self> {
        if !bytes.starts_with(&MAGIC) {
            return Err(ContainerError::NotThisFormat);
        }
        let [version, lock, log2, content] = [bytes[8], bytes[9], bytes[10], bytes[11]];
        if version != VERSION {
            return Err(ContainerError::Version { found: version });
        }
        let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let cost = Cost { memory_kib: number(12), passes: number(16), lanes: number(20) };
        let lock = match lock {
            1 if bytes[12..24] == [0; 12] => Lock::Key,
            2 if cost.is_acceptable() => Lock::Passphrase(cost),
            1 | 2 => return Err(ContainerError::Field { field: "cost of the passphrase" }),
            _ => return Err(ContainerError::Field { field: "kind of lock" }),
        };
        let content = match content {
            0 => Content::Bytes,
            1 => Content::Tar,
            _ => return Err(ContainerError::Field { field: "kind of content" }),
        };
        let layout = Layout::new(log2)?;
        let mut header = Self {
            lock,
            layout,
            content,
            salt: [0; SALT],
            id: KeyId([0; ID]),
            wrapped: [0; UserKey::LEN],
            tag: [0; TAG],
        };
        header.salt.copy_from_slice(&bytes[24..56]);
        header.id.0.copy_from_slice(&bytes[56..72]);
        header.wrapped.copy_from_slice(&bytes[BOUND..BOUND + UserKey::LEN]);
        header.tag.copy_from_slice(&bytes[BOUND + UserKey::LEN..]);
        Ok(header)
    }
}

/// The key of one file. Wiped when dropped.
#[derive(Debug)]
pub struct FileKey {
    key: Key,
    layout: Layout,
}

impl FileKey {
    /// The layout of the chunks.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Encrypts consecutive chunks, the first of which has the number `first`, and writes one tag
    /// per chunk. All are full except the last of the file, which is among them if `end` is set.
    /// **Never encrypt other data under a number that was used**: two files have two keys.
    ///
    /// # Errors
    /// [`ContainerError::Partial`], [`ContainerError::TooManyChunks`]; the errors of
    /// [`BulkCipher::gcm_seal_chunks`].
    pub fn seal(
        &self,
        cipher: &dyn BulkCipher,
        first: u64,
        end: bool,
        data: Bulk<'_>,
        tags: &mut [[u8; TAG]],
    ) -> Result<()> {
        let nonces = self.nonces(first, end, data.len())?;
        let chunks = GcmChunks::new(self.layout.chunk_len(), &nonces, &[])?;
        Ok(cipher.gcm_seal_chunks(&self.key, chunks, data, tags)?)
    }

    /// Verifies and decrypts the output of [`seal`](Self::seal). If a tag is wrong, the whole
    /// output is zero.
    ///
    /// # Errors
    /// [`ContainerError::Chunk`] with the first wrong chunk; otherwise the same as for `seal`.
    pub fn open(
        &self,
        cipher: &dyn BulkCipher,
        first: u64,
        end: bool,
        tags: &[[u8; TAG]],
        data: Bulk<'_>,
    ) -> Result<()> {
        let nonces = self.nonces(first, end, data.len())?;
        let chunks = GcmChunks::new(self.layout.chunk_len(), &nonces, &[])?;
        cipher.gcm_open_chunks(&self.key, chunks, tags, data).map_err(|error| match error {
            AesError::ChunkTag { index } => ContainerError::Chunk { index: first + index as u64 },
            error => error.into(),
        })
    }

    /// The nonces of the chunks of `len` bytes.
    fn nonces(&self, first: u64, end: bool, len: usize) -> Result<Vec<[u8; 12]>> {
        let chunk_len = self.layout.chunk_len();
        // An empty chunk is the whole content of an empty file.
        if (len == 0 && !(end && first == 0)) || (!end && !len.is_multiple_of(chunk_len)) {
            return Err(ContainerError::Partial { found: len, chunk_len });
        }
        let more = len.div_ceil(chunk_len).max(1) as u64 - 1;
        let last = first.checked_add(more).ok_or(ContainerError::TooManyChunks)?;
        Ok((first..=last).map(|number| nonce(number, end && number == last)).collect())
    }
}

fn nonce(number: u64, end: bool) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[..8].copy_from_slice(&number.to_be_bytes());
    nonce[11] = u8::from(end);
    nonce
}

#[cfg(test)]
mod tests;
