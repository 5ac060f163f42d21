//! Base conversions and divisions, row by row while rows are in the cache.
//!
//! A conversion reads all source rows for every target row. So it goes through the coefficients in
//! chunks, whose source words stay in the first-level cache, and through several targets per chunk;
//! the targets' rows are transformed right after that. The transform of a single source prime reads
//! the source itself.

use super::{Cpu, CpuBuf, CpuRing, for_rows, is_parallel};
use crate::arith::ShoupFactor;
use crate::backend::inverse_of_dropped;
use crate::parallel::*;
use crate::ring::{BaseConversion, Rows, Span};
use std::sync::Arc;

/// The coefficients that one thread lifts at a time: a multiple of a chunk.
const TILE: usize = 1 << 10;

/// The most target rows that are computed per pass over the source.
const GROUP: usize = 4;

/// The number of limbs that one thread takes at a time: few enough for all threads to have work.
pub(super) fn group(limbs: usize) -> usize {
    (limbs / (2 * threads())).clamp(1, GROUP)
}

/// Calls f(first limb, rows) for groups of limbs of a slice `[limb][entry][k]`, on several threads
/// if that is worthwhile.
pub(super) fn for_groups(words: &mut [u64], limb_words: usize, f: impl Fn(usize, &mut [u64]) + Sync + Send) {
    let group = group(words.len() / limb_words.max(1));
    if !is_parallel(words.len()) || words.len() == limb_words {
        words.chunks_mut(group * limb_words).enumerate().for_each(|(i, rows)| f(i * group, rows));
    } else {
        words.par_chunks_mut(group * limb_words).enumerate().for_each(|(i, rows)| f(i * group, rows));
    }
}

/// The inputs that all targets of a [`BaseConversion`] share, for every batch entry: the y_i and v,
/// `[entry][chunk][i][k]` and `[entry][k]`, or the centred words of a single source prime.
pub(super) struct Lifted {
    conversion: Arc<BaseConversion>,
    y: CpuBuf,
    /// Empty for a single source prime.
    overflow: CpuBuf,
    n: usize,
}

impl Lifted {
    /// Computes them from coefficient rows `[i][entry][k]`.
    pub(super) fn new(
        cpu: &Cpu,
        conversion: Arc<BaseConversion>,
        src: &[u64],
        batch: usize,
        n: usize,
    ) -> Self {
        let count = conversion.from().len();
        let mut y = cpu.pool.scratch(batch * count * n);
        if count == 1 {
            for_rows(&mut y, n, batch, |_, entry, y| {
                cpu.kernels.center(&conversion, &src[entry * n..][..n], y);
            });
            return Self { conversion, y, overflow: cpu.pool.scratch(0), n };
        }
        let mut overflow = cpu.pool.scratch(batch * n);
        let tile = n.min(TILE);
        let lift = |i: usize, y: &mut [u64], overflow: &mut [u64]| {
            let (entry, at) = (i / (n / tile), i % (n / tile) * tile);
            let row = |i: usize| &src[(i * batch + entry) * n + at..][..tile];
            let rows: Vec<&[u64]> = (0..count).map(row).collect();
            cpu.kernels.lift(&conversion, &rows, y, overflow);
        };
        if !is_parallel(batch * count * n) {
            let tiles = y.chunks_exact_mut(count * tile).zip(overflow.chunks_exact_mut(tile)).enumerate();
            tiles.for_each(|(i, (y, overflow))| lift(i, y, overflow));
        } else {
            let tiles = y.par_chunks_exact_mut(count * tile).zip(overflow.par_chunks_exact_mut(tile));
            tiles.enumerate().for_each(|(i, (y, overflow))| lift(i, y, overflow));
        }
        Self { conversion, y, overflow, n }
    }

    /// Whether there is one source prime, so that every target is computed from one row.
    pub(super) fn is_single(&self) -> bool {
        self.conversion.from().len() == 1
    }

    /// The words of a batch entry.
    fn words(&self, entry: usize) -> &[u64] {
        let words = self.conversion.from().len() * self.n;
        &self.y[entry * words..][..words]
    }

    /// The rows of a batch entry modulo their target primes.
    pub(super) fn recompose(&self, cpu: &Cpu, entry: usize, rows: &mut [(usize, &mut [u64])]) {
        if self.is_single() {
            for (target, row) in rows {
                row.copy_from_slice(self.words(entry));
                cpu.kernels.reduce_signed(&self.conversion.to()[*target], row);
            }
            return;
        }
        let overflow = &self.overflow[entry * self.n..][..self.n];
        cpu.kernels.recompose(&self.conversion, self.words(entry), overflow, rows);
    }

    /// The same rows in evaluation form, the targets being the limbs of a span.
    pub(super) fn transformed(
        &self,
        ring: &CpuRing,
        span: Span,
        entry: usize,
        rows: &mut [(usize, &mut [u64])],
    ) {
        let kernels = ring.cpu.kernels;
        if self.is_single() {
            let d = self.conversion.from()[0].value();
            // Near the half, v may be the lesser one.
            let most = d / 2 + (d >> 48) + 1;
            for (target, row) in rows {
                kernels.ntt_signed(ring.table(span, *target), self.words(entry), most, row);
            }
            return;
        }
        self.recompose(&ring.cpu, entry, rows);
        rows.iter_mut().for_each(|(target, row)| kernels.ntt(ring.table(span, *target), row));
    }
}

