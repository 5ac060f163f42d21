//! Key sets of queries: their descriptions in plans, and the keys themselves, which every process
//! loads once from their place.

use crate::column::Progress;
use crate::error::{Error, Result};
use crate::params::{self, Predictions};
use crate::place;
use he::Device;
use he_any::layout::Bounds;
use he_any::{Engine, Keys, Params};
use he_core::KeySetId;
use he_core::ring::{galois_conjugation, galois_rotation};
use he_core::rlwe::{KeyRequirements, rotation_path};
use he_core::wire::{FrameHeader, first_frame_limit};
use he_files::io::input::Input;
use he_files::key_file::{AnyKey, Key};
use he_files::{on_rlwe, tfhe};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::hash::{Hash, Hasher};
use std::io::BufReader;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The description of a key set in a plan: parameters and identity, which keys there are, and
/// where. Nothing of it is secret, and nothing of it is a key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Description {
    /// The place of the evaluation keys.
    url: String,
    /// The parameters as bytes.
    params: Vec<u8>,
    /// The identity of the key set.
    key_set: Option<String>,
    /// Whether there is a relinearisation key.
    relin: bool,
    /// The Galois elements with keys, in order.
    galois: Vec<u64>,
    /// The most rows that a group is assumed to have.
    rows: u64,
    /// The greatest magnitudes that clear columns are assumed to have, by their names.
    clear: BTreeMap<String, u64>,
    /// The greatest magnitude that is assumed of all other clear numbers.
    most: u64,
}

/// The key set that a query computes with.
#[derive(Clone, Debug)]
pub struct KeySet {
    description: Arc<Description>,
    params: Arc<Params>,
}

impl PartialEq for KeySet {
    fn eq(&self, other: &Self) -> bool {
        self.description == other.description
    }
}

impl Eq for KeySet {}

impl Hash for KeySet {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.description.hash(state);
    }
}

/// The rows of a group for which noise is predicted unless the tables say more.
pub const DEFAULT_ROWS: u64 = 1 << 20;

impl KeySet {
    /// Reads the evaluation keys at a URL or path, and keeps them for this process.
    ///
    /// # Errors
    /// There is nothing, or something else than evaluation keys of CKKS, BFV, BGV or TFHE.
    pub fn open(url: &str) -> Result<Self> {
        let url = place::absolute(url)?;
        let loaded = load(&url, None, None)?;
        Self::loaded(url, loaded)
    }

    /// Opens keys as bytes of the library or of the Python package (`EvaluationKeys.to_bytes`),
    /// which do not begin with the parameters (`Params.to_bytes`).
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn open_with(url: &str, params: &Path) -> Result<Self> {
        /// Parameters have a few hundred bytes.
        const MOST: u64 = 1 << 16;
        let name = params.display().to_string();
        let params = params::read(&Input::open(params)?.read_all(MOST)?);
        let wrong = |error: Error| Error::Place {
            url: name,
            why: format!("not parameters ({error}); give the bytes of Params.to_bytes"),
        };
        let params = params.map_err(wrong)?;
        let url = place::absolute(url)?;
        let loaded = load(&url, Some(&params), None)?;
        Self::loaded(url, loaded)
    }

    fn loaded(url: String, loaded: Loaded) -> Result<Self> {
        let Loaded { params, key_set, galois, relin, compute } = loaded;
        let description = Description {
            url,
            params: params.to_bytes()?,
            key_set,
            relin,
            galois,
            rows: DEFAULT_ROWS,
            clear: BTreeMap::new(),
            most: 0,
        };
        let set = Self { params: Arc::new(params), description: Arc::new(description) };
        keep(&set, compute);
        Ok(set)
    }

    /// This key set for groups of at most this many rows.
    #[must_use]
    pub fn with_rows(&self, rows: u64) -> Self {
        let description = Description { rows: rows.max(1), ..(*self.description).clone() };
        Self { description: Arc::new(description), params: Arc::clone(&self.params) }
    }

    /// This key set for clear columns of at most these magnitudes, by their names, and for other
    /// clear numbers of at most the last one.
    #[must_use]
    pub fn with_clear(&self, clear: &BTreeMap<String, u64>, most: u64) -> Self {
        let description = Description { clear: clear.clone(), most, ..(*self.description).clone() };
        Self { description: Arc::new(description), params: Arc::clone(&self.params) }
    }

    /// This key set without the assumptions about tables.
    fn bare(&self) -> Self {
        self.with_rows(DEFAULT_ROWS).with_clear(&BTreeMap::new(), 0)
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The predictions about results of computations.
    pub fn predictions(&self) -> Predictions<'_> {
        Predictions(&self.params)
    }

    /// The identity, if it is known.
    pub fn key_set(&self) -> Option<&str> {
        self.description.key_set.as_deref()
    }

    /// The place of the keys.
    pub fn url(&self) -> &str {
        &self.description.url
    }

