//! AES on data that are in a device's memory.

use crate::args::{self, Chunks, GHASH_KEY_BYTES};
use crate::kernels::{Entry, Kernels, Tables};
use crate::key::{DeviceGcmKey, DeviceKey, DeviceXtsKey, SCHEDULE_WORDS, Secret};
use gpu::{Buffer, Gpu, Pinned, Stream};
use he_core::aes::{
    AesError, BLOCK, Direction, GcmChunks, Key, KeySchedule, Result, XtsKey, check_ecb, check_xts,
};
use std::sync::{Arc, Mutex, PoisonError};
use subtle::ConstantTimeEq;
use zeroize::Zeroize;

/// Bytes of data between two launches of XTS: bounds the memory for tweaks, 1/32 of it.
const XTS_SLAB: usize = 256 << 20;
/// Blocks whose counters differ in the last byte only (`AES_SEGMENT`).
const CTR_SEGMENT: u64 = 256;
/// Blocks of a row of XTS and of a step of GHASH: the threads of a warp.
const WARP: u64 = 32;
/// Rows whose tweaks one thread makes (`XTS_ROWS`).
const TWEAK_ROWS: u64 = 8;
/// Least and most steps of a warp between two of GHASH's general products.
const GHASH_STEPS: (u64, u64) = (4, 128);

/// Bytes in a device's memory to transform: in place, or from one buffer to another. They begin with the first word of each buffer.
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
    fn addresses(&self) -> (u64, u64) {
        match self {
            DeviceData::InPlace(data) => (data.address(), data.address()),
            DeviceData::Copy { from, to } => (from.address(), to.address()),
        }
    }

    fn streams(&self) -> [&Stream; 2] {
        match self {
            DeviceData::InPlace(data) => [data.stream(); 2],
            DeviceData::Copy { from, to } => [from.stream(), to.stream()],
        }
    }

    fn words(&self) -> usize {
        match self {
            DeviceData::InPlace(data) => data.words(),
            DeviceData::Copy { from, to } => from.words().min(to.words()),
        }
    }

    fn reborrow(&mut self) -> DeviceData<'_> {
        match self {
            DeviceData::InPlace(data) => DeviceData::InPlace(data),
            DeviceData::Copy { from, to } => DeviceData::Copy { from, to },
        }
    }
}

/// Counter blocks of chunks.
#[derive(Clone, Copy)]
enum Counters<'a> {
    /// Of the one chunk.
    One([u8; BLOCK]),
    /// Of each, in the device's memory; all end with the same byte.
    Each(&'a Buffer, u8),
}

/// AES on one stream of a device, for data in its memory. Clones share the stream.
///
/// Work is enqueued and the host goes on; only what returns tags, or compares them, waits. Buffers of other streams of the device are
/// ordered with those streams' work. Keys are uploaded once and used often ([`DeviceKey`], [`DeviceXtsKey`], [`DeviceGcmKey`]); they must be
/// made by an `AesStream` of the same stream, and are zeroed when they are dropped.
///
/// # Timing
/// Look-ups are free of conflicts by construction (each lane of a warp has tables of its own), but neither this nor the device's clock is
/// under the crate's control: **not** claimed to be constant time. Lengths are public.
///
/// # Examples
/// ```no_run
/// use aes_gpu::{AesStream, DeviceData};
/// use he_core::aes::{Key, KeySize};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let aes = AesStream::on(&gpu::Gpu::open(0)?)?;
/// let key = aes.key(&Key::generate(KeySize::Bits256, &mut rand::rng()))?;
/// let mut data = aes.stream().zeros(1 << 27)?; // 1 GiB
/// aes.hazmat_ctr(&key, &[0; 16], DeviceData::InPlace(&mut data), 1 << 30)?;
/// aes.stream().synchronize()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct AesStream {
    stream: Stream,
    kernels: Arc<Kernels>,
    tables: Tables,
    /// Key material on its way to the device; wiped after each use.
    staging: Arc<Mutex<Pinned>>,
}

/// A device's error as one of AES.
pub(crate) fn failed(op: &'static str) -> impl Fn(gpu::Error) -> AesError {
    move |error| AesError::Backend { op, source: Box::new(error) }
}

