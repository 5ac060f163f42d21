//! Weighted sums of rotations in two steps, divided once: double hoisting.

use super::{Evaluator, product_noise, sum};
use crate::backend::{RingOps, RotationBlocks};
use crate::ckks::ciphertext::Meta;
use crate::ckks::{Ciphertext, ExtendedPlaintext, Plaintext};
use crate::error::{Error, Result};
use crate::key_set::common;
use crate::ring::galois_rotation;
use crate::rlwe::{
    Decomposed, EvaluationKeys, ExtendedCiphertext, ImageSums, KEY, KeyedElement, RlweCiphertext,
    WeightedStep,
};
use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

/// A giant step, and its baby steps with their weights.
pub(crate) type StepGroup<P, Baby = i64> = (i64, Vec<(Baby, P)>);

/// A baby step of one of several ciphertexts: its index, and the step.
pub(crate) type BabyOf = (usize, i64);

/// Baby steps, giant ones with the weights of their babies, and which ciphertexts they are of.
type KeyedSteps<'a, B> = (Vec<KeyedElement<'a, B>>, Vec<WeightedStep<'a, B>>, RotationBlocks);

/// Sums of rotations.
enum Undivided<B: RingOps> {
    /// Over Q P, one group of the batch for each, with what their quotients by P have for level,
    /// scale, slots and noise.
    Sums(ExtendedCiphertext<B>, Vec<Meta>),
    /// Rescaled, where steps have no key of their own.
    Whole(Vec<Ciphertext<B>>),
}

impl<B: RingOps> Evaluator<B> {
    /// sum_g rotate(sum_b weight_gb rotate(ct, b), g) over giant steps g and baby steps b,
    /// rescaled: one level below. `steps` lists for each giant step the baby steps with their
    /// weights, which are encoded by
    /// [`encode_extended`](Self::encode_extended) for the ciphertext's level, at the scale
    /// [for multiplying](crate::ckks::Encoding::for_multiplying).
    ///
    /// The ciphertext is decomposed once, and each different baby step other than 0 is one inner
    /// product with a key, without a division; each giant step other than 0 divides one polynomial
    /// by P, decomposes it, and is one more inner product; the sum of all is divided once, by P and
    /// the primes of the level together. So with b baby and g giant steps other than 0 there are
    /// b + g key switches, g + 1 decompositions and g + 2 divided polynomials, where one rotation
    /// after the other divides 2 b + 4 g + 2. If a step has no key of its own, all are ordinary
    /// rotations, along [`EvaluationKeys::rotation_path`] and divided by themselves.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`]; [`Error::Argument`] without a weight, or for parameters without
    /// special primes; [`Error::SpanMismatch`] for weights of another level,
    /// [`Error::ScaleMismatch`] of another scale, [`Error::RingMismatch`] of another ring;
    /// [`Error::MissingGaloisKey`], [`Error::ParamsMismatch`], [`Error::KeyMismatch`]; device
    /// errors.
    pub fn double_hoisted_sum<P: Borrow<ExtendedPlaintext<B>>>(
        &self,
        ct: &Ciphertext<B>,
        steps: &[StepGroup<P>],
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        let settled = self.settled_for_product(ct)?;
        let steps: [Vec<StepGroup<&ExtendedPlaintext<B>, BabyOf>>; 1] = [of_one_input(steps)];
        let mut sums = self.double_hoisted_sums(&[settled.borrow()], &steps, keys)?;
        Ok(sums.remove(0))
    }

