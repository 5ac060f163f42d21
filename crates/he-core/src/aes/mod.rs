//! AES (FIPS-197) for large amounts of data: ECB, CTR, GCM and XTS behind one trait,
//! [`BulkCipher`].
//!
//! | implementation | what | timing |
//! |---|---|---|
//! | [`Cpu`] | AES instructions, bitsliced code elsewhere; all threads | constant |
//! | [`Reference`] | FIPS-197 byte by byte, one thread | leaks through the cache |
//! | [`TTable`] | look-ups in tables of columns, one thread | leaks through the cache |
//!
//! All give the same bytes, which [`conformance`] tests for any other implementation, too.
//! [`container`] is the format of encrypted files. For data that matter, use GCM
//! ([`BulkCipher::gcm_seal`]) with a nonce that never repeats under one key.
//!
//! ```
//! use he_core::aes::{Bulk, BulkCipher, Cpu, Key, KeySize};
//! # fn main() -> Result<(), he_core::aes::AesError> {
//! let key = Key::generate(KeySize::Bits256, &mut he_core::rand::rng());
//! let nonce = [0; 12]; // the first message under this key
//! let mut data = *b"attack at dawn";
//! let tag = Cpu::new().gcm_seal(&key, &nonce, b"to Alice", Bulk::in_place(&mut data))?;
//! assert_ne!(&data, b"attack at dawn");
//!
//! let mut opened = [0; 14];
//! Cpu::new().gcm_open(&key, &nonce, b"to Alice", &tag, Bulk::copy(&data, &mut opened)?)?;
//! assert_eq!(&opened, b"attack at dawn");
//! let bulk = Bulk::copy(&data, &mut opened)?;
//! assert!(Cpu::new().gcm_open(&key, &nonce, b"to Bob", &tag, bulk).is_err());
//! assert_eq!(opened, [0; 14]);
//! # Ok(())
//! # }
//! ```

mod bulk;
pub mod conformance;
pub mod container;
mod cpu;
mod error;
mod field;
mod key;
mod modes;
pub mod reference;
pub mod ttable;

pub use bulk::{
    Buffers, Bulk, BulkCipher, Direction, GcmChunks, check_ecb, check_gcm, check_xts, open_chunks,
    seal_chunks,
};
pub use cpu::Cpu;
pub use error::{AesError, Result};
pub(crate) use field::{INV_MIX, INV_S_BOX, MIX, S_BOX, mul};
pub use key::{BLOCK, Key, KeySchedule, KeySize, XtsKey};
pub use modes::{BlockCipher, Modes};
pub use reference::Reference;
pub use ttable::TTable;
