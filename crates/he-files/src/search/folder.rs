//! The folder of an index, and its description.

use crate::error::{Error, Result, SearchError};
use crate::io::input::Input;
use crate::io::output::{Output, OutputOptions, create_dir};
use crate::note::{KeyId, MAX_SEGMENTS, OccupancyNote, PlanNote};
use he_search::{Params, Plan, Position};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The name of the description.
pub const DESCRIPTION: &str = "index.json";
/// The longest description that is read.
const MAX_BYTES: u64 = 1 << 26;
/// The version that is written.
const VERSION: u64 = 1;

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
struct Description {
    version: u64,
    plan: PlanNote,
    /// The key set of all records, once there are any.
    key_set: Option<KeyId>,
    segments: Vec<Entry>,
}

/// An index on disk.
#[derive(Debug)]
pub struct IndexFolder {
    folder: PathBuf,
    params: Params,
    key_set: Option<KeyId>,
    /// The parts of segments. A part that begins in the slot after the one before it belongs to
    /// the same segment.
    pub(super) entries: Vec<Entry>,
}

impl IndexFolder {
    /// Makes the folder of an index without records.
    ///
    /// # Errors
    /// The plan is out of range; the folder is an index already, or cannot be written.
    pub fn create(folder: &Path, plan: &Plan) -> Result<Self> {
        let params = plan.params()?;
        let name = folder.display().to_string();
        let made = create_dir(folder)?;
        if folder.join(DESCRIPTION).exists() {
            return Err(SearchError::Exists { name }.into());
        }
        let index = Self { folder: folder.to_owned(), params, key_set: None, entries: Vec::new() };
        index.save()?;
        made.keep();
        Ok(index)
    }

    /// Reads the description of an index.
    ///
    /// # Errors
    /// The folder is not an index; its description is damaged, or of a later version.
    pub fn open(folder: &Path) -> Result<Self> {
        let path = folder.join(DESCRIPTION);
        if !path.is_file() {
            return Err(SearchError::NoIndex { name: folder.display().to_string() }.into());
        }
        let name = path.display().to_string();
        let bytes = Input::open(&path)?.read_all(MAX_BYTES)?;
        Self::from_bytes(folder, &bytes, &name)
    }

    /// The description of an index from its bytes, which errors call `name`.
    ///
    /// # Errors
    /// It is damaged, or of a later version.
    pub fn from_bytes(folder: &Path, bytes: &[u8], name: &str) -> Result<Self> {
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
        let read: Description = serde_json::from_slice(bytes).map_err(|error| damaged(error.to_string()))?;
        if read.segments.len() > MAX_SEGMENTS as usize {
            return Err(damaged(format!("it has {} segments", read.segments.len())).into());
        }
        let params = read.plan.params().map_err(|error| damaged(error.to_string()))?;
        for entry in &read.segments {
            entry.occupancy.occupancy(&params).map_err(|error| damaged(error.to_string()))?;
        }
        let folder = folder.to_owned();
        Ok(Self { folder, params, key_set: read.key_set, entries: read.segments })
    }

    /// Writes the description: whole, or not at all.
    pub(super) fn save(&self) -> Result<()> {
        let described = Description {
            version: VERSION,
            plan: PlanNote::of(self.params.plan()),
            key_set: self.key_set.clone(),
            segments: self.entries.clone(),
        };
        let bytes = serde_json::to_vec_pretty(&described).unwrap_or_default();
        let options = OutputOptions { force: true, ..OutputOptions::default() };
        let mut output = Output::create(self.folder.join(DESCRIPTION), options, &[])?;
        let name = output.name();
        output.write_all(&bytes).map_err(|error| Error::io(error, "write", &name))?;
        output.commit()
    }

    /// The name of the folder in errors.
    pub fn name(&self) -> String {
        self.folder.display().to_string()
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

    /// The file of a segment.
    pub(super) fn path(&self, file: u32) -> PathBuf {
        self.folder.join(format!("{file:06}.he"))
    }

    /// The number of the next file.
    pub(super) fn next_file(&self) -> u32 {
        self.entries.iter().map(|entry| entry.file + 1).max().unwrap_or(0)
    }

    /// Takes records of a key set, the first of which decide it.
    ///
    /// # Errors
    /// The records of the index are of another key set.
    pub(super) fn claim(&mut self, id: &KeyId, key: &str) -> Result<()> {
        match &self.key_set {
            Some(own) if own != id => {
                let (set, own) = (id.short().to_owned(), own.short().to_owned());
                Err(SearchError::OtherOwner { key: key.to_owned(), set, index: self.name(), own }.into())
            }
            _ => {
                self.key_set = Some(id.clone());
                Ok(())
            }
        }
    }

    /// Deletes records, all or none: answers leave them out from then on. Their ciphertexts stay.
    ///
    /// # Errors
    /// A record does not exist; the description cannot be written.
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
        self.save()
    }
}
