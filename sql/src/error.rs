//! Errors, which say what to do.

use datafusion::common::DataFusionError;
use he_any::layout::{LayoutError, figure};
use he_files::error::{DAMAGED, OutputError, Problem, TableError};
use std::fmt;

/// The format of tables of CSV, for error messages.
const CSV: &str = "a table is CSV in UTF-8 with names in its first row, a comma between fields, and as many fields in every row";

/// The errors between a query and its answer.
#[derive(thiserror::Error)]
pub enum Error {
    /// Metadata of a column that describe no ciphertexts.
    #[error("column {column}: damaged metadata of ciphertexts ({why}); write the file again")]
    Metadata {
        /// The column.
        column: String,
        /// The fault in the metadata.
        why: String,
    },
    /// A column of another type than the function takes.
    #[error("{function}: {column} is {found}, where {expected} is expected")]
    Type {
        /// The function.
        function: String,
        /// The column.
        column: String,
        /// Its type.
        found: String,
        /// The types that the function takes.
        expected: String,
    },
    /// Another number of arguments.
    #[error("{function}: {found} arguments, where {expected} are expected")]
    Arguments {
        /// The function.
        function: String,
        /// The number of arguments that were given.
        found: usize,
        /// The number that the function takes.
        expected: &'static str,
    },
    /// A column of other parameters than the keys.
    #[error(
        "column {column} is of {found}, where the keys are of {expected}; give those of the set that encrypted it"
    )]
    Params {
        /// The column.
        column: String,
        /// Its scheme and parameters.
        found: String,
        /// The scheme and parameters of the keys.
        expected: String,
    },
    /// A column of another key set.
    #[error(
        "column {column} is of the key set {found}, where the keys are of {expected}; give those of the set that \
         encrypted it"
    )]
    KeySet {
        /// The column.
        column: String,
        /// Its key set.
        found: String,
        /// The key set of the keys.
        expected: String,
    },
    /// An operation that leaves nothing to decrypt, or that needs a key that is not there.
    #[error("{function} of {column}: {source}")]
    Operation {
        /// The function.
        function: String,
        /// The columns.
        column: String,
        /// The error of the library.
        source: he_core::Error,
    },
    /// Columns whose values lie differently in their ciphertexts.
    #[error("{function} of {column}: {source}")]
    Layout {
        /// The function.
        function: String,
        /// The columns.
        column: String,
        /// The error of the library.
        source: LayoutError,
    },
    /// Slots after the values that hold something unknown.
    #[error(
        "{function} of {column}: the slots after its {size} values hold something unknown; take the function before \
         rotations and before sums with clear columns"
    )]
    Padding {
        /// The function.
        function: String,
        /// The column.
        column: String,
        /// The values of a ciphertext.
        size: usize,
    },
    /// Values that may leave the numbers that the parameters hold.
    #[error(
        "{column} may be from {} to {} in groups of at most {rows} rows, and these keys hold {} to {}; {}",
        figure(*.low), figure(*.high), figure(-*.limit), figure(*.limit), larger(scheme, *.low, *.high)
    )]
    Range {
        /// The column or the call.
        column: String,
        /// Its least possible value.
        low: f64,
        /// Its greatest possible value.
        high: f64,
        /// The greatest magnitude that the parameters hold.
        limit: f64,
        /// The scheme.
        scheme: &'static str,
        /// The rows that a group is assumed to have at most.
        rows: u64,
    },
    /// A group of more rows than were planned for.
    #[error(
        "{function} of {column}: a group of {found} rows, where the query was planned for {assumed} at most; give \
         --group-rows {found} or more"
    )]
    GroupRows {
        /// The aggregate.
        function: String,
        /// The column.
        column: String,
        /// The rows of the group.
        found: u64,
        /// The rows that were assumed at most.
        assumed: u64,
    },
    /// A clear number beyond those that were planned for.
    #[error(
        "{function}: the clear number {found}, where the query was planned for magnitudes up to {assumed}; give \
         --clear-most {} or more", figure(.found.abs().ceil())
    )]
    ClearNumber {
        /// The function.
        function: String,
        /// The number.
        found: f64,
        /// The magnitude that was assumed.
        assumed: u64,
    },
    /// An expression of the engine that would lose the type of ciphertexts.
    #[error(
        "{what} of {column}: it does not pass ciphertexts through; CASE, COALESCE, UNION ALL, joins, subqueries and \
         first_value do"
    )]
    Lost {
        /// The expression.
        what: String,
        /// The encrypted column.
        column: String,
    },
    /// A function that a scheme does not have.
    #[error("{function} of {column}, which is of {scheme}: {instead}")]
    Scheme {
        /// The function.
        function: String,
        /// The column.
        column: String,
        /// Its scheme.
        scheme: &'static str,
        /// The advice.
        instead: &'static str,
    },
    /// A clear number that a function cannot take.
    #[error("{function}: {value} as {what}; {instead}")]
    Number {
        /// The function.
        function: String,
        /// The number.
        value: String,
        /// The use of the number.
        what: &'static str,
        /// The remedy.
        instead: &'static str,
    },
    /// An operation that would compare ciphertexts by their bytes.
    #[error(
        "{what} on {column}: ciphertexts cannot be compared, since equal numbers have different ones; take clear \
         columns, or he_eq and its like on integers of tfhe"
    )]
    Compared {
        /// The operation.
        what: String,
        /// The column.
        column: String,
    },
    /// A cell that does not fit its column.
    #[error("{what}: {source}; get an undamaged copy of the file")]
    Cell {
        /// The cell.
        what: String,
        /// The error of the library.
        source: he_core::Error,
    },
    /// Keys that cannot be had from their place.
    #[error("evaluation keys at {url}: {why}")]
    Keys {
        /// Their place.
        url: String,
        /// The fault.
        why: String,
    },
    /// A place that cannot be used.
    #[error("{url}: {why}")]
    Place {
        /// The place.
        url: String,
        /// The fault, and the place to give instead.
        why: String,
    },
    /// Other keys than those that the query was planned with.
    #[error(
        "evaluation keys at {url} are of the key set {found}, where the query was planned for {expected}; plan it again"
    )]
    Changed {
        /// Their place.
        url: String,
        /// The key set found.
        found: String,
        /// The key set of the plan.
        expected: String,
    },
    /// A file that holds a secret where none belongs.
    #[error("{url} holds {found}, and servers never see a secret; give eval.key")]
    Secret {
        /// The place.
        url: String,
        /// The secret in the file.
        found: &'static str,
    },
    /// A table that cannot be made or read.
    #[error("{0}")]
    Table(String),
    /// The library.
    #[error(transparent)]
    Core(#[from] he_core::Error),
    /// Arrays and parameters of the library.
    #[error(transparent)]
    Any(he_any::Error),
    /// Files of the library.
    #[error(transparent)]
    Files(#[from] he_files::Error),
    /// Something is wrong with a file, a column or a table.
    #[error("{name}: {source}")]
    In {
        /// The file, the column or the table.
        name: String,
        /// The error.
        source: Box<Self>,
    },
    /// Something that is not a table.
    #[error("table {name} at {url}: {source}; a table is a Parquet file named .parquet, or a folder of them")]
    Registration {
        /// The name in queries.
        name: String,
        /// The place.
        url: String,
        /// The error.
        source: Box<Self>,
    },
    /// A function or an operator of clear columns, on an encrypted one.
    #[error("{what}; for encrypted columns write {instead}")]
    Unplanned {
        /// The message of the engine.
        what: String,
        /// The function to write in its place.
        instead: &'static str,
    },
    /// A process of a cluster that cannot be started or reached.
    #[error("{what}: {why}")]
    Cluster {
        /// The process and its address.
        what: String,
        /// The fault and the remedy.
        why: String,
    },
    /// An answer that took too long.
    #[error(
        "no answer after {seconds} s; on a cluster look whether executors are there and busy, and give a longer \
         --timeout if they are"
    )]
    Timeout {
        /// The time for which the answer was awaited.
        seconds: u32,
    },
    /// The engine.
    #[error("{}", engine_text(.0))]
    Engine(DataFusionError),
    /// Columns.
    #[error(transparent)]
    Arrow(#[from] datafusion::arrow::error::ArrowError),
    /// Parquet.
    #[error(transparent)]
    Parquet(#[from] datafusion::parquet::errors::ParquetError),
    /// CSV.
    #[error(transparent)]
    Csv(#[from] csv::Error),
    /// Files.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// A result with an error of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Executors send errors as this text to the client.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error {
    /// This error about a file, a column or a table.
    #[must_use]
    pub fn within(self, name: impl ToString) -> Self {
        Self::In { name: name.to_string(), source: Box::new(self) }
    }

    /// The remedy, where the text does not state it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::In { source, .. } => return source.hint(),
            Self::Files(he_files::Error::Output(OutputError::Exists { .. })) => {
                "choose another name, or replace it with --force"
            }
            Self::Files(he_files::Error::Table(TableError::DoubtfulMark { .. })) => {
                "give --decimal point or --decimal comma if it is decimal; otherwise remove it from the numbers"
            }
            Self::Files(he_files::Error::Table(TableError::Fields { .. } | TableError::Empty { .. })) => CSV,
            Self::Files(he_files::Error::Table(TableError::Field { problem: Problem::NotWhole, .. })) => {
                "bfv, bgv and tfhe take whole numbers: remove marks between thousands, round other numbers, or take \
                 keys of ckks"
            }
            Self::Files(error) => return error.hint(),
            Self::Engine(error) => match error.find_root() {
                DataFusionError::Plan(text) if text.contains("not supported") => {
                    "queries are SELECT and EXPLAIN; -o writes the answer"
                }
                DataFusionError::Plan(text) if text.contains("not found") => {
                    "name tables by --table NAME=URL, or files in the query: FROM 'sales.parquet'"
                }
                DataFusionError::SQL(..) => "docs/sql.md has examples; text is quoted by ', names by \"",
                DataFusionError::ParquetError(_) => DAMAGED,
                _ => return None,
            },
            Self::Parquet(_) | Self::Arrow(_) => DAMAGED,
            Self::Csv(_) => CSV,
            _ => return None,
        };
        Some(hint.to_owned())
    }

    /// Whether the reader of the output left.
    pub fn is_broken_pipe(&self) -> bool {
        let broken = |error: &std::io::Error| error.kind() == std::io::ErrorKind::BrokenPipe;
        match self {
            Self::Io(error) => broken(error),
            Self::Csv(error) => matches!(error.kind(), csv::ErrorKind::Io(error) if broken(error)),
            Self::Files(error) => error.is_broken_pipe(),
            _ => false,
        }
    }
}

