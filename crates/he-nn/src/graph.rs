//! A model as a graph of linear maps and functions of one number.

use crate::function::Function;
use crate::pairs;
use serde::{Deserialize, Serialize};

/// The dimensions of a value without that of the batch.
pub type Shape = Vec<usize>;

/// The most elements that a value may have.
pub const MAX_ELEMENTS: usize = 1 << 22;

/// A model: its nodes in an order in which each comes after its inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Graph {
    /// The nodes. The first is an input; a model of several has them in front of everything else.
    pub nodes: Vec<Node>,
    /// The node whose value is decrypted.
    pub output: usize,
    /// The decision that is made from that value after decryption.
    pub decision: Decision,
}

/// A node: one value, and how it is computed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Its name in the model.
    pub name: String,
    /// Its operator, as ONNX calls it.
    pub operator: String,
    /// The operation that computes it.
    pub op: Op,
    /// The nodes whose values it takes.
    pub inputs: Vec<usize>,
    /// The dimensions of its value.
    pub shape: Shape,
}

impl Node {
    /// The elements of its value.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }
}

/// The operation of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Op {
    /// The input of the model.
    Input,
    /// A convolution of planes.
    Conv(Conv),
    /// y_i = sum_j weight_ij x_j + bias_i, on every row of the last axis.
    Dense(Dense),
    /// Averages over windows of each plane.
    Pool(Window),
    /// y_i = factor_i x_i + offset_i.
    Affine(Affine),
    /// The element at each place comes from this place of the input, or is 0.
    Gather(Vec<Option<u32>>),
    /// Differences of elements, such as comparisons take.
    Differences(Differences),
    /// The elements of the input, in other dimensions.
    Reshape,
    /// The sum of two values.
    Add,
    /// The product of two values, element by element.
    Product,
    /// A function of every element.
    Function(Function),
    /// A linear map and an offset whose rows have few entries each.
    Sparse(Vec<Row>),
    /// An input of integers that whoever encrypts knows, and that are not encrypted themselves.
    Public(Public),
    /// The rows of a table that ids name: rows of ids become rows of numbers.
    Lookup(Table),
    /// Products of pairs of matrices, both of which depend on the inputs.
    Contract(Contract),
    /// exp(x_j) / sum_k exp(x_k) along the last axis. A second input is a mask of the places j:
    /// only those with a 1 count, and the others become 0.
    Softmax,
    /// Rows of mean 0 and variance 1, and a factor and an offset for each place in a row.
    LayerNorm(LayerNorm),
    /// Rows divided by their Euclidean lengths.
    UnitLength,
    /// The mean of the rows of the first input that the mask, the second one, keeps.
    MaskedMean,
}

/// The decision that is made from the outputs after decryption, in the clear.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Decision {
    /// Nothing.
    #[default]
    None,
    /// exp(y_i) / sum_j exp(y_j).
    Softmax,
    /// The logarithm of that.
    LogSoftmax,
    /// The index of the greatest output.
    ArgMax,
    /// The class with the most votes, the first of several: each output decides between two of
    /// them, (0, 1), (0, 2) ... (1, 2) ..., for the first one if it is positive.
    Votes,
    /// The probabilities of classes: of each two of them, in the order of [`Votes`](Self::Votes),
    /// an output t says that the first one has the probability 1 / (1 + exp(t)) if it is either.
    Coupling,
    /// The scores of classes from those of each two of them, in the order of
    /// [`Votes`](Self::Votes): v + c / (3 (|c| + 1)) for the votes v of a class, where 0 is one for
    /// the first of two, and the sum c of its outputs, negated where it is the second.
    OneVsRest,
    /// -1, 0 or 1: the sign of each output.
    Sign,
    /// The outputs divided by their Euclidean length.
    UnitLength,
}

