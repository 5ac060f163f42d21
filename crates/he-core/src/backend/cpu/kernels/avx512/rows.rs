//! Word-by-word loops. The end of a row that does not fill a register goes to the portable loops.

use super::field::{
    Barrett, Field, Narrow, NarrowBarrett, NarrowSum, ShortSum, Sum, Weights, Wide, WideBarrett, WideSum,
    is_narrow,
};
use super::words::{Avx512, Line, Words, with_avx512};
use super::{DigitRows, portable};
use crate::arith::{Modulus, ShoupFactor};

/// a <- op(a); returns the end of the row.
#[inline(always)]
fn map(simd: Avx512, a: &mut [u64], op: impl Fn(Words) -> Words) -> &mut [u64] {
    let (lines, tail) = a.as_chunks_mut();
    for a in lines {
        op(simd.load(a)).store(a);
    }
    tail
}

/// a <- op(a, b); returns the ends of the rows.
#[inline(always)]
fn map2<'a, 'b>(
    simd: Avx512,
    a: &'a mut [u64],
    b: &'b [u64],
    op: impl Fn(Words, Words) -> Words,
) -> (&'a mut [u64], &'b [u64]) {
    let ((lines, tail), (b_lines, b_tail)) = (a.as_chunks_mut(), b.as_chunks());
    for (a, b) in lines.iter_mut().zip(b_lines) {
        op(simd.load(a), simd.load(b)).store(a);
    }
    (tail, b_tail)
}

