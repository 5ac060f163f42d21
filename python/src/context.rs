//! Parameters on a device, with the evaluation keys that computations use.

use crate::error::{Fault, Result};
use crate::interrupt;
use crate::params::PyParams;
use crate::run::{Place, detached};
use he::Device;
use he_any::rlwe::{self, Ckks};
use he_any::{Engine, Evaluation, Params};
use he_core::KeySetId;
use he_core::bootstrapping::BootstrapKeys;
use he_core::rlwe::EvaluationKeys;
use he_core::tfhe::{Carry, IntegerEvaluator, TfheParams};
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::collections::HashMap;
use std::process;
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

/// Parameters on a device: contexts of the same parameters and device share one.
pub struct Site {
    pub params: Params,
    pub place: Place,
    pub engine: Engine,
}

impl Site {
    /// The one that is there already, or a new one.
    fn open(params: Params, device: Device) -> Result<Arc<Self>> {
        type Sites = HashMap<([u8; 32], bool, String, u32), Weak<Site>>;
        static SITES: Mutex<Option<Sites>> = Mutex::new(None);
        let can_refresh = params.bootstrapping().is_some();
        let place = Place::new(device.clone());
        let key = (params.fingerprint().0, can_refresh, place.name(), process::id());
        let mut sites = SITES.lock().unwrap_or_else(PoisonError::into_inner);
        let sites = sites.get_or_insert_default();
        if let Some(site) = sites.get(&key).and_then(Weak::upgrade) {
            return Ok(site);
        }
        let engine = Engine::new(&params, device)?;
        let site = Arc::new(Self { params, place, engine });
        sites.retain(|_, site| site.strong_count() > 0);
        sites.insert(key, Arc::downgrade(&site));
        Ok(site)
    }

    pub fn scheme(&self) -> &'static str {
        self.params.scheme()
    }

    pub fn device(&self) -> &Device {
        self.place.device()
    }

    /// The engine of CKKS, BFV or BGV.
    pub fn rlwe(&self) -> Result<&rlwe::Engine> {
        let tfhe = || Fault::Type("integers of tfhe are of the type he.EncryptedUint".to_owned());
        self.engine.rlwe().ok_or_else(tfhe)
    }

    /// The engine of CKKS.
    pub fn ckks(&self) -> Result<&Ckks> {
        self.engine.ckks().ok_or_else(|| self.is_not_of("ckks"))
    }

    pub fn tfhe(&self) -> Result<&TfheParams> {
        self.engine.tfhe().map(|of| &of.params).ok_or_else(|| self.is_not_of("tfhe"))
    }

    fn is_not_of(&self, scheme: &str) -> Fault {
        Fault::Type(format!("this is for the scheme {scheme}, and the context is of {}", self.scheme()))
    }

    /// That two objects can meet.
    pub fn check_same(&self, other: &Self, what: &str) -> Result<()> {
        if std::ptr::eq(self, other) {
            return Ok(());
        }
        let of = |site: &Self| {
            let mark: String =
                site.params.fingerprint().0[..4].iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{} {mark} on {}", site.scheme(), site.place.name())
        };
        Err(Fault::Params(format!(
            "the {what} belongs to a context of {}, where one of {} is expected; \
             load its bytes into a context of these parameters",
            of(other),
            of(self),
        )))
    }
}

/// The state that a context and its objects share.
pub struct Core {
    pub site: Arc<Site>,
    evaluation: RwLock<Option<Arc<Evaluation>>>,
    /// Keys of other key sets, for as long as somebody has them.
    earlier: Mutex<Vec<Weak<Evaluation>>>,
    bootstrap: RwLock<Option<Arc<BootstrapKeys<Device>>>>,
    /// The evaluator of integers under TFHE, which holds the key on the device.
    uints: Mutex<Option<Arc<IntegerEvaluator<Device>>>>,
}

/// The context of each parameter set that was made last, for objects that are unpickled.
static LATEST: Mutex<Option<HashMap<[u8; 32], Weak<Core>>>> = Mutex::new(None);

fn read<T: Clone>(lock: &RwLock<T>) -> T {
    lock.read().unwrap_or_else(PoisonError::into_inner).clone()
}

impl Core {
    pub fn open(params: Params, device: &str) -> Result<Arc<Self>> {
        let site = Site::open(params, interrupt::device(device)?)?;
        let fingerprint = site.params.fingerprint().0;
        let core = Arc::new(Self {
            site,
            evaluation: RwLock::default(),
            earlier: Mutex::default(),
            bootstrap: RwLock::default(),
            uints: Mutex::default(),
        });
        let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
        latest.get_or_insert_default().insert(fingerprint, Arc::downgrade(&core));
        Ok(core)
    }

    /// The context for an object that is unpickled: the latest of its parameters in this process,
    /// or a new one.
    pub fn for_pickled(params: Params) -> Result<Arc<Self>> {
        let latest = {
            let latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
            latest.as_ref().and_then(|latest| latest.get(&params.fingerprint().0)?.upgrade())
        };
        match latest.filter(|core| core.site.place.check().is_ok()) {
            Some(core) => Ok(core),
            None => Self::open(params, "auto"),
        }
    }

