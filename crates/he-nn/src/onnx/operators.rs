//! The operators on values that depend on the input.

use super::maximum;
use super::node::View;
use super::tensor::Tensor;
use super::{Reader, Value};
use crate::error::Result;
use crate::function::{Function, Named};
use crate::graph::{Affine, Conv, Decision, Dense, Op, Shape, Window};

/// Adds the node; the result is its index.
pub fn node(reader: &mut Reader, view: &View<'_>) -> Result<usize> {
    match view.operator {
        "Conv" => conv(reader, view),
        "Gemm" | "MatMul" => dense(reader, view),
        "BatchNormalization" => batch_normalization(reader, view),
        "AveragePool" => average_pool(reader, view),
        "GlobalAveragePool" => global_average(reader, view),
        "ReduceMean" => reduce_mean(reader, view),
        "Flatten" | "Reshape" | "Squeeze" | "Unsqueeze" => reshape(reader, view),
        "Identity" | "Dropout" | "Cast" => reader.encrypted(view, 0),
        "Pad" => pad(reader, view),
        "Transpose" => transpose(reader, view),
        "Add" | "Sub" | "Mul" | "Div" => binary(reader, view),
        "Neg" => function(reader, view, Function::affine(-1.0, 0.0)),
        "Pow" => power(reader, view),
        "Softmax" => decision(reader, view, Decision::Softmax),
        "LogSoftmax" => decision(reader, view, Decision::LogSoftmax),
        "ArgMax" => decision(reader, view, Decision::ArgMax),
        "MaxPool" => max_pool(reader, view),
        "GlobalMaxPool" => global_maximum(reader, view),
        "ReduceMax" => reduce_max(reader, view),
        "Max" | "Min" => extreme_of_two(reader, view),
        "QuantizeLinear"
        | "DequantizeLinear"
        | "DynamicQuantizeLinear"
        | "QLinearConv"
        | "QLinearMatMul"
        | "ConvInteger"
        | "MatMulInteger" => Err(view.unsupported(
            "it computes on quantised numbers",
            "export the model with float32 weights, before any quantisation",
        )),
        "If" | "Loop" | "Scan" => Err(view.unsupported(
            "what it computes depends on values that nobody sees",
            "export the model as a fixed graph",
        )),
        _ => match named(view)? {
            Some(named) => function(reader, view, named),
            None => Err(view.unsupported(
                "there is no way to compute it on encrypted values here",
                "the documentation of `Graph::from_onnx` lists the operators to use in its place",
            )),
        },
    }
}

/// Functions of one number.
fn named(view: &View<'_>) -> Result<Option<Function>> {
    let one = Function::named;
    Ok(Some(match view.operator {
        "Relu" => one(Named::Relu),
        "LeakyRelu" => one(Named::LeakyRelu(view.number("alpha", 0.01)?)),
        "Sigmoid" => one(Named::Sigmoid),
        "Tanh" => one(Named::Tanh),
        "Erf" => one(Named::Erf),
        "Exp" => one(Named::Exp),
        "Abs" => one(Named::Abs),
        "Softplus" => one(Named::Softplus),
        "Elu" => one(Named::Elu(view.number("alpha", 1.0)?)),
        "Gelu" if view.text("approximate") == Some("tanh") => one(Named::GeluTanh),
        "Gelu" => one(Named::Gelu),
        "Swish" | "Silu" => Function::x().product(&one(Named::Sigmoid)),
        "HardSigmoid" => hard_sigmoid(view.number("alpha", 0.2)?, view.number("beta", 0.5)?),
        "HardSwish" => Function::x().product(&hard_sigmoid(1.0 / 6.0, 0.5)),
        _ => return Ok(None),
    }))
}

fn hard_sigmoid(alpha: f64, beta: f64) -> Function {
    Function::named(Named::Clip(0.0, 1.0)).of(&Function::affine(alpha, beta))
}

fn function(reader: &mut Reader, view: &View<'_>, function: Function) -> Result<usize> {
    let input = reader.encrypted(view, 0)?;
    let shape = reader.shape(input).clone();
    let op = match function.coefficients().as_deref() {
        // A multiple and an offset belong to the linear maps around it.
        Some(&[offset, factor]) => {
            Op::Affine(Affine { run: 1, factors: vec![factor], offsets: vec![offset] })
        }
        _ => Op::Function(function),
    };
    reader.push(view, op, vec![input], shape)
}

