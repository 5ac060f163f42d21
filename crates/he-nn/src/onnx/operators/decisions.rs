//! Decisions at the end of a model, which are made after decryption, and the nodes that may follow
//! them.

use super::super::node::View;
use super::super::{Reader, Value, after};
use crate::error::Result;
use crate::graph::{Decision, Op};

/// Softmax, LogSoftmax and ArgMax.
pub fn decide<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Value> {
    let value = reader.value(view, 0)?;
    let shape = match value {
        Value::Rows(id) | Value::Node(id) | Value::Decided(id, _) => reader.shape(id).clone(),
        Value::Constant(_) => return Err(view.unsupported("it decides about constants", "leave it out")),
    };
    let (decision, default) = match view.operator {
        "ArgMax" => (Decision::ArgMax, 0),
        name => {
            let decision = if name == "Softmax" { Decision::Softmax } else { Decision::LogSoftmax };
            (decision, if view.opset < 13 { 1 } else { -1 })
        }
    };
    let axis = view.axis(view.integer("axis", default)?, shape.len() + 1)?;
    if let (Value::Node(id), Decision::Softmax, 2..) = (&value, decision, shape.len())
        && axis == shape.len()
    {
        return reader.push(view, Op::Softmax, vec![*id], shape).map(Value::Node);
    }
    if shape.len() != 1 || axis != 1 {
        let why = format!("it decides along axis {axis} of {shape:?} besides the batch");
        return Err(view.unsupported(why, "decide among the outputs of an example: axis 1 of two"));
    }
    if decision == Decision::ArgMax {
        view.flag("keepdims", true)?;
        if view.opset >= 12 {
            view.only("select_last_index", 0, "the first of equal outputs is taken")?;
        }
    }
    match (value, decision) {
        (Value::Node(id), decision) => Ok(Value::Decided(id, decision)),
        // The order of outputs does not change.
        (Value::Decided(id, Decision::Softmax | Decision::LogSoftmax), Decision::ArgMax) => {
            Ok(Value::Decided(id, Decision::ArgMax))
        }
        (Value::Decided(_, found), _) => Err(after(view, found)),
        (Value::Rows(id), _) => Err(super::of_rows(view, reader.shape(id))),
        (Value::Constant(_), _) => Err(view.wrong("it has only constants")),
    }
}

/// The sign of each output.
pub fn sign<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Value> {
    Ok(Value::Decided(reader.encrypted(view, 0)?, Decision::Sign))
}

/// Reads an operator that moves or casts decided values without changing them.
pub fn moved<'a>(reader: &mut Reader<'a>, view: &View<'a>, id: usize, decision: Decision) -> Result<Value> {
    use super::super::element::Element;
    use rten_onnx::onnx::DataType;
    let labels = matches!(decision, Decision::ArgMax | Decision::Votes);
    let kept = match view.operator {
        "Identity" => true,
        "Cast" if view.opset >= 6 => {
            let to = Element::of(DataType(i32::try_from(view.integer("to", 0)?).unwrap_or(0)));
            if view.opset >= 19 {
                view.flag("saturate", true)?;
            }
            match to {
                Some(Element::Real(_)) => true,
                Some(Element::Signed(32 | 64)) => labels || decision == Decision::Sign,
                _ => false,
            }
        }
        // One label for each example, however it is nested.
        "Reshape" if labels && view.opset >= 5 => {
            if view.opset >= 14 {
                view.flag("allowzero", false)?;
            }
            let to = reader.list(view, 1, "shape")?;
            matches!(to[..], [-1 | 0] | [-1 | 0, 1])
        }
        _ => false,
    };
    match kept {
        true => Ok(Value::Decided(id, decision)),
        false => Err(after(view, decision)),
    }
}
