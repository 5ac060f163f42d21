//! The command `he-sql`: queries over encrypted tables, the tables and the answers, and the
//! processes of a cluster.

use clap::{Args, Parser, Subcommand, value_parser};
use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray};
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::logical_expr::LogicalPlan;
use futures::StreamExt;
use he_files::data::table::decimal::Decimal;
use he_files::io::input::Input;
use he_files::io::output::{Output, OutputOptions};
use he_files::passphrase::{Passphrase, Purpose};
use he_sql::cells::Cells;
use he_sql::column::CellType;
use he_sql::csv_table::{self, Encryption};
use he_sql::explain::explain;
use he_sql::keys::{self, KeySet};
use he_sql::owner::OwnerKey;
use he_sql::session::{Options, Session};
use he_sql::{Error, Result, table};
use std::io::{Write, stdout};
#[cfg(feature = "cluster")]
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

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
        #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:50050", value_parser = address)]
        bind: SocketAddr,
        /// The name of this machine, to which executors report; the address of --bind by default.
        #[arg(long, value_name = "HOST")]
        name: Option<String>,
    },
    /// Run an executor of a cluster.
    #[cfg(feature = "cluster")]
    Executor(Executor),
}

#[derive(Args)]
struct Query {
    /// The query; tables are named with --table, or files in it: FROM 'sales.parquet'.
    sql: String,
    /// A table: a Parquet file, a folder of them, or a URL; or a clear table of CSV.
    #[arg(long, value_name = "NAME=URL", value_parser = table_name)]
    table: Vec<(String, String)>,
    /// The evaluation key: a path or a URL that every executor can read.
    #[arg(long, value_name = "URL")]
    keys: String,
    /// The parameters as bytes, for keys as bytes of the Python package.
    #[arg(long, value_name = "FILE")]
    params: Option<PathBuf>,
    /// The Parquet file of the answer; without one, clear columns are shown.
    #[arg(short, long, value_name = "PARQUET")]
    output: Option<PathBuf>,
    /// Replace the output if it exists.
    #[arg(long)]
    force: bool,
    /// The scheduler of a Ballista cluster, such as df://localhost:50050; this process by default.
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "URL")]
    ballista: Option<String>,
    /// Partitions, which run beside each other.
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=MOST_THREADS))]
    partitions: Option<u16>,
    /// The most rows of a group, for which noise is predicted; those of the largest table by
    /// default.
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    group_rows: Option<u64>,
    /// The greatest magnitude of clear numbers that encrypted ones are combined with, for which
    /// bounds are predicted; that of the tables' clear columns by default.
    #[arg(long, value_name = "N")]
    clear_most: Option<u64>,
    /// The mark before decimals in tables of CSV: auto, point or comma.
    #[arg(long, value_name = "MARK", default_value = "auto", value_parser = decimal)]
    decimal: Decimal,
    /// Give up after so many seconds; a cluster without executors never answers.
    #[arg(long, value_name = "SECONDS", value_parser = value_parser!(u32).range(1..))]
    timeout: Option<u32>,
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
    /// public.key, or secret.key.
    #[arg(long, value_name = "KEY")]
    key: PathBuf,
    /// The Parquet file.
    #[arg(short, long, value_name = "PARQUET")]
    output: PathBuf,
    /// Replace the output if it exists.
    #[arg(long)]
    force: bool,
    /// The most values of a cell: of rows that agree in all clear columns.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u32).range(1..))]
    pack: u32,
    /// The width of integers under TFHE.
    #[arg(long, value_name = "BITS", default_value_t = 32)]
    bits: usize,
    /// Integers under TFHE have a sign.
    #[arg(long)]
    signed: bool,
    /// The mark before decimals: auto, point or comma.
    #[arg(long, value_name = "MARK", default_value = "auto", value_parser = decimal)]
    decimal: Decimal,
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
    /// Replace the output if it exists.
    #[arg(long)]
    force: bool,
    /// A file with the passphrase of a sealed key.
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

#[cfg(feature = "cluster")]
#[derive(Args)]
struct Executor {
    /// The scheduler.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:50050", value_parser = host_port)]
    scheduler: (String, u16),
    /// Seconds to wait for the scheduler.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    wait: u32,
    /// The address of this executor; it takes the next port as well.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:50051", value_parser = address)]
    bind: SocketAddr,
    /// The tasks that run beside each other.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u16).range(1..=MOST_THREADS))]
    cores: u16,
    /// The folder of the files that tasks hand to each other.
    #[arg(long, value_name = "FOLDER")]
    work_dir: Option<PathBuf>,
    /// The device: cpu or cuda:N.
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    device: String,
}

/// The most threads that are started at once.
const MOST_THREADS: i64 = 1024;

/// The name of a table, and its place.
fn table_name(text: &str) -> std::result::Result<(String, String), &'static str> {
    match text.split_once('=') {
        Some((name, url)) if !name.is_empty() && !url.is_empty() => Ok((name.to_owned(), url.to_owned())),
        _ => Err("NAME=URL is expected, such as sales=sales.parquet"),
    }
}

/// The mark before decimals.
fn decimal(text: &str) -> std::result::Result<Decimal, &'static str> {
    match text {
        "auto" => Ok(Decimal::Auto),
        "point" => Ok(Decimal::Point),
        "comma" => Ok(Decimal::Comma),
        _ => Err("auto, point or comma is expected"),
    }
}

