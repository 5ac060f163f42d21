//! Reads ONNX into a [`Graph`].
//!
//! The batch is dimension 0 of every value and is left out: models are read as for one example.
//! Constants keep their type, and values that depend on constants alone are computed by ONNX's
//! rules, such as the dimensions of a reshape. Each operator takes the attributes and inputs that
//! it knows under the opset of the model, and is refused if anything is left over.

mod arrangement;
mod constants;
mod element;
mod external;
mod guard;
mod inputs;
mod maximum;
mod node;
mod operators;
mod opsets;
mod tensor;

use crate::canonical;
use crate::error::{Error, Result};
use crate::graph::{Decision, Graph, MAX_ELEMENTS, Node, Op, Public, Shape};
use node::View;
use operators::Followed;
use opsets::Opsets;
use rten_onnx::onnx::{GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto};
use rten_onnx::protobuf::DecodeMessage;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::rc::Rc;
use tensor::Tensor;

/// The longest file that is read.
pub const MAX_BYTES: usize = 1 << 28;

/// A model as read from ONNX: the computation of one of its outputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The graph of the computation.
    pub graph: Graph,
    /// The name of the output that it computes.
    pub output: String,
    /// The other outputs of the model, which are not computed.
    pub others: Vec<String>,
}

/// The meaning of a name of the model.
#[derive(Clone, Debug)]
enum Value {
    /// A constant, which includes the dimensions of values.
    Constant(Rc<Tensor>),
    /// The value of a node of the graph.
    Node(usize),
    /// The value of a node as rows without the dimension of the batch, which is of one example.
    Rows(usize),
    /// A decision on the value of a node after decryption.
    Decided(usize, Decision),
}

impl Value {
    fn constant(tensor: Tensor) -> Self {
        Self::Constant(Rc::new(tensor))
    }
}

/// The dimension of the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Batch {
    /// Any number of examples.
    Any,
    /// The number that the model says.
    Fixed(usize),
}

impl Batch {
    /// The dimension that the model sees: that of one example where any is possible.
    fn size(self) -> usize {
        match self {
            Self::Any => 1,
            Self::Fixed(size) => size,
        }
    }
}

/// A model on its way from ONNX.
struct Reader<'a> {
    nodes: Vec<Node>,
    values: HashMap<&'a str, Value>,
    /// Constants that nothing has asked for yet.
    initializers: HashMap<&'a str, &'a TensorProto>,
    /// The names that something takes, the output among them.
    used: HashSet<&'a str>,
    batch: Batch,
    /// Nodes that hold 0 and 1 only, if the example keeps what its mask promises.
    bits: HashSet<usize>,
    /// Values that are computed from the scores of pairs of classes, after decryption.
    followed: Followed<'a>,
    /// Whether the graph has operations of transformers.
    is_transformer: bool,
    /// Elements of constants that may still be computed, and those that operators may still list.
    left: Room,
}

/// The room that a file has left for numbers: a little, and more if it is large. A few bytes can
/// ask for millions of numbers, and a file has room for many of them.
#[derive(Clone, Copy, Debug)]
struct Room {
    constants: usize,
    lists: usize,
}

impl Room {
    /// The room of a file of so many bytes.
    fn of(bytes: usize) -> Self {
        Self { constants: MAX_ELEMENTS + bytes, lists: 8 * MAX_ELEMENTS + bytes }
    }
}

/// Takes numbers from the room that is left.
fn take(left: &mut usize, count: usize, view: &View<'_>) -> Result<()> {
    *left = left.checked_sub(count).ok_or_else(|| {
        view.unsupported(
            "with it, more numbers are computed than the size of the file explains",
            "fold constants before: onnxruntime does so when it saves an optimised model",
        )
    })?;
    Ok(())
}

/// The part of a model that is read, and how.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading<'a> {
    /// The output that is computed, by default the first.
    pub output: Option<&'a str>,
    /// The folder of files that constants lie in; without it, such constants are refused.
    pub folder: Option<&'a Path>,
    /// Numbers for dimensions that the model calls by a name, such as `sequence_length`.
    pub dimensions: &'a [(String, usize)],
}

impl Model {
    /// Reads the part of a model that computes one output, by default the first.
    ///
    /// Only the nodes that this output depends on are looked at, so that a classifier can be read
    /// for its labels as well as for its scores. Constants that lie in other files are refused.
    ///
    /// # Errors
    /// The errors of [`Graph::from_onnx`]; [`Error::Model`] if there is no such output.
    pub fn read(bytes: &[u8], output: Option<&str>) -> Result<Self> {
        Self::with(bytes, &Reading { output, ..Reading::default() })
    }

