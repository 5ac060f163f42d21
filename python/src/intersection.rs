//! Sets in common, in the folders and messages of `he-cli intersect`.

use crate::error::{Fault, Result};
use crate::files::opened;
use crate::run::detached;
use crate::secrets;
use he::Device;
use he_files::intersection::{self, Entry, SetFolder};
use he_files::scheme::engine::rng;
use he_psi::{Answer, ClientState, Params, Plan, Query, Request, Response};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;
use std::path::PathBuf;
use zeroize::Zeroizing;

impl From<he_psi::Error> for Fault {
    fn from(error: he_psi::Error) -> Self {
        Self::Files(error.into())
    }
}

/// Makes the set of a server in a folder.
#[pyfunction]
#[pyo3(
    name = "_intersect_prepare",
    signature = (folder, entries, planned, client_items, label_bytes, device)
)]
pub fn prepare(
    folder: PathBuf,
    entries: Vec<(Vec<u8>, Vec<u8>)>,
    planned: u64,
    client_items: u64,
    label_bytes: u64,
    device: &str,
    py: Python<'_>,
) -> PyResult<()> {
    secrets::check_allowed("making the key of a set")?;
    detached(py, || {
        let plan = Plan::new(planned, client_items).labels(label_bytes);
        let entry = |(item, label)| -> Entry { (Zeroizing::new(item), label) };
        let entries: Vec<Entry> = entries.into_iter().map(entry).collect();
        Ok(SetFolder::create(&folder, &plan, &entries, opened(device)?, &mut rng()?).map(drop)?)
    })
}

/// The sizes that a public plan states, and the predictions for it, as JSON.
#[pyfunction]
#[pyo3(name = "_intersect_info")]
pub fn info(plan: &[u8], py: Python<'_>) -> PyResult<String> {
    detached(py, || {
        let params = Params::from_bytes(plan)?;
        let (plan, facts) = (params.plan(), params.facts());
        let info = json!({
            "items": plan.server_items(),
            "client_items": plan.client_items(),
            "label_bytes": plan.label_bytes(),
            "query_bytes": facts.query_bytes,
            "answer_bytes": facts.answer_bytes,
            "memory_bytes": facts.memory_bytes,
            "false_positive_log2": facts.false_positive_log2,
        });
        Ok(info.to_string())
    })
}

/// The public plan of the set in a folder.
#[pyfunction]
#[pyo3(name = "_intersect_plan")]
pub fn plan(folder: PathBuf, py: Python<'_>) -> PyResult<Bound<'_, PyBytes>> {
    let bytes = detached(py, || Ok(SetFolder::open(&folder)?.params().to_bytes()))?;
    Ok(PyBytes::new(py, &bytes))
}

/// Responds to a request.
#[pyfunction]
#[pyo3(name = "_intersect_respond")]
pub fn respond<'py>(folder: PathBuf, request: &[u8], py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
    secrets::check_allowed("using the key of a set")?;
    let bytes = detached(py, || {
        let set = SetFolder::open(&folder)?;
        Ok(set.respond(&Request::from_bytes(set.params(), request)?)?.to_bytes())
    })?;
    Ok(PyBytes::new(py, &bytes))
}

/// Answers a query.
#[pyfunction]
#[pyo3(name = "_intersect_answer")]
pub fn answer<'py>(
    folder: PathBuf,
    query: &[u8],
    device: &str,
    py: Python<'py>,
) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = detached(py, || {
        let set = SetFolder::open(&folder)?;
        let ring = intersection::ring(set.params(), opened(device)?)?;
        let query = Query::from_bytes(set.params(), &ring, query)?;
        Ok(set.answer(query, &ring)?.to_bytes(set.params())?)
    })?;
    Ok(PyBytes::new(py, &bytes))
}

/// A client that asks for some items, once.
#[pyclass(frozen, module = "he._he", name = "_IntersectClient")]
pub struct PyIntersectClient {
    params: Params,
    state: ClientState,
}

impl PyIntersectClient {
    fn ring(&self) -> Result<he_core::ring::Ring<Device>> {
        Ok(intersection::ring(&self.params, Device::cpu())?)
    }
}

#[pymethods]
impl PyIntersectClient {
    /// A client of a public plan with these items.
    #[new]
    fn new(py: Python<'_>, plan: &[u8], items: Vec<Vec<u8>>) -> PyResult<Self> {
        secrets::check_allowed("making the state of a client")?;
        detached(py, || {
            let params = Params::from_bytes(plan)?;
            let items: Vec<&[u8]> = items.iter().map(Vec::as_slice).collect();
            let state = ClientState::new(&params, &items, &mut rng()?)?;
            Ok(Self { params, state })
        })
    }

    /// The first message, of blinded items.
    fn request<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = detached(py, || Ok(self.state.request(&self.params)?.to_bytes()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The second message, encrypted powers.
    fn query<'py>(&self, py: Python<'py>, response: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = detached(py, || {
            let response = Response::from_bytes(&self.params, response)?;
            let query = self.state.query(&self.params, &self.ring()?, &response, &mut rng()?)?;
            Ok(query.to_bytes(&self.params)?)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The places of the items in common, in the list of different items, and their labels.
    fn read<'py>(
        &self,
        py: Python<'py>,
        response: &[u8],
        answer: &[u8],
    ) -> PyResult<Vec<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)>> {
        let found = detached(py, || {
            let ring = self.ring()?;
            let response = Response::from_bytes(&self.params, response)?;
            let answer = Answer::from_bytes(&self.params, &ring, answer)?;
            let items: Vec<&[u8]> = self.state.items().collect();
            let found = self.state.read(&self.params, &ring, &response, &answer)?;
            Ok(found.into_iter().map(|one| (items[one.item].to_vec(), one.label)).collect::<Vec<_>>())
        })?;
        let bytes = |bytes: &[u8]| PyBytes::new(py, bytes);
        Ok(found.iter().map(|(item, label)| (bytes(item), bytes(label))).collect())
    }
}
