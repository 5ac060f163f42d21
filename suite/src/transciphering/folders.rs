//! The folders of the harness, below the current one.

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

    /// A file of the harness: `db.hex`, `aes_key.hex` or `aes_iv.hex`.
    pub(super) fn data(&self, name: &str) -> PathBuf {
        Path::new("datasets").join(self.0).join(name)
    }

    /// The secret key of TFHE.
    pub(super) fn secret(&self) -> PathBuf {
        self.io().join("secret_key/secret_key.he")
    }

    /// The keys of bootstrapping and of circuit bootstrapping.
    pub(super) fn evaluation(&self) -> PathBuf {
        self.io().join("public_keys/evaluation_keys.he")
    }

    /// The AES key under TFHE.
    pub(super) fn aes_key(&self) -> PathBuf {
        self.io().join("ciphertexts_upload/aes_key.he")
    }

    /// The message under AES, with its counter in front if it has one.
    pub(super) fn message(&self) -> PathBuf {
        self.io().join("ciphertexts_upload/message.aes")
    }

    /// The numbers under TFHE.
    pub(super) fn numbers(&self) -> PathBuf {
        self.io().join("ciphertext_aes_download/numbers.he")
    }

    /// The result under TFHE.
    pub(super) fn result(&self) -> PathBuf {
        self.io().join("ciphertexts_download/result.he")
    }

    /// The numbers, which the harness verifies.
    pub(super) fn decrypted_numbers(&self) -> PathBuf {
        self.io().join("result_aes.txt")
    }

    /// The result, which the harness verifies.
    pub(super) fn decrypted_result(&self) -> PathBuf {
        self.io().join("result.txt")
    }

    /// The socket of the resident server.
    pub(super) fn socket(&self) -> PathBuf {
        self.io().join("server.sock")
    }
}
