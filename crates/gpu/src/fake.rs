//! A driver for tests, which does its work on host memory at once and records the calls.

use crate::driver::{DeviceInfo, Driver, Handle, Launch, Sequence};
use crate::error::{Error, Result};
use std::ffi::c_void;
use std::sync::{Arc, Mutex};

/// A device for tests.
pub(crate) fn info() -> DeviceInfo {
    DeviceInfo {
        ordinal: 0,
        name: "fake".into(),
        memory: 1 << 16,
        compute_capability: (8, 0),
        driver: (12, 0),
        multiprocessors: 1,
        shared_memory: 48 << 10,
    }
}

/// Addresses start at 4096, and freed ones are not used again.
#[derive(Debug)]
pub(crate) struct Fake {
    info: DeviceInfo,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    calls: Vec<&'static str>,
    /// The first sides of the grids that were launched.
    grids: Vec<u32>,
    /// All addresses so far, and the lengths of the live ones.
    memory: Vec<u8>,
    live: std::collections::BTreeMap<u64, usize>,
    handles: usize,
    capturing: bool,
    busy: bool,
}

const BASE: u64 = 4096;

impl Fake {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { info: info(), state: Mutex::default() })
    }

    /// The calls since the last query.
    pub(crate) fn calls(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.state.lock().unwrap().calls)
    }

    /// Whether streams have work from now on, as far as they are asked.
    pub(crate) fn set_busy(&self, busy: bool) {
        self.state.lock().unwrap().busy = busy;
    }

    /// The first sides of all grids that were launched, in order.
    pub(crate) fn grids(&self) -> Vec<u32> {
        self.state.lock().unwrap().grids.clone()
    }

    /// The live allocations.
    pub(crate) fn live(&self) -> usize {
        self.state.lock().unwrap().live.len()
    }

    fn call(&self, name: &'static str) {
        self.state.lock().unwrap().calls.push(name);
    }

    fn handle(&self, name: &'static str) -> Handle {
        let mut state = self.state.lock().unwrap();
        state.calls.push(name);
        state.handles += 1;
        state.handles
    }

    /// The place of a range in the fake's memory.
    fn range(state: &State, address: u64, bytes: usize) -> std::ops::Range<usize> {
        let (start, length) = state.live.range(..=address).next_back().expect("live memory");
        assert!(address + bytes as u64 <= start + *length as u64, "outside");
        let at = (address - BASE) as usize;
        at..at + bytes
    }
}

impl Driver for Fake {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn memory(&self) -> Result<(usize, usize)> {
        let used: usize = self.state.lock().unwrap().live.values().sum();
        Ok((self.info.memory - used, self.info.memory))
    }

    fn alloc(&self, bytes: usize) -> Result<u64> {
        self.call("alloc");
        if bytes > self.memory()?.0 {
            return Err(Error::OutOfMemory { bytes });
        }
        let mut state = self.state.lock().unwrap();
        let at = state.memory.len();
        state.memory.resize((at + bytes).next_multiple_of(256), 0xcc);
        state.live.insert(BASE + at as u64, bytes);
        Ok(BASE + at as u64)
    }

    unsafe fn free(&self, address: u64) {
        self.call("free");
        assert!(self.state.lock().unwrap().live.remove(&address).is_some(), "freed twice");
    }

    fn create_stream(&self) -> Result<Handle> {
        Ok(self.handle("create_stream"))
    }

    unsafe fn destroy_stream(&self, _stream: Handle) {
        self.call("destroy_stream");
    }

    unsafe fn write(&self, _stream: Handle, dst: u64, src: *const c_void, bytes: usize) -> Result<()> {
        self.call("write");
        let mut state = self.state.lock().unwrap();
        let range = Self::range(&state, dst, bytes);
        // SAFETY: guaranteed by the caller.
        state.memory[range].copy_from_slice(unsafe { std::slice::from_raw_parts(src.cast(), bytes) });
        Ok(())
    }

    unsafe fn read(&self, _stream: Handle, src: u64, dst: *mut c_void, bytes: usize) -> Result<()> {
        self.call("read");
        let state = self.state.lock().unwrap();
        let range = Self::range(&state, src, bytes);
        // SAFETY: guaranteed by the caller.
        unsafe { std::slice::from_raw_parts_mut(dst.cast(), bytes) }.copy_from_slice(&state.memory[range]);
        Ok(())
    }

    unsafe fn copy(&self, _stream: Handle, src: u64, dst: u64, bytes: usize) -> Result<()> {
        self.call("copy");
        let mut state = self.state.lock().unwrap();
        let (from, to) = (Self::range(&state, src, bytes), Self::range(&state, dst, bytes));
        state.memory.copy_within(from, to.start);
        Ok(())
    }

    unsafe fn fill_zero(&self, _stream: Handle, dst: u64, bytes: usize) -> Result<()> {
        self.call("fill_zero");
        let mut state = self.state.lock().unwrap();
        let range = Self::range(&state, dst, bytes);
        state.memory[range].fill(0);
        Ok(())
    }

    unsafe fn synchronize(&self, _stream: Handle) -> Result<()> {
        self.call("synchronize");
        Ok(())
    }

    unsafe fn is_done(&self, _stream: Handle) -> bool {
        let state = self.state.lock().unwrap();
        assert!(!state.capturing, "a capture is not asked");
        !state.busy
    }

    fn load(&self, _name: &str, _ptx: &str) -> Result<Handle> {
        Ok(self.handle("load"))
    }

    unsafe fn function(&self, _module: Handle, _name: &str, _shared: u32) -> Result<Handle> {
        Ok(self.handle("function"))
    }

    unsafe fn launch(&self, _stream: Handle, launch: &Launch, _argument: *mut c_void) -> Result<()> {
        self.call("launch");
        self.state.lock().unwrap().grids.push(launch.grid[0]);
        Ok(())
    }

    unsafe fn wait_event(&self, _stream: Handle, _event: Handle) -> Result<()> {
        self.call("wait_event");
        Ok(())
    }

    unsafe fn begin_capture(&self, _stream: Handle) -> Result<()> {
        self.call("begin_capture");
        assert!(!std::mem::replace(&mut self.state.lock().unwrap().capturing, true));
        Ok(())
    }

    unsafe fn end_capture(&self, _stream: Handle) -> Result<Handle> {
        assert!(std::mem::replace(&mut self.state.lock().unwrap().capturing, false));
        Ok(self.handle("end_capture"))
    }

    unsafe fn launch_graph(&self, _stream: Handle, _graph: Handle) -> Result<()> {
        self.call("launch_graph");
        Ok(())
    }

    unsafe fn destroy_graph(&self, _graph: Handle) {
        self.call("destroy_graph");
    }

    unsafe fn create_sequence(&self, launches: &[Launch], arguments: &[*mut c_void]) -> Result<Sequence> {
        assert_eq!(launches.len(), arguments.len());
        let instance = self.handle("create_sequence");
        Ok(Sequence { instance, graph: 0, nodes: vec![0; launches.len()] })
    }

    unsafe fn update_sequence(
        &self,
        sequence: &Sequence,
        index: usize,
        _launch: &Launch,
        _argument: *mut c_void,
    ) -> Result<()> {
        assert!(index < sequence.nodes.len());
        self.call("update_sequence");
        Ok(())
    }

    unsafe fn destroy_sequence(&self, _sequence: Sequence) {
        self.call("destroy_sequence");
    }
}
