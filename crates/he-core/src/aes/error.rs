//! Errors of AES.

/// Result with [`AesError`].
pub type Result<T, E = AesError> = std::result::Result<T, E>;

/// The errors of [`aes`](crate::aes). No message depends on a key or on plaintext.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AesError {
    /// A key of a length that AES does not have.
    #[error("a key of {found} bytes; AES has keys of 16, 24 and 32 bytes")]
    KeyLength {
        /// The bytes passed.
        found: usize,
    },
    /// A pair of keys for XTS whose length is not that of two AES keys of one size.
    #[error("an XTS key of {found} bytes; it consists of two AES keys: 32, 48 or 64 bytes")]
    XtsKeyLength {
        /// The bytes passed.
        found: usize,
    },
    /// Two keys of an XTS pair that differ in size.
    #[error("an XTS key of a {data}-bit and a {tweak}-bit key; use two keys of one size")]
    XtsKeySizes {
        /// Bits of the key for data.
        data: usize,
        /// Bits of the key for tweaks.
        tweak: usize,
    },
    /// Both keys of an XTS pair are the same.
    #[error("both halves of the XTS key are equal; use two independent keys")]
    XtsEqualKeys,
    /// Source and destination of different lengths.
    #[error("{from} bytes to read and {to} bytes to write; use buffers of one length")]
    LengthMismatch {
        /// Bytes of the source.
        from: usize,
        /// Bytes of the destination.
        to: usize,
    },
    /// ECB of data that are not whole blocks.
    #[error("{found} bytes are not a whole number of 16-byte blocks; pad the data")]
    PartialBlock {
        /// The bytes passed.
        found: usize,
    },
    /// More data than a mode allows under one nonce or tweak.
    #[error("{what} of {found} bytes; {mode} allows {limit} at most: split the data")]
    TooLong {
        /// The mode.
        mode: &'static str,
        /// The data that are too long.
        what: &'static str,
        /// The bytes passed.
        found: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// An XTS data unit below one block.
    #[error("an XTS data unit of {found} bytes; at least 16 are needed: choose another length of units")]
    ShortUnit {
        /// Bytes of the unit.
        found: usize,
    },
    /// XTS data units beyond number 2^128 - 1.
    #[error("{units} data units from number {first} on exceed the last number, 2^128 - 1")]
    UnitNumber {
        /// Number of the first unit.
        first: u128,
        /// Units in the data.
        units: u128,
    },
    /// Nonces, tags or associated data that do not fit the number of chunks.
    #[error("{found} {what} for {expected}; give one for each chunk")]
    ChunkCount {
        /// The things whose number does not fit.
        what: &'static str,
        /// The number passed.
        found: usize,
        /// The number needed.
        expected: usize,
    },
    /// Chunks of no bytes.
    #[error("chunks of 0 bytes; choose a positive length")]
    ChunkLength,
    /// Two chunks of one call with the same nonce.
    #[error(
        "chunks {first} and {second} have the same nonce, which would reveal their plaintexts and the authentication key; use a separate nonce for each"
    )]
    RepeatedNonce {
        /// A chunk.
        first: usize,
        /// A later one with its nonce.
        second: usize,
    },
    /// The tag does not belong to the data: the key, nonce, associated data, ciphertext or tag is
    /// wrong.
    #[error(
        "authentication failed: the data were altered, or key, nonce or associated data are not those of the encryption"
    )]
    Tag,
    /// A chunk whose tag does not belong to it.
    #[error(
        "authentication of chunk {index} failed: the data were altered, or key, nonce or associated data are not those of the encryption"
    )]
    ChunkTag {
        /// The first such chunk.
        index: usize,
    },
    /// A device failed.
    #[error("AES {op} failed on the back end: {source}")]
    Backend {
        /// The operation.
        op: &'static str,
        /// The device's error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}
