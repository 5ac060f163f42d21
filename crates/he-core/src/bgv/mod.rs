//! BGV: exact arithmetic modulo t with noise in the low digits (Brakerski, Gentry, Vaikuntanathan
//! 2012), in residues.
//!
//! Everything except the product is in [`exact`], shared with BFV: ciphertexts are held divided by
//! t. A product is t c c' mod Q, and the correction factors f are multiplied. Before each product,
//! the modulus is switched as far as this improves the noise budget; sums align levels and
//! correction factors by themselves, with multipliers of about sqrt(t).
//!
//! ```
//! use he_core::{backend::Cpu, bgv::*, ring::Ring, rlwe::*};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let params = BgvParams::for_depth(65537, 2).slots().build()?;
//! let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
//! let mut rng = he_core::rand::rng();
//! let secret = SecretKey::generate(params.rlwe(), &mut rng);
//! let public = PublicKey::generate(&secret, &ring, &mut rng)?;
//! let needs = KeyRequirements::new().relinearisation();
//! let keys = EvaluationKeys::generate(&secret, &ring, needs, &mut rng)?;
//!
//! let ev = BgvEvaluator::new(&params, &ring)?;
//! let x = BgvEncryptor::new(&params, &public)?.encrypt_slots(&[3i64, -5, 7], &mut rng)?;
//! let cube = ev.mul(&ev.square(&x, &keys)?, &x, &keys)?;
//! let y = BgvDecryptor::new(&params, &secret, &ring)?.decrypt_slots::<i64>(&ev.add(&cube, &x)?)?;
//! assert_eq!(y[..4], [30, -130, 350, 0]);
//! # Ok(())
//! # }
//! ```

pub mod presets;

use crate::backend::{Cpu, RingOps};
use crate::error::Result;
use crate::exact::{self, Noise, NoiseModel, Params, Scheme, sealed};
use crate::ring::Ring;
use crate::rlwe::{RlweCiphertext, RlweProduct};

/// The scheme as a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bgv {}

/// Parameters.
pub type BgvParams = Params<Bgv>;
/// Chooses parameters.
pub type BgvBuilder = exact::Builder<Bgv>;
/// Encrypts by public key.
pub type BgvEncryptor<'a, B = Cpu> = exact::Encryptor<'a, Bgv, B>;
/// Encrypts by secret key.
pub type BgvSecretEncryptor<B = Cpu> = exact::SecretEncryptor<Bgv, B>;
/// Decrypts.
pub type BgvDecryptor<B = Cpu> = exact::Decryptor<Bgv, B>;
/// Computes.
pub type BgvEvaluator<B = Cpu> = exact::Evaluator<Bgv, B>;
/// A batch of encrypted plaintexts.
pub type BgvCiphertext<B = Cpu> = exact::Ciphertext<Bgv, B>;
/// A batch encrypted by the secret key, half the bytes.
pub type BgvSeededCiphertext<B = Cpu> = exact::SeededCiphertext<Bgv, B>;
/// A batch of products before relinearisation.
pub type BgvProduct<B = Cpu> = exact::Product<Bgv, B>;

impl sealed::Sealed for Bgv {}

impl Scheme for Bgv {
    const NAME: &'static str = "bgv";
    type Multiplier<B: RingOps> = ();

    fn multiplier<B: RingOps>(_params: &BgvParams, _ring: &Ring<B>) -> Result<()> {
        Ok(())
    }

    fn tensor<B: RingOps>(
        _multiplier: &(),
        params: &BgvParams,
        a: &RlweCiphertext<B>,
        b: &RlweCiphertext<B>,
    ) -> Result<RlweProduct<B>> {
        let mut product = a.tensor(b)?;
        let t = params.plain().value();
        let moduli = &a.ring().spec().q_moduli()[..a.chain_limbs()];
        product.scale_assign(&moduli.iter().map(|q| q.reduce(t)).collect::<Vec<_>>())?;
        Ok(product)
    }

    /// 1.
    fn fresh_correction_factor(_params: &BgvParams, _primes: usize) -> u64 {
        1
    }

    /// Their product.
    fn product_correction_factor(params: &BgvParams, a: u64, b: u64) -> u64 {
        params.plain().modulus().mul(a, b)
    }

    fn product_noise(model: &NoiseModel, a: Noise, b: Noise, _primes: usize) -> Noise {
        model.modular_product(a, b)
    }
}
