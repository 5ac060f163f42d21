//! Bootstrapping of BFV and BGV: a ciphertext whose noise budget is nearly spent becomes one with
//! budget.
//!
//! The phase of a ciphertext is [f m]_t / t + e modulo Q (see [`exact`](crate::exact)). Multiplied
//! by t it is w = [f m]_t + t e, which is small and, divided by a prefix of the modulus, the value
//! of a ciphertext of CKKS. The bootstrap of CKKS makes of it a ciphertext of about w / t modulo Q,
//! and subtracting that leaves the message where it was and the error of the bootstrap instead of
//! e: for any t, with all coefficients and slots, and without a digit of the message being
//! extracted. The difference can be bootstrapped again, which adds the same number of bits each
//! time.
//!
//! Coefficients are what has noise, so the circuit is that of
//! [`bootstrapping`](crate::bootstrapping) in the other order: ModRaise first and SlotsToCoeffs
//! last, above the levels of programs. These need few primes, because the budget after a refresh is
//! what the precision of the bootstrap leaves, and no larger.
//!
//! ```
//! use he_core::{backend::Cpu, bfv::*, bootstrapping::BootstrapKeys, exact::bootstrapping::*, rlwe::*};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // The chain of secure parameters at a degree that is quick, and insecure; otherwise
//! // `BootstrapParams::for_depth(257, 1)?`.
//! let spec = BootstrapSpec::insecure_for_depth::<Bfv>(257, 1, 9)?;
//! let boot = BootstrapParams::<Bfv>::insecure(spec)?;
//! let (params, ring) = (boot.params(), boot.ring(Cpu::new())?);
//! let mut rng = he_core::rand::rng();
//! let secret = SecretKey::generate(params.rlwe(), &mut rng);
//! let public = PublicKey::generate(&secret, &ring, &mut rng)?;
//! let keys = EvaluationKeys::generate(&secret, &ring, KeyRequirements::new().relinearisation(), &mut rng)?;
//! let boot_keys = BootstrapKeys::generate(&secret, boot.circuit(), &ring, &mut rng)?;
//!
//! let (ev, bootstrapper) = (BfvEvaluator::new(params, &ring)?, Bootstrapper::new(&boot, &ring)?);
//! let (encoder, decryptor) = (ev.encoder(), BfvDecryptor::new(params, &secret, &ring)?);
//! let mut x = BfvEncryptor::new(params, &public)?.encrypt(&encoder.encode_coefficients(&[3i64])?, &mut rng)?;
//! // x <- x^2 + 2 for ever: here past the products that a fresh ciphertext allows.
//! let mut expected = 3;
//! for _ in 0..12 {
//!     x = ev.add_scalar(&ev.square(&bootstrapper.refresh(&x, &boot_keys)?, &keys)?, 2)?;
//!     expected = (expected * expected + 2) % 257;
//! }
//! let found: Vec<Vec<u64>> = encoder.decode_coefficients(&decryptor.decrypt(&x)?)?;
//! assert_eq!(found[0][0], expected);
//! # Ok(())
//! # }
//! ```
//!
//! Parameters that [`BootstrapParams::for_depth`] chooses for one product between two refreshes of
//! BFV, at N = 2^16 and 128 bits of security. A refresh needs 8 bits of budget:
//!
//! | t | primes of programs | bootstraps per refresh | bits of budget after it |
//! |---|---|---|---|
//! | 2^8, 65537, 786433, 2^20 | 3 | 2 | 54.0 |
//! | 2^32, 2^40 | 4 | 3 | 77.0 |
//! | 65537, for three products | 4 | 5 | 123.0 |
//!
//! Source: Kim, Seo, Song, *Simpler and Faster BFV Bootstrapping for Arbitrary Plaintext Modulus
//! from CKKS*, CCS 2024.

mod bootstrapper;
mod params;
mod refresher;
#[cfg(test)]
mod tests;

pub use bootstrapper::Bootstrapper;
pub use params::{BootstrapParams, BootstrapSpec};
pub use refresher::RefreshWith;
