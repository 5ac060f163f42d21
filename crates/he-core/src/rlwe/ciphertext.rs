//! Pairs and triples of polynomials: what RLWE ciphertexts are under every scheme.

use crate::backend::RingOps;
use crate::error::{Error, Result};
use crate::ring::{Eval, Poly, Ring};
use std::ops::Range;

/// (c0, c1) in evaluation form over the same primes, decrypting to c0 + c1 s.
#[derive(Debug)]
pub struct RlweCiphertext<B: RingOps> {
    pub(crate) c: [Poly<Eval, B>; 2],
}

/// (d0, d1, d2), decrypting to d0 + d1 s + d2 s^2: a product before relinearisation.
#[derive(Debug)]
pub struct RlweProduct<B: RingOps> {
    pub(crate) d: [Poly<Eval, B>; 3],
}

impl<B: RingOps> RlweCiphertext<B> {
    /// From its two polynomials.
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
        Ok(Self { c: [c0, c1] })
    }

    /// Both polynomials.
    pub fn parts(&self) -> [&Poly<Eval, B>; 2] {
        self.c.each_ref()
    }

    /// The ring.
    pub fn ring(&self) -> &Ring<B> {
        self.c[0].ring()
    }

    /// Ciphertexts side by side.
    pub fn batch(&self) -> usize {
        self.c[0].batch()
    }

    /// Primes of the chain.
    pub fn chain_limbs(&self) -> usize {
        self.c[0].span().q
    }

    /// f on both parts.
    pub(crate) fn map(&self, f: impl FnMut(&Poly<Eval, B>) -> Result<Poly<Eval, B>>) -> Result<Self> {
        let mut f = f;
        Ok(Self { c: [f(&self.c[0])?, f(&self.c[1])?] })
    }

    /// A copy on the same device.
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

    /// Puts batches side by side.
    ///
    /// # Errors
    /// Mismatch of ring or primes; an empty list; device errors.
    pub fn concat(parts: &[&Self]) -> Result<Self> {
        let part = |i: usize| Poly::concat(&parts.iter().map(|ct| &ct.c[i]).collect::<Vec<_>>());
        Ok(Self { c: [part(0)?, part(1)?] })
    }

    /// self <- self + rhs.
    ///
    /// # Errors
    /// Mismatch of ring, primes or batch; device errors.
    pub fn add_assign(&mut self, rhs: &Self) -> Result<()> {
        self.c.iter_mut().zip(&rhs.c).try_for_each(|(a, b)| a.add_assign(b))
    }

    /// self <- self - rhs.
    ///
    /// # Errors
    /// Mismatch of ring, primes or batch; device errors.
    pub fn sub_assign(&mut self, rhs: &Self) -> Result<()> {
        self.c.iter_mut().zip(&rhs.c).try_for_each(|(a, b)| a.sub_assign(b))
    }

    /// The same in an equal ring, possibly on another device.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] if degree or primes differ; device errors.
    pub fn to<C: RingOps>(&self, ring: &Ring<C>) -> Result<RlweCiphertext<C>> {
        Ok(RlweCiphertext { c: [self.c[0].to(ring)?, self.c[1].to(ring)?] })
    }

    /// The tensor product. Either side may have a batch of one, which then meets every entry of the other.
    ///
    /// # Errors
    /// Mismatch of ring, primes or batch; device errors.
    pub fn tensor(&self, rhs: &Self) -> Result<RlweProduct<B>> {
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
        let (ring, span, batch) = (a.ring(), a.c[0].span(), a.batch());
        let rows = a.c[0].rows();
        let d = ring.backend().tensor(
            ring.tables(),
            rows,
            a.c.each_ref().map(Poly::operand),
            b.c.each_ref().map(Poly::operand),
        )?;
        Ok(RlweProduct { d: d.map(|buf| Poly::from_buf(ring, span, batch, buf)) })
    }
}

impl<B: RingOps> RlweProduct<B> {
    /// The three polynomials.
    pub fn parts(&self) -> [&Poly<Eval, B>; 3] {
        self.d.each_ref()
    }

    /// self <- self + rhs.
    ///
    /// # Errors
    /// Mismatch of ring, primes or batch; device errors.
    pub fn add_assign(&mut self, rhs: &Self) -> Result<()> {
        self.d.iter_mut().zip(&rhs.d).try_for_each(|(a, b)| a.add_assign(b))
    }

    /// self <- self - rhs.
    ///
    /// # Errors
    /// Mismatch of ring, primes or batch; device errors.
    pub fn sub_assign(&mut self, rhs: &Self) -> Result<()> {
        self.d.iter_mut().zip(&rhs.d).try_for_each(|(a, b)| a.sub_assign(b))
    }
}
