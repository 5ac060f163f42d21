//! BFV: exact arithmetic modulo t, scale-invariant (Brakerski 2012; Fan, Vercauteren 2012), in
//! residues.
//!
//! Everything except the product is in [`exact`], shared with BGV. The product is that of Kim,
//! Polyakov, Zucca, *Revisiting Homomorphic Encryption Schemes for Finite Fields*, 2021: HPSPOVERQ
//! (section 4), at the level that the noise allows (HPSPOVERQLEVELED, section 5).
//!
//! ```
//! use he_core::{backend::Cpu, bfv::*, ring::Ring, rlwe::*};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let params = BfvParams::for_depth(65537, 1).slots().build()?;
//! let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
//! let mut rng = he_core::rand::rng();
//! let secret = SecretKey::generate(params.rlwe(), &mut rng);
//! let public = PublicKey::generate(&secret, &ring, &mut rng)?;
//! let needs = KeyRequirements::new().relinearisation().rotations([1]);
//! let keys = EvaluationKeys::generate(&secret, &ring, needs, &mut rng)?;
//!
//! let ev = BfvEvaluator::new(&params, &ring)?;
//! let x = BfvEncryptor::new(&params, &public)?.encrypt_slots(&[3i64, -5, 7], &mut rng)?;
//! let y = ev.mul(&x, &ev.rotate(&x, 1, &keys)?, &keys)?; // x[i] x[i + 1]
//! let y: Vec<i64> = BfvDecryptor::new(&params, &secret, &ring)?.decrypt_slots(&y)?;
//! assert_eq!(y[..3], [-15, -35, 0]);
//! # Ok(())
//! # }
//! ```

mod multiply;
pub mod presets;

pub use multiply::Multiplier;

use crate::backend::{Cpu, RingOps};
use crate::error::Result;
use crate::exact::{self, Noise, NoiseModel, Params, Scheme, sealed};
use crate::ring::Ring;
use crate::rlwe::{RlweCiphertext, RlweProduct};

/// The scheme as a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bfv {}

/// Parameters.
pub type BfvParams = Params<Bfv>;
/// Chooses parameters.
pub type BfvBuilder = exact::Builder<Bfv>;
/// Encrypts by public key.
pub type BfvEncryptor<'a, B = Cpu> = exact::Encryptor<'a, Bfv, B>;
/// Encrypts by secret key.
pub type BfvSecretEncryptor<B = Cpu> = exact::SecretEncryptor<Bfv, B>;
/// Decrypts.
pub type BfvDecryptor<B = Cpu> = exact::Decryptor<Bfv, B>;
/// Computes.
pub type BfvEvaluator<B = Cpu> = exact::Evaluator<Bfv, B>;
/// A batch of encrypted plaintexts.
pub type BfvCiphertext<B = Cpu> = exact::Ciphertext<Bfv, B>;
/// A batch encrypted by the secret key, half the bytes.
pub type BfvSeededCiphertext<B = Cpu> = exact::SeededCiphertext<Bfv, B>;
/// A batch of products before relinearisation.
pub type BfvProduct<B = Cpu> = exact::Product<Bfv, B>;

impl sealed::Sealed for Bfv {}

impl Scheme for Bfv {
    const NAME: &'static str = "bfv";
    type Multiplier<B: RingOps> = Multiplier<B>;

    fn multiplier<B: RingOps>(params: &BfvParams, ring: &Ring<B>) -> Result<Multiplier<B>> {
        Multiplier::new(params, ring)
    }

    fn tensor<B: RingOps>(
        multiplier: &Multiplier<B>,
        _params: &BfvParams,
        a: &RlweCiphertext<B>,
        b: &RlweCiphertext<B>,
    ) -> Result<RlweProduct<B>> {
        multiplier.tensor(a, b)
    }

    /// -Q mod t.
    fn fresh_correction_factor(params: &BfvParams, primes: usize) -> u64 {
        let t = params.plain().modulus();
        t.neg(t.product_of(&params.rlwe().ring().q_moduli()[..primes]))
    }

    /// The correction factor of both operands.
    fn product_correction_factor(_params: &BfvParams, a: u64, _b: u64) -> u64 {
        a
    }

    fn product_noise(model: &NoiseModel, a: Noise, b: Noise, primes: usize) -> Noise {
        model.scale_invariant_product(a, b, primes)
    }
}
