//! Rotations, conjugation, and sums of them.

use super::{Evaluator, sum};
use crate::backend::{RingOps, Weight};
use crate::ckks::ciphertext::Meta;
use crate::ckks::noise::NoiseModel;
use crate::ckks::{Ciphertext, ExtendedPlaintext, NoiseEstimate};
use crate::error::{Error, Result};
use crate::key_set::common;
use crate::ring::{galois_conjugation, galois_rotation};
use crate::rlwe::{Decomposed, EvaluationKeys, KEY, SwitchKey};
use std::borrow::Borrow;

impl<B: RingOps> Evaluator<B> {
    fn step_element(&self, step: i64) -> u64 {
        galois_rotation(step, self.ring.spec().log_n())
    }

    pub(super) fn decompose(&self, ct: &Ciphertext<B>) -> Result<Decomposed<B>> {
        self.check_ciphertext(ct)?;
        Decomposed::new(self.params.rlwe(), ct.pair.parts()[1])
    }

    /// Rotates the slots: slot i of the result is slot i + step of the input, cyclically. This
    /// takes one key switch if there is a key for this step, and otherwise one per digit of a
    /// signed binary expansion. Uses no level.
    ///
    /// # Errors
    /// [`Error::MissingGaloisKey`], [`Error::ParamsMismatch`], [`Error::KeyMismatch`]; device
    /// errors.
    pub fn rotate(&self, ct: &Ciphertext<B>, step: i64, keys: &EvaluationKeys<B>) -> Result<Ciphertext<B>> {
        keys.check(self.params.rlwe(), &self.ring)?;
        self.check_ciphertext(ct)?;
        let pair = ct.pair.rotate(step, keys)?;
        Ok(Ciphertext { pair, meta: self.rotated(ct.meta, step, keys)? })
    }

    /// The state after the key switches of a rotation.
    pub(super) fn rotated(&self, meta: Meta, step: i64, keys: &EvaluationKeys<B>) -> Result<Meta> {
        Ok(self.rotated_by(meta, keys.rotation_path(step)?.len()))
    }

    /// Rotations by several steps of one ciphertext, decomposed once (hoisting).
    ///
    /// # Errors
    /// The same as for [`rotate`](Self::rotate).
    pub fn rotate_many(
        &self,
        ct: &Ciphertext<B>,
        steps: &[i64],
        keys: &EvaluationKeys<B>,
    ) -> Result<Vec<Ciphertext<B>>> {
        keys.check(self.params.rlwe(), &self.ring)?;
        self.check_ciphertext(ct)?;
        let rotated = ct.pair.rotate_many(steps, keys)?;
        let result = |(pair, &step)| Ok(Ciphertext { pair, meta: self.rotated(ct.meta, step, keys)? });
        rotated.into_iter().zip(steps).map(result).collect()
    }

    /// The complex conjugate of every slot. Uses no level.
    ///
    /// # Errors
    /// [`Error::MissingConjugationKey`], [`Error::ParamsMismatch`], [`Error::KeyMismatch`]; device
    /// errors.
    pub fn conjugate(&self, ct: &Ciphertext<B>, keys: &EvaluationKeys<B>) -> Result<Ciphertext<B>> {
        keys.check(self.params.rlwe(), &self.ring)?;
        let g = galois_conjugation(self.ring.spec().log_n());
        let key = keys.galois(g).ok_or(Error::MissingConjugationKey)?;
        self.check_ciphertext(ct)?;
        let pair = ct.pair.apply_automorphism(key, g)?;
        Ok(Ciphertext { pair, meta: self.rotated_by(ct.meta, 1) })
    }

    /// The same values under another secret, by a key from this one to that: see
    /// [`RlweCiphertext::switch`](crate::rlwe::RlweCiphertext::switch). Level and scale stay; the
    /// noise estimate is that of the key's primes and digits. The key may be over fewer primes than
    /// the parameters, as long as it has those of the ciphertext's level.
    ///
    /// # Errors
    /// The same as for [`RlweCiphertext::switch`](crate::rlwe::RlweCiphertext::switch).
    pub fn switch(&self, ct: &Ciphertext<B>, key: &SwitchKey<B>) -> Result<Ciphertext<B>> {
        self.check_ciphertext(ct)?;
        let pair = ct.pair.switch(key)?;
        let (model, primes) = (NoiseModel::new(key.params(), 1), self.primes_at(ct.meta.level));
        let noise = ct.meta.noise.map(|noise| model.key_switched(noise, primes));
        Ok(Ciphertext { pair, meta: Meta { noise, ..ct.meta } })
    }

