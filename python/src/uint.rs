//! Integers under TFHE, with a sign and without: the operators of Python's integers, and sorting.

use crate::arrays::{Array, Bytes, Numbers, array_of};
use crate::context::{Core, PyContext};
use crate::error::{Fault, Result};
use crate::index;
use crate::interrupt;
use crate::keys::{PyKeys, PyPublicKey, PySecretKey};
use crate::params::PyParams;
use crate::run::detached;
use he::Device;
use he_any::arrays::Values;
use he_core::num_bigint::{BigInt, BigUint};
use he_core::tfhe::{
    EncryptedFlags, EncryptedInteger, EncryptedUint, IntegerEvaluator, Signed, Signedness, Unsigned,
};
use he_files::scheme::engine::rng;
use he_files::tfhe::keys::Encryptor;
use he_files::tfhe::sort;
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyTypeError, PyValueError, PyZeroDivisionError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyInt as Number, PyList, PyTuple, PyType};
use std::sync::Arc;

type Ints<S> = EncryptedInteger<S, Device>;
type Flags = EncryptedFlags<Device>;
type Evaluator = IntegerEvaluator<Device>;

/// Encrypted unsigned integers of one width, a batch of them.
///
/// They are made by ``encrypt_uint`` of keys of a context of ``Params.tfhe()``. Results are
/// modulo 2^bits. Every operation is exact, and can be followed by any number of others.
#[pyclass(frozen, module = "he", name = "EncryptedUint")]
pub struct PyUint {
    core: Arc<Core>,
    value: Ints<Unsigned>,
}

/// Encrypted integers with a sign, of one width, a batch of them.
///
/// They are made by ``encrypt_int`` of keys of a context of ``Params.tfhe()``. Results are modulo
/// 2^bits, from -2^(bits - 1) on. ``//`` and ``%`` round down, as those of Python's integers.
#[pyclass(frozen, module = "he", name = "EncryptedInt")]
pub struct PyInt {
    core: Arc<Core>,
    value: Ints<Signed>,
}

/// Encrypted conditions, a batch of them: the results of comparisons.
#[pyclass(frozen, module = "he", name = "EncryptedBool")]
pub struct PyFlags {
    core: Arc<Core>,
    value: Flags,
}

/// The differences between integers with a sign and without.
trait Kind: Signedness {
    /// Numbers of this kind, for the evaluator and for encryption.
    type Number: Send + Sync;

    fn numbers(values: Vec<BigInt>) -> PyResult<Vec<Self::Number>>;
    fn constant(ev: &Evaluator, values: &[Self::Number], bits: usize) -> he_core::Result<Ints<Self>>;
    fn encrypt(
        key: Encryptor<'_>,
        device: &Device,
        values: &[Self::Number],
        bits: usize,
    ) -> Result<Ints<Self>>;
    /// The quotient and the remainder by a plain number, both rounded down.
    fn quotient(ev: &Evaluator, x: &Ints<Self>, divisor: &BigInt) -> he_core::Result<Ints<Self>>;
    fn remainder(ev: &Evaluator, x: &Ints<Self>, divisor: &BigInt) -> he_core::Result<Ints<Self>>;
    fn sorted(ev: &Evaluator, x: &Ints<Self>) -> Result<Ints<Self>>;
    /// The magnitudes of a copy.
    fn magnitude(ev: &Evaluator, x: &Ints<Self>) -> he_core::Result<Ints<Unsigned>>;
}

impl Kind for Unsigned {
    type Number = BigUint;

    fn numbers(values: Vec<BigInt>) -> PyResult<Vec<BigUint>> {
        let number = |x: BigInt| {
            BigUint::try_from(x).map_err(|error| {
                PyValueError::new_err(format!("values: {} is negative", error.into_original()))
            })
        };
        values.into_iter().map(number).collect()
    }
    fn constant(ev: &Evaluator, values: &[BigUint], bits: usize) -> he_core::Result<Ints<Self>> {
        ev.constant(values, bits)
    }
    fn encrypt(key: Encryptor<'_>, device: &Device, values: &[BigUint], bits: usize) -> Result<Ints<Self>> {
        Ok(match key {
            Encryptor::Secret(key) => key.encrypt_uint(device, values, bits, &mut rng()?)?,
            Encryptor::Public(key) => key.encrypt_uint(values, bits, &mut rng()?)?.expand(device)?,
        })
    }
    fn quotient(ev: &Evaluator, x: &Ints<Self>, divisor: &BigInt) -> he_core::Result<Ints<Self>> {
        ev.div_plain(x, divisor)
    }
    fn remainder(ev: &Evaluator, x: &Ints<Self>, divisor: &BigInt) -> he_core::Result<Ints<Self>> {
        ev.rem_plain(x, divisor)
    }
    fn sorted(ev: &Evaluator, x: &Ints<Self>) -> Result<Ints<Self>> {
        Ok(sort::ascending(ev, x, |_| interrupt::point())?)
    }
    fn magnitude(_ev: &Evaluator, x: &Ints<Self>) -> he_core::Result<Ints<Unsigned>> {
        x.part(0..x.batch())
    }
}

