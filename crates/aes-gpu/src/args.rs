//! Parameters of kernels, laid out as in kernels/include/aes*.cuh and kernels/aes*.cu.

/// Chunks of `len` bytes, the last of `last`, `stride` bytes apart.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunks {
    pub(crate) stride: u64,
    pub(crate) len: u64,
    pub(crate) last: u64,
    pub(crate) count: u32,
    /// Into which the work on the longest chunk is cut.
    pub(crate) parts: u32,
}

#[repr(C, align(16))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ctr {
    pub(crate) src: u64,
    pub(crate) dst: u64,
    pub(crate) keys: u64,
    pub(crate) counters: u64,
    pub(crate) counter: [u8; 16],
    pub(crate) chunks: Chunks,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ecb {
    pub(crate) src: u64,
    pub(crate) dst: u64,
    pub(crate) keys: u64,
    pub(crate) blocks: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct EcbColumns {
    pub(crate) ecb: Ecb,
    pub(crate) rounds: u32,
    pub(crate) unused: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Xts {
    pub(crate) src: u64,
    pub(crate) dst: u64,
    pub(crate) keys: u64,
    pub(crate) tweaks: u64,
    pub(crate) chunks: Chunks,
    pub(crate) contiguous: u32,
    pub(crate) unused: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct XtsTweaks {
    pub(crate) keys: u64,
    pub(crate) tweaks: u64,
    pub(crate) first: [u64; 2],
    pub(crate) units: u32,
    pub(crate) rows: u32,
    pub(crate) rounds: u32,
    pub(crate) unused: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct XtsSteal {
    pub(crate) src: u64,
    pub(crate) dst: u64,
    pub(crate) keys: u64,
    pub(crate) tweaks: u64,
    pub(crate) chunks: Chunks,
    pub(crate) rounds: u32,
    pub(crate) inverse: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct GhashKey {
    pub(crate) keys: u64,
    pub(crate) key: u64,
    pub(crate) rounds: u32,
    pub(crate) unused: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ghash {
    pub(crate) src: u64,
    pub(crate) key: u64,
    pub(crate) sums: u64,
    pub(crate) chunks: Chunks,
    pub(crate) after: u64,
    pub(crate) after_last: u64,
    pub(crate) segment: u32,
    pub(crate) unused: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct GcmFinish {
    pub(crate) keys: u64,
    pub(crate) key: u64,
    pub(crate) sums: u64,
    pub(crate) tags: u64,
    pub(crate) counters: u64,
    pub(crate) len: u64,
    pub(crate) last: u64,
    pub(crate) aad: u64,
    pub(crate) count: u32,
    pub(crate) rounds: u32,
}

/// Bytes of `GhashKey` of kernels/include/ghash.cuh: 32 x 16 halves, 288 low powers, 4 x 256
/// digits.
pub(crate) const GHASH_KEY_BYTES: usize = 16 * (32 * 16 + 288 + 4 * 256);

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    /// As CUDA lays them out: `uint4` has an alignment of 16.
    #[test]
    fn layouts() {
        assert_eq!((size_of::<Chunks>(), offset_of!(Chunks, parts)), (32, 28));
        assert_eq!((size_of::<Ctr>(), offset_of!(Ctr, counter), offset_of!(Ctr, chunks)), (80, 32, 48));
        assert_eq!((size_of::<Ecb>(), size_of::<EcbColumns>(), offset_of!(EcbColumns, rounds)), (32, 40, 32));
        assert_eq!((size_of::<Xts>(), offset_of!(Xts, chunks), offset_of!(Xts, contiguous)), (72, 32, 64));
        assert_eq!((size_of::<XtsTweaks>(), offset_of!(XtsTweaks, units)), (48, 32));
        assert_eq!((size_of::<XtsSteal>(), offset_of!(XtsSteal, rounds)), (72, 64));
        assert_eq!((size_of::<GhashKey>(), offset_of!(GhashKey, rounds)), (24, 16));
        assert_eq!((size_of::<Ghash>(), offset_of!(Ghash, after), offset_of!(Ghash, segment)), (80, 56, 72));
        assert_eq!((size_of::<GcmFinish>(), offset_of!(GcmFinish, count)), (72, 64));
    }
}
