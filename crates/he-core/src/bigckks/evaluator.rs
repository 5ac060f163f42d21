//! Arithmetic on ciphertexts.

use super::ciphertext::{Known, Meta, check_scale};
use super::params::product_bits;
use super::{BigCkksParams, Ciphertext, Encoder, EvaluationKeys, Noise, Plaintext, Product, WidePoly};
use crate::backend::{
    Cpu, WideOps, WidePolyOps, WideRows, covering_span, magnitude_words, needed_bits, round_scaled,
};
use crate::ckks::NoiseEstimate;
use crate::error::{Error, Result};
use crate::key_set::common;
use crate::ring::{Ring, galois_conjugation, galois_rotation};
use num_complex::Complex64;

/// The names of a ciphertext and a key in errors about combining them with a ciphertext.
const OPERAND: &str = "other ciphertext";
const KEY: &str = "evaluation key";

/// Computes on ciphertexts; knows no secret.
///
/// Operands are aligned exactly: the larger modulus is reduced to the smaller one, and in sums the
/// smaller scale is multiplied by a power of two. Products have the product of the scales, and
/// [`rescale`](Self::rescale) divides by any number of bits on request. Batches are equal, or that
/// of the right operand is one.
#[derive(Debug, Clone)]
pub struct Evaluator<B: WideOps = Cpu> {
    params: BigCkksParams,
    ring: Ring<B>,
    encoder: Encoder<B>,
    noise: Noise,
}

impl<B: WideOps> Evaluator<B> {
    /// For parameters on a device.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for a ring of other parameters.
    pub fn new(params: &BigCkksParams, ring: &Ring<B>) -> Result<Self> {
        let (encoder, noise) = (Encoder::new(params, ring)?, Noise::new(params));
        Ok(Self { params: params.clone(), ring: ring.clone(), encoder, noise })
    }

