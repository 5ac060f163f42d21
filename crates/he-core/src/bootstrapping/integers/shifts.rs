//! Shifts and rotations by plain amounts.

use super::width::{DIGIT_BITS, RADIX};
use super::{IntegerEvaluator, SlotIntegers};
use crate::backend::RingOps;
use crate::ckks::Ciphertext;
use crate::error::{Error, Result};

/// The digits beyond the ends of an integer.
#[derive(Clone, Copy, PartialEq)]
enum Beyond {
    Zeros,
    Sign,
    Cyclic,
}

impl<B: RingOps> IntegerEvaluator<'_, B> {
    /// a << bits. One look-up per digit, or none for a multiple of 4.
    ///
    /// # Errors
    /// [`Error::Argument`] for an amount that is not below the width; the errors of all operations,
    /// at the [type](Self).
    pub fn shl(&self, a: &SlotIntegers<B>, bits: usize) -> Result<SlotIntegers<B>> {
        self.moved(a, bits, bits as isize, Beyond::Zeros)
    }

    /// a >> bits, which copies the sign of signed integers. Otherwise as [`shl`](Self::shl).
    ///
    /// # Errors
    /// The same as for [`shl`](Self::shl).
    pub fn shr(&self, a: &SlotIntegers<B>, bits: usize) -> Result<SlotIntegers<B>> {
        let beyond = if self.width.is_signed() { Beyond::Sign } else { Beyond::Zeros };
        self.moved(a, bits, -(bits as isize), beyond)
    }

    /// The bits of a, each `bits` places higher, and the highest ones the lowest.
    ///
    /// # Errors
    /// The same as for [`shl`](Self::shl).
    pub fn rotate_left(&self, a: &SlotIntegers<B>, bits: usize) -> Result<SlotIntegers<B>> {
        self.moved(a, bits, bits as isize, Beyond::Cyclic)
    }

    /// The bits of a, each `bits` places lower, and the lowest ones the highest.
    ///
    /// # Errors
    /// The same as for [`shl`](Self::shl).
    pub fn rotate_right(&self, a: &SlotIntegers<B>, bits: usize) -> Result<SlotIntegers<B>> {
        self.moved(a, bits, -(bits as isize), Beyond::Cyclic)
    }

    /// Every bit `by` places higher.
    fn moved(&self, a: &SlotIntegers<B>, bits: usize, by: isize, beyond: Beyond) -> Result<SlotIntegers<B>> {
        self.check(a, a)?;
        if bits >= self.width.bits() {
            let hint = format!("it must be below {}", self.width.bits());
            return Err(Error::domain("amount", bits.to_string(), hint));
        }
        let (digits, rest) = (by.div_euclid(DIGIT_BITS as isize), by.rem_euclid(DIGIT_BITS as isize) as u32);
        if rest == 0 {
            return self.integers(self.at_offset(&a.digits, digits, (beyond, RADIX - 1), a)?);
        }
        // Each digit is made of two: lower bits of one, moved up, and upper ones of the next.
        let radix = RADIX as u64;
        let tables = self.tables(RADIX, &[&|m| (m << rest) % radix, &|m| (m << rest) / radix])?;
        let halves = self.look_up(&a.digits, &tables)?;
        let ones = (RADIX - 1) << rest;
        let low = self.at_offset(&halves[0], digits, (beyond, ones % RADIX), a)?;
        let high = self.at_offset(&halves[1], digits + 1, (beyond, ones / RADIX), a)?;
        self.integers(self.digits(self.ev().add(&low, &high)?)?)
    }

    /// Parts of digits, each `by` places higher; `ones` is the part of a digit of all ones.
    fn at_offset(
        &self,
        parts: &Ciphertext<B>,
        by: isize,
        (beyond, ones): (Beyond, usize),
        a: &SlotIntegers<B>,
    ) -> Result<Ciphertext<B>> {
        let count = parts.batch();
        let from: Vec<isize> = (0..count as isize).map(|i| i - by).collect();
        if beyond == Beyond::Cyclic {
            let all: Vec<usize> = from.iter().map(|i| i.rem_euclid(count as isize) as usize).collect();
            return parts.gather_batch(&all);
        }
        let mut extended = vec![self.zero(parts)?];
        if beyond == Beyond::Sign && from.iter().any(|&i| i >= count as isize) {
            extended.push(self.ev().mul_integer(&self.is_negative(a)?.0, ones as i64)?);
        }
        let upper = extended.len() - 1;
        let all = self.joined(&[vec![parts], extended.iter().collect()].concat())?;
        let place = |&i: &isize| match usize::try_from(i) {
            Err(_) => count,
            Ok(i) if i >= count => count + upper,
            Ok(i) => i,
        };
        all.gather_batch(&from.iter().map(place).collect::<Vec<_>>())
    }
}
