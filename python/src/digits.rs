//! Machine integers in slots of CKKS: arrays with a dtype of NumPy, and conditions, which are
//! arrays of bool.

use crate::arrays::array_of;
use crate::context::{Core, PyContext};
use crate::error::{Fault, Result};
use crate::keys::{PyKeys, PyPublicKey, PySecretKey};
use crate::uint::{integers, plain};
use he::Device;
use he_any::layout::Op;
use he_any::rlwe::Owner;
use he_any::tfhe::Comparison;
use he_core::bootstrapping::integers::{join, join_flags};
use he_core::ckks::{Ciphertext, Complex64, Encryptor};
use he_core::num_bigint::BigInt;
use he_files::contents::digits::{Circuit, Job, Operand, Operator, Shift};
use he_files::data::integers::Integers;
use he_files::note::{DigitsNote, machine};
use he_files::scheme::engine::rng;
use he_files::tfhe::entries::Entries;
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyTypeError, PyValueError, PyZeroDivisionError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::Arc;
use zeroize::Zeroizing;

/// Encrypted integers of a dtype of NumPy, uint8 to int64, or conditions of dtype bool: one
/// dimension of any length.
///
/// They are made by ``array`` of keys of a context of ``Params.bootstrapping("fast")``. Results are
/// those of NumPy, modulo 2^bits. An operation takes as long for all slots as for one number.
#[pyclass(frozen, module = "he", name = "EncryptedArray")]
pub struct PyDigits {
    core: Arc<Core>,
    note: DigitsNote,
    /// The digits of each vector.
    vectors: Vec<Ciphertext<Device>>,
}

/// The integers of a dtype, by its name in NumPy or in Rust.
fn of_dtype(name: &str) -> PyResult<Integers> {
    let (signed, bits) = match name.strip_prefix("uint").or_else(|| name.strip_prefix('u')) {
        Some(bits) => (false, Some(bits)),
        None => (true, name.strip_prefix("int").or_else(|| name.strip_prefix('i'))),
    };
    let integers = bits.and_then(|bits| bits.parse().ok()).map(|bits| Integers { bits, signed });
    integers.filter(|&integers| machine(integers).is_some()).ok_or_else(|| {
        PyValueError::new_err(format!(
            "dtype: {name}, where one of uint8, uint16, uint32, uint64, int8, int16, int32 and int64 is expected"
        ))
    })
}

/// The integers of a dtype, or else those of the values, which are an array of NumPy then.
fn dtype_of(values: &Bound<'_, PyAny>, dtype: Option<&Bound<'_, PyAny>>) -> PyResult<Integers> {
    if let Some(Ok(name)) = dtype.map(|dtype| dtype.extract::<String>()) {
        return of_dtype(&name);
    }
    let numpy = values.py().import("numpy")?;
    let found = match dtype {
        Some(dtype) => numpy.call_method1("dtype", (dtype,))?,
        None => values.getattr("dtype").map_err(|_| {
            PyTypeError::new_err(
                "dtype: give one, such as \"u16\", for values that are not an array of NumPy",
            )
        })?,
    };
    of_dtype(&found.getattr("name")?.extract::<String>()?)
}

/// The words of integers, in vectors of digits.
fn packed(values: &[BigInt], integers: Integers, slots: usize) -> PyResult<Vec<Vec<Vec<Complex64>>>> {
    if values.is_empty() {
        return Err(PyValueError::new_err("values: there are none"));
    }
    if let Some(beyond) = values.iter().find(|value| !integers.hold(value)) {
        return Err(PyValueError::new_err(format!("values: {beyond} is not one of {}", integers.text())));
    }
    let word = |value: &BigInt| integers.bits_of(value).iter_u64_digits().next().unwrap_or(0);
    let words = Zeroizing::new(values.iter().map(word).collect::<Vec<u64>>());
    let width = machine(integers).ok_or_else(|| PyValueError::new_err("dtype"))?;
    let vector = |rows: &[u64]| {
        let digits = width.split(rows).map_err(|error| PyErr::from(Fault::from(error)))?;
        let complex = |digit: &Zeroizing<Vec<f64>>| digit.iter().map(|&x| x.into()).collect();
        Ok(digits.iter().map(complex).collect())
    };
    words.chunks(slots).map(vector).collect()
}

