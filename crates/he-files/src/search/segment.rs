//! Segments in memory.

use super::StoredIndex;
use super::description::open;
use crate::error::Result;
use crate::scheme::Ckks;
use crate::scheme::engine::Engine;
use he::Device;
use he_core::rlwe::EvaluationKeys;
use he_search::Segment;
use std::ops::Range;

/// A segment in memory: its parts, added.
pub(super) fn load(
    index: &dyn StoredIndex,
    parts: Range<usize>,
    engine: &Engine<Ckks>,
    keys: &EvaluationKeys<Device>,
) -> Result<Segment<Device>> {
    let params = index.description().params();
    let mut segment = part(index, parts.start, engine)?;
    for at in parts.skip(1) {
        let next = part(index, at, engine)?;
        segment = segment.merge(&next, params, &engine.evaluator, keys)?;
    }
    Ok(segment)
}

fn part(index: &dyn StoredIndex, at: usize, engine: &Engine<Ckks>) -> Result<Segment<Device>> {
    let mut reader = open(index, at)?;
    let description = index.description();
    let params = description.params();
    let mut columns = Vec::with_capacity(params.columns());
    for _ in 0..params.columns() {
        columns.push(reader.next(&engine.ring, 1)?);
    }
    let mut payload = Vec::with_capacity(params.payload_ciphertexts());
    for _ in 0..params.payload_ciphertexts() {
        payload.push(reader.next(&engine.ring, 1)?);
    }
    reader.end()?;
    let occupancy = description.entries[at].occupancy.occupancy(params)?;
    Ok(Segment { occupancy, columns, payload })
}
