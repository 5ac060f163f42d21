//! One operation of an inference in parts, which two parties record that differ in it, and of which
//! a judge computes one.
//!
//! The parts are a trace of their own: of the operation with the values that it takes, and with one
//! result for each part. The first part in which two of them differ is found as the operation was,
//! by [`first_difference`](super::first_difference).

use super::inference::{Opened, Steps, Taken};
use super::plan::{HEAD, Plan};
use super::{InferenceFiles, pair, plan, values};
use crate::error::{Error, Result, TraceError};
use crate::listing::Checksum;
use crate::models::ModelFile;
use crate::trace::{File, Operation, Parts, Program, Role, Trace, Value};
use crate::watch::{Meter, Stage, Watch};
use he::Device;
use he_core::circuits::ckks::{BlockParts, PartOf};
use he_core::ckks::{Ciphertext, CkksParams};
use he_core::rlwe::RlweCiphertext;
use he_core::wire::{Frame, Wire, WireParams};
use std::path::Path;

/// The values between parts that a party keeps for a judge, each in a file that has its digest as
/// its name.
#[derive(Clone, Copy)]
pub struct Keeping<'a> {
    /// The folder, which exists.
    pub folder: &'a Path,
    /// The part whose values are kept; without it, those of all parts, which are gigabytes.
    pub part: Option<usize>,
}

/// An operation of an inference that two parties differ in.
#[derive(Clone, Copy)]
pub struct Disputed<'a> {
    /// The trace of one of them.
    pub trace: &'a Trace,
    /// The model.
    pub model: &'a ModelFile,
    /// The operation.
    pub operation: usize,
}

impl<'a> Disputed<'a> {
    /// Computes the operation again on a device, part by part, and records the parts. Values of the
    /// trace come from the folder `kept`, or everything before the operation is computed.
    ///
    /// # Errors
    /// [`TraceError::NoParts`] for anything but a linear layer; [`TraceError::PartsResult`] if the
    /// result is not the one that the trace states; those of [`inference`](super::inference); a value
    /// cannot be kept.
    pub fn record(
        &self,
        files: InferenceFiles,
        kept: Option<&Path>,
        device: Device,
        keep: Option<Keeping<'_>>,
        watch: &dyn Watch,
    ) -> Result<Trace> {
        let opened = Opened::new(self.model, files)?;
        let planned = opened.plan(self.model)?;
        let chosen = [self.operation];
        let taken = Taken { chosen: &chosen, kept, device };
        let (mut steps, wanted) = Steps::new(self.trace.into(), &planned, self.model, opened, taken, watch)?;
        let parts = self.whole(&planned)?;
        for (at, &operation) in
            wanted.iter().enumerate().filter(|(_, operation)| **operation < self.operation)
        {
            if !steps.compute(operation)?.agrees(self.trace) {
                return Err(TraceError::PartsResult { operation }.into());
            }
            steps.forget(&wanted[at + 1..]);
        }
        let values: Vec<Ciphertext<Device>> = steps.values(self.operation)?.into_iter().flatten().collect();
        let (operation, last) = (self.operation, parts.list().len());
        if let Some(part) = keep.and_then(|keep| keep.part).filter(|&part| part >= last) {
            return Err(TraceError::Parts { operation, part }.into());
        }
        if let Some(Keeping { folder, .. }) = keep.filter(|keep| keep.takes(&parts, PartOf::Input(0))) {
            self.keep_inputs(folder, &values)?;
        }
        let meter = Meter::new(watch, Stage::Computing, parts.list().len() as u64);
        let (engine, keys) = steps.engine();
        let mut digests = Vec::with_capacity(parts.list().len());
        parts.run(&engine.evaluator, &values, keys, |part, value| {
            let (digest, bytes) = self.digest(&parts, part, value, self.model.params())?;
            let keep = keep.filter(|keep| keep.takes(&parts, PartOf::Made(part)));
            if let (Some(Keeping { folder, .. }), Some(bytes)) = (keep, bytes) {
                values::keep_bytes(folder, &digest, &bytes)?;
            }
            digests.push(digest);
            meter.inc(1);
            Ok::<_, Error>(())
        })?;
        meter.finish();
        let trace = self.trace_of(&parts, &planned, digests)?;
        self.check_result(&trace)?;
        Ok(trace)
    }

    /// Checks that these are the parts that the model has, on the values that the trace states, and
    /// that they lead to the result that it states. Whether they are right is not known.
    ///
    /// # Errors
    /// [`TraceError::NoParts`]; [`TraceError::Program`] for the parts of something else;
    /// [`TraceError::File`] for other values, [`TraceError::Parts`] for other parts,
    /// [`TraceError::PartsResult`] for another result.
    pub fn check(&self, stated: &Trace) -> Result<()> {
        let planned = Plan::of_operations(self.model, self.trace.operations().len())?;
        planned.check(self.trace)?;
        let parts = self.outline(&planned, None)?;
        let expected = self.trace_of(&parts, &planned, vec![Checksum::default(); parts.list().len()])?;
        plan::check_same(stated.program(), expected.program())?;
        if expected.files() != stated.files() || expected.head() != stated.head() {
            let (name, role, place) = ("a value of the parts".to_owned(), "input", 1);
            return Err(TraceError::File { name, role, place }.into());
        }
        let same = |(a, b): (&Operation, &Operation)| {
            a.name == b.name && a.of == b.of && a.results.len() == b.results.len()
        };
        let (planned, found) = (expected.operations(), stated.operations());
        let alike = planned.iter().zip(found).take_while(|&pair| same(pair)).count();
        if alike < planned.len().max(found.len()) || expected.result() != stated.result() {
            return Err(TraceError::Parts { operation: self.operation, part: alike }.into());
        }
        self.check_result(stated)
    }

