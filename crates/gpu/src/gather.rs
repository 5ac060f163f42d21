//! Launches that are requested one by one and submitted to the driver together.
//!
//! A launch costs the host a few microseconds, which is as long as a small kernel takes. A sequence
//! that has been requested before is submitted as one graph instead: the graph of its kernels and
//! shapes is kept, and arguments that differ from the last time are replaced. Even a single launch
//! reaches the device sooner as a graph.

use crate::driver::{Driver, Handle, Launch, Sequence};
use crate::error::Result;
use std::ffi::c_void;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Sequences of fewer launches are short: there are many of them, and their graphs must not
/// displace those of longer ones.
const SHORT: usize = 3;

/// The number of launches that are held back from a device that has nothing else to do.
const IDLE_MOST: usize = 5;

/// The most launches that are held back. Between two graphs a device does nothing for about two
/// microseconds, so that longer ones are better while it is busy.
const MOST: usize = 20;

/// The requests of a sequence after which it gets a graph, since making one takes as long as a
/// hundred launches.
const SIGHTINGS: u32 = 3;

/// The most sequences that are remembered, short ones and others.
const REMEMBERED: usize = 64;

/// The launches of one stream that have not been submitted to the driver yet.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    /// The number of calls that are gathering launches.
    depth: usize,
    work: Work,
    known: Vec<Known>,
    short: Vec<Known>,
    clock: u64,
    /// The driver has no graphs.
    refused: bool,
    /// The number of forks so far.
    forks: u64,
}

#[derive(Debug, Default)]
struct Work {
    launches: Vec<Launch>,
    /// The ends of their arguments in `words`.
    ends: Vec<usize>,
    words: Vec<u64>,
    /// The last of the stream's forks in this work, which has the next number here: work that is
    /// requested again has the same numbers.
    fork: Option<u64>,
    forks: u64,
}

impl Work {
    fn clear(&mut self) {
        self.launches.clear();
        self.ends.clear();
        self.words.clear();
        (self.fork, self.forks) = (None, 0);
    }

    /// The same launch, with the number of its fork in this work.
    fn numbered(&mut self, mut launch: Launch) -> Launch {
        if let Some(branch) = &mut launch.branch {
            if self.fork != Some(branch.fork) {
                self.fork = Some(branch.fork);
                self.forks += 1;
            }
            branch.fork = self.forks;
        }
        launch
    }

    fn argument(&self, index: usize) -> &[u64] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.words[start..self.ends[index]]
    }

    fn pointer(&self, index: usize) -> *mut c_void {
        self.argument(index).as_ptr().cast::<c_void>().cast_mut()
    }
}

/// The number of launches that are held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Held {
    /// There may be more.
    Fewer,
    /// There may be more unless the device is idle.
    MostIfIdle,
    /// No more.
    Most,
}

/// A sequence that was requested.
#[derive(Debug)]
struct Known {
    hash: u64,
    launches: Vec<Launch>,
    ends: Vec<usize>,
    seen: u32,
    used: u64,
    /// The graph, and the arguments that it has.
    graph: Option<(Sequence, Vec<u64>)>,
}

impl Gathered {
    pub(crate) fn begin(&mut self) {
        self.depth += 1;
    }

    /// Returns whether this ended the last of the gathering calls.
    pub(crate) fn end(&mut self) -> bool {
        self.depth -= 1;
        self.depth == 0
    }

    pub(crate) fn is_on(&self) -> bool {
        self.depth > 0
    }

    /// The number of a new fork.
    pub(crate) fn fork(&mut self) -> u64 {
        self.forks += 1;
        self.forks
    }

    /// Adds a launch with its argument, and returns whether no more may be held back: from an idle
    /// device, or at all.
    pub(crate) fn push(&mut self, launch: Launch, argument: &[u8]) -> Held {
        let at = self.work.words.len();
        self.work.words.resize(at + argument.len().div_ceil(8), 0);
        bytemuck::cast_slice_mut(&mut self.work.words[at..])[..argument.len()].copy_from_slice(argument);
        let launch = self.work.numbered(launch);
        self.work.launches.push(launch);
        self.work.ends.push(self.work.words.len());
        match self.work.launches.len() {
            // A fork is not cut, which would end its branches.
            _ if launch.branch.is_some() => Held::Fewer,
            MOST.. => Held::Most,
            IDLE_MOST => Held::MostIfIdle,
            _ => Held::Fewer,
        }
    }

