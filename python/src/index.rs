//! Indices and slices of encrypted arrays, as NumPy means them.

use crate::arrays::{Array, Numbers};
use crate::ciphertext::PyCiphertext;
use crate::error::Fault;
use he_any::arrays::{self, Values};
use he_any::layout::{Dim, Layout, shown};
use he_any::rlwe::Cipher;
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyList, PySlice, PySliceMethods, PyTuple};

/// The entries that one index picks of an axis.
enum Pick {
    /// One place, whose axis goes.
    One(usize),
    /// Places from one to another, the axis stays.
    Range(usize, usize),
    /// Any places.
    Places(Vec<usize>),
}

/// An index of one axis.
fn pick(index: &Bound<'_, PyAny>, length: usize) -> PyResult<Pick> {
    let place = |at: i64| {
        let place = if at < 0 { at.saturating_add(length as i64) } else { at };
        usize::try_from(place)
            .ok()
            .filter(|&place| place < length)
            .ok_or_else(|| PyIndexError::new_err(format!("index {at} of {length}")))
    };
    if let Ok(slice) = index.cast::<PySlice>() {
        let found = slice.indices(length as isize)?;
        if found.slicelength == 0 {
            return Err(PyIndexError::new_err("an empty slice"));
        }
        if found.step == 1 {
            return Ok(Pick::Range(found.start as usize, found.stop as usize));
        }
        let at = |i: usize| (found.start + i as isize * found.step) as usize;
        return Ok(Pick::Places((0..found.slicelength).map(at).collect()));
    }
    if index.is_instance_of::<PyBool>() {
        return Err(PyTypeError::new_err("a bool is no index; an array of them picks places"));
    }
    if index.cast::<PyCiphertext>().is_ok() {
        return Err(PyTypeError::new_err(
            "an encrypted index picks nothing: multiply by an encrypted mask of zeros and ones, and sum",
        ));
    }
    if index.is_instance_of::<PyList>()
        || index.hasattr("dtype")? && index.getattr("ndim")?.extract::<usize>()? > 0
    {
        let mask = index.py().import("numpy")?.call_method1("asarray", (index,))?;
        let is_mask = mask.getattr("dtype")?.getattr("kind")?.extract::<String>()? == "b";
        let array = Array::new(&mask, Numbers::Exact, "indices")?;
        if array.shape().len() != 1 {
            return Err(PyIndexError::new_err("indices of more than one dimension"));
        }
        let found: Vec<i64> = match array.values()? {
            Values::Signed(values) => values.to_vec(),
            Values::Unsigned(values) => {
                values.iter().map(|&x| i64::try_from(x).unwrap_or(i64::MAX)).collect()
            }
            _ => return Err(PyTypeError::new_err("indices are integers")),
        };
        let places: Vec<usize> = if is_mask {
            if found.len() != length {
                return Err(PyIndexError::new_err(format!("a mask of {} for {length}", found.len())));
            }
            (0..length).filter(|&at| found[at] != 0).collect()
        } else {
            found.into_iter().map(place).collect::<PyResult<_>>()?
        };
        if places.is_empty() {
            return Err(PyIndexError::new_err("indices that pick nothing"));
        }
        return Ok(Pick::Places(places));
    }
    let number = index.call_method0("__index__").map_err(|_| {
        let found = index.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
        PyIndexError::new_err(format!(
            "an index of the type {found}; integers, slices and arrays of these are possible"
        ))
    })?;
    Ok(Pick::One(place(number.extract()?)?))
}

/// The places of an array of one dimension that an index picks.
pub fn places(index: &Bound<'_, PyAny>, length: usize) -> PyResult<Vec<usize>> {
    Ok(match pick(index, length)? {
        Pick::One(at) => vec![at],
        Pick::Range(start, end) => (start..end).collect(),
        Pick::Places(places) => places,
    })
}

