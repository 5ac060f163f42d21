//! Plaintexts modulo Q P.

use super::ciphertext::Meta;
use super::{Encoding, Evaluator, NoiseEstimate, Plaintext};
use crate::backend::{Cpu, RingOps};
use crate::error::{Error, Result};
use crate::ring::{Eval, PlainPoly, Poly, Span};
use derive_where::derive_where;
use num_complex::Complex64;

/// An encoded vector modulo the primes of a level and the special ones, in evaluation form: what
/// multiplies ciphertexts inside a key switch
/// ([`ExtendedCiphertext`](crate::rlwe::ExtendedCiphertext)).
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct ExtendedPlaintext<B: RingOps = Cpu> {
    pub(super) poly: Poly<Eval, B>,
    pub(super) meta: Meta,
}

impl<B: RingOps> ExtendedPlaintext<B> {
    /// The polynomial.
    pub fn poly(&self) -> &Poly<Eval, B> {
        &self.poly
    }

    /// The level whose primes it has, beside the special ones.
    pub fn level(&self) -> usize {
        self.meta.level
    }

    /// The scale, by which values are multiplied in the polynomial.
    pub fn scale(&self) -> f64 {
        self.meta.scale
    }

    /// Slots of the vector; with fewer than N/2 the vector repeats.
    pub fn slots(&self) -> usize {
        self.meta.slots
    }

    /// What is known of the encoding's rounding.
    pub fn noise(&self) -> Option<NoiseEstimate> {
        self.meta.noise
    }

    /// The same modulo the primes of the level alone.
    ///
    /// # Errors
    /// Device errors.
    pub fn to_plaintext(&self) -> Result<Plaintext<B>> {
        Ok(Plaintext { poly: PlainPoly::encoded(self.poly.chain_part()?), meta: self.meta })
    }
}

impl<B: RingOps> Evaluator<B> {
    /// Encodes a vector modulo the primes of a level and the special ones: each coefficient is
    /// rounded as in [`Encoder::encode`](super::Encoder::encode), then taken modulo the primes of
    /// key switching too. To multiply ciphertexts of that level, encode
    /// [`for_multiplying`](Encoding::for_multiplying).
    ///
    /// # Errors
    /// The same as for [`Encoder::encode`](super::Encoder::encode).
    pub fn encode_extended(&self, values: &[Complex64], to: Encoding) -> Result<ExtendedPlaintext<B>> {
        let plain = self.encoder().encode(values, to)?;
        let coefficients = plain.poly.duplicate()?.into_coeff()?;
        let poly = coefficients.extend(self.key_switch_span(plain.meta.level))?.into_eval()?;
        Ok(ExtendedPlaintext { poly, meta: plain.meta })
    }

    /// Encodes a vector of weights for [`sum_of_masked_rotations`](Self::sum_of_masked_rotations)
    /// on a ciphertext of this level; with fewer than N/2 values it is padded with zeros.
    ///
    /// # Errors
    /// The same as for [`Encoder::encode`](super::Encoder::encode).
    pub fn encode_weight(&self, values: &[Complex64], level: usize) -> Result<ExtendedPlaintext<B>> {
        let to = self.params().encoding().at_level(self.params(), level)?;
        // Nothing multiplies on level 0, so that any scale will do.
        self.encode_extended(values, if level == 0 { to } else { to.for_multiplying(self.params())? })
    }

    /// Whether a plaintext multiplies ciphertexts of this level inside a key switch.
    pub(super) fn check_extended(&self, plain: &ExtendedPlaintext<B>, level: usize) -> Result<()> {
        if !plain.poly.ring().same(self.ring()) {
            return Err(Error::RingMismatch);
        }
        let (left, right) = (plain.poly.span(), self.key_switch_span(level));
        if left != right {
            return Err(Error::SpanMismatch { left, right });
        }
        self.check_multiplier_scale(plain.meta.scale, level)
    }

    pub(super) fn key_switch_span(&self, level: usize) -> Span {
        Span::extended(self.primes_at(level), self.ring().spec().p().len())
    }
}
