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
pub(super) const SPLIT_ROWS: usize = 4;
pub(super) const SPLIT_COLUMNS: usize = 8;
const SPLIT_LEFT: usize = 2;
const SPLIT_RIGHT: usize = 3;
pub(super) const BYTE_ROWS: usize = 12;
pub(super) const BYTE_COLUMNS: usize = 32;

/// Whether the processor adds up products of bytes (VNNI).
pub(super) fn has_bytes() -> bool {
    is_x86_feature_detected!("avx512vnni")
}

/// Products of signed pieces, of which left numbers have one, as
/// [`portable::multiply`](super::portable::multiply) has them. The caller has found AVX-512.
pub(super) fn multiply_pieces(right: usize, a: &[u64], b: &[u64], sums: &mut [i64]) {
    let steps = 2 * a.len() / PIECE_ROWS;
    let fits =
        steps == 2 * b.len() / (right * PIECE_COLUMNS) && sums.len() == right * PIECE_ROWS * PIECE_COLUMNS;
    assert!(fits, "panels of one size");
    let (a, b, sums) = (a.as_ptr().cast(), b.as_ptr().cast(), sums.as_mut_ptr());
    // SAFETY: kernels of this kind exist only where AVX-512 was found; the panels have the steps,
    // and the sums the tiles, as just checked.
    unsafe {
        match right {
            1 => pieces::<1>(steps, a, b, sums),
            _ => pieces::<2>(steps, a, b, sums),
        }
    }
}

/// # Safety
/// `a` has `steps` times ROWS numbers, `b` as many times R x COLUMNS, and `sums` has R tiles.
#[target_feature(enable = "avx512f")]
unsafe fn pieces<const R: usize>(steps: usize, a: *const i32, b: *const i32, sums: *mut i64) {
    let mut tiles = [[_mm512_setzero_si512(); PIECE_ROWS]; R];
    for k in 0..steps {
        let mut right = [_mm512_setzero_si512(); R];
        for (j, right) in right.iter_mut().enumerate() {
            let at = (k * R + j) * PIECE_COLUMNS;
            // SAFETY: step k is one of the panel's.
            *right = _mm512_cvtepi32_epi64(unsafe { _mm256_loadu_si256(b.add(at).cast()) });
        }
        for r in 0..PIECE_ROWS {
            // SAFETY: likewise.
            let x = _mm512_set1_epi32(unsafe { *a.add(k * PIECE_ROWS + r) });
            for (sums, &y) in tiles.iter_mut().zip(&right) {
                sums[r] = _mm512_add_epi64(sums[r], _mm512_mul_epi32(x, y));
            }
        }
    }
    // SAFETY: the sums have the tiles.
    unsafe { store(tiles.as_flattened(), sums) }
}

/// Stores lines of sums one after the other. (Loops over the dimensions of a tile would keep it in
/// memory while it is computed.)
///
/// # Safety
/// `sums` has as many lines.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn store(lines: &[__m512i], sums: *mut i64) {
    for (i, &line) in lines.iter().enumerate() {
        // SAFETY: line i is one of the sums'.
        unsafe { _mm512_storeu_si512(sums.add(8 * i).cast::<__m512i>(), line) };
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
    // SAFETY: the sums have two tiles.
    unsafe {
        store(low.as_flattened(), sums);
        store(high.as_flattened(), sums.add(FUSED_ROWS * FUSED_COLUMNS));
    }
}

/// Products of pieces of residues, in a word each, which are below 2^52: two of left numbers times
/// three of right ones. The caller has found IFMA.
pub(super) fn multiply_split(a: &[u64], b: &[u64], sums: &mut [i64]) {
    let steps = a.len() / (SPLIT_LEFT * SPLIT_ROWS);
    let fits = steps == b.len() / (SPLIT_RIGHT * SPLIT_COLUMNS)
        && sums.len() == SPLIT_LEFT * SPLIT_RIGHT * SPLIT_ROWS * SPLIT_COLUMNS;
    assert!(fits, "panels of one size");
    // SAFETY: kernels of this kind exist only where IFMA was found; the panels have the steps, and
    // the sums the tiles, as just checked.
    unsafe { split(steps, a.as_ptr(), b.as_ptr(), sums.as_mut_ptr()) }
}

/// # Safety
/// `a` has `steps` times LEFT x ROWS numbers, `b` as many times RIGHT x COLUMNS, and `sums` has
/// LEFT x RIGHT tiles.
#[target_feature(enable = "avx512f,avx512ifma")]
unsafe fn split(steps: usize, a: *const u64, b: *const u64, sums: *mut i64) {
    let mut tiles = [[[_mm512_setzero_si512(); SPLIT_ROWS]; SPLIT_RIGHT]; SPLIT_LEFT];
    for k in 0..steps {
        let mut right = [_mm512_setzero_si512(); SPLIT_RIGHT];
        for (j, right) in right.iter_mut().enumerate() {
            let at = (k * SPLIT_RIGHT + j) * SPLIT_COLUMNS;
            // SAFETY: step k is one of the panel's.
            *right = unsafe { _mm512_loadu_si512(b.add(at).cast()) };
        }
        for (i, tiles) in tiles.iter_mut().enumerate() {
            for r in 0..SPLIT_ROWS {
                // SAFETY: likewise.
                let x = unsafe { *a.add((k * SPLIT_LEFT + i) * SPLIT_ROWS + r) };
                let x = _mm512_set1_epi64(x as i64);
                for (sums, &y) in tiles.iter_mut().zip(&right) {
                    sums[r] = _mm512_madd52lo_epu64(sums[r], x, y);
                }
            }
        }
    }
    // SAFETY: the sums have the tiles.
    unsafe { store(tiles.as_flattened().as_flattened(), sums) }
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
    for (i, &line) in tile.as_flattened().iter().enumerate() {
        let halves = [_mm512_castsi512_si256(line), _mm512_extracti64x4_epi64::<1>(line)];
        for (half, &sum) in halves.iter().enumerate() {
            // SAFETY: the tile is that of the sums.
            let to = unsafe { sums.add(16 * i + 8 * half) }.cast::<__m512i>();
            let wide = _mm512_sllv_epi64(_mm512_cvtepi32_epi64(sum), shift);
            // SAFETY: likewise.
            unsafe { _mm512_storeu_si512(to, _mm512_add_epi64(_mm512_loadu_si512(to), wide)) };
        }
    }
}
