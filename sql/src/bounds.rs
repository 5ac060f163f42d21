//! Public bounds of the values of cells, which follow every function: a result that may leave the
//! numbers that the parameters hold is refused before anything is computed.

use he_files::contents::operator::Operator;
use he_files::layout::Op;
use serde::{Deserialize, Serialize};

/// Up to here every integer is a number of its own; bounds beyond are rounded outwards.
const EXACT: f64 = (1u64 << 53) as f64;

/// Bounds of all slots of a cell, of values as well as of padding.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "(f64, f64)", into = "(f64, f64)")]
pub struct Bounds {
    low: f64,
    high: f64,
}

impl TryFrom<(f64, f64)> for Bounds {
    type Error = &'static str;

    fn try_from((low, high): (f64, f64)) -> Result<Self, Self::Error> {
        let ordered = low.is_finite() && high.is_finite() && low <= high;
        if ordered { Ok(Self { low, high }) } else { Err("bounds that are not two numbers in order") }
    }
}

impl From<Bounds> for (f64, f64) {
    fn from(of: Bounds) -> Self {
        (of.low, of.high)
    }
}

impl Bounds {
    /// The bounds of one number.
    pub fn of(value: f64) -> Self {
        Self::rounded(value, value)
    }

    /// The bounds of numbers of at most this magnitude.
    pub fn within(magnitude: f64) -> Self {
        Self::rounded(-magnitude.abs(), magnitude.abs())
    }

    /// Finite bounds that include these.
    fn rounded(low: f64, high: f64) -> Self {
        // A sum with zero has no sign if it is zero.
        let finite = |x: f64, other: f64| if x.is_nan() { other } else { x.clamp(f64::MIN, f64::MAX) + 0.0 };
        let (low, high) = (finite(low, f64::MIN), finite(high, f64::MAX));
        Self {
            low: if low.abs() < EXACT { low } else { low.next_down().max(f64::MIN) },
            high: if high.abs() < EXACT { high } else { high.next_up().min(f64::MAX) },
        }
    }

    /// The least value.
    pub fn low(self) -> f64 {
        self.low
    }

    /// The greatest value.
    pub fn high(self) -> f64 {
        self.high
    }

    /// The greatest magnitude.
    pub fn magnitude(self) -> f64 {
        self.low.abs().max(self.high.abs())
    }

    /// Whether a value lies between them.
    pub fn hold(self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// The bounds of either.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// The bounds of `self op other`.
    #[must_use]
    pub fn combined(self, op: Op, other: Self) -> Self {
        let operator = match op {
            Op::Add => Operator::Add,
            Op::Sub => Operator::Sub,
            Op::Mul => Operator::Mul,
        };
        let (low, high) = operator.bounds(self.into(), other.into());
        Self::rounded(low, high)
    }

    /// The bounds of sums of this many values, or of fewer but at least one.
    #[must_use]
    pub fn total(self, most: u64) -> Self {
        self.or(self.combined(Op::Mul, Self::of(most.max(1) as f64)))
    }

    /// The bounds of c0 + c1 x + c2 x^2 + ...
    #[must_use]
    pub fn polynomial(self, coefficients: &[f64]) -> Self {
        let (mut sum, mut power) = (Self::of(0.0), Self::of(1.0));
        for (exponent, &coefficient) in coefficients.iter().enumerate() {
            sum = sum.combined(Op::Add, power.combined(Op::Mul, Self::of(coefficient)));
            power = power.combined(Op::Mul, self);
            if exponent % 2 == 1 {
                // The next power is even.
                power.low = power.low.max(0.0);
            }
        }
        sum
    }

    /// These bounds within a magnitude.
    #[must_use]
    pub fn clamped(self, magnitude: f64) -> Self {
        Self { low: self.low.clamp(-magnitude, magnitude), high: self.high.clamp(-magnitude, magnitude) }
    }

    /// Bounds to be published: those of the values and of zero, rounded outwards to powers of two.
    pub fn published(values: impl Iterator<Item = f64>) -> Self {
        let all = values.fold(Self::of(0.0), |all, value| all.or(Self::of(value)));
        let power = |x: f64| if x == 0.0 { 0.0 } else { x.abs().log2().ceil().exp2().min(f64::MAX) };
        Self { low: 0.0 - power(all.low), high: power(all.high) }
    }
}

/// A bound for people: integers as they are, others with few digits.
pub fn shown(bound: f64) -> String {
    match bound.abs() {
        size if size < 1e15 && bound.fract() == 0.0 => format!("{bound:.0}"),
        size if (1e-3..1e6).contains(&size) => format!("{bound:.3}"),
        _ => format!("{bound:.3e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(low: f64, high: f64) -> Bounds {
        Bounds::try_from((low, high)).unwrap()
    }

    #[test]
    fn results_lie_between_the_bounds() {
        let (a, b) = (bounds(-3.0, 5.0), bounds(2.0, 4.0));
        let numbers = |of: Bounds| (of.low as i64..=of.high as i64).map(|x| x as f64);
        for op in [Op::Add, Op::Sub, Op::Mul] {
            let results = numbers(a).flat_map(|x| {
                numbers(b).map(move |y| match op {
                    Op::Add => x + y,
                    Op::Sub => x - y,
                    Op::Mul => x * y,
                })
            });
            let all: Vec<f64> = results.collect();
            let least = all.iter().copied().fold(f64::MAX, f64::min);
            let greatest = all.iter().copied().fold(f64::MIN, f64::max);
            assert_eq!(a.combined(op, b), bounds(least, greatest));
        }
        assert_eq!((a.total(10), b.total(10)), (bounds(-30.0, 50.0), bounds(2.0, 40.0)));
        let of = |x: f64| 1.0 - 2.0 * x + 3.0 * x * x - x * x * x;
        let all = a.polynomial(&[1.0, -2.0, 3.0, -1.0]);
        assert!(numbers(a).all(|x| all.hold(of(x))), "{all:?}");
        assert_eq!(a.polynomial(&[0.0, 0.0, 1.0]), bounds(0.0, 25.0));
    }

    #[test]
    fn bounds_are_rounded_outwards_and_stay_finite() {
        let odd = ((1u64 << 53) + 1) as f64;
        assert!(Bounds::of(odd).high() >= 9_007_199_254_740_993.0 && Bounds::of(odd).low() < odd);
        let huge = Bounds::within(1e300).combined(Op::Mul, Bounds::within(1e300));
        assert_eq!(huge, bounds(f64::MIN, f64::MAX));
        assert_eq!(huge.combined(Op::Mul, Bounds::of(0.0)), Bounds::of(0.0));
        assert_eq!(Bounds::published([3.0, -0.75].into_iter()), bounds(-1.0, 4.0));
        for text in ["[1, 0]", "[1, null]", "[1]", "3"] {
            assert!(serde_json::from_str::<Bounds>(text).is_err(), "{text}");
        }
        assert_eq!(serde_json::from_str::<Bounds>("[-1, 2.5]").unwrap(), bounds(-1.0, 2.5));
    }
}
