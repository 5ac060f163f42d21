//! Traces: commitments to every operation of a computation on encrypted files.
//!
//! A trace names the program, the files that it read (inputs and evaluation keys, each as the
//! checksums of its frames), and its operations in order: each with the values that it computes
//! from and the checksums of its results. A value is a frame of ciphertexts, and its digest is the
//! frame's checksum, which files have anyway. Since the same files give the same bytes on every
//! device and for any number of threads, the same computation has one trace, and the
//! [`root`](Trace::root) of its Merkle tree stands for all of it: whoever publishes the root is
//! bound to every result in between.
//!
//! `docs/traces.md` describes why operations are of this size, and what a trace proves;
//! `docs/format.md` has the bytes.

mod encoding;
mod opening;
mod signed;
mod tree;

pub use encoding::{MAGIC, MAX_BYTES};
pub use opening::{Expected, MAGIC as OPENING_MAGIC, Opened, Opening};
pub use signed::{SIGNED, SignedRoot, SigningKey, VerifyingKey, unhex};
pub use tree::{Difference, Tree, top_over};

use crate::error::{Result, TraceError};
use crate::io::input::Input;
use crate::listing::Checksum;
use std::fmt;

/// Bytes in hexadecimal: 64 digits of a digest.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The computation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// An operation on files, as its one line of JSON.
    Operation(String),
    /// The inference of the compiled model whose file has this BLAKE3 hash.
    Model(Checksum),
    /// One operation of a trace with this [context](Trace::context), in parts.
    Parts {
        /// The digest of program and files of that trace.
        context: Checksum,
        /// The place of the operation in it.
        operation: u32,
    },
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operation(json) => write!(f, "the operation {json}"),
            Self::Model(hash) => write!(f, "the model {}", hex(hash)),
            Self::Parts { context, operation } => {
                write!(f, "the parts of operation {operation} of {}", hex(context))
            }
        }
    }
}

/// The purpose of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It holds inputs.
    Input,
    /// It holds evaluation keys.
    Key,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Input => "input",
            Self::Key => "key",
        })
    }
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its purpose.
    pub role: Role,
    /// The checksums of its frames, in order, without that of the end mark: the first two are those
    /// of parameters and description, and the others those of ciphertexts, or of keys one by one.
    pub frames: Vec<Checksum>,
}

/// A value that an operation computes from, or that is a part of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    /// A frame of a file.
    Frame {
        /// The file.
        file: u32,
        /// The frame.
        frame: u32,
    },
    /// A result of an operation.
    Result {
        /// The operation.
        operation: u32,
        /// Which of its results.
        part: u32,
    },
}

/// An operation: one unit of an audit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its name, which with the program says all of its parameters.
    pub name: String,
    /// The values that it computes from, in order: of inputs, and of operations before it.
    pub of: Vec<Value>,
    /// The checksums of the frames of its results.
    pub results: Vec<Checksum>,
}

/// The parts of a [`Trace`], before they are checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The program.
    pub program: Program,
    /// The files that were read.
    pub files: Vec<File>,
    /// The operations in order.
    pub operations: Vec<Operation>,
    /// The checksums of parameters and description of the result.
    pub head: [Checksum; 2],
    /// The values that the frames of the result hold.
    pub result: Vec<Value>,
}

/// A trace of a computation, whose values are all there: every operation computes from frames of
/// files and from results of operations before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    parts: Parts,
    tree: Tree,
    root: Checksum,
}

/// The most bytes of an operation's name.
pub const MAX_NAME: usize = 200;

/// Reads an object whose bytes are all of a file; errors name the file.
fn read_file<T>(input: Input, from_bytes: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
    let name = input.name().to_owned();
    let bytes = input.read_all(MAX_BYTES)?;
    from_bytes(&bytes).map_err(|error| error.in_file_of(&name))
}

impl Trace {
    /// Checks that every value is there before it is used.
    ///
    /// # Errors
    /// [`TraceError::NoValue`] if one is not; [`TraceError::NotATrace`] for operations without
    /// results, files without parameters and description, and names that are too long.
    pub fn new(parts: Parts) -> Result<Self> {
        check(&parts)?;
        let context = context(&parts.program, &parts.files);
        let digest = |value: &Value| digest_in(&parts, *value).unwrap_or_default();
        let leaf = |(index, Operation { name, of, results }): (usize, &Operation)| {
            leaf(&context, index, name, of.iter().map(|value| (*value, digest(value))), results)
        };
        let tree = Tree::new(parts.operations.iter().enumerate().map(leaf).collect());
        let root = root(&context, parts.operations.len(), &tree.top(), &parts.head, &parts.result);
        Ok(Self { parts, tree, root })
    }

    /// Reads a trace from a file.
    ///
    /// # Errors
    /// The errors of [`from_bytes`](Self::from_bytes); it cannot be read, or is too long.
    pub fn read(input: Input) -> Result<Self> {
        read_file(input, Self::from_bytes)
    }

    /// The root, which stands for all of the trace.
    pub fn root(&self) -> Checksum {
        self.root
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.parts.program
    }

    /// The files that were read.
    pub fn files(&self) -> &[File] {
        &self.parts.files
    }

