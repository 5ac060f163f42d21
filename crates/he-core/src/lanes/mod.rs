//! Four or eight doubles at a time, as fixed IEEE operations.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
// With NEON it is needed as an oracle only.
#[cfg(any(test, not(target_arch = "aarch64")))]
mod portable;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::Avx512;
#[cfg(target_arch = "aarch64")]
pub(crate) use neon::{Neon, WordPairs, both, load_pairs, store_pairs};
#[cfg(any(test, not(target_arch = "aarch64")))]
pub(crate) use portable::Portable;

/// 2^52.
#[cfg(any(test, not(target_arch = "aarch64")))]
const MANTISSA: f64 = 4_503_599_627_370_496.0;

/// Four doubles in a register. Every operation is one correctly rounded IEEE 754 operation per
/// lane, so that all implementations agree bit for bit, except for the signs of zeros. Their time
/// does not depend on the values, as long as these are normal numbers or zeros.
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), allow(dead_code))]
pub(crate) trait Lanes: Copy {
    type V: Copy;
    /// Calls `f`, compiled with the instructions of these lanes.
    fn run<R>(self, f: impl FnOnce(Self) -> R) -> R;
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

/// Evaluates an expression with `$lanes` bound to the best lanes of this processor, compiled for
/// them.
macro_rules! with_lanes {
    ($lanes:ident => $body:expr) => {{
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(simd) = $crate::lanes::Avx2::detect() {
                $crate::lanes::Lanes::run(
                    simd,
                    #[inline(always)]
                    |$lanes| $body,
                )
            } else {
                let $lanes = $crate::lanes::Portable;
                $body
            }
        }
        #[cfg(target_arch = "aarch64")]
        {
            let $lanes = $crate::lanes::Neon;
            $body
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
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
