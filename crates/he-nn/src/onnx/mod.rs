//! Reads ONNX into a [`Graph`].
//!
//! The batch is dimension 0 of every value and is left out: models are read as for one example.
//! What depends on constants alone is computed here, such as the dimensions of a reshape.

mod constants;
mod guard;
mod maximum;
mod node;
mod operators;
mod tensor;

use crate::error::{Error, Result};
use crate::graph::{Decision, Graph, MAX_ELEMENTS, Node, Op, Shape};
use node::View;
use rten_onnx::onnx::{DataType, GraphProto, ModelProto, ValueInfoProto};
use rten_onnx::protobuf::DecodeMessage;
use std::collections::{HashMap, HashSet};
use tensor::Tensor;

/// The longest file that is read.
pub const MAX_BYTES: usize = 1 << 28;

/// What a name of the model stands for.
#[derive(Clone, Debug)]
enum Value {
    /// A constant, which includes the dimensions of values.
    Constant(Tensor),
    /// The value of a node of the graph.
    Node(usize),
}

/// A model on its way from ONNX.
struct Reader {
    nodes: Vec<Node>,
    values: HashMap<String, Value>,
    decision: Decision,
    /// The size of the batch that dimensions of the model contain.
    batch: usize,
}

impl Graph {
    /// Reads a model.
    ///
    /// Supported are Conv, Gemm, MatMul with a constant, BatchNormalization, AveragePool,
    /// GlobalAveragePool, ReduceMean over planes, Add, Sub, Mul, Div, Neg, Pad, Transpose, Flatten,
    /// Reshape, Squeeze, Unsqueeze, Identity, Dropout, Cast, Constant and arithmetic of constants;
    /// MaxPool, GlobalMaxPool, ReduceMax over planes, Max and Min of two values, by comparisons;
    /// the functions Relu, LeakyRelu, Clip, Sigmoid, HardSigmoid, Tanh, Erf, Gelu, Elu, Exp, Abs,
    /// Softplus, HardSwish, Pow by small integers, and what Mul and Add make of them; at the end
    /// Softmax, LogSoftmax and ArgMax, which are computed after decryption.
    ///
    /// # Errors
    /// [`Error::NotOnnx`]; [`Error::Unsupported`], [`Error::DynamicShape`],
    /// [`Error::ElementType`], [`Error::Weight`], with the name of what they are about;
    /// [`Error::Node`] and [`Error::Graph`] for parts that do not fit together.
    pub fn from_onnx(bytes: &[u8]) -> Result<Self> {
        if bytes.len() > MAX_BYTES {
            return Err(Error::NotOnnx {
                why: format!("{} bytes, at most {MAX_BYTES} are read", bytes.len()),
            });
        }
        guard::check(bytes).map_err(|why| Error::NotOnnx { why })?;
        let model = ModelProto::decode(guard::Bytes::new(bytes));
        let model = model.map_err(|error| Error::NotOnnx { why: error.to_string() })?;
        let graph = model.graph.ok_or_else(|| Error::NotOnnx { why: "it has no graph".to_owned() })?;
        Reader::read(&graph)
    }
}

fn graph_error(why: impl Into<String>) -> Error {
    Error::Graph { why: why.into() }
}

impl Reader {
    fn read(proto: &GraphProto) -> Result<Graph> {
        let mut values = HashMap::new();
        for initializer in &proto.initializer {
            let name = initializer.name.clone().unwrap_or_default();
            values.insert(name, Value::Constant(Tensor::read(initializer)?));
        }
        let constants: HashSet<&String> = values.keys().collect();
        let is_input =
            |value: &&ValueInfoProto| value.name.as_ref().is_some_and(|name| !constants.contains(name));
        let inputs: Vec<&ValueInfoProto> = proto.input.iter().filter(is_input).collect();
        let [input] = inputs[..] else {
            return Err(graph_error(format!("has {} inputs; models of one are supported", inputs.len())));
        };
        let (shape, batch) = input_shape(input)?;
        let name = input.name.clone().unwrap_or_default();
        values.insert(name.clone(), Value::Node(0));
        let node = Node { name, operator: "Input".to_owned(), op: Op::Input, inputs: Vec::new(), shape };
        let mut reader = Self { nodes: vec![node], values, decision: Decision::None, batch };
        for proto in &proto.node {
            let view = View::new(proto)?;
            reader.node(&view)?;
        }
        let outputs: Vec<&str> = proto.output.iter().filter_map(|output| output.name.as_deref()).collect();
        let [output] = outputs[..] else {
            return Err(graph_error(format!("has {} outputs; models of one are supported", outputs.len())));
        };
        match reader.values.get(output) {
            Some(&Value::Node(output)) => {
                Ok(Graph { nodes: reader.nodes, output, decision: reader.decision }.pruned())
            }
            _ => Err(graph_error(format!("never computes its output {output:?}"))),
        }
    }

