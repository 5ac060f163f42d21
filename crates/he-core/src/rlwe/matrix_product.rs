//! Products of encrypted matrices, as products of matrices of residues.

use super::transposition::Paths;
use super::work::tell;
use super::{EvaluationKeys, RlweCiphertext, RlweProduct};
use crate::backend::{LeftMatrix, MatrixNumbers, MatrixOps, MatrixProduct, RightMatrix, RingOps};
use crate::error::{Error, Result};
use crate::key_set::common;
use crate::ring::{Eval, Poly};
use crate::rlwe::OPERAND;
use std::collections::{BTreeMap, BTreeSet};

/// x^k for k >= 1 in the least depth, log2(k) rounded up: x^k = x^h x^(k - h) with h = k / 2,
/// rounded down, so that at most two powers are needed of each depth.
///
/// # Errors
/// [`Error::Argument`] for k = 0; the errors of `times`.
pub(crate) fn powered<T>(x: T, k: u32, times: impl Fn(&T, &T) -> Result<T>) -> Result<T> {
    let mut needed = BTreeSet::from([k]);
    let mut depth = vec![k];
    while depth.iter().any(|&k| k > 1) {
        depth = depth.iter().filter(|&&k| k > 1).flat_map(|&k| [k / 2, k - k / 2]).collect();
        depth.dedup();
        needed.extend(&depth);
    }
    let mut powers = BTreeMap::from([(1, x)]);
    for k in needed.into_iter().filter(|&k| k > 1) {
        let power = times(&powers[&(k - k / 2)], &powers[&(k / 2)])?;
        powers.insert(k, power);
    }
    powers.remove(&k).ok_or_else(|| Error::domain("power of a matrix", "0", "give a power from 1 on"))
}

impl<B: RingOps> RlweCiphertext<B> {
    /// The product M^T M' of two encrypted matrices, a row in the coefficients of each ciphertext:
    /// entry i of the result has the phase sum_j (coefficient i of entry j) (phase of entry j of
    /// `rhs`). N ciphertexts, relinearised. `self` is in coefficients; `rhs` may hold coefficients
    /// or slots, which the result's rows then hold.
    ///
    /// Let (B, A) and (B', A') be the matrices of residues of both operands, S the matrix of the
    /// product by the secret s, so that M = B + A S and M' = B' + A' S. Then
    ///
    /// M^T M' = B^T B' + (B^T A') S + S^T (A^T B' + (A^T A') S)
    ///
    /// takes four products of matrices modulo each prime. The first two make N ciphertexts. The
    /// last two make ciphertexts of the rows of a matrix Y, which are transposed, multiplied by s,
    /// relinearised and transposed again: two [`transpose`](Self::transpose) and N
    /// relinearisations. (Bae, Cheon, Hanrot, Park, Stehlé, *Fast Homomorphic Linear Algebra with
    /// BLAS*, 2025, section 6.) Exact but for the noise of key switches. Constant time.
    ///
    /// # Errors
    /// [`Error::MatrixRows`] unless both have the same number of rows; mismatch of ring, primes,
    /// key sets or parameters; [`Error::MissingRelinKey`] and those of
    /// [`transpose`](Self::transpose); device errors.
    pub fn transposed_product(&self, rhs: &Self, keys: &EvaluationKeys<B>) -> Result<Self> {
        self.transposed_product_by(rhs, &Paths::new(keys)?, keys)
    }

    pub(crate) fn transposed_product_by(
        &self,
        rhs: &Self,
        paths: &Paths,
        keys: &EvaluationKeys<B>,
    ) -> Result<Self> {
        if self.batch() != rhs.batch() {
            return Err(Error::MatrixRows { found: rhs.batch(), needed: self.batch() });
        }
        self.c[0].check(&rhs.c[0])?;
        rhs.c[0].check(&self.c[0])?;
        let key_set = common(OPERAND, rhs.key_set, self.key_set)?;
        let relin = keys.relin()?;
        self.ring().backend().batched(|| {
            let [rows, mixed] = self.cross(rhs)?;
            let columns = mixed.of(key_set).transposed(paths, keys)?;
            let (span, [c0, c1]) = (columns.c[0].span(), columns.c);
            let none = Poly::zeros(self.ring(), span, c0.batch())?;
            let product = RlweProduct { d: [none, c0, c1], key_set };
            let switched = product.relinearize(relin, span.q)?.transposed(paths, keys)?;
            rows.of(key_set).add(&switched)
        })
    }

    /// (B^T B', B^T A') and (A^T B', A^T A').
    fn cross(&self, rhs: &Self) -> Result<[Self; 2]> {
        let (ring, span, inner) = (self.ring(), self.c[0].span(), self.batch());
        let product = MatrixProduct::new(MatrixNumbers::Residues(span), ring.n(), inner, ring.n())?;
        let right = |part: &Poly<Eval, B>| ring.prepared().pack_right(&product, part.buf(), 0);
        let rights = [right(&rhs.c[0])?, right(&rhs.c[1])?];
        let times = |left: &LeftMatrix<B::Buf>, right: &RightMatrix<B::Buf>| -> Result<Poly<Eval, B>> {
            let mut sums = ring.backend().scratch(product.result_words())?;
            ring.prepared().multiply_matrices(left.as_ref(), right.as_ref(), false, 0, &mut sums)?;
            Ok(Poly::from_buf(ring, span, ring.n(), sums))
        };
        let pair = |part: &Poly<Eval, B>| {
            let left = packed_transpose(part, &product)?;
            Self::new(times(&left, &rights[0])?, times(&left, &rights[1])?)
        };
        tell(ring, ring.n(), 4 * inner * span.limbs());
        Ok([pair(&self.c[0])?, pair(&self.c[1])?])
    }
}

/// The transpose of the matrix of coefficients of a batch, as the left one of a product.
fn packed_transpose<B: RingOps>(part: &Poly<Eval, B>, product: &MatrixProduct) -> Result<LeftMatrix<B::Buf>> {
    let (ring, inner) = (part.ring(), part.batch());
    let (backend, n) = (ring.backend(), ring.n());
    let coefficients = part.duplicate()?.into_coeff()?;
    let mut transpose = backend.scratch(product.left_words())?;
    backend.transpose_words(coefficients.buf(), 0, &mut transpose, 0, [inner, n], product.limbs())?;
    ring.prepared().pack_left(product, &transpose, 0)
}
