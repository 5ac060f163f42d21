//! Indexes of encrypted vectors: folders and files in the formats of `he-cli search`.

use crate::arrays::{array_of, matrix};
use crate::error::{Fault, Result};
use crate::files::{Goal, Place, interruptible, opened, passphrase as sealing, read_key};
use crate::interrupt;
use crate::run::detached;
use crate::secrets;
use he_files::cipher_file::CipherReader;
use he_files::io::output::create_dir;
use he_files::key_file::KeyFile;
use he_files::key_set::KeyFiles;
use he_files::note::{KeyId, PlanNote};
use he_files::scheme::engine::rng;
use he_files::scheme::{Ckks, OneOf};
use he_files::search::{self, Found, IndexFolder, Record, Wanted};
use he_search::{Metric, Plan, Position};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use serde_json::json;
use std::path::PathBuf;

/// A metric by its name, with the greatest norm of vectors unless it is the cosine.
fn metric(name: &str, norm: Option<f64>) -> Result<Metric> {
    match (name, norm) {
        ("cosine", None) => Ok(Metric::Cosine),
        ("cosine", Some(_)) => {
            Err(Fault::Value("the cosine takes vectors of every norm: leave norm out".into()))
        }
        ("dot", norm) => Ok(Metric::Dot { norm: norm.unwrap_or(1.0) }),
        ("euclidean", norm) => Ok(Metric::Euclidean { norm: norm.unwrap_or(1.0) }),
        _ => {
            let expected = "\"cosine\", \"dot\" or \"euclidean\" is expected";
            Err(Fault::Value(format!("metric {name:?}, where {expected}")))
        }
    }
}

/// The plan of matches beyond a threshold, or of rankings.
fn plan(
    dimension: usize,
    metric: Metric,
    threshold: Option<f64>,
    margin: Option<f64>,
    payload: usize,
) -> Result<Plan> {
    match (threshold, margin) {
        (Some(threshold), Some(margin)) => {
            Ok(Plan::matching(dimension, metric, threshold, margin).payload(payload))
        }
        (None, None) if payload == 0 => Ok(Plan::ranking(dimension, metric)),
        (None, None) => Err(Fault::Value(format!(
            "payloads of {payload} bytes without a threshold: give threshold and margin, or no payload"
        ))),
        _ => Err(Fault::Value(
            "threshold and margin belong together: give both, or neither for an index that only ranks".into(),
        )),
    }
}

/// Makes the folder of an index.
#[pyfunction]
#[pyo3(
    name = "_search_create",
    signature = (folder, dimension, metric, norm, threshold, margin, payload, records)
)]
pub fn create(
    folder: PathBuf,
    dimension: usize,
    metric: &str,
    norm: Option<f64>,
    threshold: Option<f64>,
    margin: Option<f64>,
    payload: usize,
    records: u64,
    py: Python<'_>,
) -> PyResult<()> {
    detached(py, || {
        let plan = plan(dimension, self::metric(metric, norm)?, threshold, margin, payload)?;
        Ok(IndexFolder::create(&folder, &plan.records(records)).map(drop)?)
    })
}

/// The plan, the contents and the predictions of an index, as JSON.
#[pyfunction]
#[pyo3(name = "_search_info")]
pub fn info(folder: PathBuf, py: Python<'_>) -> PyResult<String> {
    detached(py, || {
        let index = IndexFolder::open(&folder)?;
        let (params, facts) = (index.params(), index.params().facts());
        let [count, fetch, scores] = facts.answer_bytes;
        let info = json!({
            "plan": PlanNote::of(params.plan()),
            "records": index.records(),
            "segments": index.segments(),
            "files": index.files(),
            "key_set": index.key_set().map(KeyId::short),
            "slots": params.slots(),
            "predicted": {
                "segments": facts.segments,
                "degree": facts.degree,
                "step_error": facts.step_error,
                "score_error": facts.score_error,
                "key_bytes": facts.key_bytes,
                "index_bytes": facts.index_bytes,
                "segment_memory": facts.segment_memory,
                "query_bytes": facts.query_bytes,
                "count_bytes": count,
                "fetch_bytes": fetch,
                "scores_bytes": scores,
                "outside": facts.outside,
                "tangled": facts.tangled,
            },
        });
        Ok(info.to_string())
    })
}

