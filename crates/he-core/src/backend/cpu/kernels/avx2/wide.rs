//! Integers modulo a prime up to 2^61 in words, for the transforms: 32-bit products, lazily reduced
//! as in Harvey 2014.

use super::butterflies::Butterflies;
use super::words::Words;
use crate::arith::{Modulus, ShoupFactor};
use crate::backend::cpu::kernels::roots::RootLine;
use crate::lanes::Avx2;

/// A prime up to 2^61. Values lie in [0, 8 q) in the forward transform and in [0, 4 q) in the
/// inverse, and products in [0, 4 q).
#[derive(Clone, Copy)]
pub(super) struct Wide {
    simd: Avx2,
    q: Words,
    q_high: Words,
    q2: Words,
    q4: Words,
}

/// A factor w and floor(w 2^64 / q), and the upper halves of both.
#[derive(Clone, Copy)]
pub(super) struct WideFactor {
    value: Words,
    value_high: Words,
    quotient: Words,
    quotient_high: Words,
}

impl Wide {
    #[inline(always)]
    pub(super) fn new(simd: Avx2, q: &Modulus) -> Self {
        let words = |x| Words::splat(simd, x);
        let q = q.value();
        Self { simd, q: words(q), q_high: words(q >> 32), q2: words(2 * q), q4: words(4 * q) }
    }

    #[inline(always)]
    fn factor(value: Words, quotient: Words) -> WideFactor {
        WideFactor { value, value_high: value.shr32(), quotient, quotient_high: quotient.shr32() }
    }

    /// y w in [0, 4 q), for any words y.
    #[inline(always)]
    fn times(self, y: Words, w: WideFactor) -> Words {
        let y_high = y.shr32();
        // floor(y quotient / 2^64), or up to 2 less because three fractions are dropped: less than
        // y w / q by less than 4.
        let estimate = y_high.mul32(w.quotient_high)
            + y_high.mul32(w.quotient).shr32()
            + y.mul32(w.quotient_high).shr32();
        // y w - estimate q modulo 2^64.
        let crossed = y_high.mul32(w.value) + y.mul32(w.value_high)
            - estimate.shr32().mul32(self.q)
            - estimate.mul32(self.q_high);
        y.mul32(w.value) - estimate.mul32(self.q) + crossed.shl32()
    }

    /// [0, 8 q) to [0, 4 q).
    #[inline(always)]
    fn reduce(self, x: Words) -> Words {
        x.less(self.q4)
    }

    /// [0, 4 q) to [0, q).
    #[inline(always)]
    fn canonical4(self, x: Words) -> Words {
        x.less(self.q2).less(self.q)
    }
}

impl Butterflies for Wide {
    type V = Words;
    type Factor = WideFactor;
    type Roots = [RootLine];

    #[inline(always)]
    fn load_words(self, x: &[u64; 4]) -> Words {
        Words::load(self.simd, x)
    }
    #[inline(always)]
    fn store_words(self, v: Words, x: &mut [u64; 4]) {
        v.store(x);
    }
    #[inline(always)]
    fn load(self, x: &[u64; 4]) -> Words {
        Words::load(self.simd, x)
    }
    #[inline(always)]
    fn store(self, v: Words, x: &mut [u64; 4]) {
        v.store(x);
    }
    #[inline(always)]
    fn transpose(self, x: [Words; 4]) -> [Words; 4] {
        Words::transpose(x)
    }
    #[inline(always)]
    fn constant(self, w: ShoupFactor) -> WideFactor {
        Self::factor(Words::splat(self.simd, w.value), Words::splat(self.simd, w.quotient))
    }
    #[inline(always)]
    fn root(self, roots: &[RootLine], k: usize) -> WideFactor {
        let line = &roots[k / 8];
        self.constant(ShoupFactor { value: line.0[k % 8], quotient: line.0[8 + k % 8] })
    }
    #[inline(always)]
    fn leaf_roots(self, roots: &[RootLine], k: usize) -> [WideFactor; 3] {
        let half = |line: &RootLine, i: usize| Words::load(self.simd, &line.0.as_chunks::<4>().0[i]);
        let (nodes, children) = (&roots[k / 2], &roots[k]);
        let values = Words::deinterleave(half(children, 0), half(children, 1));
        let quotients = Words::deinterleave(half(children, 2), half(children, 3));
        [
            Self::factor(half(nodes, k % 2), half(nodes, 2 + k % 2)),
            Self::factor(values.0, quotients.0),
            Self::factor(values.1, quotients.1),
        ]
    }
    #[inline(always)]
    fn split(self, x: Words, y: Words, w: WideFactor) -> (Words, Words) {
        let (x, y) = (self.reduce(x), self.times(y, w));
        (x + y, x + self.q4 - y)
    }
    #[inline(always)]
    fn join(self, x: Words, y: Words, w: WideFactor) -> (Words, Words) {
        (self.reduce(x + y), self.times(x + self.q4 - y, w))
    }
    #[inline(always)]
    fn end(self, x: Words, y: Words, w: [WideFactor; 2]) -> (Words, Words) {
        let (sum, difference) = (self.times(x + y, w[0]), self.times(x + self.q4 - y, w[1]));
        (self.canonical4(sum), self.canonical4(difference))
    }
    #[inline(always)]
    fn canonical(self, x: Words) -> Words {
        self.canonical4(self.reduce(x))
    }
    #[inline(always)]
    fn before(self, x: Words) -> Words {
        x
    }
    #[inline(always)]
    fn after(self, x: Words) -> Words {
        x
    }
}
