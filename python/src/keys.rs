//! Keys of all schemes.

use crate::arrays::Bytes;
use crate::context::{Core, PyContext};
use crate::error::{Fault, Result};
use crate::interrupt::{self, Watched};
use crate::keygen::requirements;
use crate::params::PyParams;
use crate::run::detached;
use crate::secrets;
use he::Device;
use he_any::rlwe::Owner;
use he_any::{Evaluation, Params, Public, Secret};
use he_core::KeySetId;
use he_core::bootstrapping::BootstrapKeys;
use he_core::rlwe::{EvaluationKeys, KeyRequirements, PublicKey};
use he_core::tfhe::{CompactPublicKey, TfheSecretKey};
use he_files::key_file::KeyFiles;
use he_files::on_rlwe;
use he_files::scheme::OneOf;
use he_files::scheme::engine::rng;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyType};
use std::sync::{Arc, OnceLock};

/// The evaluation keys of a key file.
pub fn of_file(core: &Core, file: OneOf<KeyFiles>) -> Result<Evaluation> {
    let other =
        || Fault::Params(format!("a key file of another scheme, in a context of {}", core.site.scheme()));
    on_rlwe!(
        file,
        file => {
            let params = Params::from(file.params.clone());
            if params.scheme() != core.site.scheme() {
                return Err(other());
            }
            let (found, expected) = (params.fingerprint(), core.site.params.fingerprint());
            if found != expected {
                let (what, found, expected) = ("evaluation key", found.to_string(), expected.to_string());
                return Err(he_core::Error::ParamsMismatch { what, found, expected }.into());
            }
            Ok(Evaluation::Rlwe(file.evaluation(core.site.rlwe()?.ring())?))
        },
        bigckks _ => Err(other())
    )
}

/// The getters of objects of a context that are keys: `key_set_id` gives their identity.
macro_rules! of_context {
    ($($class:ty),*) => {$(
        #[pymethods]
        impl $class {
            /// The context.
            #[getter]
            fn context(&self) -> PyContext {
                PyContext(Arc::clone(&self.core))
            }

            /// The identity of the key set: the same for a secret key and all that was made with
            /// it.
            #[getter]
            fn key_set(&self) -> Option<String> {
                self.key_set_id().map(|id| id.to_string())
            }

            /// The parameters.
            #[getter]
            fn params(&self) -> PyParams {
                PyParams(self.core.site.params.clone())
            }
        }
    )*};
}

of_context!(PyPublicKey, PyEvaluationKeys, PyBootstrapKeys);

/// A secret key: it decrypts, and encrypts with less noise than a public key.
///
/// It is wiped from memory when it is dropped, never printed and never pickled.
#[pyclass(frozen, module = "he", name = "SecretKey")]
pub struct PySecretKey {
    pub core: Arc<Core>,
    pub secret: Secret,
    owner: OnceLock<Owner>,
}

impl PySecretKey {
    pub fn new(core: &Arc<Core>, secret: Secret) -> Self {
        Self { core: Arc::clone(core), secret, owner: OnceLock::new() }
    }

    pub fn tfhe(&self) -> Result<&TfheSecretKey> {
        self.secret.tfhe().ok_or_else(|| {
            Fault::Type(format!("a secret key of {}, where one of tfhe is expected", self.core.site.scheme()))
        })
    }

    /// The encryptor and the decryptor: made when they are first needed, and wiped with the key.
    pub fn owner(&self) -> Result<&Owner> {
        if let Some(owner) = self.owner.get() {
            return Ok(owner);
        }
        if self.secret.tfhe().is_some() {
            return Err(Fault::Type("a secret key of tfhe".to_owned()));
        }
        let owner = self.secret.owner(&self.core.site.engine)?;
        Ok(self.owner.get_or_init(|| owner))
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
        self.secret.key_set().to_string()
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
            Ok(Secret::from_bytes(&core.site.engine, bytes)?)
        })?;
        Ok(Self::new(core, secret))
    }

    /// **The secret** as bytes that can be overwritten when they are no longer needed.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyByteArray>> {
        let bytes = self.secret.to_bytes(&self.core.site.engine).map_err(Fault::from)?;
        Ok(PyByteArray::new(py, &bytes))
    }

    /// A new public key of this secret key.
    fn public_key(&self, py: Python<'_>) -> PyResult<PyPublicKey> {
        let core = &self.core;
        let key = core.site.place.run(py, || Ok(self.secret.public(&core.site.engine, &mut rng()?)?))?;
        Ok(PyPublicKey { core: Arc::clone(core), key })
    }

    /// New evaluation keys of this secret key. Nothing computes with them until a context has them:
    /// ``context.evaluation_keys = keys``.
    ///
    /// Parameters
    /// ----------
    /// relinearisation, sums, rotations, conjugation, needs, progress
    ///     Those of `Context.keygen`.
    #[pyo3(signature = (
        *, relinearisation = true, sums = true, rotations = None, conjugation = false, needs = None,
        progress = None
    ))]
    fn evaluation_keys(
        &self,
        relinearisation: bool,
        sums: bool,
        rotations: Option<Vec<i64>>,
        conjugation: bool,
        needs: Option<Vec<Bound<'_, PyAny>>>,
        progress: Option<Py<PyAny>>,
        py: Python<'_>,
    ) -> PyResult<PyEvaluationKeys> {
        let core = &self.core;
        let (rotations, needs) = (rotations.unwrap_or_default(), needs.unwrap_or_default());
        let required = requirements(core, (relinearisation, sums, conjugation), rotations, &needs)?;
        let keys = interrupt::told(progress, || {
            core.site.place.run(py, || {
                secrets::check_allowed("making keys")?;
                let mut rng = Watched(rng()?);
                Ok(self.secret.evaluation(&core.site.engine, &required, &mut rng, interrupt::tell)?)
            })
        })?;
        Ok(PyEvaluationKeys { core: Arc::clone(core), keys: Arc::new(keys) })
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
    pub key: Public,
}

