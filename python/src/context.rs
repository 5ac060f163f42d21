//! Parameters on a device, with the evaluation keys that computations use.

use crate::error::{Fault, Result};
use crate::interrupt;
use crate::keys::{EvalKeys, PyBootstrapKeys, PyEvaluationKeys, PyKeys, requirements};
use crate::params::{AnyParams, PyParams};
use crate::run::{Place, detached};
use he::Device;
use he_core::KeySetId;
use he_core::bfv::Bfv;
use he_core::bgv::Bgv;
use he_core::bootstrapping::{BootstrapKeys, BootstrapParams, Bootstrapper};
use he_core::ckks::{self, CkksParams};
use he_core::exact;
use he_core::ring::Ring;
use he_core::rlwe::EvaluationKeys;
use he_core::tfhe::{BootstrapKey, Carry, IntegerEvaluator, TfheParams};
use he_core::wire::WireScheme;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::collections::HashMap;
use std::process;
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

/// CKKS on a device.
pub struct CkksEngine {
    pub params: CkksParams,
    pub ring: Ring<Device>,
    pub ev: ckks::Evaluator<Device>,
    pub bootstrapping: Option<BootstrapParams>,
    /// Made when it is first needed.
    bootstrapper: Mutex<Option<Arc<Bootstrapper<Device>>>>,
}

impl CkksEngine {
    fn new(params: &CkksParams, bootstrapping: Option<&BootstrapParams>, device: Device) -> Result<Self> {
        let ring = match bootstrapping {
            Some(bootstrapping) => bootstrapping.ring(device)?,
            None => Ring::new(device, params.rlwe().ring().clone())?,
        };
        let ev = ckks::Evaluator::new(params, &ring)?;
        let (params, bootstrapping) = (params.clone(), bootstrapping.cloned());
        Ok(Self { params, ring, ev, bootstrapping, bootstrapper: Mutex::default() })
    }

    pub fn bootstrapper(&self) -> Result<Arc<Bootstrapper<Device>>> {
        let Some(params) = &self.bootstrapping else {
            return Err(Fault::Params(
                "these parameters have no bootstrapping; take those of he.Params.bootstrapping".to_owned(),
            ));
        };
        let mut made = self.bootstrapper.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bootstrapper) = &*made {
            return Ok(Arc::clone(bootstrapper));
        }
        let bootstrapper = Arc::new(Bootstrapper::new(params, &self.ring)?);
        Ok(Arc::clone(made.insert(bootstrapper)))
    }
}

/// BFV or BGV on a device.
pub struct ExactEngine<S: WireScheme> {
    pub params: exact::Params<S>,
    pub ring: Ring<Device>,
    pub ev: exact::Evaluator<S, Device>,
}

impl<S: WireScheme> ExactEngine<S> {
    fn new(params: &exact::Params<S>, device: Device) -> Result<Self> {
        let ring = Ring::new(device, params.rlwe().ring().clone())?;
        let ev = exact::Evaluator::new(params, &ring)?;
        Ok(Self { params: params.clone(), ring, ev })
    }
}

/// A scheme on a device.
pub enum Engine {
    Ckks(CkksEngine),
    Bfv(ExactEngine<Bfv>),
    Bgv(ExactEngine<Bgv>),
    Tfhe(TfheParams),
}

/// Does the same with the engine of every scheme over a ring.
macro_rules! on_ring {
    ($engine:expr, $name:ident => $body:expr, tfhe => $tfhe:expr) => {
        match $engine {
            $crate::context::Engine::Ckks($name) => $body,
            $crate::context::Engine::Bfv($name) => $body,
            $crate::context::Engine::Bgv($name) => $body,
            $crate::context::Engine::Tfhe(_) => $tfhe,
        }
    };
}
pub(crate) use on_ring;

/// Parameters on a device: contexts of the same parameters and device share one.
pub struct Site {
    pub params: AnyParams,
    pub place: Place,
    pub engine: Engine,
}

