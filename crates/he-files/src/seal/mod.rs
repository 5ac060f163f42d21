//! Files of SEAL 4: encryption parameters, public, relinearisation and Galois keys and ciphertexts
//! of CKKS and BFV are read, parameters and ciphertexts are written, so that a client of SEAL sends
//! to a server of this library and reads its answers.
//!
//! # Words
//! Under CKKS a ciphertext has the words of SEAL: both take the least primitive 2N-th root of unity
//! of each prime and the same bit-reversed order ([`NttTable`](he_core::ring::NttTable)), prime
//! after prime, c0 before c1. Under BFV SEAL keeps coefficients, which are transformed here; both
//! encode m as round(q m / t), up to the rounding, which a ciphertext's noise holds. Primes are
//! those of the file, in its order; the last is the special one.
//!
//! # Slots
//! SEAL numbers slots by powers of 3, this library by powers of 5: [`slot_order`] says which of
//! SEAL's values lies in each slot. Sums over all slots and operations of two ciphertexts need not
//! know it. SEAL's keys for rotations are those of powers of 3: [`rotate`] uses them.
//!
//! # Bounds
//! The parameters say how long a ciphertext is, and no more is decompressed. Everything is consumed
//! or refused.
//!
//! Source: Microsoft, *SEAL 4.1*, `native/src/seal/serialization.h` and the methods `save_members`
//! of its classes.

mod ciphertext;
mod files;
mod keys;
mod object;
mod pair;
mod parameters;
mod rotation;
mod seed;

pub use ciphertext::{read_ciphertext, write_ciphertext};
pub use files::{export, import, read_bytes, write_keys};
pub use keys::{read_galois_keys, read_public_key, read_relin_key};
pub use parameters::{read_params, slot_order, write_params};
pub use rotation::rotate;
