//! Encrypted arrays.

use crate::arrays::{Array, Bytes, Numbers, Values, array_of};
use crate::ckks::{self, Axis};
use crate::context::{Core, Engine, PyContext};
use crate::error::{Fault, Result};
use crate::exact;
use crate::functions::PyFunction;
use crate::keys::{Prepared, PyPublicKey, PySecretKey};
use crate::params::PyParams;
use crate::run::detached;
use he_core::KeySetId;
use he_core::circuits::ckks::Polynomial;
use he_core::num_complex::Complex64;
use he_core::wire::{Frame, FrameKind, FrameReader, Wire, WireError};
use he_core::{ckks as core_ckks, exact as core_exact};
use he_files::layout::{Layout, Op, shown};
use he_files::scheme::engine::rng;
use numpy::PyUntypedArray;
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyComplex, PyFloat, PyInt, PyList, PySlice, PySliceMethods, PyTuple, PyType,
};
use std::sync::Arc;

/// A batch of ciphertexts of one scheme.
pub enum Cipher {
    Ckks(ckks::Ct),
    Bfv(exact::Ct<he_core::bfv::Bfv>),
    Bgv(exact::Ct<he_core::bgv::Bgv>),
}

/// Does the same with a batch and the engine of its scheme: `all` for all schemes alike.
macro_rules! on_cipher {
    ($core:expr, $cipher:expr, ($engine:ident, $ct:ident) => $body:expr) => {
        on_cipher!($core, $cipher, ckks ($engine, $ct) => $body, exact ($engine, $ct) => $body)
    };
    ($core:expr, $cipher:expr, ckks ($e:ident, $c:ident) => $ckks:expr, exact ($f:ident, $d:ident) => $exact:expr) => {
        match (&$core.site.engine, $cipher) {
            (Engine::Ckks($e), Cipher::Ckks($c)) => $ckks.map(|out| out.wrap(Cipher::Ckks)),
            (Engine::Bfv($f), Cipher::Bfv($d)) => $exact.map(|out| out.wrap(Cipher::Bfv)),
            (Engine::Bgv($f), Cipher::Bgv($d)) => $exact.map(|out| out.wrap(Cipher::Bgv)),
            _ => Err(schemes_differ()),
        }
    };
}

/// A ciphertext, or one with a layout, as that of any scheme.
trait Wrap<C, T> {
    fn wrap(self, into: impl FnOnce(C) -> Cipher) -> T;
}

impl<C> Wrap<C, Cipher> for C {
    fn wrap(self, into: impl FnOnce(C) -> Cipher) -> Cipher {
        into(self)
    }
}

impl<C> Wrap<C, (Cipher, Layout)> for (C, Layout) {
    fn wrap(self, into: impl FnOnce(C) -> Cipher) -> (Cipher, Layout) {
        (into(self.0), self.1)
    }
}

fn schemes_differ() -> Fault {
    Fault::Type("ciphertexts of two schemes".to_owned())
}

