//! Arrays of cells and of numbers.

use crate::error::{Error, Result};
use crate::thread::compute_alone;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BinaryArray, BinaryViewArray, LargeBinaryArray};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type};
use he_any::{Engine, Kind, Number, Value};

/// The bytes of an array of cells, over any of the storages that engines give them.
pub enum Cells<'a> {
    /// Lengths of 32 bits.
    Binary(&'a BinaryArray),
    /// Lengths of 64 bits.
    Large(&'a LargeBinaryArray),
    /// Views, which are filtered and taken without copies.
    View(&'a BinaryViewArray),
}

impl<'a> Cells<'a> {
    /// The cells of an array.
    ///
    /// # Errors
    /// It holds no bytes.
    pub fn of(array: &'a dyn Array) -> Result<Self> {
        Ok(match array.data_type() {
            DataType::Binary => Self::Binary(array.as_binary()),
            DataType::LargeBinary => Self::Large(array.as_binary()),
            DataType::BinaryView => Self::View(array.as_binary_view()),
            other => return Err(Error::Table(format!("{other}, where ciphertexts are expected"))),
        })
    }

    /// The number of cells.
    pub fn len(&self) -> usize {
        match self {
            Self::Binary(array) => array.len(),
            Self::Large(array) => array.len(),
            Self::View(array) => array.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of a row, `None` for NULL.
    pub fn get(&self, row: usize) -> Option<&'a [u8]> {
        match self {
            Self::Binary(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Large(array) => array.is_valid(row).then(|| array.value(row)),
            Self::View(array) => array.is_valid(row).then(|| array.value(row)),
        }
    }
}

/// A cell from its bytes, which are checked. A thread computes alone on the cells that it decodes.
///
/// # Errors
/// They are damaged, or those of something else.
pub fn decode(engine: &Engine, kind: Kind, bytes: &[u8]) -> Result<Value> {
    compute_alone();
    let what = || "a damaged cell".to_owned();
    engine.decode(kind, bytes).map_err(|source| Error::Cell { what: what(), source })
}

/// The numbers of an array, `None` for NULL: real ones if they have decimals and may have them.
///
/// # Errors
/// A number does not fit 64 bits with a sign.
pub fn numbers(array: &ArrayRef, reals: bool) -> Result<Vec<Option<Number>>> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    if reals && array.data_type().is_floating() {
        let array = cast_with_options(array, &DataType::Float64, &options)?;
        return Ok(array.as_primitive::<Float64Type>().iter().map(|x| x.map(Number::Real)).collect());
    }
    let array = cast_with_options(array, &DataType::Int64, &options)?;
    Ok(array.as_primitive::<Int64Type>().iter().map(|x| x.map(Number::Integer)).collect())
}
