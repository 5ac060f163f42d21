//! Errors of stages.

use std::io;
use std::path::{Path, PathBuf};

/// The errors of stages.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The program was started neither as a stage nor with one as its argument.
    #[error("{0:?} is not a stage of this workload; the stages are {1}")]
    Stage(String, String),
    #[error("{0:?} is not a workload; the workloads are {1}")]
    Workload(String, String),
    #[error("{0} is not a task; the tasks are {1}")]
    Task(String, String),
    #[error("{0} is not a flag; the flags are {1}")]
    Flag(String, String),
    #[error("{stage} needs {needed}")]
    Arguments { stage: String, needed: &'static str },
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{}: {source}", path.display())]
    Object { path: PathBuf, source: he::Error },
    #[error("{}: line {line} is not {needed}", path.display())]
    Line { path: PathBuf, line: u64, needed: &'static str },
    #[error("{}: {found} where {expected} are needed", path.display())]
    Count { path: PathBuf, found: String, expected: String },
    #[error("{}: the payload of record {row} has the number {found}, and only 0 to {limit} are encrypted", path.display())]
    Payload { path: PathBuf, row: u64, found: i16, limit: i16 },
    #[error("{0} records have scores between the bands, so that the answer is not exact")]
    Undecided(usize),
    #[error("the server: {0}")]
    Server(String),
    #[error(transparent)]
    Library(#[from] he::Error),
    #[error("the AES key: {0}")]
    Cipher(#[from] he::aes::AesError),
    #[error(transparent)]
    Network(#[from] he_nn::Error),
    #[error(transparent)]
    Search(#[from] he_search::Error),
}

impl Error {
    /// A file has something else than what is needed, in numbers.
    pub(crate) fn count(path: &Path, found: impl ToString, expected: impl ToString) -> Self {
        Self::Count { path: path.into(), found: found.to_string(), expected: expected.to_string() }
    }
}

/// Adds the file to an error.
pub(crate) trait At<T> {
    /// The result with an error that names this file.
    fn at(self, path: &Path) -> Result<T, Error>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, path: &Path) -> Result<T, Error> {
        self.map_err(|source| Error::File { path: path.into(), source })
    }
}

impl<T> At<T> for he::Result<T> {
    fn at(self, path: &Path) -> Result<T, Error> {
        self.map_err(|source| Error::Object { path: path.into(), source })
    }
}

impl<T> At<T> for Result<T, he::wire::WireError> {
    fn at(self, path: &Path) -> Result<T, Error> {
        self.map_err(he::Error::from).at(path)
    }
}
