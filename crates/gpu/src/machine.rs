//! Streams, buffers, page-locked memory and graphs as a machine of states: random commands on a
//! device that works as late as it may, against the plain contents of vectors.

use crate::buffer::Buffer;
use crate::device::Gpu;
use crate::graph::Graph;
use crate::lazy::{Add, Lazy, Load, random};
use crate::module::Kernel;
use crate::pinned::Pinned;
use crate::stream::Stream;
use std::sync::Arc;

/// The most of each kind, and the most words of one.
const MOST: usize = 4;
const WORDS: usize = 200;

/// Something with the words that it must have; those of fresh memory are not known.
struct Held<T> {
    real: T,
    words: Vec<Option<u64>>,
}

/// A graph that adds to a buffer: which stream captured it, the buffer's address, and the number.
struct Adding {
    graph: Graph,
    address: u64,
    add: u64,
}

struct Machine {
    random: u64,
    lazy: Arc<Lazy>,
    gpu: Gpu,
    kernel: Kernel,
    load: Kernel,
    streams: Vec<Stream>,
    buffers: Vec<Held<Buffer>>,
    pinned: Vec<Held<Pinned>>,
    graphs: Vec<Adding>,
    /// The commands so far, for the message of a failure.
    log: Vec<String>,
}

/// Launches a kernel that adds `add` to all words.
fn launch(stream: &Stream, kernel: &Kernel, buffer: &Buffer, add: u64) {
    let args = Add { address: buffer.address(), words: buffer.words() as u64, add };
    // SAFETY: the kernel's argument is this one, and the buffer is the stream's.
    unsafe { stream.launch(kernel, [1; 3], [1; 3], 0, &args) }.unwrap();
}

fn added(words: &mut [Option<u64>], add: u64) {
    words.iter_mut().for_each(|word| *word = word.map(|word| word.wrapping_add(add)));
}

fn check(found: &[u64], expected: &[Option<u64>], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!(
            expected.is_none_or(|expected| expected == *found),
            "{what}: word {i} is {found:#x}, not {expected:?}"
        );
    }
}

impl Machine {
    fn new(seed: u64) -> Self {
        let lazy = Lazy::new(seed);
        let gpu = Gpu::from_driver(lazy.clone());
        let module = gpu.load("k", "").unwrap();
        let [kernel, load] = ["add", "load"].map(|name| module.kernel(name, 0).unwrap());
        let streams = vec![gpu.stream().unwrap(), gpu.stream().unwrap()];
        let (buffers, pinned, graphs, log) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        random(&mut state);
        Self { random: state, lazy, gpu, kernel, load, streams, buffers, pinned, graphs, log }
    }

    fn below(&mut self, bound: usize) -> usize {
        (random(&mut self.random) % bound.max(1) as u64) as usize
    }

    fn stream(&mut self) -> Stream {
        let at = self.below(self.streams.len());
        self.streams[at].clone()
    }

    fn values(&mut self, count: usize) -> Vec<u64> {
        (0..count).map(|_| random(&mut self.random)).collect()
    }

    /// A range of both: where in the first, where in the second, and how many words.
    fn ranges(&mut self, first: usize, second: usize) -> (usize, usize, usize) {
        let count = self.below(first.min(second) + 1);
        (self.below(first - count + 1), self.below(second - count + 1), count)
    }

