//! Sums, products and maxima of values and constants, which repeat along axes of length one.

use super::super::arrangement::{broadcast, expansion};
use super::super::element::Real;
use super::super::node::View;
use super::super::tensor::Tensor;
use super::super::{Reader, Value, after, maximum, reals};
use super::activations;
use super::shapes::gathered;
use crate::error::Result;
use crate::function::{Function, Named};
use crate::graph::{Affine, Op};
use std::rc::Rc;

/// An operation on two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    Sum,
    Difference,
    Product,
    Quotient,
}

/// The dimensions of the second input of an operator by which it meets the first one. Before opset
/// 7, one that is smaller begins at an axis, if the node says that it may be smaller at all.
///
/// # Errors
/// The dimensions do not fit.
pub fn aligned(view: &View<'_>, a: &[usize], b: &[usize]) -> Result<Vec<usize>> {
    if view.opset >= 7 {
        return Ok(b.to_vec());
    }
    let smaller = view.flag("broadcast", false)?;
    let axis = match view.has_attribute("axis") {
        true => Some(view.axis(view.integer("axis", 0)?, a.len())?),
        false => None,
    };
    let wrong =
        || view.wrong(format!("inputs of dimensions {a:?} and {b:?} do not meet in opset {}", view.opset));
    if !smaller {
        return if a == b { Ok(b.to_vec()) } else { Err(wrong()) };
    }
    if b.iter().product::<usize>() == 1 {
        return Ok(vec![]);
    }
    let start = axis.or_else(|| a.len().checked_sub(b.len())).ok_or_else(wrong)?;
    let end = start + b.len();
    match a.get(start..end) == Some(b) {
        true => Ok([b, &vec![1; a.len() - end]].concat()),
        false => Err(wrong()),
    }
}

/// A sum, difference, product or quotient.
pub fn binary<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Value> {
    let (a, b) = (reader.value(view, 0)?, reader.value(view, 1)?);
    let of = match view.operator {
        "Add" => Of::Sum,
        "Sub" => Of::Difference,
        "Mul" => Of::Product,
        _ => Of::Quotient,
    };
    let (first, second) = (reader.dims(&a), reader.dims(&b));
    let dims = aligned(view, &first, &second)?;
    let b = match b {
        Value::Constant(tensor) => Value::constant(tensor.reshaped(dims)),
        other if dims == second => other,
        _ => {
            let hint = "convert the model: onnx.version_converter.convert_version(model, 21)";
            return Err(view.unsupported("a value begins at an axis of another one", hint));
        }
    };
    combined(reader, view, of, a, b)
}

pub fn combined<'a>(reader: &mut Reader<'a>, view: &View<'a>, of: Of, a: Value, b: Value) -> Result<Value> {
    let id = match (a, b) {
        (Value::Decided(_, decision), _) | (_, Value::Decided(_, decision)) => {
            return Err(after(view, decision));
        }
        (Value::Rows(x), _) | (_, Value::Rows(x)) => {
            return Err(super::of_rows(view, reader.shape(x)));
        }
        (Value::Node(x), Value::Constant(c)) => with_constant(reader, view, of, x, &c, false)?,
        (Value::Constant(c), Value::Node(x)) => with_constant(reader, view, of, x, &c, true)?,
        (Value::Node(a), Value::Node(b)) => of_two(reader, view, of, a, b)?,
        (Value::Constant(_), Value::Constant(_)) => return Err(view.wrong("it has only constants")),
    };
    Ok(Value::Node(id))
}

/// A value and dimensions, both repeated to the dimensions that they have together; the second one
/// keeps the batch out.
fn expanded<'a>(
    reader: &mut Reader<'a>,
    view: &View<'a>,
    x: usize,
    dims: &[usize],
) -> Result<(usize, Vec<usize>)> {
    let full = reader.dims(&Value::Node(x));
    let together = broadcast(&full, dims);
    let together = together.filter(|to| to.len() == full.len() && to[0] == full[0]);
    // A constant that differs among the examples would have one of them in dimension 0.
    let within = dims.len() < full.len() || dims[0] == 1;
    let Some(to) = together.filter(|_| within) else {
        return Err(view.unsupported(
            format!("a value of {dims:?} does not repeat within the examples of {full:?}"),
            "use constants of fewer dimensions, or with 1 as the dimension of the batch",
        ));
    };
    let to = to[1..].to_vec();
    let from = reader.shape(x).clone();
    let id = gathered(reader, view, x, &expansion(&from, &to), &from, None)?;
    Ok((id, to))
}

