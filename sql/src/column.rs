//! Columns of ciphertexts: an Arrow extension type over binary columns.
//!
//! The type is that of the Python package: `he.ciphertext`, whose metadata are a JSON object with
//! the scheme, the fingerprint of the parameters, the key set and the layout of values in slots,
//! which all cells of a column have in common. Beside it stand, for readers that know them,
//! [`Progress`], the depth, level and noise of a computed column, so that the next query is planned
//! with it, and the [`Bounds`] of its values.

use crate::error::{Error, Result};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use he_any::layout::{Bounds, Layout};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// The name of the extension type.
pub const NAME: &str = "he.ciphertext";
/// The key under which Arrow keeps the name of an extension type.
const NAME_KEY: &str = "ARROW:extension:name";
/// The key under which Arrow keeps its metadata.
const METADATA_KEY: &str = "ARROW:extension:metadata";
/// The key of [`Progress`].
const PROGRESS_KEY: &str = "he.progress";
/// The key of the [`Bounds`] of values.
const BOUNDS_KEY: &str = "he.bounds";
/// The version of the metadata.
const VERSION: u32 = 1;
/// The metadata of a column are a few hundred bytes; more are not read.
const MOST_METADATA: usize = 1 << 16;

/// The kind of the cells of a column.
pub use he_any::Kind;

/// The progress of computations with the cells of a column.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Products and divisions in a row since encryption.
    pub depth: u32,
    /// The level that is left.
    pub level: usize,
    /// The correction factor and the predicted noise, under BFV and BGV.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<NoiseState>,
}

/// The correction factor and the predicted noise of ciphertexts of BFV and BGV.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoiseState {
    /// The correction factor.
    pub factor: u64,
    /// log2 of the root mean square of the noise.
    pub rms_log2: f64,
    /// log2 of its greatest coefficient.
    pub peak_log2: f64,
    /// Its degree in the secret.
    pub degree: u32,
}

/// The type of a column of ciphertexts.
#[derive(Clone, Debug, PartialEq)]
pub struct CellType {
    /// The kind of the cells.
    pub kind: Kind,
    /// The scheme: `ckks`, `bfv`, `bgv` or `tfhe`.
    pub scheme: String,
    /// The fingerprint of the parameters.
    pub params: String,
    /// The identity of the key set, if it is known.
    pub key_set: Option<String>,
    /// The layout of values in the slots of cells, and their bounds; none under TFHE, whose
    /// integers are those modulo 2^bits.
    pub layout: Option<Layout>,
    /// The progress of computations with the cells; fresh if it is not known.
    pub progress: Option<Progress>,
}

/// The metadata as they are written.
#[derive(Serialize, Deserialize)]
struct Metadata {
    version: u32,
    kind: Kind,
    scheme: String,
    params: String,
    key_set: Option<String>,
    layout: Option<(Option<usize>, usize, bool, Option<f64>)>,
}

impl CellType {
    /// The type of a field; `None` for clear columns.
    ///
    /// # Errors
    /// [`Error::Metadata`] for metadata of ciphertexts that are damaged or of a newer version, and
    /// for a column that does not hold bytes.
    pub fn of(field: &Field) -> Result<Option<Self>> {
        let metadata = field.metadata();
        if metadata.get(NAME_KEY).map(String::as_str) != Some(NAME) {
            return Ok(None);
        }
        let wrong = |why: String| Error::Metadata { column: field.name().clone(), why };
        if !is_binary(field.data_type()) {
            return Err(wrong(format!("they stand over {}, which holds no bytes", field.data_type())));
        }
        let Some(text) = metadata.get(METADATA_KEY) else {
            return Err(wrong("none; a UNION of columns of several key sets or layouts has none".to_owned()));
        };
        if text.len() > MOST_METADATA {
            return Err(wrong(format!("{} bytes, where {MOST_METADATA} are possible", text.len())));
        }
        let found: Metadata = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        if found.version != VERSION {
            return Err(wrong(format!("version {}, where {VERSION} is known", found.version)));
        }
        if (found.kind == Kind::Ciphertext) != found.layout.is_some() {
            return Err(wrong("a layout stands beside vectors and nothing else".to_owned()));
        }
        let layout = match found.layout {
            Some((entries, size, splat, padding)) => {
                let counts = entries.into_iter().chain([size]);
                if counts.into_iter().any(|count| count == 0 || count >= 1 << 48) || (splat && size != 1) {
                    return Err(wrong("an impossible layout".to_owned()));
                }
                Some(Layout::new(entries, size, splat, padding.filter(|x| x.is_finite())))
            }
            None => None,
        };
        let progress = metadata.get(PROGRESS_KEY).map(|text| serde_json::from_str(text));
        let progress = progress.transpose().map_err(|error| wrong(error.to_string()))?;
        let bounds = metadata.get(BOUNDS_KEY).map(|text| serde_json::from_str::<Bounds>(text));
        let bounds = bounds.transpose().map_err(|error| wrong(error.to_string()))?;
        // They are those of all slots.
        let layout = layout.map(|layout: Layout| {
            let padding = layout.padding.map(Bounds::of);
            layout.bounded(bounds.map(|bounds| padding.map_or(bounds, |padding| bounds.hull(padding))))
        });
        Ok(Some(Self {
            kind: found.kind,
            scheme: found.scheme,
            params: found.params,
            key_set: found.key_set,
            layout,
            progress,
        }))
    }

