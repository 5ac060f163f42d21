//! Errors of arrays.

use crate::layout::LayoutError;
use he_core::wire::FrameKind;

/// The errors of operations on arrays.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The library.
    #[error(transparent)]
    Core(#[from] he_core::Error),
    /// Shapes that do not fit together, or results that may leave the range of a ciphertext.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// No bytes in the place of parameters.
    #[error("no bytes, where parameters are expected")]
    NoParams,
    /// Bytes of something else.
    #[error("{found}, where parameters are expected")]
    NotParams {
        /// The kind of their frame.
        found: FrameKind,
    },
    /// Real numbers for BFV or BGV.
    #[error("real numbers, where integers are expected")]
    NotIntegers,
    /// A variance of complex numbers.
    #[error(
        "the variance of complex numbers; that of real and imaginary parts, encrypted apart, is computed"
    )]
    ComplexVariance,
    /// A column that is longer than the vectors that a matrix maps.
    #[error("a column of {size} values for a matrix; one ciphertext has {slots} slots")]
    Column {
        /// The values of the column.
        size: usize,
        /// The slots of a ciphertext.
        slots: usize,
    },
    /// An integer without an opposite.
    #[error("{value} is out of range")]
    OutOfRange {
        /// The integer.
        value: i64,
    },
    /// A matrix without rows, or no places or arrays.
    #[error("{what}")]
    Nothing {
        /// The thing that is missing, in words.
        what: &'static str,
    },
    /// Parameters without bootstrapping.
    #[error("these parameters have no bootstrapping")]
    NoBootstrapping,
    /// A product without keys.
    #[error("a product without evaluation keys")]
    NoKeys,
}

impl From<he_core::params::ParamsError> for Error {
    fn from(error: he_core::params::ParamsError) -> Self {
        Self::Core(error.into())
    }
}

impl From<he_core::wire::WireError> for Error {
    fn from(error: he_core::wire::WireError) -> Self {
        Self::Core(error.into())
    }
}

/// A result with an error of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
