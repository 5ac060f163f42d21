//! Openings: some operations of a trace, each with the proof that it belongs to the root.
//!
//! An auditor who knows the root asks for the operations that it has chosen, and gets these: 32
//! bytes for each row of the tree, and the digests of the values that the operation computes from
//! and makes. Names and order of all operations follow from the program, digests of inputs from the
//! inputs themselves.

use super::encoding::{Bytes, Rest, bad};
use super::{File, Program, Role, Trace, Value, context, leaf, read_file, root, top_over};
use crate::error::{Result, TraceError};
use crate::io::input::Input;
use crate::listing::Checksum;

/// The bytes with which files of openings start.
pub const MAGIC: &[u8; 8] = b"HE-OPENG";
/// The version.
const VERSION: u32 = 1;

/// An operation of an [`Opening`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Its place among all operations.
    pub operation: usize,
    /// The digests of those values that it computes from and other operations made, in order.
    pub of: Vec<Checksum>,
    /// The digests of its results.
    pub results: Vec<Checksum>,
    /// The nodes of the tree [beside](super::Tree::beside) its way to the top.
    pub beside: Vec<Checksum>,
}

/// Operations of a trace. They belong to the [`root`](Self::root) only once
/// [`check`](Self::check) has said so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    root: Checksum,
    program: Program,
    operations: usize,
    head: [Checksum; 2],
    /// The checksums of the frames of each file of keys.
    keys: Vec<Vec<Checksum>>,
    opened: Vec<Opened>,
    /// The frames of the result that opened operations made: the place of each after parameters
    /// and description, and its value.
    result: Vec<(u32, Value)>,
}

/// The program and the files of an auditor, from whom an opening has to follow.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// The files that were read, inputs before keys.
    pub files: &'a [File],
    /// The name of each operation and the values that it computes from.
    pub operations: &'a [(&'a str, &'a [Value])],
    /// The values that the frames of the result hold.
    pub result: &'a [Value],
}

impl Trace {
    /// Opens these operations. The last operations of an inference, which make its result, are
    /// opened as well.
    ///
    /// # Errors
    /// [`TraceError::NoOperations`] if there are none, or one is not there.
    pub fn open(&self, operations: &[usize]) -> Result<Opening> {
        let mut places = operations.to_vec();
        if matches!(self.program(), Program::Model(_)) {
            places.extend(self.result().iter().filter_map(maker));
        }
        places.sort_unstable();
        places.dedup();
        if operations.is_empty() || places.last().is_none_or(|&last| last >= self.operations().len()) {
            return Err(TraceError::NoOperations.into());
        }
        let opened = |&operation: &usize| {
            let stated = &self.operations()[operation];
            let made = stated.of.iter().filter(|value| maker(value).is_some());
            Opened {
                operation,
                of: made.filter_map(|&value| self.digest(value)).collect(),
                results: stated.results.clone(),
                beside: self.tree().beside(operation),
            }
        };
        let result = (0..).zip(self.result().iter().copied());
        let keys = self.files().iter().filter(|file| file.role == Role::Key);
        Ok(Opening {
            root: self.root(),
            program: self.program().clone(),
            operations: self.operations().len(),
            head: self.parts.head,
            keys: keys.map(|file| file.frames.clone()).collect(),
            opened: places.iter().map(opened).collect(),
            result: result.filter(|(_, value)| maker(value).is_some_and(|at| places.contains(&at))).collect(),
        })
    }
}

/// The operation that made a value.
fn maker(value: &Value) -> Option<usize> {
    match *value {
        Value::Result { operation, .. } => Some(operation as usize),
        Value::Frame { .. } => None,
    }
}

impl Opening {
    /// Reads an opening from a file.
    ///
    /// # Errors
    /// The errors of [`from_bytes`](Self::from_bytes); it cannot be read, or is too long.
    pub fn read(input: Input) -> Result<Self> {
        read_file(input, Self::from_bytes)
    }