    /// The operations in order.
    pub fn operations(&self) -> &[Operation] {
        &self.parts.operations
    }

    /// The values that the frames of the result hold.
    pub fn result(&self) -> &[Value] {
        &self.parts.result
    }

    /// The checksums of parameters and description of the result.
    pub fn head(&self) -> [Checksum; 2] {
        self.parts.head
    }

    /// The checksums of the frames of the result, without that of the end mark.
    pub fn result_frames(&self) -> Vec<Checksum> {
        let values = self.parts.result.iter().filter_map(|&value| self.digest(value));
        self.parts.head.into_iter().chain(values).collect()
    }

    /// The tree over the operations.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The digest of everything but operations and result: what two traces have in common that
    /// can be compared operation by operation.
    pub fn context(&self) -> Checksum {
        context(&self.parts.program, &self.parts.files)
    }

    /// All parts, to be altered.
    pub fn into_parts(self) -> Parts {
        self.parts
    }

    /// The digest of a value; `None` if it is not there.
    pub fn digest(&self, value: Value) -> Option<Checksum> {
        digest_in(&self.parts, value)
    }
}

fn digest_in(parts: &Parts, value: Value) -> Option<Checksum> {
    match value {
        Value::Frame { file, frame } => parts.files.get(file as usize)?.frames.get(frame as usize).copied(),
        Value::Result { operation, part } => {
            parts.operations.get(operation as usize)?.results.get(part as usize).copied()
        }
    }
}

/// Every value is there before it is used, and nothing is empty that must not be.
fn check(parts: &Parts) -> Result<()> {
    let bad = |why| Err(TraceError::NotATrace { why }.into());
    if parts.files.iter().any(|file| file.frames.len() < 2) {
        return bad("a file has no parameters or no description");
    }
    let is_there = |value: Value, before: usize| match value {
        Value::Frame { frame, .. } => frame >= 2 && digest_in(parts, value).is_some(),
        Value::Result { operation, .. } => (operation as usize) < before && digest_in(parts, value).is_some(),
    };
    for (index, operation) in parts.operations.iter().enumerate() {
        if operation.results.is_empty() || operation.of.is_empty() || operation.name.len() > MAX_NAME {
            return bad("an operation computes nothing, or from nothing");
        }
        if let Some(&value) = operation.of.iter().find(|&&value| !is_there(value, index)) {
            return Err(TraceError::NoValue { operation: index, value: format!("{value:?}") }.into());
        }
    }
    let count = parts.operations.len();
    match parts.result.iter().find(|&&value| !is_there(value, count)) {
        None => Ok(()),
        Some(value) => Err(TraceError::NoValue { operation: count, value: format!("{value:?}") }.into()),
    }
}

/// A hash with a length before each string, so that no two sequences are alike.
struct Hash(blake3::Hasher);

impl Hash {
    fn new(context: &str) -> Self {
        Self(blake3::Hasher::new_derive_key(context))
    }

    fn number(&mut self, number: usize) -> &mut Self {
        self.0.update(&(number as u64).to_le_bytes());
        self
    }

    fn string(&mut self, bytes: &[u8]) -> &mut Self {
        self.number(bytes.len()).digest(bytes)
    }

    fn digest(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update(bytes);
        self
    }

    fn digests(&mut self, digests: &[Checksum]) -> &mut Self {
        self.number(digests.len());
        self.digest(digests.as_flattened())
    }

    fn value(&mut self, value: Value) -> &mut Self {
        let (kind, a, b) = match value {
            Value::Frame { file, frame } => (0, file, frame),
            Value::Result { operation, part } => (1, operation, part),
        };
        self.number(kind).number(a as usize).number(b as usize)
    }

    fn finish(&self) -> Checksum {
        *self.0.finalize().as_bytes()
    }
}

fn context(program: &Program, files: &[File]) -> Checksum {
    let mut hash = Hash::new("he-files 2026-11 trace: program and files, version 1");
    match program {
        Program::Operation(json) => hash.number(0).string(json.as_bytes()),
        Program::Model(model) => hash.number(1).digest(model),
        Program::Parts { context, operation } => hash.number(2).digest(context).number(*operation as usize),
    };
    hash.number(files.len());
    for file in files {
        hash.number(file.role as usize).digests(&file.frames);
    }
    hash.finish()
}

/// The leaf of an operation, which holds the digests of all that it computes from.
fn leaf(
    context: &Checksum,
    index: usize,
    name: &str,
    of: impl ExactSizeIterator<Item = (Value, Checksum)>,
    results: &[Checksum],
) -> Checksum {
    let mut hash = Hash::new("he-files 2026-11 trace: operation, version 1");
    hash.digest(context).number(index).string(name.as_bytes()).number(of.len());
    for (value, digest) in of {
        hash.value(value).digest(&digest);
    }
    hash.digests(results).finish()
}

fn root(
    context: &Checksum,
    operations: usize,
    top: &Checksum,
    head: &[Checksum],
    result: &[Value],
) -> Checksum {
    let mut hash = Hash::new("he-files 2026-11 trace: root, version 1");
    hash.digest(context).number(operations).digest(top).digests(head);
    hash.number(result.len());
    for &value in result {
        hash.value(value);
    }
    hash.finish()
}

#[cfg(test)]
mod tests;
