//! Operations on files: recorded, and computed again.

use super::plan::{HEAD, Plan};
use super::{Choice, Computed, Recording, Report, Stated};
use crate::chosen::Chosen;
use crate::cipher_file::Written;
use crate::error::{Result, TraceError};
use crate::io::cancel::Cancel;
use crate::io::output::Output;
use crate::operation::{Evaluation, Operation, Sources};
use crate::trace::{Program, Trace};
use crate::watch::Watch;
use he::Device;
use rand::Rng;
use std::io;
use std::sync::Arc;

/// An [`Evaluation`] that is recorded.
pub struct RecordedEvaluation {
    evaluation: Evaluation,
    plan: Plan,
    recording: Recording,
}

impl RecordedEvaluation {
    /// Prepares an evaluation like [`Evaluation::new`].
    ///
    /// # Errors
    /// The errors of [`Evaluation::new`].
    pub fn new(operation: &Operation, sources: Sources, cancel: &Cancel) -> Result<Self> {
        let mut recording = Recording::default();
        let evaluation = Evaluation::new(operation, recording.sources(sources), cancel)?;
        let plan = Plan::of_operation(operation, evaluation.uses())?;
        Ok(Self { evaluation, plan, recording })
    }

    /// Computes like [`Evaluation::evaluate`], and returns the trace as well.
    ///
    /// # Errors
    /// The errors of [`Evaluation::evaluate`].
    pub fn evaluate(
        self,
        devices: &[Device],
        watch: Arc<dyn Watch>,
        output: Output,
    ) -> Result<(Written, Trace)> {
        let Self { evaluation, plan, recording } = self;
        let written = evaluation.evaluate(devices, watch, output)?;
        let made = written.frames[HEAD..].iter().map(|&frame| vec![frame]).collect();
        let trace = plan.trace(recording.files(), made, &written.frames)?;
        Ok((written, trace))
    }
}

/// The operation of a trace, by whose name and parameters its auditor knows whether it is the one
/// that was asked for.
///
/// # Errors
/// [`TraceError::Kind`] for the trace of an inference; [`TraceError::NotATrace`] if there is no
/// such operation, or it is not written as recorders write it.
fn operation_of(program: &Program) -> Result<Operation> {
    let Program::Operation(json) = program else {
        let (found, expected) = ("the inference of a model", "an operation on files");
        return Err(TraceError::Kind { found, expected }.into());
    };
    let operation = serde_json::from_str(json).ok();
    let canonical = |operation: &Operation| super::plan::json(operation).ok().as_ref() == Some(json);
    let operation = operation.filter(canonical);
    operation.ok_or_else(|| TraceError::NotATrace { why: "there is no such operation" }.into())
}

/// Computes operations of a trace again on the CPU, from the files that it names.
///
/// # Errors
/// [`TraceError`] if the trace is of another program, of other files, or has other operations than
/// the program has; those of [`Evaluation`]. Wrong results are not errors: the report has them.
pub fn evaluation<'a>(
    stated: impl Into<Stated<'a>>,
    sources: Sources,
    choice: &Choice,
    watch: Arc<dyn Watch>,
    rng: &mut impl Rng,
) -> Result<Report> {
    let stated = stated.into();
    let operation = operation_of(stated.program())?;
    let mut recording = Recording::default();
    let evaluation = Evaluation::new(&operation, recording.sources(sources), &Cancel::default())?;
    let plan = Plan::of_operation(&operation, evaluation.uses())?;
    let chosen = choice.of(plan.len(), rng)?;
    stated.check_operations(&plan, &chosen)?;
    let evaluation = evaluation.choosing(Chosen::only(chosen.iter().copied()));
    let output = Output::to_writer("the results of the audit", io::sink());
    let written = evaluation.evaluate(&[Device::cpu()], watch, output)?;
    stated.check_files(&plan, &recording)?;
    let results = chosen.iter().zip(&written.frames[HEAD..]);
    let computed = results.map(|(&operation, &result)| Computed { operation, results: vec![result] });
    let computed = computed.collect();
    if written.frames[..HEAD] != stated.head() {
        return Err(TraceError::Result { name: "the description in the trace".to_owned() }.into());
    }
    Ok(Report::new(stated, chosen, computed))
}