/// Something that stands beside a ciphertext in an operation.
enum Operand<'py> {
    Cipher(Bound<'py, PyCiphertext>),
    Integer(i64),
    Number(Complex64),
    Array(Array<'py>),
    /// Nothing that this package knows: Python asks the other side.
    Other,
}

impl<'py> Operand<'py> {
    fn new(value: &Bound<'py, PyAny>, exact: bool) -> PyResult<Self> {
        if let Ok(cipher) = value.cast::<PyCiphertext>() {
            return Ok(Self::Cipher(cipher.clone()));
        }
        if value.is_instance_of::<PyInt>() || value.is_instance_of::<PyBool>() {
            return match value.extract::<i64>() {
                Ok(integer) => Ok(Self::Integer(integer)),
                Err(_) if exact => Err(PyValueError::new_err(format!("{value} does not fit 64 bits"))),
                Err(_) => Ok(Self::Number(value.extract::<f64>()?.into())),
            };
        }
        let real = value.is_instance_of::<PyFloat>();
        if (real || value.is_instance_of::<PyComplex>()) && exact {
            let text = format!("{value} with integers; a {} ciphertext takes integers", "BFV or BGV");
            return Err(PyTypeError::new_err(text));
        }
        if real {
            return Ok(Self::Number(value.extract::<f64>()?.into()));
        }
        if let Ok(complex) = value.cast::<PyComplex>() {
            use pyo3::types::PyComplexMethods;
            return Ok(Self::Number(Complex64::new(complex.real(), complex.imag())));
        }
        let is_array = value.cast::<PyUntypedArray>().is_ok()
            || value.is_instance_of::<PyList>()
            || value.is_instance_of::<PyTuple>()
            || value.hasattr("dtype")?;
        if !is_array {
            return Ok(Self::Other);
        }
        let numbers = if exact { Numbers::Exact } else { Numbers::Approximate };
        let array = Array::new(value, numbers, "operand")?;
        let one = array.shape().is_empty()
            || (array.shape() == [1] && value.hasattr("dtype")? && {
                let dimensions: usize = value.getattr("ndim")?.extract()?;
                dimensions == 0
            });
        if !one {
            return Ok(Self::Array(array));
        }
        Ok(match array.values()? {
            Values::Real(values) => Self::Number(values[0].into()),
            Values::Complex(values) => Self::Number(values[0]),
            Values::Signed(values) => Self::Integer(values[0]),
            Values::Unsigned(values) => Self::Integer(
                i64::try_from(values[0]).map_err(|_| PyValueError::new_err("a number above 2^63"))?,
            ),
        })
    }
}

/// An encrypted array: a column of numbers, or a batch of rows.
///
/// Ciphertexts are made by ``encrypt`` of keys, and never change: every operation makes another.
///
/// ===================== ==========================================================================
/// ``x + y``, ``x - y``  Sums and differences with a ciphertext, a number or an array.
/// ``x * y``             Products, value by value. Under CKKS, integers take no level, everything
///                       else takes one.
/// ``x / c``             The product with the inverse of a number or of an array (CKKS).
/// ``x ** n``            A power by repeated squaring, of depth ceil(log2 n).
/// ``-x``                The opposite.
/// ``x @ m``             The inner product with a ciphertext or a vector, or the product with a
///                       plain matrix.
/// ``x > y``, ``x < y``  1 where it holds and 0 where it does not, for numbers in [-1, 1] that
///                       differ by 1/32 at least: ``(x - y).apply(Function.step(2))`` (CKKS).
/// ``x[a:b]``, ``x[i]``  Slices, which rotate; an index of a batch of rows is that of a row.
/// ===================== ==========================================================================
///
/// Operands have the same shape; a number, the result of a sum, and a column beside a batch of rows
/// stand for all.
#[pyclass(frozen, module = "he", name = "Ciphertext")]
pub struct PyCiphertext {
    pub core: Arc<Core>,
    pub cipher: Cipher,
    pub layout: Layout,
}

/// A layout in Python: the rows of a batch, the values of each, whether all slots hold the same,
/// and the padding.
type PyLayout = (Option<usize>, usize, bool, Option<f64>);

/// How a ciphertext is pickled: by its parameters, its bytes and its layout.
type Reduced<'py> = (Bound<'py, PyAny>, (PyParams, Bound<'py, PyBytes>, PyLayout));

/// What a method returns that Python may hand on to the other operand.
type Maybe = PyResult<Py<PyAny>>;

impl PyCiphertext {
    pub fn new(core: &Arc<Core>, cipher: Cipher, layout: Layout) -> Self {
        Self { core: Arc::clone(core), cipher, layout }
    }

    fn is_exact(&self) -> bool {
        !matches!(self.cipher, Cipher::Ckks(_))
    }

    /// The slots of a vector.
    fn slots_of_vector(&self) -> usize {
        match &self.cipher {
            Cipher::Ckks(ct) => ct.slots(),
            _ => self.core.site.params.slots().unwrap_or(1),
        }
    }

    pub fn physical_batch(&self) -> usize {
        match &self.cipher {
            Cipher::Ckks(ct) => ct.batch(),
            Cipher::Bfv(ct) => ct.batch(),
            Cipher::Bgv(ct) => ct.batch(),
        }
    }

    pub fn ckks(&self) -> Result<&ckks::Ct> {
        match &self.cipher {
            Cipher::Ckks(ct) => Ok(ct),
            _ => Err(Fault::Type(format!(
                "this is for the scheme ckks, and the ciphertext is of {}",
                self.core.site.scheme()
            ))),
        }
    }

    /// Work with Python detached whose result is of this context.
    pub fn run(
        &self,
        py: Python<'_>,
        work: impl FnOnce() -> Result<(Cipher, Layout)> + Send,
    ) -> PyResult<Self> {
        let (cipher, layout) = self.core.site.place.run(py, work)?;
        Ok(Self::new(&self.core, cipher, layout))
    }

    /// An array that is to be encrypted, and its layout.
    fn array<'py>(core: &Core, values: &Bound<'py, PyAny>) -> PyResult<(Array<'py>, Layout)> {
        let Some(slots) = core.site.params.slots() else {
            let text = "arrays of integers of tfhe are encrypted with encrypt_uint";
            return Err(PyTypeError::new_err(text));
        };
        let exact = !matches!(core.site.engine, Engine::Ckks(_));
        let numbers = if exact { Numbers::Exact } else { Numbers::Approximate };
        let array = Array::new(values, numbers, "values")?;
        let layout = Layout::of_array(array.shape(), slots, "values").map_err(Fault::from)?;
        Ok((array, layout))
    }

    fn no_level(level: Option<usize>) -> Result<()> {
        match level {
            None => Ok(()),
            Some(_) => Err(Fault::Value("level is for the scheme ckks".to_owned())),
        }
    }

    pub fn by_public_key(
        key: &PyPublicKey,
        values: &Bound<'_, PyAny>,
        level: Option<usize>,
    ) -> PyResult<Self> {
        let core = &key.core;
        let (py, (array, layout)) = (values.py(), Self::array(core, values)?);
        let values = array.values()?;
        let cipher = core.site.place.run(py, || {
            let rng = &mut rng()?;
            macro_rules! exact {
                ($engine:expr, $variant:ident) => {{
                    Self::no_level(level)?;
                    let plain = exact::encoded($engine, values, &layout)?;
                    Cipher::$variant(
                        core_exact::Encryptor::new(&$engine.params, key.rlwe()?)?.encrypt(&plain, rng)?,
                    )
                }};
            }
            Ok(match &core.site.engine {
                Engine::Ckks(engine) => {
                    let plain = ckks::fresh(engine, values, &layout, level)?;
                    let encryptor = core_ckks::Encryptor::new(&engine.params, key.rlwe()?)?;
                    Cipher::Ckks(encryptor.encrypt(&plain, rng)?)
                }
                Engine::Bfv(engine) => exact!(engine, Bfv),
                Engine::Bgv(engine) => exact!(engine, Bgv),
                Engine::Tfhe(_) => return Err(schemes_differ()),
            })
        })?;
        Ok(Self::new(core, cipher, layout))
    }

    pub fn by_secret_key(
        key: &PySecretKey,
        values: &Bound<'_, PyAny>,
        level: Option<usize>,
    ) -> PyResult<Self> {
        let core = &key.core;
        let (py, (array, layout)) = (values.py(), Self::array(core, values)?);
        let values = array.values()?;
        let cipher = core.site.place.run(py, || {
            let rng = &mut rng()?;
            macro_rules! exact {
                ($engine:expr, $encryptor:expr, $variant:ident) => {{
                    Self::no_level(level)?;
                    let plain = exact::encoded($engine, values, &layout)?;
                    Cipher::$variant($encryptor.encrypt(&plain, rng)?.expand()?)
                }};
            }
            Ok(match (&core.site.engine, key.prepared()?) {
                (Engine::Ckks(engine), Prepared::Ckks(_, encryptor)) => {
                    let plain = ckks::fresh(engine, values, &layout, level)?;
                    Cipher::Ckks(encryptor.encrypt(&plain, rng)?.expand()?)
                }
                (Engine::Bfv(engine), Prepared::Bfv(_, encryptor)) => exact!(engine, encryptor, Bfv),
                (Engine::Bgv(engine), Prepared::Bgv(_, encryptor)) => exact!(engine, encryptor, Bgv),
                _ => return Err(schemes_differ()),
            })
        })?;
        Ok(Self::new(core, cipher, layout))
    }

    pub fn seeded_bytes<'py>(
        key: &PySecretKey,
        values: &Bound<'py, PyAny>,
        level: Option<usize>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let core = &key.core;
        let (py, (array, layout)) = (values.py(), Self::array(core, values)?);
        let values = array.values()?;
        let bytes = core.site.place.run(py, || {
            let rng = &mut rng()?;
            macro_rules! exact {
                ($engine:expr, $encryptor:expr) => {{
                    Self::no_level(level)?;
                    let plain = exact::encoded($engine, values, &layout)?;
                    $encryptor.encrypt(&plain, rng)?.to_bytes(&$engine.params)?
                }};
            }
            Ok(match (&core.site.engine, key.prepared()?) {
                (Engine::Ckks(engine), Prepared::Ckks(_, encryptor)) => {
                    let plain = ckks::fresh(engine, values, &layout, level)?;
                    encryptor.encrypt(&plain, rng)?.to_bytes(&engine.params)?
                }
                (Engine::Bfv(engine), Prepared::Bfv(_, encryptor)) => exact!(engine, encryptor),
                (Engine::Bgv(engine), Prepared::Bgv(_, encryptor)) => exact!(engine, encryptor),
                _ => return Err(schemes_differ()),
            })
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Decrypts into an array of the shape that was encrypted.
    pub fn decrypted<'py>(
        &self,
        py: Python<'py>,
        key: &PySecretKey,
        dtype: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.core.site.check_same(&key.core.site, "secret key")?;
        let (layout, shape) = (self.layout, self.layout.shape());
        /// The values of the rows, without the padding.
        fn packed<T: Copy>(rows: Vec<Vec<T>>, layout: &Layout) -> Vec<T> {
            match layout.entries {
                Some(_) => rows.iter().flat_map(|row| &row[..layout.size]).copied().collect(),
                None => {
                    let mut values = rows.concat();
                    values.truncate(layout.size);
                    values
                }
            }
        }
        fn unknown<'py>(found: &str, known: &str) -> PyResult<Bound<'py, PyAny>> {
            Err(PyValueError::new_err(format!("dtype {found:?}, where {known} is expected")))
        }
        let place = &self.core.site.place;
        match (&self.core.site.engine, &self.cipher) {
            (Engine::Ckks(engine), Cipher::Ckks(ct)) => {
                let plain = || match key.prepared()? {
                    Prepared::Ckks(decryptor, _) => Ok(decryptor.decrypt(ct)?),
                    _ => Err(schemes_differ()),
                };
                let encoder = engine.ev.encoder();
                match dtype.unwrap_or("float64") {
                    "float64" => {
                        let values =
                            place.run(py, || Ok(packed(encoder.decode_real(&plain()?)?, &layout)))?;
                        array_of(py, values, &shape)
                    }
                    "complex128" => {
                        let values = place.run(py, || Ok(packed(encoder.decode(&plain()?)?, &layout)))?;
                        array_of(py, values, &shape)
                    }
                    found => unknown(found, "float64 or complex128"),
                }
            }
            _ => {
                let wide = match dtype.unwrap_or("int64") {
                    "int64" => false,
                    "uint64" => true,
                    found => return unknown(found, "int64 or uint64"),
                };
                macro_rules! values {
                    ($type:ty) => {
                        place.run(py, || {
                            let rows = match (&self.core.site.engine, &self.cipher, key.prepared()?) {
                                (Engine::Bfv(engine), Cipher::Bfv(ct), Prepared::Bfv(decryptor, _)) => {
                                    engine.ev.encoder().decode::<$type>(&decryptor.decrypt(ct)?)?
                                }
                                (Engine::Bgv(engine), Cipher::Bgv(ct), Prepared::Bgv(decryptor, _)) => {
                                    engine.ev.encoder().decode::<$type>(&decryptor.decrypt(ct)?)?
                                }
                                _ => return Err(schemes_differ()),
                            };
                            Ok(packed(rows, &layout))
                        })?
                    };
                }
                match wide {
                    false => array_of(py, values!(i64), &shape),
                    true => array_of(py, values!(u64), &shape),
                }
            }
        }
    }

    /// The bits of noise budget that a decryption measures, for each entry of the batch.
    pub fn noise_budget<'py>(&self, py: Python<'py>, key: &PySecretKey) -> PyResult<Bound<'py, PyAny>> {
        self.core.site.check_same(&key.core.site, "secret key")?;
        let budgets = self.core.site.place.run(py, || match (&self.cipher, key.prepared()?) {
            (Cipher::Bfv(ct), Prepared::Bfv(decryptor, _)) => Ok(decryptor.noise_budget(ct)?),
            (Cipher::Bgv(ct), Prepared::Bgv(decryptor, _)) => Ok(decryptor.noise_budget(ct)?),
            _ => Err(Fault::Type(
                "a noise budget is one of the schemes bfv and bgv; ckks has levels".to_owned(),
            )),
        })?;
        let count = budgets.len();
        array_of(py, budgets, &[count])
    }

    /// `self op other`, or `other op self`; nothing for a type that this package does not know.
    pub fn operated(&self, other: &Bound<'_, PyAny>, op: Op, reversed: bool) -> PyResult<Option<Self>> {
        let py = other.py();
        let made = match Operand::new(other, self.is_exact())? {
            Operand::Other => return Ok(None),
            Operand::Cipher(other) => self.with_cipher(py, other.get(), op)?,
            Operand::Array(array) => self.with_array(py, &array, op)?,
            Operand::Integer(value) => self.with_integer(py, value, op)?,
            Operand::Number(value) => self.with_number(py, value, op)?,
        };
        // c - x is -(x - c).
        Ok(Some(if reversed && op == Op::Sub { made.__neg__(py)? } else { made }))
    }

    /// The same for Python, which asks the other operand if the type is not known.
    fn operate(&self, other: &Bound<'_, PyAny>, op: Op, reversed: bool) -> Maybe {
        let py = other.py();
        match self.operated(other, op, reversed)? {
            Some(made) => Ok(Py::new(py, made)?.into_any()),
            None => Ok(py.NotImplemented()),
        }
    }

    fn with_cipher(&self, py: Python<'_>, other: &Self, op: Op) -> PyResult<Self> {
        self.core.site.check_same(&other.core.site, "right operand")?;
        let alike = self.slots_of_vector() == other.slots_of_vector();
        let layout = self.layout.combined(&other.layout, op, alike).map_err(Fault::from)?;
        self.run(py, || {
            let core = &self.core;
            let cipher = match (&core.site.engine, &self.cipher, &other.cipher) {
                (Engine::Ckks(engine), Cipher::Ckks(a), Cipher::Ckks(b)) => {
                    Cipher::Ckks(ckks::combine(engine, core, op, a, b)?)
                }
                (Engine::Bfv(engine), Cipher::Bfv(a), Cipher::Bfv(b)) => {
                    Cipher::Bfv(exact::combine(engine, core, op, a, b)?)
                }
                (Engine::Bgv(engine), Cipher::Bgv(a), Cipher::Bgv(b)) => {
                    Cipher::Bgv(exact::combine(engine, core, op, a, b)?)
                }
                _ => return Err(schemes_differ()),
            };
            Ok((cipher, layout))
        })
    }

    fn with_array(&self, py: Python<'_>, array: &Array<'_>, op: Op) -> PyResult<Self> {
        let slots = self.core.site.params.slots().unwrap_or(1);
        let plain = Layout::of_array(array.shape(), slots, "operand").map_err(Fault::from)?;
        let layout = self.layout.combined(&plain, op, true).map_err(Fault::from)?;
        let values = array.values()?;
        self.run(py, || {
            let cipher = on_cipher!(self.core, &self.cipher,
                ckks (engine, ct) => ckks::with_array(engine, op, ct, &plain, values),
                exact (engine, ct) => exact::with_array(engine, op, ct, &plain, values))?;
            Ok((cipher, layout))
        })
    }

    fn with_integer(&self, py: Python<'_>, value: i64, op: Op) -> PyResult<Self> {
        let layout = match (self.is_exact(), op) {
            (true, Op::Add | Op::Sub) => self.layout,
            _ => self.layout.with_scalar(value as f64, op),
        };
        self.run(py, || {
            let cipher = on_cipher!(self.core, &self.cipher,
                ckks (engine, ct) => match op {
                    Op::Mul => Ok(engine.ev.mul_integer(ct, value)?),
                    op => ckks::with_number(engine, op, ct, Complex64::new(value as f64, 0.0)),
                },
                exact (engine, ct) => exact::with_number(engine, op, ct, &layout, value))?;
            Ok((cipher, layout))
        })
    }

    fn with_number(&self, py: Python<'_>, value: Complex64, op: Op) -> PyResult<Self> {
        let layout = match value.im == 0.0 {
            true => self.layout.with_scalar(value.re, op),
            false => self.layout.unknown(),
        };
        self.run(py, || {
            let engine = self.core.site.ckks()?;
            Ok((Cipher::Ckks(ckks::with_number(engine, op, self.ckks()?, value)?), layout))
        })
    }

    /// The ciphertext of a frame, which is expanded if it is a seeded one.
    fn of_frame(core: &Core, frame: &Frame, key_set: Option<KeySetId>) -> Result<Cipher> {
        macro_rules! read {
            ($engine:expr, $variant:ident, $module:ident, $seeded:ident) => {{
                let mut ct = if frame.kind == FrameKind::$seeded {
                    $module::SeededCiphertext::from_frame(&$engine.params, &$engine.ring, frame)?.expand()?
                } else {
                    $module::Ciphertext::from_frame(&$engine.params, &$engine.ring, frame)?
                };
                ct.set_key_set(key_set);
                Cipher::$variant(ct)
            }};
        }
        Ok(match &core.site.engine {
            Engine::Ckks(engine) => read!(engine, Ckks, core_ckks, CkksSeededCiphertext),
            Engine::Bfv(engine) => read!(engine, Bfv, core_exact, BfvSeededCiphertext),
            Engine::Bgv(engine) => read!(engine, Bgv, core_exact, BgvSeededCiphertext),
            Engine::Tfhe(_) => {
                return Err(Fault::Type("integers of tfhe are of the type he.EncryptedUint".to_owned()));
            }
        })
    }

    /// A ciphertext from its bytes. Checksums are not computed for bytes that were verified before;
    /// everything else is checked as ever.
    pub fn read(core: &Arc<Core>, bytes: &[u8], shape: Option<Vec<usize>>, verified: bool) -> Result<Self> {
        let fingerprint = he_core::rlwe::Fingerprint(core.site.params.fingerprint());
        let all = bytes.len() as u64;
        let cut = |error| match error {
            WireError::Length { found, .. } if found > all => WireError::Truncated,
            error => error,
        };
        let mut reader = FrameReader::new(bytes);
        let (mut key_set, mut cipher, mut first) = (None, None, true);
        while let Some(sealed) = reader.next_sealed(|_, _| all).map_err(cut)? {
            let opened;
            let frame = if verified {
                sealed.unverified()
            } else {
                opened = sealed.open()?;
                &opened
            };
            if first && frame.kind == FrameKind::KeySet {
                key_set = Some(KeySetId::from_frame(fingerprint, frame)?);
            } else if cipher.replace(Self::of_frame(core, frame, key_set)?).is_some() {
                return Err(WireError::Sequence.into());
            }
            first = false;
        }
        Self::shaped(core, cipher.ok_or(WireError::Sequence)?, shape)
    }

    /// The ciphertext of a frame of an encrypted file: all slots.
    pub fn of_file(core: &Arc<Core>, frame: &Frame, key_set: Option<KeySetId>) -> Result<Self> {
        Self::shaped(core, Self::of_frame(core, frame, key_set)?, None)
    }

    fn shaped(core: &Arc<Core>, cipher: Cipher, shape: Option<Vec<usize>>) -> Result<Self> {
        let mut ct = Self::new(core, cipher, Layout::total(None));
        ct.layout = ct.layout_of(shape)?;
        Ok(ct)
    }

    /// The same with the layout that it had.
    fn read_with_layout(core: &Arc<Core>, bytes: &[u8], layout: PyLayout, verified: bool) -> Result<Self> {
        let mut ct = Self::read(core, bytes, None, verified)?;
        let (slots, batch) = (ct.slots_of_vector(), ct.physical_batch());
        let (entries, size, splat, padding) = layout;
        let layout = Layout { entries, size, splat, padding: padding.filter(|x| x.is_finite()) };
        let fits = size > 0 && (entries.is_none() || size <= slots) && (!splat || size == 1);
        if !fits || layout.batch(slots) != batch {
            return Err(Fault::Value(format!(
                "a layout of the shape {} for a batch of {batch} vectors of {slots} slots",
                shown(&layout.shape())
            )));
        }
        ct.layout = layout;
        Ok(ct)
    }

    fn py_layout(&self) -> PyLayout {
        let Layout { entries, size, splat, padding } = self.layout;
        (entries, size, splat, padding)
    }

    pub fn key_set(&self) -> Option<KeySetId> {
        match &self.cipher {
            Cipher::Ckks(ct) => ct.key_set(),
            Cipher::Bfv(ct) => ct.key_set(),
            Cipher::Bgv(ct) => ct.key_set(),
        }
    }

    /// The layout of a shape that is given, or that of all slots.
    fn layout_of(&self, shape: Option<Vec<usize>>) -> Result<Layout> {
        let (slots, batch) = (self.slots_of_vector(), self.physical_batch());
        let Some(shape) = shape else {
            let (entries, size) = if batch == 1 { (None, slots) } else { (Some(batch), slots) };
            return Ok(Layout { entries, size, splat: false, padding: None });
        };
        let layout = match *shape {
            [] => Layout::total(None),
            // One value per row: what a sum over rows leaves.
            [rows] if rows == batch && rows > rows.div_ceil(slots) => Layout::total(Some(rows)),
            _ => Layout::of_array(&shape, slots, "shape")?.unknown(),
        };
        if layout.batch(slots) != batch {
            return Err(Fault::Value(format!(
                "shape {} for a batch of {batch} vectors of {slots} slots",
                shown(&shape)
            )));
        }
        Ok(layout)
    }

    fn bytes(&self) -> Result<Vec<u8>> {
        Ok(match (&self.core.site.engine, &self.cipher) {
            (Engine::Ckks(engine), Cipher::Ckks(ct)) => ct.to_bytes(&engine.params)?,
            (Engine::Bfv(engine), Cipher::Bfv(ct)) => ct.to_bytes(&engine.params)?,
            (Engine::Bgv(engine), Cipher::Bgv(ct)) => ct.to_bytes(&engine.params)?,
            _ => return Err(schemes_differ()),
        })
    }

    /// Some entries of the batch.
    fn entries(&self, range: std::ops::Range<usize>, layout: Layout) -> Result<(Cipher, Layout)> {
        let cipher = match &self.cipher {
            Cipher::Ckks(ct) => Cipher::Ckks(ct.slice_batch(range)?),
            Cipher::Bfv(ct) => Cipher::Bfv(ct.slice_batch(range)?),
            Cipher::Bgv(ct) => Cipher::Bgv(ct.slice_batch(range)?),
        };
        Ok((cipher, layout))
    }

    /// A rotation of all vectors.
    fn rotated(&self, step: i64) -> Result<Cipher> {
        let keys = self.core.switching()?;
        on_cipher!(self.core, &self.cipher, (engine, ct) => Ok::<_, Fault>(engine.ev.rotate(ct, step, keys.get()?)?))
    }

    /// The values from `start` to `end` of a column or of each row.
    fn part(&self, py: Python<'_>, start: usize, end: usize) -> PyResult<Self> {
        if start == 0 && end == self.layout.size {
            return self.run(py, || self.entries(0..self.physical_batch(), self.layout));
        }
        if self.layout.entries.is_none() && self.physical_batch() > 1 {
            let text = "a column over several ciphertexts has no slices; encrypt it as rows of a batch";
            return Err(PyValueError::new_err(text));
        }
        let row = self.slots_of_vector() / 2;
        if self.is_exact() && self.layout.size > row {
            return Err(PyValueError::new_err(format!(
                "{} values have no slices: the slots of {} are two rows of {row}, which rotate apart",
                self.layout.size,
                self.core.site.scheme()
            )));
        }
        let layout = self.layout.part(end - start);
        self.run(py, || match start {
            0 => self.entries(0..self.physical_batch(), layout),
            start => Ok((self.rotated(start as i64)?, layout)),
        })
    }

    fn check_keys_of_sums(&self, axis: Option<i64>) -> Result<Axis> {
        Axis::new(axis, &self.layout)
    }

    /// A power by repeated squaring.
    fn power(&self, py: Python<'_>, exponent: u32) -> PyResult<Self> {
        let mut result: Option<Self> = None;
        let mut square = self.run(py, || self.entries(0..self.physical_batch(), self.layout))?;
        let mut rest = exponent;
        loop {
            if rest & 1 == 1 {
                result = Some(match &result {
                    None => square.run(py, || square.entries(0..square.physical_batch(), square.layout))?,
                    Some(result) => result.with_cipher(py, &square, Op::Mul)?,
                });
            }
            rest >>= 1;
            if rest == 0 {
                break;
            }
            py.check_signals()?;
            square = square.with_cipher(py, &square, Op::Mul)?;
        }
        result.ok_or_else(|| PyValueError::new_err("a power of 0 is 1, which needs no ciphertext"))
    }
}