/// The numbers of a constant for every element of dimensions without the batch, or one for all.
fn numbers(view: &View<'_>, index: usize, c: &Tensor, to: &[usize]) -> Result<Vec<f64>> {
    let values = reals(c, view, index)?;
    if let &[value] = values {
        return Ok(vec![value]);
    }
    // Dimensions of length one in front do not matter.
    let extra = c.dims.len().saturating_sub(to.len());
    let dims = &c.dims[extra..];
    let places = expansion(dims, to).places(dims);
    Ok(places.into_iter().flatten().map(|place| values[place]).collect())
}

/// A value and a constant.
fn with_constant<'a>(
    reader: &mut Reader<'a>,
    view: &View<'a>,
    of: Of,
    x: usize,
    c: &Tensor,
    first: bool,
) -> Result<usize> {
    if c.len() == 0 {
        return Err(view.wrong("it computes with a constant without elements"));
    }
    let (x, shape) = expanded(reader, view, x, &c.dims)?;
    let numbers = numbers(view, usize::from(!first), c, &shape)?;
    let one = || vec![1.0];
    let (factors, offsets) = match (of, first) {
        (Of::Sum, _) => (one(), numbers),
        (Of::Difference, false) => (one(), numbers.iter().map(|x| -x).collect()),
        (Of::Difference, true) => (vec![-1.0], numbers),
        (Of::Product, _) => (numbers, vec![0.0]),
        (Of::Quotient, false) if numbers.iter().all(|&x| x != 0.0) => {
            (numbers.iter().map(|x| 1.0 / x).collect(), vec![0.0])
        }
        (Of::Quotient, false) => return Err(view.wrong("it divides by 0")),
        (Of::Quotient, true) => {
            let inverse = reciprocal(reader, view, x)?;
            return affine(reader, view, inverse, numbers, vec![0.0]);
        }
    };
    if factors.iter().any(|factor| !factor.is_finite()) {
        return Err(view.wrong("it divides by numbers too close to 0"));
    }
    affine(reader, view, x, factors, offsets)
}

fn affine<'a>(
    reader: &mut Reader<'a>,
    view: &View<'a>,
    x: usize,
    factors: Vec<f64>,
    offsets: Vec<f64>,
) -> Result<usize> {
    let shape = reader.shape(x).clone();
    reader.push(view, Op::Affine(Affine { run: 1, factors, offsets }), vec![x], shape)
}

/// The nodes from which a value comes by functions of single numbers, the nearest first, and the
/// value as a function of each.
fn origins(reader: &Reader<'_>, id: usize) -> Vec<(usize, Function)> {
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

/// Two values, repeated to the dimensions that they have together.
fn both<'a>(reader: &mut Reader<'a>, view: &View<'a>, a: usize, b: usize) -> Result<(usize, usize)> {
    let [first, second] = [a, b].map(|id| reader.shape(id).clone());
    if first == second {
        return Ok((a, b));
    }
    let to = broadcast(&first, &second).filter(|_| first.len() == second.len());
    let Some(to) = to else {
        let why = format!("its inputs have dimensions {first:?} and {second:?} besides the batch");
        return Err(view.unsupported(why, "give both inputs as many dimensions, equal ones or of length 1"));
    };
    let a = gathered(reader, view, a, &expansion(&first, &to), &first, None)?;
    let b = gathered(reader, view, b, &expansion(&second, &to), &second, None)?;
    Ok((a, b))
}

/// 1 / x.
fn reciprocal<'a>(reader: &mut Reader<'a>, view: &View<'a>, x: usize) -> Result<usize> {
    reader.is_transformer = true;
    activations::of(reader, view, x, Function::named(Named::Reciprocal))
}