    pub fn evaluation(&self) -> Result<Arc<Evaluation>> {
        self.evaluation_keys().ok_or_else(|| {
            Fault::Key(
                "the context has no evaluation keys; make them with keygen, or set context.evaluation_keys: a \
                 process that ciphertexts are sent to needs those of their key set, which are pickled as well, and \
                 has its context in he.Context.latest(params)"
                    .to_owned(),
            )
        })
    }

    /// The keys of products and rotations of a key set: those that the context has, or earlier ones
    /// of its that are still held.
    pub fn switching(&self, key_set: Option<KeySetId>) -> Result<SwitchingKeys> {
        let current = self.evaluation()?;
        let of = |keys: &Evaluation| keys.key_set() == key_set;
        let keys = if key_set.is_none() || current.key_set().is_none() || of(&current) {
            current
        } else {
            let earlier = self.earlier.lock().unwrap_or_else(PoisonError::into_inner);
            let found = earlier.iter().filter_map(Weak::upgrade).find(|keys| of(keys));
            found.ok_or_else(|| {
                let id = |of: Option<KeySetId>| of.map_or_else(String::new, |id| format!(" {id}"));
                Fault::Key(format!(
                    "the ciphertext is of the key set{}, and the context computes with the evaluation keys of \
                     another{}: those of keygen, or those that were set last. Set context.evaluation_keys to \
                     those that were made with its secret key, or keep its he.Keys",
                    id(key_set),
                    id(current.key_set())
                ))
            })?
        };
        Ok(SwitchingKeys(keys))
    }

    /// The evaluation keys, if there are any.
    pub fn evaluation_keys(&self) -> Option<Arc<Evaluation>> {
        read(&self.evaluation)
    }

    pub fn bootstrap_keys(&self) -> Option<Arc<BootstrapKeys<Device>>> {
        read(&self.bootstrap)
    }

    pub fn set_evaluation(&self, keys: Option<Arc<Evaluation>>) {
        *self.uints.lock().unwrap_or_else(PoisonError::into_inner) = None;
        if let Some(keys) = &keys {
            let mut earlier = self.earlier.lock().unwrap_or_else(PoisonError::into_inner);
            earlier.retain(|keys| keys.strong_count() > 0);
            earlier.push(Arc::downgrade(keys));
        }
        *self.evaluation.write().unwrap_or_else(PoisonError::into_inner) = keys;
    }

    pub fn set_bootstrap(&self, keys: Option<Arc<BootstrapKeys<Device>>>) {
        *self.bootstrap.write().unwrap_or_else(PoisonError::into_inner) = keys;
    }

    /// The evaluator of integers under TFHE.
    pub fn uints(&self) -> Result<Arc<IntegerEvaluator<Device>>> {
        let keys = self.evaluation()?;
        let Some(key) = keys.tfhe() else {
            return Err(Fault::Type("integers of tfhe need evaluation keys of tfhe".to_owned()));
        };
        let mut made = self.uints.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(uints) = &*made {
            return Ok(Arc::clone(uints));
        }
        Ok(Arc::clone(made.insert(Arc::new(IntegerEvaluator::new(
            self.site.device(),
            key,
            Carry::default(),
        )?))))
    }
}

/// The keys of products and rotations.
pub struct SwitchingKeys(Arc<Evaluation>);

impl SwitchingKeys {
    pub fn get(&self) -> Result<&EvaluationKeys<Device>> {
        self.0.rlwe().ok_or_else(|| Fault::Type("evaluation keys of tfhe".to_owned()))
    }
}

/// Parameters on a device, with the evaluation keys that computations use.
///
/// Contexts are safe to share between threads.
#[pyclass(frozen, module = "he", name = "Context")]
pub struct PyContext(pub Arc<Core>);

#[pymethods]
impl PyContext {
    /// The parameters.
    #[getter]
    fn params(&self) -> PyParams {
        PyParams(self.0.site.params.clone())
    }

    /// The device: ``cpu``, ``cuda:N`` or ``cuda:N+M``.
    #[getter]
    fn device(&self) -> String {
        self.0.site.place.name()
    }

    /// ``ckks``, ``bfv``, ``bgv`` or ``tfhe``.
    #[getter]
    fn scheme(&self) -> &'static str {
        self.0.site.scheme()
    }

    /// The slots of a ciphertext; None under TFHE.
    #[getter]
    fn slots(&self) -> Option<usize> {
        self.0.site.params.slots()
    }

    /// Says why it is not pickled.
    fn __reduce__(&self) -> PyResult<()> {
        Err(Fault::Type(
            "a he.Context belongs to its process and is not pickled; send context.params and \
             context.evaluation_keys, which are"
                .to_owned(),
        )
        .into())
    }

    fn __repr__(&self) -> String {
        format!("<he.Context: {} on {}>", self.scheme(), self.device())
    }

    /// The context of these parameters that was made last in this process, or a new one.
    #[classmethod]
    fn latest(_class: &Bound<'_, PyType>, params: &PyParams, py: Python<'_>) -> PyResult<Self> {
        let params = params.0.clone();
        Ok(Self(detached(py, || Core::for_pickled(params))?))
    }
}

/// The devices that work here, the CPU last.
#[pyfunction]
pub fn devices(py: Python<'_>) -> PyResult<Vec<String>> {
    detached(py, || {
        let gpus = (0..Device::cuda_count()?).map(|ordinal| format!("cuda:{ordinal}"));
        Ok(gpus.chain(["cpu".to_owned()]).collect())
    })
}
