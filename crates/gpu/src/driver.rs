//! The operations that a device must provide: the one seam between the real driver and the
//! emulator.

use crate::error::{Error, Result};
use crate::fork::Branch;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::c_void;
use std::fmt::Debug;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// The properties of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceInfo {
    /// The number of the device.
    pub ordinal: usize,
    /// The name of the device.
    pub name: String,
    /// The bytes of memory.
    pub memory: usize,
    /// Compute capability, major and minor.
    pub compute_capability: (u32, u32),
    /// CUDA version of the driver, major and minor.
    pub driver: (u32, u32),
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// The greatest number of bytes of shared memory per block.
    pub shared_memory: u32,
}

impl DeviceInfo {
    /// Whether float64 runs at half the rate of float32, as on V100, A100, H100, H200 and B200,
    /// instead of a small fraction.
    pub fn full_rate_fp64(&self) -> bool {
        matches!(self.compute_capability, (7, 0) | (8, 0) | (9, 0) | (10, 0))
    }
}

/// A stream, module, function, event or graph of a driver.
pub type Handle = usize;

/// A launch without its argument: the function, `grid` blocks of `block` threads, and the bytes of
/// dynamic shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Launch {
    /// A function of a module.
    pub function: Handle,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads per block.
    pub block: [u32; 3],
    /// The bytes of dynamic shared memory.
    pub shared: u32,
    /// Whether the function itself waits for the launch before it in a sequence, so that it may be
    /// started before that has ended.
    pub waits: bool,
    /// The branch that it belongs to, if it may run beside launches of others.
    pub branch: Option<Branch>,
}

/// A graph of launches in sequence, but for branches.
#[derive(Debug)]
pub struct Sequence {
    /// The graph that can be launched.
    pub instance: Handle,
    /// The graph that it was instantiated from.
    pub graph: Handle,
    /// Its nodes, in order.
    pub nodes: Vec<Handle>,
}

/// Rows that are copied to the same device or to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowCopy {
    /// The address of the first row at the source.
    pub src: u64,
    /// The address of the first row at the destination.
    pub dst: u64,
    /// The bytes from one row to the next where they come from.
    pub src_pitch: usize,
    /// The bytes from one row to the next where they go to.
    pub dst_pitch: usize,
    /// The bytes of a row.
    pub bytes: usize,
    /// The number of rows.
    pub rows: usize,
}

