//! Memory that is prefetched before it is read.

use crate::lanes::Quads;

/// The words of a cache line.
const LINE: usize = 8;

/// Memory that is prefetched a few lines at a time between butterflies: if it were requested all at
/// once, the requests would wait for each other, and the butterflies for them.
#[derive(Default)]
pub(in crate::tfhe) struct Ahead<'a> {
    memory: &'a [f64],
    /// The lines per step.
    lines: usize,
}

impl<'a> Ahead<'a> {
    /// Prefetches all of `memory` in this many steps.
    pub(super) fn new(memory: &'a [f64], steps: usize) -> Self {
        Self { memory, lines: memory.len().div_ceil(LINE).div_ceil(steps) }
    }

    #[inline(always)]
    pub(super) fn step<L: Quads>(&mut self, l: L) {
        for _ in 0..self.lines {
            l.prefetch(self.memory);
            self.memory = self.memory.get(LINE..).unwrap_or_default();
        }
    }
}
