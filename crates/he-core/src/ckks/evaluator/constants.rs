//! Sums and products with constants.

use super::scales::{into_owned, level_of};
use super::{Evaluator, sum};
use crate::arith::DoubleDouble;
use crate::backend::RingOps;
use crate::ckks::ciphertext::Meta;
use crate::ckks::noise::DOUBLES_LOG2;
use crate::ckks::{Ciphertext, NoiseEstimate};
use crate::error::{Error, Result};
use crate::key_set::common_of;
use crate::ring::{Poly, Span};
use crate::rlwe::RlweCiphertext;
use num_complex::Complex64;
use std::borrow::Borrow;

impl<B: RingOps> Evaluator<B> {
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
        self.rounded_residues(self.scaled_constant(value, scale), span, level)
    }

    /// value x scale, in as many bits as the parameters resolve.
    pub(super) fn scaled_constant(&self, value: f64, scale: DoubleDouble) -> DoubleDouble {
        if self.params.is_extended() { scale * value.into() } else { (value * scale.to_f64()).into() }
    }

    /// A number, rounded, modulo each prime of a span.
    pub(super) fn rounded_residues(
        &self,
        scaled: DoubleDouble,
        span: Span,
        level: usize,
    ) -> Result<Vec<u64>> {
        self.check_rounded(scaled.to_f64().abs(), level)?;
        let rounded = scaled.to_i128();
        Ok(self.ring.spec().moduli_of(span).map(|q| q.reduce_i128(rounded)).collect())
    }

    /// Checks that numbers up to this magnitude fit the modulus of a level, and 126 bits.
    #[expect(clippy::disallowed_methods, reason = "constants in the clear are public")]
    pub(super) fn check_rounded(&self, greatest: f64, level: usize) -> Result<()> {
        // A NaN results from a number too large for its halves.
        let greatest = if greatest.is_nan() { f64::INFINITY } else { greatest };
        let needed_bits = libm::log2(greatest + 1.0).ceil().min(1025.0) as u32 + 1;
        let available_bits = (self.params.log_q(level).floor() as u32).min(126);
        if needed_bits > available_bits {
            return Err(Error::ValueTooLarge { index: 0, needed_bits, available_bits, level });
        }
        Ok(())
    }

    /// ct + value in every slot.
    ///
    /// # Errors
    /// [`Error::NotFinite`], [`Error::ValueTooLarge`]; device errors.
    pub fn add_scalar(&self, ct: &Ciphertext<B>, value: Complex64) -> Result<Ciphertext<B>> {
        let mut result = into_owned(self.settled(ct)?)?;
        self.add_scalar_assign(&mut result, value)?;
        Ok(result)
    }

    /// ct <- ct + value, to the same words as [`add_scalar`](Self::add_scalar). Without new memory,
    /// and without touching c1, where the ciphertext has the scale of its level.
    ///
    /// # Errors
    /// The same as for [`add_scalar`](Self::add_scalar), before anything changes; after a device
    /// error, `ct` has any value.
    pub fn add_scalar_assign(&self, ct: &mut Ciphertext<B>, value: Complex64) -> Result<()> {
        let mut copy = self.settled(ct)?.into_copy();
        let to = copy.as_mut().unwrap_or(ct);
        if value.im == 0.0 {
            let level = to.meta.level;
            let span = to.pair.c[0].span();
            let scale = self.params.exact_scale(self.scale_at(level));
            let residues = self.constant_residues(value.re, scale, span, level)?;
            to.pair.c[0].add_scalar_assign(&residues)?;
            let (scale_log2, n) = (to.meta.scale_log2(), self.params.noise().n());
            let constant = NoiseEstimate::encoded(value.re * value.re, scale_log2, n, DOUBLES_LOG2);
            to.meta.noise = to.meta.noise.map(|noise| noise.plus(constant));
        } else {
            let constant = self.encoder.encode_constant(value, self.params.encoding_for(to))?;
            self.add_plain_assign(to, &constant)?;
        }
        if let Some(copy) = copy {
            *ct = copy;
        }
        Ok(())
    }

    /// value ct, rescaled: one level below. The value is rounded to a multiple of
    /// 1 / [`multiplier_scale`](crate::ckks::CkksParams::multiplier_scale).
    ///
    /// # Errors
    /// [`Error::LevelExhausted`], [`Error::NotFinite`], [`Error::ValueTooLarge`]; device errors.
    pub fn mul_scalar(&self, ct: &Ciphertext<B>, value: f64) -> Result<Ciphertext<B>> {
        self.linear_combination(&[(ct, value)])
    }

    /// sum_i value_i ct_i, rescaled once: one level below the lowest operand. Values are rounded to
    /// multiples of 1 / [`multiplier_scale`](crate::ckks::CkksParams::multiplier_scale). All
    /// operands have the first one's batch, or one.
    ///
    /// # Errors
    /// [`Error::Argument`] without terms; [`Error::LevelExhausted`], [`Error::NotFinite`],
    /// [`Error::ValueTooLarge`]; mismatch of ring or batch; device errors.
    pub fn linear_combination(&self, terms: &[(&Ciphertext<B>, f64)]) -> Result<Ciphertext<B>> {
        let why = || "a linear combination needs at least one term".to_owned();
        let (first, _) = terms.first().ok_or_else(|| Error::argument("terms", why()))?;
        let settled = terms.iter().map(|(ct, _)| self.settled_for_product(ct)).collect::<Result<Vec<_>>>()?;
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

    /// value ct for an integer: exact, uses no level; magnitude and noise grow by |value|.
    ///
    /// # Errors
    /// Mismatch of ring; device errors.
    pub fn mul_integer(&self, ct: &Ciphertext<B>, value: i64) -> Result<Ciphertext<B>> {
        let mut result = ct.duplicate()?;
        self.mul_integer_assign(&mut result, value)?;
        Ok(result)
    }

    /// ct <- value ct, to the same words as [`mul_integer`](Self::mul_integer) and without new
    /// memory.
    ///
    /// # Errors
    /// The same as for [`mul_integer`](Self::mul_integer); after a device error, `ct` has any
    /// value.
    pub fn mul_integer_assign(&self, ct: &mut Ciphertext<B>, value: i64) -> Result<()> {
        self.check_ciphertext(ct)?;
        let moduli = &self.ring.spec().q_moduli()[..ct.pair.chain_limbs()];
        let residues: Vec<u64> = moduli.iter().map(|q| q.reduce_i64(value)).collect();
        ct.pair.c.iter_mut().try_for_each(|c| c.scale_assign(&residues))?;
        ct.meta.noise = ct.meta.noise.map(|noise| noise.times_integer(value));
        Ok(())
    }
}
