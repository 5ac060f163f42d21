//! A modulus of up to 61 bits with its Barrett constants, and factors with their Shoup quotients.

use crate::params::ParamsError;
use std::hint::black_box;

/// A modulus 2 <= q < 2^61. Every function takes canonical residues in `[0, q)` unless it says
/// otherwise, returns canonical residues, and runs in time independent of the residues (no branch,
/// no table).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Modulus {
    q: u64,
    /// The high and low word of floor(2^128 / q).
    ratio: (u64, u64),
    /// floor(2^(2 bits + 1) / q), for products of two residues.
    mu: u64,
    bits: u32,
}

/// A fixed factor `w` in `[0, q)` with `floor(w 2^64 / q)`: a product with it needs no division
/// (Shoup's method).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShoupFactor {
    /// The factor.
    pub value: u64,
    /// `floor(value 2^64 / q)`.
    pub quotient: u64,
}

/// x - q if x >= q, else x, for x < 2 q; compiles to a conditional move.
#[inline(always)]
pub(crate) fn reduce_once(x: u64, q: u64) -> u64 {
    let reduced = x.wrapping_sub(q);
    // All ones iff the subtraction borrowed (x and q are below 2^63).
    let borrow = ((reduced as i64) >> 63) as u64;
    reduced.wrapping_add(q & borrow)
}

/// a b.
#[cfg(not(target_family = "wasm"))]
#[inline(always)]
pub(crate) fn mul_wide(a: u64, b: u64) -> u128 {
    u128::from(a) * u128::from(b)
}

/// a b, of four products of 32 bits: WebAssembly multiplies to 64 bits, and compilers call a
/// function for a product of 128.
#[cfg(target_family = "wasm")]
#[inline(always)]
pub(crate) fn mul_wide(a: u64, b: u64) -> u128 {
    mul_wide_by_halves(a, b)
}

#[cfg(any(target_family = "wasm", test))]
#[inline(always)]
fn mul_wide_by_halves(a: u64, b: u64) -> u128 {
    const LOW: u64 = 0xffff_ffff;
    let (low, a_high, b_high) = ((a & LOW) * (b & LOW), a >> 32, b >> 32);
    let across = (a & LOW) * b_high;
    // At most (2^32 - 1)^2 + 2 (2^32 - 1) = 2^64 - 1.
    let middle = a_high * (b & LOW) + (low >> 32) + (across & LOW);
    let high = a_high * b_high + (across >> 32) + (middle >> 32);
    (u128::from(high) << 64) | u128::from((middle << 32) | (low & LOW))
}

#[inline(always)]
pub(crate) fn mul_hi(a: u64, b: u64) -> u64 {
    (mul_wide(a, b) >> 64) as u64
}

impl Modulus {
    /// The largest width of a modulus, in bits.
    pub const MAX_BITS: u32 = 61;

    /// Prepares `q`.
    ///
    /// # Errors
    /// [`ParamsError::ModulusRange`] unless 2 <= q < 2^61.
    pub fn new(q: u64) -> Result<Self, ParamsError> {
        if q < 2 || q >> Self::MAX_BITS != 0 {
            return Err(ParamsError::ModulusRange { found: q });
        }
        let bits = 64 - q.leading_zeros();
        // floor(2^128 / q) = floor((2^128 - 1) / q) unless q divides 2^128, which only powers of
        // two do.
        let mut ratio = u128::MAX / u128::from(q);
        if q.is_power_of_two() {
            ratio += 1;
        }
        let mu = ((1u128 << (2 * bits + 1)) / u128::from(q)) as u64;
        Ok(Self { q, ratio: ((ratio >> 64) as u64, ratio as u64), mu, bits })
    }

    /// The modulus itself.
    #[inline(always)]
    pub const fn value(&self) -> u64 {
        self.q
    }

    /// Its width in bits: `floor(log2 q) + 1`.
    #[inline(always)]
    pub const fn bits(&self) -> u32 {
        self.bits
    }

    /// (a + b) mod q.
    #[inline(always)]
    pub fn add(&self, a: u64, b: u64) -> u64 {
        reduce_once(a + b, self.q)
    }

    /// (a - b) mod q.
    #[inline(always)]
    pub fn sub(&self, a: u64, b: u64) -> u64 {
        reduce_once(a + self.q - b, self.q)
    }

    /// -a mod q.
    #[inline(always)]
    pub fn neg(&self, a: u64) -> u64 {
        // All ones iff a is not 0. The compiler must not know: it would turn this, like a reduction
        // of q - a, into a branch on a.
        let some = black_box((((a | a.wrapping_neg()) as i64) >> 63) as u64);
        (self.q - a) & some
    }

