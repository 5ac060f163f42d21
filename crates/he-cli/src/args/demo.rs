//! The options of `demo`.

use super::{DeviceFlag, Needs};
use clap::Args;
use std::path::PathBuf;

/// `demo`.
#[derive(Debug, Args)]
pub struct Demo {
    /// The image
    pub input: PathBuf,
    /// Folder for the keys and results, created if it does not exist
    #[arg(short, long, value_name = "FOLDER", default_value = "out")]
    pub output: PathBuf,
    #[command(flatten)]
    pub needs: Needs,
    #[command(flatten)]
    pub device: DeviceFlag,
    /// Replace files in the folder even if they are not from an earlier demo
    #[arg(long)]
    pub force: bool,
}
