//! The files of segments.

use super::{IndexFolder, note_of, other_part};
use crate::cipher_file::CipherReader;
use crate::error::{Result, SearchError};
use crate::io::input::Input;
use crate::note::{PlanNote, SearchPart};
use crate::scheme::Ckks;
use crate::scheme::engine::Engine;
use he::Device;
use he_core::rlwe::EvaluationKeys;
use he_search::Segment;
use std::ops::Range;

/// The file of a part being read, checked against the index.
pub(super) fn open(index: &IndexFolder, at: usize) -> Result<CipherReader<Ckks>> {
    let needed = "a segment of an index";
    let reader = CipherReader::<Ckks>::new(Input::open(index.path(index.entries[at].file))?)?;
    let note = note_of(&reader, needed)?;
    let SearchPart::Segment { .. } = note.holds else {
        return Err(other_part(&reader.name, &note, needed));
    };
    let params = index.params();
    if note.plan != PlanNote::of(params.plan()) || &reader.params != params.ckks() {
        return Err(SearchError::OtherPlan { name: reader.name.clone(), index: index.name() }.into());
    }
    if index.key_set() != Some(&reader.payload.key_id) {
        let (key, set) = (reader.name.clone(), reader.payload.key_id.short().to_owned());
        let own = index.key_set().map_or_else(String::new, |id| id.short().to_owned());
        return Err(SearchError::OtherOwner { key, set, index: index.name(), own }.into());
    }
    Ok(reader)
}

/// A segment in memory: its parts, added.
pub(super) fn load(
    index: &IndexFolder,
    parts: Range<usize>,
    engine: &Engine<Ckks>,
    keys: &EvaluationKeys<Device>,
) -> Result<Segment<Device>> {
    let mut segment = part(index, parts.start, engine)?;
    for at in parts.skip(1) {
        let next = part(index, at, engine)?;
        segment = segment.merge(&next, index.params(), &engine.evaluator, keys)?;
    }
    Ok(segment)
}

fn part(index: &IndexFolder, at: usize, engine: &Engine<Ckks>) -> Result<Segment<Device>> {
    let mut reader = open(index, at)?;
    let params = index.params();
    let mut columns = Vec::with_capacity(params.columns());
    for _ in 0..params.columns() {
        columns.push(reader.next(&engine.ring, 1)?);
    }
    let mut payload = Vec::with_capacity(params.payload_ciphertexts());
    for _ in 0..params.payload_ciphertexts() {
        payload.push(reader.next(&engine.ring, 1)?);
    }
    reader.end()?;
    let occupancy = index.entries[at].occupancy.occupancy(params)?;
    Ok(Segment { occupancy, columns, payload })
}