impl PyCiphertext {
    /// The values that indices pick.
    pub fn indexed(&self, index: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = index.py();
        let mut given: Vec<Bound<'_, PyAny>> = match index.cast::<PyTuple>() {
            Ok(tuple) => tuple.iter().collect(),
            Err(_) => vec![index.clone()],
        };
        let axes = self.layout.axes();
        let count = given.iter().filter(|of| !of.is_none() && !of.is_instance_of::<PyEllipsis>()).count();
        if count > axes.len() {
            return Err(PyIndexError::new_err(format!(
                "{count} indices for a ciphertext of shape {}",
                shown(&self.layout.shape())
            )));
        }
        let whole = || PySlice::full(py).into_any();
        let rest = axes.len() - count;
        match given.iter().position(|of| of.is_instance_of::<PyEllipsis>()) {
            Some(at) => {
                given.splice(at..=at, std::iter::repeat_with(whole).take(rest));
            }
            None => given.extend(std::iter::repeat_with(whole).take(rest)),
        }
        let lists = given.iter().filter(|of| of.cast::<PySlice>().is_err() && !of.is_none());
        let lists = lists.filter(|of| of.is_instance_of::<PyList>() || of.hasattr("dtype").unwrap_or(false));
        if lists.count() > 1 {
            return Err(PyIndexError::new_err(
                "two arrays of indices pick pairs in NumPy; index one axis after the other",
            ));
        }
        // Axis by axis, with the shape as NumPy has it.
        let mut made = self.__pos__(py)?;
        let (mut shape, mut next) = (Vec::new(), 0);
        for index in &given {
            if index.is_none() {
                shape.push(1);
                continue;
            }
            let (axis, picked) = (axes[next], pick(index, self.layout.length(axes[next]))?);
            next += 1;
            match &picked {
                Pick::One(_) => (),
                Pick::Range(start, end) => shape.push(end - start),
                Pick::Places(places) => shape.push(places.len()),
            }
            made = made.picked(py, axis, &picked)?;
        }
        if made.layout.shape() == shape {
            return Ok(made);
        }
        let layout = made.layout.reshaped(&shape).map_err(Fault::from)?;
        made.with_layout(py, layout)
    }

    /// The entries that are picked of one axis.
    fn picked(&self, py: Python<'_>, axis: Dim, picked: &Pick) -> PyResult<Self> {
        match (axis, picked) {
            (Dim::One, Pick::One(_)) => self.with_layout(py, self.layout.reduced(Dim::One, false)),
            (Dim::One, Pick::Places(places)) if places.len() > 1 => {
                Err(PyIndexError::new_err("an axis of length one is repeated by broadcasting"))
            }
            (Dim::One, _) => self.__pos__(py),
            (Dim::Batch, picked) => self.entries_of(py, picked),
            (Dim::Slots, &Pick::One(at)) => self.part(py, at, at + 1, self.layout.first()),
            (Dim::Slots, &Pick::Range(start, end)) => {
                self.part(py, start, end, self.layout.part(end - start))
            }
            (Dim::Slots, Pick::Places(places)) => self.gathered(py, places),
        }
    }

    fn entries_of(&self, py: Python<'_>, picked: &Pick) -> PyResult<Self> {
        // One entry may stand for all.
        let alone = self.physical_batch() == 1;
        let kept = |count: usize| Layout { entries: Some(count), ..self.layout };
        match picked {
            &Pick::One(at) => {
                let layout = self.layout.reduced(Dim::Batch, false);
                let at = if alone { 0 } else { at };
                self.run(py, || self.entries(at..at + 1, layout))
            }
            &Pick::Range(start, end) => {
                let range = if alone { 0..1 } else { start..end };
                self.run(py, || self.entries(range, kept(end - start)))
            }
            Pick::Places(places) => self.run(py, || {
                let one = |at: usize| if alone { 0 } else { at };
                let parts = places.iter().map(|&at| self.cipher.slice_batch(one(at)..one(at) + 1));
                let parts = parts.collect::<he_core::Result<Vec<_>>>()?;
                let cipher = Cipher::concat(&parts.iter().collect::<Vec<_>>())?;
                Ok((cipher, kept(places.len())))
            }),
        }
    }

    /// That slots can be rotated apart.
    fn check_slots(&self) -> PyResult<()> {
        if self.layout.entries.is_none() && self.physical_batch() > 1 {
            let text = "a column over several ciphertexts has no slices; encrypt it as rows of a batch";
            return Err(PyValueError::new_err(text));
        }
        let row = self.slots_of_vector() / 2;
        if self.is_exact() && self.layout.size > row {
            return Err(PyValueError::new_err(format!(
                "{} values have no slices: the slots of {} are two rows of {row}, which rotate apart",
                self.layout.size,
                self.core.site.scheme()
            )));
        }
        Ok(())
    }

    /// The values from `start` to `end` of a column or of each entry.
    fn part(&self, py: Python<'_>, start: usize, end: usize, layout: Layout) -> PyResult<Self> {
        if start == 0 && end == self.layout.size {
            let layout = Layout { padding: self.layout.padding, ..layout };
            return self.with_layout(py, layout);
        }
        self.check_slots()?;
        self.run(py, || match start {
            0 => self.entries(0..self.physical_batch(), layout),
            start => Ok((self.rotated(start as i64)?, layout)),
        })
    }

    /// The values at any places of a column or of each entry, which takes a level.
    fn gathered(&self, py: Python<'_>, places: &[usize]) -> PyResult<Self> {
        self.check_slots()?;
        if places.len() > self.slots_of_vector() / if self.is_exact() { 2 } else { 1 } {
            return Err(PyIndexError::new_err(format!(
                "{} places for the {} slots of the array",
                places.len(),
                self.slots_of_vector()
            )));
        }
        self.run(py, || {
            let (keys, ct) = (self.switching()?, (&self.cipher, &self.layout));
            Ok(arrays::gathered(self.engine()?, keys.get()?, ct, places)?)
        })
    }
}
