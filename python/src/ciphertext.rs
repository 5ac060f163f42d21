//! Encrypted arrays.

use crate::arrays::{Array, Bytes, Numbers, array_of};
use crate::context::{Core, PyContext, SwitchingKeys};
use crate::error::{Fault, Result};
use crate::interrupt::{self, Interruptible};
use crate::keys::{PyKeys, PyPublicKey, PySecretKey};
use crate::params::PyParams;
use crate::run::detached;
use he::Device;
use he_any::arrays::{self, Values};
use he_any::layout::{Bounds, Dim, Layout, Op, Packing, shown};
use he_any::rlwe::{self, Cipher, Plain};
use he_core::KeySetId;
use he_core::circuits::ckks::{NeverRefresh, Polynomial};
use he_core::ckks::Ciphertext;
use he_core::num_complex::Complex64;
use he_core::wire::{Frame, FrameKind, FrameReader, FrameWriter, WireError};
use he_files::scheme::engine::rng;
use numpy::PyUntypedArray;
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyComplex, PyDict, PyFloat, PyInt, PyList, PyTuple, PyType};
use rand::rngs::ChaCha20Rng;
use std::sync::Arc;

/// Something that stands beside a ciphertext in an operation.
pub enum Operand<'py> {
    Cipher(Bound<'py, PyCiphertext>),
    Integer(i64),
    Number(Complex64),
    Array(Array<'py>),
    /// Nothing that this package knows: Python asks the other side.
    Other,
}

impl<'py> Operand<'py> {
    pub fn new(value: &Bound<'py, PyAny>, exact: bool) -> PyResult<Self> {
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
/// ``x > y``, ``x <= y`` 1 where it holds and 0 where it does not, for numbers in [-1, 1] that
///                       differ by 1/32 at least: ``(x - y).apply(Function.step(2))`` (CKKS).
/// ``x[a:b]``, ``x[i]``  Slices and indices, which rotate the values of a column or of rows.
/// ===================== ==========================================================================
///
/// Shapes broadcast as those of NumPy. Every expression of NumPy either means what NumPy means, or
/// raises an error.
///
/// Every array has public bounds of its values, which results compute with: what may leave the
/// range of a ciphertext is refused. Bounds of an array that is encrypted are those that
/// ``encrypt(..., bound=...)`` states, or its own, rounded to one of eight steps per power of two:
/// they tell about as much of the greatest magnitude, and whether there are negative and positive
/// values. Nothing is checked where bounds are not known, as of bytes from elsewhere.
#[pyclass(frozen, module = "he", name = "Ciphertext")]
pub struct PyCiphertext {
    pub core: Arc<Core>,
    pub cipher: Cipher,
    pub layout: Layout,
}

/// A layout in Python: the rows of a batch, the values of each, whether all slots hold the same,
/// and the padding.
type PyLayout = (Option<usize>, usize, bool, Option<f64>);

/// How a ciphertext is pickled: by its parameters and its bytes.
type Reduced<'py> = (Bound<'py, PyAny>, (PyParams, Bound<'py, PyBytes>));

/// The public bounds of an array that is encrypted.
#[derive(Clone, Copy, Default)]
pub struct EncryptOptions<'a> {
    /// CKKS: the level of the ciphertext.
    pub level: Option<usize>,
    /// A public bound of magnitudes.
    pub bound: Option<f64>,
    /// Whether a row or a column lies in each ciphertext.
    pub layout: Option<&'a str>,
}

impl EncryptOptions<'_> {
    /// The level, which CKKS alone has.
    fn level_of(&self, engine: &rlwe::Engine) -> Result<Option<usize>> {
        match self.level {
            Some(_) if engine.is_exact() => Err(Fault::Value("level is for the scheme ckks".to_owned())),
            level => Ok(level),
        }
    }
}

/// The bytes of a ciphertext with a frame in front that describes its array.
fn described(core: &Core, layout: &Layout, bytes: &[u8]) -> Result<Vec<u8>> {
    let fingerprint = core.site.params.fingerprint();
    let all = bytes.len() as u64;
    let mut writer = FrameWriter::new(Vec::with_capacity(bytes.len() + 512));
    writer.write(&Frame::attachment(fingerprint, layout.to_json())?)?;
    let mut reader = FrameReader::new(bytes);
    while let Some(sealed) = reader.next_sealed(|_, _| all)? {
        writer.write_sealed(&sealed)?;
    }
    Ok(writer.finish(fingerprint)?)
}

/// The result of a method that Python may hand on to the other operand.
pub type Maybe = PyResult<Py<PyAny>>;

impl PyCiphertext {
    pub fn new(core: &Arc<Core>, cipher: Cipher, layout: Layout) -> Self {
        Self { core: Arc::clone(core), cipher, layout }
    }

    pub fn is_exact(&self) -> bool {
        self.cipher.is_exact()
    }

    /// The slots of a vector.
    pub fn slots_of_vector(&self) -> usize {
        self.cipher.slots()
    }

    pub fn physical_batch(&self) -> usize {
        self.cipher.batch()
    }

    /// The engine of its scheme.
    pub fn engine(&self) -> Result<&rlwe::Engine> {
        self.core.site.rlwe()
    }

    pub fn ckks(&self) -> Result<&Ciphertext<Device>> {
        self.cipher.ckks().ok_or_else(|| {
            Fault::Type(format!(
                "this is for the scheme ckks, and the ciphertext is of {}",
                self.core.site.scheme()
            ))
        })
    }

    /// The evaluation keys of its key set.
    pub fn switching(&self) -> Result<SwitchingKeys> {
        self.core.switching(self.key_set())
    }

    /// Work with Python detached whose result is of this context, and within its range.
    pub fn run(
        &self,
        py: Python<'_>,
        work: impl FnOnce() -> Result<(Cipher, Layout)> + Send,
    ) -> PyResult<Self> {
        let (cipher, layout) = self.core.site.place.run(py, work)?;
        Self::new(&self.core, cipher, layout).held()
    }

    /// The same, if its values are within the range of a ciphertext.
    pub fn held(self) -> PyResult<Self> {
        arrays::check(self.engine()?, &self.cipher, &self.layout).map_err(Fault::from)?;
        Ok(self)
    }

    /// The same values in another layout.
    pub fn with_layout(&self, py: Python<'_>, layout: Layout) -> PyResult<Self> {
        self.run(py, || self.entries(0..self.physical_batch(), layout))
    }

    /// The array with one value of each entry in all of its slots, if another of this layout has
    /// values beside it.
    fn beside(&self, py: Python<'_>, other: &Layout) -> PyResult<Option<Self>> {
        if !self.layout.is_first() || other.splat || other.size == 1 {
            return Ok(None);
        }
        let made = self.run(py, || {
            let keys = self.switching()?;
            Ok(arrays::spread(self.engine()?, keys.get()?, &self.cipher, &self.layout)?)
        })?;
        Ok(Some(made))
    }

    /// An array that is to be encrypted, and its layout.
    fn array<'py>(
        core: &Core,
        values: &Bound<'py, PyAny>,
        options: &EncryptOptions<'_>,
    ) -> PyResult<(Array<'py>, Layout)> {
        let Some(slots) = core.site.params.slots() else {
            let text = "arrays of integers of tfhe are encrypted with encrypt_uint";
            return Err(PyTypeError::new_err(text));
        };
        let exact = core.site.engine.is_exact();
        let numbers = if exact { Numbers::Exact } else { Numbers::Approximate };
        let array = Array::new(values, numbers, "values")?;
        let packing = match options.layout {
            None => Packing::Auto,
            Some("rows") => Packing::Rows,
            Some("columns") => Packing::Columns,
            Some(found) => {
                let text = format!("layout {found:?}, where \"rows\" or \"columns\" is expected");
                return Err(PyValueError::new_err(text));
            }
        };
        let layout = Layout::of_array(array.shape(), slots, packing, "values").map_err(Fault::from)?;
        let given = array.values()?;
        let bounds = match options.bound {
            None => given.public_bounds(),
            Some(bound) => {
                let found = given.exact_bounds();
                if found.is_some_and(|found| found.magnitude() > bound) || bound.is_nan() || bound < 0.0 {
                    let text = format!("values beyond the bound of {bound} that is stated");
                    return Err(PyValueError::new_err(text));
                }
                Bounds::within(bound)
            }
        };
        // Residues without sign wrap on purpose.
        let wraps = exact && matches!(given, Values::Unsigned(_)) && {
            let half = core.site.params.plain_modulus().unwrap_or(u64::MAX) / 2;
            bounds.is_some_and(|of| given.exact_bounds().unwrap_or(of).high > half as f64)
        };
        let bounds = bounds.filter(|_| !wraps);
        let complex = matches!(given, Values::Complex(_));
        Ok((array, Layout { complex, bounds, ..layout }))
    }

    /// Encrypts an array by `encrypt`, some ciphertexts after the other: signals come through in
    /// between, and progress is logged.
    fn encrypted(
        core: &Arc<Core>,
        values: &Bound<'_, PyAny>,
        options: &EncryptOptions<'_>,
        encrypt: impl Fn(&rlwe::Engine, &Plain, &mut ChaCha20Rng) -> Result<Cipher> + Sync,
    ) -> PyResult<Self> {
        let (py, (array, layout)) = (values.py(), Self::array(core, values, options)?);
        let values = (array.values()?, array.shape());
        let cipher = core.site.place.run(py, || {
            let (engine, mut rng) = (core.site.rlwe()?, rng()?);
            let level = options.level_of(engine)?;
            let step = |done, of| match done < of {
                true => interrupt::step("encrypt", done, of),
                false => interrupt::tell(done, of),
            };
            arrays::encrypted(engine, values, &layout, level, |plain| encrypt(engine, plain, &mut rng), step)
        })?;
        Self::new(core, cipher, layout).held()
    }

    fn by_public_key(
        key: &PyPublicKey,
        values: &Bound<'_, PyAny>,
        options: &EncryptOptions<'_>,
    ) -> PyResult<Self> {
        Self::encrypted(&key.core, values, options, |engine, plain, rng| {
            Ok(engine.encrypt(key.rlwe()?, plain, rng)?)
        })
    }

    fn by_secret_key(
        key: &PySecretKey,
        values: &Bound<'_, PyAny>,
        options: &EncryptOptions<'_>,
    ) -> PyResult<Self> {
        Self::encrypted(&key.core, values, options, |_, plain, rng| Ok(key.owner()?.encrypt(plain, rng)?))
    }

    fn seeded_bytes<'py>(
        key: &PySecretKey,
        values: &Bound<'py, PyAny>,
        options: &EncryptOptions<'_>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let core = &key.core;
        let (py, (array, layout)) = (values.py(), Self::array(core, values, options)?);
        let values = (array.values()?, array.shape());
        let bytes = core.site.place.run(py, || {
            let engine = core.site.rlwe()?;
            let plain = arrays::encoded(engine, values, &layout, options.level_of(engine)?)?;
            let bytes = key.owner()?.encrypt_to_bytes(engine, &plain, &mut rng()?)?;
            described(core, &layout, &bytes)
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
        fn unknown<'py>(found: &str, known: &str) -> PyResult<Bound<'py, PyAny>> {
            Err(PyValueError::new_err(format!("dtype {found:?}, where {known} is expected")))
        }
        let (place, engine) = (&self.core.site.place, self.engine()?);
        let step = |done, of| match done < of {
            true => interrupt::step("decrypt", done, of),
            false => interrupt::tell(done, of),
        };
        /// The values of the plaintexts that `decode` reads.
        macro_rules! values {
            ($decode:expr) => {{
                let rows = || Ok::<_, Fault>(arrays::decrypted(key.owner()?, &self.cipher, $decode, step)?);
                array_of(py, place.run(py, || Ok(layout.values(&rows()?)))?, &shape)
            }};
        }
        let usual = match (engine.is_exact(), layout.complex) {
            (true, _) => "int64",
            (false, true) => "complex128",
            (false, false) => "float64",
        };
        match (dtype.unwrap_or(usual), engine.is_exact()) {
            ("float64", false) if layout.complex => Err(PyValueError::new_err(
                "float64 would drop the imaginary parts of an array of complex numbers; \
                 decrypt them as complex128, and take .real of that",
            )),
            ("float64", false) => values!(|plain| engine.reals(plain)),
            ("complex128", false) => values!(|plain| engine.complex(plain)),
            (found, false) => unknown(found, "float64 or complex128"),
            ("int64", true) => values!(|plain| engine.integers::<i64>(plain)),
            ("uint64", true) => values!(|plain| engine.integers::<u64>(plain)),
            (found, true) => unknown(found, "int64 or uint64"),
        }
    }

    /// The bits of noise budget that a decryption measures, for each entry of the batch.
    pub fn noise_budget<'py>(&self, py: Python<'py>, key: &PySecretKey) -> PyResult<Bound<'py, PyAny>> {
        self.core.site.check_same(&key.core.site, "secret key")?;
        if !self.is_exact() {
            let text = "a noise budget is one of the schemes bfv and bgv; ckks has levels";
            return Err(PyTypeError::new_err(text));
        }
        let budgets = self.core.site.place.run(py, || Ok(key.owner()?.noise_budget(&self.cipher)?))?;
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

    pub fn with_cipher(&self, py: Python<'_>, other: &Self, op: Op) -> PyResult<Self> {
        self.core.site.check_same(&other.core.site, "right operand")?;
        let (wide, other_wide) = (self.beside(py, &other.layout)?, other.beside(py, &self.layout)?);
        let (left, right) = (wide.as_ref().unwrap_or(self), other_wide.as_ref().unwrap_or(other));
        let layout = left.product_layout(right, op)?;
        // One entry stands for all on the right alone.
        let repeated;
        let left = match (left.physical_batch(), right.physical_batch()) {
            (1, count) if count > 1 => {
                repeated = left.run(py, || Ok((Cipher::concat(&vec![&left.cipher; count])?, left.layout)))?;
                &repeated
            }
            _ => left,
        };
        left.run(py, || {
            // Sums need no keys.
            let keys = match op {
                Op::Mul => Some(self.switching()?),
                Op::Add | Op::Sub => None,
            };
            let keys = keys.as_ref().map(SwitchingKeys::get).transpose()?;
            let cipher = arrays::combine(self.engine()?, keys, op, &left.cipher, &right.cipher)?;
            Ok((cipher, layout))
        })
    }

    /// The layout of `self op other`; a product with itself is a square.
    pub fn product_layout(&self, other: &Self, op: Op) -> PyResult<Layout> {
        let alike = self.slots_of_vector() == other.slots_of_vector();
        let layout = self.layout.combined(&other.layout, op, alike).map_err(Fault::from)?;
        if op == Op::Mul && std::ptr::eq(self, other) && !self.layout.complex {
            return Ok(layout.bounded(self.layout.bounds.map(Bounds::squared)));
        }
        Ok(layout)
    }

    pub fn with_array(&self, py: Python<'_>, array: &Array<'_>, op: Op) -> PyResult<Self> {
        let slots = self.core.site.params.slots().unwrap_or(1);
        let shape = array.shape();
        let plain = self.layout.beside(shape, slots).map_err(Fault::from)?;
        let wide = self.beside(py, &plain)?;
        let ct = wide.as_ref().unwrap_or(self);
        let plain = ct.layout.beside(shape, slots).map_err(Fault::from)?;
        let values = array.values()?;
        let complex = matches!(values, Values::Complex(_));
        let plain = Layout { complex, bounds: values.exact_bounds(), ..plain };
        let layout = ct.layout.combined(&plain, op, true).map_err(Fault::from)?;
        ct.run(py, || {
            Ok((arrays::with_array(ct.engine()?, op, &ct.cipher, &plain, (values, shape))?, layout))
        })
    }

    pub fn with_integer(&self, py: Python<'_>, value: i64, op: Op) -> PyResult<Self> {
        let scaled = self.layout.with_scalar(value as f64, op);
        let layout = match (self.is_exact(), op) {
            (true, Op::Add | Op::Sub) => self.layout.bounded(scaled.bounds),
            _ => scaled,
        };
        self.run(py, || Ok((arrays::with_integer(self.engine()?, op, &self.cipher, &layout, value)?, layout)))
    }

    fn with_number(&self, py: Python<'_>, value: Complex64, op: Op) -> PyResult<Self> {
        let layout = match value.im == 0.0 {
            true => self.layout.with_scalar(value.re, op),
            false => {
                let by = Bounds::within(value.norm());
                let bounds = self.layout.bounds.zip(by).map(|(bounds, by)| bounds.combined(by, op));
                Layout { complex: true, bounds, ..self.layout.unknown() }
            }
        };
        self.run(py, || Ok((arrays::with_number(self.engine()?, op, &self.cipher, value)?, layout)))
    }

    /// A ciphertext from its bytes. Checksums are not computed for bytes that were verified before;
    /// everything else is checked as ever.
    pub fn read(core: &Arc<Core>, bytes: &[u8], shape: Option<Vec<usize>>, verified: bool) -> Result<Self> {
        let fingerprint = core.site.params.fingerprint();
        let all = bytes.len() as u64;
        let cut = |error| match error {
            WireError::Length { found, .. } if found > all => WireError::Truncated,
            error => error,
        };
        let mut reader = FrameReader::new(bytes);
        let (mut key_set, mut cipher, mut described) = (None, None, None);
        while let Some(sealed) = reader.next_sealed(|_, _| all).map_err(cut)? {
            let opened;
            let frame = if verified {
                sealed.unverified()
            } else {
                opened = sealed.open()?;
                &opened
            };
            let more = cipher.is_some();
            match frame.kind {
                FrameKind::Attachment if described.is_none() && key_set.is_none() && !more => {
                    if frame.fingerprint != fingerprint {
                        let (found, expected) = (frame.fingerprint.to_string(), fingerprint.to_string());
                        return Err(WireError::WrongParams { kind: frame.kind, found, expected }.into());
                    }
                    described = Some(frame.body.clone());
                }
                FrameKind::KeySet if key_set.is_none() && !more => {
                    key_set = Some(KeySetId::from_frame(fingerprint, frame)?);
                }
                _ if !more => cipher = Some(core.site.rlwe()?.ciphertext(frame, key_set)?),
                _ => return Err(WireError::Sequence.into()),
            }
        }
        let cipher = cipher.ok_or(WireError::Sequence)?;
        let Some(described) = described else { return Self::shaped(core, cipher, shape) };
        let mut ct = Self::new(core, cipher, Layout::total(None));
        let layout = Layout::from_json(&described, ct.physical_batch(), ct.slots_of_vector())
            .map_err(|error| Fault::Format(error.to_string()))?;
        ct.layout = match shape {
            None => layout,
            Some(shape) => layout.reshaped(&shape)?,
        };
        Ok(ct)
    }

    /// The ciphertext of a frame of an encrypted file: all slots.
    pub fn of_file(core: &Arc<Core>, frame: &Frame, key_set: Option<KeySetId>) -> Result<Self> {
        Self::shaped(core, core.site.rlwe()?.ciphertext(frame, key_set)?, None)
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
        let layout = Layout::new(entries, size, splat, padding.filter(|x| x.is_finite()));
        ct.layout = layout.checked(batch, slots)?.bounded(ct.layout.bounds);
        Ok(ct)
    }

    pub fn key_set(&self) -> Option<KeySetId> {
        self.cipher.key_set()
    }

    /// The layout of a shape that is given, or that of all slots.
    fn layout_of(&self, shape: Option<Vec<usize>>) -> Result<Layout> {
        let (slots, batch) = (self.slots_of_vector(), self.physical_batch());
        let Some(shape) = shape else {
            let (entries, size) = if batch == 1 { (None, slots) } else { (Some(batch), slots) };
            return Ok(Layout::new(entries, size, false, None));
        };
        let of = |packing| Layout::of_array(&shape, slots, packing, "shape").map(|of| of.unknown());
        let layout = match *shape {
            [] => Layout::total(None),
            // One value per row: what a sum over rows leaves.
            [rows] if rows == batch && rows > rows.div_ceil(slots) => Layout::total(Some(rows)),
            _ => match of(Packing::Rows) {
                Ok(layout) if layout.batch(slots) == batch => layout,
                rows => of(Packing::Columns).or(rows)?,
            },
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
        Ok(self.engine()?.to_bytes(&self.cipher)?)
    }

    /// Some entries of the batch.
    pub fn entries(&self, range: std::ops::Range<usize>, layout: Layout) -> Result<(Cipher, Layout)> {
        Ok((self.cipher.slice_batch(range)?, layout))
    }

    /// A rotation of all vectors.
    pub fn rotated(&self, step: i64) -> Result<Cipher> {
        let keys = self.switching()?;
        Ok(self.engine()?.rotate(&self.cipher, step, keys.get()?)?)
    }

    /// The axes that NumPy's `axis` names, all of them by default.
    fn summed_axes(&self, axis: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Dim>> {
        let axes = self.layout.axes();
        let Some(axis) = axis.filter(|axis| !axis.is_none()) else { return Ok(axes) };
        let given = match axis.cast::<PyTuple>() {
            Ok(several) => several.iter().map(|axis| axis.extract()).collect::<PyResult<Vec<i64>>>()?,
            Err(_) => vec![axis.extract::<i64>()?],
        };
        let count = axes.len() as i64;
        let mut found = Vec::new();
        for axis in given {
            let at = if axis < 0 { axis.saturating_add(count) } else { axis };
            if !(0..count).contains(&at) {
                return Err(PyValueError::new_err(format!(
                    "axis {axis} of a ciphertext of {count} dimension(s)"
                )));
            }
            found.push(axes[at as usize]);
        }
        Ok(found)
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
    /// NumPy's functions of one value or of pairs: those that have a meaning here, and an error
    /// that names the others.
    #[pyo3(signature = (ufunc, method, *inputs, **kwargs))]
    fn __array_ufunc__<'py>(
        slf: &Bound<'py, Self>,
        ufunc: &Bound<'py, PyAny>,
        method: &str,
        inputs: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let call = slf.py().import("he._numpy")?.getattr("ufunc")?;
        call.call1((ufunc, method, inputs, kwargs))
    }

    /// NumPy's functions of arrays, likewise.
    fn __array_function__<'py>(
        slf: &Bound<'py, Self>,
        func: &Bound<'py, PyAny>,
        types: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        kwargs: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let call = slf.py().import("he._numpy")?.getattr("function")?;
        call.call1((func, types, args, kwargs))
    }

    /// Says that an array of NumPy holds clear values.
    #[pyo3(signature = (*_args, **_kwargs))]
    fn __array__(
        &self,
        _args: &Bound<'_, PyTuple>,
        _kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let text = "an encrypted array does not become one of NumPy: decrypt it with keys.decrypt(x)";
        Err(PyTypeError::new_err(text))
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
    ///     The shape of the array; by default that which the bytes say, and all slots if they say
    ///     none, as bytes of other programs do. Nothing is known of bounds then: what leaves the
    ///     range is not refused, unless ``bounded`` states them.
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

    /// The ciphertext as bytes, with its shape and its bounds.
    ///
    /// Parameters
    /// ----------
    /// layout : bool
    ///     Whether shape and bounds are written in front of the ciphertext; without them, the bytes
    ///     are those that the Rust library reads and writes.
    #[pyo3(signature = (*, layout = true))]
    fn to_bytes<'py>(&self, layout: bool, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.core.site.place.run(py, || match layout {
            true => described(&self.core, &self.layout, &self.bytes()?),
            false => self.bytes(),
        })?;
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

    /// The data that columns of Parquet files keep beside the bytes.
    #[getter(_layout)]
    fn layout_getter(&self) -> PyResult<PyLayout> {
        let Layout { entries, size, splat, padding, .. } = self.layout;
        let plain = Layout::new(entries, size, splat, padding);
        if plain.shape() != self.layout.shape() || self.layout.point || self.layout.complex {
            return Err(PyValueError::new_err(
                "a column of ciphertexts takes columns and rows of real numbers or integers; encrypt arrays of \
                 two dimensions with layout=\"rows\"",
            ));
        }
        Ok((plain.entries, plain.size, plain.splat, plain.padding))
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

    /// The number of values.
    #[getter]
    fn size(&self) -> usize {
        self.layout.shape().iter().product()
    }

    /// The type of decrypted values.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let name = match (self.is_exact(), self.layout.complex) {
            (true, _) => "int64",
            (false, true) => "complex128",
            (false, false) => "float64",
        };
        py.import("numpy")?.getattr("dtype")?.call1((name,))
    }

    /// The interval in which all values are known to lie, if that is known: it is public.
    #[getter]
    fn bounds(&self) -> Option<(f64, f64)> {
        self.layout.bounds.map(|bounds| (bounds.low, bounds.high))
    }

    /// The array with its axes exchanged, which moves nothing.
    #[getter]
    #[pyo3(name = "T")]
    fn transposed(&self, py: Python<'_>) -> PyResult<Self> {
        self.with_layout(py, self.layout.transposed())
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
        self.cipher.level()
    }

    pub fn __len__(&self) -> PyResult<usize> {
        let shape = self.layout.shape();
        shape.first().copied().ok_or_else(|| PyTypeError::new_err("a ciphertext of one value has no length"))
    }

    fn __getitem__(&self, index: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.indexed(index)
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, count) = (slf.py(), slf.get().__len__()?);
        let builtins = py.import("builtins")?;
        let range = builtins.getattr("range")?.call1((count,))?;
        builtins.getattr("map")?.call1((slf.getattr("__getitem__")?, range))
    }

    fn __contains__(&self, _item: &Bound<'_, PyAny>) -> PyResult<bool> {
        Err(PyTypeError::new_err("`in` asks for values that are encrypted: decrypt the array and ask that"))
    }

    fn __bool__(&self) -> PyResult<bool> {
        Err(PyTypeError::new_err(
            "an encrypted array is neither true nor false: `if`, `and`, `or`, `not` and chained comparisons such \
             as 0 < x < 1 need its values. Decrypt it first, or multiply conditions: (x > 0) * (x < 1)",
        ))
    }

    fn __float__(&self) -> PyResult<f64> {
        Err(PyTypeError::new_err(
            "an encrypted number does not become a float: decrypt it with keys.decrypt(x)",
        ))
    }

    fn __int__(&self) -> PyResult<i64> {
        Err(PyTypeError::new_err(
            "an encrypted number does not become an int: decrypt it with keys.decrypt(x)",
        ))
    }

    fn __complex__<'py>(&self, _py: Python<'py>) -> PyResult<Bound<'py, PyComplex>> {
        Err(PyTypeError::new_err(
            "an encrypted number does not become a complex: decrypt it with keys.decrypt(x)",
        ))
    }

    /// Comparisons: steps under CKKS, and errors that say what to do elsewhere.
    fn __richcmp__(&self, other: &Bound<'_, PyAny>, op: CompareOp) -> Maybe {
        let equality = matches!(op, CompareOp::Eq | CompareOp::Ne);
        match (equality, self.is_exact()) {
            (true, false) => Err(PyTypeError::new_err(
                "== and != of approximate numbers have no answer; decrypt both sides and use numpy.isclose, or \
                 compute whether they are near with (x - y).abs(bound) < gap",
            )),
            (_, true) => Err(PyTypeError::new_err(format!(
                "{} does not compare encrypted integers; decrypt both sides, or encrypt them with encrypt_uint or \
                 encrypt_int of he.Params.tfhe(), whose integers have all comparisons",
                self.core.site.scheme()
            ))),
            (false, false) => self.compared(other, matches!(op, CompareOp::Lt | CompareOp::Le)),
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
        self.run(py, || Ok((self.engine()?.neg(&self.cipher)?, layout)))
    }

    pub fn __pos__(&self, py: Python<'_>) -> PyResult<Self> {
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
        match self.matrix_product(other)? {
            Some(made) => Ok(Py::new(py, made)?.into_any()),
            None => Ok(py.NotImplemented()),
        }
    }

    fn __rmatmul__(&self, other: &Bound<'_, PyAny>) -> Maybe {
        let py = other.py();
        match self.matrix_product_from_left(other)? {
            Some(made) => Ok(Py::new(py, made)?.into_any()),
            None => Ok(py.NotImplemented()),
        }
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
            let keys = self.switching()?;
            if !self.is_exact() {
                return Err(Fault::Type("ckks has one row of slots".to_owned()));
            }
            Ok((self.engine()?.swap_rows(&self.cipher, keys.get()?)?, self.layout.unknown()))
        })
    }

    /// Conjugate complex values.
    fn conjugate(&self, py: Python<'_>) -> PyResult<Self> {
        self.run(py, || {
            self.core.site.ckks()?;
            let keys = self.switching()?;
            Ok((arrays::conjugate(self.engine()?, keys.get()?, &self.cipher)?, self.layout))
        })
    }

    /// The sum along axes, by default of all values. It takes no level, unless slots after the
    /// values hold something unknown, such as after a function or a slice: masking them takes one.
    ///
    /// Parameters
    /// ----------
    /// axis : int or tuple of int, optional
    ///     The axes.
    /// keepdims : bool
    ///     Whether these stay, of length one, so that the sum broadcasts along them.
    #[pyo3(signature = (axis = None, *, keepdims = false))]
    fn sum(&self, axis: Option<&Bound<'_, PyAny>>, keepdims: bool, py: Python<'_>) -> PyResult<Self> {
        let axes = self.summed_axes(axis)?;
        self.summed(py, &axes, keepdims)
    }

    /// The mean along axes, by default of all values, which takes one level (CKKS).
    #[pyo3(signature = (axis = None, *, keepdims = false))]
    fn mean(&self, axis: Option<&Bound<'_, PyAny>>, keepdims: bool, py: Python<'_>) -> PyResult<Self> {
        let axes = self.summed_axes(axis)?;
        if self.is_exact() {
            return Err(PyTypeError::new_err(format!(
                "the mean of integers is none: decrypt x.sum(), and divide it by the number of values ({})",
                axes.iter().map(|&axis| self.layout.length(axis)).product::<usize>()
            )));
        }
        self.run(py, || {
            let (keys, ct) = (self.switching()?, (&self.cipher, &self.layout));
            Ok(arrays::mean(self.engine()?, keys.get()?, ct, &axes, keepdims)?)
        })
    }

    /// The variance of a population along axes, by default of all values, which takes two levels
    /// (CKKS).
    #[pyo3(signature = (axis = None, *, keepdims = false))]
    pub fn var(&self, axis: Option<&Bound<'_, PyAny>>, keepdims: bool, py: Python<'_>) -> PyResult<Self> {
        let axes = self.summed_axes(axis)?;
        if self.is_exact() {
            return Err(PyTypeError::new_err(
                "the variance of integers is none: decrypt x.sum() and (x * x).sum(), and compute it of these",
            ));
        }
        self.run(py, || {
            let (keys, ct) = (self.switching()?, (&self.cipher, &self.layout));
            Ok(arrays::variance(self.engine()?, keys.get()?, ct, &axes, keepdims)?)
        })
    }

    /// The squares of all values.
    fn square(&self, py: Python<'_>) -> PyResult<Self> {
        self.with_cipher(py, self, Op::Mul)
    }

    /// The inner product with a ciphertext or a plain vector, or the product with a plain matrix.
    fn dot(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        let made = match Operand::new(other, self.is_exact())? {
            Operand::Integer(_) | Operand::Number(_) => self.operated(other, Op::Mul, false)?,
            _ => self.matrix_product(other)?,
        };
        made.ok_or_else(|| PyTypeError::new_err("dot takes a ciphertext, an array or a number"))
    }

    /// A copy.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        self.__pos__(py)
    }

    /// The same values in another shape, which differs in axes of length one alone.
    #[pyo3(signature = (*shape))]
    fn reshape(&self, shape: &Bound<'_, PyTuple>, py: Python<'_>) -> PyResult<Self> {
        let shape: Vec<i64> = match shape.get_item(0).ok().filter(|_| shape.len() == 1) {
            Some(only) if only.cast::<PyTuple>().is_ok() || only.cast::<PyList>().is_ok() => {
                only.extract()?
            }
            _ => {
                shape.extract::<Bound<'_, PyTuple>>()?.iter().map(|n| n.extract()).collect::<PyResult<_>>()?
            }
        };
        let known: i64 = shape.iter().filter(|&&n| n >= 0).product();
        let all = self.size() as i64;
        let whole: Vec<usize> = shape
            .iter()
            .map(|&n| if n == -1 && known > 0 { all / known } else { n })
            .map(|n| usize::try_from(n).unwrap_or(usize::MAX))
            .collect();
        let layout = self.layout.reshaped(&whole).map_err(|_| {
            PyValueError::new_err(format!(
                "a ciphertext of shape {} is not reshaped into {}: values stay where they lie, and axes of length \
                 one come and go; encrypt the array in the shape that is needed",
                shown(&self.layout.shape()),
                shown(&whole)
            ))
        })?;
        self.with_layout(py, layout)
    }

    /// The same values with a public bound of their magnitudes that the caller states: nothing
    /// checks it, and values beyond it make later results wrong without an error. Without a bound,
    /// nothing is known any more, and nothing is refused: integers wrap modulo t.
    #[pyo3(signature = (bound = None))]
    fn bounded(&self, bound: Option<f64>, py: Python<'_>) -> PyResult<Self> {
        let bounds = bound.map(|bound| {
            Bounds::within(bound).ok_or_else(|| {
                PyValueError::new_err(format!("a bound of {bound}, where a number from 0 on is expected"))
            })
        });
        self.with_layout(py, self.layout.bounded(bounds.transpose()?))
    }

    /// A polynomial of every value.
    ///
    /// Parameters
    /// ----------
    /// coefficients : sequence of float
    ///     The coefficients, that of the lowest degree first: integers under BFV and BGV.
    /// interval : (float, float), optional
    ///     The domain of a Chebyshev series; without one, coefficients are those of powers.
    #[pyo3(signature = (coefficients, interval = None))]
    fn polynomial(&self, coefficients: &Bound<'_, PyAny>, interval: Option<(f64, f64)>) -> PyResult<Self> {
        if self.is_exact() {
            if interval.is_some() {
                return Err(PyTypeError::new_err("a Chebyshev series is for the scheme ckks"));
            }
            return self.integer_polynomial(coefficients);
        }
        let py = coefficients.py();
        let coefficients: Vec<f64> = coefficients.extract()?;
        if let (Some((a, b)), Some(bounds)) = (interval, self.layout.bounds) {
            check_interval("the series", bounds, (a, b))?;
        }
        self.run(py, || {
            let polynomial = match interval {
                None => Polynomial::power(&coefficients)?,
                Some((a, b)) => Polynomial::chebyshev(&coefficients, a, b)?,
            };
            let (engine, keys, ct) =
                (self.core.site.ckks()?, self.switching()?, (self.ckks()?, &self.layout));
            let (keys, polynomial) = (keys.get()?, &polynomial);
            let (ct, layout) = match self.core.bootstrap_keys() {
                Some(bootstrap) => {
                    let bootstrapper = engine.bootstrapper()?;
                    let refresher = bootstrapper.with_keys(&bootstrap);
                    arrays::polynomial(engine, keys, polynomial, ct, Some(&Interruptible(&refresher)))?
                }
                None => arrays::polynomial(engine, keys, polynomial, ct, None::<&NeverRefresh>)?,
            };
            Ok((Cipher::Ckks(ct), layout))
        })
    }

    /// New levels, by bootstrapping (CKKS); values must be at most one in magnitude.
    fn refresh(&self, py: Python<'_>) -> PyResult<Self> {
        self.ckks()?;
        if let Some(bound) = self.layout.bounds.map(Bounds::magnitude).filter(|&bound| bound > MOST_REFRESHED)
        {
            return Err(PyValueError::new_err(format!(
                "values of up to {bound:.6} are not refreshed, and those up to 1 are: scale them down first, or state \
                 a closer bound with x.bounded(bound)"
            )));
        }
        self.run(py, || {
            let (engine, ct) = (self.core.site.ckks()?, self.ckks()?);
            let bootstrapper = engine.bootstrapper()?;
            let keys = self.core.bootstrap_keys().ok_or_else(|| {
                Fault::Key(
                    "the context has no keys of bootstrapping; make them with keygen, or set bootstrap_keys"
                        .to_owned(),
                )
            })?;
            let whole = arrays::with_slots(engine, ct, engine.params.slots())?;
            let fresh = bootstrapper.refresh(&whole, &keys)?;
            Ok((Cipher::Ckks(arrays::with_slots(engine, &fresh, ct.slots())?), self.layout))
        })
    }

    /// The same values on a lower level, where everything is faster and smaller.
    fn drop_to_level(&self, level: usize, py: Python<'_>) -> PyResult<Self> {
        self.run(py, || Ok((self.engine()?.mod_switch_to(&self.cipher, level)?, self.layout)))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let read = py.import("he._he")?.getattr("_ciphertext")?;
        let params = PyParams(self.core.site.params.clone());
        Ok((read, (params, self.to_bytes(true, py)?)))
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
    pub fn summed(&self, py: Python<'_>, axes: &[Dim], keep: bool) -> PyResult<Self> {
        self.run(py, || {
            let (keys, ct) = (self.switching()?, (&self.cipher, &self.layout));
            Ok(arrays::sum(self.engine()?, keys.get()?, ct, axes, keep)?)
        })
    }
}

