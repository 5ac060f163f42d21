//! Databases for private look-ups, by the names of their folders.

use crate::metrics::Metrics;
use crate::problem::{Answer, Problem};
use crate::scans::Scans;
use crate::settings::Config;
use crate::start_error::StartError;
use axum::http::StatusCode;
use bytes::Bytes;
use he::Device;
use he_files::lookup::{self, DESCRIPTION, LookupFolder};
use he_lookup::{Description, Facts, Query};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

/// A version of a database on its device.
#[derive(Debug)]
pub struct Lookup {
    /// The bytes of its public description.
    pub bytes: Bytes,
    /// The description as clients see it without reading these bytes.
    pub info: Value,
    description: Description,
    scans: Scans,
}

impl Lookup {
    /// The bytes of a query.
    pub fn query_bytes(&self) -> u64 {
        Facts::of(self.description.params()).query_bytes
    }

    /// The name of this version.
    pub fn identity(&self) -> String {
        self.description.identity().to_string()
    }

    /// Answers a query as it came, in a scan that others may share.
    ///
    /// # Errors
    /// It is damaged, or for another version; too many wait; the device fails.
    pub async fn answer(self: Arc<Self>, query: Bytes) -> Answer<Vec<u8>> {
        let here = Arc::clone(&self);
        let query = tokio::task::spawn_blocking(move || Query::from_bytes(&here.description, &query));
        let answer = self.scans.answer(query.await??).await?;
        Ok(tokio::task::spawn_blocking(move || answer.to_bytes(self.description.params())).await?)
    }
}

impl From<he_lookup::Error> for Problem {
    fn from(error: he_lookup::Error) -> Self {
        let (status, kind) = match &error {
            he_lookup::Error::OtherDatabase { .. } => (StatusCode::CONFLICT, "database-version"),
            he_lookup::Error::Damaged { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "query"),
            _ => return Self::internal(error),
        };
        let problem = Self::new(status, kind, error.to_string());
        error.hint().into_iter().fold(problem, Self::hint)
    }
}

fn info(name: &str, description: &Description) -> Value {
    let mut info = lookup::described(description);
    info["name"] = name.into();
    info
}

type Served = BTreeMap<String, Arc<Lookup>>;

/// The databases, as they were when they were last read.
#[derive(Debug)]
pub struct Lookups {
    place: Option<PathBuf>,
    device: Option<Device>,
    memory: u64,
    queries: usize,
    metrics: Arc<Metrics>,
    served: RwLock<Arc<Served>>,
}

impl Lookups {
    /// Reads every database of the folder of the settings, or the one that it is itself, on a
    /// thread that may wait.
    ///
    /// # Errors
    /// The folder cannot be read, a database is damaged, or they need too much memory together.
    pub async fn open(config: &Config, metrics: &Arc<Metrics>) -> Result<Arc<Self>, StartError> {
        let lookups = Arc::new(Self {
            place: config.lookups.clone(),
            device: config.devices.first().cloned(),
            memory: config.lookup_memory,
            queries: config.lookup_queries,
            metrics: Arc::clone(metrics),
            served: RwLock::default(),
        });
        let read = Arc::clone(&lookups);
        let ended = tokio::task::spawn_blocking(move || read.reload()).await;
        ended.map_err(|error| StartError::io("the databases for look-ups")(error.into()))??;
        Ok(lookups)
    }

    /// Reads the databases again that have changed. Queries that are being answered end on the
    /// version that they are for.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open); everything stays as it was then.
    pub fn reload(&self) -> Result<(), StartError> {
        let mut folders = BTreeMap::new();
        for path in self.place.as_deref().map_or(Ok(Vec::new()), folders_of)? {
            let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
            folders.insert(name, LookupFolder::open(&path)?);
        }
        self.check_memory(&folders)?;
        let before = self.all();
        let mut served = Served::new();
        for (name, folder) in folders {
            let known = before.get(&name).filter(|known| known.description == *folder.description());
            let lookup =
                known.map_or_else(|| self.read(&name, &folder).map(Arc::new), |known| Ok(known.clone()));
            served.insert(name, lookup?);
        }
        *self.served.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(served);
        Ok(())
    }

    fn check_memory(&self, folders: &BTreeMap<String, LookupFolder>) -> Result<(), StartError> {
        let facts = folders.values().map(|folder| Facts::of(folder.description().params()));
        let needed = facts.map(|facts| facts.matrix_bytes.saturating_add(facts.digit_bytes));
        let needed = needed.fold(0, u64::saturating_add);
        if needed <= self.memory { Ok(()) } else { Err(StartError::Lookups { needed, most: self.memory }) }
    }

    fn read(&self, name: &str, folder: &LookupFolder) -> Result<Lookup, StartError> {
        let description = folder.description().clone();
        let device = self.device.clone().ok_or(he_files::Error::NoDevice)?;
        let server = folder.server(&lookup::ring(description.params(), device)?, self.queries)?;
        let scans = Scans::start(server, self.queries, Arc::clone(&self.metrics));
        let scans = scans.map_err(StartError::io("a thread"))?;
        let (bytes, info) = (Bytes::from(description.to_bytes()), info(name, &description));
        Ok(Lookup { bytes, info, description, scans })
    }

    fn all(&self) -> Arc<Served> {
        self.served.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The database of this name.
    pub fn get(&self, name: &str) -> Option<Arc<Lookup>> {
        self.all().get(name).cloned()
    }

    /// The descriptions of all databases for clients.
    pub fn json(&self) -> Value {
        json!({ "lookups": self.all().values().map(|lookup| &lookup.info).collect::<Vec<_>>() })
    }

    /// All names.
    pub fn names(&self) -> Vec<String> {
        self.all().keys().cloned().collect()
    }
}

/// The folders of databases in a folder, or the folder itself if it is one.
fn folders_of(path: &Path) -> he_files::Result<Vec<PathBuf>> {
    let at = |error| he_files::Error::io(error, "read", path.display());
    let is_database = |path: &PathBuf| path.join(DESCRIPTION).is_file();
    if is_database(&path.to_owned()) {
        return Ok(vec![path.to_owned()]);
    }
    let all = std::fs::read_dir(path).map_err(at)?.map(|entry| Ok(entry.map_err(at)?.path()));
    let all = all.collect::<he_files::Result<Vec<_>>>()?;
    Ok(all.into_iter().filter(is_database).collect())
}
