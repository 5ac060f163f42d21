//! GCM on a stream.

use crate::args::{self, Chunks};
use crate::ctr::Counters;
use crate::data::{DeviceData, check_stride};
use crate::kernels::{Entry, WARP};
use crate::key::DeviceGcmKey;
use crate::stream::{AesStream, failed};
use gpu::Buffer;
use he_core::aes::{AesError, BLOCK, Direction, GcmChunks, Result};
use subtle::ConstantTimeEq;

/// The least and the most steps of a warp between two general products of GHASH.
const GHASH_STEPS: (u64, u64) = (4, 128);

impl AesStream {
    /// Encrypts chunks by GCM and returns one tag for each; waits for the tags. **A nonce must
    /// never occur twice under one key.**
    ///
    /// # Errors
    /// [`AesError::ChunkCount`]; [`AesError::PartialBlock`] for several chunks that are not whole
    /// blocks; [`AesError::Backend`], also where a buffer is too short.
    pub fn gcm_seal_chunks(
        &self,
        key: &DeviceGcmKey,
        chunks: GcmChunks<'_>,
        data: DeviceData<'_>,
        len: usize,
    ) -> Result<Vec<[u8; BLOCK]>> {
        chunks.check(len, chunks.count())?;
        check_stride(len, chunks.chunk_len())?;
        self.seal_strided(key, chunks, data, len)
    }

    /// Verifies all chunks, then decrypts them. Tags are compared in constant time.
    ///
    /// # Errors
    /// [`AesError::ChunkTag`] with the first chunk whose tag is wrong: then nothing was written.
    /// Otherwise as [`gcm_seal_chunks`](Self::gcm_seal_chunks).
    pub fn gcm_open_chunks(
        &self,
        key: &DeviceGcmKey,
        chunks: GcmChunks<'_>,
        tags: &[[u8; BLOCK]],
        data: DeviceData<'_>,
        len: usize,
    ) -> Result<()> {
        chunks.check(len, tags.len())?;
        check_stride(len, chunks.chunk_len())?;
        self.open_strided(key, chunks, tags, data, len)
    }

    pub(crate) fn seal_strided(
        &self,
        key: &DeviceGcmKey,
        gcm: GcmChunks<'_>,
        data: DeviceData<'_>,
        len: usize,
    ) -> Result<Vec<[u8; BLOCK]>> {
        let chunks = Chunks::new(len, gcm.chunk_len())?;
        let counters = self.counters(gcm.nonces())?;
        let sums = self.sums(key, gcm.aads(), gcm.count(), chunks)?;
        self.ordered("GCM", data, chunks.extent(), |src, dst| {
            // SAFETY: `ordered` has checked that all chunks are there, and orders them.
            unsafe {
                self.launch_ctr("GCM", &key.key, Counters::Each(&counters, 2), (src, dst), chunks)?;
                self.launch_ghash(key, dst, &sums, chunks, (2, 2))
            }
        })?;
        let lens = (chunks.len, chunks.last, gcm.aad_len() as u64);
        self.tags(key, &counters, &sums, chunks.count, lens)
    }

    pub(crate) fn open_strided(
        &self,
        key: &DeviceGcmKey,
        gcm: GcmChunks<'_>,
        tags: &[[u8; BLOCK]],
        mut data: DeviceData<'_>,
        len: usize,
    ) -> Result<()> {
        let chunks = Chunks::new(len, gcm.chunk_len())?;
        let counters = self.counters(gcm.nonces())?;
        let sums = self.sums(key, gcm.aads(), gcm.count(), chunks)?;
        self.ordered("GCM", data.reborrow(), chunks.extent(), |src, _| {
            // SAFETY: `ordered` has checked that all chunks are there, and orders them.
            unsafe { self.launch_ghash(key, src, &sums, chunks, (2, 2)) }
        })?;
        let lens = (chunks.len, chunks.last, gcm.aad_len() as u64);
        let found = self.tags(key, &counters, &sums, chunks.count, lens)?;
        if let Some(index) = first_difference(&found, tags) {
            return Err(AesError::ChunkTag { index });
        }
        self.ordered("GCM", data, chunks.extent(), |src, dst| {
            // SAFETY: as above.
            unsafe { self.launch_ctr("GCM", &key.key, Counters::Each(&counters, 2), (src, dst), chunks) }
        })
    }

    /// The block J0 + 1 of each nonce (SP 800-38D, 7.1).
    pub(crate) fn counters(&self, nonces: &[[u8; 12]]) -> Result<Buffer> {
        let words: Vec<u64> = nonces
            .iter()
            .flat_map(|nonce| {
                let mut block = [0; BLOCK];
                block[..12].copy_from_slice(nonce);
                block[15] = 2;
                halves(&block)
            })
            .collect();
        self.stream.upload(&words).map_err(failed("GCM"))
    }

