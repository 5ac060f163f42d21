//! Work that its caller may end before it is done.

use crate::error::Error;
use he::Device;
use he_core::Overseer;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends work from another thread: inputs and outputs that it is given to, and operations of devices
/// that it oversees, fail with [`Error::Cancelled`] from then on. Work that has all three of them
/// from here ends within a second.
///
/// Clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Overseer for Cancel {
    fn goes_on(&self) -> bool {
        !self.is_cancelled()
    }
}

impl Cancel {
    /// Ends the work.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// The same device for work that this ends.
    #[must_use]
    pub fn oversee(&self, device: &Device) -> Device {
        device.overseen(Arc::new(self.clone()))
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
