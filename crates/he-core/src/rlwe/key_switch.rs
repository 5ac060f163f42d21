//! Hybrid key switching (Han, Ki 2020): digits of several primes, special modulus P.
//!
//! A key for "message t under secret s'" holds, for each digit j, b_j = -a_j s' + e_j + P g_j t and a_j over Q P, where
//! g_j is 1 modulo the digit's primes and 0 modulo the others. With digits d_j of c (sum_j d_j g_j = c mod Q),
//! sum_j d_j (b_j, a_j) decrypts under s' to P c t + noise, and a division by P removes the factor. The added noise is about
//! sqrt(sum_j N D_j^2 / 12) sigma / P plus the rounding's sqrt((1 + 2N/3) / 12), in coefficients.

use super::{RlweCiphertext, RlweParams, RlweProduct};
use crate::backend::{Cpu, KeySwitchShape, RingOps, special_product};
use crate::error::{Error, Result};
use crate::key_set::{KeySetId, common, key_set_accessors};
use crate::ring::{Eval, Poly, Ring, Rows, SecretPoly, Seed, Span};
use derive_where::derive_where;

/// What errors call a key that meets a ciphertext.
pub(crate) const KEY: &str = "evaluation key";

/// A key that switches to one secret, on a device: `[digit][b | a][limb][coefficient]`, one buffer.
#[derive_where(Clone; B::Buf)]
pub struct KeySwitchKey<B: RingOps = Cpu> {
    ring: Ring<B>,
    params: RlweParams,
    seed: Seed,
    buf: B::Buf,
    pub(super) key_set: Option<KeySetId>,
}

key_set_accessors! {
    [B: RingOps] KeySwitchKey<B> { key_set }
}

impl<B: RingOps> std::fmt::Debug for KeySwitchKey<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeySwitchKey {{ {}, {} digits }}", self.params.fingerprint(), self.params.digits().len())
    }
}

/// The digits of a polynomial, ready for any number of key switches (hoisting).
pub struct Decomposed<B: RingOps = Cpu> {
    ring: Ring<B>,
    params: RlweParams,
    shape: KeySwitchShape,
    buf: B::Buf,
}

impl<B: RingOps> std::fmt::Debug for Decomposed<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Decomposed {{ {:?} }}", self.shape)
    }
}

impl<B: RingOps> Decomposed<B> {
    /// Decomposes `c`, over a prefix of the chain, at ModUp cost.
    ///
    /// # Errors
    /// [`Error::Argument`] if the parameters have no special primes; [`Error::RingMismatch`] for a polynomial of other
    /// parameters, [`Error::SpanMismatch`] if it holds anything but a prefix of the chain; device errors.
    pub fn new(params: &RlweParams, c: &Poly<Eval, B>) -> Result<Self> {
        let ring = c.ring();
        check_input(params, c)?;
        let shape = shape(params, c.span().q, c.batch())?;
        let buf = ring.backend().decompose(ring.tables(), &shape, c.buf())?;
        Ok(Self { ring: ring.clone(), params: params.clone(), shape, buf })
    }

    /// Whether a key fits: same ring, same digits.
    pub(crate) fn check(&self, key: &KeySwitchKey<B>) -> Result<()> {
        self.params.expect(&key.params, "switching key")?;
        if self.ring.same(&key.ring) { Ok(()) } else { Err(Error::RingMismatch) }
    }

    pub(crate) fn shape(&self) -> &KeySwitchShape {
        &self.shape
    }

    pub(crate) fn buf(&self) -> &B::Buf {
        &self.buf
    }

    /// The inner products with a key, over Q P: P times the switched polynomial, before the division by P.
    ///
    /// # Errors
    /// [`Error::RingMismatch`], [`Error::ParamsMismatch`] for a key of another ring or other parameters; device errors.
    pub fn product(&self, key: &KeySwitchKey<B>) -> Result<[Poly<Eval, B>; 2]> {
        self.check(key)?;
        let ring = &key.ring;
        let sums = ring.backend().key_product(ring.tables(), &self.shape, &self.buf, &key.buf)?;
        Ok(sums.map(|buf| Poly::from_buf(ring, self.shape.span(), self.shape.batch, buf)))
    }
}

/// Whether a polynomial can be decomposed: of these parameters, over a prefix of the chain.
fn check_input<B: RingOps>(params: &RlweParams, c: &Poly<Eval, B>) -> Result<()> {
    if c.ring().spec() != params.ring() {
        return Err(Error::RingMismatch);
    }
    if c.span() != Span::chain(c.span().q) {
        return Err(Error::SpanMismatch { left: c.span(), right: Span::chain(c.span().q) });
    }
    Ok(())
}

