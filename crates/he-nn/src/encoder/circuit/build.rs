//! Steps of which the parts of an encoder are made.

use super::layout::Layout;
use super::map::Map;
use super::plain::Plain;
use super::{Circuit, Op, Part, Step, Value};
use he_core::circuits::ckks::Polynomial;
use std::ops::Range;

impl Circuit {
    /// Without steps but the input, of one ciphertext.
    pub fn new(layout: Layout) -> Self {
        let input = Step { op: Op::Input, count: 1, node: 0, part: Part::Sum, is_small: true };
        Self { layout, steps: vec![input] }
    }

    fn push(&mut self, op: Op) -> Value {
        let of = |value: Value| self.steps[value].count;
        let count = match &op {
            Op::Input | Op::Total(_) | Op::Contracted(..) => 1,
            Op::Map(_, map) => map.outputs,
            Op::Rotated(_, steps) => steps.len(),
            Op::Joined(values) => values.iter().map(|&value| of(value)).sum(),
            Op::Picked(_, range) => range.len(),
            op => op.operands().first().map_or(0, |&operand| of(operand)),
        };
        let (node, part) = self.steps.last().map_or((0, Part::Sum), |step| (step.node, step.part));
        self.steps.push(Step { op, count, node, part, is_small: false });
        self.steps.len() - 1
    }

    /// Says of which node of the graph the last step and those after it are parts.
    pub fn at_node(&mut self, first: Value, node: usize) {
        self.steps[first..].iter_mut().for_each(|step| step.node = node);
    }

    /// Says to which part the last step and those after it belong.
    pub fn at_part(&mut self, first: Value, part: Part) {
        self.steps[first..].iter_mut().for_each(|step| step.part = part);
    }

    /// Says that a value's numbers are within -1 and 1.
    pub fn small(&mut self, x: Value) -> Value {
        self.steps[x].is_small = true;
        x
    }

    pub fn map(&mut self, x: Value, map: Map) -> Value {
        self.push(Op::Map(x, map))
    }

    pub fn rotated(&mut self, x: Value, steps: Vec<i64>) -> Value {
        self.push(Op::Rotated(x, steps))
    }

    pub fn blocks(&mut self, x: Value, by: usize) -> Value {
        if by == 0 { x } else { self.push(Op::Blocks(x, by)) }
    }

    pub fn joined(&mut self, values: Vec<Value>) -> Value {
        if let &[one] = &values[..] { one } else { self.push(Op::Joined(values)) }
    }

    pub fn picked(&mut self, x: Value, range: Range<usize>) -> Value {
        if range.len() == self.steps[x].count { x } else { self.push(Op::Picked(x, range)) }
    }

    pub fn sum(&mut self, a: Value, b: Value) -> Value {
        self.push(Op::Sum(a, b))
    }

    pub fn difference(&mut self, a: Value, b: Value) -> Value {
        self.push(Op::Difference(a, b))
    }

    pub fn total(&mut self, x: Value) -> Value {
        if self.steps[x].count == 1 { x } else { self.push(Op::Total(x)) }
    }

    pub fn product(&mut self, a: Value, b: Value) -> Value {
        self.push(Op::Product(a, b))
    }

    pub fn contracted(&mut self, a: Value, b: Value) -> Value {
        self.push(Op::Contracted(a, b))
    }

    pub fn weighted(&mut self, x: Value, plain: Plain) -> Value {
        self.push(Op::Weighted(x, plain))
    }

    pub fn offset(&mut self, x: Value, plain: Plain) -> Value {
        self.push(Op::Offset(x, plain))
    }

    pub fn from(&mut self, x: Value, number: f64) -> Value {
        self.push(Op::From(x, number))
    }

    pub fn plus(&mut self, x: Value, number: f64) -> Value {
        self.push(Op::Plus(x, number))
    }

    pub fn scaled(&mut self, x: Value, factor: f64) -> Value {
        self.push(Op::Scaled(x, factor))
    }

    pub fn times(&mut self, x: Value, factor: i64) -> Value {
        self.push(Op::Times(x, factor))
    }

    pub fn polynomial(&mut self, x: Value, polynomials: Vec<Polynomial>) -> Value {
        self.push(Op::Polynomial(x, polynomials))
    }

    /// The sums of `size` neighbouring slots, a power of two, times numbers that are 0 but for the
    /// first slot of each group, in all slots of the group. One level.
    pub fn group_sum(&mut self, x: Value, size: usize, weights: Plain) -> Value {
        let steps = || (0..size.ilog2()).map(|bit| 1i64 << bit);
        let total = steps().fold(x, |sum, step| {
            let other = self.rotated(sum, vec![step]);
            self.sum(sum, other)
        });
        let total = self.weighted(total, weights);
        steps().fold(total, |sum, step| {
            let other = self.rotated(sum, vec![-step]);
            self.sum(sum, other)
        })
    }
}
