//! Inferences: recorded, and their steps computed again.

use super::plan::{self, HEAD, Plan, Planned, frame};
use super::{Choice, Computed, Digests, Recording, Report, Stated, values};
use crate::bootstrap::keys::KeyFile as BootstrapFile;
use crate::cipher_file::{self, CipherReader, Decoder, Written};
use crate::error::{InFile, KeyError, ModelError, Result, TraceError};
use crate::io::input::Input;
use crate::io::output::Output;
use crate::key_file::{AnyKey, Key, KeyFile};
use crate::models::{Inference, ModelFile, Refreshes};
use crate::note::ExamplesNote;
use crate::scheme::engine::Engine;
use crate::scheme::{Ckks, KeyPart, OfKeySet, OneOf, Scheme};
use crate::trace::{Program, Role, Trace, Value};
use crate::watch::{Meter, Stage, Watch};
use he::Device;
use he_core::ckks::{Ciphertext, CkksParams};
use he_core::rlwe::{EvaluationKeys, KeyRequirements};
use he_core::wire::{Frame, Wire};
use rand::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The files of an inference.
pub struct InferenceFiles {
    /// The encrypted examples.
    pub examples: Input,
    /// The evaluation key.
    pub key: Input,
    /// The bootstrapping key, of models that refresh.
    pub bootstrap: Option<Input>,
}

/// The same files, opened and listed.
pub(super) struct Opened<'m> {
    inference: Inference<'m>,
    key: KeyFile<Ckks>,
    bootstrap: Option<BootstrapFile>,
    recording: Recording,
}

impl<'m> Opened<'m> {
    pub(super) fn new(model: &'m ModelFile, files: InferenceFiles) -> Result<Self> {
        let mut recording = Recording::default();
        let reader = CipherReader::new(recording.listed(Role::Input, files.examples))?;
        let inference = Inference::new(model, reader)?;
        let key = evaluation_key(recording.listed(Role::Key, files.key))?;
        let bootstrap = files.bootstrap.filter(|_| model.bootstrapping().is_some());
        let bootstrap = bootstrap.map(|file| BootstrapFile::open(recording.listed(Role::Key, file)));
        Ok(Self { inference, key, bootstrap: bootstrap.transpose()?, recording })
    }

    /// The plan of the inference of these examples.
    pub(super) fn plan(&self, model: &ModelFile) -> Result<Plan> {
        Plan::of_inference(model, self.inference.note())
    }
}

fn evaluation_key(input: Input) -> Result<KeyFile<Ckks>> {
    const NEEDED: &str = "an evaluation key";
    let name = input.name().to_owned();
    match AnyKey::read(input, NEEDED, None)?.scheme(NEEDED)? {
        OneOf::Ckks(key) => Ok(key),
        _ => Err(KeyError::Other { name: "the examples".to_owned(), key: name }.into()),
    }
}

/// An [`Inference`] that is recorded.
pub struct RecordedInference<'m> {
    opened: Opened<'m>,
    plan: Plan,
    folder: Option<PathBuf>,
}

impl<'m> RecordedInference<'m> {
    /// Checks that the examples and keys belong to the model.
    ///
    /// # Errors
    /// The errors of [`Inference::new`]; a key is another one.
    pub fn new(model: &'m ModelFile, files: InferenceFiles) -> Result<Self> {
        let opened = Opened::new(model, files)?;
        let plan = opened.plan(model)?;
        Ok(Self { opened, plan, folder: None })
    }

    /// Keeps every value between steps in a folder, each in a file that has its digest as its name:
    /// an audit then computes no other steps than those that it has chosen.
    #[must_use]
    pub fn keeping(self, folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(folder.into()), ..self }
    }

    /// Computes like [`Inference::evaluate`], and returns the trace as well.
    ///
    /// # Errors
    /// The errors of [`Inference::evaluate`]; a value cannot be kept.
    pub fn evaluate(
        self,
        device: Device,
        watch: &Arc<dyn Watch>,
        output: Output,
    ) -> Result<(Written, Trace)> {
        let Self { opened: Opened { inference, key, bootstrap, recording }, plan, folder } = self;
        let mut digests = Digests::new(folder)?;
        let mut record = |value: &[Ciphertext<Device>], params: &CkksParams| {
            // The computation goes on with the values: those that are hashed are copies.
            let copies = value.iter().map(Ciphertext::duplicate).collect::<he_core::Result<Vec<_>>>()?;
            let params = Arc::new(params.clone());
            digests.add(copies.into_iter().map(|ct| {
                let params = Arc::clone(&params);
                move || Ok(ct.to_frame(&params)?.seal())
            }))
        };
        let written = inference.evaluate_recorded(key, bootstrap, device, watch, output, &mut record)?;
        let trace = plan.trace(recording.files(), digests.finish()?, &written.frames)?;
        Ok((written, trace))
    }
}

