//! Why a measurement did not come to its end.

use he_core::aes::AesError;
use he_core::params::ParamsError;
use he_cuda::gpu;
use std::fmt::Display;
use std::io;

/// Result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong in `he-bench`.
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
    /// The operating system starts no more threads.
    #[error("cannot start {threads} threads: {reason}")]
    Threads {
        /// How many threads were to be started.
        threads: usize,
        /// What the operating system says.
        reason: String,
    },
    /// A result is wrong, which no measurement may pass over.
    #[error("{what}")]
    WrongResult {
        /// Which results of what are wrong.
        what: String,
    },
    /// A table cannot be drawn.
    #[error("cannot draw a plot: {reason}")]
    Plot {
        /// What the drawing library says.
        reason: String,
    },
    /// Whoever takes the tables or the results cannot write them.
    #[error("cannot write {name}: {source}")]
    Write {
        /// What was to be written.
        name: String,
        /// The operating system's error.
        source: io::Error,
    },
}

impl Error {
    /// What to do about it, where the message does not say that.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Threads { .. } => Some("allow this program more threads, or fewer with RAYON_NUM_THREADS"),
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