/// Writes the keys of an index into a folder.
#[pyfunction]
#[pyo3(name = "_search_keygen", signature = (folder, keys, passphrase, device, force, progress))]
pub fn keygen(
    folder: PathBuf,
    keys: PathBuf,
    passphrase: Option<&str>,
    device: &str,
    force: bool,
    progress: Option<Py<PyAny>>,
    py: Python<'_>,
) -> PyResult<()> {
    secrets::check_allowed("making keys")?;
    let work = || {
        let (index, sealing) = (IndexFolder::open(&folder)?, sealing(passphrase)?);
        let made = create_dir(&keys)?;
        let files = KeyFiles::create(made.path(), force)?;
        let engine = search::engine(index.params(), opened(device)?)?;
        let rotations = search::rotations(index.params());
        files.generate(&engine, &rotations, sealing.as_ref(), &mut rng()?, &*interruptible())?;
        made.keep();
        Ok(())
    };
    interrupt::told(progress, || detached(py, work))
}

/// A key of an index.
fn key_file(
    place: &Place,
    needed: &str,
    passphrase: Option<&str>,
    allow_cost: bool,
) -> Result<KeyFile<Ckks>> {
    match read_key(place, needed, passphrase, allow_cost)? {
        OneOf::Ckks(key) => Ok(key),
        _ => Err(Fault::Params("a key of another scheme: make the keys of an index with its keygen".into())),
    }
}

/// Vectors with their payloads, which are filled with zeros to their length.
fn records(vectors: Vec<Vec<f64>>, payloads: Option<Vec<Vec<u8>>>, bytes: usize) -> Result<Vec<Record>> {
    let (found, expected) = (payloads.as_ref().map_or(vectors.len(), Vec::len), vectors.len());
    if found != expected {
        return Err(he_files::Error::from(he_search::Error::Payloads { found, expected }).into());
    }
    let mut payloads = payloads.unwrap_or_else(|| vec![Vec::new(); expected]);
    for (record, payload) in payloads.iter_mut().enumerate() {
        let found = payload.len();
        if found > bytes {
            let error = he_search::Error::PayloadLength { record, found, expected: bytes };
            return Err(he_files::Error::from(error).into());
        }
        payload.resize(bytes, 0);
    }
    Ok(vectors.into_iter().zip(payloads).map(|(vector, payload)| Record { vector, payload }).collect())
}

/// Encrypts vectors with their payloads, and appends them to an index.
#[pyfunction]
#[pyo3(
    name = "_search_append",
    signature = (folder, vectors, payloads, key, passphrase, allow_cost, device, progress)
)]
pub fn append(
    folder: PathBuf,
    vectors: &Bound<'_, PyAny>,
    payloads: Option<Vec<Vec<u8>>>,
    key: Place,
    passphrase: Option<&str>,
    allow_cost: bool,
    device: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<u64> {
    secrets::check_allowed("encrypting by a secret key")?;
    let rows = matrix(vectors, "vectors")?;
    let work = || {
        let mut index = IndexFolder::open(&folder)?;
        let records = records(rows, payloads, index.params().payload())?;
        let key = key_file(&key, "a secret key", passphrase, allow_cost)?;
        let engine = search::engine(index.params(), opened(device)?)?;
        Ok(search::append(&mut index, &key, &records, &engine, &mut rng()?, &*interruptible())?)
    };
    interrupt::told(progress, || detached(vectors.py(), work))
}

/// Deletes records by their segments and slots.
#[pyfunction]
#[pyo3(name = "_search_delete")]
pub fn delete(folder: PathBuf, positions: Vec<(usize, usize)>, py: Python<'_>) -> PyResult<()> {
    detached(py, || {
        let positions = positions.iter().map(|&(segment, slot)| Position { segment, slot });
        Ok(IndexFolder::open(&folder)?.delete(&positions.collect::<Vec<_>>())?)
    })
}

/// Merges the files of each segment, and returns how many are left.
#[pyfunction]
#[pyo3(name = "_search_merge")]
pub fn merge(folder: PathBuf, device: &str, py: Python<'_>) -> PyResult<usize> {
    detached(py, || {
        let mut index = IndexFolder::open(&folder)?;
        let engine = search::engine(index.params(), opened(device)?)?;
        Ok(search::merge(&mut index, &engine)?)
    })
}

/// Encrypts a query.
#[pyfunction]
#[pyo3(name = "_search_query", signature = (folder, vector, key, output, passphrase, allow_cost, device, force))]
pub fn query<'py>(
    folder: PathBuf,
    vector: &Bound<'py, PyAny>,
    key: Place,
    output: Option<PathBuf>,
    passphrase: Option<&str>,
    allow_cost: bool,
    device: &str,
    force: bool,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    secrets::check_allowed("encrypting by a secret key")?;
    let (py, rows) = (vector.py(), matrix(vector, "vector")?);
    let goal = Goal::new(output, force, false);
    detached(py, || {
        let [row] = &rows[..] else {
            return Err(Fault::Value(format!("{} vectors, where a query is one", rows.len())));
        };
        let index = IndexFolder::open(&folder)?;
        let file = key_file(&key, "a secret key", passphrase, allow_cost)?;
        let engine = search::engine(index.params(), opened(device)?)?;
        let output = goal.output(&[&key])?;
        Ok(search::query(&index, &file, row, &engine, output, &mut rng()?).map(drop)?)
    })?;
    Ok(goal.bytes(py))
}

