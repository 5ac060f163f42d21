//! Arithmetic of eight words modulo a prime, lazily reduced: with 52-bit products below 2^50, with
//! 64-bit ones up to 2^61.

use super::words::{Avx512, Words};
use crate::arith::{Modulus, ShoupFactor};

/// Whether the products of residues fit the 52-bit multipliers with two bits to spare.
#[inline(always)]
pub(super) const fn is_narrow(q: &Modulus) -> bool {
    q.bits() <= 50
}

/// A prime and how to multiply by known factors modulo it. Lazy values lie in [0, 2 L), where L is
/// the `window`; a product lies in [0, L).
pub(super) trait Field: Copy {
    /// A factor with the constants that its products need.
    type Factor: Copy;
    /// The lines that a transform holds in registers at once, 8 or 16. More of them hide the
    /// latency of the products.
    const LEAF: usize;

    fn new(simd: Avx512, q: &Modulus) -> Self;
    fn simd(self) -> Avx512;
    fn window(self) -> Words;
    /// A factor from its value and its quotient as the lines of an `NttTable` hold them.
    fn factor(self, value: Words, quotient: Words) -> Self::Factor;
    /// A factor from its exact quotient.
    fn constant(self, w: ShoupFactor) -> Self::Factor;
    /// y w in [0, L), for y in [0, 2 L).
    fn times(self, y: Words, w: Self::Factor) -> Words;
    /// [0, L) to [0, q).
    fn canonical(self, x: Words) -> Words;

    /// [0, 2 L) to [0, L).
    #[inline(always)]
    fn reduce(self, x: Words) -> Words {
        x.less(self.window())
    }

    /// x + y w and x - y w, lazy values from lazy values.
    #[inline(always)]
    fn forward_butterfly(self, x: Words, y: Words, w: Self::Factor) -> (Words, Words) {
        let (u, v) = (self.reduce(x), self.times(y, w));
        (u + v, u + self.window() - v)
    }

    /// The residue of a lazy value after the last forward butterfly.
    #[inline(always)]
    fn residue(self, x: Words) -> Words {
        self.canonical(self.reduce(x))
    }
}

/// q < 2^50 with IFMA; L = 2 q.
#[derive(Clone, Copy)]
pub(super) struct Narrow {
    simd: Avx512,
    q: Words,
    q2: Words,
    /// 2^52 - q.
    minus_q: Words,
    mask: Words,
}

#[derive(Clone, Copy)]
pub(super) struct NarrowFactor {
    value: Words,
    /// floor(value 2^52 / q).
    quotient: Words,
}

impl Field for Narrow {
    type Factor = NarrowFactor;
    const LEAF: usize = 16;

    #[inline(always)]
    fn new(simd: Avx512, q: &Modulus) -> Self {
        let q = q.value();
        Self {
            simd,
            q: simd.splat(q),
            q2: simd.splat(2 * q),
            minus_q: simd.splat((1 << 52) - q),
            mask: simd.splat((1 << 52) - 1),
        }
    }

    #[inline(always)]
    fn simd(self) -> Avx512 {
        self.simd
    }

    #[inline(always)]
    fn window(self) -> Words {
        self.q2
    }

    #[inline(always)]
    fn factor(self, value: Words, quotient: Words) -> NarrowFactor {
        NarrowFactor { value, quotient }
    }

    #[inline(always)]
    fn constant(self, w: ShoupFactor) -> NarrowFactor {
        NarrowFactor { value: self.simd.splat(w.value), quotient: self.simd.splat(w.quotient >> 12) }
    }

    #[inline(always)]
    fn times(self, y: Words, w: NarrowFactor) -> Words {
        // The estimate is less than y w / q by less than 2, for the lowest 52 bits of any y.
        let estimate = self.simd.zero().plus_hi52(y, w.quotient);
        self.simd.zero().plus_lo52(y, w.value).plus_lo52(estimate, self.minus_q) & self.mask
    }

    #[inline(always)]
    fn canonical(self, x: Words) -> Words {
        x.less(self.q)
    }
}

impl Narrow {
    /// [0, 4 q) to [0, q).
    #[inline(always)]
    pub(super) fn canonical4(self, x: Words) -> Words {
        x.less(self.q2).less(self.q)
    }

    /// x mod 2^52 - estimate q in 52 bits.
    #[inline(always)]
    fn minus_multiple(self, x: Words, estimate: Words) -> Words {
        x.plus_lo52(estimate, self.minus_q) & self.mask
    }
}

/// The arithmetic of a forward transform modulo q < 2^46, which reduces nothing before its end: a
/// butterfly adds at most 2 q to its first operand, so from words below 4 q on those of 17 levels
/// stay below 38 q < 2^52. Only the lowest 52 bits of a lazy value count.
#[derive(Clone, Copy)]
pub(super) struct Unreduced {
    narrow: Narrow,
    one: NarrowFactor,
}

