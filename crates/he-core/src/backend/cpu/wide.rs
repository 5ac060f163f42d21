//! Numbers modulo powers of two on the CPU: blocks of coefficients, word by word, on several
//! threads.

use super::kernels::DigitRows;
use super::key_switch::PackedKey;
use super::{CpuBuf, CpuRing, for_pieces, for_rows, is_parallel};
use crate::arith::round_i64;
use crate::backend::{
    KeyBuf, WideConstants, WideEmbedding, WidePolyOps, WideRows, WideSwitchShape, decode_wide_slots,
    encode_wide_slots, for_wide_digits, round_wide_sums,
};
use crate::error::Result;
use crate::parallel::*;
use crate::ring::{Automorphism, Operand, Rows, Seed, Span, wide_uniform_row};
use num_complex::Complex64;
use std::sync::{Arc, PoisonError};
use zeroize::Zeroize;

/// The coefficients that are processed together, so that their carries and residues stay in the
/// first-level cache.
const BLOCK: usize = 64;

/// The words of neighbouring coefficients of one batch entry, the least significant word first.
struct Column<'a> {
    entry: usize,
    /// The first coefficient.
    start: usize,
    words: Vec<&'a mut [u64]>,
}

/// Calls f for each block of coefficients of the rows.
fn for_columns(dst: &mut [u64], rows: WideRows, n: usize, f: impl Fn(&mut Column<'_>) + Send + Sync) {
    let block = n.min(BLOCK);
    let dst = &mut dst[rows.at..][..rows.count() * n];
    let parallel = is_parallel(dst.len());
    let place = |i: usize| (i / (n / block), i % (n / block) * block);
    let mut columns: Vec<Column<'_>> = (0..rows.batch * (n / block))
        .map(|i| Column { entry: place(i).0, start: place(i).1, words: Vec::with_capacity(rows.words()) })
        .collect();
    for (r, row) in dst.chunks_exact_mut(n).enumerate() {
        let entry = &mut columns[r % rows.batch * (n / block)..][..n / block];
        row.chunks_exact_mut(block).zip(entry).for_each(|(words, column)| column.words.push(words));
    }
    if parallel {
        columns.par_iter_mut().with_min_len(4).for_each(f);
    } else {
        columns.iter_mut().for_each(f);
    }
}

/// The words w of `len` coefficients of a batch entry, from `start` on.
fn words_at<'a>(
    x: Operand<'a, CpuBuf>,
    n: usize,
    w: usize,
    entry: usize,
    start: usize,
    len: usize,
) -> &'a [u64] {
    let row = w * x.batch + if x.batch == 1 { 0 } else { entry };
    &x.buf[x.at + row * n + start..][..len]
}

/// Adds with carry, in place.
#[inline(always)]
fn add(x: u64, y: u64, carry: &mut u64) -> u64 {
    let sum = u128::from(x) + u128::from(y) + u128::from(*carry);
    *carry = (sum >> 64) as u64;
    sum as u64
}

impl Column<'_> {
    /// Clears the bits above the modulus.
    fn mask(&mut self, rows: WideRows) {
        if let Some(top) = self.words.last_mut() {
            top.iter_mut().for_each(|word| *word &= rows.top_mask());
        }
    }

    /// self <- self + (b ^ flip) + carry: a sum, or, with all bits flipped and a carry, a
    /// difference.
    fn add_assign(&mut self, rows: WideRows, n: usize, b: Operand<'_, CpuBuf>, flip: u64) {
        let mut carry = [flip & 1; BLOCK];
        for (w, words) in self.words.iter_mut().enumerate() {
            let b = words_at(b, n, w, self.entry, self.start, words.len());
            for ((a, &b), carry) in words.iter_mut().zip(b).zip(&mut carry) {
                *a = add(*a, b ^ flip, carry);
            }
        }
        self.mask(rows);
    }
}

impl CpuRing {
    /// The constants of a set of primes, computed on first use.
    fn wide_constants(&self, span: Span) -> Arc<WideConstants> {
        // The map stays valid whatever a panicking thread was doing.
        let mut map = self.wide.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(map.entry(span).or_insert_with(|| {
            // As many words as all primes of the ring determine, and a word for the sign.
            let words = (self.spec.log_qp() / 64.0) as usize + 2;
            let moduli: Vec<_> = self.spec.moduli_of(span).copied().collect();
            Arc::new(WideConstants::new(&moduli, words))
        }))
    }
}

impl WidePolyOps for CpuRing {
    fn wide_add_assign(&self, rows: WideRows, a: &mut CpuBuf, b: Operand<'_, CpuBuf>) -> Result<()> {
        let n = self.spec.n();
        for_columns(a, rows, n, |column| column.add_assign(rows, n, b, 0));
        Ok(())
    }

    fn wide_sub_assign(&self, rows: WideRows, a: &mut CpuBuf, b: Operand<'_, CpuBuf>) -> Result<()> {
        let n = self.spec.n();
        for_columns(a, rows, n, |column| column.add_assign(rows, n, b, u64::MAX));
        Ok(())
    }