    /// The parameters.
    pub fn params(&self) -> &BigCkksParams {
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

    fn check(&self, poly: &WidePoly<B>, meta: Meta) -> Result<()> {
        if !poly.ring().same(&self.ring) {
            return Err(Error::RingMismatch);
        }
        meta.check(&self.params)
    }

    fn key_switched(&self, noise: Known, meta: Meta) -> Known {
        let digits = self.params.digits(meta.log_q);
        noise.map(|noise| self.noise.key_switched(noise, digits))
    }

    fn check_keys(&self, keys: &EvaluationKeys<B>) -> Result<()> {
        keys.check(&self.params, &self.ring)
    }

    // --- moduli and scales ----------------------------------------------------------------------

    /// Divides ciphertext, scale and modulus by 2^bits, rounding to nearest. Adds a noise of
    /// variance [`Noise::rescale_variance`](super::Noise::rescale_variance) per coefficient.
    ///
    /// # Errors
    /// [`Error::ModulusExhausted`] unless the modulus has more bits; [`Error::ScaleRange`] if the
    /// scale has fewer; device errors.
    pub fn rescale(&self, ct: &Ciphertext<B>, bits: u32) -> Result<Ciphertext<B>> {
        self.check(&ct.c[0], ct.meta)?;
        let meta = rescaled(ct.meta, bits)?;
        let noise = ct.noise.map(|noise| self.noise.divided(noise, bits));
        Ok(Ciphertext { meta, noise, ..ct.map(|c| c.shift_round(bits))? })
    }

    /// Reduces to the modulus 2^log_q, of at most as many bits as there are, exactly.
    ///
    /// # Errors
    /// [`Error::ModulusMismatch`] for more bits or none; [`Error::ScaleRange`] if the scale does
    /// not fit; device errors.
    pub fn drop_to_bits(&self, ct: &Ciphertext<B>, log_q: u32) -> Result<Ciphertext<B>> {
        self.check(&ct.c[0], ct.meta)?;
        if log_q > ct.meta.log_q {
            return Err(Error::ModulusMismatch { left: ct.meta.log_q, right: log_q });
        }
        let meta = Meta { log_q, ..ct.meta };
        meta.check(&self.params)?;
        Ok(Ciphertext { meta, ..ct.map(|c| c.reduced(log_q))? })
    }

    /// Multiplies the scale by 2^bits, exactly, which takes bits from the range of values.
    ///
    /// # Errors
    /// [`Error::ScaleRange`] if the scale does not fit the modulus; device errors.
    pub fn scale_up(&self, ct: &Ciphertext<B>, bits: u32) -> Result<Ciphertext<B>> {
        self.check(&ct.c[0], ct.meta)?;
        let mut result = ct.duplicate()?;
        self.raise(&mut result.c, &mut result.meta, bits)?;
        result.noise = raised(ct.noise, ct.meta, result.meta);
        Ok(result)
    }

    fn raise(&self, polys: &mut [WidePoly<B>], meta: &mut Meta, bits: u32) -> Result<()> {
        let scale_log2 = meta.scale_log2.saturating_add(bits);
        check_scale(scale_log2, meta.log_q)?;
        if bits > 0 {
            polys.iter_mut().try_for_each(|poly| poly.shift_left_assign(bits))?;
        }
        meta.scale_log2 = scale_log2;
        Ok(())
    }

    // --- additions ------------------------------------------------------------------------------

    /// a <- f(a, b) for polynomials of the given modulus and scale, which are aligned; returns the
    /// state of the result.
    fn combine(
        &self,
        a: &mut [WidePoly<B>],
        a_meta: Meta,
        b: &[&WidePoly<B>],
        b_meta: Meta,
        f: impl Fn(&mut WidePoly<B>, &WidePoly<B>) -> Result<()>,
    ) -> Result<Meta> {
        let log_q = a_meta.log_q.min(b_meta.log_q);
        let mut meta = Meta { log_q, slots: a_meta.slots.max(b_meta.slots), ..a_meta };
        if a_meta.log_q > log_q {
            for poly in a.iter_mut() {
                *poly = poly.reduced(log_q)?;
            }
        }
        self.raise(a, &mut meta, b_meta.scale_log2.saturating_sub(a_meta.scale_log2))?;
        let lift = a_meta.scale_log2.saturating_sub(b_meta.scale_log2);
        for (a, b) in a.iter_mut().zip(b) {
            if lift == 0 {
                // Numbers modulo a larger modulus are read modulo the smaller one.
                f(a, b)?;
            } else {
                let mut lifted = b.reduced(log_q)?;
                lifted.shift_left_assign(lift)?;
                f(a, &lifted)?;
            }
        }
        Ok(meta)
    }

    fn combine_ciphertexts(
        &self,
        a: &Ciphertext<B>,
        b: &Ciphertext<B>,
        f: impl Fn(&mut WidePoly<B>, &WidePoly<B>) -> Result<()>,
    ) -> Result<Ciphertext<B>> {
        let mut result = a.duplicate()?;
        self.combine_assign(&mut result, b, f)?;
        Ok(result)
    }

    /// a <- f(a, b).
    fn combine_assign(
        &self,
        a: &mut Ciphertext<B>,
        b: &Ciphertext<B>,
        f: impl Fn(&mut WidePoly<B>, &WidePoly<B>) -> Result<()>,
    ) -> Result<()> {
        self.check(&a.c[0], a.meta)?;
        self.check(&b.c[0], b.meta)?;
        let key_set = common(OPERAND, b.key_set, a.key_set)?;
        let meta = self.combine(&mut a.c, a.meta, &b.parts(), b.meta, f)?;
        a.noise = summed((a.noise, a.meta), (b.noise, b.meta), meta);
        (a.meta, a.key_set) = (meta, key_set);
        Ok(())
    }

    /// a + b. Noise adds.
    ///
    /// # Errors
    /// [`Error::ScaleRange`] if the larger scale does not fit the smaller modulus; mismatch of
    /// ring, batch or key sets; device errors.
    pub fn add(&self, a: &Ciphertext<B>, b: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        self.combine_ciphertexts(a, b, WidePoly::add_assign)
    }

    /// a - b.
    ///
    /// # Errors
    /// The same as for [`add`](Self::add).
    pub fn sub(&self, a: &Ciphertext<B>, b: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        self.combine_ciphertexts(a, b, WidePoly::sub_assign)
    }

    /// a <- a + b, to the same words as [`add`](Self::add) and without new memory where both have
    /// one modulus and one scale.
    ///
    /// # Errors
    /// The same as for [`add`](Self::add); after one of scale, batch or device, `a` has any value.
    pub fn add_assign(&self, a: &mut Ciphertext<B>, b: &Ciphertext<B>) -> Result<()> {
        self.combine_assign(a, b, WidePoly::add_assign)
    }

    /// a <- a - b, likewise.
    ///
    /// # Errors
    /// The same as for [`add_assign`](Self::add_assign).
    pub fn sub_assign(&self, a: &mut Ciphertext<B>, b: &Ciphertext<B>) -> Result<()> {
        self.combine_assign(a, b, WidePoly::sub_assign)
    }

    /// a <- -a.
    ///
    /// # Errors
    /// The same as for [`neg`](Self::neg).
    pub fn neg_assign(&self, a: &mut Ciphertext<B>) -> Result<()> {
        self.check(&a.c[0], a.meta)?;
        a.c.iter_mut().try_for_each(WidePoly::neg_assign)
    }

    /// -a.
    ///
    /// # Errors
    /// Mismatch of ring; device errors.
    pub fn neg(&self, a: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        let mut result = a.duplicate()?;
        self.neg_assign(&mut result)?;
        Ok(result)
    }

    fn combine_plain(
        &self,
        ct: &Ciphertext<B>,
        plain: &Plaintext<B>,
        f: impl Fn(&mut WidePoly<B>, &WidePoly<B>) -> Result<()>,
    ) -> Result<Ciphertext<B>> {
        let mut result = ct.duplicate()?;
        self.combine_plain_assign(&mut result, plain, f)?;
        Ok(result)
    }

    /// ct <- f(ct, plain).
    fn combine_plain_assign(
        &self,
        ct: &mut Ciphertext<B>,
        plain: &Plaintext<B>,
        f: impl Fn(&mut WidePoly<B>, &WidePoly<B>) -> Result<()>,
    ) -> Result<()> {
        self.check(&ct.c[0], ct.meta)?;
        self.check(&plain.poly, plain.meta)?;
        let meta = self.combine(&mut ct.c, ct.meta, &[&plain.poly], plain.meta, f)?;
        ct.noise = summed((ct.noise, ct.meta), (plain.noise, plain.meta), meta);
        ct.meta = meta;
        Ok(())
    }

    /// ct + plain.
    ///
    /// # Errors
    /// The same as for [`add`](Self::add).
    pub fn add_plain(&self, ct: &Ciphertext<B>, plain: &Plaintext<B>) -> Result<Ciphertext<B>> {
        self.combine_plain(ct, plain, WidePoly::add_assign)
    }

    /// ct - plain.
    ///
    /// # Errors
    /// The same as for [`add`](Self::add).
    pub fn sub_plain(&self, ct: &Ciphertext<B>, plain: &Plaintext<B>) -> Result<Ciphertext<B>> {
        self.combine_plain(ct, plain, WidePoly::sub_assign)
    }

    /// ct <- ct + plain, to the same words as [`add_plain`](Self::add_plain), without new memory and
    /// without touching c1 where both have one modulus and one scale.
    ///
    /// # Errors
    /// The same as for [`add_plain`](Self::add_plain); after one of scale, batch or device, `ct`
    /// has any value.
    pub fn add_plain_assign(&self, ct: &mut Ciphertext<B>, plain: &Plaintext<B>) -> Result<()> {
        self.combine_plain_assign(ct, plain, WidePoly::add_assign)
    }

    /// ct <- ct - plain, likewise.
    ///
    /// # Errors
    /// The same as for [`add_plain_assign`](Self::add_plain_assign).
    pub fn sub_plain_assign(&self, ct: &mut Ciphertext<B>, plain: &Plaintext<B>) -> Result<()> {
        self.combine_plain_assign(ct, plain, WidePoly::sub_assign)
    }

    /// ct + value in every slot, where the value is rounded to a multiple of 1 / scale.
    ///
    /// # Errors
    /// [`Error::NotFinite`], [`Error::CoefficientTooLarge`]; device errors.
    pub fn add_scalar(&self, ct: &Ciphertext<B>, value: Complex64) -> Result<Ciphertext<B>> {
        let mut result = ct.duplicate()?;
        self.add_scalar_assign(&mut result, value)?;
        Ok(result)
    }

    /// ct <- ct + value, to the same words as [`add_scalar`](Self::add_scalar), without a copy of
    /// the ciphertext and without touching c1.
    ///
    /// # Errors
    /// The same as for [`add_scalar`](Self::add_scalar), before anything changes; after a device
    /// error, `ct` has any value.
    pub fn add_scalar_assign(&self, ct: &mut Ciphertext<B>, value: Complex64) -> Result<()> {
        let to = self.params.encoding_for(ct).scale_log2(ct.meta.scale_log2);
        self.add_plain_assign(ct, &self.encoder.encode_constant(value, to)?)
    }

    // --- products -------------------------------------------------------------------------------

    /// The product before relinearisation, (d0, d1, d2) = (a0 b0, a0 b1 + a1 b0, a1 b1), at the
    /// product of the scales, so that a sum of products needs one relinearisation.
    ///
    /// # Errors
    /// [`Error::ModulusExhausted`] if the modulus cannot hold the product of the scales; mismatch
    /// of ring or batch; device errors.
    pub fn tensor(&self, a: &Ciphertext<B>, b: &Ciphertext<B>) -> Result<Product<B>> {
        self.check(&a.c[0], a.meta)?;
        self.check(&b.c[0], b.meta)?;
        let meta = product_meta(a.meta, b.meta)?;
        if a.batch() != b.batch() && b.batch() != 1 {
            return Err(Error::BatchMismatch { left: a.batch(), right: b.batch() });
        }
        let key_set = common(OPERAND, b.key_set, a.key_set)?;
        let (ring, rows) = (&self.ring, WideRows::new(meta.log_q, a.batch()));
        // d1 is a sum of two products.
        let bits = product_bits(ring.spec().log_n(), meta.log_q, meta.log_q) + 1;
        let span = covering_span(ring.spec(), bits)?;
        let d = ring.prepared().wide_tensor(
            span,
            rows,
            a.c.each_ref().map(WidePoly::operand),
            b.c.each_ref().map(WidePoly::operand),
        )?;
        let d = d.map(|buf| WidePoly::from_buf(ring, meta.log_q, a.batch(), buf));
        let noise = multiplied((a.noise, a.meta), (b.noise, b.meta));
        Ok(Product { d, meta, noise, key_set })
    }

    /// The sum of two products.
    ///
    /// # Errors
    /// The same as for [`add`](Self::add).
    pub fn add_products(&self, a: &mut Product<B>, b: &Product<B>) -> Result<()> {
        self.check(&a.d[0], a.meta)?;
        self.check(&b.d[0], b.meta)?;
        // All three polynomials are added or none: errors other than those of the device are
        // checked first.
        let log_q = a.meta.log_q.min(b.meta.log_q);
        check_scale(a.meta.scale_log2.max(b.meta.scale_log2), log_q)?;
        if a.d[0].batch() != b.d[0].batch() && b.d[0].batch() != 1 {
            return Err(Error::BatchMismatch { left: a.d[0].batch(), right: b.d[0].batch() });
        }
        let (before, key_set) = ((a.noise, a.meta), common(OPERAND, b.key_set, a.key_set)?);
        a.meta = self.combine(&mut a.d, a.meta, &b.parts(), b.meta, WidePoly::add_assign)?;
        a.noise = summed(before, (b.noise, b.meta), a.meta);
        a.key_set = key_set;
        Ok(())
    }

    /// (d0, d1) + round(P^-1 d2 evk), d2 in digits. Adds a noise of variance
    /// [`Noise::key_switch_variance`](super::Noise::key_switch_variance) per coefficient.
    ///
    /// # Errors
    /// [`Error::MissingRelinKey`], [`Error::ParamsMismatch`]; device errors.
    pub fn relinearize(&self, product: &Product<B>, keys: &EvaluationKeys<B>) -> Result<Ciphertext<B>> {
        self.check_keys(keys)?;
        self.check(&product.d[0], product.meta)?;
        let [d0, d1, d2] = &product.d;
        let key = keys.relin()?;
        let key_set = common(KEY, key.key_set(), product.key_set)?;
        let c = key.switch(d2, [Some(d0), Some(d1)])?;
        let noise = self.key_switched(product.noise, product.meta);
        Ok(Ciphertext { c, meta: product.meta, noise, key_set })
    }

    /// a b, relinearised, at the product of the scales: rescale it before the next product.
    ///
    /// # Errors
    /// The same as for [`tensor`](Self::tensor) and [`relinearize`](Self::relinearize).
    pub fn mul(
        &self,
        a: &Ciphertext<B>,
        b: &Ciphertext<B>,
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        self.check_keys(keys)?;
        keys.relin()?;
        self.ring.backend().batched(|| self.relinearize(&self.tensor(a, b)?, keys))
    }

    /// a a, likewise, with half as many transforms.
    ///
    /// # Errors
    /// The same as for [`mul`](Self::mul).
    pub fn square(&self, a: &Ciphertext<B>, keys: &EvaluationKeys<B>) -> Result<Ciphertext<B>> {
        self.mul(a, a, keys)
    }

    /// ct plain, at the product of the scales. Noise grows by the plaintext's norm.
    ///
    /// # Errors
    /// [`Error::ModulusExhausted`] if the modulus cannot hold the product of the scales; mismatch
    /// of ring or batch; device errors.
    pub fn mul_plain(&self, ct: &Ciphertext<B>, plain: &Plaintext<B>) -> Result<Ciphertext<B>> {
        self.check(&ct.c[0], ct.meta)?;
        self.check(&plain.poly, plain.meta)?;
        let meta = product_meta(ct.meta, plain.meta)?;
        let product = ct.map(|c| {
            c.reduced(meta.log_q)?.mul_short(&plain.poly, plain.magnitude_bits.min(plain.meta.log_q))
        })?;
        let noise = multiplied((ct.noise, ct.meta), (plain.noise, plain.meta));
        Ok(Ciphertext { meta, noise, ..product })
    }

    /// value ct for a real value, rounded to a multiple of 2^-scale_log2; the scale grows by
    /// 2^scale_log2.
    ///
    /// # Errors
    /// [`Error::NotFinite`]; [`Error::CoefficientTooLarge`] for a factor beyond the modulus;
    /// [`Error::ModulusExhausted`] if the modulus cannot hold the product of the scales; device
    /// errors.
    pub fn mul_scalar(&self, ct: &Ciphertext<B>, value: f64, scale_log2: u32) -> Result<Ciphertext<B>> {
        self.check(&ct.c[0], ct.meta)?;
        if !value.is_finite() {
            return Err(Error::NotFinite { index: 0 });
        }
        let meta = product_meta(ct.meta, Meta { scale_log2, ..ct.meta })?;
        let factor = round_scaled(value, scale_log2);
        let (needed_bits, available_bits) = (needed_bits(factor), ct.meta.log_q);
        if needed_bits > available_bits {
            return Err(Error::CoefficientTooLarge { index: 0, needed_bits, available_bits });
        }
        let mut words = vec![0; factor.2 as usize / 64 + 2];
        magnitude_words(factor, |w, word| words[w] = word);
        let scaled = ct.map(|c| {
            let mut c = c.duplicate()?;
            c.scale_assign(&words)?;
            if factor.0 {
                c.neg_assign()?;
            }
            Ok(c)
        })?;
        let (before, by) = (f64::from(ct.meta.scale_log2), f64::from(scale_log2));
        let noise = ct.noise.map(|noise| noise.times(before, value, by, self.noise.n()));
        Ok(Ciphertext { meta, noise, ..scaled })
    }

    /// value ct for an integer: exact, keeps the scale; magnitude and noise grow by |value|.
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
        self.check(&ct.c[0], ct.meta)?;
        for c in &mut ct.c {
            c.scale_assign(&[value.unsigned_abs()])?;
            if value < 0 {
                c.neg_assign()?;
            }
        }
        ct.noise = ct.noise.map(|noise| noise.times_integer(value));
        Ok(())
    }

