//! The owner's side: answers are decrypted.

use super::description::{note_of, other_part};
use super::{check_key, engine};
use crate::cipher_file::{CipherReader, wrong_number};
use crate::data::table::guarded;
use crate::error::{Error, Result, SearchError};
use crate::io::output::Output;
use crate::key_file::KeyFile;
use crate::scheme::Ckks;
use he::Device;
use he_search::{Answer, Client, Count, Matches, Position, Ranking};
use serde_json::{Map, Value, json};

/// A decrypted answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// The number of matches.
    Count(Count),
    /// The matches.
    Matches(Matches),
    /// The nearest records.
    Ranking(Ranking),
}

impl Found {
    /// Writes it as a CSV table: the numbers of a count; positions and payloads of matches; or
    /// positions and values of the nearest records.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn write(&self, output: Output) -> Result<()> {
        let name = output.name();
        let mut table = csv::Writer::from_writer(output);
        let rows = std::iter::once(self.header()).chain(self.rows());
        for row in rows {
            table.write_record(&row).map_err(|error| Error::io(error.into(), "write", &name))?;
        }
        match table.into_inner() {
            Ok(output) => output.commit(),
            Err(error) => Err(Error::io(error.into_error(), "write", &name)),
        }
    }

    fn header(&self) -> Vec<String> {
        let names: &[&str] = match self {
            Self::Count(_) => &["matches", "undecided"],
            Self::Matches(_) => &["segment", "slot", "payload"],
            Self::Ranking(_) => &["segment", "slot", "value"],
        };
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let row = |position: Position, last: String| {
            vec![position.segment.to_string(), position.slot.to_string(), last]
        };
        match self {
            Self::Count(Count { matches, undecided }) => {
                vec![vec![matches.to_string(), undecided.to_string()]]
            }
            Self::Matches(matches) => {
                matches.found.iter().map(|found| row(found.position, text(&found.payload))).collect()
            }
            Self::Ranking(ranking) => {
                ranking.nearest.iter().map(|found| row(found.position, found.value.to_string())).collect()
            }
        }
    }

    /// A text about it, for people.
    pub fn text(&self) -> String {
        match self {
            Self::Count(Count { matches, undecided }) => format!("{matches} matches, {undecided} undecided"),
            Self::Matches(Matches { found, undecided }) => {
                format!("{} matches, {undecided} undecided", found.len())
            }
            Self::Ranking(Ranking { nearest, error }) => {
                format!("the nearest {} records, scores within {error:.1e}", nearest.len())
            }
        }
    }

    /// The information for programs, without what was found.
    pub fn facts(&self) -> Map<String, Value> {
        let facts = match self {
            Self::Count(Count { undecided, .. }) | Self::Matches(Matches { undecided, .. }) => {
                ("undecided", json!(undecided))
            }
            Self::Ranking(ranking) => ("score_error", json!(ranking.error)),
        };
        Map::from_iter([(facts.0.to_owned(), facts.1)])
    }
}

/// A payload as it was appended: a line of text without the zeros that fill it. Other bytes are
/// hexadecimal numbers.
fn text(payload: &[u8]) -> String {
    let end = payload.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    match std::str::from_utf8(&payload[..end]) {
        Ok(text) if !text.contains(char::is_control) => guarded(text).into_owned(),
        _ => payload.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

/// Decrypts an answer: of a ranking, the `nearest` records.
///
/// # Errors
/// The file is not an answer, or one of another key set; it is damaged; the device fails.
pub fn read(
    mut reader: CipherReader<Ckks>,
    key: &KeyFile<Ckks>,
    nearest: usize,
    device: Device,
) -> Result<Found> {
    let needed = "an answer";
    let note = note_of(&reader, needed)?;
    let params = note.plan.params().map_err(|error| error.in_file_of(&reader.name))?;
    key.check_owner(&reader.params, &reader.payload.key_id, &reader.name)?;
    check_key(&params, key, &reader.name)?;
    if &reader.params != params.ckks() {
        let (name, index) = (reader.name.clone(), "its own description".to_owned());
        return Err(SearchError::OtherPlan { name, index }.into());
    }
    let engine = engine(&params, device)?;
    let client = Client::new(&params, key.secret()?, &engine.ring)?;
    let layout = note.holds.layout(&params).map_err(|error| error.in_file_of(&reader.name))?;
    let layout = layout.ok_or_else(|| other_part(&reader.name, &note, needed))?;
    let expected = layout.ciphertexts(&params);
    if note.ciphertexts as usize != expected {
        return Err(wrong_number(&reader.name, "other"));
    }
    let mut parts = Vec::with_capacity(expected.min(1 << 10));
    for _ in 0..expected {
        parts.push(reader.next(&engine.ring, 1)?);
    }
    reader.end()?;
    decrypted(&client, &layout.answer(&params, parts)?, nearest)
}

fn decrypted(client: &Client<Device>, answer: &Answer<Device>, nearest: usize) -> Result<Found> {
    Ok(match answer {
        Answer::Count { .. } => Found::Count(client.count(answer)?),
        Answer::Apart { .. } | Answer::Arranged { .. } => Found::Matches(client.matches(answer)?),
        Answer::Scores { .. } => Found::Ranking(client.ranking(answer, nearest)?),
    })
}
