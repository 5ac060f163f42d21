//! XTS on a stream.

use crate::args::{self, Chunks};
use crate::data::{DeviceData, check_stride};
use crate::kernels::{Entry, WARP};
use crate::key::DeviceXtsKey;
use crate::stream::{AesStream, failed};
use he_core::aes::{BLOCK, Direction, Result, check_xts};

/// The bytes of data between two launches of XTS. This bounds the memory for tweaks, which is 1/32
/// of it.
const XTS_SLAB: usize = 256 << 20;
/// The rows whose tweaks one thread computes (`XTS_ROWS`).
const TWEAK_ROWS: u64 = 8;

impl AesStream {
    /// XTS of `len` bytes in data units of `unit_len` bytes from number `first` on.
    ///
    /// # Errors
    /// The same as for [`BulkCipher::xts`](he_core::aes::BulkCipher::xts), and
    /// [`AesError::PartialBlock`](he_core::aes::AesError::PartialBlock) for several units that are
    /// not whole blocks; [`AesError::Backend`](he_core::aes::AesError::Backend), also where a
    /// buffer is too short.
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
        // SAFETY: the tweaks' buffer has 16 bytes for each row and is of this stream, as the keys
        // are.
        unsafe { self.launch("XTS", Entry::XtsTweaks, grid, &make)? };
        let contiguous = chunks.count == 1 || chunks.len.is_multiple_of(WARP * 16);
        let key = keys.data.address(direction);
        let tweaks = tweaks.address();
        let args =
            args::Xts { src, dst, keys: key, tweaks, chunks, contiguous: contiguous.into(), unused: 0 };
        let grid = self.grid(chunks.items());
        // SAFETY: guaranteed by the caller.
        unsafe { self.launch("XTS", Entry::Xts(direction, keys.data.size, self.tables), grid, &args)? };
        if chunks.len.is_multiple_of(16) && chunks.last.is_multiple_of(16) {
            return Ok(());
        }
        let inverse = direction == Direction::Decrypt;
        let (rounds, inverse) = (keys.data.rounds(), inverse.into());
        let args = args::XtsSteal { src, dst, keys: key, tweaks, chunks, rounds, inverse };
        let grid = u64::from(chunks.count.div_ceil(Entry::XtsSteal.block().0));
        // SAFETY: guaranteed by the caller.
        unsafe { self.launch("XTS", Entry::XtsSteal, grid, &args) }
    }
}
