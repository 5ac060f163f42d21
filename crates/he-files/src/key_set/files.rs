//! The files of a key set.

use super::{KEY_NAMES, KeySet, secret_file};
use crate::bootstrap;
use crate::error::{IoContext, Result};
use crate::io::output::{Output, OutputOptions};
use crate::key_file::write_key;
use crate::note::KeyId;
use crate::passphrase::Passphrase;
use crate::scheme::Scheme;
use he_core::rlwe::SecretKey;
use he_core::wire::{Wire, WireKeys};
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
        let sizes = self.fill(keys, params, passphrase)?;
        self.commit()?;
        Ok(sizes)
    }

    /// Writes the files with that of bootstrapping keys, into which `make` writes them when the
    /// others have been written and dropped; it returns their bytes.
    ///
    /// # Errors
    /// They cannot be written; the errors of `make`.
    pub fn write_with_bootstrapping<S: Scheme<Secret = SecretKey>>(
        mut self,
        keys: KeySet<S>,
        params: &S::Params,
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
        let secret = secret_file::<S>(&keys.secret, params, id, passphrase, &name)?;
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