/// The digits that a ciphertext over the first `q` primes has.
fn shape(params: &RlweParams, q: usize, batch: usize) -> Result<KeySwitchShape> {
    if params.digits().is_empty() {
        let why = "parameters without special primes have no key switching; add special primes".to_owned();
        return Err(Error::Argument { what: "parameters", why });
    }
    let digits = params
        .digits()
        .iter()
        .filter(|digit| digit.start < q)
        .map(|digit| digit.start..digit.end.min(q))
        .collect();
    Ok(KeySwitchShape { digits, q, key_q: params.ring().q().len(), p: params.ring().p().len(), batch })
}

impl<B: RingOps> KeySwitchKey<B> {
    /// A key for `message` under `secret`, both over Q P. Public randomness comes from `seed`, errors from `errors`.
    pub(crate) fn generate(
        params: &RlweParams,
        message: &SecretPoly<Eval, B>,
        secret: &SecretPoly<Eval, B>,
        seed: Seed,
        errors: &Seed,
    ) -> Result<Self> {
        let ring = message.get().ring();
        let (n, span) = (ring.n(), params.key_span());
        let mut key = Self::public_half(params, ring, seed)?;
        let shape = shape(params, span.q, 1)?;
        let (backend, tables) = (ring.backend(), ring.tables());
        let p_factors = special_product(params.ring(), span.q, span.p);
        for (j, digit) in params.digits().iter().enumerate() {
            let mut b = Poly::error(ring, span, 1, errors, j as u32)?.into_eval()?;
            let mut factors = vec![0; span.limbs()];
            factors[digit.clone()].copy_from_slice(&p_factors[digit.clone()]);
            b.scale_add_assign(message.get(), &factors)?;
            // b - a s, with a where it already lies.
            let mut product = backend.zeros(span.limbs() * n)?;
            backend.copy(&key.buf, shape.key_at(j, 1, n), &mut product, 0, span.limbs() * n)?;
            backend.mul_assign(tables, Rows::new(span, 1), &mut product, secret.get().operand())?;
            // a is public: a s tells s.
            let product = SecretPoly::new(Poly::from_buf(ring, span, 1, product));
            b.sub_assign(product.get())?;
            backend.copy(b.buf(), 0, &mut key.buf, shape.key_at(j, 0, n), span.limbs() * n)?;
        }
        Ok(key)
    }

    /// A key whose b_j are still zero.
    fn public_half(params: &RlweParams, ring: &Ring<B>, seed: Seed) -> Result<Self> {
        let (n, span) = (ring.n(), params.key_span());
        let shape = shape(params, span.q, 1)?;
        let backend = ring.backend();
        let mut buf = backend.zeros(shape.key_at(params.digits().len(), 0, n))?;
        for j in 0..params.digits().len() {
            let rows = Rows::new(span, 1).at(shape.key_at(j, 1, n));
            backend.sample_uniform(ring.tables(), rows, &seed, j as u32, &mut buf)?;
        }
        Ok(Self { ring: ring.clone(), params: params.clone(), seed, buf, key_set: None })
    }

    /// From the seed of the a_j and the b_j over Q P.
    ///
    /// # Errors
    /// [`Error::Argument`] for another number of digits; mismatch of ring or primes; device errors.
    pub fn from_bodies(
        params: &RlweParams,
        ring: &Ring<B>,
        seed: Seed,
        bodies: &[Poly<Eval, B>],
    ) -> Result<Self> {
        let (n, span) = (ring.n(), params.key_span());
        if ring.spec() != params.ring() || bodies.iter().any(|b| !b.ring().same(ring)) {
            return Err(Error::RingMismatch);
        }
        if bodies.len() != params.digits().len() {
            let why = format!("{} given for {} digits", bodies.len(), params.digits().len());
            return Err(Error::Argument { what: "key bodies", why });
        }
        let shape = shape(params, span.q, 1)?;
        let mut key = Self::public_half(params, ring, seed)?;
        for (j, b) in bodies.iter().enumerate() {
            if b.span() != span || b.batch() != 1 {
                return Err(Error::SpanMismatch { left: b.span(), right: span });
            }
            ring.backend().copy(b.buf(), 0, &mut key.buf, shape.key_at(j, 0, n), span.limbs() * n)?;
        }
        Ok(key)
    }

    /// The seed of the a_j: public.
    pub fn seed(&self) -> &Seed {
        &self.seed
    }

    /// The parameters.
    pub fn params(&self) -> &RlweParams {
        &self.params
    }

