//! The command `he-sql`: queries over encrypted tables, the tables and the answers, and the
//! processes of a cluster.

use clap::{Args, Parser, Subcommand};
use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray};
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::logical_expr::LogicalPlan;
use futures::StreamExt;
use he_files::passphrase::{Passphrase, Purpose};
use he_sql::cells::Cells;
use he_sql::column::CellType;
use he_sql::csv_table::{self, Encryption};
use he_sql::explain::explain;
use he_sql::keys::{self, KeySet};
use he_sql::owner::OwnerKey;
use he_sql::session::{Options, Session};
use he_sql::{Error, Result, table};
use std::fs::File;
use std::io::{Write, stdout};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// SQL on tables whose columns are ciphertexts.
#[derive(Parser)]
#[command(name = "he-sql", version, max_term_width = 100)]
struct Command {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Answer a query with evaluation keys alone; EXPLAIN before it shows plan, depth, keys and
    /// noise.
    Query(Query),
    /// Encrypt columns of a CSV file into Parquet.
    Encrypt(Encrypt),
    /// Decrypt an answer into CSV.
    Decrypt(Decrypt),
    /// Run the scheduler of a cluster.
    #[cfg(feature = "cluster")]
    Scheduler {
        /// The address to listen on; whoever reaches it can send queries.
        #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:50050")]
        bind: SocketAddr,
    },
    /// Run an executor of a cluster.
    #[cfg(feature = "cluster")]
    Executor(Executor),
}

#[derive(Args)]
struct Query {
    /// The query; tables are named with --table, or files in it: FROM 'sales.parquet'.
    sql: String,
    /// A table: a Parquet file, a folder of them, or a URL.
    #[arg(long, value_name = "NAME=URL")]
    table: Vec<String>,
    /// The evaluation key: a path or a URL that every executor can read.
    #[arg(long, value_name = "URL")]
    keys: String,
    /// The parameters as bytes, for keys as bytes of the Python package.
    #[arg(long, value_name = "FILE")]
    params: Option<PathBuf>,
    /// The Parquet file of the answer; without one, clear columns are shown.
    #[arg(short, long, value_name = "PARQUET")]
    output: Option<PathBuf>,
    /// The scheduler of a Ballista cluster, such as df://localhost:50050; this process by default.
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "URL")]
    ballista: Option<String>,
    /// Partitions, which run beside each other.
    #[arg(long, value_name = "N")]
    partitions: Option<usize>,
    /// The most rows of a group, for which noise is predicted; those of the largest table by
    /// default.
    #[arg(long, value_name = "N")]
    group_rows: Option<u64>,
    /// The device of this process: cpu or cuda:N.
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    device: String,
}

