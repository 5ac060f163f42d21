//! Encrypted files of images, tables and integers, in memory or on disk: the formats of `he-cli`.

use crate::arrays::{Array, Bytes, Numbers, array_of};
use crate::error::{Fault, Result};
use crate::interrupt;
use crate::params::PyParams;
use crate::run::detached;
use crate::secrets;
use he::Device;
use he_any::arrays::Values;
use he_any::on_params;
use he_core::aes::container::Cost;
use he_core::exact;
use he_core::num_bigint::BigInt;
use he_core::wire::FrameReader;
use he_files::audit::{InferenceFiles, RecordedEvaluation, RecordedInference};
use he_files::cipher_file::{CipherReader, Written};
use he_files::contents::clear::{Clear, Plain, View};
use he_files::contents::images;
use he_files::contents::integers;
use he_files::contents::options::TableFlags;
use he_files::contents::{Contents, encrypt};
use he_files::data::picture::{Channels, Format, Picture, Samples};
use he_files::data::table::{Cell, Header, Table, TableOptions};
use he_files::file_start::{AnyStart, read_start};
use he_files::io::cancel::Cancel;
use he_files::io::input::Input;
use he_files::io::output::{Output, OutputOptions, create_dir};
use he_files::key_file::{AnyKey, Key, KeyFile};
use he_files::key_set::{KeyFiles, KeySet};
use he_files::models::ModelFile;
use he_files::note::{Content, Note, Payload};
use he_files::on_scheme;
use he_files::operation::{Evaluation, Operation, Row, Sources, TABLE};
use he_files::passphrase::{Passphrase, Purpose};
use he_files::scheme::engine::{Engine, rng};
use he_files::scheme::{Ckks, OneOf, Rotations, Scheme, Taken};
use he_files::team::Team;
use he_files::trace::Trace;
use he_files::watch::{Progress, Watch};
use numpy::{PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde::de::DeserializeOwned;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use zeroize::Zeroizing;

/// Where something lies: on disk or in memory.
pub enum Place {
    Path(PathBuf),
    Bytes(Vec<u8>),
}

impl<'py> FromPyObject<'_, 'py> for Place {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = value.cast::<PyBytes>() {
            return Ok(Self::Bytes(bytes.as_bytes().to_vec()));
        }
        match value.extract::<PathBuf>() {
            Ok(path) => Ok(Self::Path(path)),
            // Whatever else the object's own function raises is raised, such as Ctrl-C.
            Err(error) if !error.is_instance_of::<PyTypeError>(value.py()) => Err(error),
            Err(_) => Ok(Self::Bytes(Bytes::new(&value, "a path or bytes")?.as_slice().to_vec())),
        }
    }
}

impl Place {
    pub fn input(&self, name: &str) -> Result<Input> {
        match self {
            Self::Path(path) => Ok(Input::open(path)?),
            Self::Bytes(bytes) => Ok(Input::from_bytes(name, bytes.clone())),
        }
    }

    /// The folder of a path.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Self::Path(path) => {
                Some(path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")))
            }
            Self::Bytes(_) => None,
        }
    }

    /// Everything that is there.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        let name = match self {
            Self::Path(path) => path.display().to_string(),
            Self::Bytes(bytes) => return Ok(bytes.clone()),
        };
        let read = self.input(&name)?.read_to_end(&mut all);
        read.map_err(|source| Fault::Files(he_files::Error::Io { verb: "read", name, source }))?;
        Ok(all)
    }
}

/// Memory that an output is written to.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Where a result goes: into a file, or into bytes that are returned.
pub struct Goal {
    path: Option<PathBuf>,
    force: bool,
    private: bool,
    memory: Memory,
}

impl Goal {
    pub fn new(path: Option<PathBuf>, force: bool, private: bool) -> Self {
        Self { path, force, private, memory: Memory::default() }
    }

