//! Rotations of slots, and sums by them.

use super::ciphertext::Meta;
use super::noise::NoiseModel;
use super::{Ciphertext, Evaluator, Scheme};
use crate::backend::RingOps;
use crate::error::{Error, Result};
use crate::params::ParamsError;
use crate::ring::galois_conjugation;
use crate::rlwe::{EvaluationKeys, SwitchKey};

impl<S: Scheme, B: RingOps> Evaluator<S, B> {
    /// The checks that every rotation makes of its operands.
    fn check_rotation(&self, ct: &Ciphertext<S, B>, keys: &EvaluationKeys<B>) -> Result<()> {
        keys.check(self.params.rlwe(), &self.ring)?;
        self.check_ciphertext(ct)?;
        if !self.params.has_slots() {
            let (found, log_n) = (self.params.plain().value(), self.ring.spec().log_n());
            return Err(ParamsError::NoSlots { found, log_n }.into());
        }
        Ok(())
    }

    /// Rotates both rows left: slot i of a row of the result is slot i + step of that row,
    /// cyclically over N/2. This takes one key switch if there is a key for this step, and
    /// otherwise one per digit of a signed binary expansion.
    ///
    /// # Errors
    /// [`ParamsError::NoSlots`]; [`Error::MissingGaloisKey`], [`Error::ParamsMismatch`];
    /// [`Error::BudgetSpent`]; device errors.
    pub fn rotate(
        &self,
        ct: &Ciphertext<S, B>,
        step: i64,
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<S, B>> {
        self.check_rotation(ct, keys)?;
        let meta = self.params.rotated(ct.meta, keys.rotation_path(step)?.len())?;
        Ok(Ciphertext::with_meta(ct.pair.rotate(step, keys)?, meta))
    }

    /// Rotations by several steps of one ciphertext, decomposed once (hoisting).
    ///
    /// # Errors
    /// The same as for [`rotate`](Self::rotate).
    pub fn rotate_many(
        &self,
        ct: &Ciphertext<S, B>,
        steps: &[i64],
        keys: &EvaluationKeys<B>,
    ) -> Result<Vec<Ciphertext<S, B>>> {
        self.check_rotation(ct, keys)?;
        let rotated = ct.pair.rotate_many(steps, keys)?;
        let results = rotated.into_iter().zip(steps).map(|(pair, &step)| {
            let meta = self.params.rotated(ct.meta, keys.rotation_path(step)?.len())?;
            Ok(Ciphertext::with_meta(pair, meta))
        });
        results.collect()
    }

    /// Exchanges the two rows.
    ///
    /// # Errors
    /// [`ParamsError::NoSlots`]; [`Error::MissingConjugationKey`] without the key for X -> X^-1;
    /// [`Error::ParamsMismatch`]; [`Error::BudgetSpent`]; device errors.
    pub fn swap_rows(&self, ct: &Ciphertext<S, B>, keys: &EvaluationKeys<B>) -> Result<Ciphertext<S, B>> {
        self.check_rotation(ct, keys)?;
        let g = galois_conjugation(self.ring.spec().log_n());
        let key = keys.galois(g).ok_or(Error::MissingConjugationKey)?;
        let meta = self.params.rotated(ct.meta, 1)?;
        Ok(Ciphertext::with_meta(ct.pair.apply_automorphism(key, g)?, meta))
    }

    /// The same numbers under another secret, by a key from this one to that: see
    /// [`RlweCiphertext::switch`](crate::rlwe::RlweCiphertext::switch). The primes stay; the
    /// predicted noise is that of the key's primes and digits.
    ///
    /// # Errors
    /// As there; [`Error::BudgetSpent`].
    pub fn switch(&self, ct: &Ciphertext<S, B>, key: &SwitchKey<B>) -> Result<Ciphertext<S, B>> {
        self.check_ciphertext(ct)?;
        let pair = ct.pair.switch(key)?;
        let model = NoiseModel::new(key.params(), self.params.plain().value());
        let noise = model.key_switched(ct.meta.noise, ct.meta.primes);
        let meta = self.params.checked(Meta { noise, ..ct.meta })?;
        Ok(Ciphertext::with_meta(pair, meta))
    }

    /// Every slot i of a row becomes the sum of slots i ... i + count - 1 of that row, cyclically;
    /// count is a power of two up to N/2. This takes log2(count) rotations by powers of two, and
    /// the noise grows by count.
    ///
    /// # Errors
    /// [`Error::SlotCount`] for another count; the same as for [`rotate`](Self::rotate).
    pub fn inner_sum(
        &self,
        ct: &Ciphertext<S, B>,
        count: usize,
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<S, B>> {
        let capacity = self.ring.n() / 2;
        if !count.is_power_of_two() || count > capacity {
            return Err(Error::SlotCount { found: count, capacity });
        }
        self.check_rotation(ct, keys)?;
        self.ring.backend().batched(|| {
            let mut sum = ct.duplicate()?;
            let mut step = 1;
            while step < count {
                let rotated = self.rotate(&sum, step as i64, keys)?;
                self.add_assign(&mut sum, &rotated)?;
                step *= 2;
            }
            Ok(sum)
        })
    }

    /// Every slot becomes the sum of all N slots.
    ///
    /// # Errors
    /// The same as for [`inner_sum`](Self::inner_sum) and [`swap_rows`](Self::swap_rows).
    pub fn sum_all(&self, ct: &Ciphertext<S, B>, keys: &EvaluationKeys<B>) -> Result<Ciphertext<S, B>> {
        let rows = self.inner_sum(ct, self.ring.n() / 2, keys)?;
        self.add(&rows, &self.swap_rows(&rows, keys)?)
    }
}
