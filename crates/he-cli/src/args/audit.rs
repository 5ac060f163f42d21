//! The options of `audit`, `dispute` and `trace`.

use super::device::DeviceFlag;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `audit`.
#[derive(Debug, Args)]
pub struct Audit {
    /// The trace that eval --record or infer --record wrote, or some operations of it that trace
    /// open wrote
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
    /// The places of the operations to compute again, which you have drawn yourself
    #[arg(long, value_name = "PLACE,...", value_delimiter = ',', conflicts_with = "operations")]
    pub these: Vec<u32>,
    /// Compute all operations again
    #[arg(long, conflicts_with_all = ["operations", "these"])]
    pub all: bool,
    /// The signed root, to see that whoever computed is bound to it
    #[arg(long, value_name = "FILE", requires = "signer")]
    pub signed: Option<PathBuf>,
    /// The public key of whoever computed: verifying.pem
    #[arg(long, value_name = "FILE", requires = "signed")]
    pub signer: Option<PathBuf>,
}

/// `trace`.
#[derive(Debug, Args)]
pub struct TraceCommand {
    /// Step on a trace
    #[command(subcommand)]
    pub step: TraceStep,
}

/// The steps on traces.
#[derive(Debug, Subcommand)]
pub enum TraceStep {
    /// Make the keys of a signer: signing.pem, and verifying.pem for everybody else
    #[command(after_help = "Example:\n  he-cli trace keygen -o signer/")]
    Keygen(TraceKeygen),
    /// Sign the root of a trace
    Sign(TraceSign),
    /// Check who has signed the root of a trace
    Verify(TraceVerify),
    /// Open some operations of a trace, with the proof that they belong to its root
    ///
    /// An auditor who has the signed root draws the places of operations, gets these alone, and
    /// gives the same places to he-cli audit --these.
    Open(TraceOpen),
    /// Record the parts of one operation: rotations, products with one row of a map, and sums
    ///
    /// Two parties that differ in a linear layer of a model record its parts, each for its own
    /// trace, and give them to he-cli dispute --parts, which finds the part that they differ in. A
    /// judge computes it with one key.
    Parts(TraceParts),
}

/// `trace keygen`.
#[derive(Debug, Args)]
pub struct TraceKeygen {
    /// The folder to write the keys to
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
    /// Replace keys that are there
    #[arg(long)]
    pub force: bool,
}

/// `trace sign`.
#[derive(Debug, Args)]
pub struct TraceSign {
    /// The trace
    pub trace: PathBuf,
    /// The private key: signing.pem, or another one of Ed25519 in PEM
    #[arg(short, long, value_name = "FILE")]
    pub key: PathBuf,
    /// The signed root to write, or - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Replace the output file if it exists
    #[arg(long)]
    pub force: bool,
}

/// `trace verify`.
#[derive(Debug, Args)]
pub struct TraceVerify {
    /// The trace
    pub trace: PathBuf,
    /// The signed root
    #[arg(long, value_name = "FILE")]
    pub signed: PathBuf,
    /// The public key of the signer: verifying.pem
    #[arg(long, value_name = "FILE")]
    pub signer: PathBuf,
}

/// `trace open`.
#[derive(Debug, Args)]
pub struct TraceOpen {
    /// The trace
    pub trace: PathBuf,
    /// The places of the operations to open, the first of which is 0
    #[arg(long, value_name = "PLACE,...", value_delimiter = ',', required = true)]
    pub operations: Vec<u32>,
    /// The opened operations to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Replace the output file if it exists
    #[arg(long)]
    pub force: bool,
}

/// `trace parts`.
#[derive(Debug, Args)]
pub struct TraceParts {
    /// The trace that infer --record wrote
    pub trace: PathBuf,
    /// The place of the operation, as he-cli dispute names it; the first is 0
    #[arg(long, value_name = "PLACE")]
    pub operation: u32,
    /// The encrypted examples
    #[arg(long, value_name = "FILE")]
    pub input: PathBuf,
    /// The evaluation key
    #[arg(short, long, value_name = "FILE")]
    pub key: PathBuf,
    #[command(flatten)]
    pub of: OfInference,
    /// The parts to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// A folder to keep the values between the parts in, for the judge: gigabytes without --part
    #[arg(long, value_name = "FOLDER")]
    pub keep: Option<PathBuf>,
    /// Keep the values alone that this part takes, which he-cli dispute has named
    #[arg(long, value_name = "PLACE", requires = "keep")]
    pub part: Option<u32>,
    /// Replace the output file if it exists
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub device: DeviceFlag,
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
    #[arg(long = "input", value_name = "FILE", num_args = 1.., requires = "key", group = "judged")]
    pub inputs: Vec<PathBuf>,
    /// The parts of that operation that both parties recorded with trace parts, to find the part
    /// that they differ in; judged with --key, and with --values, the folder that one of them kept
    #[arg(long, value_name = "FILE", num_args = 2, requires = "model", group = "judged")]
    pub parts: Vec<PathBuf>,
    /// The evaluation key; for eval refresh the bootstrapping key
    #[arg(short, long, value_name = "FILE", requires = "judged")]
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
    /// The bootstrapping key, for models that need one and tables in digits [default: bootstrap.key
    /// beside the evaluation key]
    #[arg(long, value_name = "FILE")]
    pub bootstrap_key: Option<PathBuf>,
    /// The folder that infer --keep or trace parts --keep wrote; without it, all steps before a
    /// chosen one are computed
    #[arg(long, value_name = "FOLDER")]
    pub values: Option<PathBuf>,
}
