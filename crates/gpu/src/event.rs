//! Marks in streams.

use crate::device::Gpu;
use crate::driver::Handle;
use crate::error::Result;

/// A point in a stream's work, made by [`Stream::record`](crate::Stream::record).
#[derive(Debug)]
pub struct Event {
    gpu: Gpu,
    handle: Handle,
}

impl Event {
    pub(crate) fn new(gpu: &Gpu) -> Result<Self> {
        Ok(Self { gpu: gpu.clone(), handle: gpu.driver().create_event()? })
    }

    /// An event whose time nobody asks for.
    pub(crate) fn untimed(gpu: &Gpu) -> Result<Self> {
        Ok(Self { gpu: gpu.clone(), handle: gpu.driver().create_mark()? })
    }

    pub(crate) fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    pub(crate) fn handle(&self) -> Handle {
        self.handle
    }

    /// Returns the milliseconds on the device from this mark to a later one, for which it waits.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver) if work before the marks failed, or they are of
    /// different devices.
    pub fn elapsed_ms(&self, later: &Self) -> Result<f32> {
        self.gpu.same(&later.gpu, "Event::elapsed_ms")?;
        self.synchronize()?;
        later.synchronize()?;
        // SAFETY: both events are live and of one driver.
        unsafe { self.gpu.driver().elapsed_ms(self.handle, later.handle) }
    }

    /// Waits until the stream has reached the mark.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver) if work before the mark failed.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: the event is live.
        unsafe { self.gpu.driver().synchronize_event(self.handle) }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the event is live, and this is its last use.
        unsafe { self.gpu.driver().destroy_event(self.handle) }
    }
}
