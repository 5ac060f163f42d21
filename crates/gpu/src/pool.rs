//! Memory that a stream keeps for its next buffers.
//!
//! All work on a block is on the pool's stream, in its order, so a block may be used again as soon
//! as its buffer is gone. Graphs are the exception: they use the addresses of their capture at
//! every launch. A block that a buffer held during a capture is therefore not used again while that
//! graph lives.

use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::slabs::Slabs;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The least block.
const LEAST: usize = 256;

/// Memory of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block {
    /// The address.
    pub(crate) address: u64,
    /// A size class.
    pub(crate) bytes: usize,
    /// The epoch in which the buffer got it.
    born: u64,
    /// The number of signals that the stream had sent when it was last given back.
    pub(crate) used: u64,
}

/// The free blocks of one stream.
#[derive(Debug, Default)]
pub(crate) struct Pool(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    free: Lists,
    slabs: Slabs,
    /// The signals that the stream has sent.
    signals: u64,
    /// Odd during a capture.
    epoch: u64,
    /// Blocks that buffers gave back during this capture, for its other buffers.
    captured: Lists,
    /// Graphs by the epoch of their capture: blocks that only they use now, with the epoch in which
    /// their buffers went.
    graphs: BTreeMap<u64, Vec<(Block, u64)>>,
}

/// Free blocks by size class.
#[derive(Debug, Default)]
struct Lists {
    classes: BTreeMap<usize, Vec<Free>>,
    bytes: usize,
}

/// The address of a free block, and the signals that there were when it was given back.
#[derive(Debug, Clone, Copy)]
struct Free {
    address: u64,
    used: u64,
}

impl Lists {
    /// The blocks, each with its class.
    fn all(&self) -> impl Iterator<Item = (usize, Free)> {
        self.classes.iter().flat_map(|(&class, list)| list.iter().map(move |&free| (class, free)))
    }

    fn push(&mut self, block: Block) {
        let Block { address, bytes, used, .. } = block;
        self.classes.entry(bytes).or_default().push(Free { address, used });
        self.bytes += bytes;
    }

    fn pop(&mut self, class: usize) -> Option<Free> {
        let free = self.classes.get_mut(&class)?.pop()?;
        self.bytes -= class;
        Some(free)
    }
}

/// The size of the block for `bytes` bytes: the next eighth of a power of two. None if there is no
/// such number.
pub(crate) fn size_class(bytes: usize) -> Option<usize> {
    if bytes <= LEAST {
        return Some(LEAST);
    }
    let step = (1 << bytes.ilog2()) / 8;
    bytes.checked_next_multiple_of(step).filter(|class| isize::try_from(*class).is_ok())
}

impl Pool {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A free block of a class.
    pub(crate) fn take(&self, class: usize) -> Option<Block> {
        let mut state = self.state();
        let Free { address, used } = match state.captured.pop(class) {
            Some(free) => free,
            None => state.free.pop(class)?,
        };
        Some(Block { address, bytes: class, born: state.epoch, used })
    }

    /// A new block of the driver, alone or with others of a slab, which are free from then on.
    pub(crate) fn make(&self, driver: &dyn Driver, class: usize) -> Result<Block> {
        let mut blocks = self.state().slabs.next(class);
        let address = match driver.alloc(class * blocks) {
            Err(Error::OutOfMemory { .. }) if blocks > 1 => {
                blocks = 1;
                driver.alloc(class)?
            }
            made => made?,
        };
        let mut state = self.state();
        for address in state.slabs.add(address, class, blocks) {
            state.free.push(Block { address, bytes: class, born: 0, used: 0 });
        }
        Ok(Block { address, bytes: class, born: state.epoch, used: 0 })
    }

    /// Takes the block of a buffer that is gone.
    pub(crate) fn give(&self, block: Block) {
        let mut state = self.state();
        let now = state.epoch;
        state.give(block, now);
    }

    /// Counts a signal of the stream, and returns how many there were.
    pub(crate) fn count_signal(&self) -> u64 {
        let mut state = self.state();
        state.signals += 1;
        state.signals
    }

    /// Bytes of free blocks.
    pub(crate) fn bytes(&self) -> usize {
        let state = self.state();
        state.free.bytes + state.captured.bytes
    }

    /// Whether there ever was a capture.
    pub(crate) fn captured(&self) -> bool {
        self.state().epoch > 0
    }

    /// Begins a capture.
    pub(crate) fn begin(&self) {
        self.state().epoch += 1;
    }

