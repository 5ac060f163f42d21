//! The options of commands on models.

#[cfg(feature = "client")]
use super::ServerFlags;
use super::{CsvFlags, DeviceFlag};
use clap::Args;
use std::path::PathBuf;

/// `compile`.
#[derive(Debug, Args)]
pub struct Compile {
    /// The model, as ONNX
    pub model: PathBuf,
    /// Examples that are typical of the inputs: a CSV table, or a folder of pictures
    ///
    /// A row of the table is an example, flattened in the order of the model's inputs: for a
    /// sentence its ids, types and mask; a picture is one, black being 0 and white 1. They tell the
    /// range of every value inside the model.
    #[arg(long, value_name = "FILE")]
    pub calibrate: PathBuf,
    /// The output of the model to compute, by its name [default: the first]
    #[arg(long, value_name = "NAME")]
    pub output_name: Option<String>,
    /// The compiled model to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// A number for a dimension that the model calls by a name, such as the tokens of a sentence
    #[arg(long, value_name = "NAME=SIZE", value_parser = dimension)]
    pub dimension: Vec<(String, usize)>,
    /// Bits to which activations are approximated, of their greatest magnitude [default: 10]
    ///
    /// Encoders of sentences have no such choice, nor those of --margin and --batch.
    #[arg(long, value_name = "BITS")]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=30))]
    pub bits: Option<u32>,
    /// By which fraction values may exceed those that the examples show [default: 0.25]
    #[arg(long, value_name = "FRACTION", value_parser = margin)]
    pub margin: Option<f64>,
    /// How many examples come at once, so that values are arranged for the least time of them all
    ///
    /// Many examples of dense layers take a ciphertext for each number of an example, and are
    /// products of matrices; without this flag the numbers of an example share ciphertexts.
    #[arg(long, value_name = "EXAMPLES", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub batch: Option<u32>,
    #[command(flatten)]
    pub csv: CsvFlags,
    #[command(flatten)]
    pub device: DeviceFlag,
    /// Replace the output file if it exists
    #[arg(long)]
    pub force: bool,
}

/// A name and a number.
fn dimension(text: &str) -> Result<(String, usize), String> {
    let pair = text.split_once('=').and_then(|(name, size)| Some((name.to_owned(), size.parse().ok()?)));
    pair.filter(|(_, size)| *size > 0)
        .ok_or_else(|| "a name and a number, as in sequence_length=128".to_owned())
}

/// A fraction from 0 to 100.
fn margin(text: &str) -> Result<f64, String> {
    let found = text.parse().ok().filter(|margin| (0.0..=100.0).contains(margin));
    found.ok_or_else(|| "a number from 0 to 100".to_owned())
}

/// `infer`.
#[derive(Debug, Args)]
pub struct Infer {
    /// The examples that encrypt --model wrote
    pub input: PathBuf,
    /// The compiled model; with --server, its name there, or the only one
    #[arg(long, value_name = "FILE")]
    #[cfg_attr(feature = "client", arg(required_unless_present = "server"))]
    #[cfg_attr(not(feature = "client"), arg(required = true))]
    pub model: Option<PathBuf>,
    /// The evaluation key; no secret is needed
    #[arg(short, long, value_name = "FILE")]
    pub key: PathBuf,
    /// The bootstrapping key, for models that need one [default: bootstrap.key beside the
    /// evaluation key]
    #[arg(long, value_name = "FILE")]
    pub bootstrap_key: Option<PathBuf>,
    /// The encrypted outputs to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// A trace of the computation to write, for he-cli audit
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// A folder to keep all values between the steps in, so that an audit computes single steps
    #[arg(long, value_name = "FOLDER", requires = "record")]
    #[cfg_attr(feature = "client", arg(conflicts_with = "server"))]
    pub keep: Option<PathBuf>,
    #[command(flatten)]
    pub device: DeviceFlag,
    #[cfg(feature = "client")]
    #[command(flatten)]
    pub server: ServerFlags,
    /// The root of the trace to write, as the service has signed it
    #[cfg(feature = "client")]
    #[arg(help_heading = super::server::HEADING, long, value_name = "FILE")]
    #[arg(requires_all = ["server", "record"])]
    pub signed: Option<PathBuf>,
    /// Replace the output file if it exists
    #[arg(long)]
    pub force: bool,
}
