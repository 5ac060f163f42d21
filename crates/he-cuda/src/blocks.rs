//! Page-locked blocks that wait for the next transfer between the host and the device.

use crate::cache::lock;
use gpu::Pinned;
use std::collections::VecDeque;
use std::sync::Mutex;

/// The blocks that are made before one is reused, whose last copy may still wait for work before
/// it.
const ROUND: usize = 4;

/// Blocks of one device, wiped when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Staging(Mutex<Blocks>);

#[derive(Debug, Default)]
struct Blocks {
    /// The free blocks, the one returned first in front.
    free: VecDeque<Pinned>,
    made: usize,
}

impl Staging {
    /// A free block, with arbitrary contents, unless another one should be made.
    pub(crate) fn take(&self) -> Option<Pinned> {
        let mut blocks = lock(&self.0);
        if blocks.made < ROUND { None } else { blocks.free.pop_front() }
    }

    /// One more block was made.
    pub(crate) fn made_one(&self) {
        lock(&self.0).made += 1;
    }

    /// Blocks are free again.
    pub(crate) fn give_back(&self, blocks: impl Iterator<Item = Pinned>) {
        lock(&self.0).free.extend(blocks);
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        lock(&self.0).free.iter_mut().for_each(Pinned::zero);
    }
}
