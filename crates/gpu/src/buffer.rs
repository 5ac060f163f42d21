//! Words in a device's memory.

use crate::interop::Owner;
use crate::pool::Block;
use crate::stream::Stream;

/// Words of 64 bits in the memory of a device, for the work of one stream. When it is dropped, the memory goes back to the
/// stream's pool, and work that was asked for before still finds it.
#[derive(Debug)]
pub struct Buffer {
    stream: Stream,
    /// None for no words, and for foreign ones.
    block: Option<Block>,
    owner: Option<Owner>,
    address: u64,
    words: usize,
}

impl Buffer {
    pub(crate) fn new(stream: Stream, block: Option<Block>, words: usize) -> Self {
        debug_assert!(words <= block.map_or(0, |block| block.bytes / 8));
        Self { stream, address: block.map_or(0, |block| block.address), block, owner: None, words }
    }

    /// Words from `address` on, which live as long as their owner.
    #[cfg_attr(not(any(feature = "cust", feature = "rustacuda")), allow(dead_code))] // For these features alone.
    pub(crate) fn adopt(stream: Stream, owner: Owner, address: u64, words: usize) -> Self {
        Self { stream, block: None, owner: Some(owner), address, words }
    }

    /// How many words.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Address in the device; 0 of an empty buffer. It is valid while the buffer lives.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The stream of all its work.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Keeps the first `words` words, and all where there are no more. The memory of the others is not given back before the drop.
    pub fn truncate(&mut self, words: usize) {
        self.words = self.words.min(words);
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            self.stream.give(block);
        }
        if let Some(owner) = self.owner.take() {
            self.stream.keep(owner);
        }
    }
}