/// Whether [`Unreduced`] transforms modulo a prime.
#[inline(always)]
pub(super) const fn is_unreduced(q: &Modulus) -> bool {
    q.bits() <= 46
}

impl Field for Unreduced {
    type Factor = NarrowFactor;
    const LEAF: usize = Narrow::LEAF;

    #[inline(always)]
    fn new(simd: Avx512, q: &Modulus) -> Self {
        let narrow = Narrow::new(simd, q);
        Self { narrow, one: narrow.constant(q.shoup(1)) }
    }

    #[inline(always)]
    fn simd(self) -> Avx512 {
        self.narrow.simd
    }

    #[inline(always)]
    fn window(self) -> Words {
        self.narrow.q2
    }

    #[inline(always)]
    fn factor(self, value: Words, quotient: Words) -> NarrowFactor {
        self.narrow.factor(value, quotient)
    }

    #[inline(always)]
    fn constant(self, w: ShoupFactor) -> NarrowFactor {
        self.narrow.constant(w)
    }

    #[inline(always)]
    fn times(self, y: Words, w: NarrowFactor) -> Words {
        self.narrow.times(y, w)
    }

    #[inline(always)]
    fn canonical(self, x: Words) -> Words {
        self.narrow.canonical(x)
    }

    #[inline(always)]
    fn forward_butterfly(self, x: Words, y: Words, w: NarrowFactor) -> (Words, Words) {
        let estimate = self.simd().zero().plus_hi52(y, w.quotient);
        let sum = x.plus_lo52(y, w.value).plus_lo52(estimate, self.narrow.minus_q);
        (sum, x + x + self.narrow.q2 - sum)
    }

    #[inline(always)]
    fn residue(self, x: Words) -> Words {
        self.canonical(self.times(x, self.one))
    }
}

/// Barrett's constants for products of two residues below 2^50.
#[derive(Clone, Copy)]
pub(super) struct NarrowBarrett {
    field: Narrow,
    /// 52 - bits of q, and 2.
    shift: Words,
    two: Words,
    /// floor(2^(bits + 50) / q) < 2^52.
    mu: Words,
}

impl NarrowBarrett {
    #[inline(always)]
    pub(super) fn new(simd: Avx512, q: &Modulus) -> Self {
        let mu = (1u128 << (q.bits() + 50)) / u128::from(q.value());
        Self {
            field: Narrow::new(simd, q),
            shift: simd.splat(u64::from(52 - q.bits())),
            two: simd.splat(2),
            mu: simd.splat(mu as u64),
        }
    }

    /// a b + c in [0, 4 q), for residues.
    #[inline(always)]
    fn lazy(self, a: Words, b: Words, c: Words) -> Words {
        let zero = self.field.simd.zero();
        // floor(a b / 2^(bits - 2)) < 2^52; the estimate falls short of a b / q by less than
        // 1/2 + 1 + 1.
        let top = zero.plus_hi52(a.shl(self.shift), b.shl(self.two));
        let estimate = zero.plus_hi52(top, self.mu);
        self.field.minus_multiple(c.plus_lo52(a, b), estimate)
    }
}

/// q < 2^61; L = 4 q.
#[derive(Clone, Copy)]
pub(super) struct Wide {
    simd: Avx512,
    q: Words,
    q2: Words,
    q4: Words,
}

#[derive(Clone, Copy)]
pub(super) struct WideFactor {
    value: Words,
    /// Bits 63 to 12 of floor(value 2^64 / q).
    quotient: Words,
    /// Bits 11 to 0 of it, at bits 51 to 40; the multipliers ignore the bits above.
    rest: Words,
}

/// floor(y quotient / 2^64) or up to 2 less (3 from the exact quotient of reals), for any y.
#[inline(always)]
fn high_product(y: Words, quotient: Words, rest: Words) -> Words {
    let top = y.shr::<52>();
    top.times_lo(quotient).plus_hi52(y, quotient).plus_hi52(top, rest)
}

impl Field for Wide {
    type Factor = WideFactor;
    /// With 16 lines, the parts of the factors no longer fit.
    const LEAF: usize = 8;

    #[inline(always)]
    fn new(simd: Avx512, q: &Modulus) -> Self {
        let q = q.value();
        Self { simd, q: simd.splat(q), q2: simd.splat(2 * q), q4: simd.splat(4 * q) }
    }

    #[inline(always)]
    fn simd(self) -> Avx512 {
        self.simd
    }

    #[inline(always)]
    fn window(self) -> Words {
        self.q4
    }

    #[inline(always)]
    fn factor(self, value: Words, quotient: Words) -> WideFactor {
        let forty = self.simd.splat(40);
        WideFactor { value, quotient: quotient.shr::<12>(), rest: quotient.shl(forty) }
    }

