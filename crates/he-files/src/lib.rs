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
//! - [`file_start`], [`key_file`], [`key_set`], [`cipher_file`], [`note`]: the files themselves,
//!   and what they say of themselves;
//! - [`needs`]: what parameters are chosen from;
//! - [`bootstrap`]: keys of bootstrapping, which are never all in memory on their way;
//! - [`operation`]: the computations by name, on opened files;
//! - [`models`]: neural networks on encrypted examples;
//! - [`seal`]: files of SEAL 4: parameters and ciphertexts;
//! - `search`: indexes of encrypted records, queries and answers;
//! - `lookup`: databases for private look-ups, queries and answers;
//! - `intersection`: sets in common, plans and messages;
//! - [`tfhe`]: columns of integers under TFHE;
//! - [`transcipher`]: what sensors send under AES-CTR, and its way into TFHE;
//! - [`aes_file`], [`archive`], [`pipeline`]: files and folders under AES;
//! - [`info`]: what any of these files is;
//! - [`data`]: pictures and tables in the clear;
//! - [`io`]: inputs that can be looked at, outputs that appear complete or not at all;
//! - [`passphrase`]: secret keys sealed by a passphrase;
//! - [`scan`]: files as they arrive, refused before a byte of a secret is passed on;
//! - [`team`]: several devices that share the work of a file.
//!
//! # Platforms
//! On WebAssembly there are neither threads nor files. Work of several threads runs on the calling
//! one there, to the same bytes, and functions that read and write folders are missing. Without the
//! feature `cuda` the CPU is the only device. Without `os-rng`, whatever draws from the operating
//! system's generator is [`Error::NoRandomness`], and generators that the caller passes in do the
//! rest.
//!
//! # Examples
//! A table in memory: encrypted by the public key, and decrypted by the secret one.
//! ```
//! use he::{Device, ckks::CkksParams};
//! use he_files::cipher_file::CipherReader;
//! use he_files::contents::clear::{Clear, Plain, View};
//! use he_files::contents::{Contents, encrypt, images, options::TableFlags};
//! use he_files::io::{input::Input, output::Output};
//! use he_files::key_set::KeySet;
//! use he_files::note::Payload;
//! use he_files::scheme::{Ckks, engine::rng};
//! use he_files::team::Team;
//! use std::sync::{Arc, Mutex};
//!
//! # struct Memory(Arc<Mutex<Vec<u8>>>);
//! # impl std::io::Write for Memory {
//! #     fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
//! #         self.0.lock().unwrap().extend_from_slice(bytes);
//! #         Ok(bytes.len())
//! #     }
//! #     fn flush(&mut self) -> std::io::Result<()> {
//! #         Ok(())
//! #     }
//! # }
//! let params = CkksParams::for_depth(1).build()?;
//! let team = Team::<Ckks>::new(&params, &[Device::auto()])?;
//! let rotations = images::rotations(&params, 0)?;
//! let keys = KeySet::generate(team.lead(), &rotations, &mut rng()?)?;
//!
//! // Anything that can be read; a picture instead of a table works in the same way.
//! let input = Input::from_reader("data.csv", &b"x,y\n1.5,2\n-3,4\n"[..]);
//! let clear = Clear::read::<Ckks>(input, TableFlags::default(), None, &())?;
//! let content = Ckks::describe(&clear, &params, None, &())?;
//! let payload = Payload { key_id: keys.id.clone(), history: Vec::new(), content };
//!
//! // Anything that can be written.
//! let file = Arc::new(Mutex::new(Vec::new()));
//! let output = Output::to_writer("memory", Memory(Arc::clone(&file)));
//! encrypt::by_public_key(&team, &keys.public, &clear, &payload, output, &mut rng()?)?;
//!
//! let bytes = file.lock().unwrap().clone();
//! let mut reader = CipherReader::<Ckks>::new(Input::from_bytes("memory", bytes))?;
//! let Plain::Table(table) = Plain::decrypt(&team, &keys.secret, &mut reader, View::Light)? else {
//!     panic!("a table was encrypted");
//! };
//! assert_eq!(table.columns(), [[1.5, -3.0], [2.0, 4.0]]);
//! # Ok::<(), he_files::Error>(())
//! ```

pub mod aes_file;
#[cfg(not(target_family = "wasm"))]
pub mod archive;
pub mod audit;
pub mod bootstrap;
pub mod chosen;
pub mod cipher_file;
pub mod contents;
pub mod data;
pub mod error;
pub mod file_start;
pub mod info;
#[cfg(not(target_family = "wasm"))]
pub mod intersection;
pub mod io;
pub mod key_file;
pub mod key_set;
pub mod listing;
#[cfg(not(target_family = "wasm"))]
pub mod lookup;
pub mod models;
pub mod needs;
pub mod note;
pub mod operation;
pub mod party;
pub mod passphrase;
#[cfg(not(target_family = "wasm"))]
pub mod pipeline;
pub mod publication;
mod random;
pub mod scan;
pub mod scheme;
pub mod seal;
#[cfg(not(target_family = "wasm"))]
pub mod search;
pub mod team;
pub mod tfhe;
pub mod trace;
pub mod transcipher;
pub mod units;
pub mod watch;

pub use error::{Error, Result};