    fn command(&mut self) {
        let which = self.below(18);
        self.log.push(which.to_string());
        match which {
            0 if self.streams.len() < MOST => self.streams.push(self.gpu.stream().unwrap()),
            1 if self.streams.len() > 1 => {
                let at = self.below(self.streams.len());
                self.streams.remove(at);
            }
            2 | 3 if self.buffers.len() < 2 * MOST => {
                let (stream, count) = (self.stream(), self.below(WORDS));
                let held = match self.below(3) {
                    0 => Held { real: stream.alloc(count).unwrap(), words: vec![None; count] },
                    1 => Held { real: stream.zeros(count).unwrap(), words: vec![Some(0); count] },
                    _ => {
                        let words = self.values(count);
                        let real = stream.upload(&words).unwrap();
                        Held { real, words: words.into_iter().map(Some).collect() }
                    }
                };
                self.buffers.push(held);
            }
            4 if !self.buffers.is_empty() => {
                let at = self.below(self.buffers.len());
                self.buffers.swap_remove(at);
            }
            5 => self.stream().trim(),
            6 if self.pinned.len() < MOST => {
                let count = self.below(WORDS);
                self.pinned.push(Held { real: self.gpu.pinned(count).unwrap(), words: vec![Some(0); count] });
            }
            7 if !self.pinned.is_empty() => {
                let at = self.below(self.pinned.len());
                self.pinned.swap_remove(at);
            }
            8 if !self.pinned.is_empty() => {
                let at = self.below(self.pinned.len());
                let words = self.values(self.pinned[at].words.len());
                let held = &mut self.pinned[at];
                if words.first().is_some_and(|word| word % 2 == 0) {
                    held.real.zero();
                    held.words.fill(Some(0));
                } else {
                    held.real.as_mut_slice().unwrap().copy_from_slice(&words);
                    held.words = words.into_iter().map(Some).collect();
                }
            }
            9 if !self.pinned.is_empty() => {
                let at = self.below(self.pinned.len());
                let held = &self.pinned[at];
                check(held.real.as_slice().unwrap(), &held.words, "page-locked");
            }
            10 | 11 if !self.pinned.is_empty() && !self.buffers.is_empty() => {
                let (stream, p, b) =
                    (self.stream(), self.below(self.pinned.len()), self.below(self.buffers.len()));
                let (at, to, count) = self.ranges(self.pinned[p].words.len(), self.buffers[b].words.len());
                let (pinned, buffer) = (&mut self.pinned[p], &mut self.buffers[b]);
                if which == 10 {
                    stream.write_pinned(&pinned.real, at, &mut buffer.real, to, count).unwrap();
                    buffer.words[to..to + count].copy_from_slice(&pinned.words[at..at + count]);
                } else {
                    stream.read_pinned(&buffer.real, to, &mut pinned.real, at, count).unwrap();
                    pinned.words[at..at + count].copy_from_slice(&buffer.words[to..to + count]);
                }
            }
            12 if self.buffers.len() > 1 => {
                let (stream, from) = (self.stream(), self.below(self.buffers.len()));
                let source = self.buffers.swap_remove(from);
                let to = self.below(self.buffers.len());
                let (at, put, count) = self.ranges(source.words.len(), self.buffers[to].words.len());
                let target = &mut self.buffers[to];
                stream.copy(&source.real, at, &mut target.real, put, count).unwrap();
                target.words[put..put + count].copy_from_slice(&source.words[at..at + count]);
                self.buffers.push(source);
            }
            13 if !self.buffers.is_empty() => {
                let (stream, b) = (self.stream(), self.below(self.buffers.len()));
                let (at, _, count) = self.ranges(self.buffers[b].words.len(), WORDS);
                let words = self.values(count);
                let held = &mut self.buffers[b];
                if count % 3 == 0 {
                    stream.fill_zero(&mut held.real, at, count).unwrap();
                    held.words[at..at + count].fill(Some(0));
                } else {
                    stream.write(&words, &mut held.real, at).unwrap();
                    held.words[at..at + count].iter_mut().zip(words).for_each(|(to, word)| *to = Some(word));
                }
            }
            14 if !self.buffers.is_empty() => {
                let (stream, b) = (self.stream(), self.below(self.buffers.len()));
                let held = &self.buffers[b];
                let mut words = vec![0; held.words.len()];
                stream.read(&held.real, 0, &mut words).unwrap();
                check(&words, &held.words, "buffer");
            }
            15 if !self.buffers.is_empty() => {
                let (b, rounds) = (self.below(self.buffers.len()), 1 + self.below(5));
                let (held, kernel) = (&mut self.buffers[b], &self.kernel);
                let stream = held.real.stream().clone();
                if held.words.is_empty() {
                    return;
                }
                // In a batch, which becomes a graph when it is seen often.
                stream
                    .batched(|| (0..rounds as u64).for_each(|i| launch(&stream, kernel, &held.real, i + 1)))
                    .unwrap();
                (0..rounds as u64).for_each(|i| added(&mut held.words, i + 1));
            }
            16 => self.graph(),
            17 if !self.pinned.is_empty() && !self.buffers.is_empty() => self.read_in_place(),
            _ => {}
        }
    }