/// One device. Addresses are device addresses; those from `alloc` are at least 256-byte aligned,
/// and 0 is none. Calls are made from any thread.
///
/// # Safety
/// The unsafe functions require that addresses and handles are live and come from the same driver;
/// ranges lie within their allocations; host pointers are valid for `bytes` bytes; nothing else
/// accesses the ranges against the order of the stream.
#[allow(clippy::missing_safety_doc)] // All share the contract above.
pub trait Driver: Debug + Send + Sync {
    /// The properties of the device.
    fn info(&self) -> &DeviceInfo;
    /// The free bytes of memory, and their total number.
    fn memory(&self) -> Result<(usize, usize)>;
    /// Allocates memory of the device; [`Error::OutOfMemory`](crate::Error::OutOfMemory) if none is
    /// left.
    fn alloc(&self, bytes: usize) -> Result<u64>;
    /// Frees memory, after all work on it.
    unsafe fn free(&self, address: u64);
    /// Makes a stream.
    fn create_stream(&self) -> Result<Handle>;
    /// Ends a stream, after its work.
    unsafe fn destroy_stream(&self, stream: Handle);
    /// Copies from host to device; the host memory may be reused at once.
    unsafe fn write(&self, stream: Handle, dst: u64, src: *const c_void, bytes: usize) -> Result<()>;
    /// Copies from device to host; returns when the bytes have arrived.
    unsafe fn read(&self, stream: Handle, src: u64, dst: *mut c_void, bytes: usize) -> Result<()>;
    /// Copies within the device.
    unsafe fn copy(&self, stream: Handle, src: u64, dst: u64, bytes: usize) -> Result<()>;
    /// The context by which the driver knows the memory of this device, if it has any.
    fn context(&self) -> Option<Handle> {
        None
    }
    /// Prepares copies to the memory of another device, and returns whether kernels of this device
    /// may write to it as well. The provided body is for drivers whose devices share the addresses
    /// of one memory.
    fn connect(&self, peer: &dyn Driver) -> Result<bool> {
        match peer.context() {
            None => Ok(true),
            Some(_) => Err(Error::Driver { call: "connect", reason: "the devices differ in kind".into() }),
        }
    }
    /// Whether bytes lie in one allocation, as far as the driver knows.
    fn holds(&self, _address: u64, _bytes: usize) -> bool {
        true
    }
    /// Copies rows within the device, or to a device that it was [connected](Self::connect) to.
    unsafe fn copy_rows(&self, stream: Handle, _peer: &dyn Driver, copy: &RowCopy) -> Result<()> {
        (0..copy.rows).try_for_each(|row| {
            let (src, dst) =
                (copy.src + (row * copy.src_pitch) as u64, copy.dst + (row * copy.dst_pitch) as u64);
            // SAFETY: guaranteed by the caller.
            unsafe { self.copy(stream, src, dst, copy.bytes) }
        })
    }
    /// Zeroes bytes.
    unsafe fn fill_zero(&self, stream: Handle, dst: u64, bytes: usize) -> Result<()>;
    /// Waits for a stream.
    unsafe fn synchronize(&self, stream: Handle) -> Result<()>;
    /// Whether the work of a stream is done or has failed. The provided body is for drivers whose
    /// work is done when a call returns.
    unsafe fn is_done(&self, _stream: Handle) -> bool {
        true
    }
    /// Compiles a module from PTX text; `name` is for errors.
    fn load(&self, name: &str, ptx: &str) -> Result<Handle>;
    /// Returns a kernel of a module. `shared` is the most dynamic shared memory that launches will
    /// use.
    unsafe fn function(&self, module: Handle, name: &str, shared: u32) -> Result<Handle>;
    /// Launches a kernel with one parameter, a structure that `argument` points to.
    unsafe fn launch(&self, stream: Handle, launch: &Launch, argument: *mut c_void) -> Result<()>;

    /// Makes an event. The provided body uses the host's clock, for drivers whose work is done when
    /// a call returns. Override all six functions of events, or none.
    fn create_event(&self) -> Result<Handle> {
        Ok(Box::into_raw(Box::new(HostEvent::default())) as Handle)
    }
    /// Makes an event whose time nobody asks for, which may cost less.
    fn create_mark(&self) -> Result<Handle> {
        self.create_event()
    }
    /// Ends an event.
    unsafe fn destroy_event(&self, event: Handle) {
        // SAFETY: the caller's handle comes from `create_event` above and is not used afterwards.
        drop(unsafe { Box::from_raw(event as *mut HostEvent) });
    }
    /// Marks the current position of a stream.
    unsafe fn record_event(&self, _stream: Handle, event: Handle) -> Result<()> {
        // SAFETY: the caller's handle comes from `create_event` above and is live.
        unsafe { host_event(event) }.set();
        Ok(())
    }
    /// Lets a stream wait for an event.
    unsafe fn wait_event(&self, _stream: Handle, _event: Handle) -> Result<()> {
        Ok(())
    }
    /// Waits for an event.
    unsafe fn synchronize_event(&self, _event: Handle) -> Result<()> {
        Ok(())
    }
    /// Milliseconds between two events that have happened.
    unsafe fn elapsed_ms(&self, from: Handle, to: Handle) -> Result<f32> {
        // SAFETY: the caller's handles come from `create_event` above and are live.
        let (from, to) = unsafe { (host_event(from), host_event(to)) };
        Ok(to.get().saturating_duration_since(from.get()).as_secs_f32() * 1e3)
    }

