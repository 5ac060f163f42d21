//! Base conversions from primes below 2^50.

use super::field::Field;
use super::{CHUNK, Target, is_narrow, portable};
use crate::lanes::Lanes;
use crate::ring::BaseConversion;

/// [`BaseConversion::decompose`].
#[inline(always)]
pub(super) fn lift<L: Lanes>(
    l: L,
    conversion: &BaseConversion,
    rows: &[&[u64]],
    y: &mut [u64],
    overflow: &mut [u64],
) {
    let quads = overflow.len().min(CHUNK) / 4;
    let mut sums = [l.splat(0.0); CHUNK / 4];
    let overflow = overflow.as_chunks_mut::<4>().0.chunks_exact_mut(quads);
    let y = y.as_chunks_mut::<4>().0.chunks_exact_mut(rows.len() * quads);
    for (chunk, (y, overflow)) in y.zip(overflow).enumerate() {
        sums.fill(l.splat(0.0));
        for (i, y) in y.chunks_exact_mut(quads).enumerate() {
            let q = &conversion.from()[i];
            let (f, w) = (Field::new(l, q), l.splat(q.center(conversion.hat_inverse()[i].value) as f64));
            let reciprocal = l.splat(conversion.reciprocal()[i]);
            let x = &rows[i].as_chunks::<4>().0[chunk * quads..][..quads];
            for ((x, y), sum) in x.iter().zip(y).zip(&mut sums) {
                let lifted = f.lift(f.times(l.load_words(x), w));
                l.store_words(lifted, y);
                // There are two roundings, as everywhere.
                *sum = l.add(*sum, l.mul(lifted, reciprocal));
            }
        }
        for (v, sum) in overflow.iter_mut().zip(&sums) {
            l.store_words(l.round(*sum), v);
        }
    }
}

/// The quads whose sums are in registers.
const GROUP: usize = 4;
/// The number of products, of at most 1/2 + 3/16 q each, that are added to a reduced sum, which
/// stays at most 5 q.
const TERMS: usize = 6;

/// [`BaseConversion::recompose`].
#[inline(always)]
pub(super) fn recompose<L: Lanes>(
    l: L,
    conversion: &BaseConversion,
    y: &[u64],
    overflow: &[u64],
    targets: &mut [Target<'_>],
) {
    let (narrow, mut others): (Vec<_>, Vec<_>) = targets
        .iter_mut()
        .map(|(j, row)| (*j, &mut **row))
        .partition(|(j, _)| is_narrow(&conversion.to()[*j]));
    portable::recompose(conversion, y, overflow, &mut others);
    let factors = |j: usize| -> Vec<f64> {
        let center = |w: u64| conversion.to()[j].center(w) as f64;
        conversion.hat(j).iter().copied().chain([conversion.minus_product(j)]).map(center).collect()
    };
    let mut narrow: Vec<_> =
        narrow.into_iter().map(|(j, row)| (j, factors(j), row.as_chunks_mut::<4>().0)).collect();
    let quads = overflow.len().min(CHUNK) / 4;
    let overflow = overflow.as_chunks::<4>().0.chunks_exact(quads);
    let y = y.as_chunks::<4>().0.chunks_exact(conversion.from().len() * quads);
    for (chunk, (y, overflow)) in y.zip(overflow).enumerate() {
        for (j, factors, row) in &mut narrow {
            let f = Field::new(l, &conversion.to()[*j]);
            let (groups, rest) = row[chunk * quads..][..quads].as_chunks_mut::<GROUP>();
            let rest_at = groups.len() * GROUP;
            for (at, out) in groups.iter_mut().enumerate() {
                recompose_group(f, factors, y, overflow, at * GROUP, out);
            }
            for (at, out) in rest.iter_mut().enumerate() {
                recompose_group(f, factors, y, overflow, rest_at + at, std::array::from_mut(out));
            }
        }
    }
}

/// G quads from quad `at` of a chunk on. The last factor is that of the overflow.
#[inline(always)]
fn recompose_group<L: Lanes, const G: usize>(
    f: Field<L>,
    factors: &[f64],
    y: &[[u64; 4]],
    overflow: &[[u64; 4]],
    at: usize,
    out: &mut [[u64; 4]; G],
) {
    let l = f.l;
    let mut sums = [l.splat(0.0); G];
    let mut rows = y.chunks_exact(overflow.len()).chain([overflow]);
    for factors in factors.chunks(TERMS) {
        for (w, row) in factors.iter().zip(&mut rows) {
            let (w, row) = (l.splat(*w), &row[at..at + G]);
            for i in 0..G {
                sums[i] = l.add(sums[i], f.times(l.load_words(&row[i]), w));
            }
        }
        for i in 0..G {
            sums[i] = f.reduce(sums[i]);
        }
    }
    for i in 0..G {
        l.store_words(f.lift(sums[i]), &mut out[i]);
    }
}