/// The advice on how to hold values between these bounds.
fn larger(scheme: &str, low: f64, high: f64) -> String {
    // Results are below 2^bits in magnitude; the most bits that an option takes.
    let (option, all) = if scheme == "ckks" { ("--range", 30) } else { ("--bits", 58) };
    let most = low.abs().max(high.abs());
    let fewer = "a smaller --group-rows if groups are smaller, or smaller numbers";
    match (0..=all).find(|&bits| f64::from(bits).exp2() > most) {
        Some(bits) => {
            format!(
                "make keys with keygen {scheme} {option} {bits} or more and encrypt again, or take {fewer}"
            )
        }
        None => format!("keygen {scheme} {option} reaches {all}: take {fewer}"),
    }
}

/// The root of an engine's error, without the stages that it went through.
fn engine_text(error: &DataFusionError) -> String {
    match error.find_root() {
        DataFusionError::External(error) => error.to_string(),
        DataFusionError::ObjectStore(error) => crate::place::said(error),
        DataFusionError::SQL(error, _) => error.to_string(),
        DataFusionError::ParquetError(error) => error.to_string(),
        DataFusionError::ArrowError(error, _) => error.to_string(),
        DataFusionError::Internal(text) => text.clone(),
        root => {
            let line = root.message().lines().collect::<Vec<_>>().join(" ");
            of_executor(&line).map_or(line.clone(), str::to_owned)
        }
    }
}

