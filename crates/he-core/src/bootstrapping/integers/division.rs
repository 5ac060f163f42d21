//! Quotients and remainders by plain numbers.

use super::width::DIGIT_BITS;
use super::{IntegerEvaluator, SlotFlags, SlotIntegers};
use crate::backend::RingOps;
use crate::error::{Error, Result};

impl<B: RingOps> IntegerEvaluator<'_, B> {
    /// a / d and a % d for a plain divisor, as in Rust: signed quotients are rounded towards zero,
    /// and remainders have the sign of a. Divisors are magnitudes, without a sign.
    /// The look-ups depend on d.
    ///
    /// The quotient is the upper half of a product with ceil(2^s / d), where 2^s is at least 2^bits
    /// times d, and exact for all a (Granlund, Montgomery, *Division by Invariant Integers using
    /// Multiplication*, 1994, theorem 4.2).
    ///
    /// # Errors
    /// [`Error::Argument`] for a divisor of zero, or one beyond the width; the errors of all
    /// operations, at the [type](Self).
    pub fn div_rem_plain(&self, a: &SlotIntegers<B>, d: u64) -> Result<(SlotIntegers<B>, SlotIntegers<B>)> {
        self.check(a, a)?;
        if d == 0 || d > self.width.mask() {
            let hint = format!("divisors are 1 to 2^{} - 1", self.width.bits());
            return Err(Error::domain("divisor", d.to_string(), hint));
        }
        let quotient = match self.width.is_signed() {
            false => self.quotient(a, d)?,
            true => {
                let negative = self.is_negative(a)?;
                let quotient = self.quotient(&self.with_sign(&negative, a)?, d)?;
                self.with_sign(&negative, &quotient)?
            }
        };
        let remainder = self.sub(a, &self.mul_plain(&quotient, d)?)?;
        Ok((quotient, remainder))
    }

    /// -a where the flag holds.
    fn with_sign(&self, negative: &SlotFlags<B>, a: &SlotIntegers<B>) -> Result<SlotIntegers<B>> {
        self.select(negative, &self.neg(a)?, a)
    }

    /// floor(a / d), without signs.
    fn quotient(&self, a: &SlotIntegers<B>, d: u64) -> Result<SlotIntegers<B>> {
        if d == 1 {
            return self.integers(a.digits.duplicate()?);
        }
        let (count, (factor, shift)) = (self.width.digits(), reciprocal(d, self.width.bits()));
        let greatest = self.width.mask() / d;
        let digits = ((u64::BITS - greatest.leading_zeros()) as usize).div_ceil(DIGIT_BITS).max(1);
        let product = self.multiple(a, factor, shift / DIGIT_BITS + digits)?;
        let quotient = product.slice_batch(product.batch() - digits..product.batch())?;
        let zero = self.zero(&quotient)?;
        self.integers(self.joined(&[vec![&quotient], vec![&zero; count - digits]].concat())?)
    }
}

/// ceil(2^s / d) and s, a multiple of the bits of a digit.
fn reciprocal(d: u64, bits: usize) -> (u128, usize) {
    let ceil_log2 = (u64::BITS - (d - 1).leading_zeros()) as usize;
    let shift = (bits + ceil_log2).next_multiple_of(DIGIT_BITS);
    // 2^s - 1, where s may be all bits.
    let ones = u128::MAX >> (u128::BITS as usize - shift);
    (ones / u128::from(d) + 1, shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::seeded;
    use rand::RngExt;

    /// All quotients of 8 bits, and the ends of each of 32 for random divisors.
    #[test]
    fn reciprocals_divide() {
        for d in 2..256u64 {
            let (factor, shift) = reciprocal(d, 8);
            assert!((0..256u64).all(|a| (u128::from(a) * factor) >> shift == u128::from(a / d)), "{d}");
        }
        let mut rng = seeded();
        for _ in 0..1000 {
            let d = (rng.random::<u32>() >> rng.random_range(0..31)).max(2).into();
            let (factor, shift) = reciprocal(d, 32);
            let a = rng.random::<u32>() as u64 / d * d;
            for a in [a, a.saturating_sub(1), u64::from(u32::MAX)] {
                assert_eq!((u128::from(a) * factor) >> shift, u128::from(a / d), "{a} / {d}");
            }
        }
        assert_eq!(reciprocal(u64::MAX, 64), ((1 << 64) + 2, 128));
    }
}
