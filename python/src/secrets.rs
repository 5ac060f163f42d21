//! Processes that renounce secrets: workers, which compute for others.

use crate::error::{Fault, Result};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

static RENOUNCED: AtomicBool = AtomicBool::new(false);

/// Renounces all secrets for the rest of this process: no secret key is made, read or used from now
/// on.
#[pyfunction]
#[pyo3(name = "_renounce_secrets")]
pub fn renounce() {
    RENOUNCED.store(true, Ordering::SeqCst);
}

/// That this process may hold secrets.
///
/// # Errors
/// [`Fault::Type`] that names what was attempted.
pub fn check_allowed(what: &str) -> Result<()> {
    if !RENOUNCED.load(Ordering::SeqCst) {
        return Ok(());
    }
    Err(Fault::Type(format!(
        "{what} in a worker, which takes no secrets; encrypt and decrypt in the process that owns the \
         secret key, and send public and evaluation keys alone"
    )))
}
