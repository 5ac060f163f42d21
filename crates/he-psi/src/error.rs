//! Everything that can go wrong between two sets and their intersection.

/// Result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The errors of `he-psi`. Each names its subject; [`hint`](Self::hint) states the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A size for which nothing is planned.
    #[error("{what}: {found} is not planned, only {lowest} to {highest}")]
    Size {
        /// The size.
        what: &'static str,
        /// Its value.
        found: u64,
        /// The least value.
        lowest: u64,
        /// The greatest value.
        highest: u64,
    },
    /// No secure parameters have room for these sizes.
    #[error("no parameters of 128-bit security serve {server} items of a server and {client} of a client")]
    NoParameters {
        /// The items of the server.
        server: u64,
        /// The items of the client.
        client: u64,
    },
    /// An item is too long.
    #[error("item {item} has {found} bytes, {limit} is the limit")]
    ItemLength {
        /// The item, from 0.
        item: usize,
        /// Its bytes.
        found: usize,
        /// The greatest number of bytes.
        limit: usize,
    },
    /// Another number of labels than of items.
    #[error("there are {found} labels for {expected} items")]
    Labels {
        /// The labels.
        found: usize,
        /// The items.
        expected: usize,
    },
    /// A label of another length than planned.
    #[error("label {item} has {found} bytes, and the set has labels of {expected}")]
    LabelLength {
        /// The item, from 0.
        item: usize,
        /// The bytes of its label.
        found: usize,
        /// The bytes of every label.
        expected: usize,
    },
    /// An item that is in the set with another label.
    #[error("item {item} has another label in the set")]
    LabelConflict {
        /// The item, from 0.
        item: usize,
    },
    /// An item to be removed that is not in the set.
    #[error("item {item} is not in the set")]
    NoItem {
        /// The item, from 0.
        item: usize,
    },
    /// The hashes of a client's items find no places in the table.
    #[error("{items} items find no places in a table of {bins} bins")]
    Table {
        /// The items.
        items: usize,
        /// The bins.
        bins: usize,
    },
    /// Bytes that are not an element of the group other than the identity.
    #[error("point {at} is not an element of ristretto255 other than the identity")]
    Point {
        /// The point, from 0.
        at: usize,
    },
    /// A message made under another plan.
    #[error("{object} belongs to plan {found}, not {expected}")]
    Plan {
        /// The message.
        object: &'static str,
        /// The plan of the message, in hexadecimal digits.
        found: String,
        /// The plan at hand.
        expected: String,
    },
    /// A message made for another key of a server.
    #[error("{object} was made for server key {found}, not {expected}")]
    ServerKey {
        /// The message.
        object: &'static str,
        /// The identity of the message's key, in hexadecimal digits.
        found: String,
        /// The identity of the key at hand.
        expected: String,
    },
    /// A message with other parts than the parameters prescribe.
    #[error("{object} has {found} {part}, and {expected} are expected")]
    Shape {
        /// The message.
        object: &'static str,
        /// The part that differs.
        part: &'static str,
        /// Its number.
        found: usize,
        /// The expected number.
        expected: usize,
    },
    /// Bytes that are not such an object.
    #[error("these bytes are not {object}: {reason}")]
    Bytes {
        /// The object that was expected.
        object: &'static str,
        /// The first field that is wrong.
        reason: &'static str,
    },
    /// An operation on ciphertexts failed.
    #[error("{}", .0.message())]
    Core(#[from] he_core::Error),
    /// Parameters do not exist.
    #[error(transparent)]
    Params(#[from] he_core::params::ParamsError),
}

impl Error {
    /// Whether it is what was asked for that is wrong, rather than a message or a device.
    pub fn is_request(&self) -> bool {
        matches!(
            self,
            Self::Size { .. }
                | Self::NoParameters { .. }
                | Self::ItemLength { .. }
                | Self::Labels { .. }
                | Self::LabelLength { .. }
                | Self::LabelConflict { .. }
                | Self::NoItem { .. }
        )
    }

    /// The remedy, if there is one.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Size { .. } => "plan sizes in this range, or ask several times",
            Self::NoParameters { .. } => "share the set among several servers, or shorten the labels",
            Self::ItemLength { .. } => "take a hash of longer items",
            Self::Labels { .. } => "pass one label per item",
            Self::LabelLength { .. } => "pad all labels to one length",
            Self::LabelConflict { .. } => "remove the item first, or keep one of its labels",
            Self::NoItem { .. } => "name an item of the set",
            Self::Table { .. } => "leave out an item, and ask for it alone",
            Self::Point { .. } | Self::Bytes { .. } => "get an undamaged copy of the message",
            Self::Plan { .. } => "make all messages by one plan",
            Self::ServerKey { .. } => "begin again with a request to this server",
            Self::Shape { .. } => "get an undamaged copy that was made by this plan",
            Self::Core(error) => return error.hint(),
            Self::Params(_) => return None,
        };
        Some(hint.to_owned())
    }
}