/// The encryption of arrays by each kind of key.
macro_rules! encrypts {
    ($($class:ty: $by:ident, |$key:ident| $of:expr;)*) => {$(
        #[pymethods]
        impl $class {
            /// Encrypt an array.
            ///
            /// Parameters
            /// ----------
            /// values : array_like
            ///     A column of any length (one dimension), or a batch of rows (two dimensions),
            ///     each of which has at most as many values as there are slots. CKKS takes real or
            ///     complex numbers, BFV and BGV take integers below t / 2 in magnitude, or below t
            ///     without sign.
            /// level : int, optional
            ///     CKKS: the level of the ciphertext, by default the highest.
            /// bound : float, optional
            ///     A public bound of the magnitudes; by default that of the values, rounded up to
            ///     one of eight steps per power of two, with whether there are negative and
            ///     positive values.
            /// layout : {"rows", "columns"}, optional
            ///     Whether a row of an array of two dimensions lies in each ciphertext, or a
            ///     column; by default columns if there are at least 16 rows and twice as many as
            ///     columns.
            /// progress : callable, optional
            ///     A callable that is told how many ciphertexts of how many are done,
            ///     ``progress(done, total)``. An exception that it raises ends the work.
            ///
            /// Raises
            /// ------
            /// TypeError
            ///     For an array of another dtype.
            /// ValueError
            ///     For values that are not finite or too large, and for shapes that do not fit.
            #[pyo3(signature = (values, *, level = None, bound = None, layout = None, progress = None))]
            fn encrypt(
                &self,
                values: &Bound<'_, PyAny>,
                level: Option<usize>,
                bound: Option<f64>,
                layout: Option<&str>,
                progress: Option<Py<PyAny>>,
            ) -> PyResult<PyCiphertext> {
                let options = EncryptOptions { level, bound, layout };
                let $key = self;
                interrupt::told(progress, || PyCiphertext::$by($of, values, &options))
            }
        }
    )*};
}

