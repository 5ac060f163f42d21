//! Four doubles in two registers of 128 bits.
//!
//! Every processor of this architecture has NEON, and every target of it that has the standard
//! library allows it, so that the choice is made when the program is compiled.
#![allow(unsafe_code)]

use super::Lanes;
use std::arch::aarch64::{
    float64x2_t, uint64x2_t, vaddq_f64, vandq_u64, vcltzq_f64, vcvtq_f64_u64, vcvtq_u64_f64, vdupq_n_f64,
    vfmaq_f64, vfmsq_f64, vld1q_f64, vld1q_u64, vmulq_f64, vnegq_f64, vreinterpretq_f64_u64,
    vreinterpretq_u64_f64, vrndnq_f64, vst1q_f64, vst1q_u64, vsubq_f64, vtrn1q_f64, vtrn2q_f64,
};

/// NEON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Neon;

/// An operation on the first registers, and on the second ones.
macro_rules! both {
    ($operation:ident $(::<$bits:literal>)? ($($x:expr),*)) => {{
        // SAFETY: every processor of this architecture has NEON, and this is an operation on
        // registers.
        unsafe { ($operation$(::<$bits>)?($($x.0),*), $operation$(::<$bits>)?($($x.1),*)) }
    }};
}
pub(crate) use both;

/// Four words in two registers.
pub(crate) type WordPairs = (uint64x2_t, uint64x2_t);

#[inline(always)]
pub(crate) fn load_pairs(x: &[u64; 4]) -> WordPairs {
    let pairs = x.as_chunks::<2>().0;
    // SAFETY: the bytes are those of the references, of any alignment.
    unsafe { (vld1q_u64(pairs[0].as_ptr()), vld1q_u64(pairs[1].as_ptr())) }
}

#[inline(always)]
pub(crate) fn store_pairs(v: WordPairs, x: &mut [u64; 4]) {
    let pairs = x.as_chunks_mut::<2>().0;
    // SAFETY: as in `load_pairs`.
    unsafe {
        vst1q_u64(pairs[0].as_mut_ptr(), v.0);
        vst1q_u64(pairs[1].as_mut_ptr(), v.1);
    }
}

impl Lanes for Neon {
    type V = (float64x2_t, float64x2_t);
    #[inline(always)]
    fn run<R>(self, f: impl FnOnce(Self) -> R) -> R {
        f(self)
    }
    #[inline(never)]
    fn outlined<R>(self, f: impl FnOnce(Self) -> R) -> R {
        f(self)
    }
    #[inline(always)]
    fn load(self, x: &[f64; 4]) -> Self::V {
        let pairs = x.as_chunks::<2>().0;
        // SAFETY: the bytes are those of the references, of any alignment.
        unsafe { (vld1q_f64(pairs[0].as_ptr()), vld1q_f64(pairs[1].as_ptr())) }
    }
    #[inline(always)]
    fn store(self, v: Self::V, x: &mut [f64; 4]) {
        let pairs = x.as_chunks_mut::<2>().0;
        // SAFETY: as in `load`.
        unsafe {
            vst1q_f64(pairs[0].as_mut_ptr(), v.0);
            vst1q_f64(pairs[1].as_mut_ptr(), v.1);
        }
    }
    #[inline(always)]
    fn splat(self, x: f64) -> Self::V {
        both!(vdupq_n_f64((x, x)))
    }
    #[inline(always)]
    fn add(self, a: Self::V, b: Self::V) -> Self::V {
        both!(vaddq_f64(a, b))
    }
    #[inline(always)]
    fn sub(self, a: Self::V, b: Self::V) -> Self::V {
        both!(vsubq_f64(a, b))
    }
    #[inline(always)]
    fn mul(self, a: Self::V, b: Self::V) -> Self::V {
        both!(vmulq_f64(a, b))
    }
    #[inline(always)]
    fn mul_add(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        both!(vfmaq_f64(c, a, b))
    }
    #[inline(always)]
    fn neg_mul_add(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        both!(vfmsq_f64(c, a, b))
    }
    #[inline(always)]
    fn mul_sub(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        self.mul_add(a, b, both!(vnegq_f64(c)))
    }
    #[inline(always)]
    fn round(self, a: Self::V) -> Self::V {
        both!(vrndnq_f64(a))
    }
    #[inline(always)]
    fn add_if_negative(self, a: Self::V, m: Self::V) -> Self::V {
        let (negative, m) = (both!(vcltzq_f64(a)), both!(vreinterpretq_u64_f64(m)));
        let added = both!(vandq_u64(m, negative));
        self.add(a, both!(vreinterpretq_f64_u64(added)))
    }
    #[inline(always)]
    fn load_bits(self, x: &[u64; 4]) -> Self::V {
        let x = load_pairs(x);
        both!(vreinterpretq_f64_u64(x))
    }
    #[inline(always)]
    fn store_bits(self, v: Self::V, x: &mut [u64; 4]) {
        store_pairs(both!(vreinterpretq_u64_f64(v)), x);
    }
    #[inline(always)]
    fn load_words(self, x: &[u64; 4]) -> Self::V {
        let x = load_pairs(x);
        both!(vcvtq_f64_u64(x))
    }
    #[inline(always)]
    fn store_words(self, v: Self::V, x: &mut [u64; 4]) {
        store_pairs(both!(vcvtq_u64_f64(v)), x);
    }
    #[inline(always)]
    fn transpose(self, [a, b, c, d]: [Self::V; 4]) -> [Self::V; 4] {
        let (low, high) = (((a.0, c.0), (b.0, d.0)), ((a.1, c.1), (b.1, d.1)));
        [
            both!(vtrn1q_f64(low.0, low.1)),
            both!(vtrn2q_f64(low.0, low.1)),
            both!(vtrn1q_f64(high.0, high.1)),
            both!(vtrn2q_f64(high.0, high.1)),
        ]
    }
}
