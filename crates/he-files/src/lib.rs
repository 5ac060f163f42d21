//! Encrypted files: images, tables and integers that are computed on under encryption, and any file
//! under AES, with their keys.
//!
//! Everything that `he-cli` does with files is here, without a terminal: readers and writers are
//! [`Read`](std::io::Read) and [`Write`](std::io::Write), passphrases come from whoever calls
//! ([`passphrase::Passphrases`]), progress and warnings go to a [`watch::Watch`], and errors are
//! [`Error`]s.
//!
//! - [`contents`]: what is encrypted and computed: images, samples, tables of real numbers and of
//!   integers;
//! - [`scheme`]: how the keys and ciphertexts of each scheme lie in files;
//! - [`key_file`], [`key_set`], [`cipher_file`], [`note`]: the files themselves, and what they say
//!   of themselves;
//! - [`tfhe`]: columns of unsigned integers under TFHE;
//! - [`aes_file`], [`archive`], [`pipeline`]: files and folders under AES;
//! - [`data`]: pictures and tables in the clear;
//! - [`io`]: inputs that can be looked at, outputs that appear complete or not at all;
//! - [`passphrase`]: secret keys sealed by a passphrase;
//! - [`team`]: several devices that share the work of a file.

pub mod aes_file;
pub mod archive;
pub mod cipher_file;
pub mod contents;
pub mod data;
pub mod device;
pub mod error;
pub mod io;
pub mod key_file;
pub mod key_set;
pub mod note;
pub mod passphrase;
pub mod pipeline;
pub mod scheme;
pub mod team;
pub mod tfhe;
pub mod units;
pub mod watch;

pub use error::{Error, Result};
