//! Private look-ups in databases of records, in the folders and files of `he-cli lookup`.

use crate::arrays::Bytes;
use crate::error::{Fault, Result};
use crate::files::{interruptible, opened};
use crate::interrupt;
use crate::run::{Place, detached};
use crate::secrets;
use he::Device;
use he_core::rand::Rng;
use he_files::io::input::Input;
use he_files::lookup::{self, LookupFolder};
use he_files::scheme::engine::rng;
use he_lookup::{Answer, Client, ClientKey, Description, Plan, Query, Server};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;

impl From<he_lookup::Error> for Fault {
    fn from(error: he_lookup::Error) -> Self {
        Self::Files(error.into())
    }
}

/// The bytes of a fresh key, which are the secret.
#[pyfunction]
#[pyo3(name = "_lookup_keygen")]
pub fn keygen(py: Python<'_>) -> PyResult<Bound<'_, PyBytes>> {
    secrets::check_allowed("making the key of a client")?;
    let key = detached(py, || Ok(ClientKey::generate(&mut rng()?).expose_bytes()))?;
    Ok(PyBytes::new(py, &key))
}

/// The contents of a public description, and the predictions for it, as JSON.
#[pyfunction]
#[pyo3(name = "_lookup_info")]
pub fn info(description: &[u8], py: Python<'_>) -> PyResult<String> {
    detached(py, || Ok(lookup::described(&Description::from_bytes(description)?).to_string()))
}

fn seed() -> Result<[u8; 32]> {
    let mut seed = [0; 32];
    rng()?.fill_bytes(&mut seed);
    Ok(seed)
}

/// Prepares records of one size, one after the other, in a folder.
#[pyfunction]
#[pyo3(name = "_lookup_prepare", signature = (folder, records, record_bytes, planned, device, progress))]
pub fn prepare(
    folder: PathBuf,
    records: &Bound<'_, PyAny>,
    record_bytes: usize,
    planned: u64,
    device: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<()> {
    let (py, bytes) = (records.py(), Bytes::new(records, "records")?.as_slice().to_vec());
    let work = || {
        let (plan, input) = (Plan::index(planned, record_bytes), Input::from_bytes("records", bytes));
        let device = opened(device)?;
        Ok(LookupFolder::of_records(&folder, &plan, seed()?, input, device, &*interruptible()).map(drop)?)
    };
    interrupt::told(progress, || detached(py, work))
}

/// Prepares values that are looked up by their keys.
#[pyfunction]
#[pyo3(name = "_lookup_prepare_keys", signature = (folder, entries, value_bytes, planned, device))]
pub fn prepare_keys(
    folder: PathBuf,
    entries: Vec<(Vec<u8>, Vec<u8>)>,
    value_bytes: usize,
    planned: u64,
    device: &str,
    py: Python<'_>,
) -> PyResult<()> {
    detached(py, || {
        let plan = Plan::keyword(planned, value_bytes);
        Ok(LookupFolder::of_entries(&folder, &plan, seed()?, &entries, opened(device)?).map(drop)?)
    })
}

/// Appends records, or overwrites those from a number on; returns how many packs were prepared.
#[pyfunction]
#[pyo3(name = "_lookup_change", signature = (folder, records, first, device))]
pub fn change(
    folder: PathBuf,
    records: &Bound<'_, PyAny>,
    first: Option<u64>,
    device: &str,
) -> PyResult<usize> {
    let (py, bytes) = (records.py(), Bytes::new(records, "records")?.as_slice().to_vec());
    detached(py, || {
        let (mut database, input) = (LookupFolder::open(&folder)?, Input::from_bytes("records", bytes));
        let (device, watch) = (opened(device)?, interruptible());
        Ok(match first {
            None => database.append(input, device, &*watch)?,
            Some(first) => database.update(input, first, device, &*watch)?,
        })
    })
}

/// The public description of the database in a folder.
#[pyfunction]
#[pyo3(name = "_lookup_description")]
pub fn description(folder: PathBuf, py: Python<'_>) -> PyResult<Bound<'_, PyBytes>> {
    let bytes = detached(py, || Ok(LookupFolder::open(&folder)?.description().to_bytes()))?;
    Ok(PyBytes::new(py, &bytes))
}

/// A version of a database on a device.
#[pyclass(frozen, module = "he._he", name = "_LookupServer")]
pub struct PyLookupServer {
    description: Description,
    place: Place,
    queries: usize,
    server: Server<Device>,
}

#[pymethods]
impl PyLookupServer {
    /// Reads a database, for scans of at most so many queries.
    #[new]
    #[pyo3(signature = (folder, queries, device))]
    fn new(py: Python<'_>, folder: PathBuf, queries: usize, device: &str) -> PyResult<Self> {
        detached(py, || {
            let (database, device) = (LookupFolder::open(&folder)?, opened(device)?);
            let description = database.description().clone();
            let ring = lookup::ring(description.params(), device.clone())?;
            let server = database.server(&ring, queries)?;
            Ok(Self { description, place: Place::new(device), queries, server })
        })
    }

    /// Answers queries, as many in each scan as it takes.
    fn answer<'py>(&self, py: Python<'py>, queries: Vec<Vec<u8>>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let answers = self.place.run(py, || {
            let read = queries.iter().map(|query| Query::from_bytes(&self.description, query));
            let queries = read.collect::<he_lookup::Result<Vec<_>>>()?;
            let mut answers = Vec::new();
            for together in queries.chunks(self.queries) {
                let scanned = self.server.answer(together)?;
                answers.extend(scanned.iter().map(|answer| answer.to_bytes(self.description.params())));
            }
            Ok(answers)
        })?;
        Ok(answers.iter().map(|answer| PyBytes::new(py, answer)).collect())
    }
}

/// A client of one version of a database.
#[pyclass(frozen, module = "he._he", name = "_LookupClient")]
pub struct PyLookupClient {
    description: Description,
    client: Client<Device>,
}

/// A record by its number or by its key.
#[derive(FromPyObject)]
enum Record {
    Number(u64),
    Key(Vec<u8>),
}

#[pymethods]
impl PyLookupClient {
    /// A client by a public description and the bytes of its key.
    #[new]
    fn new(py: Python<'_>, description: &[u8], key: &[u8]) -> PyResult<Self> {
        secrets::check_allowed("using the key of a client")?;
        detached(py, || {
            let (description, key) = (Description::from_bytes(description)?, ClientKey::from_bytes(key)?);
            let ring = lookup::ring(description.params(), Device::cpu())?;
            let client = Client::new(&description, key, &ring)?;
            Ok(Self { description, client })
        })
    }

    /// A query as bytes.
    fn query<'py>(&self, py: Python<'py>, record: Record) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = detached(py, || {
            let query = match &record {
                Record::Number(number) => self.client.query(*number, &mut rng()?),
                Record::Key(key) => self.client.query_key(key, &mut rng()?),
            };
            Ok(query?.to_bytes(self.description.params()))
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The record of an answer, or nothing for a key that is not there.
    fn read<'py>(
        &self,
        py: Python<'py>,
        answer: &[u8],
        record: Record,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let found = detached(py, || {
            let answer = Answer::from_bytes(&self.description, answer)?;
            Ok(match &record {
                Record::Number(number) => Some(self.client.read(&answer, *number)?),
                Record::Key(key) => self.client.read_key(&answer, key)?,
            })
        })?;
        Ok(found.map(|record| PyBytes::new(py, &record)))
    }
}
