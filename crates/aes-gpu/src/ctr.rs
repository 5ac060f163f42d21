//! CTR on a stream.

use crate::args::{self, Chunks};
use crate::data::DeviceData;
use crate::kernels::Entry;
use crate::key::DeviceKey;
use crate::stream::AesStream;
use gpu::Buffer;
use he_core::aes::{BLOCK, Direction, Result};

/// Blocks whose counters differ in the last byte only (`AES_SEGMENT`).
const CTR_SEGMENT: u64 = 256;

/// Counter blocks of chunks.
#[derive(Clone, Copy)]
pub(crate) enum Counters<'a> {
    /// The counter block of the one chunk.
    One([u8; BLOCK]),
    /// The counter blocks of each, in the device's memory; all end with the same byte.
    Each(&'a Buffer, u8),
}

impl AesStream {
    /// CTR of `len` bytes, the counter a big-endian number modulo 2^128. Not authenticated, and a
    /// repeated counter reveals everything.
    ///
    /// # Errors
    /// [`AesError::Backend`](he_core::aes::AesError::Backend), also where a buffer is too short.
    pub fn hazmat_ctr(
        &self,
        key: &DeviceKey,
        counter: &[u8; BLOCK],
        data: DeviceData<'_>,
        len: usize,
    ) -> Result<()> {
        let chunks = Chunks::new(len, len.max(1))?;
        self.ordered("CTR", data, len, |src, dst| {
            // SAFETY: `ordered` has checked that `len` bytes are there, and orders them.
            unsafe { self.launch_ctr("CTR", key, Counters::One(*counter), (src, dst), chunks) }
        })
    }

    /// # Safety
    /// The addresses hold the chunks and are ordered on this stream.
    pub(crate) unsafe fn launch_ctr(
        &self,
        op: &'static str,
        key: &DeviceKey,
        counters: Counters<'_>,
        (src, dst): (u64, u64),
        chunks: Chunks,
    ) -> Result<()> {
        self.own(op, &key.schedules)?;
        let (counters, counter, low) = match counters {
            Counters::One(counter) => (0, counter, counter[15]),
            Counters::Each(buffer, low) => (buffer.address(), [0; BLOCK], low),
        };
        let chunks = chunks.cut(CTR_SEGMENT, low.into());
        if chunks.extent() == 0 {
            return Ok(());
        }
        let keys = key.address(Direction::Encrypt);
        let args = args::Ctr { src, dst, keys, counters, counter, chunks };
        let grid = self.grid(chunks.items());
        // SAFETY: guaranteed by the caller; counters are of this stream, one for each chunk.
        unsafe { self.launch(op, Entry::Ctr(key.size, self.tables), grid, &args) }
    }
}
