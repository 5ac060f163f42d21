//! Products and transposes of encrypted matrices.

use super::ciphertext::Meta;
use super::{Ciphertext, Evaluator, Noise, NoiseModel, Scheme};
use crate::backend::RingOps;
use crate::error::{Error, Result};
use crate::rlwe::{EvaluationKeys, Paths};
use std::borrow::Borrow;

impl<S: Scheme, B: RingOps> Evaluator<S, B> {
    /// The transpose of a matrix of N x N residues, a row in the
    /// [coefficients](super::Encoder::encode_coefficients) of each of N ciphertexts: a column in
    /// the coefficients of each of N ciphertexts. Every row gets the noise of N key switches, or of
    /// more where automorphisms are composed of others: see
    /// [`RlweCiphertext::transpose`](crate::rlwe::RlweCiphertext::transpose) for the keys and their
    /// costs.
    ///
    /// # Errors
    /// [`Error::MatrixRows`] unless the batch is N; [`Error::MissingGaloisKey`],
    /// [`Error::MissingConjugationKey`], [`Error::ParamsMismatch`], [`Error::KeyMismatch`];
    /// [`Error::BudgetSpent`]; device errors.
    pub fn transpose(&self, ct: &Ciphertext<S, B>, keys: &EvaluationKeys<B>) -> Result<Ciphertext<S, B>> {
        keys.check(self.params.rlwe(), &self.ring)?;
        self.check_ciphertext(ct)?;
        let paths = Paths::new(keys)?;
        let noise = self.params.noise().transposed(ct.meta.noise, ct.meta.primes, paths.longest());
        let meta = self.params.checked(Meta { noise, ..ct.meta })?;
        Ok(Ciphertext::with_meta(ct.pair.transposed(&paths, keys)?, meta))
    }

    /// The product M^T M' modulo t of two encrypted matrices of m rows, a row in the
    /// [coefficients](super::Encoder::encode_coefficients) of each ciphertext: N ciphertexts, of
    /// which entry i is sum_j (coefficient i of row j of M) (row j of M'). With a matrix and itself
    /// this is the Gram matrix M^T M.
    ///
    /// Both schemes multiply modulo Q here, t c c', as BGV does, at the lowest level that leaves
    /// the greatest predicted budget; the correction factors multiply. Costs are those of
    /// [`RlweCiphertext::transposed_product`](crate::rlwe::RlweCiphertext::transposed_product).
    ///
    /// # Errors
    /// [`Error::MatrixRows`] unless both have the same number of rows; [`Error::BudgetSpent`];
    /// [`Error::MissingRelinKey`] and the errors of [`transpose`](Self::transpose); mismatch of
    /// ring or parameters; device errors.
    pub fn transposed_product(
        &self,
        a: &Ciphertext<S, B>,
        b: &Ciphertext<S, B>,
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<S, B>> {
        keys.check(self.params.rlwe(), &self.ring)?;
        self.check_ciphertext(a)?;
        self.check_ciphertext(b)?;
        let (paths, rows, model) = (Paths::new(keys)?, a.batch() as u64, self.params.noise());
        let noise = |model: &NoiseModel, a: Noise, b: Noise, primes: usize| {
            model.matrix_product(model.modular_product(a, b).total(rows), primes, paths.longest())
        };
        let (primes, budget) =
            model.plan((a.meta.noise, a.meta.primes), (b.meta.noise, b.meta.primes), noise);
        if budget <= 0.0 {
            return Err(Error::BudgetSpent { excess_bits: -budget });
        }
        let (a, b) = (self.at_primes(a, primes)?, self.at_primes(b, primes)?);
        let (a, b): (&Ciphertext<S, B>, &Ciphertext<S, B>) = (a.borrow(), b.borrow());
        let t = self.params.plain().modulus();
        let correction_factor = t.mul(a.meta.correction_factor, b.meta.correction_factor);
        let noise = noise(model, a.meta.noise, b.meta.noise, primes);
        let mut scaled = a.pair.duplicate()?;
        let moduli = &self.ring.spec().q_moduli()[..primes];
        let factors: Vec<u64> = moduli.iter().map(|q| q.reduce(t.value())).collect();
        scaled.c.iter_mut().try_for_each(|part| part.scale_assign(&factors))?;
        let pair = scaled.transposed_product_by(&b.pair, &paths, keys)?;
        self.finish(pair, Meta { noise, correction_factor, ..a.meta })
    }
}