impl Kind for Signed {
    type Number = BigInt;

    fn numbers(values: Vec<BigInt>) -> PyResult<Vec<BigInt>> {
        Ok(values)
    }
    fn constant(ev: &Evaluator, values: &[BigInt], bits: usize) -> he_core::Result<Ints<Self>> {
        ev.constant_int(values, bits)
    }
    fn encrypt(key: Encryptor<'_>, device: &Device, values: &[BigInt], bits: usize) -> Result<Ints<Self>> {
        Ok(match key {
            Encryptor::Secret(key) => key.encrypt_int(device, values, bits, &mut rng()?)?,
            Encryptor::Public(key) => key.encrypt_int(values, bits, &mut rng()?)?.expand(device)?,
        })
    }
    fn quotient(ev: &Evaluator, x: &Ints<Self>, divisor: &BigInt) -> he_core::Result<Ints<Self>> {
        Ok(ev.div_mod_floor_plain(x, divisor)?.0)
    }
    fn remainder(ev: &Evaluator, x: &Ints<Self>, divisor: &BigInt) -> he_core::Result<Ints<Self>> {
        Ok(ev.div_mod_floor_plain(x, divisor)?.1)
    }
    fn sorted(ev: &Evaluator, x: &Ints<Self>) -> Result<Ints<Self>> {
        // With the sign's bit flipped, they have the order of numbers without a sign.
        let least = ev.constant_int(&vec![-(BigInt::from(1) << (x.bits() - 1)); x.batch()], x.bits())?;
        let sorted = Unsigned::sorted(ev, &ev.xor(x, &least)?.reinterpret())?;
        Ok(ev.xor(&sorted.reinterpret(), &least)?)
    }
    fn magnitude(ev: &Evaluator, x: &Ints<Self>) -> he_core::Result<Ints<Unsigned>> {
        ev.abs(x)
    }
}

/// The exception of an array of NumPy of encrypted integers.
fn no_array() -> PyErr {
    PyTypeError::new_err(
        "encrypted integers do not become an array of NumPy: decrypt them with keys.decrypt_uint or decrypt_int",
    )
}

/// One of Python's integers.
fn number(value: &Bound<'_, PyAny>) -> PyResult<BigInt> {
    // NumPy's integers become Python's; nothing that has a fraction does.
    let value = &value.call_method0("__index__").map_err(|_| {
        let found = value.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
        PyTypeError::new_err(format!(
            "values: {found}, where integers are expected; round or scale them first"
        ))
    })?;
    let bits: usize = value.call_method0("bit_length")?.extract()?;
    let signed = PyDict::new(value.py());
    signed.set_item("signed", true)?;
    let bytes = value.call_method("to_bytes", (bits / 8 + 1, "little"), Some(&signed))?;
    Ok(BigInt::from_signed_bytes_le(bytes.cast::<PyBytes>()?.as_bytes()))
}

/// Integers of any width: an array of NumPy's integers, or a list of Python's.
pub(crate) fn integers(values: &Bound<'_, PyAny>) -> PyResult<Vec<BigInt>> {
    if let Ok(list) = values.cast::<PyList>() {
        return list.iter().map(|value| number(&value)).collect();
    }
    let array = Array::new(values, Numbers::Exact, "values")?;
    if array.shape().len() > 1 {
        let found = array.shape().len();
        return Err(PyValueError::new_err(format!("values: {found} dimensions, where one is expected")));
    }
    match array.values()? {
        Values::Signed(values) => Ok(values.iter().map(|&x| x.into()).collect()),
        Values::Unsigned(values) => Ok(values.iter().map(|&x| x.into()).collect()),
        _ => Err(PyTypeError::new_err("values: integers are expected")),
    }
}

/// Encrypts integers by a key of this context, if it is one of TFHE.
fn encrypt<S: Kind>(
    core: &Core,
    key: Result<Encryptor<'_>>,
    values: &Bound<'_, PyAny>,
    bits: usize,
) -> PyResult<Ints<S>> {
    let (numbers, key) = (S::numbers(integers(values)?)?, key?);
    core.site.place.run(values.py(), || S::encrypt(key, core.site.device(), &numbers, bits))
}

/// Encrypts integers without a sign.
fn encrypt_uint(
    core: &Arc<Core>,
    key: Result<Encryptor<'_>>,
    values: &Bound<'_, PyAny>,
    bits: usize,
) -> PyResult<PyUint> {
    Ok(PyUint { core: Arc::clone(core), value: encrypt(core, key, values, bits)? })
}

/// Encrypts integers with a sign.
fn encrypt_int(
    core: &Arc<Core>,
    key: Result<Encryptor<'_>>,
    values: &Bound<'_, PyAny>,
    bits: usize,
) -> PyResult<PyInt> {
    Ok(PyInt { core: Arc::clone(core), value: encrypt(core, key, values, bits)? })
}

