//! The options of `search`.

use super::keygen::KeyOptions;
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
    /// Answer a query, without any secret
    #[command(after_help = "Examples:\n  \
        he-cli search answer faces/ query.he -k keys/eval.key -o answer.he\n  \
        he-cli search answer faces/ query.he --want count -k keys/eval.key -o answer.he")]
    Answer(SearchAnswer),
    /// Decrypt an answer
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
    /// The encrypted query to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub csv: CsvFlags,
    #[command(flatten)]
    pub device: DeviceFlag,
    /// Replace the output file if it exists
    #[arg(long)]
    pub force: bool,
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

/// `search answer`.
#[derive(Debug, Args)]
pub struct SearchAnswer {
    /// Folder of the index
    pub index: PathBuf,
    /// The query that search query wrote
    pub query: PathBuf,
    /// The answer [default: matches; scores if the index only ranks]
    #[arg(long, value_enum, value_name = "count|matches|scores", hide_possible_values = true)]
    pub want: Option<Want>,
    /// The evaluation key; no secret is needed
    #[arg(short, long, value_name = "FILE")]
    pub key: PathBuf,
    /// The encrypted answer to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub device: DeviceFlag,
    /// Replace the output file if it exists
    #[arg(long)]
    pub force: bool,
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
    /// The CSV table to write, or - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub device: DeviceFlag,
    /// Replace the output file if it exists
    #[arg(long)]
    pub force: bool,
}

/// `search info`.
#[derive(Debug, Args)]
pub struct SearchInfo {
    /// Folder of the index
    pub index: PathBuf,
}
