//! Plain matrices times batches of ciphertexts.

use super::ciphertext::Meta;
use super::{Ciphertext, Evaluator, Scheme};
use crate::backend::{Cpu, RingOps};
use crate::error::{Error, Result};
use crate::rlwe;
use derive_where::derive_where;
use std::borrow::Borrow;

/// A plain matrix modulo t, prepared for products with batches of ciphertexts on one level:
/// [`Evaluator::plain_matrix`] makes it, once for any number of products.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct PlainMatrix<B: RingOps = Cpu> {
    matrix: rlwe::PlainMatrix<B>,
    plain_modulus: u64,
}

impl<B: RingOps> PlainMatrix<B> {
    /// The rows, which are those of a product.
    pub fn rows(&self) -> usize {
        self.matrix.rows()
    }

    /// The columns, which are the ciphertexts that it multiplies.
    pub fn columns(&self) -> usize {
        self.matrix.columns()
    }

    /// The level on which it multiplies.
    pub fn level(&self) -> usize {
        self.matrix.primes() - 1
    }
}

impl<S: Scheme, B: RingOps> Evaluator<S, B> {
    /// Prepares a plain matrix of this shape, rows and columns, for products with batches of
    /// ciphertexts on a level. The numbers, row by row, are public and count modulo t: they are
    /// brought to `[-t/2, t/2)`, and packed as bytes if all are of eight bits then.
    ///
    /// # Errors
    /// [`Error::Argument`] unless there is one number for each entry; [`Error::LevelTooHigh`];
    /// device errors.
    pub fn plain_matrix(&self, shape: [usize; 2], numbers: &[i64], level: usize) -> Result<PlainMatrix<B>> {
        let (highest, plain) = (self.params.max_level(), self.params.plain());
        if level > highest {
            return Err(Error::LevelTooHigh { found: level, highest });
        }
        let centred = |&number: &i64| plain.center(plain.modulus().reduce_i64(number));
        let numbers: Vec<i64> = numbers.iter().map(centred).collect();
        let matrix = rlwe::PlainMatrix::from_integers(&self.ring, level + 1, shape, &numbers)?;
        Ok(PlainMatrix { matrix, plain_modulus: plain.value() })
    }

    /// U times a batch of ciphertexts M: entry i of the result is sum_j U_ij (entry j) modulo t,
    /// for each slot, or for each coefficient, whatever the entries hold. The product takes no key:
    /// it is two products of matrices of residues for each prime
    /// ([`rlwe::PlainMatrix`](crate::rlwe::PlainMatrix)). The ciphertexts are brought to the level
    /// of the matrix, and the noise grows by the greatest sum of magnitudes of a row. A batch of
    /// w m ciphertexts has w of them side by side in each row, and the result as well.
    ///
    /// # Errors
    /// [`Error::MatrixRows`] unless the batch has as many ciphertexts as the matrix has columns, or
    /// a multiple; [`Error::LevelTooHigh`] for a matrix of a higher level than the ciphertexts';
    /// [`Error::Argument`] for one of another modulus; [`Error::BudgetSpent`];
    /// [`Error::RingMismatch`]; device errors.
    pub fn mul_matrix(&self, matrix: &PlainMatrix<B>, ct: &Ciphertext<S, B>) -> Result<Ciphertext<S, B>> {
        self.check_ciphertext(ct)?;
        let t = self.params.plain().value();
        if matrix.plain_modulus != t {
            return Err(Error::argument(
                "plaintext modulus",
                format!("{t} here, {} there", matrix.plain_modulus),
            ));
        }
        if matrix.level() > ct.level() {
            return Err(Error::LevelTooHigh { found: matrix.level(), highest: ct.level() });
        }
        let ct = self.at_primes(ct, matrix.matrix.primes())?;
        let ct: &Ciphertext<S, B> = ct.borrow();
        let gain_log2 = libm::log2(matrix.matrix.row_sum().max(1.0));
        let meta = self.params.checked(Meta { noise: ct.meta.noise.scale(gain_log2), ..ct.meta })?;
        self.finish(matrix.matrix.multiply(&ct.pair)?, meta)
    }
}
