//! Products of ciphertexts.

use super::scales::{level_of, same_scale};
use super::{Evaluator, product_noise};
use crate::backend::{Pair, PolyOps, RingOps};
use crate::ckks::ciphertext::{Meta, check_scale, scale_mismatch};
use crate::ckks::{Ciphertext, Product};
use crate::error::{Error, Result};
use crate::key_set::{KeySetId, common_of};
use crate::ring::{Poly, Rows, Span};
use crate::rlwe::{Aligned, EvaluationKeys, OPERAND, RlweProduct};
use std::borrow::Borrow;

impl<B: RingOps> Evaluator<B> {
    /// The highest level, from this one down, whose step takes products of two ciphertexts.
    pub(crate) fn product_level(&self, level: usize) -> Result<usize> {
        let found = (1..=level).rev().find(|&level| self.params.takes_products(level));
        found.ok_or(Error::LevelExhausted { needed: 1, left: 0 })
    }

    /// Both operands settled on one level that takes their product.
    pub(crate) fn product_operands<'a>(
        &self,
        a: &'a Ciphertext<B>,
        b: &'a Ciphertext<B>,
    ) -> Result<[Aligned<'a, Ciphertext<B>>; 2]> {
        let (a, b) = (self.settled_for_product(a)?, self.settled_for_product(b)?);
        let level = self.product_level(level_of(&a).min(level_of(&b)))?;
        Ok([self.at_level(a, level)?, self.at_level(b, level)?])
    }

    /// The product before relinearisation, on the lower of the operands' levels at the square of
    /// its scale: sums of products relinearise once. A manual operation: rescaled, the product has
    /// the next level's scale only if the level [takes
    /// products](crate::ckks::CkksParams::takes_products), as all but level 0 do where all levels
    /// are of one group.
    ///
    /// # Errors
    /// [`Error::ScaleRange`] if the scale does not fit the level's modulus; mismatch of ring, batch
    /// or key sets; device errors.
    pub fn tensor(&self, a: &Ciphertext<B>, b: &Ciphertext<B>) -> Result<Product<B>> {
        let slots = a.meta.slots.max(b.meta.slots);
        let [a, b] = self.aligned(a, b)?;
        let (a, b): (&Ciphertext<B>, &Ciphertext<B>) = (a.borrow(), b.borrow());
        let meta = self.product_meta(a.meta, b.meta, slots)?;
        Ok(Product { triple: a.pair.tensor(&b.pair)?, meta })
    }

    /// The state of a product of ciphertexts of one level.
    pub(super) fn product_meta(&self, a: Meta, b: Meta, slots: usize) -> Result<Meta> {
        let (level, scale) = (a.level, a.scale * b.scale);
        check_scale(&self.params, level, scale)?;
        Ok(Meta { level, scale, slots, noise: product_noise(&a, &b) })
    }

    /// The sum of two products of the same level.
    ///
    /// # Errors
    /// [`Error::ScaleMismatch`]; mismatch of level, ring or batch; device errors.
    pub fn add_products(&self, a: &mut Product<B>, b: &Product<B>) -> Result<()> {
        if !same_scale(a.meta.scale, b.meta.scale) {
            return Err(scale_mismatch(a.meta.scale, b.meta.scale));
        }
        if a.meta.level != b.meta.level {
            return Err(Error::LevelTooHigh {
                found: a.meta.level.max(b.meta.level),
                highest: a.meta.level.min(b.meta.level),
            });
        }
        a.triple.add_assign(&b.triple)?;
        a.meta.slots = a.meta.slots.max(b.meta.slots);
        a.meta.noise = a.meta.noises(&b.meta).map(|(a, b)| a.plus(b));
        Ok(())
    }

    /// Relinearises a product and keeps its scale: a manual operation.
    ///
    /// # Errors
    /// [`Error::MissingRelinKey`], [`Error::ParamsMismatch`], [`Error::KeyMismatch`]; device
    /// errors.
    pub fn relinearize(&self, product: &Product<B>, keys: &EvaluationKeys<B>) -> Result<Ciphertext<B>> {
        keys.check(self.params.rlwe(), &self.ring)?;
        self.check(product.meta, &product.triple.d[0])?;
        let keep = self.primes_at(product.meta.level);
        let pair = product.triple.relinearize(keys.relin()?, keep)?;
        Ok(Ciphertext { pair, meta: self.key_switched(product.meta, 1) })
    }

    /// Relinearises and rescales a product with one rounding.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] on level 0; [`Error::MissingRelinKey`], [`Error::ParamsMismatch`],
    /// [`Error::KeyMismatch`]; device errors.
    pub fn relinearize_rescale(
        &self,
        product: &Product<B>,
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        keys.check(self.params.rlwe(), &self.ring)?;
        self.check(product.meta, &product.triple.d[0])?;
        let meta = self.rescaled(self.key_switched(product.meta, 1))?;
        let keep = self.primes_at(meta.level);
        Ok(Ciphertext { pair: product.triple.relinearize(keys.relin()?, keep)?, meta })
    }

    /// a b, relinearised and rescaled: one level below the lower operand, or below the next level
    /// that [takes products](crate::ckks::CkksParams::takes_products).
    ///
    /// # Errors
    /// [`Error::LevelExhausted`]; [`Error::MissingRelinKey`], [`Error::ParamsMismatch`]; mismatch
    /// of ring, batch or key sets; device errors.
    pub fn mul(
        &self,
        a: &Ciphertext<B>,
        b: &Ciphertext<B>,
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        if a.meta.level.min(b.meta.level) == 0 {
            return Err(Error::LevelExhausted { needed: 1, left: 0 });
        }
        keys.check(self.params.rlwe(), &self.ring)?;
        let (key, slots) = (keys.relin()?, a.meta.slots.max(b.meta.slots));
        self.ring.backend().batched(|| {
            let [a, b] = self.product_operands(a, b)?;
            let (a, b): (&Ciphertext<B>, &Ciphertext<B>) = (a.borrow(), b.borrow());
            let meta = self.product_meta(a.meta, b.meta, slots)?;
            let meta = self.rescaled(self.key_switched(meta, 1))?;
            let pair = a.pair.multiply_relinearize(&b.pair, key, self.primes_at(meta.level))?;
            Ok(Ciphertext { pair, meta })
        })
    }

    /// a_1 b_1 + a_2 b_2 + ..., relinearised and rescaled once: one level below the lowest operand,
    /// or below the next level that [takes
    /// products](crate::ckks::CkksParams::takes_products). All ciphertexts have the same batch, or
    /// one. Costs a pass over the operands and the work of one product.
    ///
    /// # Errors
    /// [`Error::Argument`] without products; the same as for [`mul`](Self::mul).
    pub fn sum_of_products(
        &self,
        products: &[[&Ciphertext<B>; 2]],
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        keys.check(self.params.rlwe(), &self.ring)?;
        let operands = || products.iter().flatten();
        let settled = operands().map(|ct| self.settled_for_product(ct)).collect::<Result<Vec<_>>>()?;
        let lowest = settled.iter().map(level_of).min();
        let lowest = lowest.ok_or_else(|| Error::argument("products", "at least one is needed"))?;
        let level = self.product_level(lowest)?;
        let aligned = settled.into_iter().map(|ct| self.at_level(ct, level)).collect::<Result<Vec<_>>>()?;
        let aligned: Vec<&Ciphertext<B>> = aligned.iter().map(Borrow::borrow).collect();
        let batch = operands().map(|ct| ct.batch()).max().unwrap_or(1);
        if let Some(other) = operands().find(|ct| ct.batch() != batch && ct.batch() != 1) {
            return Err(Error::BatchMismatch { left: other.batch(), right: batch });
        }
        let key_set = common_of(OPERAND, aligned.iter().map(|ct| ct.key_set()))?;
        let slots = operands().map(|ct| ct.meta.slots).max().unwrap_or(1);
        let noises = aligned.chunks_exact(2).map(|pair| product_noise(&pair[0].meta, &pair[1].meta));
        let scale = self.scale_at(level) * self.scale_at(level);
        let meta = Meta { level, scale, slots, noise: super::sum(noises.collect()) };
        let rows = Rows::new(Span::chain(self.primes_at(level)), batch);
        let pairs: Vec<_> =
            aligned.chunks_exact(2).map(|pair| [pair[0].pair.operands(), pair[1].pair.operands()]).collect();
        self.relinearised_sum(rows, &pairs, (meta, key_set), keys)
    }

    /// a_1 b_1 + a_2 b_2 + ... over the entries of two batches of one size, relinearised and
    /// rescaled once: the batch of one of the [sum of products](Self::sum_of_products), with the
    /// same words, without a copy of any entry.
    ///
    /// # Errors
    /// [`Error::BatchMismatch`]; the same as for [`mul`](Self::mul).
    pub fn sum_over_batch(
        &self,
        a: &Ciphertext<B>,
        b: &Ciphertext<B>,
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        keys.check(self.params.rlwe(), &self.ring)?;
        if a.batch() != b.batch() {
            return Err(Error::BatchMismatch { left: a.batch(), right: b.batch() });
        }
        let [a, b] = self.product_operands(a, b)?;
        let (a, b): (&Ciphertext<B>, &Ciphertext<B>) = (a.borrow(), b.borrow());
        let one = self.product_meta(a.meta, b.meta, a.meta.slots.max(b.meta.slots))?;
        let noises = vec![one.noise; a.batch()];
        let key_set = common_of(OPERAND, [a, b].map(Ciphertext::key_set))?;
        let rows = Rows::new(Span::chain(self.primes_at(one.level)), 1);
        let pairs: Vec<_> =
            (0..a.batch()).map(|at| [a.pair.entry_operands(at), b.pair.entry_operands(at)]).collect();
        self.relinearised_sum(rows, &pairs, (Meta { noise: super::sum(noises), ..one }, key_set), keys)
    }

    /// A sum of products, relinearised and rescaled; its state is that before.
    fn relinearised_sum(
        &self,
        rows: Rows,
        pairs: &[[Pair<'_, B::Buf>; 2]],
        (meta, key_set): (Meta, Option<KeySetId>),
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        let meta = self.rescaled(self.key_switched(meta, 1))?;
        self.ring.backend().batched(|| {
            let d = self.ring.prepared().tensor_sum(rows, pairs, &[], &[], &[])?;
            let d = d.map(|buf| Poly::from_buf(&self.ring, rows.span, rows.batch, buf));
            let pair = RlweProduct { d, key_set }.relinearize(keys.relin()?, self.primes_at(meta.level))?;
            Ok(Ciphertext { pair, meta })
        })
    }

    /// a a, relinearised and rescaled.
    ///
    /// # Errors
    /// The same as for [`mul`](Self::mul).
    pub fn square(&self, a: &Ciphertext<B>, keys: &EvaluationKeys<B>) -> Result<Ciphertext<B>> {
        self.mul(a, a, keys)
    }
}