    /// The output; `inputs` are not overwritten while they are read.
    pub fn output(&self, inputs: &[&Place]) -> Result<Output> {
        let Some(path) = &self.path else {
            return Ok(Output::to_writer("memory", self.memory.clone()));
        };
        let options = OutputOptions { force: self.force, private: self.private, ..OutputOptions::default() };
        let inputs: Vec<&Path> = inputs
            .iter()
            .filter_map(|place| match place {
                Place::Path(path) => Some(path.as_path()),
                Place::Bytes(_) => None,
            })
            .collect();
        Ok(Output::create(path, options, &inputs)?)
    }

    /// The output, to be read again; `name` is that of bytes in errors.
    pub fn written(&self, name: &str) -> he_files::Result<Input> {
        match &self.path {
            Some(path) => Input::open(path),
            None => {
                let memory = self.memory.0.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(Input::from_bytes(name, memory.clone()))
            }
        }
    }

    /// Takes back what was written, because it is of no use: the error behind that is what matters.
    pub fn removed(&self) {
        if let Some(path) = &self.path {
            let _ = std::fs::remove_file(path);
        }
    }

    /// The bytes that were written, unless they are in a file.
    pub fn bytes<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let memory = self.memory.0.lock().unwrap_or_else(PoisonError::into_inner);
        self.path.is_none().then(|| PyBytes::new(py, &memory))
    }
}

/// The passphrase that seals keys.
pub fn passphrase(text: Option<&str>) -> Result<Option<Passphrase>> {
    Ok(text.map(|text| Passphrase::new(Zeroizing::new(text.as_bytes().to_vec()))).transpose()?)
}

/// The way to open something sealed, at any cost that is accepted if that is allowed.
pub fn opening(text: &str, allow_cost: bool) -> he_files::Result<Passphrase> {
    let passphrase = Passphrase::new(Zeroizing::new(text.as_bytes().to_vec()))?;
    Ok(if allow_cost { passphrase.allowing(Cost::MAX) } else { passphrase })
}

/// A key file of a scheme over rings.
pub fn read_key(
    place: &Place,
    needed: &str,
    text: Option<&str>,
    allow_cost: bool,
) -> Result<OneOf<he_files::key_file::KeyFiles>> {
    let obtain = |_: Purpose, _: &str| opening(text.unwrap_or_default(), allow_cost);
    Ok(AnyKey::read(place.input("key")?, needed, text.is_some().then_some(&obtain))?.scheme(needed)?)
}

/// A device by its name.
pub fn opened(name: &str) -> Result<Device> {
    Ok(interrupt::device(name)?)
}

/// Writes the keys of encrypted files into a folder.
#[pyfunction]
#[pyo3(name = "_file_keygen", signature = (params, folder, radius, passphrase, device, force, progress))]
pub fn keygen(
    params: &PyParams,
    folder: PathBuf,
    radius: usize,
    passphrase: Option<&str>,
    device: &str,
    force: bool,
    progress: Option<Py<PyAny>>,
    py: Python<'_>,
) -> PyResult<()> {
    secrets::check_allowed("making keys")?;
    fn written<S: Scheme>(
        params: &S::Params,
        rotations: &Rotations,
        (folder, force): (&Path, bool),
        passphrase: Option<&Passphrase>,
        device: Device,
    ) -> Result<()> {
        let made = create_dir(folder)?;
        let files = KeyFiles::create(made.path(), force)?;
        let engine = Engine::<S>::new(params, device)?;
        let keys = KeySet::generate_watched(&engine, rotations, &mut rng()?, &*interruptible())?;
        files.write(&keys, params, passphrase)?;
        made.keep();
        Ok(())
    }
    fn exactly<E: Taken>(
        params: &exact::Params<E>,
        place: (&Path, bool),
        passphrase: Option<&Passphrase>,
        device: Device,
    ) -> Result<()> {
        written::<E>(params, &integers::rotations(params), place, passphrase, device)
    }
    let work = || {
        let (phrase, device, place) = (self::passphrase(passphrase)?, opened(device)?, (&*folder, force));
        let other = || {
            Err(Fault::Params(format!(
                "keys of {} for files of images and tables; parameters of for_depth are expected",
                params.0.scheme()
            )))
        };
        if params.0.bootstrapping().is_some() {
            return other();
        }
        on_params!(
            &params.0,
            ckks params => {
                written::<Ckks>(params, &images::rotations(params, radius)?, place, phrase.as_ref(), device)
            },
            exact params => exactly(params, place, phrase.as_ref(), device),
            tfhe _ => other(),
        )
    };
    interrupt::told(progress, || detached(py, work))
}

