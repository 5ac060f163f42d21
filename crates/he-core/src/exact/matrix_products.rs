//! Products and transposes of encrypted matrices.

use super::ciphertext::Meta;
use super::{Ciphertext, Evaluator, Noise, NoiseModel, Scheme};
use crate::backend::RingOps;
use crate::error::{Error, Result};
use crate::rlwe::{EvaluationKeys, Paths, powered};
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

    /// The trace modulo t of a matrix of up to N x N residues, a row in the
    /// [coefficients](super::Encoder::encode_coefficients) of each ciphertext: coefficient 0 of the
    /// result, whose others are sums along other diagonals. No key is needed, and noises add: see
    /// [`RlweCiphertext::trace`](crate::rlwe::RlweCiphertext::trace).
    ///
    /// # Errors
    /// [`Error::MatrixRows`] for more than N rows; [`Error::BudgetSpent`]; mismatch of ring or
    /// parameters; device errors.
    pub fn trace(&self, ct: &Ciphertext<S, B>) -> Result<Ciphertext<S, B>> {
        self.check_ciphertext(ct)?;
        let noise = ct.meta.noise.total(ct.batch() as u64);
        let meta = self.params.checked(Meta { noise, ..ct.meta })?;
        Ok(Ciphertext::with_meta(ct.pair.trace()?, meta))
    }

    /// The product M M' modulo t of a matrix of N x N residues and one of N rows, both a row in the
    /// coefficients of each ciphertext: a [`transpose`](Self::transpose), and a
    /// [`transposed_product`](Self::transposed_product) by its result.
    ///
    /// # Errors
    /// The same as for both.
    pub fn matrix_product(
        &self,
        a: &Ciphertext<S, B>,
        b: &Ciphertext<S, B>,
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<S, B>> {
        self.transposed_product(&self.transpose(a, keys)?, b, keys)
    }

    /// The power M^k modulo t of a matrix of N x N residues for k >= 1, by squares and products, of
    /// a depth of log2(k), rounded up.
    ///
    /// # Errors
    /// [`Error::Argument`] for k = 0; the same as for [`matrix_product`](Self::matrix_product).
    pub fn matrix_power(
        &self,
        ct: &Ciphertext<S, B>,
        k: u32,
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<S, B>> {
        powered(ct.duplicate()?, k, |a, b| self.matrix_product(a, b, keys))
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
