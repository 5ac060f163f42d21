//! The inputs of a model: real numbers, or integers that stay public.

use super::element::{Element, Real};
use super::{Batch, graph_error};
use crate::error::{Error, Result};
use crate::graph::{MAX_ELEMENTS, Node, Op, Public, Shape};
use rten_onnx::onnx::{DataType, Dimension, ValueInfoProto};
use std::collections::HashSet;

/// Reads the inputs that something takes, or the only one, and the batch that they share.
///
/// # Errors
/// [`Error::ElementType`], [`Error::DynamicShape`]; [`Error::Model`] and [`Error::Graph`] for
/// inputs that do not go together.
pub fn read<'a>(
    inputs: &[&'a ValueInfoProto],
    used: &HashSet<&str>,
    dimensions: &[(String, usize)],
) -> Result<(Vec<(&'a str, Node)>, Batch)> {
    let is_used =
        |input: &&&ValueInfoProto| inputs.len() == 1 || used.contains(input.name.as_deref().unwrap_or(""));
    check_names(inputs, dimensions)?;
    let mut nodes = Vec::new();
    let mut batch = None;
    for input in inputs.iter().filter(is_used) {
        let name = input.name.as_deref().unwrap_or_default();
        let (op, shape, found) = one(name, input, dimensions)?;
        match batch {
            Some(before) if before != found => {
                return Err(graph_error(format!("has inputs of batches that differ: {before:?}, {found:?}")));
            }
            _ => batch = Some(found),
        }
        nodes.push((
            name,
            Node { name: name.to_owned(), operator: "Input".to_owned(), op, inputs: vec![], shape },
        ));
    }
    let batch = batch.ok_or_else(|| Error::Model {
        why: "has no input that its output depends on".to_owned(),
        hint: "export the model with its inputs, and ask for an output that depends on them",
    })?;
    match nodes.len() > 1 && !matches!(batch, Batch::Any | Batch::Fixed(1)) {
        true => Err(Error::Model {
            why: format!("has {} inputs for batches of {batch:?}", nodes.len()),
            hint: "export a model of several inputs for a batch of 1, or of any size",
        }),
        false => Ok((nodes, batch)),
    }
}

/// Checks that every dimension with a number is one of the inputs.
fn check_names(inputs: &[&ValueInfoProto], dimensions: &[(String, usize)]) -> Result<()> {
    let shapes =
        inputs.iter().filter_map(|input| input.r#type.as_ref()?.tensor_type.as_ref()?.shape.as_ref());
    let names: HashSet<&str> =
        shapes.flat_map(|shape| &shape.dim).filter_map(|dim| dim.dim_param.as_deref()).collect();
    match dimensions.iter().find(|(name, _)| !names.contains(name.as_str())) {
        Some((name, _)) => Err(Error::Model {
            why: format!("has no dimension that it calls {name:?}"),
            hint: "give numbers for dimensions that the inputs of the model call by a name",
        }),
        None => Ok(()),
    }
}

/// The operation of an input, its dimensions without the batch, and the batch.
fn one(name: &str, input: &ValueInfoProto, dimensions: &[(String, usize)]) -> Result<(Op, Shape, Batch)> {
    let tensor = input.r#type.as_ref().and_then(|of| of.tensor_type.as_ref());
    let shape = tensor.and_then(|tensor| tensor.shape.as_ref());
    let (Some(tensor), Some(shape)) = (tensor, shape) else {
        return Err(graph_error(format!("does not say which dimensions its input {name:?} has")));
    };
    let kind = tensor.elem_type.unwrap_or(DataType(0));
    let op = match Element::of(kind) {
        Some(Element::Real(Real::Half | Real::Brain | Real::Single | Real::Double)) => Op::Input,
        Some(Element::Signed(32 | 64)) => Op::Public(Public::Mask),
        _ => {
            let found = kind.name().unwrap_or("no type").to_owned();
            return Err(Error::ElementType { tensor: name.to_owned(), found });
        }
    };
    let Some((batch, rest)) = shape.dim.split_first() else {
        return Err(graph_error(format!("has an input {name:?} without dimensions")));
    };
    let size = |dim: &Dimension| match (dim.dim_value, &dim.dim_param) {
        (Some(value), _) if value > 0 => usize::try_from(value).ok(),
        (_, Some(wanted)) => dimensions.iter().find(|(name, _)| name == wanted).map(|(_, size)| *size),
        _ => None,
    };
    let fixed = |(axis, dim): (usize, &Dimension)| {
        size(dim).filter(|&size| size > 0).ok_or_else(|| {
            let dimension = dim.dim_param.clone().unwrap_or_else(|| "unknown".to_owned());
            Error::DynamicShape { value: name.to_owned(), axis: axis + 1, dimension }
        })
    };
    let shape: Shape = rest.iter().enumerate().map(fixed).collect::<Result<_>>()?;
    let elements = shape.iter().try_fold(1usize, |product, &dim| product.checked_mul(dim));
    if shape.is_empty() || elements.is_none_or(|elements| elements > MAX_ELEMENTS) {
        return Err(graph_error(format!("has an input {name:?} of dimensions {shape:?} besides the batch")));
    }
    let batch = size(batch).map_or(Batch::Any, Batch::Fixed);
    Ok((op, shape, batch))
}
