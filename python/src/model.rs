//! Neural networks on encrypted examples.

use crate::arrays::{Array, Bytes, Numbers, array_of, matrix};
use crate::ciphertext::PyCiphertext;
use crate::context::Core;
use crate::error::{Fault, Result};
use crate::files::Place as FilePlace;
use crate::interrupt::{self, Interruptible, Told};
use crate::keys::{PyKeys, PyPublicKey, PySecretKey};
use crate::params::PyParams;
use crate::run::detached;
use he_any::Params;
use he_any::arrays::Values;
use he_any::layout::Layout;
use he_any::rlwe::{Cipher, Ckks, Plain};
use he_core::circuits::Requirements;
use he_core::circuits::ckks::NeverRefresh;
use he_core::num_complex::Complex64;
use he_files::scheme::engine::rng;
use he_nn::{AnyModel, Graph, Mask, Parameters, Wishes, encoder, onnx};
use pyo3::exceptions::{PyTypeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyMapping, PyType};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// A neural network that was compiled for encrypted examples.
///
/// A model is read from ONNX, calibrated on examples, and compiled into levels, refreshes and maps
/// between slots. It is pickled as its bytes.
///
/// A model of several inputs, such as an encoder of sentences, takes examples as rows of all their
/// numbers, or as a mapping from the names of the inputs to arrays, as tokenizers return it. Ids of
/// words are encrypted as what the model looks up for them. Masks stay public.
#[pyclass(frozen, module = "he", name = "Model")]
pub struct PyModel {
    model: AnyModel,
    insecure: bool,
}

/// How a model is pickled: by its bytes, and whether its parameters may be insecure.
type Reduced<'py> = (Bound<'py, PyAny>, (Bound<'py, PyBytes>, bool));

/// A key that encrypts examples.
#[derive(FromPyObject)]
enum Key<'py> {
    Keys(Bound<'py, PyKeys>),
    Secret(Bound<'py, PySecretKey>),
    Public(Bound<'py, PyPublicKey>),
}

impl PyModel {
    pub fn requirements(&self) -> he_nn::Result<Requirements> {
        self.model.requirements()
    }

    fn any_params(&self) -> Params {
        match self.model.parameters() {
            Parameters::Leveled(params) => Params::Ckks(params.clone()),
            Parameters::Refreshed(params) => Params::Bootstrap(params.clone()),
        }
    }

    fn check_context<'c>(&self, core: &'c Core) -> Result<&'c Ckks> {
        let engine = core.site.ckks()?;
        if engine.params != *self.model.parameters().params() {
            return Err(Fault::Params(
                "the keys or examples are of other parameters than the model; \
                 make a he.Context of model.params, and keys in it"
                    .to_owned(),
            ));
        }
        Ok(engine)
    }

    fn read(bytes: &[u8], insecure: bool) -> Result<Self> {
        let model = match insecure {
            false => AnyModel::from_bytes(bytes)?,
            true => AnyModel::from_bytes_insecure(bytes)?,
        };
        Ok(Self { model, insecure })
    }

    /// The examples that are told one after the other.
    fn told_examples(&self, rows: usize) -> u64 {
        if self.model.layers().is_some() { 1 } else { rows as u64 }
    }

    /// The masks of so many sentences, of an array of 0 and 1.
    fn masks_of(&self, masks: Option<&Bound<'_, PyAny>>, sentences: usize) -> PyResult<Vec<Mask>> {
        let expected = self.model.masked_tokens();
        let (tokens, masks) = match (expected, masks) {
            (None, None) => return Ok(Vec::new()),
            (Some(tokens), Some(masks)) => (tokens, matrix(masks, "masks")?),
            (None, Some(_)) => {
                return Err(PyValueError::new_err("masks for a model that has none: leave them out"));
            }
            (Some(tokens), None) => {
                let text =
                    format!("a mask of {tokens} tokens per sentence is missing: model.masks makes them");
                return Err(PyValueError::new_err(text));
            }
        };
        let is_mask = |mask: &Vec<f64>| {
            mask.len() == tokens && mask.iter().all(|bit| [0.0, 1.0].contains(bit)) && mask.contains(&1.0)
        };
        if masks.len() != sentences || !masks.iter().all(is_mask) {
            let found = (masks.len(), masks.first().map_or(0, Vec::len));
            let text = format!(
                "masks of shape {found:?}, where ({sentences}, {tokens}) of 0 and 1 are expected, with a 1 in \
                 each row"
            );
            return Err(PyValueError::new_err(text));
        }
        Ok(masks.iter().map(|mask| mask.iter().map(|&bit| bit == 1.0).collect()).collect())
    }

    fn rows(&self, examples: &Bound<'_, PyAny>) -> PyResult<Vec<Vec<f64>>> {
        rows(self.model.graph(), examples)
    }
}

/// Examples as rows: those of a matrix, or of a mapping from the names of inputs to arrays.
fn rows(graph: &Graph, examples: &Bound<'_, PyAny>) -> PyResult<Vec<Vec<f64>>> {
    let Ok(mapping) = examples.cast::<PyMapping>() else { return matrix(examples, "examples") };
    let names: Vec<&str> = graph.inputs().map(|(id, _)| graph.nodes[id].name.as_str()).collect();
    if mapping.len()? != names.len() {
        let text = format!("examples of {} inputs, where the model takes {names:?}", mapping.len()?);
        return Err(PyValueError::new_err(text));
    }
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for (at, (name, (_, places))) in names.iter().zip(graph.inputs()).enumerate() {
        let missing =
            |_| PyValueError::new_err(format!("examples without {name:?}: the model takes {names:?}"));
        let array = Array::new(&mapping.get_item(name).map_err(missing)?, Numbers::Real, name)?;
        let count = array.shape().first().copied().unwrap_or(0);
        let Values::Real(numbers) = array.values()? else {
            return Err(PyValueError::new_err(format!("{name}: real numbers are expected")));
        };
        if at == 0 {
            rows.resize_with(count, Vec::new);
        }
        let (found, expected) = (numbers.len() / count.max(1), places.len());
        if count == 0 || (found, count) != (expected, rows.len()) {
            let text = format!(
                "{name}: {count} examples of {found} numbers, where {} of {expected} are expected; pad or cut \
                 sentences to the tokens of the model",
                rows.len()
            );
            return Err(PyValueError::new_err(text));
        }
        rows.iter_mut().zip(numbers.chunks(expected)).for_each(|(row, own)| row.extend(own));
    }
    Ok(rows)
}

/// Warns of ranges that are too narrow.
fn warn_of(py: Python<'_>, warnings: &[encoder::Warning]) -> PyResult<()> {
    for warning in warnings {
        let text = format!("{warning}; calibrate with more sentences, and of more kinds");
        let text = CString::new(text).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1)?;
    }
    Ok(())
}

