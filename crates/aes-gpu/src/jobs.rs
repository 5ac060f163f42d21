//! The work of lanes: each mode, cut into slices.

use crate::args::Chunks;
use crate::data::DeviceData;
use crate::key::DeviceGcmKey;
use crate::lane::Lane;
use crate::stream::{AesStream, failed};
use gpu::Buffer;
use he_core::aes::{AesError, BLOCK, Direction, GcmChunks, Key, Result, XtsKey};
use std::marker::PhantomData;

/// A mode applied to data in slices.
pub(crate) trait Job: Sync {
    /// The state that a lane keeps during a call: keys, sums.
    type State;
    /// The result of a lane.
    type Output: Send;

    /// The bytes of the chunks, which begin at multiples of 16 bytes on the device.
    fn chunk_len(&self) -> usize;
    /// Called before the lane's first slice.
    fn begin(&self, lane: &mut Lane) -> Result<Self::State>;
    /// Transforms `len` bytes in place on the device, which are at `offset` in the data. Returns
    /// whether the result is to be used.
    fn transform(&self, lane: &mut Lane, state: &mut Self::State, offset: usize, len: usize) -> Result<bool>;
    /// Called after the lane's last slice.
    fn end(&self, lane: &mut Lane, state: Self::State) -> Result<Self::Output>;
}

/// A mode without tags.
pub(crate) struct Plain<K, B, T> {
    begin: B,
    transform: T,
    chunk_len: usize,
    key: PhantomData<fn() -> K>,
}

impl<K, B, T> Plain<K, B, T>
where
    B: Fn(&AesStream) -> Result<K> + Sync,
    T: Fn(&AesStream, &K, usize, DeviceData<'_>, usize) -> Result<()> + Sync,
{
    fn new(begin: B, chunk_len: usize, transform: T) -> Self {
        Self { begin, transform, chunk_len, key: PhantomData }
    }
}

impl Plain<(), (), ()> {
    pub(crate) fn ecb(key: &Key, direction: Direction) -> impl Job<Output = ()> {
        Plain::new(
            |aes| aes.key(key),
            usize::MAX,
            move |aes, key, _, data, len| aes.hazmat_ecb(key, direction, data, len),
        )
    }

    pub(crate) fn ctr(key: &Key, counter: &[u8; BLOCK]) -> impl Job<Output = ()> {
        Plain::new(
            |aes| aes.key(key),
            usize::MAX,
            move |aes, key, offset, data, len| aes.hazmat_ctr(key, &later(counter, offset), data, len),
        )
    }

    /// Slices are whole units.
    pub(crate) fn xts(
        keys: &XtsKey,
        first: u128,
        unit_len: usize,
        direction: Direction,
    ) -> impl Job<Output = ()> {
        Plain::new(
            |aes| aes.xts_key(keys),
            unit_len,
            move |aes, keys, offset, data, len| {
                let first = first + (offset / unit_len) as u128;
                aes.xts_strided(keys, first, unit_len, direction, data, len)
            },
        )
    }
}

impl<K, B, T> Job for Plain<K, B, T>
where
    B: Fn(&AesStream) -> Result<K> + Sync,
    T: Fn(&AesStream, &K, usize, DeviceData<'_>, usize) -> Result<()> + Sync,
{
    type State = K;
    type Output = ();

    fn chunk_len(&self) -> usize {
        self.chunk_len
    }

    fn begin(&self, lane: &mut Lane) -> Result<K> {
        (self.begin)(&lane.aes)
    }

    fn transform(&self, lane: &mut Lane, key: &mut K, offset: usize, len: usize) -> Result<bool> {
        (self.transform)(&lane.aes, key, offset, DeviceData::InPlace(&mut lane.device), len)?;
        Ok(true)
    }

    fn end(&self, _lane: &mut Lane, _key: K) -> Result<()> {
        Ok(())
    }
}

/// The counter this many bytes later.
fn later(counter: &[u8; BLOCK], bytes: usize) -> [u8; BLOCK] {
    u128::from_be_bytes(*counter).wrapping_add((bytes / BLOCK) as u128).to_be_bytes()
}

/// GCM of one message in many slices: each lane has a sum of GHASH, and the sums of all lanes are
/// added up.
pub(crate) struct Message<'a> {
    key: &'a Key,
    counter: [u8; BLOCK],
    direction: Direction,
    len: usize,
}

impl<'a> Message<'a> {
    /// A message of `len` bytes.
    pub(crate) fn new(key: &'a Key, nonce: &[u8; 12], direction: Direction, len: usize) -> Self {
        let mut counter = [0; BLOCK];
        counter[..12].copy_from_slice(nonce);
        counter[15] = 2;
        Self { key, counter, direction, len }
    }
}

impl Job for Message<'_> {
    type State = (DeviceGcmKey, Buffer);
    type Output = [u64; 2];

    fn chunk_len(&self) -> usize {
        usize::MAX
    }

    fn begin(&self, lane: &mut Lane) -> Result<Self::State> {
        let key = lane.aes.gcm_key(self.key)?;
        let sum = lane.aes.stream().zeros(2).map_err(failed("GCM"))?;
        Ok((key, sum))
    }

    fn transform(
        &self,
        lane: &mut Lane,
        (key, sum): &mut Self::State,
        offset: usize,
        len: usize,
    ) -> Result<bool> {
        let rest = (self.len - offset - len) as u64;
        let counter = later(&self.counter, offset);
        if self.direction == Direction::Decrypt {
            lane.aes.add_to_sum(key, &mut lane.device, len, rest, sum)?;
        }
        lane.aes.hazmat_ctr(&key.key, &counter, DeviceData::InPlace(&mut lane.device), len)?;
        if self.direction == Direction::Encrypt {
            lane.aes.add_to_sum(key, &mut lane.device, len, rest, sum)?;
        }
        Ok(true)
    }

    fn end(&self, lane: &mut Lane, (_key, sum): Self::State) -> Result<[u64; 2]> {
        let mut words = [0; 2];
        lane.aes.stream().read(&sum, 0, &mut words).map_err(failed("GCM"))?;
        Ok(words)
    }
}

