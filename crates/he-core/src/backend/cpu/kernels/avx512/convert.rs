//! Base conversion and the automorphism of values.

use super::super::permutation::Permutation;
use super::super::{CHUNK, Target};
use super::field::{Field, Narrow, NarrowSum, ShortSum, Sum, Wide, WideSum, is_narrow};
use super::portable;
use super::words::{Avx512, Line, Words, with_avx512};
use crate::arith::ShoupFactor;
use crate::ring::BaseConversion;

with_avx512! {
    pub(in super::super) fn lift(
        simd: Avx512,
        conversion: &BaseConversion,
        rows: &[&[u64]],
        y: &mut [u64],
        overflow: &mut [u64],
    ) {
        if !overflow.len().is_multiple_of(8) {
            return portable::lift(conversion, rows, y, overflow);
        }
        let lines = overflow.len().min(CHUNK) / 8;
        let mut sums = [simd.zero(); CHUNK / 8];
        let overflow = overflow.as_chunks_mut().0.chunks_exact_mut(lines);
        let y = y.as_chunks_mut().0.chunks_exact_mut(rows.len() * lines);
        for (chunk, (y, overflow)) in y.zip(overflow).enumerate() {
            sums.fill(simd.zero());
            for (i, y) in y.chunks_exact_mut(lines).enumerate() {
                let (q, w) = (&conversion.from()[i], conversion.hat_inverse()[i]);
                let reciprocal = simd.splat(conversion.reciprocal()[i].to_bits());
                let x = &rows[i].as_chunks().0[chunk * lines..][..lines];
                if is_narrow(q) {
                    lift_block(Narrow::new(simd, q), w, reciprocal, x, y, &mut sums);
                } else {
                    lift_block(Wide::new(simd, q), w, reciprocal, x, y, &mut sums);
                }
            }
            for (v, sum) in overflow.iter_mut().zip(&sums) {
                sum.f64_round().store(v);
            }
        }
    }

    pub(in super::super) fn center(simd: Avx512, conversion: &BaseConversion, x: &[u64], out: &mut [u64]) {
        let d = simd.splat(conversion.from()[0].value());
        let reciprocal = simd.splat(conversion.reciprocal()[0].to_bits());
        let ((lines, tail), (x_lines, x_tail)) = (out.as_chunks_mut(), x.as_chunks());
        for (out, x) in lines.iter_mut().zip(x_lines) {
            let x = simd.load(x);
            // v is 0 or 1.
            let v = simd.zero().f64_plus_scaled(x, reciprocal).f64_round();
            (x - (d & (simd.zero() - v))).store(out);
        }
        portable::center(conversion, x_tail, tail);
    }

    pub(in super::super) fn recompose(
        simd: Avx512,
        conversion: &BaseConversion,
        y: &[u64],
        overflow: &[u64],
        targets: &mut [Target<'_>],
    ) {
        if !overflow.len().is_multiple_of(8) {
            return portable::recompose(conversion, y, overflow, targets);
        }
        let from_narrow = conversion.from().iter().all(is_narrow);
        let (mut narrow, mut wide): (Vec<_>, Vec<_>) = targets
            .iter_mut()
            .map(|(j, row)| (*j, &mut **row))
            .partition(|(j, _)| from_narrow && is_narrow(&conversion.to()[*j]));
        // One product more than there are primes.
        if conversion.from().len() < ShortSum::MOST {
            recompose_by::<ShortSum, 8>(simd, conversion, y, overflow, &mut narrow);
        } else {
            recompose_by::<NarrowSum, 8>(simd, conversion, y, overflow, &mut narrow);
        }
        recompose_by::<WideSum, 4>(simd, conversion, y, overflow, &mut wide);
    }

    pub(in super::super) fn permute(
        simd: Avx512,
        permutation: &Permutation,
        at: usize,
        src: &[u64],
        out: &mut [u64],
    ) {
        let Permutation::Groups { first, lanes } = permutation else {
            return portable::permute(permutation, at, src, out);
        };
        let (mask, src) = (src.len() - 1, src.as_chunks().0);
        for (out, &first) in out.as_chunks_mut().0.iter_mut().zip(&first[at / 8..]) {
            let lanes = simd.load(&lanes[first as usize % 8]);
            simd.load(&src[(first as usize & mask) / 8]).permute(lanes).store(out);
        }
    }
}

/// G lines at a time, as many as keep their sums in registers.
#[inline(always)]
fn recompose_by<S: Sum, const G: usize>(
    simd: Avx512,
    conversion: &BaseConversion,
    y: &[u64],
    overflow: &[u64],
    targets: &mut [Target<'_>],
) {
    if targets.is_empty() {
        return;
    }
    let weights: Vec<_> = targets.iter().map(|(j, _)| S::weights(simd, &conversion.to()[*j])).collect();
    let lines = overflow.len().min(CHUNK) / 8;
    let overflow = overflow.as_chunks().0.chunks_exact(lines);
    let y = y.as_chunks().0.chunks_exact(conversion.from().len() * lines);
    for (chunk, (y, overflow)) in y.zip(overflow).enumerate() {
        for ((j, row), weights) in targets.iter_mut().zip(&weights) {
            let (hat, minus) = (conversion.hat(*j), conversion.minus_product(*j));
            let out = &mut row.as_chunks_mut().0[chunk * lines..][..lines];
            let (groups, rest) = out.as_chunks_mut::<G>();
            let rest_at = groups.len() * G;
            for (at, out) in groups.iter_mut().enumerate() {
                recompose_group::<S, G>(simd, weights, hat, minus, y, overflow, at * G, out);
            }
            for (at, out) in rest.iter_mut().enumerate() {
                let out = std::array::from_mut(out);
                recompose_group::<S, 1>(simd, weights, hat, minus, y, overflow, rest_at + at, out);
            }
        }
    }
}

/// G lines from line `at` of a chunk on.
#[inline(always)]
fn recompose_group<S: Sum, const G: usize>(
    simd: Avx512,
    weights: &S::Weights,
    hat: &[u64],
    minus: u64,
    y: &[Line],
    overflow: &[Line],
    at: usize,
    out: &mut [Line; G],
) {
    let (mut sums, minus) = ([S::zero(simd); G], S::term(simd.splat(minus)));
    let v = &overflow[at..at + G];
    for i in 0..G {
        sums[i].add(S::term(simd.load(&v[i])), minus);
    }
    for (row, &h) in hat.iter().enumerate() {
        let h = S::term(simd.splat(h));
        let y = &y[row * overflow.len() + at..][..G];
        for i in 0..G {
            sums[i].add(S::term(simd.load(&y[i])), h);
        }
    }
    for i in 0..G {
        sums[i].residue(weights).store(&mut out[i]);
    }
}

#[inline(always)]
fn lift_block<F: Field>(
    f: F,
    w: ShoupFactor,
    reciprocal: Words,
    x: &[Line],
    y: &mut [Line],
    sums: &mut [Words],
) {
    let w = f.constant(w);
    for (sum, (x, y)) in sums.iter_mut().zip(x.iter().zip(y)) {
        let lifted = f.canonical(f.times(f.simd().load(x), w));
        lifted.store(y);
        *sum = sum.f64_plus_scaled(lifted, reciprocal);
    }
}
