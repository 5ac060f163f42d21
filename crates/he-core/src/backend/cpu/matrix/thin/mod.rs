//! Products of bytes by few columns of words modulo 2^32, at the rate at which memory is read: rows
//! of the left matrix lie as they are, a line of memory after the other, and are read once.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

use crate::backend::cpu::kernels::Kernels;
use crate::backend::{MatrixNumbers, MatrixProduct};
use crate::parallel::*;

/// The rows that are multiplied at once.
const ROWS: usize = 8;

/// The most columns for which reading takes longer than multiplying, or nearly so.
const COLUMNS: usize = 16;

/// The bytes of a row that are multiplied before those of the next rows: the digits of so many
/// words stay in the second-level cache.
const STRIP: usize = 1 << 15;

/// Fewer products stay on the calling thread.
const PARALLEL_PRODUCTS: usize = 1 << 18;

/// The multiplier.
#[derive(Clone, Copy, Debug)]
enum Unit {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// How a product of few columns is laid out and multiplied.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thin {
    unit: Unit,
    inner: usize,
    columns: usize,
    /// The bytes of a row, a multiple of 64.
    stride: usize,
}

impl Thin {
    /// The layout of a product, if it is one of bytes by few columns.
    pub(super) fn new(kernels: Kernels, product: &MatrixProduct) -> Option<Self> {
        let (inner, columns) = (product.inner(), product.columns());
        let is_thin = product.numbers() == MatrixNumbers::Bytes && (1..=COLUMNS).contains(&columns);
        let unit = match kernels {
            #[cfg(target_arch = "x86_64")]
            Kernels::Avx512(_) if super::avx512::has_bytes() => Unit::Avx512,
            #[cfg(target_arch = "x86_64")]
            Kernels::Avx2(_) => Unit::Avx2,
            #[cfg(target_arch = "x86_64")]
            Kernels::Avx512(_) if is_x86_feature_detected!("avx2") => Unit::Avx2,
            _ => Unit::Portable,
        };
        is_thin.then(|| Self { unit, inner, columns, stride: inner.next_multiple_of(64) })
    }

    /// The words of a packed row.
    fn row_words(&self) -> usize {
        self.stride / 8
    }

    /// The words of a packed column: four bytes for each number.
    fn column_words(&self) -> usize {
        self.stride / 2
    }

    /// The words of the packed left matrix.
    pub(super) fn left_words(&self, rows: usize) -> usize {
        rows * self.row_words()
    }

    /// The words of the packed right matrix.
    pub(super) fn right_words(&self) -> usize {
        self.columns * self.column_words()
    }

    /// Packs the rows of the left matrix, whose bytes lie without gaps.
    pub(super) fn pack_left(&self, src: &[u64], out: &mut [u64]) {
        if self.inner == 0 {
            return;
        }
        let (inner, rows) = (self.inner, out.chunks_exact_mut(self.row_words()));
        if inner.is_multiple_of(8) {
            for (out, row) in rows.zip(src.chunks_exact(inner / 8)) {
                out[..inner / 8].copy_from_slice(row);
                out[inner / 8..].fill(0);
            }
            return;
        }
        let byte = |i: usize| src[i / 8] >> (i % 8 * 8) & 0xff;
        for (r, out) in rows.enumerate() {
            out.fill(0);
            (0..inner).for_each(|k| out[k / 8] |= byte(r * inner + k) << (k % 8 * 8));
        }
    }

    /// Packs the columns of the right matrix.
    pub(super) fn pack_right(&self, src: &[u64], out: &mut [u64]) {
        if self.inner == 0 {
            return;
        }
        for (c, out) in out.chunks_exact_mut(self.column_words()).enumerate() {
            out.fill(0);
            for k in 0..self.inner {
                self.put(src[k * self.columns + c] as u32, k, out);
            }
        }
    }

    /// Puts number k of a column where the unit reads it.
    fn put(&self, word: u32, k: usize, out: &mut [u64]) {
        match self.unit {
            Unit::Portable => out[k / 2] |= u64::from(word) << (k % 2 * 32),
            #[cfg(target_arch = "x86_64")]
            Unit::Avx2 => {
                let plane = self.stride / 4;
                // Signed digits: the upper one takes what the sign of the lower one subtracts.
                let digits = [word, word.wrapping_sub(word as i16 as u32) >> 16];
                for (p, digit) in digits.into_iter().enumerate() {
                    out[p * plane + k / 4] |= u64::from(digit & 0xffff) << (k % 4 * 16);
                }
            }
            #[cfg(target_arch = "x86_64")]
            Unit::Avx512 => {
                let (plane, mut rest) = (self.stride / 8, word);
                for p in 0..avx512::PLANES {
                    out[p * plane + k / 8] |= u64::from(rest & 0xff) << (k % 8 * 8);
                    rest = ((rest as i32).wrapping_sub(i32::from(rest as i8)) >> 8) as u32;
                }
            }
        }
    }

    /// C <- A B, or C + A B if `add`.
    pub(super) fn multiply(&self, left: &[u64], right: &[u64], add: bool, c: &mut [u64]) {
        if add {
            c.iter_mut().for_each(|word| *word &= u64::from(u32::MAX));
        } else {
            c.fill(0);
        }
        if self.inner == 0 {
            return;
        }
        let rows = c.len() / self.columns;
        let share = rows.div_ceil(4 * threads()).next_multiple_of(ROWS);
        let multiply = |(i, c): (usize, &mut [u64])| {
            self.multiply_rows(&left[i * share * self.row_words()..], right, c);
        };
        if threads() > 1 && rows.saturating_mul(self.columns).saturating_mul(self.inner) >= PARALLEL_PRODUCTS
        {
            c.par_chunks_mut(share * self.columns).enumerate().for_each(multiply);
        } else {
            multiply((0, c));
        }
    }

    /// Adds the products of the rows that `left` begins with to all of `c`.
    fn multiply_rows(&self, left: &[u64], right: &[u64], c: &mut [u64]) {
        for start in (0..self.stride).step_by(STRIP) {
            let bytes = start..(start + STRIP).min(self.stride);
            for (group, c) in c.chunks_mut(ROWS * self.columns).enumerate() {
                let height = c.len() / self.columns;
                let row = |r: usize| (group * ROWS + r.min(height - 1)) * self.row_words();
                let rows: [usize; ROWS] = std::array::from_fn(row);
                let rows = rows.map(|at| &left[at + bytes.start / 8..at + bytes.end / 8]);
                for (column, packed) in right.chunks_exact(self.column_words()).enumerate() {
                    let sums = self.sums(rows, packed, bytes.clone());
                    for (c, sum) in c.iter_mut().skip(column).step_by(self.columns).zip(sums) {
                        *c = u64::from((*c as u32).wrapping_add(sum));
                    }
                }
            }
        }
    }

    fn sums(&self, rows: [&[u64]; ROWS], column: &[u64], bytes: std::ops::Range<usize>) -> [u32; ROWS] {
        let (start, end) = (bytes.start, bytes.end);
        match self.unit {
            Unit::Portable => portable::sums(rows, &column[start / 2..end / 2]),
            #[cfg(target_arch = "x86_64")]
            Unit::Avx2 => {
                let plane = |p: usize| &column[p * self.stride / 4..][start / 4..end / 4];
                avx2::sums(rows, std::array::from_fn(plane))
            }
            #[cfg(target_arch = "x86_64")]
            Unit::Avx512 => {
                let plane = |p: usize| &column[p * self.stride / 8..][start / 8..end / 8];
                avx512::sums(rows, std::array::from_fn(plane))
            }
        }
    }
}
