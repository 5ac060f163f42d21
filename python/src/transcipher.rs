//! The data that sensors send under AES-CTR, and its way into encrypted integers.

use crate::arrays::Bytes;
use crate::context::{Core, PyContext};
use crate::error::{Fault, Result};
use crate::interrupt;
use crate::keys::{PySecretKey, Reduced, never_pickled, reduced};
use crate::params::PyParams;
use crate::run::detached;
use crate::secrets;
use crate::uint::{PyInt, PyUint};
use he::Device;
use he_core::aes::{self, BLOCK, Bulk, BulkCipher, Key, KeySize};
use he_core::tfhe::{CircuitBootstrapper, CircuitKey, CircuitParams, CircuitSpec, EncryptedUint};
use he_core::transcipher::{EncryptedAesKey, SensorKey};
use he_files::scheme::engine::rng;
use he_files::transcipher::evaluate::{Numbers, blocks_at_once};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyType};
use rand::Rng;
use std::sync::Arc;
use zeroize::Zeroizing;

/// The AES key of a sensor, which encrypts what is to be transciphered and nothing else. It is
/// wiped when it is dropped, and never pickled.
#[pyclass(frozen, module = "he", name = "SensorKey")]
pub struct PySensorKey(SensorKey);

#[pymethods]
impl PySensorKey {
    /// A new random key of 128, 192 or 256 bits.
    #[classmethod]
    #[pyo3(signature = (bits = 128))]
    fn generate(_class: &Bound<'_, PyType>, bits: usize, py: Python<'_>) -> PyResult<Self> {
        let size = KeySize::ALL.into_iter().find(|size| size.bits() == bits);
        let none = || PyValueError::new_err(format!("bits: {bits}, where 128, 192 or 256 are expected"));
        let size = size.ok_or_else(none)?;
        detached(py, || {
            secrets::check_allowed("making a sensor key")?;
            Ok(Self(SensorKey::generate(size, &mut rng()?)))
        })
    }

    /// A key that a sensor has already: 16, 24 or 32 bytes. It must be used for nothing else.
    #[classmethod]
    fn from_key(_class: &Bound<'_, PyType>, key: &Bound<'_, PyAny>) -> PyResult<Self> {
        let bytes = Bytes::new(key, "key")?;
        let bytes = bytes.as_slice();
        detached(key.py(), || {
            secrets::check_allowed("reading a sensor key")?;
            Ok(Self(SensorKey::new(Key::from_slice(bytes).map_err(he_files::Error::from)?)))
        })
    }

    /// A key from the bytes of `to_bytes`, which are those of a key file.
    #[classmethod]
    fn from_bytes(_class: &Bound<'_, PyType>, data: &Bound<'_, PyAny>) -> PyResult<Self> {
        let bytes = Bytes::new(data, "data")?;
        let bytes = bytes.as_slice();
        detached(data.py(), || {
            secrets::check_allowed("reading a sensor key")?;
            Ok(Self(SensorKey::from_bytes(bytes)?))
        })
    }

    /// The key as bytes that can be overwritten: those of a key file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyByteArray>> {
        Ok(PyByteArray::new(py, &self.0.to_bytes().map_err(Fault::from)?))
    }

    /// The bits of the key: 128, 192 or 256.
    #[getter]
    fn bits(&self) -> usize {
        self.0.key().size().bits()
    }

    /// Encrypt integers by AES-CTR, as a sensor does.
    ///
    /// Parameters
    /// ----------
    /// values : array_like
    ///     Integers of 8, 16, 32 or 64 bits, with a sign or without, by their dtype.
    ///
    /// Returns
    /// -------
    /// counter : bytes
    ///     The first counter block, which is drawn at random: no block may come twice under one
    ///     key.
    /// data : bytes
    ///     As many bytes as the integers have.
    ///
    /// Raises
    /// ------
    /// TypeError
    ///     For an array of another dtype.
    fn encrypt<'py>(
        &self,
        values: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let py = values.py();
        secrets::check_allowed("encrypting with a sensor key").map_err(PyErr::from)?;
        let array = py.import("numpy")?.getattr("asarray")?.call1((values,))?;
        let dtype = array.getattr("dtype")?;
        Integers::of(&dtype)?;
        let little = dtype.call_method1("newbyteorder", ("<",))?;
        let plain = array.call_method1("astype", (little,))?.call_method0("tobytes")?;
        let mut data = Zeroizing::new(plain.cast::<PyBytes>()?.as_bytes().to_vec());
        let mut counter = [0; BLOCK];
        detached(py, || {
            rng()?.fill_bytes(&mut counter);
            let encrypted = aes::Cpu::new().hazmat_ctr(self.0.key(), &counter, Bulk::in_place(&mut data));
            Ok(encrypted.map_err(he_files::Error::from)?)
        })?;
        Ok((PyBytes::new(py, &counter), PyBytes::new(py, &data)))
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(never_pickled("a he.SensorKey"))
    }

    fn __copy__(&self) -> PyResult<()> {
        Err(never_pickled("a he.SensorKey"))
    }

    fn __repr__(&self) -> String {
        format!("<he.SensorKey: {} bits>", self.bits())
    }
}

