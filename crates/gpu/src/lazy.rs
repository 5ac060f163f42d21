//! A driver for tests that does its work as late as it may, and in any order that streams and
//! events allow. Work that the library forgets to order shows as wrong words, or as work on memory
//! that is gone.

use crate::driver::{DeviceInfo, Driver, Handle, Launch, Sequence};
use crate::error::Result;
use crate::fake::info;
use crate::fork::predecessors;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The argument of its kernel `add`, which adds a number to words. There are also `load`, and
/// `send` and `wait`, of [`Signals`](crate::Signals).
#[derive(Debug, Clone, Copy, bytemuck::NoUninit)]
#[repr(C)]
pub(crate) struct Add {
    pub(crate) address: u64,
    pub(crate) words: u64,
    pub(crate) add: u64,
}

/// The argument of its kernel `load`, which reads words of the host.
#[derive(Debug, Clone, Copy, bytemuck::NoUninit)]
#[repr(C)]
pub(crate) struct Load {
    pub(crate) src: u64,
    pub(crate) dst: u64,
    pub(crate) words: u64,
}

/// The kernels, by their handles; every other name is `add`.
const ADD: Handle = 1;
const SEND: Handle = 2;
const WAIT: Handle = 3;
const LOAD: Handle = 4;

#[derive(Debug)]
pub(crate) struct Lazy {
    info: DeviceInfo,
    state: Mutex<State>,
}

/// Work of a stream.
#[derive(Debug, Clone)]
enum Op {
    Write {
        dst: u64,
        bytes: Vec<u8>,
    },
    Copy {
        src: u64,
        dst: u64,
        bytes: usize,
    },
    Fill {
        dst: u64,
        bytes: usize,
    },
    Add(Add),
    /// Writes a number to places.
    Send {
        places: Vec<u64>,
        number: u64,
    },
    /// Waits until all places have this number at least.
    Await {
        places: Vec<u64>,
        number: u64,
    },
    FromHost {
        src: usize,
        dst: u64,
        bytes: usize,
    },
    ToHost {
        src: u64,
        dst: usize,
        bytes: usize,
    },
    /// The event gets this mark.
    Record {
        event: Handle,
        mark: u64,
    },
    /// Waits for a mark of the event.
    Wait {
        event: Handle,
        mark: u64,
    },
}

impl Op {
    /// The memory of the device that it uses.
    fn device(&self) -> Vec<(u64, usize)> {
        match *self {
            Self::Write { dst, ref bytes } => vec![(dst, bytes.len())],
            Self::Copy { src, dst, bytes } => vec![(src, bytes), (dst, bytes)],
            Self::Fill { dst, bytes } | Self::FromHost { dst, bytes, .. } => vec![(dst, bytes)],
            Self::Add(Add { address, words, .. }) => vec![(address, 8 * words as usize)],
            Self::Send { ref places, .. } | Self::Await { ref places, .. } => {
                places.iter().map(|&place| (place, 8)).collect()
            }
            Self::ToHost { src, bytes, .. } => vec![(src, bytes)],
            Self::Record { .. } | Self::Wait { .. } => vec![],
        }
    }

    /// The memory of the host that it uses.
    fn host(&self) -> Option<(usize, usize)> {
        match *self {
            Self::FromHost { src, bytes, .. } => Some((src, bytes)),
            Self::ToHost { dst, bytes, .. } => Some((dst, bytes)),
            _ => None,
        }
    }
}

/// The work of a graph, and what each part of it comes after.
#[derive(Debug)]
struct Recorded {
    ops: Vec<Op>,
    after: Vec<Vec<usize>>,
}

impl Recorded {
    /// In sequence.
    fn in_order(ops: Vec<Op>) -> Self {
        let after = (0..ops.len()).map(|index| index.checked_sub(1).into_iter().collect()).collect();
        Self { ops, after }
    }

