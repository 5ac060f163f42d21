//! Public bounds of the values of encrypted arrays: what results may be, and whether ciphertexts
//! hold it.
//!
//! Values beyond what a ciphertext holds come back modulo that, without an error that anybody could
//! see. Bounds are known to everyone who has a ciphertext; those of values that are encrypted are
//! therefore rounded: of an array to one of eight steps per power of two, of a column of SQL, whose
//! cells are many, to powers of two.

use super::{LayoutError, Op};
use serde::{Deserialize, Serialize};

/// Up to here every integer is a number of its own; bounds beyond are rounded outwards.
const EXACT: f64 = (1u64 << 53) as f64;

/// An interval that holds all values: the real numbers, or for complex ones the magnitudes with
/// either sign. Bounds of results that leave the range of numbers stop at its ends, so that such
/// results are not taken for unknown ones. They are written as an array of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "(f64, f64)", into = "(f64, f64)")]
pub struct Bounds {
    /// No value is smaller.
    pub low: f64,
    /// No value is greater.
    pub high: f64,
}

impl TryFrom<(f64, f64)> for Bounds {
    type Error = &'static str;

    fn try_from((low, high): (f64, f64)) -> Result<Self, Self::Error> {
        Self::new(low, high).ok_or("bounds that are not two finite numbers in order")
    }
}

impl From<Bounds> for (f64, f64) {
    fn from(of: Bounds) -> Self {
        (of.low, of.high)
    }
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

    /// The bounds of one number, which may be an integer that was rounded to it. Anything may be
    /// where it is not a number.
    pub fn of(value: f64) -> Self {
        Self::rounded(value, value)
    }

    /// Finite bounds that include these, and what was rounded to them.
    fn rounded(low: f64, high: f64) -> Self {
        let (low, high) = if low.is_nan() || high.is_nan() { (f64::MIN, f64::MAX) } else { (low, high) };
        let down = if low.abs() < EXACT { low } else { low.next_down() };
        let up = if high.abs() < EXACT { high } else { high.next_up() };
        // A sum with zero has no sign if it is zero.
        let finite = |x: f64| x.clamp(f64::MIN, f64::MAX) + 0.0;
        Self { low: finite(down), high: finite(up) }
    }

    /// The bounds of values in the clear, but for those that are not numbers; `None` without any.
    pub fn exact(values: impl Iterator<Item = f64>) -> Option<Self> {
        values.filter(|x| !x.is_nan()).map(Self::of).reduce(Self::hull)
    }

    /// Bounds that may be published of values that are encrypted: whether there are negative and
    /// positive ones, and their magnitude, rounded up to one of eight steps per power of two.
    pub fn public(values: impl Iterator<Item = f64>) -> Option<Self> {
        Some(Self::exact(values)?.coarse(8.0))
    }

    /// The bounds of the values and of zero, of magnitudes of at least 1, rounded outwards to one
    /// of `steps` steps per power of two; `steps` is a power of two.
    #[must_use]
    pub fn coarse(self, steps: f64) -> Self {
        let up = |x: f64| match x {
            x if x <= 0.0 => 0.0,
            x => {
                let step = x.max(1.0).log2().floor().exp2() / steps;
                ((x.max(1.0) / step).ceil() * step).min(f64::MAX)
            }
        };
        Self { low: 0.0 - up(-self.low), high: up(self.high) }
    }

    /// The greatest magnitude.
    pub fn magnitude(self) -> f64 {
        self.high.max(-self.low)
    }

    /// Whether a value lies between them.
    pub fn hold(self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// The bounds of `self op other`.
    #[must_use]
    pub fn combined(self, other: Self, op: Op) -> Self {
        let ends = [self.low, self.high].map(|a| [op.of(a, other.low), op.of(a, other.high)]);
        let [least, greatest] = [f64::min as fn(f64, f64) -> f64, f64::max]
            .map(|of| of(of(ends[0][0], ends[0][1]), of(ends[1][0], ends[1][1])));
        Self::rounded(least, greatest)
    }

    /// The bounds of the values times a number.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        self.combined(Self::of(factor), Op::Mul)
    }

    /// The bounds of sums of this many values, or of fewer but at least one.
    #[must_use]
    pub fn total(self, most: u64) -> Self {
        self.hull(self.scaled(most.max(1) as f64))
    }