    /// Begins to record a stream's work instead of doing it. The provided body returns an error.
    unsafe fn begin_capture(&self, _stream: Handle) -> Result<()> {
        Err(no_graphs())
    }
    /// Ends [`begin_capture`](Self::begin_capture), on every path, and returns the graph, ready for
    /// launches.
    unsafe fn end_capture(&self, _stream: Handle) -> Result<Handle> {
        Err(no_graphs())
    }
    /// Does the work of a graph.
    unsafe fn launch_graph(&self, _stream: Handle, _graph: Handle) -> Result<()> {
        Err(no_graphs())
    }
    /// Ends a graph, which may still be running.
    unsafe fn destroy_graph(&self, _graph: Handle) {}

    /// Makes a graph of launches in sequence, but for branches, with their arguments. The provided
    /// body returns an error.
    unsafe fn create_sequence(&self, _launches: &[Launch], _arguments: &[*mut c_void]) -> Result<Sequence> {
        Err(no_graphs())
    }
    /// Replaces the argument of one of the launches, for later launches of the graph.
    unsafe fn update_sequence(
        &self,
        _sequence: &Sequence,
        _index: usize,
        _launch: &Launch,
        _argument: *mut c_void,
    ) -> Result<()> {
        Err(no_graphs())
    }
    /// Ends such a graph, which may still be running.
    unsafe fn destroy_sequence(&self, _sequence: Sequence) {}

    /// Allocates page-locked host memory, zeroed and at least 8-byte aligned; `bytes` is not 0. The
    /// provided body allocates ordinary memory. Override all four functions of host memory, or
    /// none.
    fn alloc_host(&self, bytes: usize) -> Result<*mut c_void> {
        let layout = Layout::from_size_align(bytes, 64).map_err(|_| Error::OutOfMemory { bytes })?;
        if bytes == 0 {
            return Err(Error::Driver { call: "alloc_host", reason: "no bytes".into() });
        }
        // SAFETY: the layout's size is not 0.
        let memory = unsafe { alloc_zeroed(layout) };
        if memory.is_null() { Err(Error::OutOfMemory { bytes }) } else { Ok(memory.cast()) }
    }
    /// Frees page-locked memory of `bytes` bytes.
    unsafe fn free_host(&self, memory: *mut c_void, bytes: usize) {
        if let Ok(layout) = Layout::from_size_align(bytes, 64) {
            // SAFETY: the caller's memory comes from `alloc_host` above with the same number of
            // bytes.
            unsafe { dealloc(memory.cast(), layout) }
        }
    }
    /// Copies page-locked host memory to the device; the host memory must not change until the
    /// stream has reached the copy.
    unsafe fn write_async(&self, stream: Handle, dst: u64, src: *const c_void, bytes: usize) -> Result<()> {
        // SAFETY: the contract is the same, and less is required.
        unsafe { self.write(stream, dst, src, bytes) }
    }
    /// Copies from the device to page-locked host memory, which must not be touched until the
    /// stream has reached the copy.
    unsafe fn read_async(&self, stream: Handle, src: u64, dst: *mut c_void, bytes: usize) -> Result<()> {
        // SAFETY: the contract is the same, and less is required.
        unsafe { self.read(stream, src, dst, bytes) }
    }
}

/// The event of a driver whose work is done when a call returns: the time when it was last
/// recorded.
#[derive(Default)]
struct HostEvent(Mutex<Option<Instant>>);

impl HostEvent {
    fn set(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    fn get(&self) -> Instant {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or_else(Instant::now)
    }
}

/// # Safety
/// The handle comes from the provided `create_event` and stays live while the reference is used.
unsafe fn host_event<'a>(event: Handle) -> &'a HostEvent {
    // SAFETY: the caller's word.
    unsafe { &*(event as *const HostEvent) }
}

fn no_graphs() -> Error {
    Error::Driver { call: "capture", reason: "this driver has no graphs".into() }
}
