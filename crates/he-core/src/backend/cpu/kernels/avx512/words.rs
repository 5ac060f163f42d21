//! Eight 64-bit words in a register, as plain values.
//!
//! A value of type [`Avx512`] or [`Words`] proves that the processor has the instructions, so that
//! everything below is safe.

#![allow(unsafe_code)]

use std::arch::x86_64::{
    __m512i, _MM_HINT_NTA, _mm_loadu_si128, _mm_prefetch, _mm256_loadu_si256, _mm512_add_epi64,
    _mm512_add_pd, _mm512_and_si512, _mm512_broadcast_i32x4, _mm512_broadcast_i64x4, _mm512_castpd_si512,
    _mm512_castsi512_pd, _mm512_cvtepu64_pd, _mm512_cvtpd_epu64, _mm512_loadu_si512, _mm512_madd52hi_epu64,
    _mm512_madd52lo_epu64, _mm512_mask_blend_epi64, _mm512_min_epu64, _mm512_movepi64_mask, _mm512_mul_pd,
    _mm512_mullo_epi64, _mm512_permutex2var_epi64, _mm512_permutexvar_epi64, _mm512_set1_epi64,
    _mm512_setzero_si512, _mm512_sllv_epi64, _mm512_srli_epi64, _mm512_storeu_si512, _mm512_sub_epi64,
};
use std::ops::{Add, BitAnd, Sub};

/// Words of one register.
pub(super) type Line = [u64; 8];

