//! Fully connected layers.

use super::check_numbers;
use crate::circuits::ckks::{BlockTransform, TensorLayout};
use crate::error::{Error, Result};

/// A fully connected layer: y = W x + bias, for x the entries of a tensor channel by channel, row
/// by row (flattened as ONNX and PyTorch do), in whatever layout.
///
/// ```
/// # use he_core::circuits::ckks::{FullyConnected, TensorLayout};
/// # fn main() -> he_core::Result<()> {
/// let tensor = TensorLayout::new([16, 5, 5], 1 << 12)?;
/// let map = FullyConnected::new(10, vec![0.1; 10 * 400]).over(&tensor)?;
/// // Sixteen diagonals, whose partial sums are added up.
/// assert_eq!((map.output().slots(), map.diagonals()), (16, 16));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FullyConnected {
    outputs: usize,
    weights: Vec<f64>,
    bias: Vec<f64>,
}

impl FullyConnected {
    /// From the weights row by row: w\[output\]\[input\].
    pub fn new(outputs: usize, weights: Vec<f64>) -> Self {
        Self { outputs, weights, bias: Vec::new() }
    }

    /// With a number for each output that is added to it.
    #[must_use]
    pub fn with_bias(mut self, bias: Vec<f64>) -> Self {
        self.bias = bias;
        self
    }

    /// The map over tensors of a layout, to a vector with as many slots as take the fewest
    /// rotations.
    ///
    /// # Errors
    /// [`Error::Argument`] for other numbers of weights or biases than the layout and the outputs
    /// need, numbers that are not finite, or no outputs.
    pub fn over(&self, input: &TensorLayout) -> Result<BlockTransform> {
        let inputs = input.entries();
        let expected = self.outputs.checked_mul(inputs);
        let expected =
            expected.ok_or_else(|| Error::argument("fully connected layer", "too many weights"))?;
        check_numbers("weights of a fully connected layer", &self.weights, expected)?;
        let biases = if self.bias.is_empty() { 0 } else { self.outputs };
        check_numbers("bias of a fully connected layer", &self.bias, biases)?;
        let output = TensorLayout::batched([self.outputs, 1, 1], input.examples(), input.capacity())?;
        let entries = (0..self.outputs).flat_map(|o| {
            let weights = &self.weights[o * inputs..][..inputs];
            input.places().zip(weights).map(move |(place, &weight)| (o, place, weight.into()))
        });
        let map = BlockTransform::cheapest_of_places(input, &output, entries);
        if self.bias.is_empty() {
            return Ok(map);
        }
        let unit = output.examples();
        map.with_bias(self.bias.iter().enumerate().map(|(o, &bias)| (o * unit, bias)))
    }
}
