//! Integers modulo a prime up to 2^61 in words, for the transforms: 32-bit products, lazily reduced
//! as in Harvey 2014.

use super::butterflies::Butterflies;
use super::words::{WordLanes, Words};
use crate::arith::{Modulus, ShoupFactor};
use crate::backend::cpu::kernels::roots::RootLine;

/// A prime up to 2^61. Values lie in [0, 8 q) in the forward transform and in [0, 4 q) in the
/// inverse, and products in [0, 4 q).
#[derive(Clone, Copy)]
pub(super) struct Wide<L: WordLanes> {
    lanes: L,
    q: <L::Words as Words>::Halves,
    q1: L::Words,
    q2: L::Words,
    q4: L::Words,
}

/// A factor w and floor(w 2^64 / q).
#[derive(Clone, Copy)]
pub(super) struct WideFactor<W: Words> {
    value: W::Halves,
    quotient: W::Halves,
}

impl<W: Words> WideFactor<W> {
    #[inline(always)]
    fn new(value: W, quotient: W) -> Self {
        Self { value: value.halves(), quotient: quotient.halves() }
    }
}

impl<L: WordLanes> Wide<L> {
    #[inline(always)]
    pub(super) fn new(lanes: L, q: &Modulus) -> Self {
        let [q1, q2, q4] = [1, 2, 4].map(|factor| L::Words::splat(lanes, factor * q.value()));
        Self { lanes, q: q1.halves(), q1, q2, q4 }
    }

    /// y w in [0, 4 q), for any words y.
    #[inline(always)]
    fn times(self, y: L::Words, w: WideFactor<L::Words>) -> L::Words {
        let y = y.halves();
        // floor(y quotient / 2^64), or up to 2 less: less than y w / q by less than 4.
        let estimate = L::Words::mul_high(y, w.quotient).halves();
        L::Words::mul_sub_mul([y, w.value], [estimate, self.q])
    }

    /// [0, 8 q) to [0, 4 q).
    #[inline(always)]
    fn reduce(self, x: L::Words) -> L::Words {
        x.less(self.q4)
    }

    /// [0, 4 q) to [0, q).
    #[inline(always)]
    fn canonical4(self, x: L::Words) -> L::Words {
        x.less(self.q2).less(self.q1)
    }
}

impl<L: WordLanes> Butterflies for Wide<L> {
    type V = L::Words;
    type Factor = WideFactor<L::Words>;
    type Roots = [RootLine];

    #[inline(always)]
    fn load_words(self, x: &[u64; 4]) -> L::Words {
        L::Words::load(self.lanes, x)
    }
    #[inline(always)]
    fn store_words(self, v: L::Words, x: &mut [u64; 4]) {
        v.store(x);
    }
    #[inline(always)]
    fn load(self, x: &[u64; 4]) -> L::Words {
        L::Words::load(self.lanes, x)
    }
    #[inline(always)]
    fn store(self, v: L::Words, x: &mut [u64; 4]) {
        v.store(x);
    }
    #[inline(always)]
    fn transpose(self, x: [L::Words; 4]) -> [L::Words; 4] {
        L::Words::transpose(x)
    }
    #[inline(always)]
    fn constant(self, w: ShoupFactor) -> WideFactor<L::Words> {
        WideFactor::new(L::Words::splat(self.lanes, w.value), L::Words::splat(self.lanes, w.quotient))
    }
    #[inline(always)]
    fn root(self, roots: &[RootLine], k: usize) -> WideFactor<L::Words> {
        let line = &roots[k / 8];
        self.constant(ShoupFactor { value: line.0[k % 8], quotient: line.0[8 + k % 8] })
    }
    #[inline(always)]
    fn leaf_roots(self, roots: &[RootLine], k: usize) -> [WideFactor<L::Words>; 3] {
        let half = |line: &RootLine, i: usize| L::Words::load(self.lanes, &line.0.as_chunks::<4>().0[i]);
        let (nodes, children) = (&roots[k / 2], &roots[k]);
        let values = L::Words::deinterleave(half(children, 0), half(children, 1));
        let quotients = L::Words::deinterleave(half(children, 2), half(children, 3));
        [
            WideFactor::new(half(nodes, k % 2), half(nodes, 2 + k % 2)),
            WideFactor::new(values.0, quotients.0),
            WideFactor::new(values.1, quotients.1),
        ]
    }
    #[inline(always)]
    fn split(self, x: L::Words, y: L::Words, w: WideFactor<L::Words>) -> (L::Words, L::Words) {
        let (x, y) = (self.reduce(x), self.times(y, w));
        (x + y, x + self.q4 - y)
    }
    #[inline(always)]
    fn join(self, x: L::Words, y: L::Words, w: WideFactor<L::Words>) -> (L::Words, L::Words) {
        (self.reduce(x + y), self.times(x + self.q4 - y, w))
    }
    #[inline(always)]
    fn end(self, x: L::Words, y: L::Words, w: [WideFactor<L::Words>; 2]) -> (L::Words, L::Words) {
        let (sum, difference) = (self.times(x + y, w[0]), self.times(x + self.q4 - y, w[1]));
        (self.canonical4(sum), self.canonical4(difference))
    }
    #[inline(always)]
    fn canonical(self, x: L::Words) -> L::Words {
        self.canonical4(self.reduce(x))
    }
    #[inline(always)]
    fn before(self, x: L::Words) -> L::Words {
        x
    }
    #[inline(always)]
    fn after(self, x: L::Words) -> L::Words {
        x
    }
}
