//! The functions of `he.Function` as methods of ciphertexts.

use crate::ciphertext::{Maybe, PyCiphertext};
use crate::error::Fault;
use crate::functions::{Interval, PyFunction};
use he_any::arrays;
use he_any::layout::{Bounds, Dim, Layout, Op};
use he_core::num_complex::Complex64;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

impl PyCiphertext {
    /// The slots and the numbers of the vectors that functions of groups see: a column, or rows.
    fn vectors(&self, name: &str) -> PyResult<(usize, usize)> {
        let ct = self.ckks()?;
        if self.layout.splat {
            let text = format!("{name} of a single value; it is a function of a column, or of each row");
            return Err(PyValueError::new_err(text));
        }
        if self.layout.dims[1] != Some(Dim::Slots) {
            return Err(PyValueError::new_err(format!(
                "{name} along an axis that lies over ciphertexts; encrypt the array with layout=\"rows\""
            )));
        }
        if self.layout.entries.is_none() && ct.batch() > 1 {
            return Err(PyValueError::new_err(format!(
                "{name} of a column of {} values, and one ciphertext has {} slots; encrypt rows of at \
                 most that many",
                self.layout.size,
                ct.slots()
            )));
        }
        // Where refreshes are possible, all slots are used.
        let slots = match self.core.bootstrap_keys() {
            Some(_) => self.core.site.ckks()?.params.slots(),
            None => ct.slots(),
        };
        Ok((slots, self.layout.size))
    }

    /// The greatest value of a column, or of each row.
    fn greatest(&self, py: Python<'_>, interval: Interval, bits: u32) -> PyResult<Self> {
        if self.layout.splat {
            return self.run(py, || Ok((self.cipher.duplicate()?, self.layout)));
        }
        let (slots, count) = self.vectors("max")?;
        let room = self.ckks()?.slots();
        let filled = match room == count.next_power_of_two() {
            true => None,
            false => Some(self.filled(py, interval.0)?),
        };
        let (vector, count) = filled.as_ref().map_or((self, count), |filled| (filled, room));
        let greatest = PyFunction::maximum(slots, count, interval, bits, 1, py)?.applied(py, vector, None)?;
        let layout = Layout { bounds: greatest.layout.bounds, ..self.layout.reduced(Dim::Slots, false) };
        Ok(Self { layout, ..greatest })
    }

    /// The same values with a number in all slots after them, which slices leave as they were: one
    /// level unless it is known what the slots hold.
    pub fn filled(&self, py: Python<'_>, value: f64) -> PyResult<Self> {
        self.run(py, || {
            let (engine, value) = (self.engine()?, Complex64::new(value, 0.0));
            let shifted = arrays::with_number(engine, Op::Sub, &self.cipher, value)?;
            let layout = self.layout.with_scalar(value.re, Op::Sub);
            let (clean, layout) = arrays::cleaned(engine, &shifted, &layout)?;
            let ct = arrays::with_number(engine, Op::Add, &clean, value)?;
            Ok((ct, layout.with_scalar(value.re, Op::Add)))
        })
    }

    /// The greater, or the smaller, of each value and the other operand's.
    fn chosen(
        &self,
        other: &Bound<'_, PyAny>,
        interval: Interval,
        bits: u32,
        smaller: bool,
    ) -> PyResult<Self> {
        let py = other.py();
        if let Ok(other) = other.cast::<Self>() {
            let function = match smaller {
                true => PyFunction::min(interval, bits, py)?,
                false => PyFunction::max(interval, bits, py)?,
            };
            return function.applied(py, self, Some(other.get()));
        }
        // max(x, c) = c + relu(x - c), and min(x, c) = c - relu(c - x).
        let known = |made: Option<Self>| {
            made.ok_or_else(|| {
                let name = other.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
                Fault::Type(format!("{name}, where a ciphertext, a number or an array is expected"))
            })
        };
        let relu = PyFunction::relu(interval.1 - interval.0, bits, py)?;
        let difference = known(self.operated(other, Op::Sub, smaller)?)?;
        let excess = relu.applied(py, &difference, None)?;
        let op = if smaller { Op::Sub } else { Op::Add };
        Ok(known(excess.operated(other, op, smaller)?)?)
    }

