//! Parts of encrypted files: the ciphertexts of some of their frames.

use crate::ciphertext::PyCiphertext;
use crate::context::PyContext;
use crate::error::{Fault, Result};
use crate::files::{Place, read_key};
use crate::keys::{PyEvaluationKeys, of_file};
use crate::run::detached;
use he_core::KeySetId;
use he_core::wire::{FramePlace, FrameReader};
use he_files::cipher_file::CipherReader;
use he_files::file_start::{AnyStart, read_start};
use he_files::io::input::Input;
use he_files::on_rlwe;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::sync::Arc;

/// First byte, length in bytes, checksum.
type PyPlace<'py> = (u64, u64, Bound<'py, PyBytes>);

/// The key set of an encrypted file, and where the frames of its ciphertexts lie.
#[pyfunction]
#[pyo3(name = "_file_places")]
pub fn places(path: PathBuf, py: Python<'_>) -> PyResult<(Option<String>, Vec<PyPlace<'_>>)> {
    let (key_set, places) = detached(py, || {
        let name = path.display().to_string();
        let start = read_start(&mut FrameReader::new(Input::open(&path)?), &name)?;
        let AnyStart::Scheme(start) = start else { return Err(not_ranged(&name)) };
        on_rlwe!(
            start,
            S,
            _start => {
                let reader = CipherReader::<S>::open(&path)?;
                Ok((reader.payload.key_id.key_set(), reader.places()?))
            },
            bigckks _ => Err(not_ranged(&name))
        )
    })?;
    let places = places.iter().map(|place| (place.start, place.bytes, PyBytes::new(py, &place.checksum)));
    Ok((key_set.map(|id| id.to_string()), places.collect()))
}

fn not_ranged(name: &str) -> Fault {
    Fault::Format(format!("{name}: ranges are of images and tables under ckks, bfv and bgv"))
}

/// The ciphertexts of some frames of a file.
#[pyfunction]
#[pyo3(name = "_file_ciphertexts")]
pub fn ciphertexts(
    context: &PyContext,
    path: PathBuf,
    places: Vec<(u64, u64, [u8; 32])>,
    key_set: Option<&str>,
    py: Python<'_>,
) -> PyResult<Vec<PyCiphertext>> {
    let core = &context.0;
    let key_set: Option<KeySetId> = key_set
        .map(str::parse)
        .transpose()
        .map_err(|_| Fault::Value("a key set that is not 32 hexadecimal digits".to_owned()))?;
    core.site.place.run(py, || {
        let mut file = Input::open(&path)?;
        let read = |(start, bytes, checksum)| -> Result<_> {
            let frame = FramePlace { start, bytes, checksum }.read(&mut file)?;
            PyCiphertext::of_file(core, &frame, key_set)
        };
        places.into_iter().map(read).collect()
    })
}

/// The evaluation keys of a key file.
#[pyfunction]
#[pyo3(name = "_file_evaluation_keys")]
pub fn evaluation_keys(context: &PyContext, source: Place, py: Python<'_>) -> PyResult<PyEvaluationKeys> {
    let core = &context.0;
    let read = || of_file(core, read_key(&source, "an evaluation key", None, false)?);
    let keys = core.site.place.run(py, read)?;
    Ok(PyEvaluationKeys { core: Arc::clone(core), keys: Arc::new(keys) })
}
