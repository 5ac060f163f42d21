//! Data of the host passing through a device.

use crate::args::Chunks;
use crate::stream::{AesStream, failed};
use gpu::{Buffer, Pinned};
use he_core::aes::{Bulk, Result};

/// A stream with page-locked memory and a buffer of the device. Lanes work side by side: while one
/// copies, another computes.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) aes: AesStream,
    staging: Pinned,
    pub(crate) device: Buffer,
}

fn bytes(words: &[u64]) -> &[u8] {
    // SAFETY: the bytes are those of the words, and every pattern of bits is a byte.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}

fn bytes_mut(words: &mut [u64]) -> &mut [u8] {
    // SAFETY: the bytes are those of the words, borrowed as mutably; every pattern of bits is a
    // byte, and eight are a word.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words)) }
}

impl Lane {
    pub(crate) fn new(aes: AesStream) -> Result<Self> {
        let staging = aes.stream().gpu().pinned(0).map_err(failed("staging"))?;
        let device = aes.stream().alloc(0).map_err(failed("staging"))?;
        Ok(Self { aes, staging, device })
    }

    /// Makes room for this many words on the device.
    pub(crate) fn reserve(&mut self, words: usize) -> Result<()> {
        if self.device.words() < words {
            self.wipe_device();
            self.device = self.aes.stream().alloc(words.next_power_of_two()).map_err(failed("staging"))?;
        }
        Ok(())
    }

    /// Copies chunks to the device, each from a multiple of 16 bytes on.
    pub(crate) fn send(&mut self, data: &Bulk<'_>, chunks: Chunks) -> Result<()> {
        let words = chunks.extent().div_ceil(8);
        self.reserve(words)?;
        if self.staging.words() < words {
            self.staging.zero();
            self.staging = self.aes.stream().gpu().pinned(self.device.words()).map_err(failed("staging"))?;
        }
        let len = (chunks.len as usize).max(1);
        let words_mut = self.staging.as_mut_slice().map_err(failed("staging"))?;
        let to = bytes_mut(words_mut).chunks_mut((chunks.stride as usize).max(1));
        for (from, to) in data.input().chunks(len).zip(to) {
            to[..from.len()].copy_from_slice(from);
        }
        self.aes
            .stream()
            .write_pinned(&self.staging, 0, &mut self.device, 0, words)
            .map_err(failed("staging"))
    }

    /// Copies them back, and waits for them.
    pub(crate) fn receive(&mut self, data: &mut Bulk<'_>, chunks: Chunks) -> Result<()> {
        let words = chunks.extent().div_ceil(8);
        self.aes
            .stream()
            .read_pinned(&self.device, 0, &mut self.staging, 0, words)
            .map_err(failed("staging"))?;
        self.aes.stream().synchronize().map_err(failed("staging"))?;
        let len = (chunks.len as usize).max(1);
        let words = self.staging.as_slice().map_err(failed("staging"))?;
        let from = bytes(words).chunks((chunks.stride as usize).max(1));
        for (from, to) in from.zip(data.output().chunks_mut(len)) {
            to.copy_from_slice(&from[..to.len()]);
        }
        Ok(())
    }

    fn wipe_device(&mut self) {
        let words = self.device.words();
        if self.aes.stream().fill_zero(&mut self.device, 0, words).is_err() {
            // A device that has failed computes no more, so there is nothing left to request.
            let _ = self.aes.stream().synchronize();
        }
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.staging.zero();
        self.wipe_device();
    }
}
