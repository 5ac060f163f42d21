//! Levels and scales: what brings ciphertexts to a common level and to its exact scale.

use super::Evaluator;
use crate::backend::RingOps;
use crate::ckks::ciphertext::{Meta, check_scale, scale_mismatch};
use crate::ckks::levels::LEAST_CONSTANT_LOG2;
use crate::ckks::{Ciphertext, NoiseEstimate};
use crate::error::{Error, Result};
use crate::ring::{Eval, Poly};
use crate::rlwe::Aligned;
use std::borrow::Borrow;

/// Two scales count as equal if their relative difference is below this, which covers the roundings
/// of their float64 products.
const SCALE_TOLERANCE: f64 = 1e-12;

pub(super) fn same_scale(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < SCALE_TOLERANCE
}

/// The least constant that brings an operand of any scale to a level's.
pub(super) const LEAST_CONSTANT: f64 = (1u64 << LEAST_CONSTANT_LOG2 as u32) as f64;
/// The greatest one, which is an integer of 128 bits.
const GREATEST_CONSTANT: f64 = (1u128 << 124) as f64;

impl<B: RingOps> Evaluator<B> {
    /// Brings a ciphertext to its level's exact scale if it does not have it, as after manual
    /// operations that left the scale of a product, or another one.
    pub(super) fn settled<'a>(&self, ct: &'a Ciphertext<B>) -> Result<Aligned<'a, Ciphertext<B>>> {
        self.check_ciphertext(ct)?;
        let Meta { level, scale, .. } = ct.meta;
        let exact = self.scale_at(level);
        if scale == exact {
            return Ok(Aligned::As(ct));
        }
        if same_scale(scale, exact) {
            let mut copy = ct.duplicate()?;
            copy.meta = Meta { scale: exact, noise: snapped(ct.meta, exact), ..ct.meta };
            return Ok(Aligned::Copy(copy));
        }
        if level == 0 {
            return Err(scale_mismatch(scale, exact));
        }
        if same_scale(scale, self.scale_at(level - 1) * self.params.dropped(level)) {
            return Ok(Aligned::Copy(self.rescale(ct)?));
        }
        // Any other scale: one multiplication by a constant, if that constant still has 20 bits.
        if self.lowering_constant(scale, level, level - 1) < LEAST_CONSTANT {
            return Err(scale_mismatch(scale, exact));
        }
        Ok(Aligned::Copy(self.lower(ct, level - 1)?))
    }

    /// The same as [`settled`](Self::settled), for a product that is rescaled, which needs a level
    /// whatever its scale is.
    pub(super) fn settled_for_product<'a>(
        &self,
        ct: &'a Ciphertext<B>,
    ) -> Result<Aligned<'a, Ciphertext<B>>> {
        self.check_ciphertext(ct)?;
        if ct.meta.level == 0 {
            return Err(Error::LevelExhausted { needed: 1, left: 0 });
        }
        self.settled(ct)
    }

    /// Settles both operands on the lower of their levels.
    pub(super) fn aligned<'a>(
        &self,
        a: &'a Ciphertext<B>,
        b: &'a Ciphertext<B>,
    ) -> Result<[Aligned<'a, Ciphertext<B>>; 2]> {
        let (a, b) = (self.settled(a)?, self.settled(b)?);
        let level = level_of(&a).min(level_of(&b));
        Ok([self.at_level(a, level)?, self.at_level(b, level)?])
    }

    pub(super) fn at_level<'a>(
        &self,
        ct: Aligned<'a, Ciphertext<B>>,
        level: usize,
    ) -> Result<Aligned<'a, Ciphertext<B>>> {
        if level_of(&ct) == level { Ok(ct) } else { Ok(Aligned::Copy(self.lower(ct.borrow(), level)?)) }
    }

    /// The factor by which a polynomial of this scale on level `above` is multiplied on its way to
    /// a lower level's exact scale.
    pub(super) fn lowering_constant(&self, scale: f64, above: usize, level: usize) -> f64 {
        self.scale_at(level) * self.dropped_between(above, level) / scale
    }

    /// The product of the primes between two levels.
    fn dropped_between(&self, above: usize, level: usize) -> f64 {
        (level + 1..=above).map(|level| self.params.dropped(level)).product()
    }

    /// The level from which a polynomial of this scale is divided on its way down. Inside a group
    /// that is the next one. From other groups a constant of the scales' ratio and one prime may
    /// round too much: then more primes are divided by, so that it is about as fine as the scale.
    pub(super) fn divided_from(&self, scale: f64, from: usize, level: usize) -> usize {
        if self.params.same_group(from, level) {
            return level + 1;
        }
        let constants = (level + 1..=from).map(|above| (above, self.lowering_constant(scale, above, level)));
        let possible = || constants.clone().take_while(|&(_, constant)| constant <= GREATEST_CONSTANT);
        let fine = possible().find(|&(_, constant)| constant >= self.scale_at(level) / 32.0);
        fine.or_else(|| possible().last()).map_or(level + 1, |(above, _)| above)
    }

    /// Brings one polynomial from (level, scale) to a lower level's exact scale.
    pub(super) fn lower_poly(
        &self,
        poly: &Poly<Eval, B>,
        scale: f64,
        from: usize,
        level: usize,
    ) -> Result<Poly<Eval, B>> {
        let above = self.divided_from(scale, from, level);
        let constant = if self.params.is_extended() {
            let exact = |scale| self.params.exact_scale(scale);
            let dropped = (level + 1..=above).map(|level| self.params.exactly_dropped(level));
            dropped.fold(exact(self.scale_at(level)), |product, d| product * d).divide(exact(scale))
        } else {
            self.lowering_constant(scale, above, level).into()
        };
        let mut lowered = poly.duplicate_chain(self.primes_at(above))?;
        let residues = self.rounded_residues(constant, lowered.span(), above)?;
        lowered.scale_assign(&residues)?;
        lowered.mod_down(self.primes_at(level))
    }

    /// The state of an operand after [`lower_poly`](Self::lower_poly).
    pub(super) fn lowered(&self, meta: Meta, level: usize) -> Meta {
        let model = self.params.noise();
        let above = self.divided_from(meta.scale, meta.level, level);
        let constant_log2 = libm::log2(self.lowering_constant(meta.scale, above, level));
        let noise = meta.noise.map(|noise| {
            let scaled = noise.times(meta.scale_log2(), 1.0, constant_log2, model.n());
            model.divided(scaled, libm::log2(self.dropped_between(above, level)))
        });
        Meta { level, scale: self.scale_at(level), noise, ..meta }
    }

    fn lower(&self, ct: &Ciphertext<B>, level: usize) -> Result<Ciphertext<B>> {
        let pair = ct.pair.map(|c| self.lower_poly(c, ct.meta.scale, ct.meta.level, level))?;
        Ok(Ciphertext { pair, meta: self.lowered(ct.meta, level) })
    }

    /// Settled, on this level or a lower one that it has already.
    pub(crate) fn lowered_to<'a>(
        &self,
        ct: &'a Ciphertext<B>,
        level: usize,
    ) -> Result<Aligned<'a, Ciphertext<B>>> {
        let ct = self.settled(ct)?;
        let level = level_of(&ct).min(level);
        self.at_level(ct, level)
    }

    /// The same values on a lower level, at that level's exact scale: multiplied by a constant of
    /// the scales' ratio and divided with rounding by the primes in between, which costs a relative
    /// error of about 1 / scale. [`drop_to_level`](Self::drop_to_level) keeps the scale instead.
    ///
    /// # Errors
    /// [`Error::LevelTooHigh`] for a level above the ciphertext's.
    pub fn mod_switch_to(&self, ct: &Ciphertext<B>, level: usize) -> Result<Ciphertext<B>> {
        let ct = self.settled(ct)?;
        let highest = level_of(&ct);
        if level > highest {
            return Err(Error::LevelTooHigh { found: level, highest });
        }
        match self.at_level(ct, level)? {
            Aligned::As(ct) => ct.duplicate(),
            Aligned::Copy(ct) => Ok(ct),
        }
    }

    /// Drops primes without changing the scale: a manual operation, exact and nearly free.
    ///
    /// # Errors
    /// [`Error::LevelTooHigh`] for a level above the ciphertext's; [`Error::ScaleRange`] if the
    /// scale does not fit there.
    pub fn drop_to_level(&self, ct: &Ciphertext<B>, level: usize) -> Result<Ciphertext<B>> {
        self.check_ciphertext(ct)?;
        if level > ct.meta.level {
            return Err(Error::LevelTooHigh { found: level, highest: ct.meta.level });
        }
        check_scale(&self.params, level, ct.meta.scale)?;
        let pair = ct.pair.map(|c| c.duplicate_chain(self.primes_at(level)))?;
        Ok(Ciphertext { pair, meta: Meta { level, ..ct.meta } })
    }

    /// Divides ciphertext and scale by the primes of the level, with rounding: a manual operation.
    /// Adds a rounding noise of variance (1 + 2N/3) / 12 per coefficient.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] on level 0; device errors.
    pub fn rescale(&self, ct: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        self.check_ciphertext(ct)?;
        let meta = self.rescaled(ct.meta)?;
        let keep = self.primes_at(meta.level);
        Ok(Ciphertext { pair: ct.pair.mod_down(keep)?, meta })
    }

    /// The state after this many key switches in sequence.
    pub(super) fn key_switched(&self, meta: Meta, count: usize) -> Meta {
        let (model, primes) = (self.params.noise(), self.primes_at(meta.level));
        let switched = |noise| (0..count).fold(noise, |noise, _| model.key_switched(noise, primes));
        Meta { noise: meta.noise.map(switched), ..meta }
    }

    /// The state after this many switches with Galois keys in sequence.
    pub(super) fn rotated_by(&self, meta: Meta, count: usize) -> Meta {
        let (model, primes) = (self.params.noise(), self.primes_at(meta.level));
        let rotated = |noise| (0..count).fold(noise, |noise, _| model.rotated(noise, primes));
        Meta { noise: meta.noise.map(rotated), ..meta }
    }

    /// The level, scale and noise after a rescale; the scale is exact if the result is settled.
    pub(super) fn rescaled(&self, meta: Meta) -> Result<Meta> {
        if meta.level == 0 {
            return Err(Error::LevelExhausted { needed: 1, left: 0 });
        }
        let level = meta.level - 1;
        let dropped = self.params.dropped(meta.level);
        let scale = meta.scale / dropped;
        let exact = self.scale_at(level);
        check_scale(&self.params, level, scale)?;
        let noise = meta.noise.map(|noise| self.params.noise().divided(noise, libm::log2(dropped)));
        let meta = Meta { level, scale, noise, ..meta };
        let settled = Meta { scale: exact, noise: snapped(meta, exact), ..meta };
        Ok(if same_scale(scale, exact) { settled } else { meta })
    }
}

/// The estimate for an object whose scale is replaced by a nearly equal one: values are off by the
/// relative difference.
pub(super) fn snapped(meta: Meta, exact: f64) -> Option<NoiseEstimate> {
    let off = libm::log2((meta.scale / exact - 1.0).abs()) + libm::log2(exact);
    meta.noise.map(|noise| noise.with(off + noise.value_log2, off + noise.value_log2))
}

pub(super) fn level_of<B: RingOps>(ct: &Aligned<'_, Ciphertext<B>>) -> usize {
    let ct: &Ciphertext<B> = ct.borrow();
    ct.meta.level
}

pub(super) fn into_owned<B: RingOps>(ct: Aligned<'_, Ciphertext<B>>) -> Result<Ciphertext<B>> {
    match ct {
        Aligned::As(ct) => ct.duplicate(),
        Aligned::Copy(ct) => Ok(ct),
    }
}