    /// The bounds of squares.
    #[must_use]
    pub fn squared(self) -> Self {
        let product = self.combined(self, Op::Mul);
        Self { low: product.low.max(0.0), ..product }
    }

    /// The bounds of variances: at most the square of half of the width (Popoviciu).
    #[must_use]
    pub fn variance(self) -> Self {
        Self::rounded(0.0, (self.high / 2.0 - self.low / 2.0).powi(2))
    }

    /// The bounds of sums of products with the given weights.
    #[must_use]
    pub fn weighted(self, weights: impl Iterator<Item = f64>) -> Self {
        weights.fold(Self::of(0.0), |sum, weight| sum.combined(self.scaled(weight), Op::Add))
    }

    /// The bounds of both.
    #[must_use]
    pub fn hull(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// The same within a magnitude, where they lie beyond it.
    #[must_use]
    pub fn clamped(self, magnitude: f64) -> Self {
        Self { low: self.low.clamp(-magnitude, magnitude), high: self.high.clamp(-magnitude, magnitude) }
    }

    /// The bounds of a polynomial: its extremes in 16 Chebyshev points per degree, which a
    /// polynomial exceeds by less than 0.5 % of the greatest magnitude (Ehlich and Zeller, 1964).
    #[must_use]
    pub fn polynomial(self, degree: usize, at: impl Fn(f64) -> f64) -> Self {
        let points = 16 * degree.max(1);
        let (middle, half) = (self.low / 2.0 + self.high / 2.0, self.high / 2.0 - self.low / 2.0);
        let angle = |index: usize| std::f64::consts::PI * index as f64 / points as f64;
        let found = (0..points).fold(Self::of(at(self.low)), |all, index| {
            all.hull(Self::of(at(middle + half * angle(index).cos())))
        });
        let beyond = found.magnitude() * ((std::f64::consts::PI / 32.0).cos().recip() - 1.0);
        Self::rounded(found.low - beyond, found.high + beyond)
    }

    /// The bounds of c0 + c1 x + c2 x^2 + ..., as the sum of those of its terms: without the margin
    /// of [`polynomial`](Self::polynomial), and wider where terms cancel.
    #[must_use]
    pub fn powers(self, coefficients: &[f64]) -> Self {
        let (mut sum, mut power) = (Self::of(0.0), Self::of(1.0));
        for (exponent, &coefficient) in coefficients.iter().enumerate() {
            sum = sum.combined(power.scaled(coefficient), Op::Add);
            power = power.combined(self, Op::Mul);
            if exponent % 2 == 1 {
                // The next power is even.
                power.low = power.low.max(0.0);
            }
        }
        sum
    }
}

/// A bound for people: integers as they are, others with few digits.
pub fn figure(bound: f64) -> String {
    match bound.abs() {
        size if size < 1e15 && bound.fract() == 0.0 => format!("{bound:.0}"),
        size if (1e-3..1e6).contains(&size) => format!("{bound:.3}"),
        _ => format!("{bound:.3e}"),
    }
}

/// Values that may be larger than what a ciphertext holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Excess {
    /// The greatest magnitude of a value.
    pub bound: f64,
    /// The greatest magnitude that the ciphertext holds.
    pub capacity: f64,
}

/// Refuses magnitudes up to `bound`, which may be infinite or unknown (NaN), where a ciphertext
/// holds them up to `capacity`.
///
/// # Errors
/// [`Excess`], if the bound is not at most the capacity.
pub fn check_magnitude(bound: f64, capacity: f64) -> Result<(), Excess> {
    if bound <= capacity { Ok(()) } else { Err(Excess { bound, capacity }) }
}

