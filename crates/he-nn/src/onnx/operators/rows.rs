//! Values that a model reshapes to rows without the dimension of the batch, as TensorFlow's linear
//! layers are exported: on one example, each operator on rows is that on the value itself.

use super::super::node::View;
use super::super::{Batch, Reader, Value};
use super::{named, one};
use crate::error::{Error, Result};

/// Whether the batch, as the model sees it, is of one example, so that it may be left out. Models
/// of several inputs are read for one sentence.
pub fn is_one(reader: &Reader<'_>) -> bool {
    match reader.batch {
        Batch::Any => reader.nodes.iter().filter(|node| node.op.is_input()).count() > 1,
        Batch::Fixed(size) => size == 1,
    }
}

/// An operator that rows do not have.
pub fn of_rows(view: &View<'_>, shape: &[usize]) -> Error {
    view.unsupported(
        format!("it comes after a reshape to {shape:?}, which leaves out the batch"),
        "give the value its batch back before, as dimension 0; linear layers and functions may come between",
    )
}

/// Whether an operator computes each row by itself.
fn is_by_rows(view: &View<'_>) -> Result<bool> {
    let known =
        matches!(view.operator, "Add" | "Sub" | "Mul" | "Div" | "MatMul" | "Pow" | "Identity" | "Gemm");
    Ok(known || named(view)?.is_some())
}

/// The value of an operator on rows, if one of its inputs is of rows.
pub fn node<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Option<Value>> {
    let mut names = Vec::new();
    for name in view.given() {
        if let Some(&Value::Rows(id)) = reader.values.get(name) {
            names.push((name, id));
        }
    }
    let Some(&(_, first)) = names.first() else { return Ok(None) };
    if matches!(view.operator, "Reshape" | "Shape" | "Size") {
        return Ok(None);
    }
    if !is_by_rows(view)? {
        return Err(of_rows(view, reader.shape(first)));
    }
    names.iter().for_each(|&(name, id)| drop(reader.values.insert(name, Value::Node(id))));
    let value = one(reader, view)?.pop();
    names.iter().for_each(|&(name, id)| drop(reader.values.insert(name, Value::Rows(id))));
    match value {
        Some(Value::Node(id)) => Ok(Some(Value::Rows(id))),
        _ => Err(of_rows(view, reader.shape(first))),
    }
}