encrypts! {
    PySecretKey: by_secret_key, |key| key;
    PyPublicKey: by_public_key, |key| key;
    PyKeys: by_secret_key, |keys| keys.secret.get();
}

#[pymethods]
impl PySecretKey {
    /// Encrypt an array into bytes of half the size, which `Ciphertext.from_bytes` expands.
    #[pyo3(signature = (values, *, level = None, bound = None, layout = None))]
    fn encrypt_to_bytes<'py>(
        &self,
        values: &Bound<'py, PyAny>,
        level: Option<usize>,
        bound: Option<f64>,
        layout: Option<&str>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        PyCiphertext::seeded_bytes(self, values, &EncryptOptions { level, bound, layout })
    }

    /// Decrypt into an array of the shape that was encrypted.
    ///
    /// Decrypted values of CKKS hold the noise, which depends on the key: keep them to yourself.
    ///
    /// Parameters
    /// ----------
    /// ciphertext : Ciphertext
    ///     A ciphertext of this key set.
    /// dtype : {"float64", "complex128", "int64", "uint64"}, optional
    ///     float64 for CKKS, or complex128 of an array of complex numbers, and int64 for BFV and
    ///     BGV by default.
    ///
    /// Raises
    /// ------
    /// KeySetError
    ///     For a ciphertext of another key set.
    /// DecryptionError
    ///     For a ciphertext that does not decrypt to anything.
    #[pyo3(signature = (ciphertext, *, dtype = None))]
    fn decrypt<'py>(
        &self,
        ciphertext: &PyCiphertext,
        dtype: Option<&str>,
        py: Python<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        ciphertext.decrypted(py, self, dtype)
    }

    /// The bits of noise budget that are left in each vector of a ciphertext of BFV or BGV.
    fn noise_budget<'py>(&self, ciphertext: &PyCiphertext, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        ciphertext.noise_budget(py, self)
    }
}

