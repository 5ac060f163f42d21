//! The folders of the harness, below the current one.

use crate::keys::KeyFiles;
use std::path::{Path, PathBuf};

/// The folders of one size.
#[derive(Debug)]
pub(super) struct Folders(&'static str);

impl Folders {
    /// The folders of a size by its name.
    pub(super) fn new(size: &'static str) -> Self {
        Self(size)
    }

    /// Where clients and servers leave files for one another.
    pub(super) fn io(&self) -> PathBuf {
        Path::new("io").join(self.0)
    }

    /// A file of the harness: `db.bin`, `payloads.bin` or `query.bin`.
    pub(super) fn data(&self, name: &str) -> PathBuf {
        Path::new("datasets").join(self.0).join(name)
    }

    /// The secret key, and the keys of the server.
    pub(super) fn keys(&self) -> KeyFiles {
        let [secret, evaluation] =
            ["secret_key/secret_key.he", "keys/evaluation_keys.he"].map(|name| self.io().join(name));
        KeyFiles { secret, evaluation }
    }

    /// All encrypted records.
    pub(super) fn database(&self) -> PathBuf {
        self.io().join("ciphertexts_upload/database.he")
    }

    /// The encrypted query.
    pub(super) fn query(&self) -> PathBuf {
        self.io().join("ciphertexts_upload/query.bin")
    }

    /// The encrypted answer.
    pub(super) fn answer(&self) -> PathBuf {
        self.io().join("ciphertexts_download/results.bin")
    }

    /// The count or the payloads, which the harness verifies.
    pub(super) fn results(&self) -> PathBuf {
        self.io().join("results.bin")
    }

    /// The socket of the resident server.
    pub(super) fn socket(&self) -> PathBuf {
        self.io().join("server.sock")
    }
}
