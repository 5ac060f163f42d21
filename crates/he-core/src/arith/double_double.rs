//! Numbers of about 106 bits: unevaluated sums of two doubles.

use super::rounding::{round, round_i64, two_product, two_sum};
use core::ops::{Add, Mul, Neg, Sub};
use zeroize::Zeroize;

/// hi + lo, where hi is the double nearest to the sum. Sums and products are within 2^-102 of the
/// exact ones, relative to the result for products and to the greater operand for sums (Dekker
/// 1971; Knuth, The Art of Computer Programming 2, 4.2.2).
///
/// Additions, subtractions and multiplications of doubles in a fixed order, no fused ones and no
/// branches: the same words everywhere, in constant time. Numbers above 2^995 in magnitude overflow
/// into NaN.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct DoubleDouble {
    hi: f64,
    lo: f64,
}

/// a + b, exactly, for |a| >= |b|.
#[inline(always)]
fn ordered_sum(a: f64, b: f64) -> DoubleDouble {
    let hi = a + b;
    DoubleDouble { hi, lo: b - (hi - a) }
}

impl DoubleDouble {
    /// pi / 4.
    pub(crate) const FRAC_PI_4: Self =
        Self { hi: core::f64::consts::FRAC_PI_4, lo: 3.061_616_997_868_383e-17 };

    #[inline(always)]
    const fn from_parts((hi, lo): (f64, f64)) -> Self {
        Self { hi, lo }
    }

    /// hi + lo, exactly.
    pub(crate) fn new(hi: f64, lo: f64) -> Self {
        Self::from_parts(two_sum(hi, lo))
    }

    /// Converts a word of 64 bits, exactly.
    #[inline(always)]
    pub(crate) fn from_u64(x: u64) -> Self {
        // Halves of 32 bits are doubles.
        ordered_sum((x >> 32) as u32 as f64 * 4_294_967_296.0, x as u32 as f64)
    }

    /// The nearest double.
    #[inline(always)]
    pub(crate) const fn to_f64(self) -> f64 {
        self.hi
    }

    /// The number times a power of two that keeps it in the range of doubles, exactly.
    #[inline(always)]
    pub(crate) fn times_power_of_two(self, power: f64) -> Self {
        Self { hi: self.hi * power, lo: self.lo * power }
    }

    /// The quotient, within 2^-100 of it. Its time may depend on the operands, so use it only for
    /// public numbers.
    pub(crate) fn divide(self, by: Self) -> Self {
        let mut rest = self;
        let digits: [f64; 3] = core::array::from_fn(|_| {
            let digit = rest.hi / by.hi;
            rest = rest - by * Self::from(digit);
            digit
        });
        ordered_sum(digits[0], digits[1]) + Self::from(digits[2])
    }

    /// The nearest integer, for magnitudes below 2^126. Ties go to even if the number is a double,
    /// and to either side otherwise.
    #[inline(always)]
    pub(crate) fn to_i128(self) -> i128 {
        const DIGIT: f64 = (1u64 << 42) as f64;
        let mut rest = self;
        let mut digit = |unit: f64| {
            let digit = round(rest.hi * (1.0 / unit));
            rest = rest - Self::from(digit * unit);
            i128::from(round_i64(digit))
        };
        let (high, middle) = (digit(DIGIT * DIGIT), digit(DIGIT));
        (high << 84) + (middle << 42) + digit(1.0)
    }
}

impl From<f64> for DoubleDouble {
    #[inline(always)]
    fn from(hi: f64) -> Self {
        Self { hi, lo: 0.0 }
    }
}

impl Add for DoubleDouble {
    type Output = Self;

    #[inline(always)]
    fn add(self, rhs: Self) -> Self {
        let ((high, high_rest), (low, low_rest)) = (two_sum(self.hi, rhs.hi), two_sum(self.lo, rhs.lo));
        let sum = ordered_sum(high, high_rest + low);
        ordered_sum(sum.hi, sum.lo + low_rest)
    }
}

impl Neg for DoubleDouble {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Self { hi: -self.hi, lo: -self.lo }
    }
}

impl Sub for DoubleDouble {
    type Output = Self;

    #[inline(always)]
    fn sub(self, rhs: Self) -> Self {
        self + -rhs
    }
}

impl Mul for DoubleDouble {
    type Output = Self;

    #[inline(always)]
    fn mul(self, rhs: Self) -> Self {
        let (product, rest) = two_product(self.hi, rhs.hi);
        ordered_sum(product, rest + (self.hi * rhs.lo + self.lo * rhs.hi))
    }
}

impl Zeroize for DoubleDouble {
    fn zeroize(&mut self) {
        self.hi.zeroize();
        self.lo.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigInt;
    use num_traits::{FromPrimitive, Signed, Zero};
    use proptest::prelude::*;

    /// 2^400 times the number, for magnitudes from 2^-200 to 2^200.
    fn exact(x: DoubleDouble) -> BigInt {
        let part = |x: f64| {
            // The significand of 53 bits and its exponent.
            let (bits, negative) = (x.to_bits(), x < 0.0);
            let exponent = (bits >> 52 & 0x7ff) as i64 - 1075;
            let significand = BigInt::from(bits & ((1 << 52) - 1) | 1 << 52);
            if x == 0.0 {
                return BigInt::zero();
            }
            let shifted = significand << (exponent + 400) as u64;
            if negative { -shifted } else { shifted }
        };
        part(x.hi) + part(x.lo)
    }

    fn number() -> impl Strategy<Value = DoubleDouble> {
        (-1.0f64..1.0, -1.0f64..1.0, -60i32..60).prop_map(|(hi, lo, e)| {
            DoubleDouble::new(hi, lo * 2f64.powi(-53)).times_power_of_two(2f64.powi(e))
        })
    }

    /// |found - expected| is at most 2^-bits of |scale|.
    fn close(found: &BigInt, expected: &BigInt, scale: &BigInt, bits: u64) -> bool {
        (found - expected).abs() << bits <= scale.abs()
    }

    proptest! {
        #[test]
        fn sums_products_and_quotients_have_their_precision(x in number(), y in number()) {
            let (a, b) = (exact(x), exact(y));
            let greatest = a.abs().max(b.abs());
            prop_assert!(close(&exact(x + y), &(&a + &b), &greatest, 102));
            prop_assert!(close(&exact(x - y), &(&a - &b), &greatest, 102));
            let product: BigInt = (&a * &b) >> 400u32;
            prop_assert!(close(&exact(x * y), &product, &product, 100));
            if y.hi != 0.0 {
                let back: BigInt = (exact(x.divide(y)) * &b) >> 400u32;
                prop_assert!(close(&back, &a, &a, 98));
            }
        }

        #[test]
        fn integers_are_the_nearest(x: i128, e in 0u32..126, fraction in -0.49f64..0.49) {
            let x = x >> (127 - e);
            let (hi, lo) = (x as f64, (x - (x as f64) as i128) as f64);
            let split = DoubleDouble::new(hi, lo);
            prop_assume!(BigInt::from(x) << 400u32 == exact(split));
            prop_assert_eq!(split.to_i128(), x);
            if e < 50 {
                prop_assert_eq!((split + DoubleDouble::from(fraction)).to_i128(), x);
            }
            let word = x as u64;
            prop_assert_eq!(exact(DoubleDouble::from_u64(word)), BigInt::from_u64(word).unwrap() << 400u32);
        }
    }
}
