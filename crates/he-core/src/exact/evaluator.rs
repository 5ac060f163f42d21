//! Sums, plaintext operations and modulus switches.

use super::ciphertext::{Meta, check_span};
use super::{Ciphertext, Encoder, Message, Params, Plaintext, PreparedPlaintext, Scheme};
use crate::backend::{Cpu, RingOps};
use crate::error::{Error, Result};
use crate::ring::{Eval, Poly, Ring, SpecialFft};
use crate::rlwe::{Aligned, RlweCiphertext};
use std::borrow::Borrow;
use std::sync::{Arc, OnceLock};

/// Computes on ciphertexts of scheme `S`; knows no secret.
///
/// Operands of different levels or correction factors are aligned automatically. Every result
/// carries a bound on its noise; an operation whose result could not be decrypted is refused with
/// [`Error::BudgetSpent`].
#[derive(Debug, Clone)]
pub struct Evaluator<S: Scheme, B: RingOps = Cpu> {
    pub(super) params: Params<S>,
    pub(super) ring: Ring<B>,
    pub(super) multiplier: S::Multiplier<B>,
    encoder: Encoder,
    embedding: Arc<OnceLock<SpecialFft>>,
}

impl<S: Scheme, B: RingOps> Evaluator<S, B> {
    /// For parameters on a device.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for a ring of other parameters; device errors.
    pub fn new(params: &Params<S>, ring: &Ring<B>) -> Result<Self> {
        if ring.spec() != params.rlwe().ring() {
            return Err(Error::RingMismatch);
        }
        Ok(Self {
            params: params.clone(),
            ring: ring.clone(),
            multiplier: S::multiplier(params, ring)?,
            encoder: Encoder::new(params)?,
            embedding: Arc::default(),
        })
    }

    /// The parameters.
    pub fn params(&self) -> &Params<S> {
        &self.params
    }

    /// The ring.
    pub fn ring(&self) -> &Ring<B> {
        &self.ring
    }

    /// An encoder for the same parameters.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// Checks that an operand is of these parameters and this ring.
    pub(super) fn check(&self, meta: Meta, poly: &Poly<Eval, B>) -> Result<()> {
        if !poly.ring().same(&self.ring) {
            return Err(Error::RingMismatch);
        }
        check_span(&self.params, poly, meta.primes)?;
        meta.check(&self.params)
    }

    pub(super) fn check_ciphertext(&self, ct: &Ciphertext<S, B>) -> Result<()> {
        self.check(ct.meta, &ct.pair.c[0])
    }

    pub(super) fn finish(&self, pair: RlweCiphertext<B>, meta: Meta) -> Result<Ciphertext<S, B>> {
        Ok(Ciphertext::with_meta(pair, self.params.checked(meta)?))
    }

    /// c modulo the first `primes` primes.
    pub(super) fn residues(&self, c: i64, primes: usize) -> Vec<u64> {
        self.ring.spec().q_moduli()[..primes].iter().map(|q| q.reduce_i64(c)).collect()
    }

    // --- levels and correction factors----------------------------------------------------------

