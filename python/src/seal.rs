//! Files of SEAL 4.

use crate::arrays::Bytes;
use crate::ciphertext::PyCiphertext;
use crate::context::PyContext;
use crate::error::Fault;
use crate::keys::{PyEvaluationKeys, PyPublicKey};
use crate::params::PyParams;
use crate::run::detached;
use he_any::layout::Layout;
use he_any::{Evaluation, Public};
use he_files::seal;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Arc;

/// Parameters from a file of SEAL.
#[pyfunction]
#[pyo3(name = "_seal_params")]
pub fn read_params(data: &Bound<'_, PyAny>, scale_bits: Option<f64>, insecure: bool) -> PyResult<PyParams> {
    let bytes = Bytes::new(data, "data")?;
    let bytes = bytes.as_slice();
    detached(data.py(), || Ok(PyParams(seal::read_params(bytes, scale_bits, insecure)?)))
}

/// Parameters as a file of SEAL.
#[pyfunction]
#[pyo3(name = "_seal_params_bytes")]
pub fn write_params<'py>(py: Python<'py>, params: &PyParams) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = seal::write_params(&params.0).map_err(he_files::Error::from).map_err(Fault::from)?;
    Ok(PyBytes::new(py, &bytes))
}

/// A public key from a file of SEAL.
#[pyfunction]
#[pyo3(name = "_seal_public_key")]
pub fn read_public_key(context: &PyContext, data: &Bound<'_, PyAny>) -> PyResult<PyPublicKey> {
    let (core, bytes) = (&context.0, Bytes::new(data, "data")?);
    let bytes = bytes.as_slice();
    let key = core.site.place.run(data.py(), || Ok(seal::read_public_key(core.site.rlwe()?, bytes)?))?;
    Ok(PyPublicKey { core: Arc::clone(core), key: Public::Rlwe(key) })
}

/// Evaluation keys from a file of SEAL: the one for products, or those of rotations.
#[pyfunction]
#[pyo3(name = "_seal_keys")]
pub fn read_keys(context: &PyContext, data: &Bound<'_, PyAny>, galois: bool) -> PyResult<PyEvaluationKeys> {
    let (core, bytes) = (&context.0, Bytes::new(data, "data")?);
    let bytes = bytes.as_slice();
    let read = if galois { seal::read_galois_keys } else { seal::read_relin_key };
    let keys = core.site.place.run(data.py(), || Ok(read(core.site.rlwe()?, bytes)?))?;
    Ok(PyEvaluationKeys { core: Arc::clone(core), keys: Arc::new(Evaluation::Rlwe(keys)) })
}

/// A ciphertext rotated as SEAL numbers slots, by the evaluation keys of its context.
#[pyfunction]
#[pyo3(name = "_seal_rotate")]
pub fn rotate(ciphertext: &Bound<'_, PyCiphertext>, steps: i64) -> PyResult<PyCiphertext> {
    let (py, of) = (ciphertext.py(), ciphertext.get());
    let core = &of.core;
    core.site.place.run(py, || {
        let keys = of.switching()?;
        let cipher = seal::rotate(core.site.rlwe()?, &of.cipher, steps, keys.get()?)?;
        let layout = Layout::new(None, cipher.slots(), false, None);
        Ok(PyCiphertext::new(core, cipher, layout))
    })
}

/// A ciphertext from a file of SEAL: all slots, of unknown bounds.
#[pyfunction]
#[pyo3(name = "_seal_ciphertext")]
pub fn read_ciphertext(context: &PyContext, data: &Bound<'_, PyAny>) -> PyResult<PyCiphertext> {
    let (core, bytes) = (&context.0, Bytes::new(data, "data")?);
    let bytes = bytes.as_slice();
    core.site.place.run(data.py(), || {
        let cipher = seal::read_ciphertext(core.site.rlwe()?, bytes)?;
        let layout = Layout::new(None, cipher.slots(), false, None);
        Ok(PyCiphertext::new(core, cipher, layout))
    })
}

/// A ciphertext as a file of SEAL.
#[pyfunction]
#[pyo3(name = "_seal_bytes")]
pub fn write_ciphertext<'py>(ciphertext: &Bound<'py, PyCiphertext>) -> PyResult<Bound<'py, PyBytes>> {
    let (py, of) = (ciphertext.py(), ciphertext.get());
    let core = Arc::clone(&of.core);
    let bytes = core.site.place.run(py, || Ok(seal::write_ciphertext(core.site.rlwe()?, &of.cipher)?))?;
    Ok(PyBytes::new(py, &bytes))
}

/// The place of each slot's value among those that SEAL encodes.
#[pyfunction]
#[pyo3(name = "_seal_order")]
pub fn slot_order(params: &PyParams) -> PyResult<Vec<usize>> {
    match params.0.rlwe() {
        Some(_) => Ok(seal::slot_order(&params.0)),
        None => Err(Fault::Type("parameters of tfhe, which have no slots".to_owned()).into()),
    }
}
