//! Functions of numbers in slots that lookups make exact.

use super::{FromTfheKey, SlotsToTfhe, SwitchingParams, TfheToSlots, ToTfheKey};
use crate::backend::{Cpu, RingOps};
use crate::bootstrapping::BootstrapKeys;
use crate::ckks::{Ciphertext, Evaluator};
use crate::error::{Error, Result};
use crate::rlwe::EvaluationKeys;
use crate::tfhe::{
    EncryptedFlags, EncryptedInt, EncryptedUint, IntegerEvaluator, LweBatch, LweOps, Rounding,
};

/// The keys of both ways.
#[derive(Debug)]
pub struct SwitchingKeys<'a, B: RingOps = Cpu> {
    /// The rotations of [`SlotsToTfhe::requirements`].
    pub evaluation: &'a EvaluationKeys<B>,
    /// To TFHE.
    pub to_tfhe: &'a ToTfheKey<B>,
    /// From TFHE.
    pub from_tfhe: &'a FromTfheKey<B>,
    /// The keys of the bootstrapping that gives results their levels.
    pub bootstrapping: &'a BootstrapKeys<B>,
}

/// Signs, comparisons, floors and greatest values of numbers in slots by way of encrypted integers,
/// where circuits of CKKS approximate them by polynomials
/// ([`circuits::ckks::Function`](crate::circuits::ckks::Function)).
///
/// A number counts in units of [`range`](super::SlotsToTfheSpec::range) / 2^bits, the unit of the
/// integers. Results are exact for numbers that are no closer to the border between two integers
/// than the noise of the switch; there they are those of one of the two.
#[derive(Debug)]
pub struct ExactFunctions<'a, B: RingOps + LweOps = Cpu> {
    ev: &'a Evaluator<B>,
    there: &'a SlotsToTfhe<B>,
    integers: &'a IntegerEvaluator<B>,
    back: &'a TfheToSlots<B>,
    keys: SwitchingKeys<'a, B>,
    bits: usize,
}

impl<'a, B: RingOps + LweOps> ExactFunctions<'a, B> {
    /// Computes on integers of `bits` bits, 8 to 14 for secure parameters
    /// ([`phases_2m128`](crate::tfhe::presets::phases_2m128)). Both ways have as many slots.
    ///
    /// # Errors
    /// [`Error::SlotCount`] if they do not.
    pub fn new(
        ev: &'a Evaluator<B>,
        there: &'a SlotsToTfhe<B>,
        integers: &'a IntegerEvaluator<B>,
        back: &'a TfheToSlots<B>,
        keys: SwitchingKeys<'a, B>,
        bits: usize,
    ) -> Result<Self> {
        let (found, capacity) = (1 << there.spec().log_slots, back.slots());
        if found != capacity {
            return Err(Error::SlotCount { found, capacity });
        }
        Ok(Self { ev, there, integers, back, keys, bits })
    }

    /// The value of one of the integers in slots.
    pub fn unit(&self) -> f64 {
        self.there.spec().range * libm::exp2(-(self.bits as f64))
    }

    /// The numbers of the slots as integers, in units: what [`IntegerEvaluator`] computes on.
    ///
    /// # Errors
    /// The errors of [`SlotsToTfhe::switch`] and of [`IntegerEvaluator::rounded`].
    pub fn integers(&self, x: &Ciphertext<B>, rounding: Rounding) -> Result<EncryptedInt<B>> {
        let phases = self.phases(x)?;
        let deviation = self.deviation_log2();
        Ok(self.integers.rounded(&phases, self.bits, deviation, rounding)?.reinterpret())
    }

    /// The deviation that the switch adds, and half as much again for the noise of ciphertexts.
    fn deviation_log2(&self) -> f64 {
        let params: &SwitchingParams = self.there.params();
        params.noise_log2() + 0.5
    }

    /// Integers times `unit`, at most one in magnitude, in the slots of a ciphertext on the output
    /// level of bootstrapping.
    ///
    /// # Errors
    /// The errors of [`IntegerEvaluator::phases`] and of [`TfheToSlots::switch`].
    pub fn numbers(&self, x: &EncryptedInt<B>, unit: f64) -> Result<Ciphertext<B>> {
        self.slots(&self.integers.phases(x, self.word(unit))?)
    }

