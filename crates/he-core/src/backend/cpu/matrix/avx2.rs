//! Tiles in registers of 256 bits.
#![allow(unsafe_code)]

use std::arch::x86_64::{
    __m256i, _mm_loadu_si128, _mm256_add_epi64, _mm256_cvtepi32_epi64, _mm256_mul_epi32, _mm256_set1_epi32,
    _mm256_setzero_si256, _mm256_storeu_si256,
};

pub(super) const ROWS: usize = 2;
pub(super) const COLUMNS: usize = 4;

/// Products of pieces, as [`portable::multiply`](super::portable::multiply) has them. The caller
/// has found AVX2.
pub(super) fn multiply((left, right): (usize, usize), a: &[u64], b: &[u64], sums: &mut [i64]) {
    let (steps, rest) = (2 * a.len() / (left * ROWS), sums.len() - left * right * ROWS * COLUMNS);
    assert!(steps == 2 * b.len() / (right * COLUMNS) && rest == 0, "panels of one size");
    let (a, b, sums) = (a.as_ptr().cast(), b.as_ptr().cast(), sums.as_mut_ptr());
    // SAFETY: kernels of this kind exist only where AVX2 was found; the panels have the steps, and
    // the sums the tiles, as just checked.
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
#[target_feature(enable = "avx2")]
unsafe fn tile<const L: usize, const R: usize>(steps: usize, a: *const i32, b: *const i32, sums: *mut i64) {
    let mut tiles = [[[_mm256_setzero_si256(); ROWS]; R]; L];
    for k in 0..steps {
        let mut right = [_mm256_setzero_si256(); R];
        for (j, right) in right.iter_mut().enumerate() {
            // SAFETY: step k is one of the panel's.
            *right = _mm256_cvtepi32_epi64(unsafe { _mm_loadu_si128(b.add((k * R + j) * COLUMNS).cast()) });
        }
        for (i, tiles) in tiles.iter_mut().enumerate() {
            for r in 0..ROWS {
                // SAFETY: likewise.
                let x = _mm256_set1_epi32(unsafe { *a.add((k * L + i) * ROWS + r) });
                for (sums, &y) in tiles.iter_mut().zip(&right) {
                    sums[r] = _mm256_add_epi64(sums[r], _mm256_mul_epi32(x, y));
                }
            }
        }
    }
    // Loops over the dimensions would keep the tiles in memory while they are computed.
    for (i, &line) in tiles.as_flattened().as_flattened().iter().enumerate() {
        // SAFETY: the tiles are the sums'.
        unsafe { _mm256_storeu_si256(sums.add(COLUMNS * i).cast::<__m256i>(), line) };
    }
}