fn power(reader: &mut Reader, view: &View<'_>) -> Result<usize> {
    let exponent = reader.constant(view, 1, "exponents")?.values.clone();
    match exponent[..] {
        [exponent] if (1.0..=16.0).contains(&exponent) && exponent.fract() == 0.0 => {
            let x = Function::x();
            let power = (1..exponent as usize).fold(x.clone(), |power, _| power.product(&x));
            function(reader, view, power)
        }
        _ => Err(view.unsupported("its exponent is not an integer from 1 to 16", "use such an exponent")),
    }
}

/// Planes: channels, rows, columns.
fn planes(reader: &Reader, view: &View<'_>, id: usize) -> Result<[usize; 3]> {
    match reader.shape(id)[..] {
        [channels, rows, columns] => Ok([channels, rows, columns]),
        _ => Err(view.unsupported(
            format!("its input has dimensions {:?} besides the batch", reader.shape(id)),
            "channels of planes are supported, thus three dimensions besides the batch",
        )),
    }
}

fn window(view: &View<'_>, kernel: [usize; 2], plane: [usize; 2]) -> Result<Window> {
    let (strides, dilations) = (view.pair("strides", [1, 1])?, view.pair("dilations", [1, 1])?);
    let (mut before, mut after) = ([0; 2], [0; 2]);
    match view.text("auto_pad").unwrap_or("NOTSET") {
        "NOTSET" => {
            if let Some(pads) = view.integers("pads") {
                let pad = |&x: &i64| usize::try_from(x).ok().filter(|&x| x <= 1 << 16);
                match pads.iter().map(pad).collect::<Option<Vec<_>>>().as_deref() {
                    Some(&[top, left, bottom, right]) => (before, after) = ([top, left], [bottom, right]),
                    _ => return Err(view.wrong(format!("pads are {pads:?}"))),
                }
            }
        }
        "VALID" => {}
        same @ ("SAME_UPPER" | "SAME_LOWER") => {
            for axis in 0..2 {
                let steps = plane[axis].div_ceil(strides[axis]) - 1;
                let reach = dilations[axis] * (kernel[axis] - 1) + 1;
                let total = (steps * strides[axis] + reach).saturating_sub(plane[axis]);
                let (small, large) = (total / 2, total - total / 2);
                (before[axis], after[axis]) =
                    if same == "SAME_UPPER" { (small, large) } else { (large, small) };
            }
        }
        other => return Err(view.wrong(format!("auto_pad is {other:?}"))),
    }
    let count_border = view.integer("count_include_pad", 0) != 0;
    Ok(Window { kernel, strides, before, after, dilations, count_border })
}

fn outcome(view: &View<'_>, window: &Window, plane: [usize; 2]) -> Result<[usize; 2]> {
    window.output(plane).ok_or_else(|| {
        view.wrong(format!("a window of {:?} does not fit planes of {plane:?}", window.kernel))
    })
}

fn conv(reader: &mut Reader, view: &View<'_>) -> Result<usize> {
    let input = reader.encrypted(view, 0)?;
    let [channels, rows, columns] = planes(reader, view, input)?;
    let weights = reader.constant(view, 1, "weights")?.clone();
    let groups = usize::try_from(view.integer("group", 1)).unwrap_or(0);
    let [outputs, per_group, height, width] = weights.dims[..] else {
        return Err(view.wrong(format!("weights of dimensions {:?}", weights.dims)));
    };
    let fits = groups > 0 && per_group.checked_mul(groups) == Some(channels) && outputs % groups == 0;
    if !fits || height == 0 || width == 0 {
        let why = format!("weights of {:?} in {groups} groups for {channels} channels", weights.dims);
        return Err(view.wrong(why));
    }
    if view.pair("kernel_shape", [height, width])? != [height, width] {
        return Err(view.wrong("kernel_shape differs from the weights"));
    }
    let bias = match view.has(2) {
        true => reader.constant(view, 2, "biases")?.values.clone(),
        false => vec![0.0; outputs],
    };
    if bias.len() != outputs {
        return Err(view.wrong(format!("{} biases for {outputs} channels", bias.len())));
    }
    let window = window(view, [height, width], [rows, columns])?;
    let [rows, columns] = outcome(view, &window, [rows, columns])?;
    let conv = Conv { window, groups, outputs, inputs: channels, weights: weights.values, bias };
    reader.push(view, Op::Conv(conv), vec![input], vec![outputs, rows, columns])
}