    /// The most rows that a group is assumed to have.
    pub fn rows(&self) -> u64 {
        self.description.rows
    }

    /// The greatest magnitude that the numbers of a clear column are assumed to have.
    pub fn clear(&self, column: &str) -> u64 {
        self.description.clear.get(column).copied().unwrap_or(self.description.most)
    }

    /// Checks that the parameters hold the values of a column, as far as these are known.
    ///
    /// # Errors
    /// [`Error::Range`] for values that may leave the numbers that the parameters hold.
    pub fn check_range(&self, column: &str, bounds: Option<Bounds>, progress: &Progress) -> Result<()> {
        let Some(bounds) = bounds else { return Ok(()) };
        let limit = self.predictions().holds(progress);
        if bounds.magnitude() <= limit {
            return Ok(());
        }
        Err(Error::Range {
            column: column.to_owned(),
            low: bounds.low,
            high: bounds.high,
            limit,
            scheme: self.params.scheme(),
            rows: self.rows(),
        })
    }

    /// Checks that there is a relinearisation key.
    ///
    /// # Errors
    /// There is none.
    pub fn relin(&self) -> he_core::Result<()> {
        if self.description.relin { Ok(()) } else { Err(he_core::Error::MissingRelinKey) }
    }

    /// Checks that there is a key for the conjugation.
    ///
    /// # Errors
    /// There is none.
    pub fn conjugation(&self) -> he_core::Result<()> {
        match self.has(galois_conjugation(self.log_n())) {
            true => Ok(()),
            false => Err(he_core::Error::MissingConjugationKey),
        }
    }

    /// The key switches that a rotation by this many slots takes.
    ///
    /// # Errors
    /// There are no keys for it.
    pub fn rotation(&self, step: i64) -> he_core::Result<usize> {
        Ok(rotation_path(step, self.log_n(), |g| self.has(g))?.len())
    }

    /// The steps of rotations that have a key of their own and are powers of two, for people.
    pub fn power_steps(&self) -> Vec<i64> {
        let log_n = self.log_n();
        let steps = (0..log_n.saturating_sub(1)).map(|bit| 1i64 << bit);
        steps.filter(|&step| self.has(galois_rotation(step, log_n))).collect()
    }

    /// log2 of the ring's degree; 0 under TFHE.
    fn log_n(&self) -> u32 {
        self.params.log_n().unwrap_or(0)
    }

    fn has(&self, element: u64) -> bool {
        self.description.galois.binary_search(&element).is_ok()
    }

    /// The description as bytes, for the functions of a plan that travels.
    ///
    /// # Errors
    /// None in practice.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(&*self.description).map_err(|error| Error::Table(error.to_string()))
    }

    /// The key set of the bytes of [`to_bytes`](Self::to_bytes).
    ///
    /// # Errors
    /// The bytes are something else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut description: Description = serde_json::from_slice(bytes)
            .map_err(|error| Error::Table(format!("a plan without the key set of its functions: {error}")))?;
        description.galois.sort_unstable();
        let params = Arc::new(params::read(&description.params)?);
        Ok(Self { description: Arc::new(description), params })
    }
}

/// The arithmetic and the keys of a key set in this process.
#[derive(Debug)]
pub struct Compute {
    /// The arithmetic.
    pub engine: Arc<Engine>,
    set: Option<KeySet>,
    keys: Mutex<Option<Arc<Keys>>>,
}

impl Compute {
    /// The `Compute` of a key set: one for all functions of a process.
    ///
    /// # Errors
    /// The device fails.
    pub fn of(set: &KeySet) -> Result<Arc<Self>> {
        let mut all = kept().lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = all.get(&set.bare()) {
            return Ok(Arc::clone(found));
        }
        let engine = Arc::new(Engine::new(set.params(), device())?);
        let made = Arc::new(Self { engine, set: Some(set.clone()), keys: Mutex::default() });
        all.insert(set.bare(), Arc::clone(&made));
        Ok(made)
    }

    /// The keys, which are loaded by the first who asks.
    ///
    /// # Errors
    /// They cannot be had, or are of another key set than the plan's.
    pub fn keys(&self) -> Result<Arc<Keys>> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = &*keys {
            return Ok(Arc::clone(found));
        }
        let Some(set) = &self.set else { return Err(he_core::Error::MissingRelinKey.into()) };
        let found = load(set.url(), Some(set.params()), Some(&self.engine))?;
        if found.key_set.as_deref() != set.key_set() || found.params.fingerprint() != set.params.fingerprint()
        {
            let shown = |id: Option<&str>| id.unwrap_or("unknown").to_owned();
            let (url, expected) = (set.url().to_owned(), shown(set.key_set()));
            return Err(Error::Changed { url, found: shown(found.key_set.as_deref()), expected });
        }
        let found = found.compute.keys()?;
        *keys = Some(Arc::clone(&found));
        Ok(found)
    }
}

type Kept = Mutex<HashMap<KeySet, Arc<Compute>>>;

