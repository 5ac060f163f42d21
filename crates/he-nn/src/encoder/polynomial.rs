//! Polynomials that follow functions on intervals, as ciphertexts evaluate them.

use he_core::circuits::ckks as circuits;
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// The most coefficients of a polynomial.
const MAX_COEFFICIENTS: usize = 256;

/// A polynomial in Chebyshev's basis on an interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Polynomial {
    low: f64,
    high: f64,
    coefficients: Vec<f64>,
}

impl Polynomial {
    /// The interpolation of a function at Chebyshev's nodes of an interval.
    pub fn new(function: impl Fn(f64) -> f64, [low, high]: [f64; 2], degree: usize) -> Self {
        let count = degree + 1;
        let angle = |node: usize| PI * (node as f64 + 0.5) / count as f64;
        let values: Vec<f64> = (0..count)
            .map(|node| function(0.5 * (low + high) + 0.5 * (high - low) * libm::cos(angle(node))))
            .collect();
        let coefficient = |k: usize| {
            let terms = values.iter().enumerate().map(|(node, y)| y * libm::cos(k as f64 * angle(node)));
            let scale = if k == 0 { 1.0 } else { 2.0 };
            scale * terms.sum::<f64>() / count as f64
        };
        Self { low, high, coefficients: (0..count).map(coefficient).collect() }
    }

    /// Its value, by Clenshaw's recurrence.
    pub fn at(&self, x: f64) -> f64 {
        let t = (2.0 * x - self.low - self.high) / (self.high - self.low);
        let step = |(a, b): (f64, f64), &c: &f64| (c + 2.0 * t * a - b, a);
        let (a, b) = self.coefficients[1..].iter().rev().fold((0.0, 0.0), step);
        self.coefficients[0] + t * a - b
    }

    /// A factor times it, for numbers whose interval is mapped to -1 to 1.
    pub(super) fn on_unit_interval(&self, factor: f64) -> he_core::Result<circuits::Polynomial> {
        let coefficients: Vec<f64> = self.coefficients.iter().map(|c| factor * c).collect();
        circuits::Polynomial::chebyshev(&coefficients, -1.0, 1.0)
    }

    /// Whether it has an interval and few coefficients, all of them numbers.
    pub(super) fn is_valid(&self) -> bool {
        let interval = self.low.is_finite() && self.high.is_finite() && self.low < self.high;
        let few = (1..=MAX_COEFFICIENTS).contains(&self.coefficients.len());
        interval && few && self.coefficients.iter().all(|c| c.is_finite())
    }

    /// Its degree.
    pub fn degree(&self) -> usize {
        self.coefficients.len() - 1
    }

    /// The levels that its evaluation takes: ceil(log2(degree + 1)).
    pub fn depth(&self) -> usize {
        self.coefficients.len().next_power_of_two().trailing_zeros() as usize
    }

    /// The greatest value of an error on the interval, on many points of it.
    pub fn worst(&self, error: impl Fn(f64, f64) -> f64) -> f64 {
        const POINTS: i32 = 2000;
        let point = |at: i32| self.low + (self.high - self.low) * f64::from(at) / f64::from(POINTS);
        (0..=POINTS).map(point).map(|x| error(x, self.at(x)).abs()).fold(0.0, f64::max)
    }
}
