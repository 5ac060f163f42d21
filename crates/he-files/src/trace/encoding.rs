//! Traces as bytes: one string for each trace, whose numbers all have one length.

use super::{File, MAX_NAME, Operation, Parts, Program, Role, Trace, Value};
use crate::error::{Result, TraceError};
use crate::listing::Checksum;

/// The bytes with which files of traces start.
pub const MAGIC: &[u8; 8] = b"HE-TRACE";
/// The version.
const VERSION: u32 = 1;
/// The longest file that is read.
pub const MAX_BYTES: u64 = 1 << 28;

/// The bytes of a value.
const VALUE: usize = 9;

pub(super) fn bad(why: &'static str) -> TraceError {
    TraceError::NotATrace { why }
}

pub(super) struct Bytes(pub(super) Vec<u8>);

impl Bytes {
    pub(super) fn count(&mut self, count: usize) -> Result<()> {
        let count = u32::try_from(count).map_err(|_| bad("it has more than 2^32 parts"))?;
        self.0.extend(count.to_le_bytes());
        Ok(())
    }

    fn string(&mut self, bytes: &[u8]) -> Result<()> {
        self.count(bytes.len())?;
        self.0.extend(bytes);
        Ok(())
    }

    pub(super) fn program(&mut self, program: &Program) -> Result<()> {
        match program {
            Program::Operation(json) => {
                self.0.push(0);
                self.string(json.as_bytes())
            }
            Program::Model(model) => {
                self.0.push(1);
                self.0.extend(model);
                Ok(())
            }
            Program::Parts { context, operation } => {
                self.0.push(2);
                self.0.extend(context);
                self.0.extend(operation.to_le_bytes());
                Ok(())
            }
        }
    }

    pub(super) fn digests(&mut self, digests: &[Checksum]) -> Result<()> {
        self.count(digests.len())?;
        self.0.extend(digests.as_flattened());
        Ok(())
    }

    pub(super) fn values(&mut self, values: &[Value]) -> Result<()> {
        self.count(values.len())?;
        values.iter().for_each(|value| self.value(*value));
        Ok(())
    }

    pub(super) fn value(&mut self, value: Value) {
        let (kind, a, b) = match value {
            Value::Frame { file, frame } => (0, file, frame),
            Value::Result { operation, part } => (1, operation, part),
        };
        self.0.push(kind);
        self.0.extend(a.to_le_bytes());
        self.0.extend(b.to_le_bytes());
    }
}

/// Bytes that are left to read.
pub(super) struct Rest<'a>(pub(super) &'a [u8]);

impl<'a> Rest<'a> {
    /// The first bytes of a file, and its version.
    pub(super) fn start(&mut self, magic: &[u8; 8], supported: u32) -> Result<(), TraceError> {
        if self.take(magic.len()).ok() != Some(magic) {
            return Err(bad("it begins otherwise"));
        }
        match self.number()? {
            found if found == supported => Ok(()),
            found => Err(TraceError::Version { found, supported }),
        }
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], TraceError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(|| bad("it ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], TraceError> {
        self.take(N)?.try_into().map_err(|_| bad("it ends too early"))
    }

    pub(super) fn number(&mut self) -> Result<u32, TraceError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// The number of things that follow, each of which has at least `least` bytes: they are there,
    /// so that memory is within that of the file.
    pub(super) fn count(&mut self, least: usize) -> Result<usize, TraceError> {
        let count = self.number()? as usize;
        match self.0.len() / least {
            most if count <= most => Ok(count),
            _ => Err(bad("it ends too early")),
        }
    }

    fn text(&mut self, most: usize) -> Result<String, TraceError> {
        let count = self.count(1)?;
        if count > most {
            return Err(bad("a name is too long"));
        }
        String::from_utf8(self.take(count)?.to_vec()).map_err(|_| bad("a name is not text"))
    }

    pub(super) fn digests(&mut self) -> Result<Vec<Checksum>, TraceError> {
        let count = self.count(size_of::<Checksum>())?;
        (0..count).map(|_| self.array()).collect()
    }

    pub(super) fn values(&mut self) -> Result<Vec<Value>, TraceError> {
        let count = self.count(VALUE)?;
        (0..count).map(|_| self.value()).collect()
    }

    pub(super) fn value(&mut self) -> Result<Value, TraceError> {
        match (self.array()?, self.number()?, self.number()?) {
            ([0], file, frame) => Ok(Value::Frame { file, frame }),
            ([1], operation, part) => Ok(Value::Result { operation, part }),
            _ => Err(bad("a value is neither a frame nor a result")),
        }
    }

    pub(super) fn program(&mut self) -> Result<Program, TraceError> {
        match self.array()? {
            [0] => Ok(Program::Operation(self.text(self.0.len())?)),
            [1] => Ok(Program::Model(self.array()?)),
            [2] => Ok(Program::Parts { context: self.array()?, operation: self.number()? }),
            _ => Err(bad("its program is neither an operation nor a model, nor the parts of an operation")),
        }
    }

    fn file(&mut self) -> Result<File, TraceError> {
        let role = match self.array()? {
            [0] => Role::Input,
            [1] => Role::Key,
            _ => return Err(bad("a file is neither an input nor a key")),
        };
        Ok(File { role, frames: self.digests()? })
    }

    fn operation(&mut self) -> Result<Operation, TraceError> {
        Ok(Operation { name: self.text(MAX_NAME)?, of: self.values()?, results: self.digests()? })
    }
}

impl Trace {
    /// The bytes of the trace.
    ///
    /// # Errors
    /// [`TraceError::NotATrace`] with more than 2^32 parts of a kind.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let Parts { program, files, operations, head, result } = &self.parts;
        let mut bytes = Bytes(MAGIC.to_vec());
        bytes.0.extend(VERSION.to_le_bytes());
        bytes.0.extend(self.root);
        bytes.program(program)?;
        bytes.count(files.len())?;
        for file in files {
            bytes.0.push(file.role as u8);
            bytes.digests(&file.frames)?;
        }
        bytes.count(operations.len())?;
        for operation in operations {
            bytes.string(operation.name.as_bytes())?;
            bytes.values(&operation.of)?;
            bytes.digests(&operation.results)?;
        }
        bytes.0.extend(head.as_flattened());
        bytes.values(result)?;
        Ok(bytes.0)
    }

    /// Reads a trace. Every value is there before it is used, the root is that of the rest, and
    /// nothing is left over; whether the results are right is not known.
    ///
    /// # Errors
    /// [`TraceError::NotATrace`], [`TraceError::Version`], [`TraceError::Root`],
    /// [`TraceError::NoValue`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut rest = Rest(bytes);
        rest.start(MAGIC, VERSION)?;
        let stated = rest.array()?;
        let program = rest.program()?;
        let count = rest.count(1 + 4)?;
        let files = (0..count).map(|_| rest.file()).collect::<Result<_, _>>()?;
        let count = rest.count(3 * 4)?;
        let operations = (0..count).map(|_| rest.operation()).collect::<Result<_, _>>()?;
        let head = [rest.array()?, rest.array()?];
        let result = rest.values()?;
        if !rest.0.is_empty() {
            return Err(bad("something follows it").into());
        }
        let trace = Self::new(Parts { program, files, operations, head, result })?;
        match trace.root() == stated {
            true => Ok(trace),
            false => {
                let (found, expected) = (super::hex(&stated), super::hex(&trace.root()));
                Err(TraceError::Root { found, expected }.into())
            }
        }
    }
}