    /// The metadata of a field of this type.
    pub fn metadata(&self) -> HashMap<String, String> {
        let layout = self.layout.map(|of| (of.entries, of.size, of.splat, of.padding));
        let metadata = Metadata {
            version: VERSION,
            kind: self.kind,
            scheme: self.scheme.clone(),
            params: self.params.clone(),
            key_set: self.key_set.clone(),
            layout,
        };
        // Maps with names as keys and finite numbers are always JSON.
        let text = serde_json::to_string(&metadata).unwrap_or_default();
        let mut all =
            HashMap::from([(NAME_KEY.to_owned(), NAME.to_owned()), (METADATA_KEY.to_owned(), text)]);
        if let Some(progress) = self.progress {
            all.insert(PROGRESS_KEY.to_owned(), serde_json::to_string(&progress).unwrap_or_default());
        }
        if let Some(bounds) = self.bounds() {
            all.insert(BOUNDS_KEY.to_owned(), serde_json::to_string(&bounds).unwrap_or_default());
        }
        all
    }

    /// Bounds of the values, if they are known; none under TFHE.
    pub fn bounds(&self) -> Option<Bounds> {
        self.layout.and_then(|layout| layout.bounds)
    }

    /// A field of this type, over the storage that queries compute with.
    pub fn field(&self, name: &str) -> FieldRef {
        Arc::new(Field::new(name, DataType::BinaryView, true).with_metadata(self.metadata()))
    }

    /// A field of this type over the storage that files have.
    pub fn stored(&self, name: &str, nullable: bool) -> Field {
        Field::new(name, DataType::LargeBinary, nullable).with_metadata(self.metadata())
    }

    /// Scheme and parameters, for people.
    pub fn described(&self) -> String {
        let params = self.params.get(..8).unwrap_or(&self.params);
        format!("{} parameters {params}", self.scheme)
    }
}

/// Whether a column can hold ciphertexts.
pub fn is_binary(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Binary | DataType::LargeBinary | DataType::BinaryView)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn python(metadata: &str) -> Field {
        let entries = [(NAME_KEY, NAME), (METADATA_KEY, metadata)];
        Field::new("price", DataType::LargeBinary, true)
            .with_metadata(entries.map(|(key, value)| (key.to_owned(), value.to_owned())).into())
    }

    /// Metadata as `json.dumps` of Python writes them.
    const WRITTEN: &str = r#"{"version": 1, "kind": "ciphertext", "scheme": "bfv", "params": "ab12", "key_set": "0f", "layout": [null, 3, false, 0.0]}"#;

    #[test]
    fn metadata_of_python_are_read_and_written_back() {
        let read = CellType::of(&python(WRITTEN)).unwrap().unwrap();
        let layout = Layout::new(None, 3, false, Some(0.0));
        assert_eq!((read.kind, read.scheme.as_str(), read.layout), (Kind::Ciphertext, "bfv", Some(layout)));
        assert_eq!(CellType::of(&read.field("price")).unwrap(), Some(read.clone()));
        let [ours, theirs] = [read.metadata()[METADATA_KEY].as_str(), WRITTEN]
            .map(|text| serde_json::from_str::<serde_json::Value>(text).unwrap());
        assert_eq!(ours, theirs);
        assert_eq!(CellType::of(&Field::new("region", DataType::Utf8, true)).unwrap(), None);
    }

    #[test]
    fn bounds_stand_beside_and_include_the_padding() {
        let stated = |text: &str| {
            let mut metadata = python(WRITTEN).metadata().clone();
            metadata.insert(BOUNDS_KEY.to_owned(), text.to_owned());
            CellType::of(&python(WRITTEN).with_metadata(metadata))
        };
        let read = stated("[5, 9]").unwrap().unwrap();
        assert_eq!(read.bounds().map(<(f64, f64)>::from), Some((0.0, 9.0)));
        assert_eq!(CellType::of(&read.field("price")).unwrap(), Some(read));
        for wrong in ["[9, 5]", "[0, 1e999]", "[0, null]", "{}", "[0, 1, 2]", "x"] {
            let error = stated(wrong).unwrap_err().to_string();
            assert!(error.contains("price") && error.contains("metadata"), "{wrong}: {error}");
        }
    }

    #[test]
    fn damaged_metadata_are_refused_by_the_name_of_their_column() {
        let missing = WRITTEN.replace(r#", "layout": [null, 3, false, 0.0]"#, "");
        for wrong in [
            "",
            "{}",
            &WRITTEN.replace(": 1,", ": 2,"),
            &WRITTEN.replace("[null, 3", "[null, 0"),
            &WRITTEN.replace("ciphertext", "bool"),
            &WRITTEN.replace("3, false", "3, true"),
            &missing,
            &"x".repeat(MOST_METADATA + 1),
        ] {
            let error = CellType::of(&python(wrong)).unwrap_err().to_string();
            assert!(error.contains("price"), "{error}");
        }
        let clear = python(WRITTEN).with_data_type(DataType::Int64);
        assert!(CellType::of(&clear).is_err());
    }
}
