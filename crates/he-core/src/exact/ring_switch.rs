//! Composition of ciphertexts to those of parameters of a greater degree, and decomposition.

use super::ciphertext::Meta;
use super::{Ciphertext, Evaluator, NoiseModel, Scheme};
use crate::backend::RingOps;
use crate::error::Result;
use crate::rlwe::{RlweCiphertext, SwitchKey};

impl<S: Scheme, B: RingOps> Evaluator<S, B> {
    /// Ciphertexts of these parameters, each of k ciphertexts of parameters of degree N / k over
    /// the same first primes and modulo the same t: of b k ciphertexts, coefficient i + k j of
    /// entry e is coefficient j of ciphertext i b + e. One key switch for each result, by a key of
    /// [`SwitchKey::for_composition`](crate::rlwe::SwitchKey::for_composition).
    ///
    /// # Errors
    /// [`Error::RingMismatch`](crate::Error::RingMismatch) for other primes;
    /// [`Error::MatrixRows`](crate::Error::MatrixRows) unless k divides the batch;
    /// [`Error::Argument`](crate::Error::Argument) for another t;
    /// [`Error::KeyMismatch`](crate::Error::KeyMismatch);
    /// [`Error::BudgetSpent`](crate::Error::BudgetSpent); device errors.
    pub fn compose(&self, ct: &Ciphertext<S, B>, key: &SwitchKey<B>) -> Result<Ciphertext<S, B>> {
        self.moved(ct.pair.compose(&self.ring)?.switch(key)?, ct.meta, key)
    }

    /// The inverse of [`compose`](Self::compose), to the parameters of another evaluator. One key
    /// switch for each ciphertext, by a key of
    /// [`SwitchKey::for_decomposition`](crate::rlwe::SwitchKey::for_decomposition).
    ///
    /// # Errors
    /// The same as for [`compose`](Self::compose) but those of the batch.
    pub fn decompose_into(
        &self,
        ct: &Ciphertext<S, B>,
        key: &SwitchKey<B>,
        to: &Self,
    ) -> Result<Ciphertext<S, B>> {
        self.check_ciphertext(ct)?;
        to.moved(ct.pair.switch(key)?.decompose_into(&to.ring)?, ct.meta, key)
    }

    /// A ciphertext of these parameters after a switch by a key of the same primes.
    fn moved(&self, pair: RlweCiphertext<B>, meta: Meta, key: &SwitchKey<B>) -> Result<Ciphertext<S, B>> {
        meta.check(&self.params)?;
        let model = NoiseModel::new(key.params(), self.params.plain().value());
        let noise = model.key_switched(meta.noise, meta.primes);
        self.finish(pair, Meta { noise, ..meta })
    }
}
