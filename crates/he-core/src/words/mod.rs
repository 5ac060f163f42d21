//! Exact products of words of 8, 16, 32 or 64 bits in the slots of CKKS: integers modulo 2^k, with
//! sums, differences and one product, by the encoding of *Fully Homomorphic Encryption for
//! Z/2^k* over number fields (GZ26, ePrint 2026/233), without bootstrapping.
//!
//! **The ring.** `Z/2^k = Z[X] / (X^k - X + 2, X - 2)`: an integer polynomial P stands for the word
//! P(2) mod 2^k, and sums and products modulo X^k - X + 2 are sums and products of words. The
//! polynomial X^k - X + 2 has k/2 pairs of complex roots, and the values of P at one root of each
//! pair lie in k/2 complex slots, where a product is k/2 products of complex numbers.
//!
//! **The operands.** With t = X - 2, a word a also stands for a / t modulo integer polynomials. The
//! coefficients of that are taken in [-1/2, 1/2); t times it is an integer polynomial with digits
//! -2 to 2 whose value at 2 is a. A [`Multiplicand`] holds a / t, a [`Multiplier`] the integer
//! polynomial of b, and their product A B t is an integer polynomial with (A B t)(2) = a b: one
//! tensor and one relinearisation modulo one prime, without a rescale. Decryption multiplies by t,
//! rounds the k coefficients, and evaluates at 2.
//!
//! **Failure.** A word comes out wrong if the error of one of its k digits reaches 1/2, or if a
//! coefficient of the product wraps around the modulus. [`WordParams`] bounds the probability of
//! both for every pair of words, not only random ones, and refuses parameters above 2^-40
//! ([`WordParams::failure_log2`]). Slots are multiplied by complex numbers of magnitude one, which
//! are public and drawn from the identity of the key set, so that vectors of equal or otherwise
//! structured words have coefficients of the same distribution as random ones. That holds for words
//! that do not depend on the identity; a stranger who knows it and chooses all words of a
//! ciphertext can make that ciphertext decrypt wrongly.
//!
//! **Security.** Secrets are uniform ternary, and the default is N = 2^12 with primes of 38 and 40
//! bits, well within the 106 bits of 128-bit security.
//!
//! ```
//! use he_core::{backend::Cpu, ring::Ring, rlwe::*, words::*};
//! # fn main() -> he_core::Result<()> {
//! let params = WordParams::new(64)?;
//! let ring = Ring::new(Cpu::new(), params.ckks().rlwe().ring().clone())?;
//! let mut rng = he_core::rand::rng();
//! let secret = SecretKey::generate(params.ckks().rlwe(), &mut rng);
//! let needs = KeyRequirements::new().relinearisation();
//! let keys = EvaluationKeys::generate(&secret, &ring, needs, &mut rng)?;
//!
//! let encryptor = WordEncryptor::new(&params, &secret, &ring)?;
//! let a = encryptor.encrypt::<Multiplicand>(&[3, u64::MAX, 1 << 63], &mut rng)?.expand()?;
//! let b = encryptor.encrypt::<Multiplier>(&[5, u64::MAX, 3], &mut rng)?.expand()?;
//!
//! let products = WordEvaluator::new(&params, &ring)?.multiply(&a, &b, &keys)?;
//! let reduced = ReducedWords::new(&params, products)?; // 22 bits per coefficient.
//! let words = WordDecryptor::new(&params, &secret, &ring)?.decrypt_reduced(&reduced)?;
//! assert_eq!(words[..3], [15, 1, 1 << 63]);
//! # Ok(())
//! # }
//! ```

mod ciphertext;
mod codec;
mod digit_ring;
mod encrypt;
mod evaluator;
mod noise;
mod params;
mod phases;
mod reduced;
mod role;
#[cfg(test)]
mod tests;

pub use ciphertext::{SeededWords, Words};
pub use encrypt::{WordDecryptor, WordEncryptor};
pub use evaluator::WordEvaluator;
pub use noise::{FAILURE_LIMIT_LOG2, FAILURE_TARGET_LOG2};
pub use params::{WordParams, WordSpec};
pub use reduced::ReducedWords;
pub use role::{Multiplicand, Multiplier, Operand, Product, Role};
