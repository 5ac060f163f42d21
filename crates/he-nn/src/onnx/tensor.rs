//! Constants of a model, which keep their type.

use super::arrangement::Arrangement;
use super::element::{Element, Real};
use super::external;
use crate::error::{Error, Result};
use crate::graph::MAX_ELEMENTS;
use half::{bf16, f16};
use rten_onnx::onnx::{DataType, TensorProto};

/// The most elements of a constant.
pub const LIMIT: usize = 4 * MAX_ELEMENTS;

/// A constant: its dimensions, its type and its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// The name that errors call it by.
    pub name: String,
    pub dims: Vec<usize>,
    pub element: Element,
    pub numbers: Numbers,
}

/// The numbers of a constant, which all are of its type.
#[derive(Clone, Debug, PartialEq)]
pub enum Numbers {
    Reals(Vec<f64>),
    /// Integers and truth values.
    Integers(Vec<i128>),
}

impl Numbers {
    pub fn len(&self) -> usize {
        match self {
            Self::Reals(values) => values.len(),
            Self::Integers(values) => values.len(),
        }
    }

    /// The numbers at these places, and `fill`, its only number, where there is none.
    fn taken(&self, places: &[Option<usize>], fill: Option<&Self>) -> Self {
        fn take<T: Copy>(from: &[T], places: &[Option<usize>], fill: T) -> Vec<T> {
            places.iter().map(|place| place.map_or(fill, |place| from[place])).collect()
        }
        match (self, fill) {
            (Self::Reals(from), Some(Self::Reals(fill))) => Self::Reals(take(from, places, fill[0])),
            (Self::Integers(from), Some(Self::Integers(fill))) => Self::Integers(take(from, places, fill[0])),
            (Self::Reals(from), _) => Self::Reals(take(from, places, 0.0)),
            (Self::Integers(from), _) => Self::Integers(take(from, places, 0)),
        }
    }
}

/// The product of dimensions, if a constant may have so many elements, and so many along each axis.
pub fn count(dims: &[usize]) -> Option<usize> {
    let small = |product: usize, &dim: &usize| product.checked_mul(dim).filter(|_| dim <= LIMIT);
    let product = dims.iter().try_fold(1usize, small);
    product.filter(|&count| count <= LIMIT)
}

impl Tensor {
    /// A list of integers, of ONNX's type for dimensions.
    pub fn list(values: impl IntoIterator<Item = i64>) -> Self {
        let values: Vec<i128> = values.into_iter().map(i128::from).collect();
        let dims = vec![values.len()];
        Self { name: String::new(), dims, element: Element::INT64, numbers: Numbers::Integers(values) }
    }

    /// A tensor of numbers of a floating-point type, which are rounded to it.
    ///
    /// # Errors
    /// [`Error::Weight`] for a number that is not finite.
    pub fn reals(name: &str, dims: Vec<usize>, real: Real, values: Vec<f64>) -> Result<Self> {
        let values: Vec<f64> = values.into_iter().map(|x| real.round(x)).collect();
        match values.iter().position(|value| !value.is_finite()) {
            Some(at) => Err(Error::Weight { tensor: name.to_owned(), at, value: values[at] }),
            None => {
                let numbers = Numbers::Reals(values);
                Ok(Self { name: name.to_owned(), dims, element: Element::Real(real), numbers })
            }
        }
    }

    /// A tensor of integers, which lose the bits that the type has no room for.
    pub fn integers(dims: Vec<usize>, element: Element, values: impl Iterator<Item = i128>) -> Self {
        let numbers = Numbers::Integers(values.map(|x| element.wrap(x)).collect());
        Self { name: String::new(), dims, element, numbers }
    }

    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Its numbers, if they are of a floating-point type.
    pub fn as_reals(&self) -> Option<&[f64]> {
        match &self.numbers {
            Numbers::Reals(values) => Some(values),
            Numbers::Integers(_) => None,
        }
    }

    /// Its numbers, if they are integers of 32 or 64 bits with a sign, as dimensions and axes are.
    pub fn as_list(&self) -> Option<Vec<i64>> {
        match (&self.numbers, self.element) {
            (Numbers::Integers(values), Element::Signed(32 | 64)) => {
                values.iter().map(|&x| i64::try_from(x).ok()).collect()
            }
            _ => None,
        }
    }

    /// The numbers of this tensor in other dimensions.
    pub fn reshaped(&self, dims: Vec<usize>) -> Self {
        Self { dims, ..self.clone() }
    }

    /// The elements of this tensor in other places.
    ///
    /// # Errors
    /// It becomes too large.
    pub fn arranged(&self, arrangement: &Arrangement, fill: Option<&Self>) -> Result<Self, String> {
        let dims = arrangement.dims(&self.dims);
        count(&dims).ok_or_else(|| format!("a constant of dimensions {dims:?} is too large"))?;
        let numbers = self.numbers.taken(&arrangement.places(&self.dims), fill.map(|fill| &fill.numbers));
        Ok(Self { name: self.name.clone(), dims, element: self.element, numbers })
    }

