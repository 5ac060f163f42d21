//! Conversion between vectors of real numbers and the coefficients of plaintexts.

use super::ciphertext::{Meta, check_scale};
use super::{Encoder, Encoding, NoiseEstimate, Plaintext, check_coefficients_not_filled};
use crate::backend::{RingOps, decode_coefficients, encode_coefficients};
use crate::error::{Error, Result};
use crate::poly::PlainPoly;
use crate::reveal;
use crate::ring::{Poly, Rows, Span};
use crate::secret_words::SecretWords;

/// log2 of the relative error of a coefficient, which is multiplied by the scale and rounded.
const PRODUCT_LOG2: f64 = -53.0;

impl<B: RingOps> Encoder<B> {
    /// Encodes up to N real numbers as the coefficients of a polynomial, value i with X^i; the rest
    /// is zero. Coefficients are round(scale x value): no transform, hence no error but that of
    /// rounding, half a unit, and 2^-53 of the value from the product in doubles. The plaintext has
    /// all N/2 slots, whatever the encoding says, which hold the polynomial's values at the roots.
    /// Products of such plaintexts are negacyclic convolutions.
    ///
    /// Constant time but for the magnitude of the greatest coefficient: whether it is below 2^62,
    /// and whether it fits.
    ///
    /// # Errors
    /// [`Error::NotFinite`], [`Error::TooManyValues`] for more than N numbers,
    /// [`Error::ScaleRange`]; [`Error::ValueTooLarge`] if value x scale does not fit the modulus of
    /// the level.
    pub fn encode_coefficients(&self, values: &[f64], to: Encoding) -> Result<Plaintext<B>> {
        self.encode_coefficients_batch(&[values], to)
    }

    /// Encodes a batch of polynomials, likewise.
    ///
    /// # Errors
    /// The same as for [`encode_coefficients`](Self::encode_coefficients); [`Error::BatchRange`]
    /// for an empty batch.
    pub fn encode_coefficients_batch(&self, vectors: &[&[f64]], to: Encoding) -> Result<Plaintext<B>> {
        let mut meta = Meta { level: to.level, scale: to.scale, slots: self.params.slots(), noise: None };
        meta.check(&self.params)?;
        let (span, n) = (Span::chain(self.params.level(meta.level)?.primes), self.ring.n());
        if vectors.is_empty() {
            return Err(Error::BatchRange { start: 0, end: 0, batch: 0 });
        }
        let mut scaled = SecretWords::<f64>::zeros(vectors.len() * n);
        for (values, scaled) in vectors.iter().zip(scaled.chunks_exact_mut(n)) {
            check_values(values, n)?;
            scaled.iter_mut().zip(*values).for_each(|(scaled, value)| *scaled = value * meta.scale);
        }
        let rows = Rows::new(span, vectors.len());
        let buf = encode_coefficients(self.ring.prepared(), rows, &scaled, meta.level)?;
        meta.noise = Some(self.coefficient_estimate(vectors, meta));
        Ok(Plaintext { poly: PlainPoly::encoded(Poly::from_buf(&self.ring, span, vectors.len(), buf)), meta })
    }

    /// The noise of such an encoding: a value at a root is at most the sum of the coefficients'
    /// magnitudes.
    fn coefficient_estimate(&self, vectors: &[&[f64]], meta: Meta) -> NoiseEstimate {
        let sum = |values: &&[f64]| values.iter().map(|value| value.abs()).sum::<f64>();
        let most = vectors.iter().map(sum).fold(0.0, f64::max);
        NoiseEstimate::encoded(most * most, meta.scale_log2(), self.params.noise().n(), PRODUCT_LOG2)
    }

    /// The coefficients of the polynomials of a plaintext, divided by its scale: N numbers for each
    /// entry of the batch, within 2^-53 of their magnitude. The coefficients of a decryption have
    /// the noise of the ciphertext, one by one.
    ///
    /// # Errors
    /// [`Error::NotDecrypted`] for the result of a decryption whose coefficients fill the modulus,
    /// as for [`decode`](Self::decode); [`Error::RingMismatch`]; device errors.
    pub fn decode_coefficients(&self, plaintext: &Plaintext<B>) -> Result<Vec<Vec<f64>>> {
        if !plaintext.poly.ring().same(&self.ring) {
            return Err(Error::RingMismatch);
        }
        let (poly, meta) = (&plaintext.poly, plaintext.meta);
        check_scale(&self.params, meta.level, meta.scale)?;
        let values = decode_coefficients(self.ring.prepared(), poly.rows(), poly.buf(), meta.scale)?;
        if poly.is_decrypted() {
            check_coefficients_not_filled(&values, meta.scale_log2(), self.params.log_q(meta.level))?;
        }
        Ok(values)
    }
}

/// Checks that the values of a polynomial are finite and no more than its coefficients.
fn check_values(values: &[f64], n: usize) -> Result<()> {
    if values.len() > n {
        return Err(Error::TooManyValues { found: values.len(), capacity: n });
    }
    if reveal::bit(values.iter().fold(true, |all, value| all & value.is_finite())) {
        return Ok(());
    }
    let index = values.iter().position(|value| !value.is_finite()).unwrap_or(0);
    Err(Error::NotFinite { index })
}
