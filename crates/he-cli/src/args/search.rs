//! The options of `search`.

use super::keygen::KeyOptions;
#[cfg(feature = "client")]
use super::server::ServerFlags;
use super::{CsvFlags, DeviceFlag, Opening};
use clap::{Args, Subcommand, ValueEnum};
use he_files::search::Wanted;
use he_search::{Metric, Position};
use std::path::PathBuf;

/// `search`.
#[derive(Debug, Args)]
pub struct Search {
    /// Step of the search
    #[command(subcommand)]
    pub step: SearchStep,
}

/// The steps of a search.
#[derive(Debug, Subcommand)]
pub enum SearchStep {
    /// Plan an index: its folder, and how large keys, records, queries and answers become
    #[command(after_help = "Examples:\n  \
        he-cli search create faces/ --dimension 128 --threshold 0.8 --margin 0.1 --payload 8 \\\n    \
        --records 50000\n  \
        he-cli search create catalogue/ --dimension 384 --rank --records 1000000")]
    Create(SearchCreate),
    /// Make the keys of an index
    #[command(after_help = "Example:\n  he-cli search keygen faces/ -o keys/")]
    Keygen(SearchKeygen),
    /// Encrypt vectors, and append them to an index
    #[command(after_help = "Example:\n  \
        he-cli search append faces/ vectors.csv --payloads names.txt -k keys/secret.key")]
    Append(SearchAppend),
    /// Delete records: answers leave them out
    ///
    /// Their ciphertexts stay in the folder. search read names the positions of matches.
    #[command(after_help = "Example:\n  he-cli search delete faces/ 0:17 0:23")]
    Delete(SearchDelete),
    /// Merge the files of records that were appended one after the other
    ///
    /// No key is needed, and records keep their positions. It makes later answers faster.
    #[command(after_help = "Example:\n  he-cli search merge faces/")]
    Merge(SearchMerge),
    /// Encrypt a query
    #[command(after_help = "Example:\n  \
        he-cli search query faces/ face.csv -k keys/secret.key -o query.he")]
    Query(SearchQuery),
    /// Send an index to a service, or bring the one that is there up to date
    ///
    /// Records that were appended or deleted since are appended or deleted there. The service keeps
    /// the evaluation key with the index. A merged index is sent anew.
    #[cfg(feature = "client")]
    #[command(after_help = "Examples:\n  \
        he-cli search upload faces/ -k keys/eval.key --server https://he.example.org\n  \
        he-cli search upload faces/ --to 0123456789abcdef0123456789abcdef \\\n    \
        --server https://he.example.org")]
    Upload(SearchUpload),
    /// Remove an index from a service, with its records and its key
    #[cfg(feature = "client")]
    #[command(after_help = "Example:\n  \
        he-cli search withdraw 0123456789abcdef0123456789abcdef --server https://he.example.org")]
    Withdraw(SearchWithdraw),
    /// Answer a query, without any secret
    #[command(after_help = "Examples:\n  \
        he-cli search answer faces/ query.he -k keys/eval.key -o answer.he\n  \
        he-cli search answer faces/ query.he --want count -k keys/eval.key -o answer.he")]
    Answer(SearchAnswer),
    /// Decrypt an answer to a CSV table
    #[command(after_help = "Examples:\n  \
        he-cli search read answer.he -k keys/secret.key -o -\n  \
        he-cli search read answer.he --nearest 10 -k keys/secret.key -o nearest.csv")]
    Read(SearchRead),
    /// Describe an index
    #[command(after_help = "Example:\n  he-cli search info faces/")]
    Info(SearchInfo),
}

/// A metric by its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum MetricName {
    /// The cosine of the angle.
    #[default]
    Cosine,
    /// The inner product.
    Dot,
    /// The distance.
    Euclidean,
}

/// `search create`.
#[derive(Debug, Args)]
pub struct SearchCreate {
    /// Folder of the index, created if it does not exist
    pub index: PathBuf,
    /// The coordinates of each vector
    #[arg(long, value_name = "N")]
    pub dimension: usize,
    /// The metric
    #[arg(long, value_enum, value_name = "cosine|dot|euclidean", default_value_t)]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    pub metric: MetricName,
    /// The greatest norm of vectors, for dot and euclidean
    #[arg(long, value_name = "R", default_value_t = 1.0)]
    pub norm: f64,
    /// Only rank records by their scores, by smaller ciphertexts
    #[arg(long, conflicts_with_all = ["threshold", "margin", "payload"])]
    pub rank: bool,
    /// Matches have more than this cosine or inner product, or less than this distance
    #[arg(long, value_name = "T", required_unless_present = "rank", allow_negative_numbers = true)]
    pub threshold: Option<f64>,
    /// Records within this of the threshold are reported as undecided
    #[arg(long, value_name = "M", required_unless_present = "rank")]
    pub margin: Option<f64>,
    /// Bytes of the payload of each record, which is encrypted as well
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub payload: usize,
    /// Most records of the index
    #[arg(long, value_name = "N", default_value_t = 8192)]
    pub records: u64,
}

impl SearchCreate {
    /// The metric with its norm.
    pub fn metric(&self) -> Metric {
        let norm = self.norm;
        match self.metric {
            MetricName::Cosine => Metric::Cosine,
            MetricName::Dot => Metric::Dot { norm },
            MetricName::Euclidean => Metric::Euclidean { norm },
        }
    }
}

