//! Errors of operations on encrypted files.

use super::Error;

/// Operations that cannot be computed as they were asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OperationError {
    /// It is for other kinds of files.
    #[error("{name} is {what}, and {operation} is for {kinds}")]
    ForOthers {
        /// The file.
        name: String,
        /// The kind of the file, with its article.
        what: &'static str,
        /// The operation.
        operation: &'static str,
        /// The kinds that it is for.
        kinds: Box<str>,
        /// Files of its kind, `images` for one.
        kind: &'static str,
        /// The operations that the kind has.
        own: Box<str>,
    },
    /// The scheme does not have it.
    #[error("{scheme} has no {operation}")]
    OfScheme {
        /// The scheme.
        scheme: &'static str,
        /// The operation.
        operation: &'static str,
        /// The operations that the scheme has.
        operations: String,
    },
    /// It takes another number of files.
    #[error("{operation} takes {needed} encrypted files, and {found} are given")]
    Inputs {
        /// The operation.
        operation: &'static str,
        /// The number given.
        found: usize,
        /// The number needed.
        needed: usize,
    },
    /// There is nothing to multiply with.
    #[error("{operation} needs a second operand")]
    OneOperand {
        /// The operation.
        operation: &'static str,
        /// The parameter that can stand for it.
        or: &'static str,
    },
    /// Other than two columns are named.
    #[error("{found} columns given")]
    Columns {
        /// The number given.
        found: usize,
    },
    /// A Gaussian is wider than any tile.
    #[error("a Gaussian of sigma {sigma} reaches {wide} pixels to each side (3 sigma)")]
    WideGaussian {
        /// Its standard deviation.
        sigma: f64,
        /// Its radius.
        wide: usize,
        /// The greatest radius.
        most: usize,
    },
    /// A Gaussian whose radius follows from sigma does not fit the file.
    #[error("a Gaussian of sigma {sigma} has radius {radius} (3 sigma): {source}")]
    Gaussian {
        /// Its standard deviation.
        sigma: f64,
        /// Its radius.
        radius: usize,
        /// The reason.
        source: Box<Error>,
    },
    /// A number or matrix cannot be used.
    #[error("{source}")]
    Value {
        /// The reason.
        source: Box<Error>,
    },
    /// The results of this operation keep their levels.
    #[error("{operation} of such a file drops no levels")]
    NoLevels {
        /// The operation.
        operation: &'static str,
        /// The operations whose results need not.
        others: String,
    },
    /// Nothing is left to compute with, after a statistic that dropped levels.
    #[error("{source}")]
    AfterStatistic {
        /// The statistic.
        statistic: String,
        /// The lack that the library found.
        source: Box<Error>,
    },
    /// Too little is left for a refresh.
    #[error("{source}")]
    TooLate {
        /// The needs of a refresh: levels, or bits of noise budget.
        needed: String,
        /// The lack that the library found.
        source: Box<Error>,
    },
}

impl OperationError {
    /// The advice on this error, if there is any.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::ForOthers { kind: "images", own, .. } => {
                format!("images have {own}; their pixels can be summed where they are encrypted as a table")
            }
            Self::ForOthers { kind, own, .. } => format!("{kind} have {own}"),
            Self::OfScheme { scheme, operations, .. } => format!("under {scheme} there are: {operations}"),
            Self::Inputs { needed, .. } => format!("give {needed}"),
            Self::OneOperand { or, .. } => format!("give {or}, or another table"),
            Self::Columns { .. } => "give two".to_owned(),
            Self::WideGaussian { most, .. } => {
                format!("choose a sigma up to {}: no tile holds more than {most}", most / 3)
            }
            Self::Gaussian { source, .. } => return source.hint(),
            Self::Value { source } => {
                source.hint().unwrap_or_else(|| "give finite numbers of ordinary size".to_owned())
            }
            Self::NoLevels { others, .. } => format!("leave it out: {others} drop levels"),
            Self::AfterStatistic { statistic, source } => {
                let hint = source.hint()?;
                format!("compute the {statistic} again and keep its levels; or {hint}")
            }
            Self::TooLate { needed, .. } => {
                format!("refresh earlier, while at least {needed} are left")
            }
        })
    }

    /// Whether it is what was asked for that is wrong.
    pub fn is_request(&self) -> bool {
        match self {
            Self::Inputs { .. }
            | Self::OneOperand { .. }
            | Self::Columns { .. }
            | Self::WideGaussian { .. }
            | Self::Value { .. }
            | Self::NoLevels { .. } => true,
            Self::Gaussian { source, .. }
            | Self::AfterStatistic { source, .. }
            | Self::TooLate { source, .. } => source.is_request(),
            Self::ForOthers { .. } | Self::OfScheme { .. } => false,
        }
    }
}