fn of_two<'a>(reader: &mut Reader<'a>, view: &View<'a>, of: Of, a: usize, b: usize) -> Result<usize> {
    if of == Of::Quotient {
        let inverse = reciprocal(reader, view, b)?;
        return of_two(reader, view, Of::Product, a, inverse);
    }
    let (a, b) = both(reader, view, a, b)?;
    let shape = reader.shape(a).clone();
    // x sigmoid(x), x x and their like are functions of one number.
    let (left, right) = (origins(reader, a), origins(reader, b));
    let minus = Function::affine(-1.0, 0.0);
    let shared = left.iter().find_map(|(origin, f)| {
        let (_, g) = right.iter().find(|(other, _)| other == origin)?;
        let both = match of {
            Of::Product => f.product(g),
            Of::Sum => f.sum(g),
            _ => f.sum(&minus.of(g)),
        };
        Some((*origin, both))
    });
    if let Some((origin, function)) = shared.filter(|(_, function)| function.is_valid()) {
        return activations::of(reader, view, origin, function);
    }
    match of {
        Of::Product => reader.push(view, Op::Product, vec![a, b], shape),
        Of::Sum => reader.push(view, Op::Add, vec![a, b], shape),
        _ => {
            let negated = maximum::negated(reader, view, b)?;
            reader.push(view, Op::Add, vec![a, negated], shape)
        }
    }
}

/// The sum, the mean, the greatest or the smallest of any number of values and constants.
pub fn of_several<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Value> {
    let values = reader.all(view)?;
    if view.opset < 8 {
        let dims: Vec<Vec<usize>> = values.iter().map(|value| reader.dims(value)).collect();
        if dims.iter().any(|other| *other != dims[0]) {
            let why = format!("its inputs have dimensions {dims:?}, which must be equal before opset 8");
            return Err(view.wrong(why));
        }
    }
    let count = values.len();
    let mut values = values.into_iter();
    let Some(mut result) = values.next() else { return Err(view.wrong("it has no inputs")) };
    for value in values {
        result = match view.operator {
            "Max" | "Min" => extreme(reader, view, result, value, view.operator == "Max")?,
            // Constants that come first are folded on the way.
            _ => match (&result, &value) {
                (Value::Constant(a), Value::Constant(b)) => sum_of_constants(view, a, b)?,
                _ => combined(reader, view, Of::Sum, result, value)?,
            },
        };
    }
    match (view.operator, result) {
        ("Mean", Value::Node(id)) => {
            affine(reader, view, id, vec![1.0 / count as f64], vec![0.0]).map(Value::Node)
        }
        (_, Value::Decided(_, decision)) => Err(after(view, decision)),
        (_, result) => Ok(result),
    }
}

fn sum_of_constants(view: &View<'_>, a: &Tensor, b: &Tensor) -> Result<Value> {
    elementwise(view, a, b, |x, y| x + y)
}

/// A function of two constants, element by element, in float64.
fn elementwise(view: &View<'_>, a: &Tensor, b: &Tensor, f: impl Fn(f64, f64) -> f64) -> Result<Value> {
    let fits = broadcast(&a.dims, &b.dims);
    let to =
        fits.ok_or_else(|| view.wrong(format!("constants of {:?} and {:?} do not fit", a.dims, b.dims)))?;
    let taken = |t: &Tensor| t.arranged(&expansion(&t.dims, &to), None).map_err(|why| view.wrong(why));
    let (a, b) = (taken(a)?, taken(b)?);
    let values = reals(&a, view, 0)?.iter().zip(reals(&b, view, 1)?).map(|(&x, &y)| f(x, y)).collect();
    Tensor::reals("", to, Real::Double, values).map(Value::constant)
}

