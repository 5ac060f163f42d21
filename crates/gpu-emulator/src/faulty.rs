//! A device that fails on purpose.

use gpu::{DeviceInfo, Driver, Error, Handle, Launch, Result, RowCopy, Sequence};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The ways in which a device fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// No call finds memory any more: [`Error::OutOfMemory`], from calls that may allocate.
    OutOfMemory,
    /// One call finds no memory, and later ones do.
    OutOfMemoryOnce,
    /// The device is gone, or another process has it: this call and all later ones fail with
    /// [`Error::DeviceFailed`], as do those of the faults below.
    DeviceUnavailable,
    /// The device's memory has an error that cannot be corrected.
    EccUncorrectable,
    /// A kernel did not end properly.
    LaunchFailed,
    /// A kernel used an address that does not exist.
    IllegalAddress,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::OutOfMemory,
        Self::OutOfMemoryOnce,
        Self::DeviceUnavailable,
        Self::EccUncorrectable,
        Self::LaunchFailed,
        Self::IllegalAddress,
    ];

    /// Whether the device does no more work.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::OutOfMemory | Self::OutOfMemoryOnce)
    }

    /// The error of a call that asked for this much memory.
    pub fn error(self, call: &'static str, bytes: usize) -> Error {
        let reason = match self {
            Self::OutOfMemory | Self::OutOfMemoryOnce => return Error::OutOfMemory { bytes },
            Self::DeviceUnavailable => "CUDA_ERROR_DEVICE_UNAVAILABLE: the device is busy or unavailable",
            Self::EccUncorrectable => "CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error encountered",
            Self::LaunchFailed => "CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure",
            Self::IllegalAddress => "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered",
        };
        Error::DeviceFailed { call, reason: reason.into() }
    }
}

/// The resources that a device holds for its user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Live {
    /// Allocations on the device.
    pub allocations: usize,
    /// Allocations of page-locked memory.
    pub host_allocations: usize,
    /// Streams.
    pub streams: usize,
    /// Events.
    pub events: usize,
    /// Graphs, of captures and of sequences.
    pub graphs: usize,
}

/// Another driver, of whose calls one fails, as [`fail`](Faulty::fail) says. It counts what is
/// live, so that tests see leaks.
///
/// Releasing never fails, as with a device: its errors have nobody to go to. When the device fails
/// for good, the words of copies that the host has not waited for yet become garbage, as they would
/// be if the device had not made the copies.
#[derive(Debug)]
pub struct Faulty {
    inner: Arc<dyn Driver>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    plan: Option<(u64, Fault)>,
    calls: u64,
    fired: Option<&'static str>,
    counts: BTreeMap<&'static str, u64>,
    live: BTreeSet<(Kind, u64)>,
    /// Page-locked memory that the device writes, as address and bytes.
    arriving: Vec<(usize, usize)>,
    /// Allocations on the device, by address, and their bytes.
    sizes: BTreeMap<u64, usize>,
    /// The launch after which a bit flips, and the seed of its place.
    flip: Option<(u64, u64)>,
    launches: u64,
}

impl State {
    /// Counts a launch. The address of the word and the bit that flips after it, if one does.
    fn due(&mut self) -> Option<(u64, u32)> {
        self.launches += 1;
        let (_, seed) = self.flip.take_if(|(launch, _)| *launch == self.launches)?;
        let words = |bytes: usize| (bytes / size_of::<u64>()) as u64;
        let all: u64 = self.sizes.values().map(|&bytes| words(bytes)).sum();
        let mut place = seed.checked_rem(all)?;
        for (address, &bytes) in &self.sizes {
            match place.checked_sub(words(bytes)) {
                None => return Some((address + 8 * place, (seed >> 40) as u32 % 20)),
                Some(further) => place = further,
            }
        }
        None
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Allocation,
    Host,
    Stream,
    Event,
    Graph,
}

/// The resource that a call asks for, which decides the faults that it can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asks {
    /// Memory: its own, or what the driver needs for it.
    Memory(usize),
    /// Work that needs none.
    Work,
}

impl Faulty {
    /// A device that does not fail yet.
    pub fn new(inner: Arc<dyn Driver>) -> Arc<Self> {
        Arc::new(Self { inner, state: Mutex::default() })
    }

    /// From now on, the call with this number fails (the next one has the number 1). Without
    /// memory, only calls that may allocate count.
    pub fn fail(&self, call: u64, fault: Fault) {
        let mut state = self.state();
        (state.plan, state.calls, state.fired) = (Some((call, fault)), 0, None);
    }

