//! Constants element by element, which repeat along axes of length one.

use super::super::arrangement::{broadcast, expansion};
use super::super::element::Element;
use super::super::node::View;
use super::super::operators::aligned;
use super::super::tensor::{Numbers, Tensor};
use super::activated;
use crate::error::Result;

/// A function of one constant.
pub fn of_one(view: &View<'_>, given: &[&Tensor]) -> Result<Option<Tensor>> {
    let &[x] = given else { return Ok(None) };
    let dims = x.dims.clone();
    let integers = |values: &[i128], f: fn(i128) -> i128| {
        Ok(Some(Tensor::integers(dims.clone(), x.element, values.iter().map(|&x| f(x)))))
    };
    match (&x.numbers, x.element, view.operator) {
        (Numbers::Integers(values), Element::Bool, "Not") => return integers(values, |x| 1 - x),
        (_, Element::Bool, _) => {}
        (Numbers::Integers(values), _, "Neg") => return integers(values, |x| -x),
        (Numbers::Integers(values), _, "Abs") => return integers(values, i128::abs),
        (Numbers::Integers(values), _, "Sign") => return integers(values, i128::signum),
        (Numbers::Reals(values), Element::Real(real), name) => {
            let f: fn(f64) -> f64 = match name {
                "Floor" => f64::floor,
                "Ceil" => f64::ceil,
                "Round" => f64::round_ties_even,
                "Sign" => |x| if x == 0.0 { 0.0 } else { x.signum() },
                "Tan" => libm::tan,
                _ => return activated(view, x),
            };
            let values = values.iter().map(|&x| f(x)).collect();
            return Tensor::reals(&x.name, dims, real, values).map(Some);
        }
        _ => {}
    }
    Ok(None)
}

/// Two constants in the dimensions that they have together.
fn met(view: &View<'_>, a: &Tensor, b: &Tensor) -> Result<(Tensor, Tensor)> {
    let to = broadcast(&a.dims, &b.dims);
    let to =
        to.ok_or_else(|| view.wrong(format!("constants of {:?} and {:?} do not fit", a.dims, b.dims)))?;
    let taken = |t: &Tensor| t.arranged(&expansion(&t.dims, &to), None).map_err(|why| view.wrong(why));
    Ok((taken(a)?, taken(b)?))
}

const LEGACY: [&str; 11] =
    ["Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less"];
const ALWAYS: [&str; 3] = ["Mod", "GreaterOrEqual", "LessOrEqual"];

/// A function of two constants.
pub fn of_two(view: &View<'_>, given: &[&Tensor]) -> Result<Option<Tensor>> {
    let &[a, b] = given else { return Ok(None) };
    let b = match (LEGACY.contains(&view.operator), ALWAYS.contains(&view.operator)) {
        (true, _) => b.reshaped(aligned(view, &a.dims, &b.dims)?),
        (_, true) => b.clone(),
        _ => return Ok(None),
    };
    // The remainder is that of floor division, or with the sign of the dividend.
    let truncated = view.operator == "Mod" && view.flag("fmod", false)?;
    let base = a.element;
    // An exponent may be of another type.
    let b = match view.operator == "Pow" && base.is_real() {
        true => b.cast(base).map_err(|why| view.wrong(why))?,
        false => b,
    };
    if b.element != base {
        let (a, b) = (base.name(), b.element.name());
        return Err(view.wrong(format!("its inputs are of types {a} and {b}")));
    }
    let (a, b) = met(view, a, &b)?;
    let dims = a.dims.clone();
    let no_number = |a: String, b: String| view.wrong(format!("it has no value for {a} and {b}"));
    match (&a.numbers, &b.numbers, base) {
        (Numbers::Reals(x), Numbers::Reals(y), Element::Real(real)) => {
            let pairs = || x.iter().zip(y);
            if let Some(compare) = comparison::<f64>(view.operator) {
                let bits = pairs().map(|(x, y)| i128::from(compare(x, y)));
                return Ok(Some(Tensor::integers(dims, Element::Bool, bits)));
            }
            let f: fn(f64, f64) -> f64 = match view.operator {
                "Add" => |x, y| x + y,
                "Sub" => |x, y| x - y,
                "Mul" => |x, y| x * y,
                "Div" => |x, y| x / y,
                "Pow" => libm::pow,
                "Mod" if truncated => |x, y| x % y,
                "Mod" if view.opset >= 28 => |x, y| x - (x / y).floor() * y,
                _ => return Err(view.wrong("it does not compute on floating-point numbers")),
            };
            if let Some((x, y)) = pairs().find(|&(&x, &y)| !f(x, y).is_finite()) {
                return Err(no_number(x.to_string(), y.to_string()));
            }
            Tensor::reals(&a.name, dims, real, pairs().map(|(&x, &y)| f(x, y)).collect()).map(Some)
        }
        (Numbers::Integers(x), Numbers::Integers(y), element) => {
            let pairs = || x.iter().zip(y);
            let logical = matches!(view.operator, "And" | "Or" | "Xor" | "Equal");
            if logical != (element == Element::Bool) && view.operator != "Equal" {
                return Err(view.wrong(format!("it does not compute on {}", element.name())));
            }
            if let Some(compare) = comparison::<i128>(view.operator) {
                let bits = pairs().map(|(x, y)| i128::from(compare(x, y)));
                return Ok(Some(Tensor::integers(dims, Element::Bool, bits)));
            }
            let f: fn(Element, i128, i128) -> Option<i128> = match view.operator {
                "Add" => |_, x, y| Some(x + y),
                "Sub" => |_, x, y| Some(x - y),
                "Mul" => |_, x, y| x.checked_mul(y),
                "Div" => |_, x, y| x.checked_div(y),
                "Mod" if truncated => |_, x, y| x.checked_rem(y),
                "Mod" => |_, x, y| Some(((x.checked_rem(y)?) + y) % y),
                "Pow" => |element, x, y| power(element, x, y),
                "And" => |_, x, y| Some(x & y),
                "Or" => |_, x, y| Some(x | y),
                "Xor" => |_, x, y| Some(x ^ y),
                _ => return Ok(None),
            };
            let values: Option<Vec<i128>> = pairs().map(|(&x, &y)| f(element, x, y)).collect();
            match values {
                Some(values) => Ok(Some(Tensor::integers(dims, element, values.into_iter()))),
                None => {
                    let none = pairs().find(|&(&x, &y)| f(element, x, y).is_none());
                    let (x, y) = none.unwrap_or((&0, &0));
                    Err(no_number(x.to_string(), y.to_string()))
                }
            }
        }
        _ => Err(view.wrong("its inputs are of different types")),
    }
}