    /// Sums of GHASH, one for each chunk, that hold the associated data: `aads` in `count` equal
    /// parts.
    pub(crate) fn sums(
        &self,
        key: &DeviceGcmKey,
        aads: &[u8],
        count: usize,
        chunks: Chunks,
    ) -> Result<Buffer> {
        let sums = self.stream.zeros(2 * count).map_err(failed("GCM"))?;
        let len = aads.len() / count;
        if len > 0 {
            let aad = Chunks::new(aads.len(), len)?;
            let words_of_aad = aad.stride as usize / 8;
            let mut words = vec![0u64; words_of_aad * count];
            for (words, aad) in words.chunks_exact_mut(words_of_aad).zip(aads.chunks_exact(len)) {
                for (word, bytes) in words.iter_mut().zip(aad.chunks(8)) {
                    let mut padded = [0; 8];
                    padded[..bytes.len()].copy_from_slice(bytes);
                    *word = u64::from_le_bytes(padded);
                }
            }
            let buffer = self.stream.upload(&words).map_err(failed("GCM"))?;
            // The blocks of the data and that of the lengths follow.
            let after = (chunks.len.div_ceil(16) + 2, chunks.last.div_ceil(16) + 2);
            // SAFETY: the buffer holds all associated data, in equal parts, and is of this stream
            // as the sums are.
            unsafe { self.launch_ghash(key, buffer.address(), &sums, aad, after)? };
        }
        Ok(sums)
    }

    /// Adds `len` bytes of one message, after which `rest` bytes follow, to its sum.
    pub(crate) fn add_to_sum(
        &self,
        key: &DeviceGcmKey,
        data: &mut Buffer,
        len: usize,
        rest: u64,
        sums: &Buffer,
    ) -> Result<()> {
        let chunks = Chunks::new(len, len.max(1))?;
        let after = rest.div_ceil(16) + 2;
        self.ordered("GCM", DeviceData::InPlace(data), len, |src, _| {
            // SAFETY: `ordered` has checked that `len` bytes are there, and orders them.
            unsafe { self.launch_ghash(key, src, sums, chunks, (after, after)) }
        })
    }

    /// Tags from sums and from the lengths in bytes of every chunk but the last, of the last, and
    /// of associated data.
    pub(crate) fn tags(
        &self,
        key: &DeviceGcmKey,
        counters: &Buffer,
        sums: &Buffer,
        count: u32,
        (len, last, aad): (u64, u64, u64),
    ) -> Result<Vec<[u8; BLOCK]>> {
        self.own("GCM", &key.powers)?;
        let tags = self.stream.alloc(2 * count as usize).map_err(failed("GCM"))?;
        let args = args::GcmFinish {
            keys: key.key.address(Direction::Encrypt),
            key: key.powers.0.address(),
            sums: sums.address(),
            tags: tags.address(),
            counters: counters.address(),
            len,
            last,
            aad,
            count,
            rounds: key.key.rounds(),
        };
        let grid = u64::from(count.div_ceil(Entry::GcmFinish.block().0));
        // SAFETY: counters, sums and tags are of this stream and have 16 bytes for each of `count`
        // chunks.
        unsafe { self.launch("GCM", Entry::GcmFinish, grid, &args)? };
        let mut words = vec![0; 2 * count as usize];
        self.stream.read(&tags, 0, &mut words).map_err(failed("GCM"))?;
        Ok(words.as_chunks::<2>().0.iter().map(join).collect())
    }

    /// # Safety
    /// The address holds the chunks and is ordered on this stream; there is a sum for each.
    unsafe fn launch_ghash(
        &self,
        key: &DeviceGcmKey,
        src: u64,
        sums: &Buffer,
        chunks: Chunks,
        (after, after_last): (u64, u64),
    ) -> Result<()> {
        if chunks.extent() == 0 {
            return Ok(());
        }
        self.own("GCM", &key.powers)?;
        let entry = self.kernels.ghash();
        let warps = u64::from(self.stream.gpu().info().multiprocessors) * u64::from(entry.block().0) / WARP;
        let blocks = u64::from(chunks.count) * chunks.len.div_ceil(16);
        let (least, most) = GHASH_STEPS;
        let segment = WARP * blocks.div_ceil(warps * WARP).clamp(least, most);
        let chunks = chunks.cut(segment, 0);
        let args = args::Ghash {
            src,
            key: key.powers.0.address(),
            sums: sums.address(),
            chunks,
            after,
            after_last,
            segment: segment as u32,
            unused: 0,
        };
        // SAFETY: guaranteed by the caller.
        unsafe { self.launch("GCM", entry, self.grid(chunks.items()), &args) }
    }
}

/// The first pair of tags that differ. Which tags differ is public; at which bytes they differ is
/// not.
pub(crate) fn first_difference(found: &[[u8; BLOCK]], expected: &[[u8; BLOCK]]) -> Option<usize> {
    found.iter().zip(expected).position(|(found, expected)| !bool::from(found.ct_eq(expected)))
}

fn halves(block: &[u8; BLOCK]) -> [u64; 2] {
    let number = u128::from_le_bytes(*block);
    [number as u64, (number >> 64) as u64]
}

fn join(words: &[u64; 2]) -> [u8; BLOCK] {
    (u128::from(words[0]) | u128::from(words[1]) << 64).to_le_bytes()
}