#[pymethods]
impl PyKeys {
    /// Decrypt into an array of the shape that was encrypted.
    ///
    /// Decrypted values of CKKS hold the noise, which depends on the key: keep them to yourself.
    ///
    /// Parameters
    /// ----------
    /// ciphertext : Ciphertext
    ///     A ciphertext of this key set.
    /// dtype : {"float64", "complex128", "int64", "uint64"}, optional
    ///     float64 for CKKS, or complex128 of an array of complex numbers, and int64 for BFV and
    ///     BGV by default.
    ///
    /// Raises
    /// ------
    /// KeySetError
    ///     For a ciphertext of another key set.
    /// DecryptionError
    ///     For a ciphertext that does not decrypt to anything.
    #[pyo3(signature = (ciphertext, *, dtype = None))]
    fn decrypt<'py>(
        &self,
        ciphertext: &PyCiphertext,
        dtype: Option<&str>,
        py: Python<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.secret.get().decrypt(ciphertext, dtype, py)
    }
}

/// Refuses a function of values that may lie outside of its interval. An interval that begins above
/// 0 is taken at its word there: bounds do not say how small positive values are.
pub fn check_interval(name: &str, bounds: Bounds, (a, b): (f64, f64)) -> PyResult<()> {
    let slack = (b - a).abs() * 1e-2;
    let (low, high) = (bounds.low, bounds.high);
    if high <= b + slack && (low >= a - slack || (a > 0.0 && low >= 0.0)) {
        return Ok(());
    }
    Err(PyValueError::new_err(format!(
        "values may lie in [{low:.6}, {high:.6}], and {name} is made for [{a}, {b}]: give an interval that holds them, \
         or state a closer bound with x.bounded(bound)"
    )))
}

/// The greatest bound that is refreshed: 1, and what bounds of polynomials exceed it by.
const MOST_REFRESHED: f64 = 1.05;

/// A ciphertext from its pickled form.
#[pyfunction]
#[pyo3(name = "_ciphertext")]
pub fn unpickled(params: &PyParams, data: &Bound<'_, PyBytes>) -> PyResult<PyCiphertext> {
    let (params, bytes) = (params.0.clone(), data.as_bytes());
    detached(data.py(), || PyCiphertext::read(&Core::for_pickled(params)?, bytes, None, false))
}

/// A ciphertext of a column of Parquet with the layout of the column, in a given context.
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
