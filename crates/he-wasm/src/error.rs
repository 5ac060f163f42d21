//! Errors, with what to do about them.

use std::fmt;

/// Result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Files, keys or contents.
    Files(he_files::Error),
    /// Options of keys that cannot be.
    Options {
        /// The fault.
        why: String,
    },
    /// Keys that are not those that the work takes.
    Unsuited {
        /// The scheme or depth that they have.
        found: String,
        /// The scheme or depth that they should have.
        needed: String,
    },
    /// Keys of a scheme that computes elsewhere.
    Elsewhere {
        /// Its name.
        scheme: &'static str,
    },
    /// Keys of a scheme that encrypts no images here.
    NoImages,
    /// Options of reading that cannot be.
    Reading {
        /// The fault.
        why: String,
    },
    /// A file that is not text.
    NotATable {
        /// Its name.
        name: String,
    },
    /// There are no keys yet.
    NoKeys,
    /// There is no model yet.
    NoModel,
    /// A model whose values are refreshed.
    Refreshes,
    /// Keys of a scheme that encrypts no examples of models.
    NotForModels,
    /// A column whose numbers the keys do not encrypt.
    Column {
        /// Its name.
        name: String,
        /// The values that the keys encrypt.
        takes: &'static str,
    },
    /// A number in a column of doubles that the keys do not encrypt.
    NotFinite {
        /// The column's name.
        name: String,
        /// The row, from 0 on.
        row: usize,
    },
    /// A picture with this number of channels.
    Channels {
        /// The number.
        found: u32,
    },
    /// A file under AES, where one of keys and ciphertexts is needed.
    UnderAes,
    /// A panic ended the instance.
    Dead,
}

impl Error {
    /// The advice on this error, if there is any.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Files(error) => return error.hint(),
            Self::Options { .. } => "see KeyOptions in client.d.ts",
            Self::Unsuited { .. } => "load keys that were made for this, or make new ones",
            Self::Elsewhere { .. } => "use he-cli, or keys of ckks, bfv, bgv or tfhe",
            Self::NoImages => "make keys of ckks, bfv or bgv, or load such keys",
            Self::Reading { .. } => "see ReadOptions in client.d.ts",
            Self::NotATable { .. } => {
                "tables are text in UTF-8: a row in each line, with commas, semicolons or tabs between its fields"
            }
            Self::NoModel => "load a compiled model with loadModel",
            Self::Refreshes => "use he-cli keygen and he-cli encrypt, which have room for its keys",
            Self::NotForModels => "generate keys for the model, or load the secret key that was made for it",
            Self::NoKeys => "generate keys, or load a secret key",
            Self::Column { .. } => "give numbers of that kind, or make keys of another scheme",
            Self::NotFinite { .. } => "leave the row out, or put another number there",
            Self::Channels { .. } => "give 1 (gray), 2 (gray, opacity), 3 (colour) or 4 (colour, opacity)",
            Self::UnderAes => "decrypt it with decryptFile",
            Self::Dead => "make a new client; its keys are gone unless they were saved",
        };
        Some(hint.to_owned())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Files(error) => error.fmt(f),
            Self::Options { why } => write!(f, "these keys cannot be made: {why}"),
            Self::Unsuited { found, needed } => {
                write!(f, "these are keys {found}, and keys {needed} are needed")
            }
            Self::Elsewhere { scheme } => write!(f, "keys of {scheme} are for the command line"),
            Self::NoImages => f.write_str("keys of tfhe encrypt tables here, not images"),
            Self::Reading { why } => write!(f, "the table cannot be read in this way: {why}"),
            Self::NotATable { name } => write!(f, "{name} is not a table"),
            Self::NoKeys => f.write_str("there are no keys"),
            Self::NoModel => f.write_str("there is no model"),
            Self::Refreshes => f.write_str("the model takes refreshes, whose keys have gigabytes"),
            Self::NotForModels => f.write_str("these keys encrypt no examples of models"),
            Self::Column { name, takes } => write!(f, "column {name} holds others than {takes}"),
            Self::NotFinite { name, row } => write!(f, "column {name} holds no number in row {row}"),
            Self::Channels { found } => write!(f, "a picture of {found} channels"),
            Self::UnderAes => f.write_str("the file is encrypted by AES"),
            Self::Dead => f.write_str("an internal error has ended this client"),
        }
    }
}

impl std::error::Error for Error {}

impl From<he_files::Error> for Error {
    fn from(error: he_files::Error) -> Self {
        Self::Files(error)
    }
}

impl From<he_core::Error> for Error {
    fn from(error: he_core::Error) -> Self {
        Self::Files(error.into())
    }
}

impl From<he_core::wire::WireError> for Error {
    fn from(error: he_core::wire::WireError) -> Self {
        Self::Files(error.into())
    }
}