/// Computes steps of an inference again on the CPU, from the files that the trace names. `kept`
/// is a folder of the values between them, as [`RecordedInference::keeping`] wrote it; without
/// it, all steps are computed that lead to the chosen ones.
///
/// # Errors
/// [`TraceError`] if the trace is of another model, of other files, or has other operations than
/// the model has, and for values that are not there; those of [`Inference`]. Wrong results are not
/// errors: the report has them.
pub fn inference<'a>(
    stated: impl Into<Stated<'a>>,
    model: &ModelFile,
    files: InferenceFiles,
    kept: Option<&Path>,
    choice: &Choice,
    watch: &dyn Watch,
    rng: &mut impl Rng,
) -> Result<Report> {
    let stated = stated.into();
    let opened = Opened::new(model, files)?;
    let plan = opened.plan(model)?;
    let chosen = choice.of(plan.len(), rng)?;
    let taken = Taken { chosen: &chosen, kept, device: Device::cpu() };
    let (mut steps, wanted) = Steps::new(stated, &plan, model, opened, taken, watch)?;
    let meter = Meter::new(watch, Stage::Computing, wanted.len() as u64);
    let mut computed = Vec::new();
    for (at, &operation) in wanted.iter().enumerate() {
        let found = steps.compute(operation)?;
        let agrees = found.agrees(stated);
        computed.push(found);
        meter.inc(1);
        if kept.is_none() && !agrees {
            // Nothing is known of the values that follow a wrong one.
            break;
        }
        steps.forget(&wanted[at + 1..]);
    }
    meter.finish();
    Ok(Report::new(stated, chosen, computed))
}

/// The steps of a trace that are to be computed again, and by what.
pub(super) struct Taken<'a> {
    /// The operations that were chosen.
    pub chosen: &'a [usize],
    /// The folder of the values that were kept.
    pub kept: Option<&'a Path>,
    pub device: Device,
}

/// The operations that these need, and these, in order.
fn leading_to(plan: &Plan, chosen: &[usize]) -> Vec<usize> {
    let (mut wanted, mut open) = (BTreeSet::new(), chosen.to_vec());
    while let Some(operation) = open.pop() {
        if wanted.insert(operation) {
            open.extend(plan.of(operation).iter().filter_map(|value| match *value {
                Value::Result { operation, .. } => Some(operation as usize),
                Value::Frame { .. } => None,
            }));
        }
    }
    wanted.into_iter().collect()
}

/// The keys that some operations need, of all evaluation keys.
fn needed(
    mut key: KeyFile<Ckks>,
    model: &ModelFile,
    note: &ExamplesNote,
    plan: &Plan,
    wanted: &[usize],
) -> Result<KeyFile<Ckks>> {
    let per_batch = plan.len() / batches(note).len();
    let steps: BTreeSet<usize> = wanted.iter().map(|operation| operation % per_batch).collect();
    let mut needs = KeyRequirements::new();
    for step in steps {
        needs = needs.union(&model.layers()?.keys_of(step)?);
    }
    let elements = needs.galois_elements(key.params.rlwe().ring().log_n());
    if let Key::Evaluation(frames) = &mut key.key {
        frames.retain(|frame| match Ckks::key_part(frame) {
            Some(KeyPart::Relin) => needs.needs_relinearisation(),
            // A Galois key starts with its element.
            _ => frame.body.first_chunk().is_some_and(|g| elements.contains(&u64::from_le_bytes(*g))),
        });
    }
    Ok(key)
}

/// The place of a frame of examples among those of ciphertexts.
fn place_of_frame(value: &Value) -> Option<usize> {
    match *value {
        Value::Frame { frame, .. } => (frame as usize).checked_sub(HEAD),
        Value::Result { .. } => None,
    }
}

