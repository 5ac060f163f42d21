//! Everything that can go wrong between records and an answer that was read.

/// Result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The errors of `he-lookup`. Each names its subject; [`hint`](Self::hint) states the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A number of a plan is out of range.
    #[error("{what}: {found} is not between {lowest} and {highest}")]
    Range {
        /// The subject.
        what: &'static str,
        /// The number.
        found: u64,
        /// The least one.
        lowest: u64,
        /// The greatest one.
        highest: u64,
    },
    /// Records have another size than those of the plan.
    #[error("record {record} has {found} bytes, and those of this database have {expected}")]
    RecordBytes {
        /// The record, from 0.
        record: u64,
        /// Its bytes.
        found: usize,
        /// The bytes of the plan.
        expected: usize,
    },
    /// There would be more records than planned.
    #[error("there would be {found} records, and the database is planned for {planned}")]
    Full {
        /// The records.
        found: u64,
        /// The records of the plan.
        planned: u64,
    },
    /// A record does not exist.
    #[error("there is no record {found}: the database has {records}")]
    NoRecord {
        /// Its number, from 0.
        found: u64,
        /// The number of records.
        records: u64,
    },
    /// Records are asked for by the way that the database does not have.
    #[error("the database is looked up by {found}, and {needed} was given")]
    Way {
        /// The way of the database.
        found: &'static str,
        /// The way that was asked for.
        needed: &'static str,
    },
    /// A key occurs twice.
    #[error("a key occurs twice: entries {first} and {second}")]
    SameKey {
        /// An entry, from 0.
        first: usize,
        /// A later one.
        second: usize,
    },
    /// The keys of a shelf fit no arrangement.
    #[error("{keys} keys fit no arrangement under {attempts} seeds")]
    Arrangement {
        /// The keys of all shelves.
        keys: usize,
        /// The seeds that were tried.
        attempts: u32,
    },
    /// An object belongs to another database, or to another version of it.
    #[error("{what} is for database {found}, and this is {expected}")]
    OtherDatabase {
        /// The object.
        what: &'static str,
        /// The identity that it names.
        found: String,
        /// The identity of the database.
        expected: String,
    },
    /// An answer to a query of another client, or for another record.
    #[error("the answer is to another query than that of this client for this record")]
    ForeignAnswer,
    /// Bytes are not what they should be.
    #[error("{what} is damaged: {why}")]
    Damaged {
        /// The object.
        what: &'static str,
        /// The reason.
        why: String,
    },
    /// A description states parameters without security, under which queries hide nothing.
    #[error("the description states an insecure degree of 2^{log_n}, which hides nothing")]
    Insecure {
        /// log2 of the degree.
        log_n: u32,
    },
    /// More queries than one scan takes, or none.
    #[error("{found} queries were given, and a scan takes 1 to {most}")]
    Queries {
        /// The queries.
        found: usize,
        /// The queries of a scan.
        most: usize,
    },
    /// An error of the library below.
    #[error(transparent)]
    Core(#[from] he_core::Error),
}

impl From<he_core::params::ParamsError> for Error {
    fn from(error: he_core::params::ParamsError) -> Self {
        Self::Core(error.into())
    }
}

impl Error {
    /// Whether it is what was asked for that is wrong, rather than an object or a device.
    pub fn is_request(&self) -> bool {
        matches!(
            self,
            Self::Range { .. }
                | Self::Full { .. }
                | Self::NoRecord { .. }
                | Self::Way { .. }
                | Self::Queries { .. }
        )
    }

    /// The remedy, if there is one.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Range { .. } => "choose a number in this range",
            Self::RecordBytes { .. } => "pad records to the size that the database was planned with",
            Self::Full { .. } => "prepare a database that is planned for more",
            Self::NoRecord { .. } => "records are counted from 0",
            Self::Way { .. } => "ask by the way that the description of the database names",
            Self::SameKey { .. } => "keep one of the entries",
            Self::Arrangement { .. } => "plan for more keys",
            Self::OtherDatabase { .. } => "fetch the present description and query again",
            Self::ForeignAnswer => "read an answer by the key and for the record of its query",
            Self::Damaged { .. } => "fetch it again from where it was made",
            Self::Insecure { .. } => "do not query this database",
            Self::Queries { .. } => "answer them in several scans",
            Self::Core(error) => return error.hint().map(|hint| hint.to_string()),
        };
        Some(hint.to_owned())
    }
}