/// Decrypts integers: into an array of uint64 if they fit, into a list of Python's integers
/// otherwise.
fn decrypt_uint<'py>(key: &PySecretKey, x: &PyUint, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
    x.core.site.check_same(&key.core.site, "secret key")?;
    if x.value.bits() <= 64 {
        let values = x.core.site.place.run(py, || Ok(key.tfhe()?.decrypt_u64(&x.value)?))?;
        let count = values.len();
        return array_of(py, values, &[count]);
    }
    let values = x.core.site.place.run(py, || Ok(key.tfhe()?.decrypt_uint(&x.value)?))?;
    python_integers(py, values.iter().map(BigUint::to_bytes_le), false)
}

/// Decrypts integers with a sign: into an array of int64 if they fit, into a list of Python's
/// integers otherwise.
fn decrypt_int<'py>(key: &PySecretKey, x: &PyInt, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
    x.core.site.check_same(&key.core.site, "secret key")?;
    if x.value.bits() <= 64 {
        let values = x.core.site.place.run(py, || Ok(key.tfhe()?.decrypt_i64(&x.value)?))?;
        let count = values.len();
        return array_of(py, values, &[count]);
    }
    let values = x.core.site.place.run(py, || Ok(key.tfhe()?.decrypt_int(&x.value)?))?;
    python_integers(py, values.iter().map(BigInt::to_signed_bytes_le), true)
}

fn python_integers(
    py: Python<'_>,
    values: impl Iterator<Item = Vec<u8>>,
    signed: bool,
) -> PyResult<Bound<'_, PyAny>> {
    let from_bytes = py.import("builtins")?.getattr("int")?.getattr("from_bytes")?;
    let options = PyDict::new(py);
    options.set_item("signed", signed)?;
    let all = PyList::empty(py);
    for bytes in values {
        all.append(from_bytes.call((PyBytes::new(py, &bytes), "little"), Some(&options))?)?;
    }
    Ok(all.into_any())
}

/// Decrypts conditions.
fn decrypt_flags<'py>(key: &PySecretKey, x: &PyFlags, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
    x.core.site.check_same(&key.core.site, "secret key")?;
    let flags = x.core.site.place.run(py, || Ok(key.tfhe()?.decrypt_flags(&x.value)?))?;
    let count = flags.len();
    array_of(py, flags, &[count])
}

/// A plain number by which everything is multiplied or divided.
pub(crate) fn plain(other: &Bound<'_, PyAny>) -> PyResult<Option<BigInt>> {
    other.is_instance_of::<Number>().then(|| number(other)).transpose()
}

/// A plain divisor.
fn plain_divisor(other: &Bound<'_, PyAny>) -> PyResult<Option<BigInt>> {
    let divisor = plain(other)?;
    if divisor == Some(BigInt::ZERO) {
        return Err(PyZeroDivisionError::new_err("division of encrypted integers by zero"));
    }
    Ok(divisor)
}

/// A plain amount of a shift.
fn plain_amount(other: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
    let Some(amount) = plain(other)? else { return Ok(None) };
    if amount < BigInt::ZERO {
        return Err(PyValueError::new_err("negative shift count"));
    }
    // Every amount beyond all widths is one.
    Ok(Some(usize::try_from(amount).unwrap_or(usize::MAX)))
}