    /// This tensor in another type, by the rules of Cast.
    ///
    /// # Errors
    /// A number has no counterpart in the type, or ONNX leaves open what becomes of it.
    pub fn cast(&self, to: Element) -> Result<Self, String> {
        let outside = |x: String| format!("{x} is not a number of type {}", to.name());
        let numbers = match (&self.numbers, to) {
            (Numbers::Reals(values), Element::Real(real)) => {
                let rounded: Vec<f64> = values.iter().map(|&x| real.round(x)).collect();
                if let Some(at) = rounded.iter().position(|x| !x.is_finite()) {
                    return Err(outside(values[at].to_string()));
                }
                Numbers::Reals(rounded)
            }
            (Numbers::Reals(values), Element::Bool) => {
                Numbers::Integers(values.iter().map(|&x| i128::from(x != 0.0)).collect())
            }
            (Numbers::Reals(values), to) => {
                let whole = |&x: &f64| {
                    let whole = x.trunc() as i128;
                    if to.holds(whole) { Ok(whole) } else { Err(outside(x.to_string())) }
                };
                Numbers::Integers(values.iter().map(whole).collect::<Result<_, _>>()?)
            }
            (Numbers::Integers(values), Element::Real(real)) => {
                let rounded: Vec<f64> = values.iter().map(|&x| real.round(x as f64)).collect();
                if let Some(at) = rounded.iter().position(|x| !x.is_finite()) {
                    return Err(outside(values[at].to_string()));
                }
                Numbers::Reals(rounded)
            }
            (Numbers::Integers(values), to) => {
                Numbers::Integers(values.iter().map(|&x| to.wrap(x)).collect())
            }
        };
        Ok(Self { name: self.name.clone(), dims: self.dims.clone(), element: to, numbers })
    }

    /// Reads and checks a constant.
    ///
    /// # Errors
    /// [`Error::ElementType`], [`Error::Weight`]; [`Error::Model`] for one that contradicts itself
    /// or lies in another file.
    pub fn read(proto: &TensorProto) -> Result<Self> {
        let name = proto.name.clone().unwrap_or_default();
        let wrong = |why: String| {
            let hint = "export the model again: `onnx.checker.check_model` finds what is wrong with it";
            Error::Model { why, hint }
        };
        let dims: Option<Vec<usize>> = proto.dims.iter().map(|&dim| usize::try_from(dim).ok()).collect();
        let Some((dims, count)) = dims.and_then(|dims| count(&dims).map(|count| (dims, count))) else {
            return Err(wrong(format!("has a constant {name:?} of impossible dimensions {:?}", proto.dims)));
        };
        if external::is_external(proto) {
            return Err(external::refused(proto));
        }
        let kind = proto.data_type.unwrap_or(DataType(0));
        let Some(element) = Element::of(kind) else {
            let found = kind.name().map_or_else(|| format!("number {}", kind.0), str::to_owned);
            return Err(Error::ElementType { tensor: name, found });
        };
        let lists = [
            proto.float_data.len(),
            proto.int32_data.len(),
            proto.int64_data.len(),
            proto.double_data.len(),
            proto.raw_data.as_ref().map_or(0, |raw| raw.borrow().len()),
        ];
        if lists.iter().filter(|&&length| length > 0).count() > 1 {
            return Err(wrong(format!("states the numbers of its constant {name:?} twice")));
        }
        let numbers = match &proto.raw_data {
            Some(raw) if !raw.borrow().is_empty() => from_bytes(&raw.borrow(), element),
            _ => from_lists(proto, element),
        };
        let Some(numbers) = numbers.filter(|numbers| numbers.len() == count) else {
            return Err(wrong(format!(
                "has other numbers in its constant {name:?} than {count} of its type"
            )));
        };
        match numbers {
            Numbers::Reals(values) => match element {
                Element::Real(real) => Self::reals(&name, dims, real, values),
                _ => Err(wrong(format!("has a constant {name:?} of two types"))),
            },
            numbers => Ok(Self { name, dims, element, numbers }),
        }
    }
}

