//! Scheme switching: from the coefficients and slots of RLWE ciphertexts to ciphertexts of TFHE,
//! whose lookups are exact where polynomials approximate, and back.
//!
//! **To TFHE.** The large secret of TFHE is a binary polynomial s' of degree N'. Switched to the
//! secret s'(X^(N/N')), a ciphertext (c0, c1) of degree N has phase c0 + c1 s'(X^(N/N')), in whose
//! coefficient i only N' coefficients of c1 take part: they are the mask of a large ciphertext of
//! TFHE, without another key. That takes one switching key of one digit over q' p, and the
//! operations that every back end has, instead of a key with a row for each of the N coefficients.
//!
//! **From TFHE.** A ciphertext becomes one of the ring under s'(X^(N/N')) and is switched to the
//! secret of the ring; automorphisms then merge the constant coefficients of many into one
//! ([`FromTfhe`]). [`TfheToSlots`] goes on with the second half of a bootstrap, so that the phases
//! are in slots, on a level that can be computed on.
//!
//! **Integers.** The phase of BFV and BGV is m / t of the torus, once the correction factor is
//! taken into account. [`IntegersToTfhe`] makes integers of TFHE of their coefficients, which
//! [`SlotTransform`] makes of slots, and [`TfheToIntegers`] coefficients of those.
//! [`NoiseSquasher`] refreshes these for decryptions that are shared among several parties
//! ([`mhe`](crate::mhe)).
//!
//! **Security.** Modulo X^N + 1, encryptions under s'(X^(N/N')) are N/N' independent ones of degree
//! N' under s'. So q' p is as wide as TFHE's line of 128-bit security allows for their error
//! ([`least_sigma_log2`](crate::tfhe::least_sigma_log2)): 51 bits for N' = 2048. The ciphertext is
//! first brought to q', of 24 bits.
//!
//! **Noise.** The rounding to q' dominates the noise of a ciphertext of TFHE, with a deviation of
//! sqrt(N/18) / q' of the torus, 2^-19.6 for N = 2^13: see [`SwitchingParams::noise_log2`].
//!
//! ```
//! use he_core::{backend::Cpu, ckks::*, ring::Ring, rlwe::*, switching::*, tfhe};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let params = CkksParams::for_depth(2).precision_bits(20).build()?;
//! // Small parameters without security; otherwise `tfhe::presets::phases_2m128()` and
//! // `SwitchingParams::new`.
//! let small = tfhe::presets::insecure_small()?;
//! let switching = SwitchingParams::insecure(params.rlwe(), params.levels()[0].primes, &small)?;
//! let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
//! let there = switching.ring(Cpu::new())?;
//! let mut rng = he_core::rand::rng();
//! let secret = SecretKey::generate(params.rlwe(), &mut rng);
//! let tfhe_secret = tfhe::TfheSecretKey::generate(&small, &mut rng);
//! let key = ToTfheKey::generate(&secret, &tfhe_secret, &switching, &there, &mut rng)?;
//!
//! // Numbers between -8 and 8 in four slots, which become parts of a torus of 16.
//! let ev = Evaluator::new(&params, &ring)?;
//! let spec = SlotsToTfheSpec { log_slots: 2, matrices: 1, range: 16.0 };
//! let switcher = SlotsToTfhe::new(&ev, &switching, &there, spec)?;
//! let keys = EvaluationKeys::generate(&secret, &ring, switcher.requirements(), &mut rng)?;
//! let plain = ev.encoder().encode_real(&[1.03, -2.53, 3.03, -7.03], params.encoding().slots(4))?;
//! let x = SecretEncryptor::new(&params, &secret, &ring)?.encrypt(&plain, &mut rng)?.expand()?;
//! let samples = switcher.switch(&x, &keys, &key)?;
//! // Integers with a sign, and what TFHE computes of these.
//! let boot = tfhe::BootstrapKey::generate(&tfhe_secret, &mut rng);
//! let integers = tfhe::IntegerEvaluator::new(&Cpu::new(), &boot, tfhe::Carry::Ripple)?;
//! let floor = integers.rounded(&samples, 8, switching.noise_log2(), tfhe::Rounding::Down)?;
//! let floor = floor.reinterpret::<tfhe::Signed>(); // In units of 16 / 2^8.
//! assert_eq!(tfhe_secret.decrypt_i64(&floor)?, [16, -41, 48, -113]);
//! # Ok(())
//! # }
//! ```
//!
//! [`IntegerEvaluator::phases`](crate::tfhe::IntegerEvaluator::phases) and [`TfheToSlots`] lead
//! back.
//!
//! Sources: Boura, Gama, Georgieva, Jetchev, *Chimera: Combining Ring-LWE-based Fully Homomorphic
//! Encryption Schemes*, Journal of Mathematical Cryptology 14 (2020); Lu, Huang, Hong, Ma, Qu,
//! *PEGASUS: Bridging Polynomial and Non-polynomial Evaluations in Homomorphic Encryption*, IEEE
//! S&P 2021. Gentry, Halevi, Peikert, Smart, *Field switching in BGV-style homomorphic encryption*,
//! Journal of Computer Security 21 (2013), for secrets of a subring; Chen, Dai, Kim, Song,
//! *Efficient Homomorphic Conversion Between (Ring) LWE Ciphertexts*, ACNS 2021, for packing.

mod from_tfhe;
mod functions;
mod integers;
mod params;
mod slots;
#[cfg(test)]
mod tests;
mod to_tfhe;

pub use from_tfhe::{FromTfhe, FromTfheKey, FromTfheParams};
pub use functions::{ExactFunctions, SwitchingKeys};
pub use integers::{IntegersToTfhe, NoiseSquasher, SlotTransform, SquashSpec, TfheToIntegers, limbs};
pub use params::SwitchingParams;
pub use slots::{SlotsToTfhe, SlotsToTfheSpec, TfheToSlots};
pub use to_tfhe::{ToTfhe, ToTfheKey};
