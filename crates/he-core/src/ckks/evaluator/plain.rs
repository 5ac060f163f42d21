//! Sums and products with plaintexts.

use super::scales::{LEAST_CONSTANT, level_of, same_scale};
use super::{Evaluator, product_noise, sum};
use crate::backend::RingOps;
use crate::ckks::ciphertext::{Meta, scale_mismatch};
use crate::ckks::{Ciphertext, Plaintext};
use crate::error::{Error, Result};
use crate::key_set::common_of;
use crate::ring::{Eval, Poly, Span};
use crate::rlwe::{Aligned, RlweCiphertext};
use std::borrow::Borrow;

/// ct <- f(ct, poly) for a polynomial of its level and scale.
fn combine_aligned<B: RingOps>(
    ct: &mut Ciphertext<B>,
    poly: &Poly<Eval, B>,
    plain: Meta,
    f: impl Fn(&mut Poly<Eval, B>, &Poly<Eval, B>) -> Result<()>,
) -> Result<()> {
    f(&mut ct.pair.c[0], poly)?;
    let noise = ct.meta.noises(&plain).map(|(ct, plain)| ct.plus(plain));
    ct.meta = Meta { slots: ct.meta.slots.max(plain.slots), noise, ..ct.meta };
    Ok(())
}

impl<B: RingOps> Evaluator<B> {
    /// Whether plaintexts of this scale multiply ciphertexts of a level.
    pub(in crate::ckks) fn check_multiplier_scale(&self, found: f64, level: usize) -> Result<()> {
        let scale = self.params.multiplier_scale(level)?;
        if same_scale(found, scale) { Ok(()) } else { Err(scale_mismatch(scale, found)) }
    }

