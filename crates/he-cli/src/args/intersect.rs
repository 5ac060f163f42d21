//! The options of `intersect`.

use super::{DeviceFlag, OutputFile};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `intersect`.
#[derive(Debug, Args)]
pub struct Intersect {
    /// Step of the intersection
    #[command(subcommand)]
    pub step: IntersectStep,
}

/// The steps of an intersection.
#[derive(Debug, Subcommand)]
pub enum IntersectStep {
    /// Prepare the set of a server, or tell how large everything would become
    #[command(after_help = "Examples:\n  \
        he-cli intersect prepare users/ users.txt --client-items 1000\n  \
        he-cli intersect prepare users/ users.tsv --client-items 1000 --label-bytes 32\n  \
        he-cli intersect prepare --explain --items 1000000 --client-items 1000")]
    Prepare(IntersectPrepare),
    /// Ask in the first round, and keep the state of the client
    #[command(
        after_help = "Example:\n  he-cli intersect request plan.psi friends.txt -s my.state -o request"
    )]
    Request(IntersectRequest),
    /// Respond to a request
    #[command(after_help = "Example:\n  he-cli intersect respond users/ request -o response")]
    Respond(IntersectRespond),
    /// Encrypt the query of the second round
    #[command(after_help = "Example:\n  he-cli intersect query plan.psi response -s my.state -o query")]
    Query(IntersectQuery),
    /// Answer a query
    #[command(after_help = "Example:\n  he-cli intersect answer users/ query -o answer")]
    Answer(IntersectAnswer),
    /// Read an answer: the common items, with their labels
    #[command(after_help = "Example:\n  he-cli intersect read plan.psi response answer -s my.state -o -")]
    Read(IntersectRead),
    /// Describe a plan
    #[command(after_help = "Example:\n  he-cli intersect info users/")]
    Info(IntersectInfo),
}

/// `intersect prepare`.
#[derive(Debug, Args)]
pub struct IntersectPrepare {
    /// Folder of the set, created if it does not exist
    #[arg(required_unless_present = "explain")]
    pub set: Option<PathBuf>,
    /// Text of one item on each line; with --label-bytes of an item, a tab and a label
    #[arg(required_unless_present = "explain")]
    pub input: Option<PathBuf>,
    /// Most items of the set [default: those of the text]
    #[arg(long, value_name = "N", required_if_eq("explain", "true"))]
    pub items: Option<u64>,
    /// Most items that a client asks for at a time
    #[arg(long, value_name = "N")]
    pub client_items: u64,
    /// Bytes of each label; shorter ones are filled with zeros
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub label_bytes: u64,
    /// Tell sizes and operations, and prepare nothing
    #[arg(long, conflicts_with_all = ["set", "input"])]
    pub explain: bool,
    #[command(flatten)]
    pub device: DeviceFlag,
}

/// `intersect request`.
#[derive(Debug, Args)]
pub struct IntersectRequest {
    /// Plan of the set, or its folder
    pub plan: PathBuf,
    /// Text of one item on each line
    pub items: PathBuf,
    /// The state to write, which only its owner may read: a new one for each request
    #[arg(short, long, value_name = "FILE")]
    pub state: PathBuf,
    #[command(flatten)]
    pub to: OutputFile,
}

/// `intersect respond`.
#[derive(Debug, Args)]
pub struct IntersectRespond {
    /// Folder of the set
    pub set: PathBuf,
    /// The request that intersect request wrote
    pub request: PathBuf,
    #[command(flatten)]
    pub to: OutputFile,
}

/// `intersect query`.
#[derive(Debug, Args)]
pub struct IntersectQuery {
    /// Plan of the set, or its folder
    pub plan: PathBuf,
    /// The response that intersect respond wrote
    pub response: PathBuf,
    /// The state that intersect request wrote
    #[arg(short, long, value_name = "FILE")]
    pub state: PathBuf,
    #[command(flatten)]
    pub to: OutputFile,
}

/// `intersect answer`.
#[derive(Debug, Args)]
pub struct IntersectAnswer {
    /// Folder of the set
    pub set: PathBuf,
    /// The query that intersect query wrote
    pub query: PathBuf,
    #[command(flatten)]
    pub to: OutputFile,
    #[command(flatten)]
    pub device: DeviceFlag,
}

/// `intersect read`.
#[derive(Debug, Args)]
pub struct IntersectRead {
    /// Plan of the set, or its folder
    pub plan: PathBuf,
    /// The response that intersect respond wrote
    pub response: PathBuf,
    /// The answer that intersect answer wrote
    pub answer: PathBuf,
    /// The state that intersect request wrote
    #[arg(short, long, value_name = "FILE")]
    pub state: PathBuf,
    #[command(flatten)]
    pub to: OutputFile,
}

/// `intersect info`.
#[derive(Debug, Args)]
pub struct IntersectInfo {
    /// Plan of the set, or its folder
    pub plan: PathBuf,
}
