//! Errors of traces.

use super::errors;

errors! {
    /// Files that are not traces, and traces of something else than they should be of.
    pub enum TraceError {
        /// It is not a trace.
        NotATrace { why: &'static str }:
            ("this is not a trace: {why}"), ("give the file that a computation was recorded in");
        /// It is of another version.
        Version { found: u32, supported: u32 }:
            ("version {found} of traces is unknown, this program reads version {supported}"),
            ("update the program");
        /// The root is not that of the rest.
        Root { found: String, expected: String }:
            ("the root of the trace is {found}, and that of its operations is {expected}"),
            ("get an undamaged copy of the trace");
        /// A value is used that is not there.
        NoValue { operation: usize, value: String }:
            ("operation {operation} of the trace takes a value that is not there before it: {value}"),
            ("trust nothing in it: no recorder writes such a trace");
        /// It is of another kind of program.
        Kind { found: &'static str, expected: &'static str }:
            ("the trace is of {found}, and not of {expected}"), ("give what it was recorded with");
        /// It is of another program.
        Program { found: String, expected: String }:
            ("the trace is of {found}, and not of {expected}"),
            ("ask whoever computed for a trace of the program that was asked for");
        /// The number of files is another one.
        Files { role: &'static str, found: usize, expected: usize }:
            ("the trace names {expected} {role} files, and {found} are given"),
            ("give those that the computation read, in the same order");
        /// A file is not the one that the trace names.
        File { name: String, role: &'static str, place: usize }:
            ("{name} is not {role} file {place} of the trace"),
            ("give the files of the computation in their order; if they are, it was computed with others");
        /// The operations are not those of the program.
        Steps { operation: usize }:
            ("operation {operation} of the trace is not the one that the program has there"),
            ("trust nothing in it: no recorder writes such a trace");
        /// A result is not the one that the trace ends in.
        Result { name: String }:
            ("{name} is not the result of the trace"),
            ("ask for the trace of this result, or for the result of this trace");
        /// A value was not kept.
        NotKept { name: String, operation: usize }:
            ("{name} is not there, which operation {operation} of the trace takes"),
            ("get it from whoever computed, who has to keep the values, or leave the folder of values out to compute everything before it as well");
        /// No operations are chosen.
        [request] NoOperations: ("no operations are chosen"), ("choose at least one");
        /// Two traces cannot be compared.
        NotAlike { what: &'static str }:
            ("the traces are of different {what}"),
            ("compare traces of one program on the same files: before operations can differ, agree on these");
    }
}