    /// 1 where this is greater, or smaller, than the other.
    pub fn compared(&self, other: &Bound<'_, PyAny>, smaller: bool) -> Maybe {
        let py = other.py();
        if self.layout.complex {
            return Err(PyTypeError::new_err("complex numbers have no order; compare their magnitudes"));
        }
        let Some(difference) = self.operated(other, Op::Sub, smaller)? else {
            return Ok(py.NotImplemented());
        };
        let known = difference.layout.bounds.map(Bounds::magnitude);
        if let Some(bound) = known.filter(|&bound| bound > 2.0) {
            return Err(PyValueError::new_err(format!(
                "a comparison of numbers that may differ by {bound:.6}; operators compare those in [-1, 1]: write \
                 (x - y).apply(he.Function.step({bound:.6})), whose gap grows with the bound, or state a closer \
                 bound with x.bounded(bound)"
            )));
        }
        let step = PyFunction::default_step(py)?;
        Ok(Py::new(py, step.applied(py, &difference, None)?)?.into_any())
    }
}

#[pymethods]
impl PyCiphertext {
    /// The magnitudes, of values whose bounds are known: `abs` with these.
    fn __abs__(&self, py: Python<'_>) -> PyResult<Self> {
        let bounds = self.layout.bounds.ok_or_else(|| {
            Fault::Value("abs(x) of an array without known bounds; write x.abs(bound)".to_owned())
        })?;
        if bounds.low >= 0.0 && !self.layout.complex {
            return self.__pos__(py);
        }
        PyFunction::abs(bounds.magnitude(), 10, py)?.applied(py, self, None)
    }

    /// The standard deviation of a population: the root of the variance, which lies in `interval`.
    ///
    /// A root takes many levels; that of a decrypted variance costs nothing.
    #[pyo3(signature = (axis = None, *, interval = None, bits = 10, keepdims = false))]
    fn std(
        &self,
        axis: Option<&Bound<'_, PyAny>>,
        interval: Option<Interval>,
        bits: u32,
        keepdims: bool,
        py: Python<'_>,
    ) -> PyResult<Self> {
        let Some(interval) = interval else {
            return Err(PyTypeError::new_err(
                "std takes a root, whose polynomial needs an interval: decrypt x.var() and take its root, or give \
                 the interval of the variance, as in x.std(interval=(0.5, 4))",
            ));
        };
        let variance = self.var(axis, keepdims, py)?;
        PyFunction::sqrt(interval, bits, py)?.applied(py, &variance, None)
    }

    /// A function of every value, or of pairs of values, with refreshes if the context can do them.
    #[pyo3(signature = (function, other = None))]
    fn apply(&self, function: &PyFunction, other: Option<&Self>, py: Python<'_>) -> PyResult<Self> {
        function.applied(py, self, other)
    }

    /// max(x, 0) of every value: ``apply(Function.relu(bound, bits))``.
    ///
    /// This method and the others that are named like a constructor of `Function` take its
    /// arguments. They take as many levels as the function's ``depth``; a context with bootstrap
    /// keys refreshes where levels run out (CKKS).
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
    /// DepthError
    ///     If levels do not suffice.
    #[pyo3(signature = (bound = 1.0, bits = 10))]
    fn relu(&self, bound: f64, bits: u32, py: Python<'_>) -> PyResult<Self> {
        PyFunction::relu(bound, bits, py)?.applied(py, self, None)
    }

    /// The magnitude of every value: ``apply(Function.abs(bound, bits))``.
    #[pyo3(signature = (bound = 1.0, bits = 10))]
    fn abs(&self, bound: f64, bits: u32, py: Python<'_>) -> PyResult<Self> {
        PyFunction::abs(bound, bits, py)?.applied(py, self, None)
    }

    /// The sign of every value of at least `gap` in magnitude, and something between -1 and 1 of
    /// others: ``apply(Function.sign(bound, gap, bits))``.
    #[pyo3(signature = (bound = 1.0, gap = 0.03125, bits = 8))]
    fn sign(&self, bound: f64, gap: f64, bits: u32, py: Python<'_>) -> PyResult<Self> {
        PyFunction::sign(bound, gap, bits, py)?.applied(py, self, None)
    }

    /// 1 / (1 + e^-x) of every value: ``apply(Function.sigmoid(interval, bits))``.
    #[pyo3(signature = (interval = (-1.0, 1.0), bits = 10))]
    fn sigmoid(&self, interval: Interval, bits: u32, py: Python<'_>) -> PyResult<Self> {
        PyFunction::sigmoid(interval, bits, py)?.applied(py, self, None)
    }

    /// The hyperbolic tangent of every value: ``apply(Function.tanh(interval, bits))``.
    #[pyo3(signature = (interval = (-1.0, 1.0), bits = 10))]
    fn tanh(&self, interval: Interval, bits: u32, py: Python<'_>) -> PyResult<Self> {
        PyFunction::tanh(interval, bits, py)?.applied(py, self, None)
    }

