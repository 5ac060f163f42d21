//! Plain matrices times batches of ciphertexts, as products of matrices of residues.

use super::RlweCiphertext;
use super::work::tell;
use crate::arith::Modulus;
use crate::backend::{Cpu, LeftMatrix, MatrixNumbers, MatrixOps, MatrixProduct, RingOps};
use crate::error::{Error, Result};
use crate::ring::{Eval, Poly, Ring, Span};
use derive_where::derive_where;
use std::sync::{Arc, Mutex, PoisonError};

/// A plain matrix U of integers, packed for products with batches of ciphertexts over the first
/// primes of the chain.
///
/// The words of a batch of m ciphertexts are, for each prime, two m x N matrices (B, A), one of
/// c0 and one of c1, a ciphertext in a row. U times the messages is U B and U A, whatever the rows
/// hold, coefficients or slots: two products of matrices modulo each prime ([`MatrixOps`]), and no
/// key. (Bae, Cheon, Hanrot, Park, Stehlé, *Plaintext-Ciphertext Matrix Multiplication and FHE
/// Bootstrapping: Fast and Fused*, Crypto 2024, section 3.)
///
/// A batch of w m ciphertexts is a matrix of m rows, too, with w ciphertexts side by side in each:
/// one product of wider matrices, for which U is packed once more when it first meets this width.
#[derive_where(Clone; B::Buf)]
pub struct PlainMatrix<B: RingOps = Cpu> {
    ring: Ring<B>,
    /// Packed for one ciphertext in a row.
    left: LeftMatrix<B::Buf>,
    wider: Arc<Wider<B::Buf>>,
    row_sum: f64,
}

/// The numbers of a matrix as they are packed, and the packed matrix of the width that was met
/// last.
struct Wider<T> {
    words: Vec<u64>,
    last: Mutex<Option<Arc<LeftMatrix<T>>>>,
}

impl<B: RingOps> std::fmt::Debug for PlainMatrix<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PlainMatrix {{ {} }}", self.left.product())
    }
}

