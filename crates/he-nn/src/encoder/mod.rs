//! Encoders of sentences, calibrated, computed in the clear with the approximations of encrypted
//! values, and computed on ciphertexts.
//!
//! Calibration finds the public offsets, factors and permutations that tame the ranges
//! ([`softmax`], [`norm`], [`gelu`]), and polynomials and reciprocals for these ranges.
//! [`Encoder::simulate`] computes what a sentence becomes with them, and [`plan`] places it in
//! ciphertexts.
//!
//! Everything up to the first linear layer is computed exactly: the tables are public, and whoever
//! encrypts does it before. So is the division by the length at the end, after decryption.

mod circuit;
mod comparison;
mod counts;
pub mod format;
pub mod gelu;
mod inverse;
pub mod norm;
pub mod plan;
mod polynomial;
pub mod range;
mod sample;
pub mod softmax;
mod units;

pub use circuit::Part;
pub use comparison::Comparison;
pub use counts::Counts;
pub use plan::{Plan, PreparedPlan};

use crate::error::{Error, Result};
use crate::graph::{Graph, Node, Op};
use crate::{parallel, transformers};
use range::Excess;
use sample::Sample;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Examples that calibration keeps for a test of the ranges: one of so many.
const HELD_OUT: usize = 4;

/// A node as it is computed on ciphertexts.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Approximate {
    /// Softmax.
    Softmax(softmax::Approximate),
    /// Layer normalisation.
    Norm(norm::Approximate),
    /// A function of hidden units.
    Function(gelu::Approximate),
}

/// A range that an example left which was kept for a test: the sample is too narrow.
#[derive(Clone, Debug, PartialEq)]
pub struct Warning {
    /// The examples that left it.
    pub examples: usize,
    /// The examples that were kept.
    pub of: usize,
    /// The first value that did.
    pub excess: Excess,
    /// The operator of the node.
    pub operator: String,
    /// The name of the node.
    pub name: String,
}

/// An encoder whose ranges are calibrated.
#[derive(Clone, Debug)]
pub struct Encoder {
    graph: Graph,
    /// The nodes that are computed before encryption or after decryption.
    public: Vec<bool>,
    approximate: Vec<Option<Approximate>>,
    /// The greatest magnitude of each node's numbers in the calibration.
    greatest: Vec<f64>,
    warnings: Vec<Warning>,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { examples, of, excess, operator, name } = self;
        write!(
            f,
            "{examples} of {of} examples that were kept for a test leave the ranges of the others at \
             operator {operator} of node {name:?}: {} is {}, and {} to {} was covered",
            excess.quantity, excess.value, excess.range.low, excess.range.high
        )
    }
}

impl Encoder {
    /// Calibrates a model on examples, each of which holds the numbers of all inputs one behind the
    /// other. One example of four tests the ranges of the others, before it widens them.
    ///
    /// # Errors
    /// [`Error::NoExamples`]; the errors of [`Graph::values`] for an example;
    /// [`Error::Unplanned`] for an operation that encoders do not have.
    pub fn calibrate(graph: Graph, examples: &[Vec<f64>]) -> Result<Self> {
        if examples.is_empty() {
            return Err(Error::NoExamples);
        }
        let is_public = public(&graph);
        check_operations(&graph, &is_public)?;
        for (index, example) in examples.iter().enumerate() {
            graph.check_example(index, example)?;
        }
        let is_kept = |index: usize| index % HELD_OUT == HELD_OUT - 1;
        let (kept, others): (Vec<usize>, Vec<usize>) = (0..examples.len()).partition(|&index| is_kept(index));
        let of_others = Sample::of(&graph, &is_public, examples, &others)?;
        let narrow = Self {
            approximate: of_others.approximate(&graph),
            graph,
            public: is_public,
            greatest: Vec::new(),
            warnings: Vec::new(),
        };
        let warnings = narrow.warnings_of(examples, &kept)?;
        let Self { graph, public, .. } = narrow;
        let sample = of_others.with(Sample::of(&graph, &public, examples, &kept)?);
        let approximate = sample.approximate(&graph);
        Ok(Self { graph, public, approximate, greatest: sample.greatest, warnings })
    }

