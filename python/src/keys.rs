//! Keys of all schemes.

use crate::arrays::Bytes;
use crate::ciphertext::{EncryptOptions, PyCiphertext};
use crate::context::{Core, Engine, PyContext, on_ring};
use crate::error::{Fault, Result};
use crate::functions::PyFunction;
use crate::interrupt::{self, Watched};
use crate::model::PyModel;
use crate::params::PyParams;
use crate::run::detached;
use crate::secrets;
use crate::transcipher::{self, PyEncryptedSensorKey, PySensorKey, PyTranscipherKey};
use crate::uint::{self, PyFlags, PyInt, PyUint};
use he::Device;
use he_core::bfv::Bfv;
use he_core::bgv::Bgv;
use he_core::bootstrapping::BootstrapKeys;
use he_core::circuits::Requirements;
use he_core::ring::Ring;
use he_core::rlwe::{EvaluationKeys, KeyRequirements, PublicKey, SecretKey};
use he_core::tfhe::{BootstrapKey, CompactPublicKey, TfheSecretKey};
use he_core::{KeySetId, ckks, exact};
use he_files::key_file::KeyFiles;
use he_files::scheme::OneOf;
use he_files::scheme::engine::rng;
use he_files::tfhe::keys::Encryptor;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyType};
use rand::CryptoRng;
use std::sync::{Arc, OnceLock};

/// The keys that servers compute with.
pub enum EvalKeys {
    Rlwe(Box<EvaluationKeys<Device>>),
    Tfhe(Box<BootstrapKey>),
}

impl EvalKeys {
    fn from_bytes(core: &Core, bytes: &[u8]) -> Result<Self> {
        on_ring!(
            &core.site.engine,
            engine => Ok(Self::Rlwe(Box::new(EvaluationKeys::from_bytes(&engine.params, &engine.ring, bytes)?))),
            tfhe => Ok(Self::Tfhe(Box::new(BootstrapKey::from_bytes(core.site.tfhe()?, bytes)?)))
        )
    }

    /// The keys of a key file.
    pub fn of_file(core: &Core, file: OneOf<KeyFiles>) -> Result<Self> {
        macro_rules! of {
            ($file:expr, $engine:expr) => {{
                let (found, expected) = ($file.params.fingerprint(), $engine.params.fingerprint());
                if found != expected {
                    let (what, found, expected) = ("evaluation key", found.to_string(), expected.to_string());
                    return Err(he_core::Error::ParamsMismatch { what, found, expected }.into());
                }
                Ok(Self::Rlwe(Box::new($file.evaluation(&$engine.ring)?)))
            }};
        }
        match (file, &core.site.engine) {
            (OneOf::Ckks(file), Engine::Ckks(engine)) => of!(file, engine),
            (OneOf::Bfv(file), Engine::Bfv(engine)) => of!(file, engine),
            (OneOf::Bgv(file), Engine::Bgv(engine)) => of!(file, engine),
            _ => Err(Fault::Params(format!(
                "a key file of another scheme, in a context of {}",
                core.site.params.scheme()
            ))),
        }
    }

    pub fn key_set(&self) -> Option<KeySetId> {
        match self {
            Self::Rlwe(keys) => keys.key_set(),
            Self::Tfhe(key) => key.key_set(),
        }
    }

    fn to_bytes(&self, core: &Core) -> Result<Vec<u8>> {
        match (self, &core.site.engine) {
            (Self::Tfhe(key), _) => Ok(key.to_bytes(core.site.tfhe()?)?),
            (Self::Rlwe(keys), engine) => on_ring!(
                engine,
                engine => Ok(keys.to_bytes(&engine.params)?),
                tfhe => Err(Fault::Type("evaluation keys of a ring under tfhe".to_owned()))
            ),
        }
    }
}