impl Chunks {
    /// Data of `len` bytes in chunks of `chunk_len`, each from a multiple of 16 bytes on; no data are one empty chunk.
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
        Ok(Self { stride: whole.next_multiple_of(16), len: whole, last, count, parts: 1 })
    }

    /// Bytes from the first chunk's begin to the last one's end.
    pub(crate) fn extent(&self) -> usize {
        ((u64::from(self.count) - 1) * self.stride + self.last) as usize
    }

    /// The same chunks, each cut into parts of `blocks` blocks, where `skipped` blocks precede each.
    fn cut(self, blocks: u64, skipped: u64) -> Self {
        Self { parts: (self.len.div_ceil(16) + skipped).div_ceil(blocks) as u32, ..self }
    }

    fn items(&self) -> u64 {
        u64::from(self.count) * u64::from(self.parts)
    }
}

impl AesStream {
    /// A new stream of a device.
    ///
    /// # Errors
    /// [`AesError::Backend`] with a [`gpu::Error`].
    pub fn on(gpu: &Gpu) -> Result<Self> {
        Self::from_stream(gpu.stream().map_err(failed("open"))?)
    }

    /// A stream that the application has.
    ///
    /// # Errors
    /// [`AesError::Backend`] with a [`gpu::Error`].
    pub fn from_stream(stream: Stream) -> Result<Self> {
        let kernels = Arc::new(Kernels::new(stream.gpu()));
        Self::with_kernels(stream, kernels)
    }

    pub(crate) fn with_kernels(stream: Stream, kernels: Arc<Kernels>) -> Result<Self> {
        let words = 2 * SCHEDULE_WORDS;
        let staging = Arc::new(Mutex::new(stream.gpu().pinned(words).map_err(failed("open"))?));
        let tables = Tables::of(stream.gpu());
        Ok(Self { stream, kernels, tables, staging })
    }

    /// Chooses how many tables are in shared memory; without it, as many as the device has room for.
    #[must_use]
    pub fn tables(mut self, tables: Tables) -> Self {
        self.tables = tables;
        self
    }

    /// The stream.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    // ---- Keys ----

    /// Expands a key, on the host and in constant time, and uploads both directions' round keys.
    ///
    /// # Errors
    /// [`AesError::Backend`].
    pub fn key(&self, key: &Key) -> Result<DeviceKey> {
        let mut buffer = Secret(self.stream.alloc(2 * SCHEDULE_WORDS).map_err(failed("key"))?);
        let mut staging = self.staging.lock().unwrap_or_else(PoisonError::into_inner);
        let words = staging.as_mut_slice();
        for (at, schedule) in [(0, KeySchedule::new(key)), (SCHEDULE_WORDS, KeySchedule::inverse(key))] {
            let halves = schedule.expose_round_keys().as_flattened().as_chunks::<8>().0;
            for (word, bytes) in words[at..].iter_mut().zip(halves) {
                *word = u64::from_le_bytes(*bytes);
            }
        }
        let written = self.stream.write_pinned(&staging, 0, &mut buffer.0, 0, 2 * SCHEDULE_WORDS);
        // Waits for the copy.
        staging.as_mut_slice().zeroize();
        written.map_err(failed("key"))?;
        Ok(DeviceKey { size: key.size(), schedules: buffer })
    }

    /// Both keys of XTS.
    ///
    /// # Errors
    /// [`AesError::Backend`].
    pub fn xts_key(&self, keys: &XtsKey) -> Result<DeviceXtsKey> {
        Ok(DeviceXtsKey { data: self.key(keys.data())?, tweak: self.key(keys.tweak())? })
    }

    /// A key with the powers of H that GHASH takes.
    ///
    /// # Errors
    /// [`AesError::Backend`].
    pub fn gcm_key(&self, key: &Key) -> Result<DeviceGcmKey> {
        let key = self.key(key)?;
        let powers = Secret(self.stream.alloc(GHASH_KEY_BYTES / 8).map_err(failed("key"))?);
        let args = args::GhashKey {
            keys: key.address(Direction::Encrypt),
            key: powers.0.address(),
            rounds: key.rounds(),
            unused: 0,
        };
        // SAFETY: the kernel reads the round keys and writes the powers, both of this stream.
        unsafe { self.launch("key", Entry::GhashKey, 1, &args)? };
        Ok(DeviceGcmKey { key, powers })
    }

