//! Unsigned integers under TFHE: sums, comparisons, minima, maxima and sorting.

use crate::arrays::{Array, Bytes, Numbers, Values, array_of};
use crate::context::{Core, PyContext};
use crate::error::{Fault, Result};
use crate::interrupt;
use crate::keys::PySecretKey;
use crate::params::PyParams;
use crate::run::detached;
use he::Device;
use he_core::num_bigint::BigUint;
use he_core::tfhe::{EncryptedFlags, EncryptedUint, IntegerEvaluator};
use he_files::scheme::engine::rng;
use he_files::tfhe::sort;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyType};
use std::sync::Arc;

type Uint = EncryptedUint<Device>;
type Flags = EncryptedFlags<Device>;

/// Encrypted unsigned integers of one width, a batch of them.
///
/// They are made by ``SecretKey.encrypt_uint`` of a context of ``Params.tfhe()``. Sums and
/// differences are modulo 2^bits. Every operation is exact, and can be followed by any number of
/// others.
#[pyclass(frozen, module = "he", name = "EncryptedUint")]
pub struct PyUint {
    core: Arc<Core>,
    value: Uint,
}

/// Encrypted conditions, a batch of them: the results of comparisons.
#[pyclass(frozen, module = "he", name = "EncryptedBool")]
pub struct PyFlags {
    core: Arc<Core>,
    value: Flags,
}

/// Integers of any width: an array of NumPy's integers, or a list of Python's.
fn integers(values: &Bound<'_, PyAny>) -> PyResult<Vec<BigUint>> {
    let py = values.py();
    if let Ok(list) = values.cast::<PyList>() {
        let mut all = Vec::with_capacity(list.len());
        for value in list.iter() {
            let bits: usize = value.call_method0("bit_length")?.extract()?;
            let bytes = value
                .call_method1("to_bytes", (bits.div_ceil(8), "little"))
                .map_err(|error| PyValueError::new_err(format!("values: {}", error.value(py))))?;
            all.push(BigUint::from_bytes_le(bytes.cast::<PyBytes>()?.as_bytes()));
        }
        return Ok(all);
    }
    let array = Array::new(values, Numbers::Exact, "values")?;
    if array.shape().len() > 1 {
        let found = array.shape().len();
        return Err(PyValueError::new_err(format!("values: {found} dimensions, where one is expected")));
    }
    let negative = |x: i64| PyValueError::new_err(format!("values: {x} is negative"));
    match array.values()? {
        Values::Signed(values) => {
            values.iter().map(|&x| u64::try_from(x).map(BigUint::from).map_err(|_| negative(x))).collect()
        }
        Values::Unsigned(values) => Ok(values.iter().map(|&x| x.into()).collect()),
        _ => Err(PyTypeError::new_err("values: integers are expected")),
    }
}

/// Encrypts integers.
pub fn encrypt_uint(key: &PySecretKey, values: &Bound<'_, PyAny>, bits: usize) -> PyResult<PyUint> {
    let values_of = integers(values)?;
    let core = &key.core;
    let value = core.site.place.run(values.py(), || {
        Ok(key.tfhe()?.encrypt_uint(core.site.device(), &values_of, bits, &mut rng()?)?)
    })?;
    Ok(PyUint { core: Arc::clone(core), value })
}

/// Decrypts integers: into an array of uint64 if they fit, into a list of Python's integers
/// otherwise.
pub fn decrypt_uint<'py>(key: &PySecretKey, x: &PyUint, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
    x.core.site.check_same(&key.core.site, "secret key")?;
    if x.value.bits() <= 64 {
        let values = x.core.site.place.run(py, || Ok(key.tfhe()?.decrypt_u64(&x.value)?))?;
        let count = values.len();
        return array_of(py, values, &[count]);
    }
    let values = x.core.site.place.run(py, || Ok(key.tfhe()?.decrypt_uint(&x.value)?))?;
    let from_bytes = py.import("builtins")?.getattr("int")?.getattr("from_bytes")?;
    let all = PyList::empty(py);
    for value in values {
        all.append(from_bytes.call1((PyBytes::new(py, &value.to_bytes_le()), "little"))?)?;
    }
    Ok(all.into_any())
}

