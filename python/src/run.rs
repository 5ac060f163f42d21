//! Work without the interpreter: other Python threads go on, and no panic and no fork gets through.

use crate::error::{Fault, Result};
use crate::interrupt::{self, Interrupted};
use he::Device;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The process in which the first work was done, whose threads the global pool has.
static HOME: OnceLock<u32> = OnceLock::new();
/// The pool of a process that was forked off after that, which inherits no threads.
static ADOPTED: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Does work that involves no device with Python detached.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    py.detach(|| guarded(work)).map_err(PyErr::from)
}

/// The result of work, or what it panicked with, or the exception of a signal that has ended it.
fn guarded<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    match interrupt::watched(|| unwound(work)) {
        (Some(error), _) => Err(Fault::Raised(error)),
        (None, done) => done,
    }
}

fn unwound<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let done = catch_unwind(AssertUnwindSafe(|| match own_pool()? {
        None => work(),
        Some(pool) => pool.install(work),
    }));
    done.unwrap_or_else(|panic| {
        let panic = match panic.downcast::<Interrupted>() {
            Ok(interrupted) => return Err(Fault::Raised(interrupted.0)),
            Err(panic) => panic,
        };
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
        Err(Fault::Panic(text.to_owned()))
    })
}

/// The pool of this process, unless it is the global one.
fn own_pool() -> Result<Option<Arc<ThreadPool>>> {
    let me = process::id();
    if *HOME.get_or_init(|| me) == me {
        return Ok(None);
    }
    let mut adopted = ADOPTED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((owner, pool)) = &*adopted
        && *owner == me
    {
        return Ok(Some(Arc::clone(pool)));
    }
    let pool = ThreadPoolBuilder::new().build();
    let pool = Arc::new(pool.map_err(|error| Fault::Fork(format!("no threads after a fork: {error}")))?);
    // The pool of the parent, if it was one, has no threads here that could be waited for.
    std::mem::forget(adopted.replace((me, Arc::clone(&pool))));
    Ok(Some(pool))
}

/// A device, and the process that opened it.
#[derive(Debug)]
pub struct Place {
    device: Device,
    process: u32,
}

impl Place {
    /// A device that this process has just opened.
    pub fn new(device: Device) -> Self {
        Self { device, process: process::id() }
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Its name: `cpu`, `cuda:N` or `cuda:N+M`.
    pub fn name(&self) -> String {
        match &self.device {
            Device::Cuda(cuda) => format!("cuda:{}", cuda.gpu().info().ordinal),
            Device::Group(group) => group.to_string(),
            _ => "cpu".to_owned(),
        }
    }

    /// Whether it can be used here.
    ///
    /// # Errors
    /// [`Fault::Fork`] for a GPU that another process opened.
    pub fn check(&self) -> Result<()> {
        if self.device.is_cpu() || self.process == process::id() {
            return Ok(());
        }
        Err(Fault::Fork(format!(
            "the CUDA context of {} belongs to process {} and does not survive a fork into process {}; \
             open a he.Context in the new process, or start it with the method \"spawn\"",
            self.name(),
            self.process,
            process::id(),
        )))
    }

    /// Does work on the device with Python detached.
    pub fn run<T: Send>(&self, py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
        self.check()?;
        detached(py, work)
    }
}

/// Panics, for the test that no panic crosses the boundary.
#[pyfunction]
#[pyo3(name = "_panic")]
pub fn panic_on_purpose(py: Python<'_>, text: String) -> PyResult<()> {
    detached(py, || panic!("{text}"))
}
