//! Products of matrices as sums of products of integers.

use super::NaiveRing;
use crate::backend::{LeftMatrix, MatrixNumbers, MatrixOps, PreparedRing, RightMatrix};
use crate::error::Result;

impl MatrixOps for NaiveRing {
    fn multiply_matrices(
        &self,
        left: LeftMatrix<&Vec<u64>>,
        right: RightMatrix<&Vec<u64>>,
        add: bool,
        at: usize,
        c: &mut Vec<u64>,
    ) -> Result<()> {
        let product = left.product_with(&right)?;
        product.check_words(c.len(), at, product.result_words())?;
        let (a, b) = (left.buf(), right.buf());
        let (rows, inner, columns) = (product.rows(), product.inner(), product.columns());
        let byte = |i: usize| a[i / 8].to_le_bytes()[i % 8];
        for i in 0..product.result_words() {
            let (limb, row, column) = (i / columns / rows, i / columns % rows, i % columns);
            let prime = |span| self.spec().modulus(span, limb).value();
            let q = i128::from(product.span().map_or(1 << 32, prime));
            let mut sum = if add { i128::from(c[at + i]) } else { 0 };
            for k in 0..inner {
                let x = match product.numbers() {
                    MatrixNumbers::Residues(_) => i128::from(a[(limb * rows + row) * inner + k]),
                    MatrixNumbers::SignedBytes(_) => i128::from(byte(row * inner + k).cast_signed()),
                    MatrixNumbers::Bytes => i128::from(byte(row * inner + k)),
                };
                sum = (sum + x * i128::from(b[(limb * inner + k) * columns + column])) % q;
            }
            c[at + i] = sum.rem_euclid(q) as u64;
        }
        Ok(())
    }
}
