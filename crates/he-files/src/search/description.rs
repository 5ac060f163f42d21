//! The public description of an index.

use crate::cipher_file::CipherReader;
use crate::error::{Error, Result, SearchError};
use crate::io::input::Input;
use crate::note::{Content, KeyId, MAX_SEGMENTS, OccupancyNote, PlanNote, SearchNote, SearchPart};
use crate::scheme::Ckks;
use he_search::{Params, Plan, Position};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The version that is written.
const VERSION: u64 = 1;
/// The files that an index may have had.
const MAX_FILE: u32 = 1 << 31;
/// The part of a search that an index consists of.
const NEEDED: &str = "a segment of an index";

/// A part of a segment: records that were appended together, or merged.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    /// The number that names its file.
    pub(super) file: u32,
    /// The slots with records.
    pub(super) occupancy: OccupancyNote,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: u64,
    plan: PlanNote,
    /// The key set of all records, once there are any.
    key_set: Option<KeyId>,
    segments: Vec<Entry>,
}

/// The public part of an index: its plan, the key set of its records, and which slots of which
/// segments hold records.
#[derive(Clone, Debug)]
pub struct IndexDescription {
    params: Params,
    key_set: Option<KeyId>,
    /// The parts of segments. A part that begins in the slot after the one before it belongs to
    /// the same segment.
    pub(super) entries: Vec<Entry>,
}

/// An index whose files are somewhere.
pub trait StoredIndex {
    /// The description.
    fn description(&self) -> &IndexDescription;

    /// The name of the index in errors.
    fn name(&self) -> String;

    /// The file of this number.
    ///
    /// # Errors
    /// It cannot be read.
    fn file(&self, number: u32) -> Result<Input>;
}

impl IndexDescription {
    /// An index without records.
    ///
    /// # Errors
    /// The plan is out of range.
    pub fn new(plan: &Plan) -> Result<Self> {
        Ok(Self { params: plan.params()?, key_set: None, entries: Vec::new() })
    }

    /// Reads the JSON of a description, which errors call `name`.
    ///
    /// # Errors
    /// It is damaged, or of a later version.
    pub fn from_bytes(bytes: &[u8], name: &str) -> Result<Self> {
        #[derive(Deserialize)]
        struct Versioned {
            version: u64,
        }
        let name = name.to_owned();
        let damaged = |why: String| SearchError::Description { name: name.clone(), why };
        let Versioned { version } =
            serde_json::from_slice(bytes).map_err(|error| damaged(error.to_string()))?;
        if version != VERSION {
            return Err(SearchError::Version { name, found: version, newest: VERSION }.into());
        }
        let read: Written = serde_json::from_slice(bytes).map_err(|error| damaged(error.to_string()))?;
        if read.segments.len() > MAX_SEGMENTS as usize {
            return Err(damaged(format!("it has {} segments", read.segments.len())).into());
        }
        let params = read.plan.params().map_err(|error| damaged(error.to_string()))?;
        for entry in &read.segments {
            entry.occupancy.occupancy(&params).map_err(|error| damaged(error.to_string()))?;
            if entry.file >= MAX_FILE {
                return Err(damaged(format!("it names file {}", entry.file)).into());
            }
        }
        Ok(Self { params, key_set: read.key_set, entries: read.segments })
    }

