//! Encoders as circuits: straight programs of few kinds of steps on ciphertexts.
//!
//! Every step takes values of steps before it. A value is a list of ciphertexts of one
//! [layout](layout::Layout); each ciphertext is a batch of the vectors of one sentence. One program
//! serves the plan ([`levels`]), the evaluation in the clear ([`clear`]) and that on ciphertexts
//! ([`run`]).

mod attention;
mod build;
pub mod clear;
mod graph;
mod inverse;
pub mod layout;
pub mod levels;
pub mod map;
mod norm;
pub mod plain;
pub mod prepared;
pub mod run;
mod softmax;

pub use graph::{Assembled, Output};

use he_core::circuits::ckks::Polynomial;
use layout::Layout;
use map::Map;
use plain::Plain;
use std::ops::Range;

/// The number of a step, which stands for its value.
pub type Value = usize;

/// The computation of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// The input.
    Input,
    /// A linear map of the features of each token.
    Map(Value, Map),
    /// The slots of one ciphertext rotated by each of these numbers.
    Rotated(Value, Vec<i64>),
    /// The vectors of each batch, cyclically by this number.
    Blocks(Value, usize),
    /// The ciphertexts of several values.
    Joined(Vec<Value>),
    /// Some ciphertexts of a value.
    Picked(Value, Range<usize>),
    /// A sum, of each of the first value's ciphertexts and that of the second, or its only one.
    Sum(Value, Value),
    /// A difference, likewise.
    Difference(Value, Value),
    /// The sum of all ciphertexts of a value.
    Total(Value),
    /// Products, likewise.
    Product(Value, Value),
    /// The sum of the products of ciphertexts that both values have at the same place.
    Contracted(Value, Value),
    /// Products with numbers in the clear.
    Weighted(Value, Plain),
    /// Sums with them.
    Offset(Value, Plain),
    /// A number minus the value.
    From(Value, f64),
    /// A number plus the value.
    Plus(Value, f64),
    /// A number times the value.
    Scaled(Value, f64),
    /// An integer times the value.
    Times(Value, i64),
    /// A polynomial for each ciphertext.
    Polynomial(Value, Vec<Polynomial>),
}

impl Op {
    /// The values that it takes.
    pub fn operands(&self) -> Vec<Value> {
        match self {
            Self::Input => Vec::new(),
            Self::Joined(values) => values.clone(),
            &Self::Sum(a, b) | &Self::Difference(a, b) | &Self::Product(a, b) | &Self::Contracted(a, b) => {
                vec![a, b]
            }
            &Self::Blocks(x, _)
            | &Self::Total(x)
            | &Self::From(x, _)
            | &Self::Plus(x, _)
            | &Self::Scaled(x, _)
            | &Self::Times(x, _) => vec![x],
            Self::Map(x, _)
            | Self::Rotated(x, _)
            | Self::Picked(x, _)
            | Self::Weighted(x, _)
            | Self::Offset(x, _)
            | Self::Polynomial(x, _) => vec![*x],
        }
    }

    /// The levels between its operands and its value.
    pub fn depth(&self) -> usize {
        match self {
            Self::Map(..) | Self::Product(..) | Self::Contracted(..) | Self::Weighted(..) => 1,
            Self::Scaled(..) => 1,
            Self::Polynomial(_, polynomials) => {
                polynomials.iter().map(|polynomial| polynomial.requirements().depth).max().unwrap_or(0)
            }
            _ => 0,
        }
    }
}

/// The part of an encoder that a step belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Part {
    /// Linear layers.
    Linear,
    /// Products of queries and keys.
    Scores,
    /// Softmax.
    Softmax,
    /// Products of weights and values.
    Values,
    /// Sums of values.
    Sum,
    /// Layer normalisation.
    Norm,
    /// Functions of hidden units.
    Function,
    /// The mean of the tokens.
    Pooling,
    /// Refreshes, of any of the others' values.
    Refresh,
}

impl Part {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear layer",
            Self::Scores => "scores",
            Self::Softmax => "softmax",
            Self::Values => "weighted values",
            Self::Sum => "sum",
            Self::Norm => "normalisation",
            Self::Function => "function",
            Self::Pooling => "mean of tokens",
            Self::Refresh => "refresh",
        }
    }
}

/// A step.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its computation.
    pub op: Op,
    /// The ciphertexts of its value.
    pub count: usize,
    /// The node of the graph that it is a part of.
    pub node: usize,
    /// The part of the encoder.
    pub part: Part,
    /// Whether its numbers are within -1 and 1, so that it can be refreshed.
    pub is_small: bool,
}

/// The steps of an encoder.
#[derive(Clone, Debug)]
pub struct Circuit {
    /// The places of its values.
    pub layout: Layout,
    /// The steps, each after its operands; the last one is the output.
    pub steps: Vec<Step>,
}

impl Circuit {
    /// The last step that takes each value.
    pub fn last_uses(&self) -> Vec<Option<usize>> {
        let mut last = vec![None; self.steps.len()];
        for (id, step) in self.steps.iter().enumerate() {
            step.op.operands().into_iter().for_each(|operand| last[operand] = Some(id));
        }
        last
    }
}