/// The frames of examples that are used, each with its place; the whole file is listed.
fn frames(
    reader: &mut CipherReader<Ckks>,
    used: &BTreeSet<usize>,
    note: &ExamplesNote,
) -> Result<BTreeMap<usize, Frame>> {
    let mut frames = BTreeMap::new();
    for place in 0..batches(note).len() * note.parts as usize {
        let sealed = reader.frame()?;
        if used.contains(&place) {
            frames.insert(place, sealed.open().in_file(&reader.name)?);
        }
    }
    reader.end()?;
    Ok(frames)
}

/// Steps of a trace that are computed again.
pub(super) struct Steps<'a> {
    stated: Stated<'a>,
    plan: &'a Plan,
    model: &'a ModelFile,
    engine: Engine<Ckks>,
    keys: EvaluationKeys<Device>,
    refreshes: Refreshes,
    kept: Option<&'a Path>,
    decoder: Decoder<Ckks>,
    /// The frames of examples, until they are used.
    frames: BTreeMap<usize, Frame>,
    /// The groups of examples of each batch.
    batches: Vec<usize>,
    /// The values of operations that were computed, while they are needed.
    made: BTreeMap<usize, Vec<Ciphertext<Device>>>,
}

impl<'a> Steps<'a> {
    /// Checks that the trace is of this plan and these files, and loads what the chosen operations
    /// take. They come with those that lead to them, unless values were kept.
    pub(super) fn new(
        stated: Stated<'a>,
        plan: &'a Plan,
        model: &'a ModelFile,
        opened: Opened<'_>,
        Taken { chosen, kept, device }: Taken<'a>,
        watch: &dyn Watch,
    ) -> Result<(Self, Vec<usize>)> {
        let Opened { inference, key, bootstrap, mut recording } = opened;
        let note = inference.note().clone();
        stated.check_operations(plan, chosen)?;
        let wanted = match kept {
            Some(_) => chosen.to_vec(),
            None => leading_to(plan, chosen),
        };
        let (mut reader, payload) = inference.into_parts();
        key.check_owner(&reader.params, &reader.payload.key_id, &reader.name)?;
        let used = wanted.iter().flat_map(|&operation| plan.of(operation));
        let used: BTreeSet<usize> = used.filter_map(place_of_frame).collect();
        let (decoder, frames) = (reader.decoder(), frames(&mut reader, &used, &note)?);
        let engine = model.engine(device)?;
        let key = if wanted.len() < plan.len() { needed(key, model, &note, plan, &wanted)? } else { key };
        let keys = key.evaluation(&engine.ring)?;
        let refreshes = match (plan.refreshes(&wanted), &bootstrap) {
            (false, Some(_)) => {
                recording.only_begun();
                Refreshes::default()
            }
            _ => Refreshes::load(model, bootstrap, &reader, &engine, watch)?,
        };
        stated.check_files(plan, &recording)?;
        if cipher_file::head::<Ckks>(&engine.params, &payload)? != stated.head() {
            return Err(TraceError::Result { name: "the description in the trace".to_owned() }.into());
        }
        let (batches, made) = (batches(&note), BTreeMap::new());
        let steps =
            Self { stated, plan, model, engine, keys, refreshes, kept, decoder, frames, batches, made };
        Ok((steps, wanted))
    }

    /// The batch of an operation, and its step of the model.
    pub(super) fn place(&self, operation: usize) -> (usize, usize) {
        let per_batch = self.plan.len() / self.batches.len();
        (operation / per_batch, operation % per_batch)
    }

    /// The values that an operation takes.
    pub(super) fn values(&self, operation: usize) -> Result<Vec<Vec<Ciphertext<Device>>>> {
        let (batch, step) = self.place(operation);
        // The values of a step are one after the other.
        let mut of = self.plan.of(operation).iter();
        let mut values = Vec::new();
        let layers = self.model.layers()?;
        for planned in &layers.program()[step].of {
            let ciphertexts = match *planned {
                he_nn::program::Value::Input => layers.ciphertexts(),
                he_nn::program::Value::Made(made) => self.plan.results(operation - step + made),
            };
            let cts = of.by_ref().take(ciphertexts).map(|&value| self.value(value, batch, operation));
            values.push(cts.collect::<Result<Vec<_>>>()?);
        }
        Ok(values)
    }

    /// The keys and the evaluator of the steps.
    pub(super) fn engine(&self) -> (&Engine<Ckks>, &EvaluationKeys<Device>) {
        (&self.engine, &self.keys)
    }

