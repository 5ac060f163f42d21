//! Functions of encrypted numbers: approximations whose needs are known before there is a
//! ciphertext.

use crate::arrays::{Array, Numbers, Values, array_of};
use crate::ciphertext::{Cipher, PyCiphertext};
use crate::ckks::with_slots;
use crate::error::{Fault, Result};
use crate::layout::Op;
use crate::run::detached;
use he::Device;
use he_core::circuits::Requirements;
use he_core::circuits::ckks::{Comparison, Function, GroupFunction, Groups, NeverRefresh, Refresher};
use he_core::ckks::Ciphertext;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::cell::RefCell;
use std::ops::RangeInclusive;

/// A function of one number, of two, or of the numbers of a group.
enum Kind {
    One(Function),
    Two(Comparison),
    Group(GroupFunction),
}

/// An approximation of a function that can be computed on CKKS ciphertexts.
#[pyclass(frozen, module = "he", name = "Function")]
pub struct PyFunction(Kind);

type Interval = (f64, f64);

impl PyFunction {
    pub fn requirements(&self) -> Requirements {
        match &self.0 {
            Kind::One(function) => function.requirements(),
            Kind::Two(function) => function.requirements(),
            Kind::Group(function) => function.requirements(),
        }
    }

    /// What the operators of comparisons compute: whether a difference of at least 2^-5 in [-2, 2]
    /// is positive, up to 2^-8.
    pub fn default_step(py: Python<'_>) -> PyResult<Self> {
        detached(py, || Ok(Self(Kind::One(Function::step(2.0, 1.0 / 32.0, 8)?))))
    }

    /// The function of a ciphertext, with refreshes if the context can do them.
    pub fn applied(
        &self,
        py: Python<'_>,
        ct: &PyCiphertext,
        other: Option<&PyCiphertext>,
    ) -> PyResult<PyCiphertext> {
        if let Some(other) = other {
            ct.core.site.check_same(&other.core.site, "second operand")?;
        }
        if matches!(self.0, Kind::Two(_)) != other.is_some() {
            let wanted = if other.is_some() { "one ciphertext" } else { "two ciphertexts" };
            return Err(PyTypeError::new_err(format!("{} is a function of {wanted}", self.name())));
        }
        ct.run(py, || {
            let (core, engine, keys) = (&ct.core, ct.core.site.ckks()?, ct.core.switching()?);
            let (a, b) = (ct.ckks()?, other.map(PyCiphertext::ckks).transpose()?);
            let ev = &engine.ev;
            let layout = match other {
                Some(other) => ct.layout.combined(&other.layout, Op::Add, false)?,
                None => ct.layout.unknown(),
            };
            let result = match core.bootstrap_keys() {
                None => with_refresher(&self.0, ev, a, b, keys.get()?, &NeverRefresh)?,
                Some(bootstrap) => {
                    let (bootstrapper, whole) = (engine.bootstrapper()?, engine.params.slots());
                    let wide = with_slots(engine, a, whole)?;
                    let b = b.map(|b| with_slots(engine, b, whole)).transpose()?;
                    let refresher = bootstrapper.with_keys(&bootstrap);
                    let result = with_refresher(&self.0, ev, &wide, b.as_ref(), keys.get()?, &refresher)?;
                    with_slots(engine, &result, a.slots())?
                }
            };
            Ok((Cipher::Ckks(result), layout))
        })
    }
}

type Ev = he_core::ckks::Evaluator<Device>;
type Ct = Ciphertext<Device>;
type Keys = he_core::rlwe::EvaluationKeys<Device>;

fn with_refresher(
    kind: &Kind,
    ev: &Ev,
    a: &Ct,
    b: Option<&Ct>,
    keys: &Keys,
    refresher: &impl Refresher<Device>,
) -> Result<Ct> {
    Ok(match (kind, b) {
        (Kind::One(function), _) => function.apply(ev, a, keys, refresher)?,
        (Kind::Group(function), _) => function.apply(ev, a, keys, refresher)?,
        (Kind::Two(function), Some(b)) => function.apply(ev, a, b, keys, refresher)?,
        (Kind::Two(_), None) => return Err(Fault::Type("a second ciphertext is missing".to_owned())),
    })
}

