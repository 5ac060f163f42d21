//! Tiles in registers of 512 bits.
#![allow(unsafe_code)]

use std::arch::x86_64::{
    __m512i, _mm256_loadu_si256, _mm512_add_epi64, _mm512_castsi512_si256, _mm512_cvtepi32_epi64,
    _mm512_dpbusd_epi32, _mm512_extracti64x4_epi64, _mm512_loadu_si512, _mm512_madd52hi_epu64,
    _mm512_madd52lo_epu64, _mm512_mul_epi32, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_setzero_si512,
    _mm512_sllv_epi64, _mm512_storeu_si512,
};

pub(super) const PIECE_ROWS: usize = 4;
pub(super) const PIECE_COLUMNS: usize = 8;
pub(super) const FUSED_ROWS: usize = 6;
pub(super) const FUSED_COLUMNS: usize = 16;
pub(super) const BYTE_ROWS: usize = 12;
pub(super) const BYTE_COLUMNS: usize = 32;

/// Whether the processor adds up products of bytes (VNNI).
pub(super) fn has_bytes() -> bool {
    is_x86_feature_detected!("avx512vnni")
}

/// Products of pieces, as [`portable::multiply`](super::portable::multiply) has them. The caller
/// has found AVX-512.
pub(super) fn multiply_pieces((left, right): (usize, usize), a: &[u64], b: &[u64], sums: &mut [i64]) {
    const TILE: usize = PIECE_ROWS * PIECE_COLUMNS;
    let steps = 2 * a.len() / (left * PIECE_ROWS);
    let fits = steps == 2 * b.len() / (right * PIECE_COLUMNS) && sums.len() == left * right * TILE;
    assert!(fits, "panels of one size");
    let (a, b, sums) = (a.as_ptr().cast(), b.as_ptr().cast(), sums.as_mut_ptr());
    // SAFETY: kernels of this kind exist only where AVX-512 was found; the panels have the steps,
    // and the sums the tiles, as just checked.
    unsafe {
        match (left, right) {
            (1, 1) => pieces::<1, 1>(steps, a, b, sums),
            (1, 2) => pieces::<1, 2>(steps, a, b, sums),
            (2, 2) => pieces::<2, 2>(steps, a, b, sums),
            _ => pieces::<2, 3>(steps, a, b, sums),
        }
    }
}

/// # Safety
/// `a` has `steps` times L x ROWS numbers, `b` as many times R x COLUMNS, and `sums` has L x R
/// tiles.
#[target_feature(enable = "avx512f")]
unsafe fn pieces<const L: usize, const R: usize>(steps: usize, a: *const i32, b: *const i32, sums: *mut i64) {
    let mut tile = [[[_mm512_setzero_si512(); R]; L]; PIECE_ROWS];
    for k in 0..steps {
        let mut right = [_mm512_setzero_si512(); R];
        for (j, right) in right.iter_mut().enumerate() {
            let at = (k * R + j) * PIECE_COLUMNS;
            // SAFETY: step k is one of the panel's.
            *right = _mm512_cvtepi32_epi64(unsafe { _mm256_loadu_si256(b.add(at).cast()) });
        }
        for (r, row) in tile.iter_mut().enumerate() {
            for (i, sums) in row.iter_mut().enumerate() {
                // SAFETY: likewise.
                let x = _mm512_set1_epi32(unsafe { *a.add((k * L + i) * PIECE_ROWS + r) });
                for (sum, &y) in sums.iter_mut().zip(&right) {
                    *sum = _mm512_add_epi64(*sum, _mm512_mul_epi32(x, y));
                }
            }
        }
    }
    for (r, row) in tile.iter().enumerate() {
        for (i, row) in row.iter().enumerate() {
            for (j, &sum) in row.iter().enumerate() {
                let at = ((i * R + j) * PIECE_ROWS + r) * PIECE_COLUMNS;
                // SAFETY: the tile is one of the sums'.
                unsafe { _mm512_storeu_si512(sums.add(at).cast::<__m512i>(), sum) };
            }
        }
    }
}

/// Products of residues below 2^52: the sums of their low 52 bits, then those of the high ones. The
/// caller has found IFMA.
pub(super) fn multiply_fused(a: &[u64], b: &[u64], sums: &mut [i64]) {
    let steps = a.len() / FUSED_ROWS;
    let fits = steps == b.len() / FUSED_COLUMNS && sums.len() == 2 * FUSED_ROWS * FUSED_COLUMNS;
    assert!(fits, "panels of one size");
    // SAFETY: kernels of this kind exist only where IFMA was found; the panels have the steps, and
    // the sums the tiles, as just checked.
    unsafe { fused(steps, a.as_ptr(), b.as_ptr(), sums.as_mut_ptr()) }
}

