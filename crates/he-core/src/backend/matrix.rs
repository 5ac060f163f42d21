//! Products of matrices of exact integers, modulo the primes of a ring or modulo 2^32.

use super::{Backend, PreparedRing};
use crate::error::{Error, Result};
use crate::ring::Span;
use crate::secret_words::SecretWords;

/// The numbers of which two matrices consist, and those modulo which they are multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatrixNumbers {
    /// Residues times residues, modulo each prime: both matrices have a limb for every prime.
    Residues(Span),
    /// Signed bytes, in `[-128, 127]`, times residues, modulo each prime: the left matrix is the
    /// same for all primes.
    SignedBytes(Span),
    /// Bytes, in `[0, 255]`, times words modulo 2^32.
    Bytes,
}

/// The shape of a product of matrices: `rows` x `inner` times `inner` x `columns`, for each prime.
///
/// Matrices lie in buffers row by row, limb by limb, from any word on. Residues, and words modulo
/// 2^32, are a word each; of the latter the high half is not read, and zero in results. Bytes are
/// eight in a word, the first in the lowest bits, without gaps between rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixProduct {
    numbers: MatrixNumbers,
    rows: usize,
    inner: usize,
    columns: usize,
}

impl std::fmt::Display for MatrixProduct {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { numbers, rows, inner, columns } = self;
        write!(f, "{rows} x {inner} times {inner} x {columns}, ")?;
        match numbers {
            MatrixNumbers::Residues(span) => write!(f, "residues modulo {span}"),
            MatrixNumbers::SignedBytes(span) => write!(f, "signed bytes by residues modulo {span}"),
            MatrixNumbers::Bytes => f.write_str("bytes by words modulo 2^32"),
        }
    }
}

impl MatrixProduct {
    /// The words of the largest matrix: its bytes, eight times over for what back ends make of
    /// them, have addresses.
    const MOST_WORDS: usize = isize::MAX as usize >> 6;

    /// A product of these sizes, any of which may be 0.
    ///
    /// # Errors
    /// [`Error::Argument`] if a matrix would have more words than have addresses.
    pub fn new(numbers: MatrixNumbers, rows: usize, inner: usize, columns: usize) -> Result<Self> {
        let product = Self { numbers, rows, inner, columns };
        let fits = |height: usize, width: usize| {
            let words = height.checked_mul(width).and_then(|count| count.checked_mul(product.limbs().max(1)));
            words.is_some_and(|words| words <= Self::MOST_WORDS)
        };
        if fits(rows, inner) && fits(inner, columns) && fits(rows, columns) {
            return Ok(product);
        }
        let why = format!("{product}: a matrix would have more than {} words", Self::MOST_WORDS);
        Err(Error::domain("matrices", why, "multiply blocks of them"))
    }

    /// The numbers of both matrices.
    pub const fn numbers(&self) -> MatrixNumbers {
        self.numbers
    }

    /// The rows of the left matrix and of the product.
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// The columns of the left matrix, which are the rows of the right one.
    pub const fn inner(&self) -> usize {
        self.inner
    }

    /// Whether both products have left matrices of the same numbers and sizes.
    pub fn has_left_of(&self, other: &Self) -> bool {
        (self.numbers, self.rows, self.inner) == (other.numbers, other.rows, other.inner)
    }

    /// The columns of the right matrix and of the product.
    pub const fn columns(&self) -> usize {
        self.columns
    }

    /// The primes; none modulo 2^32.
    pub const fn span(&self) -> Option<Span> {
        match self.numbers {
            MatrixNumbers::Residues(span) | MatrixNumbers::SignedBytes(span) => Some(span),
            MatrixNumbers::Bytes => None,
        }
    }

    /// The products that it consists of: one per prime, or the one modulo 2^32.
    pub const fn limbs(&self) -> usize {
        match self.span() {
            Some(span) => span.limbs(),
            None => 1,
        }
    }

    /// The words of the left matrix.
    pub const fn left_words(&self) -> usize {
        match self.numbers {
            MatrixNumbers::Residues(_) => self.limbs() * self.rows * self.inner,
            MatrixNumbers::SignedBytes(_) | MatrixNumbers::Bytes => (self.rows * self.inner).div_ceil(8),
        }
    }

    /// The words of the right matrix.
    pub const fn right_words(&self) -> usize {
        self.limbs() * self.inner * self.columns
    }

