//! Key sets: made, and written into their three files.

#[cfg(not(target_family = "wasm"))]
mod files;

use crate::error::Result;
use crate::key_file::write_key;
use crate::note::KeyId;
use crate::passphrase::{self, Passphrase};
use crate::scheme::engine::Engine;
use crate::scheme::{KeyMaker, OfKeySet, Rotations, Scheme};
use crate::watch::{Meter, Stage, Watch};
use he_core::wire::{Wire, WireKeys as _};
use rand::rngs::ChaCha20Rng;
use std::io::Write;
use zeroize::Zeroizing;

#[cfg(not(target_family = "wasm"))]
pub use files::KeyFiles;

/// The three keys of a key set.
pub struct KeySet<S: Scheme> {
    /// The mark of files of this set.
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
        Self::generate_watched(engine, rotations, rng, &())
    }

    /// Generates all keys, the same, and tells of the evaluation keys one by one.
    ///
    /// # Errors
    /// The device fails.
    pub fn generate_watched(
        engine: &Engine<S>,
        rotations: &Rotations,
        rng: &mut ChaCha20Rng,
        watch: &dyn Watch,
    ) -> Result<Self> {
        let parts = S::Secret::evaluation_parts(&engine.ring, rotations).len();
        let meter = Meter::new(watch, Stage::GeneratingKeys, parts as u64);
        let keys = Self::generate_told(engine, rotations, rng, || meter.inc(1))?;
        meter.finish();
        Ok(keys)
    }

    /// Generates all keys, the same, with a call after each evaluation key.
    fn generate_told(
        engine: &Engine<S>,
        rotations: &Rotations,
        rng: &mut ChaCha20Rng,
        mut made: impl FnMut(),
    ) -> Result<Self> {
        let Engine { params, ring, .. } = engine;
        let secret = S::secret(params, rng);
        let public = secret.public(ring, rng)?;
        let mut evaluation = S::Evaluation::empty(params, ring)?;
        for part in S::Secret::evaluation_parts(ring, rotations) {
            secret.add_part(&mut evaluation, part, rng)?;
            made();
        }
        let id = KeyId::random(rng);
        let (secret, public, evaluation) = (secret.of(&id), public.of(&id), evaluation.of(&id));
        Ok(Self { id, secret, public, evaluation })
    }
}

/// The names of their files.
pub const KEY_NAMES: [&str; 3] = ["secret.key", "public.key", "eval.key"];

/// The file of a secret key, sealed if there is a passphrase. Errors call it `name`.
///
/// # Errors
/// There are no random bytes, or too little memory for Argon2id.
pub fn secret_file<S: Scheme>(
    secret: &S::Secret,
    params: &S::Params,
    id: &KeyId,
    passphrase: Option<&Passphrase>,
    name: &str,
) -> Result<Zeroizing<Vec<u8>>> {
    // The buffer has its full size from the start, because growing would leave copies of the secret
    // behind.
    let mut plain = Wiped::with_capacity(S::ring(params).n() + (1 << 16));
    write_key::<S>(&mut plain, params, id, [secret.to_frame(params)], name)?;
    sealed(plain, passphrase)
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
