//! Data in the memory of a device.

use crate::args::Chunks;
use gpu::{Buffer, Stream};
use he_core::aes::{AesError, BLOCK, Result};

/// Bytes in the memory of a device to be transformed in place, or from one buffer to another. They
/// begin with the first word of each buffer.
#[derive(Debug)]
pub enum DeviceData<'a> {
    /// The same bytes are read and written.
    InPlace(&'a mut Buffer),
    /// Two buffers.
    Copy {
        /// Read.
        from: &'a Buffer,
        /// Written.
        to: &'a mut Buffer,
    },
}

impl DeviceData<'_> {
    pub(crate) fn addresses(&self) -> (u64, u64) {
        match self {
            DeviceData::InPlace(data) => (data.address(), data.address()),
            DeviceData::Copy { from, to } => (from.address(), to.address()),
        }
    }

    pub(crate) fn streams(&self) -> [&Stream; 2] {
        match self {
            DeviceData::InPlace(data) => [data.stream(); 2],
            DeviceData::Copy { from, to } => [from.stream(), to.stream()],
        }
    }

    pub(crate) fn words(&self) -> usize {
        match self {
            DeviceData::InPlace(data) => data.words(),
            DeviceData::Copy { from, to } => from.words().min(to.words()),
        }
    }

    pub(crate) fn reborrow(&mut self) -> DeviceData<'_> {
        match self {
            DeviceData::InPlace(data) => DeviceData::InPlace(data),
            DeviceData::Copy { from, to } => DeviceData::Copy { from, to },
        }
    }
}

impl Chunks {
    /// Data of `len` bytes in chunks of `chunk_len`, each from a multiple of 16 bytes on; empty
    /// data are one empty chunk.
    ///
    /// # Errors
    /// [`AesError::ChunkCount`] for more than 2^32 - 1.
    pub(crate) fn new(len: usize, chunk_len: usize) -> Result<Self> {
        let chunks = len.div_ceil(chunk_len).max(1);
        let most = u32::MAX as usize;
        let count = u32::try_from(chunks).map_err(|_| AesError::ChunkCount {
            what: "chunks of one call",
            found: chunks,
            expected: most,
        })?;
        let last = (len - (chunks - 1) * chunk_len) as u64;
        let whole = if chunks == 1 { last } else { chunk_len as u64 };
        Ok(Self {
            stride: whole.checked_next_multiple_of(16).unwrap_or(!15),
            len: whole,
            last,
            count,
            parts: 1,
        })
    }

    /// The number of bytes from the beginning of the first chunk to the end of the last.
    pub(crate) fn extent(&self) -> usize {
        ((u64::from(self.count) - 1) * self.stride + self.last) as usize
    }

    /// The same chunks, each cut into parts of `blocks` blocks, with `skipped` blocks before each.
    pub(crate) fn cut(self, blocks: u64, skipped: u64) -> Self {
        Self { parts: (self.len.div_ceil(16) + skipped).div_ceil(blocks) as u32, ..self }
    }

    pub(crate) fn items(&self) -> u64 {
        u64::from(self.count) * u64::from(self.parts)
    }
}

/// Checks that chunks follow each other at multiples of 16 bytes.
pub(crate) fn check_stride(len: usize, chunk_len: usize) -> Result<()> {
    if len > chunk_len && !chunk_len.is_multiple_of(BLOCK) {
        return Err(AesError::PartialBlock { found: chunk_len });
    }
    Ok(())
}