    /// The ranges that some examples leave.
    fn warnings_of(&self, examples: &[Vec<f64>], kept: &[usize]) -> Result<Vec<Warning>> {
        let runs = parallel::mapped(kept, |&index| Ok(self.run(index, &examples[index])?.err()));
        let mut warnings: Vec<Warning> = Vec::new();
        for excess in runs.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten() {
            match warnings.iter_mut().find(|warning| warning.excess.node == excess.node) {
                Some(warning) => warning.examples += 1,
                None => {
                    let Node { operator, name, .. } = self.graph.nodes[excess.node].clone();
                    warnings.push(Warning { examples: 1, of: kept.len(), excess, operator, name });
                }
            }
        }
        Ok(warnings)
    }

    /// The model.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Each node as it is computed on ciphertexts, where that is an approximation.
    pub fn approximations(&self) -> impl Iterator<Item = (&Node, &Approximate)> {
        self.graph.nodes.iter().zip(&self.approximate).filter_map(|(node, a)| Some((node, a.as_ref()?)))
    }

    /// A node as it is computed on ciphertexts.
    fn approximate(&self, id: usize) -> Option<&Approximate> {
        self.approximate[id].as_ref()
    }

    /// The ranges that are too narrow for examples like those of the calibration.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The outputs of an example, which errors call number `index`, with the approximations of
    /// encrypted values, in float64 without noise.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for an example that leaves the calibrated ranges, with the operator;
    /// the errors of [`Graph::values`]. No output is ever not a number.
    pub fn simulate(&self, index: usize, example: &[f64]) -> Result<Vec<f64>> {
        let outputs = self.run(index, example)?.map_err(|excess| excess.error(&self.graph, index))?;
        match outputs.iter().find(|x| !x.is_finite()) {
            Some(&value) => {
                let range = range::Range { low: f64::MIN, high: f64::MAX };
                let quantity = "output".to_owned();
                Err(Excess { node: self.graph.output, quantity, value, range }.error(&self.graph, index))
            }
            None => Ok(outputs),
        }
    }

    fn run(&self, index: usize, example: &[f64]) -> Result<std::result::Result<Vec<f64>, Excess>> {
        let mut excess = None;
        let values = computed(&self.graph, index, example, |id, inputs| {
            let approximate = self.approximate[id].as_ref().filter(|_| excess.is_none())?;
            match approximate.apply(id, &self.graph.nodes[id].op, inputs) {
                Ok(value) => Some(value),
                Err(found) => {
                    excess = Some(found);
                    None
                }
            }
        })?;
        Ok(match excess {
            Some(excess) => Err(excess),
            None => Ok(self.graph.decision.apply(&values)),
        })
    }
}

/// The nodes that are computed before encryption or after decryption.
fn public(graph: &Graph) -> Vec<bool> {
    let mut public = Vec::with_capacity(graph.nodes.len());
    for node in &graph.nodes {
        let inputs = node.inputs.iter().all(|&input| public[input]);
        public.push(inputs && !matches!(node.op, Op::Dense(_) | Op::Contract(_)));
    }
    if graph.nodes[graph.output].op == Op::UnitLength {
        public[graph.output] = true;
    }
    public
}

/// Checks that encrypted values have all operations on them.
fn check_operations(graph: &Graph, public: &[bool]) -> Result<()> {
    let mut encrypted = graph.nodes.iter().zip(public).filter(|(_, public)| !**public);
    match encrypted.find(|(node, _)| !is_known(&node.op)) {
        Some((node, _)) => Err(Error::Unplanned { operator: node.operator.clone(), node: node.name.clone() }),
        None => Ok(()),
    }
}

