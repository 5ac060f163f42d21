//! Public bounds of the values of encrypted arrays: what results may be, and whether ciphertexts
//! hold it.
//!
//! Values beyond what a ciphertext holds come back modulo that, without an error that anybody could
//! see. Bounds are known to everyone who has a ciphertext; those of an array that is encrypted are
//! therefore rounded to one of eight steps per power of two.

use super::{LayoutError, Op};
use serde::{Deserialize, Serialize};

/// An interval that holds all values: the real numbers, or for complex ones the magnitudes with
/// either sign.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// No value is smaller.
    pub low: f64,
    /// No value is greater.
    pub high: f64,
}

impl Bounds {
    /// From `low` to `high`, if these are finite and in order.
    pub fn new(low: f64, high: f64) -> Option<Self> {
        (low.is_finite() && high.is_finite() && low <= high).then_some(Self { low, high })
    }

    /// Magnitudes up to `bound`.
    pub fn within(bound: f64) -> Option<Self> {
        Self::new(-bound, bound)
    }

    /// The exact bounds of values in the clear; `None` without any.
    pub fn exact(values: impl Iterator<Item = f64>) -> Option<Self> {
        let hull = |all: Option<(f64, f64)>, x: f64| {
            Some(all.map_or((x, x), |(low, high)| (low.min(x), high.max(x))))
        };
        values.fold(None, hull).and_then(|(low, high)| Self::new(low, high))
    }

    /// What may be said of values that are encrypted: whether there are negative and positive ones,
    /// and their magnitude, of at least 1, rounded up to one of eight steps per power of two.
    pub fn public(values: impl Iterator<Item = f64>) -> Option<Self> {
        let Self { low, high } = Self::exact(values)?;
        let up = |x: f64| match x {
            x if x <= 0.0 => 0.0,
            x => {
                let step = x.max(1.0).log2().floor().exp2() / 8.0;
                (x.max(1.0) / step).ceil() * step
            }
        };
        Self::new(-up(-low), up(high))
    }

    /// The greatest magnitude.
    pub fn magnitude(self) -> f64 {
        self.high.max(-self.low)
    }

    /// Those of `a op b`.
    pub fn combined(self, other: Self, op: Op) -> Option<Self> {
        match op {
            Op::Add => Self::new(self.low + other.low, self.high + other.high),
            Op::Sub => Self::new(self.low - other.high, self.high - other.low),
            Op::Mul => {
                Self::exact([self.low, self.high].into_iter().flat_map(|a| [a * other.low, a * other.high]))
            }
        }
    }

    /// Those of the values times a number.
    pub fn scaled(self, factor: f64) -> Option<Self> {
        Self::exact([self.low * factor, self.high * factor].into_iter())
    }

    /// Those of squares.
    pub fn squared(self) -> Option<Self> {
        let ends = [self.low * self.low, self.high * self.high];
        let least = if self.low <= 0.0 && self.high >= 0.0 { 0.0 } else { ends[0].min(ends[1]) };
        Self::new(least, ends[0].max(ends[1]))
    }

    /// Those of variances: at most the square of half of the width (Popoviciu).
    pub fn variance(self) -> Option<Self> {
        Self::new(0.0, ((self.high - self.low) / 2.0).powi(2))
    }

    /// Those of sums of products with the given weights.
    pub fn weighted(self, weights: impl Iterator<Item = f64>) -> Option<Self> {
        let (low, high) = weights.fold((0.0, 0.0), |(low, high), weight| {
            let (a, b) = (weight * self.low, weight * self.high);
            (low + a.min(b), high + a.max(b))
        });
        Self::new(low, high)
    }

    /// Those of both.
    pub fn hull(self, other: Self) -> Option<Self> {
        Self::new(self.low.min(other.low), self.high.max(other.high))
    }

    /// Those of a polynomial: its extremes in 16 Chebyshev points per degree, which a polynomial
    /// exceeds by less than 0.5 % of the greatest magnitude (Ehlich and Zeller, 1964).
    pub fn polynomial(self, degree: usize, at: impl Fn(f64) -> f64) -> Option<Self> {
        let points = 16 * degree.max(1);
        let (middle, half) = ((self.low + self.high) / 2.0, (self.high - self.low) / 2.0);
        let angle = |index: usize| std::f64::consts::PI * index as f64 / points as f64;
        let found = Self::exact((0..=points).map(|index| at(middle + half * angle(index).cos())))?;
        let beyond = found.magnitude() * ((std::f64::consts::PI / 32.0).cos().recip() - 1.0);
        Self::new(found.low - beyond, found.high + beyond)
    }
}

/// Refuses results that may be larger than what a ciphertext holds at its level.
///
/// # Errors
/// [`LayoutError::Range`].
pub fn check(bounds: Option<Bounds>, capacity: f64, level: usize, integers: bool) -> Result<(), LayoutError> {
    let Some(bounds) = bounds else { return Ok(()) };
    let bound = bounds.magnitude();
    if bound <= capacity {
        return Ok(());
    }
    Err(LayoutError::Range { bound, capacity, level, integers })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold_what_is_computed() {
        let range = |low, high| Bounds::new(low, high).unwrap();
        let (a, b) = (range(-2.0, 3.0), range(-1.0, 5.0));
        let samples = |x: Bounds| (0..=10).map(move |i| x.low + (x.high - x.low) * f64::from(i) / 10.0);
        for op in [Op::Add, Op::Sub, Op::Mul] {
            let all = samples(a).flat_map(|x| samples(b).map(move |y| op.of(x, y)));
            assert_eq!(Bounds::exact(all), a.combined(b, op), "{op:?}");
        }
        assert_eq!(a.squared(), Some(range(0.0, 9.0)));
        assert_eq!(range(-3.0, -2.0).squared(), Some(range(4.0, 9.0)));
        assert_eq!(a.variance(), Some(range(0.0, 6.25)));
        assert_eq!(a.weighted([1.0, -1.0].into_iter()), Some(range(-5.0, 5.0)));
        let cubic = |x: f64| 1.5 * x - 0.5 * x.powi(3);
        let found = range(-1.0, 1.0).polynomial(3, cubic).unwrap();
        assert!(found.magnitude() >= 1.0 && found.magnitude() < 1.005, "{found:?}");
    }

    #[test]
    fn public_bounds_say_little() {
        let of = |values: &[f64]| {
            let found = Bounds::public(values.iter().copied()).unwrap();
            (found.low, found.high)
        };
        assert_eq!(of(&[30.0, 40.0, 50.0]), (0.0, 52.0));
        assert_eq!(of(&[-0.001, 0.3]), (-1.0, 1.0));
        assert_eq!(of(&[-8.0]), (-8.0, 0.0));
        assert_eq!(of(&[0.0]), (0.0, 0.0));
        assert_eq!(of(&[1e300]).1, 1e300_f64.log2().floor().exp2() / 8.0 * 12.0);
        assert_eq!(Bounds::public([f64::NAN, 1.0].into_iter()).map(|found| found.high), Some(1.0));
        assert_eq!(Bounds::public(std::iter::empty()), None);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(check(Bounds::within(8.0), 8.0, 0, false).is_ok());
        assert!(check(None, 8.0, 0, false).is_ok());
        let error = check(Bounds::within(8.5), 8.0, 0, false).unwrap_err().to_string();
        assert!(error.contains("8.5") && error.contains("range_bits=4"), "{error}");
    }
}
