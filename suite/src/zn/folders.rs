//! The folders of the harness, below the current one.

use crate::error::Error;
use crate::keys::KeyFiles;
use std::path::{Path, PathBuf};

/// The folders of one size.
#[derive(Debug)]
pub(super) struct Folders(String);

impl Folders {
    /// The folders of a size, whose name is one part of a path.
    pub(super) fn new(size: &str) -> Result<Self, Error> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if size.is_empty() || !size.chars().all(plain) {
            return Err(Error::Arguments {
                stage: format!("a stage for size {size:?}"),
                needed: super::SIZE,
            });
        }
        Ok(Self(size.into()))
    }

    /// The name of the size.
    pub(super) fn size(&self) -> &str {
        &self.0
    }

    /// Where clients and servers leave files for one another.
    pub(super) fn io(&self) -> PathBuf {
        Path::new("io").join(&self.0)
    }

    /// The numbers of one side: `lhs` or `rhs`.
    pub(super) fn numbers(&self, side: &str) -> PathBuf {
        Path::new("datasets").join(&self.0).join(side).with_extension("txt")
    }

    /// The secret key, and the relinearisation key of the server.
    pub(super) fn keys(&self) -> KeyFiles {
        let [secret, evaluation] =
            ["secret_key/secret_key.he", "public_keys/evaluation_key.he"].map(|name| self.io().join(name));
        KeyFiles { secret, evaluation }
    }

    /// All pairs of the client.
    pub(super) fn operands(&self) -> PathBuf {
        self.io().join("ciphertexts_upload/operands.he")
    }

    /// All products of the server.
    pub(super) fn products(&self) -> PathBuf {
        self.io().join("ciphertexts_download/products.he")
    }

    /// The products in decimal, which the harness verifies.
    pub(super) fn decrypted(&self) -> PathBuf {
        self.io().join("cleartext_output/out.txt")
    }

    /// The socket of the resident server.
    pub(super) fn socket(&self) -> PathBuf {
        self.io().join("server.sock")
    }
}