#[pymethods]
impl PyCiphertext {
    /// NumPy leaves operations with its arrays to this class.
    #[classattr]
    #[pyo3(name = "__array_ufunc__")]
    fn no_ufuncs() -> Option<bool> {
        None
    }

    /// A ciphertext from the bytes of `to_bytes` or of ``SecretKey.encrypt_to_bytes``.
    ///
    /// Parameters
    /// ----------
    /// context : Context
    ///     A context of the same parameters.
    /// data : bytes-like
    ///     The bytes.
    /// shape : sequence of int, optional
    ///     The shape of the array; by default all slots.
    /// verified : bool
    ///     Whether the checksum was verified before, by whoever distributes the bytes: it is not
    ///     computed again then. Everything else is checked as ever.
    #[classmethod]
    #[pyo3(signature = (context, data, *, shape = None, verified = false))]
    fn from_bytes(
        _class: &Bound<'_, PyType>,
        context: &PyContext,
        data: &Bound<'_, PyAny>,
        shape: Option<Vec<usize>>,
        verified: bool,
    ) -> PyResult<Self> {
        let (core, bytes) = (&context.0, Bytes::new(data, "data")?);
        let bytes = bytes.as_slice();
        core.site.place.run(data.py(), || Self::read(core, bytes, shape, verified))
    }

