//! The effect of operations on level, correction factor and noise: the predictions of
//! [`Evaluator`](super::Evaluator), without a ciphertext.

use super::ciphertext::Meta;
use super::{Noise, Params, Scheme};
use crate::error::{Error, Result};

impl<S: Scheme> Params<S> {
    /// Checks that the noise leaves something to decrypt.
    pub(crate) fn check_budget(&self, noise: Noise, primes: usize) -> Result<()> {
        let budget = self.noise().budget(noise, primes);
        if budget > 0.0 { Ok(()) } else { Err(Error::BudgetSpent { excess_bits: -budget }) }
    }

    pub(crate) fn checked(&self, meta: Meta) -> Result<Meta> {
        self.check_budget(meta.noise, meta.primes)?;
        Ok(meta)
    }

    /// The state of an encryption by public key.
    pub(crate) fn fresh(&self, noise: Noise) -> Meta {
        let primes = self.noise().chain();
        let (plain_modulus, correction_factor) =
            (self.plain().value(), S::fresh_correction_factor(self, primes));
        Meta { plain_modulus, primes, correction_factor, noise }
    }

    /// The state after a division by the primes from `primes` on, by which the message is divided,
    /// too.
    pub(crate) fn switched(&self, meta: Meta, primes: usize) -> Result<Meta> {
        if primes == meta.primes {
            return Ok(meta);
        }
        let t = self.plain().modulus();
        let dropped = t.product_of(&self.rlwe().ring().q_moduli()[primes..meta.primes]);
        let why = || "the chain has a prime in common with the plaintext modulus".to_owned();
        let inverse = self.plain().invert(dropped);
        let inverse = inverse.ok_or_else(|| Error::argument("chain", why()))?;
        let noise = self.noise().switched(meta.noise, meta.primes, primes);
        Ok(Meta { primes, noise, correction_factor: t.mul(meta.correction_factor, inverse), ..meta })
    }

    /// Small multipliers that bring two messages to a common f.
    pub(crate) fn common_correction_factor(&self, a: u64, b: u64) -> Result<(i64, i64)> {
        if a == b {
            return Ok((1, 1));
        }
        let why = || format!("{a} and {b} are not units modulo {}", self.plain().value());
        self.plain().balance(a, b).ok_or_else(|| Error::argument("correction factors", why()))
    }

    /// The state of c times an object: phase and f are multiplied, and the message stays.
    pub(crate) fn raised(&self, meta: Meta, c: i64) -> Meta {
        let t = self.plain().modulus();
        let noise = meta.noise.scale(libm::log2(c.unsigned_abs() as f64));
        Meta { noise, correction_factor: t.mul(meta.correction_factor, t.reduce_i64(c)), ..meta }
    }

    /// The state of a sum or a difference.
    pub(crate) fn sum(&self, a: Meta, b: Meta) -> Result<Meta> {
        let primes = a.primes.min(b.primes);
        let (a, b) = (self.switched(a, primes)?, self.switched(b, primes)?);
        let (ca, cb) = self.common_correction_factor(a.correction_factor, b.correction_factor)?;
        let raise = |meta, c| if c == 1 { meta } else { self.raised(meta, c) };
        let (a, b) = (raise(a, ca), raise(b, cb));
        self.checked(Meta { noise: a.noise.plus(b.noise), ..a })
    }

    /// The state with a constant added.
    pub(crate) fn shifted(&self, meta: Meta) -> Result<Meta> {
        self.checked(Meta { noise: meta.noise.plus(Noise::ZERO), ..meta })
    }

    /// The state multiplied by a constant in `[-t/2, t/2)`. Even the constant -1 matters: -[f m]_t
    /// is not [-f m]_t at -t/2.
    pub(crate) fn scaled(&self, meta: Meta, value: i64) -> Result<Meta> {
        let gain = libm::log2(value.unsigned_abs().max(1) as f64);
        self.checked(Meta { noise: meta.noise.scale(gain), ..meta })
    }

    /// The product before relinearisation, at the best number of primes.
    pub(crate) fn product(&self, a: Meta, b: Meta) -> Result<Meta> {
        let model = self.noise();
        let (primes, budget) = model.plan((a.noise, a.primes), (b.noise, b.primes), S::product_noise);
        if budget <= 0.0 {
            return Err(Error::BudgetSpent { excess_bits: -budget });
        }
        let (a, b) = (self.switched(a, primes)?, self.switched(b, primes)?);
        let noise = S::product_noise(model, a.noise, b.noise, primes);
        Ok(Meta {
            noise,
            correction_factor: S::product_correction_factor(self, a.correction_factor, b.correction_factor),
            ..a
        })
    }

    /// The state after this many key switches in sequence, with any keys.
    pub(crate) fn key_switched(&self, meta: Meta, count: usize) -> Result<Meta> {
        let switch = |noise: Noise, _| self.noise().key_switched(noise, meta.primes);
        self.checked(Meta { noise: (0..count).fold(meta.noise, switch), ..meta })
    }

    /// The state after this many rotations in sequence, each with a key of its own.
    pub(crate) fn rotated(&self, meta: Meta, count: usize) -> Result<Meta> {
        let rotate = |noise: Noise, _| self.noise().rotated(noise, meta.primes);
        self.checked(Meta { noise: (0..count).fold(meta.noise, rotate), ..meta })
    }
}