/// `search keygen`.
#[derive(Debug, Args)]
pub struct SearchKeygen {
    /// Folder of the index
    pub index: PathBuf,
    /// Folder for the keys, created if it does not exist
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
    #[command(flatten)]
    pub options: KeyOptions,
}

/// A secret key of an index.
#[derive(Debug, Args)]
pub struct SearchSecret {
    /// The secret key
    #[arg(short, long, value_name = "FILE")]
    pub key: PathBuf,
    #[command(flatten)]
    pub opening: Opening,
}

/// The file that a step writes, and where it is computed.
#[derive(Debug, Args)]
pub struct SearchOutput {
    /// The file to write, or - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub device: DeviceFlag,
    /// Replace the output file if it exists
    #[arg(long)]
    pub force: bool,
}

/// `search append`.
#[derive(Debug, Args)]
pub struct SearchAppend {
    /// Folder of the index
    pub index: PathBuf,
    /// CSV table of vectors, a row for each
    pub vectors: PathBuf,
    /// Text file of payloads, a line for each row
    #[arg(long, value_name = "FILE")]
    pub payloads: Option<PathBuf>,
    #[command(flatten)]
    pub secret: SearchSecret,
    #[command(flatten)]
    pub csv: CsvFlags,
    #[command(flatten)]
    pub device: DeviceFlag,
}

/// `search delete`.
#[derive(Debug, Args)]
pub struct SearchDelete {
    /// Folder of the index
    pub index: PathBuf,
    /// The records, as segment:slot
    #[arg(required = true, value_name = "SEGMENT:SLOT", value_parser = position)]
    pub positions: Vec<Position>,
}

/// The place of a record.
fn position(text: &str) -> Result<Position, String> {
    let parts = text.split_once(':').map(|(segment, slot)| (segment.parse(), slot.parse()));
    match parts {
        Some((Ok(segment), Ok(slot))) => Ok(Position { segment, slot }),
        _ => Err("two numbers with a colon between them, as in 0:17".to_owned()),
    }
}

/// `search merge`.
#[derive(Debug, Args)]
pub struct SearchMerge {
    /// Folder of the index
    pub index: PathBuf,
    #[command(flatten)]
    pub device: DeviceFlag,
}

/// `search query`.
#[derive(Debug, Args)]
pub struct SearchQuery {
    /// Folder of the index, of which index.json suffices
    pub index: PathBuf,
    /// CSV table of one row: the vector
    pub vector: PathBuf,
    #[command(flatten)]
    pub secret: SearchSecret,
    #[command(flatten)]
    pub csv: CsvFlags,
    #[command(flatten)]
    pub to: SearchOutput,
}

/// The answer to a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Want {
    /// The number of matches.
    Count,
    /// The positions and payloads of matches.
    Matches,
    /// The scores of all records, for a ranking.
    Scores,
}

impl From<Want> for Wanted {
    fn from(want: Want) -> Self {
        match want {
            Want::Count => Self::Count,
            Want::Matches => Self::Matches,
            Want::Scores => Self::Scores,
        }
    }
}

/// `search upload`.
#[cfg(feature = "client")]
#[derive(Debug, Args)]
pub struct SearchUpload {
    /// Folder of the index
    pub index: PathBuf,
    /// The evaluation key, which the service keeps
    #[arg(short, long, value_name = "FILE", required_unless_present = "to", conflicts_with = "to")]
    pub key: Option<PathBuf>,
    /// The id of the index there, which an earlier upload printed
    #[arg(long, value_name = "ID")]
    pub to: Option<String>,
    #[command(flatten)]
    pub server: ServerFlags,
}

/// `search withdraw`.
#[cfg(feature = "client")]
#[derive(Debug, Args)]
pub struct SearchWithdraw {
    /// The id of the index there
    pub id: String,
    #[command(flatten)]
    pub server: ServerFlags,
}

/// `search answer`.
#[derive(Debug, Args)]
pub struct SearchAnswer {
    /// Folder of the index; with --server, the id that search upload printed
    pub index: PathBuf,
    /// The query that search query wrote
    pub query: PathBuf,
    /// The answer [default: matches; scores if the index only ranks]
    #[arg(long, value_enum, value_name = "count|matches|scores", hide_possible_values = true)]
    pub want: Option<Want>,
    /// The evaluation key; no secret is needed, and a service keeps the key of its index
    #[arg(short, long, value_name = "FILE")]
    #[cfg_attr(feature = "client", arg(required_unless_present = "server"))]
    #[cfg_attr(not(feature = "client"), arg(required = true))]
    pub key: Option<PathBuf>,
    #[command(flatten)]
    pub to: SearchOutput,
    #[cfg(feature = "client")]
    #[command(flatten)]
    pub server: ServerFlags,
}

/// `search read`.
#[derive(Debug, Args)]
pub struct SearchRead {
    /// The answer that search answer wrote
    pub answer: PathBuf,
    #[command(flatten)]
    pub secret: SearchSecret,
    /// Records of a ranking
    #[arg(long, value_name = "K", default_value_t = 10)]
    pub nearest: usize,
    #[command(flatten)]
    pub to: SearchOutput,
}

/// `search info`.
#[derive(Debug, Args)]
pub struct SearchInfo {
    /// Folder of the index
    pub index: PathBuf,
}