/// The numbers in fields for types of their own; `None` for integers beyond their type.
fn from_lists(proto: &TensorProto, element: Element) -> Option<Numbers> {
    let bits = |&x: &i32| u16::try_from(x).ok();
    Some(match element {
        Element::Real(Real::Single) => Numbers::Reals(proto.float_data.iter().map(|&x| x.into()).collect()),
        Element::Real(Real::Double) => Numbers::Reals(proto.double_data.clone()),
        Element::Real(Real::Half) => {
            let bits: Option<Vec<u16>> = proto.int32_data.iter().map(bits).collect();
            Numbers::Reals(bits?.into_iter().map(|bits| f16::from_bits(bits).to_f64()).collect())
        }
        Element::Real(Real::Brain) => {
            let bits: Option<Vec<u16>> = proto.int32_data.iter().map(bits).collect();
            Numbers::Reals(bits?.into_iter().map(|bits| bf16::from_bits(bits).to_f64()).collect())
        }
        Element::Signed(64) => Numbers::Integers(proto.int64_data.iter().map(|&x| x.into()).collect()),
        // Files that have their field are refused.
        Element::Unsigned(32 | 64) => Numbers::Integers(Vec::new()),
        _ => {
            let checked = |&x: &i32| Some(i128::from(x)).filter(|&x| element.holds(x));
            Numbers::Integers(proto.int32_data.iter().map(checked).collect::<Option<_>>()?)
        }
    })
}

/// The numbers in a field of bytes; `None` for a part of a number, and truth values beyond 1.
fn from_bytes(raw: &[u8], element: Element) -> Option<Numbers> {
    fn words<const N: usize, T>(raw: &[u8], number: impl Fn([u8; N]) -> T) -> Option<Vec<T>> {
        let (words, rest) = raw.as_chunks::<N>();
        rest.is_empty().then(|| words.iter().map(|&word| number(word)).collect())
    }
    Some(match element {
        Element::Real(Real::Half) => Numbers::Reals(words(raw, |w| f16::from_le_bytes(w).to_f64())?),
        Element::Real(Real::Brain) => Numbers::Reals(words(raw, |w| bf16::from_le_bytes(w).to_f64())?),
        Element::Real(Real::Single) => Numbers::Reals(words(raw, |w| f32::from_le_bytes(w).into())?),
        Element::Real(Real::Double) => Numbers::Reals(words(raw, f64::from_le_bytes)?),
        Element::Signed(8) => Numbers::Integers(words(raw, |w| i8::from_le_bytes(w).into())?),
        Element::Signed(16) => Numbers::Integers(words(raw, |w| i16::from_le_bytes(w).into())?),
        Element::Signed(32) => Numbers::Integers(words(raw, |w| i32::from_le_bytes(w).into())?),
        Element::Signed(_) => Numbers::Integers(words(raw, |w| i64::from_le_bytes(w).into())?),
        Element::Unsigned(8) => Numbers::Integers(words(raw, |w| u8::from_le_bytes(w).into())?),
        Element::Unsigned(16) => Numbers::Integers(words(raw, |w| u16::from_le_bytes(w).into())?),
        Element::Unsigned(32) => Numbers::Integers(words(raw, |w| u32::from_le_bytes(w).into())?),
        Element::Unsigned(_) => Numbers::Integers(words(raw, |w| u64::from_le_bytes(w).into())?),
        Element::Bool => {
            let bits = words(raw, |[byte]: [u8; 1]| i128::from(byte))?;
            Numbers::Integers(bits).only_bits()?
        }
    })
}

impl Numbers {
    fn only_bits(self) -> Option<Self> {
        match &self {
            Self::Integers(values) if values.iter().all(|x| (0..=1).contains(x)) => Some(self),
            _ => None,
        }
    }
}

impl Tensor {
    /// Its truth values.
    pub fn as_bits(&self) -> Option<Vec<bool>> {
        match (&self.numbers, self.element) {
            (Numbers::Integers(values), Element::Bool) => Some(values.iter().map(|&x| x != 0).collect()),
            _ => None,
        }
    }

    /// Tensors of one type one behind the other along an axis, to these dimensions.
    ///
    /// # Errors
    /// They are of different types, or too large.
    pub fn concat(tensors: &[&std::rc::Rc<Self>], axis: usize, to: Vec<usize>) -> Result<Self, String> {
        let first = tensors[0];
        if tensors.iter().any(|tensor| tensor.element != first.element) {
            return Err("its inputs are of different types".to_owned());
        }
        count(&to).ok_or_else(|| format!("a constant of dimensions {to:?} is too large"))?;
        let rows: usize = to[..axis].iter().product();
        let mut reals = Vec::new();
        let mut integers = Vec::new();
        for row in 0..rows {
            for tensor in tensors {
                let run: usize = tensor.dims[axis..].iter().product();
                match &tensor.numbers {
                    Numbers::Reals(values) => reals.extend(&values[row * run..(row + 1) * run]),
                    Numbers::Integers(values) => integers.extend(&values[row * run..(row + 1) * run]),
                }
            }
        }
        let numbers =
            if first.element.is_real() { Numbers::Reals(reals) } else { Numbers::Integers(integers) };
        Ok(Self { name: first.name.clone(), dims: to, element: first.element, numbers })
    }
}
