//! Linear maps with weights: convolutions, fully connected layers, batch normalisation.

use super::super::arrangement::broadcast;
use super::super::node::View;
use super::super::{Reader, Value};
use super::arithmetic;
use super::pooling::{self, Planes};
use crate::error::Result;
use crate::graph::{Affine, Conv, Dense, Op};

pub fn conv<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<usize> {
    let planes = Planes::of(reader, view)?;
    let (dims, weights) = reader.reals(view, 1, "weights")?;
    let groups = usize::try_from(view.integer("group", 1)?).unwrap_or(0);
    let (outputs, per_group, [height, width]) = match (dims[..].split_first_chunk::<2>(), planes.axes) {
        (Some((&[outputs, inputs], &[width])), 1) => (outputs, inputs, [1, width]),
        (Some((&[outputs, inputs], &[height, width])), 2) => (outputs, inputs, [height, width]),
        _ => return Err(view.wrong(format!("weights of dimensions {dims:?}"))),
    };
    let fits = groups > 0 && per_group.checked_mul(groups) == Some(planes.channels) && outputs % groups == 0;
    if !fits || height == 0 || width == 0 {
        let why = format!("weights of {dims:?} in {groups} groups for {} channels", planes.channels);
        return Err(view.wrong(why));
    }
    if planes.pair(view, "kernel_shape", [height, width])? != [height, width] {
        return Err(view.wrong("kernel_shape differs from the weights"));
    }
    let bias = match view.has(2) {
        true => reader.reals(view, 2, "biases")?.1,
        false => vec![0.0; outputs],
    };
    if bias.len() != outputs {
        return Err(view.wrong(format!("{} biases for {outputs} channels", bias.len())));
    }
    let dilations = planes.pair(view, "dilations", [1, 1])?;
    let window = pooling::window(view, &planes, [height, width], dilations, false)?;
    let size = pooling::outcome(view, &window, planes.size)?;
    let input = planes.id(reader, view)?;
    let conv = Conv { window, groups, outputs, inputs: planes.channels, weights, bias };
    let id = reader.push(view, Op::Conv(conv), vec![input], vec![outputs, size[0], size[1]])?;
    planes.back(reader, view, id)
}

/// A fully connected layer of weights [input][output], or the other way round.
fn dense<'a>(
    reader: &mut Reader<'a>,
    view: &View<'a>,
    transposed: bool,
    alpha: f64,
    bias: impl FnOnce(&mut Reader<'a>, usize) -> Result<Vec<f64>>,
) -> Result<usize> {
    let input = reader.encrypted(view, 0)?;
    let (dims, weights) = reader.reals(view, 1, "weights")?;
    let [rows, columns] = dims[..] else {
        return Err(view.unsupported(
            format!("its weights have dimensions {dims:?}"),
            "use a matrix of weights for all examples",
        ));
    };
    let (inputs, outputs) = if transposed { (columns, rows) } else { (rows, columns) };
    let mut shape = reader.shape(input).clone();
    if shape.last() != Some(&inputs) || outputs == 0 {
        return Err(view.wrong(format!("weights of {dims:?} for an input of {shape:?}")));
    }
    let place = |i: usize, j: usize| if transposed { i * inputs + j } else { j * outputs + i };
    let rows = (0..outputs).flat_map(|i| (0..inputs).map(move |j| (i, j)));
    let values = rows.map(|(i, j)| alpha * weights[place(i, j)]).collect();
    let bias = bias(reader, outputs)?;
    if let Some(last) = shape.last_mut() {
        *last = outputs;
    }
    reader.push(view, Op::Dense(Dense { outputs, inputs, weights: values, bias }), vec![input], shape)
}

/// A product with a matrix of weights.
pub fn matrix_product<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<usize> {
    dense(reader, view, false, 1.0, |_, outputs| Ok(vec![0.0; outputs]))
}

/// alpha A B + beta C.
pub fn gemm<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Value> {
    let (alpha, beta) = (view.number("alpha", 1.0)?, view.number("beta", 1.0)?);
    view.only("transA", 0, "the batch would be transposed")?;
    let transposed = view.flag("transB", false)?;
    let input = reader.encrypted(view, 0)?;
    if reader.shape(input).len() != 1 {
        return Err(view.wrong("its input is not a matrix"));
    }
    let third = if view.has(2) { Some(reader.value(view, 2)?) } else { None };
    let batch = reader.batch.size();
    let smaller = view.opset >= 7 || view.flag("broadcast", false)?;
    let bias = |reader: &mut Reader<'a>, outputs: usize| {
        let Some(Value::Constant(_)) = &third else { return Ok(vec![0.0; outputs]) };
        let (dims, numbers) = reader.reals(view, 2, "biases")?;
        let fits = match smaller {
            true => broadcast(&[batch, outputs], &dims) == Some(vec![batch, outputs]),
            false => dims == [batch, outputs],
        };
        let same = dims.len() < 2 || dims[0] == 1;
        if !fits || !same || numbers.is_empty() {
            return Err(view.wrong(format!("biases of dimensions {dims:?} for {outputs} outputs")));
        }
        Ok((0..outputs).map(|i| beta * numbers[i % numbers.len()]).collect())
    };
    let product = dense(reader, view, transposed, alpha, bias)?;
    match third {
        Some(Value::Node(_)) => arithmetic::plus_multiple(reader, view, product, 2, beta),
        Some(Value::Decided(_, decision)) => Err(super::super::after(view, decision)),
        _ => Ok(Value::Node(product)),
    }
}

/// Normalisation by statistics that are constants, as in inference.
pub fn batch_normalization<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<usize> {
    const HINT: &str = "export the model for inference: model.eval() in PyTorch, is_test = 1 before opset 7";
    let input = reader.encrypted(view, 0)?;
    let shape = reader.shape(input).clone();
    let (channels, run) = (shape[0], shape[1..].iter().product());
    let epsilon = view.number("epsilon", f64::from(1e-5f32))?;
    // It says how fast the statistics of training change.
    view.number("momentum", 0.9)?;
    if view.opset < 9 {
        view.only("spatial", 1, "statistics belong to single elements")?;
    }
    let training = match view.opset {
        ..7 => !view.flag("is_test", false)?,
        7..14 => (1..view.outputs()).any(|output| view.has_output(output)),
        _ => view.flag("training_mode", false)?,
    };
    if training {
        return Err(
            view.unsupported("it is in training mode, where it normalises each batch by itself", HINT)
        );
    }
    let mut list = |index: usize, what: &str| -> Result<Vec<f64>> {
        let (_, values) = reader.reals(view, index, what)?;
        match values.len() == channels {
            true => Ok(values),
            false => Err(view.wrong(format!("{} {what} for {channels} channels", values.len()))),
        }
    };
    let (scale, shift) = (list(1, "factors")?, list(2, "offsets")?);
    let (mean, variance) = (list(3, "means")?, list(4, "variances")?);
    let factors: Vec<f64> = scale.iter().zip(&variance).map(|(s, v)| s / (v + epsilon).sqrt()).collect();
    let offsets: Vec<f64> =
        factors.iter().zip(&mean).zip(&shift).map(|((factor, mean), shift)| shift - factor * mean).collect();
    if factors.iter().chain(&offsets).any(|x| !x.is_finite()) {
        return Err(view.wrong("a variance is not positive"));
    }
    reader.push(view, Op::Affine(Affine { run, factors, offsets }), vec![input], shape)
}
