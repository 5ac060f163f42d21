//! Functions of encrypted numbers: approximations whose needs are known before there is a
//! ciphertext.

use crate::arrays::{Array, Numbers, array_of};
use crate::ciphertext::{PyCiphertext, check_interval};
use crate::error::{Fault, Result};
use crate::interrupt::Interruptible;
use crate::run::detached;
use he::Device;
use he_any::arrays::{Values, with_slots};
use he_any::layout::{Bounds, Op};
use he_any::rlwe::Cipher;
use he_core::circuits::Requirements;
use he_core::circuits::ckks::{Comparison, Function, GroupFunction, Groups, NeverRefresh, Refresher};
use he_core::ckks::Ciphertext;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError};

/// A function of one number, of two, or of the numbers of a group.
enum Kind {
    One(Function),
    Two(Comparison),
    Group(GroupFunction),
}

/// An approximation of a function that can be computed on CKKS ciphertexts.
///
/// A function is made of an interval that all values lie in, and of the bits of precision that are
/// wanted: its error there is at most 2^-bits of its largest magnitude. Depth, keys and the error
/// are known before there is a ciphertext. Outside of the interval, results mean nothing. Called
/// with an array, a function computes in the clear what it computes of a ciphertext.
///
/// Functions of a group, such as `sort`, are those of each vector of ``count`` numbers: slot i of a
/// ciphertext of ``slots`` slots holds entry (i / stride) mod size of a vector, where size is the
/// next power of two of the count.
#[pyclass(frozen, module = "he", name = "Function")]
pub struct PyFunction(Arc<Kind>);

pub type Interval = (f64, f64);

/// The functions that are kept: a search for polynomials takes up to a second.
const KEPT: usize = 64;

impl PyFunction {
    pub fn requirements(&self) -> Requirements {
        match &*self.0 {
            Kind::One(function) => function.requirements(),
            Kind::Two(function) => function.requirements(),
            Kind::Group(function) => function.requirements(),
        }
    }

    /// The operators of comparisons compute whether a difference of at least 2^-5 in [-2, 2]
    /// is positive, up to 2^-8.
    pub fn default_step(py: Python<'_>) -> PyResult<Self> {
        Self::step(2.0, 1.0 / 32.0, 8, py)
    }