    fn wide_neg_assign(&self, rows: WideRows, a: &mut CpuBuf) -> Result<()> {
        for_columns(a, rows, self.spec.n(), |column| {
            let mut carry = [1; BLOCK];
            for words in &mut column.words {
                for (a, carry) in words.iter_mut().zip(&mut carry) {
                    *a = add(!*a, 0, carry);
                }
            }
            column.mask(rows);
        });
        Ok(())
    }

    fn wide_scale_assign(&self, rows: WideRows, a: &mut CpuBuf, factor: &[u64]) -> Result<()> {
        let length = factor.iter().rposition(|&word| word != 0).map_or(0, |last| last + 1);
        let factor = &factor[..length];
        for_columns(a, rows, self.spec.n(), |column| {
            let mut product = vec![[0u64; BLOCK]; column.words.len()];
            for (shift, &c) in factor.iter().enumerate() {
                let mut carry = [0u64; BLOCK];
                for (words, product) in column.words.iter().zip(product.iter_mut().skip(shift)) {
                    for ((&x, sum), carry) in words.iter().zip(product).zip(&mut carry) {
                        let wide = u128::from(x) * u128::from(c) + u128::from(*sum) + u128::from(*carry);
                        *sum = wide as u64;
                        *carry = (wide >> 64) as u64;
                    }
                }
            }
            for (words, product) in column.words.iter_mut().zip(&product) {
                words.copy_from_slice(&product[..words.len()]);
            }
            column.mask(rows);
        });
        Ok(())
    }

    fn wide_shift_round(
        &self,
        from: WideRows,
        src: &CpuBuf,
        shift: u32,
        to: WideRows,
        dst: &mut CpuBuf,
    ) -> Result<()> {
        debug_assert!(to.bits + shift <= from.bits && to.batch == from.batch);
        let (n, src) = (self.spec.n(), Operand::at(src, from.batch, from.at));
        let (skip, bits) = ((shift / 64) as usize, shift % 64);
        for_columns(dst, to, n, |column| {
            let (entry, start) = (column.entry, column.start);
            let len = column.words[0].len();
            let word = |w: usize| (w < from.words()).then(|| words_at(src, n, w, entry, start, len));
            // floor(x / 2^s + 1/2) = floor(x / 2^s) + the highest bit cut off.
            let mut carry = [0u64; BLOCK];
            if let Some(last) = shift.checked_sub(1)
                && let Some(words) = word((last / 64) as usize)
            {
                carry.iter_mut().zip(words).for_each(|(carry, x)| *carry = x >> (last % 64) & 1);
            }
            for (w, out) in column.words.iter_mut().enumerate() {
                let (low, high) = (word(skip + w), word(skip + w + 1));
                for (k, (out, carry)) in out.iter_mut().zip(&mut carry).enumerate() {
                    let low = low.map_or(0, |words| words[k]);
                    // A shift by 64 in two steps.
                    let high = high.map_or(0, |words| words[k] << 1 << (63 - bits));
                    *out = add(low >> bits | high, 0, carry);
                }
            }
            column.mask(to);
        });
        Ok(())
    }

    fn wide_automorphism(
        &self,
        rows: WideRows,
        g: u64,
        src: Operand<'_, CpuBuf>,
        dst: &mut CpuBuf,
    ) -> Result<()> {
        let n = self.spec.n();
        let (mask, inverse) = (2 * n - 1, Automorphism::new(g, self.spec.log_n()).inverse_element() as usize);
        for_columns(dst, rows, n, |column| {
            let (entry, start) = (column.entry, column.start);
            let mut carry = [0u64; BLOCK];
            for (w, out) in column.words.iter_mut().enumerate() {
                let row = words_at(src, n, w, entry, 0, n);
                for (k, (out, carry)) in out.iter_mut().zip(&mut carry).enumerate() {
                    // Coefficient m comes from m / g, with the sign of X^N = -1.
                    let from = ((start + k) * inverse) & mask;
                    let flip = 0u64.wrapping_sub((from / n) as u64);
                    if w == 0 {
                        *carry = flip & 1;
                    }
                    *out = add(row[from & (n - 1)] ^ flip, 0, carry);
                }
            }
            column.mask(rows);
        });
        Ok(())
    }

