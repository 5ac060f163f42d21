//! Batches of large LWE ciphertexts.

use super::{LweOps, TfheParams};
use crate::backend::Cpu;
use crate::error::{Error, Result};
use crate::key_set::{KeySetId, common, key_set_accessors};
use derive_where::derive_where;
use std::ops::Range;

/// Ciphertexts (a, b) of k N + 1 words each, stored in sequence on a device: `[ciphertext][word]`,
/// the body last.
#[derive_where(Clone; B::Buf)]
pub struct LweBatch<B: LweOps = Cpu> {
    backend: B,
    params: TfheParams,
    buf: B::Buf,
    count: usize,
    pub(super) key_set: Option<KeySetId>,
}

key_set_accessors! {
    [B: LweOps] LweBatch<B> { key_set }
}

impl<B: LweOps> std::fmt::Debug for LweBatch<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LweBatch {{ params: {:?}, count: {} }}", self.params.fingerprint(), self.count)
    }
}

impl<B: LweOps> LweBatch<B> {
    pub(super) fn new(
        backend: &B,
        params: TfheParams,
        buf: B::Buf,
        count: usize,
        key_set: Option<KeySetId>,
    ) -> Self {
        Self { backend: backend.clone(), params, buf, count, key_set }
    }

    /// Makes `count` encryptions of zero without mask or error, which belong to any key set.
    ///
    /// # Errors
    /// Device errors.
    pub fn zeros(backend: &B, params: &TfheParams, count: usize) -> Result<Self> {
        let buf = backend.zeros(count * params.words())?;
        Ok(Self::new(backend, params.clone(), buf, count, None))
    }

    /// Makes ciphertexts without mask or error: public constants (words in units of 2^-64).
    ///
    /// # Errors
    /// Device errors.
    pub fn trivial(backend: &B, params: &TfheParams, messages: &[u64]) -> Result<Self> {
        let mut words = vec![0; messages.len() * params.words()];
        for (ciphertext, &message) in words.chunks_exact_mut(params.words()).zip(messages) {
            ciphertext[params.dimension()] = message;
        }
        Self::upload(backend, params, &words)
    }

    /// Makes ciphertexts from words, k N + 1 for each, of no known key set.
    ///
    /// # Errors
    /// [`Error::Argument`] for a number of words that is not a multiple; device errors.
    pub fn upload(backend: &B, params: &TfheParams, words: &[u64]) -> Result<Self> {
        if !words.len().is_multiple_of(params.words()) {
            let why =
                format!("{} is not a multiple of {}, the words of a ciphertext", words.len(), params.words());
            return Err(Error::argument("number of words", why));
        }
        let count = words.len() / params.words();
        Ok(Self::new(backend, params.clone(), backend.upload(words)?, count, None))
    }

    /// Downloads the words.
    ///
    /// # Errors
    /// Device errors.
    pub fn download(&self) -> Result<Vec<u64>> {
        self.backend.download(&self.buf, 0..self.count * self.params.words())
    }

    /// The number of ciphertexts.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The parameters.
    pub fn params(&self) -> &TfheParams {
        &self.params
    }

    /// The device.
    pub fn backend(&self) -> &B {
        &self.backend
    }

    pub(super) fn buf(&self) -> &B::Buf {
        &self.buf
    }

    /// Copies ciphertexts of `src` over those from `at` on.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::KeyMismatch`], [`Error::BatchRange`], device errors.
    pub fn write(&mut self, at: usize, src: &Self, range: Range<usize>) -> Result<()> {
        src.expect_params(&self.params)?;
        src.expect_range(&range)?;
        self.expect_range(&(at..at.saturating_add(range.len())))?;
        let key_set = common("other batch", src.key_set, self.key_set)?;
        let words = self.params.words();
        self.backend.copy(&src.buf, range.start * words, &mut self.buf, at * words, range.len() * words)?;
        self.key_set = key_set;
        Ok(())
    }

    /// Copies some of the ciphertexts.
    ///
    /// # Errors
    /// [`Error::BatchRange`], device errors.
    pub fn part(&self, range: Range<usize>) -> Result<Self> {
        self.expect_range(&range)?;
        let mut part = Self::zeros(&self.backend, &self.params, range.len())?;
        part.write(0, self, range)?;
        Ok(part)
    }

    /// Concatenates the ciphertexts of both.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::KeyMismatch`], device errors.
    pub fn concat(parts: &[&Self]) -> Result<Self> {
        let Some(first) = parts.first() else {
            return Err(Error::domain("parts", "none", "give at least one batch"));
        };
        let mut all = Self::zeros(&first.backend, &first.params, parts.iter().map(|part| part.count).sum())?;
        let mut at = 0;
        for part in parts {
            all.write(at, part, 0..part.count)?;
            at += part.count;
        }
        Ok(all)
    }

    fn expect_range(&self, range: &Range<usize>) -> Result<()> {
        if range.start > range.end || range.end > self.count {
            return Err(Error::BatchRange { start: range.start, end: range.end, batch: self.count });
        }
        Ok(())
    }

    /// The key set of the result when a key is applied to this batch.
    pub(super) fn expect_key_set(&self, key: Option<KeySetId>) -> Result<Option<KeySetId>> {
        common("batch of LWE ciphertexts", self.key_set, key)
    }

    pub(super) fn expect_params(&self, params: &TfheParams) -> Result<()> {
        params.check_same(&self.params, "batch of LWE ciphertexts")
    }
}
