//! Sums, differences, comparisons and choices.

use super::super::lookup::LookupTables;
use super::estimates::{either, exactly, noiseless, with_noise};
use super::width::RADIX;
use super::{IntegerEvaluator, SlotFlags, SlotIntegers};
use crate::backend::RingOps;
use crate::ckks::{Ciphertext, Complex64};
use crate::error::Result;

impl<B: RingOps> IntegerEvaluator<'_, B> {
    /// a + b, wrapping. One look-up per digit, and products.
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn add(&self, a: &SlotIntegers<B>, b: &SlotIntegers<B>) -> Result<SlotIntegers<B>> {
        self.check(a, b)?;
        self.integers(self.cleaned([&a.digits, &b.digits], 2.0, |[a, b]| {
            self.carried(&self.ev().add(a, b)?, &self.tables.sum, 1)
        })?)
    }

    /// a - b, wrapping. One look-up per digit, and products.
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn sub(&self, a: &SlotIntegers<B>, b: &SlotIntegers<B>) -> Result<SlotIntegers<B>> {
        self.check(a, b)?;
        self.integers(self.cleaned([&a.digits, &b.digits], 2.0, |[a, b]| {
            self.carried(&self.ev().sub(a, b)?, &self.tables.difference, -1)
        })?)
    }

    /// -a, wrapping: 0 - a.
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn neg(&self, a: &SlotIntegers<B>) -> Result<SlotIntegers<B>> {
        self.check(a, a)?;
        self.integers(self.carried(&self.ev().neg(&a.digits)?, &self.tables.difference, -1)?)
    }

    /// Whether a < b. One look-up per digit, and products; two more for signs.
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn lt(&self, a: &SlotIntegers<B>, b: &SlotIntegers<B>) -> Result<SlotFlags<B>> {
        let [less, same] = exactly(self.compared(a, b, &self.tables.order)?)?;
        let less = self.folded(less, same)?;
        Ok(SlotFlags(if self.width.is_signed() { self.signed_order(less, a, b)? } else { less }))
    }

    /// Whether a = b. One look-up per digit, and products.
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn eq(&self, a: &SlotIntegers<B>, b: &SlotIntegers<B>) -> Result<SlotFlags<B>> {
        let same = self.compared(a, b, &self.tables.same)?.remove(0);
        Ok(SlotFlags(self.all(same)?))
    }

    /// a where the condition holds, otherwise b: one level below the lowest operand, which is
    /// refreshed if it has none.
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn select(
        &self,
        condition: &SlotFlags<B>,
        a: &SlotIntegers<B>,
        b: &SlotIntegers<B>,
    ) -> Result<SlotIntegers<B>> {
        self.check(a, b)?;
        self.integers(self.chosen(&condition.0, &a.digits, &b.digits)?)
    }

    /// The lesser of a and b.
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn min(&self, a: &SlotIntegers<B>, b: &SlotIntegers<B>) -> Result<SlotIntegers<B>> {
        self.select(&self.lt(a, b)?, a, b)
    }

    /// The greater of a and b.
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn max(&self, a: &SlotIntegers<B>, b: &SlotIntegers<B>) -> Result<SlotIntegers<B>> {
        self.select(&self.lt(a, b)?, b, a)
    }

    /// |a|, wrapping: the least signed integer is its own.
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn abs(&self, a: &SlotIntegers<B>) -> Result<SlotIntegers<B>> {
        self.check(a, a)?;
        if !self.width.is_signed() {
            return self.integers(a.digits.duplicate()?);
        }
        self.select(&self.is_negative(a)?, &self.neg(a)?, a)
    }

    /// Whether the highest bit is set, which is the sign of signed integers. One look-up.
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn is_negative(&self, a: &SlotIntegers<B>) -> Result<SlotFlags<B>> {
        self.check(a, a)?;
        let top = self.width.digits() - 1;
        let top = a.digits.slice_batch(top..top + 1)?;
        Ok(SlotFlags(self.look_up(&top, &self.tables.sign)?.remove(0)))
    }

    /// Tables at the differences of digits.
    fn compared(
        &self,
        a: &SlotIntegers<B>,
        b: &SlotIntegers<B>,
        tables: &LookupTables,
    ) -> Result<Vec<Ciphertext<B>>> {
        self.check(a, b)?;
        self.cleaned([&a.digits, &b.digits], 2.0, |[a, b]| self.look_up(&self.ev().sub(a, b)?, tables))
    }

    /// The order of signed numbers from that of two's complement: where signs differ, the one that
    /// has it is the greater one there.
    fn signed_order(
        &self,
        less: Ciphertext<B>,
        a: &SlotIntegers<B>,
        b: &SlotIntegers<B>,
    ) -> Result<Ciphertext<B>> {
        let top = self.width.digits() - 1;
        let tops = [a, b].map(|x| x.digits.slice_batch(top..top + 1));
        let [a, b] = tops;
        let signs = self.look_up(&self.joined(&[&a?, &b?])?, &self.tables.sign)?.remove(0);
        let difference = self.ev().sub(&signs.slice_batch(0..1)?, &signs.slice_batch(1..2)?)?;
        self.flags(self.ev().add(&less, &difference)?)
    }

    /// Digits with their carries, from sums up to [`GREATEST_SUM`](super::carry_tables::GREATEST_SUM) or
    /// differences: the digit plus `sign` times a carry, which wraps around where it is passed on.
    pub(super) fn carried(
        &self,
        sums: &Ciphertext<B>,
        tables: &LookupTables,
        sign: i64,
    ) -> Result<Ciphertext<B>> {
        let (ev, count) = (self.ev(), sums.batch());
        let [digits, carry, pass] = exactly(self.look_up(sums, tables)?)?;
        if count == 1 {
            return Ok(digits);
        }
        let carries = self.carries(carry.slice_batch(0..count - 1)?, pass.slice_batch(0..count - 1)?)?;
        // sign (1 - 16 pass).
        let wrapping = ev.mul_integer(&pass.slice_batch(1..count)?, -sign * RADIX as i64)?;
        let step = ev.add_scalar(&wrapping, Complex64::new(sign as f64, 0.0))?;
        let upper = ev.add(&digits.slice_batch(1..count)?, &ev.mul(&carries, &step, self.program)?)?;
        self.digits(self.joined(&[&digits.slice_batch(0..1)?, &upper])?)
    }

    /// a where the flag is one, otherwise b.
    pub(super) fn chosen(
        &self,
        flag: &Ciphertext<B>,
        a: &Ciphertext<B>,
        b: &Ciphertext<B>,
    ) -> Result<Ciphertext<B>> {
        let (fresh, ev) = ([self.refreshed(a, 1)?, self.refreshed(b, 1)?], self.ev());
        let [a, b] = [fresh[0].as_ref().unwrap_or(a), fresh[1].as_ref().unwrap_or(b)];
        let fresh = self.refreshed_flags(flag, 1)?;
        let (most, noise) = (RADIX as u64 - 1, either(a, b));
        let difference = noiseless(ev.sub(a, b)?, most);
        let part = ev.mul(fresh.as_ref().unwrap_or(flag), &difference, self.program)?;
        let chosen = ev.add(&noiseless(b.duplicate()?, most), &part)?;
        self.digits(with_noise(chosen, noise))
    }
}
