//! Arithmetic on encrypted words.

use super::role::{Multiplicand, Multiplier, Product, Role};
use super::{WordParams, Words};
use crate::backend::{Cpu, RingOps};
use crate::error::{Error, Result};
use crate::ring::Ring;
use crate::rlwe::{EvaluationKeys, RlweCiphertext};

/// Computes on encrypted words; knows no secret.
#[derive(Clone, Debug)]
pub struct WordEvaluator<B: RingOps = Cpu> {
    params: WordParams,
    ring: Ring<B>,
}

impl<B: RingOps> WordEvaluator<B> {
    /// For parameters on a device.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for a ring of other parameters.
    pub fn new(params: &WordParams, ring: &Ring<B>) -> Result<Self> {
        if ring.spec() != params.ckks().rlwe().ring() {
            return Err(Error::RingMismatch);
        }
        Ok(Self { params: params.clone(), ring: ring.clone() })
    }

    /// The parameters.
    pub fn params(&self) -> &WordParams {
        &self.params
    }

    /// a + b modulo 2^k, word by word. The terms of both add up.
    ///
    /// # Errors
    /// [`Error::TooManyTerms`]; mismatch of ring, batch or key sets; device errors.
    pub fn add<R: Role>(&self, a: &Words<R, B>, b: &Words<R, B>) -> Result<Words<R, B>> {
        self.combine(a, b, RlweCiphertext::add)
    }

    /// a - b modulo 2^k, likewise.
    ///
    /// # Errors
    /// The same as for [`add`](Self::add).
    pub fn sub<R: Role>(&self, a: &Words<R, B>, b: &Words<R, B>) -> Result<Words<R, B>> {
        self.combine(a, b, RlweCiphertext::sub)
    }

    fn combine<R: Role>(
        &self,
        a: &Words<R, B>,
        b: &Words<R, B>,
        f: impl Fn(&RlweCiphertext<B>, &RlweCiphertext<B>) -> Result<RlweCiphertext<B>>,
    ) -> Result<Words<R, B>> {
        self.check(a, b)?;
        let terms = self.terms(u64::from(a.terms) + u64::from(b.terms))?;
        Ok(Words::of(f(&a.pair, &b.pair)?, terms))
    }

    /// a b modulo 2^k, word by word: one tensor and one relinearisation. The terms of both
    /// multiply, as a product of sums is the sum of so many products.
    ///
    /// # Errors
    /// [`Error::TooManyTerms`], [`Error::MissingRelinKey`], [`Error::ParamsMismatch`]; mismatch of
    /// ring, batch or key sets; device errors.
    pub fn multiply(
        &self,
        a: &Words<Multiplicand, B>,
        b: &Words<Multiplier, B>,
        keys: &EvaluationKeys<B>,
    ) -> Result<Words<Product, B>> {
        keys.check(self.params.ckks().rlwe(), &self.ring)?;
        self.check(a, b)?;
        let terms = self.terms(u64::from(a.terms) * u64::from(b.terms))?;
        Ok(Words::of(a.pair.multiply_relinearize(&b.pair, keys.relin()?, 1)?, terms))
    }

    fn check(&self, a: &Words<impl Role, B>, b: &Words<impl Role, B>) -> Result<()> {
        a.check(&self.params, &self.ring)?;
        b.check(&self.params, &self.ring)
    }

    /// A number of terms that the parameters allow.
    fn terms(&self, found: u64) -> Result<u32> {
        let limit = self.params.spec().terms;
        let terms = u32::try_from(found).ok().filter(|&terms| terms <= limit);
        terms.ok_or(Error::TooManyTerms { found, limit })
    }
}