fn kept() -> &'static Kept {
    static KEPT: OnceLock<Kept> = OnceLock::new();
    KEPT.get_or_init(Kept::default)
}

fn keep(set: &KeySet, compute: Compute) {
    let compute = Compute { set: Some(set.clone()), ..compute };
    let mut all = kept().lock().unwrap_or_else(PoisonError::into_inner);
    all.insert(set.bare(), Arc::new(compute));
}

static DEVICE: OnceLock<Device> = OnceLock::new();

/// Chooses the device that this process computes on, before it has computed: `cpu`, `cuda:N` or
/// `auto`.
///
/// # Errors
/// There is no such device, or another was chosen before.
pub fn use_device(name: &str) -> Result<()> {
    DEVICE
        .set(name.parse()?)
        .map_err(|_| Error::Table(format!("device {name}: this process computes on another already")))
}

/// The device of this process: the CPU unless another was chosen.
pub fn device() -> Device {
    DEVICE.get_or_init(Device::cpu).clone()
}

struct Loaded {
    params: Params,
    key_set: Option<String>,
    relin: bool,
    galois: Vec<u64>,
    compute: Compute,
}

impl Loaded {
    /// Loads the keys that `keys` makes, for the engine of the same parameters if there is one.
    fn new(
        params: Params,
        engine: Option<&Arc<Engine>>,
        keys: impl FnOnce(&Engine) -> Result<(Keys, Option<KeySetId>)>,
    ) -> Result<Self> {
        let engine = match engine.filter(|engine| engine.is_of(&params)) {
            Some(engine) => Arc::clone(engine),
            None => Arc::new(Engine::new(&params, device())?),
        };
        let (keys, key_set) = keys(&engine)?;
        let (relin, galois) = keys.parts();
        let (key_set, keys) = (key_set.map(|id| id.to_string()), Mutex::new(Some(Arc::new(keys))));
        Ok(Self { params, key_set, relin, galois, compute: Compute { engine, set: None, keys } })
    }
}

/// Reads a file of evaluation keys, or their bytes under known parameters, for an engine of the
/// same parameters if there is one.
fn load(url: &str, known: Option<&Params>, engine: Option<&Arc<Engine>>) -> Result<Loaded> {
    let mut input = place::open(url)?;
    let start = input.peek(FrameHeader::SIZE)?;
    if he_files::passphrase::is_sealed(start) {
        return Err(Error::Secret { url: url.to_owned(), found: "a sealed secret key" });
    }
    // A key file begins with its parameters, and the bytes of keys do not.
    let header = start.first_chunk().and_then(|header| FrameHeader::parse(header).ok());
    let is_file = header.is_none_or(|header| first_frame_limit(header.kind) > 0);
    if let (Some(params), false) = (known, is_file) {
        return Loaded::new(params.clone(), engine, |engine| {
            Ok(engine.read_keys(BufReader::with_capacity(1 << 16, input))?)
        });
    }
    let secret = || Error::Secret { url: url.to_owned(), found: "a secret key" };
    let other = || Error::Keys {
        url: url.to_owned(),
        why: "columns are of ckks, bfv, bgv or tfhe; give the evaluation key of one of them".to_owned(),
    };
    match AnyKey::read(input, "an evaluation key", None)? {
        AnyKey::Scheme(file) => on_rlwe!(
            file,
            file => match &file.key {
                Key::Evaluation(frames) => Loaded::new(file.params.clone().into(), engine, |engine| {
                    let key_set = file.id.key_set();
                    Ok((Keys::Rlwe(engine.evaluation_keys(frames, key_set)?), key_set))
                }),
                Key::Secret(_) => Err(secret()),
                Key::Public(_) => Err(file.wrong_kind("an evaluation key").into()),
            },
            bigckks _ => Err(other())
        ),
        AnyKey::Tfhe(file) => match &file.key {
            tfhe::keys::Key::Evaluation(key, _) => {
                Loaded::new(Params::Tfhe(file.params.clone()), engine, |engine| {
                    Ok((engine.bootstrap_key(key)?, file.id.key_set()))
                })
            }
            tfhe::keys::Key::Secret(_) => Err(secret()),
            _ => Err(file.wrong_kind("an evaluation key").into()),
        },
        AnyKey::Aes(_) | AnyKey::Sensor(_) => Err(other()),
    }
}

/// The keys that a function needs, in words.
pub fn named(needs: &KeyRequirements) -> String {
    let mut names = Vec::new();
    if needs.needs_relinearisation() {
        names.push("relinearisation".to_owned());
    }
    match needs.rotation_steps() {
        [] => {}
        [first, .., last] if needs.rotation_steps().len() > 3 => {
            names.push(format!("rotations by {first} to {last}"));
        }
        steps => names.extend(steps.iter().map(|step| format!("rotation by {step}"))),
    }
    if needs.needs_conjugation() {
        names.push("conjugation".to_owned());
    }
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