#[derive(Args)]
struct Encrypt {
    /// The table, with names in its first row.
    csv: PathBuf,
    /// The columns to be encrypted.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', required = true)]
    columns: Vec<String>,
    /// public.key; secret.key under TFHE.
    #[arg(long, value_name = "KEY")]
    key: PathBuf,
    /// The Parquet file.
    #[arg(short, long, value_name = "PARQUET")]
    output: PathBuf,
    /// The most values of a cell: rows that follow each other and agree in all clear columns.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pack: usize,
    /// The width of integers under TFHE.
    #[arg(long, value_name = "BITS", default_value_t = 32)]
    bits: usize,
    /// Integers under TFHE have a sign.
    #[arg(long)]
    signed: bool,
    /// A file with the passphrase of a sealed key.
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

#[derive(Args)]
struct Decrypt {
    /// The answer.
    parquet: PathBuf,
    /// secret.key.
    #[arg(long, value_name = "KEY")]
    key: PathBuf,
    /// The CSV file; without one, standard output.
    #[arg(short, long, value_name = "CSV")]
    output: Option<PathBuf>,
    /// A file with the passphrase of a sealed key.
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

#[cfg(feature = "cluster")]
#[derive(Args)]
struct Executor {
    /// The scheduler.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:50050")]
    scheduler: String,
    /// The address of this executor; it takes the next port as well.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:50051")]
    bind: SocketAddr,
    /// The tasks that run beside each other.
    #[arg(long, value_name = "N", default_value_t = 1)]
    cores: usize,
    /// The folder of what tasks hand to each other.
    #[arg(long, value_name = "FOLDER")]
    work_dir: Option<PathBuf>,
    /// The device: cpu or cuda:N.
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    device: String,
}

/// Where passphrases come from.
fn owner_key(key: &std::path::Path, passphrase: Option<&PathBuf>) -> Result<OwnerKey> {
    let from_file = |_: Purpose, what: &str| match passphrase {
        Some(file) => Passphrase::from_file(file),
        None => Err(he_files::Error::Caller(format!("{what} is sealed; give --passphrase-file").into())),
    };
    OwnerKey::open(key, &from_file)
}

async fn session(query: &Query, set: &KeySet, options: Options) -> Result<Session> {
    #[cfg(feature = "cluster")]
    if let Some(url) = &query.ballista {
        return he_sql::cluster::remote(url, set, options).await;
    }
    let _ = query;
    Ok(Session::local(set, options))
}

async fn answer(query: Query) -> Result<()> {
    keys::use_device(&query.device)?;
    let set = match &query.params {
        Some(params) => KeySet::open_with(&query.keys, params)?,
        None => KeySet::open(&query.keys)?,
    };
    let options = Options { partitions: query.partitions, batch_rows: None, group_rows: query.group_rows };
    let mut session = session(&query, &set, options).await?;
    for table in &query.table {
        let (name, url) = table
            .split_once('=')
            .ok_or_else(|| Error::Table(format!("--table {table}: NAME=URL is expected")))?;
        session.register(name, url).await?;
    }
    let frame = session.sql(&query.sql).await?;
    let explained = match frame.logical_plan() {
        LogicalPlan::Explain(of) => Some(explain(&of.plan, session.set())?),
        _ => None,
    };
    let stream = frame.execute_stream().await?;
    match &query.output {
        Some(path) => {
            let rows = table::write(path, stream).await?;
            eprintln!("{rows} rows in {}", path.display());
        }
        None => show(stream).await?,
    }
    if let Some(text) = explained {
        print!("{text}");
    }
    Ok(())
}

/// Shows clear columns, and how long the cells of the others are.
async fn show(mut stream: datafusion::execution::SendableRecordBatchStream) -> Result<()> {
    while let Some(batch) = stream.next().await {
        let batch = batch?;
        let mut columns: Vec<(String, ArrayRef)> = Vec::new();
        for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
            let shown = match CellType::of(field)? {
                None => Arc::clone(array),
                Some(cell) => {
                    let cells = Cells::of(array)?;
                    let text = (0..cells.len()).map(|row| {
                        cells.get(row).map(|bytes| format!("[{}, {} KiB]", cell.scheme, bytes.len() >> 10))
                    });
                    Arc::new(StringArray::from_iter(text))
                }
            };
            columns.push((field.name().clone(), shown));
        }
        writeln!(stdout(), "{}", pretty_format_batches(&[RecordBatch::try_from_iter(columns)?])?)?;
    }
    Ok(())
}

async fn run(task: Task) -> Result<()> {
    match task {
        Task::Query(query) => answer(query).await,
        Task::Encrypt(task) => {
            let key = owner_key(&task.key, task.passphrase_file.as_ref())?;
            let how =
                Encryption { columns: task.columns, pack: task.pack, bits: task.bits, signed: task.signed };
            let rows = csv_table::encrypt(File::open(&task.csv)?, &task.output, &key, &how)?;
            eprintln!("{rows} rows in {}", task.output.display());
            Ok(())
        }
        Task::Decrypt(task) => {
            let key = owner_key(&task.key, task.passphrase_file.as_ref())?;
            match &task.output {
                Some(path) => csv_table::decrypt(&task.parquet, File::create(path)?, &key)?,
                None => csv_table::decrypt(&task.parquet, stdout().lock(), &key)?,
            };
            Ok(())
        }
        #[cfg(feature = "cluster")]
        Task::Scheduler { bind } => he_sql::cluster::scheduler(bind).await,
        #[cfg(feature = "cluster")]
        Task::Executor(task) => {
            keys::use_device(&task.device)?;
            let wrong = || Error::Table(format!("--scheduler {}: HOST:PORT is expected", task.scheduler));
            let (host, port) = task.scheduler.rsplit_once(':').ok_or_else(wrong)?;
            he_sql::cluster::executor(he_sql::cluster::Executor {
                bind: task.bind,
                scheduler_host: host.to_owned(),
                scheduler_port: port.parse().map_err(|_| wrong())?,
                cores: task.cores,
                work_dir: task.work_dir.clone(),
            })
            .await
        }
    }
}

fn main() -> ExitCode {
    let command = Command::parse();
    // What the processes of a cluster tell; RUST_LOG says how much.
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("warn")).init();
    // Deep plans recurse. Each thread that reads files keeps memory of its own, which adds up if
    // there are hundreds.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(16 << 20)
        .max_blocking_threads(4)
        .build();
    let done = match runtime {
        Ok(runtime) => runtime.block_on(run(command.task)),
        Err(error) => Err(error.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("he-sql: error: {error}");
            ExitCode::FAILURE
        }
    }
}
