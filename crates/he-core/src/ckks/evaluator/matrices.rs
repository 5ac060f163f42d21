//! Plain matrices times batches of ciphertexts.

use super::Evaluator;
use super::scales::level_of;
use crate::backend::{Cpu, RingOps};
use crate::ckks::Ciphertext;
use crate::ckks::ciphertext::Meta;
use crate::error::{Error, Result};
use crate::ring::Span;
use crate::rlwe;
use derive_where::derive_where;
use std::borrow::Borrow;

/// log2 of the least unit at the multiplier scale: it is rounded to an integer, with a relative
/// error of at most 2^-11, less than that of integers of eight bits.
const LEAST_UNIT_LOG2: f64 = 10.0;

/// The numbers of a plain matrix, row by row.
#[derive(Clone, Copy, Debug)]
pub enum MatrixWeights<'a> {
    /// Real numbers, each rounded to a multiple of
    /// 1 / [`multiplier_scale`](crate::ckks::CkksParams::multiplier_scale): as wide as the primes,
    /// so that the product is one of residues by residues. It uses a level.
    Real(&'a [f64]),
    /// Multiples of a unit by integers of eight bits, as quantised weights are: the product of
    /// matrices is one of bytes, which is the fastest. It uses a level.
    Quantized {
        /// The integers.
        bytes: &'a [i8],
        /// The number of which they are multiples.
        unit: f64,
    },
    /// Integers of eight bits. The product is exact and uses no level.
    Integers(&'a [i8]),
}

/// The constant by which a product is multiplied on its way to the next level, if it goes there.
#[derive(Clone, Debug)]
enum Factor {
    /// The numbers are integers and keep the scale.
    None,
    /// The numbers were multiplied by the level's multiplier scale before they were rounded.
    Within,
    /// A number, and its residues at the multiplier scale.
    Unit(f64, Vec<u64>),
}

/// A plain matrix, prepared for products with batches of ciphertexts on one level:
/// [`Evaluator::plain_matrix`] makes it, once for any number of products.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct PlainMatrix<B: RingOps = Cpu> {
    matrix: rlwe::PlainMatrix<B>,
    level: usize,
    factor: Factor,
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
        self.level
    }
}

impl<B: RingOps> Evaluator<B> {
    /// Prepares a plain matrix of this shape, rows and columns, for products with batches of
    /// ciphertexts on a level. The numbers are public.
    ///
    /// # Errors
    /// [`Error::Argument`] unless there is one number for each entry, or for a unit that leaves
    /// fewer than 10 bits at the multiplier scale; [`Error::NotFinite`] with the index of the
    /// number; [`Error::ValueTooLarge`]; [`Error::LevelTooHigh`]; [`Error::LevelExhausted`] for
    /// level 0 but for integers; device errors.
    pub fn plain_matrix(
        &self,
        shape: [usize; 2],
        weights: MatrixWeights<'_>,
        level: usize,
    ) -> Result<PlainMatrix<B>> {
        let primes = self.params.level(level)?.primes;
        let bytes = |bytes| rlwe::PlainMatrix::from_bytes(&self.ring, primes, shape, bytes);
        let (matrix, factor) = match weights {
            MatrixWeights::Integers(numbers) => (bytes(numbers)?, Factor::None),
            MatrixWeights::Quantized { bytes: numbers, unit } => {
                let factor = Factor::Unit(unit, self.unit_residues(unit, level)?);
                (bytes(numbers)?, factor)
            }
            MatrixWeights::Real(numbers) => (self.real_matrix(shape, numbers, level)?, Factor::Within),
        };
        Ok(PlainMatrix { matrix, level, factor })
    }

    /// The residues of a unit at a level's multiplier scale, of which it has at least 10 bits.
    fn unit_residues(&self, unit: f64, level: usize) -> Result<Vec<u64>> {
        let scale = self.params.exact_multiplier_scale(level)?;
        let bits = libm::log2(unit.abs() * scale.to_f64());
        if unit.is_finite() && bits < LEAST_UNIT_LOG2 {
            let least = LEAST_UNIT_LOG2.exp2() / scale.to_f64();
            let hint = format!("at this level it must be at least {least:e} in magnitude");
            return Err(Error::domain("unit of a matrix", format!("{unit:e}"), hint));
        }
        self.constant_residues(unit, scale, Span::chain(self.primes_at(level)), level)
    }

    /// Real numbers, rounded at a level's multiplier scale.
    fn real_matrix(&self, shape: [usize; 2], numbers: &[f64], level: usize) -> Result<rlwe::PlainMatrix<B>> {
        if let Some(index) = numbers.iter().position(|number| !number.is_finite()) {
            return Err(Error::NotFinite { index });
        }
        let scale = self.params.exact_multiplier_scale(level)?;
        let greatest = numbers.iter().fold(0.0, |most: f64, number| most.max(number.abs()));
        self.check_rounded(greatest * scale.to_f64(), level)?;
        rlwe::PlainMatrix::from_reals(&self.ring, self.primes_at(level), shape, numbers, |q, &number| {
            q.reduce_i128(self.scaled_constant(number, scale).to_i128())
        })
    }

