//! Errors of AES.

use crate::error::errors;

/// Result with [`AesError`].
pub type Result<T, E = AesError> = std::result::Result<T, E>;

errors! {
    /// The errors of [`aes`](crate::aes). No message depends on a key or on plaintext.
    #[derive(Debug)]
    #[non_exhaustive]
    pub enum AesError {
        /// A key of a length that AES does not have.
        KeyLength {
            /// The bytes passed.
            found: usize,
        }:
            ("a key of {found} bytes"),
            ("AES has keys of 16, 24 and 32 bytes");
        /// A pair of keys for XTS whose length is not that of two AES keys of one size.
        XtsKeyLength {
            /// The bytes passed.
            found: usize,
        }:
            ("an XTS key of {found} bytes"),
            ("it consists of two AES keys: 32, 48 or 64 bytes");
        /// Two keys of an XTS pair that differ in size.
        XtsKeySizes {
            /// Bits of the key for data.
            data: usize,
            /// Bits of the key for tweaks.
            tweak: usize,
        }:
            ("an XTS key of a {data}-bit and a {tweak}-bit key"),
            ("use two keys of one size");
        /// Both keys of an XTS pair are the same.
        XtsEqualKeys:
            ("both halves of the XTS key are equal"),
            ("use two independent keys");
        /// Source and destination of different lengths.
        LengthMismatch {
            /// Bytes of the source.
            from: usize,
            /// Bytes of the destination.
            to: usize,
        }:
            ("{from} bytes to read and {to} bytes to write"),
            ("use buffers of one length");
        /// ECB of data that are not whole blocks.
        PartialBlock {
            /// The bytes passed.
            found: usize,
        }:
            ("{found} bytes are not a whole number of 16-byte blocks"),
            ("pad the data");
        /// More data than a mode allows under one nonce or tweak.
        TooLong {
            /// The mode.
            mode: &'static str,
            /// The data that are too long.
            what: &'static str,
            /// The bytes passed.
            found: u64,
            /// Bytes allowed.
            limit: u64,
        }:
            ("{what} of {found} bytes"),
            ("{mode} allows {limit} at most: split the data");
        /// An XTS data unit below one block.
        ShortUnit {
            /// Bytes of the unit.
            found: usize,
        }:
            ("an XTS data unit of {found} bytes"),
            ("at least 16 are needed: choose another length of units");
        /// XTS data units beyond number 2^128 - 1.
        UnitNumber {
            /// Number of the first unit.
            first: u128,
            /// Units in the data.
            units: u128,
        }:
            ("{units} data units from number {first} on exceed the last number, 2^128 - 1");
        /// Nonces, tags or associated data that do not fit the number of chunks.
        ChunkCount {
            /// The things whose number does not fit.
            what: &'static str,
            /// The number passed.
            found: usize,
            /// The number needed.
            expected: usize,
        }:
            ("{found} {what} for {expected}"),
            ("give one for each chunk");
        /// Chunks of no bytes.
        ChunkLength:
            ("chunks of 0 bytes"),
            ("choose a positive length");
        /// Two chunks of one call with the same nonce.
        RepeatedNonce {
            /// A chunk.
            first: usize,
            /// A later one with its nonce.
            second: usize,
        }:
            ("chunks {first} and {second} have the same nonce, which would reveal their plaintexts and the authentication key"),
            ("use a separate nonce for each");
        /// The tag does not belong to the data: the key, nonce, associated data, ciphertext or tag
        /// is wrong.
        Tag:
            ("authentication failed: the data were altered, or key, nonce or associated data are not those of the encryption");
        /// A chunk whose tag does not belong to it.
        ChunkTag {
            /// The first such chunk.
            index: usize,
        }:
            ("authentication of chunk {index} failed: the data were altered, or key, nonce or associated data are not those of the encryption");
        /// A device failed.
        Backend {
            /// The operation.
            op: &'static str,
            /// The device's error.
            source: Box<dyn std::error::Error + Send + Sync>,
        }:
            ("AES {op} failed on the back end: {source}") from source;
    }
}
