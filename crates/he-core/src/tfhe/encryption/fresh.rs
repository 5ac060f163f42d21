//! Fresh encryptions in the form in which they are sent: bodies, and what their masks come from.

use crate::error::Result;
use crate::key_set::{KeySetId, key_set_accessors};
use crate::parallel::*;
use crate::tfhe::{
    EncryptedBits, EncryptedFlags, EncryptedInteger, LweBatch, LweOps, Signedness, TfheParams, Unsigned,
};
use std::marker::PhantomData;

pub(super) mod sealed {
    pub trait Sealed {}
}

/// The source of the masks of fresh ciphertexts: the seed of
/// [`TfheSecretKey`](crate::tfhe::TfheSecretKey), or the polynomials of
/// [`CompactPublicKey`](super::CompactPublicKey).
pub trait Masks: sealed::Sealed + Clone + Send + Sync {
    /// Leaves the mask of ciphertext `index` in k N words.
    ///
    /// # Panics
    /// If there is no such ciphertext, or for another number of words.
    fn mask(&self, params: &TfheParams, index: usize, out: &mut [u64]);
}

/// Fresh ciphertexts: [`SeededLwe`](super::SeededLwe) or [`CompactLwe`](super::CompactLwe).
#[derive(Clone)]
pub struct FreshLwe<M> {
    params: TfheParams,
    masks: M,
    bodies: Vec<u64>,
    pub(crate) key_set: Option<KeySetId>,
}

/// Fresh bits.
#[derive(Clone, Debug)]
pub struct FreshBits<M>(FreshLwe<M>);

/// A batch of fresh integers of one width.
#[derive(Clone, Debug)]
pub struct FreshInteger<M, S: Signedness = Unsigned> {
    bits: usize,
    /// `[digit][batch]`, the lowest digit first.
    digits: FreshLwe<M>,
    sign: PhantomData<S>,
}

/// A batch of fresh conditions.
#[derive(Clone, Debug)]
pub struct FreshFlags<M>(FreshLwe<M>);

key_set_accessors! {
    [M] FreshLwe<M> { key_set }
    [M] FreshBits<M> { 0.key_set }
    [M, S: Signedness] FreshInteger<M, S> { digits.key_set }
    [M] FreshFlags<M> { 0.key_set }
}

impl<M> std::fmt::Debug for FreshLwe<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FreshLwe {{ params: {:?}, count: {} }}", self.params.fingerprint(), self.bodies.len())
    }
}

impl<M> FreshLwe<M> {
    /// Makes ciphertexts from their masks and one body per ciphertext.
    pub(crate) fn from_bodies(params: &TfheParams, masks: M, bodies: Vec<u64>) -> Self {
        Self { params: params.clone(), masks, bodies, key_set: None }
    }

    /// The source of the masks, and the bodies.
    pub(crate) fn bodies(&self) -> (&M, &[u64]) {
        (&self.masks, &self.bodies)
    }

    /// The parameters.
    pub fn params(&self) -> &TfheParams {
        &self.params
    }

    /// The number of ciphertexts.
    pub fn count(&self) -> usize {
        self.bodies.len()
    }
}

impl<M: Masks> FreshLwe<M> {
    /// Expands the ciphertexts to k N + 1 words each, which are the same on every device.
    ///
    /// # Errors
    /// Device errors.
    pub fn expand<B: LweOps>(&self, backend: &B) -> Result<LweBatch<B>> {
        let width = self.params.words();
        let mut words = vec![0; width * self.bodies.len()];
        words.par_chunks_mut(width).zip(&self.bodies).enumerate().try_for_each(
            |(i, (ciphertext, &body))| -> Result<()> {
                backend.check()?;
                self.masks.mask(&self.params, i, &mut ciphertext[..width - 1]);
                ciphertext[width - 1] = body;
                Ok(())
            },
        )?;
        let mut batch = LweBatch::upload(backend, &self.params, &words)?;
        batch.set_key_set(self.key_set);
        Ok(batch)
    }
}

impl<M> FreshBits<M> {
    pub(crate) fn from_ciphertexts(ciphertexts: FreshLwe<M>) -> Self {
        Self(ciphertexts)
    }

    /// The number of bits.
    pub fn count(&self) -> usize {
        self.0.count()
    }

    /// The ciphertexts.
    pub fn ciphertexts(&self) -> &FreshLwe<M> {
        &self.0
    }
}

impl<M: Masks> FreshBits<M> {
    /// Expands the bits, for computing.
    ///
    /// # Errors
    /// Device errors.
    pub fn expand<B: LweOps>(&self, backend: &B) -> Result<EncryptedBits<B>> {
        Ok(EncryptedBits::from_ciphertexts(self.0.expand(backend)?))
    }
}

impl<M, S: Signedness> FreshInteger<M, S> {
    /// Requires whole integers of an existing width.
    pub(crate) fn from_ciphertexts(digits: FreshLwe<M>, bits: usize) -> Self {
        Self { bits, digits, sign: PhantomData }
    }

    /// The width in bits.
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// The number of integers.
    pub fn batch(&self) -> usize {
        2 * self.digits.count() / self.bits
    }

    /// The ciphertexts of the digits, `[digit][batch]`, the lowest digit first.
    pub fn ciphertexts(&self) -> &FreshLwe<M> {
        &self.digits
    }

    /// The same bits, read with the other kind of sign. Free.
    pub fn reinterpret<T: Signedness>(self) -> FreshInteger<M, T> {
        FreshInteger::from_ciphertexts(self.digits, self.bits)
    }
}

impl<M: Masks, S: Signedness> FreshInteger<M, S> {
    /// Expands the integers, for computing.
    ///
    /// # Errors
    /// Device errors.
    pub fn expand<B: LweOps>(&self, backend: &B) -> Result<EncryptedInteger<S, B>> {
        EncryptedInteger::from_ciphertexts(self.digits.expand(backend)?, self.bits)
    }
}

impl<M> FreshFlags<M> {
    pub(crate) fn from_ciphertexts(ciphertexts: FreshLwe<M>) -> Self {
        Self(ciphertexts)
    }

    /// The number of conditions.
    pub fn batch(&self) -> usize {
        self.0.count()
    }

    /// The ciphertexts.
    pub fn ciphertexts(&self) -> &FreshLwe<M> {
        &self.0
    }
}

impl<M: Masks> FreshFlags<M> {
    /// Expands the conditions, for computing.
    ///
    /// # Errors
    /// Device errors.
    pub fn expand<B: LweOps>(&self, backend: &B) -> Result<EncryptedFlags<B>> {
        Ok(EncryptedFlags::from_ciphertexts(self.0.expand(backend)?))
    }
}