    // ---- Modes ----

    /// ECB of `len` bytes. Equal blocks stay equal: for experiments.
    ///
    /// # Errors
    /// [`AesError::PartialBlock`]; [`AesError::Backend`], also where a buffer is too short.
    pub fn hazmat_ecb(
        &self,
        key: &DeviceKey,
        direction: Direction,
        data: DeviceData<'_>,
        len: usize,
    ) -> Result<()> {
        check_ecb(len)?;
        self.own("ECB", &key.schedules)?;
        self.ordered("ECB", data, len, |src, dst| {
            let blocks = (len / BLOCK) as u64;
            let args = args::Ecb { src, dst, keys: key.address(direction), blocks };
            let entry = Entry::Ecb(direction, key.size, self.tables);
            // SAFETY: `ordered` has checked that `len` bytes are there, and orders them; the key is of this stream.
            unsafe { self.launch("ECB", entry, self.grid(blocks.div_ceil(WARP)), &args) }
        })
    }

    /// ECB encryption as in P2 (Jiwandono, 2011): four threads a block, the state in shared memory, tables in constant memory. Kept to be
    /// measured.
    ///
    /// # Errors
    /// As [`hazmat_ecb`](Self::hazmat_ecb).
    pub fn hazmat_ecb_by_columns(&self, key: &DeviceKey, data: DeviceData<'_>, len: usize) -> Result<()> {
        check_ecb(len)?;
        self.own("ECB", &key.schedules)?;
        self.ordered("ECB", data, len, |src, dst| {
            let blocks = (len / BLOCK) as u64;
            let ecb = args::Ecb { src, dst, keys: key.address(Direction::Encrypt), blocks };
            let args = args::EcbColumns { ecb, rounds: key.rounds(), unused: 0 };
            let grid = (4 * blocks).div_ceil(u64::from(Entry::EcbColumns.block().0));
            // SAFETY: as in `hazmat_ecb`.
            unsafe { self.launch("ECB", Entry::EcbColumns, grid, &args) }
        })
    }

    /// CTR of `len` bytes, the counter a big-endian number modulo 2^128. Not authenticated, and a repeated counter reveals everything.
    ///
    /// # Errors
    /// [`AesError::Backend`], also where a buffer is too short.
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

    /// XTS of `len` bytes in data units of `unit_len` bytes from number `first` on.
    ///
    /// # Errors
    /// As [`BulkCipher::xts`](he_core::aes::BulkCipher::xts), and [`AesError::PartialBlock`] for several units that are no whole blocks;
    /// [`AesError::Backend`], also where a buffer is too short.
    pub fn xts(
        &self,
        keys: &DeviceXtsKey,
        first: u128,
        unit_len: usize,
        direction: Direction,
        data: DeviceData<'_>,
        len: usize,
    ) -> Result<()> {
        check_xts(first, unit_len, len)?;
        check_stride(len, unit_len)?;
        self.xts_strided(keys, first, unit_len, direction, data, len)
    }

    /// [`xts`](Self::xts) of units that begin at multiples of 16 bytes.
    pub(crate) fn xts_strided(
        &self,
        keys: &DeviceXtsKey,
        first: u128,
        unit_len: usize,
        direction: Direction,
        data: DeviceData<'_>,
        len: usize,
    ) -> Result<()> {
        if len == 0 {
            return Ok(());
        }
        let stride = unit_len.next_multiple_of(BLOCK);
        let extent = (len - 1) / unit_len * stride + (len - 1) % unit_len + 1;
        self.ordered("XTS", data, extent, |src, dst| {
            let slab = (XTS_SLAB / stride).max(1);
            let units = len.div_ceil(unit_len);
            for unit in (0..units).step_by(slab) {
                let chunks = Chunks::new((slab * unit_len).min(len - unit * unit_len), unit_len)?;
                let offset = (unit * stride) as u64;
                let at = (src + offset, dst + offset);
                // SAFETY: `ordered` has checked that all units are there, and orders them.
                unsafe { self.launch_xts(keys, first + unit as u128, direction, at, chunks)? };
            }
            Ok(())
        })
    }

