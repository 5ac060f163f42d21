//! Hybrid key switching (Han, Ki 2020): digits of several primes, special modulus P.
//!
//! A key for "message t under secret s'" holds, for each digit j, b_j = -a_j s' + e_j + P g_j t and
//! a_j over Q P, where g_j is 1 modulo the digit's primes and 0 modulo the others. With digits d_j
//! of c (sum_j d_j g_j = c mod Q), sum_j d_j (b_j, a_j) decrypts under s' to P c t + noise, and a
//! division by P removes the factor. The added noise is about sqrt(sum_j N D_j^2 / 12) sigma / P
//! plus the rounding's sqrt((1 + 2N/3) / 12), in coefficients.

use super::switch_key::shape;
use super::work::{self, tell};
use super::{KeyParams as _, RlweCiphertext, RlweParams, RlweProduct, SwitchKey, SwitchSource};
use crate::backend::{Cpu, DigitBuf, KeySwitchOps, KeySwitchShape, RingOps};
use crate::error::{Error, Result};
use crate::key_set::{KeySetId, common};
use crate::ring::{Eval, Poly, Ring, Span};

/// The name of a key in errors about its use with a ciphertext.
pub(crate) const KEY: &str = "evaluation key";

/// The digits of a polynomial, ready for any number of key switches (hoisting).
pub struct Decomposed<B: RingOps = Cpu> {
    ring: Ring<B>,
    params: RlweParams,
    shape: KeySwitchShape,
    buf: DigitBuf<B::Buf>,
}

impl<B: RingOps> std::fmt::Debug for Decomposed<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Decomposed {{ {:?} }}", self.shape)
    }
}

impl<B: RingOps> Decomposed<B> {
    /// Decomposes `c`, which is over a prefix of the chain, at the cost of a ModUp.
    ///
    /// # Errors
    /// [`Error::Argument`] if the parameters have no special primes; [`Error::RingMismatch`] for a
    /// polynomial of other parameters, [`Error::SpanMismatch`] if it holds anything but a prefix of
    /// the chain; device errors.
    pub fn new(params: &RlweParams, c: &Poly<Eval, B>) -> Result<Self> {
        let ring = c.ring();
        check_input(params, c)?;
        let shape = shape(params, c.span().q, c.batch())?;
        let buf = ring.prepared().decompose(&shape, c.buf())?;
        tell(ring, shape.batch, work::decompose(&shape));
        Ok(Self { ring: ring.clone(), params: params.clone(), shape, buf })
    }

    /// Checks that a key fits: it has the same ring and the same digits.
    pub(crate) fn check(&self, key: &SwitchKey<B>) -> Result<()> {
        self.params.check_same(key.params(), "switching key")?;
        if self.ring.shares(key.ring()) { Ok(()) } else { Err(Error::RingMismatch) }
    }

    pub(crate) fn shape(&self) -> &KeySwitchShape {
        &self.shape
    }

    pub(crate) fn buf(&self) -> DigitBuf<&B::Buf> {
        self.buf.as_ref()
    }

    /// The inner products with a key, over Q P: P times the switched polynomial, before the
    /// division by P.
    ///
    /// # Errors
    /// [`Error::RingMismatch`], [`Error::ParamsMismatch`] for a key of another ring or other
    /// parameters; device errors.
    pub fn product(&self, key: &SwitchKey<B>) -> Result<[Poly<Eval, B>; 2]> {
        self.check(key)?;
        let ring = &self.ring;
        let sums = ring.prepared().key_product(&self.shape, self.buf(), key.buf())?;
        tell(ring, self.shape.batch, work::products(&self.shape));
        Ok(sums.map(|buf| Poly::from_buf(ring, self.shape.span(), self.shape.batch, buf)))
    }
}

/// Whether a polynomial can be decomposed: over a prefix of the chain of these parameters, which
/// are those of its ring or of a prefix of it.
fn check_input<B: RingOps>(params: &RlweParams, c: &Poly<Eval, B>) -> Result<()> {
    if !params.ring().is_prefix_of(c.ring().spec()) {
        return Err(Error::RingMismatch);
    }
    let chain = Span::chain(c.span().q.min(params.ring().q().len()));
    if c.span() != chain {
        return Err(Error::SpanMismatch { left: c.span(), right: chain });
    }
    Ok(())
}

impl<B: RingOps> RlweProduct<B> {
    /// Relinearises and divides by the primes after the first `keep`, with one rounding for both:
    /// if `keep` is the number of all primes, it only relinearises.
    ///
    /// # Errors
    /// Mismatch of parameters; device errors.
    pub fn relinearize(&self, key: &SwitchKey<B>, keep: usize) -> Result<RlweCiphertext<B>> {
        let d = self.d.each_ref().map(Poly::buf);
        relinearized(&self.d[2], self.key_set, key, keep, |ring, shape| {
            ring.relinearize(shape, d, key.buf(), keep)
        })
    }
}