    /// Reads a model that may keep constants in other files of its folder: the locations that it
    /// states are relative to `folder`, and must be files inside it.
    ///
    /// # Errors
    /// The errors of [`read`](Self::read); [`Error::Model`] for a location outside the folder, a
    /// part outside its file, and another number of bytes than a constant has.
    pub fn read_in(folder: &Path, bytes: &[u8], output: Option<&str>) -> Result<Self> {
        Self::with(bytes, &Reading { output, folder: Some(folder), ..Reading::default() })
    }

    /// Reads a model as [`Reading`] says.
    ///
    /// # Errors
    /// The errors of [`read_in`](Self::read_in).
    pub fn with(bytes: &[u8], reading: &Reading<'_>) -> Result<Self> {
        let Reading { output, folder, dimensions } = reading;
        let (output, folder) = (*output, *folder);
        if bytes.len() > MAX_BYTES {
            return Err(Error::NotOnnx {
                why: format!("{} bytes, at most {MAX_BYTES} are read", bytes.len()),
            });
        }
        guard::check(bytes)?;
        let model = ModelProto::decode(guard::Bytes::new(bytes));
        let mut model = model.map_err(|error| Error::NotOnnx { why: error.to_string() })?;
        let beside = match folder {
            Some(folder) => external::read(&mut model, folder)?,
            None => 0,
        };
        let opsets = Opsets::read(&model)?;
        let graph = model.graph.ok_or_else(|| Error::NotOnnx { why: "it has no graph".to_owned() })?;
        let names = graph.output.iter().map(|output| output.name.clone().unwrap_or_default());
        let mut others: Vec<String> = names.collect();
        let wanted = match output {
            None => (!others.is_empty()).then_some(0),
            Some(wanted) => others.iter().position(|name| name == wanted),
        };
        let Some(wanted) = wanted else {
            let why = match output {
                None => "has no output".to_owned(),
                Some(wanted) => format!("has no output {wanted:?}, but {others:?}"),
            };
            return Err(Error::Model { why, hint: "ask for an output that the model has" });
        };
        let output = others.remove(wanted);
        let room = Room::of(bytes.len() + beside);
        let graph = Reader::read(&graph, &opsets, &output, dimensions, room)?;
        Ok(Self { graph, output, others })
    }
}

impl Graph {
    /// Reads the computation of a model's first output; [`Model::read`] reads another one.
    ///
    /// The opsets 1 to 28 of ONNX and 1 to 5 of `ai.onnx.ml` are read; the chapter on models of the
    /// guide lists the operators. Everything else is refused by name, and so is every attribute and
    /// every input that an operator does not read.
    ///
    /// # Errors
    /// [`Error::NotOnnx`]; [`Error::Unsupported`], [`Error::DynamicShape`], [`Error::ElementType`],
    /// [`Error::Weight`], with the name of the part that is refused; [`Error::Node`],
    /// [`Error::Graph`] and [`Error::Model`] for parts that do not fit together, or that are not
    /// read.
    pub fn from_onnx(bytes: &[u8]) -> Result<Self> {
        Model::read(bytes, None).map(|model| model.graph)
    }
}

fn graph_error(why: impl Into<String>) -> Error {
    Error::Graph { why: why.into() }
}

/// The nodes that an output depends on, in the order of the file, and the names that are used.
fn needed<'a>(graph: &'a GraphProto, output: &'a str) -> (Vec<&'a NodeProto>, HashSet<&'a str>) {
    let mut used = HashSet::from([output]);
    let mut nodes = Vec::new();
    for node in graph.node.iter().rev() {
        if node.output.iter().any(|name| !name.is_empty() && used.contains(name.as_str())) {
            used.extend(node.input.iter().map(String::as_str).filter(|name| !name.is_empty()));
            nodes.push(node);
        }
    }
    nodes.reverse();
    (nodes, used)
}