/// The keys that programs need: sums, products, given rotations, and those of other objects.
pub fn requirements(
    core: &Core,
    (relinearisation, sums, conjugation): (bool, bool, bool),
    rotations: Vec<i64>,
    needs: &[Bound<'_, PyAny>],
) -> PyResult<KeyRequirements> {
    let exact = matches!(core.site.engine, Engine::Bfv(_) | Engine::Bgv(_));
    let mut all = KeyRequirements::new().rotations(rotations);
    if relinearisation {
        all = all.relinearisation();
    }
    if sums {
        let row = core.site.params.slots().unwrap_or(1) / if exact { 2 } else { 1 };
        all = all.rotations((0..row.max(1).ilog2()).map(|bit| 1i64 << bit));
    }
    if conjugation || (sums && exact) {
        all = all.conjugation();
    }
    for need in needs {
        let more: Requirements = if let Ok(function) = need.cast::<PyFunction>() {
            function.get().requirements()
        } else if let Ok(model) = need.cast::<PyModel>() {
            model.get().requirements().map_err(Fault::from)?
        } else {
            let found = need.get_type().name()?;
            let text = format!("needs: {found}, where he.Function and he.Model are expected");
            return Err(PyTypeError::new_err(text));
        };
        all = all.union(&more.keys);
    }
    Ok(all)
}

/// A secret of one of the schemes.
pub enum Secret {
    Rlwe(SecretKey),
    Tfhe(TfheSecretKey),
}

/// A public key of one of the schemes.
pub enum Public {
    Rlwe(Box<PublicKey<Device>>),
    Tfhe(Box<CompactPublicKey>),
}

impl Public {
    /// Makes one of the secret key.
    fn generate(core: &Core, secret: &Secret) -> Result<Self> {
        let rng = &mut rng()?;
        match secret {
            Secret::Tfhe(secret) => Ok(Self::Tfhe(Box::new(CompactPublicKey::generate(secret, rng)))),
            Secret::Rlwe(secret) => on_ring!(
                &core.site.engine,
                engine => Ok(Self::Rlwe(Box::new(PublicKey::generate(secret, &engine.ring, rng)?))),
                tfhe => Err(Fault::Type("a secret key of a ring under tfhe".to_owned()))
            ),
        }
    }

    fn from_bytes(core: &Core, bytes: &[u8]) -> Result<Self> {
        on_ring!(
            &core.site.engine,
            engine => Ok(Self::Rlwe(Box::new(PublicKey::from_bytes(&engine.params, &engine.ring, bytes)?))),
            tfhe => Ok(Self::Tfhe(Box::new(CompactPublicKey::from_bytes(core.site.tfhe()?, bytes)?)))
        )
    }

    fn to_bytes(&self, core: &Core) -> Result<Vec<u8>> {
        match self {
            Self::Tfhe(key) => Ok(key.to_bytes(core.site.tfhe()?)?),
            Self::Rlwe(key) => on_ring!(
                &core.site.engine,
                engine => Ok(key.to_bytes(&engine.params)?),
                tfhe => Err(Fault::Type("a public key of a ring under tfhe".to_owned()))
            ),
        }
    }

    fn key_set(&self) -> Option<KeySetId> {
        match self {
            Self::Rlwe(key) => key.key_set(),
            Self::Tfhe(key) => key.key_set(),
        }
    }
}

/// The decryptor, and the encryptor by secret key: made when it is first needed, and wiped with
/// the key.
pub enum Prepared {
    Ckks(ckks::Decryptor<Device>, ckks::SecretEncryptor<Device>),
    Bfv(exact::Decryptor<Bfv, Device>, exact::SecretEncryptor<Bfv, Device>),
    Bgv(exact::Decryptor<Bgv, Device>, exact::SecretEncryptor<Bgv, Device>),
}

/// A secret key: it decrypts, and encrypts with less noise than a public key.
///
/// It is wiped from memory when it is dropped, never printed and never pickled.
#[pyclass(frozen, module = "he", name = "SecretKey")]
pub struct PySecretKey {
    pub core: Arc<Core>,
    pub secret: Secret,
    prepared: OnceLock<Prepared>,
}

impl PySecretKey {
    pub fn new(core: &Arc<Core>, secret: Secret) -> Self {
        Self { core: Arc::clone(core), secret, prepared: OnceLock::new() }
    }

    fn rlwe(&self) -> Result<&SecretKey> {
        match &self.secret {
            Secret::Rlwe(key) => Ok(key),
            Secret::Tfhe(_) => Err(Fault::Type("a secret key of tfhe".to_owned())),
        }
    }

    pub fn tfhe(&self) -> Result<&TfheSecretKey> {
        match &self.secret {
            Secret::Tfhe(key) => Ok(key),
            Secret::Rlwe(_) => Err(Fault::Type(format!(
                "a secret key of {}, where one of tfhe is expected",
                self.core.site.scheme()
            ))),
        }
    }

    pub fn prepared(&self) -> Result<&Prepared> {
        if let Some(prepared) = self.prepared.get() {
            return Ok(prepared);
        }
        let key = self.rlwe()?;
        macro_rules! both {
            ($variant:ident, $module:ident, $engine:expr) => {
                Prepared::$variant(
                    $module::Decryptor::new(&$engine.params, key, &$engine.ring)?,
                    $module::SecretEncryptor::new(&$engine.params, key, &$engine.ring)?,
                )
            };
        }
        let prepared = match &self.core.site.engine {
            Engine::Ckks(engine) => both!(Ckks, ckks, engine),
            Engine::Bfv(engine) => both!(Bfv, exact, engine),
            Engine::Bgv(engine) => both!(Bgv, exact, engine),
            Engine::Tfhe(_) => return Err(Fault::Type("a secret key of tfhe".to_owned())),
        };
        Ok(self.prepared.get_or_init(|| prepared))
    }
}

/// The exception of an attempt to pickle or copy a secret.
pub fn never_pickled(what: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "{what} holds a secret and is neither pickled nor copied; write it where it belongs with \
         to_bytes, and send public and evaluation keys alone"
    ))
}

