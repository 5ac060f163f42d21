//! Steps on batches of digits that operations share.

use super::IntegerEvaluator;
use super::carry_tables::tables;
use super::estimates::{bounded, exactly, noiseless, with_noise};
use super::width::RADIX;
use crate::backend::RingOps;
use crate::bootstrapping::lookup::LookupTables;
use crate::ckks::{Ciphertext, Evaluator, NoiseEstimate};
use crate::error::Result;
use std::ops::Range;

/// The messages of a slot that are looked up at once, by the entries of tables: more of them take
/// memory and no less time each.
const AT_ONCE: [(usize, usize); 3] = [(2 * RADIX, 8), (256, 4), (usize::MAX, 2)];

/// The greatest deviation of messages that a look-up leaves less noise of than it adds, about.
pub(super) const CLEAN: f64 = 1.0 / 4096.0;
/// The levels that cleaning takes, and the one of the product that flags are for.
const SPARED: usize = 3;

impl<B: RingOps> IntegerEvaluator<'_, B> {
    pub(super) fn ev(&self) -> &Evaluator<B> {
        self.bootstrapper.evaluator()
    }

    /// Tables of so many entries, each by its function.
    pub(super) fn tables(&self, entries: usize, all: &[&dyn Fn(u64) -> u64]) -> Result<LookupTables> {
        tables(self.bootstrapper.params(), entries, all)
    }

    /// The entries of each table for all messages of a batch, in pairs, and a last one alone.
    pub(super) fn look_up(&self, ct: &Ciphertext<B>, tables: &LookupTables) -> Result<Vec<Ciphertext<B>>> {
        let of = |range: Range<usize>| {
            let (pairs, part) = (range.len().is_multiple_of(2), ct.slice_batch(range)?);
            match pairs {
                true => self.bootstrapper.look_up_pairs(&part, tables, self.keys, self.program),
                false => self.bootstrapper.look_up(&part, tables, self.keys, self.program),
            }
        };
        let found = parts(ct.batch(), tables.entries()).map(of).collect::<Result<Vec<_>>>()?;
        let table =
            |index: usize| Ciphertext::concat(&found.iter().map(|all| &all[index]).collect::<Vec<_>>());
        (0..tables.count()).map(table).collect()
    }

    /// The same digits with this many levels for programs at least, or nothing if they have them.
    pub(super) fn refreshed(&self, digits: &Ciphertext<B>, levels: usize) -> Result<Option<Ciphertext<B>>> {
        self.with_levels(digits, levels, &self.tables.digit)
    }

    /// The same for conditions.
    pub(super) fn refreshed_flags(
        &self,
        flags: &Ciphertext<B>,
        levels: usize,
    ) -> Result<Option<Ciphertext<B>>> {
        self.with_levels(flags, levels, &self.tables.flag)
    }

    /// A computation on digits that begins with a look-up, whose messages err by so many times the
    /// error of a digit: digits that err too much for it are looked up before.
    pub(super) fn cleaned<T, const N: usize>(
        &self,
        digits: [&Ciphertext<B>; N],
        growth: f64,
        f: impl Fn([&Ciphertext<B>; N]) -> Result<T>,
    ) -> Result<T> {
        let clean = |ct: &Ciphertext<B>| match self.deviation(ct) * growth > CLEAN {
            true => Ok(Some(self.look_up(ct, &self.tables.digit)?.remove(0))),
            false => Ok(None),
        };
        let clean = digits.iter().map(|ct| clean(ct)).collect::<Result<Vec<_>>>()?;
        let all = digits.into_iter().zip(&clean).map(|(ct, clean)| clean.as_ref().unwrap_or(ct));
        f(exactly(all.collect())?)
    }

    /// The deviation of the error of messages, zero where none is known.
    pub(super) fn deviation(&self, ct: &Ciphertext<B>) -> f64 {
        ct.noise().map_or(0.0, |noise| libm::exp2(noise.rms_log2) * self.per_message() / ct.scale())
    }

    /// The deviation of a slot's real part over that of coefficients, of which N add up to it.
    pub(super) fn per_message(&self) -> f64 {
        libm::sqrt(self.bootstrapper.params().ring_spec().n() as f64 / 2.0)
    }

    /// 3 c^2 - 2 c^3 for flags c, which squares their errors, where two levels can be spared.
    pub(super) fn cleaned_flags(&self, flags: Ciphertext<B>) -> Result<Ciphertext<B>> {
        if flags.level() < self.bootstrapper.params().input_level() + SPARED {
            return Ok(flags);
        }
        let (ev, noise, scale) = (self.ev(), flags.noise(), flags.scale());
        let flags = noiseless(flags, 1);
        let square = ev.mul(&flags, &flags, self.program)?;
        let rest = ev.add_scalar(&ev.mul_integer(&flags, -2)?, 3.0.into())?;
        let cleaned = ev.mul(&square, &rest, self.program)?;
        // 3 e^2, at most 3 e times the greatest e.
        let left = noise.map(|noise| {
            let factor = libm::log2(3.0) + noise.peak_log2 - libm::log2(scale);
            NoiseEstimate { rms_log2: noise.rms_log2 + factor, peak_log2: noise.peak_log2 + factor, ..noise }
        });
        self.flags(with_noise(cleaned, (left, scale)))
    }

    fn with_levels(
        &self,
        ct: &Ciphertext<B>,
        levels: usize,
        tables: &LookupTables,
    ) -> Result<Option<Ciphertext<B>>> {
        if ct.level() >= self.bootstrapper.params().input_level() + levels {
            return Ok(None);
        }
        Ok(Some(self.look_up(ct, tables)?.remove(0)))
    }

    /// Batches one behind the other, on the lowest level of them.
    pub(super) fn joined(&self, all: &[&Ciphertext<B>]) -> Result<Ciphertext<B>> {
        let level = all.iter().map(|ct| ct.level()).min().unwrap_or(0);
        let lowered = all.iter().map(|ct| self.ev().mod_switch_to(ct, level)).collect::<Result<Vec<_>>>()?;
        Ciphertext::concat(&lowered.iter().collect::<Vec<_>>())
    }

    /// Zeros of as many levels.
    pub(super) fn zero(&self, like: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        self.ev().mul_integer(&like.slice_batch(0..1)?, 0)
    }

    /// Messages 0 ... 15, which sums and products of others are.
    pub(super) fn digits(&self, ct: Ciphertext<B>) -> Result<Ciphertext<B>> {
        Ok(bounded(ct, RADIX as u64 - 1))
    }

    /// Messages of zero and one.
    pub(super) fn flags(&self, ct: Ciphertext<B>) -> Result<Ciphertext<B>> {
        Ok(bounded(ct, 1))
    }
}

/// The parts of a batch that are looked up at once: an even number each, but for a last one.
fn parts(count: usize, entries: usize) -> impl Iterator<Item = Range<usize>> {
    let size = AT_ONCE.iter().find(|(most, _)| entries <= *most).map_or(2, |(_, size)| *size);
    let even = count - count % 2;
    let pairs = (0..even).step_by(size).map(move |start| start..(start + size).min(even));
    pairs.chain((even < count).then_some(even..count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_the_batch() {
        let of = |count, entries| parts(count, entries).collect::<Vec<_>>();
        assert_eq!((of(1, 16).len(), of(1, 16).first()), (1, Some(&(0..1))));
        assert_eq!(of(16, 32), [0..8, 8..16]);
        assert_eq!(of(11, 64), [0..4, 4..8, 8..10, 10..11]);
        assert_eq!(of(4, 1024), [0..2, 2..4]);
    }
}
