//! Everything that can go wrong between vectors and the answer to a query.

/// Result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The errors of `he-search`. Each names its subject; [`hint`](Self::hint) states the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A dimension for which no parameters are planned.
    #[error("vectors of dimension {found} are not searched, only those of {lowest} to {highest}")]
    DimensionRange {
        /// The dimension.
        found: usize,
        /// The least dimension.
        lowest: usize,
        /// The greatest dimension.
        highest: usize,
    },
    /// A vector has another dimension than the index.
    #[error("vector {vector} has {found} coordinates, and the index has {expected}")]
    Dimension {
        /// The vector, from 0.
        vector: usize,
        /// Its coordinates.
        found: usize,
        /// The dimension of the index.
        expected: usize,
    },
    /// A coordinate is not a finite number.
    #[error("coordinate {at} of vector {vector} is {value}, which is not a finite number")]
    Coordinate {
        /// The vector, from 0.
        vector: usize,
        /// The coordinate, from 0.
        at: usize,
        /// Its value.
        value: f64,
    },
    /// A vector is too short or too long for the metric.
    #[error("vector {vector} has norm {found:e}, and norms from {lowest:e} to {highest:e} are searched")]
    Norm {
        /// The vector, from 0.
        vector: usize,
        /// Its norm.
        found: f64,
        /// The least norm.
        lowest: f64,
        /// The greatest norm.
        highest: f64,
    },
    /// The greatest norm of a metric is not a positive number.
    #[error("the greatest norm is {found}, and it must be a positive number below {highest:e}")]
    GreatestNorm {
        /// The norm.
        found: f64,
        /// The bound of such norms.
        highest: f64,
    },
    /// Bands of scores that are not in order, or reach beyond those that exist.
    #[error(
        "the bands [{lowest}, {below}] and [{above}, {highest}] are not two intervals of scores in \
         ascending order within [-1, 1]"
    )]
    Bands {
        /// The lower end of the lower band.
        lowest: f64,
        /// The upper end of the lower band.
        below: f64,
        /// The lower end of the upper band.
        above: f64,
        /// The upper end of the upper band.
        highest: f64,
    },
    /// The gap between the bands is too narrow for the polynomials that are tried.
    #[error(
        "a step polynomial of degree {degree} has an error of {found:.1e} on these bands, and \
         {needed:.1e} is needed"
    )]
    Gap {
        /// The highest degree that was tried.
        degree: usize,
        /// Its largest error.
        found: f64,
        /// The largest error that keeps answers exact.
        needed: f64,
    },
    /// More records than positions.
    #[error("{found} records are too many, {limit} is the limit")]
    Records {
        /// The records.
        found: u64,
        /// The greatest number.
        limit: u64,
    },
    /// More segments than the parameters were planned for.
    #[error("segment {found} exceeds the {planned} that the parameters were planned for")]
    Segments {
        /// The number of segments that there would be.
        found: usize,
        /// The number for which errors were bounded.
        planned: usize,
    },
    /// Records that do not fit the slots of a segment.
    #[error("{found} records from slot {start} on exceed the {slots} slots of a segment")]
    SegmentFull {
        /// The records.
        found: usize,
        /// The first slot.
        start: usize,
        /// The slots of a segment.
        slots: usize,
    },
    /// A position without a record.
    #[error("slot {slot} of segment {segment} holds no record, of {records} in {segments} segments")]
    NoRecord {
        /// The segment, from 0.
        segment: usize,
        /// The slot, from 0.
        slot: usize,
        /// The records of the index.
        records: usize,
        /// The segments of the index.
        segments: usize,
    },
    /// Payloads longer than planned.
    #[error("payloads of {found} bytes are not planned, {limit} is the limit")]
    PayloadLimit {
        /// The bytes.
        found: usize,
        /// The greatest number of bytes.
        limit: usize,
    },
    /// Another number of payloads than of vectors.
    #[error("there are {found} payloads for {expected} vectors")]
    Payloads {
        /// The payloads.
        found: usize,
        /// The vectors.
        expected: usize,
    },
    /// A payload of another length than planned.
    #[error("payload {record} has {found} bytes, and the index has payloads of {expected}")]
    PayloadLength {
        /// The record, from 0.
        record: usize,
        /// Its bytes.
        found: usize,
        /// The bytes of every payload.
        expected: usize,
    },
    /// An operation that the parameters are not planned for.
    #[error("parameters for {found} do not serve {needed}")]
    Task {
        /// The task of the parameters.
        found: &'static str,
        /// The task that is asked for.
        needed: &'static str,
    },
    /// An object has other ciphertexts than the parameters prescribe.
    #[error("{object} has {found} {part}, and these parameters prescribe {expected}")]
    Shape {
        /// The object.
        object: &'static str,
        /// The part that differs.
        part: &'static str,
        /// Its number.
        found: usize,
        /// The number of the parameters.
        expected: usize,
    },
    /// Matches that cannot be told apart.
    #[error("{left} of {matches} matches share their slots with others in both arrangements")]
    Tangled {
        /// The matches that remain.
        left: usize,
        /// All matches.
        matches: usize,
    },
    /// An operation on ciphertexts failed.
    #[error("{}", .0.message())]
    Core(#[from] he_core::Error),
    /// Parameters do not exist.
    #[error(transparent)]
    Params(#[from] he_core::params::ParamsError),
}

impl Error {
    /// Whether it is what was asked for that is wrong, rather than a file or a device.
    pub fn is_request(&self) -> bool {
        !matches!(self, Self::Shape { .. } | Self::Tangled { .. } | Self::Core(_) | Self::Params(_))
    }

    /// The remedy, if there is one.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::DimensionRange { .. } => "bring the vectors to a dimension in this range",
            Self::Dimension { .. } => "take vectors of one model",
            Self::Coordinate { .. } => "replace it by a number, or leave the vector out",
            Self::Norm { .. } => "scale the vectors, or plan a greater norm",
            Self::GreatestNorm { .. } => "state the greatest norm of the vectors",
            Self::Bands { .. } => "choose a threshold and a margin that lie within the range of scores",
            Self::Gap { .. } => "widen the margin, shorten payloads, or plan fewer records",
            Self::Records { .. } => "share the records among several indexes",
            Self::Segments { .. } => "merge segments, or plan an index of more records",
            Self::SegmentFull { .. } => "begin a new segment",
            Self::NoRecord { .. } => "name a record of the index",
            Self::PayloadLimit { .. } => "store keys of longer data as payloads",
            Self::Payloads { .. } => "pass one payload per vector",
            Self::PayloadLength { .. } => "pad all payloads to one length",
            Self::Task { .. } => "plan parameters for this task",
            Self::Shape { .. } => "get an undamaged copy that was made for this index",
            Self::Tangled { .. } => "raise the threshold, or ask fewer segments at once",
            Self::Core(error) => return error.hint(),
            Self::Params(_) => return None,
        };
        Some(hint.to_owned())
    }
}