/// Encrypts integers by what makes ciphertexts of the digits of a vector.
fn encrypt(
    core: &Arc<Core>,
    values: &Bound<'_, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
    make: impl Fn(&[Vec<Complex64>]) -> Result<Ciphertext<Device>> + Send + Sync,
) -> PyResult<PyDigits> {
    let (integers_of, numbers) = (dtype_of(values, dtype)?, integers(values)?);
    let slots = core.site.ckks()?.params.slots();
    if core.site.params.bootstrapping().is_none_or(|boot| boot.slots() != slots) {
        return Err(PyValueError::new_err(
            "integers of a dtype need a context of bootstrapping with full vectors: he.Params.bootstrapping(\"fast\")",
        ));
    }
    let (rows, packed) = (numbers.len() as u64, packed(&numbers, integers_of, slots)?);
    let work = || packed.iter().map(|digits| make(digits)).collect::<Result<Vec<_>>>();
    let vectors = core.site.place.run(values.py(), work)?;
    let Integers { bits: width, signed } = integers_of;
    let note = DigitsNote { width, signed, rows, columns: vec![None] };
    Ok(PyDigits { core: Arc::clone(core), note, vectors })
}

/// Encodes the digits of a vector.
fn encoded(core: &Core, digits: &[Vec<Complex64>]) -> Result<he_core::ckks::Plaintext<Device>> {
    let engine = core.site.ckks()?;
    let slices: Vec<&[Complex64]> = digits.iter().map(Vec::as_slice).collect();
    Ok(engine.ev.encoder().encode_batch(&slices, engine.params.encoding())?)
}

/// Encrypts by a secret key.
fn by_secret(
    key: &PySecretKey,
    values: &Bound<'_, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyDigits> {
    encrypt(&key.core, values, dtype, |digits| match key.owner()? {
        Owner::Ckks(encryptor, _) => {
            Ok(encryptor.encrypt(&encoded(&key.core, digits)?, &mut rng()?)?.expand()?)
        }
        _ => Err(Fault::Type("a secret key of another scheme, where one of ckks is expected".to_owned())),
    })
}

/// Decrypts into an array of the dtype.
fn decrypt<'py>(key: &PySecretKey, x: &PyDigits, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
    x.core.site.check_same(&key.core.site, "secret key")?;
    let words = x.core.site.place.run(py, || x.words(key))?;
    /// An array of a type, of the words of another.
    macro_rules! array {
        ($($bits:literal $signed:literal $type:ty),*) => {
            match (x.note.width, x.note.signed) {
                $(($bits, $signed) => {
                    array_of(py, words.iter().map(|&word| word as $type).collect::<Vec<_>>(), &[words.len()])
                })*
                _ => array_of(py, words.iter().map(|&word| word == 1).collect::<Vec<_>>(), &[words.len()]),
            }
        };
    }
    array!(8 false u8, 16 false u16, 32 false u32, 64 false u64, 8 true i8, 16 true i16, 32 true i32, 64 true i64)
}

impl PyDigits {
    /// The decrypted words.
    fn words(&self, key: &PySecretKey) -> Result<Zeroizing<Vec<u64>>> {
        let Owner::Ckks(_, decryptor) = key.owner()? else {
            return Err(Fault::Type("a secret key of another scheme".to_owned()));
        };
        let mut words = Zeroizing::new(Vec::new());
        for ct in &self.vectors {
            let digit = |k| Ok(Zeroizing::new(decryptor.decrypt_real(&ct.slice_batch(k..k + 1)?)?));
            let mut digits = (0..ct.batch()).map(digit).collect::<Result<Vec<_>>>()?;
            let rows = (self.note.rows as usize - words.len()).min(digits[0].len());
            digits.iter_mut().for_each(|digit| digit.truncate(rows));
            match self.note.is_conditions() {
                true => words.extend(join_flags(&digits[0])?.into_iter().map(u64::from)),
                false => words.extend(join(&digits)?),
            }
        }
        Ok(words)
    }

    /// A computation on these arrays, as files have it.
    fn computed(py: Python<'_>, job: &Job, name: &str, operands: &[&Self]) -> PyResult<Self> {
        const NAMES: [&str; 3] = ["the first array", "the second array", "the third array"];
        let core = &operands[0].core;
        for (other, name) in operands.iter().zip(NAMES).skip(1) {
            core.site.check_same(&other.core.site, name)?;
        }
        let named = operands.iter().zip(NAMES).map(|(operand, name)| Operand { name, note: &operand.note });
        let named: Vec<_> = named.collect();
        let work = || {
            let (engine, key_set) = (core.site.ckks()?, operands[0].vectors[0].key_set());
            let slots = engine.params.slots();
            let results = job.describe(&named, slots, name)?;
            let bootstrapper = engine.bootstrapper()?;
            let keys = core.bootstrap_keys().ok_or_else(|| {
                Fault::Key(
                    "the context has no keys of bootstrapping; make them with keygen, or set bootstrap_keys"
                        .to_owned(),
                )
            })?;
            let program = core.switching(key_set)?;
            let circuit = Circuit { bootstrapper: &bootstrapper, keys: &keys, program: program.get()? };
            let at = &operands[usize::from(*job == Job::Select)].note;
            let prepared = circuit.prepare(job, at, &results)?;
            let vector = |number: usize| {
                let rows = (at.rows as usize - number * slots).min(slots);
                let all = operands.iter().map(|operand| operand.vectors[number].duplicate());
                Ok(prepared.of(all.collect::<he_core::Result<Vec<_>>>()?, rows)?)
            };
            let vectors = (0..operands[0].vectors.len()).map(vector).collect::<Result<Vec<_>>>()?;
            Ok((results, vectors))
        };
        let (note, vectors) = core.site.place.run(py, work)?;
        Ok(Self { core: Arc::clone(core), note, vectors })
    }

