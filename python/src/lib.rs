//! The Python package `he`: encrypted arrays, files and models over this workspace's libraries.
//!
//! Everything that computes runs with Python detached (`run`), errors are exceptions with the texts
//! of the libraries (`error`), and arrays are read and returned without needless copies (`arrays`).

mod aes;
mod arrays;
mod ciphertext;
mod context;
mod digits;
mod error;
mod file_ranges;
mod files;
mod function_methods;
mod functions;
mod index;
mod interrupt;
mod intersection;
mod join;
mod keygen;
mod keys;
mod lookup;
mod model;
mod params;
mod party;
mod products;
mod run;
mod seal;
mod search;
mod secrets;
mod transcipher;
mod uint;

use pyo3::prelude::*;

/// The names that `he/__init__.py` exports.
#[pymodule]
mod _he {
    use super::*;

    #[pymodule_export]
    use super::aes::{PyAesKey, decrypt as aes_decrypt, encrypt as aes_encrypt};
    #[pymodule_export]
    use super::ciphertext::{PyCiphertext, decode as decode_ciphertext, unpickled as unpickled_ciphertext};
    #[pymodule_export]
    use super::context::{PyContext, devices};
    #[pymodule_export]
    use super::digits::{PyDigits, choose};
    #[pymodule_export]
    use super::file_ranges::{ciphertexts, evaluation_keys, places};
    #[pymodule_export]
    use super::files::{decrypt_file, encrypt_file, evaluate, infer, info, keygen, operations};
    #[pymodule_export]
    use super::functions::PyFunction;
    #[pymodule_export]
    use super::intersection::{
        PyIntersectClient, answer as intersect_answer, info as intersect_info, plan as intersect_plan,
        prepare as intersect_prepare, respond as intersect_respond,
    };
    #[pymodule_export]
    use super::join::{concatenate, stack};
    #[pymodule_export]
    use super::keys::{
        PyBootstrapKeys, PyEvaluationKeys, PyKeys, PyPublicKey, PySecretKey, unpickled_bootstrap,
        unpickled_evaluation, unpickled_public,
    };
    #[pymodule_export]
    use super::lookup::{
        PyLookupClient, PyLookupServer, change as lookup_change, description as lookup_description,
        info as lookup_info, keygen as lookup_keygen, prepare as lookup_prepare,
        prepare_keys as lookup_prepare_keys,
    };
    #[pymodule_export]
    use super::model::{PyModel, unpickled as unpickled_model};
    #[pymodule_export]
    use super::params::{PyParams, unpickled, unpickled_insecure};
    #[pymodule_export]
    use super::party::PyParty;
    #[pymodule_export]
    use super::run::panic_on_purpose;
    #[pymodule_export]
    use super::seal::{
        read_ciphertext as seal_ciphertext, read_keys as seal_keys, read_params as seal_params,
        read_public_key as seal_public_key, rotate as seal_rotate, slot_order as seal_order,
        write_ciphertext as seal_bytes, write_params as seal_params_bytes,
    };
    #[pymodule_export]
    use super::search::{
        answer as search_answer, append as search_append, create as search_create, delete as search_delete,
        info as search_info, keygen as search_keygen, merge as search_merge, query as search_query,
        read as search_read,
    };
    #[pymodule_export]
    use super::secrets::renounce;
    #[pymodule_export]
    use super::transcipher::{
        PyEncryptedSensorKey, PySensorKey, PyTranscipher, PyTranscipherKey, unpickled_sensor_key,
        unpickled_transcipher_key,
    };
    #[pymodule_export]
    use super::uint::{PyFlags, PyInt, PyUint, unpickled_flags, unpickled_int, unpickled_uint};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        error::add_to(module)
    }
}