/// A graph of a file of ONNX.
fn read_graph(file: &FilePlace, output: Option<&str>, dimensions: &[(String, usize)]) -> Result<Graph> {
    let reading = onnx::Reading { output, folder: file.folder(), dimensions };
    Ok(onnx::Model::with(&file.bytes()?, &reading)?.graph)
}

#[pymethods]
impl PyModel {
    /// Reads a model from ONNX and compiles it.
    ///
    /// Parameters
    /// ----------
    /// onnx : str, os.PathLike or bytes
    ///     The model: a path, beside which its constants may lie in other files, or its bytes.
    /// examples : array_like
    ///     Examples like those that will be encrypted, one per row: the ranges of all values are
    ///     learned from them.
    /// bits : int, optional
    ///     The bits to which functions are approximated.
    /// margin : float, optional
    ///     By which fraction values may exceed those of the examples.
    /// output_name : str, optional
    ///     Which output of the file is computed, of several; by default the first that can be.
    /// batch : int, optional
    ///     How many examples come at once, so that values are arranged for the least time of them
    ///     all; ``facts["arrangement"]`` says how. Without it the numbers of an example share
    ///     ciphertexts.
    /// dimensions : dict of str to int, optional
    ///     Numbers for dimensions that the model calls by a name, such as
    ///     ``{"sequence_length": 128}``.
    ///
    /// Warns
    /// -----
    /// UserWarning
    ///     If one sentence of four leaves the ranges of the others.
    ///
    /// Raises
    /// ------
    /// ModelError
    ///     If an operator is not supported, or the examples do not fit the model.
    #[classmethod]
    #[pyo3(signature = (
        onnx, examples, *, bits = None, margin = None, output_name = None, batch = None, dimensions = None
    ))]
    fn compile(
        _class: &Bound<'_, PyType>,
        onnx: FilePlace,
        examples: &Bound<'_, PyAny>,
        bits: Option<u32>,
        margin: Option<f64>,
        output_name: Option<&str>,
        batch: Option<NonZeroUsize>,
        dimensions: Option<BTreeMap<String, NonZeroUsize>>,
    ) -> PyResult<Self> {
        let py = examples.py();
        let dimensions: Vec<(String, usize)> =
            dimensions.unwrap_or_default().into_iter().map(|(name, size)| (name, size.get())).collect();
        let graph = detached(py, || read_graph(&onnx, output_name, &dimensions))?;
        let rows = rows(&graph, examples)?;
        let wishes = Wishes { bits, margin, batch: batch.map(NonZeroUsize::get) };
        let compiled = detached(py, || Ok(AnyModel::compile(graph, &rows, &wishes)?))?;
        warn_of(py, &compiled.warnings)?;
        Ok(Self { model: compiled.model, insecure: false })
    }

    /// Reads a compiled model: a file of `he-cli compile`, or what `to_bytes` made.
    #[classmethod]
    fn from_bytes(_class: &Bound<'_, PyType>, data: &Bound<'_, PyAny>) -> PyResult<Self> {
        let bytes = Bytes::new(data, "data")?;
        let bytes = bytes.as_slice();
        detached(data.py(), || Self::read(bytes, false))
    }

    /// The compiled model as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = detached(py, || Ok(self.model.to_bytes()?))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The parameters of contexts for this model.
    #[getter]
    fn params(&self) -> PyParams {
        PyParams(self.any_params())
    }

    /// The numbers of an example.
    #[getter]
    fn input_size(&self) -> usize {
        self.model.input_elements()
    }

    /// Examples that share a vector of slots: as many cost no more than one.
    #[getter]
    fn examples_per_ciphertext(&self) -> usize {
        self.model.examples()
    }

    /// The costs of inference: layers, levels, refreshes, memory and keys.
    #[getter]
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = detached(py, || Ok(self.model.facts()?))?;
        let facts = PyDict::new(py);
        facts.set_item("log_n", found.log_n)?;
        facts.set_item("levels", found.levels)?;
        facts.set_item("refreshes", found.refreshes)?;
        facts.set_item("arrangement", found.arrangement.name())?;
        facts.set_item("examples", found.examples)?;
        facts.set_item("ciphertexts", found.ciphertexts)?;
        facts.set_item("key_bytes", found.key_bytes)?;
        facts.set_item("bootstrap_key_bytes", found.bootstrap_key_bytes)?;
        facts.set_item("memory", found.memory())?;
        let layers = PyList::empty(py);
        for layer in found.layers {
            let about = PyDict::new(py);
            about.set_item("nodes", layer.nodes)?;
            about.set_item("what", layer.what)?;
            about.set_item("shape", layer.shape)?;
            about.set_item("level", layer.level)?;
            about.set_item("depth", layer.depth)?;
            about.set_item("rotations", layer.rotations)?;
            about.set_item("refreshes", layer.refreshes)?;
            about.set_item("share", layer.share)?;
            layers.append(about)?;
        }
        facts.set_item("layers", layers)?;
        Ok(facts)
    }

    /// The outputs in the clear, a row per example: what encrypted inference approximates.
    fn __call__<'py>(&self, examples: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let rows = self.rows(examples)?;
        let outputs = detached(examples.py(), || {
            let outputs = rows.iter().map(|row| Ok(self.model.apply_plain(row)?));
            outputs.collect::<Result<Vec<Vec<f64>>>>()
        })?;
        let shape = [outputs.len(), outputs.first().map_or(0, Vec::len)];
        array_of(examples.py(), outputs.concat(), &shape)
    }

    /// Encrypts examples, one per row.
    ///
    /// Parameters
    /// ----------
    /// key : Keys, SecretKey or PublicKey
    ///     A key of a context of `params`.
    /// examples : array_like
    ///     The examples, one per row.
    ///
    /// Returns
    /// -------
    /// list of Ciphertext
    ///     What `infer` takes.
    ///
    /// Raises
    /// ------
    /// ModelError
    ///     If an example leads out of the ranges of the calibration.
    fn encrypt(&self, key: Key<'_>, examples: &Bound<'_, PyAny>) -> PyResult<Vec<PyCiphertext>> {
        let py = examples.py();
        let rows = self.rows(examples)?;
        let secret = match &key {
            Key::Keys(keys) => Some(keys.get().secret(py)),
            Key::Secret(secret) => Some(secret.clone()),
            Key::Public(_) => None,
        };
        let core = match (&key, &secret) {
            (Key::Public(public), _) => Arc::clone(&public.get().core),
            (_, Some(secret)) => Arc::clone(&secret.get().core),
            _ => return Err(PyTypeError::new_err("a key is expected")),
        };
        let (secret, public) = (
            secret.as_ref().map(Bound::get),
            match &key {
                Key::Public(public) => Some(public.get()),
                _ => None,
            },
        );
        let parts = core.site.place.run(py, || {
            let engine = self.check_context(&core)?;
            for (index, row) in rows.iter().enumerate() {
                self.model.check(index, row)?;
            }
            let rng = &mut rng()?;
            let params = &engine.params;
            let mut parts = Vec::new();
            for part in self.model.pack(&rows)? {
                let complex = |vector: &Vec<f64>| vector.iter().map(|&x| x.into()).collect();
                let vectors: Vec<Vec<Complex64>> = part.iter().map(complex).collect();
                let vectors: Vec<&[Complex64]> = vectors.iter().map(Vec::as_slice).collect();
                let plain = Plain::Ckks(engine.ev.encoder().encode_batch(&vectors, params.encoding())?);
                let ct = match (secret, public) {
                    (Some(secret), _) => secret.owner()?.encrypt(&plain, rng)?,
                    (_, Some(public)) => core.site.rlwe()?.encrypt(public.rlwe()?, &plain, rng)?,
                    _ => return Err(Fault::Type("a key of ckks is expected".to_owned())),
                };
                parts.push((ct, vectors.len()));
            }
            Ok(parts)
        })?;
        Ok(parts.into_iter().map(|(ct, rows)| wrapped(&core, ct, rows)).collect())
    }

    /// The masks of examples, which are public: `infer` takes them beside the ciphertexts.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray
    ///     A row of 0 and 1 per example; without columns for a model that has no mask.
    fn masks<'py>(&self, examples: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let rows = self.rows(examples)?;
        let masks = detached(examples.py(), || Ok(self.model.masks(&rows)?))?;
        let bits: Vec<f64> = masks.concat().into_iter().map(|bit| f64::from(u8::from(bit))).collect();
        array_of(examples.py(), bits, &[rows.len(), self.model.masked_tokens().unwrap_or(0)])
    }

    /// Computes the outputs of encrypted examples, without any secret.
    ///
    /// Parameters
    /// ----------
    /// examples : list of Ciphertext
    ///     What `encrypt` made, in a context with the evaluation keys that the model needs
    ///     (``context.keygen(needs=[model])``).
    /// masks : array_like, optional
    ///     What `masks` says of the examples, for a model that has a mask.
    /// progress : callable, optional
    ///     A callable that is told how much of the work is done, ``progress(done, total)``, after
    ///     each step of the model. An exception that it raises ends the work.
    ///
    /// Returns
    /// -------
    /// list of Ciphertext
    ///     What `decrypt` takes.
    #[pyo3(signature = (examples, *, masks = None, progress = None))]
    fn infer(
        &self,
        examples: Vec<Bound<'_, PyCiphertext>>,
        masks: Option<&Bound<'_, PyAny>>,
        progress: Option<Py<PyAny>>,
        py: Python<'_>,
    ) -> PyResult<Vec<PyCiphertext>> {
        let parts: Vec<&PyCiphertext> = examples.iter().map(Bound::get).collect();
        let Some(first) = parts.first() else {
            return Err(Fault::Value("no ciphertexts of examples".to_owned()).into());
        };
        let (core, rows) = (&first.core, first.physical_batch());
        let masks = self.masks_of(masks, rows)?;
        let work = || {
            let engine = self.check_context(core)?;
            let mut inputs = Vec::with_capacity(parts.len());
            for part in &parts {
                core.site.check_same(&part.core.site, "example")?;
                inputs.push(part.ckks()?.duplicate()?);
            }
            let keys = core.switching(None)?;
            let told = Told::current();
            if let Some(told) = &told {
                told.begin(self.model.work()? * self.told_examples(rows));
            }
            let mut done = |work| {
                if let Some(told) = &told {
                    told.advance(work);
                }
            };
            Ok(match core.bootstrap_keys() {
                Some(bootstrap) if self.model.parameters().bootstrapping().is_some() => {
                    let bootstrapper = engine.bootstrapper()?;
                    let refresher = bootstrapper.with_keys(&bootstrap);
                    let refresher = Interruptible(&refresher);
                    self.model.infer_watched(
                        &engine.ev,
                        &inputs,
                        &masks,
                        keys.get()?,
                        &refresher,
                        &mut done,
                    )?
                }
                _ => {
                    let refresher = Interruptible(&NeverRefresh);
                    self.model.infer_watched(
                        &engine.ev,
                        &inputs,
                        &masks,
                        keys.get()?,
                        &refresher,
                        &mut done,
                    )?
                }
            })
        };
        let outputs = interrupt::told(progress, || core.site.place.run(py, work))?;
        Ok(outputs.into_iter().map(|ct| wrapped(core, Cipher::Ckks(ct), rows)).collect())
    }

    /// Decrypts outputs.
    ///
    /// Parameters
    /// ----------
    /// key : Keys or SecretKey
    ///     The key that the examples were encrypted for.
    /// outputs : list of Ciphertext
    ///     What `infer` made.
    /// count : int, optional
    ///     How many examples there were; by default as many as fit.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray
    ///     A row of outputs per example: what the model's last step decides (softmax, argmax,
    ///     votes, probabilities, signs), or the numbers themselves.
    ///
    /// Warns
    /// -----
    /// UserWarning
    ///     If outputs are beyond those of the calibration: they may mean nothing.
    #[pyo3(signature = (key, outputs, count = None))]
    fn decrypt<'py>(
        &self,
        key: Key<'py>,
        outputs: Vec<Bound<'py, PyCiphertext>>,
        count: Option<usize>,
        py: Python<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let secret = match &key {
            Key::Keys(keys) => keys.get().secret(py),
            Key::Secret(secret) => secret.clone(),
            Key::Public(_) => return Err(PyTypeError::new_err("a public key decrypts nothing")),
        };
        let (secret, parts) = (secret.get(), outputs.iter().map(Bound::get).collect::<Vec<_>>());
        let rows = parts.first().map_or(0, |part| part.physical_batch());
        let count = count.unwrap_or(rows * self.model.examples());
        let found = secret.core.site.place.run(py, || {
            self.check_context(&secret.core)?;
            let (owner, rlwe) = (secret.owner()?, secret.core.site.rlwe()?);
            let mut vectors = Vec::with_capacity(parts.len());
            for part in &parts {
                secret.core.site.check_same(&part.core.site, "output")?;
                vectors.push(rlwe.reals(&owner.decrypt(&part.cipher)?)?);
            }
            Ok(self.model.outputs().unpack(&vectors, count)?)
        })?;
        let outside = found.iter().filter(|outputs| outputs.outside).count();
        if outside > 0 {
            let text = format!(
                "the outputs of {outside} of {count} examples are beyond those of the calibration and may \
                 mean nothing; compile the model with examples like these"
            );
            let text = CString::new(text).unwrap_or_default();
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1)?;
        }
        let width = found.first().map_or(0, |outputs| outputs.decided.len());
        let values: Vec<f64> = found.into_iter().flat_map(|outputs| outputs.decided).collect();
        array_of(py, values, &[count, width])
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        Ok((py.import("he._he")?.getattr("_model")?, (self.to_bytes(py)?, self.insecure)))
    }

    fn __repr__(&self) -> String {
        let params = self.model.parameters().params();
        format!(
            "<he.Model: {} inputs, {} levels, {} examples per ciphertext>",
            self.model.input_elements(),
            params.max_level(),
            self.model.examples()
        )
    }
}

/// Vectors of slots as a batch of rows.
fn wrapped(core: &Arc<Core>, ct: Cipher, rows: usize) -> PyCiphertext {
    let layout = Layout::new(Some(rows), ct.slots(), false, None);
    PyCiphertext::new(core, ct, layout)
}

/// A model from its pickled form.
#[pyfunction]
#[pyo3(name = "_model")]
pub fn unpickled(data: &Bound<'_, PyBytes>, insecure: bool) -> PyResult<PyModel> {
    let bytes = data.as_bytes();
    detached(data.py(), || PyModel::read(bytes, insecure))
}
