//! Conversion between vectors of integers and plaintexts.

use super::batching::Batching;
use super::{Params, PlainModulus, Plaintext, Scheme};
use crate::error::{Error, Result};
use crate::params::ParamsError;
use crate::reveal;
use crate::secret_words::SecretWords;
use std::sync::Arc;
use zeroize::Zeroize;

mod sealed {
    pub trait Sealed {}
    impl Sealed for u64 {}
    impl Sealed for i64 {}
}

/// The representation of residues modulo t: `u64` in `[0, t)`, `i64` in `[-t/2, t/2)`.
pub trait PlainValue: sealed::Sealed + Copy + Default + Zeroize {
    /// Whether the value represents a residue. Constant time.
    fn fits(self, t: &PlainModulus) -> bool;
    /// The residue in `[0, t)` of a value that fits. Constant time.
    fn to_residue(self, t: &PlainModulus) -> u64;
    /// The value of a residue.
    fn from_residue(residue: u64, t: &PlainModulus) -> Self;
    /// The least and the greatest value.
    fn bounds(t: &PlainModulus) -> (i128, i128);
    /// The value as an integer.
    fn wide(self) -> i128;
}

impl PlainValue for u64 {
    fn fits(self, t: &PlainModulus) -> bool {
        self < t.value()
    }

    fn to_residue(self, _t: &PlainModulus) -> u64 {
        self
    }

    fn from_residue(residue: u64, _t: &PlainModulus) -> Self {
        residue
    }

    fn bounds(t: &PlainModulus) -> (i128, i128) {
        (0, i128::from(t.value()) - 1)
    }

    fn wide(self) -> i128 {
        self.into()
    }
}

impl PlainValue for i64 {
    fn fits(self, t: &PlainModulus) -> bool {
        let t = t.value() as i64;
        (self >= -(t / 2)) & (self < t - t / 2)
    }

    fn to_residue(self, t: &PlainModulus) -> u64 {
        self.wrapping_add(t.value() as i64 & (self >> 63)) as u64
    }

    fn from_residue(residue: u64, t: &PlainModulus) -> Self {
        t.center(residue)
    }

    fn bounds(t: &PlainModulus) -> (i128, i128) {
        let t = i128::from(t.value());
        (-(t / 2), (t + 1) / 2 - 1)
    }

    fn wide(self) -> i128 {
        self.into()
    }
}

/// Writes the residues of a vector to the start of N words.
pub(super) fn fill_residues<T: PlainValue>(
    plain: &PlainModulus,
    vector: &[T],
    out: &mut [u64],
) -> Result<()> {
    if vector.len() > out.len() {
        return Err(Error::TooManyValues { found: vector.len(), capacity: out.len() });
    }
    let mut fit = true;
    for (value, out) in vector.iter().zip(out) {
        fit &= value.fits(plain);
        *out = value.to_residue(plain);
    }
    if !reveal::bit(fit) {
        let (lowest, highest) = T::bounds(plain);
        let outside = vector.iter().enumerate().find(|(_, value)| !value.fits(plain));
        let (index, found) = outside.map_or((0, 0), |(index, value)| (index, value.wide()));
        return Err(Error::PlainRange { index, found, lowest, highest });
    }
    Ok(())
}

/// Encodes and decodes for one parameter set; no device is involved.
///
/// *Slots* (for a prime t = 1 mod 2N): N residues in two rows of N/2, on which everything acts slot
/// by slot, and rotations row by row. *Coefficients* (for any t): a polynomial, whose products are
/// negacyclic.
#[derive(Clone, Debug)]
pub struct Encoder {
    plain: PlainModulus,
    log_n: u32,
    batching: Option<Arc<Batching>>,
}

impl Encoder {
    /// For these parameters.
    ///
    /// # Errors
    /// None in practice: the parameters are checked.
    pub fn new<S: Scheme>(params: &Params<S>) -> Result<Self> {
        let (plain, log_n) = (*params.plain(), params.rlwe().ring().log_n());
        Ok(Self { plain, log_n, batching: params.batching()? })
    }

    fn n(&self) -> usize {
        1 << self.log_n
    }

    fn batching(&self) -> Result<&Batching> {
        let error = || ParamsError::NoSlots { found: self.plain.value(), log_n: self.log_n };
        Ok(self.batching.as_deref().ok_or_else(error)?)
    }

