//! The ranges of all values of a model, as seen on examples.

use crate::error::{Error, Result};
use crate::graph::Graph;
use serde::{Deserialize, Serialize};

/// The least and the greatest value of every node, and of every element of the input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Examples that were seen.
    pub examples: usize,
    /// The range of each node.
    pub nodes: Vec<[f64; 2]>,
    /// The greatest magnitude of each element of the input.
    pub inputs: Vec<f64>,
}

impl Calibration {
    /// Computes the model in the clear on all examples.
    ///
    /// # Errors
    /// [`Error::NoExamples`]; [`Error::InputLength`], [`Error::InputValue`];
    /// [`Error::Uncalibrated`] where a value exceeds all numbers.
    pub fn new(graph: &Graph, examples: &[Vec<f64>]) -> Result<Self> {
        if examples.is_empty() {
            return Err(Error::NoExamples);
        }
        let nodes = vec![[f64::INFINITY, f64::NEG_INFINITY]; graph.nodes.len()];
        let inputs = vec![0.0; graph.input_elements()];
        let mut found = Self { examples: examples.len(), nodes, inputs };
        for (index, example) in examples.iter().enumerate() {
            for (values, range) in graph.values(index, example)?.iter().zip(&mut found.nodes) {
                for &value in values {
                    // A value that is not a number must not get lost in a comparison.
                    let value = if value.is_nan() { f64::INFINITY } else { value };
                    *range = [range[0].min(value), range[1].max(value)];
                }
            }
            found.inputs.iter_mut().zip(example).for_each(|(most, x)| *most = most.max(x.abs()));
        }
        match found.nodes.iter().position(|[low, high]| !low.is_finite() || !high.is_finite()) {
            Some(at) => Err(graph.uncalibrated(at, found.nodes[at])),
            None => Ok(found),
        }
    }

    /// The greatest magnitude of a node.
    pub fn magnitude(&self, node: usize) -> f64 {
        self.nodes[node][0].abs().max(self.nodes[node][1].abs())
    }
}

impl Graph {
    pub(crate) fn uncalibrated(&self, node: usize, [low, high]: [f64; 2]) -> Error {
        let node = &self.nodes[node];
        Error::Uncalibrated { operator: node.operator.clone(), node: node.name.clone(), low, high }
    }
}
