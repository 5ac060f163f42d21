//! From examples to encrypted ones, and from these to encrypted outputs.

use super::ModelFile;
use crate::bootstrap::Refreshing;
use crate::bootstrap::keys::KeyFile as BootstrapFile;
use crate::cipher_file::{CipherReader, CipherWriter, Written};
use crate::error::{ContentError, Error, ModelError, Result};
use crate::io::output::Output;
use crate::key_file::{Key, KeyFile};
use crate::models::examples::Examples;
use crate::models::refreshes::Refreshes;
use crate::note::{Content, ExamplesNote, MaskNote, Payload, bad};
use crate::scheme::engine::Engine;
use crate::scheme::{Ckks, Encrypt, Scheme};
use crate::watch::{Meter, Stage, Steps, Watch};
use he::Device;
use he_core::ckks::{Ciphertext, CkksParams, Complex64};
use he_core::wire::Wire;
use he_nn::Mask;
use he_nn::program::Made;
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use std::sync::Arc;

/// The name of the operation.
pub const NAME: &str = "infer";

/// Examples about to be encrypted for a model.
pub struct Encryption<'m> {
    model: &'m ModelFile,
    examples: &'m Examples,
    batch: usize,
    /// The description of the file.
    pub payload: Payload,
}

impl<'m> Encryption<'m> {
    /// Checks that the key is for the model, and the examples within its calibrated ranges.
    ///
    /// # Errors
    /// There is no example, or one leads out of these ranges; the key is of another model's
    /// parameters.
    pub fn new(model: &'m ModelFile, key: &KeyFile<Ckks>, examples: &'m Examples) -> Result<Self> {
        if &key.params != model.params() {
            return Err(ModelError::OtherKeys { key: key.name.clone(), model: model.name.clone() }.into());
        }
        if examples.rows.is_empty() {
            return Err(ModelError::NoExamples { model: model.name.clone() }.into());
        }
        for (index, row) in examples.rows.iter().enumerate() {
            model
                .model
                .check(index, row)
                .map_err(|error| Error::from(error).in_file_of(&examples.names[index]))?;
        }
        let batch = model.batch();
        let note = ExamplesNote {
            model: model.hash.clone(),
            examples: examples.rows.len() as u64,
            numbers: model.model.input_elements() as u64,
            shared: model.model.examples() as u64,
            parts: model.model.ciphertexts() as u32,
            batch: batch as u32,
            masks: model.model.masks(&examples.rows)?.iter().map(|mask| MaskNote::of(mask)).collect(),
            outputs: None,
        };
        let content = Content::Examples(note);
        let payload = Payload { key_id: key.id.clone(), history: Vec::new(), content };
        Ok(Self { model, examples, batch, payload })
    }

    /// The examples of each batch of ciphertexts, in the order of the file, and its parts: the
    /// vectors of a batch for each ciphertext of an input.
    pub fn batches(&self) -> impl Iterator<Item = Result<(usize, Vec<Vec<Vec<Complex64>>>)>> + use<'_, 'm> {
        self.examples.rows.chunks(self.batch * self.model.model.examples()).map(|rows| {
            let complex = |vector: Vec<f64>| vector.into_iter().map(Complex64::from).collect();
            let part = |part: Vec<Vec<f64>>| part.into_iter().map(complex).collect();
            Ok((rows.len(), self.model.model.pack(rows)?.into_iter().map(part).collect()))
        })
    }
}

