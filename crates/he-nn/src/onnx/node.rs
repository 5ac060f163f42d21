//! A node of a file: the attributes and inputs that its operator reads, and those left over.
//!
//! An operator takes the attributes and inputs that it knows, under the opset of the model.
//! Whatever it has not taken when it is done is an error: nothing that a model says can be
//! overlooked.

use crate::error::{Error, Result};
use rten_onnx::onnx::{AttributeProto, AttributeType, NodeProto, TensorProto};
use std::cell::RefCell;
use std::collections::HashSet;

/// The operators of machine learning beside neural networks.
pub const ML: &str = "ai.onnx.ml";

/// A node as the file has it.
pub struct View<'a> {
    pub name: &'a str,
    pub operator: &'a str,
    /// The set of operators that its operator belongs to: "" for the standard one.
    pub domain: &'a str,
    /// The version of that set.
    pub opset: i64,
    proto: &'a NodeProto,
    taken: RefCell<Taken>,
}

/// The attributes and inputs that an operator has read.
#[derive(Default)]
struct Taken {
    attributes: HashSet<&'static str>,
    inputs: HashSet<usize>,
}

/// The set of operators of a node, under one name.
pub fn domain(proto: &NodeProto) -> &str {
    match proto.domain.as_deref().unwrap_or_default() {
        "ai.onnx" => "",
        domain => domain,
    }
}

const OPSETS: &str = "export the model again with an opset whose operators have these attributes and \
                      inputs only, or leave them out if they change nothing";

impl<'a> View<'a> {
    /// The view of a node, under a version of its set of operators.
    ///
    /// # Errors
    /// [`Error::Node`] for a node without output, or with two attributes of one name.
    pub fn new(proto: &'a NodeProto, opset: i64) -> Result<Self> {
        let text = |text: &'a Option<String>| text.as_deref().unwrap_or_default();
        let output = proto.output.iter().find(|output| !output.is_empty()).map_or("", String::as_str);
        let name = if text(&proto.name).is_empty() { output } else { text(&proto.name) };
        let (operator, domain) = (text(&proto.op_type), domain(proto));
        let view = Self { name, operator, domain, opset, proto, taken: RefCell::default() };
        if output.is_empty() {
            return Err(view.wrong("it has no output"));
        }
        let mut names = HashSet::new();
        let mut given = proto.attribute.iter().map(|attribute| text(&attribute.name));
        if let Some(twice) = given.find(|&name| !names.insert(name)) {
            return Err(view.wrong(format!("it has two attributes {twice:?}")));
        }
        match proto.attribute.iter().find(|attribute| values(attribute) > 1) {
            Some(attribute) => {
                Err(view.wrong(format!("its attribute {} has values of several types", shown(attribute))))
            }
            None => Ok(view),
        }
    }

    /// The number of inputs, those left out at the end not counted.
    pub fn inputs(&self) -> usize {
        self.proto.input.iter().rposition(|name| !name.is_empty()).map_or(0, |last| last + 1)
    }

    /// The number of outputs, named or not.
    pub fn outputs(&self) -> usize {
        self.proto.output.len()
    }

