//! What depends on constants alone, above all the dimensions that exporters compute for reshapes.

use super::node::View;
use super::tensor::Tensor;
use super::{Reader, Value};
use crate::error::Result;

/// The most elements that are computed here.
const LIMIT: usize = 1 << 24;

/// The value of a node that depends on constants alone; `None` for all others.
pub fn fold(reader: &Reader, view: &View<'_>) -> Result<Option<Tensor>> {
    match view.operator {
        "Constant" => return constant(view).map(Some),
        "Shape" => {
            if let Value::Node(id) = reader.value(view, 0)? {
                let shape = reader.shape(*id).iter().map(|&dim| dim as f64);
                return Ok(Some(Tensor::list(std::iter::once(reader.batch as f64).chain(shape))));
            }
        }
        _ => {}
    }
    let mut inputs = Vec::new();
    for index in 0..view.inputs() {
        match view.has(index).then(|| reader.value(view, index)).transpose()? {
            Some(Value::Constant(tensor)) => inputs.push(tensor),
            Some(Value::Node(_)) => return Ok(None),
            None => {}
        }
    }
    let Some(first) = inputs.first() else { return Ok(None) };
    let second = inputs.get(1).copied();
    let folded = match (view.operator, second) {
        ("Identity" | "Cast" | "Dropout", _) => (*first).clone(),
        ("Shape", _) => Tensor::list(first.dims.iter().map(|&dim| dim as f64)),
        // Lists of dimensions and numbers: all axes that come and go have length one.
        ("Unsqueeze" | "Squeeze", _) if first.values.len() <= 1 => {
            let dims = if view.operator == "Squeeze" { vec![] } else { vec![1] };
            Tensor { dims, values: first.values.clone() }
        }
        ("Concat", _) if inputs.iter().all(|input| input.dims.len() == 1) => {
            Tensor::list(inputs.iter().flat_map(|input| input.values.iter().copied()))
        }
        ("Gather", Some(indices)) if first.dims.len() == 1 => gather(view, first, indices)?,
        ("Slice", Some(starts)) if first.dims.len() == 1 => {
            let ends = inputs.get(2).copied().unwrap_or(starts);
            let length = first.values.len() as f64;
            let clamp = |x: f64| if x < 0.0 { x + length } else { x }.clamp(0.0, length) as usize;
            let at = |tensor: &Tensor| tensor.values.first().map_or(0, |&x| clamp(x));
            let (start, end) = (at(starts), at(ends));
            Tensor::list(first.values.get(start..end.max(start)).unwrap_or_default().iter().copied())
        }
        ("Reshape", Some(to)) => reshape(view, first, to)?,
        ("Transpose", _) if first.dims.len() == 2 => transpose(first),
        ("Sqrt", _) => map(first, f64::sqrt),
        ("Neg", _) => map(first, |x| -x),
        ("Add", Some(b)) => zip(view, first, b, |x, y| x + y)?,
        ("Sub", Some(b)) => zip(view, first, b, |x, y| x - y)?,
        ("Mul", Some(b)) => zip(view, first, b, |x, y| x * y)?,
        ("Div", Some(b)) => zip(view, first, b, |x, y| x / y)?,
        _ => {
            let why = "it is computed of constants in a way that is not supported";
            return Err(view.unsupported(why, "let the exporter fold constants"));
        }
    };
    match folded.values.iter().all(|value| value.is_finite()) {
        true => Ok(Some(folded)),
        false => Err(view.wrong("its constants give no finite number")),
    }
}

fn constant(view: &View<'_>) -> Result<Tensor> {
    if let Some(tensor) = view.tensor("value") {
        return Tensor::read(tensor);
    }
    if let Some(values) = view.integers("value_ints") {
        return Ok(Tensor::list(values.iter().map(|&x| x as f64)));
    }
    if let Some(values) = view.numbers("value_floats") {
        return Ok(Tensor::list(values.iter().map(|&x| x.into())));
    }
    let scalar = match view.number("value_float", f64::NAN)? {
        value if value.is_nan() => view.integer("value_int", i64::MIN) as f64,
        value => value,
    };
    match scalar == i64::MIN as f64 {
        true => Err(view.unsupported("its value is not numeric", "use constants of numbers")),
        false => Ok(Tensor { dims: Vec::new(), values: vec![scalar] }),
    }
}

fn map(tensor: &Tensor, f: impl Fn(f64) -> f64) -> Tensor {
    Tensor { dims: tensor.dims.clone(), values: tensor.values.iter().map(|&x| f(x)).collect() }
}

fn gather(view: &View<'_>, list: &Tensor, indices: &Tensor) -> Result<Tensor> {
    let at = |&index: &f64| {
        let index = if index < 0.0 { index + list.values.len() as f64 } else { index };
        list.values.get(index as usize).copied()
    };
    let values: Option<Vec<f64>> = indices.values.iter().map(at).collect();
    let values = values.ok_or_else(|| view.wrong("an index is beyond the list"))?;
    Ok(Tensor { dims: indices.dims.clone(), values })
}

fn reshape(view: &View<'_>, tensor: &Tensor, to: &Tensor) -> Result<Tensor> {
    let to = to.integers().ok_or_else(|| view.wrong("its dimensions are not integers"))?;
    let dims = super::operators::reshaped(&tensor.dims, &to);
    let dims = dims.ok_or_else(|| view.wrong(format!("{:?} cannot become {to:?}", tensor.dims)))?;
    Ok(Tensor { dims, values: tensor.values.clone() })
}

fn transpose(tensor: &Tensor) -> Tensor {
    let (rows, columns) = (tensor.dims[0], tensor.dims[1]);
    let places = (0..columns).flat_map(|j| (0..rows).map(move |i| i * columns + j));
    Tensor { dims: vec![columns, rows], values: places.map(|place| tensor.values[place]).collect() }
}

/// Element by element, where the smaller one repeats along leading axes or is one number.
fn zip(view: &View<'_>, a: &Tensor, b: &Tensor, f: impl Fn(f64, f64) -> f64) -> Result<Tensor> {
    let larger = if a.values.len() >= b.values.len() { a } else { b };
    let fits = |x: &Tensor| x.values.len() == 1 || larger.dims.ends_with(&x.dims);
    let count = larger.values.len();
    if !fits(a) || !fits(b) || count > LIMIT || a.values.is_empty() || b.values.is_empty() {
        return Err(view.wrong(format!("constants of dimensions {:?} and {:?}", a.dims, b.dims)));
    }
    let at = |x: &Tensor, i: usize| x.values[i % x.values.len()];
    let values = (0..count).map(|i| f(at(a, i), at(b, i))).collect();
    Ok(Tensor { dims: larger.dims.clone(), values })
}