/// A picture from an array of rows, columns and channels.
fn picture(array: &Bound<'_, PyUntypedArray>) -> PyResult<Picture> {
    let shape = array.shape().to_vec();
    let channels = match shape[..] {
        [_, _] | [_, _, 1] => Channels::Gray,
        [_, _, 2] => Channels::GrayAlpha,
        [_, _, 3] => Channels::Rgb,
        [_, _, 4] => Channels::Rgba,
        _ => {
            let text =
                format!("a picture of shape {shape:?}; (height, width) and 1 to 4 channels are possible");
            return Err(PyValueError::new_err(text));
        }
    };
    let py = array.py();
    let array = py.import("numpy")?.getattr("ascontiguousarray")?.call1((array,))?;
    let samples = if let Ok(array) = array.cast::<PyArrayDyn<u8>>() {
        Samples::Eight(array.to_vec()?)
    } else if let Ok(array) = array.cast::<PyArrayDyn<u16>>() {
        Samples::Sixteen(array.to_vec()?)
    } else {
        let found = array.cast::<PyUntypedArray>()?.dtype();
        let text = format!("a picture of dtype {found}, where uint8 or uint16 is expected");
        return Err(PyTypeError::new_err(text));
    };
    let side = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    Picture::new(side(shape[1]), side(shape[0]), channels, samples).map_err(|error| Fault::from(error).into())
}

/// The input of an encryption.
pub enum Source {
    /// An array that is a picture.
    Picture(Picture),
    /// Columns with names, as the text of a table.
    Columns(Vec<u8>),
    /// A file of any kind.
    File(Place),
}

/// The text of a table of named columns: integers if all of them are, else real numbers.
fn columns(named: &Bound<'_, PyDict>) -> PyResult<Vec<u8>> {
    enum Column {
        Whole(Vec<i64>),
        Real(Vec<f64>),
    }
    let (mut names, mut columns) = (Vec::new(), Vec::new());
    for (name, values) in named {
        let name: String = name.extract()?;
        let values = named.py().import("numpy")?.getattr("asarray")?.call1((values,))?;
        let numbers = match values.cast::<PyUntypedArray>()?.dtype().kind() {
            b'i' | b'u' | b'b' => Numbers::Exact,
            _ => Numbers::Real,
        };
        let array = Array::new(&values, numbers, &format!("column {name:?}"))?;
        let &[_] = array.shape() else {
            let text =
                format!("column {name:?} has the shape {:?}, where one axis is expected", array.shape());
            return Err(PyValueError::new_err(text));
        };
        columns.push(match array.values()? {
            Values::Signed(values) => Column::Whole(values.to_vec()),
            Values::Unsigned(values) => {
                let signed = |&value: &u64| {
                    let text = || format!("column {name:?}: {value}, where less than 2**63 is expected");
                    i64::try_from(value).map_err(|_| PyValueError::new_err(text()))
                };
                Column::Whole(values.iter().map(signed).collect::<PyResult<_>>()?)
            }
            Values::Real(values) => Column::Real(values.to_vec()),
            Values::Complex(_) => {
                return Err(PyTypeError::new_err(format!("column {name:?} of complex numbers")));
            }
        });
        names.push(name);
    }
    let mut text = Vec::new();
    let whole = columns.iter().map(|column| match column {
        Column::Whole(values) => Some(values.iter().map(|&value| Cell::Number(value)).collect()),
        Column::Real(_) => None,
    });
    match whole.collect::<Option<Vec<Vec<Cell>>>>() {
        Some(cells) => Table::new(Some(names), cells).and_then(|table| table.write(&mut text, b',')),
        None => {
            let real = columns.into_iter().map(|column| match column {
                Column::Whole(values) => values.into_iter().map(|value| value as f64).collect(),
                Column::Real(values) => values,
            });
            Table::<f64>::new(Some(names), real.collect()).and_then(|table| table.write(&mut text, b','))
        }
    }
    .map_err(Fault::from)?;
    Ok(text)
}

