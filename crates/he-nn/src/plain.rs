//! Plain inference in float64: the reference, and the values for calibration.

use crate::error::{Error, Result};
use crate::function::Function;
use crate::graph::{Dense, Graph, Op, Public};
use crate::transformers;
use std::ops::Range;

impl Graph {
    /// The numbers of one example: those of all inputs, one behind the other.
    pub fn input_elements(&self) -> usize {
        self.inputs().map(|(_, places)| places.len()).sum()
    }

    /// The inputs in the order of the model, each with the places of its numbers in an example.
    pub fn inputs(&self) -> impl Iterator<Item = (usize, Range<usize>)> + '_ {
        let inputs = self.nodes.iter().enumerate().filter(|(_, node)| node.op.is_input());
        inputs.scan(0, |start, (id, node)| {
            let places = *start..*start + node.elements();
            *start = places.end;
            Some((id, places))
        })
    }

    /// The values of the outputs of one example, before the [`Decision`](crate::graph::Decision).
    pub fn output_elements(&self) -> usize {
        self.nodes[self.output].elements()
    }

    /// The values of all nodes for one example, which errors call number `example`.
    ///
    /// # Errors
    /// [`Error::InputLength`], [`Error::InputValue`], [`Error::InputId`], [`Error::EmptyMask`].
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
        self.check_example(example, input)?;
        let mut values: Vec<Vec<f64>> = Vec::with_capacity(self.nodes.len());
        for id in 0..self.nodes.len() {
            let value = self.value(id, input, &values, function);
            values.push(value);
        }
        Ok(values)
    }

    /// The value of one node for an example, which errors call number `example`.
    ///
    /// # Errors
    /// The errors of [`values`](Self::values).
    pub(crate) fn value_of(&self, example: usize, input: &[f64], node: usize) -> Result<Vec<f64>> {
        self.check_example(example, input)?;
        let mut needed = vec![false; node + 1];
        needed[node] = true;
        for id in (0..=node).rev() {
            if needed[id] {
                self.nodes[id].inputs.iter().for_each(|&input| needed[input] = true);
            }
        }
        let mut values: Vec<Vec<f64>> = Vec::with_capacity(node + 1);
        for (id, needed) in needed.into_iter().enumerate() {
            let value = if needed { self.value(id, input, &values, &|_, f, x| f.at(x)) } else { Vec::new() };
            values.push(value);
        }
        Ok(values.pop().unwrap_or_default())
    }

    /// Checks the numbers of an example.
    pub(crate) fn check_example(&self, example: usize, input: &[f64]) -> Result<()> {
        let (found, expected) = (input.len(), self.input_elements());
        if found != expected {
            return Err(Error::InputLength { example, found, expected });
        }
        match input.iter().position(|value| !value.is_finite()) {
            Some(at) => Err(Error::InputValue { example, at, value: input[at] }),
            None => self.check_public(example, input),
        }
    }

    /// Checks the integers of an example.
    fn check_public(&self, example: usize, input: &[f64]) -> Result<()> {
        for (id, places) in self.inputs() {
            let Op::Public(public) = self.nodes[id].op else { continue };
            let count = match public {
                Public::Ids(count) => count,
                Public::Mask => 2,
            };
            let is_one = |x: f64| x.fract() == 0.0 && x >= 0.0 && x < count as f64;
            if let Some(at) = places.clone().find(|&at| !is_one(input[at])) {
                return Err(Error::InputId { example, at, value: input[at], count });
            }
            if public == Public::Mask && input[places].iter().all(|&x| x == 0.0) {
                return Err(Error::EmptyMask { example });
            }
        }
        Ok(())
    }

    pub(crate) fn value(
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
            Op::Input | Op::Public(_) => {
                let places = self.inputs().find(|(input, _)| *input == id).map_or(0..0, |(_, places)| places);
                input[places].to_vec()
            }
            Op::Add => both(|a, b| a + b),
            Op::Product => both(|a, b| a * b),
            Op::Function(of_node) => of(0).iter().map(|&x| function(id, of_node, x)).collect(),
            Op::Reshape => of(0).clone(),
            Op::Dense(dense) => dense.apply(of(0)),
            op if op.is_of_transformers() => {
                let inputs: Vec<&[f64]> = node.inputs.iter().map(|&id| values[id].as_slice()).collect();
                transformers::apply(op, &inputs, &node.shape)
            }
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
    /// The errors of [`values`](Self::values).
    pub fn apply_plain(&self, input: &[f64]) -> Result<Vec<f64>> {
        let mut values = self.values(0, input)?;
        Ok(self.decision.apply(&values.swap_remove(self.output)))
    }
}

/// The rows that are computed side by side.
const ROWS: usize = 8;

impl Dense {
    /// Its value on rows of inputs.
    pub(crate) fn apply(&self, x: &[f64]) -> Vec<f64> {
        let mut y = vec![0.0; x.len() / self.inputs * self.outputs];
        let blocks = x.chunks(ROWS * self.inputs).zip(y.chunks_mut(ROWS * self.outputs));
        blocks.for_each(|(x, y)| self.block(x, y));
        y
    }

    /// A block of at most [`ROWS`] rows: each weight is read once for all of them.
    fn block(&self, x: &[f64], y: &mut [f64]) {
        let rows = x.len() / self.inputs;
        let mut columns = vec![[0.0; ROWS]; self.inputs];
        for (row, x) in x.chunks_exact(self.inputs).enumerate() {
            columns.iter_mut().zip(x).for_each(|(column, &x)| column[row] = x);
        }
        for (i, weights) in self.weights.chunks_exact(self.inputs).enumerate() {
            let mut sums = [self.bias[i]; ROWS];
            for (column, &weight) in columns.iter().zip(weights) {
                sums.iter_mut().zip(column).for_each(|(sum, &x)| *sum += weight * x);
            }
            (0..rows).for_each(|row| y[row * self.outputs + i] = sums[row]);
        }
    }
}
