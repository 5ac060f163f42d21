//! Values that depend on constants alone, computed by ONNX's rules for their type: integers are
//! divided towards zero and wrap, floating-point results are rounded to their type. A result that
//! is not a number, such as a quotient by zero, is refused.

mod elementwise;

use super::element::{Element, Real};
use super::node::View;
use super::operators::named;
use super::tensor::{LIMIT, Numbers, Tensor};
use super::{Reader, Value, operators};
use crate::error::Result;
use std::rc::Rc;

/// The value of a node that depends on constants alone; `None` for all others.
///
/// # Errors
/// It has no value, or the operator is not computed on constants.
pub fn fold<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Option<Tensor>> {
    if view.operator == "Constant" {
        return constant(view).map(Some);
    }
    let mut inputs: Vec<Option<Rc<Tensor>>> = Vec::new();
    for index in 0..view.inputs() {
        match view.has(index).then(|| reader.value(view, index)).transpose()? {
            Some(Value::Constant(tensor)) => inputs.push(Some(tensor)),
            Some(_) => return Ok(None),
            None => inputs.push(None),
        }
    }
    let given: Vec<&Tensor> = inputs.iter().flatten().map(Rc::as_ref).collect();
    let Some(&first) = given.first() else { return Err(view.wrong("it has no inputs")) };
    let folded = match view.operator {
        "ConstantOfShape" => constant_of_shape(reader, view)?,
        "Range" => range(view, &given)?,
        "DequantizeLinear" => dequantized(view, &inputs)?,
        "Where" => elementwise::choice(view, &given)?,
        "Sum" | "Mean" | "Max" | "Min" => elementwise::of_several(view, &given)?,
        "ReduceSum" | "ReduceMean" | "ReduceMax" | "ReduceMin" | "ReduceProd" => {
            reduction(reader, view, first)?
        }
        _ => match elementwise::of_two(view, &given)? {
            Some(folded) => folded,
            None => match elementwise::of_one(view, &given)? {
                Some(folded) => folded,
                None => {
                    return Err(view.unsupported(
                        "it is not computed on constants here",
                        "fold constants before: onnxruntime does so when it saves an optimised model",
                    ));
                }
            },
        },
    };
    Ok(Some(folded))
}

/// The tensor or the numbers that an attribute holds.
fn constant(view: &View<'_>) -> Result<Tensor> {
    let none = || view.unsupported("its value is not numeric", "use constants of numbers");
    if let Some(tensor) = view.tensor("value")? {
        return Tensor::read(tensor);
    }
    if view.opset < 12 {
        return Err(none());
    }
    let scalar = |tensor: Tensor| tensor.reshaped(vec![]);
    if let Some(values) = view.integers("value_ints")? {
        return Ok(Tensor::list(values.iter().copied()));
    }
    if let Some(values) = view.numbers("value_floats")? {
        return Tensor::reals(view.name, vec![values.len()], Real::Single, values);
    }
    if view.has_attribute("value_float") {
        return Tensor::reals(view.name, vec![], Real::Single, vec![view.number("value_float", 0.0)?]);
    }
    if view.has_attribute("value_int") {
        return Ok(scalar(Tensor::list([view.integer("value_int", 0)?])));
    }
    Err(none())
}

fn constant_of_shape<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Tensor> {
    let dims = reader.list(view, 0, "dimensions")?;
    let wrong = || view.wrong(format!("a constant of dimensions {dims:?}"));
    let sizes: Option<Vec<usize>> = dims.iter().map(|&dim| usize::try_from(dim).ok()).collect();
    let (sizes, count) =
        sizes.and_then(|sizes| super::tensor::count(&sizes).map(|count| (sizes, count))).ok_or_else(wrong)?;
    let value = match view.tensor("value")? {
        Some(tensor) => Tensor::read(tensor)?,
        None => Tensor::reals(view.name, vec![1], Real::Single, vec![0.0])?,
    };
    let numbers = match &value.numbers {
        Numbers::Reals(values) if values.len() == 1 => Numbers::Reals(vec![values[0]; count]),
        Numbers::Integers(values) if values.len() == 1 => Numbers::Integers(vec![values[0]; count]),
        _ => return Err(view.wrong("its value is not one number")),
    };
    Ok(Tensor { name: String::new(), dims: sizes, element: value.element, numbers })
}

