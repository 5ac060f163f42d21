//! AES on data of the host, by one device or several.

use crate::args::Chunks;
use crate::gcm::first_difference;
use crate::jobs::{Job, Message, Messages, Plain};
use crate::kernels::{Entry, Kernels, Tables};
use crate::lane::Lane;
use crate::stream::{AesStream, failed};
use gpu::Gpu;
use he_core::aes::{
    AesError, BLOCK, Bulk, BulkCipher, Direction, GcmChunks, Key, Result, XtsKey, check_ecb, check_gcm,
    check_xts, open_chunks, seal_chunks,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of a slice unless told otherwise.
const SLICE: usize = 8 << 20;
/// Lanes of a device unless told otherwise: one copies to the device, one computes, one copies
/// back, and the host, whose copies to and from page-locked memory are the slowest part, fills and
/// empties the others (measured on an H200: 6 lanes 23 GB/s, 12 lanes 37).
const LANES: usize = 12;
/// Data from here on are cut into so many slices at least; shorter ones are done before a thread
/// for another lane is there.
const SHARED: usize = 8 << 20;
const LEAST_SLICES: usize = 8;

/// Bounds of both.
const MOST_SLICE: usize = 1 << 32;
const MOST_LANES: usize = 64;

/// AES on data of the host, of any length and alignment, by one device or several.
///
/// Data are cut into slices. A slice is copied to page-locked memory, to the device, transformed,
/// and copied back; several lanes, each a thread with a stream of its own, do so side by side, so
/// that copies both ways and kernels overlap. With several devices all their lanes take slices from
/// one list. Lanes are kept between calls; they hold data of the last calls, which are zeroed when
/// this is dropped.
///
/// Memory on each device, and page-locked: `lanes` slices each. A data unit of XTS longer than a
/// slice makes the slice as long.
///
/// A message of GCM longer than a slice is decrypted while it is verified: if its tag is wrong, the
/// output is zeroed before the call returns. Chunks that fit into a slice are decrypted after they
/// were verified.
///
/// # Timing
/// As of [`AesStream`]: **not** claimed to be constant time. Keys are expanded, and tags compared,
/// in constant time.
///
/// # Examples
/// ```no_run
/// use aes_gpu::AesGpu;
/// use he_core::aes::{Bulk, BulkCipher, Key, KeySize};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let aes = AesGpu::open(0)?;
/// let key = Key::generate(KeySize::Bits256, &mut he_core::rand::rng());
/// let mut data = vec![0; 1 << 30];
/// // One nonce for each message under a key, never twice.
/// let tag = aes.gcm_seal(&key, &[0; 12], b"header", Bulk::in_place(&mut data))?;
/// aes.gcm_open(&key, &[0; 12], b"header", &tag, Bulk::in_place(&mut data))?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct AesGpu {
    pub(crate) devices: Vec<Device>,
    pub(crate) slice: usize,
    lanes: usize,
}

#[derive(Debug)]
pub(crate) struct Device {
    gpu: Gpu,
    kernels: Arc<Kernels>,
    tables: Tables,
    /// Lanes not in use.
    idle: Mutex<Vec<Lane>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Device {
    /// A lane that nobody uses. One that fails is dropped.
    pub(crate) fn lane(&self) -> Result<Lane> {
        if let Some(lane) = lock(&self.idle).pop() {
            return Ok(lane);
        }
        let stream = self.gpu.stream().map_err(failed("open"))?;
        Lane::new(AesStream::with_kernels(stream, Arc::clone(&self.kernels))?.tables(self.tables))
    }

    pub(crate) fn give(&self, lane: Lane) {
        lock(&self.idle).push(lane);
    }
}

impl AesGpu {
    /// Opens device `ordinal`.
    ///
    /// # Errors
    /// [`AesError::Backend`] with a [`gpu::Error`] if there is no driver or no such device.
    pub fn open(ordinal: usize) -> Result<Self> {
        Self::on(&[Gpu::open(ordinal).map_err(failed("open"))?])
    }

