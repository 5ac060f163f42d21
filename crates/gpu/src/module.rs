//! Compiled kernels.

use crate::device::Gpu;
use crate::driver::Handle;
use crate::error::Result;

/// Kernels that were compiled together by [`Gpu::load`]. The driver keeps them loaded as long as
/// the device is in use, so that work and graphs never lose their code.
#[derive(Debug, Clone)]
pub struct Module {
    gpu: Gpu,
    handle: Handle,
}

impl Module {
    pub(crate) fn new(gpu: Gpu, handle: Handle) -> Self {
        Self { gpu, handle }
    }

    /// Returns a kernel. `shared` is the most dynamic shared memory, in bytes, that a launch may
    /// use.
    ///
    /// # Errors
    /// [`Error::Module`](crate::Error::Module) if the module has no such kernel;
    /// [`Error::Driver`](crate::Error::Driver) if the device has less shared memory.
    pub fn kernel(&self, name: &str, shared: u32) -> Result<Kernel> {
        // SAFETY: the module is live and of this driver.
        let handle = unsafe { self.gpu.driver().function(self.handle, name, shared)? };
        Ok(Kernel { gpu: self.gpu.clone(), handle, shared })
    }
}

/// A function that a device runs, made by [`Module::kernel`];
/// [`Stream::launch`](crate::Stream::launch) starts it.
#[derive(Debug, Clone)]
pub struct Kernel {
    pub(crate) gpu: Gpu,
    pub(crate) handle: Handle,
    pub(crate) shared: u32,
}