/// Encrypts examples for a model, by a public or a secret key.
///
/// # Errors
/// The errors of [`Encryption::new`]; the key is neither public nor secret; the output cannot be
/// written; the device fails.
pub fn encrypt(
    model: &ModelFile,
    key: &KeyFile<Ckks>,
    examples: &Examples,
    device: Device,
    output: Output,
    rng: &mut ChaCha20Rng,
    watch: &dyn Watch,
) -> Result<Written> {
    let encryption = Encryption::new(model, key, examples)?;
    let engine = model.engine(device)?;
    let public;
    let encryptor: Encrypt<'_, Ckks> = match &key.key {
        Key::Secret(key) => Ckks::secret_encryptor(&engine, key)?,
        _ => {
            public = key.public(&engine.ring)?;
            Ckks::encryptor(&engine, &public)?
        }
    };
    let mut writer = CipherWriter::new::<Ckks>(output, model.params(), &encryption.payload)?;
    let meter = Meter::new(watch, Stage::Encrypting, examples.rows.len() as u64);
    for batch in encryption.batches() {
        let (count, parts) = batch?;
        for vectors in parts {
            // Each batch has a generator of its own, as those of other contents have.
            let mut own = ChaCha20Rng::from_rng(rng);
            writer.send(encryptor(&vectors, model.params().slots(), &mut own)?.seal())?;
        }
        meter.inc(count as u64);
    }
    meter.finish();
    writer.commit()
}

/// A call that sees the value of each step.
type MadeStep<'a> = dyn FnMut(Made<'_, Device>) -> he_nn::Result<()> + 'a;

/// The outputs of a batch.
type Inferred = he_nn::Result<Vec<Ciphertext<Device>>>;

/// A call that takes the value of each step, of these parameters.
pub type Record<'a> = dyn FnMut(&[Ciphertext<Device>], &CkksParams) -> Result<()> + 'a;

/// Encrypted examples about to be computed on.
pub struct Inference<'m> {
    model: &'m ModelFile,
    reader: CipherReader<Ckks>,
    note: ExamplesNote,
    payload: Payload,
}

impl<'m> Inference<'m> {
    /// Checks that the examples were encrypted for the model, before any key is loaded.
    ///
    /// # Errors
    /// The file holds something else, or examples for another model.
    pub fn new(model: &'m ModelFile, reader: CipherReader<Ckks>) -> Result<Self> {
        let name = &reader.name;
        let note = match &reader.payload.content {
            Content::Examples(note) => note.clone(),
            other => {
                let found = other.name();
                return Err(ContentError::NotExamples { name: name.clone(), found }.into());
            }
        };
        if note.outputs.is_some() {
            let found = "encrypted outputs";
            return Err(ContentError::NotExamples { name: name.clone(), found }.into());
        }
        model.check(name, &note.model)?;
        if &reader.params != model.params() {
            return Err(ModelError::OtherKeys { key: name.clone(), model: model.name.clone() }.into());
        }
        let masks = model.model.masked_tokens().map_or(0, |_| note.examples as usize);
        let tokens = |mask: &MaskNote| Some(mask.tokens()) == model.model.masked_tokens();
        if note.masks.len() != masks || !note.masks.iter().all(tokens) {
            return Err(bad("masks of tokens"));
        }
        let outputs = model.model.outputs();
        let numbers = outputs.positions.len() as u64;
        let parts = outputs.ciphertexts as u32;
        let result =
            ExamplesNote { numbers, parts, masks: Vec::new(), outputs: Some(outputs), ..note.clone() };
        let payload = reader.payload.after(NAME, Content::Examples(result));
        Ok(Self { model, reader, note, payload })
    }

    /// The description of the examples.
    pub fn note(&self) -> &ExamplesNote {
        &self.note
    }

    /// The rest of the file of examples, and the description of the result.
    pub fn into_parts(self) -> (CipherReader<Ckks>, Payload) {
        (self.reader, self.payload)
    }

    /// Computes batch after batch.
    ///
    /// # Errors
    /// Keys are missing or of another key set; a file is damaged; the output cannot be written; the
    /// device fails.
    pub fn evaluate(
        self,
        key: KeyFile<Ckks>,
        bootstrap: Option<BootstrapFile>,
        device: Device,
        watch: &Arc<dyn Watch>,
        output: Output,
    ) -> Result<Written> {
        self.run(key, bootstrap, device, watch, output, None)
    }

    /// Does the same, and hands over the value of each step of the model's
    /// [`program`](he_nn::CompiledModel::program), batch after batch.
    ///
    /// # Errors
    /// The errors of [`evaluate`](Self::evaluate) and of `record`.
    pub fn evaluate_recorded(
        self,
        key: KeyFile<Ckks>,
        bootstrap: Option<BootstrapFile>,
        device: Device,
        watch: &Arc<dyn Watch>,
        output: Output,
        record: &mut Record<'_>,
    ) -> Result<Written> {
        self.run(key, bootstrap, device, watch, output, Some(record))
    }

