//! Page-locked memory between the host and the device: copies to and from it are several times as
//! fast as those of pageable memory, and the host continues meanwhile.

use crate::cache::lock;
use crate::cuda::{Cuda, failed};
use gpu::{Buffer, Pinned};
use he_core::Result;
use he_core::backend::Backend;
use std::collections::VecDeque;
use std::sync::Mutex;

/// The words of a block.
pub(crate) const STAGE: usize = 1 << 15;
/// The most blocks that one call takes; more words are copied without staging.
pub(crate) const STAGES: usize = 32;
/// Fewer words than this, below 64 KiB, are uploaded without staging: the driver copies them at
/// once, in less time.
const FEW_UP: usize = (1 << 13) - 1;
/// Fewer words than this are downloaded without staging.
const FEW_DOWN: usize = 1 << 9;
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

impl Drop for Staging {
    fn drop(&mut self) {
        lock(&self.0).free.iter_mut().for_each(|block| block.as_mut_slice().fill(0));
    }
}

impl Cuda {
    /// A block with arbitrary contents.
    pub(crate) fn stage(&self, op: &'static str) -> Result<Pinned> {
        let mut blocks = lock(&self.staging.0);
        if blocks.made >= ROUND
            && let Some(block) = blocks.free.pop_front()
        {
            return Ok(block);
        }
        blocks.made += 1;
        drop(blocks);
        self.gpu().pinned(STAGE).map_err(failed(op))
    }

    /// Returns blocks, whose copies may still be in progress.
    pub(crate) fn unstage(&self, given: Vec<Pinned>) {
        lock(&self.staging.0).free.extend(given);
    }

    /// Uploads words.
    pub(crate) fn upload_words(&self, op: &'static str, words: &[u64]) -> Result<Buffer> {
        let mut buf = self.stream.alloc(words.len()).map_err(failed(op))?;
        if words.len() <= FEW_UP || words.len() > STAGES * STAGE {
            self.stream.write(words, &mut buf, 0).map_err(failed(op))?;
            return Ok(buf);
        }
        // The device copies a block while the host fills the next.
        let mut blocks = Vec::new();
        for (i, part) in words.chunks(STAGE).enumerate() {
            let mut block = self.stage(op)?;
            block.as_mut_slice()[..part.len()].copy_from_slice(part);
            self.stream.write_pinned(&block, 0, &mut buf, i * STAGE, part.len()).map_err(failed(op))?;
            blocks.push(block);
        }
        self.unstage(blocks);
        Ok(buf)
    }

    /// Downloads words.
    pub(crate) fn download_words(
        &self,
        op: &'static str,
        buf: &Buffer,
        at: usize,
        count: usize,
    ) -> Result<Vec<u64>> {
        match self.read_blocks(op, buf, at, count)? {
            Some(blocks) => Ok(self.collect(blocks, count)),
            None => self.read_words(op, buf, at, count),
        }
    }

    /// Downloads all words, and wipes them on the device.
    pub(crate) fn take_words(&self, op: &'static str, buf: &mut Buffer) -> Result<Vec<u64>> {
        let count = buf.words();
        let words = match self.read_blocks(op, buf, 0, count)? {
            Some(blocks) => {
                // This happens while the copies are in progress.
                self.wipe(buf);
                self.collect(blocks, count)
            }
            None => {
                let words = self.read_words(op, buf, 0, count);
                self.wipe(buf);
                words?
            }
        };
        buf.truncate(0);
        Ok(words)
    }

    fn read_words(&self, op: &'static str, buf: &Buffer, at: usize, count: usize) -> Result<Vec<u64>> {
        let mut words = vec![0; count];
        self.stream.read(buf, at, &mut words).map_err(failed(op))?;
        Ok(words)
    }

    /// Starts copies to blocks, unless there are too few or too many words for them.
    fn read_blocks(
        &self,
        op: &'static str,
        buf: &Buffer,
        at: usize,
        count: usize,
    ) -> Result<Option<Vec<Pinned>>> {
        if count <= FEW_DOWN || count > STAGES * STAGE {
            return Ok(None);
        }
        let mut blocks = Vec::new();
        for first in (0..count).step_by(STAGE) {
            let mut block = self.stage(op)?;
            self.stream
                .read_pinned(buf, at + first, &mut block, 0, STAGE.min(count - first))
                .map_err(failed(op))?;
            blocks.push(block);
        }
        Ok(Some(blocks))
    }

    /// The words of blocks; the device copies one while the host empties the previous one.
    fn collect(&self, blocks: Vec<Pinned>, count: usize) -> Vec<u64> {
        // Do not start from zeroed memory: its pages would be faulted in below, one at a time; here
        // the device is still busy.
        let mut words = vec![1; count];
        for (block, words) in blocks.iter().zip(words.chunks_mut(STAGE)) {
            words.copy_from_slice(&block.as_slice()[..words.len()]);
        }
        self.unstage(blocks);
        words
    }
}