    /// The ciphertext as bytes, without its shape, which a pickle also holds.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.core.site.place.run(py, || self.bytes())?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The context.
    #[getter]
    fn context(&self) -> PyContext {
        PyContext(Arc::clone(&self.core))
    }

    /// The identity of the key set that it belongs to, if it is known.
    #[getter(key_set)]
    fn key_set_name(&self) -> Option<String> {
        self.key_set().map(|id| id.to_string())
    }

    /// What pickles and files keep beside the bytes.
    #[getter(_layout)]
    fn layout_getter(&self) -> PyLayout {
        self.py_layout()
    }

    /// ``ckks``, ``bfv`` or ``bgv``.
    #[getter]
    fn scheme(&self) -> &'static str {
        self.core.site.scheme()
    }

    /// The shape of the encrypted array.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.layout.shape())
    }

    /// The number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.layout.shape().len()
    }

    /// The number of vectors of slots.
    #[getter]
    fn batch(&self) -> usize {
        self.physical_batch()
    }

    /// The slots of each vector.
    #[getter]
    fn slots(&self) -> usize {
        self.slots_of_vector()
    }

    /// The level: under CKKS the products that are left.
    #[getter]
    fn level(&self) -> usize {
        match &self.cipher {
            Cipher::Ckks(ct) => ct.level(),
            Cipher::Bfv(ct) => ct.level(),
            Cipher::Bgv(ct) => ct.level(),
        }
    }

    fn __len__(&self) -> PyResult<usize> {
        let shape = self.layout.shape();
        shape.first().copied().ok_or_else(|| PyTypeError::new_err("a ciphertext of one value has no length"))
    }

    fn __getitem__(&self, index: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = index.py();
        let range = |index: &Bound<'_, PyAny>, length: usize| -> PyResult<(usize, usize, bool)> {
            if let Ok(slice) = index.cast::<PySlice>() {
                let found = slice.indices(length as isize)?;
                if found.step != 1 {
                    return Err(PyValueError::new_err(format!(
                        "a slice of step {}; 1 is possible",
                        found.step
                    )));
                }
                if found.stop <= found.start {
                    return Err(PyIndexError::new_err("an empty slice"));
                }
                return Ok((found.start as usize, found.stop as usize, false));
            }
            let at: isize = index.extract()?;
            let place = if at < 0 { at + length as isize } else { at };
            if !(0..length as isize).contains(&place) {
                return Err(PyIndexError::new_err(format!("index {at} of {length}")));
            }
            Ok((place as usize, place as usize + 1, true))
        };
        let slots_part = |ct: &Self, index: &Bound<'_, PyAny>| {
            if ct.layout.splat {
                return Err(PyIndexError::new_err("too many indices"));
            }
            let (start, end, _) = range(index, ct.layout.size)?;
            ct.part(py, start, end)
        };
        let (first, second) = match index.cast::<PyTuple>() {
            Ok(indices) if indices.len() == 2 && self.layout.entries.is_some() => {
                (indices.get_item(0)?, Some(indices.get_item(1)?))
            }
            Ok(indices) if indices.len() == 1 => (indices.get_item(0)?, None),
            Ok(indices) => {
                return Err(PyIndexError::new_err(format!(
                    "{} indices for a ciphertext of shape {}",
                    indices.len(),
                    shown(&self.layout.shape())
                )));
            }
            Err(_) => (index.clone(), None),
        };
        let Some(entries) = self.layout.entries else { return slots_part(self, &first) };
        let (start, end, single) = range(&first, entries)?;
        let kept = (!single).then_some(end - start);
        let batch = self.physical_batch();
        let layout = Layout { entries: kept, ..self.layout };
        // One entry may stand for all.
        let found = if batch == 1 { 0..1 } else { start..end };
        let rows = self.run(py, || self.entries(found, layout))?;
        match second {
            None => Ok(rows),
            Some(second) => slots_part(&rows, &second),
        }
    }

    fn __add__(&self, other: &Bound<'_, PyAny>) -> Maybe {
        self.operate(other, Op::Add, false)
    }

    fn __radd__(&self, other: &Bound<'_, PyAny>) -> Maybe {
        self.operate(other, Op::Add, true)
    }

    fn __sub__(&self, other: &Bound<'_, PyAny>) -> Maybe {
        self.operate(other, Op::Sub, false)
    }

    fn __rsub__(&self, other: &Bound<'_, PyAny>) -> Maybe {
        self.operate(other, Op::Sub, true)
    }

    fn __mul__(&self, other: &Bound<'_, PyAny>) -> Maybe {
        self.operate(other, Op::Mul, false)
    }

    fn __rmul__(&self, other: &Bound<'_, PyAny>) -> Maybe {
        self.operate(other, Op::Mul, true)
    }

    fn __truediv__(&self, other: &Bound<'_, PyAny>) -> Maybe {
        let py = other.py();
        if self.is_exact() {
            return Err(PyTypeError::new_err("integers modulo t are not divided"));
        }
        let inverse = match Operand::new(other, false)? {
            Operand::Integer(value) => Complex64::new(value as f64, 0.0).inv(),
            Operand::Number(value) => value.inv(),
            Operand::Array(_) => {
                let one = 1.0f64.into_pyobject(py)?;
                return self.operate(&one.into_any().div(other)?, Op::Mul, false);
            }
            Operand::Cipher(_) => {
                return Err(PyTypeError::new_err(
                    "a quotient of two ciphertexts; multiply by he.Function.inverse of the divisor",
                ));
            }
            Operand::Other => return Ok(py.NotImplemented()),
        };
        if !inverse.is_finite() {
            return Err(pyo3::exceptions::PyZeroDivisionError::new_err("division by zero"));
        }
        Ok(Py::new(py, self.with_number(py, inverse, Op::Mul)?)?.into_any())
    }

    pub fn __neg__(&self, py: Python<'_>) -> PyResult<Self> {
        let layout = self.layout.with_scalar(-1.0, Op::Mul);
        self.run(py, || {
            let cipher =
                on_cipher!(self.core, &self.cipher, (engine, ct) => Ok::<_, Fault>(engine.ev.neg(ct)?))?;
            Ok((cipher, layout))
        })
    }

    fn __pos__(&self, py: Python<'_>) -> PyResult<Self> {
        self.run(py, || self.entries(0..self.physical_batch(), self.layout))
    }

    fn __pow__(&self, exponent: u32, modulo: Option<&Bound<'_, PyAny>>, py: Python<'_>) -> PyResult<Self> {
        match modulo {
            None => self.power(py, exponent),
            Some(_) => Err(PyTypeError::new_err("a power has no modulus here")),
        }
    }

    fn __matmul__(&self, other: &Bound<'_, PyAny>) -> Maybe {
        let py = other.py();
        let made = match Operand::new(other, self.is_exact())? {
            Operand::Cipher(other) => self.inner_product(py, other.get())?,
            Operand::Array(array) => self.times_matrix(py, &array)?,
            _ => return Ok(py.NotImplemented()),
        };
        Ok(Py::new(py, made)?.into_any())
    }

    fn __rmatmul__(&self, other: &Bound<'_, PyAny>) -> Maybe {
        let py = other.py();
        let Operand::Array(array) = Operand::new(other, self.is_exact())? else {
            return Ok(py.NotImplemented());
        };
        if array.shape().len() == 1 {
            return Ok(Py::new(py, self.times_matrix(py, &array)?)?.into_any());
        }
        if self.layout.entries.is_some() {
            let text = "a matrix times a batch of rows; multiply from the right, by the transposed matrix";
            return Err(PyValueError::new_err(text));
        }
        let transposed = py.import("numpy")?.getattr("transpose")?.call1((other,))?;
        let array = Array::new(&transposed, Numbers::Real, "matrix")?;
        Ok(Py::new(py, self.times_matrix(py, &array)?)?.into_any())
    }

    fn __gt__(&self, other: &Bound<'_, PyAny>) -> Maybe {
        self.compared(other, false)
    }

    fn __lt__(&self, other: &Bound<'_, PyAny>) -> Maybe {
        self.compared(other, true)
    }

    /// Rotate every vector to the left by `step` slots, cyclically over all its slots.
    fn rotate(&self, step: i64, py: Python<'_>) -> PyResult<Self> {
        let layout = match self.layout.is_padded(self.slots_of_vector()) {
            true => self.layout.unknown(),
            false => self.layout,
        };
        self.run(py, || Ok((self.rotated(step)?, layout)))
    }

    /// Exchange the two rows of slots of BFV and BGV.
    fn swap_rows(&self, py: Python<'_>) -> PyResult<Self> {
        self.run(py, || {
            let keys = self.core.switching()?;
            let cipher = on_cipher!(self.core, &self.cipher,
                ckks (_engine, _ct) => Err::<ckks::Ct, _>(Fault::Type("ckks has one row of slots".to_owned())),
                exact (engine, ct) => Ok::<_, Fault>(engine.ev.swap_rows(ct, keys.get()?)?))?;
            Ok((cipher, self.layout.unknown()))
        })
    }

    /// Conjugate complex values.
    fn conjugate(&self, py: Python<'_>) -> PyResult<Self> {
        self.run(py, || {
            let (engine, keys) = (self.core.site.ckks()?, self.core.switching()?);
            Ok((Cipher::Ckks(engine.ev.conjugate(self.ckks()?, keys.get()?)?), self.layout))
        })
    }

    /// The sum along an axis, by default the last. It takes no level, unless slots after the values
    /// hold something unknown, such as after a function or a slice: masking them takes one.
    #[pyo3(signature = (axis = None))]
    fn sum(&self, axis: Option<i64>, py: Python<'_>) -> PyResult<Self> {
        let axis = self.check_keys_of_sums(axis)?;
        self.run(py, || {
            let keys = self.core.switching()?;
            let keys = keys.get()?;
            on_cipher!(self.core, &self.cipher,
                ckks (engine, ct) => ckks::sum(engine, keys, ct, &self.layout, axis),
                exact (engine, ct) => exact::sum(engine, keys, ct, &self.layout, axis))
        })
    }

    /// The mean along an axis, by default the last, which takes one level (CKKS).
    #[pyo3(signature = (axis = None))]
    fn mean(&self, axis: Option<i64>, py: Python<'_>) -> PyResult<Self> {
        let axis = Axis::new(axis, &self.layout)?;
        self.run(py, || {
            let (engine, keys) = (self.core.site.ckks()?, self.core.switching()?);
            let (ct, layout) = ckks::mean(engine, keys.get()?, self.ckks()?, &self.layout, axis)?;
            Ok((Cipher::Ckks(ct), layout))
        })
    }

    /// The variance of a population along an axis, which takes two levels (CKKS).
    #[pyo3(signature = (axis = None))]
    fn var(&self, axis: Option<i64>, py: Python<'_>) -> PyResult<Self> {
        let axis = Axis::new(axis, &self.layout)?;
        self.run(py, || {
            let (engine, keys) = (self.core.site.ckks()?, self.core.switching()?);
            let (ct, layout) = ckks::variance(engine, keys.get()?, self.ckks()?, &self.layout, axis)?;
            Ok((Cipher::Ckks(ct), layout))
        })
    }

    /// The inner product with a ciphertext or a plain vector, or the product with a plain matrix.
    fn dot(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        match Operand::new(other, self.is_exact())? {
            Operand::Cipher(cipher) => self.inner_product(other.py(), cipher.get()),
            Operand::Array(array) => self.times_matrix(other.py(), &array),
            _ => Err(PyTypeError::new_err("dot takes a ciphertext or an array")),
        }
    }

    /// A polynomial of every value (CKKS).
    ///
    /// Parameters
    /// ----------
    /// coefficients : sequence of float
    ///     The coefficients, that of the lowest degree first.
    /// interval : (float, float), optional
    ///     The domain of a Chebyshev series; without one, coefficients are those of powers.
    #[pyo3(signature = (coefficients, interval = None))]
    fn polynomial(
        &self,
        coefficients: Vec<f64>,
        interval: Option<(f64, f64)>,
        py: Python<'_>,
    ) -> PyResult<Self> {
        self.run(py, || {
            let polynomial = match interval {
                None => Polynomial::power(&coefficients)?,
                Some((a, b)) => Polynomial::chebyshev(&coefficients, a, b)?,
            };
            let (ct, layout) = ckks::polynomial(&self.core, &polynomial, self.ckks()?, &self.layout)?;
            Ok((Cipher::Ckks(ct), layout))
        })
    }

    /// A function of every value, or of pairs of values, with refreshes if the context can do them.
    #[pyo3(signature = (function, other = None))]
    fn apply(&self, function: &PyFunction, other: Option<&Self>, py: Python<'_>) -> PyResult<Self> {
        function.applied(py, self, other)
    }

    /// New levels, by bootstrapping (CKKS); values must be at most one in magnitude.
    fn refresh(&self, py: Python<'_>) -> PyResult<Self> {
        self.run(py, || Ok((Cipher::Ckks(ckks::refreshed(&self.core, self.ckks()?)?), self.layout)))
    }

    /// The same values on a lower level, where everything is faster and smaller.
    fn drop_to_level(&self, level: usize, py: Python<'_>) -> PyResult<Self> {
        self.run(py, || {
            let cipher = on_cipher!(self.core, &self.cipher, (engine, ct) => Ok::<_, Fault>(engine.ev.mod_switch_to(ct, level)?))?;
            Ok((cipher, self.layout))
        })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let read = py.import("he._he")?.getattr("_ciphertext")?;
        let params = PyParams(self.core.site.params.clone());
        Ok((read, (params, self.to_bytes(py)?, self.py_layout())))
    }

    fn __repr__(&self) -> String {
        let device = self.core.site.place.name();
        format!(
            "<he.Ciphertext: {} of shape {}, level {}, on {device}>",
            self.scheme(),
            shown(&self.layout.shape()),
            self.level()
        )
    }
}

