//! Reciprocals by products alone.

use serde::{Deserialize, Serialize};

/// The most steps: those for 1e-12 and any number of bits are fewer.
const MAX_STEPS: usize = 64;

/// Goldschmidt's iteration with a relaxation factor for each step, for numbers in `[least, 1]`.
///
/// A step takes b to k b (2 - k b) with k = 2 / (1 + e), which brings all of `[e, 1]` into
/// `[4 e / (1 + e)^2, 1]`; products with the same factors bring 1 to 1 / b.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inverse {
    factors: Vec<f64>,
}

impl Inverse {
    /// The iteration that ends within 2^-bits of 1, relative to it.
    pub fn new(least: f64, bits: u32) -> Self {
        let wanted = 1.0 - 0.5f64.powi(bits as i32);
        let mut factors = Vec::new();
        let mut e = least.clamp(1e-12, 1.0);
        while e < wanted {
            factors.push(2.0 / (1.0 + e));
            e = 4.0 * e / ((1.0 + e) * (1.0 + e));
        }
        Self { factors }
    }

    /// The reciprocal.
    pub fn at(&self, x: f64) -> f64 {
        let step = |(a, b): (f64, f64), &k: &f64| (a * k * (2.0 - k * b), b * k * (2.0 - k * b));
        self.factors.iter().fold((1.0, x), step).0
    }

    /// Whether its steps are few, and those of some least number.
    pub(super) fn is_valid(&self) -> bool {
        self.factors.len() <= MAX_STEPS && self.factors.iter().all(|factor| (1.0..=2.0).contains(factor))
    }

    /// The factor of each step.
    pub(super) fn factors(&self) -> &[f64] {
        &self.factors
    }

    /// Its steps, each of which takes one level and two products.
    pub fn steps(&self) -> usize {
        self.factors.len()
    }
}
