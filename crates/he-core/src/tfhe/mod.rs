//! TFHE: bits and small integers, whose noise every lookup renews.
//!
//! Chillotti, Gama, Georgieva, Izabachene, *TFHE: Fast Fully Homomorphic Encryption over the
//! Torus*, J. Cryptology 2020; Chillotti, Joye, Paillier, *Programmable Bootstrapping Enables
//! Efficient Homomorphic Inference of Deep Neural Networks*, CSCML 2021.
//!
//! A message is an element of the torus R/Z, in words of 64 bits; a ciphertext is (a, b = <a,
//! s> + m + e) under a binary secret of dimension k N. A *bootstrap* of it is a key switch to a
//! secret of dimension n (in words of 32 bits, since its error is far above 2^-32, and half the key
//! is twice the speed), then a blind rotation, which returns the entry of a table that the message
//! selects, as a ciphertext of the first kind with fresh noise. Linear combinations cost almost
//! nothing. [`Noise`] predicts the variances; presets state their failure probability.
//!
//! - [`GateEvaluator`]: gates on bits, +-1/8; it provides the bits of
//!   [`circuits::bits`](crate::circuits::bits).
//! - [`IntegerEvaluator`]: integers of 8 to 256 bits, signed or not, in digits of two bits, with
//!   two more for carries; [`FheUint`] and [`FheInt`] have operators.
//! - [`CompactPublicKey`]: encryption by others than the holder of the secret key.
//! - [`CircuitBootstrapper`]: lookups of many bits by many bits, between which sums modulo 2 are
//!   free.
//! - [`LweOps`] is the interface to a device: batches of combinations, key switches, blind
//!   rotations and lookups of bits.

mod circuit;
mod circuit_key;
mod circuit_params;
mod cpu;
#[cfg(test)]
mod definition;
mod encryption;
mod external;
mod gadget;
mod gates;
mod integers;
mod keys;
mod lookup;
mod lwe;
mod noise;
mod ops;
mod params;
mod sampler;
mod tally;
mod transform;

pub(crate) use circuit::HALF;
pub use circuit::{BitTables, CircuitBootstrapper, CpuCircuitKey, UnpaddedBits};
pub use circuit_key::CircuitKey;
pub use circuit_params::{CircuitNoise, CircuitParams, CircuitSpec};
pub use cpu::CpuLweKey;
pub use encryption::{
    CompactBits, CompactFlags, CompactInt, CompactLwe, CompactPublicKey, CompactUint, FreshBits, FreshFlags,
    FreshInteger, FreshLwe, GlweMasks, Masks, SeededBits, SeededFlags, SeededLwe, SeededUint,
};
pub use gadget::Gadget;
pub use gates::{EncryptedBits, GATE_LOOKUP, GateEvaluator};
pub(crate) use integers::digits_of;
pub use integers::{
    Carry, DIGIT_LOOKUP, EncryptedFlags, EncryptedInt, EncryptedInteger, EncryptedUint, FheInt, FheInteger,
    FheUint, IntegerEvaluator, Operand, PlainArray, Rounding, Signed, Signedness, Sum, Unsigned,
};
pub use keys::{BootstrapKey, TfheSecretKey};
pub use lookup::{Bootstrapper, LookupTables};
pub use lwe::LweBatch;
pub use noise::Noise;
pub use ops::{Combination, LweOps};
pub use params::{TfheParams, TfheSpec, least_sigma_log2, presets};