    /// Several sums as [`double_hoisted_sum`](Self::double_hoisted_sum), of several ciphertexts,
    /// settled and of one level: the baby rotations of a ciphertext serve all sums, every giant
    /// step's sum is over all ciphertexts, and every sum is divided once.
    pub(crate) fn double_hoisted_sums<P: Borrow<ExtendedPlaintext<B>>>(
        &self,
        cts: &[&Ciphertext<B>],
        outputs: &[Vec<StepGroup<P, BabyOf>>],
        keys: &EvaluationKeys<B>,
    ) -> Result<Vec<Ciphertext<B>>> {
        self.ring().backend().batched(|| match self.undivided_sums(cts, outputs, keys)? {
            Undivided::Whole(cts) => Ok(cts),
            Undivided::Sums(total, metas) => {
                let metas = metas.into_iter().map(|meta| self.rescaled(meta)).collect::<Result<Vec<_>>>()?;
                let level = metas.iter().map(|meta| meta.level).max().unwrap_or(0);
                let (key_set, group) = (total.key_set(), total.batch() / metas.len().max(1));
                let pair = total.mod_down(self.primes_at(level))?.of(key_set);
                if let [meta] = metas[..] {
                    return Ok(vec![Ciphertext { pair, meta }]);
                }
                let part = |(i, &meta): (usize, &Meta)| {
                    Ok(Ciphertext { pair: pair.slice_batch(i * group..(i + 1) * group)?, meta })
                };
                metas.iter().enumerate().map(part).collect()
            }
        })
    }

    /// Sums of images of the sum of [`double_hoisted_sum`](Self::double_hoisted_sum), one after the
    /// other in the batch. It is divided by P before them and by the primes of the level after
    /// them: one more decomposition, whose keys' noise and roundings are divided as well.
    ///
    /// # Errors
    /// [`Error::Argument`] for an element other than 1 without a key, and the same as for
    /// [`double_hoisted_sum`](Self::double_hoisted_sum).
    pub(crate) fn double_hoisted_images<P: Borrow<ExtendedPlaintext<B>>>(
        &self,
        ct: &Ciphertext<B>,
        steps: &[StepGroup<P>],
        images: &ImageSums<B>,
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        let settled = self.settled_for_product(ct)?;
        let (cts, outputs) = ([settled.borrow()], [of_one_input::<P, ExtendedPlaintext<B>>(steps)]);
        self.ring().backend().batched(|| match self.undivided_sums(&cts, &outputs, keys)? {
            Undivided::Whole(y) => self.sums_of_images(&y[0], images, keys),
            Undivided::Sums(total, metas) => {
                let (meta, key_set) = (self.summed(metas[0], images), total.key_set());
                let pair = total.mod_down(self.primes_at(meta.level))?.of(key_set);
                let meta = self.rescaled(meta)?;
                let pair = pair.sums_of_images(images, keys, self.primes_at(meta.level))?;
                Ok(Ciphertext { pair, meta })
            }
        })
    }

    /// Sums of images of a ciphertext, on its level, one after the other in the batch.
    ///
    /// # Errors
    /// [`Error::Argument`] for an element other than 1 without a key; mismatch of parameters or
    /// keys; device errors.
    pub(crate) fn sums_of_images(
        &self,
        ct: &Ciphertext<B>,
        images: &ImageSums<B>,
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        keys.check(self.params.rlwe(), self.ring())?;
        let pair = ct.pair.sums_of_images(images, keys, self.primes_at(ct.meta.level))?;
        Ok(Ciphertext { pair, meta: self.summed(ct.meta, images) })
    }

    /// The noise of sums of images.
    fn summed(&self, meta: Meta, images: &ImageSums<B>) -> Meta {
        Meta { noise: sum(vec![self.rotated_by(meta, 1).noise; images.images()]), ..meta }
    }

