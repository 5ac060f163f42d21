//! Four words in a register of 256 bits.
//!
//! A [`Line`] is only made by an [`Avx2`], which proves that the processor has the instructions, so
//! that everything below is safe.

#![allow(unsafe_code)]

use super::Words;
use crate::lanes::Avx2;
use std::arch::x86_64::{
    __m256i, _mm256_add_epi64, _mm256_blendv_pd, _mm256_castpd_si256, _mm256_castsi256_pd,
    _mm256_loadu_si256, _mm256_mul_epu32, _mm256_permute2x128_si256, _mm256_permute4x64_epi64,
    _mm256_set1_epi64x, _mm256_slli_epi64, _mm256_srli_epi64, _mm256_storeu_si256, _mm256_sub_epi64,
    _mm256_unpackhi_epi64, _mm256_unpacklo_epi64,
};
use std::ops::{Add, Sub};

/// Four words.
#[derive(Clone, Copy, Debug)]
pub(in crate::backend::cpu::kernels) struct Line(__m256i);

impl Line {
    /// Products of the lower halves.
    #[inline(always)]
    fn mul32(self, other: Self) -> Self {
        // SAFETY: see the module.
        Self(unsafe { _mm256_mul_epu32(self.0, other.0) })
    }

    #[inline(always)]
    fn shr32(self) -> Self {
        // SAFETY: see the module.
        Self(unsafe { _mm256_srli_epi64::<32>(self.0) })
    }

    #[inline(always)]
    fn shl32(self) -> Self {
        // SAFETY: see the module.
        Self(unsafe { _mm256_slli_epi64::<32>(self.0) })
    }
}

impl Words for Line {
    type Lanes = Avx2;
    /// The words, whose upper halves do not matter, and their upper halves.
    type Halves = (Self, Self);

    #[inline(always)]
    fn splat(_: Avx2, word: u64) -> Self {
        // SAFETY: see the module; the same holds below.
        Self(unsafe { _mm256_set1_epi64x(word as i64) })
    }
    #[inline(always)]
    fn load(_: Avx2, x: &[u64; 4]) -> Self {
        // SAFETY: see the module; the 32 bytes are those of the reference, of any alignment.
        Self(unsafe { _mm256_loadu_si256(x.as_ptr().cast()) })
    }
    #[inline(always)]
    fn store(self, x: &mut [u64; 4]) {
        // SAFETY: see the module; the 32 bytes are those of the reference, of any alignment.
        unsafe { _mm256_storeu_si256(x.as_mut_ptr().cast(), self.0) }
    }
    #[inline(always)]
    fn halves(self) -> (Self, Self) {
        (self, self.shr32())
    }
    #[inline(always)]
    fn mul_high((x, x_high): (Self, Self), (y, y_high): (Self, Self)) -> Self {
        x_high.mul32(y_high) + x_high.mul32(y).shr32() + x.mul32(y_high).shr32()
    }
    #[inline(always)]
    fn mul_sub_mul(x: [(Self, Self); 2], y: [(Self, Self); 2]) -> Self {
        let ([(x0, x0_high), (x1, x1_high)], [(y0, y0_high), (y1, y1_high)]) = (x, y);
        let crossed = x0_high.mul32(x1) + x0.mul32(x1_high) - y0_high.mul32(y1) - y0.mul32(y1_high);
        x0.mul32(x1) - y0.mul32(y1) + crossed.shl32()
    }
    #[inline(always)]
    fn less(self, m: Self) -> Self {
        let difference = self - m;
        // SAFETY: see the module.
        Self(unsafe {
            let sign = _mm256_castsi256_pd(difference.0);
            _mm256_castpd_si256(_mm256_blendv_pd(sign, _mm256_castsi256_pd(self.0), sign))
        })
    }
    #[inline(always)]
    fn transpose([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        // SAFETY: see the module.
        unsafe {
            let (ab_even, ab_odd) = (_mm256_unpacklo_epi64(a.0, b.0), _mm256_unpackhi_epi64(a.0, b.0));
            let (cd_even, cd_odd) = (_mm256_unpacklo_epi64(c.0, d.0), _mm256_unpackhi_epi64(c.0, d.0));
            [
                Self(_mm256_permute2x128_si256::<0x20>(ab_even, cd_even)),
                Self(_mm256_permute2x128_si256::<0x20>(ab_odd, cd_odd)),
                Self(_mm256_permute2x128_si256::<0x31>(ab_even, cd_even)),
                Self(_mm256_permute2x128_si256::<0x31>(ab_odd, cd_odd)),
            ]
        }
    }
    #[inline(always)]
    fn deinterleave(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: see the module.
        unsafe {
            let even = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_unpacklo_epi64(a.0, b.0));
            let odd = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_unpackhi_epi64(a.0, b.0));
            (Self(even), Self(odd))
        }
    }
}

impl Add for Line {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: see the module.
        Self(unsafe { _mm256_add_epi64(self.0, other.0) })
    }
}

impl Sub for Line {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        // SAFETY: see the module.
        Self(unsafe { _mm256_sub_epi64(self.0, other.0) })
    }
}
