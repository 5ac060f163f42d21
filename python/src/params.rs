//! Parameters of all schemes.

use crate::arrays::Bytes;
use crate::error::{Fault, Result};
use crate::run::detached;
use he_any::Params;
use he_any::tfhe::{MULTI_BIT_PRESETS, PRESETS};
use he_core::ckks::{CkksParams, CkksSpec};
use he_core::exact::{self, ExactSpec, Scheme};
use he_files::bootstrap::Named;
use he_files::scheme::ckks::with_usual_range;
use he_files::scheme::engine::security;
use pyo3::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};

/// Parameters from their bytes; insecure ones on request alone.
fn read(bytes: &[u8], insecure: bool) -> Result<PyParams> {
    Ok(PyParams(match insecure {
        false => Params::from_bytes(bytes)?,
        true => Params::from_bytes_insecure(bytes)?,
    }))
}

/// The error of a name of no scheme with parameters in a ring.
fn unknown(scheme: &str) -> Fault {
    Fault::Value(format!("scheme {scheme:?}, where \"ckks\", \"bfv\" or \"bgv\" is expected"))
}

/// Refuses options that a scheme does not have.
fn not_for(scheme: &str, options: &[(&str, bool)]) -> Result<()> {
    match options.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((name, _)) => Err(Fault::Value(format!("{name} is no option of the scheme {scheme}"))),
    }
}

/// Parameters of a scheme: the ring, the primes, and what depends on them.
///
/// They are public and the same for everybody who takes part. They are chosen from needs by
/// `for_depth`, `bootstrapping` or `tfhe`, compare by value, and are pickled as their bytes.
#[pyclass(frozen, module = "he", name = "Params", from_py_object)]
#[derive(Clone)]
pub struct PyParams(pub Params);

