//! Exponential and logarithm, and the smooth activations of neural networks.

use super::domain::{Precision, Range};
use super::function::Function;
use super::program::Program;
use super::series::approximate;
use crate::error::{Error, Result};
use std::ops::RangeInclusive;

/// All real numbers.
const REALS: (f64, f64) = (f64::MIN, f64::MAX);

/// 1 / (1 + e^-x).
fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-x))
}

/// x times the normal distribution's probability below x.
fn gelu(x: f64) -> f64 {
    0.5 * x * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

macro_rules! smooth {
    ($($(#[$doc:meta])* $name:ident = $f:expr;)*) => {
        impl Function {
            $(
                $(#[$doc])*
                ///
                /// # Errors
                /// The same as for [`approximate`](Self::approximate).
                pub fn $name(interval: RangeInclusive<f64>, bits: u32) -> Result<Self> {
                    Self::single(stringify!($name), $f, Range::new(interval)?, Precision::new(bits)?, REALS)
                }
            )*
        }
    };
}

smooth! {
    /// The logistic function 1 / (1 + e^-x), by one polynomial. Its poles are at odd multiples of
    /// pi i: the degree grows with the width of the interval, the depth with the width's logarithm.
    sigmoid = sigmoid;
    /// The hyperbolic tangent, by one polynomial, which is odd on symmetric intervals: the logistic
    /// function of 2 x, on [-1, 1].
    tanh = libm::tanh;
    /// The Gaussian error linear unit x P(X <= x) for a standard normal X (Hendrycks, Gimpel 2016),
    /// exactly defined by the error function, by one polynomial.
    gelu = gelu;
    /// The sigmoid linear unit x / (1 + e^-x), also called swish, by one polynomial.
    silu = |x| x * sigmoid(x);
}

impl Function {
    /// e^x, by one polynomial, or the square of a square of e^(x / 2^k) where that is cheaper. The
    /// error is relative to the greatest value, at the upper end.
    ///
    /// # Errors
    /// [`Error::Argument`] for an upper end above 27, whose exponential
    /// exceeds 2^38; the same as for [`approximate`](Self::approximate).
    pub fn exp(interval: RangeInclusive<f64>, bits: u32) -> Result<Self> {
        let (range, precision) = (Range::new(interval)?, Precision::new(bits)?);
        let (_, b) = range.bounds();
        if b > 27.0 {
            return Err(Error::domain(
                "exp",
                format!("values up to {b}"),
                "an end of at most 27 is possible",
            ));
        }
        let mut candidates: Vec<Self> =
            Self::single("exp", libm::exp, range, precision, REALS).into_iter().collect();
        // e^x = c (e^((x - ln c) / 2^k))^(2^k), where the power is at most one.
        let c = power_of_two_above(libm::exp(b));
        for squarings in 1..=6 {
            let part = libm::exp2(f64::from(squarings));
            let mut program = Program::default();
            let x = program.input(0);
            let f = |x: f64| libm::exp((x - libm::log(c)) / part);
            let tolerance = precision.tolerance(f(b)) / part / 1.1;
            let Some(first) = approximate(&|t| f(range.at(t)), tolerance)? else { continue };
            let t = range.push_map(&mut program, x);
            let mut y = program.polynomial(t, first);
            for _ in 0..squarings {
                y = program.product(y, y);
            }
            let y = program.affine(y, c, 0.0);
            let program = program.output(y);
            let peak = libm::exp(b);
            candidates.push(Self::measured("exp", program, range.points(4096), range, peak, libm::exp)?);
        }
        Self::cheapest(candidates, precision).ok_or_else(|| precision.unreachable("exp", range))
    }

    /// The natural logarithm, by one polynomial, on a positive interval. The degree grows with the
    /// root of the ratio of its ends.
    ///
    /// # Errors
    /// [`Error::Argument`] for an interval that does not begin above 0; the
    /// same as for [`approximate`](Self::approximate).
    pub fn log(interval: RangeInclusive<f64>, bits: u32) -> Result<Self> {
        let range = Range::new(interval)?.within("log", 0.0, true)?;
        Self::single("log", libm::log, range, Precision::new(bits)?, (f64::MIN_POSITIVE, f64::MAX))
    }
}

/// The least power of two that is neither below x nor below one.
#[expect(clippy::disallowed_methods, reason = "intervals are public")]
fn power_of_two_above(x: f64) -> f64 {
    libm::exp2(libm::log2(x).ceil().max(0.0))
}