/// Decrypts conditions.
pub fn decrypt_flags<'py>(key: &PySecretKey, x: &PyFlags, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
    x.core.site.check_same(&key.core.site, "secret key")?;
    let flags = x.core.site.place.run(py, || Ok(key.tfhe()?.decrypt_flags(&x.value)?))?;
    let count = flags.len();
    array_of(py, flags, &[count])
}

impl PyUint {
    fn compute<T: Send>(
        &self,
        other: &Bound<'_, PyAny>,
        f: impl FnOnce(&IntegerEvaluator<Device>, &Uint, &Uint) -> he_core::Result<T> + Send,
    ) -> PyResult<T> {
        let py = other.py();
        if let Ok(other) = other.cast::<Self>() {
            let other = other.get();
            self.core.site.check_same(&other.core.site, "right operand")?;
            return self.core.site.place.run(py, || Ok(f(&*self.core.uints()?, &self.value, &other.value)?));
        }
        let one = other.is_instance_of::<pyo3::types::PyInt>();
        let values = if one { PyList::new(py, [other])?.into_any() } else { other.clone() };
        let mut values = integers(&values)?;
        if let (true, [value]) = (one, values.as_slice()) {
            values = vec![value.clone(); self.value.batch()];
        }
        self.core.site.place.run(py, || {
            let uints = self.core.uints()?;
            let constant = uints.constant(&values, self.value.bits())?;
            Ok(f(&uints, &self.value, &constant)?)
        })
    }

    fn with(&self, value: Uint) -> Self {
        Self { core: Arc::clone(&self.core), value }
    }

    fn flags(&self, value: Flags) -> PyFlags {
        PyFlags { core: Arc::clone(&self.core), value }
    }

    fn read(core: &Arc<Core>, bytes: &[u8]) -> Result<Self> {
        let value = EncryptedUint::from_bytes(core.site.tfhe()?, core.site.device(), bytes)?;
        Ok(Self { core: Arc::clone(core), value })
    }
}

#[pymethods]
impl PyUint {
    /// Integers from the bytes of `to_bytes`.
    #[classmethod]
    fn from_bytes(
        _class: &Bound<'_, PyType>,
        context: &PyContext,
        data: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let (core, bytes) = (&context.0, Bytes::new(data, "data")?);
        let bytes = bytes.as_slice();
        core.site.place.run(data.py(), || Self::read(core, bytes))
    }

    /// The ciphertexts as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.core.site.place.run(py, || Ok(self.value.to_bytes(self.core.site.tfhe()?)?))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The identity of the key set, if it is known.
    #[getter]
    fn key_set(&self) -> Option<String> {
        self.value.key_set().map(|id| id.to_string())
    }

    /// The width of each integer in bits.
    #[getter]
    fn bits(&self) -> usize {
        self.value.bits()
    }

    /// The context.
    #[getter]
    fn context(&self) -> PyContext {
        PyContext(Arc::clone(&self.core))
    }

    fn __len__(&self) -> usize {
        self.value.batch()
    }