    /// The interval of the results, if the operands lie in the interval.
    fn result_bounds(&self) -> Option<Bounds> {
        let (a, b) = self.interval();
        let (low, high) = match &*self.0 {
            Kind::One(function) => (-function.peak(), function.peak()),
            Kind::Two(function) if function.name() == "compare" => (0.0, 1.0),
            Kind::Group(function) if !matches!(function.name(), "sort" | "maximum") => (0.0, 1.0),
            Kind::Two(_) | Kind::Group(_) => (a.min(0.0), b.max(0.0)),
        };
        Bounds::new(low - self.error(), high + self.error())
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
        if matches!(*self.0, Kind::Two(_)) != other.is_some() {
            let wanted = if other.is_some() { "one ciphertext" } else { "two ciphertexts" };
            return Err(PyTypeError::new_err(format!("{} is a function of {wanted}", self.name())));
        }
        for of in [Some(ct), other].into_iter().flatten() {
            if of.layout.complex {
                let text = format!(
                    "{} is a function of real numbers, and the array is one of complex ones",
                    self.name()
                );
                return Err(PyTypeError::new_err(text));
            }
            if let Some(bounds) = of.layout.bounds {
                check_interval(self.name(), bounds, self.interval())?;
            }
        }
        // Where slots after the values hold something outside of the interval, a function of it may
        // be anything.
        let (a, b) = self.interval();
        let outside = ct.layout.padding.is_some_and(|x| !(a..=b).contains(&x));
        let filled = match &*self.0 {
            Kind::One(_) if outside && ct.layout.is_padded(ct.slots_of_vector()) => {
                Some(ct.filled(py, a + (b - a) / 2.0)?)
            }
            _ => None,
        };
        let ct = filled.as_ref().unwrap_or(ct);
        ct.run(py, || {
            let (core, engine, keys) = (&ct.core, ct.core.site.ckks()?, ct.switching()?);
            let (a, b) = (ct.ckks()?, other.map(PyCiphertext::ckks).transpose()?);
            let (ev, kind) = (&engine.ev, &*self.0);
            let layout = match other {
                Some(other) => ct.layout.combined(&other.layout, Op::Add, false)?,
                None => ct.layout.unknown(),
            };
            let known = ct.layout.bounds.is_some() && other.is_none_or(|other| other.layout.bounds.is_some());
            let layout = layout.bounded(self.result_bounds().filter(|_| known));
            let result = match core.bootstrap_keys() {
                None => with_refresher(kind, ev, a, b, keys.get()?, &Interruptible(&NeverRefresh))?,
                Some(bootstrap) => {
                    let (bootstrapper, whole) = (engine.bootstrapper()?, engine.params.slots());
                    let wide = with_slots(engine, a, whole)?;
                    let b = b.map(|b| with_slots(engine, b, whole)).transpose()?;
                    let refresher = bootstrapper.with_keys(&bootstrap);
                    let refresher = Interruptible(&refresher);
                    let result = with_refresher(kind, ev, &wide, b.as_ref(), keys.get()?, &refresher)?;
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
    /// The logistic function 1 / (1 + e^-x), by one polynomial.
    ///
    /// Parameters
    /// ----------
    /// interval : (float, float)
    ///     Where all values lie (default [-1, 1]).
    /// bits : int
    ///     The error is at most 2^-bits of the greatest magnitude of results (default 10).
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     For numbers outside of their domains, and for bits that are out of reach.
    #[staticmethod]
    #[pyo3(signature = (interval = (-1.0, 1.0), bits = 10))]
    pub fn sigmoid(interval: Interval, bits: u32, py: Python<'_>) -> PyResult<Self> {
        Self::over(py, "sigmoid", interval, bits, Function::sigmoid)
    }

    /// The hyperbolic tangent, by one polynomial.
    ///
    /// Parameters
    /// ----------
    /// interval : (float, float)
    ///     Where all values lie (default [-1, 1]).
    /// bits : int
    ///     The error is at most 2^-bits of the greatest magnitude of results (default 10).
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     For numbers outside of their domains, and for bits that are out of reach.
    #[staticmethod]
    #[pyo3(signature = (interval = (-1.0, 1.0), bits = 10))]
    pub fn tanh(interval: Interval, bits: u32, py: Python<'_>) -> PyResult<Self> {
        Self::over(py, "tanh", interval, bits, Function::tanh)
    }

    /// The Gaussian error linear unit, x P(X <= x) for a standard normal X, by one polynomial.
    ///
    /// Parameters
    /// ----------
    /// interval : (float, float)
    ///     Where all values lie (default [-1, 1]).
    /// bits : int
    ///     The error is at most 2^-bits of the greatest magnitude of results (default 10).
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     For numbers outside of their domains, and for bits that are out of reach.
    #[staticmethod]
    #[pyo3(signature = (interval = (-1.0, 1.0), bits = 10))]
    pub fn gelu(interval: Interval, bits: u32, py: Python<'_>) -> PyResult<Self> {
        Self::over(py, "gelu", interval, bits, Function::gelu)
    }

    /// The sigmoid linear unit x / (1 + e^-x), also called swish, by one polynomial.
    ///
    /// Parameters
    /// ----------
    /// interval : (float, float)
    ///     Where all values lie (default [-1, 1]).
    /// bits : int
    ///     The error is at most 2^-bits of the greatest magnitude of results (default 10).
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     For numbers outside of their domains, and for bits that are out of reach.
    #[staticmethod]
    #[pyo3(signature = (interval = (-1.0, 1.0), bits = 10))]
    pub fn silu(interval: Interval, bits: u32, py: Python<'_>) -> PyResult<Self> {
        Self::over(py, "silu", interval, bits, Function::silu)
    }

    /// The exponential e^x, on intervals that end at 27 at most.
    ///
    /// Parameters
    /// ----------
    /// interval : (float, float)
    ///     Where all values lie (default [-1, 1]).
    /// bits : int
    ///     The error is at most 2^-bits of the greatest magnitude of results (default 10).
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     For numbers outside of their domains, and for bits that are out of reach.
    #[staticmethod]
    #[pyo3(signature = (interval = (-1.0, 1.0), bits = 10))]
    pub fn exp(interval: Interval, bits: u32, py: Python<'_>) -> PyResult<Self> {
        Self::over(py, "exp", interval, bits, Function::exp)
    }

    /// The natural logarithm, by one polynomial, whose degree grows with the root of the ratio of
    /// the ends.
    ///
    /// Parameters
    /// ----------
    /// interval : (float, float)
    ///     Where all values lie; it begins above 0.
    /// bits : int
    ///     The error is at most 2^-bits of the greatest magnitude of results (default 10).
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     For numbers outside of their domains, and for bits that are out of reach.
    #[staticmethod]
    #[pyo3(signature = (interval, bits = 10))]
    pub fn log(interval: Interval, bits: u32, py: Python<'_>) -> PyResult<Self> {
        Self::over(py, "log", interval, bits, Function::log)
    }

    /// 1 / x, by Goldschmidt's division or by one polynomial. Depth grows with the logarithm of the
    /// ratio of the ends.
    ///
    /// Parameters
    /// ----------
    /// interval : (float, float)
    ///     Where all values lie, without 0.
    /// bits : int
    ///     The error is at most 2^-bits of the greatest magnitude of results (default 10).
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     For numbers outside of their domains, and for bits that are out of reach.
    #[staticmethod]
    #[pyo3(signature = (interval, bits = 10))]
    pub fn inverse(interval: Interval, bits: u32, py: Python<'_>) -> PyResult<Self> {
        Self::over(py, "inverse", interval, bits, Function::inverse)
    }

    /// The square root. Close to 0 it is not smooth: an interval from 0 takes a degree near
    /// 2^bits / 7.
    ///
    /// Parameters
    /// ----------
    /// interval : (float, float)
    ///     Where all values lie, from 0 or above.
    /// bits : int
    ///     The error is at most 2^-bits of the greatest magnitude of results (default 10).
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     For numbers outside of their domains, and for bits that are out of reach.
    #[staticmethod]
    #[pyo3(signature = (interval, bits = 10))]
    pub fn sqrt(interval: Interval, bits: u32, py: Python<'_>) -> PyResult<Self> {
        Self::over(py, "sqrt", interval, bits, Function::sqrt)
    }

    /// 1 / sqrt(x).
    ///
    /// Parameters
    /// ----------
    /// interval : (float, float)
    ///     Where all values lie; it begins above 0.
    /// bits : int
    ///     The error is at most 2^-bits of the greatest magnitude of results (default 10).
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     For numbers outside of their domains, and for bits that are out of reach.
    #[staticmethod]
    #[pyo3(signature = (interval, bits = 10))]
    pub fn inverse_sqrt(interval: Interval, bits: u32, py: Python<'_>) -> PyResult<Self> {
        Self::over(py, "inverse_sqrt", interval, bits, Function::inverse_sqrt)
    }

    /// max(x, 0), by a composite sign.
    ///
    /// Parameters
    /// ----------
    /// bound : float
    ///     The greatest magnitude of values (default 1).
    /// bits : int
    ///     The error is at most 2^-bits of the bound (default 10).
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     For numbers outside of their domains, and for bits that are out of reach.
    #[staticmethod]
    #[pyo3(signature = (bound = 1.0, bits = 10))]
    pub fn relu(bound: f64, bits: u32, py: Python<'_>) -> PyResult<Self> {
        Self::kept(py, "relu", &[bound, bits.into()], || Ok(Kind::One(Function::relu(bound, bits)?)))
    }

    /// The magnitude, by a composite sign.
    ///
    /// Parameters
    /// ----------
    /// bound : float
    ///     The greatest magnitude of values (default 1).
    /// bits : int
    ///     The error is at most 2^-bits of the bound (default 10).
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     For numbers outside of their domains, and for bits that are out of reach.
    #[staticmethod]
    #[pyo3(signature = (bound = 1.0, bits = 10))]
    pub fn abs(bound: f64, bits: u32, py: Python<'_>) -> PyResult<Self> {
        Self::kept(py, "abs", &[bound, bits.into()], || Ok(Kind::One(Function::abs(bound, bits)?)))
    }

    /// 1 for positive numbers and -1 for negative ones.
    ///
    /// Parameters
    /// ----------
    /// bound : float
    ///     The greatest magnitude of values (default 1).
    /// gap : float
    ///     Where the magnitude is smaller, the result is between (default 1/32).
    /// bits : int
    ///     The error is at most 2^-bits of 1 (default 8).
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     For numbers outside of their domains, and for bits that are out of reach.
    #[staticmethod]
    #[pyo3(signature = (bound = 1.0, gap = 0.03125, bits = 8))]
    pub fn sign(bound: f64, gap: f64, bits: u32, py: Python<'_>) -> PyResult<Self> {
        let key = [bound, gap, bits.into()];
        Self::kept(py, "sign", &key, || Ok(Kind::One(Function::sign(bound, gap, bits)?)))
    }

    /// 1 for positive numbers and 0 for negative ones.
    ///
    /// Parameters
    /// ----------
    /// bound : float
    ///     The greatest magnitude of values (default 1).
    /// gap : float
    ///     Where the magnitude is smaller, the result is between (default 1/32).
    /// bits : int
    ///     The error is at most 2^-bits of 1 (default 8).
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     For numbers outside of their domains, and for bits that are out of reach.
    #[staticmethod]
    #[pyo3(signature = (bound = 1.0, gap = 0.03125, bits = 8))]
    pub fn step(bound: f64, gap: f64, bits: u32, py: Python<'_>) -> PyResult<Self> {
        let key = [bound, gap, bits.into()];
        Self::kept(py, "step", &key, || Ok(Kind::One(Function::step(bound, gap, bits)?)))
    }

    /// Any function of one number that is smooth on the interval, by one polynomial.
    ///
    /// Parameters
    /// ----------
    /// function : callable
    ///     Takes and returns a float.
    /// interval : (float, float)
    ///     Where all values lie (default [-1, 1]).
    /// bits : int
    ///     The error is at most 2^-bits of the greatest magnitude of results (default 10).
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     For values that are not finite, and where no polynomial of degree 4095 suffices.
    ///     Exceptions of the function are passed on.
    #[staticmethod]
    #[pyo3(signature = (function, interval = (-1.0, 1.0), bits = 10))]
    pub fn approximate(function: &Bound<'_, PyAny>, interval: Interval, bits: u32) -> PyResult<Self> {
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
            None => Ok(Self(Arc::new(Kind::One(made.map_err(Fault::from)?)))),
        }
    }

    /// 1 where the first of two numbers is greater, and 0 where it is smaller.
    ///
    /// Parameters
    /// ----------
    /// interval : (float, float)
    ///     Where all values lie (default [-1, 1]).
    /// gap : float
    ///     Numbers that differ by less give a result between (default 1/32).
    /// bits : int
    ///     The error is at most 2^-bits of 1 (default 8).
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     For numbers outside of their domains, and for bits that are out of reach.
    #[staticmethod]
    #[pyo3(signature = (interval = (-1.0, 1.0), gap = 0.03125, bits = 8))]
    pub fn compare(interval: Interval, gap: f64, bits: u32, py: Python<'_>) -> PyResult<Self> {
        let (a, b) = interval;
        Self::kept(py, "compare", &[a, b, gap, bits.into()], || {
            Ok(Kind::Two(Comparison::compare(a..=b, gap, bits)?))
        })
    }

    /// The greater of two numbers.
    ///
    /// Parameters
    /// ----------
    /// interval : (float, float)
    ///     Where all values lie (default [-1, 1]).
    /// bits : int
    ///     The error is at most 2^-bits of the interval's width (default 8).
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     For numbers outside of their domains, and for bits that are out of reach.
    #[staticmethod]
    #[pyo3(signature = (interval = (-1.0, 1.0), bits = 8))]
    pub fn max(interval: Interval, bits: u32, py: Python<'_>) -> PyResult<Self> {
        let (a, b) = interval;
        Self::kept(py, "max", &[a, b, bits.into()], || Ok(Kind::Two(Comparison::max(a..=b, bits)?)))
    }

    /// The smaller of two numbers.
    ///
    /// Parameters
    /// ----------
    /// interval : (float, float)
    ///     Where all values lie (default [-1, 1]).
    /// bits : int
    ///     The error is at most 2^-bits of the interval's width (default 8).
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     For numbers outside of their domains, and for bits that are out of reach.
    #[staticmethod]
    #[pyo3(signature = (interval = (-1.0, 1.0), bits = 8))]
    pub fn min(interval: Interval, bits: u32, py: Python<'_>) -> PyResult<Self> {
        let (a, b) = interval;
        Self::kept(py, "min", &[a, b, bits.into()], || Ok(Kind::Two(Comparison::min(a..=b, bits)?)))
    }

    /// The numbers of every vector in ascending order, by a bitonic network.
    ///
    /// Parameters
    /// ----------
    /// slots : int
    ///     The slots of ciphertexts.
    /// count : int
    ///     The numbers of each vector.
    /// interval : (float, float)
    ///     Where all values lie (default [-1, 1]).
    /// bits : int
    ///     The error is at most 2^-bits of the interval's width (default 8).
    /// stride : int
    ///     The distance of two neighbours of a vector, a power of two (default 1).
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     For numbers outside of their domains, and for bits that are out of reach.
    #[staticmethod]
    #[pyo3(signature = (slots, count, *, interval = (-1.0, 1.0), bits = 8, stride = 1))]
    pub fn sort(
        slots: usize,
        count: usize,
        interval: Interval,
        bits: u32,
        stride: usize,
        py: Python<'_>,
    ) -> PyResult<Self> {
        let ((a, b), groups) = (interval, (slots, count, stride));
        Self::grouped(py, "sort", groups, &[a, b, bits.into()], |groups| {
            GroupFunction::sort(groups, a..=b, bits)
        })
    }

    /// The greatest number of every vector, in all of its slots.
    ///
    /// Parameters
    /// ----------
    /// slots : int
    ///     The slots of ciphertexts.
    /// count : int
    ///     The numbers of each vector.
    /// interval : (float, float)
    ///     Where all values lie (default [-1, 1]).
    /// bits : int
    ///     The error is at most 2^-bits of the interval's width (default 8).
    /// stride : int
    ///     The distance of two neighbours of a vector, a power of two (default 1).
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     For numbers outside of their domains, and for bits that are out of reach.
    #[staticmethod]
    #[pyo3(signature = (slots, count, *, interval = (-1.0, 1.0), bits = 8, stride = 1))]
    pub fn maximum(
        slots: usize,
        count: usize,
        interval: Interval,
        bits: u32,
        stride: usize,
        py: Python<'_>,
    ) -> PyResult<Self> {
        let ((a, b), groups) = (interval, (slots, count, stride));
        Self::grouped(py, "maximum", groups, &[a, b, bits.into()], |groups| {
            GroupFunction::maximum(groups, a..=b, bits)
        })
    }

    /// e^x over the sum of the e^x of a vector, and 0 in slots beyond the count.
    ///
    /// Parameters
    /// ----------
    /// slots : int
    ///     The slots of ciphertexts.
    /// count : int
    ///     The numbers of each vector.
    /// interval : (float, float)
    ///     Where all values lie (default [-1, 1]).
    /// bits : int
    ///     The error is at most 2^-bits of 1 (default 8).
    /// stride : int
    ///     The distance of two neighbours of a vector, a power of two (default 1).
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     For numbers outside of their domains, and for bits that are out of reach.
    #[staticmethod]
    #[pyo3(signature = (slots, count, *, interval = (-1.0, 1.0), bits = 8, stride = 1))]
    pub fn softmax(
        slots: usize,
        count: usize,
        interval: Interval,
        bits: u32,
        stride: usize,
        py: Python<'_>,
    ) -> PyResult<Self> {
        let ((a, b), groups) = (interval, (slots, count, stride));
        Self::grouped(py, "softmax", groups, &[a, b, bits.into()], |groups| {
            GroupFunction::softmax(groups, a..=b, bits)
        })
    }

    /// 1 in the slot of the greatest number of every vector, and 0 in its others.
    ///
    /// Parameters
    /// ----------
    /// slots : int
    ///     The slots of ciphertexts.
    /// count : int
    ///     The numbers of each vector.
    /// interval : (float, float)
    ///     Where all values lie (default [-1, 1]).
    /// gap : float
    ///     Numbers of a vector must differ by this much (default 1/32).
    /// bits : int
    ///     The error is at most 2^-bits of 1 (default 8).
    /// stride : int
    ///     The distance of two neighbours of a vector, a power of two (default 1).
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     For numbers outside of their domains, and for bits that are out of reach.
    #[staticmethod]
    #[pyo3(signature = (slots, count, *, interval = (-1.0, 1.0), gap = 0.03125, bits = 8, stride = 1))]
    pub fn argmax(
        slots: usize,
        count: usize,
        interval: Interval,
        gap: f64,
        bits: u32,
        stride: usize,
        py: Python<'_>,
    ) -> PyResult<Self> {
        let ((a, b), groups) = (interval, (slots, count, stride));
        Self::grouped(py, "argmax", groups, &[a, b, gap, bits.into()], |groups| {
            GroupFunction::argmax(groups, a..=b, gap, bits)
        })
    }

    /// 1 in the slots of the k greatest numbers of every vector, and 0 in its others.
    ///
    /// Parameters
    /// ----------
    /// slots : int
    ///     The slots of ciphertexts.
    /// count : int
    ///     The numbers of each vector.
    /// k : int
    ///     How many, from 1 to the count.
    /// interval : (float, float)
    ///     Where all values lie (default [-1, 1]).
    /// gap : float
    ///     Numbers of a vector must differ by this much (default 1/32).
    /// bits : int
    ///     The error is at most 2^-bits of 1 (default 8).
    /// stride : int
    ///     The distance of two neighbours of a vector, a power of two (default 1).
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     For numbers outside of their domains, and for bits that are out of reach.
    #[staticmethod]
    #[pyo3(signature = (slots, count, k, *, interval = (-1.0, 1.0), gap = 0.03125, bits = 8, stride = 1))]
    pub fn top_k(
        slots: usize,
        count: usize,
        k: usize,
        interval: Interval,
        gap: f64,
        bits: u32,
        stride: usize,
        py: Python<'_>,
    ) -> PyResult<Self> {
        let ((a, b), groups) = (interval, (slots, count, stride));
        Self::grouped(py, "top_k", groups, &[k as f64, a, b, gap, bits.into()], |groups| {
            GroupFunction::top_k(groups, k, a..=b, gap, bits)
        })
    }

    /// The name, such as ``sigmoid``.
    #[getter]
    fn name(&self) -> &'static str {
        match &*self.0 {
            Kind::One(function) => function.name(),
            Kind::Two(function) => function.name(),
            Kind::Group(function) => function.name(),
        }
    }

    /// Where all values must lie.
    #[getter]
    fn interval(&self) -> Interval {
        let interval = match &*self.0 {
            Kind::One(function) => function.interval(),
            Kind::Two(function) => function.interval(),
            Kind::Group(function) => function.interval(),
        };
        (*interval.start(), *interval.end())
    }

    /// A bound on the error, as measured in the clear.
    #[getter]
    fn error(&self) -> f64 {
        match &*self.0 {
            Kind::One(function) => function.error(),
            Kind::Two(function) => function.error(),
            Kind::Group(function) => function.error(),
        }
    }

    /// The levels that it takes without refreshes.
    #[getter]
    fn depth(&self) -> usize {
        self.requirements().depth
    }

    /// The rotations that it takes: ``keygen(needs=[function])`` makes a key of each.
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
        let made = match (&*self.0, other) {
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
    /// A function that was made of the same numbers before, or a new one.
    fn kept(
        py: Python<'_>,
        name: &'static str,
        numbers: &[f64],
        make: impl FnOnce() -> Result<Kind> + Send,
    ) -> PyResult<Self> {
        type Made = HashMap<(&'static str, Vec<u64>), Arc<Kind>>;
        static MADE: Mutex<Option<Made>> = Mutex::new(None);
        let key = (name, numbers.iter().map(|x| x.to_bits()).collect());
        let found = {
            let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
            made.get_or_insert_default().get(&key).map(Arc::clone)
        };
        if let Some(kind) = found {
            return Ok(Self(kind));
        }
        let kind = Arc::new(detached(py, make)?);
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        let made = made.get_or_insert_default();
        if made.len() >= KEPT {
            made.clear();
        }
        made.insert(key, Arc::clone(&kind));
        Ok(Self(kind))
    }

    fn over(
        py: Python<'_>,
        name: &'static str,
        (a, b): Interval,
        bits: u32,
        make: impl FnOnce(RangeInclusive<f64>, u32) -> he_core::Result<Function> + Send,
    ) -> PyResult<Self> {
        Self::kept(py, name, &[a, b, bits.into()], || Ok(Kind::One(make(a..=b, bits)?)))
    }

    fn grouped(
        py: Python<'_>,
        name: &'static str,
        (slots, count, stride): (usize, usize, usize),
        numbers: &[f64],
        make: impl FnOnce(Groups) -> he_core::Result<GroupFunction> + Send,
    ) -> PyResult<Self> {
        let mut key = vec![slots as f64, count as f64, stride as f64];
        key.extend(numbers);
        Self::kept(py, name, &key, || Ok(Kind::Group(make(Groups::strided(slots, count, stride)?)?)))
    }
}
