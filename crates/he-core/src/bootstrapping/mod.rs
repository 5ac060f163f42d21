//! Bootstrapping of CKKS: a ciphertext whose levels are used up becomes one with levels.
//!
//! The levels are spent in this order (slim order: the map to the coefficients comes first, where
//! there are few primes):
//!
//! 1. *SlotsToCoeffs* takes the values from the slots to the coefficients, down to level 0: the
//!    phase is then t = Delta m modulo q_0.
//! 2. *ModRaise*: the ciphertext is switched to a sparse secret of weight h, its polynomials are
//!    taken modulo all primes, and it is switched back. The phase is t + q_0 I, where every
//!    coefficient of I is a sum of about h + 1 uniform numbers in \[-1/2, 1/2), thus small.
//! 3. *CoeffsToSlots* takes the coefficients to the slots: real and imaginary parts hold
//!    t / q_0 + I each.
//! 4. *EvalMod* removes the integers: t / q_0 is left, at a high level.
//!
//! Programs compute with [`BootstrapParams::params`], which are ordinary parameters. Encryption,
//! evaluation keys and everything else that serves programs is as without bootstrapping. Loops,
//! polynomials and matrices refresh where levels run out, if they are given a bootstrapper with its
//! keys ([`Refresher`](crate::circuits::ckks::Refresher)).
//!
//! ```
//! use he_core::{backend::Cpu, bootstrapping::*, circuits::ckks::Refresher, ckks::*, rlwe::*};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // The chain of a preset at a degree that is quick, and insecure; otherwise `presets::fast()?`.
//! let spec = BootstrapSpec { log_n: 9, log_slots: 8, ..presets::Preset::Fast.spec() };
//! let boot = BootstrapParams::insecure(spec)?;
//! let (params, ring) = (boot.params(), boot.ring(Cpu::new())?);
//! let mut rng = he_core::rand::rng();
//! let secret = SecretKey::generate(params.rlwe(), &mut rng);
//! let keys = EvaluationKeys::generate(&secret, &ring, KeyRequirements::new().relinearisation(), &mut rng)?;
//! let boot_keys = BootstrapKeys::generate(&secret, &boot, &ring, &mut rng)?;
//!
//! // x <- x (2 - x) for ever: here past the levels that a fresh ciphertext has.
//! let (ev, bootstrapper) = (Evaluator::new(params, &ring)?, Bootstrapper::new(&boot, &ring)?);
//! let x = SecretEncryptor::new(params, &secret, &ring)?.encrypt_real(&[0.01; 256], &mut rng)?.expand()?;
//! let refresher = bootstrapper.with_keys(&boot_keys);
//! let x = refresher.repeat(&x, 18, 1, |_, x| {
//!     ev.sub(&ev.mul_integer(x, 2)?, &ev.square(x, &keys)?)
//! })?;
//! let found = Decryptor::new(params, &secret, &ring)?.decrypt_real(&x)?;
//! assert!((found[7] - 1.0).abs() < 1e-3);
//! # Ok(())
//! # }
//! ```
//!
//! Values must not exceed one in magnitude, in their real as in their imaginary parts: the sine
//! departs from the identity with the third power of the value, and what exceeds about 2^8 wraps
//! around, unnoticed. The noise estimate of a refreshed ciphertext counts what the refresh added.
//!
//! Sources: Cheon, Han, Kim, Kim, Song, *Bootstrapping for Approximate Homomorphic Encryption*,
//! Eurocrypt 2018; Bossuat, Mouchet, Troncoso-Pastoriza, Hubaux, *Efficient Bootstrapping for
//! Approximate Homomorphic Encryption with Non-Sparse Keys*, Eurocrypt 2021; Bossuat,
//! Troncoso-Pastoriza, Hubaux, *Bootstrapping for Approximate Homomorphic Encryption with
//! Negligible Failure-Probability by Using Sparse-Secret Encapsulation*, ACNS 2022.

mod adapted;
mod bootstrapper;
mod cosine_fit;
mod eval_mod;
mod facts;
pub mod integers;
mod iterative;
mod key_use;
mod keys;
pub mod lookup;
mod noise;
mod overflow;
mod params;
mod precision;
pub mod presets;
mod refresher;
mod stages;
#[cfg(test)]
mod tests;
mod transform;

pub use bootstrapper::{Bootstrapper, Stage};
pub use eval_mod::{EvalMod, EvalModShape};
pub use facts::{BootstrapFacts, SecretFacts};
pub use key_use::BootstrapKeyUse;
pub(crate) use keys::KeyCollector;
pub use keys::{BootstrapKey, BootstrapKeys};
pub(crate) use noise::added_to_coefficients;
pub(crate) use overflow::log2;
pub use overflow::log2_tail;
pub(crate) use params::Order;
pub use params::{BootstrapParams, BootstrapSpec, LevelRun};
pub use precision::Precision;
pub use refresher::RefreshWith;
pub use transform::{coefficients_to_slots, slots_to_coefficients};