    /// a b mod q by Barrett reduction of the double-width product (Menezes et al., Handbook of
    /// Applied Cryptography, 14.3.3, with the quotient off by at most one).
    #[inline(always)]
    pub fn mul(&self, a: u64, b: u64) -> u64 {
        let x = mul_wide(a, b);
        // t < 2^(bits + 2) and mu <= 2^(bits + 2), so that nothing overflows at 61 bits.
        let t = (x >> (self.bits - 2)) as u64;
        let estimate = if cfg!(target_family = "wasm") {
            // The same number: there the upper half of a product costs less than a shift of both.
            mul_hi(t, self.mu << (61 - self.bits))
        } else {
            (mul_wide(t, self.mu) >> (self.bits + 3)) as u64
        };
        reduce_once((x as u64).wrapping_sub(estimate.wrapping_mul(self.q)), self.q)
    }

    /// a b + c mod q.
    #[inline(always)]
    pub fn mul_add(&self, a: u64, b: u64, c: u64) -> u64 {
        self.add(self.mul(a, b), c)
    }

    /// x mod q for any word.
    #[inline(always)]
    pub fn reduce(&self, x: u64) -> u64 {
        let estimate = mul_hi(x, self.ratio.0);
        // ratio.0 = floor(2^64 / q), so the estimate falls short by at most one.
        reduce_once(x.wrapping_sub(estimate.wrapping_mul(self.q)), self.q)
    }

    /// x mod q for any 128-bit word (Barrett with floor(2^128 / q)).
    #[inline(always)]
    pub fn reduce_u128(&self, x: u128) -> u64 {
        let (lo, hi) = (x as u64, (x >> 64) as u64);
        let middle = mul_wide(hi, self.ratio.1) + u128::from(mul_hi(lo, self.ratio.1));
        let middle_lo = middle as u64;
        let (sum, carry) = {
            let product = mul_wide(lo, self.ratio.0) + u128::from(middle_lo);
            ((product >> 64) as u64, (middle >> 64) as u64)
        };
        let estimate = hi.wrapping_mul(self.ratio.0).wrapping_add(sum).wrapping_add(carry);
        reduce_once(lo.wrapping_sub(estimate.wrapping_mul(self.q)), self.q)
    }

    /// x mod q for a signed word.
    #[inline(always)]
    pub fn reduce_i64(&self, x: i64) -> u64 {
        let negative = (x >> 63) as u64;
        let magnitude = self.reduce(x.unsigned_abs());
        self.select_neg(magnitude, negative)
    }

    /// x mod q for a signed 128-bit word.
    #[inline(always)]
    pub fn reduce_i128(&self, x: i128) -> u64 {
        let negative = (x >> 127) as u64;
        let magnitude = self.reduce_u128(x.unsigned_abs());
        self.select_neg(magnitude, negative)
    }

    #[inline(always)]
    fn select_neg(&self, magnitude: u64, negative_mask: u64) -> u64 {
        (magnitude & !negative_mask) | (self.neg(magnitude) & negative_mask)
    }

    /// The representative in `(-q/2, q/2]`.
    #[inline(always)]
    pub fn center(&self, x: u64) -> i64 {
        let above = (((self.q / 2).wrapping_sub(x)) as i64) >> 63;
        (x as i64) - ((self.q as i64) & above)
    }

    /// x^e mod q; variable time in the exponent.
    pub fn pow(&self, x: u64, mut e: u64) -> u64 {
        let mut base = self.reduce(x);
        let mut result = self.reduce(1);
        while e != 0 {
            if e & 1 == 1 {
                result = self.mul(result, base);
            }
            base = self.mul(base, base);
            e >>= 1;
        }
        result
    }

