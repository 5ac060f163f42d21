//! Everything that can go wrong between a model file and its encrypted outputs.

/// Result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A value of an example inside the gap of a comparison, which changes an output.
#[derive(Debug, thiserror::Error)]
#[error(
    "example {example}: operator {operator} of node {node:?} finds its value {value} at a distance \
     of {distance:.3e} from a threshold, comparisons are exact from {width:.3e} on, and output \
     {output} would be {found:.6} in place of {expected:.6}"
)]
pub struct NearThreshold {
    /// The example, from 0.
    pub example: usize,
    /// The operator.
    pub operator: String,
    /// The node.
    pub node: String,
    /// The index of the value among those that the operator takes.
    pub value: usize,
    /// Its distance from the threshold.
    pub distance: f64,
    /// The distance from which on comparisons are exact.
    pub width: f64,
    /// The output that changes.
    pub output: usize,
    /// Its value.
    pub expected: f64,
    /// Its value as computed on encrypted values.
    pub found: f64,
}

/// The errors of `he-nn`. Each names its subject; [`hint`](Self::hint) states the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are not an ONNX model.
    #[error("not an ONNX model: {why}")]
    NotOnnx {
        /// The message of the parser.
        why: String,
    },
    /// The model asks for something that is not computed on encrypted values.
    #[error("operator {operator} of node {node:?} is not supported: {why}")]
    Unsupported {
        /// The operator, as ONNX calls it.
        operator: String,
        /// The node, as the model calls it.
        node: String,
        /// The part of the node that is not supported.
        why: String,
        /// The advice on a replacement.
        hint: &'static str,
    },
    /// The model computes something that no plan for encrypted values has yet.
    #[error("operator {operator} of node {node:?} is not planned for encrypted values yet")]
    Unplanned {
        /// The operator.
        operator: String,
        /// The node.
        node: String,
    },
    /// A dimension other than that of the batch is not a number.
    #[error("dimension {axis} of {value:?} is dynamic ({dimension})")]
    DynamicShape {
        /// The input.
        value: String,
        /// The dimension, from 0.
        axis: usize,
        /// Its name in the model.
        dimension: String,
    },
    /// A weight is not a finite number.
    #[error("weight {at} of {tensor:?} is {value}")]
    Weight {
        /// The tensor.
        tensor: String,
        /// The index of the weight in it.
        at: usize,
        /// The weight.
        value: f64,
    },
    /// A tensor of a type that is not computed with.
    #[error("tensor {tensor:?} has elements of type {found}")]
    ElementType {
        /// The tensor.
        tensor: String,
        /// Its type, as ONNX calls it.
        found: String,
    },
    /// The parts of a model do not fit together.
    #[error("operator {operator} of node {node:?}: {why}")]
    Node {
        /// The operator.
        operator: String,
        /// The node.
        node: String,
        /// The fault.
        why: String,
    },
    /// The graph has a form that models here do not have.
    #[error("the model {why}")]
    Graph {
        /// The fault.
        why: String,
    },
    /// The model says or leaves out something with the effect that it is not read.
    #[error("the model {why}")]
    Model {
        /// The fault, as a predicate of the model.
        why: String,
        /// The remedy.
        hint: &'static str,
    },
    /// An example has another number of values than the model's input.
    #[error("example {example} has {found} values, and the model takes {expected}")]
    InputLength {
        /// The example, from 0.
        example: usize,
        /// Its values.
        found: usize,
        /// The number of values of the model's input.
        expected: usize,
    },
    /// A value of an example is not a finite number.
    #[error("value {at} of example {example} is {value}")]
    InputValue {
        /// The example, from 0.
        example: usize,
        /// The index of the value.
        at: usize,
        /// The value.
        value: f64,
    },
    /// A number of an example is not one of the integers that the model asks for.
    #[error("value {at} of example {example} is {value}, and the model asks for integers below {count}")]
    InputId {
        /// The example, from 0.
        example: usize,
        /// The index of the value.
        at: usize,
        /// The value.
        value: f64,
        /// The number of integers that are possible, from 0.
        count: usize,
    },
    /// The mask of an example keeps none of its tokens.
    #[error("the mask of example {example} keeps no token")]
    EmptyMask {
        /// The example, from 0.
        example: usize,
    },
    /// Calibration had no example.
    #[error("there is no example to calibrate with")]
    NoExamples,
    /// Calibration leaves no usable range.
    #[error("operator {operator} of node {node:?}: calibration found a range of {low} to {high}")]
    Uncalibrated {
        /// The operator.
        operator: String,
        /// The node.
        node: String,
        /// The least value found.
        low: f64,
        /// The greatest value found.
        high: f64,
    },
    /// An example leads out of the range that calibration covered.
    #[error(
        "example {example}: operator {operator} of node {node:?} meets {value}, and calibration \
         covered {low} to {high}"
    )]
    OutOfRange {
        /// The example, from 0.
        example: usize,
        /// The operator.
        operator: String,
        /// The node.
        node: String,
        /// The value.
        value: f64,
        /// The least value that is covered.
        low: f64,
        /// The greatest value that is covered.
        high: f64,
    },
    /// A value of an example is so close to a threshold that the comparison is not exact, and an
    /// output changes.
    #[error(transparent)]
    NearThreshold(Box<NearThreshold>),
    /// A wish that the compilation of encoders does not know.
    #[error("{what} is for networks of layers, and this model is an encoder of sentences")]
    Wish {
        /// The wish.
        what: &'static str,
    },
    /// No parameters serve the model.
    #[error("no parameters serve this model: {why}")]
    Parameters {
        /// Why.
        why: String,
    },
    /// A version of compiled models that this program does not read.
    #[error("version {found} of compiled models is unknown, this program reads {supported}")]
    Version {
        /// The version of the bytes.
        found: u32,
        /// The version that is read.
        supported: u32,
    },
    /// The bytes are not a compiled model.
    #[error("not a compiled model: {why}")]
    Format {
        /// The fault.
        why: String,
    },
    /// An operation on ciphertexts failed.
    #[error("{}", .0.message())]
    Core(#[from] he_core::Error),
}