    /// The level on which plaintexts multiply ciphertexts of a level, and their scale: the level
    /// itself if they all have the scale that it multiplies by, otherwise one where that is the
    /// level's own scale, to which plaintexts can be brought.
    fn multiplier_level<'a>(
        &self,
        level: usize,
        mut plains: impl Iterator<Item = &'a Plaintext<B>>,
    ) -> Result<(usize, f64)>
    where
        B: 'a,
    {
        let scale = self.params.multiplier_scale(level)?;
        if self.params.takes_products(level) || plains.all(|plain| same_scale(plain.meta.scale, scale)) {
            return Ok((level, scale));
        }
        let level = self.product_level(level)?;
        Ok((level, self.scale_at(level)))
    }

    /// The ciphertext settled on a level that neither operand is below, the plaintext's polynomial
    /// there at the scale asked for, and its noise.
    #[allow(clippy::type_complexity)]
    fn with_plain<'c, 'p>(
        &self,
        ct: &'c Ciphertext<B>,
        plain: &'p Plaintext<B>,
        (level, scale): (usize, f64),
    ) -> Result<(Aligned<'c, Ciphertext<B>>, Aligned<'p, Poly<Eval, B>>, Meta)> {
        let ct = self.at_level(self.settled(ct)?, level)?;
        let from = plain.meta.level;
        let (poly, meta) = if same_scale(plain.meta.scale, scale) {
            (Aligned::As(&*plain.poly), plain.meta)
        } else if from > level
            && scale == self.scale_at(level)
            && (same_scale(plain.meta.scale, self.scale_at(from))
                || self.lowering_constant(
                    plain.meta.scale,
                    self.divided_from(plain.meta.scale, from, level),
                    level,
                ) >= LEAST_CONSTANT)
        {
            let poly = self.lower_poly(&plain.poly, plain.meta.scale, from, level)?;
            (Aligned::Copy(poly), self.lowered(plain.meta, level))
        } else {
            return Err(scale_mismatch(scale, plain.meta.scale));
        };
        Ok((ct, poly, meta))
    }

    /// Both at one level and scale: a copy of the ciphertext, where it has to be brought there, the
    /// plaintext's polynomial, and its noise.
    #[allow(clippy::type_complexity)]
    fn summands<'p>(
        &self,
        ct: &Ciphertext<B>,
        plain: &'p Plaintext<B>,
    ) -> Result<(Option<Ciphertext<B>>, Aligned<'p, Poly<Eval, B>>, Meta)> {
        self.check(plain.meta, &plain.poly)?;
        let settled = self.settled(ct)?;
        let level = level_of(&settled).min(plain.meta.level);
        let (lowered, poly, meta) =
            self.with_plain(settled.borrow(), plain, (level, self.scale_at(level)))?;
        let lowered = lowered.into_copy();
        Ok((lowered.or_else(|| settled.into_copy()), poly, meta))
    }

    fn combine_plain(
        &self,
        ct: &Ciphertext<B>,
        plain: &Plaintext<B>,
        f: impl Fn(&mut Poly<Eval, B>, &Poly<Eval, B>) -> Result<()>,
    ) -> Result<Ciphertext<B>> {
        let (copy, poly, meta) = self.summands(ct, plain)?;
        let mut result = copy.map_or_else(|| ct.duplicate(), Ok)?;
        combine_aligned(&mut result, poly.borrow(), meta, f)?;
        Ok(result)
    }

    /// ct <- f(ct, plain), with a copy of `ct` only where it has to be brought to another level or
    /// scale.
    fn combine_plain_assign(
        &self,
        ct: &mut Ciphertext<B>,
        plain: &Plaintext<B>,
        f: impl Fn(&mut Poly<Eval, B>, &Poly<Eval, B>) -> Result<()>,
    ) -> Result<()> {
        let (mut copy, poly, meta) = self.summands(ct, plain)?;
        combine_aligned(copy.as_mut().unwrap_or(ct), poly.borrow(), meta, f)?;
        if let Some(copy) = copy {
            *ct = copy;
        }
        Ok(())
    }

    /// ct + plain; the plaintext is brought to the ciphertext's level, or vice versa. It may have a
    /// batch of one.
    ///
    /// # Errors
    /// [`Error::ScaleMismatch`] for a plaintext of the same level and another scale, or of a scale
    /// so large that aligning would round it away; mismatch of ring, batch or key sets; device
    /// errors.
    pub fn add_plain(&self, ct: &Ciphertext<B>, plain: &Plaintext<B>) -> Result<Ciphertext<B>> {
        self.combine_plain(ct, plain, Poly::add_assign)
    }

    /// ct - plain, likewise.
    ///
    /// # Errors
    /// The same as for [`add_plain`](Self::add_plain).
    pub fn sub_plain(&self, ct: &Ciphertext<B>, plain: &Plaintext<B>) -> Result<Ciphertext<B>> {
        self.combine_plain(ct, plain, Poly::sub_assign)
    }

    /// ct <- ct + plain, to the same words as [`add_plain`](Self::add_plain). Without new memory,
    /// and without touching c1, where the ciphertext is on the level of the sum.
    ///
    /// # Errors
    /// The same as for [`add_plain`](Self::add_plain), before anything changes; after a device
    /// error, `ct` has any value.
    pub fn add_plain_assign(&self, ct: &mut Ciphertext<B>, plain: &Plaintext<B>) -> Result<()> {
        self.combine_plain_assign(ct, plain, Poly::add_assign)
    }

    /// ct <- ct - plain, likewise.
    ///
    /// # Errors
    /// The same as for [`add_plain_assign`](Self::add_plain_assign).
    pub fn sub_plain_assign(&self, ct: &mut Ciphertext<B>, plain: &Plaintext<B>) -> Result<()> {
        self.combine_plain_assign(ct, plain, Poly::sub_assign)
    }

    /// ct plain, rescaled: one level below. The plaintext may have a batch of one. Its scale is the
    /// one of its level, or the lower level's
    /// [`multiplier_scale`](crate::ckks::CkksParams::multiplier_scale), which differ at borders of
    /// level groups alone: there a product by a plaintext of the former is made where two
    /// ciphertexts' would be.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`], [`Error::ScaleMismatch`]; mismatch of ring, batch or key sets;
    /// device errors.
    pub fn mul_plain(&self, ct: &Ciphertext<B>, plain: &Plaintext<B>) -> Result<Ciphertext<B>> {
        let slots = ct.meta.slots.max(plain.meta.slots);
        self.check(plain.meta, &plain.poly)?;
        let ct = self.settled_for_product(ct)?;
        let lower = level_of(&ct).min(plain.meta.level);
        let at = self.multiplier_level(lower, std::iter::once(plain))?;
        let (ct, poly, plain) = self.with_plain(ct.borrow(), plain, at)?;
        let ct: &Ciphertext<B> = ct.borrow();
        let scale = ct.meta.scale * at.1;
        let noise = product_noise(&ct.meta, &plain);
        let meta = self.rescaled(Meta { scale, slots, noise, ..ct.meta })?;
        let keep = self.primes_at(meta.level);
        Ok(Ciphertext { pair: ct.pair.mul_mod_down(poly.borrow(), keep)?, meta })
    }

    /// sum_i plain_i ct_i, rescaled once: one level below the lowest operand. All ciphertexts have
    /// the first one's batch, or one; a plaintext may have a batch of one.
    ///
    /// # Errors
    /// [`Error::Argument`] without terms; [`Error::LevelExhausted`], [`Error::ScaleMismatch`];
    /// mismatch of ring, batch or key sets; device errors.
    pub fn plain_combination(&self, terms: &[(&Ciphertext<B>, &Plaintext<B>)]) -> Result<Ciphertext<B>> {
        let why = || "a combination needs at least one term".to_owned();
        let (first, _) = terms.first().ok_or_else(|| Error::argument("terms", why()))?;
        let settled = terms.iter().map(|(ct, _)| self.settled_for_product(ct)).collect::<Result<Vec<_>>>()?;
        let key_set = common_of("other ciphertext", terms.iter().map(|(ct, _)| ct.key_set()))?;
        let levels = settled.iter().zip(terms).map(|(ct, (_, plain))| level_of(ct).min(plain.meta.level));
        let at = self.multiplier_level(levels.min().unwrap_or(0), terms.iter().map(|&(_, plain)| plain))?;
        let (level, scale) = (at.0, self.scale_at(at.0) * at.1);
        let slots = terms.iter().map(|(ct, plain)| ct.meta.slots.max(plain.meta.slots)).max().unwrap_or(1);
        let zero = || Poly::zeros(&self.ring, Span::chain(self.primes_at(level)), first.batch());
        let mut sums = [zero()?, zero()?];
        let mut noises = Vec::with_capacity(terms.len());
        for (ct, (_, plain)) in settled.into_iter().zip(terms) {
            self.check(plain.meta, &plain.poly)?;
            let (ct, poly, plain) = self.with_plain(ct.borrow(), plain, at)?;
            let ct: &Ciphertext<B> = ct.borrow();
            noises.push(product_noise(&ct.meta, &plain));
            for (sum, c) in sums.iter_mut().zip(ct.pair.parts()) {
                sum.mul_add_assign(c, poly.borrow())?;
            }
        }
        let meta = self.rescaled(Meta { level, scale, slots, noise: sum(noises) })?;
        let keep = self.primes_at(meta.level);
        let [c0, c1] = sums;
        Ok(Ciphertext { pair: RlweCiphertext::new(c0, c1)?.of(key_set).mod_down(keep)?, meta })
    }
}
