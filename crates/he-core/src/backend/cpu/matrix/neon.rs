//! Tiles in registers of 128 bits.
#![allow(unsafe_code)]

use std::arch::aarch64::{
    vdupq_n_s32, vdupq_n_s64, vget_low_s32, vld1_s32, vld1q_s32, vmlal_high_lane_s32, vmlal_lane_s32,
    vst1q_s64,
};

pub(super) const ROWS: usize = 2;
pub(super) const COLUMNS: usize = 4;

/// Products of pieces, as [`portable::multiply`](super::portable::multiply) has them.
pub(super) fn multiply((left, right): (usize, usize), a: &[u64], b: &[u64], sums: &mut [i64]) {
    let (steps, rest) = (2 * a.len() / (left * ROWS), sums.len() - left * right * ROWS * COLUMNS);
    assert!(steps == 2 * b.len() / (right * COLUMNS) && rest == 0, "panels of one size");
    let (a, b, sums) = (a.as_ptr().cast(), b.as_ptr().cast(), sums.as_mut_ptr());
    // SAFETY: every processor of this architecture has NEON; the panels have the steps, and the
    // sums the tiles, as just checked.
    unsafe {
        match (left, right) {
            (1, 1) => tile::<1, 1>(steps, a, b, sums),
            (1, 2) => tile::<1, 2>(steps, a, b, sums),
            (2, 2) => tile::<2, 2>(steps, a, b, sums),
            _ => tile::<2, 3>(steps, a, b, sums),
        }
    }
}

/// # Safety
/// `a` has `steps` times L x ROWS numbers, `b` as many times R x COLUMNS, and `sums` has L x R
/// tiles.
#[target_feature(enable = "neon")]
unsafe fn tile<const L: usize, const R: usize>(steps: usize, a: *const i32, b: *const i32, sums: *mut i64) {
    let mut tiles = [[[vdupq_n_s64(0); ROWS * COLUMNS / 2]; R]; L];
    for k in 0..steps {
        let mut right = [vdupq_n_s32(0); R];
        for (j, right) in right.iter_mut().enumerate() {
            // SAFETY: step k is one of the panel's.
            *right = unsafe { vld1q_s32(b.add((k * R + j) * COLUMNS)) };
        }
        for (i, tiles) in tiles.iter_mut().enumerate() {
            // SAFETY: likewise.
            let x = unsafe { vld1_s32(a.add((k * L + i) * ROWS)) };
            for ([s0, s1, s2, s3], &y) in tiles.iter_mut().zip(&right) {
                *s0 = vmlal_lane_s32::<0>(*s0, vget_low_s32(y), x);
                *s1 = vmlal_high_lane_s32::<0>(*s1, y, x);
                *s2 = vmlal_lane_s32::<1>(*s2, vget_low_s32(y), x);
                *s3 = vmlal_high_lane_s32::<1>(*s3, y, x);
            }
        }
    }
    // Loops over the dimensions would keep the tiles in memory while they are computed.
    for (i, &line) in tiles.as_flattened().as_flattened().iter().enumerate() {
        // SAFETY: the tiles are the sums'.
        unsafe { vst1q_s64(sums.add(2 * i), line) };
    }
}
