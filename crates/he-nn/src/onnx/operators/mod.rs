//! The operators: the result of each on its inputs, be they constants or values that depend on the
//! input of the model.

mod activations;
mod arithmetic;
mod attention;
mod bits;
mod decisions;
mod learning;
mod linear;
mod one_vs_rest;
mod pooling;
mod rows;
mod shapes;
mod trees;
mod vectors;

pub use activations::named;
pub use arithmetic::aligned;
pub use one_vs_rest::{Followed, OF_COMPARISONS};
pub use pooling::reduced_axes;
pub use rows::of_rows;

use super::node::{ML, View};
use super::{Reader, Value, constants};
use crate::error::Result;

/// The values of the outputs of a node, as many of them as are computed.
pub fn node<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Vec<Value>> {
    if let Some(values) = one_vs_rest::node(reader, view)? {
        return Ok(values);
    }
    if view.domain == ML {
        return learning::node(reader, view);
    }
    if let Some(value) = rows::node(reader, view)? {
        return Ok(vec![value]);
    }
    one(reader, view)
}

/// The values of a node whose inputs all have the dimension of the batch.
fn one<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Vec<Value>> {
    if let Some(value) = bits::node(reader, view)? {
        return Ok(vec![value]);
    }
    if let Some(values) = shapes::node(reader, view)? {
        return Ok(values);
    }
    let one = match constants::fold(reader, view)? {
        Some(tensor) => Value::constant(tensor),
        None => encrypted(reader, view)?,
    };
    Ok(vec![one])
}

/// The value of a node that depends on the input of the model.
fn encrypted<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Value> {
    attention::check_cast(reader, view)?;
    let id = match view.operator {
        "Add" | "Sub" | "Mul" | "Div" => return arithmetic::binary(reader, view),
        "Sum" | "Mean" | "Max" | "Min" => return arithmetic::of_several(reader, view),
        "Where" => return arithmetic::choice(reader, view),
        "Clip" => return arithmetic::clip(reader, view),
        "Softmax" | "LogSoftmax" | "ArgMax" => return decisions::decide(reader, view),
        "Sign" => return decisions::sign(reader, view),
        "PRelu" => return arithmetic::rectifier_of_slopes(reader, view),
        "Pow" => arithmetic::power(reader, view)?,
        "Conv" => linear::conv(reader, view)?,
        "Gemm" => return linear::gemm(reader, view),
        "MatMul" => match (reader.value(view, 0)?, reader.value(view, 1)?) {
            (Value::Node(a), Value::Node(b)) => attention::product(reader, view, a, b)?,
            _ => linear::matrix_product(reader, view)?,
        },
        "LayerNormalization" => attention::layer_normalization(reader, view)?,
        "BatchNormalization" => linear::batch_normalization(reader, view)?,
        "AveragePool" => pooling::average(reader, view)?,
        "MaxPool" => pooling::maximum(reader, view)?,
        "GlobalAveragePool" => pooling::global_average(reader, view)?,
        "GlobalMaxPool" => pooling::global_maximum(reader, view)?,
        "ReduceMean" | "ReduceSum" | "ReduceSumSquare" | "ReduceL1" | "ReduceL2" | "ReduceMax"
        | "ReduceMin" => pooling::reduction(reader, view)?,
        "QuantizeLinear"
        | "DequantizeLinear"
        | "DynamicQuantizeLinear"
        | "QLinearConv"
        | "QLinearMatMul"
        | "ConvInteger"
        | "MatMulInteger" => {
            return Err(view.unsupported(
                "it computes on quantised numbers",
                "export the model before quantisation; weights alone may be quantised (DequantizeLinear)",
            ));
        }
        "If" | "Loop" | "Scan" => {
            return Err(view.unsupported(
                "what it computes depends on values that nobody sees",
                "export the model as a fixed graph",
            ));
        }
        _ => match named(view)? {
            Some(function) => activations::apply(reader, view, function)?,
            None => {
                return Err(view.unsupported(
                    "there is no way to compute it on encrypted values here",
                    "replace it by operators that the chapter on models of the guide lists",
                ));
            }
        },
    };
    Ok(Value::Node(id))
}