    /// Shares the work among devices.
    ///
    /// # Errors
    /// [`AesError::Backend`] without a device, or if a device does not take the kernels.
    pub fn on(gpus: &[Gpu]) -> Result<Self> {
        if gpus.is_empty() {
            return Err(failed("open")(gpu::Error::NoDevice { ordinal: 0, found: 0 }));
        }
        let devices = gpus
            .iter()
            .map(|gpu| {
                let device = Device {
                    gpu: gpu.clone(),
                    kernels: Arc::new(Kernels::new(gpu)),
                    tables: Tables::of(gpu),
                    idle: Mutex::default(),
                };
                // A small module, so that a driver too old for the kernels is found here.
                device.kernels.get(Entry::XtsTweaks).map_err(failed("open"))?;
                Ok(device)
            })
            .collect::<Result<_>>()?;
        Ok(Self { devices, slice: SLICE, lanes: LANES })
    }

    /// Chooses the bytes of a slice (whole blocks, 4 GiB at most) and the lanes of a device, 1 to
    /// 64; without it, 8 MiB and 12. Between 8 and 64 MiB slices are an eighth of the data, so that
    /// their copies overlap, too.
    #[must_use]
    pub fn slices(mut self, bytes: usize, lanes: usize) -> Self {
        self.slice = bytes.clamp(BLOCK, MOST_SLICE).next_multiple_of(BLOCK);
        self.lanes = lanes.clamp(1, MOST_LANES);
        self
    }

    /// Chooses how many tables are in shared memory; without it, as many as each device has room
    /// for.
    #[must_use]
    pub fn tables(mut self, tables: Tables) -> Self {
        for device in &mut self.devices {
            device.tables = tables;
            lock(&device.idle).clear();
        }
        self
    }

    /// Does a job on data, in slices of `slice` bytes, on all lanes; what the lanes return, in no
    /// order.
    fn run<J: Job>(&self, job: &J, data: Bulk<'_>, slice: usize) -> Result<Vec<J::Output>> {
        let slices = data.len().div_ceil(slice).max(1);
        let empty = data.is_empty().then(|| Bulk::in_place(&mut []));
        let list = Mutex::new(data.pieces(slice).chain(empty).enumerate());
        let stop = AtomicBool::new(false);
        let work = |device: &Device| -> Result<J::Output> {
            let mut lane = device.lane()?;
            let mut state = job.begin(&mut lane)?;
            loop {
                let next = if stop.load(Ordering::Relaxed) { None } else { lock(&list).next() };
                let Some((i, data)) = next else { break };
                let mut data = data;
                let chunks = Chunks::new(data.len(), job.chunk_len())?;
                lane.send(&data, chunks)?;
                if job.transform(&mut lane, &mut state, i * slice, data.len())? {
                    lane.receive(&mut data, chunks)?;
                }
            }
            let output = job.end(&mut lane, state)?;
            device.give(lane);
            Ok(output)
        };
        let work = |device: &Device| work(device).inspect_err(|_| stop.store(true, Ordering::Relaxed));
        if slices == 1 {
            return Ok(vec![work(&self.devices[0])?]);
        }
        // Devices in turn, so that few slices are spread over all.
        let lanes = (0..self.lanes).flat_map(|_| &self.devices).take(slices);
        let work = &work;
        std::thread::scope(|scope| {
            let threads: Vec<_> = lanes.map(|device| scope.spawn(move || work(device))).collect();
            let results = threads.into_iter().map(|thread| thread.join());
            results.map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        })
    }

    /// Bytes of a slice of data of `len` bytes.
    fn slice_of(&self, len: usize) -> usize {
        if len < SHARED { self.slice } else { self.slice.min((len / LEAST_SLICES).next_multiple_of(BLOCK)) }
    }
}

impl AesGpu {
    /// The tag of a message from the sums of its data: adds associated data, lengths and the key
    /// stream's first block.
    pub(crate) fn tag(
        &self,
        key: &Key,
        nonce: &[u8; 12],
        aad: &[u8],
        len: usize,
        sums: Vec<[u64; 2]>,
    ) -> Result<[u8; BLOCK]> {
        let lane = self.devices[0].lane()?;
        let device_key = lane.aes.gcm_key(key)?;
        let mut sum = lane.aes.sums(&device_key, aad, 1, Chunks::new(len, len.max(1))?)?;
        let stream = lane.aes.stream();
        let mut words = [0; 2];
        stream.read(&sum, 0, &mut words).map_err(failed("GCM"))?;
        for part in sums {
            words = [words[0] ^ part[0], words[1] ^ part[1]];
        }
        stream.write(&words, &mut sum, 0).map_err(failed("GCM"))?;
        let counters = lane.aes.counters(&[*nonce])?;
        let lens = (len as u64, len as u64, aad.len() as u64);
        let tags = lane.aes.tags(&device_key, &counters, &sum, 1, lens)?;
        drop((device_key, sum, counters));
        self.devices[0].give(lane);
        Ok(tags[0])
    }