/// The greater or the smaller of two, element by element.
fn extreme<'a>(reader: &mut Reader<'a>, view: &View<'a>, a: Value, b: Value, greater: bool) -> Result<Value> {
    let id = match (a, b) {
        (Value::Decided(_, decision), _) | (_, Value::Decided(_, decision)) => {
            return Err(after(view, decision));
        }
        (Value::Rows(x), _) | (_, Value::Rows(x)) => {
            return Err(super::of_rows(view, reader.shape(x)));
        }
        (Value::Node(a), Value::Node(b)) => {
            let (a, b) = both(reader, view, a, b)?;
            maximum::of_two(reader, view, a, b, greater)?
        }
        (Value::Node(x), Value::Constant(c)) | (Value::Constant(c), Value::Node(x)) => {
            bounded(reader, view, x, &c, greater)?
        }
        (Value::Constant(a), Value::Constant(b)) => {
            let of = if greater { f64::max } else { f64::min };
            return elementwise(view, &a, &b, of);
        }
    };
    Ok(Value::Node(id))
}

/// max(x, c) = c + relu(x - c), or min(x, c) = c - relu(c - x).
fn bounded<'a>(
    reader: &mut Reader<'a>,
    view: &View<'a>,
    x: usize,
    c: &Tensor,
    greater: bool,
) -> Result<usize> {
    if c.len() == 0 {
        return Err(view.wrong("it compares with a constant without elements"));
    }
    let (x, shape) = expanded(reader, view, x, &c.dims)?;
    let bounds = numbers(view, 1, c, &shape)?;
    let sign = if greater { 1.0 } else { -1.0 };
    let minus: Vec<f64> = bounds.iter().map(|c| -sign * c).collect();
    let beyond = match (sign, minus.iter().all(|&c| c == 0.0)) {
        (1.0, true) => x,
        _ => affine(reader, view, x, vec![sign], minus)?,
    };
    let relu = activations::of(reader, view, beyond, Function::named(Named::Relu))?;
    match (sign, bounds.iter().all(|&c| c == 0.0)) {
        (1.0, true) => Ok(relu),
        _ => affine(reader, view, relu, vec![sign], bounds),
    }
}

/// A value within two bounds, of which one or both may be missing.
pub fn clip<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Value> {
    let input = reader.encrypted(view, 0)?;
    let mut bounds = [None; 2];
    for (index, name) in ["min", "max"].into_iter().enumerate() {
        bounds[index] = match view.opset {
            ..11 if view.has_attribute(name) => Some(view.number(name, 0.0)?),
            ..11 => None,
            _ if view.has(index + 1) => {
                let (_, numbers) = reader.reals(view, index + 1, name)?;
                match numbers[..] {
                    [bound] => Some(bound),
                    _ => return Err(view.wrong(format!("its {name} is not one number"))),
                }
            }
            _ => None,
        };
    }
    // The greatest numbers of a type stand for no bound.
    let none = f64::from(f32::MAX);
    let [low, high] = [bounds[0].filter(|&x| x > -none), bounds[1].filter(|&x| x < none)];
    let scalar = |x: f64| Tensor::reals("", vec![], Real::Double, vec![x]);
    let id = match (low, high) {
        (None, None) => input,
        (Some(low), None) => bounded(reader, view, input, &scalar(low)?, true)?,
        (None, Some(high)) => bounded(reader, view, input, &scalar(high)?, false)?,
        (Some(low), Some(high)) if low < high => {
            activations::of(reader, view, input, Function::named(Named::Clip(low, high)))?
        }
        (Some(low), Some(high)) => {
            let why = format!("its bounds {low} and {high} leave one number");
            return Err(view.unsupported(why, "use a lower bound that is less than the upper one"));
        }
    };
    Ok(Value::Node(id))
}

/// The values of one input where a constant condition holds, otherwise of another one.
pub fn choice<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Value> {
    let condition = reader.constant(view, 0, "condition")?;
    let bits = condition.as_bits().ok_or_else(|| view.wrong("its condition is not of type BOOL"))?;
    let masked = |reader: &mut Reader<'a>, index: usize, wanted: bool| -> Result<Value> {
        let value = reader.value(view, index)?;
        let mask = bits.iter().map(|&bit| f64::from(u8::from(bit == wanted))).collect();
        let mask = Tensor::reals("", condition.dims.clone(), Real::Double, mask)?;
        match value {
            Value::Constant(c) => elementwise(view, &mask, &c, |bit, x| bit * x),
            value => combined(reader, view, Of::Product, value, Value::constant(mask)),
        }
    };
    let a = masked(reader, 1, true)?;
    let b = masked(reader, 2, false)?;
    combined(reader, view, Of::Sum, a, b)
}

