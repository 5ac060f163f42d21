//! Circuit bootstrapping: bits as GGSW ciphertexts, which select from tables of many bits.
//!
//! Chillotti, Gama, Georgieva, Izabachene, *TFHE: Fast Fully Homomorphic Encryption over the
//! Torus*, J. Cryptology 2020, section 6 (circuit bootstrapping) and section 5.2 (vertical
//! packing); Wang, Wen, Li, Wang, Liu, Wang, *Circuit Bootstrapping: Faster and Smaller*, EUROCRYPT
//! 2024 (traces and products by the secret instead of private key switches).
//!
//! Bits are phases of 0 and 1/2, so that their sum modulo 2 is a sum of ciphertexts, without a
//! bootstrap. A lookup takes one blind rotation per bit of its index and gives any number of bits:
//! 1. The rotation leaves b 2^(-j B) for the digits j = 1, 2, ... of [`CircuitSpec::select`](super::CircuitSpec).
//! 2. The trace of the GLWE ciphertext around each is an encryption of that constant: log2 N
//!    automorphisms with their key switches. A product by the secret makes the other rows of the
//!    GGSW ciphertext of b from it.
//! 3. A table of 2^d entries is a polynomial, which d bits rotate to the entry, each by one
//!    external product.

mod cpu;
mod lookup;
mod unpadded;

pub use cpu::CpuCircuitKey;
pub use lookup::{BitTables, CircuitBootstrapper};
pub use unpadded::UnpaddedBits;

/// 1/2: the phase of a bit that is set.
pub(crate) const HALF: u64 = 1 << 63;