/// x^y by squaring, without the bits that the type has no room for.
fn power(element: Element, x: i128, y: i128) -> Option<i128> {
    let mut exponent = u64::try_from(y).ok()?;
    let (mut square, mut result) = (x, 1);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = element.wrap(result * square);
        }
        square = element.wrap(square * square);
        exponent >>= 1;
    }
    Some(result)
}

fn comparison<T: PartialOrd>(operator: &str) -> Option<fn(&T, &T) -> bool> {
    Some(match operator {
        "Equal" => |x, y| x == y,
        "Greater" => |x, y| x > y,
        "Less" => |x, y| x < y,
        "GreaterOrEqual" => |x, y| x >= y,
        "LessOrEqual" => |x, y| x <= y,
        _ => return None,
    })
}

/// Sum, Mean, Max and Min of any number of constants.
pub fn of_several(view: &View<'_>, given: &[&Tensor]) -> Result<Tensor> {
    let mut result = given[0].clone();
    if view.opset < 8 && given.iter().any(|tensor| tensor.dims != result.dims) {
        return Err(view.wrong("its inputs have different dimensions, which must be equal before opset 8"));
    }
    for other in &given[1..] {
        if other.element != result.element {
            return Err(view.wrong("its inputs are of different types"));
        }
        let (a, b) = met(view, &result, other)?;
        result = match (&a.numbers, &b.numbers, a.element) {
            (Numbers::Reals(x), Numbers::Reals(y), Element::Real(real)) => {
                let f = match view.operator {
                    "Max" => f64::max,
                    "Min" => f64::min,
                    _ => |x, y| x + y,
                };
                let values = x.iter().zip(y).map(|(&x, &y)| f(x, y)).collect();
                Tensor::reals(&a.name, a.dims.clone(), real, values)?
            }
            (Numbers::Integers(x), Numbers::Integers(y), element) => {
                let f: fn(i128, i128) -> i128 = match view.operator {
                    "Max" => i128::max,
                    "Min" => i128::min,
                    _ => return Err(view.wrong("it does not compute on integers")),
                };
                Tensor::integers(a.dims.clone(), element, x.iter().zip(y).map(|(&x, &y)| f(x, y)))
            }
            _ => return Err(view.wrong("its inputs are of different types")),
        };
    }
    match (view.operator, &result.numbers, result.element) {
        ("Mean", Numbers::Reals(values), Element::Real(real)) => {
            let values = values.iter().map(|x| x / given.len() as f64).collect();
            Tensor::reals(&result.name, result.dims.clone(), real, values)
        }
        _ => Ok(result),
    }
}

/// The elements of one constant where a condition holds, otherwise of another one.
pub fn choice(view: &View<'_>, given: &[&Tensor]) -> Result<Tensor> {
    let &[condition, x, y] = given else { return Err(view.wrong("it takes three inputs")) };
    if x.element != y.element || condition.element != Element::Bool {
        return Err(view.wrong("its condition is not of type BOOL, or its values are of two types"));
    }
    let (x, y) = met(view, x, y)?;
    let (condition, x) = met(view, condition, &x)?;
    let (_, y) = met(view, &condition, &y)?;
    let bits = condition.as_bits().unwrap_or_default();
    let numbers = match (&x.numbers, &y.numbers) {
        (Numbers::Reals(x), Numbers::Reals(y)) => Numbers::Reals(
            bits.iter().zip(x.iter().zip(y)).map(|(&bit, (&x, &y))| if bit { x } else { y }).collect(),
        ),
        (Numbers::Integers(x), Numbers::Integers(y)) => Numbers::Integers(
            bits.iter().zip(x.iter().zip(y)).map(|(&bit, (&x, &y))| if bit { x } else { y }).collect(),
        ),
        _ => return Err(view.wrong("its values are of two types")),
    };
    Ok(Tensor { numbers, ..x })
}