    /// Ends the fault, as if the device had been repaired, and returns the driver's function that
    /// failed first.
    pub fn mend(&self) -> Option<&'static str> {
        let mut state = self.state();
        state.plan = None;
        state.fired.take()
    }

    /// From now on, one bit of the device's memory flips after the launch with this number (the
    /// next one has the number 1), and nobody is told: one of the 20 lowest bits of any word of 64
    /// that is allocated then, which `seed` chooses.
    pub fn flip(&self, launch: u64, seed: u64) {
        let mut state = self.state();
        (state.flip, state.launches) = (Some((launch, seed)), 0);
    }

    /// The launches since this was asked last.
    pub fn count_launches(&self) -> u64 {
        std::mem::take(&mut self.state().launches)
    }

    /// Counts a launch, and flips the bit that is due after it.
    ///
    /// # Safety
    /// The stream is live.
    unsafe fn launched(&self, stream: Handle) -> Result<()> {
        let Some((address, bit)) = self.state().due() else { return Ok(()) };
        let mut word = 0u64;
        // SAFETY: the word is within an allocation that is live, and the host waits for both
        // copies of it; the stream is live.
        unsafe {
            self.inner.read(stream, address, (&raw mut word).cast(), size_of::<u64>())?;
            self.inner.synchronize(stream)?;
            word ^= 1 << bit;
            self.inner.write(stream, address, (&raw const word).cast(), size_of::<u64>())?;
            self.inner.synchronize(stream)
        }
    }

    /// The calls of a function of the driver so far.
    pub fn count(&self, call: &str) -> u64 {
        self.state().counts.get(call).copied().unwrap_or(0)
    }

    /// The live resources.
    pub fn live(&self) -> Live {
        let state = self.state();
        let count = |kind| state.live.iter().filter(|(found, _)| *found == kind).count();
        Live {
            allocations: count(Kind::Allocation),
            host_allocations: count(Kind::Host),
            streams: count(Kind::Stream),
            events: count(Kind::Event),
            graphs: count(Kind::Graph),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call, and fails it if that is planned.
    fn gate(&self, call: &'static str, asks: Asks) -> Result<()> {
        let mut state = self.state();
        *state.counts.entry(call).or_default() += 1;
        let Some((nth, fault)) = state.plan else { return Ok(()) };
        let bytes = match asks {
            Asks::Memory(bytes) => bytes,
            Asks::Work if fault.is_final() => 0,
            Asks::Work => return Ok(()),
        };
        state.calls += 1;
        let fails = match fault {
            Fault::OutOfMemoryOnce => state.calls == nth,
            _ => state.calls >= nth,
        };
        if !fails {
            return Ok(());
        }
        state.fired.get_or_insert(call);
        if fault.is_final() {
            for (address, bytes) in state.arriving.drain(..) {
                // SAFETY: the memory is page-locked memory of this driver that is live, since
                // `free_host` takes it off the list, and that the host does not touch before it has
                // waited for the copy, which takes it off the list, too.
                unsafe { (address as *mut u8).write_bytes(0xEE, bytes) };
            }
        }
        Err(fault.error(call, bytes))
    }

    fn begins<T: Copy + TryInto<u64>>(&self, kind: Kind, made: Result<T>) -> Result<T> {
        if let Ok(name) = made {
            self.state().live.insert((kind, name.try_into().unwrap_or(u64::MAX)));
        }
        made
    }

    fn ends(&self, kind: Kind, name: u64) {
        let was = self.state().live.remove(&(kind, name));
        assert!(was, "{kind:?} {name:#x} is released, and is not live");
    }

    /// The host has waited: what was copied is its own.
    fn waited(&self, done: Result<()>) -> Result<()> {
        if done.is_ok() {
            self.state().arriving.clear();
        }
        done
    }
}

// SAFETY: each function requires what the same function of the inner driver requires.
impl Driver for Faulty {
    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }

    fn memory(&self) -> Result<(usize, usize)> {
        self.gate("memory", Asks::Work)?;
        self.inner.memory()
    }

    fn alloc(&self, bytes: usize) -> Result<u64> {
        self.gate("alloc", Asks::Memory(bytes))?;
        let address = self.begins(Kind::Allocation, self.inner.alloc(bytes))?;
        self.state().sizes.insert(address, bytes);
        Ok(address)
    }

    unsafe fn free(&self, address: u64) {
        if address != 0 {
            self.ends(Kind::Allocation, address);
            self.state().sizes.remove(&address);
        }
        // SAFETY: guaranteed by the caller.
        unsafe { self.inner.free(address) }
    }

    fn create_stream(&self) -> Result<Handle> {
        self.gate("create_stream", Asks::Memory(0))?;
        self.begins(Kind::Stream, self.inner.create_stream())
    }

    unsafe fn destroy_stream(&self, stream: Handle) {
        self.ends(Kind::Stream, stream as u64);
        // SAFETY: guaranteed by the caller.
        unsafe { self.inner.destroy_stream(stream) }
    }

    unsafe fn write(&self, stream: Handle, dst: u64, src: *const c_void, bytes: usize) -> Result<()> {
        self.gate("write", Asks::Memory(bytes))?;
        // SAFETY: guaranteed by the caller.
        unsafe { self.inner.write(stream, dst, src, bytes) }
    }

    unsafe fn read(&self, stream: Handle, src: u64, dst: *mut c_void, bytes: usize) -> Result<()> {
        self.gate("read", Asks::Memory(bytes))?;
        // SAFETY: guaranteed by the caller.
        unsafe { self.inner.read(stream, src, dst, bytes) }
    }

    unsafe fn copy(&self, stream: Handle, src: u64, dst: u64, bytes: usize) -> Result<()> {
        self.gate("copy", Asks::Work)?;
        // SAFETY: guaranteed by the caller.
        unsafe { self.inner.copy(stream, src, dst, bytes) }
    }

    fn context(&self) -> Option<Handle> {
        self.inner.context()
    }

    fn connect(&self, peer: &dyn Driver) -> Result<bool> {
        self.gate("connect", Asks::Memory(0))?;
        self.inner.connect(peer)
    }

    fn holds(&self, address: u64, bytes: usize) -> bool {
        self.inner.holds(address, bytes)
    }

    unsafe fn copy_rows(&self, stream: Handle, peer: &dyn Driver, copy: &RowCopy) -> Result<()> {
        self.gate("copy_rows", Asks::Work)?;
        // SAFETY: guaranteed by the caller.
        unsafe { self.inner.copy_rows(stream, peer, copy) }
    }

    unsafe fn fill_zero(&self, stream: Handle, dst: u64, bytes: usize) -> Result<()> {
        self.gate("fill_zero", Asks::Work)?;
        // SAFETY: guaranteed by the caller.
        unsafe { self.inner.fill_zero(stream, dst, bytes) }
    }

    unsafe fn synchronize(&self, stream: Handle) -> Result<()> {
        self.gate("synchronize", Asks::Work)?;
        // SAFETY: guaranteed by the caller.
        self.waited(unsafe { self.inner.synchronize(stream) })
    }

    unsafe fn is_done(&self, stream: Handle) -> bool {
        // SAFETY: guaranteed by the caller.
        unsafe { self.inner.is_done(stream) }
    }

    fn load(&self, name: &str, ptx: &str) -> Result<Handle> {
        self.gate("load", Asks::Memory(ptx.len()))?;
        self.inner.load(name, ptx)
    }

    unsafe fn function(&self, module: Handle, name: &str, shared: u32) -> Result<Handle> {
        self.gate("function", Asks::Memory(0))?;
        // SAFETY: guaranteed by the caller.
        unsafe { self.inner.function(module, name, shared) }
    }

    unsafe fn launch(&self, stream: Handle, launch: &Launch, argument: *mut c_void) -> Result<()> {
        self.gate("launch", Asks::Memory(0))?;
        // SAFETY: guaranteed by the caller.
        unsafe {
            self.inner.launch(stream, launch, argument)?;
            self.launched(stream)
        }
    }

    fn create_event(&self) -> Result<Handle> {
        self.gate("create_event", Asks::Memory(0))?;
        self.begins(Kind::Event, self.inner.create_event())
    }

    fn create_mark(&self) -> Result<Handle> {
        self.gate("create_mark", Asks::Memory(0))?;
        self.begins(Kind::Event, self.inner.create_mark())
    }

    unsafe fn destroy_event(&self, event: Handle) {
        self.ends(Kind::Event, event as u64);
        // SAFETY: guaranteed by the caller.
        unsafe { self.inner.destroy_event(event) }
    }

    unsafe fn record_event(&self, stream: Handle, event: Handle) -> Result<()> {
        self.gate("record_event", Asks::Work)?;
        // SAFETY: guaranteed by the caller.
        unsafe { self.inner.record_event(stream, event) }
    }

    unsafe fn wait_event(&self, stream: Handle, event: Handle) -> Result<()> {
        self.gate("wait_event", Asks::Work)?;
        // SAFETY: guaranteed by the caller.
        unsafe { self.inner.wait_event(stream, event) }
    }

    unsafe fn synchronize_event(&self, event: Handle) -> Result<()> {
        self.gate("synchronize_event", Asks::Work)?;
        // SAFETY: guaranteed by the caller.
        self.waited(unsafe { self.inner.synchronize_event(event) })
    }

    unsafe fn elapsed_ms(&self, from: Handle, to: Handle) -> Result<f32> {
        self.gate("elapsed_ms", Asks::Work)?;
        // SAFETY: guaranteed by the caller.
        unsafe { self.inner.elapsed_ms(from, to) }
    }

    unsafe fn begin_capture(&self, stream: Handle) -> Result<()> {
        self.gate("begin_capture", Asks::Memory(0))?;
        // SAFETY: guaranteed by the caller.
        unsafe { self.inner.begin_capture(stream) }
    }

    unsafe fn end_capture(&self, stream: Handle) -> Result<Handle> {
        let gate = self.gate("end_capture", Asks::Memory(0));
        // The capture ends even if there is no graph of it.
        // SAFETY: guaranteed by the caller.
        let graph = unsafe { self.inner.end_capture(stream) };
        if let (Err(error), Ok(graph)) = (&gate, &graph) {
            // SAFETY: the graph is live and was never launched.
            unsafe { self.inner.destroy_graph(*graph) };
            return Err(error.clone());
        }
        gate?;
        self.begins(Kind::Graph, graph)
    }

    unsafe fn launch_graph(&self, stream: Handle, graph: Handle) -> Result<()> {
        self.gate("launch_graph", Asks::Memory(0))?;
        // SAFETY: guaranteed by the caller.
        unsafe {
            self.inner.launch_graph(stream, graph)?;
            self.launched(stream)
        }
    }

    unsafe fn destroy_graph(&self, graph: Handle) {
        self.ends(Kind::Graph, graph as u64);
        // SAFETY: guaranteed by the caller.
        unsafe { self.inner.destroy_graph(graph) }
    }

    unsafe fn create_sequence(&self, launches: &[Launch], arguments: &[*mut c_void]) -> Result<Sequence> {
        self.gate("create_sequence", Asks::Memory(0))?;
        // SAFETY: guaranteed by the caller.
        let sequence = unsafe { self.inner.create_sequence(launches, arguments) }?;
        self.begins(Kind::Graph, Ok(sequence.instance))?;
        Ok(sequence)
    }

    unsafe fn update_sequence(
        &self,
        sequence: &Sequence,
        index: usize,
        launch: &Launch,
        argument: *mut c_void,
    ) -> Result<()> {
        self.gate("update_sequence", Asks::Memory(0))?;
        // SAFETY: guaranteed by the caller.
        unsafe { self.inner.update_sequence(sequence, index, launch, argument) }
    }

    unsafe fn destroy_sequence(&self, sequence: Sequence) {
        self.ends(Kind::Graph, sequence.instance as u64);
        // SAFETY: guaranteed by the caller.
        unsafe { self.inner.destroy_sequence(sequence) }
    }

    fn alloc_host(&self, bytes: usize) -> Result<*mut c_void> {
        self.gate("alloc_host", Asks::Memory(bytes))?;
        let memory = self.inner.alloc_host(bytes)?;
        self.begins(Kind::Host, Ok(memory as usize))?;
        Ok(memory)
    }

    unsafe fn free_host(&self, memory: *mut c_void, bytes: usize) {
        self.ends(Kind::Host, memory as u64);
        let range = memory as usize..memory as usize + bytes;
        self.state().arriving.retain(|(address, _)| !range.contains(address));
        // SAFETY: guaranteed by the caller.
        unsafe { self.inner.free_host(memory, bytes) }
    }

    unsafe fn write_async(&self, stream: Handle, dst: u64, src: *const c_void, bytes: usize) -> Result<()> {
        self.gate("write_async", Asks::Memory(bytes))?;
        // SAFETY: guaranteed by the caller.
        unsafe { self.inner.write_async(stream, dst, src, bytes) }
    }

    unsafe fn read_async(&self, stream: Handle, src: u64, dst: *mut c_void, bytes: usize) -> Result<()> {
        self.gate("read_async", Asks::Memory(bytes))?;
        // SAFETY: guaranteed by the caller.
        unsafe { self.inner.read_async(stream, src, dst, bytes) }?;
        self.state().arriving.push((dst as usize, bytes));
        Ok(())
    }
}