#[pymethods]
impl PySecretKey {
    /// The context.
    #[getter]
    fn context(&self) -> PyContext {
        PyContext(Arc::clone(&self.core))
    }

    /// The identity of the key set: the same for a secret key and all that was made with it.
    #[getter]
    fn key_set(&self) -> String {
        match &self.secret {
            Secret::Rlwe(key) => key.key_set().to_string(),
            Secret::Tfhe(key) => key.key_set().to_string(),
        }
    }

    /// The parameters.
    #[getter]
    fn params(&self) -> PyParams {
        PyParams(self.core.site.params.clone())
    }

    /// A secret key from the bytes of `to_bytes`, in a context of the same parameters.
    ///
    /// Raises
    /// ------
    /// FormatError
    ///     If the bytes are not those of such a key.
    /// ParameterError
    ///     If they are of other parameters.
    #[classmethod]
    fn from_bytes(
        _class: &Bound<'_, PyType>,
        context: &PyContext,
        data: &Bound<'_, PyAny>,
        py: Python<'_>,
    ) -> PyResult<Self> {
        let (core, bytes) = (&context.0, Bytes::new(data, "data")?);
        let bytes = bytes.as_slice();
        let secret = detached(py, || {
            secrets::check_allowed("reading a secret key")?;
            Ok(on_ring!(
                &core.site.engine,
                engine => Secret::Rlwe(SecretKey::from_bytes(&engine.params, bytes)?),
                tfhe => Secret::Tfhe(TfheSecretKey::from_bytes(core.site.tfhe()?, bytes)?)
            ))
        })?;
        Ok(Self::new(core, secret))
    }

