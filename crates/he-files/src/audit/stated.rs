//! The statements of whoever computed, as an auditor gets them: a whole trace, or an opening.

use super::plan::Plan;
use super::record::Recording;
use crate::error::{Result, TraceError};
use crate::listing::Checksum;
use crate::trace::{Expected, Opening, Program, Trace, Value};

/// A trace, or some operations of one.
#[derive(Clone, Copy, Debug)]
pub enum Stated<'a> {
    /// All operations.
    Trace(&'a Trace),
    /// Some operations, with the proof that they belong to the root.
    Opening(&'a Opening),
}

impl<'a> From<&'a Trace> for Stated<'a> {
    fn from(trace: &'a Trace) -> Self {
        Self::Trace(trace)
    }
}

impl<'a> From<&'a Opening> for Stated<'a> {
    fn from(opening: &'a Opening) -> Self {
        Self::Opening(opening)
    }
}

impl Stated<'_> {
    /// The program.
    pub fn program(&self) -> &Program {
        match self {
            Self::Trace(trace) => trace.program(),
            Self::Opening(opening) => opening.program(),
        }
    }

    /// The root, which stands for all operations.
    pub fn root(&self) -> Checksum {
        match self {
            Self::Trace(trace) => trace.root(),
            Self::Opening(opening) => opening.root(),
        }
    }

    /// The number of all operations.
    pub fn operations(&self) -> usize {
        match self {
            Self::Trace(trace) => trace.operations().len(),
            Self::Opening(opening) => opening.operations(),
        }
    }

    /// The checksums of parameters and description of the result.
    pub(super) fn head(&self) -> [Checksum; 2] {
        match self {
            Self::Trace(trace) => trace.head(),
            Self::Opening(opening) => opening.head(),
        }
    }

    /// The frames of the result that are stated: the place of each among those of ciphertexts, and
    /// its checksum.
    pub(super) fn result_frames(&self) -> Vec<(usize, Checksum)> {
        match self {
            Self::Trace(trace) => {
                trace.result_frames()[super::plan::HEAD..].iter().copied().enumerate().collect()
            }
            Self::Opening(opening) => opening.result_frames().collect(),
        }
    }

    /// The results of an operation; `None` if they are not stated.
    pub fn results(&self, operation: usize) -> Option<&[Checksum]> {
        match self {
            Self::Trace(trace) => trace.operations().get(operation).map(|stated| &*stated.results),
            Self::Opening(opening) => opening.find(operation).map(|opened| &*opened.results),
        }
    }

    /// The digest of a value that an operation computes from, of all these.
    pub(super) fn digest(&self, value: Value, operation: usize, of: &[Value]) -> Option<Checksum> {
        match self {
            Self::Trace(trace) => trace.digest(value),
            Self::Opening(opening) => {
                let mut made = of.iter().filter(|value| matches!(value, Value::Result { .. }));
                let place = made.position(|made| *made == value)?;
                opening.find(operation)?.of.get(place).copied()
            }
        }
    }

    /// Checks that the program is that of the plan, and that the operations are those of the plan
    /// as far as they are stated: among them all that were chosen.
    pub(super) fn check_operations(&self, plan: &Plan, chosen: &[usize]) -> Result<()> {
        plan.check_program(self.program())?;
        let opening = match self {
            Self::Trace(trace) => return plan.check(trace),
            Self::Opening(opening) => opening,
        };
        match chosen.iter().find(|&&operation| opening.find(operation).is_none()) {
            None => Ok(()),
            Some(&operation) => {
                let (found, expected) = (opening.opened().len(), chosen.len());
                Err(TraceError::Opened { found, expected, operation }.into())
            }
        }
    }

    /// Checks that the files, once they were read, are those that are stated, and that opened
    /// operations belong to the root.
    pub(super) fn check_files(&self, plan: &Plan, recording: &Recording) -> Result<()> {
        match self {
            Self::Trace(trace) => recording.check(trace.files()),
            Self::Opening(opening) => {
                let files: Vec<_> = recording.inputs().chain(opening.keys()).collect();
                recording.check(&files)?;
                let (operations, result) = plan.outline();
                opening.check(&Expected { files: &files, operations: &operations, result })
            }
        }
    }
}
