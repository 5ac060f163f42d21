//! Weighted sums of rotations in two steps, divided once: double hoisting.

use super::{Evaluator, product_noise, sum};
use crate::backend::RingOps;
use crate::ckks::ciphertext::Meta;
use crate::ckks::{Ciphertext, ExtendedPlaintext};
use crate::error::{Error, Result};
use crate::key_set::common;
use crate::ring::galois_rotation;
use crate::rlwe::{EvaluationKeys, ExtendedCiphertext, KEY};
use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

/// A ciphertext over Q P, with what its quotient by P has for level, scale, slots and noise.
struct Undivided<B: RingOps> {
    ct: ExtendedCiphertext<B>,
    meta: Meta,
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
    /// after the other divides 2 b + 4 g + 2. All babies are kept: 2 polynomials over Q P each.
    /// Steps without a key of their own are rotated along
    /// [`EvaluationKeys::rotation_path`], at the cost of ordinary rotations.
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
        steps: &[(i64, Vec<(i64, P)>)],
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        keys.check(self.params.rlwe(), self.ring())?;
        let settled = self.settled_for_product(ct)?;
        let ct: &Ciphertext<B> = settled.borrow();
        let level = ct.meta.level;
        let weights = || steps.iter().flat_map(|(_, babies)| babies);
        if weights().next().is_none() {
            let why = "a sum of rotations needs at least one term".to_owned();
            return Err(Error::argument("terms", why));
        }
        weights().try_for_each(|(_, weight)| self.check_extended(weight.borrow(), level))?;
        let key_set = common(KEY, keys.key_set(), ct.key_set())?;
        let slots = weights().map(|(_, weight)| weight.borrow().meta.slots).fold(ct.meta.slots, usize::max);
        self.ring().backend().batched(|| {
            let babies = self.babies(ct, weights().map(|&(step, _)| step).collect(), keys)?;
            let mut total = ExtendedCiphertext::zeros(self.ring(), self.primes_at(level), ct.batch())?;
            let mut noises = Vec::with_capacity(steps.len());
            for (giant, weights) in steps.iter().filter(|(_, weights)| !weights.is_empty()) {
                let group = self.turned(self.weighted(&babies, weights, ct)?, *giant, keys)?;
                total.add_assign(&group.ct)?;
                noises.push(group.meta.noise);
            }
            let scale = ct.meta.scale * self.params().multiplier_scale(level)?;
            let meta = self.rescaled(Meta { scale, slots, noise: sum(noises), ..ct.meta })?;
            let pair = total.mod_down(self.primes_at(meta.level))?.of(key_set);
            Ok(Ciphertext { pair, meta })
        })
    }

    /// The rotations of a ciphertext over Q P, from one decomposition.
    fn babies(
        &self,
        ct: &Ciphertext<B>,
        steps: BTreeSet<i64>,
        keys: &EvaluationKeys<B>,
    ) -> Result<BTreeMap<i64, Undivided<B>>> {
        let digits = self.decompose(ct)?;
        let log_n = self.ring().spec().log_n();
        let mut babies = BTreeMap::new();
        for step in steps {
            let g = galois_rotation(step, log_n);
            let baby = match keys.galois(g) {
                _ if g == 1 => ExtendedCiphertext::lifted(&ct.pair)?,
                Some(key) => ct.pair.automorphism_extended(&digits, key, g)?,
                None => ExtendedCiphertext::lifted(&ct.pair.rotate(step, keys)?)?,
            };
            babies.insert(step, Undivided { ct: baby, meta: self.rotated(ct.meta, step, keys)? });
        }
        Ok(babies)
    }

    /// The sum of a giant step's babies times their weights.
    fn weighted(
        &self,
        babies: &BTreeMap<i64, Undivided<B>>,
        weights: &[(i64, impl Borrow<ExtendedPlaintext<B>>)],
        ct: &Ciphertext<B>,
    ) -> Result<Undivided<B>> {
        let mut total = ExtendedCiphertext::zeros(self.ring(), ct.pair.chain_limbs(), ct.batch())?;
        let mut noises = Vec::with_capacity(weights.len());
        for (step, weight) in weights {
            let (baby, weight): (_, &ExtendedPlaintext<B>) = (&babies[step], weight.borrow());
            total.mul_add_assign(&baby.ct, &weight.poly)?;
            noises.push(product_noise(&baby.meta, &weight.meta));
        }
        Ok(Undivided { ct: total, meta: Meta { noise: sum(noises), ..ct.meta } })
    }

    /// Rotated by a giant step.
    fn turned(&self, sum: Undivided<B>, step: i64, keys: &EvaluationKeys<B>) -> Result<Undivided<B>> {
        let g = galois_rotation(step, self.ring().spec().log_n());
        let meta = self.rotated(sum.meta, step, keys)?;
        let ct = match keys.galois(g) {
            _ if g == 1 => sum.ct,
            Some(key) => sum.ct.automorphism(self.params().rlwe(), key, g)?,
            None => {
                let quotient = sum.ct.chain_limbs();
                ExtendedCiphertext::lifted(&sum.ct.mod_down(quotient)?.rotate(step, keys)?)?
            }
        };
        Ok(Undivided { ct, meta })
    }
}
