//! Pairs and triples of polynomials, which are the RLWE ciphertexts of every scheme.

use super::work::{self, tell};
use crate::backend::{Cpu, ExactOps, PhaseModT, PolyOps, RingOps, with_scaled_phase};
use crate::error::{Error, Result};
use crate::key_set::{KeySetId, common, common_of, key_set_accessors};
use crate::ring::{Eval, Operand, Poly, Ring, Rows, SecretPoly, Span};
use derive_where::derive_where;
use std::ops::Range;

/// The name of a ciphertext in errors about combining it with another one.
pub(crate) const OPERAND: &str = "other ciphertext";

/// (c0, c1) in evaluation form over the same primes, decrypting to c0 + c1 s.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct RlweCiphertext<B: RingOps = Cpu> {
    pub(crate) c: [Poly<Eval, B>; 2],
    pub(crate) key_set: Option<KeySetId>,
}

/// (d0, d1, d2), decrypting to d0 + d1 s + d2 s^2: a product before relinearisation.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct RlweProduct<B: RingOps = Cpu> {
    pub(crate) d: [Poly<Eval, B>; 3],
    pub(crate) key_set: Option<KeySetId>,
}

key_set_accessors! {
    [B: RingOps] RlweCiphertext<B> { key_set }
    [B: RingOps] RlweProduct<B> { key_set }
}

impl<B: RingOps> RlweCiphertext<B> {
    /// Makes a ciphertext from its two polynomials, of no known key set.
    ///
    /// # Errors
    /// Mismatch of ring, primes or batch.
    pub fn new(c0: Poly<Eval, B>, c1: Poly<Eval, B>) -> Result<Self> {
        if !c0.ring().same(c1.ring()) {
            return Err(Error::RingMismatch);
        }
        if c0.span() != c1.span() {
            return Err(Error::SpanMismatch { left: c0.span(), right: c1.span() });
        }
        if c0.batch() != c1.batch() {
            return Err(Error::BatchMismatch { left: c0.batch(), right: c1.batch() });
        }
        Ok(Self { c: [c0, c1], key_set: None })
    }

    /// From the words of both polynomials over any primes, which may come from anybody; of no known
    /// key set.
    ///
    /// # Errors
    /// [`Error::SpanMismatch`] for primes that the ring does not have; [`Error::Argument`] for
    /// another number of words, and for words that are not below their prime; device errors.
    pub fn from_words(ring: &Ring<B>, span: Span, batch: usize, words: [&[u64]; 2]) -> Result<Self> {
        ring.check_span(span)?;
        let run = batch.saturating_mul(ring.n()).max(1);
        for words in words {
            let limbs = ring.spec().moduli_of(span).zip(words.chunks(run)).enumerate();
            for (limb, (prime, words)) in limbs {
                if words.iter().any(|&word| word >= prime.value()) {
                    let why = format!("a word of limb {limb} is not below {}", prime.value());
                    return Err(Error::argument("words", why));
                }
            }
        }
        let [c0, c1] = words.map(|words| Poly::from_words(ring, span, batch, words));
        Self::new(c0?, c1?)
    }

    /// Both polynomials.
    pub fn parts(&self) -> [&Poly<Eval, B>; 2] {
        self.c.each_ref()
    }

    /// The ring.
    pub fn ring(&self) -> &Ring<B> {
        self.c[0].ring()
    }

    /// The number of ciphertexts in the batch.
    pub fn batch(&self) -> usize {
        self.c[0].batch()
    }

    /// The number of primes of the chain.
    pub fn chain_limbs(&self) -> usize {
        self.c[0].span().q
    }

    /// Applies f to both parts.
    pub(crate) fn map(&self, f: impl FnMut(&Poly<Eval, B>) -> Result<Poly<Eval, B>>) -> Result<Self> {
        let mut f = f;
        Ok(Self { c: [f(&self.c[0])?, f(&self.c[1])?], key_set: self.key_set })
    }

    /// Copies the entries of the batch in these places, in their order.
    pub(crate) fn gather(&self, entries: &[usize]) -> Result<Self> {
        self.map(|part| part.gather_batch(entries))
    }

    /// Overwrites the entries in these places by those of another ciphertext, in its order.
    pub(crate) fn scatter(&mut self, entries: &[usize], images: &Self) -> Result<()> {
        let parts = self.c.iter_mut().zip(&images.c);
        parts.into_iter().try_for_each(|(part, images)| part.scatter_batch(entries, images))
    }

    /// Makes a copy on the same device.
    ///
    /// # Errors
    /// Device errors.
    pub fn duplicate(&self) -> Result<Self> {
        self.map(Poly::duplicate)
    }