/// The methods that both classes of integers have.
macro_rules! integers_with_operators {
    ($($class:ident $kind:ident $name:literal $unpickle:literal),*) => {$(
        impl $class {
            pub(crate) fn new(core: Arc<Core>, value: Ints<$kind>) -> Self {
                Self { core, value }
            }

            fn with(&self, value: Ints<$kind>) -> Self {
                Self { core: Arc::clone(&self.core), value }
            }

            fn flags(&self, value: Flags) -> PyFlags {
                PyFlags { core: Arc::clone(&self.core), value }
            }

            fn unsigned(&self, value: Ints<Unsigned>) -> PyUint {
                PyUint { core: Arc::clone(&self.core), value }
            }

            fn run<T: Send>(
                &self,
                py: Python<'_>,
                f: impl FnOnce(&Evaluator, &Ints<$kind>) -> he_core::Result<T> + Send,
            ) -> PyResult<T> {
                self.core.site.place.run(py, || Ok(f(&*self.core.uints()?, &self.value)?))
            }

            /// Computes with integers of this class, an array, a list, or a number for all.
            fn compute<T: Send>(
                &self,
                other: &Bound<'_, PyAny>,
                f: impl FnOnce(&Evaluator, &Ints<$kind>, &Ints<$kind>) -> he_core::Result<T> + Send,
            ) -> PyResult<T> {
                let py = other.py();
                if let Ok(other) = other.cast::<Self>() {
                    let other = other.get();
                    self.core.site.check_same(&other.core.site, "right operand")?;
                    return self.run(py, |ev, x| f(ev, x, &other.value));
                }
                let values = match plain(other)? {
                    Some(value) => vec![value; self.value.batch()],
                    None => integers(other)?,
                };
                let values = $kind::numbers(values)?;
                self.run(py, |ev, x| f(ev, x, &$kind::constant(ev, &values, x.bits())?))
            }

            fn same(
                &self,
                other: &Bound<'_, PyAny>,
                f: impl FnOnce(&Evaluator, &Ints<$kind>, &Ints<$kind>) -> he_core::Result<Ints<$kind>> + Send,
            ) -> PyResult<Self> {
                self.compute(other, f).map(|value| self.with(value))
            }

            fn flagged(
                &self,
                other: &Bound<'_, PyAny>,
                f: impl FnOnce(&Evaluator, &Ints<$kind>, &Ints<$kind>) -> he_core::Result<(Ints<$kind>, Flags)> + Send,
            ) -> PyResult<(Self, PyFlags)> {
                self.compute(other, f).map(|(value, flags)| (self.with(value), self.flags(flags)))
            }

            fn pair(
                &self,
                other: &Bound<'_, PyAny>,
                f: impl FnOnce(&Evaluator, &Ints<$kind>, &Ints<$kind>) -> he_core::Result<(Ints<$kind>, Ints<$kind>)> + Send,
            ) -> PyResult<(Self, Self)> {
                self.compute(other, f).map(|(x, y)| (self.with(x), self.with(y)))
            }

            fn count(
                &self,
                py: Python<'_>,
                f: impl FnOnce(&Evaluator, &Ints<$kind>) -> he_core::Result<Ints<Unsigned>> + Send,
            ) -> PyResult<PyUint> {
                self.run(py, f).map(|value| self.unsigned(value))
            }

            fn shifted(
                &self,
                amount: &Bound<'_, PyAny>,
                encrypted: impl FnOnce(&Evaluator, &Ints<$kind>, &Ints<Unsigned>) -> he_core::Result<Ints<$kind>> + Send,
                by: impl FnOnce(&Evaluator, &Ints<$kind>, usize) -> he_core::Result<Ints<$kind>> + Send,
            ) -> PyResult<Self> {
                let py = amount.py();
                if let Ok(amount) = amount.cast::<PyUint>() {
                    let amount = amount.get();
                    self.core.site.check_same(&amount.core.site, "amount")?;
                    return self.run(py, |ev, x| encrypted(ev, x, &amount.value)).map(|value| self.with(value));
                }
                let Some(amount) = plain_amount(amount)? else {
                    return Err(PyTypeError::new_err("amount: an int or a he.EncryptedUint is expected"));
                };
                self.run(py, |ev, x| by(ev, x, amount)).map(|value| self.with(value))
            }

            /// The frame of integers without a sign, which holds the same bits.
            fn read(core: &Arc<Core>, bytes: &[u8]) -> Result<Self> {
                let value = EncryptedUint::from_bytes(core.site.tfhe()?, core.site.device(), bytes)?;
                Ok(Self { core: Arc::clone(core), value: value.reinterpret() })
            }
        }

        #[pymethods]
        impl $class {
            /// Integers from the bytes of `to_bytes`, which do not say whether they have a sign.
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
                let bytes = self.core.site.place.run(py, || {
                    let bits = self.value.part(0..self.value.batch())?.reinterpret::<Unsigned>();
                    Ok(bits.to_bytes(self.core.site.tfhe()?)?)
                })?;
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

            /// NumPy leaves operations with its arrays to this class.
            #[classattr]
            #[pyo3(name = "__array_ufunc__")]
            fn no_ufuncs() -> Option<bool> {
                None
            }

            /// Says that an array of NumPy holds clear values.
            #[pyo3(signature = (*_args, **_kwargs))]
            fn __array__(
                &self,
                _args: &Bound<'_, PyTuple>,
                _kwargs: Option<&Bound<'_, PyDict>>,
            ) -> PyResult<Py<PyAny>> {
                Err(no_array())
            }

            /// NumPy's functions of arrays: sums, and an error that names the others.
            #[pyo3(signature = (func, types, args, kwargs))]
            fn __array_function__<'py>(
                slf: &Bound<'py, Self>,
                func: &Bound<'py, PyAny>,
                types: &Bound<'py, PyAny>,
                args: &Bound<'py, PyTuple>,
                kwargs: &Bound<'py, PyDict>,
            ) -> PyResult<Bound<'py, PyAny>> {
                let call = slf.py().import("he._numpy")?.getattr("integer_function")?;
                call.call1((func, types, args, kwargs))
            }

            /// Integers are neither true nor false: comparisons are, and these are encrypted.
            fn __bool__(&self) -> PyResult<bool> {
                Err(PyTypeError::new_err(
                    "encrypted integers are neither true nor false; compare them, and use the condition's select",
                ))
            }

            fn __contains__(&self, _item: &Bound<'_, PyAny>) -> PyResult<bool> {
                Err(PyTypeError::new_err("`in` asks for values that are encrypted: decrypt them and ask these"))
            }

            fn __len__(&self) -> usize {
                self.value.batch()
            }

            /// The shape of the batch.
            #[getter]
            fn shape(&self) -> (usize,) {
                (self.value.batch(),)
            }

            /// An integer, a slice or a list of places; a single integer is a batch of one.
            fn __getitem__(&self, index: &Bound<'_, PyAny>) -> PyResult<Self> {
                let places = index::places(index, self.value.batch())?;
                let value = self.core.site.place.run(index.py(), || {
                    let parts = places.iter().map(|&at| self.value.part(at..at + 1));
                    let parts = parts.collect::<he_core::Result<Vec<_>>>()?;
                    Ok(Ints::concat(&parts.iter().collect::<Vec<_>>())?)
                })?;
                Ok(self.with(value))
            }

            fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
                let builtins = slf.py().import("builtins")?;
                let range = builtins.getattr("range")?.call1((slf.get().__len__(),))?;
                builtins.getattr("map")?.call1((slf.getattr("__getitem__")?, range))
            }

            /// The sum of all integers modulo 2^bits: `cast` widens them first.
            fn sum(&self, py: Python<'_>) -> PyResult<Self> {
                let value = self.run(py, |ev, x| {
                    let parts = (0..x.batch()).map(|at| x.part(at..at + 1));
                    let parts = parts.collect::<he_core::Result<Vec<_>>>()?;
                    ev.sum(&parts.iter().collect::<Vec<_>>())
                })?;
                Ok(self.with(value))
            }

            fn __add__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.same(other, |ev, x, y| ev.add(x, y))
            }

            fn __radd__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.__add__(other)
            }

            fn __sub__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.same(other, |ev, x, y| ev.sub(x, y))
            }

            fn __rsub__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.same(other, |ev, x, y| ev.sub(y, x))
            }

            fn __mul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                match plain(other)? {
                    Some(factor) => {
                        self.run(other.py(), |ev, x| ev.mul_plain(x, &factor)).map(|value| self.with(value))
                    }
                    None => self.same(other, |ev, x, y| ev.mul(x, y)),
                }
            }

            fn __rmul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.__mul__(other)
            }

            fn __floordiv__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                match plain_divisor(other)? {
                    Some(divisor) => self
                        .run(other.py(), |ev, x| $kind::quotient(ev, x, &divisor))
                        .map(|value| self.with(value)),
                    None => self.same(other, |ev, x, y| Ok(ev.div_mod_floor(x, y)?.0)),
                }
            }

            fn __rfloordiv__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.same(other, |ev, x, y| Ok(ev.div_mod_floor(y, x)?.0))
            }

            fn __mod__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                match plain_divisor(other)? {
                    Some(divisor) => self
                        .run(other.py(), |ev, x| $kind::remainder(ev, x, &divisor))
                        .map(|value| self.with(value)),
                    None => self.same(other, |ev, x, y| Ok(ev.div_mod_floor(x, y)?.1)),
                }
            }

            fn __rmod__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.same(other, |ev, x, y| Ok(ev.div_mod_floor(y, x)?.1))
            }

            fn __divmod__(&self, other: &Bound<'_, PyAny>) -> PyResult<(Self, Self)> {
                match plain_divisor(other)? {
                    Some(divisor) => self
                        .run(other.py(), |ev, x| ev.div_mod_floor_plain(x, &divisor))
                        .map(|(quotient, remainder)| (self.with(quotient), self.with(remainder))),
                    None => self.pair(other, |ev, x, y| ev.div_mod_floor(x, y)),
                }
            }

            fn __rdivmod__(&self, other: &Bound<'_, PyAny>) -> PyResult<(Self, Self)> {
                self.pair(other, |ev, x, y| ev.div_mod_floor(y, x))
            }

            fn __and__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.same(other, |ev, x, y| ev.and(x, y))
            }

            fn __rand__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.__and__(other)
            }

            fn __or__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.same(other, |ev, x, y| ev.or(x, y))
            }

            fn __ror__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.__or__(other)
            }

            fn __xor__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.same(other, |ev, x, y| ev.xor(x, y))
            }

            fn __rxor__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.__xor__(other)
            }

            fn __lshift__(&self, amount: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.shifted(amount, |ev, x, by| ev.shl(x, by), |ev, x, by| ev.shl_plain(x, by))
            }

            fn __rshift__(&self, amount: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.shifted(amount, |ev, x, by| ev.shr(x, by), |ev, x, by| ev.shr_plain(x, by))
            }

            fn __neg__(&self, py: Python<'_>) -> PyResult<Self> {
                self.run(py, |ev, x| ev.neg(x)).map(|value| self.with(value))
            }

            fn __pos__(&self, py: Python<'_>) -> PyResult<Self> {
                self.run(py, |_, x| x.part(0..x.batch())).map(|value| self.with(value))
            }

            fn __invert__(&self, py: Python<'_>) -> PyResult<Self> {
                self.run(py, |ev, x| ev.not(x)).map(|value| self.with(value))
            }

            fn __abs__(&self, py: Python<'_>) -> PyResult<PyUint> {
                self.count(py, $kind::magnitude)
            }

            fn __richcmp__(&self, other: &Bound<'_, PyAny>, operator: CompareOp) -> PyResult<Py<PyAny>> {
                let py = other.py();
                let found = match operator {
                    CompareOp::Lt => self.compute(other, |ev, x, y| ev.lt(x, y))?,
                    CompareOp::Le => self.compute(other, |ev, x, y| ev.le(x, y))?,
                    CompareOp::Gt => self.compute(other, |ev, x, y| ev.gt(x, y))?,
                    CompareOp::Ge => self.compute(other, |ev, x, y| ev.ge(x, y))?,
                    CompareOp::Eq => self.compute(other, |ev, x, y| ev.eq(x, y))?,
                    CompareOp::Ne => self.compute(other, |ev, x, y| ev.ne(x, y))?,
                };
                Ok(self.flags(found).into_pyobject(py)?.into_any().unbind())
            }

            /// Where the integers are equal.
            fn eq(&self, other: &Bound<'_, PyAny>) -> PyResult<PyFlags> {
                self.compute(other, |ev, x, y| ev.eq(x, y)).map(|value| self.flags(value))
            }

            /// Where the integers differ.
            fn ne(&self, other: &Bound<'_, PyAny>) -> PyResult<PyFlags> {
                self.compute(other, |ev, x, y| ev.ne(x, y)).map(|value| self.flags(value))
            }

            /// The smaller of two integers, pair by pair.
            fn min(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.same(other, |ev, x, y| ev.min(x, y))
            }

            /// The greater of two integers, pair by pair.
            fn max(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.same(other, |ev, x, y| ev.max(x, y))
            }

            /// The sum, or the nearest integer that fits.
            fn saturating_add(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.same(other, |ev, x, y| ev.saturating_add(x, y))
            }

            /// The difference, or the nearest integer that fits.
            fn saturating_sub(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.same(other, |ev, x, y| ev.saturating_sub(x, y))
            }

            /// The product, or the nearest integer that fits.
            fn saturating_mul(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.same(other, |ev, x, y| ev.saturating_mul(x, y))
            }

            /// The sum modulo 2^bits, and whether it does not fit.
            fn overflowing_add(&self, other: &Bound<'_, PyAny>) -> PyResult<(Self, PyFlags)> {
                self.flagged(other, |ev, x, y| ev.overflowing_add(x, y))
            }

            /// The difference modulo 2^bits, and whether it does not fit.
            fn overflowing_sub(&self, other: &Bound<'_, PyAny>) -> PyResult<(Self, PyFlags)> {
                self.flagged(other, |ev, x, y| ev.overflowing_sub(x, y))
            }

            /// The product modulo 2^bits, and whether it does not fit.
            fn overflowing_mul(&self, other: &Bound<'_, PyAny>) -> PyResult<(Self, PyFlags)> {
                self.flagged(other, |ev, x, y| ev.overflowing_mul(x, y))
            }

            /// The bits rotated to the left by an amount, modulo the width.
            fn rotate_left(&self, amount: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.shifted(amount, |ev, x, by| ev.rotl(x, by), |ev, x, by| ev.rotl_plain(x, by))
            }

            /// The bits rotated to the right by an amount, modulo the width.
            fn rotate_right(&self, amount: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.shifted(amount, |ev, x, by| ev.rotr(x, by), |ev, x, by| ev.rotr_plain(x, by))
            }

            /// The bits in the opposite order.
            fn reverse_bits(&self, py: Python<'_>) -> PyResult<Self> {
                self.run(py, |ev, x| ev.reverse_bits(x)).map(|value| self.with(value))
            }

            /// The number of bits that are set, of at least 8 bits, as all counts.
            fn count_ones(&self, py: Python<'_>) -> PyResult<PyUint> {
                self.count(py, |ev, x| ev.count_ones(x))
            }

            /// The number of bits that are not set.
            fn count_zeros(&self, py: Python<'_>) -> PyResult<PyUint> {
                self.count(py, |ev, x| ev.count_zeros(x))
            }

            /// The number of zeros above the highest bit that is set.
            fn leading_zeros(&self, py: Python<'_>) -> PyResult<PyUint> {
                self.count(py, |ev, x| ev.leading_zeros(x))
            }

            /// The number of ones above the highest bit that is not set.
            fn leading_ones(&self, py: Python<'_>) -> PyResult<PyUint> {
                self.count(py, |ev, x| ev.leading_ones(x))
            }

            /// The number of zeros below the lowest bit that is set.
            fn trailing_zeros(&self, py: Python<'_>) -> PyResult<PyUint> {
                self.count(py, |ev, x| ev.trailing_zeros(x))
            }

            /// The number of ones below the lowest bit that is not set.
            fn trailing_ones(&self, py: Python<'_>) -> PyResult<PyUint> {
                self.count(py, |ev, x| ev.trailing_ones(x))
            }

            /// The logarithm to base 2, rounded down, and whether there is one.
            fn checked_ilog2(&self, py: Python<'_>) -> PyResult<(PyUint, PyFlags)> {
                let (log, exists) = self.run(py, |ev, x| ev.checked_ilog2(x))?;
                Ok((self.unsigned(log), self.flags(exists)))
            }

            /// Where the integers are odd.
            fn is_odd(&self, py: Python<'_>) -> PyResult<PyFlags> {
                self.run(py, |ev, x| ev.is_odd(x)).map(|value| self.flags(value))
            }

            /// Where the integers are even.
            fn is_even(&self, py: Python<'_>) -> PyResult<PyFlags> {
                self.run(py, |ev, x| ev.is_even(x)).map(|value| self.flags(value))
            }

            /// The same integers in another width; narrower ones keep the lower bits.
            fn cast(&self, bits: usize, py: Python<'_>) -> PyResult<Self> {
                self.run(py, |ev, x| ev.cast(x, bits)).map(|value| self.with(value))
            }

            /// The same bits, as integers without a sign.
            fn as_uint(&self, py: Python<'_>) -> PyResult<PyUint> {
                self.count(py, |_, x| Ok(x.part(0..x.batch())?.reinterpret()))
            }

            /// The same bits, as integers with a sign.
            fn as_int(&self, py: Python<'_>) -> PyResult<PyInt> {
                let value = self.run(py, |_, x| Ok(x.part(0..x.batch())?.reinterpret()))?;
                Ok(PyInt { core: Arc::clone(&self.core), value })
            }

            /// The integers of the batch in ascending order.
            fn sort(&self, py: Python<'_>) -> PyResult<Self> {
                let value =
                    self.core.site.place.run(py, || $kind::sorted(&*self.core.uints()?, &self.value))?;
                Ok(self.with(value))
            }

            fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
                let params = PyParams(self.core.site.params.clone());
                Ok((py.import("he._he")?.getattr($unpickle)?, (params, self.to_bytes(py)?)))
            }

            fn __repr__(&self) -> String {
                format!("<he.{}: {} of {} bits>", $name, self.value.batch(), self.value.bits())
            }
        }
    )*};
}

