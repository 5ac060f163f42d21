//! Conditions of conditions.

use super::{IntegerEvaluator, SlotFlags};
use crate::backend::RingOps;
use crate::ckks::{Ciphertext, Complex64};
use crate::error::Result;

impl<B: RingOps> IntegerEvaluator<'_, B> {
    /// Whether the condition does not hold. Takes no level.
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn not_flags(&self, a: &SlotFlags<B>) -> Result<SlotFlags<B>> {
        Ok(SlotFlags(self.negated(&a.0)?))
    }

    /// Whether both conditions hold: a product.
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn and_flags(&self, a: &SlotFlags<B>, b: &SlotFlags<B>) -> Result<SlotFlags<B>> {
        Ok(SlotFlags(self.both(&a.0, &b.0)?))
    }

    /// Whether one condition holds at least: a product.
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn or_flags(&self, a: &SlotFlags<B>, b: &SlotFlags<B>) -> Result<SlotFlags<B>> {
        let neither = self.both(&self.negated(&a.0)?, &self.negated(&b.0)?)?;
        Ok(SlotFlags(self.negated(&neither)?))
    }

    /// Whether exactly one condition holds: a product.
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn xor_flags(&self, a: &SlotFlags<B>, b: &SlotFlags<B>) -> Result<SlotFlags<B>> {
        let (ev, both) = (self.ev(), self.both(&a.0, &b.0)?);
        let one = ev.sub(&ev.add(&a.0, &b.0)?, &ev.mul_integer(&both, 2)?)?;
        Ok(SlotFlags(self.flags(one)?))
    }

    pub(super) fn negated(&self, flag: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        self.flags(self.ev().add_scalar(&self.ev().neg(flag)?, Complex64::new(1.0, 0.0))?)
    }

    fn both(&self, a: &Ciphertext<B>, b: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        let fresh = [self.refreshed_flags(a, 1)?, self.refreshed_flags(b, 1)?];
        let [a, b] = [fresh[0].as_ref().unwrap_or(a), fresh[1].as_ref().unwrap_or(b)];
        self.flags(self.ev().mul(a, b, self.program)?)
    }
}
