//! Operations on the coefficients of plaintexts, rather than on slots.

use super::ciphertext::Meta;
use super::{Ciphertext, Evaluator, Scheme};
use crate::backend::RingOps;
use crate::error::Result;
use crate::rlwe::EvaluationKeys;

impl<S: Scheme, B: RingOps> Evaluator<S, B> {
    /// The plaintext times X^exponent, which moves the coefficient of X^i to X^(i + exponent) and
    /// negates it where it passes X^N = -1. The exponent is public and counts modulo 2N. Adds at
    /// most one to the noise.
    ///
    /// # Errors
    /// [`Error::BudgetSpent`](crate::Error::BudgetSpent); mismatch of ring or parameters; device
    /// errors.
    pub fn mul_monomial(&self, ct: &Ciphertext<S, B>, exponent: i64) -> Result<Ciphertext<S, B>> {
        self.check_ciphertext(ct)?;
        let meta = self.params.scaled(ct.meta, -1)?;
        Ok(Ciphertext::with_meta(ct.pair.mul_monomial(exponent)?, meta))
    }

    /// The first `count` coefficients of the plaintext, each as the constant of a ciphertext of its
    /// own, where the others are zero: see
    /// [`RlweCiphertext::expand`](crate::rlwe::RlweCiphertext::expand). A constant is the same
    /// number in every slot, so a selection of one entry out of N is sent as one ciphertext of
    /// [coefficients](super::Encoder::encode_coefficients). Primes and correction factor stay; the
    /// noise of a key switch is added count - 1 times.
    ///
    /// ```
    /// # use he_core::{backend::Cpu, bfv::*, ring::Ring, rlwe::*};
    /// # fn main() -> he_core::Result<()> {
    /// # let params = BfvParams::for_depth(257, 1).build()?;
    /// # let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    /// # let mut rng = he_core::rand::rng();
    /// # let secret = SecretKey::generate(params.rlwe(), &mut rng);
    /// let needs = KeyRequirements::new().expansion(ring.spec().log_n(), 4);
    /// let keys = EvaluationKeys::generate(&secret, &ring, needs, &mut rng)?;
    /// let ev = BfvEvaluator::new(&params, &ring)?;
    /// let query = ev.encoder().encode_coefficients(&[0u64, 0, 1, 7])?;
    /// let query = BfvSecretEncryptor::new(&params, &secret, &ring)?.encrypt(&query, &mut rng)?;
    /// let constants = ev.expand(&query.expand()?, 4, &keys)?;
    /// let found = BfvDecryptor::new(&params, &secret, &ring)?.decrypt(&constants)?;
    /// let found: Vec<Vec<u64>> = ev.encoder().decode_coefficients(&found)?;
    /// assert_eq!((&found[2][..2], &found[3][..2]), (&[1, 0][..], &[7, 0][..]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for a count that is not a power of two up to N,
    /// or without one of the keys of
    /// [`KeyRequirements::expansion`](crate::rlwe::KeyRequirements::expansion);
    /// [`Error::ParamsMismatch`](crate::Error::ParamsMismatch),
    /// [`Error::KeyMismatch`](crate::Error::KeyMismatch),
    /// [`Error::BudgetSpent`](crate::Error::BudgetSpent); device errors.
    pub fn expand(
        &self,
        ct: &Ciphertext<S, B>,
        count: usize,
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<S, B>> {
        keys.check(self.params.rlwe(), &self.ring)?;
        self.check_ciphertext(ct)?;
        let noise = self.params.noise().expanded(ct.meta.noise, ct.meta.primes, count);
        let meta = self.params.checked(Meta { noise, ..ct.meta })?;
        Ok(Ciphertext::with_meta(ct.pair.expand(count, keys)?, meta))
    }
}
