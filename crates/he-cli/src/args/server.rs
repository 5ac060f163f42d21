//! The service that computes in place of this machine.

use clap::Args;
use std::path::PathBuf;

/// The heading of these options. Each names it, because one for all would be that of the options of
/// an operation as well.
pub(super) const HEADING: &str = "Computing on a service";

/// The service to compute on, instead of here.
#[derive(Clone, Debug, Default, Args)]
pub struct ServerFlags {
    /// Compute on the service at URL, which he-cli serve starts, instead of here
    ///
    /// The encrypted file and the evaluation key are sent there, and the result comes back. Secret
    /// keys are never sent.
    #[arg(help_heading = HEADING, long, value_name = "URL")]
    pub server: Option<String>,
    /// Read the token for the service from the first line of FILE
    ///
    /// Without it, the token is taken from the variable HE_TOKEN; without that, you are a guest, if
    /// the service takes guests.
    #[arg(help_heading = HEADING, long, value_name = "FILE", requires = "server")]
    pub token_file: Option<PathBuf>,
    /// Trust the certificate authorities in FILE (PEM) instead of the usual ones
    ///
    /// A service whose own certificate is in FILE is trusted as well, as openssl req -x509 makes
    /// one.
    #[arg(help_heading = HEADING, long, value_name = "FILE", requires = "server")]
    pub ca_file: Option<PathBuf>,
}
