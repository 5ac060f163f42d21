//! Constants that a model keeps in files beside its own.
//!
//! A file may be named by a model that someone else wrote: only files inside the model's folder are
//! read, of these only the part that the model states, and of that no more than the constant has.

use super::MAX_BYTES;
use super::element::Element;
use super::tensor;
use crate::error::{Error, Result};
use rten_onnx::onnx::{DataLocation, DataType, ModelProto, TensorProto};
use std::cell::RefCell;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

const ONE_FILE: &str =
    "put all of it into one file: onnx.save_model(onnx.load(\"model.onnx\"), \"one.onnx\")";
const SAVE_AGAIN: &str = "save the model again: onnx.save_model(onnx.load(\"model.onnx\"), \"new.onnx\", \
                          save_as_external_data=True), and keep its files together";

/// The place that a tensor states for its data.
struct Place {
    location: String,
    offset: u64,
    length: Option<u64>,
}

fn wrong(tensor: &TensorProto, why: impl std::fmt::Display, hint: &'static str) -> Error {
    let name = tensor.name.as_deref().unwrap_or_default();
    Error::Model { why: format!("keeps its constant {name:?} in another file: {why}"), hint }
}

/// Whether a tensor lies in another file.
pub fn is_external(tensor: &TensorProto) -> bool {
    tensor.data_location == Some(DataLocation::EXTERNAL) || !tensor.external_data.is_empty()
}

/// A tensor in another file, where none is read.
pub fn refused(tensor: &TensorProto) -> Error {
    wrong(tensor, "one file is read alone", ONE_FILE)
}

impl Place {
    /// Reads the place that a tensor states: each of its keys once, and no other key.
    fn of(tensor: &TensorProto) -> Result<Self> {
        if tensor.data_location != Some(DataLocation::EXTERNAL) {
            return Err(wrong(tensor, "its data_location says that it does not", SAVE_AGAIN));
        }
        let (mut location, mut offset, mut length) = (None, None, None);
        for entry in &tensor.external_data {
            let (key, value) = (entry.key.as_deref().unwrap_or_default(), entry.value.clone());
            let value = value.unwrap_or_default();
            let slot = match key {
                "location" => &mut location,
                "offset" => &mut offset,
                "length" => &mut length,
                _ => return Err(wrong(tensor, format!("its {key:?} is not read"), SAVE_AGAIN)),
            };
            if slot.replace(value).is_some() {
                return Err(wrong(tensor, format!("it says its {key} twice"), SAVE_AGAIN));
            }
        }
        let number = |text: String| {
            text.parse::<u64>()
                .map_err(|_| wrong(tensor, format!("{text:?} is not a number of bytes"), SAVE_AGAIN))
        };
        Ok(Self {
            location: location.ok_or_else(|| wrong(tensor, "it does not say which", SAVE_AGAIN))?,
            offset: offset.map(number).transpose()?.unwrap_or(0),
            length: length.map(number).transpose()?,
        })
    }
}

/// The file that a model names, which must be inside its folder.
fn file(tensor: &TensorProto, folder: &Path, location: &str) -> Result<(File, u64)> {
    let inside = |path: &Path| {
        let normal = path.components().all(|part| matches!(part, Component::Normal(_)));
        normal && path.components().next().is_some()
    };
    if !inside(Path::new(location)) || location.contains(['\\', '\0']) {
        let why = format!("{location:?} is not a path inside the folder of the model");
        return Err(wrong(tensor, why, SAVE_AGAIN));
    }
    let failed = |error: std::io::Error| wrong(tensor, format!("{location:?}: {error}"), SAVE_AGAIN);
    // A link may lead out of the folder.
    let path = folder.join(location).canonicalize().map_err(failed)?;
    if !path.starts_with(folder) {
        let why = format!("{location:?} is a link that leads out of the folder of the model");
        return Err(wrong(tensor, why, SAVE_AGAIN));
    }
    // Nothing that would wait for a writer is opened.
    let data = std::fs::metadata(&path).map_err(failed)?;
    if !data.is_file() {
        return Err(wrong(tensor, format!("{location:?} is not a file"), SAVE_AGAIN));
    }
    Ok((File::open(&path).map_err(failed)?, data.len()))
}

/// The bytes of a tensor.
fn bytes(tensor: &TensorProto, folder: &Path, left: &mut u64) -> Result<Vec<u8>> {
    let place = Place::of(tensor)?;
    let kind = tensor.data_type.unwrap_or(DataType(0));
    let dims: Option<Vec<usize>> = tensor.dims.iter().map(|&dim| usize::try_from(dim).ok()).collect();
    let count = dims.as_deref().and_then(tensor::count);
    let (Some(element), Some(count)) = (Element::of(kind), count) else {
        return Err(wrong(tensor, "its type or its dimensions are not read", SAVE_AGAIN));
    };
    let expected = (count * element.bytes()) as u64;
    let (mut file, size) = file(tensor, folder, &place.location)?;
    let rest = size.checked_sub(place.offset).ok_or_else(|| {
        let why = format!("it begins at byte {} of {:?}, which has {size}", place.offset, place.location);
        wrong(tensor, why, SAVE_AGAIN)
    })?;
    let length = place.length.unwrap_or(rest);
    if length > rest {
        let why = format!("it takes {length} bytes of {:?}, and {rest} are left", place.location);
        return Err(wrong(tensor, why, SAVE_AGAIN));
    }
    if length != expected {
        let why = format!("it takes {length} bytes for {count} numbers of type {}", element.name());
        return Err(wrong(tensor, why, SAVE_AGAIN));
    }
    *left = left.checked_sub(length).ok_or_else(|| {
        wrong(tensor, format!("all files have more than {MAX_BYTES} bytes"), "use a smaller model")
    })?;
    let failed = |error: std::io::Error| wrong(tensor, format!("{:?}: {error}", place.location), SAVE_AGAIN);
    file.seek(SeekFrom::Start(place.offset)).map_err(failed)?;
    let mut bytes = vec![0; length as usize];
    file.read_exact(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// Reads all constants that a model keeps in files of its folder, as if it had them itself. The
/// number of their bytes is returned.
///
/// # Errors
/// [`Error::Model`] for a file outside the folder, a part outside the file, or another number of
/// bytes than the constant has.
pub fn read(model: &mut ModelProto, folder: &Path) -> Result<usize> {
    let Some(graph) = &mut model.graph else { return Ok(0) };
    let attributes = graph.node.iter_mut().flat_map(|node| &mut node.attribute);
    let tensors = attributes.filter_map(|attribute| attribute.t.as_mut()).chain(&mut graph.initializer);
    let (most, mut folder_of) = (MAX_BYTES as u64, None::<PathBuf>);
    let mut left = most;
    for tensor in tensors.filter(|tensor| is_external(tensor)) {
        let folder = match &folder_of {
            Some(folder) => folder.clone(),
            None => folder
                .canonicalize()
                .map_err(|error| wrong(tensor, format!("{}: {error}", folder.display()), SAVE_AGAIN))?,
        };
        if tensor.raw_data.as_ref().is_some_and(|raw| !raw.borrow().is_empty()) {
            return Err(wrong(tensor, "it has numbers of its own as well", SAVE_AGAIN));
        }
        let bytes = bytes(tensor, &folder, &mut left)?;
        tensor.raw_data = Some(RefCell::new(bytes));
        tensor.external_data.clear();
        tensor.data_location = Some(DataLocation::DEFAULT);
        folder_of = Some(folder);
    }
    Ok((most - left) as usize)
}