    /// The JSON of the description.
    pub fn to_bytes(&self) -> Vec<u8> {
        let written = Written {
            version: VERSION,
            plan: PlanNote::of(self.params.plan()),
            key_set: self.key_set.clone(),
            segments: self.entries.clone(),
        };
        serde_json::to_vec_pretty(&written).unwrap_or_default()
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The key set of the records, once there are any.
    pub fn key_set(&self) -> Option<&KeyId> {
        self.key_set.as_ref()
    }

    /// The number of segments.
    pub fn segments(&self) -> usize {
        self.groups().len()
    }

    /// The number of files, of which a segment has several until they are merged.
    pub fn files(&self) -> usize {
        self.entries.len()
    }

    /// The numbers of the files, in the order of their records.
    pub fn file_numbers(&self) -> impl Iterator<Item = u32> {
        self.entries.iter().map(|entry| entry.file)
    }

    /// The number of records that were not deleted.
    pub fn records(&self) -> u64 {
        let live = |note: &OccupancyNote| u64::from(note.records).saturating_sub(note.deleted.len() as u64);
        self.entries.iter().map(|entry| live(&entry.occupancy)).sum()
    }

    /// The parts of each segment.
    pub(super) fn groups(&self) -> Vec<Range<usize>> {
        let mut groups: Vec<Range<usize>> = Vec::new();
        for (at, entry) in self.entries.iter().enumerate() {
            match groups.last_mut() {
                Some(last) if self.entries[at - 1].occupancy.continues(&entry.occupancy) => last.end = at + 1,
                _ => groups.push(at..at + 1),
            }
        }
        groups
    }

    /// The number of the next file.
    pub(super) fn next_file(&self) -> u32 {
        self.entries.iter().map(|entry| entry.file + 1).max().unwrap_or(0)
    }

    /// Takes records of a key set, the first of which decide it. `key` and `index` are the names
    /// of both in errors.
    ///
    /// # Errors
    /// The records of the index are of another key set.
    pub(super) fn claim(&mut self, id: &KeyId, key: &str, index: &str) -> Result<()> {
        match &self.key_set {
            Some(own) if own != id => Err(other_owner(key, id, index, Some(own))),
            _ => {
                self.key_set = Some(id.clone());
                Ok(())
            }
        }
    }

    /// Checks that a file holds records of this index, whose name in errors is `index`, and returns
    /// the slots that it was written with.
    ///
    /// # Errors
    /// It holds another part of a search, or is of another plan.
    fn check(&self, segment: &CipherReader<Ckks>, index: &str) -> Result<OccupancyNote> {
        let note = note_of(segment, NEEDED)?;
        let SearchPart::Segment { occupancy } = &note.holds else {
            return Err(other_part(&segment.name, &note, NEEDED));
        };
        if note.plan != PlanNote::of(self.params.plan()) || &segment.params != self.params.ckks() {
            let (name, index) = (segment.name.clone(), index.to_owned());
            return Err(SearchError::OtherPlan { name, index }.into());
        }
        Ok(occupancy.clone())
    }

    /// Appends a file of records that was encrypted for this plan, as one more part, whose number
    /// is returned. Its records belong to the last segment if they begin in the slot after that
    /// one's, and to a new one otherwise.
    ///
    /// # Errors
    /// It holds another part of a search, or is of another plan or key set; there are more segments
    /// than planned. Nothing has changed then.
    pub fn append(&mut self, segment: &CipherReader<Ckks>, index: &str) -> Result<u32> {
        let occupancy = self.check(segment, index)?;
        occupancy.occupancy(&self.params)?;
        let mut grown = self.clone();
        grown.claim(&segment.payload.key_id, &segment.name, index)?;
        let file = self.next_file();
        grown.entries.push(Entry { file, occupancy });
        let (found, planned) = (grown.segments(), self.params.segments());
        if found > planned {
            return Err(he_search::Error::Segments { found, planned }.into());
        }
        *self = grown;
        Ok(file)
    }

    /// The numbers of the files behind those of `first`, if that is an earlier state of this index
    /// but for deletions.
    pub fn files_beyond(&self, first: &Self) -> Option<Vec<u32>> {
        let plan = |index: &Self| PlanNote::of(index.params.plan());
        let slots = |entry: &Entry| (entry.occupancy.start, entry.occupancy.records);
        let owner = first.key_set.is_none() || first.key_set == self.key_set;
        let known: Vec<_> = first.entries.iter().map(slots).collect();
        let own: Vec<_> = self.entries.iter().map(slots).collect();
        let is_earlier = owner && plan(self) == plan(first) && own.starts_with(&known);
        is_earlier.then(|| self.file_numbers().skip(known.len()).collect())
    }

    /// Whether there was a record that was deleted.
    pub fn is_deleted(&self, position: Position) -> bool {
        let Ok(slot) = u32::try_from(position.slot) else { return false };
        let parts = self.groups().into_iter().nth(position.segment).unwrap_or_default();
        self.entries[parts].iter().any(|part| part.occupancy.deleted.contains(&slot))
    }

    /// The places of deleted records.
    pub fn deleted(&self) -> Vec<Position> {
        let mut all = Vec::new();
        for (segment, parts) in self.groups().into_iter().enumerate() {
            let slots = self.entries[parts].iter().flat_map(|part| &part.occupancy.deleted);
            all.extend(slots.map(|&slot| Position { segment, slot: slot as usize }));
        }
        all
    }

    /// Deletes records, all or none: answers leave them out from then on. Their ciphertexts stay.
    ///
    /// # Errors
    /// A record does not exist.
    pub fn delete(&mut self, positions: &[Position]) -> Result<()> {
        let (groups, mut entries) = (self.groups(), self.entries.clone());
        let (records, segments) = (self.records() as usize, groups.len());
        for &Position { segment, slot } in positions {
            let absent = || Error::from(he_search::Error::NoRecord { segment, slot, records, segments });
            let parts = groups.get(segment).and_then(|parts| entries.get_mut(parts.clone()));
            let note = parts.and_then(|parts| parts.iter_mut().find(|part| part.occupancy.has(slot)));
            let note = &mut note.ok_or_else(absent)?.occupancy;
            let mut occupancy = note.occupancy(&self.params)?;
            occupancy.delete(slot).map_err(|_| absent())?;
            *note = OccupancyNote::of(&occupancy);
        }
        self.entries = entries;
        Ok(())
    }
}

/// The file of a part being read, checked against the index.
pub(super) fn open(index: &dyn StoredIndex, at: usize) -> Result<CipherReader<Ckks>> {
    let described = index.description();
    let reader = CipherReader::<Ckks>::new(index.file(described.entries[at].file)?)?;
    described.check(&reader, &index.name())?;
    if described.key_set() != Some(&reader.payload.key_id) {
        return Err(other_owner(&reader.name, &reader.payload.key_id, &index.name(), described.key_set()));
    }
    Ok(reader)
}

/// The description of a part of a search in a file.
pub(super) fn note_of(reader: &CipherReader<Ckks>, needed: &'static str) -> Result<SearchNote> {
    match &reader.payload.content {
        Content::Search(note) => Ok(note.clone()),
        other => {
            let (name, found) = (reader.name.clone(), other.name().to_owned());
            Err(SearchError::Part { name, found, needed }.into())
        }
    }
}

/// A file that holds another part than the one that is needed.
pub(super) fn other_part(name: &str, note: &SearchNote, needed: &'static str) -> Error {
    SearchError::Part { name: name.to_owned(), found: note.shape(), needed }.into()
}

/// Keys or records of another key set than those of an index.
pub(super) fn other_owner(key: &str, id: &KeyId, index: &str, own: Option<&KeyId>) -> Error {
    let (key, set, index) = (key.to_owned(), id.short().to_owned(), index.to_owned());
    let own = own.map_or_else(String::new, |own| own.short().to_owned());
    SearchError::OtherOwner { key, set, index, own }.into()
}