#[pymethods]
impl PyParams {
    /// Choose parameters for a number of successive products.
    ///
    /// Parameters
    /// ----------
    /// depth : int
    ///     Products in a row.
    /// scheme : {"ckks", "bfv", "bgv"}
    ///     Real numbers, or integers.
    /// precision_bits, range_bits : int, optional
    ///     CKKS: the bits of precision (25), and the bits before the point of results: by default
    ///     at least 4, and at least 24 where that costs no larger ring.
    /// bits, plain_modulus : int, optional
    ///     BFV and BGV: results stay below 2^bits in magnitude (20), or the modulus itself.
    /// margin_bits : int, optional
    ///     BFV and BGV: bits of noise budget that are left (10).
    /// slots : int, optional
    ///     CKKS: the least number of slots.
    /// security : {128, 192, 256}
    ///     Bits of security.
    /// log_n : int, optional
    ///     log2 of a fixed ring degree, instead of the smallest possible.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     For numbers outside of their domains.
    /// ParameterError
    ///     If no parameters satisfy the needs.
    #[classmethod]
    #[pyo3(signature = (
        depth, *, scheme = "ckks", precision_bits = None, range_bits = None, bits = None,
        plain_modulus = None, margin_bits = None, slots = None, security = 128, log_n = None
    ))]
    fn for_depth(
        _class: &Bound<'_, PyType>,
        py: Python<'_>,
        depth: usize,
        scheme: &str,
        precision_bits: Option<u32>,
        range_bits: Option<u32>,
        bits: Option<u32>,
        plain_modulus: Option<u64>,
        margin_bits: Option<u32>,
        slots: Option<usize>,
        security: u32,
        log_n: Option<u32>,
    ) -> PyResult<Self> {
        fn exact<S: Scheme>(
            needs: (usize, Option<u32>, Option<u64>, Option<u32>),
            bits: u32,
            log_n: Option<u32>,
        ) -> Result<exact::Params<S>> {
            let (depth, size, plain_modulus, margin_bits) = needs;
            let mut builder = match (plain_modulus, size) {
                (Some(_), Some(_)) => {
                    return Err(Fault::Value("give bits or plain_modulus, not both".to_owned()));
                }
                (Some(t), None) => exact::Params::for_depth(t, depth).slots(),
                (None, size) => exact::Params::for_bits(size.unwrap_or(20), depth)?,
            }
            .security(self::security(bits)?);
            builder = margin_bits.into_iter().fold(builder, |builder, bits| builder.margin_bits(bits));
            builder = log_n.into_iter().fold(builder, |builder, log_n| builder.log_n(log_n));
            Ok(builder.build()?)
        }
        let needs = (depth, bits, plain_modulus, margin_bits);
        let real = [
            ("precision_bits", precision_bits.is_some()),
            ("range_bits", range_bits.is_some()),
            ("slots", slots.is_some()),
        ];
        detached(py, || {
            Ok(Self(match scheme {
                "ckks" => {
                    let exact = [
                        ("bits", bits.is_some()),
                        ("plain_modulus", plain_modulus.is_some()),
                        ("margin_bits", margin_bits.is_some()),
                    ];
                    not_for("ckks", &exact)?;
                    let mut builder = CkksParams::for_depth(depth).security(self::security(security)?);
                    builder = precision_bits
                        .into_iter()
                        .fold(builder, |builder, bits| builder.precision_bits(bits));
                    builder = range_bits.into_iter().fold(builder, |builder, bits| builder.range_bits(bits));
                    builder = slots.into_iter().fold(builder, |builder, slots| builder.slots(slots));
                    builder = log_n.into_iter().fold(builder, |builder, log_n| builder.log_n(log_n));
                    match range_bits {
                        Some(_) => builder.build()?.into(),
                        None => with_usual_range(&builder)?.into(),
                    }
                }
                "bfv" => {
                    not_for("bfv", &real)?;
                    Params::Bfv(exact(needs, security, log_n)?)
                }
                "bgv" => {
                    not_for("bgv", &real)?;
                    Params::Bgv(exact(needs, security, log_n)?)
                }
                other => return Err(unknown(other)),
            }))
        })
    }

    /// Parameters from the widths of their primes, which other libraries state.
    ///
    /// Parameters
    /// ----------
    /// log_n : int
    ///     log2 of the ring degree.
    /// q_bits : sequence of int
    ///     The widths of the primes of the modulus, in bits, 60 at most. Under CKKS the first is
    ///     that of level 0 and each of the others adds a level.
    /// p_bits : sequence of int
    ///     The widths of the special primes of key switching; without any, there are no evaluation
    ///     keys.
    /// scheme : {"ckks", "bfv", "bgv"}
    ///     Real numbers, or integers.
    /// scale_bits : float, optional
    ///     CKKS: log2 of the scale, which the widths after the first are about.
    /// plain_modulus : int, optional
    ///     BFV and BGV: the modulus of integers.
    /// insecure : bool
    ///     Accepts parameters below 128 bits of security, which protect nothing.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     For options that are missing, or of the other kind of schemes.
    /// ParameterError
    ///     For widths without primes, and for less than 128 bits of security.
    #[classmethod]
    #[pyo3(signature = (
        log_n, q_bits, p_bits, *, scheme = "ckks", scale_bits = None, plain_modulus = None, insecure = false
    ))]
    fn from_bits(
        _class: &Bound<'_, PyType>,
        py: Python<'_>,
        log_n: u32,
        q_bits: Vec<u32>,
        p_bits: Vec<u32>,
        scheme: &str,
        scale_bits: Option<f64>,
        plain_modulus: Option<u64>,
        insecure: bool,
    ) -> PyResult<Self> {
        fn exact<S: Scheme>(spec: ExactSpec, insecure: bool) -> Result<exact::Params<S>> {
            Ok(if insecure { exact::Params::insecure(spec)? } else { spec.try_into()? })
        }
        let missing = |what: &str| Fault::Value(format!("{what} is missing for the scheme {scheme}"));
        detached(py, || {
            Ok(Self(match scheme {
                "ckks" => {
                    not_for(scheme, &[("plain_modulus", plain_modulus.is_some())])?;
                    let scale = scale_bits.ok_or_else(|| missing("scale_bits"))?;
                    let spec = CkksSpec::from_bits(log_n, &q_bits, &p_bits, scale)?;
                    Params::Ckks(if insecure { CkksParams::insecure(spec)? } else { spec.try_into()? })
                }
                "bfv" | "bgv" => {
                    not_for(scheme, &[("scale_bits", scale_bits.is_some())])?;
                    let t = plain_modulus.ok_or_else(|| missing("plain_modulus"))?;
                    let spec = ExactSpec::from_bits(log_n, &q_bits, &p_bits, t)?;
                    match scheme {
                        "bfv" => Params::Bfv(exact(spec, insecure)?),
                        _ => Params::Bgv(exact(spec, insecure)?),
                    }
                }
                other => return Err(unknown(other)),
            }))
        })
    }

    /// CKKS whose ciphertexts can be refreshed: ``fast``, ``precise``, ``exact_bound``, ``small``,
    /// or ``insecure_toy``, which protects nothing.
    #[classmethod]
    #[pyo3(signature = (preset = "fast"))]
    fn bootstrapping(_class: &Bound<'_, PyType>, py: Python<'_>, preset: &str) -> PyResult<Self> {
        detached(py, || {
            let named: Named =
                preset.parse().map_err(|why| Fault::Value(format!("preset {preset:?}: {why}")))?;
            Ok(Self(Params::Bootstrap(named.params()?)))
        })
    }

    /// TFHE for integers: ``digits_2m128``, ``digits_2m40``, or ``insecure_small``, which protects
    /// nothing; for integers and transciphering ``phases_2m128``, or ``insecure_phases`` likewise.
    /// Evaluation keys of ``digits_2m128_multibit``, ``digits_2m40_multibit`` and
    /// ``phases_2m128_multibit`` are for GPUs, where a number takes a third of the time; they are
    /// four times as large, and a CPU is slower by them.
    #[classmethod]
    #[pyo3(signature = (preset = "digits_2m128"))]
    fn tfhe(_class: &Bound<'_, PyType>, py: Python<'_>, preset: &str) -> PyResult<Self> {
        detached(py, || {
            let all = || PRESETS.into_iter().chain(MULTI_BIT_PRESETS);
            let (_, params) = all().find(|(name, _)| *name == preset).ok_or_else(|| {
                let names: Vec<&str> = all().map(|(name, _)| name).collect();
                Fault::Value(format!("preset {preset:?}: there are {}", names.join(", ")))
            })?;
            Ok(Self(Params::Tfhe(params()?)))
        })
    }

    /// Parameters from the bytes of `to_bytes`; insecure ones on request alone.
    #[classmethod]
    #[pyo3(signature = (data, *, insecure = false))]
    fn from_bytes(
        _class: &Bound<'_, PyType>,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        insecure: bool,
    ) -> PyResult<Self> {
        let bytes = Bytes::new(data, "data")?;
        let bytes = bytes.as_slice();
        detached(py, || read(bytes, insecure))
    }

    /// The parameters as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.to_bytes().map_err(Fault::from)?))
    }

    /// ``ckks``, ``bfv``, ``bgv`` or ``tfhe``.
    #[getter]
    fn scheme(&self) -> &'static str {
        self.0.scheme()
    }

    /// The slots of a ciphertext; None under TFHE.
    #[getter]
    fn slots(&self) -> Option<usize> {
        self.0.slots()
    }

    /// The levels that programs have; None under TFHE.
    #[getter]
    fn depth(&self) -> Option<usize> {
        self.0.depth()
    }

    /// log2 of the ring degree.
    #[getter]
    fn log_n(&self) -> Option<u32> {
        self.0.log_n()
    }

    /// log2 of the greatest modulus.
    #[getter]
    fn log_qp(&self) -> Option<f64> {
        self.0.rlwe().map(|rlwe| rlwe.ring().log_qp())
    }

    /// The bits of security; 0 for insecure parameters.
    #[getter]
    fn security(&self) -> u32 {
        self.0.security_bits()
    }

    /// The modulus of integers under BFV and BGV.
    #[getter]
    fn plain_modulus(&self) -> Option<u64> {
        self.0.plain_modulus()
    }

    /// The greatest magnitude of results: CKKS at level 0, and integers below half of the modulus.
    /// None under TFHE.
    #[getter]
    fn range(&self) -> Option<f64> {
        self.0.range()
    }

    /// Whether ciphertexts can be refreshed.
    #[getter]
    fn can_refresh(&self) -> bool {
        self.0.bootstrapping().is_some()
    }

    /// Why these parameters were chosen.
    #[getter]
    fn explanation(&self) -> String {
        self.0.explanation()
    }

    /// The fingerprint that stands for the parameters in bytes of ciphertexts and keys.
    #[getter]
    fn fingerprint(&self) -> String {
        self.0.fingerprint_text()
    }

    fn __richcmp__(&self, other: &Self, op: CompareOp, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let equal = self.0 == other.0;
        Ok(match op {
            CompareOp::Eq => equal.into_pyobject(py)?.to_owned().into_any().unbind(),
            CompareOp::Ne => (!equal).into_pyobject(py)?.to_owned().into_any().unbind(),
            _ => py.NotImplemented(),
        })
    }

    fn __hash__(&self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0.fingerprint().0;
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let py = slf.py();
        let insecure = slf.get().security() == 0;
        let name = if insecure { "_insecure_params" } else { "_params" };
        Ok((py.import("he._he")?.getattr(name)?, (slf.get().to_bytes(py)?,)))
    }

    fn __repr__(&self) -> String {
        let slots = self.0.slots().map_or_else(String::new, |slots| format!(", {slots} slots"));
        let depth = self.depth().map_or_else(String::new, |depth| format!(", {depth} levels"));
        format!("<he.Params: {}{slots}{depth}>", self.0.scheme())
    }
}

/// Parameters from their pickled form.
#[pyfunction]
#[pyo3(name = "_params")]
pub fn unpickled(data: &[u8]) -> PyResult<PyParams> {
    Ok(read(data, false)?)
}

/// Parameters that protect nothing from their pickled form: whoever pickled them asked for them by
/// name.
#[pyfunction]
#[pyo3(name = "_insecure_params")]
pub fn unpickled_insecure(data: &[u8]) -> PyResult<PyParams> {
    Ok(read(data, true)?)
}
