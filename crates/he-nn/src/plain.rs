//! Plain inference in float64: the reference, and the values for calibration.

use crate::error::{Error, Result};
use crate::function::Function;
use crate::graph::{Graph, Op};

impl Graph {
    /// The values of the input of one example.
    pub fn input_elements(&self) -> usize {
        self.nodes[0].elements()
    }

    /// The values of the outputs of one example, before the [`Decision`](crate::graph::Decision).
    pub fn output_elements(&self) -> usize {
        self.nodes[self.output].elements()
    }

    /// The values of all nodes for one example, which errors call number `example`.
    ///
    /// # Errors
    /// [`Error::InputLength`], [`Error::InputValue`].
    pub fn values(&self, example: usize, input: &[f64]) -> Result<Vec<Vec<f64>>> {
        self.values_by(example, input, &|_, function, x| function.at(x))
    }

    /// The values of all nodes with other functions: `function` computes each node's function of a
    /// number.
    pub(crate) fn values_by(
        &self,
        example: usize,
        input: &[f64],
        function: &impl Fn(usize, &Function, f64) -> f64,
    ) -> Result<Vec<Vec<f64>>> {
        let (found, expected) = (input.len(), self.input_elements());
        if found != expected {
            return Err(Error::InputLength { example, found, expected });
        }
        if let Some(at) = input.iter().position(|value| !value.is_finite()) {
            return Err(Error::InputValue { example, at, value: input[at] });
        }
        let mut values: Vec<Vec<f64>> = Vec::with_capacity(self.nodes.len());
        for id in 0..self.nodes.len() {
            let value = self.value(id, input, &values, function);
            values.push(value);
        }
        Ok(values)
    }

    fn value(
        &self,
        id: usize,
        input: &[f64],
        values: &[Vec<f64>],
        function: &impl Fn(usize, &Function, f64) -> f64,
    ) -> Vec<f64> {
        let node = &self.nodes[id];
        let of = |index: usize| &values[node.inputs[index]];
        let both = |f: fn(f64, f64) -> f64| of(0).iter().zip(of(1)).map(|(&a, &b)| f(a, b)).collect();
        match &node.op {
            Op::Input => input.to_vec(),
            Op::Add => both(|a, b| a + b),
            Op::Product => both(|a, b| a * b),
            Op::Function(of_node) => of(0).iter().map(|&x| function(id, of_node, x)).collect(),
            Op::Reshape => of(0).clone(),
            linear => {
                let (x, shape) = (of(0), &self.nodes[node.inputs[0]].shape);
                let mut y: Vec<f64> =
                    (0..node.elements()).map(|row| linear.offset(&node.shape, row)).collect();
                linear.entries(shape, &node.shape, |row, column, weight| y[row] += weight * x[column]);
                y
            }
        }
    }

    /// The outputs of one example in float64, after the decision.
    ///
    /// # Errors
    /// [`Error::InputLength`], [`Error::InputValue`].
    pub fn apply_plain(&self, input: &[f64]) -> Result<Vec<f64>> {
        let mut values = self.values(0, input)?;
        Ok(self.decision.apply(&values.swap_remove(self.output)))
    }
}
