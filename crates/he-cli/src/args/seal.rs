//! The options of `seal`.

use super::{DeviceFlag, OutputFile};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `seal`.
#[derive(Debug, Args)]
pub struct Seal {
    /// Direction of the exchange
    #[command(subcommand)]
    pub step: SealStep,
}

/// The steps of an exchange with SEAL.
#[derive(Debug, Subcommand)]
pub enum SealStep {
    /// Make key files of the keys that a client of SEAL saved
    #[command(after_help = "Example:\n  \
        he-cli seal keys parms.seal --public-key public.seal --relin-keys relin.seal -o client/")]
    Keys(SealKeys),
    /// Make an encrypted table of a ciphertext that a client of SEAL saved
    ///
    /// It has one column, and the slots of this program as rows, which SEAL numbers otherwise:
    /// compute row by row, or over all rows. The values keep their order on the way back.
    #[command(after_help = "Example:\n  \
        he-cli seal import query.seal -k client/public.key --bound 100 -o query.he")]
    Import(SealImport),
    /// Make a file that SEAL loads of an encrypted file of one ciphertext
    #[command(after_help = "Example:\n  he-cli seal export answer.he -o answer.seal")]
    Export(SealExport),
}

/// `seal keys`.
#[derive(Debug, Args)]
pub struct SealKeys {
    /// File of EncryptionParameters, of CKKS or BFV
    pub parameters: PathBuf,
    /// File of a PublicKey
    #[arg(long, value_name = "FILE")]
    pub public_key: PathBuf,
    /// File of RelinKeys, for products
    #[arg(long, value_name = "FILE")]
    pub relin_keys: Option<PathBuf>,
    /// log2 of the scale of CKKS [default: the width of the second prime]
    #[arg(long, value_name = "BITS")]
    pub scale_bits: Option<f64>,
    /// Folder of the key files, created if it does not exist
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
    /// Replace key files that exist
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub device: DeviceFlag,
}

/// `seal import`.
#[derive(Debug, Args)]
pub struct SealImport {
    /// File of a Ciphertext
    pub input: PathBuf,
    /// A key file that seal keys wrote
    #[arg(short, long, value_name = "FILE")]
    pub key: PathBuf,
    /// Largest magnitude of the values
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub bound: u64,
    #[command(flatten)]
    pub to: OutputFile,
    #[command(flatten)]
    pub device: DeviceFlag,
}

/// `seal export`.
#[derive(Debug, Args)]
pub struct SealExport {
    /// Encrypted file of one ciphertext, or - for standard input
    pub input: PathBuf,
    #[command(flatten)]
    pub to: OutputFile,
    #[command(flatten)]
    pub device: DeviceFlag,
}
