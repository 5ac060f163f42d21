//! Transforms: which kernels a degree takes, and what is fused into them.

use crate::constants::Limbs;
use crate::cuda::Cuda;
use crate::kernels::Entry;
use he_core::Result;

/// What happens to a digit's own limbs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Own {
    /// There is no digit.
    Transform = 0,
    /// Nothing: they are read where they are.
    Skip = 1,
    /// They are copied from `acc[0]`.
    Copy = 2,
}

/// Arguments of every transform kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Args {
    pub(crate) src: [u64; 2],
    pub(crate) dst: [u64; 2],
    pub(crate) src_digit: u64,
    pub(crate) dst_digit: u64,
    pub(crate) primes: u64,
    pub(crate) limbs: Limbs,
    pub(crate) log_n: u32,
    pub(crate) log_tiles: u32,
    pub(crate) scale: u64,
    pub(crate) scale_last: u64,
    pub(crate) bases: u64,
    pub(crate) convert: u32,
    pub(crate) own: Own,
    pub(crate) acc: [u64; 2],
    pub(crate) factors: u64,
    pub(crate) addend: u64,
    pub(crate) galois: u32,
    pub(crate) unused: u32,
}

impl Args {
    /// A transform of rows with nothing fused into it.
    pub(crate) fn new(primes: u64, limbs: Limbs, log_n: u32) -> Self {
        Self {
            src: [0; 2],
            dst: [0; 2],
            src_digit: 0,
            dst_digit: 0,
            primes,
            limbs,
            log_n,
            log_tiles: 0,
            scale: 0,
            scale_last: 0,
            bases: 0,
            convert: 0,
            own: Own::Transform,
            acc: [0; 2],
            factors: 0,
            addend: 0,
            galois: 1,
            unused: 0,
        }
    }
}

/// Rows, digits and polynomials of one launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) rows: usize,
    pub(crate) digits: usize,
    pub(crate) parts: usize,
}

impl Extent {
    pub(crate) const fn rows(rows: usize) -> Self {
        Self { rows, digits: 1, parts: 1 }
    }

    fn grid(self, log_tiles: u32) -> [u32; 3] {
        [(self.rows << log_tiles) as u32, self.digits as u32, self.parts as u32]
    }
}

/// log2 of the largest degree that one block transforms.
const LARGEST_SINGLE: u32 = 13;
/// log2 of the points of a tile of the larger degrees, and its threads.
const LOG_TILE: u32 = 12;
const TILE_THREADS: u32 = 256;

impl Cuda {
    /// Coefficients to values. With `args.convert`, `src` holds the y of the source limbs; with `args.factors`, (acc - value) factor
    /// is stored. Degrees above 2^13 pass through `between`, which is the destination unless a Galois element permutes it.
    ///
    /// # Safety
    /// The addresses in `args` and `between` are live and hold the rows of `extent`.
    pub(crate) unsafe fn forward(
        &self,
        op: &'static str,
        args: &Args,
        extent: Extent,
        between: [u64; 2],
    ) -> Result<()> {
        let (convert, sub) = (args.convert != 0, args.factors != 0);
        let log_n = args.log_n;
        if log_n <= LARGEST_SINGLE {
            let entry = match (log_n, convert, sub) {
                (12, false, false) => Entry::Forward12,
                (12, true, false) => Entry::Convert12,
                (12, false, true) => Entry::ForwardSub12,
                (12, true, true) => Entry::ConvertSub12,
                (13, false, false) => Entry::Forward13,
                (13, true, false) => Entry::Convert13,
                (13, false, true) => Entry::ForwardSub13,
                (13, true, true) => Entry::ConvertSub13,
                _ => Entry::SmallForward,
            };
            // SAFETY: as the caller promises.
            return unsafe { self.launch(op, entry, extent.grid(0), threads(log_n), 8 << log_n, args) };
        }
        let log_tiles = log_n - LOG_TILE;
        let columns = Args { log_tiles, dst: between, factors: 0, ..*args };
        let rows = Args { log_tiles, src: between, src_digit: args.dst_digit, convert: 0, ..*args };
        let entry = match (log_n, convert) {
            (14, false) => Entry::Columns14,
            (14, true) => Entry::ColumnsConvert14,
            (15, false) => Entry::Columns15,
            (15, true) => Entry::ColumnsConvert15,
            (16, false) => Entry::Columns16,
            (16, true) => Entry::ColumnsConvert16,
            (_, false) => Entry::Columns17,
            (_, true) => Entry::ColumnsConvert17,
        };
        let grid = extent.grid(log_tiles);
        // SAFETY: as the caller promises.
        unsafe { self.launch(op, entry, grid, TILE_THREADS, 8 << LOG_TILE, &columns)? };
        let entry = if sub { Entry::RowsSub } else { Entry::Rows };
        // SAFETY: as the caller promises.
        unsafe { self.launch(op, entry, grid, TILE_THREADS, 8 << LOG_TILE, &rows) }
    }

    /// Values to coefficients, times `args.scale`.
    ///
    /// # Safety
    /// The addresses in `args` are live and hold the rows of `extent`.
    pub(crate) unsafe fn inverse(&self, op: &'static str, args: &Args, extent: Extent) -> Result<()> {
        let log_n = args.log_n;
        if log_n <= LARGEST_SINGLE {
            let entry = match log_n {
                12 => Entry::Inverse12,
                13 => Entry::Inverse13,
                _ => Entry::SmallInverse,
            };
            // SAFETY: as the caller promises.
            return unsafe { self.launch(op, entry, extent.grid(0), threads(log_n), 8 << log_n, args) };
        }
        let log_tiles = log_n - LOG_TILE;
        let args = Args { log_tiles, ..*args };
        let entry = match log_n {
            14 => Entry::ColumnsInverse14,
            15 => Entry::ColumnsInverse15,
            16 => Entry::ColumnsInverse16,
            _ => Entry::ColumnsInverse17,
        };
        let grid = extent.grid(log_tiles);
        // SAFETY: as the caller promises.
        unsafe { self.launch(op, Entry::RowsInverse, grid, TILE_THREADS, 8 << LOG_TILE, &args)? };
        // SAFETY: as the caller promises.
        unsafe { self.launch(op, entry, grid, TILE_THREADS, 8 << LOG_TILE, &args) }
    }
}

/// Threads of the kernels of one block a row: two points each below 2^12, sixteen from there on.
const fn threads(log_n: u32) -> u32 {
    if log_n < 12 { 1 << (log_n - 1) } else { 1 << (log_n - 4) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    #[test]
    fn layout_is_that_of_the_kernels() {
        let offsets = [
            offset_of!(Args, primes),
            offset_of!(Args, limbs),
            offset_of!(Args, log_n),
            offset_of!(Args, scale),
            offset_of!(Args, bases),
            offset_of!(Args, convert),
            offset_of!(Args, acc),
            offset_of!(Args, factors),
            offset_of!(Args, galois),
            size_of::<Args>(),
        ];
        assert_eq!(offsets, [48, 56, 72, 80, 96, 104, 112, 128, 144, 152]);
    }
}