    /// Ends a capture; if it made a graph, the result names the graph to
    /// [`release`](Self::release).
    pub(crate) fn end(&self, graph: bool) -> u64 {
        let mut state = self.state();
        let epoch = state.epoch;
        state.epoch += 1;
        if graph {
            state.graphs.insert(epoch, Vec::new());
        }
        for (bytes, blocks) in std::mem::take(&mut state.captured).classes {
            for Free { address, used } in blocks {
                state.give(Block { address, bytes, born: epoch, used }, epoch);
            }
        }
        epoch
    }

    /// Takes the blocks of a graph that is gone.
    pub(crate) fn release(&self, graph: u64) {
        let mut state = self.state();
        for (block, died) in state.graphs.remove(&graph).unwrap_or_default() {
            state.give(block, died);
        }
    }

    /// The free blocks, for the driver; not those of a capture, nor those of slabs of which others
    /// are in use.
    pub(crate) fn drain(&self) -> Vec<u64> {
        let mut state = self.state();
        let lists = std::mem::take(&mut state.free);
        let (whole, kept) = state.slabs.take_whole(lists.all().map(|(class, free)| (class, free.address)));
        for (bytes, Free { address, used }) in lists.all().filter(|(_, free)| kept.contains(&free.address)) {
            state.free.push(Block { address, bytes, born: 0, used });
        }
        whole
    }
}

impl State {
    /// A block whose buffer went in the epoch `died`.
    fn give(&mut self, mut block: Block, died: u64) {
        block.used = self.signals;
        if let Some((_, kept)) = self.graphs.range_mut(block.born..=died).next() {
            kept.push((block, died));
        } else if died == self.epoch && self.epoch % 2 == 1 {
            self.captured.push(block);
        } else {
            self.free.push(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(pool: &Pool, address: u64) -> Block {
        Block { address, bytes: 256, born: pool.state().epoch, used: 0 }
    }

    #[test]
    fn classes_are_eighths_of_powers_of_two() {
        for (bytes, class) in [
            (1, 256),
            (256, 256),
            (257, 288),
            (288, 288),
            (289, 320),
            (511, 512),
            (512, 512),
            (513, 576),
            (1 << 20, 1 << 20),
            ((1 << 20) + 1, 9 << 17),
            ((1 << 21) - 1, 1 << 21),
        ] {
            assert_eq!(size_class(bytes), Some(class), "{bytes}");
        }
        assert_eq!(size_class(usize::MAX), None);
        assert_eq!(size_class(isize::MAX as usize + 1), None);
        for bytes in 1..20_000 {
            let class = size_class(bytes).unwrap();
            assert!(class >= bytes && class <= 256.max(bytes + bytes / 8 + 1) && class.is_multiple_of(8));
            assert_eq!(size_class(class), Some(class));
        }
    }

    #[test]
    fn gives_what_it_was_given() {
        let pool = Pool::default();
        assert_eq!(pool.take(256), None);
        pool.give(block(&pool, 1));
        pool.give(block(&pool, 2));
        assert_eq!((pool.bytes(), pool.take(288)), (512, None));
        assert_eq!(pool.take(256).unwrap().address, 2);
        assert_eq!(pool.bytes(), 256);
        assert_eq!(pool.drain(), [1]);
        assert_eq!(pool.bytes(), 0);
    }

    #[test]
    fn blocks_know_when_they_were_given_back() {
        let pool = Pool::default();
        pool.give(block(&pool, 1));
        assert_eq!(pool.count_signal(), 1);
        pool.give(block(&pool, 2));
        assert_eq!([2, 1].map(|_| pool.take(256).unwrap().used), [1, 0]);
    }

    #[test]
    fn graphs_keep_the_blocks_of_their_capture() {
        let pool = Pool::default();
        let (before, across) = (block(&pool, 1), block(&pool, 2));
        pool.give(before);
        pool.begin();
        let inside = pool.take(256).unwrap();
        pool.give(inside);
        let again = pool.take(256).unwrap();
        assert_eq!(again.address, 1, "used again within the capture");
        pool.give(again);
        assert_eq!(pool.drain(), [] as [u64; 0]);
        let first = pool.end(true);
        assert_eq!(pool.take(256), None);
        pool.begin();
        let second = pool.end(true);
        pool.give(across);
        pool.give(block(&pool, 3));
        assert_eq!(pool.take(256).unwrap().address, 3, "after both captures");
        assert_eq!(pool.take(256), None);
        pool.release(first);
        assert_eq!(pool.take(256).unwrap().address, 1);
        assert_eq!(pool.take(256), None, "the second graph has the other one");
        pool.release(second);
        assert_eq!(pool.take(256).unwrap().address, 2);
    }

    #[test]
    fn failed_captures_keep_nothing() {
        let pool = Pool::default();
        pool.begin();
        pool.give(block(&pool, 1));
        pool.end(false);
        assert_eq!(pool.drain(), [1]);
    }
}
