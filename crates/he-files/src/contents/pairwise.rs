//! Sums, differences and products of two encrypted files, for every scheme.

use super::Contents;
use crate::cipher_file::{CipherReader, CipherWriter, Written};
use crate::contents::pairing::Pairing;
use crate::contents::uses::{self, Uses};
use crate::error::{ContentError, Result};
use crate::io::output::Output;
use crate::note::Content;
use crate::team::{Jobs, Team};
use crate::watch::{Meter, Stage};
use he_any::layout::{Excess, Op, check_magnitude};
use he_core::wire::{SealedFrame, Wire};

/// An operation on two files.
pub struct Pair<S: Contents> {
    operator: Op,
    left: CipherReader<S>,
    right: CipherReader<S>,
    content: Content,
    pairings: Vec<Pairing>,
}

impl<S: Contents> Pair<S> {
    /// Checks that two files fit together, and their results the parameters.
    ///
    /// # Errors
    /// They do not.
    pub fn new(operator: Op, left: CipherReader<S>, right: CipherReader<S>) -> Result<Self> {
        let (content, pairings) = S::pair(operator, &left, &right)?;
        Ok(Self { operator, left, right, content, pairings })
    }

    /// The operation that one of the files is the result of, if it is one of these.
    pub fn result_of(&self, operations: &[&str]) -> Option<&str> {
        [&self.left, &self.right]
            .into_iter()
            .filter_map(|reader| reader.payload.history.last())
            .map(String::as_str)
            .find(|last| operations.contains(last))
    }

    /// The frames of the two files that each frame of the result is computed from.
    ///
    /// # Errors
    /// The geometry is impossible.
    pub fn uses(&self) -> Result<Uses> {
        let batches = self.left.payload.content.batches(S::slots(&self.left.params))?;
        Ok(uses::each(batches.count(), 2))
    }

    /// Combines the files batch by batch into another. `lower` drops levels that are not needed any
    /// more.
    ///
    /// # Errors
    /// A file is damaged; nothing is left to compute with; results do not fit; keys are missing;
    /// the output cannot be written; the device fails.
    pub fn evaluate(
        self,
        team: &Team<S>,
        keys: &[S::Evaluation],
        lower: bool,
        output: Output,
    ) -> Result<Written> {
        let Self { operator, mut left, mut right, content: result, pairings } = self;
        let bounds: Vec<f64> = (0..pairings.len()).map(|part| result.bound(part)).collect();
        let payload = left.payload.after(operator.name(), result);
        let mut writer = CipherWriter::new::<S>(output, &team.lead().params, &payload)?;
        let slots = S::slots(&left.params);
        let content = left.payload.content.clone();
        let progress = Meter::new(team.watch(), Stage::Computing, content.batches(slots)?.count() as u64);
        let decoders = [left.decoder(), right.decoder()];
        type Job = ([SealedFrame; 2], usize, usize);
        let source = |jobs: &mut Jobs<'_, Job>| {
            for (frame, (part, count)) in content.batches(slots)?.enumerate() {
                let frames = [left.frame()?, right.frame()?];
                if team.computes(frame) {
                    jobs.give((frames, part, count))?;
                }
            }
            left.end()?;
            right.end()
        };
        let work = |at: usize, ([a, b], part, count): Job| {
            let engine = &team.engines()[at];
            let (a, b) =
                (decoders[0].decode(&engine.ring, a, count)?, decoders[1].decode(&engine.ring, b, count)?);
            let pairing = pairings.get(part).unwrap_or(&Pairing::Slots);
            let mut result = S::combine(engine, &keys[at], operator, pairing, &a, &b)?;
            if let (Some(capacity), Some(&bound)) = (S::capacity(engine, &result), bounds.get(part)) {
                let beyond = |Excess { bound, capacity }| ContentError::Capacity {
                    bound,
                    capacity,
                    operation: operator.name(),
                };
                check_magnitude(bound, capacity).map_err(beyond)?;
            }
            if lower {
                result = S::lowered(engine, &result, bounds.get(part).copied().unwrap_or(f64::INFINITY))?;
            }
            Ok(result.to_frame(&engine.params)?.seal())
        };
        team.run(source, work, |frame| {
            progress.inc(1);
            writer.send(frame)
        })?;
        progress.finish();
        writer.commit()
    }
}