    fn __add__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.compute(other, |uints, x, y| uints.add(x, y)).map(|value| self.with(value))
    }

    fn __radd__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.__add__(other)
    }

    fn __sub__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.compute(other, |uints, x, y| uints.sub(x, y)).map(|value| self.with(value))
    }

    fn __rsub__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.compute(other, |uints, x, y| uints.sub(y, x)).map(|value| self.with(value))
    }

    fn __lt__(&self, other: &Bound<'_, PyAny>) -> PyResult<PyFlags> {
        self.compute(other, |uints, x, y| uints.lt(x, y)).map(|value| self.flags(value))
    }

    fn __gt__(&self, other: &Bound<'_, PyAny>) -> PyResult<PyFlags> {
        self.compute(other, |uints, x, y| uints.lt(y, x)).map(|value| self.flags(value))
    }

    /// Where the integers are equal.
    fn eq(&self, other: &Bound<'_, PyAny>) -> PyResult<PyFlags> {
        self.compute(other, |uints, x, y| uints.eq(x, y)).map(|value| self.flags(value))
    }

    /// The smaller of two integers, pair by pair.
    fn min(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.compute(other, |uints, x, y| uints.min(x, y)).map(|value| self.with(value))
    }

    /// The greater of two integers, pair by pair.
    fn max(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.compute(other, |uints, x, y| uints.max(x, y)).map(|value| self.with(value))
    }

    /// The integers of the batch in ascending order.
    fn sort(&self, py: Python<'_>) -> PyResult<Self> {
        let value =
            self.core.site.place.run(py, || {
                Ok(sort::ascending(&*self.core.uints()?, &self.value, |_| interrupt::point())?)
            })?;
        Ok(self.with(value))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let params = PyParams(self.core.site.params.clone());
        Ok((py.import("he._he")?.getattr("_uint")?, (params, self.to_bytes(py)?)))
    }

    fn __repr__(&self) -> String {
        format!("<he.EncryptedUint: {} of {} bits>", self.value.batch(), self.value.bits())
    }
}

type Reduced<'py> = (Bound<'py, PyAny>, (PyParams, Bound<'py, PyBytes>));

#[pymethods]
impl PyFlags {
    /// Conditions from the bytes of `to_bytes`.
    #[classmethod]
    fn from_bytes(
        _class: &Bound<'_, PyType>,
        context: &PyContext,
        data: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let (core, bytes) = (&context.0, Bytes::new(data, "data")?);
        let bytes = bytes.as_slice();
        core.site.place.run(data.py(), || {
            let value = EncryptedFlags::from_bytes(core.site.tfhe()?, core.site.device(), bytes)?;
            Ok(Self { core: Arc::clone(core), value })
        })
    }

    /// The ciphertexts as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.core.site.place.run(py, || Ok(self.value.to_bytes(self.core.site.tfhe()?)?))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The identity of the key set, if it is known.
    #[getter]
    fn key_set(&self) -> Option<String> {
        self.value.key_set().map(|id| id.to_string())
    }

    /// The context.
    #[getter]
    fn context(&self) -> PyContext {
        PyContext(Arc::clone(&self.core))
    }

    fn __len__(&self) -> usize {
        self.value.batch()
    }

    /// `x` where the condition holds, and `y` elsewhere.
    fn select(&self, x: &PyUint, y: &PyUint, py: Python<'_>) -> PyResult<PyUint> {
        self.core.site.check_same(&x.core.site, "first operand")?;
        self.core.site.check_same(&y.core.site, "second operand")?;
        let value = self
            .core
            .site
            .place
            .run(py, || Ok(self.core.uints()?.select(&self.value, &x.value, &y.value)?))?;
        Ok(x.with(value))
    }

    fn __bool__(&self) -> PyResult<bool> {
        Err(PyTypeError::new_err("an encrypted condition is not known here; choose by it with select"))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let params = PyParams(self.core.site.params.clone());
        Ok((py.import("he._he")?.getattr("_flags")?, (params, self.to_bytes(py)?)))
    }

    fn __repr__(&self) -> String {
        format!("<he.EncryptedBool: {}>", self.value.batch())
    }
}

/// Integers from their pickled form.
#[pyfunction]
#[pyo3(name = "_uint")]
pub fn unpickled_uint(params: &PyParams, data: &Bound<'_, PyBytes>) -> PyResult<PyUint> {
    let (params, bytes) = (params.0.clone(), data.as_bytes());
    detached(data.py(), || PyUint::read(&Core::for_pickled(params)?, bytes))
}

/// Conditions from their pickled form.
#[pyfunction]
#[pyo3(name = "_flags")]
pub fn unpickled_flags(params: &PyParams, data: &Bound<'_, PyBytes>) -> PyResult<PyFlags> {
    let (params, bytes) = (params.0.clone(), data.as_bytes());
    detached(data.py(), || {
        let core = Core::for_pickled(params)?;
        let value = EncryptedFlags::from_bytes(core.site.tfhe()?, core.site.device(), bytes)?;
        Ok::<_, Fault>(PyFlags { core, value })
    })
}
