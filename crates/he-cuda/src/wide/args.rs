//! Arguments of the kernels modulo powers of two, their checks, and their launch.

use crate::constants::{Grid, Limbs};
use crate::cuda::Cuda;
use crate::kernels::Entry;
use crate::key_form::KeyLayout;
use crate::ring::CudaRing;
use bytemuck::NoUninit;
use gpu::Buffer;
use he_core::Result;
use he_core::backend::WideRows;
use he_core::ring::Operand;

/// Threads of a block.
pub(super) const THREADS: u32 = 128;
/// The words, and the limbs, that a thread processes together.
pub(super) const GROUP: usize = 4;
/// The bits of the low part of a residue.
pub(super) const PART_BITS: u32 = 25;
/// The most words of a number.
pub(super) const MAX_WORDS: usize = 128;

#[repr(C)]
#[derive(Clone, Copy, NoUninit, Debug)]
pub(super) struct Shape {
    pub(super) log_n: u32,
    pub(super) batch: u32,
    pub(super) words: u32,
    pub(super) bits: u32,
    pub(super) top_mask: u64,
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
pub(super) struct SumArgs {
    pub(super) shape: Shape,
    pub(super) a: u64,
    pub(super) b: u64,
    pub(super) dst: u64,
    pub(super) flip: u64,
    pub(super) b_batch: u32,
    pub(super) unused: u32,
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
pub(super) struct ScaleArgs {
    pub(super) shape: Shape,
    pub(super) src: u64,
    pub(super) dst: u64,
    pub(super) skip: u32,
    pub(super) count: u32,
    pub(super) factor: [u64; MAX_WORDS],
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
pub(super) struct ShiftArgs {
    pub(super) to: Shape,
    pub(super) src: u64,
    pub(super) dst: u64,
    pub(super) shift: u32,
    pub(super) words: u32,
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
pub(super) struct AutomorphismArgs {
    pub(super) shape: Shape,
    pub(super) src: u64,
    pub(super) dst: u64,
    pub(super) src_batch: u32,
    pub(super) inverse: u32,
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
pub(super) struct SignedArgs {
    pub(super) shape: Shape,
    pub(super) src: u64,
    pub(super) dst: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct SampleArgs {
    pub(super) shape: Shape,
    pub(super) dst: u64,
    pub(super) kind: u32,
    pub(super) index: u32,
    pub(super) seed: [u32; 8],
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
pub(super) struct ResiduesArgs {
    pub(super) src: [u64; 4],
    pub(super) dst: u64,
    pub(super) primes: u64,
    pub(super) radix: u64,
    pub(super) limbs: Limbs,
    pub(super) batch: [u32; 2],
    pub(super) log_n: u32,
    pub(super) bits: u32,
    pub(super) digit_bits: u32,
    pub(super) digits: u32,
    pub(super) limb_count: u32,
    pub(super) stride: u32,
    pub(super) offset: [u64; MAX_WORDS],
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
pub(super) struct ComposeArgs {
    pub(super) to: Shape,
    pub(super) y: u64,
    pub(super) scale: u64,
    pub(super) primes: u64,
    pub(super) reciprocal: u64,
    pub(super) hat: u64,
    pub(super) minus_product: u64,
    pub(super) limbs: Limbs,
    pub(super) dst: [u64; 3],
    pub(super) addend: [u64; 3],
    pub(super) count: u32,
    pub(super) words: u32,
    pub(super) shift: u32,
    pub(super) unused: u32,
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
pub(super) struct TensorArgs {
    pub(super) grid: Grid,
    pub(super) values: u64,
    pub(super) dst: u64,
    pub(super) width: u32,
    pub(super) second: u32,
    pub(super) b_batch: u32,
    pub(super) unused: u32,
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
pub(super) struct KeyArgs {
    pub(super) grid: Grid,
    pub(super) digits: u64,
    pub(super) key: u64,
    pub(super) dst: u64,
    pub(super) key_words: usize,
    pub(super) key_layout: KeyLayout,
    pub(super) count: u32,
    pub(super) unused: u32,
}

/// Whether a buffer holds rows.
pub(super) fn holds(ring: &CudaRing, buf: &Buffer, rows: WideRows) -> bool {
    rows.at + rows.count() * ring.n() <= buf.words()
}

/// Whether a buffer holds an operand for these rows.
pub(super) fn holds_operand(ring: &CudaRing, rows: WideRows, x: Operand<'_, Buffer>) -> bool {
    (x.batch == 1 || x.batch == rows.batch)
        && holds(ring, x.buf, WideRows { batch: x.batch, ..rows }.at(x.at))
}

pub(super) fn shape(ring: &CudaRing, rows: WideRows) -> Shape {
    assert!(
        rows.words() <= MAX_WORDS && rows.batch << ring.log_n() <= 1 << 31,
        "too many words or coefficients"
    );
    Shape {
        log_n: ring.log_n(),
        batch: rows.batch as u32,
        words: rows.words() as u32,
        bits: rows.bits,
        top_mask: rows.top_mask(),
    }
}

impl Cuda {
    /// Launches a kernel with one thread per coefficient.
    ///
    /// # Safety
    /// As for [`launch`](Self::launch).
    pub(super) unsafe fn launch_wide<A: NoUninit>(
        &self,
        op: &'static str,
        entry: Entry,
        threads: usize,
        y: u32,
        args: &A,
    ) -> Result<()> {
        let blocks = threads.div_ceil(THREADS as usize) as u32;
        // SAFETY: guaranteed by the caller.
        unsafe { self.launch(op, entry, [blocks, y, 1], THREADS, 0, args) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    #[test]
    fn layouts_are_those_of_the_kernels() {
        assert_eq!((size_of::<Shape>(), offset_of!(Shape, top_mask)), (24, 16));
        assert_eq!((size_of::<SumArgs>(), offset_of!(SumArgs, b_batch)), (64, 56));
        assert_eq!((size_of::<ScaleArgs>(), offset_of!(ScaleArgs, factor)), (48 + 8 * MAX_WORDS, 48));
        assert_eq!((size_of::<ShiftArgs>(), size_of::<AutomorphismArgs>()), (48, 48));
        assert_eq!((size_of::<SignedArgs>(), size_of::<SampleArgs>()), (40, 72));
        let offsets = [offset_of!(ResiduesArgs, limbs), offset_of!(ResiduesArgs, log_n)];
        assert_eq!(offsets, [56, 80]);
        assert_eq!(offset_of!(ResiduesArgs, offset), 104);
        let offsets = [offset_of!(ComposeArgs, limbs), offset_of!(ComposeArgs, addend)];
        assert_eq!(offsets, [72, 112]);
        assert_eq!((offset_of!(ComposeArgs, count), size_of::<ComposeArgs>()), (136, 152));
        assert_eq!((size_of::<TensorArgs>(), offset_of!(TensorArgs, width)), (64, 48));
        let offsets = [offset_of!(KeyArgs, key_layout), offset_of!(KeyArgs, count)];
        assert_eq!((size_of::<KeyArgs>(), offsets), (96, [64, 88]));
    }
}