/// The input of an encryption, from an array, a dict of columns, a path or bytes.
pub fn source(value: &Bound<'_, PyAny>) -> PyResult<Source> {
    if let Ok(array) = value.cast::<PyUntypedArray>() {
        return Ok(Source::Picture(picture(array)?));
    }
    match value.cast::<PyDict>() {
        Ok(named) => Ok(Source::Columns(columns(named)?)),
        Err(_) => Ok(Source::File(value.extract()?)),
    }
}

/// Encrypts by a key, with the columns and categories of a table.
pub fn encrypted(
    source: Source,
    key: &Place,
    opening: Option<(&str, bool)>,
    (columns, categories): (&[String], &[String]),
    halo: Option<usize>,
    device: &str,
    goal: &Goal,
) -> Result<()> {
    fn content<S: Contents>(
        key: &KeyFile<S>,
        source: Source,
        flags: TableFlags<'_>,
        halo: Option<usize>,
        goal: (&Goal, &Place),
        device: Device,
    ) -> Result<Written> {
        let (goal, place) = goal;
        let output = goal.output(&match &source {
            Source::File(file) => vec![file, place],
            Source::Picture(_) | Source::Columns(_) => vec![place],
        })?;
        let clear: Clear<S::Table> = match source {
            Source::Picture(picture) => Clear::Picture(picture),
            Source::Columns(text) => {
                let options = TableOptions { header: Header::Yes, ..flags.options };
                let input = Input::from_bytes("the columns", text);
                Clear::read::<S>(input, TableFlags { options, ..flags }, None, &())?
            }
            Source::File(file) => Clear::read::<S>(file.input("source")?, flags, None, &())?,
        };
        let content = S::describe(&clear, &key.params, halo, &())?;
        let payload = Payload { key_id: key.id.clone(), history: Vec::new(), content };
        let team = Team::<S>::new(&key.params, &[device])?.watched(interruptible());
        let rng = &mut rng()?;
        Ok(match &key.key {
            Key::Secret(key) => {
                secrets::check_allowed("encrypting by a secret key")?;
                encrypt::by_secret_key(&team, key, &clear, &payload, output, rng)?
            }
            _ => {
                encrypt::by_public_key(&team, &key.public(&team.lead().ring)?, &clear, &payload, output, rng)?
            }
        })
    }
    let parsed: Result<Vec<_>, String> = categories.iter().map(|text| text.parse()).collect();
    let categories = parsed.map_err(|why| Fault::Value(format!("categories: {why}")))?;
    let options = TableOptions { columns, ..TableOptions::default() };
    let flags = TableFlags { options, categories: &categories, ..TableFlags::default() };
    let (passphrase, allow_cost) = opening.map_or((None, false), |(text, allow)| (Some(text), allow));
    let file = read_key(key, "a public or a secret key", passphrase, allow_cost)?;
    let device = opened(device)?;
    on_scheme!(file, file => content(&file, source, flags, halo, (goal, key), device)).map(drop)
}

/// Encrypts a picture or a table.
#[pyfunction]
#[pyo3(
    name = "_file_encrypt",
    signature = (
        source, key, output, halo, columns, categories, passphrase, allow_cost, device, force, progress
    )
)]
pub fn encrypt_file<'py>(
    source: &Bound<'py, PyAny>,
    key: Place,
    output: Option<PathBuf>,
    halo: Option<usize>,
    columns: Vec<String>,
    categories: Vec<String>,
    passphrase: Option<&str>,
    allow_cost: bool,
    device: &str,
    force: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let py = source.py();
    let (source, goal) = (self::source(source)?, Goal::new(output, force, false));
    let opening = passphrase.map(|text| (text, allow_cost));
    interrupt::told(progress, || {
        detached(py, || encrypted(source, &key, opening, (&columns, &categories), halo, device, &goal))
    })?;
    Ok(goal.bytes(py))
}