#[pymethods]
impl PyFunction {
    #[classmethod]
    #[pyo3(signature = (interval = (-1.0, 1.0), bits = 10))]
    fn sigmoid(_class: &Bound<'_, PyType>, interval: Interval, bits: u32, py: Python<'_>) -> PyResult<Self> {
        Self::over(py, interval, bits, Function::sigmoid)
    }

    #[classmethod]
    #[pyo3(signature = (interval = (-1.0, 1.0), bits = 10))]
    fn tanh(_class: &Bound<'_, PyType>, interval: Interval, bits: u32, py: Python<'_>) -> PyResult<Self> {
        Self::over(py, interval, bits, Function::tanh)
    }

    #[classmethod]
    #[pyo3(signature = (interval = (-1.0, 1.0), bits = 10))]
    fn gelu(_class: &Bound<'_, PyType>, interval: Interval, bits: u32, py: Python<'_>) -> PyResult<Self> {
        Self::over(py, interval, bits, Function::gelu)
    }

    #[classmethod]
    #[pyo3(signature = (interval = (-1.0, 1.0), bits = 10))]
    fn silu(_class: &Bound<'_, PyType>, interval: Interval, bits: u32, py: Python<'_>) -> PyResult<Self> {
        Self::over(py, interval, bits, Function::silu)
    }

    #[classmethod]
    #[pyo3(signature = (interval = (-1.0, 1.0), bits = 10))]
    fn exp(_class: &Bound<'_, PyType>, interval: Interval, bits: u32, py: Python<'_>) -> PyResult<Self> {
        Self::over(py, interval, bits, Function::exp)
    }

    #[classmethod]
    #[pyo3(signature = (interval, bits = 10))]
    fn log(_class: &Bound<'_, PyType>, interval: Interval, bits: u32, py: Python<'_>) -> PyResult<Self> {
        Self::over(py, interval, bits, Function::log)
    }

    #[classmethod]
    #[pyo3(signature = (interval, bits = 10))]
    fn inverse(_class: &Bound<'_, PyType>, interval: Interval, bits: u32, py: Python<'_>) -> PyResult<Self> {
        Self::over(py, interval, bits, Function::inverse)
    }

    #[classmethod]
    #[pyo3(signature = (interval, bits = 10))]
    fn sqrt(_class: &Bound<'_, PyType>, interval: Interval, bits: u32, py: Python<'_>) -> PyResult<Self> {
        Self::over(py, interval, bits, Function::sqrt)
    }

    #[classmethod]
    #[pyo3(signature = (interval, bits = 10))]
    fn inverse_sqrt(
        _class: &Bound<'_, PyType>,
        interval: Interval,
        bits: u32,
        py: Python<'_>,
    ) -> PyResult<Self> {
        Self::over(py, interval, bits, Function::inverse_sqrt)
    }

    #[classmethod]
    #[pyo3(signature = (bound = 1.0, bits = 10))]
    fn relu(_class: &Bound<'_, PyType>, bound: f64, bits: u32, py: Python<'_>) -> PyResult<Self> {
        detached(py, || Ok(Self(Kind::One(Function::relu(bound, bits)?))))
    }

    #[classmethod]
    #[pyo3(signature = (bound = 1.0, bits = 10))]
    fn abs(_class: &Bound<'_, PyType>, bound: f64, bits: u32, py: Python<'_>) -> PyResult<Self> {
        detached(py, || Ok(Self(Kind::One(Function::abs(bound, bits)?))))
    }

    #[classmethod]
    #[pyo3(signature = (bound = 1.0, gap = 0.03125, bits = 8))]
    fn sign(_class: &Bound<'_, PyType>, bound: f64, gap: f64, bits: u32, py: Python<'_>) -> PyResult<Self> {
        detached(py, || Ok(Self(Kind::One(Function::sign(bound, gap, bits)?))))
    }

    #[classmethod]
    #[pyo3(signature = (bound = 1.0, gap = 0.03125, bits = 8))]
    fn step(_class: &Bound<'_, PyType>, bound: f64, gap: f64, bits: u32, py: Python<'_>) -> PyResult<Self> {
        detached(py, || Ok(Self(Kind::One(Function::step(bound, gap, bits)?))))
    }