impl PyCiphertext {
    fn inner_product(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        self.core.site.check_same(&other.core.site, "right operand")?;
        if self.is_exact() {
            return self.with_cipher(py, other, Op::Mul)?.sum(None, py);
        }
        self.run(py, || {
            let (engine, keys) = (self.core.site.ckks()?, self.core.switching()?);
            let (a, b) = ((self.ckks()?, &self.layout), (other.ckks()?, &other.layout));
            let (ct, layout) = ckks::dot(engine, keys.get()?, a, b)?;
            Ok((Cipher::Ckks(ct), layout))
        })
    }

    fn times_matrix(&self, py: Python<'_>, array: &Array<'_>) -> PyResult<Self> {
        if let &[_] = array.shape() {
            if self.is_exact() {
                return self.with_array(py, array, Op::Mul)?.sum(None, py);
            }
            let (values, plain) = (
                array.values()?,
                Layout::of_array(array.shape(), usize::MAX, "weights").map_err(Fault::from)?,
            );
            return self.run(py, || {
                let (engine, keys) = (self.core.site.ckks()?, self.core.switching()?);
                let ct = (self.ckks()?, &self.layout);
                let (ct, layout) = ckks::dot_plain(engine, keys.get()?, ct, (values, &plain))?;
                Ok((Cipher::Ckks(ct), layout))
            });
        }
        let &[_, columns] = array.shape() else {
            return Err(PyValueError::new_err(format!("a matrix of shape {}", shown(array.shape()))));
        };
        let Values::Real(values) = array.values()? else {
            return Err(PyTypeError::new_err(
                "products with matrices are for the scheme ckks and real numbers",
            ));
        };
        self.run(py, || {
            let (engine, keys) = (self.core.site.ckks()?, self.core.switching()?);
            let ct = (self.ckks()?, &self.layout);
            let (ct, layout) = ckks::matmul(engine, keys.get()?, ct, values, columns)?;
            Ok((Cipher::Ckks(ct), layout))
        })
    }

