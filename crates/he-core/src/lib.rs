//! Homomorphic encryption written once over small back-end traits.
//!
//! From the bottom up: [`arith`] (words modulo primes), [`ring`] (transforms, base conversion,
//! samplers), [`backend`] (the traits of a device, and the CPU), polynomials on a device
//! ([`ring::Poly`]), [`rlwe`] (keys, encryption of zero, key switching), the schemes [`ckks`]
//! (approximate numbers), [`bigckks`] (the same with a modulus of 2^l), [`bfv`] and [`bgv`]
//! (integers modulo t, sharing [`exact`]), [`tfhe`] (bits), [`circuits`] (images, statistics,
//! polynomials, bits), [`bootstrapping`] (CKKS without a limit on depth), [`switching`] (from slots
//! to TFHE), [`transcipher`] (from AES to TFHE), [`words`] (exact products modulo 2^64), [`mhe`]
//! (keys of several parties) and [`wire`] (bytes). [`conformance`] tests back ends.
//! The crate touches no file, no terminal and no global state, and draws no randomness of its own:
//! a generator is always a parameter.
//!
//! ```
//! use he_core::{backend::Cpu, ckks::*, ring::Ring, rlwe::*};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let params = CkksParams::for_depth(1).precision_bits(20).build()?;
//! let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
//! let mut rng = he_core::rand::rng();
//! let secret = SecretKey::generate(params.rlwe(), &mut rng);
//! let public = PublicKey::generate(&secret, &ring, &mut rng)?;
//! let needs = KeyRequirements::new().relinearisation().rotations([1]);
//! let keys = EvaluationKeys::generate(&secret, &ring, needs, &mut rng)?;
//!
//! let ev = Evaluator::new(&params, &ring)?;
//! let x = Encryptor::new(&params, &public)?.encrypt_real(&[0.5, -1.25, 3.0], &mut rng)?;
//! let y = ev.mul(&x, &ev.rotate(&x, 1, &keys)?, &keys)?; // x[i] x[i + 1]
//! let y = Decryptor::new(&params, &secret, &ring)?.decrypt_real(&y)?;
//! assert!((y[0] - 0.5 * -1.25).abs() < 1e-4);
//! # Ok(())
//! # }
//! ```
//!
//! # Constant time
//! Where a function says that it is constant time, neither a branch nor an address depends on its
//! secrets: keys, randomness and messages. Lengths, parameters, levels, and what an error says, are
//! public. That is not left to reading: `tests/memcheck` of the repository runs the schemes and AES
//! under valgrind with all secrets marked as undefined, and `benches/constant_time` measures the
//! time of each such function with special and with random secrets, for every set of instructions.
//! `docs/reliability.md` has the commands and the results.
//!
//! # Copies and operators
//! Ciphertexts, products, public keys and evaluation keys are [`Clone`] on devices whose buffers
//! are, such as the CPU. Where copying can fail, as on a GPU, `duplicate` for ciphertexts and `to`
//! for keys return an error instead. Secret keys have none of these.
//!
//! Ciphertexts deliberately have no operators. `&a + &b` would have to work from the two operands
//! alone, but the parameters are in the evaluator. Without them, levels and scales cannot be
//! aligned, and nothing would notice that the noise of an exact scheme has used up its budget: a
//! sum could decrypt to anything, without an error. A panic is not the right answer to a user's
//! mistake, and an operator that returns a `Result` does not nest. `ev.add(&ev.add(&a, &b)?, &c)?`
//! says the same and is checked.

#![warn(missing_docs)]

pub mod aes;
pub mod arith;
pub mod backend;
pub mod bfv;
pub mod bgv;
pub mod bigckks;
pub mod bootstrapping;
pub mod circuits;
pub mod ckks;
pub mod conformance;
mod error;
pub mod exact;
mod key_set;
mod lanes;
pub mod mhe;
mod oversight;
mod parallel;
pub mod params;
mod poly;
mod publisher;
pub mod rand;
mod reveal;
pub mod ring;
pub mod rlwe;
mod secret_words;
pub mod switching;
#[cfg(test)]
mod testing;
pub mod tfhe;
pub mod transcipher;
pub mod wire;
pub mod words;

pub use error::{Error, Result};
pub use key_set::KeySetId;
/// Numbers beyond 64 bits, for `bigckks` and parameters, in the version that this crate's
/// signatures use.
pub use num_bigint;
/// Complex numbers, as in the slots of CKKS, in the version that this crate's signatures use.
pub use num_complex;
pub use oversight::{Overseer, Oversight};
pub use publisher::Publisher;