    /// One of the orders in which it may be done.
    fn some_order(&self, state: &mut u64) -> Vec<Op> {
        let mut left: Vec<usize> = (0..self.ops.len()).collect();
        let mut ordered = Vec::new();
        while !left.is_empty() {
            let is_next = |index: &usize| !self.after[*index].iter().any(|before| left.contains(before));
            let next: Vec<usize> = left.iter().copied().filter(is_next).collect();
            let index = next[random(state) as usize % next.len()];
            left.retain(|&other| other != index);
            ordered.push(self.ops[index].clone());
        }
        ordered
    }
}

/// An event or a signal that work waits for.
#[derive(Debug, Clone, Copy)]
enum Need {
    Record { event: Handle, mark: u64 },
    Send { place: u64, number: u64 },
}

impl Need {
    fn is_met_by(self, op: &Op) -> bool {
        match (self, op) {
            (Self::Record { event, mark }, &Op::Record { event: e, mark: m }) => e == event && m <= mark,
            (Self::Send { place, number }, Op::Send { places, number: n }) => {
                places.contains(&place) && *n <= number
            }
            _ => false,
        }
    }
}

#[derive(Debug, Default, Clone, Copy)]
struct Marks {
    asked: u64,
    done: u64,
}

#[derive(Debug)]
struct State {
    random: u64,
    memory: BTreeMap<u64, Vec<u8>>,
    end: u64,
    handles: Handle,
    queues: BTreeMap<Handle, VecDeque<Op>>,
    events: BTreeMap<Handle, Marks>,
    destroyed: BTreeSet<Handle>,
    graphs: BTreeMap<Handle, Recorded>,
    capturing: BTreeMap<Handle, Vec<Op>>,
    host: BTreeMap<usize, usize>,
}

/// The next number of a sequence (xorshift64*).
pub(crate) fn random(state: &mut u64) -> u64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
}

impl Lazy {
    pub(crate) fn new(seed: u64) -> Arc<Self> {
        let state = State {
            random: seed | 1,
            memory: BTreeMap::new(),
            end: 4096,
            handles: 0,
            queues: BTreeMap::new(),
            events: BTreeMap::new(),
            destroyed: BTreeSet::new(),
            graphs: BTreeMap::new(),
            capturing: BTreeMap::new(),
            host: BTreeMap::new(),
        };
        Arc::new(Self { info: info(), state: Mutex::new(state) })
    }

    /// Whether nothing is allocated, and nothing waits to be done.
    pub(crate) fn is_empty(&self) -> bool {
        let state = self.state();
        let gone = state.events.keys().all(|event| state.destroyed.contains(event));
        state.memory.is_empty()
            && state.host.is_empty()
            && state.queues.is_empty()
            && state.graphs.is_empty()
            && gone
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, stream: Handle, op: Op) {
        let mut state = self.state();
        if let Some(captured) = state.capturing.get_mut(&stream) {
            captured.push(op);
            return;
        }
        state.queues.get_mut(&stream).expect("a stream").push_back(op);
        state.wander();
    }
}

impl State {
    fn handle(&mut self) -> Handle {
        self.handles += 1;
        self.handles
    }

    /// Does some of the work of a stream, or none.
    fn wander(&mut self) {
        let streams: Vec<Handle> = self.queues.keys().copied().collect();
        let stream = streams[random(&mut self.random) as usize % streams.len()];
        for _ in 0..random(&mut self.random) % 4 {
            let Some(op) = self.queues[&stream].front() else { break };
            if self.holds(op).is_some() {
                break;
            }
            self.step(stream);
        }
    }

    /// The work that must be done before this, if it must wait.
    fn holds(&self, op: &Op) -> Option<Need> {
        match *op {
            Op::Wait { event, mark } => {
                (self.events[&event].done < mark).then_some(Need::Record { event, mark })
            }
            Op::Await { ref places, number } => {
                let place = places.iter().find(|&&place| self.number(place) < number);
                place.map(|&place| Need::Send { place, number })
            }
            _ => None,
        }
    }