/// A host and a port that something listens on.
#[cfg(feature = "cluster")]
fn host_port(text: &str) -> std::result::Result<(String, u16), &'static str> {
    let found = text.rsplit_once(':').and_then(|(host, port)| Some((host.to_owned(), port.parse().ok()?)));
    found
        .filter(|(host, port)| !host.is_empty() && *port > 0)
        .ok_or("HOST:PORT is expected, such as 10.0.0.1:50050")
}

/// An address of this machine.
#[cfg(feature = "cluster")]
fn address(text: &str) -> std::result::Result<SocketAddr, String> {
    use std::net::ToSocketAddrs;
    host_port(text)?;
    let found = text.to_socket_addrs().map_err(|error| error.to_string())?;
    found.min_by_key(SocketAddr::is_ipv6).ok_or_else(|| "the host has no address".to_owned())
}

/// Opens the owner's key; its passphrase is in a file or asked for.
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
    Session::local(set, options)
}

async fn answer(query: Query) -> Result<()> {
    keys::use_device(&query.device)?;
    let set = match &query.params {
        Some(params) => KeySet::open_with(&query.keys, params)?,
        None => KeySet::open(&query.keys)?,
    };
    let partitions = query.partitions.map(usize::from);
    let options = Options {
        partitions,
        batch_rows: None,
        group_rows: query.group_rows,
        clear_most: query.clear_most,
        decimal: query.decimal,
    };
    let mut session = session(&query, &set, options).await?;
    for (name, url) in &query.table {
        session.register(name, url).await?;
    }
    let frame = session.sql(&query.sql).await?;
    for column in session.unbounded(frame.logical_plan())? {
        eprintln!(
            "he-sql: note: column {column}: no bounds of its values are known, so that results beyond the range of \
             the keys are not found; he-sql encrypt writes tables with bounds"
        );
    }
    let explained = match frame.logical_plan() {
        LogicalPlan::Explain(of) => Some(explain(&of.plan, session.set())?),
        _ => None,
    };
    match &query.output {
        Some(path) => {
            let options = OutputOptions { force: query.force, ..OutputOptions::default() };
            let output = Output::create(path, options, &[])?;
            let rows = table::write(output, frame.execute_stream().await?).await?;
            eprintln!("{rows} rows in {}", path.display());
        }
        None => show(frame.execute_stream().await?).await?,
    }
    if let Some(text) = explained {
        stdout().write_all(text.as_bytes())?;
    }
    Ok(())
}

/// Shows clear columns, and how long the cells of the others are.
async fn show(mut stream: datafusion::execution::SendableRecordBatchStream) -> Result<()> {
    let schema = stream.schema();
    let mut shown = false;
    while let Some(batch) = stream.next().await {
        show_batch(&batch?)?;
        shown = true;
    }
    // The names of the columns are an answer, too.
    if shown { Ok(()) } else { show_batch(&RecordBatch::new_empty(schema)) }
}

fn show_batch(batch: &RecordBatch) -> Result<()> {
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
    Ok(())
}

async fn run(task: Task) -> Result<()> {
    match task {
        Task::Query(query) => match query.timeout {
            None => answer(query).await,
            Some(seconds) => {
                let limit = Duration::from_secs(seconds.into());
                tokio::time::timeout(limit, answer(query)).await.unwrap_or(Err(Error::Timeout { seconds }))
            }
        },
        Task::Encrypt(task) => {
            let key = owner_key(&task.key, task.passphrase_file.as_ref())?;
            let pack = usize::try_from(task.pack).unwrap_or(usize::MAX);
            let how = Encryption {
                columns: task.columns,
                pack,
                bits: task.bits,
                signed: task.signed,
                decimal: task.decimal,
            };
            let csv = Input::open(&task.csv)?;
            let name = csv.name().to_owned();
            let options = OutputOptions { force: task.force, ..OutputOptions::default() };
            let output = Output::create(&task.output, options, &[&task.csv, &task.key])?;
            let rows = csv_table::encrypt(csv, &name, output, &key, &how)?;
            eprintln!("{rows} rows in {}", task.output.display());
            Ok(())
        }
        Task::Decrypt(task) => {
            let key = owner_key(&task.key, task.passphrase_file.as_ref())?;
            match &task.output {
                Some(path) => {
                    let options =
                        OutputOptions { force: task.force, private: true, ..OutputOptions::default() };
                    let mut output = Output::create(path, options, &[&task.parquet, &task.key])?;
                    csv_table::decrypt(&task.parquet, &mut output, &key)?;
                    output.commit()?;
                }
                None => {
                    csv_table::decrypt(&task.parquet, stdout().lock(), &key)?;
                }
            }
            Ok(())
        }
        #[cfg(feature = "cluster")]
        Task::Scheduler { bind, name } => he_sql::cluster::scheduler(bind, name).await,
        #[cfg(feature = "cluster")]
        Task::Executor(task) => {
            keys::use_device(&task.device)?;
            let (scheduler_host, scheduler_port) = task.scheduler;
            he_sql::cluster::executor(he_sql::cluster::Executor {
                bind: task.bind,
                scheduler_host,
                scheduler_port,
                wait: Duration::from_secs(task.wait.into()),
                cores: task.cores.into(),
                work_dir: task.work_dir,
            })
            .await
        }
    }
}

fn main() -> ExitCode {
    let command = Command::parse();
    // The processes of a cluster log warnings, unless RUST_LOG says how much. A query has one
    // error.
    let told = if matches!(command.task, Task::Query(_)) { "off" } else { "warn" };
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or(told)).init();
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
        Err(error) if error.is_broken_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("he-sql: error: {error}");
            if let Some(hint) = error.hint() {
                eprintln!("he-sql: hint: {hint}");
            }
            ExitCode::FAILURE
        }
    }
}