    #[inline(always)]
    fn constant(self, w: ShoupFactor) -> WideFactor {
        self.factor(self.simd.splat(w.value), self.simd.splat(w.quotient))
    }

    /// In [0, 4 q) for any word y.
    #[inline(always)]
    fn times(self, y: Words, w: WideFactor) -> Words {
        y.times_lo(w.value) - high_product(y, w.quotient, w.rest).times_lo(self.q)
    }

    #[inline(always)]
    fn canonical(self, x: Words) -> Words {
        x.less(self.q2).less(self.q)
    }
}

impl Wide {
    /// [0, 8 q) to [0, q).
    #[inline(always)]
    pub(super) fn canonical8(self, x: Words) -> Words {
        x.less(self.q4).less(self.q2).less(self.q)
    }
}

/// Barrett's constants for products of two residues below 2^61.
#[derive(Clone, Copy)]
pub(super) struct WideBarrett {
    field: Wide,
    /// 61 - bits of q, then 43 and 2.
    shift: Words,
    forty_three: Words,
    two: Words,
    /// floor(2^(bits + 62) / q) < 2^63, in the parts of a [`WideFactor`].
    mu: Words,
    mu_rest: Words,
}

impl WideBarrett {
    #[inline(always)]
    pub(super) fn new(simd: Avx512, q: &Modulus) -> Self {
        let mu = ((1u128 << (q.bits() + 62)) / u128::from(q.value())) as u64;
        Self {
            field: Wide::new(simd, q),
            shift: simd.splat(u64::from(61 - q.bits())),
            forty_three: simd.splat(43),
            two: simd.splat(2),
            mu: simd.splat(mu >> 12),
            mu_rest: simd.splat(mu << 40),
        }
    }

    /// a b in [0, 5 q), for residues.
    #[inline(always)]
    fn lazy(self, a: Words, b: Words) -> Words {
        // 2^(61 - bits) a 4 b / 2^61 = a b / 2^(bits - 2) < 2^63, minus up to 3, which is up to 1.5
        // in the estimate, to which up to 3.5 of its own is added.
        let (a_wide, b_wide) = (a.shl(self.shift), b.shl(self.two));
        let (a_top, a_rest) = (a_wide.shr::<9>(), a_wide.shl(self.forty_three));
        let b_top = b.shr::<50>();
        let top = b_top.times_lo(a_top).plus_hi52(b_wide, a_top).plus_hi52(b_top, a_rest);
        let estimate = high_product(top, self.mu, self.mu_rest);
        a.times_lo(b) - estimate.times_lo(self.field.q)
    }
}

/// Products of two residues.
pub(super) trait Barrett: Copy {
    fn new(simd: Avx512, q: &Modulus) -> Self;
    /// a b mod q.
    fn mul(self, a: Words, b: Words) -> Words;
    /// a b + c mod q.
    fn mul_add(self, a: Words, b: Words, c: Words) -> Words;
}

impl Barrett for NarrowBarrett {
    #[inline(always)]
    fn new(simd: Avx512, q: &Modulus) -> Self {
        Self::new(simd, q)
    }

    #[inline(always)]
    fn mul(self, a: Words, b: Words) -> Words {
        self.field.canonical4(self.lazy(a, b, self.field.simd.zero()))
    }

    #[inline(always)]
    fn mul_add(self, a: Words, b: Words, c: Words) -> Words {
        self.field.canonical4(self.lazy(a, b, c))
    }
}

impl Barrett for WideBarrett {
    #[inline(always)]
    fn new(simd: Avx512, q: &Modulus) -> Self {
        Self::new(simd, q)
    }

    #[inline(always)]
    fn mul(self, a: Words, b: Words) -> Words {
        self.field.canonical8(self.lazy(a, b))
    }

    #[inline(always)]
    fn mul_add(self, a: Words, b: Words, c: Words) -> Words {
        self.field.canonical8(self.lazy(a, b) + c)
    }
}

/// Sums of double-width products, kept as columns of weight 1, 2^52 (and 2^104), and their
/// residues.
pub(super) trait Sum: Copy {
    /// Residues prepared as multiplicands.
    type Term: Copy;
    /// The weights of the columns modulo q.
    type Weights: Copy;
    /// The most products.
    const MOST: usize;

    fn zero(simd: Avx512) -> Self;
    fn term(x: Words) -> Self::Term;
    fn add(&mut self, x: Self::Term, y: Self::Term);
    fn weights(simd: Avx512, q: &Modulus) -> Self::Weights;
    fn residue(self, weights: &Self::Weights) -> Words;
}

/// A [`NarrowSum`] of so few products that the upper column has at most 52 bits.
#[derive(Clone, Copy)]
pub(super) struct ShortSum(NarrowSum);

