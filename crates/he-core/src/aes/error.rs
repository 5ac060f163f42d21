//! Errors of AES.

/// Result with [`AesError`].
pub type Result<T, E = AesError> = std::result::Result<T, E>;

/// The errors of [`aes`](crate::aes). No message depends on a key or on plaintext.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AesError {
    /// A key of a length that AES does not have.
    #[error("a key of {found} bytes; {}", hints::KEY_LENGTH)]
    KeyLength {
        /// The bytes passed.
        found: usize,
    },
    /// A pair of keys for XTS whose length is not that of two AES keys of one size.
    #[error("an XTS key of {found} bytes; {}", hints::XTS_KEY_LENGTH)]
    XtsKeyLength {
        /// The bytes passed.
        found: usize,
    },
    /// Two keys of an XTS pair that differ in size.
    #[error("an XTS key of a {data}-bit and a {tweak}-bit key; {}", hints::XTS_KEY_SIZES)]
    XtsKeySizes {
        /// Bits of the key for data.
        data: usize,
        /// Bits of the key for tweaks.
        tweak: usize,
    },
    /// Both keys of an XTS pair are the same.
    #[error("both halves of the XTS key are equal; {}", hints::XTS_EQUAL_KEYS)]
    XtsEqualKeys,
    /// Source and destination of different lengths.
    #[error("{from} bytes to read and {to} bytes to write; {}", hints::LENGTH_MISMATCH)]
    LengthMismatch {
        /// Bytes of the source.
        from: usize,
        /// Bytes of the destination.
        to: usize,
    },
    /// ECB of data that are not whole blocks.
    #[error("{found} bytes are not a whole number of 16-byte blocks; {}", hints::PARTIAL_BLOCK)]
    PartialBlock {
        /// The bytes passed.
        found: usize,
    },
    /// More data than a mode allows under one nonce or tweak.
    #[error("{what} of {found} bytes; {}", hints::too_long(mode, limit))]
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
    #[error("an XTS data unit of {found} bytes; {}", hints::SHORT_UNIT)]
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
    #[error("{found} {what} for {expected}; {}", hints::CHUNK_COUNT)]
    ChunkCount {
        /// The things whose number does not fit.
        what: &'static str,
        /// The number passed.
        found: usize,
        /// The number needed.
        expected: usize,
    },
    /// Chunks of no bytes.
    #[error("chunks of 0 bytes; {}", hints::CHUNK_LENGTH)]
    ChunkLength,
    /// Two chunks of one call with the same nonce.
    #[error(
        "chunks {first} and {second} have the same nonce, which would reveal their plaintexts and the authentication key; {}",
        hints::REPEATED_NONCE
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

impl AesError {
    /// What to do about it, where the error says so: the end of its text, behind a semicolon.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::KeyLength { .. } => Some(hints::KEY_LENGTH.to_owned()),
            Self::XtsKeyLength { .. } => Some(hints::XTS_KEY_LENGTH.to_owned()),
            Self::XtsKeySizes { .. } => Some(hints::XTS_KEY_SIZES.to_owned()),
            Self::XtsEqualKeys => Some(hints::XTS_EQUAL_KEYS.to_owned()),
            Self::LengthMismatch { .. } => Some(hints::LENGTH_MISMATCH.to_owned()),
            Self::PartialBlock { .. } => Some(hints::PARTIAL_BLOCK.to_owned()),
            Self::TooLong { mode, limit, .. } => Some(hints::too_long(mode, limit)),
            Self::ShortUnit { .. } => Some(hints::SHORT_UNIT.to_owned()),
            Self::ChunkCount { .. } => Some(hints::CHUNK_COUNT.to_owned()),
            Self::ChunkLength => Some(hints::CHUNK_LENGTH.to_owned()),
            Self::RepeatedNonce { .. } => Some(hints::REPEATED_NONCE.to_owned()),
            _ => None,
        }
    }

    /// What is wrong: its text without the [`hint`](Self::hint).
    pub fn message(&self) -> String {
        crate::error::without_hint(self, self.hint())
    }
}

/// What to do about errors: stated once, for the text and for `hint`.
mod hints {
    use std::fmt::Display;

    pub const KEY_LENGTH: &str = "AES has keys of 16, 24 and 32 bytes";
    pub const XTS_KEY_LENGTH: &str = "it consists of two AES keys: 32, 48 or 64 bytes";
    pub const XTS_KEY_SIZES: &str = "use two keys of one size";
    pub const XTS_EQUAL_KEYS: &str = "use two independent keys";
    pub const LENGTH_MISMATCH: &str = "use buffers of one length";
    pub const PARTIAL_BLOCK: &str = "pad the data";
    pub fn too_long(mode: impl Display, limit: impl Display) -> String {
        format!("{mode} allows {limit} at most: split the data")
    }
    pub const SHORT_UNIT: &str = "at least 16 are needed: choose another length of units";
    pub const CHUNK_COUNT: &str = "give one for each chunk";
    pub const CHUNK_LENGTH: &str = "choose a positive length";
    pub const REPEATED_NONCE: &str = "use a separate nonce for each";
}
