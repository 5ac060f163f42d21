//! Ctrl-C in long work: between its steps, and between the operations of devices, signals that have
//! come are handled. Callers are told between its steps how far it is, and may end it.

use he::{Device, Overseer};
use he_core::circuits::ckks::Refresher;
use he_core::ckks::Ciphertext;
use pyo3::prelude::*;
use rand::{CryptoRng, Rng, TryCryptoRng, TryRng};
use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The payload that unwinds from work that a signal ends: the exception of its handler.
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

/// The least time between two looks for signals: Python's lock may have to be waited for.
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

/// The least time between two reports of progress.
const BETWEEN_REPORTS: Duration = Duration::from_secs(1);

/// A step of work in pieces: signals come through, and once a second the logger ``he`` of Python is
/// told, at level INFO, how far it is.
pub fn step(what: &str, done: usize, of: usize) {
    tell(done, of);
    let now = Instant::now();
    let last = if done == 0 { None } else { REPORTED.get() };
    match last {
        None => REPORTED.set(Some(now)),
        Some(last) if now - last >= BETWEEN_REPORTS => {
            REPORTED.set(Some(now));
            let report = |py: Python<'_>| -> PyResult<()> {
                let logger = py.import("logging")?.call_method1("getLogger", ("he",))?;
                logger.call_method1("info", ("%s: %d of %d ciphertexts", what, done, of))?;
                Ok(())
            };
            if let Some(Err(error)) = Python::try_attach(report) {
                resume_unwind(Box::new(Interrupted(error)));
            }
        }
        Some(_) => (),
    }
}

/// Tells of a step of work in parts: signals come through, and the listener is told how far the
/// work is.
pub fn tell(done: usize, of: usize) {
    look();
    if let Some(told) = Told::current() {
        told.set(done as u64, of as u64);
    }
}

/// A function of Python that is told how far the work of this thread is: ``progress(done, total)``.
/// The work ends with what it raises.
#[derive(Clone)]
pub struct Told(Arc<Teller>);

struct Teller {
    function: Py<PyAny>,
    /// The steps that are done, and all.
    state: Mutex<(u64, u64)>,
    raised: Mutex<Option<PyErr>>,
}

impl Told {
    /// The listener to the work of this thread, if somebody has asked to be told.
    pub fn current() -> Option<Self> {
        TOLD.with_borrow(Clone::clone)
    }

    /// Begins so many steps.
    pub fn begin(&self, total: u64) {
        self.set(0, total);
    }

    /// So many steps more are done.
    pub fn advance(&self, by: u64) {
        self.report(|(done, _)| *done += by);
    }

    /// So many steps of all are done.
    pub fn set(&self, done: u64, total: u64) {
        self.report(|state| *state = (done, total));
    }

    fn report(&self, change: impl FnOnce(&mut (u64, u64))) {
        let (done, total) = {
            let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
            change(&mut state);
            *state
        };
        // No lock is held while Python's is waited for.
        let raised = Python::try_attach(|py| {
            let error = self.0.function.bind(py).call1((done, total)).err()?;
            let again = error.clone_ref(py);
            self.0.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            Some(again)
        });
        if let Some(Some(error)) = raised {
            resume_unwind(Box::new(Interrupted(error)));
        }
    }
}

/// Does work on this thread of which `progress`, if there is one, is told.
///
/// # Errors
/// The exception of the function, wherever in the work it was raised; the errors of the work.
pub fn told<T>(progress: Option<Py<PyAny>>, work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    /// The listener that was there before, when the work has ended in any way.
    struct Before(Option<Told>);
    impl Drop for Before {
        fn drop(&mut self) {
            TOLD.set(self.0.take());
        }
    }
    let told = progress.map(|function| {
        Told(Arc::new(Teller { function, state: Mutex::default(), raised: Mutex::default() }))
    });
    let before = Before(TOLD.replace(told.clone()));
    let done = work();
    drop(before);
    let raised = told.and_then(|told| told.0.raised.lock().unwrap_or_else(PoisonError::into_inner).take());
    raised.map_or(done, Err)
}

/// A point of [`point`], if the last look was long enough ago.
pub fn look() {
    let now = Instant::now();
    if LOOKED.get().is_some_and(|last| now - last >= BETWEEN_LOOKS) {
        LOOKED.set(Some(now));
        point();
    }
}

/// A generator that looks for signals: what draws many numbers is ended by them.
pub struct Watched<R>(pub R);

impl<R: Rng> TryRng for Watched<R> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        look();
        Ok(self.0.next_u32())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        look();
        Ok(self.0.next_u64())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        look();
        self.0.fill_bytes(bytes);
        Ok(())
    }
}

impl<R: CryptoRng> TryCryptoRng for Watched<R> {}

thread_local! {
    /// When progress was last reported.
    static REPORTED: Cell<Option<Instant>> = const { Cell::new(None) };
    /// The progress of the work of this thread.
    static TOLD: RefCell<Option<Told>> = const { RefCell::new(None) };
    /// When this thread last looked for signals, if it is one that Python has called from.
    static LOOKED: Cell<Option<Instant>> = const { Cell::new(None) };
    /// The exception of a signal's handler, until the work has ended.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Does work during which this thread looks for signals. The exception that has ended it, if one
/// has, and the result.
pub fn watched<T>(work: impl FnOnce() -> T) -> (Option<PyErr>, T) {
    LOOKED.set(Some(Instant::now()));
    let done = work();
    LOOKED.set(None);
    (RAISED.with_borrow_mut(Option::take), done)
}

/// Ends the work of a thread once a signal's handler has raised on it.
struct Signals;

impl Overseer for Signals {
    fn goes_on(&self) -> bool {
        if RAISED.with_borrow(Option::is_some) {
            return false;
        }
        let now = Instant::now();
        if LOOKED.get().is_none_or(|last| now - last < BETWEEN_LOOKS) {
            return true;
        }
        LOOKED.set(Some(now));
        match Python::try_attach(|py| py.check_signals()) {
            Some(Err(error)) => {
                RAISED.set(Some(error));
                false
            }
            _ => true,
        }
    }
}

/// The device of this name, whose operations let signals through.
///
/// # Errors
/// The errors of [`Device`]'s parser.
pub fn device(name: &str) -> he_core::Result<Device> {
    Ok(name.parse::<Device>()?.overseen(Arc::new(Signals)))
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