/// The integers of a dtype.
struct Integers {
    bits: usize,
    signed: bool,
}

impl Integers {
    fn of(dtype: &Bound<'_, PyAny>) -> PyResult<Self> {
        let kind: String = dtype.getattr("kind")?.extract()?;
        let bytes: usize = dtype.getattr("itemsize")?.extract()?;
        match kind.as_str() {
            "i" | "u" => Ok(Self { bits: 8 * bytes, signed: kind == "i" }),
            _ => Err(PyTypeError::new_err(format!("an array of dtype {dtype}, where integers are expected"))),
        }
    }
}

/// A key of a context that is public and sent to those who compute.
macro_rules! public_keys {
    ($($(#[$doc:meta])* $class:ident, $type:ty, $name:literal, $unpickle:literal, $unpickled:ident;)*) => {$(
        $(#[$doc])*
        #[pyclass(frozen, module = "he", name = $name)]
        pub struct $class {
            core: Arc<Core>,
            key: Arc<$type>,
        }

        impl $class {
            fn read(core: &Arc<Core>, bytes: &[u8]) -> Result<Self> {
                let key = <$type>::from_bytes(core.site.tfhe()?, bytes)?;
                Ok(Self { core: Arc::clone(core), key: Arc::new(key) })
            }

            /// The key of an object or of its bytes, in a context.
            fn of(core: &Arc<Core>, key: &Bound<'_, PyAny>) -> PyResult<Arc<$type>> {
                if let Ok(own) = key.cast::<Self>() {
                    core.site.check_same(&own.get().core.site, $name)?;
                    return Ok(Arc::clone(&own.get().key));
                }
                let bytes = Bytes::new(key, $name)?;
                let bytes = bytes.as_slice();
                core.site.place.run(key.py(), || Ok(Self::read(core, bytes)?.key))
            }
        }

        #[pymethods]
        impl $class {
            /// The key from the bytes of `to_bytes`, in a context of the same parameters.
            ///
            /// Raises
            /// ------
            /// FormatError
            ///     If the bytes are not those of such a key.
            /// ParameterError
            ///     If they are of other parameters.
            #[classmethod]
            fn from_bytes(
                _class: &Bound<'_, PyType>,
                context: &PyContext,
                data: &Bound<'_, PyAny>,
            ) -> PyResult<Self> {
                Ok(Self { core: Arc::clone(&context.0), key: Self::of(&context.0, data)? })
            }

            /// The key as bytes.
            fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
                let bytes = self.core.site.place.run(py, || Ok(self.key.to_bytes(self.core.site.tfhe()?)?))?;
                Ok(PyBytes::new(py, &bytes))
            }

            /// The identity of the key set.
            #[getter]
            fn key_set(&self) -> Option<String> {
                self.key.key_set().map(|id| id.to_string())
            }

            /// The context.
            #[getter]
            fn context(&self) -> PyContext {
                PyContext(Arc::clone(&self.core))
            }

            fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
                reduced(slf.py(), $unpickle, &slf.get().core, slf.get().to_bytes(slf.py())?)
            }

            fn __repr__(&self) -> &'static str {
                concat!("<he.", $name, ": tfhe>")
            }
        }

        /// From its pickled form.
        #[pyfunction]
        #[pyo3(name = $unpickle)]
        pub fn $unpickled(params: &PyParams, data: &Bound<'_, PyBytes>) -> PyResult<$class> {
            let (params, bytes) = (params.0.clone(), data.as_bytes());
            detached(data.py(), || $class::read(&Core::for_pickled(params)?, bytes))
        }
    )*};
}

public_keys! {
    /// The keys that transciphering takes besides evaluation keys. It reveals nothing.
    PyTranscipherKey, CircuitKey, "TranscipherKey", "_transcipher_key", unpickled_transcipher_key;
    /// A sensor key under TFHE, for those who transcipher. It reveals nothing.
    PyEncryptedSensorKey, EncryptedAesKey, "EncryptedSensorKey", "_encrypted_sensor_key",
        unpickled_sensor_key;
}

/// Turns what a sensor encrypted into encrypted integers.
#[pyclass(frozen, module = "he", name = "Transcipher")]
pub struct PyTranscipher {
    core: Arc<Core>,
    boot: CircuitBootstrapper<Device>,
    sensor: Arc<EncryptedAesKey>,
}