/// A division by the limbs from `keep` on: the remainders, and the inverses of the divisor.
pub(super) struct Division {
    kept: Span,
    lifted: Lifted,
    factors: Vec<ShoupFactor>,
}

impl Division {
    /// From the dropped limbs `[limb][entry][k]` in evaluation form, which become coefficients.
    pub(super) fn new(ring: &CpuRing, span: Span, keep: usize, batch: usize, dropped: &mut [u64]) -> Self {
        let (n, rows) = (ring.spec.n(), Rows::new(span.tail(keep), batch));
        let kept = span.head(keep);
        ring.each(rows, dropped, |table, _, _, row| ring.cpu.kernels.intt(table, row));
        let conversion = ring.conversion(rows.span, kept);
        let lifted = Lifted::new(&ring.cpu, conversion, &dropped[..rows.count() * n], batch, n);
        let factors = ring.shoup(kept, &inverse_of_dropped(&ring.spec, span, keep));
        Self { kept, lifted, factors }
    }

    /// Divides the rows of a batch entry, each with its limb.
    pub(super) fn apply(&self, ring: &CpuRing, entry: usize, rows: &mut [(usize, &mut [u64])]) {
        let n = ring.spec.n();
        let mut remainders = ring.scratch(rows.len() * n);
        let limbs = rows.iter().map(|(limb, _)| *limb);
        let mut targets: Vec<_> = limbs.zip(remainders.chunks_exact_mut(n)).collect();
        self.lifted.transformed(ring, self.kept, entry, &mut targets);
        for ((limb, row), (_, remainder)) in rows.iter_mut().zip(targets) {
            let q = ring.modulus(self.kept, *limb);
            ring.cpu.kernels.sub_scale(q, row, remainder, self.factors[*limb]);
        }
    }

    /// Divides all kept limbs, for which `fill` puts the words of a limb and entry into a row.
    pub(super) fn finish(
        &self,
        ring: &CpuRing,
        batch: usize,
        out: &mut [u64],
        fill: impl Fn(usize, usize, &mut [u64]) + Sync + Send,
    ) {
        let n = ring.spec.n();
        for_groups(out, batch * n, |first, words| {
            for entry in 0..batch {
                let mut rows = rows_of(words, first, batch, entry, n);
                rows.iter_mut().for_each(|(limb, row)| fill(*limb, entry, row));
                self.apply(ring, entry, &mut rows);
            }
        });
    }
}

/// The rows of a batch entry in words `[limb][entry][k]` from limb `first` on.
pub(super) fn rows_of(
    words: &mut [u64],
    first: usize,
    batch: usize,
    entry: usize,
    n: usize,
) -> Vec<(usize, &mut [u64])> {
    words
        .chunks_exact_mut(n)
        .skip(entry)
        .step_by(batch)
        .enumerate()
        .map(|(i, row)| (first + i, row))
        .collect()
}

impl CpuRing {
    /// [`convert_basis`](crate::backend::PolyOps::convert_basis).
    pub(super) fn convert(&self, from: Rows, src: &[u64], to: Rows, dst: &mut [u64]) {
        let n = self.spec.n();
        let conversion = self.conversion(from.span, to.span);
        let lifted = Lifted::new(&self.cpu, conversion, &src[from.at..][..from.count() * n], from.batch, n);
        for_groups(&mut dst[to.at..][..to.count() * n], to.batch * n, |first, words| {
            for entry in 0..to.batch {
                lifted.recompose(&self.cpu, entry, &mut rows_of(words, first, to.batch, entry, n));
            }
        });
    }

    /// [`mod_down`](crate::backend::PolyOps::mod_down), in place.
    pub(super) fn divide(&self, span: Span, keep: usize, batch: usize, mut src: CpuBuf) -> CpuBuf {
        let (kept, dropped) = src.split_at_mut(keep * batch * self.spec.n());
        let division = Division::new(self, span, keep, batch, dropped);
        division.finish(self, batch, kept, |_, _, _| {});
        src.truncate(keep * batch * self.spec.n());
        src
    }

    /// [`mod_down`](crate::backend::PolyOps::mod_down) into another buffer, of rows that
    /// `fill(limb, entry, row)` writes.
    pub(super) fn divided(
        &self,
        span: Span,
        keep: usize,
        batch: usize,
        fill: impl Fn(usize, usize, &mut [u64]) + Sync + Send,
    ) -> CpuBuf {
        let n = self.spec.n();
        let mut dropped = self.scratch((span.limbs() - keep) * batch * n);
        for_rows(&mut dropped, n, batch, |limb, entry, row| fill(keep + limb, entry, row));
        let division = Division::new(self, span, keep, batch, &mut dropped);
        let mut out = self.scratch(keep * batch * n);
        division.finish(self, batch, &mut out, fill);
        out
    }
}
