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

    /// The pixels of all images.
    pub(super) fn pixels(&self) -> PathBuf {
        Path::new("datasets").join(self.0).join("intermediate/test_pixels.txt")
    }

    /// The secret key, and the keys of the server.
    pub(super) fn keys(&self) -> KeyFiles {
        let [secret, evaluation] =
            ["secret_key/secret_key.he", "public_keys/evaluation_keys.he"].map(|name| self.io().join(name));
        KeyFiles { secret, evaluation }
    }

    /// The encrypted images.
    pub(super) fn images(&self) -> PathBuf {
        self.io().join("ciphertexts_upload/images.he")
    }

    /// The encrypted scores.
    pub(super) fn scores(&self) -> PathBuf {
        self.io().join("ciphertexts_download/scores.he")
    }

    /// The labels, which the harness compares.
    pub(super) fn labels(&self) -> PathBuf {
        self.io().join("encrypted_model_predictions.txt")
    }

    /// The socket of the resident server.
    pub(super) fn socket(&self) -> PathBuf {
        self.io().join("server.sock")
    }
}