    /// **The secret** as bytes that can be overwritten when they are no longer needed.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyByteArray>> {
        let bytes = match &self.secret {
            Secret::Tfhe(key) => key.to_bytes(self.core.site.tfhe()?).map_err(Fault::from)?,
            Secret::Rlwe(key) => on_ring!(
                &self.core.site.engine,
                engine => key.to_bytes(&engine.params).map_err(Fault::from)?,
                tfhe => return Err(Fault::Type("a secret key of a ring under tfhe".to_owned()).into())
            ),
        };
        Ok(PyByteArray::new(py, &bytes))
    }

    /// A new public key of this secret key.
    fn public_key(&self, py: Python<'_>) -> PyResult<PyPublicKey> {
        let core = &self.core;
        let key = core.site.place.run(py, || Public::generate(core, &self.secret))?;
        Ok(PyPublicKey { core: Arc::clone(core), key })
    }

    /// Encrypt an array.
    ///
    /// Parameters
    /// ----------
    /// values : array_like
    ///     A column of any length (one dimension), or a batch of rows (two dimensions), each
    ///     of which
    ///     has at most as many values as there are slots. CKKS takes real or complex numbers,
    ///     BFV and
    ///     BGV take integers below t / 2 in magnitude, or below t without sign.
    /// level : int, optional
    ///     CKKS: the level of the ciphertext, by default the highest.
    /// bound : float, optional
    ///     A public bound of the magnitudes; by default that of the values, rounded up to one of
    ///     eight steps per power of two, with whether there are negative and positive values.
    /// layout : {"rows", "columns"}, optional
    ///     Whether a row of an array of two dimensions lies in each ciphertext, or a column; by
    ///     default columns if there are at least 16 rows and twice as many as columns.
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
        interrupt::told(progress, || PyCiphertext::by_secret_key(self, values, &options))
    }

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

    /// Encrypt unsigned integers of `bits` bits under TFHE: an array of integers, or a list.
    #[pyo3(signature = (values, bits = 32))]
    fn encrypt_uint(&self, values: &Bound<'_, PyAny>, bits: usize) -> PyResult<PyUint> {
        uint::encrypt_uint(&self.core, self.tfhe().map(Encryptor::Secret), values, bits)
    }

    /// Decrypt integers: an array of uint64, or a list of int if they are wider than 64 bits.
    fn decrypt_uint<'py>(&self, values: &PyUint, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        uint::decrypt_uint(self, values, py)
    }

    /// Encrypt integers of `bits` bits with a sign under TFHE: an array of integers, or a list.
    #[pyo3(signature = (values, bits = 32))]
    fn encrypt_int(&self, values: &Bound<'_, PyAny>, bits: usize) -> PyResult<PyInt> {
        uint::encrypt_int(&self.core, self.tfhe().map(Encryptor::Secret), values, bits)
    }

    /// Decrypt integers with a sign: an array of int64, or a list of int if they are wider than 64
    /// bits.
    fn decrypt_int<'py>(&self, values: &PyInt, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        uint::decrypt_int(self, values, py)
    }

    /// Decrypt conditions into an array of bool.
    fn decrypt_bool<'py>(&self, values: &PyFlags, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        uint::decrypt_flags(self, values, py)
    }

    /// Make the key that `Transcipher` takes besides evaluation keys, under TFHE.
    fn transcipher_key(&self, py: Python<'_>) -> PyResult<PyTranscipherKey> {
        transcipher::transcipher_key(self, py)
    }

    /// Encrypt the key of a sensor under TFHE, for `Transcipher`.
    fn encrypt_sensor_key(&self, sensor: &PySensorKey, py: Python<'_>) -> PyResult<PyEncryptedSensorKey> {
        transcipher::encrypt_sensor_key(self, sensor, py)
    }

    /// The bits of noise budget that are left in each vector of a ciphertext of BFV or BGV.
    fn noise_budget<'py>(&self, ciphertext: &PyCiphertext, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        ciphertext.noise_budget(py, self)
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(never_pickled("a he.SecretKey"))
    }

    fn __copy__(&self) -> PyResult<()> {
        Err(never_pickled("a he.SecretKey"))
    }

    fn __repr__(&self) -> String {
        format!("<he.SecretKey: {}>", self.core.site.scheme())
    }
}

/// A public key: whoever has it encrypts.
#[pyclass(frozen, module = "he", name = "PublicKey")]
pub struct PyPublicKey {
    pub core: Arc<Core>,
    key: Public,
}

impl PyPublicKey {
    pub fn rlwe(&self) -> Result<&PublicKey<Device>> {
        match &self.key {
            Public::Rlwe(key) => Ok(key),
            Public::Tfhe(_) => Err(Fault::Type("a public key of tfhe".to_owned())),
        }
    }

    fn tfhe(&self) -> Result<&CompactPublicKey> {
        match &self.key {
            Public::Tfhe(key) => Ok(key),
            Public::Rlwe(_) => Err(Fault::Type(format!(
                "a public key of {}, where one of tfhe is expected",
                self.core.site.scheme()
            ))),
        }
    }
}

#[pymethods]
impl PyPublicKey {
    /// The context.
    #[getter]
    fn context(&self) -> PyContext {
        PyContext(Arc::clone(&self.core))
    }

