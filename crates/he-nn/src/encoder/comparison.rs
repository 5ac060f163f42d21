//! Approximations beside the exact model, on sentences outside of the calibration.

use super::Encoder;
use crate::error::{Error, Result};

/// The cosines of the outputs of two computations.
#[derive(Debug, Default)]
pub struct Comparison {
    /// The cosine of each example within the ranges: 1 for equal directions.
    pub cosines: Vec<f64>,
    /// The refusals of the others.
    pub refusals: Vec<Error>,
}

impl Comparison {
    /// The mean of the cosines; `None` without any.
    pub fn mean(&self) -> Option<f64> {
        let count = self.cosines.len();
        (count > 0).then(|| self.cosines.iter().sum::<f64>() / count as f64)
    }

    /// The least of the cosines; `None` without any.
    pub fn worst(&self) -> Option<f64> {
        self.cosines.iter().copied().reduce(f64::min)
    }
}

/// a b / (|a| |b|).
fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

impl Encoder {
    /// Simulates examples, and compares their outputs with those of the model.
    ///
    /// # Errors
    /// The errors of [`Graph::values`](crate::Graph::values), for examples that the model refuses.
    pub fn compare(&self, examples: &[Vec<f64>]) -> Result<Comparison> {
        let mut found = Comparison::default();
        for (index, example) in examples.iter().enumerate() {
            match self.simulate(index, example) {
                Ok(outputs) => found.cosines.push(cosine(&outputs, &self.graph().apply_plain(example)?)),
                Err(refusal @ Error::OutOfRange { .. }) => found.refusals.push(refusal),
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }
}
