//! Errors, which say what to do.

use datafusion::common::DataFusionError;
use he_files::layout::LayoutError;

/// What can go wrong between a query and its answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Metadata of a column that describe no ciphertexts.
    #[error("column {column}: damaged metadata of ciphertexts ({why}); write the file again")]
    Metadata {
        /// The column.
        column: String,
        /// What is wrong with them.
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
        /// How many were given.
        found: usize,
        /// How many it takes.
        expected: &'static str,
    },
    /// A column of other parameters than the keys.
    #[error(
        "column {column} is of {found}, where the keys are of {expected}; give the evaluation key of the set \
         that encrypted it"
    )]
    Params {
        /// The column.
        column: String,
        /// Its scheme and parameters.
        found: String,
        /// Those of the keys.
        expected: String,
    },
    /// A column of another key set.
    #[error(
        "column {column} is of the key set {found}, where the keys are of {expected}; give the evaluation key of \
         the set that encrypted it"
    )]
    KeySet {
        /// The column.
        column: String,
        /// Its key set.
        found: String,
        /// That of the keys.
        expected: String,
    },
    /// An operation that leaves nothing to decrypt, or that needs a key that is not there.
    #[error("{function} of {column}: {source}")]
    Operation {
        /// The function.
        function: String,
        /// The columns.
        column: String,
        /// What the library says.
        source: he_core::Error,
    },
    /// Columns whose values lie differently in their ciphertexts.
    #[error("{function} of {column}: {source}")]
    Layout {
        /// The function.
        function: String,
        /// The columns.
        column: String,
        /// What the library says.
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
    /// A function that a scheme does not have.
    #[error("{function} of {column}, which is of {scheme}: {instead}")]
    Scheme {
        /// The function.
        function: String,
        /// The column.
        column: String,
        /// Its scheme.
        scheme: &'static str,
        /// What to take in its place.
        instead: &'static str,
    },
    /// A clear number that a function cannot take.
    #[error("{function}: {value} as {what}; {instead}")]
    Number {
        /// The function.
        function: String,
        /// The number.
        value: String,
        /// What it is for.
        what: &'static str,
        /// What is expected.
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
    /// A cell that is not what its column says.
    #[error("{what}: {source}; get an undamaged copy of the file")]
    Cell {
        /// The cell.
        what: String,
        /// What the library says.
        source: he_core::Error,
    },
    /// Keys that cannot be had from their place.
    #[error("evaluation keys at {url}: {why}")]
    Keys {
        /// Their place.
        url: String,
        /// What is wrong.
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
        /// What it holds.
        found: &'static str,
    },
    /// A table that cannot be made or read.
    #[error("{0}")]
    Table(String),
    /// The library.
    #[error(transparent)]
    Core(#[from] he_core::Error),
    /// Files of the library.
    #[error(transparent)]
    Files(#[from] he_files::Error),
    /// The engine.
    #[error(transparent)]
    Engine(#[from] DataFusionError),
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

impl From<Error> for DataFusionError {
    fn from(error: Error) -> Self {
        match error {
            Error::Engine(error) => error,
            error => Self::External(Box::new(error)),
        }
    }
}

impl From<he_core::wire::WireError> for Error {
    fn from(error: he_core::wire::WireError) -> Self {
        Self::Core(error.into())
    }
}