/// The description of an encrypted file, as JSON.
#[pyfunction]
#[pyo3(name = "_file_info")]
pub fn info(source: Place, py: Python<'_>) -> PyResult<String> {
    detached(py, || {
        let start = read_start(&mut FrameReader::new(source.input("source")?), "source")?;
        let AnyStart::Scheme(start) = start else {
            return Err(Fault::Format("a file of an image or of a table is expected".to_owned()));
        };
        let scheme = start.scheme();
        let Note::Payload(payload) = start.note() else {
            return Err(Fault::Format("a key, where an encrypted file is expected".to_owned()));
        };
        let mut facts = serde_json::Map::new();
        let content = &payload.content;
        facts.insert("scheme".to_owned(), scheme.into());
        facts.insert("content".to_owned(), content.json());
        facts.insert(
            "kind".to_owned(),
            match content {
                Content::Image(_) | Content::Samples(_) => "image",
                Content::Table(_) | Content::Integers(_) | Content::Digits(_) => "table",
                Content::Examples(_) => "examples",
                Content::Search(_) => "search",
            }
            .into(),
        );
        facts.insert("shape".to_owned(), content.shape().into());
        facts.insert("history".to_owned(), payload.history.clone().into());
        Ok(serde_json::Value::Object(facts).to_string())
    })
}

/// Lets signals through whenever work has advanced, and tells how far it is.
pub fn interruptible() -> Arc<dyn Watch> {
    let told = interrupt::Told::current();
    Arc::new(move |progress: Progress| {
        interrupt::point();
        if let Some(told) = &told {
            match progress {
                Progress::Started { total, .. } => told.begin(total),
                Progress::Advanced { by } => told.advance(by),
                Progress::Ended => (),
            }
        }
    })
}

/// An operation from its serde form. A parameter that it does not have is an error of type, as of a
/// keyword argument.
fn requested(text: &str) -> Result<Operation> {
    let value: serde_json::Value =
        serde_json::from_str(text).map_err(|error| Fault::Value(error.to_string()))?;
    let operation: Operation = given(value)?;
    operation.check()?;
    Ok(operation)
}

/// Something from its serde form, likewise.
pub fn given<T: DeserializeOwned>(value: serde_json::Value) -> Result<T> {
    serde_json::from_value(value).map_err(|error| match error.to_string() {
        text if text.starts_with("unknown field") => Fault::Type(text),
        text => Fault::Value(text),
    })
}

/// All operations, as JSON: the table of he-files.
#[pyfunction]
#[pyo3(name = "_file_operations")]
pub fn operations() -> String {
    serde_json::Value::from_iter(TABLE.iter().map(Row::json)).to_string()
}

/// Computes on an encrypted file: an operation in its serde form.
#[pyfunction]
#[pyo3(name = "_file_evaluate", signature = (operation, source, key, bootstrap_key, others, output, record, device, force, progress))]
pub fn evaluate<'py>(
    operation: &str,
    source: Place,
    key: Place,
    bootstrap_key: Option<Place>,
    others: Vec<Place>,
    output: Option<PathBuf>,
    record: Option<PathBuf>,
    device: &str,
    force: bool,
    progress: Option<Py<PyAny>>,
    py: Python<'py>,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let goal = Goal::new(output, force, false);
    let trace = record.map(|path| Goal::new(Some(path), force, false));
    let work = || {
        let operation = requested(operation)?;
        let inputs: Vec<&Place> = [&source, &key].into_iter().chain(&bootstrap_key).chain(&others).collect();
        let sources = Sources {
            bootstrap: bootstrap_key.as_ref().map(|place| place.input("bootstrap_key")).transpose()?,
            input: source.input("source")?,
            others: others.iter().map(|other| other.input("other")).collect::<Result<_, _>>()?,
            key: key.input("key")?,
        };
        let Some(trace) = &trace else {
            let evaluation = Evaluation::new(&operation, sources, &Cancel::default())?;
            let output = goal.output(&inputs)?;
            return Ok(evaluation.evaluate(&[opened(device)?], interruptible(), output).map(drop)?);
        };
        let evaluation = RecordedEvaluation::new(&operation, sources, &Cancel::default())?;
        let (output, record) = (goal.output(&inputs)?, trace.output(&inputs)?);
        let (_, trace) = evaluation.evaluate(&[opened(device)?], interruptible(), output)?;
        written(record, &trace)
    };
    interrupt::told(progress, || detached(py, work))?;
    Ok(goal.bytes(py))
}

