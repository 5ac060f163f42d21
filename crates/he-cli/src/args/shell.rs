//! The options of `completions` and `man`, which shells and `man` use.

use clap::Args;
use std::path::PathBuf;

/// `completions`.
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// `man`.
#[derive(Debug, Args)]
pub struct Man {
    /// Folder for the pages, created if it does not exist
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
    /// Replace existing pages
    #[arg(long)]
    pub force: bool,
}
