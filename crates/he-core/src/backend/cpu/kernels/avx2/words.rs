//! Four 64-bit words in a register, as plain values.
//!
//! A [`Words`] is only made by an [`Avx2`], which proves that the processor has the instructions,
//! so that everything below is safe.

#![allow(unsafe_code)]

use crate::lanes::Avx2;
use std::arch::x86_64::{
    __m256i, _mm256_add_epi64, _mm256_blendv_pd, _mm256_castpd_si256, _mm256_castsi256_pd,
    _mm256_loadu_si256, _mm256_mul_epu32, _mm256_permute2x128_si256, _mm256_permute4x64_epi64,
    _mm256_set1_epi64x, _mm256_slli_epi64, _mm256_srli_epi64, _mm256_storeu_si256, _mm256_sub_epi64,
    _mm256_unpackhi_epi64, _mm256_unpacklo_epi64,
};
use std::ops::{Add, Sub};

/// Four words. Operators wrap; no operation carries between words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words(__m256i);

impl Words {
    /// The same word four times.
    #[inline(always)]
    pub(super) fn splat(_: Avx2, word: u64) -> Self {
        // SAFETY: see the module; the same holds below.
        Self(unsafe { _mm256_set1_epi64x(word as i64) })
    }

    #[inline(always)]
    pub(super) fn load(_: Avx2, x: &[u64; 4]) -> Self {
        // SAFETY: see the module; the 32 bytes are those of the reference, of any alignment.
        Self(unsafe { _mm256_loadu_si256(x.as_ptr().cast()) })
    }

    #[inline(always)]
    pub(super) fn store(self, x: &mut [u64; 4]) {
        // SAFETY: see the module; the 32 bytes are those of the reference, of any alignment.
        unsafe { _mm256_storeu_si256(x.as_mut_ptr().cast(), self.0) }
    }

    /// Products of the lower halves.
    #[inline(always)]
    pub(super) fn mul32(self, other: Self) -> Self {
        // SAFETY: see the module.
        Self(unsafe { _mm256_mul_epu32(self.0, other.0) })
    }

    #[inline(always)]
    pub(super) fn shr32(self) -> Self {
        // SAFETY: see the module.
        Self(unsafe { _mm256_srli_epi64::<32>(self.0) })
    }

    #[inline(always)]
    pub(super) fn shl32(self) -> Self {
        // SAFETY: see the module.
        Self(unsafe { _mm256_slli_epi64::<32>(self.0) })
    }

    /// self - m if self >= m, else self; for differences from -2^63 to 2^63 - 1.
    #[inline(always)]
    pub(super) fn less(self, m: Self) -> Self {
        let difference = self - m;
        // SAFETY: see the module.
        Self(unsafe {
            let sign = _mm256_castsi256_pd(difference.0);
            _mm256_castpd_si256(_mm256_blendv_pd(sign, _mm256_castsi256_pd(self.0), sign))
        })
    }

    /// Word i of x_j becomes word j of x_i.
    #[inline(always)]
    pub(super) fn transpose([a, b, c, d]: [Self; 4]) -> [Self; 4] {
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

    /// The even and the odd words of eight.
    #[inline(always)]
    pub(super) fn deinterleave(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: see the module.
        unsafe {
            let even = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_unpacklo_epi64(a.0, b.0));
            let odd = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_unpackhi_epi64(a.0, b.0));
            (Self(even), Self(odd))
        }
    }
}

impl Add for Words {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: see the module.
        Self(unsafe { _mm256_add_epi64(self.0, other.0) })
    }
}

impl Sub for Words {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        // SAFETY: see the module.
        Self(unsafe { _mm256_sub_epi64(self.0, other.0) })
    }
}
