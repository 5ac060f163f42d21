//! Sums of ciphertexts.

use super::Evaluator;
use crate::backend::RingOps;
use crate::ckks::Ciphertext;
use crate::ckks::ciphertext::Meta;
use crate::error::Result;
use crate::ring::Poly;
use crate::rlwe::RlweCiphertext;
use std::borrow::Borrow;

impl<B: RingOps> Evaluator<B> {
    fn combine(
        &self,
        a: &Ciphertext<B>,
        b: &Ciphertext<B>,
        f: impl Fn(&RlweCiphertext<B>, &RlweCiphertext<B>) -> Result<RlweCiphertext<B>>,
    ) -> Result<Ciphertext<B>> {
        let slots = a.meta.slots.max(b.meta.slots);
        let [a, b] = self.aligned(a, b)?;
        let (a, b): (&Ciphertext<B>, &Ciphertext<B>) = (a.borrow(), b.borrow());
        let noise = a.meta.noises(&b.meta).map(|(a, b)| a.plus(b));
        Ok(Ciphertext { pair: f(&a.pair, &b.pair)?, meta: Meta { slots, noise, ..a.meta } })
    }

    /// a + b. `b` may have a batch of one. Noise adds; no level is used unless the operands' levels
    /// differ.
    ///
    /// # Errors
    /// Mismatch of ring, batch or key sets; device errors.
    pub fn add(&self, a: &Ciphertext<B>, b: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        self.combine(a, b, RlweCiphertext::add)
    }

    /// a - b, likewise.
    ///
    /// # Errors
    /// Mismatch of ring, batch or key sets; device errors.
    pub fn sub(&self, a: &Ciphertext<B>, b: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        self.combine(a, b, RlweCiphertext::sub)
    }

    /// -a.
    ///
    /// # Errors
    /// Mismatch of ring; device errors.
    pub fn neg(&self, a: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        self.check_ciphertext(a)?;
        let mut result = a.duplicate()?;
        result.pair.c.iter_mut().try_for_each(Poly::neg_assign)?;
        Ok(result)
    }
}
