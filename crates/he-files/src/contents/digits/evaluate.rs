//! Computations on files of integers in digits.

use super::compute::Circuit;
use super::job::{Job, Operand};
use crate::bootstrap::keys::KeyFile as BootstrapFile;
use crate::chosen::Chosen;
use crate::cipher_file::{CipherReader, CipherWriter, Written};
use crate::contents::uses::{self, Uses};
use crate::error::{ContentError, Error, Result};
use crate::io::output::Output;
use crate::key_file::KeyFile;
use crate::note::{Content, DigitsNote, Payload};
use crate::scheme::{Ckks, Scheme};
use crate::watch::{CountedWork, Stage, Steps, Watch};
use he::Device;
use he_core::backend::Tally;
use he_core::bootstrapping::{BootstrapKeys, BootstrapParams, Bootstrapper};
use he_core::ckks::Ciphertext;
use he_core::rlwe::{EvaluationKeys, KeyRequirements, SecretKey};
use he_core::wire::Wire;
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use std::sync::Arc;

/// A computation on files that fit it and each other, with the keys.
pub struct Evaluation {
    job: Job,
    files: Vec<CipherReader<Ckks>>,
    key: KeyFile<Ckks>,
    bootstrap: BootstrapFile<BootstrapParams>,
    /// The integers of the operands.
    operands: DigitsNote,
    results: DigitsNote,
    payload: Payload,
}

impl Evaluation {
    /// Checks that the files fit the computation, and the keys the files.
    ///
    /// # Errors
    /// The files do not fit together, or a parameter does not fit them; the bootstrapping key is
    /// missing, or of another key set.
    pub fn new(
        job: Job,
        operation: &str,
        files: Vec<CipherReader<Ckks>>,
        key: KeyFile<Ckks>,
        bootstrap: Option<BootstrapFile>,
    ) -> Result<Self> {
        let first = files.first().ok_or(ContentError::Mismatch)?;
        let named = files.iter().map(Operand::of_file).collect::<Result<Vec<_>>>()?;
        let results = job.describe(&named, Ckks::slots(&first.params), operation)?;
        let missing = || Error::from(ContentError::NoBootstrapKey { name: first.name.clone() });
        let bootstrap = bootstrap.ok_or_else(missing)?.ckks(&first.name)?;
        bootstrap.check_owner(&first.params, &first.payload.key_id, &first.name)?;
        let payload = first.payload.after(operation, Content::Digits(results.clone()));
        let operands = named[usize::from(job == Job::Select)].note.clone();
        Ok(Self { job, files, key, bootstrap, operands, results, payload })
    }

    /// The frames that each frame of the result is made of.
    pub fn uses(&self) -> Uses {
        uses::each(self.results.columns.len() * self.vectors(), self.job.files())
    }

    /// The vectors of a column.
    fn vectors(&self) -> usize {
        self.operands.vectors(Ckks::slots(&self.files[0].params))
    }

    /// Loads the keys, and computes vector by vector.
    ///
    /// # Errors
    /// A file is damaged; keys are missing; a result would fail too often; the output cannot be
    /// written; the device fails.
    pub fn evaluate(
        self,
        device: Device,
        watch: &Arc<dyn Watch>,
        chosen: &Chosen,
        output: Output,
    ) -> Result<Written> {
        let (vectors, frames) = (self.vectors(), self.uses().len());
        let Self { job, mut files, key, bootstrap, operands, results, payload } = self;
        let boot = bootstrap.params.clone();
        let steps = Steps::new(watch);
        let ring = boot.ring(device.overseen(Arc::clone(&steps) as _))?;
        let bootstrapper = Bootstrapper::new(&boot, &ring)?;
        let mut writer = CipherWriter::new::<Ckks>(output, boot.params(), &payload)?;
        let (keys, program) = (bootstrap.keys(&ring, &**watch)?, key.evaluation(&ring)?);
        let circuit = Circuit { bootstrapper: &bootstrapper, keys: &keys, program: &program };
        let plan = Plan { job: &job, operands: &operands, results: &results };
        let (prepared, mut progress) = (circuit.prepare(&job, &operands, &results)?, None);
        for frame in 0..frames {
            let next = |file: &mut CipherReader<Ckks>| match chosen.has(frame) {
                true => file.next(&ring, digits(file)).map(Some),
                false => file.frame().map(|_| None),
            };
            let vectors_of = files.iter_mut().map(next).collect::<Result<Option<Vec<_>>>>()?;
            let Some(vectors_of) = vectors_of else { continue };
            let rows = rows_of(&plan, frame % vectors, boot.slots());
            if progress.is_none() {
                let work = plan.work(&boot, &program, &vectors_of, rows)?;
                progress = Some(steps.begin(Stage::Computing, work * frames as u64));
            }
            writer.send(prepared.of(vectors_of, rows)?.to_frame(boot.params())?.seal())?;
        }
        files.iter_mut().try_for_each(CipherReader::end)?;
        progress.into_iter().for_each(CountedWork::finish);
        writer.commit()
    }
}

/// The rows in a vector of a column.
fn rows_of(plan: &Plan<'_>, vector: usize, slots: usize) -> usize {
    (plan.operands.rows as usize - vector * slots).min(slots)
}

/// The ciphertexts in a frame of a file.
fn digits(reader: &CipherReader<Ckks>) -> usize {
    reader.payload.content.batch()
}

/// A computation without its files.
struct Plan<'a> {
    job: &'a Job,
    operands: &'a DigitsNote,
    results: &'a DigitsNote,
}

impl Plan<'_> {
    /// The work for one vector of each file, as devices tell of it.
    fn work(
        &self,
        boot: &BootstrapParams,
        program: &EvaluationKeys<Device>,
        operands: &[Ciphertext<Device>],
        rows: usize,
    ) -> he_core::Result<u64> {
        let tally = Tally::default();
        let ring = boot.ring(tally.clone())?;
        // Words of no key are of use here, only that it is there.
        let mut rng = ChaCha20Rng::seed_from_u64(0);
        let secret = SecretKey::generate(boot.params().rlwe(), &mut rng);
        let needs = KeyRequirements::new().relinearisation();
        let needs = needs.elements(program.galois_keys().map(|(element, _)| element));
        let mut program = EvaluationKeys::generate(&secret, &ring, needs, &mut rng)?;
        program.set_key_set(None);
        let (bootstrapper, keys) = (Bootstrapper::new(boot, &ring)?, BootstrapKeys::hollow(boot, &ring)?);
        let circuit = Circuit { bootstrapper: &bootstrapper, keys: &keys, program: &program };
        let foreign = |ct: &Ciphertext<Device>| {
            let mut ct = ct.to(&ring)?;
            ct.set_key_set(None);
            Ok(ct)
        };
        let operands = operands.iter().map(foreign).collect::<he_core::Result<Vec<_>>>()?;
        let prepared = circuit.prepare(self.job, self.operands, self.results)?;
        let before = tally.work();
        prepared.of(operands, rows)?;
        Ok(tally.work() - before)
    }
}