/// Answers a query without any secret: by `count`, `matches` or `scores`.
#[pyfunction]
#[pyo3(name = "_search_answer", signature = (folder, query, key, wanted, output, device, force, progress))]
pub fn answer<'py>(
    folder: PathBuf,
    query: Place,
    key: Place,
    wanted: &str,
    output: Option<PathBuf>,
    device: &str,
    force: bool,
    progress: Option<Py<PyAny>>,
    py: Python<'py>,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let goal = Goal::new(output, force, false);
    let work = || {
        let wanted = match wanted {
            "count" => Wanted::Count,
            "matches" => Wanted::Matches,
            _ => Wanted::Scores,
        };
        let index = IndexFolder::open(&folder)?;
        let reader = CipherReader::<Ckks>::new(query.input("query")?)?;
        let file = key_file(&key, "an evaluation key", None, false)?;
        let engine = search::engine(index.params(), opened(device)?)?;
        let output = goal.output(&[&query, &key])?;
        Ok(search::answer(&index, reader, file, wanted, &engine, output, &*interruptible()).map(drop)?)
    };
    interrupt::told(progress, || detached(py, work))?;
    Ok(goal.bytes(py))
}

/// Decrypts an answer; of a ranking, the nearest records. Returns its kind and its parts.
#[pyfunction]
#[pyo3(name = "_search_read", signature = (answer, key, nearest, passphrase, allow_cost, device))]
pub fn read<'py>(
    answer: Place,
    key: Place,
    nearest: usize,
    passphrase: Option<&str>,
    allow_cost: bool,
    device: &str,
    py: Python<'py>,
) -> PyResult<Bound<'py, PyTuple>> {
    secrets::check_allowed("decrypting an answer")?;
    let found = detached(py, || {
        let reader = CipherReader::<Ckks>::new(answer.input("answer")?)?;
        let key = key_file(&key, "a secret key", passphrase, allow_cost)?;
        Ok(search::read(reader, &key, nearest, opened(device)?)?)
    })?;
    match found {
        Found::Count(count) => ("count", count.matches, count.undecided).into_pyobject(py),
        Found::Matches(matches) => {
            let positions = positions(py, matches.found.iter().map(|found| found.position))?;
            let width = matches.found.first().map_or(0, |found| found.payload.len());
            let payloads: Vec<u8> = matches.found.iter().flat_map(|found| &found.payload).copied().collect();
            let payloads = array_of(py, payloads, &[matches.found.len(), width])?;
            ("matches", positions, payloads, matches.undecided).into_pyobject(py)
        }
        Found::Ranking(ranking) => {
            let positions = positions(py, ranking.nearest.iter().map(|found| found.position))?;
            let values: Vec<f64> = ranking.nearest.iter().map(|found| found.value).collect();
            let count = values.len();
            ("scores", positions, array_of(py, values, &[count])?, ranking.error).into_pyobject(py)
        }
    }
}

/// Positions as an array of segments and slots.
fn positions(py: Python<'_>, positions: impl Iterator<Item = Position>) -> PyResult<Bound<'_, PyAny>> {
    let numbers: Vec<i64> =
        positions.flat_map(|Position { segment, slot }| [segment as i64, slot as i64]).collect();
    let count = numbers.len() / 2;
    array_of(py, numbers, &[count, 2])
}
