//! The Python package `he`: encrypted arrays, files and models over this workspace's libraries.
//!
//! Everything that computes runs with Python detached (`run`), errors are exceptions with the texts
//! of the libraries (`error`), and arrays are read and returned without needless copies (`arrays`).

mod arrays;
mod ciphertext;
mod ckks;
mod context;
mod error;
mod exact;
mod functions;
mod keys;
mod layout;
mod params;
mod run;

use pyo3::prelude::*;

/// What `he/__init__.py` exports.
#[pymodule]
mod _he {
    use super::*;

    #[pymodule_export]
    use super::ciphertext::{PyCiphertext, stack, unpickled as unpickled_ciphertext};
    #[pymodule_export]
    use super::context::{PyContext, devices};
    #[pymodule_export]
    use super::functions::PyFunction;
    #[pymodule_export]
    use super::keys::{
        PyBootstrapKeys, PyEvaluationKeys, PyKeys, PyPublicKey, PySecretKey, unpickled_bootstrap,
        unpickled_evaluation, unpickled_public,
    };
    #[pymodule_export]
    use super::params::{PyParams, unpickled, unpickled_insecure};
    #[pymodule_export]
    use super::run::panic_on_purpose;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        error::add_to(module)
    }
}
