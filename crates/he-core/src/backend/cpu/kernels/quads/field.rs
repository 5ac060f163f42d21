//! Integers modulo a prime q < 2^50 in doubles, lazily reduced.
//!
//! Values are integers x with |x| <= X q < 2^53; the bounds below are those of X. For |w| <= q/2
//! the product h + l = x w is exact in two doubles, b is the integer next to fl(h fl(1/q)), whose
//! three roundings err by at most 3 2^-53 |x w|/q <= 3 X/16, and h - b q, an integer of magnitude
//! below 2^53, is exact, as is its sum with l. A product is therefore at most 1/2 + 3 X/16, and
//! 1/2 + 3/8 for two residues from 0 to q - 1.

use super::butterflies::Butterflies;
use crate::arith::{Modulus, ShoupFactor};
use crate::lanes::Lanes;

/// Whether all levels of a forward transform may follow one another without reductions: below 2^48
/// the quotient errs by at most 3 X/64, so that 17 levels lead from 1 to at most 15, and quotients,
/// at most X q/2, stay below the 2^51 that are rounded.
pub(super) fn grows_within(q: &Modulus) -> bool {
    q.bits() <= 48
}

/// A prime below 2^50.
#[derive(Clone, Copy)]
pub(super) struct Field<L: Lanes> {
    pub l: L,
    modulus: Modulus,
    q: L::V,
    minus_q: L::V,
    /// 1/q.
    inverse: L::V,
}

impl<L: Lanes> Field<L> {
    #[inline(always)]
    pub(super) fn new(l: L, q: &Modulus) -> Self {
        let value = q.value() as f64;
        Self { l, modulus: *q, q: l.splat(value), minus_q: l.splat(-value), inverse: l.splat(1.0 / value) }
    }

    /// x w, at most 1/2 + 3 X/16 for |w| <= q/2.
    #[inline(always)]
    pub(super) fn times(self, x: L::V, w: L::V) -> L::V {
        let l = self.l;
        let high = l.mul(x, w);
        // high - x w, since NEON has no fused product less an addend.
        let minus_low = l.neg_mul_add(x, w, high);
        let quotient = l.round(l.mul(high, self.inverse));
        l.sub(l.neg_mul_add(quotient, self.q, high), minus_low)
    }

    /// Reduces to at most 1/2.
    #[inline(always)]
    pub(super) fn reduce(self, x: L::V) -> L::V {
        let l = self.l;
        l.neg_mul_add(l.round(l.mul(x, self.inverse)), self.q, x)
    }

    /// Maps |x| < q to 0 ... q - 1.
    #[inline(always)]
    pub(super) fn lift(self, x: L::V) -> L::V {
        self.l.add_if_negative(x, self.q)
    }

    /// Reduces to 0 ... q - 1.
    #[inline(always)]
    pub(super) fn canonical(self, x: L::V) -> L::V {
        self.lift(self.reduce(x))
    }

    /// The sum of two residues from 0 to q - 1, as such a residue.
    #[inline(always)]
    pub(super) fn sum(self, x: L::V, y: L::V) -> L::V {
        self.lift(self.l.add(x, self.l.add(y, self.minus_q)))
    }
}

/// Two levels of [`split`](Butterflies::split) lead from X to 1/2 + r + r' with r = 1/2 + 3 X/16
/// and r' = 1/2 + 3 (X + r)/16, at most 2.75 if X is; those of [`join`](Butterflies::join) to at
/// most 1/2 + 3 X/4, at most 2 if X is, and to sums of at most 8, below 2^53.
impl<L: Lanes> Butterflies for Field<L> {
    type V = L::V;
    type Factor = L::V;
    type Roots = [f64];

    #[inline(always)]
    fn load_words(self, x: &[u64; 4]) -> L::V {
        self.l.load_words(x)
    }
    #[inline(always)]
    fn store_words(self, v: L::V, x: &mut [u64; 4]) {
        self.l.store_words(v, x);
    }
    #[inline(always)]
    fn load(self, x: &[u64; 4]) -> L::V {
        self.l.load_bits(x)
    }
    #[inline(always)]
    fn store(self, v: L::V, x: &mut [u64; 4]) {
        self.l.store_bits(v, x);
    }
    #[inline(always)]
    fn transpose(self, x: [L::V; 4]) -> [L::V; 4] {
        self.l.transpose(x)
    }
    #[inline(always)]
    fn constant(self, w: ShoupFactor) -> L::V {
        self.l.splat(self.modulus.center(w.value) as f64)
    }
    #[inline(always)]
    fn root(self, roots: &[f64], k: usize) -> L::V {
        self.l.splat(roots[k])
    }
    #[inline(always)]
    fn leaf_roots(self, roots: &[f64], k: usize) -> [L::V; 3] {
        let (roots, _) = roots.as_chunks::<4>();
        [self.l.load(&roots[k]), self.l.load(&roots[2 * k]), self.l.load(&roots[2 * k + 1])]
    }
    #[inline(always)]
    fn split(self, x: L::V, y: L::V, w: L::V) -> (L::V, L::V) {
        let y = self.times(y, w);
        (self.l.add(x, y), self.l.sub(x, y))
    }
    #[inline(always)]
    fn join(self, x: L::V, y: L::V, w: L::V) -> (L::V, L::V) {
        (self.l.add(x, y), self.times(self.l.sub(x, y), w))
    }
    #[inline(always)]
    fn end(self, x: L::V, y: L::V, w: [L::V; 2]) -> (L::V, L::V) {
        let (sum, difference) = (self.l.add(x, y), self.l.sub(x, y));
        (Field::canonical(self, self.times(sum, w[0])), Field::canonical(self, self.times(difference, w[1])))
    }
    #[inline(always)]
    fn canonical(self, x: L::V) -> L::V {
        Field::canonical(self, x)
    }
    #[inline(always)]
    fn before(self, x: L::V) -> L::V {
        self.reduce(x)
    }
    #[inline(always)]
    fn after(self, x: L::V) -> L::V {
        self.reduce(x)
    }
}