    /// Copies batch entries.
    ///
    /// # Errors
    /// [`Error::BatchRange`]; device errors.
    pub fn slice_batch(&self, entries: Range<usize>) -> Result<Self> {
        self.map(|c| c.slice_batch(entries.clone()))
    }

    /// Concatenates batches.
    ///
    /// # Errors
    /// Mismatch of ring, primes or key sets; an empty list; device errors.
    pub fn concat(parts: &[&Self]) -> Result<Self> {
        let part = |i: usize| Poly::concat(&parts.iter().map(|ct| &ct.c[i]).collect::<Vec<_>>());
        let c = [part(0)?, part(1)?];
        Ok(Self { c, key_set: common_of(OPERAND, parts.iter().map(|part| part.key_set))? })
    }

    /// self + rhs. `rhs` may have a batch of one, or more primes of the chain.
    ///
    /// # Errors
    /// Mismatch of ring, primes, batch or key sets; device errors.
    pub fn add(&self, rhs: &Self) -> Result<Self> {
        let (ring, rows, a, b) = self.pairs(rhs)?;
        let pair = ring.prepared().add_pairs(rows, a, b)?;
        self.with(pair, common(OPERAND, rhs.key_set, self.key_set)?)
    }

    /// self - rhs, likewise.
    ///
    /// # Errors
    /// Mismatch of ring, primes, batch or key sets; device errors.
    pub fn sub(&self, rhs: &Self) -> Result<Self> {
        let (ring, rows, a, b) = self.pairs(rhs)?;
        let pair = ring.prepared().sub_pairs(rows, a, b)?;
        self.with(pair, common(OPERAND, rhs.key_set, self.key_set)?)
    }

    /// self <- self + rhs, likewise.
    ///
    /// # Errors
    /// Mismatch of ring, primes, batch or key sets, before anything changes; device errors.
    pub fn add_assign(&mut self, rhs: &Self) -> Result<()> {
        self.pairs(rhs)?;
        self.key_set = common(OPERAND, rhs.key_set, self.key_set)?;
        self.c.iter_mut().zip(&rhs.c).try_for_each(|(a, b)| a.add_assign(b))
    }

    /// self <- self - rhs, likewise.
    ///
    /// # Errors
    /// The same as for [`add_assign`](Self::add_assign).
    pub fn sub_assign(&mut self, rhs: &Self) -> Result<()> {
        self.pairs(rhs)?;
        self.key_set = common(OPERAND, rhs.key_set, self.key_set)?;
        self.c.iter_mut().zip(&rhs.c).try_for_each(|(a, b)| a.sub_assign(b))
    }

