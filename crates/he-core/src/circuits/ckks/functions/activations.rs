//! Exponential and logarithm, and the smooth activations of neural networks.

use super::domain::{Precision, Range};
use super::function::Function;
use crate::error::Result;
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
    /// e^x, by one polynomial. The error is relative to its greatest value, at the upper end.
    exp = libm::exp;
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
    /// The natural logarithm, by one polynomial, on a positive interval. The degree grows with the
    /// root of the ratio of its ends.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for an interval that does not begin above 0; the
    /// same as for [`approximate`](Self::approximate).
    pub fn log(interval: RangeInclusive<f64>, bits: u32) -> Result<Self> {
        let range = Range::new(interval)?.within("log", 0.0, true)?;
        Self::single("log", libm::log, range, Precision::new(bits)?, (f64::MIN_POSITIVE, f64::MAX))
    }
}