    pub(super) fn at_primes<'a>(
        &self,
        ct: &'a Ciphertext<S, B>,
        primes: usize,
    ) -> Result<Aligned<'a, Ciphertext<S, B>>> {
        if ct.meta.primes == primes {
            return Ok(Aligned::As(ct));
        }
        let meta = self.params.switched(ct.meta, primes)?;
        Ok(Aligned::Copy(Ciphertext::with_meta(ct.pair.mod_down(primes)?, meta)))
    }

    /// The same messages at a lower level: divided with rounding by the primes in between. The
    /// noise is divided, too, and a rounding of variance (1 + 2N/3) / 12 per coefficient is added.
    ///
    /// # Errors
    /// [`Error::LevelTooHigh`] for a level above the ciphertext's; [`Error::BudgetSpent`]; device
    /// errors.
    pub fn mod_switch_to(&self, ct: &Ciphertext<S, B>, level: usize) -> Result<Ciphertext<S, B>> {
        self.check_ciphertext(ct)?;
        if level > ct.level() {
            return Err(Error::LevelTooHigh { found: level, highest: ct.level() });
        }
        match self.at_primes(ct, level + 1)? {
            Aligned::As(ct) => ct.duplicate(),
            Aligned::Copy(ct) => self.finish(ct.pair, ct.meta),
        }
    }

    /// The lowest level that costs no more than a quarter of a bit of predicted budget: operations
    /// that do not suffer from a lower level are faster there.
    pub fn lowest_level(&self, ct: &Ciphertext<S, B>) -> usize {
        let (model, top) = (self.params.noise(), ct.meta.primes.min(self.params.max_level() + 1));
        let budget = |primes| model.budget(model.switched(ct.meta.noise, top, primes), primes);
        (1..=top).find(|&primes| budget(primes) >= budget(top) - 0.25).unwrap_or(top) - 1
    }

    fn with_correction_factor<'a>(
        &self,
        ct: Aligned<'a, Ciphertext<S, B>>,
        c: i64,
    ) -> Result<Aligned<'a, Ciphertext<S, B>>> {
        if c == 1 {
            return Ok(ct);
        }
        let mut ct = into_owned(ct)?;
        let residues = self.residues(c, ct.meta.primes);
        ct.pair.c.iter_mut().try_for_each(|part| part.scale_assign(&residues))?;
        ct.meta = self.params.raised(ct.meta, c);
        Ok(Aligned::Copy(ct))
    }

    // --- sums -----------------------------------------------------------------------------------

    fn combine(
        &self,
        a: &Ciphertext<S, B>,
        b: &Ciphertext<S, B>,
        f: impl Fn(&RlweCiphertext<B>, &RlweCiphertext<B>) -> Result<RlweCiphertext<B>>,
    ) -> Result<Ciphertext<S, B>> {
        let (a, b, meta) = self.aligned(a, b)?;
        let (a, b): (&Ciphertext<S, B>, &Ciphertext<S, B>) = (a.borrow(), b.borrow());
        Ok(Ciphertext::with_meta(f(&a.pair, &b.pair)?, meta))
    }

    /// Both at one level with one correction factor, and the state of their sum.
    #[allow(clippy::type_complexity)]
    fn aligned<'a>(
        &self,
        a: &'a Ciphertext<S, B>,
        b: &'a Ciphertext<S, B>,
    ) -> Result<(Aligned<'a, Ciphertext<S, B>>, Aligned<'a, Ciphertext<S, B>>, Meta)> {
        self.check_ciphertext(a)?;
        self.check_ciphertext(b)?;
        let meta = self.params.sum(a.meta, b.meta)?;
        let primes = meta.primes;
        let (a, b) = (self.at_primes(a, primes)?, self.at_primes(b, primes)?);
        let (ca, cb) = self
            .params
            .common_correction_factor(meta_of(&a).correction_factor, meta_of(&b).correction_factor)?;
        Ok((self.with_correction_factor(a, ca)?, self.with_correction_factor(b, cb)?, meta))
    }

    /// a <- f(a, b), with a copy of `a` only where it has to be brought to another level or
    /// correction factor.
    fn combine_assign(
        &self,
        a: &mut Ciphertext<S, B>,
        b: &Ciphertext<S, B>,
        f: impl Fn(&mut RlweCiphertext<B>, &RlweCiphertext<B>) -> Result<()>,
    ) -> Result<()> {
        let (copied, aligned, meta) = self.aligned(a, b)?;
        let (mut copied, aligned) = (copied.into_copy(), aligned.into_copy());
        let to = copied.as_mut().unwrap_or(a);
        f(&mut to.pair, &aligned.as_ref().unwrap_or(b).pair)?;
        to.meta = meta;
        if let Some(copied) = copied {
            *a = copied;
        }
        Ok(())
    }

    /// a + b. `b` may have a batch of one. Noise adds.
    ///
    /// # Errors
    /// [`Error::BudgetSpent`]; mismatch of ring, parameters, batch or key sets; device errors.
    pub fn add(&self, a: &Ciphertext<S, B>, b: &Ciphertext<S, B>) -> Result<Ciphertext<S, B>> {
        self.combine(a, b, RlweCiphertext::add)
    }

    /// a - b, likewise.
    ///
    /// # Errors
    /// The same as for [`add`](Self::add).
    pub fn sub(&self, a: &Ciphertext<S, B>, b: &Ciphertext<S, B>) -> Result<Ciphertext<S, B>> {
        self.combine(a, b, RlweCiphertext::sub)
    }

    /// a <- a + b, to the same words as [`add`](Self::add) and without new memory where both are on
    /// one level.
    ///
    /// # Errors
    /// The same as for [`add`](Self::add), before anything changes; after a device error, `a` has
    /// any value.
    pub fn add_assign(&self, a: &mut Ciphertext<S, B>, b: &Ciphertext<S, B>) -> Result<()> {
        self.combine_assign(a, b, RlweCiphertext::add_assign)
    }

    /// a <- a - b, likewise.
    ///
    /// # Errors
    /// The same as for [`add_assign`](Self::add_assign).
    pub fn sub_assign(&self, a: &mut Ciphertext<S, B>, b: &Ciphertext<S, B>) -> Result<()> {
        self.combine_assign(a, b, RlweCiphertext::sub_assign)
    }

    /// a <- -a.
    ///
    /// # Errors
    /// The same as for [`neg`](Self::neg).
    pub fn neg_assign(&self, a: &mut Ciphertext<S, B>) -> Result<()> {
        self.check_ciphertext(a)?;
        let meta = self.params.scaled(a.meta, -1)?;
        a.pair.c.iter_mut().try_for_each(Poly::neg_assign)?;
        a.meta = meta;
        Ok(())
    }

    /// -a.
    ///
    /// # Errors
    /// Mismatch of ring or parameters; device errors.
    pub fn neg(&self, a: &Ciphertext<S, B>) -> Result<Ciphertext<S, B>> {
        let mut result = a.duplicate()?;
        self.neg_assign(&mut result)?;
        Ok(result)
    }

    // --- plaintexts -----------------------------------------------------------------------------

    fn combine_plain(
        &self,
        ct: &Ciphertext<S, B>,
        plaintext: &Plaintext,
        f: impl Fn(&mut Poly<Eval, B>, &Poly<Eval, B>) -> Result<()>,
    ) -> Result<Ciphertext<S, B>> {
        let mut result = ct.duplicate()?;
        self.combine_plain_assign(&mut result, plaintext, f)?;
        Ok(result)
    }

    /// ct <- f(ct, plaintext).
    fn combine_plain_assign(
        &self,
        ct: &mut Ciphertext<S, B>,
        plaintext: &Plaintext,
        f: impl Fn(&mut Poly<Eval, B>, &Poly<Eval, B>) -> Result<()>,
    ) -> Result<()> {
        self.check_ciphertext(ct)?;
        self.encoder.check(plaintext)?;
        let meta = self.params.shifted(ct.meta)?;
        let phase = plaintext.phase(&self.params, &self.ring, meta.primes, meta.correction_factor)?;
        f(&mut ct.pair.c[0], &phase)?;
        ct.meta = meta;
        Ok(())
    }

    /// ct + plaintext, which may have a batch of one. Adds at most one to the noise.
    ///
    /// # Errors
    /// [`Error::Argument`] for a plaintext of other parameters; [`Error::BudgetSpent`]; mismatch of
    /// ring, batch or key sets; device errors.
    pub fn add_plain(&self, ct: &Ciphertext<S, B>, plaintext: &Plaintext) -> Result<Ciphertext<S, B>> {
        self.combine_plain(ct, plaintext, Poly::add_assign)
    }

    /// ct - plaintext, likewise.
    ///
    /// # Errors
    /// The same as for [`add_plain`](Self::add_plain).
    pub fn sub_plain(&self, ct: &Ciphertext<S, B>, plaintext: &Plaintext) -> Result<Ciphertext<S, B>> {
        self.combine_plain(ct, plaintext, Poly::sub_assign)
    }

    /// ct <- ct + plaintext, to the same words as [`add_plain`](Self::add_plain), without a copy of
    /// the ciphertext and without touching c1.
    ///
    /// # Errors
    /// The same as for [`add_plain`](Self::add_plain), before anything changes; after a device
    /// error, `ct` has any value.
    pub fn add_plain_assign(&self, ct: &mut Ciphertext<S, B>, plaintext: &Plaintext) -> Result<()> {
        self.combine_plain_assign(ct, plaintext, Poly::add_assign)
    }

    /// ct <- ct - plaintext, likewise.
    ///
    /// # Errors
    /// The same as for [`add_plain_assign`](Self::add_plain_assign).
    pub fn sub_plain_assign(&self, ct: &mut Ciphertext<S, B>, plaintext: &Plaintext) -> Result<()> {
        self.combine_plain_assign(ct, plaintext, Poly::sub_assign)
    }

    /// Prepares a plaintext for products with ciphertexts of up to this level: it is transformed
    /// once for any number of products. Waits for the device.
    ///
    /// # Errors
    /// [`Error::LevelTooHigh`]; [`Error::Argument`] for a plaintext of other parameters; device
    /// errors.
    pub fn prepare(&self, plaintext: &Plaintext, level: usize) -> Result<PreparedPlaintext<B>> {
        self.prepare_message(&self.uploaded(plaintext)?, level)
    }

    /// [`prepare`](Self::prepare) from a plaintext in the memory of the device.
    ///
    /// # Errors
    /// [`Error::LevelTooHigh`]; [`Error::Argument`] for a message of another t,
    /// [`Error::RingMismatch`]; device errors.
    pub fn prepare_message(&self, message: &Message<B>, level: usize) -> Result<PreparedPlaintext<B>> {
        let highest = self.params.max_level();
        if level > highest {
            return Err(Error::LevelTooHigh { found: level, highest });
        }
        let plain = self.params.plain();
        message.check(plain, &self.ring)?;
        let (poly, gain_log2) = self.with_gain(message, || message.lift(level + 1))?;
        Ok(PreparedPlaintext { poly, gain_log2, plain_modulus: plain.value() })
    }

    fn uploaded(&self, plaintext: &Plaintext) -> Result<Message<B>> {
        self.encoder.check(plaintext)?;
        Message::new(&self.ring, plaintext)
    }

    /// Work with a message, and log2 of the most by which it multiplies noise. The device gets both
    /// as one batch of launches before it is waited for.
    fn with_gain<T>(&self, message: &Message<B>, work: impl FnOnce() -> Result<T>) -> Result<(T, f64)> {
        let (backend, n) = (self.ring.backend(), self.ring.n());
        let embedding = self.embedding.get_or_init(|| SpecialFft::new(n / 2));
        let (done, squares) = backend.batched(|| Ok((work()?, message.greatest_squares(embedding)?)))?;
        let squares = backend.download(&squares, 0..message.batch())?;
        let greatest = squares.into_iter().map(f64::from_bits).fold(1.0, f64::max);
        Ok((done, libm::log2(libm::sqrt(greatest))))
    }

    /// ct plain. The plaintext may have a batch of one. The noise grows by
    /// [`PreparedPlaintext::gain_log2`] bits at most: about log2(t sqrt(N)) + 1 for arbitrary
    /// slots, log2 |c| for a constant c.
    ///
    /// # Errors
    /// [`Error::SpanMismatch`] for a plaintext prepared for a lower level; [`Error::BudgetSpent`];
    /// mismatch of ring, parameters, batch or key sets; device errors.
    pub fn mul_prepared(
        &self,
        ct: &Ciphertext<S, B>,
        plain: &PreparedPlaintext<B>,
    ) -> Result<Ciphertext<S, B>> {
        self.check_ciphertext(ct)?;
        if plain.plain_modulus != self.params.plain().value() {
            let why = format!("{} here, {} there", plain.plain_modulus, self.params.plain().value());
            return Err(Error::argument("plaintext modulus", why));
        }
        let meta = Meta { noise: ct.meta.noise.scale(plain.gain_log2), ..ct.meta };
        self.params.check_budget(meta.noise, meta.primes)?;
        self.finish(ct.pair.mul_poly(&plain.poly)?, meta)
    }

    /// ct plaintext, to the same words as [`mul_prepared`](Self::mul_prepared) with a plaintext that
    /// was prepared for this product. Waits for the device.
    ///
    /// # Errors
    /// [`Error::Argument`] for a plaintext of other parameters; [`Error::BudgetSpent`]; mismatch of
    /// ring, parameters, batch or key sets; device errors.
    pub fn mul_plain(&self, ct: &Ciphertext<S, B>, plaintext: &Plaintext) -> Result<Ciphertext<S, B>> {
        self.check_ciphertext(ct)?;
        let message = self.uploaded(plaintext)?;
        let product = || ct.pair.mul_poly(&message.lift(ct.meta.primes)?);
        let (pair, gain_log2) = self.with_gain(&message, product)?;
        let meta = Meta { noise: ct.meta.noise.scale(gain_log2), ..ct.meta };
        self.params.check_budget(meta.noise, meta.primes)?;
        self.finish(pair, meta)
    }

    // --- scalars --------------------------------------------------------------------------------

    /// ct + value in every slot (in coefficient 0 of encoded coefficients); the value is taken
    /// modulo t.
    ///
    /// # Errors
    /// [`Error::BudgetSpent`]; mismatch of ring or parameters; device errors.
    pub fn add_scalar(&self, ct: &Ciphertext<S, B>, value: i64) -> Result<Ciphertext<S, B>> {
        let mut result = ct.duplicate()?;
        self.add_scalar_assign(&mut result, value)?;
        Ok(result)
    }

    /// ct <- ct + value, to the same words as [`add_scalar`](Self::add_scalar), without new memory
    /// and without touching c1.
    ///
    /// # Errors
    /// The same as for [`add_scalar`](Self::add_scalar), before anything changes; after a device
    /// error, `ct` has any value.
    pub fn add_scalar_assign(&self, ct: &mut Ciphertext<S, B>, value: i64) -> Result<()> {
        self.check_ciphertext(ct)?;
        let meta = self.params.shifted(ct.meta)?;
        let (plain, primes) = (self.params.plain(), ct.meta.primes);
        let t = plain.modulus();
        let term = plain.center(t.mul(t.reduce_i64(value), ct.meta.correction_factor));
        let moduli = &self.ring.spec().q_moduli()[..primes];
        let terms = moduli.iter().zip(self.params.t_inverse());
        let terms: Vec<u64> = terms.map(|(q, &inverse)| q.mul(q.reduce_i64(term), inverse)).collect();
        ct.pair.c[0].add_scalar_assign(&terms)?;
        ct.meta = meta;
        Ok(())
    }

    /// value ct; the value is taken modulo t, in `[-t/2, t/2)`, and the noise grows by its
    /// magnitude.
    ///
    /// # Errors
    /// [`Error::BudgetSpent`]; mismatch of ring or parameters; device errors.
    pub fn mul_scalar(&self, ct: &Ciphertext<S, B>, value: i64) -> Result<Ciphertext<S, B>> {
        let mut result = ct.duplicate()?;
        self.mul_scalar_assign(&mut result, value)?;
        Ok(result)
    }

    /// ct <- value ct, to the same words as [`mul_scalar`](Self::mul_scalar) and without new
    /// memory.
    ///
    /// # Errors
    /// The same as for [`mul_scalar`](Self::mul_scalar), before anything changes; after a device
    /// error, `ct` has any value.
    pub fn mul_scalar_assign(&self, ct: &mut Ciphertext<S, B>, value: i64) -> Result<()> {
        self.check_ciphertext(ct)?;
        let plain = self.params.plain();
        let value = plain.center(plain.modulus().reduce_i64(value));
        let meta = self.params.scaled(ct.meta, value)?;
        let residues = self.residues(value, ct.meta.primes);
        ct.pair.c.iter_mut().try_for_each(|part| part.scale_assign(&residues))?;
        ct.meta = meta;
        Ok(())
    }
}

pub(super) fn meta_of<S: Scheme, B: RingOps>(ct: &Aligned<'_, Ciphertext<S, B>>) -> Meta {
    let ct: &Ciphertext<S, B> = ct.borrow();
    ct.meta
}

fn into_owned<S: Scheme, B: RingOps>(ct: Aligned<'_, Ciphertext<S, B>>) -> Result<Ciphertext<S, B>> {
    match ct {
        Aligned::As(ct) => ct.duplicate(),
        Aligned::Copy(ct) => Ok(ct),
    }
}