    /// The words of b_j over Q P, limb after limb.
    ///
    /// # Errors
    /// Device errors.
    pub fn body_words(&self, digit: usize) -> Result<Vec<u64>> {
        let n = self.ring.n();
        let shape = shape(&self.params, self.params.key_span().q, 1)?;
        let at = shape.key_at(digit, 0, n);
        self.ring.backend().download(&self.buf, at..at + self.params.key_span().limbs() * n)
    }

    /// The same key in an equal ring, possibly on another device.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] if degree or primes differ; device errors.
    pub fn to<C: RingOps>(&self, ring: &Ring<C>) -> Result<KeySwitchKey<C>> {
        if ring.spec() != self.ring.spec() {
            return Err(Error::RingMismatch);
        }
        let words = self.ring.backend().download(&self.buf, 0..self.ring.backend().words(&self.buf))?;
        let buf = ring.backend().upload(&words)?;
        let (params, seed) = (self.params.clone(), self.seed.clone());
        Ok(KeySwitchKey { ring: ring.clone(), params, seed, buf, key_set: self.key_set })
    }

    pub(crate) fn buf(&self) -> &B::Buf {
        &self.buf
    }
}

impl<B: RingOps> RlweProduct<B> {
    /// Relinearises and divides by the primes after the first `keep`, with one rounding for both: `keep` = all primes only
    /// relinearises.
    ///
    /// # Errors
    /// Mismatch of parameters; device errors.
    pub fn relinearize(&self, key: &KeySwitchKey<B>, keep: usize) -> Result<RlweCiphertext<B>> {
        let [d0, d1, d2] = &self.d;
        let (ring, span, batch) = (d2.ring(), d2.span(), d2.batch());
        check_input(&key.params, d2)?;
        let shape = shape(&key.params, span.q, batch)?;
        if keep == 0 || keep > span.q {
            return Err(Error::SpanMismatch { left: span, right: Span::chain(keep) });
        }
        if !ring.same(&key.ring) {
            return Err(Error::RingMismatch);
        }
        let key_set = common(KEY, key.key_set, self.key_set)?;
        let parts = [d0, d1, d2].map(Poly::buf);
        let backend = ring.backend();
        let pair = backend.together(|| backend.relinearize(ring.tables(), &shape, parts, &key.buf, keep))?;
        let [c0, c1] = pair.map(|buf| Poly::from_buf(ring, Span::chain(keep), batch, buf));
        RlweCiphertext::new(c0, c1).map(|pair| pair.of(key_set))
    }
}

impl<B: RingOps> RlweCiphertext<B> {
    /// The image under X -> X^g, by the digits of its second part and the Galois key for g.
    ///
    /// # Errors
    /// Mismatch of parameters; device errors.
    pub fn automorphism(&self, digits: &Decomposed<B>, key: &KeySwitchKey<B>, g: u64) -> Result<Self> {
        digits.check(key)?;
        let shape = &digits.shape;
        let key_set = self.check_switch(shape, key, g)?;
        let (ring, c0) = (self.ring(), self.c[0].buf());
        let (backend, digits) = (ring.backend(), &digits.buf);
        let pair = backend
            .together(|| backend.switch_automorphism(ring.tables(), shape, c0, digits, &key.buf, g))?;
        self.with(pair, key_set)
    }

    /// The image under X -> X^g by the Galois key for g.
    ///
    /// # Errors
    /// Mismatch of parameters; device errors.
    pub fn apply_automorphism(&self, key: &KeySwitchKey<B>, g: u64) -> Result<Self> {
        check_input(&key.params, &self.c[1])?;
        let shape = shape(&key.params, self.chain_limbs(), self.batch())?;
        let key_set = self.check_switch(&shape, key, g)?;
        let (ring, c) = (self.ring(), self.c.each_ref().map(Poly::buf));
        let backend = ring.backend();
        let pair = backend.together(|| backend.apply_automorphism(ring.tables(), &shape, c, &key.buf, g))?;
        self.with(pair, key_set)
    }

    /// Whether a key switch of this shape fits, the Galois element is one, and the key lies on the
    /// same device and belongs to the same key set, which is returned.
    fn check_switch(
        &self,
        shape: &KeySwitchShape,
        key: &KeySwitchKey<B>,
        g: u64,
    ) -> Result<Option<KeySetId>> {
        if self.c[0].span() != Span::chain(shape.q) {
            return Err(Error::SpanMismatch { left: self.c[0].span(), right: Span::chain(shape.q) });
        }
        if self.batch() != shape.batch {
            return Err(Error::BatchMismatch { left: self.batch(), right: shape.batch });
        }
        if g.is_multiple_of(2) {
            return Err(Error::Argument { what: "Galois element", why: format!("{g} is even") });
        }
        if !self.ring().same(&key.ring) {
            return Err(Error::RingMismatch);
        }
        common(KEY, key.key_set, self.key_set)
    }
}
