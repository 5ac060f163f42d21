//! AES from page-locked memory to page-locked memory, without staging: the speed is that of the
//! link to the device.

use crate::args::Chunks;
use crate::bulk::{AesGpu, whole};
use crate::gcm::first_difference;
use crate::jobs::{Job, Message, Plain};
use crate::lane::Lane;
use crate::stream::failed;
use gpu::Pinned;
use he_core::aes::{AesError, BLOCK, Direction, Key, Result, XtsKey, check_ecb, check_gcm, check_xts};

/// The streams that slices use in turn.
const STREAMS: usize = 4;
/// The slices that are copied to the device before the first one is copied back: a copy back waits
/// for those before it, and meanwhile the device must have work.
const AHEAD: usize = 2;

/// From the first `len` bytes of `from` to those of `to`, both page-locked by the first device.
/// Bytes that follow in the last word of eight are copied.
impl AesGpu {
    /// [`hazmat_ecb`](he_core::aes::BulkCipher::hazmat_ecb) of page-locked memory.
    ///
    /// # Errors
    /// [`AesError::PartialBlock`]; [`AesError::Backend`], also where memory is too short or of
    /// another device.
    pub fn hazmat_ecb_pinned(
        &self,
        key: &Key,
        direction: Direction,
        from: &Pinned,
        to: &mut Pinned,
        len: usize,
    ) -> Result<()> {
        check_ecb(len)?;
        self.run_pinned(&Plain::ecb(key, direction), from, to, len).map(drop)
    }

    /// [`hazmat_ctr`](he_core::aes::BulkCipher::hazmat_ctr) of page-locked memory.
    ///
    /// # Errors
    /// [`AesError::Backend`], also where memory is too short or of another device.
    pub fn hazmat_ctr_pinned(
        &self,
        key: &Key,
        counter: &[u8; BLOCK],
        from: &Pinned,
        to: &mut Pinned,
        len: usize,
    ) -> Result<()> {
        self.run_pinned(&Plain::ctr(key, counter), from, to, len).map(drop)
    }

    /// [`xts`](he_core::aes::BulkCipher::xts) of page-locked memory.
    ///
    /// # Errors
    /// The same as there, and [`AesError::PartialBlock`] for several units that are not whole
    /// blocks; [`AesError::Backend`], also where memory is too short or of another device.
    pub fn xts_pinned(
        &self,
        keys: &XtsKey,
        first: u128,
        unit_len: usize,
        direction: Direction,
        from: &Pinned,
        to: &mut Pinned,
        len: usize,
    ) -> Result<()> {
        check_xts(first, unit_len, len)?;
        if len > unit_len && !unit_len.is_multiple_of(BLOCK) {
            return Err(AesError::PartialBlock { found: unit_len });
        }
        self.run_pinned(&Plain::xts(keys, first, unit_len, direction), from, to, len).map(drop)
    }

    /// [`gcm_seal`](he_core::aes::BulkCipher::gcm_seal) of page-locked memory.
    ///
    /// # Errors
    /// As there; [`AesError::Backend`], also where memory is too short or of another device.
    pub fn gcm_seal_pinned(
        &self,
        key: &Key,
        nonce: &[u8; 12],
        aad: &[u8],
        from: &Pinned,
        to: &mut Pinned,
        len: usize,
    ) -> Result<[u8; BLOCK]> {
        check_gcm(len, aad.len())?;
        let sums = self.run_pinned(&Message::new(key, nonce, Direction::Encrypt, len), from, to, len)?;
        self.tag(key, nonce, aad, len, sums)
    }

    /// [`gcm_open`](he_core::aes::BulkCipher::gcm_open) of page-locked memory.
    ///
    /// # Errors
    /// [`AesError::Tag`]: then all of `to` is zero. Otherwise as there; [`AesError::Backend`], also
    /// where memory is too short or of another device.
    pub fn gcm_open_pinned(
        &self,
        key: &Key,
        nonce: &[u8; 12],
        aad: &[u8],
        tag: &[u8; BLOCK],
        from: &Pinned,
        to: &mut Pinned,
        len: usize,
    ) -> Result<()> {
        check_gcm(len, aad.len())?;
        let sums = self.run_pinned(&Message::new(key, nonce, Direction::Decrypt, len), from, to, len);
        let verified = sums.and_then(|sums| {
            let found = self.tag(key, nonce, aad, len, sums)?;
            first_difference(&[found], &[*tag]).map_or(Ok(()), |_| Err(AesError::Tag))
        });
        if verified.is_err() {
            to.zero();
        }
        verified
    }

    fn run_pinned<J: Job>(
        &self,
        job: &J,
        from: &Pinned,
        to: &mut Pinned,
        len: usize,
    ) -> Result<Vec<J::Output>> {
        let words = from.words().min(to.words());
        if words < len.div_ceil(8) {
            let reason = format!("{len} bytes do not fit into {words} words of page-locked memory");
            return Err(failed("copy")(gpu::Error::Driver { call: "AesGpu", reason }));
        }
        let slice =
            if job.chunk_len() == usize::MAX { self.slice } else { whole(self.slice, job.chunk_len()) };
        let slices = len.div_ceil(slice);
        let device = &self.devices[0];
        let mut lanes = Vec::new();
        for _ in 0..slices.clamp(1, STREAMS) {
            let mut lane = device.lane()?;
            let state = job.begin(&mut lane)?;
            lanes.push((lane, state));
        }
        let streams = lanes.len();
        let done = self.enqueue_pinned(job, &mut lanes, from, to, len, slice);
        // Nothing is in progress when this returns, even after an error.
        let mut waited = Ok(());
        for (lane, _) in &lanes {
            waited = waited.and(lane.aes.stream().synchronize().map_err(failed("copy")));
        }
        done.and(waited)?;
        let mut outputs = Vec::with_capacity(streams);
        for (mut lane, state) in lanes {
            outputs.push(job.end(&mut lane, state)?);
            device.give(lane);
        }
        Ok(outputs)
    }

    fn enqueue_pinned<J: Job>(
        &self,
        job: &J,
        lanes: &mut [(Lane, J::State)],
        from: &Pinned,
        to: &mut Pinned,
        len: usize,
        slice: usize,
    ) -> Result<()> {
        let (slices, streams) = (len.div_ceil(slice), lanes.len());
        let ahead = AHEAD.min(streams - 1);
        for i in 0..slices + ahead {
            if i < slices {
                let (lane, state) = &mut lanes[i % streams];
                let bytes = slice.min(len - i * slice);
                lane.reserve(Chunks::new(bytes, bytes)?.extent().div_ceil(8))?;
                let stream = lane.aes.stream().clone();
                let sent = stream.write_pinned(from, i * slice / 8, &mut lane.device, 0, bytes.div_ceil(8));
                sent.map_err(failed("copy"))?;
                job.transform(lane, state, i * slice, bytes)?;
            }
            if let Some(i) = i.checked_sub(ahead) {
                let (lane, _) = &mut lanes[i % streams];
                let bytes = slice.min(len - i * slice);
                let stream = lane.aes.stream();
                let received = stream.read_pinned(&lane.device, 0, to, i * slice / 8, bytes.div_ceil(8));
                received.map_err(failed("copy"))?;
            }
        }
        Ok(())
    }
}
