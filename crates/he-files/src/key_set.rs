//! Key sets: made, and written into their three files.

use crate::bootstrap;
use crate::error::{IoContext, Result};
use crate::io::output::{Output, OutputOptions};
use crate::key_file::write_key;
use crate::note::KeyId;
use crate::passphrase::{self, Passphrase};
use crate::scheme::engine::Engine;
use crate::scheme::{Ckks, KeyMaker, OfKeySet, Rotations, Scheme};
use he_core::ckks::CkksParams;
use he_core::rlwe::SecretKey;
use he_core::wire::{Wire, WireKeys};
use rand::rngs::ChaCha20Rng;
use std::io::Write;
use std::path::Path;
use zeroize::Zeroizing;

/// The three keys of a key set.
pub struct KeySet<S: Scheme> {
    /// What marks files of this set.
    pub id: KeyId,
    /// For decryption.
    pub secret: S::Secret,
    /// For encryption.
    pub public: S::Public,
    /// For evaluation.
    pub evaluation: S::Evaluation,
}

impl<S: Scheme> KeySet<S> {
    /// Generates all keys.
    ///
    /// # Errors
    /// The device fails.
    pub fn generate(engine: &Engine<S>, rotations: &Rotations, rng: &mut ChaCha20Rng) -> Result<Self> {
        let secret = S::secret(&engine.params, rng);
        let public = secret.public(&engine.ring, rng)?;
        let evaluation = secret.evaluation(&engine.ring, rotations, rng)?;
        let id = KeyId::random(rng);
        let (secret, public, evaluation) = (secret.of(&id), public.of(&id), evaluation.of(&id));
        Ok(Self { id, secret, public, evaluation })
    }
}

/// The files of a key set, begun but not yet named.
pub struct KeyFiles {
    secret: Output,
    public: Output,
    evaluation: Output,
    bootstrap: Option<Output>,
}

/// Their names.
pub const KEY_NAMES: [&str; 3] = ["secret.key", "public.key", "eval.key"];

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
        let sizes = self.fill(keys, params, passphrase)?;
        self.commit()?;
        Ok(sizes)
    }

    /// The same with the file of bootstrapping keys, into which `make` writes them when the others
    /// have been written and dropped; it returns their bytes.
    ///
    /// # Errors
    /// They cannot be written; the errors of `make`.
    pub fn write_with_bootstrapping(
        mut self,
        keys: KeySet<Ckks>,
        params: &CkksParams,
        passphrase: Option<&Passphrase>,
        make: impl FnOnce(&SecretKey, &KeyId, &mut Output) -> Result<u64>,
    ) -> Result<[u64; 4]> {
        let [secret, public, evaluation] = self.fill(&keys, params, passphrase)?;
        let KeySet { id, secret: key, .. } = keys;
        let bootstrap = self.bootstrap.as_mut().map(|out| make(&key, &id, out)).transpose()?.unwrap_or(0);
        self.commit()?;
        Ok([secret, public, evaluation, bootstrap])
    }

    fn commit(self) -> Result<()> {
        Output::commit_all([self.secret, self.public, self.evaluation].into_iter().chain(self.bootstrap))
    }

    fn fill<S: Scheme>(
        &mut self,
        keys: &KeySet<S>,
        params: &S::Params,
        passphrase: Option<&Passphrase>,
    ) -> Result<[u64; 3]> {
        let (id, name) = (&keys.id, self.secret.name());
        // The buffer has its full size from the start, because growing would leave copies of the
        // secret behind.
        let mut plain = Wiped::with_capacity(S::ring(params).n() + (1 << 16));
        write_key::<S>(&mut plain, params, id, [keys.secret.to_frame(params)], &name)?;
        let secret = sealed(plain, passphrase)?;
        self.secret.write_all(&secret).writing(&name)?;

        let name = self.public.name();
        let frame = keys.public.to_frame(params);
        let public = write_key::<S>(&mut self.public, params, id, [frame], &name)?;

        let name = self.evaluation.name();
        let frames = keys.evaluation.to_frames(params);
        let evaluation = write_key::<S>(&mut self.evaluation, params, id, frames, &name)?;
        Ok([secret.len() as u64, public, evaluation])
    }
}

/// A wiped vector to write into.
pub struct Wiped(Zeroizing<Vec<u8>>);

impl Wiped {
    /// With room for so many bytes: within it no growing leaves copies of a secret behind.
    pub fn with_capacity(bytes: usize) -> Self {
        Self(Zeroizing::new(Vec::with_capacity(bytes)))
    }
}

impl Write for Wiped {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A key file as it is written: sealed, if there is a passphrase.
///
/// # Errors
/// There are no random bytes, or too little memory for Argon2id.
pub fn sealed(plain: Wiped, passphrase: Option<&Passphrase>) -> Result<Zeroizing<Vec<u8>>> {
    match passphrase {
        Some(passphrase) => Ok(Zeroizing::new(passphrase::seal(&plain.0, passphrase)?)),
        None => Ok(plain.0),
    }
}