    /// GCM of chunks: encrypts, and returns one tag for each; waits for them. **A nonce must never occur twice under one key.**
    ///
    /// # Errors
    /// [`AesError::ChunkCount`]; [`AesError::PartialBlock`] for several chunks that are no whole blocks; [`AesError::Backend`], also where a
    /// buffer is too short.
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
    /// [`AesError::ChunkTag`] with the first chunk whose tag is wrong: then nothing was written. Otherwise as
    /// [`gcm_seal_chunks`](Self::gcm_seal_chunks).
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

    // ---- Parts of GCM, for messages in several pieces ----

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

    /// Sums of GHASH, one for each chunk, that hold the associated data: `aads` in `count` equal parts.
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
            // The data's blocks and that of the lengths follow.
            let after = (chunks.len.div_ceil(16) + 2, chunks.last.div_ceil(16) + 2);
            // SAFETY: the buffer holds all associated data, in equal parts, and is of this stream as the sums are.
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

    /// Tags from sums and from lengths in bytes: of every chunk but the last, of the last, of associated data.
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
        // SAFETY: counters, sums and tags are of this stream and have 16 bytes for each of `count` chunks.
        unsafe { self.launch("GCM", Entry::GcmFinish, grid, &args)? };
        let mut words = vec![0; 2 * count as usize];
        self.stream.read(&tags, 0, &mut words).map_err(failed("GCM"))?;
        Ok(words.as_chunks::<2>().0.iter().map(join).collect())
    }

    // ---- Launches ----

    /// Blocks for so many items of warps; kernels count items in 32 bits.
    fn grid(&self, items: u64) -> u64 {
        let multiprocessors = u64::from(self.stream.gpu().info().multiprocessors);
        if items > u64::from(u32::MAX) { u64::MAX } else { items.min(multiprocessors) }
    }

    /// That a secret is in this stream's order.
    fn own(&self, op: &'static str, secret: &Secret) -> Result<()> {
        if *secret.0.stream() == self.stream {
            return Ok(());
        }
        let reason = "the key was made for another stream; make it with this one".into();
        Err(failed(op)(gpu::Error::Driver { call: "AesStream", reason }))
    }

    /// Does `work` on checked addresses of `bytes` bytes, ordered with other streams' work on them.
    fn ordered(
        &self,
        op: &'static str,
        data: DeviceData<'_>,
        bytes: usize,
        work: impl FnOnce(u64, u64) -> Result<()>,
    ) -> Result<()> {
        if data.words() < bytes.div_ceil(8) {
            let reason = format!("{bytes} bytes do not fit into a buffer of {} words", data.words());
            return Err(failed(op)(gpu::Error::Driver { call: "AesStream", reason }));
        }
        if bytes == 0 {
            // Without data there is still a sum of GHASH; it reads nothing.
            return work(0, 0);
        }
        let others = data.streams().map(|stream| (*stream != self.stream).then_some(stream));
        for stream in others.into_iter().flatten() {
            let event = stream.record().map_err(failed(op))?;
            self.stream.wait(&event).map_err(failed(op))?;
        }
        let (src, dst) = data.addresses();
        let done = work(src, dst);
        for stream in others.into_iter().flatten() {
            if self.stream.record().and_then(|event| stream.wait(&event)).is_err() {
                self.stream.synchronize().map_err(failed(op))?;
            }
        }
        done
    }

    /// # Safety
    /// The addresses hold the chunks and are ordered on this stream.
    unsafe fn launch_ctr(
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
        // SAFETY: the caller's word; counters are of this stream, one for each chunk.
        unsafe { self.launch(op, Entry::Ctr(key.size, self.tables), grid, &args) }
    }

    /// # Safety
    /// The addresses hold the units and are ordered on this stream.
    unsafe fn launch_xts(
        &self,
        keys: &DeviceXtsKey,
        first: u128,
        direction: Direction,
        (src, dst): (u64, u64),
        chunks: Chunks,
    ) -> Result<()> {
        self.own("XTS", &keys.data.schedules)?;
        self.own("XTS", &keys.tweak.schedules)?;
        let chunks = chunks.cut(WARP, 0);
        let tweaks = self.stream.alloc(2 * chunks.items() as usize).map_err(failed("XTS"))?;
        let make = args::XtsTweaks {
            keys: keys.tweak.address(Direction::Encrypt),
            tweaks: tweaks.address(),
            first: [first as u64, (first >> 64) as u64],
            units: chunks.count,
            rows: chunks.parts,
            rounds: keys.tweak.rounds(),
            unused: 0,
        };
        let threads = u64::from(chunks.count) * u64::from(chunks.parts).div_ceil(TWEAK_ROWS);
        let grid = threads.div_ceil(Entry::XtsTweaks.block().0.into());
        // SAFETY: the tweaks' buffer has 16 bytes for each row and is of this stream, as the keys are.
        unsafe { self.launch("XTS", Entry::XtsTweaks, grid, &make)? };
        let contiguous = chunks.count == 1 || chunks.len.is_multiple_of(WARP * 16);
        let key = keys.data.address(direction);
        let tweaks = tweaks.address();
        let args =
            args::Xts { src, dst, keys: key, tweaks, chunks, contiguous: contiguous.into(), unused: 0 };
        let grid = self.grid(chunks.items());
        // SAFETY: the caller's word.
        unsafe { self.launch("XTS", Entry::Xts(direction, keys.data.size, self.tables), grid, &args)? };
        if chunks.len % 16 == 0 && chunks.last % 16 == 0 {
            return Ok(());
        }
        let inverse = direction == Direction::Decrypt;
        let (rounds, inverse) = (keys.data.rounds(), inverse.into());
        let args = args::XtsSteal { src, dst, keys: key, tweaks, chunks, rounds, inverse };
        let grid = u64::from(chunks.count.div_ceil(Entry::XtsSteal.block().0));
        // SAFETY: the caller's word.
        unsafe { self.launch("XTS", Entry::XtsSteal, grid, &args) }
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
        // SAFETY: the caller's word.
        unsafe { self.launch("GCM", entry, self.grid(chunks.items()), &args) }
    }

    /// # Safety
    /// `args` is the kernel's argument; its addresses are live on this stream and hold what the kernel reads and writes.
    unsafe fn launch<A: Copy>(&self, op: &'static str, entry: Entry, grid: u64, args: &A) -> Result<()> {
        if grid == 0 {
            return Ok(());
        }
        let grid = u32::try_from(grid).map_err(|_| {
            let reason = format!("a grid of {grid} blocks; cut the data");
            failed(op)(gpu::Error::Driver { call: "AesStream", reason })
        })?;
        let (threads, shared) = entry.block();
        let kernel = self.kernels.get(entry).map_err(failed(op))?;
        // SAFETY: as the caller promises.
        unsafe { self.stream.launch(&kernel, [grid, 1, 1], [threads, 1, 1], shared, args) }
            .map_err(failed(op))
    }
}

/// That chunks lie one behind the other at multiples of 16 bytes.
fn check_stride(len: usize, chunk_len: usize) -> Result<()> {
    if len > chunk_len && chunk_len % BLOCK != 0 {
        return Err(AesError::PartialBlock { found: chunk_len });
    }
    Ok(())
}

/// The first pair of tags that differ. Which tags differ is public; where they do, is not.
pub(crate) fn first_difference(found: &[[u8; BLOCK]], expected: &[[u8; BLOCK]]) -> Option<usize> {
    found.iter().zip(expected).position(|(found, expected)| !bool::from(found.ct_eq(expected)))
}

pub(crate) fn halves(block: &[u8; BLOCK]) -> [u64; 2] {
    let number = u128::from_le_bytes(*block);
    [number as u64, (number >> 64) as u64]
}

fn join(words: &[u64; 2]) -> [u8; BLOCK] {
    (u128::from(words[0]) | u128::from(words[1]) << 64).to_le_bytes()
}
