//! Page-locked memory between the host and the device: copies to and from it are several times as
//! fast as those of pageable memory, and the host continues meanwhile.

use crate::cuda::{Cuda, failed};
use gpu::{Buffer, Pinned};
use he_core::Result;
use he_core::backend::Backend;

/// The words of a block.
pub(crate) const STAGE: usize = 1 << 15;
/// The most blocks that one call takes; more words are copied without staging.
const STAGES: usize = 32;
/// Fewer words than this, below 64 KiB, are uploaded without staging: the driver copies them at
/// once, in less time.
const FEW_UP: usize = (1 << 13) - 1;
/// Fewer words than this are downloaded without staging.
const FEW_DOWN: usize = 1 << 9;
/// Blocks of one transfer, which return to the others when they are dropped; their copies may still
/// be in progress.
pub(crate) struct Staged<'a> {
    cuda: &'a Cuda,
    blocks: Vec<Pinned>,
}

impl Staged<'_> {
    /// One more block, with arbitrary contents.
    pub(crate) fn add(&mut self, op: &'static str) -> Result<&mut Pinned> {
        let block = match self.cuda.staging.take() {
            Some(block) => block,
            None => {
                let block = self.cuda.gpu().pinned(STAGE).map_err(failed(op))?;
                self.cuda.staging.made_one();
                block
            }
        };
        let at = self.blocks.len();
        self.blocks.push(block);
        Ok(&mut self.blocks[at])
    }

    /// Runs `work`, whose launches may read the block that was added first, at this address.
    pub(crate) fn read_in_place<T>(&self, work: impl FnOnce(u64) -> T) -> gpu::Result<T> {
        self.cuda.stream.reading(&self.blocks[0], work)
    }

    /// The number of blocks.
    pub(crate) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// The words of a block, after the copies to it.
    pub(crate) fn words(&self, op: &'static str, index: usize) -> Result<&[u64]> {
        self.blocks[index].as_slice().map_err(failed(op))
    }
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        for block in &mut self.blocks {
            // The words of a failed copy are of no use to anybody.
            if block.as_slice().is_err() {
                block.zero();
            }
        }
        self.cuda.staging.give_back(self.blocks.drain(..));
    }
}

impl Cuda {
    /// No blocks, to which [`Staged::add`] adds some.
    pub(crate) fn staged(&self) -> Staged<'_> {
        Staged { cuda: self, blocks: Vec::new() }
    }

    /// Uploads words.
    pub(crate) fn upload_words(&self, op: &'static str, words: &[u64]) -> Result<Buffer> {
        let mut buf = self.stream.alloc(words.len()).map_err(failed(op))?;
        if words.len() <= FEW_UP || words.len() > STAGES * STAGE {
            self.stream.write(words, &mut buf, 0).map_err(failed(op))?;
            return Ok(buf);
        }
        // The device copies a block while the host fills the next.
        let mut blocks = self.staged();
        for (i, part) in words.chunks(STAGE).enumerate() {
            let block = blocks.add(op)?;
            block.as_mut_slice().map_err(failed(op))?[..part.len()].copy_from_slice(part);
            self.stream.write_pinned(block, 0, &mut buf, i * STAGE, part.len()).map_err(failed(op))?;
        }
        drop(blocks);
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
            Some(blocks) => collect(op, &blocks, count),
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
                collect(op, &blocks, count)?
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

    pub(crate) fn read_words(
        &self,
        op: &'static str,
        buf: &Buffer,
        at: usize,
        count: usize,
    ) -> Result<Vec<u64>> {
        let mut words = vec![0; count];
        self.stream.read(buf, at, &mut words).map_err(failed(op))?;
        Ok(words)
    }

    /// Starts copies to blocks, unless there are too few or too many words for them.
    pub(crate) fn read_blocks(
        &self,
        op: &'static str,
        buf: &Buffer,
        at: usize,
        count: usize,
    ) -> Result<Option<Staged<'_>>> {
        if count <= FEW_DOWN || count > STAGES * STAGE {
            return Ok(None);
        }
        let mut blocks = self.staged();
        for first in (0..count).step_by(STAGE) {
            let block = blocks.add(op)?;
            self.stream
                .read_pinned(buf, at + first, block, 0, STAGE.min(count - first))
                .map_err(failed(op))?;
        }
        Ok(Some(blocks))
    }
}

/// The words of blocks; the device copies one while the host empties the previous one.
fn collect(op: &'static str, blocks: &Staged<'_>, count: usize) -> Result<Vec<u64>> {
    // Do not start from zeroed memory: its pages would be faulted in below, one at a time; here the
    // device is still busy.
    let mut words = vec![1; count];
    for (block, words) in words.chunks_mut(STAGE).enumerate() {
        words.copy_from_slice(&blocks.words(op, block)?[..words.len()]);
    }
    Ok(words)
}