impl Decision {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Softmax => "softmax",
            Self::LogSoftmax => "log-softmax",
            Self::ArgMax => "argmax",
            Self::Votes => "votes",
            Self::Coupling => "coupling",
            Self::OneVsRest => "one-vs-rest",
            Self::Sign => "sign",
            Self::UnitLength => "unit-length",
        }
    }

    /// The decision on the outputs of one example.
    pub fn apply(self, outputs: &[f64]) -> Vec<f64> {
        let greatest = outputs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let log_sum = || greatest + libm::log(outputs.iter().map(|y| libm::exp(y - greatest)).sum::<f64>());
        match self {
            Self::None => outputs.to_vec(),
            Self::Softmax => outputs.iter().map(|y| libm::exp(y - log_sum())).collect(),
            Self::LogSoftmax => outputs.iter().map(|y| y - log_sum()).collect(),
            Self::ArgMax => vec![argmax(outputs) as f64],
            Self::Votes => vec![argmax(&pairs::votes(outputs)) as f64],
            Self::Coupling => pairs::probabilities(outputs),
            Self::OneVsRest => pairs::one_vs_rest(outputs),
            Self::Sign => outputs.iter().map(|&y| if y == 0.0 { 0.0 } else { y.signum() }).collect(),
            Self::UnitLength => of_unit_length(outputs),
        }
    }
}

impl Graph {
    /// The nodes that the output depends on, and the inputs.
    pub(crate) fn needed(&self) -> Vec<bool> {
        let mut needed: Vec<bool> = self.nodes.iter().map(|node| node.op.is_input()).collect();
        needed[self.output] = true;
        for id in (0..=self.output).rev() {
            if needed[id] {
                self.nodes[id].inputs.iter().for_each(|&input| needed[input] = true);
            }
        }
        needed
    }

    /// How often each value is taken, as the output once.
    pub(crate) fn uses(&self) -> Vec<usize> {
        let mut uses = vec![0; self.nodes.len()];
        self.nodes.iter().flat_map(|node| &node.inputs).for_each(|&input| uses[input] += 1);
        uses[self.output] += 1;
        uses
    }
}

impl Graph {
    /// Whether it is an encoder of sentences: it has operations of transformers or several inputs.
    pub fn is_encoder(&self) -> bool {
        self.inputs().count() > 1 || self.nodes.iter().any(|node| node.op.is_of_transformers())
    }
}

/// Numbers divided by their Euclidean length.
pub fn of_unit_length(row: &[f64]) -> Vec<f64> {
    let length = row.iter().map(|x| x * x).sum::<f64>().sqrt();
    row.iter().map(|x| x / length).collect()
}

/// The index of the greatest number, the first of several.
pub fn argmax(values: &[f64]) -> usize {
    let best = |best: usize, at: usize| if values[at] > values[best] { at } else { best };
    (0..values.len()).fold(0, best)
}

/// A window that moves over planes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Its rows and columns.
    pub kernel: [usize; 2],
    /// Its steps.
    pub strides: [usize; 2],
    /// Rows and columns of zeros above and to the left.
    pub before: [usize; 2],
    /// Rows and columns of zeros below and to the right.
    pub after: [usize; 2],
    /// The distance of neighbouring places in it.
    pub dilations: [usize; 2],
    /// Whether an average counts the zeros of the border.
    pub count_border: bool,
}

impl Window {
    /// The dimensions of the plane that it leaves, if the window fits the plane.
    pub fn output(&self, plane: [usize; 2]) -> Option<[usize; 2]> {
        let along = |axis: usize| {
            let reach =
                self.dilations[axis].checked_mul(self.kernel[axis].checked_sub(1)?)?.checked_add(1)?;
            let padded = plane[axis].checked_add(self.before[axis])?.checked_add(self.after[axis])?;
            Some(padded.checked_sub(reach)? / self.strides[axis] + 1)
        };
        Some([along(0)?, along(1)?])
    }

    /// The places of a plane under the window of an output, each with its place in the window.
    pub(crate) fn places(
        &self,
        plane: [usize; 2],
        at: [usize; 2],
    ) -> impl Iterator<Item = (usize, usize)> + '_ {
        let along = move |axis: usize, k: usize| {
            (at[axis] * self.strides[axis] + k * self.dilations[axis])
                .checked_sub(self.before[axis])
                .filter(|&x| x < plane[axis])
        };
        let [rows, columns] = self.kernel;
        (0..rows).flat_map(move |i| {
            (0..columns).filter_map(move |j| {
                let (y, x) = (along(0, i)?, along(1, j)?);
                Some((y * plane[1] + x, i * columns + j))
            })
        })
    }
}