with_avx512! {
    pub(in super::super) fn add(simd: Avx512, q: &Modulus, a: &mut [u64], b: &[u64]) {
        let m = simd.splat(q.value());
        let (a, b) = map2(simd, a, b, |a, b| (a + b).less(m));
        portable::add(q, a, b);
    }

    pub(in super::super) fn sub(simd: Avx512, q: &Modulus, a: &mut [u64], b: &[u64]) {
        let m = simd.splat(q.value());
        // As an unsigned word, a negative difference is the larger one.
        let (a, b) = map2(simd, a, b, |a, b| (a - b).min(a - b + m));
        portable::sub(q, a, b);
    }

    pub(in super::super) fn neg(simd: Avx512, q: &Modulus, a: &mut [u64]) {
        let m = simd.splat(q.value());
        let a = map(simd, a, |a| (m - a).less(m));
        portable::neg(q, a);
    }

    pub(in super::super) fn add_scalar(simd: Avx512, q: &Modulus, a: &mut [u64], c: u64) {
        let (m, term) = (simd.splat(q.value()), simd.splat(c));
        let a = map(simd, a, |a| (a + term).less(m));
        portable::add_scalar(q, a, c);
    }

    pub(in super::super) fn reduce_signed(simd: Avx512, q: &Modulus, a: &mut [u64]) {
        let (weights, m) = (Weights::new(simd, q), simd.splat(q.value()));
        let a = map(simd, a, |a| {
            // The magnitude is the lesser of a and -a.
            let residue = weights.reduce(a.min(simd.zero() - a));
            residue.or_if_negative(a, (m - residue).less(m))
        });
        portable::reduce_signed(q, a);
    }

    pub(in super::super) fn mul(simd: Avx512, q: &Modulus, a: &mut [u64], b: &[u64]) {
        if is_narrow(q) { mul_by::<NarrowBarrett>(simd, q, a, b) } else { mul_by::<WideBarrett>(simd, q, a, b) }
    }

    pub(in super::super) fn mul_add(simd: Avx512, q: &Modulus, acc: &mut [u64], x: &[u64], y: &[u64]) {
        if is_narrow(q) {
            mul_add_by::<NarrowBarrett>(simd, q, acc, x, y);
        } else {
            mul_add_by::<WideBarrett>(simd, q, acc, x, y);
        }
    }

    pub(in super::super) fn scale(simd: Avx512, q: &Modulus, a: &mut [u64], w: ShoupFactor) {
        if is_narrow(q) { scale_in::<Narrow>(simd, q, a, w) } else { scale_in::<Wide>(simd, q, a, w) }
    }

    pub(in super::super) fn scale_add(simd: Avx512, q: &Modulus, acc: &mut [u64], x: &[u64], w: ShoupFactor) {
        if is_narrow(q) { scale_add_in::<Narrow>(simd, q, acc, x, w) } else { scale_add_in::<Wide>(simd, q, acc, x, w) }
    }

    pub(in super::super) fn sub_scale(simd: Avx512, q: &Modulus, a: &mut [u64], b: &[u64], w: ShoupFactor) {
        if is_narrow(q) { sub_scale_in::<Narrow>(simd, q, a, b, w) } else { sub_scale_in::<Wide>(simd, q, a, b, w) }
    }

    pub(in super::super) fn tensor(
        simd: Avx512,
        q: &Modulus,
        a: [&[u64]; 2],
        b: [&[u64]; 2],
        d: [&mut [u64]; 3],
    ) {
        if is_narrow(q) { tensor_by::<NarrowBarrett>(simd, q, a, b, d) } else { tensor_by::<WideBarrett>(simd, q, a, b, d) }
    }

    pub(in super::super) fn key_product(
        simd: Avx512,
        q: &Modulus,
        digits: &[DigitRows<'_>],
        out: [&mut [u64]; 2],
    ) {
        if !out[0].len().is_multiple_of(8) {
            portable::key_product(q, digits, out);
        } else if is_narrow(q) && digits.len() <= ShortSum::MOST {
            key_product_by::<ShortSum, 4>(simd, q, digits, out);
        } else if is_narrow(q) {
            key_product_by::<NarrowSum, 4>(simd, q, digits, out);
        } else {
            key_product_by::<WideSum, 2>(simd, q, digits, out);
        }
    }

    fn mul_by<B: Barrett>(simd: Avx512, q: &Modulus, a: &mut [u64], b: &[u64]) {
        let field = B::new(simd, q);
        let (a, b) = map2(simd, a, b, |a, b| field.mul(a, b));
        portable::mul(q, a, b);
    }

    fn mul_add_by<B: Barrett>(simd: Avx512, q: &Modulus, acc: &mut [u64], x: &[u64], y: &[u64]) {
        let field = B::new(simd, q);
        let (lines, tail) = acc.as_chunks_mut();
        let ((x_lines, x_tail), (y_lines, y_tail)) = (x.as_chunks(), y.as_chunks());
        for ((acc, x), y) in lines.iter_mut().zip(x_lines).zip(y_lines) {
            field.mul_add(simd.load(x), simd.load(y), simd.load(acc)).store(acc);
        }
        portable::mul_add(q, tail, x_tail, y_tail);
    }

    fn scale_in<F: Field>(simd: Avx512, q: &Modulus, a: &mut [u64], w: ShoupFactor) {
        let field = F::new(simd, q);
        let factor = field.constant(w);
        let a = map(simd, a, |a| field.canonical(field.times(a, factor)));
        portable::scale(q, a, w);
    }

    fn scale_add_in<F: Field>(simd: Avx512, q: &Modulus, acc: &mut [u64], x: &[u64], w: ShoupFactor) {
        let (field, m) = (F::new(simd, q), simd.splat(q.value()));
        let factor = field.constant(w);
        let (acc, x) = map2(simd, acc, x, |acc, x| {
            (acc + field.canonical(field.times(x, factor))).less(m)
        });
        portable::scale_add(q, acc, x, w);
    }

    fn sub_scale_in<F: Field>(simd: Avx512, q: &Modulus, a: &mut [u64], b: &[u64], w: ShoupFactor) {
        let (field, m) = (F::new(simd, q), simd.splat(q.value()));
        let factor = field.constant(w);
        let (a, b) = map2(simd, a, b, |a, b| field.canonical(field.times(a + m - b, factor)));
        portable::sub_scale(q, a, b, w);
    }

    fn tensor_by<B: Barrett>(simd: Avx512, q: &Modulus, a: [&[u64]; 2], b: [&[u64]; 2], d: [&mut [u64]; 3]) {
        let field = B::new(simd, q);
        let [d0, d1, d2] = d;
        let ((d0, d0_tail), (d1, d1_tail), (d2, d2_tail)) = (d0.as_chunks_mut(), d1.as_chunks_mut(), d2.as_chunks_mut());
        let ((a0, a0_tail), (a1, a1_tail)) = (a[0].as_chunks(), a[1].as_chunks());
        let ((b0, b0_tail), (b1, b1_tail)) = (b[0].as_chunks(), b[1].as_chunks());
        let inputs = a0.iter().zip(a1).zip(b0.iter().zip(b1));
        for (((d0, d1), d2), ((a0, a1), (b0, b1))) in d0.iter_mut().zip(d1).zip(d2).zip(inputs) {
            let (a0, a1) = (simd.load(a0), simd.load(a1));
            let (b0, b1) = (simd.load(b0), simd.load(b1));
            field.mul(a0, b0).store(d0);
            field.mul_add(a0, b1, field.mul(a1, b0)).store(d1);
            field.mul(a1, b1).store(d2);
        }
        portable::tensor(q, [a0_tail, a1_tail], [b0_tail, b1_tail], [d0_tail, d1_tail, d2_tail]);
    }
}

/// The distance, in words, at which a key is fetched ahead of its use: what the processor foresees
/// ends with the page.
const AHEAD: usize = 1 << 9;

/// G lines at a time, as many as keep their sums in registers.
#[inline(always)]
fn key_product_by<S: Sum, const G: usize>(
    simd: Avx512,
    q: &Modulus,
    digits: &[DigitRows<'_>],
    out: [&mut [u64]; 2],
) {
    let weights = S::weights(simd, q);
    let [(out0, _), (out1, _)] = out.map(|out| out.as_chunks_mut());
    let ((groups0, rest0), (groups1, rest1)) = (out0.as_chunks_mut::<G>(), out1.as_chunks_mut());
    let rest = groups0.len() * G;
    for (at, out) in groups0.iter_mut().zip(groups1).enumerate() {
        key_product_group::<S, G>(simd, &weights, digits, at * G, out);
    }
    for (at, (out0, out1)) in rest0.iter_mut().zip(rest1).enumerate() {
        let (out0, out1) = (std::array::from_mut(out0), std::array::from_mut(out1));
        key_product_group::<S, 1>(simd, &weights, digits, rest + at, (out0, out1));
    }
}

/// G lines from line `at` on.
#[inline(always)]
fn key_product_group<S: Sum, const G: usize>(
    simd: Avx512,
    weights: &S::Weights,
    digits: &[DigitRows<'_>],
    at: usize,
    out: (&mut [Line; G], &mut [Line; G]),
) {
    let (mut sums0, mut sums1) = ([S::zero(simd); G], [S::zero(simd); G]);
    for rows in digits {
        let digit = &rows.digit.as_chunks().0[at..at + G];
        let memory = rows.key.map(|key| key.memory_at(8 * at));
        let [key0, key1] = memory.map(|words| &words.as_chunks().0[..G]);
        for i in 0..G {
            simd.prefetch(memory[0], AHEAD + 8 * i);
            simd.prefetch(memory[1], AHEAD + 8 * i);
            let x = S::term(simd.load(&digit[i]));
            sums0[i].add(x, S::term(simd.load(&key0[i])));
            sums1[i].add(x, S::term(simd.load(&key1[i])));
        }
    }
    for i in 0..G {
        sums0[i].residue(weights).store(&mut out.0[i]);
        sums1[i].residue(weights).store(&mut out.1[i]);
    }
}
