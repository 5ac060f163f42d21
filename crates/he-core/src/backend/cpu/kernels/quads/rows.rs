//! Word-by-word loops. The end of a row that does not fill four lanes goes to the portable loops.

use super::field::Field;
use super::{DigitRows, portable};
use crate::arith::{Modulus, ShoupFactor};
use crate::lanes::Lanes;

/// The quads of a row, and its end.
macro_rules! quads {
    ($row:expr) => {
        $row.as_chunks::<4>()
    };
    (mut $row:expr) => {
        $row.as_chunks_mut::<4>()
    };
}

#[inline(always)]
pub(super) fn mul<L: Lanes>(l: L, q: &Modulus, a: &mut [u64], b: &[u64]) {
    let f = Field::new(l, q);
    let ((a, a_end), (b, b_end)) = (quads!(mut a), quads!(b));
    for (a, b) in a.iter_mut().zip(b) {
        l.store_words(f.lift(f.times(l.load_words(a), l.load_words(b))), a);
    }
    portable::mul(q, a_end, b_end);
}

#[inline(always)]
pub(super) fn mul_add<L: Lanes>(l: L, q: &Modulus, acc: &mut [u64], x: &[u64], y: &[u64]) {
    let f = Field::new(l, q);
    let ((acc, acc_end), (x, x_end), (y, y_end)) = (quads!(mut acc), quads!(x), quads!(y));
    for ((acc, x), y) in acc.iter_mut().zip(x).zip(y) {
        let product = f.lift(f.times(l.load_words(x), l.load_words(y)));
        l.store_words(f.sum(product, l.load_words(acc)), acc);
    }
    portable::mul_add(q, acc_end, x_end, y_end);
}

#[inline(always)]
pub(super) fn scale<L: Lanes>(l: L, q: &Modulus, a: &mut [u64], w: ShoupFactor) {
    let (f, factor) = (Field::new(l, q), l.splat(q.center(w.value) as f64));
    let (a, end) = quads!(mut a);
    for a in a {
        l.store_words(f.lift(f.times(l.load_words(a), factor)), a);
    }
    portable::scale(q, end, w);
}

#[inline(always)]
pub(super) fn scale_add<L: Lanes>(l: L, q: &Modulus, acc: &mut [u64], x: &[u64], w: ShoupFactor) {
    let (f, factor) = (Field::new(l, q), l.splat(q.center(w.value) as f64));
    let ((acc, acc_end), (x, x_end)) = (quads!(mut acc), quads!(x));
    for (acc, x) in acc.iter_mut().zip(x) {
        let product = f.lift(f.times(l.load_words(x), factor));
        l.store_words(f.sum(product, l.load_words(acc)), acc);
    }
    portable::scale_add(q, acc_end, x_end, w);
}

/// a <- (a - b) w.
#[inline(always)]
pub(super) fn sub_scale<L: Lanes>(l: L, q: &Modulus, a: &mut [u64], b: &[u64], w: ShoupFactor) {
    let (f, factor) = (Field::new(l, q), l.splat(q.center(w.value) as f64));
    let ((a, a_end), (b, b_end)) = (quads!(mut a), quads!(b));
    for (a, b) in a.iter_mut().zip(b) {
        let difference = l.sub(l.load_words(a), l.load_words(b));
        l.store_words(f.lift(f.times(difference, factor)), a);
    }
    portable::sub_scale(q, a_end, b_end, w);
}

/// (a0 b0, a0 b1 + a1 b0, a1 b1).
#[inline(always)]
pub(super) fn tensor<L: Lanes>(l: L, q: &Modulus, a: [&[u64]; 2], b: [&[u64]; 2], d: [&mut [u64]; 3]) {
    let f = Field::new(l, q);
    let [a0, a1] = a.map(|a| quads!(a));
    let [b0, b1] = b.map(|b| quads!(b));
    let [d0, d1, d2] = d.map(|d| quads!(mut d));
    let inputs = a0.0.iter().zip(a1.0).zip(b0.0.iter().zip(b1.0));
    for (((d0, d1), d2), ((a0, a1), (b0, b1))) in d0.0.iter_mut().zip(d1.0).zip(d2.0).zip(inputs) {
        let (a0, a1) = (l.load_words(a0), l.load_words(a1));
        let (b0, b1) = (l.load_words(b0), l.load_words(b1));
        l.store_words(f.lift(f.times(a0, b0)), d0);
        l.store_words(f.canonical(l.add(f.times(a0, b1), f.times(a1, b0))), d1);
        l.store_words(f.lift(f.times(a1, b1)), d2);
    }
    portable::tensor(q, [a0.1, a1.1], [b0.1, b1.1], [d0.1, d1.1, d2.1]);
}

/// The number of products, of at most 7/8 q each, that are added to a reduced sum, which stays at
/// most 5 q.
const TERMS: usize = 5;

/// The quads whose sums are in registers.
const GROUP: usize = 2;

/// out_c <- sum_j digit_j key_j,c for both parts c, overwriting.
#[inline(always)]
pub(super) fn key_product<L: Lanes>(l: L, q: &Modulus, digits: &[DigitRows<'_>], out: [&mut [u64]; 2]) {
    let f = Field::new(l, q);
    let [(out0, _), (out1, _)] = out.map(|out| quads!(mut out));
    let ((groups0, rest0), (groups1, rest1)) = (out0.as_chunks_mut::<GROUP>(), out1.as_chunks_mut());
    let rest = groups0.len() * GROUP;
    for (at, out) in groups0.iter_mut().zip(groups1).enumerate() {
        key_product_group(f, digits, at * GROUP, out);
    }
    for (at, (out0, out1)) in rest0.iter_mut().zip(rest1).enumerate() {
        key_product_group(f, digits, rest + at, (std::array::from_mut(out0), std::array::from_mut(out1)));
    }
}

/// G quads from quad `at` on.
#[inline(always)]
fn key_product_group<L: Lanes, const G: usize>(
    f: Field<L>,
    digits: &[DigitRows<'_>],
    at: usize,
    out: (&mut [[u64; 4]; G], &mut [[u64; 4]; G]),
) {
    let l = f.l;
    let (mut sums0, mut sums1) = ([l.splat(0.0); G], [l.splat(0.0); G]);
    for digits in digits.chunks(TERMS) {
        for rows in digits {
            let digit = &quads!(rows.digit).0[at..at + G];
            let [key0, key1] = rows.key.map(|key| &quads!(key.within_block(4 * at, 4 * G)).0[..G]);
            for i in 0..G {
                let x = l.load_words(&digit[i]);
                sums0[i] = l.add(sums0[i], f.times(x, l.load_words(&key0[i])));
                sums1[i] = l.add(sums1[i], f.times(x, l.load_words(&key1[i])));
            }
        }
        for i in 0..G {
            sums0[i] = f.reduce(sums0[i]);
            sums1[i] = f.reduce(sums1[i]);
        }
    }
    for i in 0..G {
        l.store_words(f.lift(sums0[i]), &mut out.0[i]);
        l.store_words(f.lift(sums1[i]), &mut out.1[i]);
    }
}