/// A convolution: weights `[output][input / groups][row][column]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conv {
    /// The window.
    pub window: Window,
    /// Groups of channels that do not meet.
    pub groups: usize,
    /// Channels that it leaves.
    pub outputs: usize,
    /// Channels that it takes.
    pub inputs: usize,
    /// The weights.
    pub weights: Vec<f64>,
    /// A number for each channel that it leaves.
    pub bias: Vec<f64>,
}

/// A fully connected layer: weights `[output][input]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dense {
    /// Numbers that it leaves.
    pub outputs: usize,
    /// Numbers that it takes.
    pub inputs: usize,
    /// The weights.
    pub weights: Vec<f64>,
    /// A number for each output.
    pub bias: Vec<f64>,
}

/// Factors and offsets, one for each element or one for each run of equal ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Affine {
    /// The number of neighbouring elements that share a factor and an offset.
    pub run: usize,
    /// The factors, which repeat from the start when they are used up.
    pub factors: Vec<f64>,
    /// The offsets, likewise.
    pub offsets: Vec<f64>,
}

impl Affine {
    /// The factor and the offset of an element.
    pub fn at(&self, element: usize) -> (f64, f64) {
        let index = element / self.run;
        (self.factors[index % self.factors.len()], self.offsets[index % self.offsets.len()])
    }

    /// The factor and the offset of all elements, if they are equal.
    pub fn uniform(&self) -> Option<(f64, f64)> {
        let (factor, offset) = (*self.factors.first()?, *self.offsets.first()?);
        let same = self.factors.iter().all(|&x| x == factor) && self.offsets.iter().all(|&x| x == offset);
        same.then_some((factor, offset))
    }
}

/// A row of a linear map of few entries: sum_k weight_k x_k + offset.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The places, each with its weight.
    pub entries: Vec<(u32, f64)>,
    /// The number that is added.
    pub offset: f64,
}

/// The meaning of an input of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Public {
    /// Numbers from 0 to below this one, which name rows of tables.
    Ids(usize),
    /// 1 for the tokens of a sentence, 0 for the rest, with at least one 1.
    Mask,
}

/// A table: `values[row][column]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// The numbers of a row.
    pub width: usize,
    /// The numbers, row by row.
    pub values: Vec<f64>,
}

/// y_gij = factor sum_k a_gik b_gkj, for each group g.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contract {
    /// The pairs of matrices, such as heads of attention.
    pub groups: usize,
    /// The rows of the first matrix.
    pub rows: usize,
    /// The columns of the first and the rows of the second matrix.
    pub inner: usize,
    /// The columns of the second matrix.
    pub columns: usize,
    /// The factor.
    pub factor: f64,
}

/// y_j = scale_j (x_j - m) / sqrt(v + epsilon) + shift_j for each row x of mean m and variance v,
/// the mean of (x_k - m)^2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerNorm {
    /// The number that is added to the variance.
    pub epsilon: f64,
    /// The factors.
    pub scale: Vec<f64>,
    /// The offsets.
    pub shift: Vec<f64>,
}

/// y_i = x_a - x_b for the places (a, b) of each i: 0 where they are the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Differences {
    /// The places.
    pub places: Vec<[u32; 2]>,
    /// The steps of the windows over planes that the places come from.
    pub strides: [usize; 2],
}

impl Op {
    /// Whether it is a linear map and an offset.
    pub fn is_linear(&self) -> bool {
        matches!(
            self,
            Self::Conv(_)
                | Self::Dense(_)
                | Self::Pool(_)
                | Self::Affine(_)
                | Self::Gather(_)
                | Self::Differences(_)
                | Self::Reshape
                | Self::Sparse(_)
        )
    }

    /// Whether it is an input of the model.
    pub fn is_input(&self) -> bool {
        matches!(self, Self::Input | Self::Public(_))
    }

    /// Whether it is one of the operations of transformers, or an input of integers.
    pub fn is_of_transformers(&self) -> bool {
        !self.is_linear() && !matches!(self, Self::Input | Self::Add | Self::Product | Self::Function(_))
    }

