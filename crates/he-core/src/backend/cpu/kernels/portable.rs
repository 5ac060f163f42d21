//! The loops in scalar code for any processor: the reference of the others.

use super::{CHUNK, DigitRows, KeyRow, NttRoots, Permutation, Target};
use crate::arith::{Modulus, ShoupFactor, mul_wide, round_i64};
use crate::ring::BaseConversion;

pub(super) fn ntt(table: &NttRoots, a: &mut [u64]) {
    table.table().forward(a);
}

pub(super) fn ntt_signed(table: &NttRoots, coefficients: &[u64], _most: u64, out: &mut [u64]) {
    out.copy_from_slice(coefficients);
    reduce_signed(table.modulus(), out);
    ntt(table, out);
}

pub(super) fn intt(table: &NttRoots, a: &mut [u64]) {
    table.table().inverse(a);
}

#[inline]
pub(super) fn add(q: &Modulus, a: &mut [u64], b: &[u64]) {
    for (a, &b) in a.iter_mut().zip(b) {
        *a = q.add(*a, b);
    }
}

#[inline]
pub(super) fn sub(q: &Modulus, a: &mut [u64], b: &[u64]) {
    for (a, &b) in a.iter_mut().zip(b) {
        *a = q.sub(*a, b);
    }
}

#[inline]
pub(super) fn neg(q: &Modulus, a: &mut [u64]) {
    for a in a {
        *a = q.neg(*a);
    }
}

#[inline]
pub(super) fn mul(q: &Modulus, a: &mut [u64], b: &[u64]) {
    for (a, &b) in a.iter_mut().zip(b) {
        *a = q.mul(*a, b);
    }
}

#[inline]
pub(super) fn mul_add(q: &Modulus, acc: &mut [u64], x: &[u64], y: &[u64]) {
    for ((acc, &x), &y) in acc.iter_mut().zip(x).zip(y) {
        *acc = q.mul_add(x, y, *acc);
    }
}

#[inline]
pub(super) fn scale(q: &Modulus, a: &mut [u64], w: ShoupFactor) {
    for a in a {
        *a = q.mul_shoup(*a, w);
    }
}

#[inline]
pub(super) fn scale_add(q: &Modulus, acc: &mut [u64], x: &[u64], w: ShoupFactor) {
    for (acc, &x) in acc.iter_mut().zip(x) {
        *acc = q.add(*acc, q.mul_shoup(x, w));
    }
}

/// a <- (a - b) w.
#[inline]
pub(super) fn sub_scale(q: &Modulus, a: &mut [u64], b: &[u64], w: ShoupFactor) {
    for (a, &b) in a.iter_mut().zip(b) {
        *a = q.mul_shoup(*a + q.value() - b, w);
    }
}

#[inline]
pub(super) fn add_scalar(q: &Modulus, a: &mut [u64], c: u64) {
    for a in a {
        *a = q.add(*a, c);
    }
}

#[inline]
pub(super) fn reduce_signed(q: &Modulus, a: &mut [u64]) {
    for a in a {
        *a = q.reduce_i64(*a as i64);
    }
}

/// (a0 b0, a0 b1 + a1 b0, a1 b1).
#[inline]
pub(super) fn tensor(q: &Modulus, a: [&[u64]; 2], b: [&[u64]; 2], d: [&mut [u64]; 3]) {
    let [d0, d1, d2] = d;
    let inputs = a[0].iter().zip(a[1]).zip(b[0].iter().zip(b[1]));
    for (((d0, d1), d2), ((&a0, &a1), (&b0, &b1))) in d0.iter_mut().zip(d1).zip(d2).zip(inputs) {
        *d0 = q.mul(a0, b0);
        *d1 = q.reduce_u128(mul_wide(a0, b1) + mul_wide(a1, b0));
        *d2 = q.mul(a1, b1);
    }
}

/// out_c <- sum_j digit_j key_j,c for both parts c, overwriting; at most 64 digits.
#[inline]
pub(super) fn key_product(q: &Modulus, digits: &[DigitRows<'_>], out: [&mut [u64]; 2]) {
    let mut sums = [[0u128; KeyRow::BLOCK]; 2];
    let [out0, out1] = out.map(|out| out.chunks_mut(KeyRow::BLOCK));
    for (block, (out0, out1)) in out0.zip(out1).enumerate() {
        let (at, len) = (block * KeyRow::BLOCK, out0.len());
        sums.iter_mut().for_each(|sum| sum.fill(0));
        let [sum0, sum1] = &mut sums;
        for rows in digits {
            let [key0, key1] = rows.key.map(|key| key.within_block(at, len));
            for (((s0, s1), &x), (&k0, &k1)) in
                sum0.iter_mut().zip(sum1.iter_mut()).zip(&rows.digit[at..at + len]).zip(key0.iter().zip(key1))
            {
                *s0 += mul_wide(x, k0);
                *s1 += mul_wide(x, k1);
            }
        }
        for ((out0, out1), (s0, s1)) in out0.iter_mut().zip(out1).zip(sum0.iter().zip(sum1.iter())) {
            *out0 = q.reduce_u128(*s0);
            *out1 = q.reduce_u128(*s1);
        }
    }
}

#[inline]
pub(super) fn lift(conversion: &BaseConversion, rows: &[&[u64]], y: &mut [u64], overflow: &mut [u64]) {
    let chunk = overflow.len().min(CHUNK);
    let chunks = y.chunks_exact_mut(rows.len() * chunk).zip(overflow.chunks_exact_mut(chunk));
    for (i, (y, overflow)) in chunks.enumerate() {
        conversion.decompose(|row| &rows[row][i * chunk..][..chunk], y, overflow);
    }
}

#[inline]
pub(super) fn center(conversion: &BaseConversion, x: &[u64], out: &mut [u64]) {
    let (d, reciprocal) = (conversion.from()[0].value(), conversion.reciprocal()[0]);
    for (out, &x) in out.iter_mut().zip(x) {
        let v = round_i64(x as f64 * reciprocal) as u64;
        *out = x.wrapping_sub(d & v.wrapping_neg());
    }
}

#[inline]
pub(super) fn recompose(
    conversion: &BaseConversion,
    y: &[u64],
    overflow: &[u64],
    targets: &mut [Target<'_>],
) {
    let chunk = overflow.len().min(CHUNK);
    let chunks = y.chunks_exact(conversion.from().len() * chunk).zip(overflow.chunks_exact(chunk));
    for (i, (y, overflow)) in chunks.enumerate() {
        for (j, row) in targets.iter_mut() {
            conversion.recompose(*j, y, overflow, &mut row[i * chunk..][..chunk]);
        }
    }
}

#[inline]
pub(super) fn permute(permutation: &Permutation, at: usize, src: &[u64], out: &mut [u64]) {
    let mask = src.len() - 1;
    match permutation {
        Permutation::Words(words) => {
            for (out, &i) in out.iter_mut().zip(&words[at..]) {
                *out = src[i as usize & mask];
            }
        }
        Permutation::Groups { first, lanes } => {
            let ((out, _), (src, _)) = (out.as_chunks_mut::<8>(), src.as_chunks::<8>());
            for (out, &first) in out.iter_mut().zip(&first[at / 8..]) {
                let (group, lanes) = (&src[(first as usize & mask) / 8], &lanes[first as usize % 8]);
                for (out, &lane) in out.iter_mut().zip(lanes) {
                    *out = group[lane as usize % 8];
                }
            }
        }
    }
}
