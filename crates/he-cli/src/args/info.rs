//! The options of `info`.

use super::Opening;
use clap::Args;
use std::path::PathBuf;

/// `info`.
#[derive(Debug, Args)]
pub struct Info {
    /// Any key or encrypted file, or - for standard input
    pub input: PathBuf,
    /// The secret key, to measure the noise budget of a file under bfv or bgv
    #[arg(short, long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    #[command(flatten)]
    pub opening: Opening,
}
