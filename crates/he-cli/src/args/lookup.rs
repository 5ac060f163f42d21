//! The options of `lookup`.

#[cfg(feature = "client")]
use super::server::ServerFlags;
use super::{DeviceFlag, OutputFile};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `lookup`.
#[derive(Debug, Args)]
pub struct Lookup {
    /// Step of the look-up
    #[command(subcommand)]
    pub step: LookupStep,
}

/// The steps of a look-up.
#[derive(Debug, Subcommand)]
pub enum LookupStep {
    /// Prepare a database, or tell how large everything would become
    #[command(after_help = "Examples:\n  \
        he-cli lookup prepare blocks/ blocks.bin --record-bytes 256\n  \
        he-cli lookup prepare words/ words.tsv --by-key --record-bytes 32\n  \
        he-cli lookup prepare --explain --records 4000000 --record-bytes 256")]
    Prepare(LookupPrepare),
    /// Append records to a database that is looked up by numbers
    #[command(after_help = "Example:\n  he-cli lookup append blocks/ more.bin")]
    Append(LookupAppend),
    /// Overwrite records of a database that is looked up by numbers
    #[command(after_help = "Example:\n  he-cli lookup update blocks/ changed.bin --first 1000")]
    Update(LookupUpdate),
    /// Make the key of a client, which serves any number of databases
    #[command(after_help = "Example:\n  he-cli lookup keygen -o client.key")]
    Keygen(LookupKeygen),
    /// Encrypt a query
    #[command(after_help = "Examples:\n  \
        he-cli lookup query description.lookup --number 1234 -k client.key -o query\n  \
        he-cli lookup query description.lookup --entry salt -k client.key -o query")]
    Query(LookupQuery),
    /// Answer a query, without any secret
    #[command(after_help = "Example:\n  he-cli lookup answer words/ query -o answer")]
    Answer(LookupAnswer),
    /// Look a record up on a service: query, answer and read in one
    #[cfg(feature = "client")]
    #[command(after_help = "Example:\n  \
        he-cli lookup get words --entry salt -k client.key --server https://he.example.org -o -")]
    Get(LookupGet),
    /// Fetch the description of a database from a service
    #[cfg(feature = "client")]
    #[command(after_help = "Example:\n  \
        he-cli lookup fetch words --server https://he.example.org -o description.lookup")]
    Fetch(LookupFetch),
    /// Read an answer
    #[command(after_help = "Example:\n  \
        he-cli lookup read description.lookup answer --entry salt -k client.key -o -")]
    Read(LookupRead),
    /// Describe a database
    #[command(after_help = "Example:\n  he-cli lookup info words/")]
    Info(LookupInfo),
}

/// `lookup prepare`.
#[derive(Debug, Args)]
pub struct LookupPrepare {
    /// Folder of the database, created if it does not exist
    #[arg(required_unless_present = "explain")]
    pub database: Option<PathBuf>,
    /// File of records, one after the other; with --by-key a text of a key, a tab and a value on
    /// each line
    #[arg(required_unless_present = "explain")]
    pub input: Option<PathBuf>,
    /// Bytes of each record; shorter values are filled with zeros
    #[arg(long, value_name = "BYTES")]
    pub record_bytes: usize,
    /// Look records up by keys instead of by their numbers
    #[arg(long)]
    pub by_key: bool,
    /// Most records of the database [default: those of the file]
    #[arg(long, value_name = "N", required_if_eq("explain", "true"))]
    pub records: Option<u64>,
    /// Tell sizes and operations, and prepare nothing
    #[arg(long, conflicts_with_all = ["database", "input"])]
    pub explain: bool,
    #[command(flatten)]
    pub device: DeviceFlag,
}

/// `lookup append`.
#[derive(Debug, Args)]
pub struct LookupAppend {
    /// Folder of the database
    pub database: PathBuf,
    /// File of records, one after the other
    pub input: PathBuf,
    #[command(flatten)]
    pub device: DeviceFlag,
}

/// `lookup update`.
#[derive(Debug, Args)]
pub struct LookupUpdate {
    /// Folder of the database
    pub database: PathBuf,
    /// File of records, one after the other
    pub input: PathBuf,
    /// Number of the first record, from 0
    #[arg(long, value_name = "N")]
    pub first: u64,
    #[command(flatten)]
    pub device: DeviceFlag,
}

/// `lookup keygen`.
#[derive(Debug, Args)]
pub struct LookupKeygen {
    /// The key to write, which only its owner may read
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}

/// The record that is asked for.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct LookupRecord {
    /// The number of the record, from 0
    #[arg(long, value_name = "N")]
    pub number: Option<u64>,
    /// The key of the record
    #[arg(long, value_name = "TEXT")]
    pub entry: Option<String>,
}

/// `lookup query`.
#[derive(Debug, Args)]
pub struct LookupQuery {
    /// Description of the database, or its folder
    pub description: PathBuf,
    #[command(flatten)]
    pub record: LookupRecord,
    /// The key of the client
    #[arg(short, long, value_name = "FILE")]
    pub key: PathBuf,
    #[command(flatten)]
    pub to: OutputFile,
}

/// `lookup answer`.
#[derive(Debug, Args)]
pub struct LookupAnswer {
    /// Folder of the database; with --server, its name there
    pub database: PathBuf,
    /// The query that lookup query wrote
    pub query: PathBuf,
    #[command(flatten)]
    pub to: OutputFile,
    #[command(flatten)]
    pub device: DeviceFlag,
    #[cfg(feature = "client")]
    #[command(flatten)]
    pub server: ServerFlags,
}

/// `lookup get`.
#[cfg(feature = "client")]
#[derive(Debug, Args)]
pub struct LookupGet {
    /// The name of the database there
    pub database: PathBuf,
    #[command(flatten)]
    pub record: LookupRecord,
    /// The key of the client, which is never sent
    #[arg(short, long, value_name = "FILE")]
    pub key: PathBuf,
    #[command(flatten)]
    pub to: OutputFile,
    #[command(flatten)]
    pub server: ServerFlags,
}

/// `lookup fetch`.
#[cfg(feature = "client")]
#[derive(Debug, Args)]
pub struct LookupFetch {
    /// The name of the database there
    pub database: PathBuf,
    #[command(flatten)]
    pub to: OutputFile,
    #[command(flatten)]
    pub server: ServerFlags,
}

/// `lookup read`.
#[derive(Debug, Args)]
pub struct LookupRead {
    /// Description of the database, or its folder
    pub description: PathBuf,
    /// The answer that lookup answer wrote
    pub answer: PathBuf,
    #[command(flatten)]
    pub record: LookupRecord,
    /// The key of the client
    #[arg(short, long, value_name = "FILE")]
    pub key: PathBuf,
    #[command(flatten)]
    pub to: OutputFile,
}

/// `lookup info`.
#[derive(Debug, Args)]
pub struct LookupInfo {
    /// Description of the database, or its folder
    pub description: PathBuf,
}
