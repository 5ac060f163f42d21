//! Sums in registers of 512 bits: bytes times signed digits of eight bits, four products at a time.
#![allow(unsafe_code)]

use std::arch::x86_64::{
    _mm512_dpbusd_epi32, _mm512_loadu_si512, _mm512_reduce_add_epi32, _mm512_setzero_si512,
};

/// The digits of a word.
pub(super) const PLANES: usize = 4;

/// The sums of the products of the bytes of each row and the words, of which `planes` has the
/// digits, modulo 2^32. The caller has found VNNI.
pub(super) fn sums(rows: [&[u64]; super::ROWS], planes: [&[u64]; PLANES]) -> [u32; super::ROWS] {
    let words = rows[0].len();
    let fits = rows.iter().chain(&planes).all(|part| part.len() == words) && words.is_multiple_of(8);
    assert!(fits, "rows and digits of one length");
    // SAFETY: kernels of this kind exist only where VNNI was found; there are as many digits as
    // bytes, as just checked.
    unsafe { add_up(words / 8, rows.map(<[u64]>::as_ptr), planes.map(<[u64]>::as_ptr)) }
}

/// # Safety
/// Rows and planes have `steps` times 64 bytes.
#[target_feature(enable = "avx512f,avx512vnni")]
unsafe fn add_up(
    steps: usize,
    rows: [*const u64; super::ROWS],
    planes: [*const u64; PLANES],
) -> [u32; super::ROWS] {
    let mut all = [[_mm512_setzero_si512(); PLANES]; super::ROWS];
    for step in 0..steps {
        // SAFETY: the step is one of the planes'.
        let digits = planes.map(|plane| unsafe { _mm512_loadu_si512(plane.add(8 * step).cast()) });
        for (sums, row) in all.iter_mut().zip(rows) {
            // SAFETY: the step is one of the row's.
            let bytes = unsafe { _mm512_loadu_si512(row.add(8 * step).cast()) };
            for (sum, &digits) in sums.iter_mut().zip(&digits) {
                *sum = _mm512_dpbusd_epi32(*sum, bytes, digits);
            }
        }
    }
    all.map(|sums| {
        let planes = sums.map(|sum| _mm512_reduce_add_epi32(sum) as u32);
        planes.into_iter().rev().fold(0u32, |word, digit| (word << 8).wrapping_add(digit))
    })
}
