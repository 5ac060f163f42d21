//! Encrypted arrays that become one.

use crate::ciphertext::PyCiphertext;
use crate::error::Result;
use he_any::arrays;
use he_any::layout::{Bounds, Dim, Layout, shown};
use he_any::rlwe::Cipher;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The entries of all parts in one batch.
pub fn batched(parts: &[&PyCiphertext]) -> Result<Cipher> {
    Ok(Cipher::concat(&parts.iter().map(|part| &part.cipher).collect::<Vec<_>>())?)
}

/// The facts that hold of all parts.
fn common(parts: &[&PyCiphertext]) -> (Option<f64>, Option<Bounds>, bool) {
    let (first, rest) = (&parts[0].layout, parts.iter().skip(1).map(|part| &part.layout));
    rest.fold((first.padding, first.bounds, first.complex), |(padding, bounds, complex), part| {
        (
            padding.filter(|&x| part.padding == Some(x)),
            bounds.zip(part.bounds).map(|(a, b)| a.hull(b)),
            complex || part.complex,
        )
    })
}

fn do_not_fit(what: &str, parts: &[&PyCiphertext], apart: &PyCiphertext) -> PyErr {
    let (a, b) = (shown(&parts[0].layout.shape()), shown(&apart.layout.shape()));
    PyValueError::new_err(format!("ciphertexts of the shapes {a} and {b} do not {what}"))
}

/// The parts, all of one context.
fn parts_of<'a>(ciphertexts: &'a [Bound<'_, PyCiphertext>], what: &str) -> PyResult<Vec<&'a PyCiphertext>> {
    let parts: Vec<&PyCiphertext> = ciphertexts.iter().map(Bound::get).collect();
    let Some(first) = parts.first() else {
        return Err(PyValueError::new_err(format!("no ciphertexts to {what}")));
    };
    for part in &parts {
        first.core.site.check_same(&part.core.site, "ciphertext")?;
    }
    Ok(parts)
}

/// Puts columns, or the rows of several batches, into one batch of rows, as ``numpy.vstack``; of
/// single values, it makes an array of one dimension.
#[pyfunction]
#[pyo3(signature = (ciphertexts))]
pub fn stack(ciphertexts: Vec<Bound<'_, PyCiphertext>>, py: Python<'_>) -> PyResult<PyCiphertext> {
    let parts = parts_of(&ciphertexts, "stack")?;
    let first = &parts[0].layout;
    for part in &parts {
        let layout = &part.layout;
        if layout.size != first.size || layout.splat != first.splat || layout.point != first.point {
            return Err(do_not_fit("stack", &parts, part));
        }
        if layout.is_transposed() {
            return Err(PyValueError::new_err(
                "arrays that lie by columns do not stack; encrypt them with layout=\"rows\"",
            ));
        }
        if layout.entries.is_none() && part.physical_batch() > 1 {
            return Err(PyValueError::new_err("columns over several ciphertexts do not stack"));
        }
    }
    let (padding, bounds, complex) = common(&parts);
    let entries = Some(parts.iter().map(|part| part.layout.entries.unwrap_or(1)).sum());
    let last = if first.has(Dim::Slots) { Some(Dim::Slots) } else { first.has(Dim::One).then_some(Dim::One) };
    let axes: Vec<Dim> = [Dim::Batch].into_iter().chain(last).collect();
    let layout = Layout { entries, padding, bounds, complex, ..*first }.with_axes(&axes);
    parts[0].run(py, || Ok((batched(&parts)?, layout)))
}

/// Joins arrays along an axis, as ``numpy.concatenate``: the slots of columns take a level, the
/// entries of batches none.
#[pyfunction]
#[pyo3(signature = (ciphertexts, axis = 0))]
pub fn concatenate(
    ciphertexts: Vec<Bound<'_, PyCiphertext>>,
    axis: i64,
    py: Python<'_>,
) -> PyResult<PyCiphertext> {
    let parts = parts_of(&ciphertexts, "concatenate")?;
    let first = &parts[0].layout;
    let axes = first.axes();
    let count = axes.len() as i64;
    let at = if axis < 0 { axis.saturating_add(count) } else { axis };
    if !(0..count).contains(&at) {
        let text = format!("axis {axis} of a ciphertext of {count} dimension(s)");
        return Err(PyValueError::new_err(text));
    }
    let at = at as usize;
    for part in &parts {
        let (one, other) = (first.shape(), part.layout.shape());
        let alike =
            one.len() == other.len() && (0..one.len()).all(|axis| axis == at || one[axis] == other[axis]);
        if !alike {
            return Err(do_not_fit("concatenate", &parts, part));
        }
    }
    // Values of all slots, and columns, become entries of a batch if nothing lies in the other way.
    let single = |of: &Layout| matches!(of.axes()[at], Dim::One) && of.entries.is_none();
    let by_entries = parts.iter().all(|part| {
        let other = part.layout.axes().iter().enumerate().all(|(axis, &dim)| axis == at || dim != Dim::Batch);
        let one = single(&part.layout) && other;
        (one || part.layout.axes()[at] == Dim::Batch)
            && part.layout.splat == first.splat
            && part.layout.point == first.point
    });
    let (padding, bounds, complex) = common(&parts);
    if by_entries && parts.iter().all(|part| part.layout.entries.is_some() || part.physical_batch() == 1) {
        let total = parts.iter().map(|part| part.layout.length(part.layout.axes()[at])).sum();
        let mut axes = axes;
        axes[at] = Dim::Batch;
        let layout = Layout { entries: Some(total), padding, bounds, complex, ..*first }.with_axes(&axes);
        return parts[0].run(py, || Ok((batched(&parts)?, layout)));
    }
    for part in &parts {
        let dims_differ = part.layout.axes()[at] != Dim::Slots && part.layout.axes()[at] != Dim::One;
        if dims_differ || part.layout.entries != first.entries {
            return Err(PyValueError::new_err(
                "the arrays lie differently in their ciphertexts; encrypt both with layout=\"rows\" or both with \
                 layout=\"columns\"",
            ));
        }
        if part.layout.entries.is_none() && part.physical_batch() > 1 {
            return Err(PyValueError::new_err(
                "columns over several ciphertexts are not concatenated; encrypt them as rows of a batch",
            ));
        }
    }
    let total: usize = parts.iter().map(|part| part.layout.size).sum();
    let all = parts[0].core.site.params.slots().unwrap_or(1);
    let most = if parts[0].is_exact() { all / 2 } else { all };
    if total > most {
        return Err(PyValueError::new_err(format!(
            "{total} values side by side, where {most} fit one ciphertext; stack them as rows of a batch"
        )));
    }
    let mut axes = axes;
    axes[at] = Dim::Slots;
    let bounds = bounds.map(|bounds| bounds.hull(Bounds::of(0.0)));
    let layout =
        Layout { size: total, splat: false, point: false, padding: Some(0.0), bounds, complex, ..*first }
            .with_axes(&axes);
    parts[0].run(py, || {
        let keys = parts[0].switching()?;
        let all: Vec<_> = parts.iter().map(|part| (&part.cipher, part.layout.size)).collect();
        let cipher = arrays::side_by_side(parts[0].engine()?, keys.get()?, &all)?;
        Ok((cipher, layout))
    })
}