/// x where it is positive, otherwise a multiple of it: (1 - slope) relu(x) + slope x.
pub fn rectifier_of_slopes<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Value> {
    let input = reader.encrypted(view, 0)?;
    let slope = reader.constant(view, 1, "slopes")?;
    let numbers = reals(&slope, view, 1)?;
    if let &[slope] = numbers {
        return activations::of(reader, view, input, Function::named(Named::LeakyRelu(slope)))
            .map(Value::Node);
    }
    let shape = reader.shape(input).clone();
    // Before opset 7, a list of slopes belongs to the channels.
    let dims = match (view.opset, &slope.dims[..]) {
        (..7, &[channels]) if channels == shape[0] => [vec![channels], vec![1; shape.len() - 1]].concat(),
        (..7, dims) => {
            return Err(view.wrong(format!("slopes of dimensions {dims:?} in opset {}", view.opset)));
        }
        _ => slope.dims.clone(),
    };
    let fits = broadcast(&reader.dims(&Value::Node(input)), &dims) == Some(reader.dims(&Value::Node(input)));
    if !fits {
        return Err(view.wrong(format!("slopes of dimensions {dims:?} for an input of {shape:?}")));
    }
    let tensor = |values: Vec<f64>| Tensor::reals("", dims.clone(), Real::Double, values).map(Rc::new);
    let slopes = tensor(numbers.to_vec())?;
    let rest = tensor(numbers.iter().map(|slope| 1.0 - slope).collect())?;
    let relu = activations::of(reader, view, input, Function::named(Named::Relu))?;
    let positive = combined(reader, view, Of::Product, Value::Node(relu), Value::Constant(rest))?;
    let all = combined(reader, view, Of::Product, Value::Node(input), Value::Constant(slopes))?;
    combined(reader, view, Of::Sum, positive, all)
}

/// A small power.
pub fn power<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<usize> {
    let input = reader.encrypted(view, 0)?;
    let exponent = reader.constant(view, 1, "exponents")?;
    aligned(view, &reader.dims(&Value::Node(input)), &exponent.dims)?;
    let fits = exponent.dims.len() <= reader.dims(&Value::Node(input)).len();
    let number = exponent.cast(super::super::element::Element::Real(Real::Double)).ok();
    let number = number.as_ref().and_then(Tensor::as_reals).filter(|_| fits);
    match number {
        Some(&[exponent]) if (1.0..=16.0).contains(&exponent) && exponent.fract() == 0.0 => {
            let x = Function::x();
            let power = (1..exponent as usize).fold(x.clone(), |power, _| power.product(&x));
            activations::of(reader, view, input, power)
        }
        Some(&[0.5]) => activations::of(reader, view, input, Function::named(Named::Sqrt)),
        _ => Err(view.unsupported(
            "its exponent is not one integer from 1 to 16, or 0.5",
            "use such an exponent, or products",
        )),
    }
}

/// A value plus a multiple of an input, which repeats to its dimensions.
pub fn plus_multiple<'a>(
    reader: &mut Reader<'a>,
    view: &View<'a>,
    x: usize,
    index: usize,
    factor: f64,
) -> Result<Value> {
    let other = reader.encrypted(view, index)?;
    let scaled = match factor {
        1.0 => other,
        _ => affine(reader, view, other, vec![factor], vec![0.0])?,
    };
    let (shape, from) = (reader.shape(x).clone(), reader.shape(scaled).clone());
    match broadcast(&shape, &from) == Some(shape.clone()) && shape.len() == from.len() {
        true => combined(reader, view, Of::Sum, Value::Node(x), Value::Node(scaled)),
        false => Err(view.wrong(format!("a value of {from:?} does not repeat to {shape:?}"))),
    }
}
