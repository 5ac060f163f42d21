//! Sign, step, absolute value and rectifier, by the composite sign.

use super::domain::{Precision, Range};
use super::function::Function;
use super::program::{LARGEST_INTEGER, Program, Value};
use super::sign::CompositeSign;
use crate::error::{Error, Result};

/// A scale that brings values of magnitude up to a bound into [-1, 1]: without a level for bounds
/// up to one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Normaliser {
    /// The factor by which values are multiplied.
    pub factor: f64,
    /// The integer factor that undoes it, and the fraction beside it, at most one.
    pub back: (i64, f64),
}

impl Normaliser {
    /// For a bound that was checked.
    #[expect(clippy::disallowed_methods, reason = "bounds are public")]
    pub fn new(bound: f64) -> Self {
        if bound <= 1.0 {
            let factor = (1.0 / bound).floor().min(LARGEST_INTEGER);
            return Self { factor, back: (1, 1.0 / factor) };
        }
        // The bound itself takes a level as well as an integer does, but cannot be undone for free.
        let whole = bound.ceil();
        Self { factor: 1.0 / whole, back: (whole as i64, 1.0) }
    }

    /// The part of [-1, 1] that values up to the bound fill.
    pub fn filled(&self, bound: f64) -> f64 {
        bound * self.factor
    }
}

/// The functions that are computed from a sign.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rectified {
    Abs,
    Relu,
}

/// Compositions whose product with x is within bits: the gap may be wider than the error, since the
/// error at x counts x times.
pub(super) fn candidates(bits: f64) -> impl Iterator<Item = CompositeSign> {
    (0..16).filter_map(move |i| {
        let bits = bits - 1.0 + 0.2 * f64::from(i);
        let gap = libm::exp2((3.0 - bits).min(-0.1));
        let error = libm::exp2((1.0 - bits).min(-0.1));
        CompositeSign::new(gap, error).ok()
    })
}

/// Appends y (1 + sign(y)) / 2 or y sign(y), times a fraction, for y in [-1, 1].
pub(super) fn push_rectified(
    program: &mut Program,
    y: Value,
    sign: &CompositeSign,
    what: Rectified,
    fraction: f64,
) -> Result<Value> {
    let factor = match what {
        Rectified::Abs => sign.push(program, y, fraction, 0.0)?,
        Rectified::Relu => sign.push(program, y, 0.5 * fraction, 0.5 * fraction)?,
    };
    Ok(program.product(y, factor))
}

impl Function {
    fn rectified(
        name: &'static str,
        what: Rectified,
        bound: f64,
        bits: u32,
        f: impl Fn(f64) -> f64 + Copy,
    ) -> Result<Self> {
        let (range, precision) = (Range::symmetric(bound)?, Precision::new(bits)?);
        let normaliser = Normaliser::new(bound);
        let extra = if what == Rectified::Abs { 1.0 } else { 0.0 };
        let needed = precision.bits() + extra - libm::log2(normaliser.filled(bound));
        for sign in candidates(needed) {
            let mut program = Program::default();
            let x = program.input(0);
            let y = program.affine(x, normaliser.factor, 0.0);
            let (integer, fraction) = normaliser.back;
            let y = push_rectified(&mut program, y, &sign, what, fraction)?;
            let y = program.affine(y, integer as f64, 0.0);
            let found = Self::measured(name, program.output(y), range.points(4096), range, bound, f)?;
            if found.error() <= precision.tolerance(bound) {
                return Ok(found);
            }
        }
        Err(precision.unreachable(name, range))
    }

    /// max(x, 0) for |x| <= bound: x (1 + sign(x)) / 2 with a [`CompositeSign`]. The error is at
    /// most 2^-bits of the bound.
    ///
    /// # Errors
    /// [`Error::Argument`] for a bound that is not positive and finite, and for bits other than 1
    /// to 40 or out of reach.
    pub fn relu(bound: f64, bits: u32) -> Result<Self> {
        Self::rectified("relu", Rectified::Relu, bound, bits, |x| x.max(0.0))
    }

    /// |x| for |x| <= bound: x sign(x) with a [`CompositeSign`]. The error is at most 2^-bits of
    /// the bound.
    ///
    /// # Errors
    /// The same as for [`relu`](Self::relu).
    pub fn abs(bound: f64, bits: u32) -> Result<Self> {
        Self::rectified("abs", Rectified::Abs, bound, bits, f64::abs)
    }

    /// The sign of x, for `gap` <= |x| <= `bound`, by a [`CompositeSign`]: 1 or -1 up to an error
    /// of 2^-bits. Nearer to 0, the result is between.
    ///
    /// # Errors
    /// [`Error::Argument`] for a bound that is not positive and finite, for a gap that is not below
    /// it or below 2^-40 of it, and for bits other than 1 to 40.
    pub fn sign(bound: f64, gap: f64, bits: u32) -> Result<Self> {
        Self::threshold("sign", (bound, gap, bits), (1.0, 0.0), |x| if x < 0.0 { -1.0 } else { 1.0 })
    }

    /// 1 where x > 0, and 0 where x < 0, for `gap` <= |x| <= `bound`, up to an error of 2^-bits:
    /// half of one plus the [`sign`](Self::sign).
    ///
    /// # Errors
    /// The same as for [`sign`](Self::sign).
    pub fn step(bound: f64, gap: f64, bits: u32) -> Result<Self> {
        Self::threshold("step", (bound, gap, bits), (0.5, 0.5), |x| if x < 0.0 { 0.0 } else { 1.0 })
    }

    fn threshold(
        name: &'static str,
        (bound, gap, bits): (f64, f64, u32),
        (factor, offset): (f64, f64),
        f: impl Fn(f64) -> f64,
    ) -> Result<Self> {
        let (range, precision) = (Range::symmetric(bound)?, Precision::new(bits)?);
        if !(gap > 0.0 && gap < bound) {
            let hint = format!("a positive number below the bound {bound} is needed");
            return Err(Error::domain("gap", gap.to_string(), hint));
        }
        let normaliser = Normaliser::new(bound);
        let sign = CompositeSign::new(gap * normaliser.factor, precision.tolerance(1.0) / factor)?;
        let mut program = Program::default();
        let x = program.input(0);
        let y = program.affine(x, normaliser.factor, 0.0);
        let y = sign.push(&mut program, y, factor, offset)?;
        let outside = Range::new(gap..=bound)?.points(4096);
        let points = outside.iter().flat_map(|&x| [x, -x]).collect();
        Self::measured(name, program.output(y), points, range, 1.0, f)
    }
}
