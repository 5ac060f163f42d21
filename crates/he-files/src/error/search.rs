//! Errors of indexes, queries and answers.

use super::errors;

errors! {
    /// Files that do not serve a search.
    pub enum SearchError {
        /// A folder is not an index.
        NoIndex { name: String }:
            ("{name} is not the folder of an index"),
            ("create one first");
        /// An index exists already.
        Exists { name: String }:
            ("{name} is an index already"),
            ("choose another folder");
        /// The description of an index is damaged.
        Description { name: String, why: String }:
            ("{name} does not describe an index: {why}"),
            ("get an undamaged copy of the folder");
        /// A version of indexes that is not read.
        Version { name: String, found: u64, newest: u64 }:
            ("{name} is of version {found}, and this program reads {newest}"),
            ("update the program");
        /// A file is of another part of a search.
        Part { name: String, found: String, needed: &'static str }:
            ("{name} holds {found}, and {needed} is needed"),
            ("give the file that a search wrote for this");
        /// A file belongs to another index.
        OtherPlan { name: String, index: String }:
            ("{name} was made for another plan than {index}"),
            ("make it for this index");
        /// Keys are of other parameters.
        OtherKeys { key: String, index: String }:
            ("{key} has other parameters than {index}"),
            ("use keys that were made for this index");
        /// Records were encrypted by other keys.
        OtherOwner { key: String, set: String, index: String, own: String }:
            ("{key} is of key set {set}, and the records of {index} are of {own}"),
            ("use the keys that the first records were encrypted with");
        /// A table has no rows.
        NoVectors { name: String }:
            ("there is no vector in {name}"),
            ("write one vector per row");
        /// The query is not one vector.
        Rows { name: String, found: usize }:
            ("{name} has {found} rows, and a query is one vector"),
            ("give a table of one row");
        /// A payload is longer than planned.
        [request] Payload { name: String, row: usize, found: usize, limit: usize }:
            ("{name}: the payload of row {row} has {found} bytes, and the index holds {limit}"),
            ("shorten it, or make an index of longer payloads");
        /// The answer to a search cannot be read as something else.
        Decrypt { name: String }:
            ("{name} is a part of a search, which decrypt does not read"),
            ("read it as the answer to a search");
    }
}