integers_with_operators! {
    PyUint Unsigned "EncryptedUint" "_uint",
    PyInt Signed "EncryptedInt" "_int"
}

type Reduced<'py> = (Bound<'py, PyAny>, (PyParams, Bound<'py, PyBytes>));

impl PyFlags {
    fn selected<T: Send>(
        &self,
        py: Python<'_>,
        operands: [&Arc<Core>; 2],
        choose: impl FnOnce(&Evaluator) -> he_core::Result<T> + Send,
    ) -> PyResult<T> {
        self.core.site.check_same(&operands[0].site, "first operand")?;
        self.core.site.check_same(&operands[1].site, "second operand")?;
        self.core.site.place.run(py, || Ok(choose(&*self.core.uints()?)?))
    }

    fn both(
        &self,
        other: &Self,
        py: Python<'_>,
        f: impl FnOnce(&Evaluator, &Flags, &Flags) -> he_core::Result<Flags> + Send,
    ) -> PyResult<Self> {
        self.core.site.check_same(&other.core.site, "right operand")?;
        let value =
            self.core.site.place.run(py, || Ok(f(&*self.core.uints()?, &self.value, &other.value)?))?;
        Ok(Self { core: Arc::clone(&self.core), value })
    }
}

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

    /// `x` where the condition holds, and `y` elsewhere: integers of one class.
    fn select<'py>(&self, x: &Bound<'py, PyAny>, y: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = x.py();
        if let (Ok(x), Ok(y)) = (x.cast::<PyUint>(), y.cast::<PyUint>()) {
            let (x, y) = (x.get(), y.get());
            let value =
                self.selected(py, [&x.core, &y.core], |ev| ev.select(&self.value, &x.value, &y.value))?;
            return Ok(x.with(value).into_pyobject(py)?.into_any());
        }
        let (Ok(x), Ok(y)) = (x.cast::<PyInt>(), y.cast::<PyInt>()) else {
            return Err(PyTypeError::new_err(
                "select: two he.EncryptedUint or two he.EncryptedInt are expected",
            ));
        };
        let (x, y) = (x.get(), y.get());
        let value = self.selected(py, [&x.core, &y.core], |ev| ev.select(&self.value, &x.value, &y.value))?;
        Ok(x.with(value).into_pyobject(py)?.into_any())
    }

    fn __and__(&self, other: &Self, py: Python<'_>) -> PyResult<Self> {
        self.both(other, py, |ev, x, y| ev.and_flags(x, y))
    }

    fn __or__(&self, other: &Self, py: Python<'_>) -> PyResult<Self> {
        self.both(other, py, |ev, x, y| ev.or_flags(x, y))
    }

    fn __xor__(&self, other: &Self, py: Python<'_>) -> PyResult<Self> {
        self.both(other, py, |ev, x, y| ev.xor_flags(x, y))
    }

    fn __invert__(&self, py: Python<'_>) -> PyResult<Self> {
        let value = self.core.site.place.run(py, || Ok(self.core.uints()?.not_flags(&self.value)?))?;
        Ok(Self { core: Arc::clone(&self.core), value })
    }

    /// Whether conditions agree, or differ, pair by pair.
    fn __richcmp__(&self, other: &Bound<'_, PyAny>, operator: CompareOp) -> PyResult<Self> {
        let py = other.py();
        match (other.cast::<Self>(), operator) {
            (Ok(other), CompareOp::Ne) => self.__xor__(other.get(), py),
            (Ok(other), CompareOp::Eq) => self.__xor__(other.get(), py)?.__invert__(py),
            _ => Err(PyTypeError::new_err(
                "an encrypted condition is compared with another one, by == and !=; decrypt it with \
                 keys.decrypt_bool, or choose by it with select",
            )),
        }
    }

    /// NumPy leaves operations with its arrays to this class.
    #[classattr]
    #[pyo3(name = "__array_ufunc__")]
    fn no_ufuncs() -> Option<bool> {
        None
    }

    /// Says that an array of NumPy holds clear values.
    #[pyo3(signature = (*_args, **_kwargs))]
    fn __array__(
        &self,
        _args: &Bound<'_, PyTuple>,
        _kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        Err(PyTypeError::new_err(
            "encrypted conditions do not become an array of NumPy: decrypt them with keys.decrypt_bool",
        ))
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

/// Integers with a sign from their pickled form.
#[pyfunction]
#[pyo3(name = "_int")]
pub fn unpickled_int(params: &PyParams, data: &Bound<'_, PyBytes>) -> PyResult<PyInt> {
    let (params, bytes) = (params.0.clone(), data.as_bytes());
    detached(data.py(), || PyInt::read(&Core::for_pickled(params)?, bytes))
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

#[pymethods]
impl PySecretKey {
    /// Encrypt unsigned integers of `bits` bits under TFHE: an array of integers, or a list.
    #[pyo3(signature = (values, bits = 32))]
    fn encrypt_uint(&self, values: &Bound<'_, PyAny>, bits: usize) -> PyResult<PyUint> {
        encrypt_uint(&self.core, self.tfhe().map(Encryptor::Secret), values, bits)
    }

    /// Decrypt integers: an array of uint64, or a list of int if they are wider than 64 bits.
    fn decrypt_uint<'py>(&self, values: &PyUint, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        decrypt_uint(self, values, py)
    }

    /// Encrypt integers of `bits` bits with a sign under TFHE: an array of integers, or a list.
    #[pyo3(signature = (values, bits = 32))]
    fn encrypt_int(&self, values: &Bound<'_, PyAny>, bits: usize) -> PyResult<PyInt> {
        encrypt_int(&self.core, self.tfhe().map(Encryptor::Secret), values, bits)
    }

    /// Decrypt integers with a sign: an array of int64, or a list of int if they are wider than 64
    /// bits.
    fn decrypt_int<'py>(&self, values: &PyInt, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        decrypt_int(self, values, py)
    }

    /// Decrypt conditions into an array of bool.
    fn decrypt_bool<'py>(&self, values: &PyFlags, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        decrypt_flags(self, values, py)
    }
}

