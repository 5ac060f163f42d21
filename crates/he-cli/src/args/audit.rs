//! The options of `audit` and `dispute`.

use clap::Args;
use std::path::PathBuf;

/// `audit`.
#[derive(Debug, Args)]
pub struct Audit {
    /// The trace that eval --record or infer --record wrote
    pub trace: PathBuf,
    /// The encrypted inputs, in the order in which the operation takes them
    #[arg(long = "input", value_name = "FILE", required = true, num_args = 1..)]
    pub inputs: Vec<PathBuf>,
    /// The evaluation key; for eval refresh the bootstrapping key
    #[arg(short, long, value_name = "FILE")]
    pub key: PathBuf,
    #[command(flatten)]
    pub of: OfInference,
    /// The encrypted result, to see whether it is the one of the trace
    #[arg(long, value_name = "FILE")]
    pub result: Option<PathBuf>,
    /// The number of operations to compute again, drawn at random
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 20)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub operations: u32,
    /// Compute all operations again
    #[arg(long, conflicts_with = "operations")]
    pub all: bool,
}

/// `dispute`.
#[derive(Debug, Args)]
pub struct Dispute {
    /// The trace of the first party
    pub first: PathBuf,
    /// The trace of the second party
    pub second: PathBuf,
    /// The encrypted inputs, to judge with; without them only the operation is found that the
    /// parties differ in
    #[arg(long = "input", value_name = "FILE", num_args = 1.., requires = "key")]
    pub inputs: Vec<PathBuf>,
    /// The evaluation key; for eval refresh the bootstrapping key
    #[arg(short, long, value_name = "FILE", requires = "inputs")]
    pub key: Option<PathBuf>,
    #[command(flatten)]
    pub of: OfInference,
}

/// The other files of an inference.
#[derive(Debug, Args)]
pub struct OfInference {
    /// The compiled model of an inference
    #[arg(long, value_name = "FILE")]
    pub model: Option<PathBuf>,
    /// The bootstrapping key, for models that need one [default: bootstrap.key beside the
    /// evaluation key]
    #[arg(long, value_name = "FILE")]
    pub bootstrap_key: Option<PathBuf>,
    /// The folder that infer --keep wrote; without it, all steps before a chosen one are computed
    #[arg(long, value_name = "FOLDER")]
    pub values: Option<PathBuf>,
}