impl<B: RingOps> PlainMatrix<B> {
    /// A matrix of bytes, row by row, for ciphertexts over the first `primes` primes: the numbers
    /// with which matrix units are fastest.
    ///
    /// # Errors
    /// [`Error::Argument`] unless there are rows x columns numbers, at least one;
    /// [`Error::SpanMismatch`] for primes that the ring does not have; device errors.
    pub fn from_bytes(
        ring: &Ring<B>,
        primes: usize,
        [rows, columns]: [usize; 2],
        numbers: &[i8],
    ) -> Result<Self> {
        check_shape([rows, columns], numbers.len())?;
        let word = |bytes: &[i8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte as u8));
        let words: Vec<u64> = numbers.chunks(8).map(word).collect();
        let row_sum = row_sum(numbers, columns, |&byte| f64::from(byte).abs());
        Self::packed(ring, MatrixNumbers::SignedBytes, primes, [rows, columns], words, row_sum)
    }

    /// A matrix of any integers, row by row, likewise; they are packed as bytes if all lie in
    /// [-128, 127], with the same products.
    ///
    /// # Errors
    /// The same as for [`from_bytes`](Self::from_bytes).
    pub fn from_integers(ring: &Ring<B>, primes: usize, shape: [usize; 2], numbers: &[i64]) -> Result<Self> {
        let bytes: Option<Vec<i8>> = numbers.iter().map(|&number| i8::try_from(number).ok()).collect();
        match bytes {
            Some(bytes) => Self::from_bytes(ring, primes, shape, &bytes),
            None => {
                let row_sum = row_sum(numbers, shape[1], |number| number.unsigned_abs() as f64);
                Self::from_residues(ring, primes, shape, numbers, row_sum, |q, &number| q.reduce_i64(number))
            }
        }
    }

    /// A matrix of real numbers, rounded by `residue` to integers, as residues modulo each prime;
    /// its [row sum](Self::row_sum) is that of the numbers.
    ///
    /// # Errors
    /// The same as for [`from_bytes`](Self::from_bytes).
    pub(crate) fn from_reals(
        ring: &Ring<B>,
        primes: usize,
        shape: [usize; 2],
        numbers: &[f64],
        residue: impl Fn(&Modulus, &f64) -> u64,
    ) -> Result<Self> {
        let row_sum = row_sum(numbers, shape[1], |number| number.abs());
        Self::from_residues(ring, primes, shape, numbers, row_sum, residue)
    }

    /// A matrix of numbers by their residues modulo each prime.
    ///
    /// # Errors
    /// The same as for [`from_bytes`](Self::from_bytes).
    fn from_residues<T>(
        ring: &Ring<B>,
        primes: usize,
        shape: [usize; 2],
        numbers: &[T],
        row_sum: f64,
        residue: impl Fn(&Modulus, &T) -> u64,
    ) -> Result<Self> {
        check_shape(shape, numbers.len())?;
        let moduli = ring.spec().q_moduli().iter().take(primes);
        let words: Vec<u64> = moduli
            .flat_map(|q| numbers.iter().map(|number| residue(q, number)).collect::<Vec<_>>())
            .collect();
        Self::packed(ring, MatrixNumbers::Residues, primes, shape, words, row_sum)
    }

    fn packed(
        ring: &Ring<B>,
        numbers: impl FnOnce(Span) -> MatrixNumbers,
        primes: usize,
        [rows, columns]: [usize; 2],
        words: Vec<u64>,
        row_sum: f64,
    ) -> Result<Self> {
        let span = Poly::<Eval, B>::rows_of(ring, Span::chain(primes), rows)?.span;
        let product = MatrixProduct::new(numbers(span), rows, columns, ring.n())?;
        let left = pack(ring, &product, &words)?;
        let wider = Arc::new(Wider { words, last: Mutex::default() });
        Ok(Self { ring: ring.clone(), left, wider, row_sum })
    }

    /// The matrix packed for rows of so many ciphertexts, more than one.
    fn packed_for(&self, width: usize) -> Result<Arc<LeftMatrix<B::Buf>>> {
        let of_one = self.left.product();
        let (rows, inner, columns) = (of_one.rows(), of_one.inner(), width * of_one.columns());
        let product = MatrixProduct::new(of_one.numbers(), rows, inner, columns)?;
        let mut last = self.wider.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(left) = last.as_ref().filter(|left| *left.product() == product) {
            return Ok(Arc::clone(left));
        }
        let left = Arc::new(pack(&self.ring, &product, &self.wider.words)?);
        *last = Some(Arc::clone(&left));
        Ok(left)
    }

    /// The rows, which are those of a product.
    pub fn rows(&self) -> usize {
        self.left.product().rows()
    }

    /// The columns, which are the ciphertexts that it multiplies.
    pub fn columns(&self) -> usize {
        self.left.product().inner()
    }

    /// The primes of the ciphertexts that it multiplies.
    pub fn primes(&self) -> usize {
        self.left.product().limbs()
    }

    /// The greatest sum of magnitudes of a row, by which the noise of a product grows at most.
    pub const fn row_sum(&self) -> f64 {
        self.row_sum
    }

    /// U times a batch of ciphertexts: entry i of the result has the phase sum_j U_ij (phase of
    /// entry j), exactly. The noise grows by at most the greatest sum of magnitudes of a row.
    ///
    /// A batch may have w times as many ciphertexts as the matrix has columns. Entries w j to
    /// w j + w - 1 are side by side in row j then: entry w i + v of the result has the phase
    /// sum_j U_ij (phase of entry w j + v), as in w products, in the time of fewer.
    ///
    /// # Errors
    /// [`Error::MatrixRows`] unless the batch has as many ciphertexts as the matrix has columns, or
    /// a multiple; [`Error::SpanMismatch`] for ciphertexts over other primes;
    /// [`Error::RingMismatch`]; device errors.
    pub fn multiply(&self, ct: &RlweCiphertext<B>) -> Result<RlweCiphertext<B>> {
        if !ct.ring().shares(&self.ring) {
            return Err(Error::RingMismatch);
        }
        let (found, expected) = (ct.c[0].span(), Span::chain(self.primes()));
        if found != expected {
            return Err(Error::SpanMismatch { left: found, right: expected });
        }
        if !ct.batch().is_multiple_of(self.columns()) {
            return Err(Error::MatrixRows { found: ct.batch(), needed: self.columns() });
        }
        let width = ct.batch() / self.columns();
        let wider = if width == 1 { None } else { Some(self.packed_for(width)?) };
        let left = wider.as_deref().unwrap_or(&self.left);
        let product =
            self.ring.backend().batched(|| ct.map(|part| combine(left, part, self.rows() * width)))?;
        tell(&self.ring, self.rows() * width, 2 * self.columns() * self.primes());
        Ok(product)
    }
}

/// A packed matrix times polynomials, which gives so many.
fn combine<B: RingOps>(
    left: &LeftMatrix<B::Buf>,
    polys: &Poly<Eval, B>,
    batch: usize,
) -> Result<Poly<Eval, B>> {
    let (ring, product) = (polys.ring(), left.product());
    let right = ring.prepared().pack_right(product, polys.buf(), 0)?;
    let mut sums = ring.backend().scratch(product.result_words())?;
    ring.prepared().multiply_matrices(left.as_ref(), right.as_ref(), false, 0, &mut sums)?;
    Ok(Poly::from_buf(ring, polys.span(), batch, sums))
}

/// Packs the words of a matrix.
fn pack<B: RingOps>(ring: &Ring<B>, product: &MatrixProduct, words: &[u64]) -> Result<LeftMatrix<B::Buf>> {
    ring.prepared().pack_left(product, &ring.backend().upload(words)?, 0)
}

/// The greatest sum of magnitudes of a row of this many numbers.
fn row_sum<T>(numbers: &[T], columns: usize, magnitude: impl Fn(&T) -> f64) -> f64 {
    let sums = numbers.chunks(columns.max(1)).map(|row| row.iter().map(&magnitude).sum::<f64>());
    sums.fold(0.0, f64::max)
}

/// Checks that a matrix has entries, and as many as its sizes say.
fn check_shape([rows, columns]: [usize; 2], found: usize) -> Result<()> {
    if found > 0 && rows.checked_mul(columns) == Some(found) {
        return Ok(());
    }
    Err(Error::domain("matrix", format!("{found} numbers for {rows} x {columns}"), "give one for each entry"))
}