    /// Every slot i becomes the sum of slots i ... i + count - 1, cyclically; count is a power of
    /// two. This takes log2(count) rotations by powers of two and uses no level.
    ///
    /// # Errors
    /// [`Error::SlotCount`] unless count is a power of two up to N/2; the same as for
    /// [`rotate`](Self::rotate).
    pub fn inner_sum(
        &self,
        ct: &Ciphertext<B>,
        count: usize,
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        let capacity = self.params.slots();
        if !count.is_power_of_two() || count > capacity {
            return Err(Error::SlotCount { found: count, capacity });
        }
        keys.check(self.params.rlwe(), &self.ring)?;
        self.check_ciphertext(ct)?;
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

    /// sum_i weight_i rotate(ct, step_i) with real weights, rescaled: one level below. This takes
    /// one decomposition, one inner product per rotation, and one division at the end: it is the
    /// step of a convolution. Weights are rounded to multiples of 1 /
    /// [`multiplier_scale`](crate::ckks::CkksParams::multiplier_scale).
    ///
    /// # Errors
    /// [`Error::LevelExhausted`]; [`Error::Argument`] without terms; [`Error::NotFinite`],
    /// [`Error::ValueTooLarge`] for weights; the same as for [`rotate`](Self::rotate).
    pub fn sum_of_rotations(
        &self,
        ct: &Ciphertext<B>,
        terms: &[(i64, f64)],
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        let ct = self.settled_for_product(ct)?;
        let ct: &Ciphertext<B> = ct.borrow();
        let level = ct.meta.level;
        let multiplier = self.params.exact_multiplier_scale(level)?;
        let span = self.key_switch_span(level);
        let weights = terms
            .iter()
            .map(|&(step, weight)| {
                Ok((step, Weight::Scalar(self.constant_residues(weight, multiplier, span, level)?)))
            })
            .collect::<Result<Vec<_>>>()?;
        let weighted = |i: usize, noise| self.times(noise, level, terms[i].1);
        self.weighted_rotations(ct, weights, weighted, keys)
    }

    /// sum_i plain_i rotate(ct, step_i), rescaled: one level below. The plaintexts are encoded for
    /// key switching by [`encode_weight`](Self::encode_weight), which fill all N/2 slots, or
    /// [`encode_extended`](Self::encode_extended); the result has the most slots of all.
    ///
    /// # Errors
    /// The same as for [`sum_of_rotations`](Self::sum_of_rotations); [`Error::SpanMismatch`] for
    /// weights of another level, [`Error::ScaleMismatch`] of another scale, [`Error::RingMismatch`]
    /// of another ring.
    pub fn sum_of_masked_rotations(
        &self,
        ct: &Ciphertext<B>,
        terms: &[(i64, &ExtendedPlaintext<B>)],
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        let ct = self.settled_for_product(ct)?;
        let ct: &Ciphertext<B> = ct.borrow();
        terms.iter().try_for_each(|(_, weight)| self.check_extended(weight, ct.meta.level))?;
        let weights = terms.iter().map(|&(step, weight)| (step, weight.weight())).collect();
        let scale_log2 = ct.meta.scale_log2();
        let weighted = |i: usize, noise: Option<NoiseEstimate>| {
            let weight: &Meta = &terms[i].1.meta;
            Some(noise?.product(scale_log2, weight.noise?, weight.scale_log2()))
        };
        let mut sum = self.weighted_rotations(ct, weights, weighted, keys)?;
        let slots = terms.iter().map(|(_, weight)| weight.meta.slots);
        sum.meta.slots = slots.fold(ct.meta.slots, usize::max);
        Ok(sum)
    }

    /// The sum for a settled ciphertext; `weighted` gives the noise of term i from that of its
    /// rotation.
    fn weighted_rotations(
        &self,
        ct: &Ciphertext<B>,
        terms: Vec<(i64, Weight<'_, B::Buf>)>,
        weighted: impl Fn(usize, Option<NoiseEstimate>) -> Option<NoiseEstimate>,
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        keys.check(self.params.rlwe(), &self.ring)?;
        if terms.is_empty() {
            let why = "a sum of rotations needs at least one term".to_owned();
            return Err(Error::argument("terms", why));
        }
        let scale = ct.meta.scale * self.params.multiplier_scale(ct.meta.level)?;
        let mut meta = self.rescaled(Meta { scale, noise: None, ..ct.meta })?;
        let digits = self.decompose(ct)?;
        let (mut babies, mut direct, mut composed) = (Vec::new(), Vec::new(), Vec::new());
        let mut noises = Vec::with_capacity(terms.len());
        for (i, (step, weight)) in terms.into_iter().enumerate() {
            let g = self.step_element(step);
            noises.push(weighted(i, self.rotated(ct.meta, step, keys)?.noise));
            let key = keys.galois(g);
            if g == 1 || key.is_some() {
                direct.push((babies.len(), weight));
                babies.push((g, key));
            } else {
                // There is no key for this step: rotate along a path, then add the image as it is.
                composed.push((self.rotate(ct, step, keys)?, weight));
            }
        }
        let mut total = ct.pair.sum_of_rotations(&digits, &babies, vec![((1, None), direct)])?;
        for (image, weight) in composed {
            let step = ((1, None), vec![(0, weight)]);
            total.add_assign(&image.pair.sum_of_rotations(&digits, &[(1, None)], vec![step])?)?;
        }
        // This is checked even if no term needs a key.
        let key_set = common(KEY, keys.key_set(), total.key_set())?;
        let divided = Meta { noise: sum(noises), scale, ..ct.meta };
        meta.noise = self.rescaled(divided)?.noise;
        let pair = total.mod_down(self.primes_at(meta.level))?.of(key_set);
        Ok(Ciphertext { pair, meta })
    }
}