    /// The entries of a linear map: `entry(row, column, weight)` for each that is not zero, in the
    /// order of rows. Several entries of one place add up.
    pub fn entries(&self, input: &[usize], output: &[usize], mut entry: impl FnMut(usize, usize, f64)) {
        let elements: usize = output.iter().product();
        match self {
            Self::Conv(conv) => conv.entries([input[1], input[2]], entry),
            Self::Dense(dense) => {
                for row in 0..elements {
                    let (repeat, i) = (row / dense.outputs, row % dense.outputs);
                    let weights = &dense.weights[i * dense.inputs..][..dense.inputs];
                    for (j, &weight) in weights.iter().enumerate() {
                        entry(row, repeat * dense.inputs + j, weight);
                    }
                }
            }
            Self::Pool(window) => {
                let (plane, size) = ([input[1], input[2]], input[1] * input[2]);
                // The value may leave out axes of length one.
                let Some([height, width]) = window.output(plane) else { return };
                for row in 0..elements {
                    let (channel, at) = (row / (height * width), row % (height * width));
                    let at = [at / width, at % width];
                    let all = window.kernel[0] * window.kernel[1];
                    let count = if window.count_border { all } else { window.places(plane, at).count() };
                    for (place, _) in window.places(plane, at) {
                        entry(row, channel * size + place, 1.0 / count.max(1) as f64);
                    }
                }
            }
            Self::Affine(affine) => (0..elements).for_each(|row| entry(row, row, affine.at(row).0)),
            Self::Gather(from) => {
                for (row, from) in from.iter().enumerate() {
                    if let Some(column) = from {
                        entry(row, *column as usize, 1.0);
                    }
                }
            }
            Self::Differences(differences) => {
                let different = |&(_, [a, b]): &(usize, &[u32; 2])| a != b;
                for (row, [a, b]) in differences.places.iter().enumerate().filter(different) {
                    entry(row, *a as usize, 1.0);
                    entry(row, *b as usize, -1.0);
                }
            }
            Self::Reshape => (0..elements).for_each(|row| entry(row, row, 1.0)),
            Self::Sparse(rows) => {
                for (at, row) in rows.iter().enumerate() {
                    row.entries.iter().for_each(|&(column, weight)| entry(at, column as usize, weight));
                }
            }
            _ => {}
        }
    }

    /// The steps of the windows over planes that it moves; `None` if it moves elements in another
    /// way.
    pub fn strides(&self) -> Option<[usize; 2]> {
        match self {
            Self::Conv(conv) => Some(conv.window.strides),
            Self::Pool(window) => Some(window.strides),
            Self::Differences(differences) => Some(differences.strides),
            Self::Affine(_) | Self::Reshape => Some([1, 1]),
            _ => None,
        }
    }

    /// The offset of a linear map at a row.
    pub fn offset(&self, output: &[usize], row: usize) -> f64 {
        match self {
            Self::Conv(conv) => conv.bias[row / (output[1] * output[2])],
            Self::Dense(dense) => dense.bias[row % dense.outputs],
            Self::Affine(affine) => affine.at(row).1,
            Self::Sparse(rows) => rows[row].offset,
            _ => 0.0,
        }
    }
}

impl Conv {
    fn entries(&self, plane: [usize; 2], mut entry: impl FnMut(usize, usize, f64)) {
        let Some([rows, columns]) = self.window.output(plane) else { return };
        let (inputs, outputs) = (self.inputs / self.groups, self.outputs / self.groups);
        let (size, window) = (plane[0] * plane[1], self.window.kernel[0] * self.window.kernel[1]);
        for channel in 0..self.outputs {
            let first = channel / outputs * inputs;
            for at in 0..rows * columns {
                for input in 0..inputs {
                    let weights = &self.weights[(channel * inputs + input) * window..][..window];
                    for (place, k) in self.window.places(plane, [at / columns, at % columns]) {
                        entry(channel * rows * columns + at, (first + input) * size + place, weights[k]);
                    }
                }
            }
        }
    }
}
