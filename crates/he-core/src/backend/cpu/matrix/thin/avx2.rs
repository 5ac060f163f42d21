//! Sums in registers of 256 bits: bytes times signed digits of 16 bits, two products at a time.
#![allow(unsafe_code)]

use std::arch::x86_64::{
    __m256i, _mm_loadu_si128, _mm256_add_epi32, _mm256_cvtepu8_epi16, _mm256_loadu_si256, _mm256_madd_epi16,
    _mm256_setzero_si256, _mm256_storeu_si256,
};

/// The digits of a word.
pub(super) const PLANES: usize = 2;

/// The sums of the products of the bytes of each row and the words, of which `planes` has the
/// digits, modulo 2^32. The caller has found AVX2.
pub(super) fn sums(rows: [&[u64]; super::ROWS], planes: [&[u64]; PLANES]) -> [u32; super::ROWS] {
    let words = rows[0].len();
    let fits = rows.iter().all(|row| row.len() == words) && words.is_multiple_of(2);
    assert!(fits && planes.iter().all(|plane| plane.len() == 2 * words), "rows and digits of one length");
    // SAFETY: kernels of this kind exist only where AVX2 was found; there are as many digits as
    // bytes, as just checked.
    unsafe { add_up(words / 2, rows.map(<[u64]>::as_ptr), planes.map(<[u64]>::as_ptr)) }
}

/// # Safety
/// Rows have `steps` times 16 bytes, planes as many digits.
#[target_feature(enable = "avx2")]
unsafe fn add_up(
    steps: usize,
    rows: [*const u64; super::ROWS],
    planes: [*const u64; PLANES],
) -> [u32; super::ROWS] {
    let mut all = [[_mm256_setzero_si256(); PLANES]; super::ROWS];
    for step in 0..steps {
        // SAFETY: the step is one of the planes'.
        let digits = planes.map(|plane| unsafe { _mm256_loadu_si256(plane.add(4 * step).cast()) });
        for (sums, row) in all.iter_mut().zip(rows) {
            // SAFETY: the step is one of the row's.
            let bytes = _mm256_cvtepu8_epi16(unsafe { _mm_loadu_si128(row.add(2 * step).cast()) });
            for (sum, &digits) in sums.iter_mut().zip(&digits) {
                *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(bytes, digits));
            }
        }
    }
    all.map(|sums| {
        let [low, high] = sums.map(|sum| total(sum));
        low.wrapping_add(high << 16)
    })
}

#[target_feature(enable = "avx2")]
fn total(lanes: __m256i) -> u32 {
    let mut words = [0u32; 8];
    // SAFETY: there are 256 bits.
    unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), lanes) };
    words.into_iter().fold(0, u32::wrapping_add)
}