    /// The product of other moduli mod q: 1 if there are none.
    pub fn product_of<'a>(&self, moduli: impl IntoIterator<Item = &'a Modulus>) -> u64 {
        moduli.into_iter().fold(self.reduce(1), |product, m| self.mul(product, self.reduce(m.q)))
    }

    /// The product of those of `moduli` that are not q, mod q.
    pub fn product_of_others(&self, moduli: &[Modulus]) -> u64 {
        self.product_of(moduli.iter().filter(|m| m.q != self.q))
    }

    /// x^-1 mod q for a prime q, by Fermat; 0 for x = 0.
    pub fn inv(&self, x: u64) -> u64 {
        self.pow(x, self.q - 2)
    }

    /// Prepares a fixed factor.
    #[inline]
    pub fn shoup(&self, value: u64) -> ShoupFactor {
        debug_assert!(value < self.q);
        ShoupFactor { value, quotient: ((u128::from(value) << 64) / u128::from(self.q)) as u64 }
    }

    /// a w mod q in `[0, 2q)` for any word a.
    #[inline(always)]
    pub fn mul_shoup_lazy(&self, a: u64, w: ShoupFactor) -> u64 {
        a.wrapping_mul(w.value).wrapping_sub(mul_hi(a, w.quotient).wrapping_mul(self.q))
    }

    /// a w mod q for any word a.
    #[inline(always)]
    pub fn mul_shoup(&self, a: u64, w: ShoupFactor) -> u64 {
        reduce_once(self.mul_shoup_lazy(a, w), self.q)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Moduli at the edges of the range and the shapes in between.
    fn moduli() -> Vec<u64> {
        let mut q = vec![2, 3, 4, 5, 17, 97, 65537, (1 << 61) - 1, (1 << 61) - 2, 1 << 60, (1 << 60) + 33];
        q.extend([(1 << 50) - 27, (1 << 40) + 15, (1 << 32) - 1, (1 << 31) - 1, 0xffff_ee001]);
        q
    }

    #[test]
    fn rejects_what_is_out_of_range() {
        for q in [0, 1, 1 << 61, u64::MAX] {
            assert!(matches!(Modulus::new(q), Err(ParamsError::ModulusRange { found }) if found == q));
        }
    }

    #[test]
    fn edge_words_agree_with_wide_arithmetic() {
        for q in moduli() {
            let m = Modulus::new(q).unwrap();
            for a in [0, 1, 2 % q, q / 2, q - 1] {
                for b in [0, 1, 2 % q, q / 2, q - 1] {
                    assert_eq!(
                        m.mul(a, b),
                        (u128::from(a) * u128::from(b) % u128::from(q)) as u64,
                        "{a}*{b}%{q}"
                    );
                    assert_eq!(m.add(a, b), (a + b) % q);
                    assert_eq!(m.sub(a, b), (a + q - b) % q);
                    assert_eq!(m.mul_shoup(a, m.shoup(b)), m.mul(a, b));
                }
                assert_eq!(m.neg(a), (q - a) % q);
                let c = m.center(a);
                assert!(2 * c.unsigned_abs() <= q && m.reduce_i64(c) == a);
            }
            for x in [0, 1, u64::MAX, u64::MAX - 1, q, q - 1, u64::MAX / 2] {
                assert_eq!(m.reduce(x), x % q);
                for y in [0, 1, u64::MAX, q] {
                    let wide = (u128::from(x) << 64) | u128::from(y);
                    assert_eq!(m.reduce_u128(wide), (wide % u128::from(q)) as u64, "{wide} mod {q}");
                }
            }
            for x in [i64::MIN, i64::MAX, -1, 0, 1] {
                assert_eq!(i128::from(m.reduce_i64(x)), i128::from(x).rem_euclid(i128::from(q)));
            }
            for x in [i128::MIN, i128::MAX, -1, 0, 1] {
                assert_eq!(i128::from(m.reduce_i128(x)), x.rem_euclid(i128::from(q)));
            }
        }
    }

    proptest! {
        #[test]
        fn random_words_agree_with_wide_arithmetic(q in 2u64..(1 << 61), a: u64, b: u64, hi: u64) {
            let m = Modulus::new(q).unwrap();
            let (ra, rb) = (a % q, b % q);
            prop_assert_eq!(m.mul(ra, rb), (u128::from(ra) * u128::from(rb) % u128::from(q)) as u64);
            prop_assert_eq!(m.reduce(a), ra);
            let wide = (u128::from(hi) << 64) | u128::from(a);
            prop_assert_eq!(m.reduce_u128(wide), (wide % u128::from(q)) as u64);
            prop_assert_eq!(m.mul_shoup(a, m.shoup(rb)), (u128::from(a) * u128::from(rb) % u128::from(q)) as u64);
            prop_assert!(m.mul_shoup_lazy(a, m.shoup(rb)) < 2 * q);
        }

        #[test]
        fn products_by_halves_are_products(a: u64, b: u64, q in 2u64..(1 << 61)) {
            for (a, b) in [(a, b), (u64::MAX, b), (u64::MAX, u64::MAX), (a, u64::MAX << 32), (a >> 32, b)] {
                prop_assert_eq!(mul_wide_by_halves(a, b), u128::from(a) * u128::from(b));
            }
            // Barrett's estimate as WebAssembly computes it.
            let m = Modulus::new(q).unwrap();
            let t = ((mul_wide(a % q, b % q)) >> (m.bits - 2)) as u64;
            let by_shift = (mul_wide(t, m.mu) >> (m.bits + 3)) as u64;
            prop_assert_eq!(mul_hi(t, m.mu << (61 - m.bits)), by_shift);
        }

        #[test]
        fn inverses_are_inverses(x in 1u64..((1 << 61) - 1)) {
            let m = Modulus::new((1 << 61) - 1).unwrap();
            prop_assert_eq!(m.mul(x, m.inv(x)), 1);
        }
    }
}
