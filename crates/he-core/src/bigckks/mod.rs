//! CKKS with a big-integer modulus, as published (Cheon, Kim, Kim, Song, ASIACRYPT 2017).
//!
//! The ciphertext modulus is 2^l and the special modulus P = 2^p: precision and depth are given in
//! bits, not in primes, a rescale divides by any power of two, and scales are exact powers of two
//! that never drift. Products go through the residue ring of the back end.
//! [`reference`](mod@reference) holds every algorithm in big integers, for any modulus.
//!
//! ```
//! use he_core::{backend::Cpu, bigckks::*, ring::Ring};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let params = BigCkksParams::for_depth_bits(40).precision_bits(20).build()?;
//! let ring = Ring::new(Cpu::new(), params.ring().clone())?;
//! let mut rng = he_core::rand::rng();
//! let secret = SecretKey::generate(&params, &mut rng);
//! let public = PublicKey::generate(&secret, &ring, &mut rng)?;
//! let needs = KeyRequirements::new().relinearisation().rotations([1]);
//! let keys = EvaluationKeys::generate(&secret, &ring, needs, &mut rng)?;
//!
//! let ev = Evaluator::new(&params, &ring)?;
//! let x = Encryptor::new(&params, &public)?.encrypt_real(&[0.5, -1.25, 3.0], &mut rng)?;
//! let y = ev.mul(&x, &ev.rotate(&x, 1, &keys)?, &keys)?; // x[i] x[i + 1]
//! let y = ev.rescale(&y, 30)?; // any number of bits
//! let y = Decryptor::new(&params, &secret, &ring)?.decrypt_real(&y)?;
//! assert!((y[0] - 0.5 * -1.25).abs() < 1e-4);
//! # Ok(())
//! # }
//! ```

mod ciphertext;
mod encoder;
mod encrypt;
mod evaluator;
mod keys;
mod noise;
mod params;
mod poly;
pub mod reference;
mod switch_key;

pub use crate::rlwe::{KeyRequirements, SecretDistribution};
pub use ciphertext::{Ciphertext, Plaintext, Product};
pub use encoder::{Encoder, Encoding};
pub use encrypt::{Decryptor, Encryptor, PublicKey};
pub use evaluator::Evaluator;
pub use keys::{EvaluationKeys, SecretKey};
pub use noise::Noise;
pub use num_complex::Complex64;
pub use params::{BigCkksBuilder, BigCkksParams, BigCkksSpec};
pub use poly::WidePoly;
pub use switch_key::SwitchKey;
