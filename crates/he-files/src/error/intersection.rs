//! Errors of sets in common.

use super::errors;

errors! {
    /// Files that do not serve an intersection.
    pub enum IntersectionError {
        /// A folder has no set.
        NoSet { name: String }:
            ("{name} is not the folder of a set"),
            ("prepare one first");
        /// A line is not an item with a label.
        Entry { name: String, line: usize }:
            ("line {line} of {name} is not an item, a tab and a label"),
            ("write one item per line");
        /// A label is longer than planned.
        [request] Label { name: String, line: usize, found: usize, limit: usize }:
            ("{name}: the label of line {line} has {found} bytes, and the set holds {limit}"),
            ("shorten it, or prepare a set of longer labels");
    }
}