    /// Lets a kernel read page-locked memory, among others of a batch.
    fn read_in_place(&mut self) {
        let (p, b) = (self.below(self.pinned.len()), self.below(self.buffers.len()));
        let (at, to, count) = self.ranges(self.pinned[p].words.len(), self.buffers[b].words.len());
        let (pinned, buffer) = (&self.pinned[p], &mut self.buffers[b]);
        if count == 0 {
            return;
        }
        let stream = buffer.real.stream().clone();
        let read = stream.batched(|| {
            launch(&stream, &self.kernel, &buffer.real, 1);
            stream.reading(&pinned.real, |address| {
                let [src, dst] = [address + 8 * at as u64, buffer.real.address() + 8 * to as u64];
                let args = Load { src, dst, words: count as u64 };
                // SAFETY: the kernel's argument is this one; both ranges lie within their memory,
                // and the buffer is the stream's.
                unsafe { stream.launch(&self.load, [1; 3], [1; 3], 0, &args) }
            })
        });
        read.unwrap().unwrap().unwrap();
        added(&mut buffer.words, 1);
        buffer.words[to..to + count].copy_from_slice(&pinned.words[at..at + count]);
    }

    /// Captures a graph, launches one, or drops one.
    fn graph(&mut self) {
        let choice = self.below(3);
        if choice == 0 && self.graphs.len() < MOST && !self.buffers.is_empty() {
            let b = self.below(self.buffers.len());
            let (held, kernel, add) = (&self.buffers[b], &self.kernel, random(&mut self.random));
            if held.words.is_empty() {
                return;
            }
            let stream = held.real.stream().clone();
            let graph = stream.capture(|| {
                // Memory that lives within the graph alone.
                let mut inside = stream.alloc(held.words.len())?;
                stream.copy(&held.real, 0, &mut inside, 0, held.words.len())?;
                launch(&stream, kernel, &inside, 1);
                launch(&stream, kernel, &held.real, add);
                Ok(())
            });
            self.graphs.push(Adding { graph: graph.unwrap(), address: held.real.address(), add });
        } else if choice == 1 && !self.graphs.is_empty() {
            let (stream, g) = (self.stream(), self.below(self.graphs.len()));
            let Adding { graph, address, add } = &self.graphs[g];
            graph.launch(&stream).unwrap();
            // If the buffer is gone, its memory still is the graph's alone.
            for held in self.buffers.iter_mut().filter(|held| held.real.address() == *address) {
                added(&mut held.words, *add);
            }
        } else if !self.graphs.is_empty() {
            let g = self.below(self.graphs.len());
            self.graphs.swap_remove(g);
        }
    }

    /// Checks all contents, and that nothing is left in the end.
    fn end(self) {
        let Self { lazy, gpu, kernel, load, streams, buffers, pinned, graphs, .. } = self;
        for held in &buffers {
            let mut words = vec![0; held.words.len()];
            streams[0].read(&held.real, 0, &mut words).unwrap();
            check(&words, &held.words, "buffer at the end");
        }
        for held in &pinned {
            check(held.real.as_slice().unwrap(), &held.words, "page-locked at the end");
        }
        drop((streams, graphs, buffers, pinned, kernel, load, gpu));
        assert!(lazy.is_empty(), "something is left: {lazy:?}");
    }
}

fn run(seed: u64, commands: usize) {
    let mut machine = Machine::new(seed);
    let mut done = || {
        (0..commands).for_each(|_| machine.command());
    };
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(&mut done));
    assert!(result.is_ok(), "HE_TEST_SEED={seed}, commands: {}", machine.log.join(" "));
    machine.end();
}

/// The order of streams, the memory of pools, and page-locked memory, whatever comes after what.
#[test]
fn any_commands_give_the_words_of_vectors() {
    if let Some(seed) = std::env::var("HE_TEST_SEED").ok().and_then(|seed| seed.parse().ok()) {
        run(seed, 400);
        return;
    }
    let (rounds, commands) = if cfg!(miri) { (4, 60) } else { (600, 400) };
    (1..=rounds).for_each(|seed| run(seed, commands));
}