    /// The root that the operations claim to belong to.
    pub fn root(&self) -> Checksum {
        self.root
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The number of all operations of the trace.
    pub fn operations(&self) -> usize {
        self.operations
    }

    /// The operations that are opened, in order.
    pub fn opened(&self) -> &[Opened] {
        &self.opened
    }

    /// The checksums of parameters and description of the result.
    pub fn head(&self) -> [Checksum; 2] {
        self.head
    }

    /// The frames of the result that opened operations made: the place of each among those of
    /// ciphertexts, and its checksum.
    pub fn result_frames(&self) -> impl Iterator<Item = (usize, Checksum)> {
        self.result.iter().filter_map(|&(place, value)| {
            let Value::Result { operation, part } = value else { return None };
            let made = self.find(operation as usize)?;
            Some((place as usize, *made.results.get(part as usize)?))
        })
    }

    /// The files of keys.
    pub fn keys(&self) -> impl Iterator<Item = File> {
        self.keys.iter().map(|frames| File { role: Role::Key, frames: frames.clone() })
    }

    /// An operation that is opened.
    pub fn find(&self, operation: usize) -> Option<&Opened> {
        let at = self.opened.binary_search_by_key(&operation, |opened| opened.operation).ok()?;
        Some(&self.opened[at])
    }

    /// Checks that the opened operations, with the names and values that the program gives them,
    /// belong to the root.
    ///
    /// # Errors
    /// [`TraceError::Steps`] if the trace has other operations than the program;
    /// [`TraceError::NotInTree`] with the first operation that does not belong to the root.
    pub fn check(&self, expected: &Expected<'_>) -> Result<()> {
        let count = expected.operations.len();
        if count != self.operations {
            return Err(TraceError::Steps { operation: count.min(self.operations) }.into());
        }
        let context = context(&self.program, expected.files);
        let made = |value: &Value| maker(value).is_some_and(|at| self.find(at).is_some());
        let result: Vec<(u32, Value)> =
            (0..).zip(expected.result.iter().copied()).filter(|(_, value)| made(value)).collect();
        for opened in &self.opened {
            let top = self.top(opened, &context, expected);
            let found = top.map(|top| root(&context, count, &top, &self.head, expected.result));
            if found != Some(self.root) || result != self.result {
                return Err(TraceError::NotInTree { operation: opened.operation }.into());
            }
        }
        Ok(())
    }

    /// The top of the tree over an opened operation.
    fn top(&self, opened: &Opened, context: &Checksum, expected: &Expected<'_>) -> Option<Checksum> {
        let &(name, of) = expected.operations.get(opened.operation)?;
        let mut made = opened.of.iter();
        let mut digest = |value: &Value| match *value {
            Value::Frame { file, frame } => {
                expected.files.get(file as usize)?.frames.get(frame as usize).copied()
            }
            Value::Result { .. } => made.next().copied(),
        };
        let of: Option<Vec<_>> = of.iter().map(|value| Some((*value, digest(value)?))).collect();
        let leaf = leaf(context, opened.operation, name, of?.into_iter(), &opened.results);
        let top = top_over(leaf, opened.operation, self.operations, &opened.beside)?;
        made.next().is_none().then_some(top)
    }

    /// The bytes of the opening.
    ///
    /// # Errors
    /// [`TraceError::NotATrace`] with more than 2^32 parts of a kind.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = Bytes(MAGIC.to_vec());
        bytes.0.extend(VERSION.to_le_bytes());
        bytes.0.extend(self.root);
        bytes.program(&self.program)?;
        bytes.count(self.operations)?;
        bytes.0.extend(self.head.as_flattened());
        bytes.count(self.keys.len())?;
        self.keys.iter().try_for_each(|frames| bytes.digests(frames))?;
        bytes.count(self.opened.len())?;
        for opened in &self.opened {
            bytes.count(opened.operation)?;
            [&opened.of, &opened.results, &opened.beside]
                .into_iter()
                .try_for_each(|list| bytes.digests(list))?;
        }
        bytes.count(self.result.len())?;
        for (place, value) in &self.result {
            bytes.0.extend(place.to_le_bytes());
            bytes.value(*value);
        }
        Ok(bytes.0)
    }

    /// Reads an opening. Its operations are in order; whether they belong to the root is not known.
    ///
    /// # Errors
    /// [`TraceError::NotATrace`], [`TraceError::Version`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut rest = Rest(bytes);
        rest.start(MAGIC, VERSION)?;
        let (root, program) = (rest.array()?, rest.program()?);
        let operations = rest.number()? as usize;
        let head = [rest.array()?, rest.array()?];
        let count = rest.count(4)?;
        let keys = (0..count).map(|_| rest.digests()).collect::<Result<_, _>>()?;
        let count = rest.count(4 * 4)?;
        let opened = (0..count).map(|_| rest.opened()).collect::<Result<Vec<_>, _>>()?;
        let count = rest.count(4 + 9)?;
        let result = (0..count).map(|_| Ok((rest.number()?, rest.value()?)));
        let result = result.collect::<Result<_, TraceError>>()?;
        let in_order = opened.windows(2).all(|pair| pair[0].operation < pair[1].operation);
        if !in_order || opened.last().is_none_or(|last| last.operation >= operations) {
            return Err(bad("its operations are not in order").into());
        }
        if !rest.0.is_empty() {
            return Err(bad("something follows it").into());
        }
        Ok(Self { root, program, operations, head, keys, opened, result })
    }
}

impl Rest<'_> {
    fn opened(&mut self) -> Result<Opened, TraceError> {
        Ok(Opened {
            operation: self.number()? as usize,
            of: self.digests()?,
            results: self.digests()?,
            beside: self.digests()?,
        })
    }
}