    /// 1 where this is greater, or smaller, than the other.
    fn compared(&self, other: &Bound<'_, PyAny>, smaller: bool) -> Maybe {
        let py = other.py();
        let Some(difference) = self.operated(other, Op::Sub, smaller)? else {
            return Ok(py.NotImplemented());
        };
        let step = PyFunction::default_step(py)?;
        Ok(Py::new(py, step.applied(py, &difference, None)?)?.into_any())
    }
}

/// A ciphertext from its pickled form.
#[pyfunction]
#[pyo3(name = "_ciphertext")]
pub fn unpickled(params: &PyParams, data: &Bound<'_, PyBytes>, layout: PyLayout) -> PyResult<PyCiphertext> {
    let (params, bytes) = (params.0.clone(), data.as_bytes());
    detached(data.py(), || PyCiphertext::read_with_layout(&Core::for_pickled(params)?, bytes, layout, false))
}

/// A ciphertext with its layout, in a given context.
#[pyfunction]
#[pyo3(name = "_decode")]
pub fn decode(
    context: &PyContext,
    data: &Bound<'_, PyAny>,
    layout: PyLayout,
    verified: bool,
) -> PyResult<PyCiphertext> {
    let (core, bytes) = (&context.0, Bytes::new(data, "data")?);
    let bytes = bytes.as_slice();
    core.site.place.run(data.py(), || PyCiphertext::read_with_layout(core, bytes, layout, verified))
}