    fn alone(&self, py: Python<'_>, name: &str, job: &Job) -> PyResult<Self> {
        Self::computed(py, job, name, &[self])
    }

    /// An operation with an array, or with a number for all.
    fn with(&self, name: &str, operator: Operator, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = other.py();
        if let Ok(other) = other.cast::<Self>() {
            return Self::computed(py, &Job::Pair(operator, None), name, &[self, other.get()]);
        }
        match plain(other)? {
            Some(number) => self.alone(py, name, &Job::Pair(operator, Some(number))),
            None => Err(PyTypeError::new_err(format!("{name}: an he.EncryptedArray or an int is expected"))),
        }
    }

    /// The quotient and the remainder of a plain divisor, rounded down as those of NumPy.
    fn divided(&self, other: &Bound<'_, PyAny>) -> PyResult<(Self, Self)> {
        let (py, name) = (other.py(), "division");
        let divisor = plain(other)?.ok_or_else(|| PyTypeError::new_err("division: an int is expected"))?;
        if divisor == BigInt::ZERO {
            return Err(PyZeroDivisionError::new_err("division by zero"));
        }
        let by = u64::try_from(&divisor).map_err(|_| PyValueError::new_err("divisors are from 1 on"))?;
        let quotient = self.alone(py, name, &Job::Quotient(by))?;
        let remainder = self.alone(py, name, &Job::Remainder(by))?;
        if !self.note.signed {
            return Ok((quotient, remainder));
        }
        let number = |operator, number: BigInt| Job::Pair(operator, Some(number));
        let below = remainder.alone(py, name, &number(Operator::Compare(Comparison::Lt), BigInt::ZERO))?;
        let less = quotient.alone(py, name, &number(Operator::Of(Op::Sub), 1.into()))?;
        let more = remainder.alone(py, name, &number(Operator::Of(Op::Add), divisor))?;
        let chosen = |yes: &Self, no: &Self| Self::computed(py, &Job::Select, name, &[&below, yes, no]);
        Ok((chosen(&less, &quotient)?, chosen(&more, &remainder)?))
    }

    fn moved(&self, shift: Shift, amount: &Bound<'_, PyAny>) -> PyResult<Self> {
        let by = plain(amount)?.ok_or_else(|| PyTypeError::new_err("a shift: an int is expected"))?;
        let by = u64::try_from(&by).map_err(|_| PyValueError::new_err("a shift: places are from 0 on"))?;
        self.alone(amount.py(), "a shift", &Job::Shift(shift, by))
    }
}

#[pymethods]
impl PyDigits {
    /// The name of the dtype.
    #[getter]
    fn dtype(&self) -> String {
        match (self.note.is_conditions(), self.note.signed) {
            (true, _) => "bool".to_owned(),
            (false, signed) => format!("{}int{}", if signed { "" } else { "u" }, self.note.width),
        }
    }

    /// The context.
    #[getter]
    fn context(&self) -> PyContext {
        PyContext(Arc::clone(&self.core))
    }

    #[getter]
    fn shape(&self) -> (u64,) {
        (self.note.rows,)
    }

    fn __len__(&self) -> usize {
        self.note.rows as usize
    }