    /// The parts with the numbers of one of them, or of none.
    pub(super) fn outline(&self, plan: &Plan, filled: Option<usize>) -> Result<BlockParts> {
        let parts = self.model.layers()?.outline_of_parts(self.step(plan)?, filled)?;
        parts.ok_or_else(|| self.no_parts())
    }

    /// The digest of a value in the ring of these parameters and, unless it belongs to the result,
    /// the bytes to be kept.
    pub(super) fn digest(
        &self,
        parts: &BlockParts,
        part: usize,
        value: &RlweCiphertext<Device>,
        params: &CkksParams,
    ) -> Result<(Checksum, Option<Vec<u8>>)> {
        if parts.outputs().contains(&part) {
            let frame = parts.output(params, value)?.to_frame(params)?;
            let sealed = of_params(frame, self.model.params()).seal();
            return Ok((values::checksum(&sealed), None));
        }
        let bytes = pair::to_bytes(value)?;
        Ok((*blake3::hash(&bytes).as_bytes(), Some(bytes)))
    }

    fn whole(&self, plan: &Plan) -> Result<BlockParts> {
        self.model.layers()?.parts(self.step(plan)?)?.ok_or_else(|| self.no_parts())
    }

    /// The step of the model that the operation is.
    fn step(&self, plan: &Plan) -> Result<usize> {
        let steps = self.model.layers()?.program().len().max(1);
        debug_assert_eq!(plan.len() % steps, 0);
        Ok(self.operation % steps)
    }

    fn no_parts(&self) -> Error {
        let found = self.trace.operations().get(self.operation).map(|operation| operation.name.clone());
        TraceError::NoParts { operation: self.operation, found: found.unwrap_or_default() }.into()
    }

    fn keep_inputs(&self, folder: &Path, values: &[Ciphertext<Device>]) -> Result<()> {
        let params = self.model.params();
        values.iter().try_for_each(|ct| values::keep(folder, &ct.to_frame(params)?.seal()))
    }

    /// The trace of the parts with these results.
    fn trace_of(&self, parts: &BlockParts, plan: &Plan, digests: Vec<Checksum>) -> Result<Trace> {
        let of = plan.of(self.operation).iter().map(|&value| self.trace.digest(value).unwrap_or_default());
        let frames = self.trace.head().into_iter().chain(of).collect();
        let value = |of: &PartOf| match *of {
            PartOf::Input(input) => Value::Frame { file: 0, frame: (HEAD + input) as u32 },
            PartOf::Made(part) => Value::Result { operation: part as u32, part: 0 },
        };
        let operations = parts.list().iter().zip(digests).map(|(part, digest)| Operation {
            name: part.name.clone(),
            of: part.of.iter().map(value).collect(),
            results: vec![digest],
        });
        let operations = operations.collect();
        let result = parts.outputs().iter().map(|&part| value(&PartOf::Made(part))).collect();
        let (context, operation) = (self.trace.context(), self.operation as u32);
        let program = Program::Parts { context, operation };
        let files = vec![File { role: Role::Input, frames }];
        Trace::new(Parts { program, files, operations, head: self.trace.head(), result })
    }

    /// Checks that parts lead to the result of the operation.
    fn check_result(&self, parts: &Trace) -> Result<()> {
        let stated =
            self.trace.operations().get(self.operation).map(|operation| operation.results.as_slice());
        match stated == Some(&parts.result_frames()[HEAD..]) {
            true => Ok(()),
            false => Err(TraceError::PartsResult { operation: self.operation }.into()),
        }
    }
}

impl Keeping<'_> {
    /// Whether a part whose values are kept takes this one, or one of the inputs for an input.
    fn takes(&self, parts: &BlockParts, value: PartOf) -> bool {
        let same = |of: &PartOf| match (of, value) {
            (PartOf::Input(_), PartOf::Input(_)) => true,
            _ => *of == value,
        };
        let part = self.part.and_then(|part| parts.list().get(part));
        part.is_none_or(|part| part.of.iter().any(same))
    }
}

/// The frame of a ciphertext under other parameters that have its level as well.
pub(super) fn of_params(mut frame: Frame, params: &CkksParams) -> Frame {
    let (kind, fingerprint) = (frame.kind, WireParams::fingerprint(params));
    Frame { kind, fingerprint, body: std::mem::take(&mut frame.body) }
}