/// Writes a trace.
fn written(record: Output, trace: &Trace) -> Result<()> {
    Ok(record.holding(&trace.to_bytes()?)?.commit()?)
}

/// Computes the outputs of a model from a file of encrypted examples. The steps are recorded
/// whether or not the trace is asked for: a thirtieth of the time of ResNet-20 on a GPU, most of
/// which reads keys and encodes maps.
#[pyfunction]
#[pyo3(
    name = "_file_infer",
    signature = (model, source, key, bootstrap_key, output, record, keep, device, force, progress)
)]
pub fn infer<'py>(
    model: Place,
    source: Place,
    key: Place,
    bootstrap_key: Option<Place>,
    output: Option<PathBuf>,
    record: Option<PathBuf>,
    keep: Option<PathBuf>,
    device: &str,
    force: bool,
    progress: Option<Py<PyAny>>,
    py: Python<'py>,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let goal = Goal::new(output, force, false);
    let trace = record.map(|path| Goal::new(Some(path), force, false));
    let work = || {
        let inputs: Vec<&Place> = [&model, &source, &key].into_iter().chain(&bootstrap_key).collect();
        let model = ModelFile::open(model.input("model")?)?;
        let bootstrap = bootstrap_key.as_ref().map(|place| place.input("bootstrap_key")).transpose()?;
        let opened_files =
            InferenceFiles { examples: source.input("source")?, key: key.input("key")?, bootstrap };
        let mut inference = RecordedInference::new(&model, opened_files)?;
        if let Some(folder) = &keep {
            let made = create_dir(folder)?;
            inference = inference.keeping(made.path());
            made.keep();
        }
        let output = goal.output(&inputs)?;
        let record = trace.as_ref().map(|trace| trace.output(&inputs)).transpose()?;
        let (_, trace) = inference.evaluate(opened(device)?, &interruptible(), output)?;
        record.map_or(Ok(()), |record| written(record, &trace))
    };
    interrupt::told(progress, || detached(py, work))?;
    Ok(goal.bytes(py))
}

/// Decrypts a file: a picture into an array, a table into its columns; or either into a file.
#[pyfunction]
#[pyo3(
    name = "_file_decrypt",
    signature = (source, key, passphrase, allow_cost, view, output, device, force, progress)
)]
pub fn decrypt_file<'py>(
    source: Place,
    key: Place,
    passphrase: Option<&str>,
    allow_cost: bool,
    view: &str,
    output: Option<PathBuf>,
    device: &str,
    force: bool,
    progress: Option<Py<PyAny>>,
    py: Python<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    secrets::check_allowed("decrypting a file")?;
    let view = match view {
        "light" => View::Light,
        "raw" => View::Raw,
        "scaled" => View::Scaled,
        found => {
            let text = format!("view {found:?}, where \"light\", \"raw\" or \"scaled\" is expected");
            return Err(PyValueError::new_err(text));
        }
    };
    fn plain<S: Contents>(key: &KeyFile<S>, source: &Place, view: View, device: &str) -> Result<Plain> {
        let mut reader = CipherReader::<S>::new(source.input("source")?)?;
        key.check_owner(&reader.params, &reader.payload.key_id, &reader.name)?;
        let team = Team::<S>::new(&key.params, &[opened(device)?])?.watched(interruptible());
        Ok(Plain::decrypt(&team, key.secret()?, &mut reader, view)?)
    }
    let work = || {
        let file = read_key(&key, "a secret key", passphrase, allow_cost)?;
        let plain = on_scheme!(file, file => plain(&file, &source, view, device))?;
        if output.is_some() {
            let format = match (&plain, output.as_deref()) {
                (Plain::Picture(_), Some(path)) => Format::for_output(path)?,
                _ => Format::Png,
            };
            let mut out = Goal::new(output.clone(), force, true).output(&[&source, &key])?;
            plain.write(format, &mut out)?;
            out.commit()?;
            return Ok(Found::Written);
        }
        found(plain)
    };
    interrupt::told(progress, || detached(py, work))?.into_python(py)
}