    // --- rotations ------------------------------------------------------------------------------

    /// The image under X -> X^g: (c0(X^g), 0) + round(P^-1 c1(X^g) swk).
    fn apply_automorphism(
        &self,
        ct: &Ciphertext<B>,
        g: u64,
        keys: &EvaluationKeys<B>,
        missing: Error,
    ) -> Result<Ciphertext<B>> {
        let key = keys.galois(g).ok_or(missing)?;
        let key_set = common(KEY, key.key_set(), ct.key_set)?;
        let [c0, c1] = [ct.c[0].automorphism(g)?, ct.c[1].automorphism(g)?];
        let c = key.switch(&c1, [Some(&c0), None])?;
        let noise = self.key_switched(ct.noise, ct.meta);
        Ok(Ciphertext { c, meta: ct.meta, noise, key_set })
    }

    /// Rotates slots left by `step` (right if negative): slot i becomes slot i + step, in vectors
    /// of N/2 slots; sparse ones repeat. Without a key for the step, it takes as few rotations by
    /// powers of two as keys allow. Each adds the noise of a relinearisation.
    ///
    /// # Errors
    /// [`Error::MissingGaloisKey`], [`Error::ParamsMismatch`]; device errors.
    pub fn rotate(&self, ct: &Ciphertext<B>, step: i64, keys: &EvaluationKeys<B>) -> Result<Ciphertext<B>> {
        self.check_keys(keys)?;
        self.check(&ct.c[0], ct.meta)?;
        // This is checked even if no step needs a key.
        common(KEY, keys.key_set(), ct.key_set)?;
        self.ring.backend().batched(|| {
            let mut result = ct.duplicate()?;
            for step in keys.rotation_path(step)? {
                let g = galois_rotation(step, self.ring.spec().log_n());
                result = self.apply_automorphism(&result, g, keys, Error::MissingGaloisKey { step })?;
            }
            Ok(result)
        })
    }