    /// e^x of every value: ``apply(Function.exp(interval, bits))``.
    #[pyo3(signature = (interval = (-1.0, 1.0), bits = 10))]
    fn exp(&self, interval: Interval, bits: u32, py: Python<'_>) -> PyResult<Self> {
        PyFunction::exp(interval, bits, py)?.applied(py, self, None)
    }

    /// The natural logarithm of every value: ``apply(Function.log(interval, bits))``. There is no
    /// interval that suits most values, so that it must be given.
    #[pyo3(signature = (interval, bits = 10))]
    fn log(&self, interval: Interval, bits: u32, py: Python<'_>) -> PyResult<Self> {
        PyFunction::log(interval, bits, py)?.applied(py, self, None)
    }

    /// 1 / x of every value: ``apply(Function.inverse(interval, bits))``. There is no interval that
    /// suits most values, so that it must be given.
    #[pyo3(signature = (interval, bits = 10))]
    fn inverse(&self, interval: Interval, bits: u32, py: Python<'_>) -> PyResult<Self> {
        PyFunction::inverse(interval, bits, py)?.applied(py, self, None)
    }

    /// The square root of every value: ``apply(Function.sqrt(interval, bits))``. There is no
    /// interval that suits most values, so that it must be given.
    #[pyo3(signature = (interval, bits = 10))]
    fn sqrt(&self, interval: Interval, bits: u32, py: Python<'_>) -> PyResult<Self> {
        PyFunction::sqrt(interval, bits, py)?.applied(py, self, None)
    }

    /// The greatest value of a column or of each row, or the greater of pairs.
    ///
    /// Parameters
    /// ----------
    /// other : Ciphertext, number or array_like, optional
    ///     What each value is compared with, as by ``numpy.maximum``; without it, the values of a
    ///     column or of each row are compared with each other.
    /// interval : (float, float)
    ///     Where all values lie (default [-1, 1]).
    /// bits : int
    ///     The error is at most 2^-bits of the interval's width (default 8).
    #[pyo3(signature = (other = None, *, interval = (-1.0, 1.0), bits = 8))]
    fn max(
        &self,
        other: Option<&Bound<'_, PyAny>>,
        interval: Interval,
        bits: u32,
        py: Python<'_>,
    ) -> PyResult<Self> {
        match other {
            Some(other) => self.chosen(other, interval, bits, false),
            None => self.greatest(py, interval, bits),
        }
    }

    /// The smallest value of a column or of each row, or the smaller of pairs, likewise.
    #[pyo3(signature = (other = None, *, interval = (-1.0, 1.0), bits = 8))]
    fn min(
        &self,
        other: Option<&Bound<'_, PyAny>>,
        interval: Interval,
        bits: u32,
        py: Python<'_>,
    ) -> PyResult<Self> {
        match other {
            Some(other) => self.chosen(other, interval, bits, true),
            None => {
                let greatest = self.__neg__(py)?.greatest(py, (-interval.1, -interval.0), bits)?;
                greatest.__neg__(py)
            }
        }
    }

    /// The values of a column, or of each row, in ascending order.
    ///
    /// Parameters
    /// ----------
    /// interval : (float, float)
    ///     Where all values lie (default [-1, 1]).
    /// bits : int
    ///     The error is at most 2^-bits of the interval's width (default 8).
    #[pyo3(signature = (*, interval = (-1.0, 1.0), bits = 8))]
    fn sort(&self, interval: Interval, bits: u32, py: Python<'_>) -> PyResult<Self> {
        let (slots, count) = self.vectors("sort")?;
        PyFunction::sort(slots, count, interval, bits, 1, py)?.applied(py, self, None)
    }

    /// 1 in the place of the greatest value of a column, or of each row, and 0 elsewhere: an index
    /// would have to be decrypted, and this is what other values are selected with, by ``*``.
    ///
    /// Parameters
    /// ----------
    /// interval : (float, float)
    ///     Where all values lie (default [-1, 1]).
    /// gap : float
    ///     Values must differ by this much (default 1/32).
    /// bits : int
    ///     The error is at most 2^-bits (default 8).
    #[pyo3(signature = (*, interval = (-1.0, 1.0), gap = 0.03125, bits = 8))]
    fn argmax(&self, interval: Interval, gap: f64, bits: u32, py: Python<'_>) -> PyResult<Self> {
        let (slots, count) = self.vectors("argmax")?;
        PyFunction::argmax(slots, count, interval, gap, bits, 1, py)?.applied(py, self, None)
    }
}
