//! AES on the processor.

mod ctr;
mod ecb;
mod engine;
mod gcm;
mod ghash;
mod xts;

use super::bulk::in_chunks;
use super::{
    AesError, Bulk, BulkCipher, Direction, GcmChunks, Key, Result, XtsKey, check_ecb, check_gcm, check_xts,
};
use crate::parallel::*;
use crate::secret_words::wipe_stack;
use engine::{Decryptor, Direct, Encryptor};
use gcm::Gcm;

/// AES on the processor: RustCrypto's `aes` (AES-NI or VAES where the processor has them, found at
/// run time; bitsliced code elsewhere) with modes that keep its widest batches busy.
///
/// Constant time: no branch and no address depends on keys or data. Data of 128 KiB or more are
/// split over the threads of the current rayon pool; the result does not depend on their number.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpu(());

/// Data below this length stay on the calling thread: waking another takes as long as encrypting
/// them.
const PARALLEL: usize = 128 << 10;
/// The least number of bytes that a thread takes at once.
const GRAIN: usize = 32 << 10;

impl Cpu {
    /// Uses the processor, whatever instructions it has.
    pub const fn new() -> Self {
        Self(())
    }

    /// Returns whether the processor has AES instructions. Without them, AES is ten to fifty times
    /// as slow.
    pub fn has_instructions(&self) -> bool {
        aes::hardware_accelerated()
    }
}

/// The length of the ranges into which data are split, a multiple of `unit`: four ranges per
/// thread, so that a thread that starts late delays little. It is at least `len` if there should be
/// only one range.
fn range_len(len: usize, unit: usize) -> usize {
    let threads = threads();
    if threads == 1 || len < PARALLEL {
        return len.max(1).next_multiple_of(unit);
    }
    (len / (4 * threads)).max(GRAIN).next_multiple_of(unit)
}

/// Runs an operation on ranges of the data, passing the offset of each range.
fn over_ranges(data: Bulk<'_>, unit: usize, operation: impl Fn(usize, Bulk<'_>) + Sync) {
    let range = range_len(data.len(), unit);
    if range >= data.len() {
        return operation(0, data);
    }
    let ranges: Vec<_> = data.pieces(range).collect();
    ranges.into_par_iter().enumerate().for_each(|(i, data)| {
        operation(i * range, data);
        // This thread's stack is not reached when a key is dropped.
        wipe_stack();
    });
}

impl BulkCipher for Cpu {
    fn name(&self) -> String {
        let aes = if self.has_instructions() { "AES instructions" } else { "bitsliced" };
        format!("CPU ({aes})")
    }

    fn hazmat_ecb(&self, key: &Key, direction: Direction, data: Bulk<'_>) -> Result<()> {
        check_ecb(data.len())?;
        match direction {
            Direction::Encrypt => {
                let cipher = Encryptor::new(key);
                over_ranges(data, 16, |_, data| cipher.run(ecb::Ecb { data }));
            }
            Direction::Decrypt => {
                let cipher = Decryptor::new(key);
                over_ranges(data, 16, |_, data| cipher.run(ecb::Ecb { data }));
            }
        }
        Ok(())
    }

    fn hazmat_ctr(&self, key: &Key, counter: &[u8; 16], data: Bulk<'_>) -> Result<()> {
        let cipher = Encryptor::new(key);
        let counter = u128::from_be_bytes(*counter);
        over_ranges(data, 16, |offset, data| {
            let counter = counter.wrapping_add(offset as u128 / 16);
            cipher.run(ctr::Ctr { counter, width: ctr::Width::Bits128, data });
        });
        Ok(())
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
        let tweaks = Encryptor::new(keys.tweak());
        match direction {
            Direction::Encrypt => {
                let cipher = Encryptor::new(keys.data());
                let units =
                    xts::Units { tweaks: &tweaks, cipher: &cipher, first, len: unit_len, swapped: false };
                units.run(data);
            }
            Direction::Decrypt => {
                let cipher = Decryptor::new(keys.data());
                let units =
                    xts::Units { tweaks: &tweaks, cipher: &cipher, first, len: unit_len, swapped: true };
                units.run(data);
            }
        }
        Ok(())
    }

    fn gcm_seal(&self, key: &Key, nonce: &[u8; 12], aad: &[u8], data: Bulk<'_>) -> Result<[u8; 16]> {
        check_gcm(data.len(), aad.len())?;
        Ok(Gcm::new(key).seal(nonce, aad, data))
    }

    fn gcm_open(
        &self,
        key: &Key,
        nonce: &[u8; 12],
        aad: &[u8],
        tag: &[u8; 16],
        data: Bulk<'_>,
    ) -> Result<()> {
        check_gcm(data.len(), aad.len())?;
        if Gcm::new(key).open(nonce, aad, tag, data) { Ok(()) } else { Err(AesError::Tag) }
    }

    fn gcm_seal_chunks(
        &self,
        key: &Key,
        chunks: GcmChunks<'_>,
        data: Bulk<'_>,
        tags: &mut [[u8; 16]],
    ) -> Result<()> {
        chunks.check(data.len(), tags.len())?;
        let (gcm, parallel) = (Gcm::new(key), data.len() >= PARALLEL);
        let seal = |(i, (tag, chunk)): (usize, (&mut [u8; 16], Bulk<'_>))| {
            *tag = gcm.seal(&chunks.nonces()[i], chunks.aad(i), chunk);
        };
        let pairs = in_chunks(chunks, data);
        if parallel {
            tags.par_iter_mut().zip(pairs).enumerate().for_each(seal);
        } else {
            tags.iter_mut().zip(pairs).enumerate().for_each(seal);
        }
        Ok(())
    }

    fn gcm_open_chunks(
        &self,
        key: &Key,
        chunks: GcmChunks<'_>,
        tags: &[[u8; 16]],
        mut data: Bulk<'_>,
    ) -> Result<()> {
        chunks.check(data.len(), tags.len())?;
        let (gcm, parallel) = (Gcm::new(key), data.len() >= PARALLEL);
        let wrong = |(i, (tag, chunk)): (usize, (&[u8; 16], Bulk<'_>))| {
            (!gcm.open(&chunks.nonces()[i], chunks.aad(i), tag, chunk)).then_some(i)
        };
        let pairs = in_chunks(chunks, data.reborrow());
        let wrong = if parallel {
            tags.par_iter().zip(pairs).enumerate().filter_map(wrong).min()
        } else {
            tags.iter().zip(pairs).enumerate().filter_map(wrong).min()
        };
        match wrong {
            None => Ok(()),
            Some(index) => {
                data.output().fill(0);
                Err(AesError::ChunkTag { index })
            }
        }
    }
}