    fn number(&self, place: u64) -> u64 {
        let (start, memory) = self.memory.range(..=place).next_back().expect("live memory");
        let at = (place - start) as usize;
        u64::from_le_bytes(memory[at..at + 8].try_into().expect("eight bytes"))
    }

    /// Does the next work of a stream, and what that waits for.
    fn step(&mut self, stream: Handle) {
        let Some(op) = self.queues.get_mut(&stream).expect("a stream").pop_front() else { return };
        while let Some(need) = self.holds(&op) {
            let other = self.queues.iter().find(|(_, queue)| queue.iter().any(|op| need.is_met_by(op)));
            let other = *other.expect("somebody does it").0;
            assert!(other != stream, "a stream waits for itself");
            self.step(other);
        }
        self.apply(op);
    }

    fn finish(&mut self, stream: Handle) {
        while !self.queues[&stream].is_empty() {
            self.step(stream);
        }
    }

    fn bytes(&mut self, address: u64, count: usize) -> &mut [u8] {
        let (start, memory) = self.memory.range_mut(..=address).next_back().expect("live memory");
        let at = (address - start) as usize;
        &mut memory[at..at + count]
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Write { dst, bytes } => self.bytes(dst, bytes.len()).copy_from_slice(&bytes),
            Op::Copy { src, dst, bytes } => {
                let from = self.bytes(src, bytes).to_vec();
                self.bytes(dst, bytes).copy_from_slice(&from);
            }
            Op::Fill { dst, bytes } => self.bytes(dst, bytes).fill(0),
            Op::Add(Add { address, words, add }) => {
                for word in self.bytes(address, 8 * words as usize).as_chunks_mut::<8>().0 {
                    *word = u64::from_le_bytes(*word).wrapping_add(add).to_le_bytes();
                }
            }
            Op::FromHost { src, dst, bytes } => {
                // SAFETY: the memory is live, since `free_host` looks for work on it, and the host
                // does not change it before it has waited.
                let from = unsafe { std::slice::from_raw_parts(src as *const u8, bytes) };
                self.bytes(dst, bytes).copy_from_slice(from);
            }
            Op::ToHost { src, dst, bytes } => {
                let from = self.bytes(src, bytes).to_vec();
                // SAFETY: the memory is live, since `free_host` looks for work on it, and the host
                // does not touch it before it has waited.
                unsafe { (dst as *mut u8).copy_from_nonoverlapping(from.as_ptr(), bytes) };
            }
            Op::Record { event, mark } => {
                let marks = self.events.get_mut(&event).expect("an event");
                marks.done = marks.done.max(mark);
            }
            Op::Send { places, number } => {
                for place in places {
                    assert!(self.number(place) < number, "numbers grow");
                    self.bytes(place, 8).copy_from_slice(&number.to_le_bytes());
                }
            }
            // `step` has waited.
            Op::Wait { .. } | Op::Await { .. } => (),
        }
    }

    fn event(&mut self, event: Handle) -> &mut Marks {
        assert!(!self.destroyed.contains(&event), "the event is gone");
        self.events.get_mut(&event).expect("an event")
    }
}

/// # Safety
/// The argument is one of the kernel.
unsafe fn op(function: Handle, argument: *mut c_void) -> Op {
    if function == ADD {
        // SAFETY: the caller's word.
        return Op::Add(unsafe { *argument.cast::<Add>() });
    }
    if function == LOAD {
        // SAFETY: the caller's word.
        let Load { src, dst, words } = unsafe { *argument.cast::<Load>() };
        return Op::FromHost { src: src as usize, dst, bytes: 8 * words as usize };
    }
    // SAFETY: the caller's word: three places, a number, and how many places there are.
    let [places @ .., number, count] = unsafe { *argument.cast::<[u64; 5]>() };
    let places = places[..count as usize].to_vec();
    if function == SEND { Op::Send { places, number } } else { Op::Await { places, number } }
}

// SAFETY: each function needs what `Driver` requires of its callers.
impl Driver for Lazy {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn memory(&self) -> Result<(usize, usize)> {
        Ok((self.info.memory, self.info.memory))
    }