/// The error of this crate in Ballista's message about a job that failed, such as
/// `Job 7 failed: Task failed: DataFusionError(External(a damaged cell))`.
fn of_executor(line: &str) -> Option<&str> {
    let (wrapper, rest) = line.strip_prefix("Job ")?.rsplit_once("External(")?;
    let mut text = rest.trim_end();
    for _ in 0..=wrapper.matches('(').count() {
        text = text.strip_suffix(')')?;
    }
    Some(text)
}

/// Errors of this crate come back from the engine as they were.
impl From<DataFusionError> for Error {
    fn from(error: DataFusionError) -> Self {
        match error {
            DataFusionError::External(error) => match error.downcast::<Self>() {
                Ok(own) => *own,
                Err(other) => Self::Engine(DataFusionError::External(other)),
            },
            error => Self::Engine(error),
        }
    }
}

impl From<Error> for DataFusionError {
    fn from(error: Error) -> Self {
        match error {
            Error::Engine(error) => error,
            error => Self::External(Box::new(error)),
        }
    }
}

impl From<he_any::Error> for Error {
    fn from(error: he_any::Error) -> Self {
        match error {
            he_any::Error::Core(error) => Self::Core(error),
            error => Self::Any(error),
        }
    }
}

impl From<he_core::wire::WireError> for Error {
    fn from(error: he_core::wire::WireError) -> Self {
        Self::Core(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_executors_are_unwrapped() {
        let own = Error::Table("a cell (the third) is damaged (twice)".to_owned());
        let told = format!("{:?}", DataFusionError::Shared(std::sync::Arc::new(own.into())));
        let job = format!("Job 7 failed: Task failed: DataFusionError({told})");
        let text = Error::from(DataFusionError::Execution(job)).to_string();
        assert_eq!(text, "a cell (the third) is damaged (twice)");
        for other in ["Job 7 failed: no room", "Job 7 failed: External(cut", "a table"] {
            assert_eq!(Error::from(DataFusionError::Execution(other.to_owned())).to_string(), other);
        }
    }
}