    /// The words of the result.
    pub const fn result_words(&self) -> usize {
        self.limbs() * self.rows * self.columns
    }

    /// Checks that a buffer of `found` words holds `words` of this product from word `at` on.
    ///
    /// # Errors
    /// [`Error::MatrixWords`] if it does not.
    pub fn check_words(&self, found: usize, at: usize, words: usize) -> Result<()> {
        match at.checked_add(words) {
            Some(needed) if needed <= found => Ok(()),
            needed => {
                let needed = needed.unwrap_or(usize::MAX);
                Err(Error::MatrixWords { found, needed, product: Box::new(*self) })
            }
        }
    }
}

/// Defines a matrix that was packed for one side of a product.
macro_rules! packed {
    ($(#[$attribute:meta])* $name:ident) => {
        $(#[$attribute])*
        ///
        /// Operations take it as a reference to its buffer, [`as_ref`](Self::as_ref).
        /// [`new`](Self::new), [`buf`](Self::buf) and [`try_map`](Self::try_map) are for back
        /// ends.
        #[derive(Clone, Copy, Debug)]
        pub struct $name<T> {
            product: MatrixProduct,
            buf: T,
        }

        impl<T> $name<T> {
            /// Wraps a buffer in the layout of the back end.
            pub const fn new(product: MatrixProduct, buf: T) -> Self {
                Self { product, buf }
            }

            /// The product for which it was packed.
            pub const fn product(&self) -> &MatrixProduct {
                &self.product
            }

            /// The buffer, in the layout of the back end.
            pub fn buf(self) -> T {
                self.buf
            }

            /// The same matrix with a reference to the buffer.
            pub const fn as_ref(&self) -> $name<&T> {
                $name { product: self.product, buf: &self.buf }
            }

            /// The same matrix with another buffer.
            pub fn map<U>(self, to: impl FnOnce(T) -> U) -> $name<U> {
                $name { product: self.product, buf: to(self.buf) }
            }

            /// The same matrix with another buffer.
            ///
            /// # Errors
            /// The error of `to`.
            pub fn try_map<U>(self, to: impl FnOnce(T) -> Result<U>) -> Result<$name<U>> {
                Ok($name { product: self.product, buf: to(self.buf)? })
            }
        }
    };
}

packed! {
    /// The left matrix of a product, in a layout that only the back end knows:
    /// [`MatrixOps::pack_left`] makes it, once for any number of products of this shape.
    LeftMatrix
}

packed! {
    /// The right matrix of a product, in a layout that only the back end knows:
    /// [`MatrixOps::pack_right`] makes it, once for any number of products of this shape.
    RightMatrix
}

impl<T> LeftMatrix<T> {
    /// The same matrix for another product, with which the ring
    /// [shares](MatrixOps::shares_left) it.
    ///
    /// # Errors
    /// [`Error::MatrixMismatch`] if it does not.
    pub fn of<R: MatrixOps>(self, ring: &R, product: &MatrixProduct) -> Result<Self> {
        if ring.shares_left(&self.product, product) {
            return Ok(Self { product: *product, ..self });
        }
        Err(Error::MatrixMismatch { left: Box::new(self.product), right: Box::new(*product) })
    }

    /// The product for which both matrices were packed.
    ///
    /// # Errors
    /// [`Error::MatrixMismatch`] if these are two.
    pub fn product_with<U>(&self, right: &RightMatrix<U>) -> Result<MatrixProduct> {
        if self.product == right.product {
            return Ok(self.product);
        }
        Err(Error::MatrixMismatch { left: Box::new(self.product), right: Box::new(right.product) })
    }
}

/// Products of matrices of exact integers.
///
/// The provided bodies are the definitions: they keep matrices as they are and multiply them on the
/// host by three loops. A device may override all of them together, with a layout of its own and
/// kernels that leave the same words. Residues are canonical, in operands and in results. Spans
/// exist in the ring.
///
/// ```
/// use he_core::backend::{Backend, Cpu, MatrixNumbers, MatrixOps, MatrixProduct};
/// use he_core::ring::{RingSpec, Span};
///
/// let cpu = Cpu::new();
/// let ring = cpu.prepare(&RingSpec::new(3, vec![97], vec![])?)?;
/// let product = MatrixProduct::new(MatrixNumbers::Residues(Span::chain(1)), 1, 2, 1)?;
/// let left = ring.pack_left(&product, &cpu.upload(&[96, 5])?, 0)?;
/// let right = ring.pack_right(&product, &cpu.upload(&[3, 20])?, 0)?;
/// let mut sum = cpu.upload(&[10])?;
/// ring.multiply_matrices(left.as_ref(), right.as_ref(), true, 0, &mut sum)?;
/// assert_eq!(sum[..], [(10 + 96 * 3 + 5 * 20) % 97]);
/// # Ok::<(), he_core::Error>(())
/// ```
pub trait MatrixOps: PreparedRing {
    /// Packs the left matrix, which lies in `src` from word `at` on.
    ///
    /// # Errors
    /// [`Error::MatrixWords`] if `src` is too short; device errors.
    fn pack_left(
        &self,
        product: &MatrixProduct,
        src: &Self::Buf,
        at: usize,
    ) -> Result<LeftMatrix<Self::Buf>> {
        let words = product.left_words();
        Ok(LeftMatrix::new(*product, copy_of(self, product, src, at, words)?))
    }

    /// Packs the right matrix, which lies in `src` from word `at` on.
    ///
    /// # Errors
    /// [`Error::MatrixWords`] if `src` is too short; device errors.
    fn pack_right(
        &self,
        product: &MatrixProduct,
        src: &Self::Buf,
        at: usize,
    ) -> Result<RightMatrix<Self::Buf>> {
        let words = product.right_words();
        Ok(RightMatrix::new(*product, copy_of(self, product, src, at, words)?))
    }

    /// Whether a left matrix that was packed for one product is that of another one as it is, such
    /// as one of other columns: [`LeftMatrix::of`] makes it so. The provided body says so of all
    /// that have the same left matrix, since it is kept as it is.
    fn shares_left(&self, packed: &MatrixProduct, other: &MatrixProduct) -> bool {
        packed.has_left_of(other)
    }

    /// C <- A B, or C + A B if `add`, for each prime or modulo 2^32; C lies in `c` from word `at`
    /// on, of which no other word changes.
    ///
    /// # Errors
    /// [`Error::MatrixMismatch`] if the matrices were packed for different products,
    /// [`Error::MatrixWords`] if `c` is too short; device errors.
    fn multiply_matrices(
        &self,
        left: LeftMatrix<&Self::Buf>,
        right: RightMatrix<&Self::Buf>,
        add: bool,
        at: usize,
        c: &mut Self::Buf,
    ) -> Result<()> {
        let product = left.product_with(&right)?;
        let (backend, words) = (self.backend(), product.result_words());
        product.check_words(backend.words(c), at, words)?;
        let a = SecretWords::from(backend.download(left.buf(), 0..product.left_words())?);
        let b = SecretWords::from(backend.download(right.buf(), 0..product.right_words())?);
        let mut sums =
            SecretWords::from(if add { backend.download(c, at..at + words)? } else { vec![0; words] });
        let MatrixProduct { rows, inner, columns, .. } = product;
        let byte = |row: usize, k: usize| (a[(row * inner + k) / 8] >> ((row * inner + k) % 8 * 8)) as u8;
        for limb in 0..product.limbs() {
            let q = product.span().map(|span| self.spec().modulus(span, limb));
            for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
                let sum = &mut sums[(limb * rows + row) * columns + column];
                if q.is_none() {
                    *sum &= u64::from(u32::MAX);
                }
                for k in 0..inner {
                    let y = b[(limb * inner + k) * columns + column];
                    *sum = match (product.numbers, q) {
                        (MatrixNumbers::Residues(_), Some(q)) => {
                            q.mul_add(a[(limb * rows + row) * inner + k], y, *sum)
                        }
                        (_, Some(q)) => q.mul_add(q.reduce_i64(i64::from(byte(row, k) as i8)), y, *sum),
                        (_, None) => u64::from(
                            u32::from(byte(row, k)).wrapping_mul(y as u32).wrapping_add(*sum as u32),
                        ),
                    };
                }
            }
        }
        let mut computed = backend.upload(&sums)?;
        backend.copy(&computed, 0, c, at, words)?;
        backend.wipe(&mut computed);
        Ok(())
    }
}

fn copy_of<R: MatrixOps>(
    ring: &R,
    product: &MatrixProduct,
    src: &R::Buf,
    at: usize,
    words: usize,
) -> Result<R::Buf> {
    let backend = ring.backend();
    product.check_words(backend.words(src), at, words)?;
    let mut copy = backend.scratch(words)?;
    backend.copy(src, at, &mut copy, 0, words)?;
    Ok(copy)
}
