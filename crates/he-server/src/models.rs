//! Compiled models of the service, by the names of their files.

use bytes::Bytes;
use he_files::io::input::Input;
use he_files::models::{ENDING, MAX_BYTES, ModelFile};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A model, and what clients get of it.
pub struct Model {
    /// The model.
    pub file: ModelFile,
    /// The bytes of its file.
    pub bytes: Bytes,
    /// The description of the model for clients.
    pub info: Value,
}

impl Model {
    fn read(name: &str, path: &Path) -> he_files::Result<Self> {
        let input = Input::open(path)?;
        let called = input.name().to_owned();
        let bytes = Bytes::from(input.read_all(MAX_BYTES)?);
        let file = ModelFile::from_bytes(&called, &bytes)?;
        let mut info = file.json()?;
        (info["name"], info["bytes"]) = (json!(name), json!(bytes.len()));
        Ok(Self { file, bytes, info })
    }
}

/// Models that were read at the start.
#[derive(Default)]
pub struct Models(BTreeMap<String, Arc<Model>>);

impl Models {
    /// Reads every compiled model of a folder, or one that is given itself.
    ///
    /// # Errors
    /// The folder cannot be read, or a model is damaged.
    pub fn read(path: &Path) -> he_files::Result<Self> {
        let at = |error| he_files::Error::io(error, "read", path.display());
        let paths: Vec<PathBuf> = match path.is_dir() {
            false => vec![path.to_owned()],
            true => {
                let all = std::fs::read_dir(path).map_err(at)?.map(|entry| Ok(entry.map_err(at)?.path()));
                let all = all.collect::<he_files::Result<Vec<_>>>()?;
                all.into_iter().filter(|path| path.extension().is_some_and(|end| end == ENDING)).collect()
            }
        };
        let mut models = BTreeMap::new();
        for path in paths {
            let Some(name) = path.file_stem() else { continue };
            let name = name.to_string_lossy().into_owned();
            let model = Arc::new(Model::read(&name, &path)?);
            models.insert(name, model);
        }
        Ok(Self(models))
    }

    /// The model of this name.
    pub fn get(&self, name: &str) -> Option<Arc<Model>> {
        self.0.get(name).cloned()
    }

    /// All names.
    pub fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    /// The descriptions of all models for clients.
    pub fn json(&self) -> Value {
        json!({ "models": self.0.values().map(|model| &model.info).collect::<Vec<_>>() })
    }
}