    /// The identity of the key set: the same for a secret key and all that was made with it.
    #[getter]
    fn key_set(&self) -> Option<String> {
        self.key.key_set().map(|id| id.to_string())
    }

    /// The parameters.
    #[getter]
    fn params(&self) -> PyParams {
        PyParams(self.core.site.params.clone())
    }

    /// A public key from the bytes of `to_bytes`, in a context of the same parameters.
    ///
    /// Raises
    /// ------
    /// FormatError
    ///     If the bytes are not those of such a key.
    /// ParameterError
    ///     If they are of other parameters.
    #[classmethod]
    fn from_bytes(
        _class: &Bound<'_, PyType>,
        context: &PyContext,
        data: &Bound<'_, PyAny>,
        py: Python<'_>,
    ) -> PyResult<Self> {
        let (core, bytes) = (&context.0, Bytes::new(data, "data")?);
        let bytes = bytes.as_slice();
        let key = core.site.place.run(py, || Public::from_bytes(core, bytes))?;
        Ok(Self { core: Arc::clone(core), key })
    }

    /// The key as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.core.site.place.run(py, || self.key.to_bytes(&self.core))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Encrypt an array.
    ///
    /// Parameters
    /// ----------
    /// values : array_like
    ///     A column of any length (one dimension), or a batch of rows (two dimensions), each
    ///     of which
    ///     has at most as many values as there are slots. CKKS takes real or complex numbers,
    ///     BFV and
    ///     BGV take integers below t / 2 in magnitude, or below t without sign.
    /// level : int, optional
    ///     CKKS: the level of the ciphertext, by default the highest.
    /// bound : float, optional
    ///     A public bound of the magnitudes; by default that of the values, rounded up to one of
    ///     eight steps per power of two, with whether there are negative and positive values.
    /// layout : {"rows", "columns"}, optional
    ///     Whether a row of an array of two dimensions lies in each ciphertext, or a column; by
    ///     default columns if there are at least 16 rows and twice as many as columns.
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
        interrupt::told(progress, || PyCiphertext::by_public_key(self, values, &options))
    }

    /// Encrypt unsigned integers of `bits` bits under TFHE: an array of integers, or a list.
    #[pyo3(signature = (values, bits = 32))]
    fn encrypt_uint(&self, values: &Bound<'_, PyAny>, bits: usize) -> PyResult<PyUint> {
        uint::encrypt_uint(&self.core, self.tfhe().map(Encryptor::Public), values, bits)
    }

    /// Encrypt integers of `bits` bits with a sign under TFHE: an array of integers, or a list.
    #[pyo3(signature = (values, bits = 32))]
    fn encrypt_int(&self, values: &Bound<'_, PyAny>, bits: usize) -> PyResult<PyInt> {
        uint::encrypt_int(&self.core, self.tfhe().map(Encryptor::Public), values, bits)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        reduced(slf.py(), "_public_key", &slf.get().core, slf.get().to_bytes(slf.py())?)
    }

    fn __repr__(&self) -> String {
        format!("<he.PublicKey: {}>", self.core.site.scheme())
    }
}

/// How an object is pickled: by its parameters and its bytes.
pub type Reduced<'py> = (Bound<'py, PyAny>, (PyParams, Bound<'py, PyBytes>));

/// The pickled form of an object of a context, which the function `name` of the module reads.
pub fn reduced<'py>(
    py: Python<'py>,
    name: &str,
    core: &Core,
    bytes: Bound<'py, PyBytes>,
) -> PyResult<Reduced<'py>> {
    Ok((py.import("he._he")?.getattr(name)?, (PyParams(core.site.params.clone()), bytes)))
}

/// Evaluation keys: a server computes with them, and learns nothing.
#[pyclass(frozen, module = "he", name = "EvaluationKeys")]
pub struct PyEvaluationKeys {
    pub core: Arc<Core>,
    pub keys: Arc<EvalKeys>,
}

impl PyEvaluationKeys {
    /// The keys of an object or of its bytes, on the device of a context.
    pub fn of(core: &Arc<Core>, keys: &Bound<'_, PyAny>) -> PyResult<Arc<EvalKeys>> {
        if let Ok(own) = keys.cast::<Self>() {
            core.site.check_same(&own.get().core.site, "evaluation key")?;
            return Ok(Arc::clone(&own.get().keys));
        }
        let bytes = Bytes::new(keys, "evaluation_keys")?;
        let bytes = bytes.as_slice();
        core.site.place.run(keys.py(), || Ok(Arc::new(EvalKeys::from_bytes(core, bytes)?)))
    }
}

