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
        /// It is not a key for signatures.
        NotASigner { name: String }:
            ("{name} is not a key of Ed25519 in PEM"),
            ("give a key that was made for signatures, PKCS#8 or its public key, as openssl genpkey -algorithm ed25519 makes one");
        /// It is not a signed root.
        NotSigned { name: String }:
            ("{name} is not the signed root of a trace"), ("give the line of JSON that whoever computed has published");
        /// The root is another one than the one that was signed.
        OtherRoot { found: String, expected: String }:
            ("the root {expected} was signed, and that of the trace is {found}"),
            ("keep both: whoever signed a root and shows the trace of another one has cheated");
        /// Somebody else signed.
        Signer { found: String, expected: String }:
            ("the root was signed by {found}, and not by {expected}"),
            ("give the public key of whoever computed, from whoever computed");
        /// The signature is not valid.
        Signature { signer: String }:
            ("the signature of {signer} on the root is not valid"),
            ("trust nothing in it: ask whoever computed for the root again");
        /// An opening has other operations than those that were chosen.
        Opened { found: usize, expected: usize, operation: usize }:
            ("{found} operations are opened and {expected} were chosen, of which operation {operation} is not opened"),
            ("ask for the operations that were chosen: an opening of others proves nothing");
        /// An operation of an opening is not in the tree.
        NotInTree { operation: usize }:
            ("operation {operation} with these inputs and keys does not belong to the root of the opening"),
            ("give the inputs and keys of the computation in their order; if they are, it was computed with others or the opening is false");
        /// An operation has no parts.
        [request] NoParts { operation: usize, found: String }:
            ("operation {operation} of the trace, {found}, is not a linear layer, which alone has parts"),
            ("judge the whole operation");
        /// The parts are not those of the operation.
        Parts { operation: usize, part: usize }:
            ("part {part} of operation {operation} is not the one that the model has there"),
            ("trust nothing in it: no recorder writes such parts");
        /// The parts lead to another result.
        PartsResult { operation: usize }:
            ("the parts do not lead to the result that the trace states of operation {operation}"),
            ("whoever stated this result is wrong there, or has to record the parts on the device that computed");
        /// It is not a value between parts.
        NotAPair { name: String, why: &'static str }:
            ("{name} is not a value between parts of an operation: {why}"),
            ("get it from whoever recorded the parts");
        /// No operations are chosen.
        [request] NoOperations: ("no operations are chosen"), ("choose at least one");
        /// Two traces cannot be compared.
        NotAlike { what: &'static str }:
            ("the traces are of different {what}"),
            ("compare traces of one program on the same files: before operations can differ, agree on these");
    }
}
