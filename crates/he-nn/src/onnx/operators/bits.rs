//! Truth values that come from a mask, which is public: as numbers 0 and 1.

use super::super::element::{Element, Real};
use super::super::node::View;
use super::super::tensor::Tensor;
use super::super::{Reader, Value};
use super::arithmetic::{Of, combined};
use crate::error::Result;
use crate::graph::{Affine, Op};
use rten_onnx::onnx::DataType;

/// The input of integers that a value comes from, as it is or as 1 - x, if it does.
fn mask(reader: &Reader<'_>, mut id: usize) -> Option<usize> {
    let is_bit = |affine: &Affine| matches!(affine.uniform(), Some((-1.0, 1.0) | (1.0, 0.0)));
    loop {
        match &reader.nodes[id].op {
            Op::Public(_) => return Some(id),
            Op::Gather(_) | Op::Reshape => {}
            Op::Affine(affine) if is_bit(affine) => {}
            _ => return None,
        }
        id = reader.nodes[id].inputs[0];
    }
}

/// The value of an operator on truth values, if it is one.
pub fn node<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Option<Value>> {
    // Before opset 6, the type of a cast is a text.
    if view.operator == "Cast" && view.opset < 6 {
        return Ok(None);
    }
    let known = ["Cast", "Not", "Equal", "Greater", "Where"].contains(&view.operator);
    let to = DataType(
        i32::try_from(if view.operator == "Cast" { view.integer("to", 0)? } else { 0 }).unwrap_or(0),
    );
    if !known || view.operator == "Cast" && Element::of(to) != Some(Element::Bool) {
        return Ok(None);
    }
    let Value::Node(id) = reader.value(view, 0)? else { return Ok(None) };
    let Some(origin) = mask(reader, id) else { return Ok(None) };
    reader.bits.insert(origin);
    if view.operator == "Cast" && view.opset >= 19 {
        view.flag("saturate", true)?;
    }
    if view.operator == "Cast" && view.opset >= 24 {
        view.text("round_mode")?;
    }
    match view.operator {
        "Cast" => Ok(Some(Value::Node(id))),
        "Not" => flipped(reader, view, id).map(Some),
        "Where" => chosen(reader, view, id).map(Some),
        _ => compared(reader, view, id).map(Some),
    }
}

/// 1 - x.
fn flipped<'a>(reader: &mut Reader<'a>, view: &View<'a>, id: usize) -> Result<Value> {
    let shape = reader.shape(id).clone();
    let affine = Affine { run: 1, factors: vec![-1.0], offsets: vec![1.0] };
    reader.push(view, Op::Affine(affine), vec![id], shape).map(Value::Node)
}

/// x = 0, x = 1 or x > 0 for a bit x.
fn compared<'a>(reader: &mut Reader<'a>, view: &View<'a>, id: usize) -> Result<Value> {
    let other = reader.constant(view, 1, "second operand")?;
    let number = other.cast(Element::Real(Real::Double)).ok();
    match (view.operator, number.as_ref().and_then(Tensor::as_reals)) {
        ("Equal", Some(&[0.0])) => flipped(reader, view, id),
        ("Equal", Some(&[1.0])) | ("Greater", Some(&[0.0])) => Ok(Value::Node(id)),
        _ => Err(view.unsupported(
            "it compares a mask with something other than 0 and 1",
            "a mask must be 1 for the tokens of a sentence and 0 for the rest",
        )),
    }
}

/// x where a bit is 1, otherwise y: bit x + (1 - bit) y.
fn chosen<'a>(reader: &mut Reader<'a>, view: &View<'a>, id: usize) -> Result<Value> {
    let (x, y) = (reader.value(view, 1)?, reader.value(view, 2)?);
    let rest = flipped(reader, view, id)?;
    let x = combined(reader, view, Of::Product, Value::Node(id), x)?;
    let y = combined(reader, view, Of::Product, rest, y)?;
    combined(reader, view, Of::Sum, x, y)
}
