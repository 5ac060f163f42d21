//! The service that computes in place of this machine.

use clap::Args;
use std::path::PathBuf;

/// Where to compute, if not here.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Computing on a service")]
pub struct ServerFlags {
    /// Compute on the service at URL, which he-cli serve starts, instead of here
    ///
    /// The encrypted file and the evaluation key are sent there, and the result comes back. Secret
    /// keys are never sent.
    #[arg(long, value_name = "URL")]
    pub server: Option<String>,
    /// Read the token for the service from the first line of FILE
    ///
    /// Without it, the token is taken from the variable HE_TOKEN; without that, you are a guest, if
    /// the service takes guests.
    #[arg(long, value_name = "FILE", requires = "server")]
    pub token_file: Option<PathBuf>,
    /// Trust the certificate authorities in FILE (PEM) instead of the usual ones
    #[arg(long, value_name = "FILE", requires = "server")]
    pub ca_file: Option<PathBuf>,
}