/// # Safety
/// `a` has `steps` times ROWS numbers, `b` as many times COLUMNS, and `sums` has two tiles.
#[target_feature(enable = "avx512f,avx512ifma")]
unsafe fn fused(steps: usize, a: *const u64, b: *const u64, sums: *mut i64) {
    const LINES: usize = FUSED_COLUMNS / 8;
    let mut low = [[_mm512_setzero_si512(); LINES]; FUSED_ROWS];
    let mut high = low;
    for k in 0..steps {
        let mut right = [_mm512_setzero_si512(); LINES];
        for (line, right) in right.iter_mut().enumerate() {
            // SAFETY: step k is one of the panel's.
            *right = unsafe { _mm512_loadu_si512(b.add(k * FUSED_COLUMNS + 8 * line).cast()) };
        }
        for (r, (low, high)) in low.iter_mut().zip(&mut high).enumerate() {
            // SAFETY: likewise.
            let x = _mm512_set1_epi64(unsafe { *a.add(k * FUSED_ROWS + r) } as i64);
            for ((low, high), &y) in low.iter_mut().zip(high).zip(&right) {
                *low = _mm512_madd52lo_epu64(*low, x, y);
                *high = _mm512_madd52hi_epu64(*high, x, y);
            }
        }
    }
    for (plane, tile) in [low, high].iter().enumerate() {
        for (r, row) in tile.iter().enumerate() {
            for (line, &sum) in row.iter().enumerate() {
                let at = (plane * FUSED_ROWS + r) * FUSED_COLUMNS + 8 * line;
                // SAFETY: the tile is one of the sums'.
                unsafe { _mm512_storeu_si512(sums.add(at).cast::<__m512i>(), sum) };
            }
        }
    }
}

/// Adds sums of products of bytes, times 2^shift, to those that are there. The left ones are signed
/// and the right ones not, or the other way round. The caller has found VNNI.
pub(super) fn multiply_bytes(left_signed: bool, a: &[u64], b: &[u64], shift: u32, sums: &mut [i64]) {
    let steps = 2 * a.len() / BYTE_ROWS;
    let fits = steps == 2 * b.len() / BYTE_COLUMNS && sums.len() == BYTE_ROWS * BYTE_COLUMNS;
    assert!(fits, "panels of one size");
    let (a, b, sums) = (a.as_ptr().cast(), b.as_ptr().cast(), sums.as_mut_ptr());
    // SAFETY: kernels of this kind exist only where VNNI was found; the panels have the steps, and
    // the sums the tile, as just checked.
    unsafe {
        if left_signed {
            bytes::<true>(steps, a, b, shift, sums);
        } else {
            bytes::<false>(steps, a, b, shift, sums);
        }
    }
}

/// # Safety
/// `a` has `steps` times ROWS numbers, `b` as many times COLUMNS, and `sums` has a tile.
#[target_feature(enable = "avx512f,avx512vnni")]
unsafe fn bytes<const LEFT_SIGNED: bool>(
    steps: usize,
    a: *const i32,
    b: *const i32,
    shift: u32,
    sums: *mut i64,
) {
    const LINES: usize = BYTE_COLUMNS / 16;
    let mut tile = [[_mm512_setzero_si512(); LINES]; BYTE_ROWS];
    for k in 0..steps {
        let mut right = [_mm512_setzero_si512(); LINES];
        for (line, right) in right.iter_mut().enumerate() {
            // SAFETY: step k is one of the panel's.
            *right = unsafe { _mm512_loadu_si512(b.add(k * BYTE_COLUMNS + 16 * line).cast()) };
        }
        for (r, row) in tile.iter_mut().enumerate() {
            // SAFETY: likewise.
            let x = _mm512_set1_epi32(unsafe { *a.add(k * BYTE_ROWS + r) });
            for (sum, &y) in row.iter_mut().zip(&right) {
                *sum = if LEFT_SIGNED {
                    _mm512_dpbusd_epi32(*sum, y, x)
                } else {
                    _mm512_dpbusd_epi32(*sum, x, y)
                };
            }
        }
    }
    let shift = _mm512_set1_epi64(shift.into());
    for (r, row) in tile.iter().enumerate() {
        for (line, &sum) in row.iter().enumerate() {
            let halves = [_mm512_castsi512_si256(sum), _mm512_extracti64x4_epi64::<1>(sum)];
            for (half, &sum) in halves.iter().enumerate() {
                // SAFETY: the tile is that of the sums.
                let to = unsafe { sums.add(r * BYTE_COLUMNS + 16 * line + 8 * half) }.cast::<__m512i>();
                let wide = _mm512_sllv_epi64(_mm512_cvtepi32_epi64(sum), shift);
                // SAFETY: likewise.
                unsafe { _mm512_storeu_si512(to, _mm512_add_epi64(_mm512_loadu_si512(to), wide)) };
            }
        }
    }
}
