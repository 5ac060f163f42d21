//! Softmax of vectors.

use super::domain::{Precision, Range};
use super::function::cost;
use super::groups::{GroupFunction, Groups};
use super::program::{Node, Program, Value};
use super::roots::push_inverse;
use super::series::approximate;
use crate::error::{Error, Result};
use std::ops::RangeInclusive;

/// Normalise-and-square steps that are tried.
const MAX_SQUARINGS: u32 = 10;

/// The relative error of a sum's inverse where another step follows, which needs its range alone.
const ROUGH: f64 = 1.0 / 32.0;

/// The margin for errors that is left below the least sum and above the greatest one.
const MARGIN: f64 = 0.1;

impl GroupFunction {
    /// e^(x_i) / sum_j e^(x_j) for the numbers of every group, with an error of at most 2^-bits; 0
    /// in slots beyond the count.
    ///
    /// No maximum is needed: the softmax of x / 2^k, whose exponentials have a narrow range, is
    /// squared and normalised k times (Cho, Hanrot, Kim, Kim, Yoon: "Fast and accurate homomorphic
    /// softmax evaluation", CCS 2024). Every normalisation is a sum over the group and
    /// Goldschmidt's inverse; k is the one of least depth, which grows with the logarithm of the
    /// interval's width.
    ///
    /// # Errors
    /// [`Error::Argument`] for an interval a >= b or bounds that are not finite, and for bits other
    /// than 1 to 40 or out of reach.
    pub fn softmax(groups: Groups, interval: RangeInclusive<f64>, bits: u32) -> Result<Self> {
        let (range, precision) = (Range::new(interval)?, Precision::new(bits)?);
        let mut best: Option<Program> = None;
        for squarings in 0..=MAX_SQUARINGS {
            let Ok(program) = steps(groups, range, precision, squarings) else { continue };
            if best.as_ref().is_none_or(|best| cost(&program) < cost(best)) {
                best = Some(program);
            }
        }
        let program = best.ok_or_else(|| precision.unreachable("softmax", range))?;
        // Numerators and denominators are off by the relative error of the exponential, and the
        // last inverse by its own.
        let error = 3.0 * relative(precision);
        if measured(&program, groups, range) <= error {
            return Ok(Self::new("softmax", groups, range.bounds(), program, error));
        }
        Err(precision.unreachable("softmax", range))
    }
}

/// The relative error of each of the two parts that errors come from.
fn relative(precision: Precision) -> f64 {
    precision.tolerance(0.25)
}

fn steps(groups: Groups, range: Range, precision: Precision, squarings: u32) -> Result<Program> {
    let (a, b) = range.bounds();
    let (count, part) = (groups.count() as f64, libm::exp2(f64::from(squarings)));
    let least = libm::exp((a - b) / part);
    let relative = relative(precision);
    let exponential = |t: f64| libm::exp((range.at(t) - b) / part);
    let unreachable = || Error::domain("softmax", "the exponential", "ask for fewer bits");
    let exponential = approximate(&exponential, relative / part * least)?.ok_or_else(unreachable)?;
    let mut program = Program::default();
    let x = program.input(0);
    let t = range.push_map(&mut program, x);
    let y = program.polynomial(t, exponential);
    let y = groups.filled(&mut program, y, 0.0);
    let sums = (count * least * (1.0 - MARGIN), count * (1.0 + MARGIN));
    let mut y = normalised(&mut program, groups, y, sums, if squarings == 0 { relative } else { ROUGH })?;
    for left in (0..squarings).rev() {
        let square = program.product(y, y);
        let sums = ((1.0 - MARGIN) / count, 1.0 + MARGIN);
        y = normalised(&mut program, groups, square, sums, if left == 0 { relative } else { ROUGH })?;
    }
    Ok(program.output(y))
}

/// The numbers of every group over their sum, which is in a range.
fn normalised(
    program: &mut Program,
    groups: Groups,
    y: Value,
    (least, greatest): (f64, f64),
    relative: f64,
) -> Result<Value> {
    // Sums may exceed the range of a refresh: what scales them must not need one.
    let y = program.push(Node::Ready(y, 2));
    let sum = groups.sum(program, y);
    let (inverse, divisor) = push_inverse(program, sum, Range::new(least..=greatest)?, relative)?;
    let y = program.product(y, inverse);
    Ok(program.affine(y, divisor, 0.0))
}

/// The largest error for vectors of extremes and of numbers in between.
fn measured(program: &Program, groups: Groups, range: Range) -> f64 {
    let count = groups.count();
    let mut largest: f64 = 0.0;
    for round in 0..48usize {
        let entry = |slot: usize| {
            let (at, golden) = (groups.position(slot), (slot * 48 + round) as f64 * 0.618_033_988_749_894_8);
            let t = match round {
                0 => -1.0,
                1 => 1.0,
                2 | 3 => {
                    if at == 0 {
                        1.0
                    } else {
                        -1.0
                    }
                }
                4 | 5 => {
                    if at == 0 {
                        -1.0
                    } else {
                        1.0
                    }
                }
                6..=11 => 2.0 * at as f64 / count as f64 - 1.0,
                _ => {
                    // Numbers in a part of the interval.
                    let width = libm::exp2(-((round % 6) as f64));
                    let spread = 2.0 * (golden - golden as u64 as f64) - 1.0;
                    (1.0 - width) * libm::cos(round as f64) + width * spread
                }
            };
            range.at(t)
        };
        let x: Vec<f64> = (0..groups.slots()).map(entry).collect();
        let found = program.apply_plain(&[&x]);
        for (y, expected) in found.iter().zip(exact(groups, &x)) {
            largest = largest.max((y - expected).abs());
        }
    }
    largest
}

/// The softmax in float64.
pub(super) fn exact(groups: Groups, x: &[f64]) -> Vec<f64> {
    let (count, stride) = (groups.count(), groups.stride());
    let mut result = vec![0.0; x.len()];
    for first in (0..x.len()).filter(|&slot| groups.position(slot) == 0) {
        let members = || (0..count).map(|at| first + at * stride);
        let most = members().map(|slot| x[slot]).fold(f64::MIN, f64::max);
        let total: f64 = members().map(|slot| libm::exp(x[slot] - most)).sum();
        members().for_each(|slot| result[slot] = libm::exp(x[slot] - most) / total);
    }
    result
}
