//! Words in the memory of a device.

use crate::interop::Owner;
use crate::pool::Block;
use crate::stream::Stream;

/// Words of 64 bits in the memory of a device, for the work of one stream. When the buffer is
/// dropped, its memory returns to the stream's pool; work that was enqueued before can still use
/// it.
#[derive(Debug)]
pub struct Buffer {
    stream: Stream,
    /// `None` if there are no words, or foreign ones.
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

    /// A buffer of the words from `address` on, which live as long as their owner.
    #[cfg_attr(not(any(feature = "cust", feature = "rustacuda")), allow(dead_code))] // For these features alone.
    pub(crate) fn adopt(stream: Stream, owner: Owner, address: u64, words: usize) -> Self {
        Self { stream, block: None, owner: Some(owner), address, words }
    }

    /// The number of words.
    pub fn words(&self) -> usize {
        self.words
    }

    /// The address on the device, or 0 for an empty buffer. It is valid while the buffer lives.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The number of signals that its stream had sent when the memory was last given back, or the
    /// greatest number if that is not known.
    pub(crate) fn used(&self) -> u64 {
        self.block.as_ref().map_or(u64::MAX, |block| block.used)
    }

    /// The stream that does all work on the buffer.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Keeps the first `words` words, or all of them if there are fewer. The memory of the others
    /// is not returned before the buffer is dropped.
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