/// Puts the rows of several batches into one.
#[pyfunction]
#[pyo3(signature = (ciphertexts))]
pub fn stack(ciphertexts: Vec<Bound<'_, PyCiphertext>>, py: Python<'_>) -> PyResult<PyCiphertext> {
    let Some(first) = ciphertexts.first() else {
        return Err(PyValueError::new_err("no ciphertexts to stack"));
    };
    let first = first.get();
    let parts: Vec<&PyCiphertext> = ciphertexts.iter().map(Bound::get).collect();
    let mut padding = first.layout.padding;
    for part in &parts {
        first.core.site.check_same(&part.core.site, "ciphertext")?;
        if part.layout.size != first.layout.size || part.layout.splat != first.layout.splat {
            let (a, b) = (shown(&first.layout.shape()), shown(&part.layout.shape()));
            return Err(PyValueError::new_err(format!("ciphertexts of the shapes {a} and {b} do not stack")));
        }
        if part.layout.entries.is_none() && part.physical_batch() > 1 {
            return Err(PyValueError::new_err("columns over several ciphertexts do not stack"));
        }
        if part.layout.padding != padding {
            padding = None;
        }
    }
    let entries = Some(parts.iter().map(|part| part.physical_batch()).sum());
    let layout = Layout { entries, padding, ..first.layout };
    macro_rules! joined {
        ($variant:ident, $type:path) => {{
            let parts = parts.iter().map(|part| match &part.cipher {
                Cipher::$variant(ct) => Ok(ct),
                _ => Err(schemes_differ()),
            });
            Cipher::$variant(<$type>::concat(&parts.collect::<Result<Vec<_>>>()?)?)
        }};
    }
    first.run(py, || {
        Ok((
            match first.cipher {
                Cipher::Ckks(_) => joined!(Ckks, ckks::Ct),
                Cipher::Bfv(_) => joined!(Bfv, exact::Ct<he_core::bfv::Bfv>),
                Cipher::Bgv(_) => joined!(Bgv, exact::Ct<he_core::bgv::Bgv>),
            },
            layout,
        ))
    })
}