impl PyPublicKey {
    pub fn rlwe(&self) -> Result<&PublicKey<Device>> {
        self.key.rlwe().ok_or_else(|| Fault::Type("a public key of tfhe".to_owned()))
    }

    pub fn tfhe(&self) -> Result<&CompactPublicKey> {
        self.key.tfhe().ok_or_else(|| {
            Fault::Type(format!("a public key of {}, where one of tfhe is expected", self.core.site.scheme()))
        })
    }

    fn key_set_id(&self) -> Option<KeySetId> {
        self.key.key_set()
    }
}

#[pymethods]
impl PyPublicKey {
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
        let key = core.site.place.run(py, || Ok(Public::from_bytes(&core.site.engine, bytes)?))?;
        Ok(Self { core: Arc::clone(core), key })
    }

    /// The key as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.core.site.place.run(py, || Ok(self.key.to_bytes(&self.core.site.engine)?))?;
        Ok(PyBytes::new(py, &bytes))
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

/// The error of a part of a key of TFHE.
fn no_parts() -> Fault {
    Fault::Type("evaluation keys of tfhe are one key, which has no parts".to_owned())
}

/// Evaluation keys: a server computes with them, and learns nothing.
#[pyclass(frozen, module = "he", name = "EvaluationKeys")]
pub struct PyEvaluationKeys {
    pub core: Arc<Core>,
    pub keys: Arc<Evaluation>,
}

impl PyEvaluationKeys {
    /// A copy that is changed.
    fn changed(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut EvaluationKeys<Device>) -> Result<()> + Send,
    ) -> PyResult<Self> {
        let keys = self.core.site.place.run(py, || {
            let keys = self.keys.rlwe().ok_or_else(no_parts)?;
            let mut copy = keys.to(keys.ring())?;
            change(&mut copy)?;
            Ok(copy)
        })?;
        Ok(Self { core: Arc::clone(&self.core), keys: Arc::new(Evaluation::Rlwe(keys)) })
    }

    fn key_set_id(&self) -> Option<KeySetId> {
        self.keys.key_set()
    }

    /// The keys of an object or of its bytes, on the device of a context.
    pub fn of(core: &Arc<Core>, keys: &Bound<'_, PyAny>) -> PyResult<Arc<Evaluation>> {
        if let Ok(own) = keys.cast::<Self>() {
            core.site.check_same(&own.get().core.site, "evaluation key")?;
            return Ok(Arc::clone(&own.get().keys));
        }
        let bytes = Bytes::new(keys, "evaluation_keys")?;
        let bytes = bytes.as_slice();
        core.site.place.run(keys.py(), || Ok(Arc::new(Evaluation::from_bytes(&core.site.engine, bytes)?)))
    }
}