    /// The name of an output, if it has one.
    pub fn output(&self, index: usize) -> Option<&'a str> {
        self.proto.output.get(index).map(String::as_str).filter(|name| !name.is_empty())
    }

    /// Whether an output has a name.
    pub fn has_output(&self, index: usize) -> bool {
        self.output(index).is_some()
    }

    /// Whether an input is given.
    pub fn has(&self, index: usize) -> bool {
        self.proto.input.get(index).is_some_and(|name| !name.is_empty())
    }

    /// The names of the inputs that are given, none of which is taken by that.
    pub fn given(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.proto.input.iter().map(String::as_str).filter(|name| !name.is_empty())
    }

    /// The name of an input, which is taken.
    pub fn input(&self, index: usize) -> Result<&'a str> {
        self.taken.borrow_mut().inputs.insert(index);
        match self.proto.input.get(index).map(String::as_str) {
            Some(name) if !name.is_empty() => Ok(name),
            _ => Err(self.wrong(format!("it has no input {index}"))),
        }
    }

    fn attribute(&self, name: &'static str, kind: AttributeType) -> Result<Option<&'a AttributeProto>> {
        self.taken.borrow_mut().attributes.insert(name);
        let is_it = |attribute: &&AttributeProto| attribute.name.as_deref() == Some(name);
        let Some(attribute) = self.proto.attribute.iter().find(is_it) else { return Ok(None) };
        match attribute.r#type == Some(kind) {
            true => Ok(Some(attribute)),
            false => Err(self.wrong(format!("its attribute {} is of another type", shown(attribute)))),
        }
    }

    /// Whether there is an attribute of this name, which is not taken.
    pub fn has_attribute(&self, name: &str) -> bool {
        self.proto.attribute.iter().any(|attribute| attribute.name.as_deref() == Some(name))
    }

    pub fn integer(&self, name: &'static str, default: i64) -> Result<i64> {
        let attribute = self.attribute(name, AttributeType::INT)?;
        Ok(attribute.map_or(default, |attribute| attribute.i.unwrap_or_default()))
    }

    /// An attribute that is 0 or 1.
    pub fn flag(&self, name: &'static str, default: bool) -> Result<bool> {
        match self.integer(name, default.into())? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(self.wrong(format!("{name} is {other}, and must be 0 or 1"))),
        }
    }

    /// An attribute whose other values are not computed.
    pub fn only(&self, name: &'static str, value: i64, why: &str) -> Result<()> {
        match self.integer(name, value)? {
            found if found == value => Ok(()),
            found => Err(self.unsupported(
                format!("{name} is {found}: {why}"),
                "export the model with the attribute at its default",
            )),
        }
    }

    pub fn number(&self, name: &'static str, default: f64) -> Result<f64> {
        let Some(attribute) = self.attribute(name, AttributeType::FLOAT)? else { return Ok(default) };
        let value = f64::from(attribute.f.unwrap_or_default());
        self.finite(name, &[value])?;
        Ok(value)
    }

    fn finite(&self, name: &str, values: &[f64]) -> Result<()> {
        match values.iter().position(|value| !value.is_finite()) {
            Some(at) => {
                Err(Error::Weight { tensor: format!("{name} of {}", self.name), at, value: values[at] })
            }
            None => Ok(()),
        }
    }

    pub fn text(&self, name: &'static str) -> Result<Option<&'a str>> {
        let attribute = self.attribute(name, AttributeType::STRING)?;
        Ok(attribute.map(|attribute| attribute.s.as_deref().unwrap_or_default()))
    }

    pub fn integers(&self, name: &'static str) -> Result<Option<&'a [i64]>> {
        Ok(self.attribute(name, AttributeType::INTS)?.map(|attribute| attribute.ints.as_slice()))
    }

    pub fn numbers(&self, name: &'static str) -> Result<Option<Vec<f64>>> {
        let Some(attribute) = self.attribute(name, AttributeType::FLOATS)? else { return Ok(None) };
        let values: Vec<f64> = attribute.floats.iter().map(|&x| x.into()).collect();
        self.finite(name, &values)?;
        Ok(Some(values))
    }

    pub fn texts(&self, name: &'static str) -> Result<Option<&'a [String]>> {
        Ok(self.attribute(name, AttributeType::STRINGS)?.map(|attribute| attribute.strings.as_slice()))
    }

    pub fn tensor(&self, name: &'static str) -> Result<Option<&'a TensorProto>> {
        Ok(self.attribute(name, AttributeType::TENSOR)?.and_then(|attribute| attribute.t.as_ref()))
    }

    /// Refuses attributes and inputs that the operator has not taken.
    ///
    /// # Errors
    /// [`Error::Unsupported`] with the names and the values of those left over.
    pub fn finish(&self) -> Result<()> {
        let taken = self.taken.borrow();
        let left = |attribute: &&AttributeProto| {
            !taken.attributes.contains(attribute.name.as_deref().unwrap_or_default())
        };
        let attributes: Vec<String> = self.proto.attribute.iter().filter(left).map(shown).collect();
        let inputs: Vec<String> = (0..self.inputs())
            .filter(|index| self.has(*index) && !taken.inputs.contains(index))
            .map(|index| format!("{index} ({:?})", self.proto.input[index]))
            .collect();
        let which = match (attributes.is_empty(), inputs.is_empty()) {
            (true, true) => return Ok(()),
            (false, _) => format!("attribute {}", attributes.join(", ")),
            (true, false) => format!("input {}", inputs.join(", ")),
        };
        let why = format!("its {which} has no meaning here in opset {}", self.opset);
        Err(self.unsupported(why, OPSETS))
    }

    /// An axis, counted from 0 with the batch, of a value of so many dimensions.
    pub fn axis(&self, axis: i64, dims: usize) -> Result<usize> {
        let counted = if axis < 0 { axis.checked_add(dims as i64) } else { Some(axis) };
        let found = counted.and_then(|axis| usize::try_from(axis).ok()).filter(|&axis| axis < dims);
        found.ok_or_else(|| self.wrong(format!("there is no axis {axis} in {dims} dimensions")))
    }

    /// Several axes, none of them twice.
    pub fn axes(&self, axes: &[i64], dims: usize) -> Result<Vec<usize>> {
        let found = axes.iter().map(|&axis| self.axis(axis, dims)).collect::<Result<Vec<_>>>()?;
        let distinct: HashSet<&usize> = found.iter().collect();
        match distinct.len() == found.len() {
            true => Ok(found),
            false => Err(self.wrong(format!("axes {axes:?} name an axis twice"))),
        }
    }

    pub fn unsupported(&self, why: impl Into<String>, hint: &'static str) -> Error {
        let (operator, node) = (self.operator.to_owned(), self.name.to_owned());
        Error::Unsupported { operator, node, why: why.into(), hint }
    }

    pub fn wrong(&self, why: impl Into<String>) -> Error {
        Error::Node { operator: self.operator.to_owned(), node: self.name.to_owned(), why: why.into() }
    }
}

/// The types that an attribute has values of.
fn values(attribute: &AttributeProto) -> usize {
    let given = [
        attribute.f.is_some(),
        attribute.s.is_some(),
        attribute.i.is_some(),
        attribute.t.is_some(),
        !attribute.floats.is_empty(),
        !attribute.ints.is_empty(),
        !attribute.strings.is_empty(),
    ];
    given.into_iter().filter(|&given| given).count()
}

/// The name and the value of an attribute, in a few words.
fn shown(attribute: &AttributeProto) -> String {
    let name = attribute.name.as_deref().unwrap_or_default();
    let list = |text: String| {
        if text.len() > 60 { format!("{}...", text.chars().take(60).collect::<String>()) } else { text }
    };
    let value = match attribute.r#type {
        Some(AttributeType::INT) => attribute.i.unwrap_or_default().to_string(),
        Some(AttributeType::FLOAT) => attribute.f.unwrap_or_default().to_string(),
        Some(AttributeType::STRING) => format!("{:?}", attribute.s.as_deref().unwrap_or_default()),
        Some(AttributeType::INTS) => list(format!("{:?}", attribute.ints)),
        Some(AttributeType::FLOATS) => list(format!("{:?}", attribute.floats)),
        Some(AttributeType::STRINGS) => list(format!("{:?}", attribute.strings)),
        Some(AttributeType::TENSOR) => "a tensor".to_owned(),
        _ => "of unknown type".to_owned(),
    };
    format!("{name} = {value}")
}