/// The result of `switch` for triples like `part` of a key set: a pair over the first `keep`
/// primes.
fn relinearized<B: RingOps>(
    part: &Poly<Eval, B>,
    key_set: Option<KeySetId>,
    key: &SwitchKey<B>,
    keep: usize,
    switch: impl FnOnce(&B::Ring, &KeySwitchShape) -> Result<[B::Buf; 2]>,
) -> Result<RlweCiphertext<B>> {
    let (ring, span, batch) = (part.ring(), part.span(), part.batch());
    check_input(key.params(), part)?;
    let shape = shape(key.params(), span.q, batch)?;
    if keep == 0 || keep > span.q {
        return Err(Error::SpanMismatch { left: span, right: Span::chain(keep) });
    }
    if !ring.shares(key.ring()) {
        return Err(Error::RingMismatch);
    }
    key.check_source(SwitchSource::Square)?;
    let key_set = common(KEY, key.key_set(), key_set)?;
    let pair = ring.backend().batched(|| switch(ring.prepared(), &shape))?;
    tell(ring, batch, work::whole_switch(&shape, keep, false));
    let [c0, c1] = pair.map(|buf| Poly::from_buf(ring, Span::chain(keep), batch, buf));
    RlweCiphertext::new(c0, c1).map(|pair| pair.of(key_set))
}

impl<B: RingOps> RlweCiphertext<B> {
    /// [`tensor`](Self::tensor), then [`relinearize`](RlweProduct::relinearize): the same words,
    /// and on devices without the triple in memory.
    ///
    /// # Errors
    /// Mismatch of ring, primes, batch, key sets or parameters; device errors.
    pub fn multiply_relinearize(&self, rhs: &Self, key: &SwitchKey<B>, keep: usize) -> Result<Self> {
        let (a, b, key_set) = self.factors(rhs)?;
        relinearized(&a.c[0], key_set, key, keep, |ring, shape| {
            ring.multiply_relinearize(shape, a.operands(), b.operands(), key.buf(), keep)
        })
    }

    /// The image under X -> X^g, by the digits of its second part and the Galois key for g.
    ///
    /// # Errors
    /// Mismatch of parameters; device errors.
    pub fn automorphism(&self, digits: &Decomposed<B>, key: &SwitchKey<B>, g: u64) -> Result<Self> {
        digits.check(key)?;
        let shape = &digits.shape;
        let key_set = self.check_switch(shape, key, g)?;
        let (ring, c0) = (self.ring(), self.c[0].buf());
        let (backend, digits) = (ring.backend(), digits.buf());
        let pair =
            backend.batched(|| ring.prepared().switch_automorphism(shape, c0, digits, key.buf(), g))?;
        tell(ring, shape.batch, work::whole_switch(shape, shape.q, true));
        self.with(pair, key_set)
    }

    /// The image under X -> X^g by the Galois key for g.
    ///
    /// # Errors
    /// Mismatch of parameters; device errors.
    pub fn apply_automorphism(&self, key: &SwitchKey<B>, g: u64) -> Result<Self> {
        check_input(key.params(), &self.c[1])?;
        let shape = shape(key.params(), self.chain_limbs(), self.batch())?;
        let key_set = self.check_switch(&shape, key, g)?;
        let (ring, c) = (self.ring(), self.c.each_ref().map(Poly::buf));
        let backend = ring.backend();
        let pair = backend.batched(|| ring.prepared().apply_automorphism(&shape, c, key.buf(), g))?;
        tell(ring, shape.batch, work::whole_switch(&shape, shape.q, false));
        self.with(pair, key_set)
    }

    /// Checks that a key switch of this shape fits, that the Galois element is valid, and that the
    /// key is on the same device and belongs to the same key set, which is returned.
    pub(super) fn check_switch(
        &self,
        shape: &KeySwitchShape,
        key: &SwitchKey<B>,
        g: u64,
    ) -> Result<Option<KeySetId>> {
        if self.c[0].span() != Span::chain(shape.q) {
            return Err(Error::SpanMismatch { left: self.c[0].span(), right: Span::chain(shape.q) });
        }
        if self.batch() != shape.batch {
            return Err(Error::BatchMismatch { left: self.batch(), right: shape.batch });
        }
        if g.is_multiple_of(2) {
            return Err(Error::argument("Galois element", format!("{g} is even")));
        }
        if !self.ring().shares(key.ring()) {
            return Err(Error::RingMismatch);
        }
        key.check_source(SwitchSource::Image(g))?;
        common(KEY, key.key_set(), self.key_set)
    }

    /// The same message under another secret: (c0, 0) + (sum_j d_j (b_j, a_j)) / P for the digits
    /// d_j of c1 and a key from the ciphertext's secret to that one. The result has the key set
    /// that the key leads to.
    ///
    /// The key may be over fewer primes than the ring, as long as it has those of the ciphertext:
    /// at level 0 a key over the first prime and one special prime will do. Noise and cost are
    /// those that [`SwitchKey`] states, for this ciphertext's number of primes; level and scale
    /// stay.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`] for a ciphertext of another secret than the key leads away from;
    /// [`Error::Argument`] for a relinearisation or Galois key; [`Error::SpanMismatch`] if the key
    /// has fewer primes; [`Error::RingMismatch`]; device errors.
    pub fn switch(&self, key: &SwitchKey<B>) -> Result<Self> {
        check_input(key.params(), &self.c[1])?;
        if !self.ring().shares(key.ring()) {
            return Err(Error::RingMismatch);
        }
        key.check_source(SwitchSource::Secret(None))?;
        if let Some(SwitchSource::Secret(from)) = key.source() {
            common("ciphertext", self.key_set, from)?;
        }
        let shape = shape(key.params(), self.chain_limbs(), self.batch())?;
        let (ring, c) = (self.ring(), self.c.each_ref().map(Poly::buf));
        let backend = ring.backend();
        // A Galois key's switch, followed by the automorphism that changes nothing.
        let pair = backend.batched(|| ring.prepared().apply_automorphism(&shape, c, key.buf(), 1))?;
        tell(ring, shape.batch, work::whole_switch(&shape, shape.q, false));
        self.with(pair, key.key_set())
    }
}
