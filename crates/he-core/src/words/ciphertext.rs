//! Encrypted words.

use super::WordParams;
use super::role::{Operand, Role};
use crate::backend::{Cpu, RingOps};
use crate::ckks::SeededCiphertext;
use crate::error::{Error, Result};
use crate::key_set::key_set_accessors;
use crate::ring::{Ring, Span};
use crate::rlwe::RlweCiphertext;
use derive_where::derive_where;
use std::marker::PhantomData;
use std::ops::Range;

/// A batch of ciphertexts of words in role `R`, [`WordParams::words_per_ciphertext`] each.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct Words<R: Role, B: RingOps = Cpu> {
    pub(super) pair: RlweCiphertext<B>,
    pub(super) terms: u32,
    role: PhantomData<R>,
}

/// The same, freshly encrypted, with the second part still a seed: half the bytes.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct SeededWords<R: Operand, B: RingOps = Cpu> {
    ct: SeededCiphertext<B>,
    role: PhantomData<R>,
}

key_set_accessors! {
    [R: Role, B: RingOps] Words<R, B> { pair.key_set }
}

impl<R: Role, B: RingOps> Words<R, B> {
    /// Words of a pair with the noise of so many terms.
    pub(super) fn of(pair: RlweCiphertext<B>, terms: u32) -> Self {
        Self { pair, terms, role: PhantomData }
    }

    /// The number of ciphertexts in the batch.
    pub fn batch(&self) -> usize {
        self.pair.batch()
    }

    /// The number of terms of the sum that it is: fresh operands, or products of those.
    pub fn terms(&self) -> u32 {
        self.terms
    }

    /// Both polynomials.
    pub fn pair(&self) -> &RlweCiphertext<B> {
        &self.pair
    }

    /// Copies batch entries.
    ///
    /// # Errors
    /// [`Error::BatchRange`]; device errors.
    pub fn slice_batch(&self, entries: Range<usize>) -> Result<Self> {
        Ok(Self::of(self.pair.slice_batch(entries)?, self.terms))
    }

    /// Concatenates batches.
    ///
    /// # Errors
    /// Mismatch of ring, primes or key sets; an empty list; device errors.
    pub fn concat(parts: &[&Self]) -> Result<Self> {
        let terms = parts.iter().map(|part| part.terms).max().unwrap_or(1);
        Ok(Self::of(RlweCiphertext::concat(&parts.iter().map(|part| &part.pair).collect::<Vec<_>>())?, terms))
    }

    /// Copies it to an equal ring, possibly on another device.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] if degree or primes differ; device errors.
    pub fn to<C: RingOps>(&self, ring: &Ring<C>) -> Result<Words<R, C>> {
        Ok(Words::of(self.pair.to(ring)?, self.terms))
    }

    /// Checks that it is of these parameters and this ring.
    pub(super) fn check(&self, params: &WordParams, ring: &Ring<B>) -> Result<()> {
        let limit = params.spec().terms;
        if !self.pair.ring().same(ring) {
            return Err(Error::RingMismatch);
        }
        if self.terms > limit {
            return Err(Error::TooManyTerms { found: u64::from(self.terms), limit });
        }
        let (left, right) = (self.pair.c[0].span(), Span::chain(1));
        if left != right {
            return Err(Error::SpanMismatch { left, right });
        }
        Ok(())
    }
}

impl<R: Operand, B: RingOps> SeededWords<R, B> {
    /// Words of a ciphertext of CKKS, such as one that was read from a frame; its scale says which
    /// operand it is.
    ///
    /// # Errors
    /// [`Error::ScaleMismatch`] for the scale of another role or other parameters;
    /// [`Error::SlotCount`] for fewer slots than N/2; [`Error::RingMismatch`].
    pub fn from_ciphertext(params: &WordParams, ct: SeededCiphertext<B>) -> Result<Self> {
        ct.check(params.ckks())?;
        let (found, expected) = (ct.scale(), R::scale(params));
        if found != expected {
            let [left_log2, right_log2] = [found, expected].map(libm::log2);
            return Err(Error::ScaleMismatch { left_log2, right_log2 });
        }
        let capacity = params.ckks().slots();
        if ct.slots() != capacity {
            return Err(Error::SlotCount { found: ct.slots(), capacity });
        }
        Ok(Self { ct, role: PhantomData })
    }

    /// The ciphertext of CKKS, which [`Wire`](crate::wire::Wire) makes a frame of.
    pub fn ciphertext(&self) -> &SeededCiphertext<B> {
        &self.ct
    }

    /// The number of ciphertexts in the batch.
    pub fn batch(&self) -> usize {
        self.ct.batch()
    }

    /// Expands the second part.
    ///
    /// # Errors
    /// Device errors.
    pub fn expand(self) -> Result<Words<R, B>> {
        Ok(Words::of(self.ct.expand()?.pair, 1))
    }
}
