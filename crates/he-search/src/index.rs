//! An index in memory: segments in their order.

use crate::error::{Error, Result};
use crate::plan::Params;
use crate::segment::Segment;
use he_core::backend::{Cpu, RingOps};
use he_core::ckks::Evaluator;
use he_core::rlwe::EvaluationKeys;

/// The place of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The segment, from 0.
    pub segment: usize,
    /// The slot, from 0.
    pub slot: usize,
}

/// Encrypted records in segments, which are searched one after the other. Whoever holds an index
/// needs evaluation keys and never the secret one.
#[derive(Debug)]
pub struct Index<B: RingOps = Cpu> {
    params: Params,
    segments: Vec<Segment<B>>,
}

impl<B: RingOps> Index<B> {
    /// An index without records.
    pub fn new(params: &Params) -> Self {
        Self { params: params.clone(), segments: Vec::new() }
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The segments.
    pub fn segments(&self) -> &[Segment<B>] {
        &self.segments
    }

    /// The records that were not deleted.
    pub fn records(&self) -> usize {
        self.segments.iter().map(|segment| segment.occupancy.records()).sum()
    }

    /// The slot in which a segment has to begin so that [`append`](Self::append) adds it to the
    /// last segment, and no rotation key is needed to merge both.
    pub fn next_slot(&self) -> usize {
        let end = self.segments.last().map_or(0, |last| last.occupancy.range().end);
        if end == self.params.slots() { 0 } else { end }
    }

    /// Appends a segment: to the last one if its records begin in the slot after the last one's,
    /// otherwise as a new one.
    ///
    /// # Errors
    /// [`Error::Segments`] beyond the planned number; [`Error::Shape`]; another key set; device
    /// errors.
    pub fn append(&mut self, segment: Segment<B>, ev: &Evaluator<B>) -> Result<()> {
        segment.check(&self.params)?;
        let start = segment.occupancy.range().start;
        if start > 0
            && start == self.next_slot()
            && let Some(last) = self.segments.last_mut()
        {
            let none = EvaluationKeys::empty(self.params.ckks().rlwe(), ev.ring())?;
            *last = last.merge(&segment, &self.params, ev, &none)?;
            return Ok(());
        }
        let (found, planned) = (self.segments.len() + 1, self.params.segments());
        if found > planned {
            return Err(Error::Segments { found, planned });
        }
        self.segments.push(segment);
        Ok(())
    }

    /// Deletes a record: answers leave it out from then on. Its ciphertexts stay until their
    /// segment is removed, and nobody learns anything from them.
    ///
    /// # Errors
    /// [`Error::NoRecord`].
    pub fn delete(&mut self, position: Position) -> Result<()> {
        let Position { segment, slot } = position;
        let (records, segments) = (self.records(), self.segments.len());
        let absent = Error::NoRecord { segment, slot, records, segments };
        let Some(found) = self.segments.get_mut(segment) else { return Err(absent) };
        found.occupancy.delete(slot).map_err(|_| absent)
    }

    /// Merges neighbouring segments as long as their records fit the slots of one, in order. The
    /// records of merged segments have other positions from then on; those of the others, other
    /// numbers of their segments.
    ///
    /// # Errors
    /// The errors of [`Segment::merge`], before anything changes.
    pub fn merge(&mut self, ev: &Evaluator<B>, keys: &EvaluationKeys<B>) -> Result<()> {
        let slots = self.params.slots();
        let mut at = 0;
        while at + 1 < self.segments.len() {
            let [a, b] = [&self.segments[at], &self.segments[at + 1]];
            if a.occupancy.range().end + b.occupancy.range().len() > slots {
                at += 1;
                continue;
            }
            self.segments[at] = a.merge(b, &self.params, ev, keys)?;
            self.segments.remove(at + 1);
        }
        Ok(())
    }
}
