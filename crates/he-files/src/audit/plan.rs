//! The operations of a program as an auditor derives them, who trusts no trace in that.

use crate::contents::uses::Uses;
use crate::error::{Result, TraceError};
use crate::listing::Checksum;
use crate::models::ModelFile;
use crate::note::ExamplesNote;
use crate::operation::Operation;
use crate::trace::{File, Parts, Program, Trace, Value};
use crate::{error, trace};

/// The frames of parameters and description, before those of ciphertexts.
pub const HEAD: usize = 2;

/// An operation without its results, of which only the number is known.
struct Planned {
    name: String,
    of: Vec<Value>,
    results: usize,
    /// Whether it takes the keys of refreshes of a model.
    refreshes: bool,
}

/// All operations, and the values that the frames of the result hold.
pub struct Plan {
    program: Program,
    operations: Vec<Planned>,
    result: Vec<Value>,
}

/// A frame of ciphertexts of a file, by its place among those.
fn frame(file: usize, frame: usize) -> Value {
    Value::Frame { file: file as u32, frame: (HEAD + frame) as u32 }
}

fn results(operation: usize, count: usize) -> impl Iterator<Item = Value> {
    (0..count as u32).map(move |part| Value::Result { operation: operation as u32, part })
}

/// The one line of JSON that stands for an operation.
pub fn json(operation: &Operation) -> Result<String> {
    serde_json::to_string(operation).map_err(|_| TraceError::NotATrace { why: "no operation" }.into())
}

/// The program of a model.
pub fn model_program(model: &ModelFile) -> Result<Program> {
    let hash = blake3::Hash::from_hex(&model.hash);
    let hash = hash.map_err(|_| error::ModelError::NotCompiled { name: model.name.clone() })?;
    Ok(Program::Model(*hash.as_bytes()))
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

    /// The plan of an inference: the steps of the model, batch by batch.
    pub fn of_inference(model: &ModelFile, note: &ExamplesNote) -> Result<Self> {
        Self::of_batches(model, note.parts as usize, batches(note).len())
    }

    /// The plan of an inference whose trace has so many operations.
    pub fn of_operations(model: &ModelFile, operations: usize) -> Result<Self> {
        let batches = operations / model.layers()?.program().len().max(1);
        Self::of_batches(model, model.layers()?.ciphertexts(), batches)
    }

    fn of_batches(model: &ModelFile, parts: usize, batches: usize) -> Result<Self> {
        use he_nn::program::Value as Of;
        let steps = model.layers()?.program();
        let (mut operations, mut result) = (Vec::new(), Vec::new());
        for batch in 0..batches {
            let first = operations.len();
            for step in &steps {
                let values = |of: &Of| -> Vec<Value> {
                    match *of {
                        Of::Input => (0..parts).map(|part| frame(0, batch * parts + part)).collect(),
                        Of::Made(made) => results(first + made, steps[made].ciphertexts).collect(),
                    }
                };
                operations.push(Planned {
                    name: format!("batch {batch}: {}", step.name),
                    of: step.of.iter().flat_map(values).collect(),
                    results: step.ciphertexts,
                    refreshes: step.refreshes,
                });
            }
            if let Some(last) = steps.last() {
                result.extend(results(operations.len() - 1, last.ciphertexts));
            }
        }
        Ok(Self { program: model_program(model)?, operations, result })
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

/// The groups of examples of each batch.
pub fn batches(note: &ExamplesNote) -> Vec<usize> {
    let (batch, groups) = (note.batch as usize, note.groups());
    (0..groups).step_by(batch).map(|start| batch.min(groups - start)).collect()
}
