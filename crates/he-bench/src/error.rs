//! The reasons why a measurement did not complete.

use he_core::aes::AesError;
use he_core::params::ParamsError;
use he_cuda::gpu;
use std::fmt::Display;
use std::io;

/// Result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The errors of `he-bench`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An operation of the library failed.
    #[error(transparent)]
    Core(#[from] he_core::Error),
    /// A cipher failed.
    #[error(transparent)]
    Aes(#[from] AesError),
    /// A device failed.
    #[error(transparent)]
    Gpu(#[from] gpu::Error),
    /// The operating system cannot start more threads.
    #[error("cannot start {threads} threads: {reason}")]
    Threads {
        /// The number of threads to be started.
        threads: usize,
        /// The error of the operating system.
        reason: String,
    },
    /// A model or its data cannot be used.
    #[error("{name}: {reason}")]
    Model {
        /// The file.
        name: String,
        /// The fault.
        reason: String,
    },
    /// A model cannot be compiled or computed.
    #[error(transparent)]
    Network(#[from] he_nn::Error),
    /// The values of a computation cannot be recorded.
    #[error(transparent)]
    Files(#[from] he_files::Error),
    /// A database cannot be looked up.
    #[error(transparent)]
    Lookup(#[from] he_lookup::Error),
    /// Sets cannot be intersected.
    #[error(transparent)]
    Sets(#[from] he_psi::Error),
    /// A result is wrong, which a measurement must not ignore.
    #[error("{what}")]
    WrongResult {
        /// The wrong results and their operation.
        what: String,
    },
    /// A table cannot be drawn.
    #[error("cannot draw a plot: {reason}")]
    Plot {
        /// The error of the drawing library.
        reason: String,
    },
    /// A file of data cannot be read.
    #[error("cannot read {name}: {source}")]
    Read {
        /// The file.
        name: String,
        /// The operating system's error, or that of the decompression.
        source: io::Error,
    },
    /// A file holds something else than the data that are measured on.
    #[error("{name} is not a file of digits: {reason}")]
    Data {
        /// The file.
        name: String,
        /// The fault.
        reason: String,
    },
    /// The tables or the results cannot be written.
    #[error("cannot write {name}: {source}")]
    Write {
        /// The object to be written.
        name: String,
        /// The operating system's error.
        source: io::Error,
    },
}

impl Error {
    /// The remedy, if the message does not state it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Threads { .. } => Some("allow this program more threads, or fewer with RAYON_NUM_THREADS"),
            Self::Read { .. } | Self::Data { .. } => {
                Some("name the folder with train.gz and test.gz: models/mnist of the repository")
            }
            Self::Model { .. } => Some("give the folder of the models with --folder"),
            Self::WrongResult { .. } => Some("report it as a bug of this program"),
            _ => None,
        }
    }

    /// `name` cannot be written.
    pub fn write(name: impl Display, source: io::Error) -> Self {
        Self::Write { name: name.to_string(), source }
    }
}

impl From<ParamsError> for Error {
    fn from(error: ParamsError) -> Self {
        Self::Core(error.into())
    }
}