    #[classmethod]
    #[pyo3(signature = (function, interval = (-1.0, 1.0), bits = 10))]
    fn approximate(
        _class: &Bound<'_, PyType>,
        function: &Bound<'_, PyAny>,
        interval: Interval,
        bits: u32,
    ) -> PyResult<Self> {
        let failed: RefCell<Option<PyErr>> = RefCell::new(None);
        let at = |x: f64| {
            let value = function.call1((x,)).and_then(|value| value.extract::<f64>());
            value.unwrap_or_else(|error| {
                failed.borrow_mut().get_or_insert(error);
                f64::NAN
            })
        };
        let made = Function::approximate(at, interval.0..=interval.1, bits);
        match failed.into_inner() {
            Some(error) => Err(error),
            None => Ok(Self(Kind::One(made.map_err(Fault::from)?))),
        }
    }

    #[classmethod]
    #[pyo3(signature = (interval = (-1.0, 1.0), gap = 0.03125, bits = 8))]
    fn compare(
        _class: &Bound<'_, PyType>,
        interval: Interval,
        gap: f64,
        bits: u32,
        py: Python<'_>,
    ) -> PyResult<Self> {
        detached(py, || Ok(Self(Kind::Two(Comparison::compare(interval.0..=interval.1, gap, bits)?))))
    }

    #[classmethod]
    #[pyo3(signature = (interval = (-1.0, 1.0), bits = 8))]
    fn max(_class: &Bound<'_, PyType>, interval: Interval, bits: u32, py: Python<'_>) -> PyResult<Self> {
        detached(py, || Ok(Self(Kind::Two(Comparison::max(interval.0..=interval.1, bits)?))))
    }

    #[classmethod]
    #[pyo3(signature = (interval = (-1.0, 1.0), bits = 8))]
    fn min(_class: &Bound<'_, PyType>, interval: Interval, bits: u32, py: Python<'_>) -> PyResult<Self> {
        detached(py, || Ok(Self(Kind::Two(Comparison::min(interval.0..=interval.1, bits)?))))
    }

    #[classmethod]
    #[pyo3(signature = (slots, count, *, interval = (-1.0, 1.0), bits = 8, stride = 1))]
    fn sort(
        _class: &Bound<'_, PyType>,
        slots: usize,
        count: usize,
        interval: Interval,
        bits: u32,
        stride: usize,
        py: Python<'_>,
    ) -> PyResult<Self> {
        Self::grouped(py, slots, count, stride, |groups| {
            GroupFunction::sort(groups, interval.0..=interval.1, bits)
        })
    }

    #[classmethod]
    #[pyo3(signature = (slots, count, *, interval = (-1.0, 1.0), bits = 8, stride = 1))]
    fn maximum(
        _class: &Bound<'_, PyType>,
        slots: usize,
        count: usize,
        interval: Interval,
        bits: u32,
        stride: usize,
        py: Python<'_>,
    ) -> PyResult<Self> {
        Self::grouped(py, slots, count, stride, |groups| {
            GroupFunction::maximum(groups, interval.0..=interval.1, bits)
        })
    }

    #[classmethod]
    #[pyo3(signature = (slots, count, *, interval = (-1.0, 1.0), bits = 8, stride = 1))]
    fn softmax(
        _class: &Bound<'_, PyType>,
        slots: usize,
        count: usize,
        interval: Interval,
        bits: u32,
        stride: usize,
        py: Python<'_>,
    ) -> PyResult<Self> {
        Self::grouped(py, slots, count, stride, |groups| {
            GroupFunction::softmax(groups, interval.0..=interval.1, bits)
        })
    }

    #[classmethod]
    #[pyo3(signature = (slots, count, *, interval = (-1.0, 1.0), gap = 0.03125, bits = 8, stride = 1))]
    fn argmax(
        _class: &Bound<'_, PyType>,
        slots: usize,
        count: usize,
        interval: Interval,
        gap: f64,
        bits: u32,
        stride: usize,
        py: Python<'_>,
    ) -> PyResult<Self> {
        Self::grouped(py, slots, count, stride, |groups| {
            GroupFunction::argmax(groups, interval.0..=interval.1, gap, bits)
        })
    }

