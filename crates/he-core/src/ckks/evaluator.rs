//! Arithmetic on ciphertexts.

use super::ciphertext::{Meta, check_scale, scale_mismatch};
use super::levels::LEAST_CONSTANT_LOG2;
use super::{Ciphertext, CkksParams, Encoder, NoiseEstimate, Plaintext, Product};
use crate::arith::DoubleDouble;
use crate::backend::{Cpu, RingOps};
use crate::error::{Error, Result};
use crate::key_set::common_of;
use crate::ring::{Eval, Poly, Ring, Span};
use crate::rlwe::{Aligned, EvaluationKeys, RlweCiphertext};
use num_complex::Complex64;
use std::borrow::Borrow;

/// Two scales count as equal if their relative difference is below this, which covers the roundings
/// of their float64 products.
const SCALE_TOLERANCE: f64 = 1e-12;

pub(super) fn same_scale(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < SCALE_TOLERANCE
}

/// The least constant that brings an operand of any scale to a level's.
const LEAST_CONSTANT: f64 = (1u64 << LEAST_CONSTANT_LOG2 as u32) as f64;
/// The greatest one, which is an integer of 128 bits.
const GREATEST_CONSTANT: f64 = (1u128 << 124) as f64;

/// Computes on ciphertexts; knows no secret.
///
/// The operations bring their operands to a common level and to that level's exact scale by
/// themselves. A ciphertext on level l at the level's scale S_l is *settled*; all results are. With
/// D_l the product of the primes that the step below level l drops and S_(l-1) = S_l^2 / D_l, a
/// product of settled ciphertexts is settled again after its rescale; lowering a level multiplies
/// by round(S_(l-1) D_l / S_l) and rescales, which costs a relative error of about 1 / S.
///
/// Where a group of levels starts with a scale of its own ([`LevelGroup`](super::LevelGroup)),
/// S_(l-1) is not S_l^2 / D_l. Then products of two ciphertexts of level l are made on level l - 1,
/// or the next one below that takes them ([`takes_products`](CkksParams::takes_products)).
/// Plaintexts and constants multiply on level l itself, at the scale S_(l-1) D_l / S_l
/// ([`multiplier_scale`](CkksParams::multiplier_scale)), and lowering across several groups is one
/// division by all primes that it drops.
#[derive(Debug, Clone)]
pub struct Evaluator<B: RingOps = Cpu> {
    pub(super) params: CkksParams,
    pub(super) ring: Ring<B>,
    pub(super) encoder: Encoder<B>,
}

impl<B: RingOps> Evaluator<B> {
    /// For parameters on a device.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for a ring of other parameters.
    pub fn new(params: &CkksParams, ring: &Ring<B>) -> Result<Self> {
        Ok(Self { params: params.clone(), ring: ring.clone(), encoder: Encoder::new(params, ring)? })
    }

    /// The parameters.
    pub fn params(&self) -> &CkksParams {
        &self.params
    }

    /// The ring.
    pub fn ring(&self) -> &Ring<B> {
        &self.ring
    }

    /// An encoder for the same parameters and device.
    pub fn encoder(&self) -> &Encoder<B> {
        &self.encoder
    }

    pub(super) fn scale_at(&self, level: usize) -> f64 {
        self.params.levels()[level].scale
    }

    pub(super) fn primes_at(&self, level: usize) -> usize {
        self.params.levels()[level].primes
    }

    fn check_ring(&self, ring: &Ring<B>) -> Result<()> {
        if ring.same(&self.ring) { Ok(()) } else { Err(Error::RingMismatch) }
    }

    /// Checks that an operand is of these parameters: it has this ring and the primes of an
    /// existing level.
    fn check(&self, meta: Meta, poly: &Poly<Eval, B>) -> Result<()> {
        self.check_ring(poly.ring())?;
        let expected = Span::chain(self.params.level(meta.level)?.primes);
        if poly.span() != expected {
            return Err(Error::SpanMismatch { left: poly.span(), right: expected });
        }
        Ok(())
    }

    pub(super) fn check_ciphertext(&self, ct: &Ciphertext<B>) -> Result<()> {
        self.check(ct.meta, &ct.pair.c[0])
    }

    /// round(value scale) modulo each prime of a span.
    pub(super) fn constant_residues(
        &self,
        value: f64,
        scale: DoubleDouble,
        span: Span,
        level: usize,
    ) -> Result<Vec<u64>> {
        if !value.is_finite() {
            return Err(Error::NotFinite { index: 0 });
        }
        let scaled =
            if self.params.is_extended() { scale * value.into() } else { (value * scale.to_f64()).into() };
        self.rounded_residues(scaled, span, level)
    }