    pub(super) fn compute(&mut self, operation: usize) -> Result<Computed> {
        let (values, (_, step)) = (self.values(operation)?, self.place(operation));
        let Self { engine, keys, model, .. } = self;
        let found = self.refreshes.recompute(model.layers()?, &engine.evaluator, step, &values, keys)?;
        let frames = found.iter().map(|ct| Ok(values::checksum(&ct.to_frame(&engine.params)?.seal())));
        let results = frames.collect::<Result<_>>()?;
        if self.kept.is_none() {
            self.made.insert(operation, found);
        }
        Ok(Computed { operation, results })
    }

    /// A value that an operation takes.
    fn value(&self, value: Value, batch: usize, operation: usize) -> Result<Ciphertext<Device>> {
        match (value, self.kept) {
            (Value::Frame { .. }, _) => {
                let frame = place_of_frame(&value).and_then(|place| self.frames.get(&place));
                let frame = frame.ok_or(TraceError::Steps { operation })?;
                self.decoder.decode_open(&self.engine.ring, frame, self.batches[batch])
            }
            (Value::Result { operation: made, part }, None) => {
                let found = self.made.get(&(made as usize)).and_then(|made| made.get(part as usize));
                Ok(found.ok_or(TraceError::Steps { operation })?.duplicate()?)
            }
            (_, Some(folder)) => {
                let digest = self.stated.digest(value, operation, self.plan.of(operation));
                let digest = digest.unwrap_or_default();
                let frame = values::kept(folder, &digest, operation)?;
                let ct = Ckks::decode(&self.engine.params, &self.engine.ring, &frame)?;
                Ok(ct.of(self.decoder.key_id()))
            }
        }
    }

    /// Forgets the values that no further operation takes.
    pub(super) fn forget(&mut self, further: &[usize]) {
        let used: BTreeSet<usize> = further
            .iter()
            .flat_map(|&operation| self.plan.of(operation))
            .filter_map(|value| match *value {
                Value::Result { operation, .. } => Some(operation as usize),
                Value::Frame { .. } => None,
            })
            .collect();
        self.made.retain(|operation, _| used.contains(operation));
    }
}

impl Plan {
    /// The plan of an inference: the steps of the model, batch by batch.
    pub fn of_inference(model: &ModelFile, note: &ExamplesNote) -> Result<Self> {
        Self::of_batches(model, note.parts as usize, batches(note).len())
    }

    /// The plan of an inference whose trace has so many operations.
    pub fn of_operations(model: &ModelFile, operations: usize) -> Result<Self> {
        let batches = operations / model.layers()?.program().len().max(1);
        Self::of_batches(model, model.layers()?.ciphertexts(), batches)
    }

    fn of_batches(model: &ModelFile, parts: usize, batches: usize) -> Result<Self> {
        use he_nn::program::Value as Of;
        let steps = model.layers()?.program();
        let (mut operations, mut result) = (Vec::new(), Vec::new());
        for batch in 0..batches {
            let first = operations.len();
            for step in &steps {
                let values = |of: &Of| -> Vec<Value> {
                    match *of {
                        Of::Input => (0..parts).map(|part| frame(0, batch * parts + part)).collect(),
                        Of::Made(made) => plan::results(first + made, steps[made].ciphertexts).collect(),
                    }
                };
                operations.push(Planned {
                    name: format!("batch {batch}: {}", step.name),
                    of: step.of.iter().flat_map(values).collect(),
                    results: step.ciphertexts,
                    refreshes: step.refreshes,
                });
            }
            if let Some(last) = steps.last() {
                result.extend(plan::results(operations.len() - 1, last.ciphertexts));
            }
        }
        Ok(Self::new(program(model)?, operations, result))
    }
}

/// The program of a model.
fn program(model: &ModelFile) -> Result<Program> {
    let hash = blake3::Hash::from_hex(&model.hash);
    let hash = hash.map_err(|_| ModelError::NotCompiled { name: model.name.clone() })?;
    Ok(Program::Model(*hash.as_bytes()))
}

/// The groups of examples of each batch.
fn batches(note: &ExamplesNote) -> Vec<usize> {
    let (batch, groups) = (note.batch as usize, note.groups());
    (0..groups).step_by(batch).map(|start| batch.min(groups - start)).collect()
}
