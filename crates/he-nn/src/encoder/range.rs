//! Ranges that calibration has seen, and values beyond.

use crate::error::Error;
use crate::graph::Graph;
use serde::{Deserialize, Serialize};

/// The least and the greatest of the numbers seen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// The least.
    pub low: f64,
    /// The greatest.
    pub high: f64,
}

impl Range {
    /// The range without any number.
    pub const EMPTY: Self = Self { low: f64::INFINITY, high: f64::NEG_INFINITY };

    /// Includes a number.
    pub fn see(&mut self, x: f64) {
        self.low = self.low.min(x);
        self.high = self.high.max(x);
    }

    /// Includes another range.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// Whether it has both ends, and they are numbers.
    pub(super) fn is_valid(&self) -> bool {
        self.low.is_finite() && self.high.is_finite() && self.low <= self.high
    }

    /// Whether a number is in it; NaN is not.
    pub fn contains(&self, x: f64) -> bool {
        self.low <= x && x <= self.high
    }
}

/// A value of a node that leaves its range.
#[derive(Clone, Debug, PartialEq)]
pub struct Excess {
    /// The node.
    pub node: usize,
    /// The quantity that leaves its range, in words.
    pub quantity: String,
    /// Its value.
    pub value: f64,
    /// The range.
    pub range: Range,
}

impl Excess {
    /// It as the refusal of an example.
    pub fn error(&self, graph: &Graph, example: usize) -> Error {
        let node = &graph.nodes[self.node];
        Error::OutOfRange {
            example,
            operator: format!("{} ({})", node.operator, self.quantity),
            node: node.name.clone(),
            value: self.value,
            low: self.range.low,
            high: self.range.high,
        }
    }
}
