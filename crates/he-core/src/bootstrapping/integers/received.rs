//! Integers that come from elsewhere, and those that go there: no estimate of noise goes with them.

use super::batches::CLEAN;
use super::width::RADIX;
use super::{IntegerEvaluator, SlotFlags, SlotIntegers};
use crate::backend::RingOps;
use crate::bootstrapping::lookup::LookupTables;
use crate::ckks::{Ciphertext, NoiseEstimate};
use crate::error::Result;

/// The noise of settled messages over that which a look-up leaves of a digit: sums and choices of
/// few results of look-ups have less.
const ROOM: f64 = 4.0;
/// The deviations of the greatest error, as for all estimates ([`NoiseEstimate`]).
const PEAK: f64 = 16.0;

impl<B: RingOps> IntegerEvaluator<'_, B> {
    /// Integers that somebody else encrypted or [`settled`](Self::settled): their noise counts as
    /// the greatest that settled ones have, whatever they say. Encryptions have less.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for another number of digits than the width has.
    pub fn received(&self, digits: Ciphertext<B>) -> Result<SlotIntegers<B>> {
        self.integers(self.stated(digits, RADIX as u64 - 1))
    }

    /// The same for conditions ([`settled_flags`](Self::settled_flags)).
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for a batch of more than one.
    pub fn received_flags(&self, flags: Ciphertext<B>) -> Result<SlotFlags<B>> {
        SlotFlags::from_ciphertext(self.stated(flags, 1))
    }

    /// The same integers with little noise, and on a level that operations take: looked up if they
    /// have more than four times the noise that a look-up leaves of a digit.
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn settled(&self, a: SlotIntegers<B>) -> Result<SlotIntegers<B>> {
        self.check(&a, &a)?;
        match self.is_settled(&a.digits) {
            true => Ok(a),
            false => self.integers(self.look_up(&a.digits, &self.tables.digit)?.remove(0)),
        }
    }

    /// The same for conditions.
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn settled_flags(&self, a: SlotFlags<B>) -> Result<SlotFlags<B>> {
        match self.is_settled(&a.0) {
            true => Ok(a),
            false => SlotFlags::from_ciphertext(self.look_up(&a.0, &self.tables.flag)?.remove(0)),
        }
    }

    fn is_settled(&self, ct: &Ciphertext<B>) -> bool {
        self.deviation(ct) <= self.settled_deviation()
            && ct.level() >= self.bootstrapper.params().input_level()
    }

    fn stated(&self, mut ct: Ciphertext<B>, most: u64) -> Ciphertext<B> {
        let noise = self.noise_of(self.settled_deviation(), most, ct.scale());
        ct.set_noise(Some(noise));
        ct
    }

    /// The deviation of messages that are settled.
    fn settled_deviation(&self) -> f64 {
        let scale = self.bootstrapper.params().output_scale();
        let left =
            |tables: &LookupTables, most| tables.result_noise(0, self.noise_of(CLEAN, most, scale), scale);
        let of = |noise: NoiseEstimate| libm::exp2(noise.rms_log2) * self.per_message() / scale;
        let tables = &self.tables;
        ROOM * of(left(&tables.digit, RADIX as u64 - 1)).max(of(left(&tables.flag, 1)))
    }

    /// The noise of messages of this deviation.
    fn noise_of(&self, deviation: f64, most: u64, scale: f64) -> NoiseEstimate {
        NoiseEstimate {
            rms_log2: libm::log2(deviation * scale / self.per_message()),
            peak_log2: libm::log2(PEAK * deviation * scale),
            value_log2: libm::log2(most as f64),
        }
    }
}