    /// The complex conjugate of every slot.
    ///
    /// # Errors
    /// [`Error::MissingConjugationKey`], [`Error::ParamsMismatch`]; device errors.
    pub fn conjugate(&self, ct: &Ciphertext<B>, keys: &EvaluationKeys<B>) -> Result<Ciphertext<B>> {
        self.check_keys(keys)?;
        self.check(&ct.c[0], ct.meta)?;
        let g = galois_conjugation(self.ring.spec().log_n());
        self.apply_automorphism(ct, g, keys, Error::MissingConjugationKey)
    }
}

/// The estimate of the same values at a larger scale.
fn raised(noise: Known, from: Meta, to: Meta) -> Known {
    noise.map(|noise| noise.shifted(f64::from(to.scale_log2) - f64::from(from.scale_log2)))
}

/// The estimate of a sum whose operands were brought to one scale.
fn summed(a: (Known, Meta), b: (Known, Meta), sum: Meta) -> Known {
    raised(a.0, a.1, sum).zip(raised(b.0, b.1, sum), NoiseEstimate::plus)
}

/// The estimate of a product, at the product of the scales.
fn multiplied(a: (Known, Meta), b: (Known, Meta)) -> Known {
    let [a_log2, b_log2] = [a.1, b.1].map(|meta| f64::from(meta.scale_log2));
    a.0.zip(b.0, |x, y| x.product(a_log2, y, b_log2))
}

/// The modulus and the scale after a division by 2^bits.
fn rescaled(meta: Meta, bits: u32) -> Result<Meta> {
    let left = meta.log_q;
    if bits >= left {
        return Err(Error::ModulusExhausted { needed: bits.saturating_add(1), left });
    }
    let log_q = meta.log_q - bits;
    let scale_log2 = meta.scale_log2.checked_sub(bits).ok_or(Error::ScaleRange {
        found_log2: f64::from(meta.scale_log2) - f64::from(bits),
        limit_log2: f64::from(log_q),
    })?;
    Ok(Meta { log_q, scale_log2, ..meta })
}

/// The modulus and the scale of a product.
fn product_meta(a: Meta, b: Meta) -> Result<Meta> {
    let log_q = a.log_q.min(b.log_q);
    let scale_log2 = a.scale_log2.saturating_add(b.scale_log2);
    if scale_log2 >= log_q {
        return Err(Error::ModulusExhausted { needed: scale_log2.saturating_add(1), left: log_q });
    }
    Ok(Meta { log_q, scale_log2, slots: a.slots.max(b.slots) })
}