/// Whether encrypted values have an operation, once plans do.
fn is_known(op: &Op) -> bool {
    match op {
        Op::Function(function) => !function.is_partial(),
        op => op.is_linear() || !matches!(op, Op::Lookup(_) | Op::UnitLength),
    }
}

/// The output of an example, exactly; `see` gets the inputs of each node.
fn exact(
    graph: &Graph,
    index: usize,
    example: &[f64],
    mut see: impl FnMut(usize, &[&[f64]]),
) -> Result<Vec<f64>> {
    computed(graph, index, example, |id, inputs| {
        see(id, inputs);
        None
    })
}

/// The output of an example, where `other` may compute nodes in its way.
///
/// Tokens beyond the sentence attend to nothing: their rows of softmax are 0. The mask is public,
/// and these rows do not reach the output.
fn computed(
    graph: &Graph,
    index: usize,
    example: &[f64],
    mut other: impl FnMut(usize, &[&[f64]]) -> Option<Vec<f64>>,
) -> Result<Vec<f64>> {
    graph.check_example(index, example)?;
    let mut values: Vec<Vec<f64>> = Vec::with_capacity(graph.nodes.len());
    for (id, node) in graph.nodes.iter().enumerate() {
        let inputs: Vec<&[f64]> = node.inputs.iter().map(|&input| values[input].as_slice()).collect();
        let value = match other(id, &inputs) {
            Some(value) => value,
            None => match (&node.op, &inputs[..]) {
                (Op::Softmax, [_, mask]) => {
                    let mut value = transformers::apply(&node.op, &inputs, &node.shape);
                    clear_rows(&mut value, mask);
                    value
                }
                _ => graph.value(id, example, &values, &|_, function, x| function.at(x)),
            },
        };
        values.push(value);
    }
    Ok(values.swap_remove(graph.output))
}

/// Clears the rows of tokens beyond the sentence.
fn clear_rows(value: &mut [f64], mask: &[f64]) {
    let rows = value.chunks_exact_mut(mask.len()).zip(mask.iter().cycle());
    rows.filter(|(_, bit)| **bit == 0.0).for_each(|(row, _)| row.fill(0.0));
}

impl Approximate {
    fn apply(&self, id: usize, op: &Op, inputs: &[&[f64]]) -> std::result::Result<Vec<f64>, Excess> {
        match (self, op) {
            (Self::Softmax(softmax), _) => softmax.apply(id, inputs[0], inputs.get(1).copied()),
            (Self::Norm(norm), Op::LayerNorm(of)) => norm.apply(id, of, inputs[0]),
            (Self::Norm(_), _) => Ok(Vec::new()),
            (Self::Function(function), _) => function.apply(id, inputs[0]),
        }
    }

    /// It in words.
    pub fn describe(&self) -> String {
        match self {
            Self::Softmax(softmax) => {
                let shifted = softmax.heads.iter().filter(|head| head.shift != softmax::Shift::None).count();
                let [first, second] = softmax.steps();
                format!(
                    "two stages, {} halvings, reciprocals of {first} and {second} steps, {} heads with an \
                     offset each, {shifted} with a shift",
                    softmax.halvings,
                    softmax.heads.len()
                )
            }
            Self::Norm(norm) => format!(
                "degree {} and {} steps of Newton, variances of ratio {:.1}, {} rows with a factor",
                norm.degree(),
                norm.newton,
                norm.ratio(),
                norm.outliers()
            ),
            Self::Function(function) => {
                let groups: Vec<String> =
                    function.groups().map(|(bound, degree)| format!("{degree} on {bound:.1}")).collect();
                format!("degrees of sorted units: {}", groups.join(", "))
            }
        }
    }

    /// The levels that it takes.
    pub fn depth(&self) -> usize {
        match self {
            Self::Softmax(softmax) => softmax.depth(),
            Self::Norm(norm) => norm.depth(),
            Self::Function(function) => function.depth(),
        }
    }
}