    fn run(
        mut self,
        key: KeyFile<Ckks>,
        bootstrap: Option<BootstrapFile>,
        device: Device,
        watch: &Arc<dyn Watch>,
        output: Output,
        record: Option<&mut Record<'_>>,
    ) -> Result<Written> {
        key.check_owner(&self.reader.params, &self.reader.payload.key_id, &self.reader.name)?;
        let steps = Steps::new(watch);
        let engine = self.model.engine(device.overseen(Arc::clone(&steps) as _))?;
        let keys = key.evaluation(&engine.ring)?;
        let writer = CipherWriter::new::<Ckks>(output, &engine.params, &self.payload)?;
        let model = self.model;
        let prepared = model.model.prepare(&engine.evaluator)?;
        let refreshes = Refreshes::load(model, bootstrap, &self.reader, &engine, &**watch)?;
        let run = |inputs: &[Ciphertext<Device>], masks: &[Mask], made: &mut MadeStep<'_>| {
            refreshes.infer(&prepared, &engine.evaluator, inputs, masks, &keys, made)
        };
        self.batches(&engine, writer, model.model.work()?, &steps, run, record)
    }

    /// The work that a device tells for each butterfly of the plan: that of a refresh, which the
    /// other steps are taken to have as well.
    fn told_per_butterfly(&self, inputs: &[Ciphertext<Device>]) -> Result<f64> {
        let refresh = self.model.model.work_of_refresh()?;
        match (self.model.bootstrapping(), refresh, inputs) {
            (Some(params), Some(butterflies), [input, ..]) => {
                let told = Refreshing::work(params, input)? as f64 / input.batch() as f64;
                Ok(told / butterflies)
            }
            _ => Ok(1.0),
        }
    }

    fn batches(
        &mut self,
        engine: &Engine<Ckks>,
        mut writer: CipherWriter,
        work: u64,
        steps: &Steps,
        run: impl Fn(&[Ciphertext<Device>], &[Mask], &mut MadeStep<'_>) -> Inferred,
        mut record: Option<&mut Record<'_>>,
    ) -> Result<Written> {
        let (batch, groups) = (self.note.batch as usize, self.note.groups());
        let decoder = self.reader.decoder();
        let (mut progress, mut reached) = (None, 0.0);
        for start in (0..groups).step_by(batch) {
            let count = batch.min(groups - start);
            let mut inputs = Vec::new();
            for _ in 0..self.note.parts {
                inputs.push(decoder.decode(&engine.ring, self.reader.frame()?, count)?);
            }
            if progress.is_none() {
                let rate = self.told_per_butterfly(&inputs)?;
                // The cast saturates.
                let total = (work as f64 * groups as f64 * rate) as u64;
                progress = Some((steps.begin(Stage::Computing, total), rate));
            }
            let mut failed = None;
            let mut made = |made: Made<'_, Device>| {
                if let Some((progress, rate)) = &progress {
                    // A batch takes as much longer as it has ciphertexts.
                    reached += made.work as f64 * count as f64 * rate;
                    progress.reach(reached as u64);
                }
                let Some(record) = &mut record else { return Ok(()) };
                record(made.value, &engine.params).map_err(|error| {
                    failed = Some(error);
                    he_nn::Error::Core(he_core::Error::Cancelled)
                })
            };
            let masks = self.note.masks.iter().skip(start).take(count);
            let masks: Vec<Mask> = masks.map(MaskNote::mask).collect();
            let outputs = run(&inputs, &masks, &mut made);
            if let Some(error) = failed {
                return Err(error);
            }
            for output in outputs? {
                writer.send(output.to_frame(&engine.params)?.seal())?;
            }
        }
        self.reader.end()?;
        progress.into_iter().for_each(|(progress, _)| progress.finish());
        writer.commit()
    }
}