    /// The sums of [`double_hoisted_sums`](Self::double_hoisted_sums) before their division.
    fn undivided_sums<P: Borrow<ExtendedPlaintext<B>>>(
        &self,
        cts: &[&Ciphertext<B>],
        outputs: &[Vec<StepGroup<P, BabyOf>>],
        keys: &EvaluationKeys<B>,
    ) -> Result<Undivided<B>> {
        keys.check(self.params.rlwe(), self.ring())?;
        let Some((first, rest)) = cts.split_first() else {
            return Err(Error::argument("terms", "a sum of rotations needs at least one ciphertext"));
        };
        let level = first.meta.level;
        for ct in cts {
            self.check_ciphertext(ct)?;
            if ct.batch() != first.batch() {
                return Err(Error::BatchMismatch { left: ct.batch(), right: first.batch() });
            }
        }
        let weights = || outputs.iter().flatten().flat_map(|(_, babies)| babies);
        if weights().next().is_none() {
            let why = "a sum of rotations needs at least one term".to_owned();
            return Err(Error::argument("terms", why));
        }
        weights().try_for_each(|(_, weight)| self.check_extended(weight.borrow(), level))?;
        let given = cts.iter().map(|ct| ct.meta.slots);
        let slots = weights().map(|(_, weight)| weight.borrow().meta.slots).chain(given).fold(1, usize::max);
        let Some((babies, giants, blocks)) = self.direct_rotations(cts.len(), outputs, keys) else {
            let outputs = outputs.iter().map(|steps| to_plaintexts(steps)).collect::<Result<Vec<_>>>()?;
            let mut sums = self.hoisted_sums(cts, &outputs, keys)?;
            sums.iter_mut().for_each(|sum| sum.meta.slots = slots);
            return Ok(Undivided::Whole(sums));
        };
        let scale = first.meta.scale * self.params().multiplier_scale(level)?;
        let meta = |steps: &Vec<StepGroup<P, BabyOf>>| {
            let mut noises = Vec::with_capacity(steps.len());
            for (giant, weights) in steps.iter().filter(|(_, weights)| !weights.is_empty()) {
                let product = |((input, step), weight): &(BabyOf, P)| {
                    let rotated = self.rotated(cts[*input].meta, *step, keys)?;
                    Ok(product_noise(&rotated, &weight.borrow().meta))
                };
                let noise = sum(weights.iter().map(product).collect::<Result<Vec<_>>>()?);
                noises.push(self.rotated(Meta { noise, ..first.meta }, *giant, keys)?.noise);
            }
            if noises.is_empty() {
                // Zero.
                let (n, multiplier) = (self.params.noise().n(), libm::log2(scale / first.meta.scale));
                noises.push(first.meta.noise.map(|z| z.times(first.meta.scale_log2(), 0.0, multiplier, n)));
            }
            let meta = Meta { scale, slots, noise: sum(noises), ..first.meta };
            self.rescaled(meta)?;
            Ok(meta)
        };
        let metas = outputs.iter().map(meta).collect::<Result<Vec<_>>>()?;
        let total = if rest.is_empty() {
            first.pair.sums_of_rotations(&self.decompose(first)?, &blocks, &babies, giants)?
        } else {
            let pair = RlweCiphertext::concat(&cts.iter().map(|ct| &ct.pair).collect::<Vec<_>>())?;
            let digits = Decomposed::new(self.params.rlwe(), pair.parts()[1])?;
            pair.sums_of_rotations(&digits, &blocks, &babies, giants)?
        };
        let key_set = common(KEY, keys.key_set(), total.key_set())?;
        Ok(Undivided::Sums(total.of(key_set), metas))
    }