#[pymethods]
impl PyTranscipher {
    /// Prepare the keys on the device of a context, which has evaluation keys.
    ///
    /// Parameters
    /// ----------
    /// context : Context
    ///     A context of ``Params.tfhe("phases_2m128")`` with evaluation keys.
    /// key : TranscipherKey or bytes
    ///     What ``SecretKey.transcipher_key`` made.
    /// sensor_key : EncryptedSensorKey or bytes
    ///     What ``SecretKey.encrypt_sensor_key`` made.
    ///
    /// Raises
    /// ------
    /// KeySetError
    ///     If the keys are of different key sets.
    #[new]
    fn new(
        context: &PyContext,
        key: &Bound<'_, PyAny>,
        sensor_key: &Bound<'_, PyAny>,
        py: Python<'_>,
    ) -> PyResult<Self> {
        let core = &context.0;
        let (key, sensor) = (PyTranscipherKey::of(core, key)?, PyEncryptedSensorKey::of(core, sensor_key)?);
        let boot = core.site.place.run(py, || {
            let keys = core.evaluation()?;
            let Some(bootstrap) = keys.tfhe() else {
                return Err(Fault::Type("transciphering needs evaluation keys of tfhe".to_owned()));
            };
            let boot = CircuitBootstrapper::new(core.site.device(), bootstrap, &key)?;
            // A size that does not fit is refused now.
            Numbers::new(&boot, &sensor, &[0; BLOCK], 8)?;
            Ok(boot)
        })?;
        Ok(Self { core: Arc::clone(core), boot, sensor })
    }

    /// Encrypted integers of what a sensor sent.
    ///
    /// Nothing authenticates what was sent: take it from a channel that does.
    ///
    /// Parameters
    /// ----------
    /// counter, data : bytes
    ///     What ``SensorKey.encrypt`` returned.
    /// dtype : dtype
    ///     That of the integers: ``int16``, ``uint8`` and so on.
    ///
    /// Returns
    /// -------
    /// EncryptedInt or EncryptedUint
    ///     As many integers as were sent.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     For a counter of another length than 16 bytes, and for data that are not whole integers.
    fn decrypt<'py>(
        &self,
        counter: &Bound<'py, PyAny>,
        data: &Bound<'py, PyAny>,
        dtype: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = data.py();
        let Integers { bits, signed } =
            Integers::of(&py.import("numpy")?.getattr("dtype")?.call1((dtype,))?)?;
        let (counter, data) = (Bytes::new(counter, "counter")?, Bytes::new(data, "data")?);
        let (counter, data) = (counter.as_slice(), data.as_slice());
        let wrong =
            || PyValueError::new_err(format!("counter: {} bytes, where {BLOCK} are expected", counter.len()));
        let counter: [u8; BLOCK] = counter.try_into().map_err(|_| wrong())?;
        if data.is_empty() || data.len() % (bits / 8) != 0 {
            let text = format!("data: {} bytes, which are not integers of {bits} bits", data.len());
            return Err(PyValueError::new_err(text));
        }
        let integers = self.core.site.place.run(py, || {
            let mut numbers = Numbers::new(&self.boot, &self.sensor, &counter, bits)?;
            let mut parts = Vec::new();
            for piece in data.chunks(blocks_at_once(self.core.site.device()) * BLOCK) {
                interrupt::point();
                parts.push(numbers.next(piece)?);
            }
            Ok(EncryptedUint::concat(&parts.iter().collect::<Vec<_>>())?)
        })?;
        let core = Arc::clone(&self.core);
        Ok(match signed {
            true => Bound::new(py, PyInt::new(core, integers.reinterpret()))?.into_any(),
            false => Bound::new(py, PyUint::new(core, integers))?.into_any(),
        })
    }

    /// The context.
    #[getter]
    fn context(&self) -> PyContext {
        PyContext(Arc::clone(&self.core))
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a he.Transcipher belongs to its device and is not pickled; send its keys, which are",
        ))
    }

    fn __repr__(&self) -> String {
        format!("<he.Transcipher: AES of {} bits>", self.sensor.size().bits())
    }
}

#[pymethods]
impl PySecretKey {
    /// Make the key that `Transcipher` takes besides evaluation keys, under TFHE.
    fn transcipher_key(&self, py: Python<'_>) -> PyResult<PyTranscipherKey> {
        let core = &self.core;
        let made = core.site.place.run(py, || {
            let params = CircuitParams::new(core.site.tfhe()?, CircuitSpec::default());
            let params = params.map_err(he_core::Error::from)?;
            Ok(CircuitKey::generate(self.tfhe()?, &params, &mut rng()?)?)
        })?;
        Ok(PyTranscipherKey { core: Arc::clone(core), key: Arc::new(made) })
    }

    /// Encrypt the key of a sensor under TFHE, for `Transcipher`.
    fn encrypt_sensor_key(&self, sensor: &PySensorKey, py: Python<'_>) -> PyResult<PyEncryptedSensorKey> {
        let core = &self.core;
        let made = core
            .site
            .place
            .run(py, || Ok(EncryptedAesKey::generate(self.tfhe()?, sensor.0.key(), &mut rng()?)?))?;
        Ok(PyEncryptedSensorKey { core: Arc::clone(core), key: Arc::new(made) })
    }
}
