//! Functions of two encrypted numbers, by their difference.

use super::super::Refresher;
use super::domain::Range;
use super::function::Function;
use super::program::Program;
use crate::backend::RingOps;
use crate::circuits::Requirements;
use crate::ckks::{Ciphertext, Evaluator};
use crate::error::Result;
use crate::rlwe::EvaluationKeys;
use std::ops::RangeInclusive;

/// A function of two numbers of one interval, slot by slot: which is greater, the greater, or the
/// smaller.
///
/// All are computed from the difference, whose sign is a
/// [`CompositeSign`](super::CompositeSign). As for a [`Function`], keys, depth, refreshes and the
/// measured error are known before there is a ciphertext. Where differences are refreshed, they are
/// scaled to [-1, 1] first, which takes a level unless the interval's width is one over an integer,
/// as for [0, 1].
///
/// ```
/// # fn main() -> Result<(), he_core::Error> {
/// use he_core::circuits::ckks::Comparison;
/// let max = Comparison::max(0.0..=1.0, 10)?;
/// assert!((max.apply_plain(0.25, 0.75) - 0.75).abs() <= max.error());
/// let greater = Comparison::compare(0.0..=1.0, 0.01, 10)?;
/// assert!(greater.apply_plain(0.30, 0.28) > 0.999 && greater.apply_plain(0.28, 0.30) < 0.001);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    name: &'static str,
    interval: (f64, f64),
    program: Program,
    error: f64,
}

impl Comparison {
    /// The difference of two numbers, and a function of it.
    fn new(
        name: &'static str,
        range: Range,
        function: &Function,
        result: impl Fn(&mut Program, [usize; 3]) -> usize,
    ) -> Result<Self> {
        let mut program = Program::default();
        let [a, b] = [program.input(0), program.input(1)];
        let difference = program.sum(&[(a, 1), (b, -1)], 0.0);
        let value = program.inline(function.program(), &[difference]);
        let result = result(&mut program, [a, b, value]);
        Ok(Self { name, interval: range.bounds(), program: program.output(result), error: function.error() })
    }

    /// 1 where a > b and 0 where a < b, up to an error of 2^-bits, for numbers that differ by `gap`
    /// at least. Where they differ by less, the result is between.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for an interval a >= b or bounds that are not
    /// finite, for a gap that is not positive and below the interval's width, and for bits other
    /// than 1 to 40.
    pub fn compare(interval: RangeInclusive<f64>, gap: f64, bits: u32) -> Result<Self> {
        let range = Range::new(interval)?;
        let step = Function::step(range.width(), gap, bits)?;
        Self::new("compare", range, &step, |_, [_, _, step]| step)
    }

    /// max(a, b) = b + relu(a - b), with an error of at most 2^-bits of the interval's width.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for an interval a >= b or bounds that are not
    /// finite, and for bits other than 1 to 40 or out of reach.
    pub fn max(interval: RangeInclusive<f64>, bits: u32) -> Result<Self> {
        let range = Range::new(interval)?;
        let relu = Function::relu(range.width(), bits)?;
        Self::new("max", range, &relu, |program, [_, b, relu]| program.sum(&[(relu, 1), (b, 1)], 0.0))
    }

    /// min(a, b) = a - relu(a - b), likewise.
    ///
    /// # Errors
    /// The same as for [`max`](Self::max).
    pub fn min(interval: RangeInclusive<f64>, bits: u32) -> Result<Self> {
        let range = Range::new(interval)?;
        let relu = Function::relu(range.width(), bits)?;
        Self::new("min", range, &relu, |program, [a, _, relu]| program.sum(&[(a, 1), (relu, -1)], 0.0))
    }

    /// The name: `compare`, `max` or `min`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The interval in which both numbers must be.
    pub fn interval(&self) -> RangeInclusive<f64> {
        self.interval.0..=self.interval.1
    }

    /// The largest error, as measured in float64.
    pub fn error(&self) -> f64 {
        self.error
    }

    /// Levels and keys without refreshes: the relinearisation key, and no rotations.
    pub fn requirements(&self) -> Requirements {
        self.program.requirements()
    }

    /// Products and sums of products that are relinearised.
    pub fn relinearisations(&self) -> usize {
        self.program.relinearisations()
    }

    /// The refreshes of [`apply`](Self::apply) for ciphertexts of these levels, and the level of
    /// its result.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`](crate::Error::LevelExhausted) if levels do not suffice and there
    /// are no refreshes.
    pub fn plan<B: RingOps>(
        &self,
        levels: [usize; 2],
        refresher: &impl Refresher<B>,
    ) -> Result<(usize, usize)> {
        self.program.plan(&levels, refresher)
    }

    /// The function of every pair of slots; `b` may have a batch of one.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`](crate::Error::LevelExhausted) if levels do not suffice and there
    /// are no refreshes; [`Error::MissingRelinKey`](crate::Error::MissingRelinKey),
    /// [`Error::ParamsMismatch`](crate::Error::ParamsMismatch); mismatch of batches or key sets;
    /// those of the refresher; device errors.
    pub fn apply<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        a: &Ciphertext<B>,
        b: &Ciphertext<B>,
        keys: &EvaluationKeys<B>,
        refresher: &impl Refresher<B>,
    ) -> Result<Ciphertext<B>> {
        self.program.apply(ev, &[a, b], keys, refresher)
    }

    /// Evaluates the same program in float64.
    pub fn apply_plain(&self, a: f64, b: f64) -> f64 {
        self.program.apply_plain(&[&[a], &[b]]).first().copied().unwrap_or(f64::NAN)
    }
}
