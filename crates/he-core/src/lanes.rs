//! Four or eight doubles at a time, as fixed IEEE operations.

use crate::arith;

/// 2^52.
const MANTISSA: f64 = 4_503_599_627_370_496.0;

/// Four doubles in a register. Every operation is one correctly rounded IEEE 754 operation per
/// lane, so that all implementations agree bit for bit, except for the signs of zeros. Their time
/// does not depend on the values, as long as these are normal numbers or zeros.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(crate) trait Lanes: Copy {
    type V: Copy;
    /// See [`Quads::outlined`].
    fn outlined<R>(self, f: impl FnOnce(Self) -> R) -> R;
    fn load(self, x: &[f64; 4]) -> Self::V;
    fn store(self, v: Self::V, x: &mut [f64; 4]);
    fn splat(self, x: f64) -> Self::V;
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    /// a b + c, rounded once.
    fn mul_add(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// c - a b, rounded once.
    fn neg_mul_add(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// a b - c, rounded once.
    fn mul_sub(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// The nearest integer, ties to even, of a magnitude of at most 2^51.
    fn round(self, a: Self::V) -> Self::V;
    /// a + m where a < 0, else a.
    fn add_if_negative(self, a: Self::V, m: Self::V) -> Self::V;
    /// Doubles that are stored in memory as words.
    fn load_bits(self, x: &[u64; 4]) -> Self::V;
    fn store_bits(self, v: Self::V, x: &mut [u64; 4]);
    /// Integers below 2^52.
    fn load_words(self, x: &[u64; 4]) -> Self::V;
    /// Integers from 0 to 2^52.
    fn store_words(self, v: Self::V, x: &mut [u64; 4]);
    /// Prefetches the cache line of the first word, which is read soon.
    #[inline(always)]
    fn prefetch(self, _x: &[f64]) {}
    /// Row i, lane j becomes row j, lane i.
    fn transpose(self, rows: [Self::V; 4]) -> [Self::V; 4];
}

/// One or several quads of four doubles in a register, for loops that take as many quads at a time
/// as there are. All [`Lanes`] are one quad.
pub(crate) trait Quads: Copy {
    /// The number of quads.
    const QUADS: usize;
    type V: Copy;
    /// The doubles of a register in memory.
    type Memory;
    /// Calls `f`, compiled with the instructions of these lanes, as a function of its own that all
    /// callers share: without inlining, a transform is compiled once and not wherever it is used.
    fn outlined<R>(self, f: impl FnOnce(Self) -> R) -> R;
    fn split(x: &[f64]) -> &[Self::Memory];
    fn split_mut(x: &mut [f64]) -> &mut [Self::Memory];
    fn load(self, x: &Self::Memory) -> Self::V;
    fn store(self, v: Self::V, x: &mut Self::Memory);
    /// Quads that are `step` quads apart in memory.
    fn load_apart(self, x: &[[f64; 4]], step: usize) -> Self::V;
    fn store_apart(self, v: Self::V, x: &mut [[f64; 4]], step: usize);
    fn splat(self, x: f64) -> Self::V;
    /// The first double in all lanes of the first quad, and so on.
    fn splat_each(self, x: &[f64]) -> Self::V;
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    /// a b + c, rounded once.
    fn mul_add(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// c - a b, rounded once.
    fn neg_mul_add(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// a b - c, rounded once.
    fn mul_sub(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// Prefetches the cache line of the first word, which is read soon.
    fn prefetch(self, x: &[f64]);
    /// Row i, lane j becomes row j, lane i, in every quad of its own.
    fn transpose(self, rows: [Self::V; 4]) -> [Self::V; 4];
}

impl<L: Lanes> Quads for L {
    const QUADS: usize = 1;
    type V = L::V;
    type Memory = [f64; 4];
    #[inline(always)]
    fn outlined<R>(self, f: impl FnOnce(Self) -> R) -> R {
        Lanes::outlined(self, f)
    }
    #[inline(always)]
    fn split(x: &[f64]) -> &[[f64; 4]] {
        x.as_chunks().0
    }
    #[inline(always)]
    fn split_mut(x: &mut [f64]) -> &mut [[f64; 4]] {
        x.as_chunks_mut().0
    }
    #[inline(always)]
    fn load(self, x: &[f64; 4]) -> L::V {
        Lanes::load(self, x)
    }
    #[inline(always)]
    fn store(self, v: L::V, x: &mut [f64; 4]) {
        Lanes::store(self, v, x);
    }
    #[inline(always)]
    fn load_apart(self, x: &[[f64; 4]], _: usize) -> L::V {
        Lanes::load(self, &x[0])
    }
    #[inline(always)]
    fn store_apart(self, v: L::V, x: &mut [[f64; 4]], _: usize) {
        Lanes::store(self, v, &mut x[0]);
    }
    #[inline(always)]
    fn splat(self, x: f64) -> L::V {
        Lanes::splat(self, x)
    }
    #[inline(always)]
    fn splat_each(self, x: &[f64]) -> L::V {
        Lanes::splat(self, x[0])
    }
    #[inline(always)]
    fn add(self, a: L::V, b: L::V) -> L::V {
        Lanes::add(self, a, b)
    }
    #[inline(always)]
    fn sub(self, a: L::V, b: L::V) -> L::V {
        Lanes::sub(self, a, b)
    }
    #[inline(always)]
    fn mul(self, a: L::V, b: L::V) -> L::V {
        Lanes::mul(self, a, b)
    }
    #[inline(always)]
    fn mul_add(self, a: L::V, b: L::V, c: L::V) -> L::V {
        Lanes::mul_add(self, a, b, c)
    }
    #[inline(always)]
    fn neg_mul_add(self, a: L::V, b: L::V, c: L::V) -> L::V {
        Lanes::neg_mul_add(self, a, b, c)
    }
    #[inline(always)]
    fn mul_sub(self, a: L::V, b: L::V, c: L::V) -> L::V {
        Lanes::mul_sub(self, a, b, c)
    }
    #[inline(always)]
    fn prefetch(self, x: &[f64]) {
        Lanes::prefetch(self, x);
    }
    #[inline(always)]
    fn transpose(self, rows: [L::V; 4]) -> [L::V; 4] {
        Lanes::transpose(self, rows)
    }
}

/// The reference, for any processor. It is fast where fused multiply-add is part of the target;
/// elsewhere, one takes about forty operations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable;

impl Lanes for Portable {
    type V = [f64; 4];
    #[inline(never)]
    fn outlined<R>(self, f: impl FnOnce(Self) -> R) -> R {
        f(self)
    }
    #[inline(always)]
    fn load(self, x: &[f64; 4]) -> [f64; 4] {
        *x
    }
    #[inline(always)]
    fn store(self, v: [f64; 4], x: &mut [f64; 4]) {
        *x = v;
    }
    #[inline(always)]
    fn splat(self, x: f64) -> [f64; 4] {
        [x; 4]
    }
    #[inline(always)]
    fn add(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        std::array::from_fn(|i| a[i] + b[i])
    }
    #[inline(always)]
    fn sub(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        std::array::from_fn(|i| a[i] - b[i])
    }
    #[inline(always)]
    fn mul(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        std::array::from_fn(|i| a[i] * b[i])
    }
    #[inline(always)]
    fn mul_add(self, a: [f64; 4], b: [f64; 4], c: [f64; 4]) -> [f64; 4] {
        std::array::from_fn(|i| arith::mul_add(a[i], b[i], c[i]))
    }
    #[inline(always)]
    fn neg_mul_add(self, a: [f64; 4], b: [f64; 4], c: [f64; 4]) -> [f64; 4] {
        std::array::from_fn(|i| arith::mul_add(-a[i], b[i], c[i]))
    }
    #[inline(always)]
    fn mul_sub(self, a: [f64; 4], b: [f64; 4], c: [f64; 4]) -> [f64; 4] {
        std::array::from_fn(|i| arith::mul_add(a[i], b[i], -c[i]))
    }
    #[inline(always)]
    fn round(self, a: [f64; 4]) -> [f64; 4] {
        a.map(arith::round)
    }
    #[inline(always)]
    fn add_if_negative(self, a: [f64; 4], m: [f64; 4]) -> [f64; 4] {
        std::array::from_fn(|i| {
            let negative = u64::from(a[i] < 0.0).wrapping_neg();
            a[i] + f64::from_bits(m[i].to_bits() & negative)
        })
    }
    #[inline(always)]
    fn load_bits(self, x: &[u64; 4]) -> [f64; 4] {
        x.map(f64::from_bits)
    }
    #[inline(always)]
    fn store_bits(self, v: [f64; 4], x: &mut [u64; 4]) {
        *x = v.map(f64::to_bits);
    }
    #[inline(always)]
    fn load_words(self, x: &[u64; 4]) -> [f64; 4] {
        x.map(|x| x as f64)
    }
    #[inline(always)]
    fn store_words(self, v: [f64; 4], x: &mut [u64; 4]) {
        // A sum of at least 2^52 holds the integer in its mantissa.
        *x = v.map(|v| (v + MANTISSA).to_bits() - MANTISSA.to_bits());
    }
    #[inline(always)]
    fn transpose(self, rows: [[f64; 4]; 4]) -> [[f64; 4]; 4] {
        std::array::from_fn(|i| std::array::from_fn(|j| rows[j][i]))
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    #![allow(unsafe_code)]

    use super::{Lanes, MANTISSA};
    use std::arch::x86_64::{
        __m256d, _CMP_LT_OQ, _MM_FROUND_NO_EXC, _MM_FROUND_TO_NEAREST_INT, _MM_HINT_T1, _mm_prefetch,
        _mm256_add_pd, _mm256_and_pd, _mm256_cmp_pd, _mm256_fmadd_pd, _mm256_fmsub_pd, _mm256_fnmadd_pd,
        _mm256_loadu_pd, _mm256_mul_pd, _mm256_or_pd, _mm256_permute2f128_pd, _mm256_round_pd,
        _mm256_set1_pd, _mm256_setzero_pd, _mm256_storeu_pd, _mm256_sub_pd, _mm256_unpackhi_pd,
        _mm256_unpacklo_pd, _mm256_xor_pd,
    };

    /// The knowledge that this processor has AVX2 and FMA.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct Avx2(());

    impl Avx2 {
        pub(crate) fn detect() -> Option<Self> {
            (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")).then_some(Self(()))
        }

        /// Calls `f`, compiled with these instructions.
        #[inline]
        pub(crate) fn run<R>(self, f: impl FnOnce(Self) -> R) -> R {
            #[target_feature(enable = "avx2,fma")]
            fn inner<R>(simd: Avx2, f: impl FnOnce(Avx2) -> R) -> R {
                f(simd)
            }
            // SAFETY: an `Avx2` exists only where both features were found.
            unsafe { inner(self, f) }
        }
    }

    impl Lanes for Avx2 {
        type V = __m256d;
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
}
#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::Avx2;

#[cfg(target_arch = "x86_64")]
mod avx512 {
    #![allow(unsafe_code)]

    use super::Quads;
    use std::arch::x86_64::{
        __m512d, __m512i, _MM_HINT_T1, _mm_prefetch, _mm256_loadu_pd, _mm256_set1_pd, _mm256_storeu_pd,
        _mm512_add_pd, _mm512_castpd256_pd512, _mm512_castpd512_pd256, _mm512_extractf64x4_pd,
        _mm512_fmadd_pd, _mm512_fmsub_pd, _mm512_fnmadd_pd, _mm512_insertf64x4, _mm512_loadu_pd,
        _mm512_mul_pd, _mm512_permutex2var_pd, _mm512_set1_pd, _mm512_setr_epi64, _mm512_storeu_pd,
        _mm512_sub_pd, _mm512_unpackhi_pd, _mm512_unpacklo_pd,
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
}
#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::Avx512;

/// Evaluates an expression with `$lanes` bound to the best lanes of this processor, compiled for
/// them.
macro_rules! with_lanes {
    ($lanes:ident => $body:expr) => {{
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(simd) = $crate::lanes::Avx2::detect() {
                simd.run(
                    #[inline(always)]
                    |$lanes| $body,
                )
            } else {
                let $lanes = $crate::lanes::Portable;
                $body
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let $lanes = $crate::lanes::Portable;
            $body
        }
    }};
}
pub(crate) use with_lanes;

/// Evaluates an expression like `with_lanes`, with two quads, where `$wide` is true and the
/// processor has them.
macro_rules! with_quads {
    ($wide:expr, $lanes:ident => $body:expr) => {{
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(simd) = $crate::lanes::Avx512::detect().filter(|_| $wide) {
                simd.run(
                    #[inline(always)]
                    |$lanes| $body,
                )
            } else {
                $crate::lanes::with_lanes!($lanes => $body)
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let _: bool = $wide;
            $crate::lanes::with_lanes!($lanes => $body)
        }
    }};
}
pub(crate) use with_quads;
