//! Files and bytes under AES-256-GCM: the format of `he-cli`.

use crate::arrays::Bytes;
use crate::error::Fault;
use crate::files::{Goal, Place, opening};
use crate::run::detached;
use crate::secrets;
use he_core::aes::container::UserKey;
use he_files::aes_file::{self, ByteRange, FileCipher, Sealed, Secret, Source, Target};
use he_files::io::output::NewFolder;
use he_files::passphrase::Purpose;
use he_files::scheme::engine::rng;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyType};
use rand::Rng;
use std::path::PathBuf;
use zeroize::Zeroizing;

/// A key for files under AES-256-GCM. It is wiped when it is dropped, and never pickled.
#[pyclass(frozen, module = "he", name = "AesKey")]
pub struct PyAesKey(UserKey);

#[pymethods]
impl PyAesKey {
    /// A new random key.
    #[classmethod]
    fn generate(_class: &Bound<'_, PyType>, py: Python<'_>) -> PyResult<Self> {
        detached(py, || {
            secrets::check_allowed("making an AES key")?;
            let mut bytes = Zeroizing::new([0; UserKey::LEN]);
            rng()?.fill_bytes(&mut *bytes);
            Ok(Self(UserKey::new(&bytes)))
        })
    }

    /// A key from the bytes of `to_bytes`, which are those of a key file.
    #[classmethod]
    fn from_bytes(_class: &Bound<'_, PyType>, data: &Bound<'_, PyAny>) -> PyResult<Self> {
        let bytes = Bytes::new(data, "data")?;
        let bytes = bytes.as_slice();
        detached(data.py(), || {
            secrets::check_allowed("reading an AES key")?;
            Ok(Self(UserKey::from_bytes(bytes)?))
        })
    }

    /// The key as bytes that can be overwritten: those of a key file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyByteArray>> {
        Ok(PyByteArray::new(py, &self.0.to_bytes().map_err(Fault::from)?))
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a he.AesKey is a secret and is neither pickled nor copied; write it with to_bytes",
        ))
    }

    fn __copy__(&self) -> PyResult<()> {
        self.__reduce__()
    }

    fn __repr__(&self) -> &'static str {
        "<he.AesKey>"
    }
}

/// The secret that closes and opens: a key, or a passphrase and whether it opens at any cost.
enum Lock<'a> {
    Key(&'a UserKey),
    Passphrase(&'a str, bool),
}

impl<'a> Lock<'a> {
    fn new(key: Option<&'a PyAesKey>, passphrase: Option<&'a str>, allow_cost: bool) -> PyResult<Self> {
        secrets::check_allowed("AES encryption or decryption")?;
        match (key, passphrase) {
            (Some(key), None) => Ok(Self::Key(&key.0)),
            (None, Some(text)) => Ok(Self::Passphrase(text, allow_cost)),
            _ => Err(PyValueError::new_err("give a key or a passphrase, one of them")),
        }
    }

    fn with<T>(&self, f: impl FnOnce(Secret<'_>) -> T) -> T {
        match self {
            Self::Key(key) => f(Secret::Key(key)),
            Self::Passphrase(text, allow_cost) => {
                let obtain = |_: Purpose, _: &str| opening(text, *allow_cost);
                f(Secret::Passphrase(&obtain))
            }
        }
    }
}

/// Encrypts a file, a folder or bytes.
#[pyfunction]
#[pyo3(name = "_aes_encrypt", signature = (source, key, passphrase, output, force))]
pub fn encrypt<'py>(
    source: Place,
    key: Option<&PyAesKey>,
    passphrase: Option<&str>,
    output: Option<PathBuf>,
    force: bool,
    py: Python<'py>,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let (lock, goal) = (Lock::new(key, passphrase, false)?, Goal::new(output.clone(), force, false));
    detached(py, || {
        let from = match &source {
            Place::Path(path) => Source::open(path, output.as_deref().unwrap_or("-".as_ref()))?,
            Place::Bytes(_) => Source::Input(source.input("source")?),
        };
        let out = goal.output(&[&source])?;
        lock.with(|secret| aes_file::encrypt(from, out, secret, FileCipher::cpu(), &()))?;
        Ok(())
    })?;
    Ok(goal.bytes(py))
}

/// Decrypts a file, a folder or bytes, or a range of bytes.
#[pyfunction]
#[pyo3(name = "_aes_decrypt", signature = (source, key, passphrase, allow_cost, output, range, force))]
pub fn decrypt<'py>(
    source: Place,
    key: Option<&PyAesKey>,
    passphrase: Option<&str>,
    allow_cost: bool,
    output: Option<PathBuf>,
    range: Option<(u64, Option<u64>)>,
    force: bool,
    py: Python<'py>,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let (lock, goal) = (Lock::new(key, passphrase, allow_cost)?, Goal::new(output.clone(), force, true));
    detached(py, || {
        let sealed = Sealed::read(source.input("source")?)?;
        let target = match &output {
            Some(path) if sealed.is_folder() => Target::Folder(NewFolder::create(path)?),
            _ => Target::File(goal.output(&[&source])?),
        };
        let range = range.map(|(start, end)| ByteRange { start, end });
        lock.with(|secret| sealed.decrypt(secret, target, range, |_| Ok(FileCipher::cpu()), &()))?;
        Ok(())
    })?;
    Ok(goal.bytes(py))
}