    #[classmethod]
    #[pyo3(signature = (slots, count, k, *, interval = (-1.0, 1.0), gap = 0.03125, bits = 8, stride = 1))]
    fn top_k(
        _class: &Bound<'_, PyType>,
        slots: usize,
        count: usize,
        k: usize,
        interval: Interval,
        gap: f64,
        bits: u32,
        stride: usize,
        py: Python<'_>,
    ) -> PyResult<Self> {
        Self::grouped(py, slots, count, stride, |groups| {
            GroupFunction::top_k(groups, k, interval.0..=interval.1, gap, bits)
        })
    }

    #[getter]
    fn name(&self) -> &'static str {
        match &self.0 {
            Kind::One(function) => function.name(),
            Kind::Two(function) => function.name(),
            Kind::Group(function) => function.name(),
        }
    }

    #[getter]
    fn interval(&self) -> Interval {
        let interval = match &self.0 {
            Kind::One(function) => function.interval(),
            Kind::Two(function) => function.interval(),
            Kind::Group(function) => function.interval(),
        };
        (*interval.start(), *interval.end())
    }

    #[getter]
    fn error(&self) -> f64 {
        match &self.0 {
            Kind::One(function) => function.error(),
            Kind::Two(function) => function.error(),
            Kind::Group(function) => function.error(),
        }
    }

    #[getter]
    fn depth(&self) -> usize {
        self.requirements().depth
    }

    #[getter]
    fn rotations(&self) -> Vec<i64> {
        self.requirements().keys.rotation_steps().to_vec()
    }

    /// The approximation in the clear.
    #[pyo3(signature = (values, other = None))]
    fn __call__<'py>(
        &self,
        values: &Bound<'py, PyAny>,
        other: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let array = Array::new(values, Numbers::Real, "values")?;
        let Values::Real(x) = array.values()? else {
            return Err(PyTypeError::new_err("real numbers are expected"));
        };
        let made = match (&self.0, other) {
            (Kind::One(function), None) => x.iter().map(|&x| function.apply_plain(x)).collect(),
            (Kind::Group(function), None) => function.apply_plain(x),
            (Kind::Two(function), Some(other)) => {
                let other = Array::new(other, Numbers::Real, "other")?;
                let Values::Real(y) = other.values()? else {
                    return Err(PyTypeError::new_err("real numbers are expected"));
                };
                if array.shape() != other.shape() {
                    let text = format!("arrays of the shapes {:?} and {:?}", array.shape(), other.shape());
                    return Err(Fault::Value(text).into());
                }
                x.iter().zip(y).map(|(&x, &y)| function.apply_plain(x, y)).collect()
            }
            (_, Some(_)) => {
                return Err(PyTypeError::new_err(format!("{} is a function of one array", self.name())));
            }
            (_, None) => {
                return Err(PyTypeError::new_err(format!("{} is a function of two arrays", self.name())));
            }
        };
        array_of(values.py(), made, array.shape())
    }

    fn __repr__(&self) -> String {
        let (a, b) = self.interval();
        format!(
            "<he.Function: {} over [{a}, {b}], depth {}, error {:.1e}>",
            self.name(),
            self.depth(),
            self.error()
        )
    }
}

impl PyFunction {
    fn over(
        py: Python<'_>,
        interval: Interval,
        bits: u32,
        make: impl FnOnce(RangeInclusive<f64>, u32) -> he_core::Result<Function> + Send,
    ) -> PyResult<Self> {
        detached(py, || Ok(Self(Kind::One(make(interval.0..=interval.1, bits)?))))
    }

    fn grouped(
        py: Python<'_>,
        slots: usize,
        count: usize,
        stride: usize,
        make: impl FnOnce(Groups) -> he_core::Result<GroupFunction> + Send,
    ) -> PyResult<Self> {
        detached(py, || Ok(Self(Kind::Group(make(Groups::strided(slots, count, stride)?)?))))
    }
}
