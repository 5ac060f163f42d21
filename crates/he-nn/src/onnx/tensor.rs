//! Constants of a model.

use crate::error::{Error, Result};
use crate::graph::MAX_ELEMENTS;
use rten_onnx::onnx::{DataLocation, DataType, TensorProto};

/// A constant: its dimensions and its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    pub dims: Vec<usize>,
    pub values: Vec<f64>,
}

impl Tensor {
    /// A list of integers.
    pub fn list(values: impl IntoIterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.into_iter().collect();
        Self { dims: vec![values.len()], values }
    }

    /// Its numbers as integers, if they are.
    pub fn integers(&self) -> Option<Vec<i64>> {
        let integer = |&x: &f64| (x.fract() == 0.0 && x.abs() < 9e15).then_some(x as i64);
        self.values.iter().map(integer).collect()
    }

    /// Reads and checks a constant.
    pub fn read(proto: &TensorProto) -> Result<Self> {
        let name = proto.name.clone().unwrap_or_default();
        let graph = |why: String| Error::Graph { why };
        let dims: Option<Vec<usize>> = proto.dims.iter().map(|&dim| usize::try_from(dim).ok()).collect();
        let count = dims
            .as_ref()
            .and_then(|dims| dims.iter().try_fold(1usize, |product, &dim| product.checked_mul(dim)));
        let (Some(dims), Some(count)) = (dims, count.filter(|&count| count <= 4 * MAX_ELEMENTS)) else {
            return Err(graph(format!("has a constant {name:?} of impossible size {:?}", proto.dims)));
        };
        if proto.data_location == Some(DataLocation::EXTERNAL) || !proto.external_data.is_empty() {
            return Err(graph(format!("keeps {name:?} in another file; export it into one")));
        }
        let raw = proto.raw_data.as_ref().map(|raw| raw.borrow());
        let raw = raw.as_deref().map(Vec::as_slice).unwrap_or_default();
        let values: Vec<f64> = match proto.data_type.unwrap_or(DataType(0)) {
            DataType::FLOAT if raw.is_empty() => proto.float_data.iter().map(|&x| x.into()).collect(),
            DataType::FLOAT => words(raw).map(|b| f32::from_le_bytes(b).into()).collect(),
            DataType::DOUBLE if raw.is_empty() => proto.double_data.clone(),
            DataType::DOUBLE => words(raw).map(f64::from_le_bytes).collect(),
            DataType::INT64 if raw.is_empty() => proto.int64_data.iter().map(|&x| x as f64).collect(),
            DataType::INT64 => words(raw).map(|b| i64::from_le_bytes(b) as f64).collect(),
            DataType::INT32 | DataType::BOOL if raw.is_empty() => {
                proto.int32_data.iter().map(|&x| x.into()).collect()
            }
            DataType::INT32 => words(raw).map(|b| i32::from_le_bytes(b).into()).collect(),
            DataType::BOOL => raw.iter().map(|&x| x.into()).collect(),
            other => {
                let found = other.name().map_or_else(|| format!("number {}", other.0), str::to_owned);
                return Err(Error::ElementType { tensor: name, found });
            }
        };
        if values.len() != count {
            return Err(graph(format!("has {} numbers in {name:?}, whose size is {count}", values.len())));
        }
        match values.iter().position(|value| !value.is_finite()) {
            Some(at) => Err(Error::Weight { tensor: name, at, value: values[at] }),
            None => Ok(Self { dims, values }),
        }
    }
}

/// Words of so many bytes; a rest is left out, and then missed in the count.
fn words<const N: usize>(raw: &[u8]) -> impl Iterator<Item = [u8; N]> + '_ {
    raw.as_chunks::<N>().0.iter().copied()
}