/// Defines functions compiled with the instructions of [`Avx512`], which is always their first
/// argument.
macro_rules! with_avx512 {
    ($($(#[$attribute:meta])* $visible:vis fn $name:ident $(<$generic:ident: $bound:path>)? (
        $simd:ident: Avx512 $(, $argument:ident: $type:ty)* $(,)?
    ) $body:block)*) => {$(
        $(#[$attribute])*
        #[allow(unsafe_code)]
        $visible fn $name $(<$generic: $bound>)? ($simd: Avx512 $(, $argument: $type)*) {
            #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
            fn inner $(<$generic: $bound>)? ($simd: Avx512 $(, $argument: $type)*) $body
            // SAFETY: an `Avx512` exists only where these features were found.
            unsafe { inner $(::<$generic>)? ($simd $(, $argument)*) }
        }
    )*};
}
pub(super) use with_avx512;

/// The knowledge that this processor has AVX-512 F, DQ, VL and IFMA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::backend::cpu) struct Avx512(());

impl Avx512 {
    pub(in super::super) fn detect() -> Option<Self> {
        let found = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512ifma");
        found.then_some(Self(()))
    }

    #[inline(always)]
    pub(super) fn zero(self) -> Words {
        // SAFETY: `self` proves the feature.
        Words(unsafe { _mm512_setzero_si512() })
    }

    /// The same word eight times.
    #[inline(always)]
    pub(super) fn splat(self, word: u64) -> Words {
        // SAFETY: `self` proves the feature.
        Words(unsafe { _mm512_set1_epi64(word as i64) })
    }

    #[inline(always)]
    pub(super) fn load(self, line: &Line) -> Words {
        // SAFETY: `self` proves the feature; the 64 bytes are those of the reference, of any
        // alignment.
        Words(unsafe { _mm512_loadu_si512(line.as_ptr().cast()) })
    }

    /// Asks for the line at word `at`, which will be read soon, if there is one.
    #[inline(always)]
    pub(super) fn prefetch(self, words: &[u64], at: usize) {
        if let Some(word) = words.get(at) {
            // SAFETY: every processor with the feature of `self` has it; the word is that of a
            // reference.
            unsafe { _mm_prefetch::<_MM_HINT_NTA>(std::ptr::from_ref(word).cast()) }
        }
    }

    /// (a, b) four times.
    #[inline(always)]
    pub(super) fn repeat2(self, words: &[u64; 2]) -> Words {
        // SAFETY: `self` proves the feature; the 16 bytes are those of the reference, of any
        // alignment.
        Words(unsafe { _mm512_broadcast_i32x4(_mm_loadu_si128(words.as_ptr().cast())) })
    }

    /// (a, b, c, d) twice.
    #[inline(always)]
    pub(super) fn repeat4(self, words: &[u64; 4]) -> Words {
        // SAFETY: `self` proves the feature; the 32 bytes are those of the reference, of any
        // alignment.
        Words(unsafe { _mm512_broadcast_i64x4(_mm256_loadu_si256(words.as_ptr().cast())) })
    }
}

/// Eight words. Operators wrap; no operation carries between words.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(super) struct Words(__m512i);

// For every `unsafe` below: only an `Avx512` makes a `Words`, so the processor has the instruction.
impl Words {
    #[inline(always)]
    pub(super) fn store(self, line: &mut Line) {
        // SAFETY: as above; the 64 bytes are those of the reference, of any alignment.
        unsafe { _mm512_storeu_si512(line.as_mut_ptr().cast(), self.0) }
    }

    /// Does nothing, but the compiler must have all these words before it continues. This keeps
    /// independent chains side by side where it would put them in sequence, which the processor's
    /// window does not undo.
    #[inline(always)]
    pub(super) fn settle<const R: usize>(words: &mut [Self; R]) {
        #[inline]
        #[target_feature(enable = "avx512f")]
        fn settle([x0, x1, x2, x3, x4, x5, x6, x7]: &mut [Words; 8]) {
            // SAFETY: no instruction.
            unsafe {
                std::arch::asm!(
                    "/* {0} {1} {2} {3} {4} {5} {6} {7} */",
                    inout(zmm_reg) x0.0, inout(zmm_reg) x1.0, inout(zmm_reg) x2.0, inout(zmm_reg) x3.0,
                    inout(zmm_reg) x4.0, inout(zmm_reg) x5.0, inout(zmm_reg) x6.0, inout(zmm_reg) x7.0,
                    options(pure, nomem, nostack, preserves_flags)
                );
            }
        }
        let (eights, _) = words.as_chunks_mut();
        for eight in eights {
            // SAFETY: as above.
            unsafe { settle(eight) };
        }
    }

    #[inline(always)]
    pub(super) fn min(self, other: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_min_epu64(self.0, other.0) })
    }

    /// self - m if self >= m, else self.
    #[inline(always)]
    pub(super) fn less(self, m: Self) -> Self {
        self.min(self - m)
    }

    /// self, but `other` where x is negative.
    #[inline(always)]
    pub(super) fn or_if_negative(self, x: Self, other: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_mask_blend_epi64(_mm512_movepi64_mask(x.0), self.0, other.0) })
    }

    /// Low 64 bits of the product.
    #[inline(always)]
    pub(super) fn times_lo(self, other: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_mullo_epi64(self.0, other.0) })
    }

    /// self + the low 52 bits of the product of the low 52 bits of a and b.
    #[inline(always)]
    pub(super) fn plus_lo52(self, a: Self, b: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_madd52lo_epu64(self.0, a.0, b.0) })
    }

    /// self + the high 52 bits of the product of the low 52 bits of a and b.
    #[inline(always)]
    pub(super) fn plus_hi52(self, a: Self, b: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_madd52hi_epu64(self.0, a.0, b.0) })
    }

    #[inline(always)]
    pub(super) fn shr<const BITS: u32>(self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_srli_epi64::<BITS>(self.0) })
    }

    /// Shifted left by the words of `bits`; zero from 64 on.
    #[inline(always)]
    pub(super) fn shl(self, bits: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_sllv_epi64(self.0, bits.0) })
    }

    /// Word i is word index\[i\] of `self` followed by `other`.
    #[inline(always)]
    pub(super) fn pick(self, other: Self, index: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_permutex2var_epi64(self.0, index.0, other.0) })
    }

    /// Word i is word index\[i\] mod 8 of `self`.
    #[inline(always)]
    pub(super) fn permute(self, index: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_permutexvar_epi64(index.0, self.0) })
    }

    /// The float64 words of `self`, plus the integers of `x` rounded to float64, times those of
    /// `factor`, with two roundings.
    #[inline(always)]
    pub(super) fn f64_plus_scaled(self, x: Self, factor: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe {
            let scaled = _mm512_mul_pd(_mm512_cvtepu64_pd(x.0), _mm512_castsi512_pd(factor.0));
            _mm512_castpd_si512(_mm512_add_pd(_mm512_castsi512_pd(self.0), scaled))
        })
    }

    /// The float64 words, from 0 to 2^63, rounded to nearest integers, ties to even.
    #[inline(always)]
    pub(super) fn f64_round(self) -> Self {
        // SAFETY: as above. Rust runs in the default rounding mode.
        Self(unsafe { _mm512_cvtpd_epu64(_mm512_castsi512_pd(self.0)) })
    }
}

impl Add for Words {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_add_epi64(self.0, other.0) })
    }
}

impl Sub for Words {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_sub_epi64(self.0, other.0) })
    }
}

impl BitAnd for Words {
    type Output = Self;
    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_and_si512(self.0, other.0) })
    }
}
