//! Ctrl-C in long work: between its steps, signals that have come are handled.

use he::Device;
use he_core::circuits::ckks::Refresher;
use he_core::ckks::Ciphertext;
use pyo3::prelude::*;
use std::panic::resume_unwind;

/// What unwinds from work that a signal ends: the exception of its handler.
pub struct Interrupted(pub PyErr);

/// Ends the work if a signal's handler raises, as that of Ctrl-C does. Python runs handlers on its
/// main thread alone: on other threads, this does nothing.
///
/// Work holds no lock here, and owns all that it changes.
pub fn point() {
    if let Some(Err(error)) = Python::try_attach(|py| py.check_signals()) {
        resume_unwind(Box::new(Interrupted(error)));
    }
}

/// A refresher that lets signals through before each step of a function, and each refresh.
#[derive(Clone, Copy, Debug)]
pub struct Interruptible<'a, R>(pub &'a R);

impl<R: Refresher<Device>> Refresher<Device> for Interruptible<'_, R> {
    fn reserve(&self) -> usize {
        self.0.reserve()
    }

    fn top(&self) -> Option<usize> {
        self.0.top()
    }

    fn check(&self, ct: &Ciphertext<Device>) -> he_core::Result<()> {
        self.0.check(ct)
    }

    fn refresh(&self, ct: &Ciphertext<Device>) -> he_core::Result<Ciphertext<Device>> {
        point();
        self.0.refresh(ct)
    }

    fn refresh_real(&self, ct: &Ciphertext<Device>) -> he_core::Result<Ciphertext<Device>> {
        point();
        self.0.refresh_real(ct)
    }

    fn fits(&self, level: usize, depth: usize) -> he_core::Result<bool> {
        point();
        self.0.fits(level, depth)
    }
}