/// start, start + delta, ... before limit.
fn range(view: &View<'_>, given: &[&Tensor]) -> Result<Tensor> {
    if view.opset >= 27 {
        view.integer("stash_type", 1)?;
    }
    let too_long = || view.wrong(format!("it has more than {LIMIT} numbers, or steps by 0"));
    let &[start, limit, delta] = given else { return Err(view.wrong("it takes three numbers")) };
    if given.iter().any(|tensor| tensor.element != start.element || tensor.len() != 1) {
        return Err(view.wrong("its inputs are not three numbers of one type"));
    }
    match (&start.numbers, &limit.numbers, &delta.numbers, start.element) {
        (
            Numbers::Reals(a),
            Numbers::Reals(b),
            Numbers::Reals(d),
            Element::Real(real @ (Real::Single | Real::Double)),
        ) => {
            let count = ((b[0] - a[0]) / d[0]).ceil().max(0.0);
            if d[0] == 0.0 || count > LIMIT as f64 {
                return Err(too_long());
            }
            let values: Vec<f64> = (0..count as usize).map(|at| a[0] + at as f64 * d[0]).collect();
            Tensor::reals(view.name, vec![values.len()], real, values)
        }
        (Numbers::Integers(a), Numbers::Integers(b), Numbers::Integers(d), element) => {
            let (a, b, d) = (a[0], b[0], d[0]);
            if d == 0 {
                return Err(too_long());
            }
            let span = if d > 0 { b - a } else { a - b };
            let count =
                usize::try_from(span.max(0)).ok().map(|span| span.div_ceil(d.unsigned_abs() as usize));
            let count = count.filter(|&count| count <= LIMIT).ok_or_else(too_long)?;
            Ok(Tensor::integers(vec![count], element, (0..count).map(|at| a + at as i128 * d)))
        }
        _ => Err(view.unsupported("it is of a type of 16 bits", "use FLOAT or INT64")),
    }
}

/// (x - zero point) scale, for each tensor or each place of an axis.
fn dequantized(view: &View<'_>, inputs: &[Option<Rc<Tensor>>]) -> Result<Tensor> {
    let (Some(Some(x)), Some(Some(scale))) = (inputs.first(), inputs.get(1)) else {
        return Err(view.wrong("it has no scale"));
    };
    let zero = inputs.get(2).and_then(Option::as_ref);
    let axis = if view.opset >= 13 { view.integer("axis", 1)? } else { 1 };
    if view.opset >= 21 {
        view.only("block_size", 0, "each block has a scale of its own")?;
    }
    if view.opset >= 23 {
        view.only("output_dtype", 0, "it is of the type of the scale")?;
    }
    let Numbers::Integers(numbers) = &x.numbers else {
        return Err(view.wrong("its input is not a tensor of integers"));
    };
    let Element::Real(real) = scale.element else { return Err(view.wrong("its scale is not a number")) };
    let scales = super::reals(scale, view, 1)?;
    let zeros = match zero.map(|zero| (&zero.numbers, zero.element == x.element, zero.dims == scale.dims)) {
        None => vec![0; scales.len()],
        Some((Numbers::Integers(zeros), true, true)) => zeros.clone(),
        Some(_) => return Err(view.wrong("its zero point does not fit its input and its scale")),
    };
    let each = match scale.dims[..] {
        [] => usize::MAX,
        [1] if x.dims.is_empty() || scales.len() == 1 => usize::MAX,
        [count] => {
            let axis = view.axis(axis, x.dims.len())?;
            if x.dims[axis] != count {
                return Err(view.wrong(format!("{count} scales for an axis of {}", x.dims[axis])));
            }
            x.dims[axis + 1..].iter().product()
        }
        _ => return Err(view.unsupported("its scales are not a list", "use one scale, or one per channel")),
    };
    let value = |(at, &x): (usize, &i128)| {
        let place = at / each % scales.len();
        (x - zeros[place]) as f64 * scales[place]
    };
    Tensor::reals(&x.name, x.dims.clone(), real, numbers.iter().enumerate().map(value).collect())
}