fn dense(reader: &mut Reader, view: &View<'_>) -> Result<usize> {
    let input = reader.encrypted(view, 0)?;
    let weights = reader.constant(view, 1, "weights")?.clone();
    let [rows, columns] = weights.dims[..] else {
        return Err(view.wrong(format!("weights of dimensions {:?}", weights.dims)));
    };
    let gemm = view.operator == "Gemm";
    if gemm && view.integer("transA", 0) != 0 {
        return Err(view.unsupported("it transposes the batch", "leave transA at 0"));
    }
    let transposed = gemm && view.integer("transB", 0) != 0;
    let (inputs, outputs) = if transposed { (columns, rows) } else { (rows, columns) };
    let mut shape = reader.shape(input).clone();
    if shape.last() != Some(&inputs) || gemm && shape.len() != 1 || outputs == 0 {
        return Err(view.wrong(format!("weights of {:?} for an input of {shape:?}", weights.dims)));
    }
    let alpha = if gemm { view.number("alpha", 1.0)? } else { 1.0 };
    let place = |i: usize, j: usize| if transposed { i * inputs + j } else { j * outputs + i };
    let rows = (0..outputs).flat_map(|i| (0..inputs).map(move |j| (i, j)));
    let values = rows.map(|(i, j)| alpha * weights.values[place(i, j)]).collect();
    let mut bias = vec![0.0; outputs];
    if gemm && view.has(2) {
        let (beta, given) = (view.number("beta", 1.0)?, reader.constant(view, 2, "biases")?);
        if ![1, outputs].contains(&given.values.len()) {
            return Err(view.wrong(format!("{} biases for {outputs} outputs", given.values.len())));
        }
        bias.iter_mut().enumerate().for_each(|(i, b)| *b = beta * given.values[i % given.values.len()]);
    }
    if let Some(last) = shape.last_mut() {
        *last = outputs;
    }
    reader.push(view, Op::Dense(Dense { outputs, inputs, weights: values, bias }), vec![input], shape)
}