    fn alloc(&self, bytes: usize) -> Result<u64> {
        let mut state = self.state();
        let address = state.end;
        state.end += bytes.next_multiple_of(256) as u64 + 256;
        state.memory.insert(address, vec![0xcc; bytes]);
        Ok(address)
    }

    unsafe fn free(&self, address: u64) {
        let mut state = self.state();
        let memory = state.memory.remove(&address).expect("live memory");
        let range = address..address + memory.len() as u64;
        for op in state.queues.values().flatten() {
            let uses = op.device().iter().any(|(at, _)| range.contains(at));
            assert!(!uses, "{op:?} is to be done on memory that is freed");
        }
    }

    fn create_stream(&self) -> Result<Handle> {
        let mut state = self.state();
        let stream = state.handle();
        state.queues.insert(stream, VecDeque::new());
        Ok(stream)
    }

    unsafe fn destroy_stream(&self, stream: Handle) {
        let mut state = self.state();
        state.finish(stream);
        state.queues.remove(&stream);
    }

    unsafe fn write(&self, stream: Handle, dst: u64, src: *const c_void, bytes: usize) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        let bytes = unsafe { std::slice::from_raw_parts(src.cast::<u8>(), bytes) }.to_vec();
        self.push(stream, Op::Write { dst, bytes });
        Ok(())
    }

    unsafe fn read(&self, stream: Handle, src: u64, dst: *mut c_void, bytes: usize) -> Result<()> {
        let mut state = self.state();
        state.finish(stream);
        let from = state.bytes(src, bytes);
        // SAFETY: guaranteed by the caller.
        unsafe { dst.cast::<u8>().copy_from_nonoverlapping(from.as_ptr(), bytes) };
        Ok(())
    }

    unsafe fn copy(&self, stream: Handle, src: u64, dst: u64, bytes: usize) -> Result<()> {
        self.push(stream, Op::Copy { src, dst, bytes });
        Ok(())
    }

    unsafe fn fill_zero(&self, stream: Handle, dst: u64, bytes: usize) -> Result<()> {
        self.push(stream, Op::Fill { dst, bytes });
        Ok(())
    }

    unsafe fn synchronize(&self, stream: Handle) -> Result<()> {
        self.state().finish(stream);
        Ok(())
    }

    unsafe fn is_done(&self, stream: Handle) -> bool {
        self.state().queues[&stream].is_empty()
    }

    fn load(&self, _name: &str, _ptx: &str) -> Result<Handle> {
        Ok(1)
    }

    unsafe fn function(&self, _module: Handle, name: &str, _shared: u32) -> Result<Handle> {
        Ok(match name {
            "send" => SEND,
            "wait" => WAIT,
            "load" => LOAD,
            _ => ADD,
        })
    }

    unsafe fn launch(&self, stream: Handle, launch: &Launch, argument: *mut c_void) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        self.push(stream, unsafe { op(launch.function, argument) });
        Ok(())
    }

    fn create_event(&self) -> Result<Handle> {
        let mut state = self.state();
        let event = state.handle();
        state.events.insert(event, Marks::default());
        Ok(event)
    }

    unsafe fn destroy_event(&self, event: Handle) {
        // The work that was asked of it is still done.
        assert!(self.state().destroyed.insert(event), "the event is gone");
    }

    unsafe fn record_event(&self, stream: Handle, event: Handle) -> Result<()> {
        let mut state = self.state();
        let marks = state.event(event);
        marks.asked += 1;
        let mark = marks.asked;
        drop(state);
        self.push(stream, Op::Record { event, mark });
        Ok(())
    }

    unsafe fn wait_event(&self, stream: Handle, event: Handle) -> Result<()> {
        let mark = self.state().event(event).asked;
        self.push(stream, Op::Wait { event, mark });
        Ok(())
    }

    unsafe fn synchronize_event(&self, event: Handle) -> Result<()> {
        let mut state = self.state();
        let mark = state.event(event).asked;
        while state.events[&event].done < mark {
            let records = |op: &Op| matches!(*op, Op::Record { event: e, .. } if e == event);
            let stream = state.queues.iter().find(|(_, queue)| queue.iter().any(records));
            let stream = *stream.expect("somebody records the event").0;
            state.step(stream);
        }
        Ok(())
    }

    unsafe fn elapsed_ms(&self, _from: Handle, _to: Handle) -> Result<f32> {
        Ok(0.0)
    }

    unsafe fn begin_capture(&self, stream: Handle) -> Result<()> {
        assert!(self.state().capturing.insert(stream, Vec::new()).is_none());
        Ok(())
    }

    unsafe fn end_capture(&self, stream: Handle) -> Result<Handle> {
        let mut state = self.state();
        let ops = state.capturing.remove(&stream).expect("a capture");
        let graph = state.handle();
        state.graphs.insert(graph, Recorded::in_order(ops));
        Ok(graph)
    }

    unsafe fn launch_graph(&self, stream: Handle, graph: Handle) -> Result<()> {
        let mut state = self.state();
        let State { graphs, random, .. } = &mut *state;
        let ops = graphs[&graph].some_order(random);
        drop(state);
        ops.into_iter().for_each(|op| self.push(stream, op));
        Ok(())
    }

    unsafe fn destroy_graph(&self, graph: Handle) {
        assert!(self.state().graphs.remove(&graph).is_some(), "the graph is gone");
    }

    unsafe fn create_sequence(&self, launches: &[Launch], arguments: &[*mut c_void]) -> Result<Sequence> {
        // SAFETY: guaranteed by the caller.
        let op = |(launch, &argument): (&Launch, _)| unsafe { op(launch.function, argument) };
        let ops = launches.iter().zip(arguments).map(op).collect();
        let mut state = self.state();
        let instance = state.handle();
        state.graphs.insert(instance, Recorded { ops, after: predecessors(launches) });
        Ok(Sequence { instance, graph: 0, nodes: vec![0; launches.len()] })
    }

    unsafe fn update_sequence(
        &self,
        sequence: &Sequence,
        index: usize,
        launch: &Launch,
        argument: *mut c_void,
    ) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        let op = unsafe { op(launch.function, argument) };
        self.state().graphs.get_mut(&sequence.instance).expect("a graph").ops[index] = op;
        Ok(())
    }

    unsafe fn destroy_sequence(&self, sequence: Sequence) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.destroy_graph(sequence.instance) }
    }

    fn alloc_host(&self, bytes: usize) -> Result<*mut c_void> {
        let memory = Box::leak(vec![0_u64; bytes.div_ceil(8)].into_boxed_slice()).as_mut_ptr().cast();
        self.state().host.insert(memory as usize, bytes);
        Ok(memory)
    }

    unsafe fn free_host(&self, memory: *mut c_void, bytes: usize) {
        let mut state = self.state();
        assert_eq!(state.host.remove(&(memory as usize)), Some(bytes));
        let range = memory as usize..memory as usize + bytes;
        for op in state.queues.values().flatten() {
            let uses = op.host().is_some_and(|(at, _)| range.contains(&at));
            assert!(!uses, "{op:?} is to be done on memory of the host that is freed");
        }
        let words = std::ptr::slice_from_raw_parts_mut(memory.cast::<u64>(), bytes.div_ceil(8));
        // SAFETY: `alloc_host` leaked a box of these words, which the caller uses no more.
        drop(unsafe { Box::from_raw(words) });
    }

    unsafe fn write_async(&self, stream: Handle, dst: u64, src: *const c_void, bytes: usize) -> Result<()> {
        self.push(stream, Op::FromHost { src: src as usize, dst, bytes });
        Ok(())
    }

    unsafe fn read_async(&self, stream: Handle, src: u64, dst: *mut c_void, bytes: usize) -> Result<()> {
        self.push(stream, Op::ToHost { src, dst: dst as usize, bytes });
        Ok(())
    }
}