    /// Adds what a node computes, under the name of its output.
    fn node(&mut self, view: &View<'_>) -> Result<()> {
        let value = match constants::fold(self, view)? {
            Some(tensor) => Value::Constant(tensor),
            None => Value::Node(operators::node(self, view)?),
        };
        self.values.insert(view.output.to_owned(), value);
        Ok(())
    }

    /// The value of an input of a node.
    fn value(&self, view: &View<'_>, index: usize) -> Result<&Value> {
        let name = view.input(index)?;
        self.values
            .get(name)
            .ok_or_else(|| view.wrong(format!("its input {name:?} is not computed before it")))
    }

    /// An input that must be a constant.
    fn constant(&self, view: &View<'_>, index: usize, what: &str) -> Result<&Tensor> {
        match self.value(view, index)? {
            Value::Constant(tensor) => Ok(tensor),
            Value::Node(_) => Err(view.unsupported(
                format!("its {what} depend on the input"),
                "use weights that are constants of the model",
            )),
        }
    }

    /// An input that must depend on the input of the model.
    fn encrypted(&self, view: &View<'_>, index: usize) -> Result<usize> {
        match self.value(view, index)? {
            Value::Node(id) => Ok(*id),
            Value::Constant(_) => Err(view.unsupported(
                "it applies a constant to constants in a way that is not computed here".to_owned(),
                "let the exporter fold constants",
            )),
        }
    }

    fn shape(&self, id: usize) -> &Shape {
        &self.nodes[id].shape
    }

    fn push(&mut self, view: &View<'_>, op: Op, inputs: Vec<usize>, shape: Shape) -> Result<usize> {
        let elements = shape.iter().try_fold(1usize, |product, &dim| product.checked_mul(dim));
        if elements.is_none_or(|elements| elements == 0 || elements > MAX_ELEMENTS) {
            return Err(view.wrong(format!("its value of dimensions {shape:?} is empty or too large")));
        }
        if self.decision != Decision::None {
            return Err(view.unsupported(
                format!("it comes after {}", self.decision.name()),
                "Softmax, LogSoftmax and ArgMax are computed after decryption, thus at the end",
            ));
        }
        let (name, operator) = (view.name.to_owned(), view.operator.to_owned());
        self.nodes.push(Node { name, operator, op, inputs, shape });
        Ok(self.nodes.len() - 1)
    }
}

/// The dimensions of the input without the batch, and the size of the batch.
fn input_shape(input: &ValueInfoProto) -> Result<(Shape, usize)> {
    let name = input.name.clone().unwrap_or_default();
    let tensor = input.r#type.as_ref().and_then(|of| of.tensor_type.as_ref());
    let shape = tensor.and_then(|tensor| tensor.shape.as_ref());
    let (Some(tensor), Some(shape)) = (tensor, shape) else {
        return Err(graph_error(format!("does not say which dimensions its input {name:?} has")));
    };
    if tensor.elem_type != Some(DataType::FLOAT) && tensor.elem_type != Some(DataType::DOUBLE) {
        let found = tensor.elem_type.as_ref().and_then(DataType::name).unwrap_or("no type").to_owned();
        return Err(Error::ElementType { tensor: name, found });
    }
    let Some((batch, rest)) = shape.dim.split_first() else {
        return Err(graph_error(format!("has an input {name:?} without dimensions")));
    };
    let fixed = |(axis, dim): (usize, &rten_onnx::onnx::Dimension)| match dim.dim_value {
        Some(value) if value > 0 => Ok(value as usize),
        _ => {
            let dimension = dim.dim_param.clone().unwrap_or_else(|| "unknown".to_owned());
            Err(Error::DynamicShape { value: name.clone(), axis: axis + 1, dimension })
        }
    };
    let shape: Shape = rest.iter().enumerate().map(fixed).collect::<Result<_>>()?;
    let elements = shape.iter().try_fold(1usize, |product, &dim| product.checked_mul(dim));
    if shape.is_empty() || elements.is_none_or(|elements| elements > MAX_ELEMENTS) {
        return Err(graph_error(format!("has an input {name:?} of dimensions {shape:?} besides the batch")));
    }
    let batch = batch.dim_value.and_then(|value| usize::try_from(value).ok()).unwrap_or(1);
    Ok((shape, batch.max(1)))
}

impl Graph {
    /// Without the nodes that the output does not need.
    fn pruned(self) -> Self {
        let mut needed = vec![false; self.nodes.len()];
        needed[0] = true;
        needed[self.output] = true;
        for id in (0..self.nodes.len()).rev().filter(|&id| id <= self.output) {
            if needed[id] {
                self.nodes[id].inputs.iter().for_each(|&input| needed[input] = true);
            }
        }
        let mut place = Vec::with_capacity(needed.len());
        let mut count = 0;
        for &needed in &needed {
            place.push(count);
            count += usize::from(needed);
        }
        let kept = self.nodes.into_iter().zip(&needed).filter(|(_, needed)| **needed);
        let nodes = kept.map(|(mut node, _)| {
            node.inputs.iter_mut().for_each(|input| *input = place[*input]);
            node
        });
        Self { nodes: nodes.collect(), output: place[self.output], decision: self.decision }
    }
}
