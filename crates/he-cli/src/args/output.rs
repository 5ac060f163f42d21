//! The file that a step writes.

use clap::Args;
use std::path::PathBuf;

/// The file that a step writes.
#[derive(Debug, Args)]
pub struct OutputFile {
    /// The file to write, or - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Replace the output file if it exists
    #[arg(long)]
    pub force: bool,
}