fn batch_normalization(reader: &mut Reader, view: &View<'_>) -> Result<usize> {
    let input = reader.encrypted(view, 0)?;
    let shape = reader.shape(input).clone();
    let (channels, run) = (shape[0], shape[1..].iter().product());
    let epsilon = view.number("epsilon", 1e-5)?;
    let list = |index: usize, what: &str| -> Result<Vec<f64>> {
        let values = reader.constant(view, index, what)?.values.clone();
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

/// The most entries of all windows of a pooling, with those of the border: they are walked one by
/// one, and a file of a few bytes can ask for any number.
const MOST_WINDOW_ENTRIES: usize = 1 << 28;

/// The input, the window and the dimensions of the result of pooling.
fn pooling(reader: &Reader, view: &View<'_>) -> Result<(usize, Window, Shape)> {
    let input = reader.encrypted(view, 0)?;
    let [channels, rows, columns] = planes(reader, view, input)?;
    let kernel = view.pair("kernel_shape", [0, 0])?;
    if kernel.contains(&0) {
        return Err(view.wrong("it has no kernel_shape"));
    }
    let window = window(view, kernel, [rows, columns])?;
    let [height, width] = outcome(view, &window, [rows, columns])?;
    if view.integer("ceil_mode", 0) != 0 {
        // Rounding up matters only where the last window would hang over.
        let exact = |axis: usize, plane: usize| {
            let padded = plane + window.before[axis] + window.after[axis];
            let reach = window.dilations[axis] * (window.kernel[axis] - 1) + 1;
            (padded - reach).is_multiple_of(window.strides[axis])
        };
        if !exact(0, rows) || !exact(1, columns) {
            return Err(view.unsupported("windows hang over the border", "leave ceil_mode at 0"));
        }
    }
    let entries = [channels, height, width, kernel[0], kernel[1]].into_iter().try_fold(1, usize::checked_mul);
    if entries.is_none_or(|entries| entries > MOST_WINDOW_ENTRIES) {
        return Err(view.unsupported(
            format!("{channels} x {height} x {width} windows of {kernel:?} have more than 2^28 entries"),
            "use smaller windows, and pad by less than a window",
        ));
    }
    Ok((input, window, vec![channels, height, width]))
}

fn average_pool(reader: &mut Reader, view: &View<'_>) -> Result<usize> {
    let (input, window, shape) = pooling(reader, view)?;
    reader.push(view, Op::Pool(window), vec![input], shape)
}

fn max_pool(reader: &mut Reader, view: &View<'_>) -> Result<usize> {
    let (input, window, shape) = pooling(reader, view)?;
    maximum::of_windows(reader, view, input, &window, shape)
}

fn global_window(rows: usize, columns: usize) -> Window {
    let (zero, one) = ([0; 2], [1; 2]);
    let kernel = [rows, columns];
    Window { kernel, strides: one, before: zero, after: zero, dilations: one, count_border: false }
}

fn global_average(reader: &mut Reader, view: &View<'_>) -> Result<usize> {
    let input = reader.encrypted(view, 0)?;
    let [channels, rows, columns] = planes(reader, view, input)?;
    reader.push(view, Op::Pool(global_window(rows, columns)), vec![input], vec![channels, 1, 1])
}

fn global_maximum(reader: &mut Reader, view: &View<'_>) -> Result<usize> {
    let input = reader.encrypted(view, 0)?;
    let [channels, rows, columns] = planes(reader, view, input)?;
    maximum::of_windows(reader, view, input, &global_window(rows, columns), vec![channels, 1, 1])
}

fn reduce_mean(reader: &mut Reader, view: &View<'_>) -> Result<usize> {
    let (input, window, shape) = reduction(reader, view)?;
    reader.push(view, Op::Pool(window), vec![input], shape)
}

fn reduce_max(reader: &mut Reader, view: &View<'_>) -> Result<usize> {
    let (input, window, shape) = reduction(reader, view)?;
    maximum::of_windows(reader, view, input, &window, shape)
}

/// The input, the window and the dimensions of the result of a reduction of whole planes.
fn reduction(reader: &Reader, view: &View<'_>) -> Result<(usize, Window, Shape)> {
    let input = reader.encrypted(view, 0)?;
    let [channels, rows, columns] = planes(reader, view, input)?;
    let axes = match view.has(1) {
        true => reader.constant(view, 1, "axes")?.integers().unwrap_or_default(),
        false => view.integers("axes").unwrap_or_default().to_vec(),
    };
    let mut axes = axes.iter().map(|&axis| view.axis(axis, 4)).collect::<Result<Vec<_>>>()?;
    axes.sort_unstable();
    if axes != [2, 3] {
        return Err(view.unsupported("it does not reduce whole planes", "reduce both axes of planes"));
    }
    let keep = view.integer("keepdims", 1) != 0;
    let shape = if keep { vec![channels, 1, 1] } else { vec![channels] };
    Ok((input, global_window(rows, columns), shape))
}

fn extreme_of_two(reader: &mut Reader, view: &View<'_>) -> Result<usize> {
    let two = |value: Result<&Value>| match value {
        Ok(&Value::Node(id)) => Some(id),
        _ => None,
    };
    let (a, b) = (two(reader.value(view, 0)), two(reader.value(view, 1)));
    match a.zip(b).filter(|_| view.inputs() == 2) {
        Some((a, b)) if reader.shape(a) == reader.shape(b) => maximum::of_two(reader, view, a, b),
        _ => Err(view.unsupported(
            "it does not compare two values of the same dimensions that depend on the input",
            "compare two such values, or use Relu or Clip for bounds that are constants",
        )),
    }
}

/// The dimensions that a reshape leaves: 0 keeps one, and one of -1 takes the rest.
pub fn reshaped(from: &[usize], to: &[i64]) -> Option<Vec<usize>> {
    let elements: usize = from.iter().product();
    let known = |(axis, &dim): (usize, &i64)| match dim {
        -1 => Some(1),
        0 => from.get(axis).copied(),
        dim => usize::try_from(dim).ok(),
    };
    let mut dims: Vec<usize> = to.iter().enumerate().map(known).collect::<Option<_>>()?;
    if let Some(rest) = to.iter().position(|&dim| dim == -1) {
        let product = dims.iter().try_fold(1usize, |product, &dim| product.checked_mul(dim))?;
        dims[rest] = elements.checked_div(product)?;
    }
    let product = dims.iter().try_fold(1usize, |product, &dim| product.checked_mul(dim))?;
    (product == elements && to.iter().filter(|&&dim| dim == -1).count() <= 1).then_some(dims)
}

fn reshape(reader: &mut Reader, view: &View<'_>) -> Result<usize> {
    let input = reader.encrypted(view, 0)?;
    let batch = reader.batch;
    let from: Shape = std::iter::once(batch).chain(reader.shape(input).iter().copied()).collect();
    let axes = |reader: &Reader, dims: usize| -> Result<Vec<usize>> {
        let axes = match view.has(1) {
            true => reader.constant(view, 1, "axes")?.integers().unwrap_or_default(),
            false => view.integers("axes").unwrap_or_default().to_vec(),
        };
        axes.iter().map(|&axis| view.axis(axis, dims)).collect()
    };
    let to: Shape = match view.operator {
        "Flatten" => {
            // An axis equal to the number of dimensions is possible, but leaves one row.
            if view.axis(view.integer("axis", 1), from.len())? != 1 {
                return Err(view.unsupported("it flattens into the batch", "leave its axis at 1"));
            }
            vec![batch, from[1..].iter().product()]
        }
        "Reshape" => {
            let to = reader.constant(view, 1, "dimensions")?.integers().unwrap_or_default();
            if view.integer("allowzero", 0) != 0 && to.contains(&0) {
                return Err(view.unsupported("it asks for a dimension of 0", "leave allowzero at 0"));
            }
            // Exporters write a fixed batch as 1, whatever the batch is called.
            let to: Vec<i64> = match to.split_first() {
                Some((1, rest)) => std::iter::once(batch as i64).chain(rest.iter().copied()).collect(),
                _ => to,
            };
            let dims = reshaped(&from, &to);
            dims.ok_or_else(|| view.wrong(format!("an input of {from:?} cannot become {to:?}")))?
        }
        "Squeeze" => {
            let axes = axes(reader, from.len())?;
            let gone = |axis: usize| match axes.is_empty() {
                true => axis > 0 && from[axis] == 1,
                false => axes.contains(&axis),
            };
            if (0..from.len()).any(|axis| gone(axis) && from[axis] != 1) {
                return Err(view.wrong(format!("it squeezes axes {axes:?} of {from:?}")));
            }
            (0..from.len()).filter(|&axis| !gone(axis)).map(|axis| from[axis]).collect()
        }
        _ => {
            let given = view.inputs().max(1) - 1 + view.integers("axes").map_or(0, <[i64]>::len);
            let count = match view.has(1) {
                true => reader.constant(view, 1, "axes")?.values.len(),
                false => given,
            };
            let axes = axes(reader, from.len() + count)?;
            let mut rest = from.iter().copied();
            let dim = |axis: usize| if axes.contains(&axis) { Some(1) } else { rest.next() };
            (0..from.len() + count).map_while(dim).collect()
        }
    };
    match to.split_first() {
        Some((&first, rest)) if first == batch && !rest.is_empty() => {
            reader.push(view, Op::Reshape, vec![input], rest.to_vec())
        }
        _ => Err(view.unsupported(
            format!("it makes {to:?} of {from:?}, which moves the batch"),
            "keep the batch as the first dimension, and one more",
        )),
    }
}

fn pad(reader: &mut Reader, view: &View<'_>) -> Result<usize> {
    let input = reader.encrypted(view, 0)?;
    let [channels, rows, columns] = planes(reader, view, input)?;
    let pads = match view.has(1) {
        true => reader.constant(view, 1, "pads")?.integers().unwrap_or_default(),
        false => view.integers("pads").unwrap_or_default().to_vec(),
    };
    let zero = !view.has(2) || reader.constant(view, 2, "value")?.values.iter().all(|&x| x == 0.0);
    let small = pads.iter().all(|pad| (0..1 << 12).contains(pad));
    let (&[0, 0, top, left, 0, 0, bottom, right], true, true, "constant") =
        (&pads[..], zero, small, view.text("mode").unwrap_or("constant"))
    else {
        return Err(view.unsupported(
            format!("it pads by {pads:?}, or by other numbers than 0"),
            "pad planes with zeros, best in the convolution itself",
        ));
    };
    let (top, left) = (top as usize, left as usize);
    let (height, width) = (rows + top + bottom as usize, columns + left + right as usize);
    let from = |at: usize| {
        let (channel, y, x) = (at / (height * width), at / width % height, at % width);
        let (y, x) = (y.checked_sub(top)?, x.checked_sub(left)?);
        (y < rows && x < columns).then_some(((channel * rows + y) * columns + x) as u32)
    };
    let places = (0..channels * height * width).map(from).collect();
    reader.push(view, Op::Gather(places), vec![input], vec![channels, height, width])
}

fn transpose(reader: &mut Reader, view: &View<'_>) -> Result<usize> {
    let input = reader.encrypted(view, 0)?;
    let from = reader.shape(input).clone();
    let axes = view.integers("perm").unwrap_or_default();
    let axes = axes.iter().map(|&axis| view.axis(axis, from.len() + 1)).collect::<Result<Vec<_>>>()?;
    let mut sorted = axes.clone();
    sorted.sort_unstable();
    if axes.first() != Some(&0) || sorted.iter().copied().ne(0..=from.len()) {
        return Err(
            view.unsupported(format!("its perm is {axes:?}"), "keep the batch as the first dimension")
        );
    }
    let order: Vec<usize> = axes[1..].iter().map(|axis| axis - 1).collect();
    let to: Shape = order.iter().map(|&axis| from[axis]).collect();
    let strides: Vec<usize> = (0..from.len()).map(|axis| from[axis + 1..].iter().product()).collect();
    let place = |at: usize| {
        let (mut rest, mut place) = (at, 0);
        for (axis, &dim) in order.iter().zip(&to).rev() {
            place += rest % dim * strides[*axis];
            rest /= dim;
        }
        Some(place as u32)
    };
    let places = (0..to.iter().product()).map(place).collect();
    reader.push(view, Op::Gather(places), vec![input], to)
}

fn decision(reader: &mut Reader, view: &View<'_>, decision: Decision) -> Result<usize> {
    let input = reader.encrypted(view, 0)?;
    let shape = reader.shape(input);
    let default = if decision == Decision::ArgMax { 0 } else { -1 };
    let axis = view.axis(view.integer("axis", default), shape.len() + 1)?;
    if shape.len() != 1 || axis != 1 {
        let why = format!("it decides along axis {axis} of {shape:?} besides the batch");
        return Err(view.unsupported(why, "decide among the outputs of an example: axis 1 of two"));
    }
    if view.integer("select_last_index", 0) != 0 {
        return Err(view.unsupported("it takes the last of equal outputs", "leave select_last_index at 0"));
    }
    reader.decision = match (reader.decision, decision) {
        // The order of outputs does not change.
        (_, Decision::ArgMax) => Decision::ArgMax,
        (Decision::None, decision) => decision,
        (found, _) => {
            let why = format!("it comes after {}", found.name());
            return Err(view.unsupported(why, "leave one decision at the end"));
        }
    };
    Ok(input)
}

/// A sum, difference, product or quotient.
fn binary(reader: &mut Reader, view: &View<'_>) -> Result<usize> {
    match (reader.value(view, 0)?.clone(), reader.value(view, 1)?.clone()) {
        (Value::Node(x), Value::Constant(c)) => with_constant(reader, view, x, &c, false),
        (Value::Constant(c), Value::Node(x)) => with_constant(reader, view, x, &c, true),
        (Value::Node(a), Value::Node(b)) => of_two(reader, view, a, b),
        _ => Err(view.wrong("it has only constants")),
    }
}

/// A value and a constant, which repeats along the axes where it has one element.
fn with_constant(reader: &mut Reader, view: &View<'_>, x: usize, c: &Tensor, first: bool) -> Result<usize> {
    let shape = reader.shape(x).clone();
    let full: Vec<usize> = std::iter::once(1).chain(shape.iter().copied()).collect();
    let missing = full.len().checked_sub(c.dims.len());
    let dims: Option<Vec<usize>> =
        missing.map(|missing| std::iter::repeat_n(1, missing).chain(c.dims.iter().copied()).collect());
    let Some(dims) = dims.filter(|dims| dims.iter().zip(&full).all(|(&dim, &of)| dim == 1 || dim == of))
    else {
        let why = format!("a constant of {:?} for a value of {full:?}", c.dims);
        return Err(view.unsupported(why, "use constants that do not enlarge the value"));
    };
    let elements: usize = shape.iter().product();
    let at = |element: usize| {
        let (mut rest, mut place, mut stride) = (element, 0, 1);
        for (&dim, &of) in dims.iter().zip(&full).rev() {
            place += if dim == 1 { 0 } else { rest % of * stride };
            stride *= dim;
            rest /= of;
        }
        c.values[place]
    };
    let numbers: Vec<f64> = match c.values.len() {
        1 => vec![c.values[0]],
        _ => (0..elements).map(at).collect(),
    };
    let ones = || vec![1.0; 1];
    let (factors, offsets) = match (view.operator, first) {
        ("Add", _) => (ones(), numbers),
        ("Sub", false) => (ones(), numbers.iter().map(|x| -x).collect()),
        ("Sub", true) => (vec![-1.0], numbers),
        ("Mul", _) => (numbers, vec![0.0]),
        ("Div", false) if numbers.iter().all(|&x| x != 0.0) => {
            (numbers.iter().map(|x| 1.0 / x).collect(), vec![0.0])
        }
        ("Div", false) => return Err(view.wrong("it divides by 0")),
        _ => {
            let hint = "divide by constants only";
            return Err(view.unsupported("it divides by values that depend on the input", hint));
        }
    };
    reader.push(view, Op::Affine(Affine { run: 1, factors, offsets }), vec![x], shape)
}

/// The nodes from which a value comes by functions of single numbers, the nearest first, and the
/// value as a function of each.
fn origins(reader: &Reader, id: usize) -> Vec<(usize, Function)> {
    let mut found = vec![(id, Function::x())];
    loop {
        let Some((last, of_last)) = found.last() else { return found };
        let node = &reader.nodes[*last];
        let step = match &node.op {
            Op::Function(function) => function.clone(),
            Op::Affine(affine) => match affine.uniform() {
                Some((factor, offset)) => Function::affine(factor, offset),
                None => return found,
            },
            _ => return found,
        };
        let next = (node.inputs[0], of_last.of(&step));
        if !next.1.is_valid() {
            return found;
        }
        found.push(next);
    }
}

fn of_two(reader: &mut Reader, view: &View<'_>, a: usize, b: usize) -> Result<usize> {
    let shape = reader.shape(a).clone();
    if reader.shape(b) != &shape {
        let why = format!("its inputs have dimensions {shape:?} and {:?}", reader.shape(b));
        return Err(view.unsupported(why, "give both inputs the same dimensions"));
    }
    if view.operator == "Div" {
        let hint = "divide by constants only";
        return Err(view.unsupported("it divides by values that depend on the input", hint));
    }
    // x sigmoid(x), x x and their like are functions of one number.
    let (left, right) = (origins(reader, a), origins(reader, b));
    let minus = Function::affine(-1.0, 0.0);
    let shared = left.iter().find_map(|(origin, f)| {
        let (_, g) = right.iter().find(|(other, _)| other == origin)?;
        let both = match view.operator {
            "Mul" => f.product(g),
            "Add" => f.sum(g),
            _ => f.sum(&minus.of(g)),
        };
        Some((*origin, both))
    });
    if let Some((origin, function)) = shared.filter(|(_, function)| function.is_valid()) {
        return reader.push(view, Op::Function(function), vec![origin], shape);
    }
    match view.operator {
        "Mul" => reader.push(view, Op::Product, vec![a, b], shape),
        "Add" => reader.push(view, Op::Add, vec![a, b], shape),
        _ => {
            let negated = Op::Affine(Affine { run: 1, factors: vec![-1.0], offsets: vec![0.0] });
            let negated = reader.push(view, negated, vec![b], shape.clone())?;
            reader.push(view, Op::Add, vec![a, negated], shape)
        }
    }
}
