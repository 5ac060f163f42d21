//! Products and transposes of encrypted matrices.

use super::Evaluator;
use crate::backend::RingOps;
use crate::ckks::Ciphertext;
use crate::ckks::ciphertext::Meta;
use crate::error::Result;
use crate::rlwe::{EvaluationKeys, Paths, powered};
use std::borrow::Borrow;

impl<B: RingOps> Evaluator<B> {
    /// The transpose of a matrix of N x N numbers, a row in the
    /// [coefficients](crate::ckks::Encoder::encode_coefficients) of each of N ciphertexts: a column
    /// in the coefficients of each of N ciphertexts. Level and scale stay; every row gets the noise
    /// of N key switches, or of more where automorphisms are composed of others: see
    /// [`RlweCiphertext::transpose`](crate::rlwe::RlweCiphertext::transpose) for the keys and their
    /// costs.
    ///
    /// # Errors
    /// [`Error::MatrixRows`](crate::Error::MatrixRows) unless the batch is N;
    /// [`Error::MissingGaloisKey`](crate::Error::MissingGaloisKey),
    /// [`Error::MissingConjugationKey`](crate::Error::MissingConjugationKey),
    /// [`Error::ParamsMismatch`](crate::Error::ParamsMismatch),
    /// [`Error::KeyMismatch`](crate::Error::KeyMismatch); device errors.
    pub fn transpose(&self, ct: &Ciphertext<B>, keys: &EvaluationKeys<B>) -> Result<Ciphertext<B>> {
        keys.check(self.params.rlwe(), &self.ring)?;
        self.check_ciphertext(ct)?;
        let paths = Paths::new(keys)?;
        let (model, primes) = (self.params.noise(), self.primes_at(ct.meta.level));
        let noise = ct.meta.noise.map(|noise| model.transposed(noise, primes, paths.longest()));
        let pair = ct.pair.transposed(&paths, keys)?;
        Ok(Ciphertext { pair, meta: Meta { slots: self.params.slots(), noise, ..ct.meta } })
    }

    /// The trace of a matrix of up to N x N numbers, a row in the
    /// [coefficients](crate::ckks::Encoder::encode_coefficients) of each ciphertext: coefficient 0
    /// of the result, whose others are sums along other diagonals. Level and scale stay, no key is
    /// needed, and noises add: see [`RlweCiphertext::trace`](crate::rlwe::RlweCiphertext::trace).
    ///
    /// # Errors
    /// [`Error::MatrixRows`](crate::Error::MatrixRows) for more than N rows; mismatch of ring;
    /// device errors.
    pub fn trace(&self, ct: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        self.check_ciphertext(ct)?;
        let count_log2 = libm::log2(ct.batch() as f64);
        let noise = ct.meta.noise.map(|noise| noise.shifted(count_log2).revalued(count_log2));
        Ok(Ciphertext { pair: ct.pair.trace()?, meta: Meta { slots: self.params.slots(), noise, ..ct.meta } })
    }

    /// The product M M' of a matrix of N x N numbers and one of N rows, both a row in each
    /// ciphertext, `a` in [coefficients](crate::ckks::Encoder::encode_coefficients): a
    /// [`transpose`](Self::transpose), and a [`transposed_product`](Self::transposed_product) by its
    /// result. One level.
    ///
    /// # Errors
    /// The same as for both.
    pub fn matrix_product(
        &self,
        a: &Ciphertext<B>,
        b: &Ciphertext<B>,
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        self.transposed_product(&self.transpose(a, keys)?, b, keys)
    }

    /// The power M^k of a matrix of N x N numbers for k >= 1: log2(k) levels, rounded up, with at
    /// most two products on each.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for k = 0; the same as for
    /// [`matrix_product`](Self::matrix_product).
    pub fn matrix_power(
        &self,
        ct: &Ciphertext<B>,
        k: u32,
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        powered(ct.duplicate()?, k, |a, b| self.matrix_product(a, b, keys))
    }

    /// The product M^T M' of two encrypted matrices of m rows, a row in each ciphertext: N
    /// ciphertexts, of which entry i is sum_j (coefficient i of row j of M) (row j of M').
    /// Relinearised and rescaled: one level below the lower operand. `a` is in
    /// [coefficients](crate::ckks::Encoder::encode_coefficients); `b` may be in slots, then the
    /// result is, too. With a matrix and itself this is the Gram matrix M^T M, of which covariances
    /// and least squares are made.
    ///
    /// Takes four products of matrices of residues for each prime, two [`transpose`](Self::transpose)
    /// and N relinearisations: see
    /// [`RlweCiphertext::transposed_product`](crate::rlwe::RlweCiphertext::transposed_product).
    ///
    /// ```
    /// # use he_core::{backend::Cpu, ckks::*, ring::Ring, rlwe::*};
    /// # fn main() -> he_core::Result<()> {
    /// # let spec = CkksSpec::from_bits(4, &[50, 40], &[50], 40.0)?;
    /// # let params = CkksParams::insecure(spec)?;
    /// # let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    /// # let mut rng = he_core::rand::rng();
    /// # let secret = SecretKey::generate(params.rlwe(), &mut rng);
    /// let needs = KeyRequirements::new().relinearisation().rotations([1, 2, 4]).conjugation();
    /// let keys = EvaluationKeys::generate(&secret, &ring, needs, &mut rng)?;
    /// let ev = Evaluator::new(&params, &ring)?;
    /// // Three samples of two numbers.
    /// let samples: [&[f64]; 3] = [&[1.0, 2.0], &[-0.5, 1.0], &[3.0, 0.0]];
    /// let plain = ev.encoder().encode_coefficients_batch(&samples, params.encoding())?;
    /// let x = SecretEncryptor::new(&params, &secret, &ring)?.encrypt(&plain, &mut rng)?.expand()?;
    /// let gram = ev.transposed_product(&x, &x, &keys)?;
    /// let gram = Decryptor::new(&params, &secret, &ring)?.decrypt(&gram)?;
    /// let gram = ev.encoder().decode_coefficients(&gram)?;
    /// assert!((gram[0][0] - 10.25).abs() < 1e-3 && (gram[1][0] - 1.5).abs() < 1e-3);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::MatrixRows`](crate::Error::MatrixRows) unless both have the same number of
    /// rows; [`Error::LevelExhausted`](crate::Error::LevelExhausted);
    /// [`Error::MissingRelinKey`](crate::Error::MissingRelinKey) and the errors of
    /// [`transpose`](Self::transpose); mismatch of ring; device errors.
    pub fn transposed_product(
        &self,
        a: &Ciphertext<B>,
        b: &Ciphertext<B>,
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        keys.check(self.params.rlwe(), &self.ring)?;
        let paths = Paths::new(keys)?;
        let [a, b] = self.product_operands(a, b)?;
        let (a, b): (&Ciphertext<B>, &Ciphertext<B>) = (a.borrow(), b.borrow());
        let one = self.product_meta(a.meta, b.meta, self.params.slots())?;
        let (model, primes) = (self.params.noise(), self.primes_at(one.level));
        let count_log2 = libm::log2(a.batch() as f64);
        let noise = one.noise.map(|noise| {
            let sum = noise.shifted(count_log2).revalued(count_log2);
            model.matrix_product(sum, primes, paths.longest())
        });
        let meta = self.rescaled(Meta { noise, ..one })?;
        let pair = a.pair.transposed_product_by(&b.pair, &paths, keys)?;
        Ok(Ciphertext { pair: pair.mod_down(self.primes_at(meta.level))?, meta })
    }
}
