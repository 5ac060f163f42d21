//! The secrets that encrypt, decrypt and seal: keys and passphrases.

use crate::error::Result;
use crate::passphrase;
use clap::Args;
use he_core::aes::container::Cost;
use he_files::passphrase::{Passphrase, Passphrases, Purpose};
use std::path::PathBuf;

/// The source of the passphrase that protects a secret key.
#[derive(Clone, Debug, Default, Args)]
pub struct PassphraseFile {
    /// Read the passphrase from the first line of FILE
    ///
    /// Without it, the passphrase is taken from the variable HE_CLI_PASSPHRASE, or requested at the
    /// terminal.
    #[arg(long, value_name = "FILE")]
    pub passphrase_file: Option<PathBuf>,
}

/// The options of opening a file that a passphrase may have sealed.
#[derive(Clone, Debug, Default, Args)]
pub struct Opening {
    #[command(flatten)]
    pub file: PassphraseFile,
    /// Open files however much memory and time they ask for to stretch the passphrase
    ///
    /// Without it, up to 256 MiB in 3 passes, four times the cost of new files. With it, up to 1
    /// GiB in 16 passes, about a minute.
    #[arg(long, hide_short_help = true)]
    pub allow_cost: bool,
}

impl Passphrases for Opening {
    fn obtain(&self, purpose: Purpose, what: &str) -> he_files::Result<Passphrase> {
        let passphrase = passphrase::obtain(self.file.passphrase_file.as_deref(), purpose, what)?;
        Ok(if self.allow_cost { passphrase.allowing(Cost::MAX) } else { passphrase })
    }
}

impl Opening {
    /// Whether there is a passphrase without asking for it.
    pub fn is_given(&self) -> bool {
        self.file.passphrase_file.is_some() || passphrase::is_in_environment()
    }
}

/// Whether a passphrase protects a new key.
#[derive(Clone, Debug, Args)]
pub struct SealFlags {
    /// Protect the secret key with a passphrase
    #[arg(long)]
    pub passphrase: bool,
    #[command(flatten)]
    pub passphrase_file: PassphraseFile,
}

impl SealFlags {
    /// The passphrase to seal `name` with, if it is to be sealed.
    ///
    /// # Errors
    /// The passphrase cannot be read, or it is empty or too long.
    pub fn obtain(&self, name: &str) -> Result<Option<Passphrase>> {
        let file = self.passphrase_file.passphrase_file.as_deref();
        (self.passphrase || file.is_some()).then(|| passphrase::obtain(file, Purpose::Seal, name)).transpose()
    }
}

/// The secret that encrypts or decrypts: a key, or a passphrase.
#[derive(Clone, Debug, Args)]
pub struct Unlock {
    /// The key; to decrypt, the secret key
    ///
    /// In a key set, public.key and secret.key encrypt, and secret.key decrypts. An AES key
    /// encrypts and decrypts. One of --key, --passphrase and --passphrase-file is needed.
    #[arg(short, long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// Use a passphrase instead of a key, for files under AES
    #[arg(long, conflicts_with = "key")]
    pub passphrase: bool,
    #[command(flatten)]
    pub opening: Opening,
}

impl Unlock {
    /// Whether neither a key nor a passphrase is named.
    pub fn is_missing(&self) -> bool {
        self.key.is_none() && !self.passphrase && self.opening.file.passphrase_file.is_none()
    }
}