/// Sums, means, extremes and products along axes.
fn reduction<'a>(reader: &mut Reader<'a>, view: &View<'a>, x: &Tensor) -> Result<Tensor> {
    let (axes, keep) = operators::reduced_axes(reader, view, x.dims.len())?;
    if axes.is_empty() {
        return Ok(x.clone());
    }
    let to: Vec<usize> =
        (0..x.dims.len()).map(|axis| if axes.contains(&axis) { 1 } else { x.dims[axis] }).collect();
    let place = |at: usize| {
        let (mut rest, mut place, mut stride) = (at, 0, 1);
        for axis in (0..to.len()).rev() {
            let here = rest % x.dims[axis];
            rest /= x.dims[axis];
            place += if axes.contains(&axis) { 0 } else { here * stride };
            stride *= to[axis];
        }
        place
    };
    let count: usize = to.iter().product();
    let each = x.len().checked_div(count).filter(|&each| each > 0);
    let each = each.ok_or_else(|| view.wrong("it reduces nothing"))?;
    let dims = match keep {
        true => to.clone(),
        false => (0..to.len()).filter(|axis| !axes.contains(axis)).map(|axis| to[axis]).collect(),
    };
    match (&x.numbers, x.element) {
        (Numbers::Reals(values), Element::Real(real)) => {
            let mut found: Vec<Option<f64>> = vec![None; count];
            for (at, &value) in values.iter().enumerate() {
                let slot = &mut found[place(at)];
                *slot = Some(match (*slot, view.operator) {
                    (None, _) => value,
                    (Some(before), "ReduceMax") => before.max(value),
                    (Some(before), "ReduceMin") => before.min(value),
                    (Some(before), "ReduceProd") => before * value,
                    (Some(before), _) => before + value,
                });
            }
            let divisor = if view.operator == "ReduceMean" { each as f64 } else { 1.0 };
            Tensor::reals(&x.name, dims, real, found.into_iter().flatten().map(|x| x / divisor).collect())
        }
        (Numbers::Integers(values), element) if view.operator != "ReduceMean" => {
            let mut found: Vec<Option<i128>> = vec![None; count];
            for (at, &value) in values.iter().enumerate() {
                let slot = &mut found[place(at)];
                *slot = Some(match (*slot, view.operator) {
                    (None, _) => value,
                    (Some(before), "ReduceMax") => before.max(value),
                    (Some(before), "ReduceMin") => before.min(value),
                    (Some(before), "ReduceProd") => element.wrap(before * value),
                    (Some(before), _) => element.wrap(before + value),
                });
            }
            Ok(Tensor::integers(dims, element, found.into_iter().flatten()))
        }
        _ => Err(view.unsupported("it takes the mean of integers", "use floating-point numbers")),
    }
}

/// The function of an activation on the numbers of a constant.
fn activated(view: &View<'_>, x: &Tensor) -> Result<Option<Tensor>> {
    let (Numbers::Reals(values), Element::Real(real)) = (&x.numbers, x.element) else { return Ok(None) };
    let Some(function) = named(view)? else { return Ok(None) };
    let values = values.iter().map(|&x| function.at(x)).collect();
    Tensor::reals(&x.name, x.dims.clone(), real, values).map(Some)
}