impl<'a> Reader<'a> {
    fn read(
        proto: &'a GraphProto,
        opsets: &Opsets,
        output: &'a str,
        dimensions: &[(String, usize)],
        left: Room,
    ) -> Result<Graph> {
        let name_of = |name: &'a Option<String>| name.as_deref().unwrap_or_default();
        let mut initializers = HashMap::new();
        for initializer in &proto.initializer {
            let name = name_of(&initializer.name);
            if initializers.insert(name, initializer).is_some() {
                return Err(graph_error(format!("has two constants {name:?}")));
            }
        }
        // Before version 4 of the format, constants are among the inputs.
        let is_input = |value: &&'a ValueInfoProto| !initializers.contains_key(name_of(&value.name));
        let inputs: Vec<&'a ValueInfoProto> = proto.input.iter().filter(is_input).collect();
        let (needed, used) = needed(proto, output);
        let (nodes, batch) = inputs::read(&inputs, &used, dimensions)?;
        let values: HashMap<&str, Value> =
            nodes.iter().enumerate().map(|(id, (name, _))| (*name, Value::Node(id))).collect();
        let nodes = nodes.into_iter().map(|(_, node)| node).collect();
        let names = inputs.iter().map(|input| name_of(&input.name));
        let mut defined: HashSet<&str> = initializers.keys().copied().chain(names).collect();
        let names = proto.node.iter().flat_map(|node| &node.output).filter(|name| !name.is_empty());
        if let Some(twice) = names.map(String::as_str).find(|&name| !defined.insert(name)) {
            return Err(graph_error(format!("computes its value {twice:?} twice")));
        }
        let (bits, followed, is_transformer) = (HashSet::new(), Followed::default(), false);
        let mut reader =
            Self { nodes, values, initializers, used, batch, bits, followed, is_transformer, left };
        for proto in needed {
            let view = View::new(proto, opsets.of(proto)?)?;
            // Marks of an optimisation of the first opsets.
            if view.domain.is_empty() && view.opset < 6 {
                view.integers("consumed_inputs")?;
            }
            let values = operators::node(&mut reader, &view)?;
            view.finish()?;
            for value in &values {
                // Constants that are another name of one that exists take no room.
                if let Value::Constant(tensor) = value
                    && Rc::strong_count(tensor) == 1
                {
                    take(&mut reader.left.constants, tensor.len(), &view)?;
                }
            }
            for (index, name) in proto.output.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
                match values.get(index) {
                    Some(value) => drop(reader.values.insert(name, value.clone())),
                    None if reader.followed.has(name) => {}
                    None if reader.used.contains(name.as_str()) => {
                        let why = format!("its output {index} ({name:?}) is used");
                        let hint = "use the first output of this operator only";
                        return Err(view.unsupported(why, hint));
                    }
                    None => {}
                }
            }
        }
        let (output, decision) = match reader.value_of(output)? {
            Some(Value::Node(output)) => (output, Decision::None),
            Some(Value::Rows(_)) => {
                return Err(Error::Model {
                    why: format!("has an output {output:?} without the dimension of the batch"),
                    hint: "export it with the batch as dimension 0",
                });
            }
            Some(Value::Decided(output, decision)) => (output, decision),
            Some(Value::Constant(_)) => {
                return Err(Error::Model {
                    why: format!("has an output {output:?} that does not depend on its input"),
                    hint: "ask for an output that does",
                });
            }
            None if reader.followed.has(output) => {
                return Err(Error::Model {
                    why: format!("has an output {output:?} of comparisons of scores"),
                    hint: operators::OF_COMPARISONS,
                });
            }
            None => return Err(graph_error(format!("never computes its output {output:?}"))),
        };
        reader.check_bits()?;
        let graph = Graph { nodes: reader.nodes, output, decision }.pruned();
        Ok(if reader.is_transformer { canonical::of(graph) } else { graph })
    }

    /// Checks that no input is taken for a mask and for ids.
    fn check_bits(&self) -> Result<()> {
        let ids = |id: &usize| matches!(self.nodes[*id].op, Op::Public(Public::Ids(_)));
        match self.bits.iter().copied().filter(ids).min() {
            Some(id) => Err(Error::Model {
                why: format!("takes its input {:?} for ids and for a mask", self.nodes[id].name),
                hint: "export the model with a mask of its own, such as attention_mask",
            }),
            None => Ok(()),
        }
    }

    /// The value of a name; a constant is read when it is first asked for.
    fn value_of(&mut self, name: &'a str) -> Result<Option<Value>> {
        if let Some(proto) = self.initializers.remove(name) {
            self.values.insert(name, Value::constant(Tensor::read(proto)?));
        }
        Ok(self.values.get(name).cloned())
    }

    /// The value of an input of a node.
    fn value(&mut self, view: &View<'a>, index: usize) -> Result<Value> {
        let name = view.input(index)?;
        let value = self.value_of(name)?;
        value.ok_or_else(|| view.wrong(format!("its input {name:?} is not computed before it")))
    }

    /// The values of all inputs, which are at least one.
    fn all(&mut self, view: &View<'a>) -> Result<Vec<Value>> {
        (0..view.inputs().max(1)).map(|index| self.value(view, index)).collect()
    }

    /// An input that must be a constant.
    fn constant(&mut self, view: &View<'a>, index: usize, what: &str) -> Result<Rc<Tensor>> {
        match self.value(view, index)? {
            Value::Constant(tensor) => Ok(tensor),
            Value::Node(_) | Value::Rows(_) | Value::Decided(..) => Err(view.unsupported(
                format!("its {what} depend on the input"),
                "use weights that are constants of the model",
            )),
        }
    }

    /// An input that must be a constant of a floating-point type: its dimensions and numbers.
    fn reals(&mut self, view: &View<'a>, index: usize, what: &str) -> Result<(Vec<usize>, Vec<f64>)> {
        let tensor = self.constant(view, index, what)?;
        Ok((tensor.dims.clone(), reals(&tensor, view, index)?.to_vec()))
    }

    /// An input that must be a constant list of integers.
    fn list(&mut self, view: &View<'a>, index: usize, what: &str) -> Result<Vec<i64>> {
        let tensor = self.constant(view, index, what)?;
        let list = tensor.as_list().filter(|_| tensor.dims.len() <= 1);
        list.ok_or_else(|| {
            let (name, dims) = (tensor.element.name(), &tensor.dims);
            view.wrong(format!(
                "its {what} are of type {name} and dimensions {dims:?}, and must be a list of INT64"
            ))
        })
    }

    /// Integers that are an attribute before an opset and an input from then on.
    fn moved_list(
        &mut self,
        view: &View<'a>,
        name: &'static str,
        since: i64,
        index: usize,
    ) -> Result<Option<Vec<i64>>> {
        match view.opset >= since {
            false => Ok(view.integers(name)?.map(<[i64]>::to_vec)),
            true if view.has(index) => self.list(view, index, name).map(Some),
            true => Ok(None),
        }
    }

    /// An input that must depend on the input of the model.
    fn encrypted(&mut self, view: &View<'a>, index: usize) -> Result<usize> {
        let value = self.value(view, index)?;
        match value {
            Value::Node(id) => Ok(id),
            Value::Rows(id) => Err(operators::of_rows(view, self.shape(id))),
            Value::Decided(_, decision) => Err(after(view, decision)),
            Value::Constant(_) => Err(view.unsupported(
                format!("its input {index} is a constant"),
                "compute what depends on constants alone before the model is exported",
            )),
        }
    }

    /// Whether something takes an output of a node.
    fn is_used(&self, view: &View<'_>, index: usize) -> bool {
        view.output(index).is_some_and(|name| self.used.contains(name))
    }

    /// The dimensions of a value, with the batch.
    fn dims(&self, value: &Value) -> Vec<usize> {
        match value {
            Value::Constant(tensor) => tensor.dims.clone(),
            Value::Rows(id) => self.shape(*id).clone(),
            Value::Node(id) | Value::Decided(id, _) => {
                std::iter::once(self.batch.size()).chain(self.shape(*id).iter().copied()).collect()
            }
        }
    }

    fn shape(&self, id: usize) -> &Shape {
        &self.nodes[id].shape
    }

    fn push(&mut self, view: &View<'a>, op: Op, inputs: Vec<usize>, shape: Shape) -> Result<usize> {
        let elements = shape.iter().try_fold(1usize, |product, &dim| product.checked_mul(dim));
        if elements.is_none_or(|elements| elements == 0 || elements > MAX_ELEMENTS) {
            return Err(view.wrong(format!("its value of dimensions {shape:?} is empty or too large")));
        }
        let listed = match &op {
            Op::Gather(places) => places.len(),
            Op::Differences(differences) => differences.places.len(),
            Op::Affine(affine) => affine.factors.len().max(affine.offsets.len()),
            Op::Lookup(table) => table.values.len(),
            Op::Sparse(rows) => rows.iter().map(|row| 1 + row.entries.len()).sum(),
            _ => 0,
        };
        take(&mut self.left.lists, listed, view)?;
        self.is_transformer |= op.is_of_transformers();
        let (name, operator) = (view.name.to_owned(), view.operator.to_owned());
        self.nodes.push(Node { name, operator, op, inputs, shape });
        Ok(self.nodes.len() - 1)
    }
}

/// An operator after a decision.
fn after(view: &View<'_>, decision: Decision) -> Error {
    view.unsupported(
        format!("it comes after {}", decision.name()),
        "Softmax, LogSoftmax and ArgMax are computed after decryption, thus at the end",
    )
}

/// The numbers of a constant of a floating-point type.
fn reals<'t>(tensor: &'t Tensor, view: &View<'_>, index: usize) -> Result<&'t [f64]> {
    tensor.as_reals().ok_or_else(|| {
        let name = if tensor.name.is_empty() {
            format!("input {index} of {}", view.name)
        } else {
            tensor.name.clone()
        };
        Error::ElementType { tensor: name, found: tensor.element.name() }
    })
}

impl Graph {
    /// This graph without the nodes that the output does not need.
    fn pruned(self) -> Self {
        let needed = self.needed();
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
