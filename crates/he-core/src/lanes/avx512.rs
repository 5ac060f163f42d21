//! Eight doubles in a register of 512 bits.
#![allow(unsafe_code)]

use super::Quads;
use std::arch::x86_64::{
    __m512d, __m512i, _MM_HINT_T1, _mm_prefetch, _mm256_loadu_pd, _mm256_set1_pd, _mm256_storeu_pd,
    _mm512_add_pd, _mm512_castpd256_pd512, _mm512_castpd512_pd256, _mm512_extractf64x4_pd, _mm512_fmadd_pd,
    _mm512_fmsub_pd, _mm512_fnmadd_pd, _mm512_insertf64x4, _mm512_loadu_pd, _mm512_mul_pd,
    _mm512_permutex2var_pd, _mm512_set1_pd, _mm512_setr_epi64, _mm512_storeu_pd, _mm512_sub_pd,
    _mm512_unpackhi_pd, _mm512_unpacklo_pd,
};

/// The knowledge that this processor has AVX-512 F, DQ, VL and BW, and what is below them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Avx512(());

impl Avx512 {
    pub(crate) fn detect() -> Option<Self> {
        let found = super::Avx2::detect().is_some()
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512bw");
        found.then_some(Self(()))
    }

    /// Calls `f`, compiled with these instructions.
    #[inline]
    pub(crate) fn run<R>(self, f: impl FnOnce(Self) -> R) -> R {
        #[target_feature(enable = "avx2,fma,avx512f,avx512dq,avx512vl,avx512bw")]
        fn inner<R>(simd: Avx512, f: impl FnOnce(Avx512) -> R) -> R {
            f(simd)
        }
        // SAFETY: an `Avx512` exists only where all these features were found.
        unsafe { inner(self, f) }
    }

    /// The lanes of two registers, by index, of each quad.
    #[inline(always)]
    fn pick<const A: i64, const B: i64>(self, low: __m512d, high: __m512d) -> __m512d {
        // SAFETY: `self` proves the feature.
        unsafe {
            let index: __m512i = _mm512_setr_epi64(A, A + 1, 8 + A, 9 + A, B, B + 1, 8 + B, 9 + B);
            _mm512_permutex2var_pd(low, index, high)
        }
    }
}

impl Quads for Avx512 {
    const QUADS: usize = 2;
    type V = __m512d;
    type Memory = [f64; 8];
    #[inline(always)]
    fn outlined<R>(self, f: impl FnOnce(Self) -> R) -> R {
        #[inline(never)]
        #[target_feature(enable = "avx2,fma,avx512f,avx512dq,avx512vl,avx512bw")]
        fn inner<R>(simd: Avx512, f: impl FnOnce(Avx512) -> R) -> R {
            f(simd)
        }
        // SAFETY: `self` proves the features.
        unsafe { inner(self, f) }
    }
    #[inline(always)]
    fn split(x: &[f64]) -> &[[f64; 8]] {
        x.as_chunks().0
    }
    #[inline(always)]
    fn split_mut(x: &mut [f64]) -> &mut [[f64; 8]] {
        x.as_chunks_mut().0
    }
    #[inline(always)]
    fn load(self, x: &[f64; 8]) -> __m512d {
        // SAFETY: `self` proves the feature; the 64 bytes are those of the reference, of any
        // alignment.
        unsafe { _mm512_loadu_pd(x.as_ptr()) }
    }
    #[inline(always)]
    fn store(self, v: __m512d, x: &mut [f64; 8]) {
        // SAFETY: as in `load`.
        unsafe { _mm512_storeu_pd(x.as_mut_ptr(), v) }
    }
    #[inline(always)]
    fn load_apart(self, x: &[[f64; 4]], step: usize) -> __m512d {
        let (first, second) = (&x[0], &x[step]);
        // SAFETY: as in `load`, twice 32 bytes.
        unsafe {
            let first = _mm512_castpd256_pd512(_mm256_loadu_pd(first.as_ptr()));
            _mm512_insertf64x4::<1>(first, _mm256_loadu_pd(second.as_ptr()))
        }
    }
    #[inline(always)]
    fn store_apart(self, v: __m512d, x: &mut [[f64; 4]], step: usize) {
        // SAFETY: as in `load_apart`.
        unsafe {
            _mm256_storeu_pd(x[0].as_mut_ptr(), _mm512_castpd512_pd256(v));
            _mm256_storeu_pd(x[step].as_mut_ptr(), _mm512_extractf64x4_pd::<1>(v));
        }
    }
    #[inline(always)]
    fn splat(self, x: f64) -> __m512d {
        // SAFETY: `self` proves the feature, here and below.
        unsafe { _mm512_set1_pd(x) }
    }
    #[inline(always)]
    fn splat_each(self, x: &[f64]) -> __m512d {
        let (first, second) = (x[0], x[1]);
        // SAFETY: see `splat`.
        unsafe { _mm512_insertf64x4::<1>(_mm512_set1_pd(first), _mm256_set1_pd(second)) }
    }
    #[inline(always)]
    fn add(self, a: __m512d, b: __m512d) -> __m512d {
        // SAFETY: see `splat`.
        unsafe { _mm512_add_pd(a, b) }
    }
    #[inline(always)]
    fn sub(self, a: __m512d, b: __m512d) -> __m512d {
        // SAFETY: see `splat`.
        unsafe { _mm512_sub_pd(a, b) }
    }
    #[inline(always)]
    fn mul(self, a: __m512d, b: __m512d) -> __m512d {
        // SAFETY: see `splat`.
        unsafe { _mm512_mul_pd(a, b) }
    }
    #[inline(always)]
    fn mul_add(self, a: __m512d, b: __m512d, c: __m512d) -> __m512d {
        // SAFETY: see `splat`.
        unsafe { _mm512_fmadd_pd(a, b, c) }
    }
    #[inline(always)]
    fn neg_mul_add(self, a: __m512d, b: __m512d, c: __m512d) -> __m512d {
        // SAFETY: see `splat`.
        unsafe { _mm512_fnmadd_pd(a, b, c) }
    }
    #[inline(always)]
    fn mul_sub(self, a: __m512d, b: __m512d, c: __m512d) -> __m512d {
        // SAFETY: see `splat`.
        unsafe { _mm512_fmsub_pd(a, b, c) }
    }
    #[inline(always)]
    fn prefetch(self, x: &[f64]) {
        // SAFETY: this is a hint, and no address is read.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(x.as_ptr().cast()) }
    }
    #[inline(always)]
    fn transpose(self, [a, b, c, d]: [__m512d; 4]) -> [__m512d; 4] {
        // SAFETY: see `splat`.
        let (ab_even, ab_odd) = unsafe { (_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b)) };
        // SAFETY: see `splat`.
        let (cd_even, cd_odd) = unsafe { (_mm512_unpacklo_pd(c, d), _mm512_unpackhi_pd(c, d)) };
        [
            self.pick::<0, 4>(ab_even, cd_even),
            self.pick::<0, 4>(ab_odd, cd_odd),
            self.pick::<2, 6>(ab_even, cd_even),
            self.pick::<2, 6>(ab_odd, cd_odd),
        ]
    }
}
