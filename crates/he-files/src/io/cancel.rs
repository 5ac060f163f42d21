//! Work that its caller may end before it is done.

use crate::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends work from another thread: inputs and outputs that it is given to fail with
/// [`Error::Cancelled`] from then on, so that work ends at the next piece that it reads or writes.
///
/// Clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Ends the work.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the work is to end.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Fails once the work is to end.
    pub(super) fn check(&self) -> io::Result<()> {
        match self.is_cancelled() {
            true => Err(io::Error::other(Error::Cancelled)),
            false => Ok(()),
        }
    }
}
