//! Functions that have no value for some numbers, such as logarithms: the interval on which they
//! are needed, and how they go on beyond it.
//!
//! Polynomials are fitted on an interval around 0, and slots without a value hold 0. A function is
//! therefore continued beyond the interval that calibration has seen, with the same value and
//! slope at its ends: f(a) + s f'(a) tanh((x - a) / s). Values that lead there are out of range.

use crate::function::Function;

/// The interval on which a function is needed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Domain {
    /// Its least number.
    pub low: f64,
    /// Its greatest number.
    pub high: f64,
}

impl Domain {
    /// The interval of a function that needs one: as calibration has seen it, with a margin that
    /// does not change signs.
    pub fn of(function: &Function, [low, high]: [f64; 2], margin: f64) -> Option<Self> {
        let wide = 1.0 + margin;
        let low = if low > 0.0 { low / wide } else { low * wide };
        let high = if high < 0.0 { high / wide } else { high * wide };
        (function.is_partial() && low < high).then_some(Self { low, high })
    }

    /// Whether a number is in it.
    pub fn contains(&self, x: f64) -> bool {
        (self.low..=self.high).contains(&x)
    }

    /// The function on the interval, and its continuation beyond.
    pub fn at(&self, function: &Function, x: f64) -> f64 {
        let end = if x < self.low { self.low } else { self.high };
        if self.contains(x) {
            return function.at(x);
        }
        let length = self.high - self.low;
        // The slope is taken from inside, where the function has values.
        let step = 1e-6 * length * if end == self.low { 1.0 } else { -1.0 };
        let slope = (function.at(end + step) - function.at(end)) / step;
        let rise = (function.at(self.high) - function.at(self.low)).abs();
        let scale = (0.5 * length).min(rise / slope.abs());
        function.at(end) + scale * slope * libm::tanh((x - end) / scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::Named;

    #[test]
    fn continuations_are_smooth_and_bounded() {
        let log = Function::named(Named::Log);
        assert_eq!(Domain::of(&Function::square(), [1.0, 2.0], 0.25), None);
        let domain = Domain::of(&log, [0.5, 4.0], 0.25).unwrap();
        assert_eq!((domain.low, domain.high), (0.4, 5.0));
        assert_eq!(domain.at(&log, 2.0), libm::log(2.0));
        for end in [0.4, 5.0] {
            let [before, after] = [-1e-5, 1e-5].map(|x| domain.at(&log, end + x));
            assert!((before + after - 2.0 * libm::log(end)).abs() < 1e-8, "{end}");
        }
        assert!((-50..50).all(|x| domain.at(&log, f64::from(x) / 10.0).abs() < 4.0));
    }
}
