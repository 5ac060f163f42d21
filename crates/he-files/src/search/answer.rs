//! The side without secrets: queries are answered.

use super::description::{note_of, other_owner, other_part};
use super::{StoredIndex, check_key, segment, write};
use crate::cipher_file::{CipherReader, Written};
use crate::error::{Result, SearchError};
use crate::io::output::Output;
use crate::key_file::KeyFile;
use crate::note::{PlanNote, SearchPart};
use crate::scheme::Ckks;
use crate::scheme::engine::Engine;
use crate::watch::{Meter, Stage, Watch};
use he::Device;
use he_core::rlwe::EvaluationKeys;
use he_search::{Answer, Error, Params, Search, Task};
use serde::{Deserialize, Serialize};

/// The answer that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wanted {
    /// The number of matches.
    Count,
    /// The positions and payloads of matches.
    Matches,
    /// The scores of all records.
    Scores,
}

impl Wanted {
    /// The answer of an index, if none is asked for: matches, or scores if it only ranks.
    pub fn usual(params: &Params) -> Self {
        match params.plan().task {
            Task::Match { .. } => Self::Matches,
            Task::Rank => Self::Scores,
        }
    }
}

/// Answers a query, segment by segment: memory is bounded by one of them.
///
/// # Errors
/// The query is for another index, or of another key set; keys are missing; a file is damaged, or
/// the output cannot be written; the device fails.
pub fn answer(
    index: &dyn StoredIndex,
    mut query: CipherReader<Ckks>,
    key: KeyFile<Ckks>,
    wanted: Wanted,
    engine: &Engine<Ckks>,
    output: Output,
    watch: &dyn Watch,
) -> Result<Written> {
    let (described, needed) = (index.description(), "a query");
    let params = described.params();
    check_key(params, &key, &index.name())?;
    let note = note_of(&query, needed)?;
    if note.holds != SearchPart::Query {
        return Err(other_part(&query.name, &note, needed));
    }
    if note.plan != PlanNote::of(params.plan()) {
        return Err(SearchError::OtherPlan { name: query.name.clone(), index: index.name() }.into());
    }
    key.check_owner(&query.params, &query.payload.key_id, &query.name)?;
    let id = key.id.clone();
    if described.key_set().is_some_and(|own| own != &id) {
        return Err(other_owner(&key.name, &id, &index.name(), described.key_set()));
    }
    let keys = key.evaluation(&engine.ring)?;
    let ct = query.next(&engine.ring, 1)?;
    query.end()?;
    // The expansion takes about as long as a segment.
    let meter = Meter::new(watch, Stage::Computing, described.segments() as u64 + 1);
    let search = Search::new(params, &engine.evaluator, &ct, &keys)?;
    meter.inc(1);
    let answer = compute(index, &search, &keys, wanted, engine, &meter)?;
    meter.finish();
    write(output, params, &id, SearchPart::of(&answer.layout()), &answer.ciphertexts())
}

fn compute(
    index: &dyn StoredIndex,
    search: &Search<'_, Device>,
    keys: &EvaluationKeys<Device>,
    wanted: Wanted,
    engine: &Engine<Ckks>,
    meter: &Meter<'_>,
) -> Result<Answer<Device>> {
    let mut segments = index.description().groups().into_iter().map(|parts| {
        let loaded = segment::load(index, parts, engine, keys);
        meter.inc(1);
        loaded
    });
    Ok(match wanted {
        Wanted::Count => {
            let mut counting = search.count()?;
            segments.try_for_each(|segment| Ok::<_, crate::Error>(counting.add(&segment?)?))?;
            counting.finish()?
        }
        Wanted::Matches => {
            let mut fetching = search.fetch()?;
            segments.try_for_each(|segment| Ok::<_, crate::Error>(fetching.add(&segment?)?))?;
            fetching.finish()?
        }
        Wanted::Scores => {
            let (mut scores, mut occupancies) = (Vec::new(), Vec::new());
            for segment in segments {
                if let Answer::Scores { scores: more, occupancies: of } = search.scores([&segment?])? {
                    scores.extend(more);
                    occupancies.extend(of);
                }
            }
            if scores.is_empty() {
                return Err(
                    Error::Shape { object: "the index", part: "segments", found: 0, expected: 1 }.into()
                );
            }
            Answer::Scores { scores, occupancies }
        }
    })
}