    fn wide_residues(&self, wide: WideRows, src: &CpuBuf, rows: Rows, dst: &mut CpuBuf) -> Result<()> {
        let (n, src) = (self.spec.n(), Operand::at(src, wide.batch, wide.at));
        let constants = self.wide_constants(rows.span);
        let (top, mask, sign) = (wide.words() - 1, wide.top_mask(), (wide.bits - 1) % 64);
        for_rows(&mut dst[rows.at..][..rows.count() * n], n, rows.batch, |limb, entry, row| {
            let (q, radix) = (self.modulus(rows.span, limb), constants.radix(limb));
            let minus_power = q.neg(constants.power_of_two(limb, wide.bits));
            for (block, out) in row.chunks_mut(BLOCK).enumerate() {
                // At most 2^10 products below 2^114.
                let mut sums = [0u128; BLOCK];
                for (w, &power) in radix[..top].iter().enumerate() {
                    let words = words_at(src, n, w, entry, block * BLOCK, out.len());
                    for (sum, &x) in sums.iter_mut().zip(words) {
                        *sum += u128::from(x) * u128::from(power);
                    }
                }
                let words = words_at(src, n, top, entry, block * BLOCK, out.len());
                for ((out, sum), &x) in out.iter_mut().zip(sums).zip(words) {
                    let negative = 0u64.wrapping_sub(x >> sign & 1);
                    let sum = sum + u128::from(x & mask) * u128::from(radix[top]);
                    *out = q.reduce_u128(sum + u128::from(minus_power & negative));
                }
            }
        });
        Ok(())
    }

    fn wide_compose(&self, rows: Rows, src: &CpuBuf, wide: WideRows, dst: &mut CpuBuf) -> Result<()> {
        let (n, limbs) = (self.spec.n(), rows.span.limbs());
        let constants = self.wide_constants(rows.span);
        debug_assert!(wide.words() <= constants.words());
        for_columns(dst, wide, n, |column| {
            let len = column.words[0].len();
            let (mut y, mut sums) = (vec![0u64; BLOCK * limbs], [0f64; BLOCK]);
            for (i, q) in constants.moduli().iter().enumerate() {
                let at = rows.at + (i * rows.batch + column.entry) * n + column.start;
                let (w, reciprocal) = (constants.hat_inverse()[i], constants.reciprocal()[i]);
                for (k, (&x, sum)) in src[at..][..len].iter().zip(&mut sums).enumerate() {
                    let y_i = q.mul_shoup(x, w);
                    y[k * limbs + i] = y_i;
                    *sum += y_i as f64 * reciprocal;
                }
            }
            let multiples = sums.map(|sum| round_i64(sum) as u64);
            let mut carries = [0u128; BLOCK];
            for (w, out) in column.words.iter_mut().enumerate() {
                let (hat, minus) = (constants.hat(w), u128::from(constants.minus_product()[w]));
                let entries = out.iter_mut().zip(&mut carries).zip(&multiples).zip(y.chunks_exact(limbs));
                for (((out, carry), &v), y) in entries {
                    // At most 128 products below 2^114, one below 2^71, a carry below 2^58.
                    let mut sum = *carry + u128::from(v) * minus;
                    for (&y, &hat) in y.iter().zip(hat) {
                        sum += u128::from(y) * u128::from(hat);
                    }
                    *out = sum as u64;
                    *carry = sum >> 64;
                }
            }
            // The numbers may be secret.
            y.zeroize();
            column.mask(wide);
        });
        Ok(())
    }

    fn wide_sample_uniform(&self, wide: WideRows, seed: &Seed, index: u32, dst: &mut CpuBuf) -> Result<()> {
        let n = self.spec.n();
        let top = wide.words() - 1;
        for_rows(&mut dst[wide.at..][..wide.count() * n], n, wide.batch, |w, entry, row| {
            wide_uniform_row(seed, index, w, entry * n, row);
            if w == top {
                row.iter_mut().for_each(|word| *word &= wide.top_mask());
            }
        });
        Ok(())
    }

    // As in `RingOps`, the provided bodies are compiled with this crate.

    fn wide_key_switch(
        &self,
        shape: &WideSwitchShape,
        c: &CpuBuf,
        key: KeyBuf<&CpuBuf>,
        addend: [Option<&CpuBuf>; 2],
    ) -> Result<[CpuBuf; 2]> {
        let n = self.spec.n();
        let mut digits = Vec::new();
        for_wide_digits(self, shape, c, |_, values| {
            digits.push(values);
            Ok(())
        })?;
        let key = PackedKey::new(&shape.key(), n, key);
        let mut sums = [(); 2].map(|()| self.scratch(shape.span.limbs() * shape.batch * n));
        for_pieces(&mut sums, n, |row, out| {
            let limb = row / shape.batch;
            let rows: Vec<_> = digits
                .iter()
                .enumerate()
                .map(|(j, digit)| DigitRows { digit: &digit[row * n..][..n], key: key.rows(j, limb) })
                .collect();
            self.cpu.kernels.key_product(self.modulus(shape.span, limb), &rows, out);
        });
        round_wide_sums(self, shape, sums, addend)
    }

    fn wide_encode_slots(
        &self,
        wide: WideRows,
        vectors: &[&[Complex64]],
        to: WideEmbedding<'_>,
    ) -> Result<(CpuBuf, u32)> {
        encode_wide_slots(self, wide, vectors, to)
    }

    fn wide_decode_slots(
        &self,
        wide: WideRows,
        src: &CpuBuf,
        from: WideEmbedding<'_>,
    ) -> Result<Vec<Vec<Complex64>>> {
        decode_wide_slots(self, wide, src, from)
    }
}
