//! The files of a key set.

use super::{KEY_NAMES, KeySet, secret_file};
use crate::bootstrap::{self, Refreshing};
use crate::error::{IoContext, Result};
use crate::io::output::{Output, OutputOptions};
use crate::key_file::write_key;
use crate::note::KeyId;
use crate::passphrase::Passphrase;
use crate::scheme::engine::Engine;
use crate::scheme::{KeyMaker, Rotations, Scheme};
use crate::watch::{Meter, Stage, Watch};
use he_core::rlwe::RlweParams;
use he_core::wire::{Wire, WireKeys};
use rand::rngs::ChaCha20Rng;
use std::io::Write;
use std::path::Path;

/// The files of a key set, begun but not yet named.
pub struct KeyFiles {
    secret: Output,
    public: Output,
    evaluation: Output,
    bootstrap: Option<Output>,
}

impl KeyFiles {
    /// Begins the three files.
    ///
    /// # Errors
    /// They exist, or cannot be written.
    pub fn create(folder: &Path, force: bool) -> Result<Self> {
        let [secret, public, evaluation] = KEY_NAMES.map(|name| {
            let options = OutputOptions { force, secret: name == KEY_NAMES[0], ..OutputOptions::default() };
            Output::create(folder.join(name), options, &[])
        });
        Ok(Self { secret: secret?, public: public?, evaluation: evaluation?, bootstrap: None })
    }

    /// Begins a file of bootstrapping keys beside them.
    ///
    /// # Errors
    /// It exists, or cannot be written.
    pub fn with_bootstrapping(self, folder: &Path, force: bool) -> Result<Self> {
        let options = OutputOptions { force, ..OutputOptions::default() };
        let bootstrap = Output::create(folder.join(bootstrap::KEY_NAME), options, &[])?;
        Ok(Self { bootstrap: Some(bootstrap), ..self })
    }

    /// Writes and names them: all, or none. Returns their bytes.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn write<S: Scheme>(
        mut self,
        keys: &KeySet<S>,
        params: &S::Params,
        passphrase: Option<&Passphrase>,
    ) -> Result<[u64; 3]> {
        let sizes = self.fill(keys, params, passphrase, || {})?;
        self.commit()?;
        Ok(sizes)
    }

    /// Generates a key set, and writes and names its files: all, or none. Returns the mark of the
    /// set and the bytes of the files.
    ///
    /// # Errors
    /// They cannot be written; the device fails.
    pub fn generate<S: Scheme>(
        mut self,
        engine: &Engine<S>,
        rotations: &Rotations,
        passphrase: Option<&Passphrase>,
        rng: &mut ChaCha20Rng,
        watch: &dyn Watch,
    ) -> Result<(KeyId, [u64; 3])> {
        // A key takes about as long to write as to make.
        let meter = Meter::new(watch, Stage::GeneratingKeys, 2 * parts(engine, rotations));
        let keys = KeySet::generate_told(engine, rotations, rng, || meter.inc(1))?;
        let sizes = self.fill(&keys, &engine.params, passphrase, || meter.inc(1))?;
        self.commit()?;
        meter.finish();
        Ok((keys.id, sizes))
    }

    /// Generates a key set for programs, and with it the keys of bootstrapping, which are written
    /// as they are made, when the others have been written and dropped.
    ///
    /// # Errors
    /// They cannot be written; the device fails.
    pub fn generate_with_bootstrapping<P: Refreshing>(
        mut self,
        boot: &P,
        engine: &Engine<P::Scheme>,
        rotations: &Rotations,
        passphrase: Option<&Passphrase>,
        rng: &mut ChaCha20Rng,
        watch: &dyn Watch,
    ) -> Result<(KeyId, [u64; 4])> {
        let circuit = boot.circuit();
        // Keys are of many sizes: the steps are bytes in memory, two for each that is made and
        // written, and two for each that is made and written at once.
        let [own, all] = [key_bytes(circuit.params().rlwe()), circuit.key_bytes()? as u64];
        let total = 2 * (parts(engine, rotations) * own + all);
        let meter = Meter::new(watch, Stage::GeneratingKeys, total);
        let keys = KeySet::generate_told(engine, rotations, rng, || meter.inc(own))?;
        let [own_bytes @ .., evaluation_bytes] =
            self.fill(&keys, &engine.params, passphrase, || meter.inc(own))?;
        let KeySet { id, secret, public, evaluation } = keys;
        drop((public, evaluation));
        let told = |bytes| meter.inc(2 * bytes);
        let device = engine.ring.backend().clone();
        let bootstrap_bytes = match &mut self.bootstrap {
            Some(out) => bootstrap::keys::generate(&secret, &id, boot, device, rng, told, out)?,
            None => 0,
        };
        self.commit()?;
        meter.finish();
        let [secret_bytes, public_bytes] = own_bytes;
        Ok((id, [secret_bytes, public_bytes, evaluation_bytes, bootstrap_bytes]))
    }

    fn commit(self) -> Result<()> {
        Output::commit_all([self.secret, self.public, self.evaluation].into_iter().chain(self.bootstrap))
    }

    fn fill<S: Scheme>(
        &mut self,
        keys: &KeySet<S>,
        params: &S::Params,
        passphrase: Option<&Passphrase>,
        wrote: impl Fn(),
    ) -> Result<[u64; 3]> {
        let (id, name) = (&keys.id, self.secret.name());
        let secret = secret_file::<S>(&keys.secret, params, id, passphrase, &name)?;
        self.secret.write_all(&secret).writing(&name)?;

        let name = self.public.name();
        let frame = keys.public.to_frame(params);
        let public = write_key::<S>(&mut self.public, params, id, [frame], &name)?;

        let name = self.evaluation.name();
        // The next frame is asked for when the one before has been written.
        let told = keys.evaluation.to_frames(params).enumerate().inspect(|&(at, _)| {
            if at > 0 {
                wrote();
            }
        });
        let frames = told.map(|(_, frame)| frame);
        let evaluation = write_key::<S>(&mut self.evaluation, params, id, frames, &name)?;
        wrote();
        Ok([secret.len() as u64, public, evaluation])
    }
}

/// The evaluation keys for these rotations.
fn parts<S: Scheme>(engine: &Engine<S>, rotations: &Rotations) -> u64 {
    S::Secret::evaluation_parts(&engine.ring, rotations).len() as u64
}

/// The bytes of an evaluation key in memory.
fn key_bytes(rlwe: &RlweParams) -> u64 {
    let ring = rlwe.ring();
    let primes = ring.q().len() + ring.p().len();
    (2 * rlwe.digits().len() * primes * ring.n() * size_of::<u64>()) as u64
}
