//! The operators of transformers: rows of tables, normalisation of rows, products of values.

use super::super::element::Element;
use super::super::node::View;
use super::super::tensor::Tensor;
use super::super::{Reader, Value, reals};
use crate::error::Result;
use crate::graph::{Affine, Contract, LayerNorm, Op, Public, Table};

/// The most products of numbers of one operator.
const MOST_PRODUCTS: u64 = 1 << 32;

/// The input of integers that a value comes from without arithmetic, if it does.
fn public(reader: &Reader<'_>, mut id: usize) -> Option<usize> {
    while matches!(reader.nodes[id].op, Op::Gather(_) | Op::Reshape) {
        id = reader.nodes[id].inputs[0];
    }
    matches!(reader.nodes[id].op, Op::Public(_)).then_some(id)
}

/// Whether a value consists of the integers of an input.
pub fn is_public(reader: &Reader<'_>, id: usize) -> bool {
    public(reader, id).is_some()
}

/// Integers in another type: as real numbers, they are a value of their own.
pub fn cast<'a>(reader: &mut Reader<'a>, view: &View<'a>, id: usize, to: Element) -> Result<Value> {
    let shape = reader.shape(id).clone();
    let same = Affine { run: 1, factors: vec![1.0], offsets: vec![0.0] };
    match to {
        Element::Real(_) => reader.push(view, Op::Affine(same), vec![id], shape).map(Value::Node),
        to if to.is_whole() => Ok(Value::Node(id)),
        to => Err(view.unsupported(
            format!("it casts integers of an input to {}", to.name()),
            "cast them to a floating-point type, INT32, INT64 or BOOL",
        )),
    }
}

/// Checks that an operator does not compute on the integers of an input.
pub fn check_cast<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<()> {
    for name in view.given() {
        if let Some(&Value::Node(id)) = reader.values.get(name)
            && is_public(reader, id)
        {
            return Err(view.unsupported(
                format!("it computes on integers, of {name:?}"),
                "cast the input to a floating-point type before",
            ));
        }
    }
    Ok(())
}

/// The rows of a constant table that public ids name.
pub fn lookup<'a>(
    reader: &mut Reader<'a>,
    view: &View<'a>,
    table: &Tensor,
    axis: usize,
    ids: usize,
) -> Result<usize> {
    const HINT: &str = "ids must be an input of type INT64 or INT32, of a table with two dimensions, axis 0";
    let (Some(input), &[rows, width]) = (public(reader, ids), &table.dims[..]) else {
        return Err(view.unsupported("its indices depend on encrypted values", HINT));
    };
    if axis != 0 || rows == 0 || width == 0 {
        return Err(view.unsupported(format!("it takes places on axis {axis} of {:?}", table.dims), HINT));
    }
    let rows = match reader.nodes[input].op {
        // The smallest of several tables decides.
        Op::Public(Public::Ids(before)) => rows.min(before),
        _ => rows,
    };
    reader.nodes[input].op = Op::Public(Public::Ids(rows));
    let values = reals(table, view, 0)?.to_vec();
    let shape = [reader.shape(ids), &[width][..]].concat();
    reader.push(view, Op::Lookup(Table { width, values }), vec![ids], shape)
}

pub fn layer_normalization<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<usize> {
    let input = reader.encrypted(view, 0)?;
    let shape = reader.shape(input).clone();
    let axis = view.axis(view.integer("axis", -1)?, shape.len() + 1)?;
    let epsilon = view.number("epsilon", f64::from(1e-5f32))?;
    // The type in which variances are computed, which is float64 here.
    view.integer("stash_type", 1)?;
    let width = shape[shape.len() - 1];
    if axis != shape.len() {
        return Err(view.unsupported(
            format!("it normalises along axis {axis} and all after it, of {shape:?} besides the batch"),
            "normalise along the last axis",
        ));
    }
    if epsilon <= 0.0 {
        return Err(view.unsupported(format!("epsilon is {epsilon}"), "use a positive epsilon"));
    }
    let mut list = |index: usize, what: &str| -> Result<Vec<f64>> {
        let (dims, values) = reader.reals(view, index, what)?;
        match values.len() == width && dims.last() == Some(&width) {
            true => Ok(values),
            false => Err(view.wrong(format!("{what} of dimensions {dims:?} for rows of {width}"))),
        }
    };
    let scale = list(1, "factors")?;
    let shift = if view.has(2) { list(2, "offsets")? } else { vec![0.0; width] };
    reader.push(view, Op::LayerNorm(LayerNorm { epsilon, scale, shift }), vec![input], shape)
}

/// The product of two values.
pub fn product<'a>(reader: &mut Reader<'a>, view: &View<'a>, a: usize, b: usize) -> Result<usize> {
    let (first, second) = (reader.shape(a).clone(), reader.shape(b).clone());
    let (Some((lead, &[rows, inner])), Some((other, &[same, columns]))) =
        (first.split_last_chunk::<2>(), second.split_last_chunk::<2>())
    else {
        return Err(view.unsupported(
            format!("it multiplies values of dimensions {first:?} and {second:?} besides the batch"),
            "multiply matrices: two dimensions besides the batch, or more",
        ));
    };
    if lead != other || inner != same {
        return Err(view.unsupported(
            format!("it multiplies values of dimensions {first:?} and {second:?} besides the batch"),
            "give both values the same dimensions in front of those of their matrices, which must fit",
        ));
    }
    let groups: usize = lead.iter().product();
    let dimensions = [groups, rows, inner, columns];
    let products = dimensions.into_iter().try_fold(1u64, |all, length| all.checked_mul(length as u64));
    if products.is_none_or(|products| products > MOST_PRODUCTS) {
        return Err(view.unsupported(
            format!("it multiplies {groups} pairs of matrices, {rows} x {inner} by {inner} x {columns}"),
            "use a model of fewer tokens: 2^32 products of numbers at most",
        ));
    }
    let shape = [lead, &[rows, columns][..]].concat();
    let contract = Contract { groups, rows, inner, columns, factor: 1.0 };
    reader.push(view, Op::Contract(contract), vec![a, b], shape)
}
