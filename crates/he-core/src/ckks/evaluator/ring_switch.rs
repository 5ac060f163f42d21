//! Composition of ciphertexts to those of parameters of a greater degree, and decomposition.

use super::Evaluator;
use crate::backend::RingOps;
use crate::ckks::Ciphertext;
use crate::ckks::ciphertext::{Meta, check_scale};
use crate::ckks::noise::NoiseModel;
use crate::error::{Error, Result};
use crate::ring::Span;
use crate::rlwe::SwitchKey;

impl<B: RingOps> Evaluator<B> {
    /// Ciphertexts of these parameters, each of k ciphertexts of parameters of degree N / k over
    /// the same first primes: of b k ciphertexts, coefficient i + k j of entry e is coefficient j
    /// of ciphertext i b + e. One key switch for each result, by a key of
    /// [`SwitchKey::for_composition`](crate::rlwe::SwitchKey::for_composition). The scale stays,
    /// and the level is that of these primes.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for other primes; [`Error::MatrixRows`] unless k divides the batch;
    /// [`Error::SpanMismatch`] for primes that are not those of a level, or that the key does not
    /// have; [`Error::KeyMismatch`]; device errors.
    pub fn compose(&self, ct: &Ciphertext<B>, key: &SwitchKey<B>) -> Result<Ciphertext<B>> {
        let pair = ct.pair.compose(&self.ring)?.switch(key)?;
        let bits = libm::log2(ct.batch() as f64 / pair.batch() as f64);
        let model = NoiseModel::new(key.params(), 1);
        let noise = ct.meta.noise.map(|noise| {
            let composed = noise.gathered(bits);
            model.key_switched(composed, pair.chain_limbs())
        });
        let slots = self.params.slots();
        let level = self.level_of_primes(pair.chain_limbs())?;
        check_scale(&self.params, level, ct.meta.scale)?;
        Ok(Ciphertext { pair, meta: Meta { level, slots, noise, scale: ct.meta.scale } })
    }

    /// The inverse of [`compose`](Self::compose), to the parameters of another evaluator. One key
    /// switch for each ciphertext, by a key of
    /// [`SwitchKey::for_decomposition`](crate::rlwe::SwitchKey::for_decomposition).
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for other primes; [`Error::SpanMismatch`] for primes that are not
    /// those of a level, or that the key does not have: lower the ciphertext first;
    /// [`Error::KeyMismatch`]; device errors.
    pub fn decompose_into(&self, ct: &Ciphertext<B>, key: &SwitchKey<B>, to: &Self) -> Result<Ciphertext<B>> {
        self.check_ciphertext(ct)?;
        let pair = ct.pair.switch(key)?.decompose_into(&to.ring)?;
        let bits = libm::log2(pair.batch() as f64 / ct.batch() as f64);
        let model = NoiseModel::new(key.params(), 1);
        let noise = ct.meta.noise.map(|noise| model.key_switched(noise, pair.chain_limbs()).scattered(bits));
        let (slots, level) = (to.params.slots(), to.level_of_primes(pair.chain_limbs())?);
        check_scale(&to.params, level, ct.meta.scale)?;
        Ok(Ciphertext { pair, meta: Meta { level, slots, noise, scale: ct.meta.scale } })
    }

    /// The level whose ciphertexts are over the first `primes` primes.
    fn level_of_primes(&self, primes: usize) -> Result<usize> {
        let level = self.params.levels().iter().position(|level| level.primes == primes);
        let highest = Span::chain(self.primes_at(self.params.max_level()));
        level.ok_or(Error::SpanMismatch { left: Span::chain(primes), right: highest })
    }
}