    /// Applies an operation to both parts of both operands, which are checked.
    #[allow(clippy::type_complexity)]
    fn pairs<'a>(
        &'a self,
        rhs: &'a Self,
    ) -> Result<(&'a Ring<B>, Rows, [Operand<'a, B::Buf>; 2], [Operand<'a, B::Buf>; 2])> {
        for (a, b) in self.c.iter().zip(&rhs.c) {
            a.check(b)?;
        }
        common(OPERAND, rhs.key_set, self.key_set)?;
        let rows = self.c[0].rows();
        Ok((self.ring(), rows, self.c.each_ref().map(Poly::operand), rhs.c.each_ref().map(Poly::operand)))
    }

    /// Makes a ciphertext with other words over the same primes.
    pub(super) fn with(&self, pair: [B::Buf; 2], key_set: Option<KeySetId>) -> Result<Self> {
        let [c0, c1] = pair.map(|buf| Poly::from_buf(self.ring(), self.c[0].span(), self.batch(), buf));
        Self::new(c0, c1).map(|pair| pair.of(key_set))
    }

    /// The same ciphertext, of a known key set.
    pub(crate) fn of(self, key_set: Option<KeySetId>) -> Self {
        Self { key_set, ..self }
    }

    /// Division with rounding by the primes after the first `keep`, as
    /// [`mod_down`](crate::backend::PolyOps::mod_down).
    ///
    /// # Errors
    /// [`Error::SpanMismatch`] if nothing is kept or dropped; device errors.
    pub fn mod_down(&self, keep: usize) -> Result<Self> {
        self.divided(keep, |ring, span, parts| ring.mod_down_pair(span, keep, self.batch(), parts))
    }

    /// Both polynomials times one of the same primes, and of the same batch or of one.
    ///
    /// # Errors
    /// Mismatch of ring, primes or batch; device errors.
    pub fn mul_poly(&self, factor: &Poly<Eval, B>) -> Result<Self> {
        self.c[0].check(factor)?;
        let operands = self.c.each_ref().map(Poly::operand);
        let pair = self.ring().prepared().mul_pairs(self.c[0].rows(), operands, [factor.operand(); 2])?;
        self.with(pair, self.key_set)
    }

    /// The phase times X^exponent, which moves and negates its coefficients: exact, without noise.
    /// The exponent is public and counts modulo 2N; X^N = -1.
    ///
    /// # Errors
    /// Device errors.
    pub fn mul_monomial(&self, exponent: i64) -> Result<Self> {
        let (ring, span) = (self.ring(), self.c[0].span());
        let turn = 2 * ring.n() as i64;
        self.mul_poly(&Poly::monomial(ring, span, exponent.rem_euclid(turn) as usize)?)
    }

    /// [`mul_poly`](Self::mul_poly), then [`mod_down`](Self::mod_down), as
    /// [`mul_mod_down_pair`](crate::backend::PolyOps::mul_mod_down_pair).
    ///
    /// # Errors
    /// The errors of both.
    pub fn mul_mod_down(&self, factor: &Poly<Eval, B>, keep: usize) -> Result<Self> {
        self.c[0].check(factor)?;
        self.divided(keep, |ring, span, parts| {
            ring.mul_mod_down_pair(span, keep, self.batch(), parts, factor.operand())
        })
    }

    /// The quotient that a division leaves on the first `keep` primes.
    fn divided(
        &self,
        keep: usize,
        divide: impl FnOnce(&B::Ring, Span, [&B::Buf; 2]) -> Result<[B::Buf; 2]>,
    ) -> Result<Self> {
        let ring = self.ring();
        let kept = self.c[0].kept(keep)?;
        let parts = self.c.each_ref().map(Poly::buf);
        let span = self.c[0].span();
        let pair = ring.backend().batched(|| divide(ring.prepared(), span, parts))?;
        tell(ring, self.batch(), 2 * work::divide(keep, span.limbs() - keep));
        let [c0, c1] = pair.map(|buf| Poly::from_buf(ring, kept, self.batch(), buf));
        Self::new(c0, c1).map(|pair| pair.of(self.key_set))
    }

    /// Checks that this secret decrypts it.
    fn check_secret(&self, secret: &SecretPoly<Eval, B>) -> Result<()> {
        self.c[1].check(secret.get())?;
        common("ciphertext", self.key_set, secret.key_set()).map(drop)
    }

    /// The phase c0 + c1 s.
    ///
    /// # Errors
    /// Mismatch of ring, primes, batch or key sets; device errors.
    pub fn message(&self, secret: &SecretPoly<Eval, B>) -> Result<Poly<Eval, B>> {
        self.check_secret(secret)?;
        let [c0, c1] = &self.c;
        let (ring, rows) = (self.ring(), c0.rows());
        let (a, x, s) = (c0.operand(), c1.operand(), secret.get().operand());
        let buf = ring.prepared().mul_add(rows, a, x, s)?;
        Ok(Poly::from_buf(ring, c0.span(), self.batch(), buf))
    }

    /// The phase modulo t, as [`phase_mod_t`](crate::backend::ExactOps::phase_mod_t):
    /// batch x N words.
    pub(crate) fn phase_mod_t(&self, secret: &SecretPoly<Eval, B>, to: PhaseModT<'_>) -> Result<B::Buf> {
        self.check_secret(secret)?;
        let [c0, c1] = &self.c;
        let (ring, secret) = (self.ring(), secret.get().operand());
        ring.prepared().phase_mod_t(c0.rows(), [c0.operand(), c1.operand()], secret, to)
    }

    /// Reads the coefficients of the phase, multiplied by the factors, as [`with_scaled_phase`]:
    /// limbs x batch x N words.
    pub(crate) fn with_phase_words<T>(
        &self,
        secret: &SecretPoly<Eval, B>,
        factors: &[u64],
        read: impl FnOnce(&[u64]) -> Result<T>,
    ) -> Result<T> {
        self.check_secret(secret)?;
        let [c0, c1] = &self.c;
        let (ring, secret) = (self.ring(), secret.get().operand());
        let pair = [c0.operand(), c1.operand()];
        with_scaled_phase(ring.prepared(), c0.rows(), pair, secret, factors, read)
    }

    /// Copies it to an equal ring, possibly on another device.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] if degree or primes differ; device errors.
    pub fn to<C: RingOps>(&self, ring: &Ring<C>) -> Result<RlweCiphertext<C>> {
        Ok(RlweCiphertext { c: [self.c[0].to(ring)?, self.c[1].to(ring)?], key_set: self.key_set })
    }

    /// The tensor product. Either side may have a batch of one, which is then combined with every
    /// entry of the other.
    ///
    /// # Errors
    /// Mismatch of ring, primes, batch or key sets; device errors.
    pub fn tensor(&self, rhs: &Self) -> Result<RlweProduct<B>> {
        let (a, b, key_set) = self.factors(rhs)?;
        let (ring, span, batch) = (a.ring(), a.c[0].span(), a.batch());
        let d = ring.prepared().tensor(a.c[0].rows(), a.operands(), b.operands())?;
        Ok(RlweProduct { d: d.map(|buf| Poly::from_buf(ring, span, batch, buf)), key_set })
    }

    /// Both factors of a product, the one of the greater batch first, and their key set.
    pub(super) fn factors<'a>(&'a self, rhs: &'a Self) -> Result<(&'a Self, &'a Self, Option<KeySetId>)> {
        let (a, b) = if self.batch() >= rhs.batch() { (self, rhs) } else { (rhs, self) };
        if !a.ring().same(b.ring()) {
            return Err(Error::RingMismatch);
        }
        if a.c[0].span() != b.c[0].span() {
            return Err(Error::SpanMismatch { left: self.c[0].span(), right: rhs.c[0].span() });
        }
        if a.batch() != b.batch() && b.batch() != 1 {
            return Err(Error::BatchMismatch { left: self.batch(), right: rhs.batch() });
        }
        Ok((a, b, common(OPERAND, rhs.key_set, self.key_set)?))
    }

    /// Both polynomials of an entry of the batch, or of the only one, as operands of the ring:
    /// nothing is copied.
    pub(crate) fn entry_operands(&self, entry: usize) -> [Operand<'_, B::Buf>; 2] {
        self.c.each_ref().map(|part| Operand::entry(part.buf(), part.batch(), entry, part.ring().n()))
    }

    /// Both polynomials as operands of the ring.
    pub(crate) fn operands(&self) -> [Operand<'_, B::Buf>; 2] {
        self.c.each_ref().map(Poly::operand)
    }
}

