//! The plaintext modulus t, with representatives, inverses and factors modulo t.

use crate::arith::{Modulus, is_prime};
use crate::backend::center_down;
use crate::params::ParamsError;

/// A plaintext modulus 2 <= t < 2^61, prime or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainModulus(Modulus);

impl PlainModulus {
    /// Prepares `t`.
    ///
    /// # Errors
    /// [`ParamsError::ModulusRange`] unless 2 <= t < 2^61.
    pub fn new(t: u64) -> Result<Self, ParamsError> {
        Ok(Self(Modulus::new(t)?))
    }

    /// The least prime t > 2^(bits + 1) that is 1 modulo 2^17: integers below 2^bits in magnitude,
    /// of either sign, with slots at every degree up to 2^16. The search through about 40
    /// candidates takes variable time, for public numbers.
    ///
    /// # Errors
    /// [`ParamsError::OutOfRange`] unless 1 <= bits <= 58.
    pub fn for_bits(bits: u32) -> Result<Self, ParamsError> {
        const STEP: u64 = 1 << 17;
        let (lowest, highest) = (1, 58);
        let out_of_range = || ParamsError::OutOfRange {
            what: "bits of integers",
            found: f64::from(bits),
            lowest: f64::from(lowest),
            highest: f64::from(highest),
        };
        if !(lowest..=highest).contains(&bits) {
            return Err(out_of_range());
        }
        let first = ((2u64 << bits) / STEP).max(1) * STEP + 1;
        let mut candidates = (first..1 << 61).step_by(STEP as usize);
        Self::new(candidates.find(|&t| is_prime(t)).ok_or_else(out_of_range)?)
    }

    /// t.
    pub const fn value(&self) -> u64 {
        self.0.value()
    }

    /// Arithmetic modulo t.
    pub const fn modulus(&self) -> &Modulus {
        &self.0
    }

    /// The representative in `[-t/2, t/2)`; constant time.
    #[inline(always)]
    pub fn center(&self, x: u64) -> i64 {
        center_down(&self.0, x)
    }

    /// x^-1 mod t, if there is one (Euclid); variable time.
    pub fn invert(&self, x: u64) -> Option<u64> {
        let t = i128::from(self.value());
        let (mut r, mut s) = ((t, i128::from(x) % t), (0i128, 1i128));
        while r.1 != 0 {
            let quotient = r.0 / r.1;
            r = (r.1, r.0 - quotient * r.1);
            s = (s.1, s.0 - quotient * s.1);
        }
        (r.0 == 1).then(|| s.0.rem_euclid(t) as u64)
    }

    /// (a, b), both units modulo t and the larger of them as small as Euclid's algorithm finds,
    /// about sqrt(t), with a left = b right mod t; `None` unless both sides are units. Variable
    /// time.
    pub fn balance(&self, left: u64, right: u64) -> Option<(i64, i64)> {
        let t = i128::from(self.value());
        let ratio = self.0.mul(left, self.invert(right)?);
        self.invert(left)?;
        // Every remainder r = a ratio mod t with its cofactor a is such a pair.
        let (mut r, mut s) = ((t, i128::from(ratio)), (0i128, 1i128));
        let mut best: Option<(i128, i128)> = None;
        while r.1 != 0 {
            let pair = (s.1, r.1);
            let unit = self.invert(s.1.rem_euclid(t) as u64).is_some();
            let size = |(a, b): (i128, i128)| a.abs().max(b.abs());
            if unit && best.is_none_or(|best| size(pair) < size(best)) {
                best = Some(pair);
            }
            let quotient = r.0 / r.1;
            r = (r.1, r.0 - quotient * r.1);
            s = (s.1, s.0 - quotient * s.1);
        }
        best.map(|(a, b)| (a as i64, b as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// It is the least of its kind, which is checked by trying all below it.
    #[test]
    fn moduli_for_bits_hold_what_is_asked() {
        for bits in 1..=58 {
            let t = PlainModulus::for_bits(bits).unwrap().value();
            assert!(t > 2 << bits && t % (1 << 17) == 1 && is_prime(t), "{bits} bits: {t}");
            let mut less = t - (1 << 17);
            while less > 2 << bits {
                assert!(!is_prime(less), "{bits} bits: {less} is less than {t}");
                less -= 1 << 17;
            }
        }
        for bits in [0, 59, 64, u32::MAX] {
            let error = PlainModulus::for_bits(bits).unwrap_err().to_string();
            assert_eq!(error, format!("bits of integers is {bits}; it must be in 1 ..= 58"));
        }
    }

    #[test]
    fn representatives_are_centred() {
        for t in [2u64, 3, 4, 17, 256, 65537, 1 << 60, (1 << 61) - 1] {
            let plain = PlainModulus::new(t).unwrap();
            for x in [0, 1 % t, t / 2, t.div_ceil(2) % t, t - 1] {
                let c = i128::from(plain.center(x));
                assert!(2 * c >= -i128::from(t) && 2 * c < i128::from(t), "{x} mod {t}: {c}");
                assert_eq!(c.rem_euclid(i128::from(t)), i128::from(x));
            }
        }
    }

    #[test]
    fn balanced_factors_are_small_for_primes() {
        for t in [17u64, 65537, 786_433, (1 << 61) - 1] {
            let plain = PlainModulus::new(t).unwrap();
            for x in [1, 2, t / 3, t / 2, t - 1] {
                let (a, b) = plain.balance(x, 1).unwrap();
                let limit = 2.0 * (t as f64).sqrt();
                assert!((a.abs() as f64) < limit && (b.abs() as f64) < limit, "{x} mod {t}: {a}, {b}");
            }
        }
    }

    proptest! {
        #[test]
        fn inverses_and_balanced_factors_hold(t in 2u64..(1 << 61), x: u64, y: u64) {
            let plain = PlainModulus::new(t).unwrap();
            let m = plain.modulus();
            let (x, y) = (x % t, y % t);
            prop_assert_eq!(plain.invert(x).is_some(), num_integer::gcd(x, t) == 1);
            if let Some(inverse) = plain.invert(x) {
                prop_assert_eq!(m.mul(x, inverse), 1 % t);
            }
            if let Some((a, b)) = plain.balance(x, y) {
                prop_assert_eq!(m.mul(m.reduce_i64(a), x), m.mul(m.reduce_i64(b), y));
                prop_assert!(plain.invert(m.reduce_i64(a)).is_some());
            }
        }
    }
}
