//! The operations of a program as an auditor derives them, who trusts no trace in that.

use crate::contents::uses::Uses;
use crate::error::{Result, TraceError};
use crate::listing::Checksum;
use crate::operation::Operation;
use crate::trace;
use crate::trace::{File, Parts, Program, Trace, Value};

/// The frames of parameters and description, before those of ciphertexts.
pub const HEAD: usize = 2;

/// An operation without its results, of which only the number is known.
pub struct Planned {
    /// Its name.
    pub name: String,
    /// The values that it computes from.
    pub of: Vec<Value>,
    /// The number of its results.
    pub results: usize,
    /// Whether it takes the keys of refreshes of a model.
    pub refreshes: bool,
}

/// All operations, and the values that the frames of the result hold.
pub struct Plan {
    program: Program,
    operations: Vec<Planned>,
    result: Vec<Value>,
}

/// A frame of ciphertexts of a file, by its place among those.
pub fn frame(file: usize, frame: usize) -> Value {
    Value::Frame { file: file as u32, frame: (HEAD + frame) as u32 }
}

/// The results of an operation.
pub fn results(operation: usize, count: usize) -> impl Iterator<Item = Value> {
    (0..count as u32).map(move |part| Value::Result { operation: operation as u32, part })
}

/// The one line of JSON that stands for an operation.
pub fn json(operation: &Operation) -> Result<String> {
    serde_json::to_string(operation).map_err(|_| TraceError::NotATrace { why: "no operation" }.into())
}

impl Plan {
    /// The plan of an operation on files: each frame of its result.
    pub fn of_operation(operation: &Operation, uses: &Uses) -> Result<Self> {
        let planned = |(index, uses): (usize, &Vec<crate::contents::uses::Use>)| Planned {
            name: format!("{} {index}", operation.name()),
            of: uses.iter().map(|of| frame(of.file, of.frame)).collect(),
            results: 1,
            refreshes: false,
        };
        let operations: Vec<Planned> = uses.iter().enumerate().map(planned).collect();
        let result = (0..operations.len()).flat_map(|index| results(index, 1)).collect();
        Ok(Self { program: Program::Operation(json(operation)?), operations, result })
    }

    /// The plan of a program with these operations, and the values of its result.
    pub fn new(program: Program, operations: Vec<Planned>, result: Vec<Value>) -> Self {
        Self { program, operations, result }
    }

    /// The trace of this plan with these results, operation by operation, and the frames of the
    /// result's file.
    pub fn trace(self, files: Vec<File>, made: Vec<Vec<Checksum>>, frames: &[Checksum]) -> Result<Trace> {
        let Some(&[first, second]) = frames.first_chunk() else {
            return Err(TraceError::NotATrace { why: "the result has no description" }.into());
        };
        let operations = self.operations.into_iter().zip(made);
        let operations = operations.map(|(planned, results)| trace::Operation {
            name: planned.name,
            of: planned.of,
            results,
        });
        let operations = operations.collect();
        let (program, head, result) = (self.program, [first, second], self.result);
        Trace::new(Parts { program, files, operations, head, result })
    }

    /// Whether one of these operations takes the keys of refreshes.
    pub fn refreshes(&self, operations: &[usize]) -> bool {
        operations.iter().any(|&operation| self.operations[operation].refreshes)
    }

    /// The number of operations.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Checks that this is the program.
    ///
    /// # Errors
    /// [`TraceError::Program`].
    pub fn check_program(&self, program: &Program) -> Result<()> {
        check_same(program, &self.program)
    }

    /// The name of each operation with the values that it computes from, and the values of the
    /// result.
    pub fn outline(&self) -> (Vec<(&str, &[Value])>, &[Value]) {
        let outline = self.operations.iter().map(|planned| (&*planned.name, &*planned.of));
        (outline.collect(), &self.result)
    }

    /// The values that an operation computes from.
    pub fn of(&self, operation: usize) -> &[Value] {
        &self.operations[operation].of
    }

    /// The number of results of an operation.
    pub fn results(&self, operation: usize) -> usize {
        self.operations[operation].results
    }

    /// Checks that a trace has this program, these operations on these values, and nothing else.
    ///
    /// # Errors
    /// [`TraceError::Program`]; [`TraceError::Steps`] with the first operation that is another one.
    pub fn check(&self, trace: &Trace) -> Result<()> {
        self.check_program(trace.program())?;
        let same = |planned: &Planned, stated: &trace::Operation| {
            planned.name == stated.name && planned.of == stated.of && planned.results == stated.results.len()
        };
        let (planned, stated) = (&self.operations, trace.operations());
        let first = planned.iter().zip(stated).position(|(planned, stated)| !same(planned, stated));
        if let Some(operation) = first {
            return Err(TraceError::Steps { operation }.into());
        }
        if planned.len() != stated.len() || self.result != trace.result() {
            return Err(TraceError::Steps { operation: planned.len().min(stated.len()) }.into());
        }
        Ok(())
    }
}

/// Checks that one program is the other.
///
/// # Errors
/// [`TraceError::Program`].
pub fn check_same(found: &Program, expected: &Program) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    let (found, expected) = (told(found), told(expected));
    Err(TraceError::Program { found, expected }.into())
}

/// A program for people.
pub fn told(program: &Program) -> String {
    match program {
        Program::Operation(json) => json.clone(),
        Program::Model(hash) => format!("model {}", trace::hex(hash)),
        Program::Parts { .. } => program.to_string(),
    }
}