impl Sum for ShortSum {
    type Term = Words;
    type Weights = (Narrow, [NarrowFactor; 2]);
    /// 15 2^48 and the carry of the lower column, which is at most 15, are below 2^52.
    const MOST: usize = 15;

    #[inline(always)]
    fn zero(simd: Avx512) -> Self {
        Self(NarrowSum::zero(simd))
    }

    #[inline(always)]
    fn term(x: Words) -> Words {
        x
    }

    #[inline(always)]
    fn add(&mut self, x: Words, y: Words) {
        self.0.add(x, y);
    }

    #[inline(always)]
    fn weights(simd: Avx512, q: &Modulus) -> Self::Weights {
        let field = Narrow::new(simd, q);
        (field, [1, 1 << 52].map(|weight| field.constant(q.shoup(q.reduce(weight)))))
    }

    #[inline(always)]
    fn residue(self, (field, [one, second]): &Self::Weights) -> Words {
        let NarrowSum { lo, hi } = self.0;
        // The multipliers ignore the bits of `lo` above 52, which are the carry.
        let upper = field.times(hi + lo.shr::<52>(), *second);
        field.canonical4(upper + field.times(lo, *one))
    }
}

/// The weights of the columns of a [`Sum`] modulo q.
#[derive(Clone, Copy)]
pub(super) struct Weights {
    field: Wide,
    one: WideFactor,
    second: WideFactor,
    third: WideFactor,
}

impl Weights {
    #[inline(always)]
    pub(super) fn new(simd: Avx512, q: &Modulus) -> Self {
        let field = Wide::new(simd, q);
        let second = q.reduce(1 << 52);
        Self {
            field,
            one: field.constant(q.shoup(q.reduce(1))),
            second: field.constant(q.shoup(second)),
            third: field.constant(q.shoup(q.mul(second, second))),
        }
    }

    /// x mod q for any word x.
    #[inline(always)]
    pub(super) fn reduce(&self, x: Words) -> Words {
        self.field.canonical(self.field.times(x, self.one))
    }
}

/// Sums of products of words below 2^50.
#[derive(Clone, Copy)]
pub(super) struct NarrowSum {
    lo: Words,
    hi: Words,
}

impl Sum for NarrowSum {
    type Term = Words;
    type Weights = Weights;
    const MOST: usize = 65;

    #[inline(always)]
    fn zero(simd: Avx512) -> Self {
        Self { lo: simd.zero(), hi: simd.zero() }
    }

    #[inline(always)]
    fn term(x: Words) -> Words {
        x
    }

    #[inline(always)]
    fn add(&mut self, x: Words, y: Words) {
        self.lo = self.lo.plus_lo52(x, y);
        self.hi = self.hi.plus_hi52(x, y);
    }

    #[inline(always)]
    fn weights(simd: Avx512, q: &Modulus) -> Weights {
        Weights::new(simd, q)
    }

    #[inline(always)]
    fn residue(self, weights: &Weights) -> Words {
        let f = weights.field;
        f.canonical8(f.times(self.hi, weights.second) + f.times(self.lo, weights.one))
    }
}

/// Sums of products of words below 2^61.
#[derive(Clone, Copy)]
pub(super) struct WideSum {
    columns: [Words; 3],
}

/// A word and its bits from 52 up.
#[derive(Clone, Copy)]
pub(super) struct WideTerm {
    word: Words,
    top: Words,
}

impl Sum for WideSum {
    type Term = WideTerm;
    type Weights = Weights;
    const MOST: usize = 65;

    #[inline(always)]
    fn zero(simd: Avx512) -> Self {
        Self { columns: [simd.zero(); 3] }
    }

    #[inline(always)]
    fn term(x: Words) -> WideTerm {
        WideTerm { word: x, top: x.shr::<52>() }
    }

    #[inline(always)]
    fn add(&mut self, x: WideTerm, y: WideTerm) {
        let [c0, c1, c2] = &mut self.columns;
        *c0 = c0.plus_lo52(x.word, y.word);
        *c1 = c1.plus_hi52(x.word, y.word).plus_lo52(x.top, y.word).plus_lo52(x.word, y.top);
        *c2 = c2.plus_hi52(x.top, y.word).plus_hi52(x.word, y.top).plus_lo52(x.top, y.top);
    }

    #[inline(always)]
    fn weights(simd: Avx512, q: &Modulus) -> Weights {
        Weights::new(simd, q)
    }

    #[inline(always)]
    fn residue(self, weights: &Weights) -> Words {
        let f = weights.field;
        let [c0, c1, c2] = self.columns;
        let low = f.times(c0, weights.one) + f.times(c1, weights.second);
        f.canonical8(f.reduce(low) + f.times(c2, weights.third))
    }
}