impl<B: RingOps> RlweProduct<B> {
    /// The three polynomials.
    pub fn parts(&self) -> [&Poly<Eval, B>; 3] {
        self.d.each_ref()
    }

    /// Takes on the key set that this and another product have in common.
    fn join(&mut self, rhs: &Self) -> Result<()> {
        self.d.iter().zip(&rhs.d).try_for_each(|(a, b)| a.check(b))?;
        self.key_set = common(OPERAND, rhs.key_set, self.key_set)?;
        Ok(())
    }

    /// self <- self + rhs.
    ///
    /// # Errors
    /// Mismatch of ring, primes, batch or key sets; device errors.
    pub fn add_assign(&mut self, rhs: &Self) -> Result<()> {
        self.join(rhs)?;
        self.d.iter_mut().zip(&rhs.d).try_for_each(|(a, b)| a.add_assign(b))
    }

    /// self <- self - rhs.
    ///
    /// # Errors
    /// Mismatch of ring, primes, batch or key sets; device errors.
    pub fn sub_assign(&mut self, rhs: &Self) -> Result<()> {
        self.join(rhs)?;
        self.d.iter_mut().zip(&rhs.d).try_for_each(|(a, b)| a.sub_assign(b))
    }

    /// self <- c self, one residue of c per limb.
    ///
    /// # Errors
    /// [`Error::Argument`] unless there is one residue per limb; device errors.
    pub fn scale_assign(&mut self, factors: &[u64]) -> Result<()> {
        self.d.iter_mut().try_for_each(|d| d.scale_assign(factors))
    }

    /// Makes a copy on the same device.
    ///
    /// # Errors
    /// Device errors.
    pub fn duplicate(&self) -> Result<Self> {
        let [d0, d1, d2] = &self.d;
        let d = [d0.duplicate()?, d1.duplicate()?, d2.duplicate()?];
        Ok(Self { d, key_set: self.key_set })
    }

    /// Division with rounding by the primes after the first `keep`, as
    /// [`mod_down`](crate::backend::PolyOps::mod_down).
    ///
    /// # Errors
    /// [`Error::SpanMismatch`] if nothing is kept or dropped; device errors.
    pub fn mod_down(self, keep: usize) -> Result<Self> {
        let [d0, d1, d2] = self.d;
        let (ring, batch, limbs) = (d0.ring().clone(), d0.batch(), d0.span().limbs());
        let d = [d0.mod_down(keep)?, d1.mod_down(keep)?, d2.mod_down(keep)?];
        tell(&ring, batch, 3 * work::divide(keep, limbs - keep));
        Ok(Self { d, key_set: self.key_set })
    }
}
