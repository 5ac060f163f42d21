//! An index on disk.

use super::{IndexDescription, StoredIndex};
use crate::error::{Error, Result, SearchError};
use crate::io::input::Input;
use crate::io::output::{Output, OutputOptions, create_dir};
use crate::note::KeyId;
use he_search::{Plan, Position};
use std::io::Write;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// The name of the description.
pub const DESCRIPTION: &str = "index.json";
/// The longest description that is read.
const MAX_BYTES: u64 = 1 << 26;

/// An index on disk: its description, and a file for each part of a segment.
#[derive(Debug)]
pub struct IndexFolder {
    folder: PathBuf,
    pub(super) description: IndexDescription,
}

impl Deref for IndexFolder {
    type Target = IndexDescription;
    fn deref(&self) -> &IndexDescription {
        &self.description
    }
}

impl StoredIndex for IndexFolder {
    fn description(&self) -> &IndexDescription {
        &self.description
    }

    fn name(&self) -> String {
        self.folder.display().to_string()
    }

    fn file(&self, number: u32) -> Result<Input> {
        Input::open(self.path(number))
    }
}

impl IndexFolder {
    /// Makes the folder of an index without records.
    ///
    /// # Errors
    /// The plan is out of range; the folder is an index already, or cannot be written.
    pub fn create(folder: &Path, plan: &Plan) -> Result<Self> {
        let description = IndexDescription::new(plan)?;
        let name = folder.display().to_string();
        let made = create_dir(folder)?;
        if folder.join(DESCRIPTION).exists() {
            return Err(SearchError::Exists { name }.into());
        }
        let index = Self { folder: folder.to_owned(), description };
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
        let description = IndexDescription::from_bytes(&bytes, &name)?;
        Ok(Self { folder: folder.to_owned(), description })
    }

    /// Writes the description: whole, or not at all.
    pub(super) fn save(&self) -> Result<()> {
        let options = OutputOptions { force: true, ..OutputOptions::default() };
        let mut output = Output::create(self.folder.join(DESCRIPTION), options, &[])?;
        let name = output.name();
        output.write_all(&self.to_bytes()).map_err(|error| Error::io(error, "write", &name))?;
        output.commit()
    }

    /// The file of a segment.
    pub fn path(&self, file: u32) -> PathBuf {
        self.folder.join(format!("{file:06}.he"))
    }

    /// Takes records of a key set, the first of which decide it.
    ///
    /// # Errors
    /// The records of the index are of another key set.
    pub(super) fn claim(&mut self, id: &KeyId, key: &str) -> Result<()> {
        let index = self.name();
        self.description.claim(id, key, &index)
    }

    /// Deletes records, all or none: answers leave them out from then on. Their ciphertexts stay.
    ///
    /// # Errors
    /// A record does not exist; the description cannot be written.
    pub fn delete(&mut self, positions: &[Position]) -> Result<()> {
        self.description.delete(positions)?;
        self.save()
    }
}