    /// Submits the launches to the driver; `graphs` says whether a graph may be used.
    ///
    /// # Safety
    /// The same as for [`Driver::launch`], for each of them; the stream, and therefore the driver,
    /// is the same in all calls.
    pub(crate) unsafe fn flush(&mut self, driver: &dyn Driver, stream: Handle, graphs: bool) -> Result<()> {
        if self.work.launches.is_empty() {
            return Ok(());
        }
        // SAFETY: guaranteed by the caller.
        let done = unsafe { self.submit(driver, stream, graphs) };
        self.work.clear();
        done
    }

    unsafe fn submit(&mut self, driver: &dyn Driver, stream: Handle, graphs: bool) -> Result<()> {
        if graphs && !self.refused {
            let is_short = self.work.launches.len() < SHORT;
            let sequences = if is_short { &mut self.short } else { &mut self.known };
            self.clock += 1;
            let known = recall(sequences, &self.work, self.clock, driver);
            if known.graph.is_none() && known.seen >= SIGHTINGS {
                // SAFETY: the arguments are those of the launches.
                match unsafe { make(driver, &self.work) } {
                    Ok(sequence) => known.graph = Some((sequence, self.work.words.clone())),
                    Err(_) => self.refused = true,
                }
            }
            if let Some((sequence, words)) = &mut known.graph {
                // SAFETY: the graph is of these launches.
                return unsafe { replay(driver, stream, sequence, words, &self.work) };
            }
        }
        for (index, launch) in self.work.launches.iter().enumerate() {
            // SAFETY: guaranteed by the caller of `flush`.
            unsafe { driver.launch(stream, launch, self.work.pointer(index)) }?;
        }
        Ok(())
    }

    /// Ends all graphs.
    pub(crate) fn forget(&mut self, driver: &dyn Driver) {
        for known in self.known.drain(..).chain(self.short.drain(..)) {
            known.forget(driver);
        }
    }
}

impl Known {
    fn forget(self, driver: &dyn Driver) {
        if let Some((sequence, _)) = self.graph {
            // SAFETY: this is the last use; the driver lets running launches end first.
            unsafe { driver.destroy_sequence(sequence) }
        }
    }
}

/// Counts a sequence once more, and returns it from among the known ones.
fn recall<'a>(sequences: &'a mut Vec<Known>, work: &Work, clock: u64, driver: &dyn Driver) -> &'a mut Known {
    let mut hasher = DefaultHasher::new();
    work.launches.hash(&mut hasher);
    work.ends.hash(&mut hasher);
    let hash = hasher.finish();
    let same =
        |known: &Known| known.hash == hash && known.launches == work.launches && known.ends == work.ends;
    let index = sequences.iter().position(same).unwrap_or_else(|| {
        if sequences.len() >= REMEMBERED {
            let oldest = (0..sequences.len()).min_by_key(|&i| sequences[i].used).unwrap_or_default();
            sequences.swap_remove(oldest).forget(driver);
        }
        sequences.push(Known {
            hash,
            launches: work.launches.clone(),
            ends: work.ends.clone(),
            seen: 0,
            used: 0,
            graph: None,
        });
        sequences.len() - 1
    });
    let known = &mut sequences[index];
    known.seen = known.seen.saturating_add(1);
    known.used = clock;
    known
}

/// # Safety
/// The arguments are those of the launches.
unsafe fn make(driver: &dyn Driver, work: &Work) -> Result<Sequence> {
    let arguments: Vec<*mut c_void> = (0..work.launches.len()).map(|index| work.pointer(index)).collect();
    // SAFETY: guaranteed by the caller.
    unsafe { driver.create_sequence(&work.launches, &arguments) }
}

/// # Safety
/// The graph is of these launches, with the arguments `words`.
unsafe fn replay(
    driver: &dyn Driver,
    stream: Handle,
    sequence: &Sequence,
    words: &mut Vec<u64>,
    work: &Work,
) -> Result<()> {
    if *words != work.words {
        for (index, launch) in work.launches.iter().enumerate() {
            let end = work.ends[index];
            let argument = work.argument(index);
            if words[end - argument.len()..end] != *argument {
                // SAFETY: the launch has the same kernel as the graph's node.
                unsafe { driver.update_sequence(sequence, index, launch, work.pointer(index)) }?;
                words[end - argument.len()..end].copy_from_slice(argument);
            }
        }
    }
    // SAFETY: stream and graph are live.
    unsafe { driver.launch_graph(stream, sequence.instance) }
}
