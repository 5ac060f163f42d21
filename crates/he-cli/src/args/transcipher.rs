//! The options of `transcipher`.

use super::DeviceFlag;
use clap::Args;
use std::path::PathBuf;

/// `transcipher`.
#[derive(Debug, Args)]
pub struct Transcipher {
    /// The sensor file, or - for standard input
    ///
    /// encrypt writes it with a key of keygen aes --transcipher. Nothing authenticates it: take it
    /// from a channel that does.
    pub input: PathBuf,
    /// The encrypted key of the sensor, which encrypt --transcipher wrote
    #[arg(long, value_name = "FILE")]
    pub sensor_key: PathBuf,
    /// The evaluation key: eval.key of keygen tfhe --transcipher
    #[arg(short, long, value_name = "FILE")]
    pub key: PathBuf,
    /// The encrypted table or image to write, or - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub device: DeviceFlag,
    /// Replace the output file if it exists
    #[arg(long)]
    pub force: bool,
}