    fn __add__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.with("add", Operator::Of(Op::Add), other)
    }

    fn __radd__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.__add__(other)
    }

    fn __sub__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.with("sub", Operator::Of(Op::Sub), other)
    }

    fn __rsub__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.alone(other.py(), "sub", &Job::Neg)?.__add__(other)
    }

    fn __mul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.with("mul", Operator::Of(Op::Mul), other)
    }

    fn __rmul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.__mul__(other)
    }

    fn __floordiv__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(self.divided(other)?.0)
    }

    fn __mod__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(self.divided(other)?.1)
    }

    fn __divmod__(&self, other: &Bound<'_, PyAny>) -> PyResult<(Self, Self)> {
        self.divided(other)
    }

    fn __and__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.with("and", Operator::And, other)
    }

    fn __rand__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.__and__(other)
    }

    fn __or__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.with("or", Operator::Or, other)
    }

    fn __ror__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.__or__(other)
    }

    fn __xor__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.with("xor", Operator::Xor, other)
    }

    fn __rxor__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.__xor__(other)
    }

    fn __lshift__(&self, amount: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.moved(Shift::Left, amount)
    }

    fn __rshift__(&self, amount: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.moved(Shift::Right, amount)
    }

    fn __neg__(&self, py: Python<'_>) -> PyResult<Self> {
        self.alone(py, "neg", &Job::Neg)
    }

    fn __invert__(&self, py: Python<'_>) -> PyResult<Self> {
        self.alone(py, "not", &Job::Not)
    }

    fn __abs__(&self, py: Python<'_>) -> PyResult<Self> {
        self.alone(py, "abs", &Job::Abs)
    }

    fn __richcmp__(&self, other: &Bound<'_, PyAny>, operator: CompareOp) -> PyResult<Self> {
        let how = match operator {
            CompareOp::Lt => Comparison::Lt,
            CompareOp::Le => Comparison::Le,
            CompareOp::Gt => Comparison::Gt,
            CompareOp::Ge => Comparison::Ge,
            CompareOp::Eq => Comparison::Eq,
            CompareOp::Ne => Comparison::Ne,
        };
        self.with("a comparison", Operator::Compare(how), other)
    }

    /// The smaller of each pair of numbers.
    fn min(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.with("min", Operator::Min, other)
    }

    /// The larger of each pair of numbers.
    fn max(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.with("max", Operator::Max, other)
    }

    /// The numbers in ascending order, at most as many as there are slots.
    fn sort(&self, py: Python<'_>) -> PyResult<Self> {
        self.alone(py, "sort", &Job::Sort)
    }

    /// The `count` greatest numbers, in descending order.
    fn top(&self, count: u64, py: Python<'_>) -> PyResult<Self> {
        self.alone(py, "top", &Job::Top(count))
    }

    /// The entry of a public table of up to 256 integers for each number, 0 beyond the last.
    #[pyo3(signature = (entries, bits = None))]
    fn lookup(&self, entries: &Bound<'_, PyAny>, bits: Option<u32>) -> PyResult<Self> {
        let (py, values) = (entries.py(), integers(entries)?);
        self.alone(py, "lookup", &Job::Lookup(Entries { values, width: bits }))
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
            "encrypted integers do not become an array of NumPy: decrypt them with keys.decrypt_array",
        ))
    }

    fn __bool__(&self) -> PyResult<bool> {
        Err(PyTypeError::new_err("encrypted numbers are not known here; choose by conditions with he.where"))
    }

    fn __repr__(&self) -> String {
        format!("<he.EncryptedArray: {} of dtype {}>", self.note.rows, self.dtype())
    }
}

/// `x` where conditions hold, and `y` elsewhere.
#[pyfunction]
#[pyo3(name = "where")]
pub fn choose(condition: &PyDigits, x: &PyDigits, y: &PyDigits, py: Python<'_>) -> PyResult<PyDigits> {
    PyDigits::computed(py, &Job::Select, "where", &[condition, x, y])
}

#[pymethods]
impl PySecretKey {
    /// Encrypt integers of a dtype under CKKS with bootstrapping: that of the values, unless one is
    /// given.
    #[pyo3(signature = (values, dtype = None))]
    fn array(&self, values: &Bound<'_, PyAny>, dtype: Option<&Bound<'_, PyAny>>) -> PyResult<PyDigits> {
        by_secret(self, values, dtype)
    }

    /// Decrypt an array into one of NumPy, of the same dtype.
    fn decrypt_array<'py>(&self, values: &PyDigits, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        decrypt(self, values, py)
    }
}

#[pymethods]
impl PyPublicKey {
    /// Encrypt integers of a dtype under CKKS with bootstrapping: that of the values, unless one is
    /// given.
    #[pyo3(signature = (values, dtype = None))]
    fn array(&self, values: &Bound<'_, PyAny>, dtype: Option<&Bound<'_, PyAny>>) -> PyResult<PyDigits> {
        let core = &self.core;
        encrypt(core, values, dtype, |digits| {
            let encryptor = Encryptor::new(&core.site.ckks()?.params, self.rlwe()?)?;
            Ok(encryptor.encrypt(&encoded(core, digits)?, &mut rng()?)?)
        })
    }
}

#[pymethods]
impl PyKeys {
    /// Encrypt integers of a dtype under CKKS with bootstrapping: that of the values, unless one is
    /// given.
    #[pyo3(signature = (values, dtype = None))]
    fn array(&self, values: &Bound<'_, PyAny>, dtype: Option<&Bound<'_, PyAny>>) -> PyResult<PyDigits> {
        by_secret(self.secret.get(), values, dtype)
    }

    /// Decrypt an array into one of NumPy, of the same dtype.
    fn decrypt_array<'py>(&self, values: &PyDigits, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        decrypt(self.secret.get(), values, py)
    }
}
