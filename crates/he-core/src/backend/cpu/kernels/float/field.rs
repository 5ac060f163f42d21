//! Integers modulo a prime q < 2^50 in doubles, lazily reduced.
//!
//! Values are integers x with |x| <= X q < 2^53; bounds below are of X. For |w| <= q/2 the product h + l = x w is exact in two doubles, b is the integer
//! next to fl(h fl(1/q)), whose three roundings are off by at most 3 2^-53 |x w|/q <= 3 X/16, and h - b q, an integer of magnitude below 2^53,
//! is exact, as is its sum with l: a product is at most 1/2 + 3 X/16, and 1/2 + 3/8 for two residues from 0 to q - 1.

use crate::arith::Modulus;
use crate::lanes::Lanes;

/// A prime below 2^50.
#[derive(Clone, Copy)]
pub(super) struct Field<L: Lanes> {
    pub l: L,
    q: L::V,
    minus_q: L::V,
    /// 1/q.
    inverse: L::V,
}

impl<L: Lanes> Field<L> {
    #[inline(always)]
    pub(super) fn new(l: L, q: &Modulus) -> Self {
        let value = q.value() as f64;
        Self { l, q: l.splat(value), minus_q: l.splat(-value), inverse: l.splat(1.0 / value) }
    }

    /// x w, at most 1/2 + 3 X/16 for |w| <= q/2.
    #[inline(always)]
    pub(super) fn times(self, x: L::V, w: L::V) -> L::V {
        let l = self.l;
        let high = l.mul(x, w);
        let low = l.mul_sub(x, w, high);
        let quotient = l.round(l.mul(high, self.inverse));
        l.add(l.neg_mul_add(quotient, self.q, high), low)
    }

    /// To at most 1/2.
    #[inline(always)]
    pub(super) fn reduce(self, x: L::V) -> L::V {
        let l = self.l;
        l.neg_mul_add(l.round(l.mul(x, self.inverse)), self.q, x)
    }

    /// From |x| < q to 0 ... q - 1.
    #[inline(always)]
    pub(super) fn lift(self, x: L::V) -> L::V {
        self.l.add_if_negative(x, self.q)
    }

    /// To 0 ... q - 1.
    #[inline(always)]
    pub(super) fn canonical(self, x: L::V) -> L::V {
        self.lift(self.reduce(x))
    }

    /// The sum of two residues from 0 to q - 1, such a one.
    #[inline(always)]
    pub(super) fn sum(self, x: L::V, y: L::V) -> L::V {
        self.lift(self.l.add(x, self.l.add(y, self.minus_q)))
    }
}