impl Site {
    /// The one that is there already, or a new one.
    fn open(params: AnyParams, device: Device) -> Result<Arc<Self>> {
        type Sites = HashMap<([u8; 32], bool, String, u32), Weak<Site>>;
        static SITES: Mutex<Option<Sites>> = Mutex::new(None);
        let can_refresh = matches!(params, AnyParams::Bootstrap(_));
        let place = Place::new(device.clone());
        let key = (params.fingerprint(), can_refresh, place.name(), process::id());
        let mut sites = SITES.lock().unwrap_or_else(PoisonError::into_inner);
        let sites = sites.get_or_insert_default();
        if let Some(site) = sites.get(&key).and_then(Weak::upgrade) {
            return Ok(site);
        }
        let engine = match &params {
            AnyParams::Ckks(ckks) => Engine::Ckks(CkksEngine::new(ckks, None, device.clone())?),
            AnyParams::Bootstrap(all) => {
                Engine::Ckks(CkksEngine::new(all.params(), Some(all), device.clone())?)
            }
            AnyParams::Bfv(exact) => Engine::Bfv(ExactEngine::new(exact, device.clone())?),
            AnyParams::Bgv(exact) => Engine::Bgv(ExactEngine::new(exact, device.clone())?),
            AnyParams::Tfhe(tfhe) => Engine::Tfhe(tfhe.clone()),
        };
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

    /// The engine of CKKS.
    pub fn ckks(&self) -> Result<&CkksEngine> {
        match &self.engine {
            Engine::Ckks(engine) => Ok(engine),
            _ => Err(Fault::Type(format!(
                "this is for the scheme ckks, and the context is of {}",
                self.scheme()
            ))),
        }
    }

    pub fn tfhe(&self) -> Result<&TfheParams> {
        match &self.engine {
            Engine::Tfhe(params) => Ok(params),
            _ => Err(Fault::Type(format!(
                "this is for the scheme tfhe, and the context is of {}",
                self.scheme()
            ))),
        }
    }

    /// That two objects can meet.
    pub fn check_same(&self, other: &Self, what: &str) -> Result<()> {
        if std::ptr::eq(self, other) {
            return Ok(());
        }
        let of = |site: &Self| {
            let mark: String =
                site.params.fingerprint()[..4].iter().map(|byte| format!("{byte:02x}")).collect();
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
    evaluation: RwLock<Option<Arc<EvalKeys>>>,
    /// Keys of other key sets, for as long as somebody has them.
    earlier: Mutex<Vec<Weak<EvalKeys>>>,
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
    pub fn open(params: AnyParams, device: &str) -> Result<Arc<Self>> {
        let site = Site::open(params, interrupt::device(device)?)?;
        let fingerprint = site.params.fingerprint();
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
    pub fn for_pickled(params: AnyParams) -> Result<Arc<Self>> {
        let latest = {
            let latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
            latest.as_ref().and_then(|latest| latest.get(&params.fingerprint())?.upgrade())
        };
        match latest.filter(|core| core.site.place.check().is_ok()) {
            Some(core) => Ok(core),
            None => Self::open(params, "auto"),
        }
    }

    pub fn evaluation(&self) -> Result<Arc<EvalKeys>> {
        read(&self.evaluation).ok_or_else(|| {
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
        let of = |keys: &EvalKeys| keys.key_set() == key_set;
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
        match &*keys {
            EvalKeys::Rlwe(_) => Ok(SwitchingKeys(keys)),
            EvalKeys::Tfhe(_) => Err(Fault::Type("evaluation keys of tfhe".to_owned())),
        }
    }

    pub fn bootstrap_keys(&self) -> Option<Arc<BootstrapKeys<Device>>> {
        read(&self.bootstrap)
    }

    pub fn set_evaluation(&self, keys: Option<Arc<EvalKeys>>) {
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
        let EvalKeys::Tfhe(key) = &*keys else {
            return Err(Fault::Type("integers of tfhe need evaluation keys of tfhe".to_owned()));
        };
        let mut made = self.uints.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(uints) = &*made {
            return Ok(Arc::clone(uints));
        }
        let key: &BootstrapKey = key;
        Ok(Arc::clone(made.insert(Arc::new(IntegerEvaluator::new(
            self.site.device(),
            key,
            Carry::default(),
        )?))))
    }
}

/// A product without keys, which nothing asks for.
pub fn no_keys() -> Fault {
    Fault::Key("a product without evaluation keys".to_owned())
}

/// Evaluation keys that are known to be those of RLWE schemes.
pub struct SwitchingKeys(Arc<EvalKeys>);

impl SwitchingKeys {
    pub fn get(&self) -> Result<&EvaluationKeys<Device>> {
        match &*self.0 {
            EvalKeys::Rlwe(keys) => Ok(keys),
            EvalKeys::Tfhe(_) => Err(Fault::Type("evaluation keys of tfhe".to_owned())),
        }
    }
}

/// Parameters on a device, with the evaluation keys that computations use.
///
/// Contexts are safe to share between threads.
#[pyclass(frozen, module = "he", name = "Context")]
pub struct PyContext(pub Arc<Core>);

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

    /// The keys of products, rotations and sums.
    #[getter]
    fn evaluation_keys(&self) -> Option<PyEvaluationKeys> {
        let keys = read(&self.0.evaluation)?;
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

    /// Generate keys; this context computes with its part of them from now on.
    ///
    /// Parameters
    /// ----------
    /// relinearisation : bool
    ///     A key for products of ciphertexts.
    /// sums : bool
    ///     Keys for sums over all slots, which also serve any rotation, in several steps.
    /// rotations : sequence of int, optional
    ///     Steps of rotations that get a key of their own.
    /// conjugation : bool
    ///     A key for complex conjugates, or for exchanging the rows of BFV and BGV.
    /// needs : sequence of Function or Model, optional
    ///     What else will be computed.
    /// bootstrapping : bool
    ///     Keys of refreshes, if the parameters have any: several GB at full size.
    /// progress : callable, optional
    ///     A callable that is told how many evaluation keys of how many are made,
    ///     ``progress(done, total)``. An exception that it raises ends the work. Keys of TFHE and
    ///     of refreshes are not counted.
    #[pyo3(signature = (
        *, relinearisation = true, sums = true, rotations = None, conjugation = false, needs = None,
        bootstrapping = true, progress = None
    ))]
    fn keygen(
        slf: &Bound<'_, Self>,
        relinearisation: bool,
        sums: bool,
        rotations: Option<Vec<i64>>,
        conjugation: bool,
        needs: Option<Vec<Bound<'_, PyAny>>>,
        bootstrapping: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<PyKeys> {
        let core = &slf.get().0;
        let required = requirements(
            core,
            (relinearisation, sums, conjugation),
            rotations.unwrap_or_default(),
            &needs.unwrap_or_default(),
        )?;
        interrupt::told(progress, || PyKeys::generate(slf.py(), core, &required, bootstrapping))
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
