//! Operations on bits.

use super::width::{DIGIT_BITS, RADIX};
use super::{IntegerEvaluator, SlotIntegers};
use crate::backend::RingOps;
use crate::ckks::Ciphertext;
use crate::error::Result;

impl<B: RingOps> IntegerEvaluator<'_, B> {
    /// a & b. One look-up of 256 entries per digit.
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn and(&self, a: &SlotIntegers<B>, b: &SlotIntegers<B>) -> Result<SlotIntegers<B>> {
        self.digitwise(a, b, &|a, b| a & b)
    }

    /// a | b, likewise.
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn or(&self, a: &SlotIntegers<B>, b: &SlotIntegers<B>) -> Result<SlotIntegers<B>> {
        self.digitwise(a, b, &|a, b| a | b)
    }

    /// a ^ b, likewise.
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn xor(&self, a: &SlotIntegers<B>, b: &SlotIntegers<B>) -> Result<SlotIntegers<B>> {
        self.digitwise(a, b, &|a, b| a ^ b)
    }

    /// !a. No look-up and no level.
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn not(&self, a: &SlotIntegers<B>) -> Result<SlotIntegers<B>> {
        self.check(a, a)?;
        let ones = (RADIX as f64 - 1.0).into();
        self.integers(self.digits(self.ev().add_scalar(&self.ev().neg(&a.digits)?, ones)?)?)
    }

    /// a & mask for a plain mask. One look-up of 16 entries per digit.
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn and_plain(&self, a: &SlotIntegers<B>, mask: u64) -> Result<SlotIntegers<B>> {
        self.check(a, a)?;
        self.integers(self.masked(&a.digits, mask)?)
    }

    /// a | mask, likewise: a + mask - (a & mask).
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn or_plain(&self, a: &SlotIntegers<B>, mask: u64) -> Result<SlotIntegers<B>> {
        self.without(a, mask, 1)
    }

    /// a ^ mask, likewise: a + mask - 2 (a & mask).
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn xor_plain(&self, a: &SlotIntegers<B>, mask: u64) -> Result<SlotIntegers<B>> {
        self.without(a, mask, 2)
    }

    /// Each digit of two, by a function below 16.
    fn digitwise(
        &self,
        a: &SlotIntegers<B>,
        b: &SlotIntegers<B>,
        f: &dyn Fn(u64, u64) -> u64,
    ) -> Result<SlotIntegers<B>> {
        self.check(a, b)?;
        let radix = RADIX as u64;
        let tables = self.tables(RADIX * RADIX, &[&|m| f(m % radix, m / radix)])?;
        let mut found = self.cleaned([&a.digits, &b.digits], 1.0 + RADIX as f64, |[a, b]| {
            let pairs = self.ev().add(a, &self.ev().mul_integer(b, RADIX as i64)?)?;
            self.look_up(&pairs, &tables)
        })?;
        self.integers(self.digits(found.remove(0))?)
    }

    fn without(&self, a: &SlotIntegers<B>, mask: u64, times: i64) -> Result<SlotIntegers<B>> {
        let common = self.ev().mul_integer(&self.and_plain(a, mask)?.digits, times)?;
        let both = self.ev().add(&a.digits, &self.constant(a, mask)?.digits)?;
        self.integers(self.digits(self.ev().sub(&both, &common)?)?)
    }

    /// The bits of each digit that its digit of the mask has.
    fn masked(&self, digits: &Ciphertext<B>, mask: u64) -> Result<Ciphertext<B>> {
        let bit = |t: u32| move |m: u64| (m >> t) & 1;
        let tables = self.tables(RADIX, &[&bit(0), &bit(1), &bit(2), &bit(3)])?;
        let bits = self.look_up(digits, &tables)?;
        let digit = |k: usize| {
            let factor = |t: usize| ((mask >> (DIGIT_BITS * k + t)) & 1) << t;
            let times = |t: usize| self.ev().mul_integer(&bits[t].slice_batch(k..k + 1)?, factor(t) as i64);
            (1..DIGIT_BITS).try_fold(times(0)?, |sum, t| self.ev().add(&sum, &times(t)?))
        };
        let all = (0..digits.batch()).map(digit).collect::<Result<Vec<_>>>()?;
        self.digits(Ciphertext::concat(&all.iter().collect::<Vec<_>>())?)
    }
}
