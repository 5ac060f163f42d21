//! The largest numbers of vectors, by comparing all pairs.

use super::domain::{Precision, Range};
use super::groups::{GroupFunction, Groups};
use super::program::{Node, Program, Value};
use super::sign::CompositeSign;
use crate::error::{Error, Result};
use std::ops::RangeInclusive;

/// The largest groups whose pairs are compared: each distance takes rotation keys of its own.
const MAX_SIZE: usize = 256;

impl GroupFunction {
    /// 1 in the slot of the largest number of every group and 0 in its others, up to an error of
    /// 2^-bits: [`top_k`](Self::top_k) for k = 1.
    ///
    /// # Errors
    /// The same as for [`top_k`](Self::top_k).
    pub fn argmax(groups: Groups, interval: RangeInclusive<f64>, gap: f64, bits: u32) -> Result<Self> {
        Self::largest("argmax", groups, interval, (1, gap, bits))
    }

    /// 1 in the slots of the k largest numbers of every group and 0 in its others, up to an error
    /// of 2^-bits: a mask, which times the vector leaves the numbers themselves. Numbers must
    /// differ by `gap` at least; of numbers that are nearer to each other and share the k-th place,
    /// the result is between 0 and 1.
    ///
    /// All pairs are compared at once, as a batch of size / 2 ciphertexts; the sum of the signs is
    /// the rank, and a second sign compares it with k. Depth is that of two signs, the second one
    /// with a gap of about 1 / (2 size).
    ///
    /// Every distance has rotations of its own, there and back, each with a key: size - 1 keys
    /// where a group has all slots, and about twice as many otherwise. That is why groups of more
    /// than 256 slots are refused. For longer vectors, find the maximum, or the k-th largest number
    /// by [`sort`](Self::sort), both of which take only about 2 log2(size) rotations, and
    /// [compare](super::Comparison::compare) the vector with it, less half of the gap.
    ///
    /// # Errors
    /// [`Error::Argument`] for an interval a >= b or bounds that are not finite, for a gap that is
    /// not positive and below the interval's width, for bits other than 1 to 40, for a k other than
    /// 1 to the count, and for groups of more than 256 slots.
    pub fn top_k(
        groups: Groups,
        k: usize,
        interval: RangeInclusive<f64>,
        gap: f64,
        bits: u32,
    ) -> Result<Self> {
        Self::largest("top_k", groups, interval, (k, gap, bits))
    }

    fn largest(
        name: &'static str,
        groups: Groups,
        interval: RangeInclusive<f64>,
        (k, gap, bits): (usize, f64, u32),
    ) -> Result<Self> {
        let (range, precision) = (Range::new(interval)?, Precision::new(bits)?);
        let ((a, b), n) = (range.bounds(), groups.size());
        if !(1..=groups.count()).contains(&k) {
            let hint = format!("from 1 to {} are possible", groups.count());
            return Err(Error::domain("k", k.to_string(), hint));
        }
        if n > MAX_SIZE {
            let hint = format!(
                "up to {MAX_SIZE} are possible: compare longer vectors with their maximum, or sort them"
            );
            return Err(Error::domain("groups", format!("{n} slots"), hint));
        }
        if !(gap > 0.0 && gap < b - a) {
            let hint = format!("a positive number below {} is needed", b - a);
            return Err(Error::domain("gap", gap.to_string(), hint));
        }
        let mut program = Program::default();
        let x = program.input(0);
        if n == 1 {
            let one = program.sum(&[(x, 0)], 1.0);
            return Ok(Self::new(name, groups, (a, b), program.output(one), 0.0));
        }
        // The entries that fill groups are below every number.
        let low = if groups.count() < n { a - gap } else { a };
        let width = b - low;
        let x = program.affine(x, 1.0 / width, -low / width);
        let x = groups.filled(&mut program, x, 0.0);
        // The sum of signs is off by a quarter at most, where the nearest ranks are two apart. The
        // entries that fill groups compare equal to each other, and their ranks do not matter.
        let first = CompositeSign::new((gap / width).min(0.9), 0.25 / n as f64)?;
        // Over 2 n, members have a sum of n - 2 k + 1 at least, and others n - 2 k - 1 at most.
        let divisor = 2.0 * n as f64;
        let total = Self::signs(&mut program, groups, x, &first, divisor)?;
        let middle = (n as f64 - 2.0 * k as f64) / divisor;
        let centred = program.sum(&[(total, 1)], -middle);
        let second = CompositeSign::new(0.75 / divisor, precision.tolerance(2.0))?;
        let result = second.push(&mut program, centred, 0.5, 0.5)?;
        let error = 0.5 * second.error();
        Ok(Self::new(name, groups, (a, b), program.output(result), error))
    }

    /// For every slot, the sum of the signs of its differences from the others of its group, over
    /// `divisor`.
    fn signs(
        program: &mut Program,
        groups: Groups,
        x: Value,
        sign: &CompositeSign,
        divisor: f64,
    ) -> Result<Value> {
        let n = groups.size();
        let differences: Vec<Value> = (1..=n / 2)
            .map(|by| {
                let other = groups.rotated(program, x, by);
                program.sum(&[(x, 1), (other, -1)], 0.0)
            })
            .collect();
        let parts = differences.len();
        let all = program.push(Node::Batched(differences));
        let all = sign.push(program, all, 1.0 / divisor, 0.0)?;
        let mut terms = Vec::with_capacity(n);
        for at in 0..parts {
            let part = program.push(Node::Part { of: all, at, parts });
            terms.push((part, 1));
            let by = at + 1;
            if by < n - by {
                // The same pairs, seen from the other slot.
                terms.push((groups.rotated(program, part, n - by), -1));
            }
        }
        Ok(program.sum(&terms, 0.0))
    }
}
