//! Compiled models of the service, by the names of their files.

use he_files::io::input::Input;
use he_files::models::{ENDING, ModelFile};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Models that were read at the start.
#[derive(Default)]
pub struct Models(BTreeMap<String, Arc<ModelFile>>);

impl Models {
    /// Reads every compiled model of a folder.
    ///
    /// # Errors
    /// The folder cannot be read, or a model is damaged.
    pub fn read(folder: &Path) -> he_files::Result<Self> {
        let at = |error| he_files::Error::io(error, "read", folder.display());
        let mut models = BTreeMap::new();
        for entry in std::fs::read_dir(folder).map_err(at)? {
            let path = entry.map_err(at)?.path();
            if path.extension().is_some_and(|ending| ending == ENDING)
                && let Some(name) = path.file_stem()
            {
                let model = ModelFile::open(Input::open(&path)?)?;
                models.insert(name.to_string_lossy().into_owned(), Arc::new(model));
            }
        }
        Ok(Self(models))
    }

    /// The model of this name.
    pub fn get(&self, name: &str) -> Option<Arc<ModelFile>> {
        self.0.get(name).cloned()
    }

    /// All names.
    pub fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }
}
