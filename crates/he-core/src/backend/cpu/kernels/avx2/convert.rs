//! Base conversions from primes below 2^50.

use super::field::Field;
use crate::lanes::Lanes;
use crate::ring::BaseConversion;

/// The quads whose float64 sums are kept at a time.
const BLOCK: usize = 64;

/// [`BaseConversion::decompose`].
#[inline(always)]
pub(super) fn lift<L: Lanes>(
    l: L,
    conversion: &BaseConversion,
    rows: &[&[u64]],
    y: &mut [u64],
    overflow: &mut [u64],
) {
    let n = overflow.len();
    let mut sums = [l.splat(0.0); BLOCK];
    for (block, overflow) in overflow.as_chunks_mut::<4>().0.chunks_mut(BLOCK).enumerate() {
        let range = block * BLOCK..block * BLOCK + overflow.len();
        sums.fill(l.splat(0.0));
        for (i, y) in y.chunks_exact_mut(n).enumerate() {
            let q = &conversion.from()[i];
            let (f, w) = (Field::new(l, q), l.splat(q.center(conversion.hat_inverse()[i].value) as f64));
            let reciprocal = l.splat(conversion.reciprocal()[i]);
            let x = &rows[i].as_chunks::<4>().0[range.clone()];
            let y = &mut y.as_chunks_mut::<4>().0[range.clone()];
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
    j: usize,
    y: &[u64],
    overflow: &[u64],
    out: &mut [u64],
) {
    let t = &conversion.to()[j];
    let (f, minus) = (Field::new(l, t), t.center(conversion.minus_product(j)) as f64);
    let factors = conversion.hat(j).iter().map(|&w| t.center(w) as f64);
    let rows: Vec<Row<'_>> = y
        .chunks_exact(overflow.len())
        .chain([overflow])
        .map(|row| row.as_chunks::<4>().0)
        .zip(factors.chain([minus]))
        .collect();
    let (groups, rest) = out.as_chunks_mut::<4>().0.as_chunks_mut::<GROUP>();
    let rest_at = groups.len() * GROUP;
    for (at, out) in groups.iter_mut().enumerate() {
        recompose_group(f, &rows, at * GROUP, out);
    }
    for (at, out) in rest.iter_mut().enumerate() {
        recompose_group(f, &rows, rest_at + at, std::array::from_mut(out));
    }
}

/// A row, and its factor.
type Row<'a> = (&'a [[u64; 4]], f64);

/// G quads from quad `at` on.
#[inline(always)]
fn recompose_group<L: Lanes, const G: usize>(
    f: Field<L>,
    rows: &[Row<'_>],
    at: usize,
    out: &mut [[u64; 4]; G],
) {
    let l = f.l;
    let mut sums = [l.splat(0.0); G];
    for rows in rows.chunks(TERMS) {
        for (row, w) in rows {
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
