//! Errors of databases for private look-ups.

use super::errors;

errors! {
    /// Files that do not serve a look-up.
    pub enum LookupError {
        /// A folder is not a database.
        NoDatabase { name: String }:
            ("{name} is not the folder of a database for look-ups"),
            ("prepare one first");
        /// A database exists already.
        Exists { name: String }:
            ("{name} is a database already"),
            ("choose another folder");
        /// The list of packs is not that of the description.
        Packs { name: String }:
            ("{name} does not have the packs that its description states"),
            ("get an undamaged copy of the folder");
        /// A file of records ends within a record.
        Records { name: String, found: u64, record: usize }:
            ("{name} has {found} bytes, which is not a multiple of the {record} bytes of a record"),
            ("pad each record to the same size");
        /// A line is not an entry.
        Entry { name: String, line: usize }:
            ("line {line} of {name} is not a key, a tab and a value"),
            ("write one entry per line");
        /// A value is longer than planned.
        [request] Value { name: String, line: usize, found: usize, limit: usize }:
            ("{name}: the value of line {line} has {found} bytes, and the database holds {limit}"),
            ("shorten it, or prepare a database of longer values");
    }
}
