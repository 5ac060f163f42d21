//! AES on data in the memory of a device.

use crate::args::{self, GHASH_KEY_BYTES};
use crate::data::DeviceData;
use crate::kernels::{Entry, Kernels, Tables};
use crate::key::{DeviceGcmKey, DeviceKey, DeviceXtsKey, SCHEDULE_WORDS, Secret};
use gpu::{Gpu, Pinned, Stream};
use he_core::aes::{AesError, Direction, Key, KeySchedule, Result, XtsKey};
use std::sync::{Arc, Mutex, PoisonError};

/// AES on one stream of a device, for data in its memory. Clones share the stream.
///
/// Work is enqueued and the host continues; only functions that return or compare tags wait.
/// Buffers of other streams of the device are ordered with those streams' work. Keys are uploaded
/// once and used often ([`DeviceKey`], [`DeviceXtsKey`], [`DeviceGcmKey`]); they must be made by an
/// `AesStream` of the same stream, and are zeroed when they are dropped.
///
/// # Timing
/// Look-ups are free of bank conflicts by construction (each lane of a warp has tables of its own),
/// but neither their timing nor the device's clock is under the crate's control: this is **not**
/// claimed to be constant time. Lengths are public.
///
/// # Examples
/// ```no_run
/// use aes_gpu::{AesStream, DeviceData};
/// use he_core::aes::{Key, KeySize};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let aes = AesStream::on(&gpu::Gpu::open(0)?)?;
/// let key = aes.key(&Key::generate(KeySize::Bits256, &mut he_core::rand::rng()))?;
/// let mut data = aes.stream().zeros(1 << 27)?; // 1 GiB
/// aes.hazmat_ctr(&key, &[0; 16], DeviceData::InPlace(&mut data), 1 << 30)?;
/// aes.stream().synchronize()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct AesStream {
    pub(crate) stream: Stream,
    pub(crate) kernels: Arc<Kernels>,
    pub(crate) tables: Tables,
    /// Key material on its way to the device; wiped after each use.
    staging: Arc<Mutex<Pinned>>,
}

/// Converts an error of the device to one of AES.
pub(crate) fn failed(op: &'static str) -> impl Fn(gpu::Error) -> AesError {
    move |error| AesError::Backend { op, source: Box::new(error) }
}

impl AesStream {
    /// Makes a stream of a device.
    ///
    /// # Errors
    /// [`AesError::Backend`] with a [`gpu::Error`].
    pub fn on(gpu: &Gpu) -> Result<Self> {
        Self::from_stream(gpu.stream().map_err(failed("open"))?)
    }

    /// Uses a stream of the application.
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

    /// Chooses how many tables are in shared memory; by default, as many as fit on the device.
    #[must_use]
    pub fn tables(mut self, tables: Tables) -> Self {
        self.tables = tables;
        self
    }

    /// The stream.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Expands a key, on the host and in constant time, and uploads both directions' round keys.
    ///
    /// # Errors
    /// [`AesError::Backend`].
    pub fn key(&self, key: &Key) -> Result<DeviceKey> {
        let mut buffer = Secret(self.stream.alloc(2 * SCHEDULE_WORDS).map_err(failed("key"))?);
        let mut staging = self.staging.lock().unwrap_or_else(PoisonError::into_inner);
        let words = staging.as_mut_slice().map_err(failed("key"))?;
        for (at, schedule) in [(0, KeySchedule::new(key)), (SCHEDULE_WORDS, KeySchedule::inverse(key))] {
            let halves = schedule.expose_round_keys().as_flattened().as_chunks::<8>().0;
            for (word, bytes) in words[at..].iter_mut().zip(halves) {
                *word = u64::from_le_bytes(*bytes);
            }
        }
        let written = self.stream.write_pinned(&staging, 0, &mut buffer.0, 0, 2 * SCHEDULE_WORDS);
        // Waits for the copy to finish.
        staging.zero();
        written.map_err(failed("key"))?;
        Ok(DeviceKey { size: key.size(), schedules: buffer })
    }

    /// Uploads both keys of XTS.
    ///
    /// # Errors
    /// [`AesError::Backend`].
    pub fn xts_key(&self, keys: &XtsKey) -> Result<DeviceXtsKey> {
        Ok(DeviceXtsKey { data: self.key(keys.data())?, tweak: self.key(keys.tweak())? })
    }

    /// Uploads a key, with the powers of H that GHASH uses.
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

    /// The blocks for this many items of warps; kernels count items in 32 bits.
    pub(crate) fn grid(&self, items: u64) -> u64 {
        let multiprocessors = u64::from(self.stream.gpu().info().multiprocessors);
        if items > u64::from(u32::MAX) { u64::MAX } else { items.min(multiprocessors) }
    }

    /// Checks that a secret belongs to this stream.
    pub(crate) fn own(&self, op: &'static str, secret: &Secret) -> Result<()> {
        if *secret.0.stream() == self.stream {
            return Ok(());
        }
        let reason = "the key was made for another stream; make it with this one".into();
        Err(failed(op)(gpu::Error::Driver { call: "AesStream", reason }))
    }

    /// Runs `work` on checked addresses of `bytes` bytes, ordered with the work of other streams on
    /// them.
    pub(crate) fn ordered(
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
            // Even without data there is a sum of GHASH, which reads nothing.
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
    /// `args` is the kernel's argument; its addresses are live on this stream and hold what the
    /// kernel reads and writes.
    pub(crate) unsafe fn launch<A: Copy>(
        &self,
        op: &'static str,
        entry: Entry,
        grid: u64,
        args: &A,
    ) -> Result<()> {
        if grid == 0 {
            return Ok(());
        }
        let grid = u32::try_from(grid).map_err(|_| {
            let reason = format!("a grid of {grid} blocks; cut the data");
            failed(op)(gpu::Error::Driver { call: "AesStream", reason })
        })?;
        let (threads, shared) = entry.block();
        let kernel = self.kernels.get(entry).map_err(failed(op))?;
        // SAFETY: guaranteed by the caller.
        unsafe { self.stream.launch_apart(&kernel, [grid, 1, 1], [threads, 1, 1], shared, args) }
            .map_err(failed(op))
    }
}