#[pymethods]
impl PyEvaluationKeys {
    /// The context.
    #[getter]
    fn context(&self) -> PyContext {
        PyContext(Arc::clone(&self.core))
    }

    /// The identity of the key set: the same for a secret key and all that was made with it.
    #[getter]
    fn key_set(&self) -> Option<String> {
        self.keys.key_set().map(|id| id.to_string())
    }

    /// The parameters.
    #[getter]
    fn params(&self) -> PyParams {
        PyParams(self.core.site.params.clone())
    }

    /// Evaluation keys from the bytes of `to_bytes`, in a context of the same parameters.
    ///
    /// Raises
    /// ------
    /// FormatError
    ///     If the bytes are not those of such a key.
    /// ParameterError
    ///     If they are of other parameters.
    #[classmethod]
    fn from_bytes(
        _class: &Bound<'_, PyType>,
        context: &PyContext,
        data: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let bytes = Bytes::new(data, "data")?;
        let (core, bytes) = (&context.0, bytes.as_slice());
        let keys = core.site.place.run(data.py(), || Ok(Arc::new(EvalKeys::from_bytes(core, bytes)?)))?;
        Ok(Self { core: Arc::clone(core), keys })
    }

    /// The key as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.core.site.place.run(py, || self.keys.to_bytes(&self.core))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        reduced(slf.py(), "_evaluation_keys", &slf.get().core, slf.get().to_bytes(slf.py())?)
    }

    fn __repr__(&self) -> String {
        format!("<he.EvaluationKeys: {}>", self.core.site.scheme())
    }
}

/// The keys of bootstrapping, with which a server gives ciphertexts new levels.
#[pyclass(frozen, module = "he", name = "BootstrapKeys")]
pub struct PyBootstrapKeys {
    pub core: Arc<Core>,
    pub keys: Arc<BootstrapKeys<Device>>,
}

impl PyBootstrapKeys {
    /// The keys of an object or of its bytes, on the device of a context.
    pub fn of(core: &Arc<Core>, keys: &Bound<'_, PyAny>) -> PyResult<Arc<BootstrapKeys<Device>>> {
        if let Ok(own) = keys.cast::<Self>() {
            core.site.check_same(&own.get().core.site, "bootstrapping key")?;
            return Ok(Arc::clone(&own.get().keys));
        }
        let bytes = Bytes::new(keys, "bootstrap_keys")?;
        let bytes = bytes.as_slice();
        core.site.place.run(keys.py(), || {
            let engine = core.site.ckks()?;
            let bootstrapper = engine.bootstrapper()?;
            Ok(Arc::new(BootstrapKeys::from_bytes(bootstrapper.params(), &engine.ring, bytes)?))
        })
    }
}

#[pymethods]
impl PyBootstrapKeys {
    /// The context.
    #[getter]
    fn context(&self) -> PyContext {
        PyContext(Arc::clone(&self.core))
    }

    /// The identity of the key set: the same for a secret key and all that was made with it.
    #[getter]
    fn key_set(&self) -> Option<String> {
        self.keys.key_set().map(|id| id.to_string())
    }

    /// The parameters.
    #[getter]
    fn params(&self) -> PyParams {
        PyParams(self.core.site.params.clone())
    }

    /// Keys of bootstrapping from the bytes of `to_bytes`, in a context of the same parameters.
    ///
    /// Raises
    /// ------
    /// FormatError
    ///     If the bytes are not those of such a key.
    /// ParameterError
    ///     If they are of other parameters.
    #[classmethod]
    fn from_bytes(
        _class: &Bound<'_, PyType>,
        context: &PyContext,
        data: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        Ok(Self { core: Arc::clone(&context.0), keys: Self::of(&context.0, data)? })
    }

