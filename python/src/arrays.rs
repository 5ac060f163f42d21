//! NumPy arrays in and out.

use he_any::arrays::Values;
use he_core::num_complex::Complex64;
use numpy::{
    Element, PyArray1, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyBytes;

/// An array in C order, without a copy if it is one already.
pub enum Array<'py> {
    Real(PyReadonlyArrayDyn<'py, f64>),
    Complex(PyReadonlyArrayDyn<'py, Complex64>),
    Signed(PyReadonlyArrayDyn<'py, i64>),
    Unsigned(PyReadonlyArrayDyn<'py, u64>),
}

/// The values that a caller takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Numbers {
    /// Real numbers, which integers are, and complex ones.
    Approximate,
    /// Real numbers alone.
    Real,
    /// Integers alone.
    Exact,
}

fn numpy_function<'py>(
    py: Python<'py>,
    cell: &'static PyOnceLock<Py<PyAny>>,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let function =
        cell.get_or_try_init(py, || Ok::<_, PyErr>(py.import("numpy")?.getattr(name)?.unbind()))?;
    Ok(function.bind(py).clone())
}

impl<'py> Array<'py> {
    /// An array of anything that NumPy makes one of; `what` is its name in errors.
    pub fn new(value: &Bound<'py, PyAny>, numbers: Numbers, what: &str) -> PyResult<Self> {
        static ASARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        static CONTIGUOUS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let py = value.py();
        let array = match value.cast::<PyUntypedArray>() {
            Ok(array) => array.clone(),
            Err(_) => {
                numpy_function(py, &ASARRAY, "asarray")?.call1((value,))?.cast_into::<PyUntypedArray>()?
            }
        };
        let (dtype, kind) = (array.dtype(), array.dtype().kind());
        let wanted = match (numbers, kind) {
            (Numbers::Approximate, b'c') => "complex128",
            (Numbers::Approximate | Numbers::Real, b'f' | b'i' | b'u' | b'b') => "float64",
            (Numbers::Exact, b'i' | b'b') => "int64",
            (Numbers::Exact, b'u') => "uint64",
            _ => {
                let expected = match numbers {
                    Numbers::Approximate => "real or complex numbers",
                    Numbers::Real => "real numbers",
                    Numbers::Exact => "integers",
                };
                let found = format!("{what}: an array of dtype {dtype}, where {expected} are expected");
                return Err(PyTypeError::new_err(found));
            }
        };
        let is_number = array.ndim() == 0;
        let array = numpy_function(py, &CONTIGUOUS, "ascontiguousarray")?.call1((array, wanted))?;
        // NumPy makes a vector of one number of a number.
        let array = if is_number { array.call_method1("reshape", ((),))? } else { array };
        fn borrowed<'py, T: Element>(array: &Bound<'py, PyAny>) -> PyResult<PyReadonlyArrayDyn<'py, T>> {
            let array = array.cast::<PyArrayDyn<T>>()?;
            array.try_readonly().map_err(|error| PyValueError::new_err(error.to_string()))
        }
        Ok(match wanted {
            "complex128" => Self::Complex(borrowed(&array)?),
            "float64" => Self::Real(borrowed(&array)?),
            "int64" => Self::Signed(borrowed(&array)?),
            _ => Self::Unsigned(borrowed(&array)?),
        })
    }

    pub fn shape(&self) -> &[usize] {
        match self {
            Self::Real(array) => array.shape(),
            Self::Complex(array) => array.shape(),
            Self::Signed(array) => array.shape(),
            Self::Unsigned(array) => array.shape(),
        }
    }

    pub fn values(&self) -> PyResult<Values<'_>> {
        fn text(error: impl std::fmt::Display) -> PyErr {
            PyValueError::new_err(error.to_string())
        }
        Ok(match self {
            Self::Real(array) => Values::Real(array.as_slice().map_err(text)?),
            Self::Complex(array) => Values::Complex(array.as_slice().map_err(text)?),
            Self::Signed(array) => Values::Signed(array.as_slice().map_err(text)?),
            Self::Unsigned(array) => Values::Unsigned(array.as_slice().map_err(text)?),
        })
    }
}

/// An array of this shape over memory that is handed over.
pub fn array_of<'py, T: Element>(
    py: Python<'py>,
    values: Vec<T>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    let array = PyArray1::from_vec(py, values);
    if let [_] = shape {
        return Ok(array.into_any());
    }
    Ok(array.reshape(shape.to_vec())?.into_any())
}

/// Bytes of anything with a buffer: those of `bytes` are read where they lie.
pub struct Bytes<'py>(Bound<'py, PyBytes>);

impl<'py> Bytes<'py> {
    pub fn new(value: &Bound<'py, PyAny>, what: &str) -> PyResult<Self> {
        if let Ok(bytes) = value.cast::<PyBytes>() {
            return Ok(Self(bytes.clone()));
        }
        // The stable interface of Python 3.10 has no buffers.
        let view = value.py().import("builtins")?.getattr("memoryview")?.call1((value,)).map_err(|_| {
            let found = value.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
            PyTypeError::new_err(format!("{what}: {found}, where bytes are expected"))
        })?;
        Ok(Self(view.call_method0("tobytes")?.cast_into()?))
    }

    pub fn as_slice(&self) -> &[u8] {
        self.0.as_bytes()
    }
}
/// Real numbers of one or two dimensions as rows.
pub fn matrix(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<Vec<f64>>> {
    let array = Array::new(value, Numbers::Real, what)?;
    let (&[_, columns] | &[columns]) = array.shape() else {
        let found = format!("{what}: {} dimensions, where one or two are expected", array.shape().len());
        return Err(PyValueError::new_err(found));
    };
    match array.values()? {
        Values::Real(values) if columns > 0 => Ok(values.chunks(columns).map(<[f64]>::to_vec).collect()),
        _ => Err(PyValueError::new_err(format!("{what}: an empty array"))),
    }
}
