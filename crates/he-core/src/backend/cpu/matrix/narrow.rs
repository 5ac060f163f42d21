//! Products of wide residues by few columns, at the rate at which memory is read: rows of the left
//! matrix lie as they are, and so do columns of the right one, and products of 128 bits are added
//! up.

use crate::arith::Modulus;
use crate::backend::{MatrixNumbers, MatrixProduct};
use crate::parallel::*;

/// The most columns for which tiles, of as many columns as a register has words and more, would
/// take longer.
const COLUMNS: usize = 8;

/// Residues of fewer bits take half of the memory in tiles.
const BITS: u32 = 33;

/// The sums that go on side by side.
const SUMS: usize = 4;

/// Fewer products stay on the calling thread.
const PARALLEL_PRODUCTS: usize = 1 << 18;

/// Whether a product of these moduli is one of wide residues by few columns.
pub(super) fn is_narrow<'a>(product: &MatrixProduct, moduli: impl IntoIterator<Item = &'a Modulus>) -> bool {
    matches!(product.numbers(), MatrixNumbers::Residues(_))
        && (1..=COLUMNS).contains(&product.columns())
        && moduli.into_iter().all(|q| q.bits() >= BITS)
}

/// The right matrix of a limb, column by column.
pub(super) fn pack_right(columns: usize, src: &[u64], out: &mut [u64]) {
    let inner = src.len() / columns;
    for (i, &word) in src.iter().enumerate() {
        out[i % columns * inner + i / columns] = word;
    }
}

/// C <- A B, or C + A B if `add`, for one limb.
pub(super) fn multiply(q: &Modulus, inner: usize, a: &[u64], b: &[u64], add: bool, c: &mut [u64]) {
    if !add {
        c.fill(0);
    }
    if inner == 0 {
        return;
    }
    let columns = b.len() / inner;
    let rows = |(a, c): (&[u64], &mut [u64])| {
        for (row, c) in a.chunks_exact(inner).zip(c.chunks_exact_mut(columns)) {
            for (column, c) in b.chunks_exact(inner).zip(c) {
                *c = q.add(*c, dot(q, row, column));
            }
        }
    };
    let share = (c.len() / columns).div_ceil(4 * threads()).max(1);
    if threads() > 1 && c.len().saturating_mul(inner) >= PARALLEL_PRODUCTS {
        a.par_chunks(share * inner).zip(c.par_chunks_mut(share * columns)).for_each(rows);
    } else {
        rows((a, c));
    }
}

/// The sum of the products of two rows of residues. Constant time.
fn dot(q: &Modulus, x: &[u64], y: &[u64]) -> u64 {
    // So many products, and a residue, are below 2^128.
    let most = (1usize << (127 - 2 * q.bits()).min(24)) / SUMS * SUMS;
    let parts = x.chunks(most).zip(y.chunks(most));
    parts.fold(0, |sum, (x, y)| q.reduce_u128(u128::from(sum) + wide_dot(x, y)))
}

/// The sum of the products of two rows, which is below 2^128.
fn wide_dot(x: &[u64], y: &[u64]) -> u128 {
    let product = |x: u64, y: u64| u128::from(x) * u128::from(y);
    let (xs, x_rest) = x.as_chunks::<SUMS>();
    let (ys, y_rest) = y.as_chunks::<SUMS>();
    let mut sums = [0u128; SUMS];
    for (x, y) in xs.iter().zip(ys) {
        for (i, sum) in sums.iter_mut().enumerate() {
            *sum = sum.wrapping_add(product(x[i], y[i]));
        }
    }
    let rest = x_rest.iter().zip(y_rest).map(|(&x, &y)| product(x, y));
    rest.chain(sums).fold(0, u128::wrapping_add)
}