    /// U times a batch of ciphertexts M: entry i of the result is sum_j U_ij (entry j), for each
    /// slot, or for each coefficient, whatever the entries hold. So m ciphertexts are a matrix of m
    /// rows, in which a column is a slot or a coefficient; a matrix that was encrypted column by
    /// column is multiplied from the right, M V, by the transpose of V. The product takes no key:
    /// it is two products of matrices of residues for each prime
    /// ([`rlwe::PlainMatrix`](crate::rlwe::PlainMatrix)). A batch of w m ciphertexts has w of them
    /// side by side in each row, and the result as well.
    ///
    /// The result is one level below that of the matrix, to which the ciphertexts are brought, or
    /// on that level itself for [`Integers`](MatrixWeights::Integers). The noise grows by the
    /// greatest sum of magnitudes of a row. The words are those of
    /// [`linear_combination`](Self::linear_combination) for [`Real`](MatrixWeights::Real) numbers.
    ///
    /// ```
    /// # use he_core::{backend::Cpu, ckks::*, ring::Ring, rlwe::*};
    /// # fn main() -> he_core::Result<()> {
    /// # let params = CkksParams::for_depth(1).precision_bits(20).build()?;
    /// # let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    /// # let mut rng = he_core::rand::rng();
    /// # let secret = SecretKey::generate(params.rlwe(), &mut rng);
    /// let ev = Evaluator::new(&params, &ring)?;
    /// // Three features of two patients, a feature in each ciphertext.
    /// let rows = [[0.5, 1.0], [2.0, -1.0], [4.0, 0.25]];
    /// let rows = rows.map(|row| row.map(|x| Complex64::new(x, 0.0)));
    /// let plain = ev.encoder().encode_batch(&rows.each_ref().map(|row| &row[..]), params.encoding())?;
    /// let x = SecretEncryptor::new(&params, &secret, &ring)?.encrypt(&plain, &mut rng)?.expand()?;
    /// let weights = MatrixWeights::Quantized { bytes: &[127, 0, -64, 1, 2, 3], unit: 1.0 / 128.0 };
    /// let layer = ev.plain_matrix([2, 3], weights, x.level())?;
    /// let y = ev.mul_matrix(&layer, &x)?;
    /// assert_eq!((y.batch(), y.level()), (2, x.level() - 1));
    /// let y = Decryptor::new(&params, &secret, &ring)?.decrypt_real(&y.slice_batch(1..2)?)?;
    /// assert!((y[1] - (1.0 - 2.0 + 0.75) / 128.0).abs() < 1e-4);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::MatrixRows`] unless the batch has as many ciphertexts as the matrix has columns, or
    /// a multiple; [`Error::LevelTooHigh`] for a matrix of a higher level than the ciphertexts';
    /// [`Error::RingMismatch`]; device errors.
    pub fn mul_matrix(&self, matrix: &PlainMatrix<B>, ct: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        let ct = self.settled(ct)?;
        let highest = level_of(&ct);
        if matrix.level > highest {
            return Err(Error::LevelTooHigh { found: matrix.level, highest });
        }
        let ct = self.at_level(ct, matrix.level)?;
        let ct: &Ciphertext<B> = ct.borrow();
        let mut pair = matrix.matrix.multiply(&ct.pair)?;
        let meta = self.combined(ct.meta, matrix);
        if let Factor::None = matrix.factor {
            return Ok(Ciphertext { pair, meta });
        }
        if let Factor::Unit(_, residues) = &matrix.factor {
            pair.c.iter_mut().try_for_each(|part| part.scale_assign(residues))?;
        }
        let meta = self.rescaled(meta)?;
        Ok(Ciphertext { pair: pair.mod_down(self.primes_at(meta.level))?, meta })
    }

    /// The state of a product by a matrix, before it is rescaled.
    fn combined(&self, meta: Meta, matrix: &PlainMatrix<B>) -> Meta {
        let (scale_log2, n) = (meta.scale_log2(), self.params.noise().n());
        let multiplier = self.params.multiplier_scale(matrix.level).unwrap_or(1.0);
        let factor_log2 = libm::log2(multiplier);
        let row_sum = matrix.matrix.row_sum();
        let sum_log2 = libm::log2(row_sum);
        let noise = meta.noise.map(|noise| match matrix.factor {
            Factor::None => noise.shifted(sum_log2).revalued(sum_log2),
            Factor::Within => noise.combined(scale_log2, row_sum, matrix.columns(), factor_log2, n),
            Factor::Unit(unit, _) => {
                noise.shifted(sum_log2).revalued(sum_log2).times(scale_log2, unit, factor_log2, n)
            }
        });
        let scale = if let Factor::None = matrix.factor { meta.scale } else { meta.scale * multiplier };
        Meta { scale, noise, ..meta }
    }
}
