//! Sorting and the maximum of vectors, by comparators on whole ciphertexts.

use super::domain::{Precision, Range};
use super::function::Function;
use super::groups::{GroupFunction, Groups};
use super::program::Program;
use super::rectifier::candidates;
use super::sign::CompositeSign;
use crate::error::Result;
use std::ops::RangeInclusive;

/// The bound to which the interval widens, so that numbers that have gathered errors in all stages,
/// and those of refreshes, are still where the sign is one.
fn widened(precision: Precision) -> f64 {
    1.0 + 2.0 * precision.tolerance(1.0) + 1.0 / 64.0
}

/// The largest error of t (1 + sign(t)) / 2 for t in [-1, 1].
fn relu_error(sign: &CompositeSign) -> Result<f64> {
    let points = Range::symmetric(1.0)?.points(4096);
    let error = |t: f64| (0.5 * t * (1.0 + sign.apply_plain(t)) - t.max(0.0)).abs();
    Ok(points.into_iter().map(error).fold(0.0, f64::max))
}

impl GroupFunction {
    /// The numbers of every group in ascending order, by Batcher's bitonic network (1968): n slots
    /// take log2(n) (log2(n) + 1) / 2 stages of one comparator each, on all slots at once. The
    /// error is at most 2^-bits of the interval's width: that of all stages together, since every
    /// stage is as precise as that asks. Slots beyond the count of a group end as the upper end of
    /// the interval.
    ///
    /// A stage at distance d takes the rotations by d and -d, and one level more than the sign:
    /// with t = x - rotate(x, d), m the slots that are the first of a pair and s = 1 or -1 for
    /// ascending and descending pairs, delta = (m/2) t + (s m/2) t sign(t), and x - delta +
    /// rotate(delta, -d) is x in order. Where levels run out, t is refreshed. The refresh's error
    /// stays in the numbers.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for an interval a >= b or bounds that are not
    /// finite, and for bits other than 1 to 40 or out of reach.
    pub fn sort(groups: Groups, interval: RangeInclusive<f64>, bits: u32) -> Result<Self> {
        let (range, precision) = (Range::new(interval)?, Precision::new(bits)?);
        let log = groups.size().ilog2() as usize;
        let stages = (log * (log + 1) / 2).max(1) as f64;
        let mut chosen = None;
        for sign in candidates(precision.bits() + libm::log2(stages * widened(precision))) {
            let error = relu_error(&sign)? * stages * widened(precision);
            if error <= precision.tolerance(1.0) {
                chosen = Some((sign, error));
                break;
            }
        }
        let (sign, error) = chosen.ok_or_else(|| precision.unreachable("sort", range))?;
        let (a, b) = range.bounds();
        let mut program = Program::default();
        let x = program.input(0);
        // To [-1/2, 1/2], and a little less.
        let width = (b - a) * widened(precision);
        let x = program.affine(x, 1.0 / width, -0.5 * (a + b) / width);
        let mut x = groups.filled(&mut program, x, 0.5 * (b - a) / width);
        for stage in 1..=log {
            for bit in (0..stage).rev() {
                let (block, distance) = (1usize << stage, 1usize << bit);
                let neighbour = groups.shifted(&mut program, x, distance as i64);
                let t = program.sum(&[(x, 1), (neighbour, -1)], 0.0);
                let first = |at: usize| if at & distance == 0 { 0.5 } else { 0.0 };
                let last_stage = stage == log;
                let up = |at: usize| if last_stage || at & block == 0 { 1.0 } else { -1.0 };
                let half = program.weighted(t, groups.weights(first));
                let signed = program.weighted(t, groups.weights(|at| first(at) * up(at)));
                let sign = sign.push(&mut program, t, 1.0, 0.0)?;
                let product = program.product(signed, sign);
                let delta = program.sum(&[(half, 1), (product, 1)], 0.0);
                let back = groups.shifted(&mut program, delta, -(distance as i64));
                x = program.sum(&[(x, 1), (delta, -1), (back, 1)], 0.0);
            }
        }
        let x = program.affine(x, width, 0.5 * (a + b));
        Ok(Self::new("sort", groups, (a, b), program.output(x), error * (b - a)))
    }

    /// The largest number of every group, in all of its slots, by log2(size) rounds of
    /// [`Comparison::max`](super::Comparison::max) with a rotation. The error is at most 2^-bits of
    /// the interval's width.
    ///
    /// # Errors
    /// The same as for [`sort`](Self::sort).
    pub fn maximum(groups: Groups, interval: RangeInclusive<f64>, bits: u32) -> Result<Self> {
        let (range, precision) = (Range::new(interval)?, Precision::new(bits)?);
        let (a, b) = range.bounds();
        let rounds = f64::from(groups.size().ilog2().max(1));
        #[expect(clippy::disallowed_methods, reason = "sizes are public")]
        let each = (precision.bits() + libm::log2(rounds * widened(precision))).ceil();
        let relu = Function::relu(1.0, each as u32)?;
        let width = (b - a) * widened(precision);
        let mut program = Program::default();
        let x = program.input(0);
        let x = program.affine(x, 1.0 / width, -0.5 * (a + b) / width);
        let x = groups.filled(&mut program, x, -0.5 * (b - a) / width);
        let largest = groups.fold(&mut program, x, |program, x, y| {
            let t = program.sum(&[(x, 1), (y, -1)], 0.0);
            let relu = program.inline(relu.program(), &[t]);
            program.sum(&[(relu, 1), (y, 1)], 0.0)
        });
        let largest = program.affine(largest, width, 0.5 * (a + b));
        let error = relu.error() * rounds * width;
        Ok(Self::new("maximum", groups, (a, b), program.output(largest), error))
    }
}
