//! Sums of rotations in two steps, tile by tile.
//!
//! An automorphism takes every aligned block of a row of values to another one. So a tile of all
//! baby rotations is computed where it is needed, from one tile of each key, and meets the weights
//! of all giant steps in the cache: no baby is stored, and keys and weights are read once.

use super::conversion::{Division, rows_of};
use super::kernels::{DigitRows, KeyRow, Permutation};
use super::key_switch::{Digits, LiftedDigits, PackedKey, Switch, digit_rows, for_group_pairs};
use super::{CpuBuf, CpuRing, is_parallel};
use crate::arith::{Modulus, ShoupFactor};
use crate::backend::{Backend, GiantStep, KeySwitchShape, Rotation, RotationBlocks, Weight};
use crate::error::Result;
use crate::parallel::*;

/// The coefficients of a tile.
const TILE: usize = 1 << 11;

/// The words of a tile for which the runs of all weights of a sum are expanded together: those of
/// dozens of weights stay in the cache beside the images.
const PIECE: usize = 1 << 8;

/// The most products whose sum is reduced once.
const MOST_TERMS: usize = 64;

/// [`KeySwitchOps::rotate_and_sum`](crate::backend::KeySwitchOps::rotate_and_sum).
pub(super) fn rotate_and_sum(
    ring: &CpuRing,
    shape: &KeySwitchShape,
    blocks: &RotationBlocks,
    c: [&CpuBuf; 2],
    digits: &[u64],
    babies: &[Rotation<'_, CpuBuf>],
    giants: &[GiantStep<'_, CpuBuf>],
) -> Result<[CpuBuf; 2]> {
    for (_, weight) in giants.iter().flat_map(|giant| &giant.terms) {
        weight.check(shape.span().limbs(), ring.spec.log_n(), |words| words.len())?;
    }
    let group = blocks.group(shape);
    let babies = Babies::new(ring, shape, blocks, c, digits, babies);
    let sums = babies.weighted(ring, group.batch, giants)?;
    let turned = turned(ring, &group, blocks, &sums, giants);
    // Its words mean something only if it was not ended.
    ring.cpu.check()?;
    Ok(turned)
}

/// The baby rotations of the ciphertexts of a batch.
struct Babies<'a> {
    shape: &'a KeySwitchShape,
    c: [&'a CpuBuf; 2],
    digits: &'a [u64],
    rotations: Vec<Baby<'a>>,
    /// P modulo the primes of the chain.
    special: Vec<ShoupFactor>,
}

/// A rotation of a group of entries.
struct Baby<'a> {
    rotation: &'a Rotation<'a, CpuBuf>,
    permutation: Option<Permutation>,
    /// The first entry of the group.
    first: usize,
}

impl<'a> Babies<'a> {
    fn new(
        ring: &CpuRing,
        shape: &'a KeySwitchShape,
        blocks: &RotationBlocks,
        c: [&'a CpuBuf; 2],
        digits: &'a [u64],
        babies: &'a [Rotation<'a, CpuBuf>],
    ) -> Self {
        let group = shape.batch / blocks.inputs;
        let baby = |(rotation, &input): (&'a Rotation<'a, CpuBuf>, &usize)| Baby {
            rotation,
            permutation: ring.permutation(rotation.g),
            first: input * group,
        };
        Self {
            shape,
            c,
            digits,
            rotations: babies.iter().zip(&blocks.of_baby).map(baby).collect(),
            special: ring.special(shape),
        }
    }

    /// The sums of all giant steps for groups of `batch` entries, `[limb][entry][giant][part][k]`.
    fn weighted(&self, ring: &CpuRing, batch: usize, giants: &[GiantStep<'_, CpuBuf>]) -> Result<CpuBuf> {
        let n = ring.spec.n();
        let tile = n.min(TILE);
        let row_words = giants.len() * 2 * n;
        let most_runs = giants.iter().map(|giant| runs(&giant.terms)).max().unwrap_or(0);
        let mut sums = ring.scratch(self.shape.span().limbs() * batch * row_words);
        let row = |i: usize, sums: &mut [u64]| -> Result<()> {
            ring.cpu.check()?;
            let (limb, entry) = (i / batch, i % batch);
            let q = ring.modulus(self.shape.span(), limb);
            let mut images = ring.scratch((2 * self.rotations.len() + 2) * tile);
            let (part, images) = images.split_at_mut(2 * tile);
            let mut expanded = ring.scratch(most_runs * n.min(PIECE));
            let keys: Vec<_> = self
                .rotations
                .iter()
                .map(|baby| {
                    baby.rotation.key.map(|key| {
                        let key = PackedKey::new(&self.shape.key(), n, key);
                        digit_rows(self.shape, n, self.digits, &key, limb, baby.first + entry)
                    })
                })
                .collect();
            for at in (0..n).step_by(tile) {
                for ((baby, rows), image) in
                    self.rotations.iter().zip(&keys).zip(images.chunks_exact_mut(2 * tile))
                {
                    let how = (baby.permutation.as_ref(), rows.as_deref());
                    self.image(ring, (limb, baby.first + entry), at, how, part, image);
                }
                for (giant, sums) in giants.iter().zip(sums.chunks_exact_mut(2 * n)) {
                    let (sum0, sum1) = sums.split_at_mut(n);
                    let out = [&mut sum0[at..at + tile], &mut sum1[at..at + tile]];
                    weighted_sum(ring, q, (limb, n, at), &giant.terms, images, [part, &mut *expanded], out);
                }
            }
            Ok(())
        };
        let row_words = row_words.max(1);
        if !is_parallel(sums.len()) {
            sums.chunks_exact_mut(row_words).enumerate().try_for_each(|(i, sums)| row(i, sums))?;
        } else {
            sums.par_chunks_exact_mut(row_words).enumerate().try_for_each(|(i, sums)| row(i, sums))?;
        }
        Ok(sums)
    }

    /// A tile of both parts of a rotation, from word `at` on. `part` is overwritten.
    fn image(
        &self,
        ring: &CpuRing,
        (limb, entry): (usize, usize),
        at: usize,
        (permutation, rows): (Option<&Permutation>, Option<&[DigitRows<'_>]>),
        part: &mut [u64],
        image: &mut [u64],
    ) {
        let (n, tile) = (ring.spec.n(), part.len() / 2);
        let q = ring.modulus(self.shape.span(), limb);
        let from = permutation.map_or(at, |permutation| permutation.source(at, tile));
        let out = if permutation.is_some() { &mut *part } else { &mut *image };
        let (out0, out1) = out.split_at_mut(tile);
        match rows {
            Some(rows) => {
                let rows: Vec<_> = rows
                    .iter()
                    .map(|rows| DigitRows {
                        digit: &rows.digit[from..from + tile],
                        key: rows.key.map(|row| row.skip_blocks(from / KeyRow::BLOCK)),
                    })
                    .collect();
                ring.cpu.kernels.key_product(q, &rows, [&mut *out0, out1]);
            }
            None => out.fill(0),
        }
        let (out0, out1) = out.split_at_mut(tile);
        if let Some(&p) = self.special.get(limb) {
            let word = (limb * self.shape.batch + entry) * n + from;
            ring.cpu.kernels.scale_add(q, out0, &self.c[0][word..word + tile], p);
            if rows.is_none() {
                ring.cpu.kernels.scale_add(q, out1, &self.c[1][word..word + tile], p);
            }
        }
        if let Some(permutation) = permutation {
            for (part, image) in part.chunks_exact(tile).zip(image.chunks_exact_mut(tile)) {
                ring.cpu.kernels.permute(permutation, at, part, image);
            }
        }
    }
}

/// The weights whose words stand for several neighbours.
fn runs(terms: &[(usize, Weight<'_, CpuBuf>)]) -> usize {
    terms.iter().filter(|(_, weight)| matches!(weight, Weight::Poly { log_run: 1.., .. })).count()
}

/// A tile of the sum of images times weights, whose rows of N words are read from word `at` on.
/// `more` and `expanded` are overwritten; the latter has a piece for each weight with runs.
fn weighted_sum(
    ring: &CpuRing,
    q: &Modulus,
    (limb, n, at): (usize, usize, usize),
    terms: &[(usize, Weight<'_, CpuBuf>)],
    images: &[u64],
    [more, expanded]: [&mut [u64]; 2],
    [out0, out1]: [&mut [u64]; 2],
) {
    let tile = out0.len();
    let image = |baby: usize| {
        let (image0, image1) = images[baby * 2 * tile..][..2 * tile].split_at(tile);
        [image0, image1]
    };
    let piece = if runs(terms) == 0 { tile } else { tile.min(PIECE) };
    let (more0, more1) = more.split_at_mut(tile);
    for from in (0..tile).step_by(piece) {
        let mut expanded = expanded.chunks_exact_mut(piece);
        let polys: Vec<_> = terms
            .iter()
            .filter_map(|(baby, weight)| {
                let Weight::Poly { words, log_run } = weight else { return None };
                let row = &words[limb * (n >> log_run)..][..n >> log_run];
                let digit = match log_run {
                    0 => &row[at + from..][..piece],
                    _ => expand(&row[(at + from) >> log_run..], *log_run, expanded.next()?),
                };
                Some(DigitRows {
                    digit,
                    key: image(*baby).map(|image| KeyRow::flat(&image[from..][..piece])),
                })
            })
            .collect();
        let [out0, out1, more0, more1] =
            [&mut *out0, &mut *out1, &mut *more0, &mut *more1].map(|words| &mut words[from..][..piece]);
        let (first, rest) = polys.split_at(polys.len().min(MOST_TERMS));
        ring.cpu.kernels.key_product(q, first, [&mut *out0, &mut *out1]);
        for rows in rest.chunks(MOST_TERMS) {
            ring.cpu.kernels.key_product(q, rows, [&mut *more0, &mut *more1]);
            ring.cpu.kernels.add(q, out0, more0);
            ring.cpu.kernels.add(q, out1, more1);
        }
    }
    for (baby, weight) in terms {
        if let Weight::Scalar(factors) = weight {
            let factor = q.shoup(factors[limb]);
            for (out, image) in [&mut *out0, &mut *out1].into_iter().zip(image(*baby)) {
                ring.cpu.kernels.scale_add(q, out, image, factor);
            }
        }
    }
}

/// The first words of runs of 2^`log_run`, as many as `all` holds.
fn expand<'a>(runs: &[u64], log_run: u32, all: &'a mut [u64]) -> &'a [u64] {
    for (all, word) in all.chunks_mut(1 << log_run).zip(runs) {
        all.fill(*word);
    }
    all
}

/// A giant step whose sum is switched: the switch of its second part, and its automorphism.
struct Turn<'a> {
    switch: Switch<'a>,
    permutation: Option<Permutation>,
}

/// The sums of the giant steps' sums, each rotated, of all outputs: `shape` is that of one. Any
/// words, once the work is to end.
fn turned(
    ring: &CpuRing,
    shape: &KeySwitchShape,
    blocks: &RotationBlocks,
    sums: &CpuBuf,
    giants: &[GiantStep<'_, CpuBuf>],
) -> [CpuBuf; 2] {
    let (n, batch, limbs) = (ring.spec.n(), shape.batch, shape.span().limbs());
    let sum = |limb: usize, entry: usize, giant: usize, part: usize| {
        &sums[(((limb * batch + entry) * giants.len() + giant) * 2 + part) * n..][..n]
    };
    let quotients: Vec<Option<CpuBuf>> = giants
        .iter()
        .enumerate()
        .map(|(giant, step)| {
            step.rotation.key.map(|_| quotient(ring, shape, |limb, entry| sum(limb, entry, giant, 1)))
        })
        .collect();
    let turns: Vec<Option<Turn<'_>>> = giants
        .iter()
        .zip(&quotients)
        .map(|(step, quotient)| {
            let (key, quotient) = (step.rotation.key?, quotient.as_ref()?);
            let digits = Digits::Lifted(LiftedDigits::new(ring, shape, quotient));
            let switch = Switch::new(ring, shape, digits, key, [None, None]);
            Some(Turn { switch, permutation: ring.permutation(step.rotation.g) })
        })
        .collect();
    let whole = blocks.outputs * batch;
    let mut totals = [(); 2].map(|()| ring.scratch(limbs * whole * n));
    for_group_pairs(&mut totals, whole * n, usize::MAX, |first, mut words| {
        let limbs = words[0].len() / (whole * n);
        let mut parts = [(); 2].map(|()| ring.scratch(limbs * n));
        let mut image = ring.scratch(n);
        for (output, entry) in (0..whole).map(|i| (i / batch, i % batch)) {
            if ring.cpu.check().is_err() {
                return;
            }
            let mut totals =
                words.each_mut().map(|words| rows_of(words, first, whole, output * batch + entry, n));
            totals.iter_mut().flatten().for_each(|(_, row)| row.fill(0));
            let of_output = turns.iter().enumerate().filter(|(giant, _)| blocks.of_giant[*giant] == output);
            for (giant, turn) in of_output {
                if let Some(turn) = turn {
                    turn.switch.rows(
                        ring,
                        first,
                        entry,
                        parts.each_mut().map(|words| rows_of(words, first, 1, 0, n)),
                    );
                }
                for (part, totals) in totals.iter_mut().enumerate() {
                    for ((limb, total), words) in totals.iter_mut().zip(parts[part].chunks_exact_mut(n)) {
                        let q = ring.modulus(shape.span(), *limb);
                        let Some(turn) = turn else {
                            ring.cpu.kernels.add(q, total, sum(*limb, entry, giant, part));
                            continue;
                        };
                        if part == 0 {
                            ring.cpu.kernels.add(q, words, sum(*limb, entry, giant, 0));
                        }
                        let words = match &turn.permutation {
                            Some(permutation) => {
                                ring.cpu.kernels.permute(permutation, 0, words, &mut image);
                                &*image
                            }
                            None => &*words,
                        };
                        ring.cpu.kernels.add(q, total, words);
                    }
                }
            }
        }
    });
    totals
}

/// A polynomial over Q P, of which `row` has the rows of limbs and entries, divided by P.
fn quotient<'a>(
    ring: &CpuRing,
    shape: &KeySwitchShape,
    row: impl Fn(usize, usize) -> &'a [u64] + Sync + Send,
) -> CpuBuf {
    let (n, batch) = (ring.spec.n(), shape.batch);
    let mut dropped = ring.scratch(shape.p * batch * n);
    for (i, words) in dropped.chunks_exact_mut(n).enumerate() {
        words.copy_from_slice(row(shape.q + i / batch, i % batch));
    }
    let division = Division::new(ring, shape.span(), shape.q, batch, &mut dropped);
    let mut out = ring.scratch(shape.q * batch * n);
    division.finish(ring, batch, &mut out, |limb, entry, words| words.copy_from_slice(row(limb, entry)));
    out
}
