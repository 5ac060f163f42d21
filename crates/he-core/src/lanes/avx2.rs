//! Four doubles in a register of 256 bits.
#![allow(unsafe_code)]

use super::{Lanes, MANTISSA};
use std::arch::x86_64::{
    __m256d, _CMP_LT_OQ, _MM_FROUND_NO_EXC, _MM_FROUND_TO_NEAREST_INT, _MM_HINT_T1, _mm_prefetch,
    _mm256_add_pd, _mm256_and_pd, _mm256_cmp_pd, _mm256_fmadd_pd, _mm256_fmsub_pd, _mm256_fnmadd_pd,
    _mm256_loadu_pd, _mm256_mul_pd, _mm256_or_pd, _mm256_permute2f128_pd, _mm256_round_pd, _mm256_set1_pd,
    _mm256_setzero_pd, _mm256_storeu_pd, _mm256_sub_pd, _mm256_unpackhi_pd, _mm256_unpacklo_pd,
    _mm256_xor_pd,
};

/// The knowledge that this processor has AVX2 and FMA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Avx2(());

impl Avx2 {
    pub(crate) fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")).then_some(Self(()))
    }
}

impl Lanes for Avx2 {
    type V = __m256d;
    #[inline]
    fn run<R>(self, f: impl FnOnce(Self) -> R) -> R {
        #[target_feature(enable = "avx2,fma")]
        fn inner<R>(simd: Avx2, f: impl FnOnce(Avx2) -> R) -> R {
            f(simd)
        }
        // SAFETY: an `Avx2` exists only where both features were found.
        unsafe { inner(self, f) }
    }
    #[inline(always)]
    fn outlined<R>(self, f: impl FnOnce(Self) -> R) -> R {
        #[inline(never)]
        #[target_feature(enable = "avx2,fma")]
        fn inner<R>(simd: Avx2, f: impl FnOnce(Avx2) -> R) -> R {
            f(simd)
        }
        // SAFETY: `self` proves the features.
        unsafe { inner(self, f) }
    }
    #[inline(always)]
    fn load(self, x: &[f64; 4]) -> __m256d {
        // SAFETY: `self` proves the feature; the 32 bytes are those of the reference, of any
        // alignment.
        unsafe { _mm256_loadu_pd(x.as_ptr()) }
    }
    #[inline(always)]
    fn store(self, v: __m256d, x: &mut [f64; 4]) {
        // SAFETY: as in `load`.
        unsafe { _mm256_storeu_pd(x.as_mut_ptr(), v) }
    }
    #[inline(always)]
    fn splat(self, x: f64) -> __m256d {
        // SAFETY: `self` proves the feature, here and below.
        unsafe { _mm256_set1_pd(x) }
    }
    #[inline(always)]
    fn add(self, a: __m256d, b: __m256d) -> __m256d {
        // SAFETY: see `splat`.
        unsafe { _mm256_add_pd(a, b) }
    }
    #[inline(always)]
    fn sub(self, a: __m256d, b: __m256d) -> __m256d {
        // SAFETY: see `splat`.
        unsafe { _mm256_sub_pd(a, b) }
    }
    #[inline(always)]
    fn mul(self, a: __m256d, b: __m256d) -> __m256d {
        // SAFETY: see `splat`.
        unsafe { _mm256_mul_pd(a, b) }
    }
    #[inline(always)]
    fn mul_add(self, a: __m256d, b: __m256d, c: __m256d) -> __m256d {
        // SAFETY: see `splat`.
        unsafe { _mm256_fmadd_pd(a, b, c) }
    }
    #[inline(always)]
    fn neg_mul_add(self, a: __m256d, b: __m256d, c: __m256d) -> __m256d {
        // SAFETY: see `splat`.
        unsafe { _mm256_fnmadd_pd(a, b, c) }
    }
    #[inline(always)]
    fn mul_sub(self, a: __m256d, b: __m256d, c: __m256d) -> __m256d {
        // SAFETY: see `splat`.
        unsafe { _mm256_fmsub_pd(a, b, c) }
    }
    #[inline(always)]
    fn round(self, a: __m256d) -> __m256d {
        // SAFETY: see `splat`.
        unsafe { _mm256_round_pd::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a) }
    }
    #[inline(always)]
    fn add_if_negative(self, a: __m256d, m: __m256d) -> __m256d {
        // SAFETY: see `splat`.
        unsafe {
            let negative = _mm256_cmp_pd::<_CMP_LT_OQ>(a, _mm256_setzero_pd());
            _mm256_add_pd(a, _mm256_and_pd(negative, m))
        }
    }
    #[inline(always)]
    fn load_bits(self, x: &[u64; 4]) -> __m256d {
        // SAFETY: as in `load`.
        unsafe { _mm256_loadu_pd(x.as_ptr().cast()) }
    }
    #[inline(always)]
    fn store_bits(self, v: __m256d, x: &mut [u64; 4]) {
        // SAFETY: as in `load`.
        unsafe { _mm256_storeu_pd(x.as_mut_ptr().cast(), v) }
    }
    #[inline(always)]
    fn load_words(self, x: &[u64; 4]) -> __m256d {
        // The mantissa of 2^52 + x holds x.
        // SAFETY: see `splat`.
        unsafe {
            let magic = _mm256_set1_pd(MANTISSA);
            _mm256_sub_pd(_mm256_or_pd(self.load_bits(x), magic), magic)
        }
    }
    #[inline(always)]
    fn store_words(self, v: __m256d, x: &mut [u64; 4]) {
        // SAFETY: see `splat`.
        unsafe {
            let magic = _mm256_set1_pd(MANTISSA);
            self.store_bits(_mm256_xor_pd(_mm256_add_pd(v, magic), magic), x);
        }
    }
    #[inline(always)]
    fn prefetch(self, x: &[f64]) {
        // SAFETY: this is a hint, and no address is read.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(x.as_ptr().cast()) }
    }
    #[inline(always)]
    fn transpose(self, [a, b, c, d]: [__m256d; 4]) -> [__m256d; 4] {
        // SAFETY: see `splat`.
        unsafe {
            let (ab_even, ab_odd) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
            let (cd_even, cd_odd) = (_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d));
            [
                _mm256_permute2f128_pd::<0x20>(ab_even, cd_even),
                _mm256_permute2f128_pd::<0x20>(ab_odd, cd_odd),
                _mm256_permute2f128_pd::<0x31>(ab_even, cd_even),
                _mm256_permute2f128_pd::<0x31>(ab_odd, cd_odd),
            ]
        }
    }
}