#[pymethods]
impl PyEvaluationKeys {
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
        let keys = core
            .site
            .place
            .run(data.py(), || Ok(Arc::new(Evaluation::from_bytes(&core.site.engine, bytes)?)))?;
        Ok(Self { core: Arc::clone(core), keys })
    }

    /// The key as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.core.site.place.run(py, || Ok(self.keys.to_bytes(&self.core.site.engine)?))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Whether there is a key for products of ciphertexts; always under TFHE.
    #[getter]
    fn has_relinearisation(&self) -> bool {
        self.keys.rlwe().is_none_or(|keys| keys.relin().is_ok())
    }

    /// The number of keys of rotations and conjugates; 0 under TFHE.
    #[getter]
    fn galois_count(&self) -> usize {
        self.keys.rlwe().map_or(0, |keys| keys.galois_keys().count())
    }

    /// A part of the keys, for those who are to compute less: a copy that has those for products of
    /// ciphertexts, those of rotations and conjugates, or none.
    #[pyo3(signature = (*, relinearisation = false, galois = false))]
    fn part(&self, relinearisation: bool, galois: bool, py: Python<'_>) -> PyResult<Self> {
        self.changed(py, |keys| {
            if !relinearisation {
                keys.remove_relin();
            }
            if !galois {
                keys.remove_galois();
            }
            Ok(())
        })
    }

    /// These keys and others of the same key set, which take the place of those of the same kind.
    fn merged(&self, other: &Self, py: Python<'_>) -> PyResult<Self> {
        self.core.site.check_same(&other.core.site, "evaluation key")?;
        self.changed(py, |keys| {
            let other = other.keys.rlwe().ok_or_else(no_parts)?;
            Ok(keys.merge(other.to(keys.ring())?)?)
        })
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
    fn key_set_id(&self) -> Option<KeySetId> {
        self.keys.key_set()
    }

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
    pub secret: Py<PySecretKey>,
    #[pyo3(get)]
    public: Py<PyPublicKey>,
    #[pyo3(get)]
    evaluation: Py<PyEvaluationKeys>,
    #[pyo3(get)]
    bootstrap: Option<Py<PyBootstrapKeys>>,
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
            let (rng, engine) = (&mut Watched(rng()?), &core.site.engine);
            let (secret, public, evaluation) = engine.generate(needs, rng, interrupt::tell)?;
            let params = core.site.params.bootstrapping().filter(|_| bootstrapping);
            let bootstrap = params.zip(secret.rlwe().zip(engine.ckks()));
            let bootstrap = bootstrap
                .map(|(params, (secret, engine))| BootstrapKeys::generate(secret, params, &engine.ring, rng));
            Ok((secret, public, evaluation, bootstrap.transpose()?))
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

#[pymethods]
impl PyContext {
    /// Prepare parameters on a device.
    ///
    /// Parameters
    /// ----------
    /// params : Params
    ///     The parameters.
    /// device : str
    ///     ``auto`` (the first GPU that works, otherwise the CPU), ``cpu``, ``cuda``, ``cuda:N``,
    ///     or ``cuda:N+M`` for several GPUs that share each large ciphertext.
    /// evaluation_keys : EvaluationKeys or bytes, optional
    ///     What products and rotations are computed with.
    #[new]
    #[pyo3(signature = (params, device = "auto", *, evaluation_keys = None))]
    fn new(
        params: &PyParams,
        device: &str,
        evaluation_keys: Option<&Bound<'_, PyAny>>,
        py: Python<'_>,
    ) -> PyResult<Self> {
        let params = params.0.clone();
        let context = Self(detached(py, || Core::open(params, device))?);
        if let Some(keys) = evaluation_keys {
            let keys = PyEvaluationKeys::of(&context.0, keys)?;
            context.0.set_evaluation(Some(keys));
        }
        Ok(context)
    }

    /// The keys of products, rotations and sums.
    #[getter]
    fn evaluation_keys(&self) -> Option<PyEvaluationKeys> {
        let keys = self.0.evaluation_keys()?;
        Some(PyEvaluationKeys { core: Arc::clone(&self.0), keys })
    }

    #[setter]
    fn set_evaluation_keys(&self, keys: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let keys = keys.map(|keys| PyEvaluationKeys::of(&self.0, keys)).transpose()?;
        self.0.set_evaluation(keys);
        Ok(())
    }

    /// The keys of refreshes.
    #[getter]
    fn bootstrap_keys(&self) -> Option<PyBootstrapKeys> {
        let keys = self.0.bootstrap_keys()?;
        Some(PyBootstrapKeys { core: Arc::clone(&self.0), keys })
    }

    #[setter]
    fn set_bootstrap_keys(&self, keys: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let keys = keys.map(|keys| PyBootstrapKeys::of(&self.0, keys)).transpose()?;
        self.0.set_bootstrap(keys);
        Ok(())
    }
}

/// A public key from its pickled form.
#[pyfunction]
#[pyo3(name = "_public_key")]
pub fn unpickled_public(params: &PyParams, data: &Bound<'_, PyBytes>) -> PyResult<PyPublicKey> {
    let (params, bytes) = (params.0.clone(), data.as_bytes());
    detached(data.py(), || {
        let core = Core::for_pickled(params)?;
        let key = Public::from_bytes(&core.site.engine, bytes)?;
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
        let keys = Arc::new(Evaluation::from_bytes(&core.site.engine, bytes)?);
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