/// The data that leave the thread that decrypts: words of a table are no longer shared.
pub enum Found {
    Written,
    Picture(Picture),
    Real(Vec<String>, Vec<Vec<f64>>),
    Cells(Vec<String>, Vec<Vec<Field>>),
    Integers(Vec<String>, Vec<Vec<BigInt>>),
}

/// A field of a table of integers and words.
pub enum Field {
    Number(i64),
    Word(String),
}

/// The decrypted content, for Python.
pub fn found(plain: Plain) -> Result<Found> {
    fn names(header: Option<&[String]>, count: usize) -> Vec<String> {
        header.map_or_else(|| (1..=count).map(|at| at.to_string()).collect(), <[String]>::to_vec)
    }
    Ok(match plain {
        Plain::Picture(picture) => Found::Picture(picture),
        Plain::Table(table) => {
            Found::Real(names(table.header(), table.columns().len()), table.columns().to_vec())
        }
        Plain::Cells(table) => {
            let field = |cell: &Cell| match cell {
                Cell::Number(number) => Field::Number(*number),
                Cell::Word(word) => Field::Word(word.to_string()),
            };
            let columns = table.columns().iter().map(|column| column.iter().map(field).collect()).collect();
            Found::Cells(names(table.header(), table.columns().len()), columns)
        }
        Plain::Integers(table) => {
            Found::Integers(names(table.header(), table.columns().len()), table.columns().to_vec())
        }
        Plain::Numbers(_) => return Err(Fault::Value("numbers of an image".to_owned())),
    })
}

impl Found {
    /// A picture as an array, a table as a dict of its columns.
    pub fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        Ok(match self {
            Found::Written => py.None().into_bound(py),
            Found::Picture(picture) => {
                let (height, width) = (picture.height() as usize, picture.width() as usize);
                let shape: Vec<usize> = match picture.channels().count() {
                    1 => vec![height, width],
                    channels => vec![height, width, channels],
                };
                let count = picture.channels().count();
                let planes: Vec<Vec<u16>> =
                    (0..count).map(|c| picture.samples_of(c, 0..height * width)).collect();
                let samples = (0..height * width).flat_map(|at| planes.iter().map(move |plane| plane[at]));
                match picture.depth().bits() {
                    8 => array_of(py, samples.map(|sample| sample as u8).collect(), &shape)?,
                    _ => array_of(py, samples.collect::<Vec<_>>(), &shape)?,
                }
            }
            Found::Real(names, columns) => {
                let table = PyDict::new(py);
                for (name, column) in names.into_iter().zip(columns) {
                    let count = column.len();
                    table.set_item(name, array_of(py, column, &[count])?)?;
                }
                table.into_any()
            }
            Found::Cells(names, columns) => {
                let table = PyDict::new(py);
                for (name, column) in names.into_iter().zip(columns) {
                    let whole: Option<Vec<i64>> = column
                        .iter()
                        .map(|field| match field {
                            Field::Number(number) => Some(*number),
                            Field::Word(_) => None,
                        })
                        .collect();
                    if let Some(numbers) = whole {
                        let count = numbers.len();
                        table.set_item(name, array_of(py, numbers, &[count])?)?;
                        continue;
                    }
                    let words: Vec<String> = column
                        .into_iter()
                        .map(|field| match field {
                            Field::Number(number) => number.to_string(),
                            Field::Word(word) => word,
                        })
                        .collect();
                    table.set_item(name, words)?;
                }
                table.into_any()
            }
            Found::Integers(names, columns) => {
                let table = PyDict::new(py);
                for (name, column) in names.into_iter().zip(columns) {
                    let signed: Option<Vec<i64>> = column.iter().map(|x| i64::try_from(x).ok()).collect();
                    let count = [column.len()];
                    let array = match signed {
                        Some(values) => array_of(py, values, &count)?,
                        None => {
                            let word = |x: &BigInt| u64::try_from(x).unwrap_or(0);
                            array_of(py, column.iter().map(word).collect::<Vec<_>>(), &count)?
                        }
                    };
                    table.set_item(name, array)?;
                }
                table.into_any()
            }
        })
    }
}
