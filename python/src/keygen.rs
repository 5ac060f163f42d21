//! The keys of a context, for the programs that need them.

use crate::context::{Core, PyContext};
use crate::error::Fault;
use crate::functions::PyFunction;
use crate::interrupt;
use crate::keys::PyKeys;
use crate::model::PyModel;
use he_core::circuits::Requirements;
use he_core::rlwe::KeyRequirements;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// The keys that programs need: sums, products, given rotations, and those of other objects.
pub fn requirements(
    core: &Core,
    (relinearisation, sums, conjugation): (bool, bool, bool),
    rotations: Vec<i64>,
    needs: &[Bound<'_, PyAny>],
) -> PyResult<KeyRequirements> {
    let exact = core.site.engine.is_exact();
    let mut all = KeyRequirements::new().rotations(rotations);
    if relinearisation {
        all = all.relinearisation();
    }
    if sums {
        let row = core.site.params.slots().unwrap_or(1) / if exact { 2 } else { 1 };
        all = all.rotations((0..row.max(1).ilog2()).map(|bit| 1i64 << bit));
    }
    if conjugation || (sums && exact) {
        all = all.conjugation();
    }
    for need in needs {
        let more: Requirements = if let Ok(function) = need.cast::<PyFunction>() {
            function.get().requirements()
        } else if let Ok(model) = need.cast::<PyModel>() {
            model.get().requirements().map_err(Fault::from)?
        } else {
            let found = need.get_type().name()?;
            let text = format!("needs: {found}, where he.Function and he.Model are expected");
            return Err(PyTypeError::new_err(text));
        };
        all = all.union(&more.keys);
    }
    Ok(all)
}

#[pymethods]
impl PyContext {
    /// Generate keys; this context computes with its part of them from now on.
    ///
    /// Parameters
    /// ----------
    /// relinearisation : bool
    ///     A key for products of ciphertexts.
    /// sums : bool
    ///     Keys for sums over all slots, which also serve any rotation, in several steps.
    /// rotations : sequence of int, optional
    ///     Steps of rotations that get a key of their own.
    /// conjugation : bool
    ///     A key for complex conjugates, or for exchanging the rows of BFV and BGV; those of
    ///     refreshes bring it.
    /// needs : sequence of Function or Model, optional
    ///     What else will be computed.
    /// bootstrapping : bool
    ///     Keys of refreshes, if the parameters have any: several GB at full size.
    /// progress : callable, optional
    ///     A callable that is told how many evaluation keys of how many are made,
    ///     ``progress(done, total)``. An exception that it raises ends the work. Keys of TFHE and
    ///     of refreshes are not counted.
    #[pyo3(signature = (
        *, relinearisation = true, sums = true, rotations = None, conjugation = false, needs = None,
        bootstrapping = true, progress = None
    ))]
    fn keygen(
        slf: &Bound<'_, Self>,
        relinearisation: bool,
        sums: bool,
        rotations: Option<Vec<i64>>,
        conjugation: bool,
        needs: Option<Vec<Bound<'_, PyAny>>>,
        bootstrapping: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<PyKeys> {
        let core = &slf.get().0;
        // Integers of a dtype take it.
        let integers = bootstrapping && core.site.params.bootstrapping().is_some();
        let required = requirements(
            core,
            (relinearisation, sums, conjugation || integers),
            rotations.unwrap_or_default(),
            &needs.unwrap_or_default(),
        )?;
        interrupt::told(progress, || PyKeys::generate(slf.py(), core, &required, bootstrapping))
    }
}
