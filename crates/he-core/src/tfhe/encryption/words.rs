//! Encryption of torus elements by the secret key, and their phases.

use super::SeededLwe;
use crate::error::{Error, Result};
use crate::parallel::*;
use crate::reveal;
use crate::ring::Seed;
use crate::tfhe::sampler::{Row, error_row, error_step, uniform_row};
use crate::tfhe::{LweBatch, LweOps, TfheSecretKey};
use rand::CryptoRng;
use zeroize::Zeroizing;

impl TfheSecretKey {
    /// Encrypts torus elements (words in units of 2^-64), each as (a, b = <a, s> + m + e) of k
    /// N + 1 words. Constant time.
    ///
    /// # Errors
    /// Device errors; [`Error::Argument`] for 2^32 messages and more.
    pub fn encrypt<B: LweOps>(
        &self,
        backend: &B,
        messages: &[u64],
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<LweBatch<B>> {
        check_count(messages)?;
        let masks = Seed::random(rng);
        let errors = Seed::random(rng);
        let step = error_step(self.params().spec().glwe_sigma_log2, 64);
        let width = self.params().words();
        let mut words = vec![0; width * messages.len()];
        words.par_chunks_mut(width).zip(messages).enumerate().for_each(|(i, (ciphertext, &message))| {
            let (mask, body) = ciphertext.split_at_mut(width - 1);
            body[0] = self.body(&masks, &errors, step, i as u32, message, mask);
        });
        let mut batch = LweBatch::upload(backend, self.params(), &words)?;
        batch.set_key_set(Some(self.key_set()));
        Ok(batch)
    }

    /// Makes the ciphertexts that [`encrypt`](Self::encrypt) makes with the same generator, but
    /// leaves their masks as a seed: each takes one word instead of k N + 1. Constant time.
    ///
    /// # Errors
    /// [`Error::Argument`] for 2^32 messages and more.
    pub fn encrypt_seeded(&self, messages: &[u64], rng: &mut (impl CryptoRng + ?Sized)) -> Result<SeededLwe> {
        check_count(messages)?;
        let masks = Seed::random(rng);
        let errors = Seed::random(rng);
        let step = error_step(self.params().spec().glwe_sigma_log2, 64);
        let mut bodies = vec![0; messages.len()];
        bodies.par_iter_mut().zip(messages).enumerate().for_each_init(
            || vec![0; self.params().dimension()],
            |mask, (i, (body, &message))| {
                *body = self.body(&masks, &errors, step, i as u32, message, mask);
            },
        );
        let mut seeded = SeededLwe::from_bodies(self.params(), masks, bodies);
        seeded.set_key_set(Some(self.key_set()));
        Ok(seeded)
    }

    /// Returns the body of encryption `index`, and leaves its mask in `mask`.
    fn body(
        &self,
        masks: &Seed,
        errors: &Seed,
        step: u64,
        index: u32,
        message: u64,
        mask: &mut [u64],
    ) -> u64 {
        let mut error = Zeroizing::new([0]);
        error_row(errors, Row::Error(index), step, error.as_mut());
        uniform_row(masks, Row::Mask(index), mask);
        inner_product(mask, self.expose_secrets()[1]).wrapping_add(message).wrapping_add(error[0])
    }

    /// Phases b - <a, s> of every ciphertext: messages with their errors. Constant time.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::KeyMismatch`], device errors.
    pub fn phases<B: LweOps>(&self, ciphertexts: &LweBatch<B>) -> Result<Zeroizing<Vec<u64>>> {
        ciphertexts.expect_params(self.params())?;
        ciphertexts.expect_key_set(Some(self.key_set()))?;
        let words = ciphertexts.download()?;
        let phases = words.chunks_exact(self.params().words()).map(|ciphertext| {
            let (mask, body) = ciphertext.split_at(ciphertext.len() - 1);
            body[0].wrapping_sub(inner_product(mask, self.expose_secrets()[1]))
        });
        Ok(Zeroizing::new(phases.collect()))
    }

    /// The phases of small ciphertexts (words of 32 bits, in units of 2^-32), for tests of the key
    /// switch.
    #[cfg(test)]
    pub(in crate::tfhe) fn small_phases(&self, words: &[u64]) -> Vec<u32> {
        let lwe = self.expose_secrets()[0];
        let phases = words.chunks_exact(lwe.len() + 1).map(|ciphertext| {
            let (mask, body) = ciphertext.split_at(lwe.len());
            (body[0] as u32).wrapping_sub(inner_product(mask, lwe) as u32)
        });
        phases.collect()
    }
}

pub(super) fn check_count(messages: &[u64]) -> Result<()> {
    if messages.len() > u32::MAX as usize {
        return Err(Error::domain(
            "messages",
            format!("{} at once", messages.len()),
            "at most 2^32 - 1 are possible, in several calls",
        ));
    }
    Ok(())
}

/// <a, s> modulo 2^64 for a binary s.
fn inner_product(a: &[u64], s: &[u64]) -> u64 {
    a.iter().zip(s).fold(0u64, |sum, (a, s)| sum.wrapping_add(a & s.wrapping_neg()))
}

/// Makes one decision about everything that was decrypted.
pub(super) fn expect_none(bad: u64, count: usize) -> Result<()> {
    let bad = reveal::word(bad);
    if bad == 0 { Ok(()) } else { Err(Error::BadDigits { bad: bad as usize, count }) }
}