    /// 1 where conditions hold and 0 elsewhere, likewise.
    ///
    /// # Errors
    /// The same as for [`numbers`](Self::numbers).
    pub fn conditions(&self, flags: &EncryptedFlags<B>) -> Result<Ciphertext<B>> {
        self.slots(&self.integers.flag_phases(flags, self.word(1.0))?)
    }

    /// The phase that is `value` in a slot, in units of 2^-64.
    fn word(&self, value: f64) -> u64 {
        (value / self.back.gain() * libm::exp2(64.0)) as i64 as u64
    }

    fn slots(&self, phases: &LweBatch<B>) -> Result<Ciphertext<B>> {
        self.back.switch(phases, self.keys.from_tfhe, self.keys.bootstrapping)
    }

    /// 1 where x < y, and 0 elsewhere. The difference is within plus and minus half of the range.
    ///
    /// # Errors
    /// The errors of [`integers`](Self::integers) and [`numbers`](Self::numbers); mismatch of
    /// parameters, batches or slots.
    pub fn less(&self, x: &Ciphertext<B>, y: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        let difference = self.phases(&self.ev.sub(x, y)?)?;
        let (bits, deviation) = (self.bits, self.deviation_log2());
        self.slots(&self.integers.below_phases(&difference, 0, bits, deviation, self.word(1.0))?)
    }

    /// -1, 0 or 1: the sign of the nearest integer.
    ///
    /// # Errors
    /// The errors of [`integers`](Self::integers) and [`numbers`](Self::numbers).
    pub fn sign(&self, x: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        let phases = self.phases(x)?;
        let word = self.word(1.0);
        self.slots(&self.integers.sign_phases(&phases, self.bits, self.deviation_log2(), word)?)
    }

    fn phases(&self, x: &Ciphertext<B>) -> Result<LweBatch<B>> {
        self.there.switch(x, self.keys.evaluation, self.keys.to_tfhe)
    }

    /// The greatest multiples of the [`unit`](Self::unit) that are not above the numbers. These are
    /// at most one in magnitude.
    ///
    /// # Errors
    /// The errors of [`integers`](Self::integers) and [`numbers`](Self::numbers).
    pub fn floor(&self, x: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        self.numbers(&self.integers(x, Rounding::Down)?, self.unit())
    }

    /// The greatest of the first `count` slots of one ciphertext, in units, and the slot that it is
    /// in: the first of equal ones. It takes log2 `count` steps, each a comparison and two choices.
    ///
    /// # Errors
    /// [`Error::BatchRange`] for no slots, or more than there are; those of
    /// [`integers`](Self::integers).
    pub fn argmax(&self, x: &Ciphertext<B>, count: usize) -> Result<(EncryptedInt<B>, EncryptedUint<B>)> {
        let all = self.back.slots();
        if count == 0 || count > all {
            return Err(Error::BatchRange { start: 0, end: count, batch: all });
        }
        let places: Vec<u64> = (0..count as u64).collect();
        // Even numbers of bits, at least eight, have integers.
        let width = (usize::BITS - all.leading_zeros()).next_multiple_of(2).max(8) as usize;
        let mut value = self.integers(x, Rounding::Nearest)?.part(0..count)?;
        let mut place = self.integers.constant_u64(&places, width)?;
        while value.batch() > 1 {
            let (half, batch) = (value.batch().div_ceil(2), value.batch());
            let (low, high) = (value.part(0..batch - half)?, value.part(half..batch)?);
            let (low_place, high_place) = (place.part(0..batch - half)?, place.part(half..batch)?);
            let less = self.integers.lt(&low, &high)?;
            let greater = self.integers.select(&less, &high, &low)?;
            let its_place = self.integers.select(&less, &high_place, &low_place)?;
            let rest = batch - half..half;
            value = EncryptedInt::concat(&[&greater, &value.part(rest.clone())?])?;
            place = EncryptedUint::concat(&[&its_place, &place.part(rest)?])?;
        }
        Ok((value, place))
    }
}