    /// The key as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.core.site.place.run(py, || Ok(self.keys.to_bytes(self.keys.params())?))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        reduced(slf.py(), "_bootstrap_keys", &slf.get().core, slf.get().to_bytes(slf.py())?)
    }

    fn __repr__(&self) -> &'static str {
        "<he.BootstrapKeys: ckks>"
    }
}

/// The keys of one party: secret, public, and those for evaluation.
#[pyclass(frozen, module = "he", name = "Keys")]
pub struct PyKeys {
    #[pyo3(get)]
    secret: Py<PySecretKey>,
    #[pyo3(get)]
    public: Py<PyPublicKey>,
    #[pyo3(get)]
    evaluation: Py<PyEvaluationKeys>,
    #[pyo3(get)]
    bootstrap: Option<Py<PyBootstrapKeys>>,
}

/// Evaluation keys, one after the other: progress is told in between.
fn evaluation_keys(
    secret: &SecretKey,
    ring: &Ring<Device>,
    needs: &KeyRequirements,
    rng: &mut impl CryptoRng,
) -> Result<EvaluationKeys<Device>> {
    let elements = needs.galois_elements(ring.spec().log_n());
    let relinearisation = usize::from(needs.needs_relinearisation());
    let all = relinearisation + elements.len();
    let mut keys = EvaluationKeys::generate(secret, ring, KeyRequirements::new(), rng)?;
    interrupt::tell(0, all);
    if needs.needs_relinearisation() {
        keys.add_relin(secret, rng)?;
        interrupt::tell(1, all);
    }
    for (at, element) in elements.into_iter().enumerate() {
        keys.add_galois(secret, [element], rng)?;
        interrupt::tell(relinearisation + at + 1, all);
    }
    Ok(keys)
}

impl PyKeys {
    /// The secret key.
    pub fn secret<'py>(&self, py: Python<'py>) -> Bound<'py, PySecretKey> {
        self.secret.bind(py).clone()
    }

    /// Generates all keys; the context computes with its part of them from now on.
    pub fn generate(
        py: Python<'_>,
        core: &Arc<Core>,
        needs: &KeyRequirements,
        bootstrapping: bool,
    ) -> PyResult<Self> {
        let (secret, public, evaluation, bootstrap) = core.site.place.run(py, || {
            secrets::check_allowed("making keys")?;
            let rng = &mut Watched(rng()?);
            on_ring!(
                &core.site.engine,
                engine => {
                    let ring = &engine.ring;
                    let secret = SecretKey::generate(engine.params.rlwe(), rng);
                    let public = PublicKey::generate(&secret, ring, rng)?;
                    let evaluation = evaluation_keys(&secret, ring, needs, rng)?;
                    let bootstrap = match &core.site.engine {
                        Engine::Ckks(engine) => engine.bootstrapping.as_ref().filter(|_| bootstrapping),
                        _ => None,
                    };
                    let bootstrap = bootstrap.map(|params| BootstrapKeys::generate(&secret, params, ring, rng));
                    let public = Public::Rlwe(Box::new(public));
                    Ok((Secret::Rlwe(secret), public, EvalKeys::Rlwe(Box::new(evaluation)), bootstrap.transpose()?))
                },
                tfhe => {
                    let secret = TfheSecretKey::generate(core.site.tfhe()?, rng);
                    let public = Public::Tfhe(Box::new(CompactPublicKey::generate(&secret, rng)));
                    let evaluation = Box::new(BootstrapKey::generate(&secret, rng));
                    Ok((Secret::Tfhe(secret), public, EvalKeys::Tfhe(evaluation), None))
                }
            )
        })?;
        let own = || Arc::clone(core);
        let (keys, bootstrap) = (Arc::new(evaluation), bootstrap.map(Arc::new));
        core.set_evaluation(Some(Arc::clone(&keys)));
        if bootstrap.is_some() {
            core.set_bootstrap(bootstrap.clone());
        }
        let bootstrap = bootstrap.map(|keys| Py::new(py, PyBootstrapKeys { core: own(), keys }));
        Ok(Self {
            secret: Py::new(py, PySecretKey::new(core, secret))?,
            public: Py::new(py, PyPublicKey { core: own(), key: public })?,
            evaluation: Py::new(py, PyEvaluationKeys { core: own(), keys })?,
            bootstrap: bootstrap.transpose()?,
        })
    }
}

