//! Compiled kernels.

use crate::device::Gpu;
use crate::driver::Handle;
use crate::error::Result;
use crate::ptx::{Header, Text};

/// Kernels that were compiled together by [`Gpu::load`]. The driver keeps them loaded as long as
/// the device is in use, so that work and graphs never lose their code.
#[derive(Debug, Clone)]
pub struct Module {
    gpu: Gpu,
    handle: Handle,
    /// Whether its kernels wait for what precedes them.
    waits: bool,
}

impl Gpu {
    /// Compiles PTX, once per device: the same text again gives the same module. `name` is for
    /// errors.
    ///
    /// Where a line is `// sm_90: ` followed by an instruction, devices of compute capability 9.0
    /// on execute the instruction, if the text's version is 7.8 or later. If every kernel of a text
    /// has a line `// sm_90: griddepcontrol.wait;`, before its first access to what another kernel
    /// writes or reads, then in a [batch](crate::Stream::batched) they are started there while those
    /// before them end.
    ///
    /// # Errors
    /// [`Error::UnsupportedPtx`](crate::Error::UnsupportedPtx) if its version needs a newer driver;
    /// [`Error::UnsupportedDevice`](crate::Error::UnsupportedDevice) if its target needs a newer
    /// device; [`Error::Module`](crate::Error::Module) with the compiler's message;
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn load(&self, name: &str, ptx: &str) -> Result<Module> {
        Header::parse(ptx).check(self.info())?;
        let Text { ptx, waits } = Text::new(ptx, self.info().compute_capability);
        Ok(Module { gpu: self.clone(), handle: self.module(name, &ptx)?, waits })
    }
}

impl Module {
    /// Returns a kernel. `shared` is the most dynamic shared memory, in bytes, that a launch may
    /// use.
    ///
    /// # Errors
    /// [`Error::Module`](crate::Error::Module) if the module has no such kernel;
    /// [`Error::Driver`](crate::Error::Driver) if the device has less shared memory.
    pub fn kernel(&self, name: &str, shared: u32) -> Result<Kernel> {
        // SAFETY: the module is live and of this driver.
        let handle = unsafe { self.gpu.driver().function(self.handle, name, shared)? };
        Ok(Kernel { gpu: self.gpu.clone(), handle, shared, waits: self.waits })
    }
}

/// A function that a device runs, made by [`Module::kernel`];
/// [`Stream::launch`](crate::Stream::launch) starts it.
#[derive(Debug, Clone)]
pub struct Kernel {
    pub(crate) gpu: Gpu,
    pub(crate) handle: Handle,
    pub(crate) shared: u32,
    pub(crate) waits: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::fake::Fake;

    #[test]
    fn load_reads_the_header_first() {
        let fake = Fake::new();
        let gpu = Gpu::from_driver(fake.clone());
        assert_eq!(
            gpu.load("k", ".version 9.0\n.target sm_70").err(),
            Some(Error::UnsupportedPtx { driver: (12, 0), needed: (13, 0) })
        );
        assert_eq!(
            gpu.load("k", ".version 8.0\n.target sm_90").err(),
            Some(Error::UnsupportedDevice { found: (8, 0), needed: (9, 0) })
        );
        assert_eq!(fake.calls(), [""; 0]);
        assert!(gpu.load("k", ".version 8.0\n.target sm_80").is_ok());
        assert_eq!(fake.calls(), ["load"]);
    }

    #[test]
    fn modules_are_loaded_once_per_device() {
        let fake = Fake::new();
        let gpu = Gpu::from_driver(fake.clone());
        let [a, b] = [".version 8.0\n.target sm_80\n// a", ".version 8.0\n.target sm_80\n// b"];
        let first = gpu.load("k", a).unwrap();
        assert_eq!(gpu.clone().load("again", a).unwrap().handle, first.handle);
        assert_eq!(fake.calls(), ["load"]);
        gpu.load("k", b).unwrap();
        assert_eq!(fake.calls(), ["load"]);
    }
}