    /// The baby steps, and the giant ones with the weights of their babies, if every step other
    /// than 0 has a key of its own.
    fn direct_rotations<'a, P: Borrow<ExtendedPlaintext<B>>>(
        &self,
        inputs: usize,
        outputs: &'a [Vec<StepGroup<P, BabyOf>>],
        keys: &'a EvaluationKeys<B>,
    ) -> Option<KeyedSteps<'a, B>> {
        let log_n = self.ring().spec().log_n();
        let element = |step: i64| match galois_rotation(step, log_n) {
            1 => Some((1, None)),
            g => keys.galois(g).map(|key| (g, Some(key))),
        };
        let distinct: BTreeSet<BabyOf> =
            outputs.iter().flatten().flat_map(|(_, babies)| babies).map(|&(baby, _)| baby).collect();
        let babies = distinct.iter().map(|&(_, step)| element(step)).collect::<Option<Vec<_>>>()?;
        let of_baby = distinct.iter().map(|&(input, _)| input).collect();
        let index: BTreeMap<BabyOf, usize> = distinct.into_iter().zip(0..).collect();
        let weighted = |(giant, weights): &'a StepGroup<P, BabyOf>| {
            let term = |(baby, weight): &'a (BabyOf, P)| {
                let weight: &'a ExtendedPlaintext<B> = weight.borrow();
                (index[baby], weight.weight())
            };
            Some((element(*giant)?, weights.iter().map(term).collect()))
        };
        let steps = || {
            let of = |(output, steps): (usize, &'a Vec<StepGroup<P, BabyOf>>)| {
                steps.iter().filter(|(_, weights)| !weights.is_empty()).map(move |step| (output, step))
            };
            outputs.iter().enumerate().flat_map(of)
        };
        let giants = steps().map(|(_, step)| weighted(step)).collect::<Option<_>>()?;
        let of_giant = steps().map(|(output, _)| output).collect();
        Some((babies, giants, RotationBlocks { inputs, outputs: outputs.len(), of_baby, of_giant }))
    }

    /// The sum of [`double_hoisted_sum`](Self::double_hoisted_sum) with weights modulo the primes
    /// of the level alone: the baby rotations share one decomposition, and every rotation and every
    /// giant step's sum are divided by themselves.
    pub(crate) fn hoisted_sum(
        &self,
        ct: &Ciphertext<B>,
        groups: &[StepGroup<Plaintext<B>>],
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        let mut sums = self.hoisted_sums::<&Plaintext<B>>(&[ct], &[of_one_input(groups)], keys)?;
        Ok(sums.remove(0))
    }

    /// Several sums of rotations of several ciphertexts, by weights modulo the primes of the level
    /// alone: the baby rotations of a ciphertext share one decomposition and serve all sums, every
    /// giant step's sum is over all ciphertexts, and all of them are divided by themselves.
    pub(crate) fn hoisted_sums<P: Borrow<Plaintext<B>>>(
        &self,
        cts: &[&Ciphertext<B>],
        outputs: &[Vec<StepGroup<P, BabyOf>>],
        keys: &EvaluationKeys<B>,
    ) -> Result<Vec<Ciphertext<B>>> {
        let mut steps = vec![BTreeSet::new(); cts.len()];
        for ((input, step), _) in outputs.iter().flatten().flat_map(|(_, terms)| terms) {
            steps[*input].insert(*step);
        }
        let mut rotated: BTreeMap<BabyOf, Ciphertext<B>> = BTreeMap::new();
        for (input, (ct, steps)) in cts.iter().zip(steps).enumerate() {
            let steps: Vec<i64> = steps.into_iter().collect();
            let images = self.rotate_many(ct, &steps, keys)?;
            rotated.extend(steps.iter().map(|&step| (input, step)).zip(images));
        }
        let sum_of = |groups: &Vec<StepGroup<P, BabyOf>>| {
            let mut sum: Option<Ciphertext<B>> = None;
            for (giant, group) in groups.iter().filter(|(_, group)| !group.is_empty()) {
                let terms: Vec<_> =
                    group.iter().map(|(baby, plain)| (&rotated[baby], plain.borrow())).collect();
                let part = self.rotate(&self.plain_combination(&terms)?, *giant, keys)?;
                sum = Some(match sum {
                    Some(sum) => self.add(&sum, &part)?,
                    None => part,
                });
            }
            // No weight: the sum is zero.
            sum.map_or_else(|| self.mul_scalar(cts[0], 0.0), Ok)
        };
        outputs.iter().map(sum_of).collect()
    }
}

/// The weights without the special primes, for [`hoisted_sum`](Evaluator::hoisted_sum).
pub(crate) fn to_plaintexts<B: RingOps, P: Borrow<ExtendedPlaintext<B>>, Baby: Copy>(
    steps: &[StepGroup<P, Baby>],
) -> Result<Vec<StepGroup<Plaintext<B>, Baby>>> {
    let plain = |(step, weight): &(Baby, P)| Ok((*step, weight.borrow().to_plaintext()?));
    let group = |(giant, weights): &StepGroup<P, Baby>| {
        Ok((*giant, weights.iter().map(plain).collect::<Result<_>>()?))
    };
    steps.iter().map(group).collect()
}

/// The steps of a sum of one ciphertext.
fn of_one_input<P: Borrow<W>, W>(groups: &[StepGroup<P>]) -> Vec<StepGroup<&W, BabyOf>> {
    groups
        .iter()
        .map(|(giant, terms)| {
            (*giant, terms.iter().map(|(step, weight)| ((0, *step), weight.borrow())).collect())
        })
        .collect()
}