    /// The residues of vectors, padded with zeros and transformed by `f`.
    fn collect<T: PlainValue>(&self, vectors: &[&[T]], f: impl Fn(&mut [u64])) -> Result<Plaintext> {
        let n = self.n();
        if vectors.is_empty() {
            return Err(Error::BatchRange { start: 0, end: 0, batch: 0 });
        }
        let mut coefficients = SecretWords::zeros(vectors.len() * n);
        for (vector, out) in vectors.iter().zip(coefficients.chunks_exact_mut(n)) {
            fill_residues(&self.plain, vector, out)?;
            f(out);
        }
        Ok(Plaintext { plain: self.plain, n, coefficients })
    }

    /// Encodes a vector of up to N slots, the first row first; the rest is zero.
    ///
    /// # Errors
    /// [`ParamsError::NoSlots`]; [`Error::TooManyValues`]; [`Error::PlainRange`].
    pub fn encode<T: PlainValue>(&self, values: &[T]) -> Result<Plaintext> {
        self.encode_batch(&[values])
    }

    /// Encodes a batch of vectors.
    ///
    /// # Errors
    /// The same as for [`encode`](Self::encode); [`Error::BatchRange`] for none.
    pub fn encode_batch<T: PlainValue>(&self, vectors: &[&[T]]) -> Result<Plaintext> {
        let batching = self.batching()?;
        self.collect(vectors, |slots| batching.to_coefficients(slots))
    }

    /// Encodes a column of any length: number i goes to slot i mod N of batch entry i div N; the
    /// rest is zero.
    pub(super) fn encode_column<T: PlainValue>(&self, values: &[T]) -> Result<Plaintext> {
        let (n, batching) = (self.n(), self.batching()?);
        let mut coefficients = SecretWords::zeros(values.len().div_ceil(n).max(1) * n);
        fill_residues(&self.plain, values, &mut coefficients)?;
        coefficients.chunks_exact_mut(n).for_each(|slots| batching.to_coefficients(slots));
        Ok(Plaintext { plain: self.plain, n, coefficients })
    }

    /// Decodes the slots of every batch entry.
    ///
    /// # Errors
    /// [`ParamsError::NoSlots`]; [`Error::Argument`] for a plaintext of other parameters.
    pub fn decode<T: PlainValue>(&self, plaintext: &Plaintext) -> Result<Vec<Vec<T>>> {
        self.check(plaintext)?;
        let batching = self.batching()?;
        let mut slots = SecretWords::zeros(self.n());
        let mut vectors = Vec::with_capacity(plaintext.batch());
        for row in plaintext.coefficients.chunks_exact(self.n()) {
            batching.to_slots(row, &mut slots);
            vectors.push(slots.iter().map(|&slot| T::from_residue(slot, &self.plain)).collect());
        }
        Ok(vectors)
    }

    /// Encodes up to N coefficients; the rest is zero.
    ///
    /// # Errors
    /// [`Error::TooManyValues`]; [`Error::PlainRange`].
    pub fn encode_coefficients<T: PlainValue>(&self, values: &[T]) -> Result<Plaintext> {
        self.encode_coefficients_batch(&[values])
    }

    /// Encodes a batch of polynomials.
    ///
    /// # Errors
    /// The same as for [`encode_coefficients`](Self::encode_coefficients); [`Error::BatchRange`]
    /// for none.
    pub fn encode_coefficients_batch<T: PlainValue>(&self, vectors: &[&[T]]) -> Result<Plaintext> {
        self.collect(vectors, |_| ())
    }

    /// Decodes the coefficients of every batch entry.
    ///
    /// # Errors
    /// [`Error::Argument`] for a plaintext of other parameters.
    pub fn decode_coefficients<T: PlainValue>(&self, plaintext: &Plaintext) -> Result<Vec<Vec<T>>> {
        self.check(plaintext)?;
        let rows = plaintext.coefficients.chunks_exact(self.n());
        Ok(rows.map(|row| row.iter().map(|&c| T::from_residue(c, &self.plain)).collect()).collect())
    }

    /// Whether a plaintext is of this modulus and degree.
    pub(super) fn check(&self, plaintext: &Plaintext) -> Result<()> {
        plaintext.check(&self.plain, self.n())
    }
}
