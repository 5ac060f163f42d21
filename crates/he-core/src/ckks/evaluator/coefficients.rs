//! Operations on the coefficients of the polynomials, rather than on slots.

use super::Evaluator;
use crate::backend::RingOps;
use crate::ckks::Ciphertext;
use crate::ckks::ciphertext::Meta;
use crate::error::Result;
use crate::rlwe::EvaluationKeys;

impl<B: RingOps> Evaluator<B> {
    /// The polynomial times X^exponent, which moves the coefficient of X^i to X^(i + exponent) and
    /// negates it where it passes X^N = -1. Slots are multiplied by powers of roots of unity. The
    /// exponent is public and counts modulo 2N. Exact: level, scale and noise stay. The result has
    /// all N/2 slots.
    ///
    /// # Errors
    /// Mismatch of ring; device errors.
    pub fn mul_monomial(&self, ct: &Ciphertext<B>, exponent: i64) -> Result<Ciphertext<B>> {
        self.check_ciphertext(ct)?;
        let meta = Meta { slots: self.params.slots(), ..ct.meta };
        Ok(Ciphertext { pair: ct.pair.mul_monomial(exponent)?, meta })
    }

    /// The first `count` coefficients, each in every slot of a ciphertext of its own, where the
    /// others are zero: see [`RlweCiphertext::expand`](crate::rlwe::RlweCiphertext::expand). So a
    /// selection of one entry out of N, or a vector of factors, is sent as one ciphertext of
    /// [coefficients](crate::ckks::Encoder::encode_coefficients). Level and scale stay; the noise
    /// of a key switch is added count - 1 times.
    ///
    /// ```
    /// # use he_core::{backend::Cpu, ckks::*, ring::Ring, rlwe::*};
    /// # fn main() -> he_core::Result<()> {
    /// # let params = CkksParams::for_depth(1).precision_bits(20).build()?;
    /// # let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    /// # let mut rng = he_core::rand::rng();
    /// # let secret = SecretKey::generate(params.rlwe(), &mut rng);
    /// let needs = KeyRequirements::new().expansion(ring.spec().log_n(), 4);
    /// let keys = EvaluationKeys::generate(&secret, &ring, needs, &mut rng)?;
    /// let ev = Evaluator::new(&params, &ring)?;
    /// let query = ev.encoder().encode_coefficients(&[0.0, 0.0, 1.0, 0.5], params.encoding())?;
    /// let query = SecretEncryptor::new(&params, &secret, &ring)?.encrypt(&query, &mut rng)?;
    /// let factors = ev.expand(&query.expand()?, 4, &keys)?;
    /// let found = Decryptor::new(&params, &secret, &ring)?.decrypt_real(&factors.slice_batch(2..3)?)?;
    /// assert!(found.iter().all(|x| (x - 1.0).abs() < 1e-3));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for a count that is not a power of two up to N,
    /// or without one of the keys of
    /// [`KeyRequirements::expansion`](crate::rlwe::KeyRequirements::expansion);
    /// [`Error::ParamsMismatch`](crate::Error::ParamsMismatch),
    /// [`Error::KeyMismatch`](crate::Error::KeyMismatch); device errors.
    pub fn expand(
        &self,
        ct: &Ciphertext<B>,
        count: usize,
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        keys.check(self.params.rlwe(), &self.ring)?;
        self.check_ciphertext(ct)?;
        let pair = ct.pair.expand(count, keys)?;
        let (model, primes) = (self.params.noise(), self.primes_at(ct.meta.level));
        let noise = ct.meta.noise.map(|noise| model.expanded(noise, primes, count));
        Ok(Ciphertext { pair, meta: Meta { slots: self.params.slots(), noise, ..ct.meta } })
    }
}