    /// Transforms a message, and returns its tag.
    fn message(
        &self,
        key: &Key,
        nonce: &[u8; 12],
        aad: &[u8],
        direction: Direction,
        data: Bulk<'_>,
    ) -> Result<[u8; BLOCK]> {
        check_gcm(data.len(), aad.len())?;
        let len = data.len();
        let sums = self.run(&Message::new(key, nonce, direction, len), data, self.slice_of(len))?;
        self.tag(key, nonce, aad, len, sums)
    }
}

impl BulkCipher for AesGpu {
    fn name(&self) -> String {
        let names: Vec<&str> = self.devices.iter().map(|device| device.gpu.info().name.as_str()).collect();
        format!("AES on {}", names.join(", "))
    }

    fn hazmat_ecb(&self, key: &Key, direction: Direction, data: Bulk<'_>) -> Result<()> {
        check_ecb(data.len())?;
        let slice = self.slice_of(data.len());
        self.run(&Plain::ecb(key, direction), data, slice).map(drop)
    }

    fn hazmat_ctr(&self, key: &Key, counter: &[u8; BLOCK], data: Bulk<'_>) -> Result<()> {
        let slice = self.slice_of(data.len());
        self.run(&Plain::ctr(key, counter), data, slice).map(drop)
    }

    fn xts(
        &self,
        keys: &XtsKey,
        first: u128,
        unit_len: usize,
        direction: Direction,
        data: Bulk<'_>,
    ) -> Result<()> {
        check_xts(first, unit_len, data.len())?;
        let slice = whole(self.slice_of(data.len()), unit_len);
        self.run(&Plain::xts(keys, first, unit_len, direction), data, slice).map(drop)
    }

    fn gcm_seal(&self, key: &Key, nonce: &[u8; 12], aad: &[u8], data: Bulk<'_>) -> Result<[u8; BLOCK]> {
        self.message(key, nonce, aad, Direction::Encrypt, data)
    }

    fn gcm_open(
        &self,
        key: &Key,
        nonce: &[u8; 12],
        aad: &[u8],
        tag: &[u8; BLOCK],
        mut data: Bulk<'_>,
    ) -> Result<()> {
        let found = self.message(key, nonce, aad, Direction::Decrypt, data.reborrow());
        let verified = found.and_then(|found| match first_difference(&[found], &[*tag]) {
            Some(_) => Err(AesError::Tag),
            None => Ok(()),
        });
        if verified.is_err() {
            data.output().fill(0);
        }
        verified
    }

    fn gcm_seal_chunks(
        &self,
        key: &Key,
        chunks: GcmChunks<'_>,
        data: Bulk<'_>,
        tags: &mut [[u8; BLOCK]],
    ) -> Result<()> {
        if chunks.chunk_len() > self.slice {
            return seal_chunks(self, key, chunks, data, tags);
        }
        chunks.check(data.len(), tags.len())?;
        let job = Messages::seal(key, chunks);
        let slice = whole(self.slice_of(data.len()), chunks.chunk_len());
        for found in self.run(&job, data, slice)? {
            for (first, found) in found.tags {
                tags[first..first + found.len()].copy_from_slice(&found);
            }
        }
        Ok(())
    }

    fn gcm_open_chunks(
        &self,
        key: &Key,
        chunks: GcmChunks<'_>,
        tags: &[[u8; BLOCK]],
        mut data: Bulk<'_>,
    ) -> Result<()> {
        if chunks.chunk_len() > self.slice {
            return open_chunks(self, key, chunks, tags, data);
        }
        chunks.check(data.len(), tags.len())?;
        let job = Messages::open(key, chunks, tags);
        let slice = whole(self.slice_of(data.len()), chunks.chunk_len());
        let opened = self.run(&job, data.reborrow(), slice).and_then(|found| {
            match found.iter().filter_map(|found| found.wrong).min() {
                Some(index) => Err(AesError::ChunkTag { index }),
                None => Ok(()),
            }
        });
        if opened.is_err() {
            data.output().fill(0);
        }
        opened
    }
}

/// Bytes of whole chunks in a slice, at least one.
pub(crate) fn whole(slice: usize, chunk_len: usize) -> usize {
    (slice / chunk_len.next_multiple_of(BLOCK)).max(1) * chunk_len
}