#[pymethods]
impl PyPublicKey {
    /// Encrypt unsigned integers of `bits` bits under TFHE: an array of integers, or a list.
    #[pyo3(signature = (values, bits = 32))]
    fn encrypt_uint(&self, values: &Bound<'_, PyAny>, bits: usize) -> PyResult<PyUint> {
        encrypt_uint(&self.core, self.tfhe().map(Encryptor::Public), values, bits)
    }

    /// Encrypt integers of `bits` bits with a sign under TFHE: an array of integers, or a list.
    #[pyo3(signature = (values, bits = 32))]
    fn encrypt_int(&self, values: &Bound<'_, PyAny>, bits: usize) -> PyResult<PyInt> {
        encrypt_int(&self.core, self.tfhe().map(Encryptor::Public), values, bits)
    }
}

#[pymethods]
impl PyKeys {
    /// Encrypt unsigned integers of `bits` bits under TFHE: an array of integers, or a list.
    #[pyo3(signature = (values, bits = 32))]
    fn encrypt_uint(&self, values: &Bound<'_, PyAny>, bits: usize) -> PyResult<PyUint> {
        self.secret.get().encrypt_uint(values, bits)
    }

    /// Decrypt integers: an array of uint64, or a list of int if they are wider than 64 bits.
    fn decrypt_uint<'py>(&self, values: &PyUint, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        decrypt_uint(self.secret.get(), values, py)
    }

    /// Encrypt integers of `bits` bits with a sign under TFHE: an array of integers, or a list.
    #[pyo3(signature = (values, bits = 32))]
    fn encrypt_int(&self, values: &Bound<'_, PyAny>, bits: usize) -> PyResult<PyInt> {
        self.secret.get().encrypt_int(values, bits)
    }

    /// Decrypt integers with a sign: an array of int64, or a list of int if they are wider than 64
    /// bits.
    fn decrypt_int<'py>(&self, values: &PyInt, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        decrypt_int(self.secret.get(), values, py)
    }

    /// Decrypt conditions into an array of bool.
    fn decrypt_bool<'py>(&self, values: &PyFlags, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        decrypt_flags(self.secret.get(), values, py)
    }
}