#[pymethods]
impl PyKeys {
    /// Encrypt an array.
    ///
    /// Parameters
    /// ----------
    /// values : array_like
    ///     A column of any length (one dimension), or a batch of rows (two dimensions), each
    ///     of which
    ///     has at most as many values as there are slots. CKKS takes real or complex numbers,
    ///     BFV and
    ///     BGV take integers below t / 2 in magnitude, or below t without sign.
    /// level : int, optional
    ///     CKKS: the level of the ciphertext, by default the highest.
    /// bound : float, optional
    ///     A public bound of the magnitudes; by default that of the values, rounded up to one of
    ///     eight steps per power of two, with whether there are negative and positive values.
    /// layout : {"rows", "columns"}, optional
    ///     Whether a row of an array of two dimensions lies in each ciphertext, or a column; by
    ///     default columns if there are at least 16 rows and twice as many as columns.
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
        self.secret.get().encrypt(values, level, bound, layout, progress)
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
        self.secret.get().decrypt(ciphertext, dtype, py)
    }

    /// Encrypt unsigned integers of `bits` bits under TFHE: an array of integers, or a list.
    #[pyo3(signature = (values, bits = 32))]
    fn encrypt_uint(&self, values: &Bound<'_, PyAny>, bits: usize) -> PyResult<PyUint> {
        self.secret.get().encrypt_uint(values, bits)
    }

    /// Decrypt integers: an array of uint64, or a list of int if they are wider than 64 bits.
    fn decrypt_uint<'py>(&self, values: &PyUint, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        uint::decrypt_uint(self.secret.get(), values, py)
    }

    /// Encrypt integers of `bits` bits with a sign under TFHE: an array of integers, or a list.
    #[pyo3(signature = (values, bits = 32))]
    fn encrypt_int(&self, values: &Bound<'_, PyAny>, bits: usize) -> PyResult<PyInt> {
        self.secret.get().encrypt_int(values, bits)
    }

    /// Decrypt integers with a sign: an array of int64, or a list of int if they are wider than 64
    /// bits.
    fn decrypt_int<'py>(&self, values: &PyInt, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        uint::decrypt_int(self.secret.get(), values, py)
    }

    /// Decrypt conditions into an array of bool.
    fn decrypt_bool<'py>(&self, values: &PyFlags, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        uint::decrypt_flags(self.secret.get(), values, py)
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(never_pickled("he.Keys"))
    }

    fn __copy__(&self) -> PyResult<()> {
        Err(never_pickled("he.Keys"))
    }

    fn __repr__(&self) -> String {
        format!("<he.Keys: {}>", self.secret.get().core.site.scheme())
    }
}

/// A public key from its pickled form.
#[pyfunction]
#[pyo3(name = "_public_key")]
pub fn unpickled_public(params: &PyParams, data: &Bound<'_, PyBytes>) -> PyResult<PyPublicKey> {
    let (params, bytes) = (params.0.clone(), data.as_bytes());
    detached(data.py(), || {
        let core = Core::for_pickled(params)?;
        let key = Public::from_bytes(&core, bytes)?;
        Ok(PyPublicKey { core, key })
    })
}

/// Evaluation keys from their pickled form.
#[pyfunction]
#[pyo3(name = "_evaluation_keys")]
pub fn unpickled_evaluation(params: &PyParams, data: &Bound<'_, PyBytes>) -> PyResult<PyEvaluationKeys> {
    let (params, bytes) = (params.0.clone(), data.as_bytes());
    detached(data.py(), || {
        let core = Core::for_pickled(params)?;
        let keys = Arc::new(EvalKeys::from_bytes(&core, bytes)?);
        Ok(PyEvaluationKeys { core, keys })
    })
}

/// Keys of bootstrapping from their pickled form.
#[pyfunction]
#[pyo3(name = "_bootstrap_keys")]
pub fn unpickled_bootstrap(params: &PyParams, data: &Bound<'_, PyBytes>) -> PyResult<PyBootstrapKeys> {
    let params = params.0.clone();
    let core = detached(data.py(), || Core::for_pickled(params))?;
    let keys = PyBootstrapKeys::of(&core, data.as_any())?;
    Ok(PyBootstrapKeys { core, keys })
}