impl Error {
    /// The remedy, if there is one.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NotOnnx { .. } => "export the model again, as one .onnx file",
            Self::Unsupported { hint, .. } | Self::Model { hint, .. } => hint,
            Self::Wish { .. } => "leave it out: the sentences decide on ranges and approximations",
            Self::Unplanned { .. } => {
                "leave this part out of the model: encoders have layers of attention, linear layers, functions \
                 of hidden units, sums and layer normalisations, and a mean of the tokens at the end"
            }
            Self::DynamicShape { .. } => {
                "export the model with fixed dimensions, or give this one a number when the model is read; only \
                 the first, of the batch, may stay dynamic"
            }
            Self::Weight { .. } => "train the model again: weights must be finite numbers",
            Self::ElementType { .. } => {
                "export the model with weights of a floating-point type, before any quantisation"
            }
            Self::Node { .. } | Self::Graph { .. } => {
                "correct the model: onnx.checker.check_model(onnx.load(\"model.onnx\"), full_check=True) \
                 finds parts that do not fit"
            }
            Self::InputLength { .. } => "flatten each example in the order of the model's input",
            Self::InputValue { .. } => "replace it by a number, or leave the example out",
            Self::InputId { .. } => "use the ids of the model's own tokenizer, and a mask of 0 and 1",
            Self::EmptyMask { .. } => "give at least one token the mask 1",
            Self::NoExamples => "calibrate with examples that are typical of the inputs to come",
            Self::Uncalibrated { .. } => "calibrate with examples whose values are finite and not all equal",
            Self::OutOfRange { .. } => "compile the model again, calibrated with examples like this one",
            Self::NearThreshold(_) => {
                "leave the example out, or compile the model with more bits: each halves the distance"
            }
            Self::Parameters { .. } => "ask for fewer bits of precision, or use a smaller model",
            Self::Version { found, supported } if found > supported => "update the program",
            Self::Version { .. } => "compile the model again",
            Self::Format { .. } => "compile the model again, or get an undamaged copy",
            Self::Core(error) => return error.hint(),
        };
        Some(hint.to_owned())
    }
}