/// Refuses results that may be larger than what a ciphertext holds at its level.
///
/// # Errors
/// [`LayoutError::Range`].
pub fn check(bounds: Option<Bounds>, capacity: f64, level: usize, integers: bool) -> Result<(), LayoutError> {
    let Some(bounds) = bounds else { return Ok(()) };
    check_magnitude(bounds.magnitude(), capacity).map_err(|Excess { bound, capacity }| LayoutError::Range {
        bound,
        capacity,
        level,
        integers,
    })
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
            assert_eq!(Bounds::exact(all), Some(a.combined(b, op)), "{op:?}");
        }
        assert_eq!(a.squared(), range(0.0, 9.0));
        assert_eq!(range(-3.0, -2.0).squared(), range(4.0, 9.0));
        assert_eq!(a.variance(), range(0.0, 6.25));
        assert_eq!(a.weighted([1.0, -1.0].into_iter()), range(-5.0, 5.0));
        assert_eq!((a.total(10), range(2.0, 4.0).total(10)), (range(-20.0, 30.0), range(2.0, 40.0)));
        assert!(a.hold(3.0) && !a.hold(-2.5) && !a.hold(f64::NAN));
        assert_eq!(range(-9.0, 3.0).clamped(4.0), range(-4.0, 3.0));
        let cubic = |x: f64| 1.5 * x - 0.5 * x.powi(3);
        let found = range(-1.0, 1.0).polynomial(3, cubic);
        assert!(found.magnitude() >= 1.0 && found.magnitude() < 1.005, "{found:?}");
    }

    #[test]
    fn bounds_of_powers_are_sums_of_terms() {
        let x = Bounds::new(-3.0, 5.0).unwrap();
        let of = [x.powers(&[0.0, 0.0, 1.0]), x.powers(&[7.0]), x.powers(&[])];
        assert_eq!(of, [x.squared(), Bounds::of(7.0), Bounds::of(0.0)]);
        // 1 + [-10, 6] + [0, 75] + [-125, 75]
        assert_eq!(x.powers(&[1.0, -2.0, 3.0, -1.0]), Bounds::new(-134.0, 157.0).unwrap());
    }

    #[test]
    fn bounds_are_rounded_outwards_and_stay_finite() {
        let odd = (1_i64 << 53) + 1;
        let found = Bounds::of(odd as f64);
        assert!((found.low as i64) < odd && odd < found.high as i64, "{found:?}");
        let sum = Bounds::of(EXACT).weighted([1.0; 64].into_iter());
        assert!(sum.low < 64.0 * EXACT && 64.0 * EXACT < sum.high, "{sum:?}");
        let all = Bounds::new(f64::MIN, f64::MAX).unwrap();
        let large = Bounds::within(1e300).unwrap();
        assert_eq!((large.combined(large, Op::Mul), Bounds::of(f64::NAN)), (all, all));
        assert_eq!((large.variance().high, large.squared().high), (f64::MAX, f64::MAX));
        assert_eq!(large.polynomial(3, |x| x * x * x - x * x), all);
        assert_eq!(all.combined(Bounds::of(0.0), Op::Mul), Bounds::of(0.0));
        assert!(check(Some(large.squared()), 1e300, 0, false).is_err());
    }

    #[test]
    fn bounds_are_written_as_two_numbers() {
        let found = Bounds::new(-1.0, 2.5).unwrap();
        assert_eq!(serde_json::to_string(&found).unwrap(), "[-1.0,2.5]");
        assert_eq!(serde_json::from_str::<Bounds>("[-1, 2.5]").unwrap(), found);
        for text in ["[1, 0]", "[1, null]", "[1]", "[0, 1, 2]", "[0, 1e999]", "3", r#"{"low":0,"high":1}"#] {
            assert!(serde_json::from_str::<Bounds>(text).is_err(), "{text}");
        }
        let figures = [3.0, 0.25, 1e300, -(1e14 + 1.0)].map(figure);
        assert_eq!(figures, ["3", "0.250", "1.000e300", "-100000000000001"]);
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
        let coarse = |low, high| Bounds::new(low, high).map(|of| (of.coarse(1.0).low, of.coarse(1.0).high));
        assert_eq!(coarse(-0.75, 3.0), Some((-1.0, 4.0)));
        assert_eq!(coarse(-4.0, -3.0), Some((-4.0, 0.0)));
        assert_eq!(coarse(f64::MIN, f64::MAX), Some((f64::MIN, f64::MAX)));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(check(Bounds::within(8.0), 8.0, 0, false).is_ok());
        assert!(check(None, 8.0, 0, false).is_ok());
        let excess = |bound| check_magnitude(bound, 8.0).map_err(|excess| excess.capacity);
        assert_eq!([8.0, 8.5, f64::INFINITY, f64::NAN].map(excess), [Ok(()), Err(8.0), Err(8.0), Err(8.0)]);
        let error = check(Bounds::within(8.5), 8.0, 0, false).unwrap_err().to_string();
        assert!(error.contains("8.5") && error.contains("range_bits=4"), "{error}");
    }
}