/// GCM of many messages, with whole messages in each slice.
pub(crate) struct Messages<'a> {
    key: &'a Key,
    chunks: GcmChunks<'a>,
    /// The tags to verify.
    tags: Option<&'a [[u8; BLOCK]]>,
}

/// The findings of a lane.
#[derive(Default)]
pub(crate) struct Found {
    /// Tags from chunk numbers on.
    pub(crate) tags: Vec<(usize, Vec<[u8; BLOCK]>)>,
    /// The first chunk with a wrong tag.
    pub(crate) wrong: Option<usize>,
}

impl<'a> Messages<'a> {
    pub(crate) fn seal(key: &'a Key, chunks: GcmChunks<'a>) -> Self {
        Self { key, chunks, tags: None }
    }

    pub(crate) fn open(key: &'a Key, chunks: GcmChunks<'a>, tags: &'a [[u8; BLOCK]]) -> Self {
        Self { key, chunks, tags: Some(tags) }
    }
}

impl Job for Messages<'_> {
    type State = (DeviceGcmKey, Found);
    type Output = Found;

    fn chunk_len(&self) -> usize {
        self.chunks.chunk_len()
    }

    fn begin(&self, lane: &mut Lane) -> Result<Self::State> {
        Ok((lane.aes.gcm_key(self.key)?, Found::default()))
    }

    fn transform(
        &self,
        lane: &mut Lane,
        (key, found): &mut Self::State,
        offset: usize,
        len: usize,
    ) -> Result<bool> {
        let (chunk_len, aad_len) = (self.chunks.chunk_len(), self.chunks.aad_len());
        let (first, count) = (offset / chunk_len, Chunks::new(len, chunk_len)?.count as usize);
        let nonces = &self.chunks.nonces()[first..first + count];
        let aads = &self.chunks.aads()[first * aad_len..(first + count) * aad_len];
        let chunks = GcmChunks::new(chunk_len, nonces, aads)?;
        let data = DeviceData::InPlace(&mut lane.device);
        let Some(tags) = self.tags else {
            found.tags.push((first, lane.aes.seal_strided(key, chunks, data, len)?));
            return Ok(true);
        };
        match lane.aes.open_strided(key, chunks, &tags[first..first + count], data, len) {
            Err(AesError::ChunkTag { index }) => {
                let index = first + index;
                found.wrong = Some(found.wrong.map_or(index, |wrong| wrong.min(index)));
                Ok(false)
            }
            opened => opened.map(|()| true),
        }
    }

    fn end(&self, _lane: &mut Lane, (_key, found): Self::State) -> Result<Found> {
        Ok(found)
    }
}
