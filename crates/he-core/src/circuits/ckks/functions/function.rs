//! Functions of one encrypted number.

use super::super::Refresher;
use super::domain::{Precision, Range};
use super::program::Program;
use super::series::approximate;
use crate::backend::RingOps;
use crate::circuits::Requirements;
use crate::ckks::{Ciphertext, Evaluator};
use crate::error::{Error, Result};
use crate::rlwe::EvaluationKeys;
use std::ops::RangeInclusive;

/// A function of every slot, approximated on an interval to a number of bits.
///
/// The caller gives the interval of the values and the bits wanted: the largest error on the
/// interval is at most 2^-bits of the function's largest magnitude there ([`peak`](Self::peak)).
/// The steps, which are polynomials and products, are those of least depth that were found, then of
/// the fewest relinearisations. Keys, depth and refreshes are known before there is a ciphertext,
/// and [`error`](Self::error) is the largest error measured on a dense grid, where what is computed
/// is evaluated in float64. Encryption adds its noise: a scale of 2^s carries about s - log2(N)
/// bits, and a refresh no more than its
/// [precision](crate::bootstrapping::presets::Preset::precision).
///
/// Values that are refreshed between steps are within [-1, 1]. A ciphertext without a level above
/// the refresher's reserve is refreshed as it is, so that its values must be in that range; with
/// one level more, it is scaled first. Outside the interval, results grow like a high power and
/// mean nothing.
///
/// ```
/// # fn main() -> Result<(), he_core::Error> {
/// use he_core::circuits::ckks::{Function, NeverRefresh};
/// let sigmoid = Function::sigmoid(-8.0..=8.0, 12)?;
/// assert!((sigmoid.apply_plain(1.0) - 0.731058).abs() < 2f64.powi(-12));
/// assert!(sigmoid.error() <= 2f64.powi(-12) && sigmoid.requirements().depth == 6);
/// // let y = sigmoid.apply(&ev, &x, &keys, &NeverRefresh)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    name: &'static str,
    interval: (f64, f64),
    program: Program,
    peak: f64,
    error: f64,
}

impl Function {
    /// Any function, by one polynomial: the closer to singularities the interval comes, the higher
    /// the degree. Its values must be those of a function that is smooth on the interval, such as
    /// the softplus ln(1 + e^x).
    ///
    /// # Errors
    /// [`Error::Argument`] for an interval a >= b or bounds that are not finite, for bits other
    /// than 1 to 40, for values of the function that are not finite, and where no polynomial of
    /// degree 4095 suffices.
    pub fn approximate(f: impl Fn(f64) -> f64, interval: RangeInclusive<f64>, bits: u32) -> Result<Self> {
        Self::single("function", f, Range::new(interval)?, Precision::new(bits)?, (f64::MIN, f64::MAX))
    }

    /// One polynomial of the mapped interval. Where the map would take a level, an interval a
    /// little wider, within `domain`, may take none.
    pub(super) fn single(
        name: &'static str,
        f: impl Fn(f64) -> f64,
        range: Range,
        precision: Precision,
        domain: (f64, f64),
    ) -> Result<Self> {
        let peak = range.peak(&f)?;
        let tolerance = precision.tolerance(peak);
        let mut best: Option<Program> = None;
        for wide in range.mapped_cheaply(domain) {
            let mapped = |t: f64| f(wide.at(t));
            // Beyond the interval that was asked for, there may be no values.
            let Some(polynomial) = approximate(&mapped, tolerance).or_else(|error| match wide == range {
                true => Err(error),
                false => Ok(None),
            })?
            else {
                continue;
            };
            let mut program = Program::default();
            let x = program.input(0);
            let y = wide.push_map(&mut program, x);
            let y = program.polynomial(y, polynomial);
            let program = program.output(y);
            if best.as_ref().is_none_or(|best| cost(&program) < cost(best)) {
                best = Some(program);
            }
        }
        let program = best.ok_or_else(|| precision.unreachable(name, range))?;
        Self::measured(name, program, range.points(4096), range, peak, f)
    }

    /// With the largest error at these points.
    pub(super) fn measured(
        name: &'static str,
        program: Program,
        points: Vec<f64>,
        range: Range,
        peak: f64,
        f: impl Fn(f64) -> f64,
    ) -> Result<Self> {
        let found = program.apply_plain(&[&points]);
        let error = points.iter().zip(&found).map(|(&x, y)| (y - f(x)).abs()).fold(0.0, f64::max);
        if !error.is_finite() {
            return Err(Error::domain(name, "an error that is not finite", "choose another interval"));
        }
        Ok(Self { name, interval: range.bounds(), program, peak, error })
    }

    /// The name, such as `sigmoid`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The interval on which it is an approximation.
    pub fn interval(&self) -> RangeInclusive<f64> {
        self.interval.0..=self.interval.1
    }

    /// The function's largest magnitude on the interval.
    pub fn peak(&self) -> f64 {
        self.peak
    }

    /// The largest error on the interval, as measured in float64.
    pub fn error(&self) -> f64 {
        self.error
    }

    /// -log2 of the error over the peak.
    pub fn bits(&self) -> f64 {
        -libm::log2(self.error / self.peak)
    }

    /// Levels and keys without refreshes: the relinearisation key, and no rotations.
    pub fn requirements(&self) -> Requirements {
        self.program.requirements()
    }

    /// Products and sums of products that are relinearised, which is most of the cost.
    pub fn relinearisations(&self) -> usize {
        self.program.relinearisations()
    }

    /// The refreshes of [`apply`](Self::apply) for a ciphertext of this level, and the level of its
    /// result.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] if levels do not suffice and there are no refreshes.
    pub fn plan<B: RingOps>(&self, level: usize, refresher: &impl Refresher<B>) -> Result<(usize, usize)> {
        self.program.plan(&[level], refresher)
    }

    /// The refreshes of [`apply`](Self::apply) for a ciphertext of this level.
    ///
    /// # Errors
    /// The same as for [`plan`](Self::plan).
    pub fn refreshes<B: RingOps>(&self, level: usize, refresher: &impl Refresher<B>) -> Result<usize> {
        self.plan(level, refresher).map(|(refreshes, _)| refreshes)
    }

    /// The function of every slot of a batch, whose values are real and in the interval. Before a
    /// step that the levels do not suffice for, the values that it takes are refreshed.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] if levels do not suffice and there are no refreshes;
    /// [`Error::MissingRelinKey`], [`Error::ParamsMismatch`]; those of the refresher; device
    /// errors.
    pub fn apply<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        ct: &Ciphertext<B>,
        keys: &EvaluationKeys<B>,
        refresher: &impl Refresher<B>,
    ) -> Result<Ciphertext<B>> {
        self.program.apply(ev, &[ct], keys, refresher)
    }

    /// Evaluates the same program at x, in float64.
    pub fn apply_plain(&self, x: f64) -> f64 {
        self.apply_plain_all(&[x]).first().copied().unwrap_or(f64::NAN)
    }

    /// Evaluates the same program at many numbers at once, which is faster.
    pub fn apply_plain_all(&self, x: &[f64]) -> Vec<f64> {
        self.program.apply_plain(&[x])
    }

    /// As a step of another program, on a value of it.
    pub(super) fn program(&self) -> &Program {
        &self.program
    }
}

/// The measure by which candidates are compared: depth, then relinearisations.
pub(super) fn cost(program: &Program) -> (usize, usize) {
    (program.requirements().depth, program.relinearisations())
}
