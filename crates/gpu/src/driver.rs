//! What a device must do for everything above it: the one seam between the real driver and the emulator.

use crate::error::Result;
use std::ffi::c_void;
use std::fmt::Debug;

/// What a device is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Number of the device.
    pub ordinal: usize,
    /// Its name.
    pub name: String,
    /// Bytes of memory.
    pub memory: usize,
    /// Compute capability, major and minor.
    pub compute_capability: (u32, u32),
    /// CUDA version of the driver, major and minor.
    pub driver: (u32, u32),
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Most bytes of shared memory of a block.
    pub shared_memory: u32,
}

impl DeviceInfo {
    /// Whether float64 runs at half the rate of float32, as on V100, A100, H100, H200 and B200, instead of a small fraction.
    pub fn full_rate_fp64(&self) -> bool {
        matches!(self.compute_capability, (7, 0) | (8, 0) | (9, 0) | (10, 0))
    }
}

/// A stream, module, function, event or graph of a driver.
pub type Handle = usize;

/// One device. Addresses are device addresses, at least 256-byte aligned from `alloc`; 0 is none. Calls are made from any thread.
///
/// # Safety
/// Of the unsafe functions: addresses and handles are live and come from the same driver; ranges lie within their allocations;
/// host pointers are valid for `bytes` bytes; nothing else accesses the ranges against the order of the stream.
pub trait Driver: Debug + Send + Sync {
    /// What the device is.
    fn info(&self) -> &DeviceInfo;
    /// Bytes free and in all.
    fn memory(&self) -> Result<(usize, usize)>;
    /// Memory of the device: [`Error::OutOfMemory`](crate::Error::OutOfMemory) if there is none left.
    fn alloc(&self, bytes: usize) -> Result<u64>;
    /// Gives memory back, after all work on it.
    unsafe fn free(&self, address: u64);
    /// A new stream.
    fn create_stream(&self) -> Result<Handle>;
    /// Ends a stream after its work.
    unsafe fn destroy_stream(&self, stream: Handle);
    /// Host to device; the host memory may be reused at once.
    unsafe fn write(&self, stream: Handle, dst: u64, src: *const c_void, bytes: usize) -> Result<()>;
    /// Device to host; returns when the bytes are there.
    unsafe fn read(&self, stream: Handle, src: u64, dst: *mut c_void, bytes: usize) -> Result<()>;
    /// Within the device.
    unsafe fn copy(&self, stream: Handle, src: u64, dst: u64, bytes: usize) -> Result<()>;
    /// Zeroes bytes.
    unsafe fn fill_zero(&self, stream: Handle, dst: u64, bytes: usize) -> Result<()>;
    /// Waits for a stream.
    unsafe fn synchronize(&self, stream: Handle) -> Result<()>;
    /// Compiles a module from PTX text; `name` is for errors.
    fn load(&self, name: &str, ptx: &str) -> Result<Handle>;
    /// A kernel of a module. `shared` is the most dynamic shared memory that launches will ask for.
    unsafe fn function(&self, module: Handle, name: &str, shared: u32) -> Result<Handle>;
    /// Launches a kernel with one parameter, a structure that `argument` points to.
    unsafe fn launch(
        &self,
        stream: Handle,
        function: Handle,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
        argument: *mut c_void,
    ) -> Result<()>;
}
