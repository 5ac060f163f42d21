//! A node of a file: its attributes and its errors.

use crate::error::{Error, Result};
use rten_onnx::onnx::{AttributeProto, NodeProto, TensorProto};

/// A node as the file has it.
pub struct View<'a> {
    pub name: &'a str,
    pub operator: &'a str,
    pub output: &'a str,
    proto: &'a NodeProto,
}

impl<'a> View<'a> {
    pub fn new(proto: &'a NodeProto) -> Result<Self> {
        let text = |text: &'a Option<String>| text.as_deref().unwrap_or_default();
        let output = proto.output.first().map_or("", String::as_str);
        let name = if text(&proto.name).is_empty() { output } else { text(&proto.name) };
        let view = Self { name, operator: text(&proto.op_type), output, proto };
        if !["", "ai.onnx"].contains(&text(&proto.domain)) {
            let why = format!("it belongs to the operators of {:?}", text(&proto.domain));
            return Err(view.unsupported(why, "export the model with the standard operators of ONNX alone"));
        }
        if output.is_empty() {
            return Err(view.wrong("it has no output".to_owned()));
        }
        Ok(view)
    }

    /// The number of inputs, those left out at the end not counted.
    pub fn inputs(&self) -> usize {
        self.proto.input.iter().rposition(|name| !name.is_empty()).map_or(0, |last| last + 1)
    }

    /// Whether an input is given.
    pub fn has(&self, index: usize) -> bool {
        self.proto.input.get(index).is_some_and(|name| !name.is_empty())
    }

    pub fn input(&self, index: usize) -> Result<&'a str> {
        match self.proto.input.get(index).map(String::as_str) {
            Some(name) if !name.is_empty() => Ok(name),
            _ => Err(self.wrong(format!("it has no input {index}"))),
        }
    }

    fn attribute(&self, name: &str) -> Option<&'a AttributeProto> {
        self.proto.attribute.iter().find(|attribute| attribute.name.as_deref() == Some(name))
    }

    pub fn integer(&self, name: &str, default: i64) -> i64 {
        self.attribute(name).map_or(default, |attribute| attribute.i.unwrap_or_default())
    }

    pub fn number(&self, name: &str, default: f64) -> Result<f64> {
        let Some(attribute) = self.attribute(name) else { return Ok(default) };
        let value = f64::from(attribute.f.unwrap_or_default());
        match value.is_finite() {
            true => Ok(value),
            false => Err(Error::Weight { tensor: format!("{name} of {}", self.name), at: 0, value }),
        }
    }

    pub fn text(&self, name: &str) -> Option<&'a str> {
        self.attribute(name)?.s.as_deref()
    }

    pub fn integers(&self, name: &str) -> Option<&'a [i64]> {
        Some(&self.attribute(name)?.ints)
    }

    pub fn numbers(&self, name: &str) -> Option<&'a [f32]> {
        Some(&self.attribute(name)?.floats)
    }

    pub fn tensor(&self, name: &str) -> Option<&'a TensorProto> {
        self.attribute(name)?.t.as_ref()
    }

    /// One or two positive numbers along the axes of a plane.
    pub fn pair(&self, name: &str, default: [usize; 2]) -> Result<[usize; 2]> {
        let Some(found) = self.integers(name) else { return Ok(default) };
        let positive = |&x: &i64| usize::try_from(x).ok().filter(|&x| (1..=1 << 16).contains(&x));
        match found.iter().map(positive).collect::<Option<Vec<_>>>().as_deref() {
            Some(&[a, b]) => Ok([a, b]),
            _ => Err(self.unsupported(
                format!("{name} is {found:?}"),
                "windows over planes of two axes are supported, with positive sizes and steps",
            )),
        }
    }

    /// An axis, counted from 0 with the batch, of a value of so many dimensions.
    pub fn axis(&self, axis: i64, dims: usize) -> Result<usize> {
        let counted = if axis < 0 { axis.checked_add(dims as i64) } else { Some(axis) };
        let found = counted.and_then(|axis| usize::try_from(axis).ok()).filter(|&axis| axis < dims);
        found.ok_or_else(|| self.wrong(format!("there is no axis {axis} in {dims} dimensions")))
    }

    pub fn unsupported(&self, why: impl Into<String>, hint: &'static str) -> Error {
        let (operator, node) = (self.operator.to_owned(), self.name.to_owned());
        Error::Unsupported { operator, node, why: why.into(), hint }
    }

    pub fn wrong(&self, why: impl Into<String>) -> Error {
        Error::Node { operator: self.operator.to_owned(), node: self.name.to_owned(), why: why.into() }
    }
}