    /// A number, rounded, modulo each prime of a span.
    #[expect(clippy::disallowed_methods, reason = "constants in the clear are public")]
    fn rounded_residues(&self, scaled: DoubleDouble, span: Span, level: usize) -> Result<Vec<u64>> {
        let greatest = scaled.to_f64().abs();
        // A NaN results from a number too large for its halves.
        let greatest = if greatest.is_nan() { f64::INFINITY } else { greatest };
        let needed_bits = libm::log2(greatest + 1.0).ceil().min(1025.0) as u32 + 1;
        let available_bits = (self.params.log_q(level).floor() as u32).min(126);
        if needed_bits > available_bits {
            return Err(Error::ValueTooLarge { index: 0, needed_bits, available_bits, level });
        }
        let rounded = scaled.to_i128();
        Ok(self.ring.spec().moduli_of(span).map(|q| q.reduce_i128(rounded)).collect())
    }

    // --- levels and scales ----------------------------------------------------------------------

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
    pub(super) fn settled_factor<'a>(&self, ct: &'a Ciphertext<B>) -> Result<Aligned<'a, Ciphertext<B>>> {
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

    fn at_level<'a>(
        &self,
        ct: Aligned<'a, Ciphertext<B>>,
        level: usize,
    ) -> Result<Aligned<'a, Ciphertext<B>>> {
        if level_of(&ct) == level { Ok(ct) } else { Ok(Aligned::Copy(self.lower(ct.borrow(), level)?)) }
    }

    /// What a polynomial of this scale on level `above` is multiplied by on its way to a lower
    /// level's exact scale.
    fn lowering_constant(&self, scale: f64, above: usize, level: usize) -> f64 {
        self.scale_at(level) * self.dropped_between(above, level) / scale
    }

    /// The product of the primes between two levels.
    fn dropped_between(&self, above: usize, level: usize) -> f64 {
        (level + 1..=above).map(|level| self.params.dropped(level)).product()
    }

    /// The level from which a polynomial of this scale is divided on its way down. Inside a group
    /// that is the next one. From other groups a constant of the scales' ratio and one prime may
    /// round too much: then more primes are divided by, so that it is about as fine as the scale.
    fn divided_from(&self, scale: f64, from: usize, level: usize) -> usize {
        if self.params.same_group(from, level) {
            return level + 1;
        }
        let constants = (level + 1..=from).map(|above| (above, self.lowering_constant(scale, above, level)));
        let possible = || constants.clone().take_while(|&(_, constant)| constant <= GREATEST_CONSTANT);
        let fine = possible().find(|&(_, constant)| constant >= self.scale_at(level) / 32.0);
        fine.or_else(|| possible().last()).map_or(level + 1, |(above, _)| above)
    }

    /// Brings one polynomial from (level, scale) to a lower level's exact scale.
    fn lower_poly(
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
    fn lowered(&self, meta: Meta, level: usize) -> Meta {
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

    /// The same values on a lower level, at that level's exact scale.
    ///
    /// # Errors
    /// [`Error::LevelTooHigh`] for a level above the ciphertext's.
    pub fn lower_to(&self, ct: &Ciphertext<B>, level: usize) -> Result<Ciphertext<B>> {
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

    // --- additions ------------------------------------------------------------------------------

    fn combine(
        &self,
        a: &Ciphertext<B>,
        b: &Ciphertext<B>,
        f: impl Fn(&RlweCiphertext<B>, &RlweCiphertext<B>) -> Result<RlweCiphertext<B>>,
    ) -> Result<Ciphertext<B>> {
        let slots = a.meta.slots.max(b.meta.slots);
        let [a, b] = self.aligned(a, b)?;
        let (a, b): (&Ciphertext<B>, &Ciphertext<B>) = (a.borrow(), b.borrow());
        let noise = a.meta.noises(&b.meta).map(|(a, b)| a.plus(b));
        Ok(Ciphertext { pair: f(&a.pair, &b.pair)?, meta: Meta { slots, noise, ..a.meta } })
    }

    /// a + b. `b` may have a batch of one. Noise adds; no level is used unless the operands' levels
    /// differ.
    ///
    /// # Errors
    /// Mismatch of ring, batch or key sets; device errors.
    pub fn add(&self, a: &Ciphertext<B>, b: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        self.combine(a, b, RlweCiphertext::add)
    }

    /// a - b, likewise.
    ///
    /// # Errors
    /// Mismatch of ring, batch or key sets; device errors.
    pub fn sub(&self, a: &Ciphertext<B>, b: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        self.combine(a, b, RlweCiphertext::sub)
    }

    /// -a.
    ///
    /// # Errors
    /// Mismatch of ring; device errors.
    pub fn neg(&self, a: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        self.check_ciphertext(a)?;
        let mut result = a.duplicate()?;
        result.pair.c.iter_mut().try_for_each(Poly::neg_assign)?;
        Ok(result)
    }

    /// The highest level, from this one down, whose step takes products of two ciphertexts.
    fn product_level(&self, level: usize) -> Result<usize> {
        let found = (1..=level).rev().find(|&level| self.params.takes_products(level));
        found.ok_or(Error::LevelExhausted { needed: 1, left: 0 })
    }

    /// Both operands settled on one level that takes their product.
    pub(crate) fn product_operands<'a>(
        &self,
        a: &'a Ciphertext<B>,
        b: &'a Ciphertext<B>,
    ) -> Result<[Aligned<'a, Ciphertext<B>>; 2]> {
        let (a, b) = (self.settled_factor(a)?, self.settled_factor(b)?);
        let level = self.product_level(level_of(&a).min(level_of(&b)))?;
        Ok([self.at_level(a, level)?, self.at_level(b, level)?])
    }

    /// Whether plaintexts of this scale multiply ciphertexts of a level.
    pub(super) fn check_multiplier_scale(&self, found: f64, level: usize) -> Result<()> {
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
    fn with_plain<'a>(
        &self,
        ct: &'a Ciphertext<B>,
        plain: &'a Plaintext<B>,
        (level, scale): (usize, f64),
    ) -> Result<(Aligned<'a, Ciphertext<B>>, Aligned<'a, Poly<Eval, B>>, Meta)> {
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

    fn combine_plain(
        &self,
        ct: &Ciphertext<B>,
        plain: &Plaintext<B>,
        f: impl Fn(&mut Poly<Eval, B>, &Poly<Eval, B>) -> Result<()>,
    ) -> Result<Ciphertext<B>> {
        let slots = ct.meta.slots.max(plain.meta.slots);
        self.check(plain.meta, &plain.poly)?;
        let ct = self.settled(ct)?;
        let level = level_of(&ct).min(plain.meta.level);
        let (ct, poly, plain) = self.with_plain(ct.borrow(), plain, (level, self.scale_at(level)))?;
        let mut result = into_owned(ct)?;
        f(&mut result.pair.c[0], poly.borrow())?;
        let noise = result.meta.noises(&plain).map(|(ct, plain)| ct.plus(plain));
        result.meta = Meta { slots, noise, ..result.meta };
        Ok(result)
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

    /// ct + value in every slot.
    ///
    /// # Errors
    /// [`Error::NotFinite`], [`Error::ValueTooLarge`]; device errors.
    pub fn add_scalar(&self, ct: &Ciphertext<B>, value: Complex64) -> Result<Ciphertext<B>> {
        let ct = self.settled(ct)?;
        let level = level_of(&ct);
        if value.im == 0.0 {
            let mut result = into_owned(ct)?;
            let span = result.pair.c[0].span();
            let scale = self.params.exact_scale(self.scale_at(level));
            let residues = self.constant_residues(value.re, scale, span, level)?;
            result.pair.c[0].shift_assign(&residues)?;
            let (scale_log2, n) = (result.meta.scale_log2(), self.params.noise().n());
            let constant = NoiseEstimate::encoded(value.re * value.re, scale_log2, n);
            result.meta.noise = result.meta.noise.map(|noise| noise.plus(constant));
            return Ok(result);
        }
        let constant = self.encoder.encode_constant(value, self.params.encoding_for(ct.borrow()))?;
        self.add_plain(ct.borrow(), &constant)
    }

    // --- products -------------------------------------------------------------------------------

    /// The product before relinearisation, on the lower of the operands' levels at the square of
    /// its scale: sums of products relinearise once. A manual operation: rescaled, the product has
    /// the next level's scale only if the level
    /// [takes products](CkksParams::takes_products), as all but level 0 do where all levels are of
    /// one group.
    ///
    /// # Errors
    /// [`Error::ScaleRange`] if the scale does not fit the level's modulus; mismatch of ring, batch
    /// or key sets; device errors.
    pub fn tensor(&self, a: &Ciphertext<B>, b: &Ciphertext<B>) -> Result<Product<B>> {
        let slots = a.meta.slots.max(b.meta.slots);
        self.tensor_of(&self.aligned(a, b)?, slots)
    }

    fn tensor_of(&self, [a, b]: &[Aligned<'_, Ciphertext<B>>; 2], slots: usize) -> Result<Product<B>> {
        let (a, b): (&Ciphertext<B>, &Ciphertext<B>) = (a.borrow(), b.borrow());
        let level = a.meta.level;
        let scale = a.meta.scale * b.meta.scale;
        check_scale(&self.params, level, scale)?;
        let noise = product_noise(&a.meta, &b.meta);
        Ok(Product { triple: a.pair.tensor(&b.pair)?, meta: Meta { level, scale, slots, noise } })
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
    /// that [takes products](CkksParams::takes_products).
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
        let slots = a.meta.slots.max(b.meta.slots);
        self.ring.backend().together(|| {
            let product = self.tensor_of(&self.product_operands(a, b)?, slots)?;
            self.relinearize_rescale(&product, keys)
        })
    }

    /// a a, relinearised and rescaled.
    ///
    /// # Errors
    /// The same as for [`mul`](Self::mul).
    pub fn square(&self, a: &Ciphertext<B>, keys: &EvaluationKeys<B>) -> Result<Ciphertext<B>> {
        self.mul(a, a, keys)
    }

    /// ct plain, rescaled: one level below. The plaintext may have a batch of one. Its scale is the
    /// one of its level, or the lower level's
    /// [`multiplier_scale`](CkksParams::multiplier_scale), which differ at borders of level groups
    /// alone: there a product by a plaintext of the former is made where two ciphertexts' would be.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`], [`Error::ScaleMismatch`]; mismatch of ring, batch or key sets;
    /// device errors.
    pub fn mul_plain(&self, ct: &Ciphertext<B>, plain: &Plaintext<B>) -> Result<Ciphertext<B>> {
        let slots = ct.meta.slots.max(plain.meta.slots);
        self.check(plain.meta, &plain.poly)?;
        let ct = self.settled_factor(ct)?;
        let lower = level_of(&ct).min(plain.meta.level);
        let at = self.multiplier_level(lower, std::iter::once(plain))?;
        let (ct, poly, plain) = self.with_plain(ct.borrow(), plain, at)?;
        let ct: &Ciphertext<B> = ct.borrow();
        let scale = ct.meta.scale * at.1;
        let noise = product_noise(&ct.meta, &plain);
        let meta = self.rescaled(Meta { scale, slots, noise, ..ct.meta })?;
        let keep = self.primes_at(meta.level);
        let product = ct.pair.map(|c| {
            let mut c = c.duplicate()?;
            c.mul_assign(poly.borrow())?;
            Ok(c)
        })?;
        Ok(Ciphertext { pair: product.mod_down(keep)?, meta })
    }

    /// value ct, rescaled: one level below. The value is rounded to a multiple of
    /// 1 / [`multiplier_scale`](CkksParams::multiplier_scale).
    ///
    /// # Errors
    /// [`Error::LevelExhausted`], [`Error::NotFinite`], [`Error::ValueTooLarge`]; device errors.
    pub fn mul_scalar(&self, ct: &Ciphertext<B>, value: f64) -> Result<Ciphertext<B>> {
        self.linear_combination(&[(ct, value)])
    }

    /// sum_i value_i ct_i, rescaled once: one level below the lowest operand. Values are rounded to
    /// multiples of 1 / [`multiplier_scale`](CkksParams::multiplier_scale). All operands have the
    /// first one's batch, or one.
    ///
    /// # Errors
    /// [`Error::Argument`] without terms; [`Error::LevelExhausted`], [`Error::NotFinite`],
    /// [`Error::ValueTooLarge`]; mismatch of ring or batch; device errors.
    pub fn linear_combination(&self, terms: &[(&Ciphertext<B>, f64)]) -> Result<Ciphertext<B>> {
        let why = || "a linear combination needs at least one term".to_owned();
        let (first, _) = terms.first().ok_or_else(|| Error::Argument { what: "terms", why: why() })?;
        let settled = terms.iter().map(|(ct, _)| self.settled_factor(ct)).collect::<Result<Vec<_>>>()?;
        let key_set = common_of("other ciphertext", terms.iter().map(|(ct, _)| ct.key_set()))?;
        let level = settled.iter().map(level_of).min().unwrap_or(0);
        let multiplier = self.params.exact_multiplier_scale(level)?;
        let slots = terms.iter().map(|(ct, _)| ct.meta.slots).max().unwrap_or(1);
        let span = Span::chain(self.primes_at(level));
        let zero = || Poly::zeros(&self.ring, span, first.batch());
        let mut sums = [zero()?, zero()?];
        let mut noises = Vec::with_capacity(terms.len());
        for (ct, &(_, value)) in settled.into_iter().zip(terms) {
            let ct = self.at_level(ct, level)?;
            let ct: &Ciphertext<B> = ct.borrow();
            noises.push(self.times(ct.meta.noise, level, value));
            let residues = self.constant_residues(value, multiplier, span, level)?;
            for (sum, c) in sums.iter_mut().zip(ct.pair.parts()) {
                sum.scale_add_assign(c, &residues)?;
            }
        }
        let scale = self.scale_at(level) * multiplier.to_f64();
        let meta = self.rescaled(Meta { level, scale, slots, noise: sum(noises) })?;
        let keep = self.primes_at(meta.level);
        let [c0, c1] = sums;
        Ok(Ciphertext { pair: RlweCiphertext::new(c0, c1)?.of(key_set).mod_down(keep)?, meta })
    }

    /// The estimate of something at a level's scale, multiplied by a value that is rounded at the
    /// scale of the level's multipliers.
    pub(super) fn times(
        &self,
        noise: Option<NoiseEstimate>,
        level: usize,
        value: f64,
    ) -> Option<NoiseEstimate> {
        let multiplier_log2 = libm::log2(self.params.multiplier_scale(level).ok()?);
        let scale_log2 = libm::log2(self.scale_at(level));
        noise.map(|noise| noise.times(scale_log2, value, multiplier_log2, self.params.noise().n()))
    }

    /// sum_i plain_i ct_i, rescaled once: one level below the lowest operand. All ciphertexts have
    /// the first one's batch, or one; a plaintext may have a batch of one.
    ///
    /// # Errors
    /// [`Error::Argument`] without terms; [`Error::LevelExhausted`], [`Error::ScaleMismatch`];
    /// mismatch of ring, batch or key sets; device errors.
    pub fn plain_combination(&self, terms: &[(&Ciphertext<B>, &Plaintext<B>)]) -> Result<Ciphertext<B>> {
        let why = || "a combination needs at least one term".to_owned();
        let (first, _) = terms.first().ok_or_else(|| Error::Argument { what: "terms", why: why() })?;
        let settled = terms.iter().map(|(ct, _)| self.settled_factor(ct)).collect::<Result<Vec<_>>>()?;
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

    /// value ct for an integer: exact, uses no level; magnitude and noise grow by |value|.
    ///
    /// # Errors
    /// Mismatch of ring; device errors.
    pub fn mul_integer(&self, ct: &Ciphertext<B>, value: i64) -> Result<Ciphertext<B>> {
        self.check_ciphertext(ct)?;
        let mut result = ct.duplicate()?;
        let moduli = &self.ring.spec().q_moduli()[..result.pair.chain_limbs()];
        let residues: Vec<u64> = moduli.iter().map(|q| q.reduce_i64(value)).collect();
        result.pair.c.iter_mut().try_for_each(|c| c.scale_assign(&residues))?;
        result.meta.noise = result.meta.noise.map(|noise| noise.times_integer(value));
        Ok(result)
    }
}

/// The estimate of a product before its rescale.
pub(super) fn product_noise(a: &Meta, b: &Meta) -> Option<NoiseEstimate> {
    a.noises(b).map(|(x, y)| x.product(a.scale_log2(), y, b.scale_log2()))
}

/// The estimate of a sum, if every term has one.
pub(super) fn sum(noises: Vec<Option<NoiseEstimate>>) -> Option<NoiseEstimate> {
    let noises: Option<Vec<NoiseEstimate>> = noises.into_iter().collect();
    noises?.into_iter().reduce(NoiseEstimate::plus)
}

/// The estimate for an object whose scale is replaced by a nearly equal one: values are off by the
/// relative difference.
fn snapped(meta: Meta, exact: f64) -> Option<NoiseEstimate> {
    let off = libm::log2((meta.scale / exact - 1.0).abs()) + libm::log2(exact);
    meta.noise.map(|noise| noise.with(off + noise.value_log2, off + noise.value_log2))
}

fn level_of<B: RingOps>(ct: &Aligned<'_, Ciphertext<B>>) -> usize {
    let ct: &Ciphertext<B> = ct.borrow();
    ct.meta.level
}

pub(super) fn into_owned<B: RingOps>(ct: Aligned<'_, Ciphertext<B>>) -> Result<Ciphertext<B>> {
    match ct {
        Aligned::As(ct) => ct.duplicate(),
        Aligned::Copy(ct) => Ok(ct),
    }
}
