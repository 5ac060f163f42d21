//! Four doubles in an array: the reference of the others.

use super::{Lanes, MANTISSA};
use crate::arith;

/// The reference, for any processor. It is fast where fused multiply-add is part of the target;
/// elsewhere, one takes about forty operations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable;

impl Lanes for Portable {
    type V = [f64; 4];
    #[inline(always)]
    fn run<R>(self, f: impl FnOnce(Self) -> R) -> R {
        f(self)
    }
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
