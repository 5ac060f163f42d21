//! The refresh: the noise is bootstrapped, and subtracted.

use super::BootstrapParams;
use crate::backend::{Cpu, RingOps};
use crate::bootstrapping::{self, BootstrapKeys, log2};
use crate::error::{Error, Result};
use crate::exact::{Ciphertext, Meta, Noise, Scheme};
use crate::ring::Ring;
use crate::rlwe::noise::log_add;
use num_bigint::BigUint;

/// Refreshes ciphertexts of scheme `S`; knows no secret.
#[derive(Debug)]
pub struct Bootstrapper<S: Scheme, B: RingOps = Cpu> {
    params: BootstrapParams<S>,
    circuit: bootstrapping::Bootstrapper<B>,
}

impl<S: Scheme, B: RingOps> Bootstrapper<S, B> {
    /// Encodes the matrices; `ring` is that of [`BootstrapParams::ring`].
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for another ring; device errors.
    pub fn new(params: &BootstrapParams<S>, ring: &Ring<B>) -> Result<Self> {
        let circuit = bootstrapping::Bootstrapper::new(params.circuit(), ring)?;
        Ok(Self { params: params.clone(), circuit })
    }

    /// The parameters.
    pub fn params(&self) -> &BootstrapParams<S> {
        &self.params
    }

    /// The same messages, in coefficients and slots, at the top level and with a predicted budget
    /// of at least [`refreshed_budget`](BootstrapParams::refreshed_budget). All of a batch are
    /// refreshed together, by as many bootstraps as the noise makes necessary, up to
    /// [`iterations`](super::BootstrapSpec::iterations). A ciphertext that has this budget is only
    /// brought to the top level.
    ///
    /// The integers that ModRaise leaves are within the bound of the modular reduction for every
    /// secret of the secure parameters. The predicted noise is exceeded in a coefficient with
    /// probability 2^-49, about that of other predictions ([`TAIL`](crate::exact::TAIL)).
    ///
    /// # Errors
    /// [`Error::BudgetTooLow`] below [`needed_budget`](BootstrapParams::needed_budget), mismatch of
    /// parameters, ring or key sets, before any work; device errors.
    pub fn refresh(&self, ct: &Ciphertext<S, B>, keys: &BootstrapKeys<B>) -> Result<Ciphertext<S, B>> {
        self.check(ct, keys)?;
        let mut ct = self.raised(ct)?;
        for _ in 0..self.params.spec().iterations {
            if self.budget(&ct) >= self.params.refreshed_budget() {
                break;
            }
            self.subtract_noise(&mut ct, keys)?;
        }
        Ok(ct)
    }

    fn budget(&self, ct: &Ciphertext<S, B>) -> f64 {
        ct.predicted_budget(self.params.params())
    }

    pub(super) fn check(&self, ct: &Ciphertext<S, B>, keys: &BootstrapKeys<B>) -> Result<()> {
        self.circuit.check_keys(&ct.pair, keys)?;
        ct.check(self.params.params())?;
        let (left_bits, needed_bits) = (self.budget(ct), self.params.needed_budget());
        if left_bits < needed_bits {
            return Err(Error::BudgetTooLow { left_bits, needed_bits });
        }
        Ok(())
    }

    /// At the top level: times R, the product of the primes that it does not have. Phase, f and
    /// noise are multiplied, and what the phase had of multiples of Q / R becomes multiples of Q.
    fn raised(&self, ct: &Ciphertext<S, B>) -> Result<Ciphertext<S, B>> {
        let params = self.params.params();
        let (model, moduli) = (params.noise(), params.rlwe().ring().q_moduli());
        let (primes, all) = (ct.meta.primes, moduli.len());
        if primes == all {
            return ct.duplicate();
        }
        let missing = &moduli[primes..];
        // Zero modulo the missing ones.
        let factors: Vec<u64> = moduli.iter().map(|q| q.product_of(missing)).collect();
        let mut pair = ct.pair.map(|part| part.padded_chain(all))?;
        pair.c.iter_mut().try_for_each(|part| part.scale_assign(&factors))?;
        let t = params.plain().modulus();
        let meta = Meta {
            primes: all,
            correction_factor: t.mul(ct.meta.correction_factor, t.product_of(missing)),
            noise: ct.meta.noise.scale(model.log_q(all) - model.log_q(primes)),
            ..ct.meta
        };
        Ok(Ciphertext::with_meta(pair, meta))
    }

    /// One bootstrap: G w is what is refreshed, for the greatest G = 2^g that the budget leaves
    /// room for, and what comes of it is multiplied by Q / (q_0 t G gain), to be w / t.
    fn subtract_noise(&self, ct: &mut Ciphertext<S, B>, keys: &BootstrapKeys<B>) -> Result<()> {
        let params = self.params.params();
        let moduli = params.rlwe().ring().q_moduli();
        let (spare, greatest) = (self.budget(ct) - self.params.needed_budget(), self.params.greatest_shift());
        let shift = spare.min(greatest).max(0.0) as u32;
        let t = params.plain().value();
        let by: Vec<u64> = moduli.iter().map(|q| q.mul(q.reduce(t), q.pow(2, shift.into()))).collect();
        let mut small = ct.pair.duplicate()?;
        small.c.iter_mut().try_for_each(|part| part.scale_assign(&by))?;
        let refreshed = self.circuit.refresh_coefficients(&small.mod_down(1)?, keys)?;
        let factor = self.factor(shift);
        let minus: Vec<u64> =
            moduli.iter().map(|q| q.neg((&factor % q.value()).try_into().unwrap_or(0))).collect();
        for (part, noise) in ct.pair.c.iter_mut().zip(&refreshed.c) {
            part.scale_add_assign(noise, &minus)?;
        }
        ct.pair.key_set = refreshed.key_set.or(ct.pair.key_set);
        ct.meta.noise = self.left(&factor);
        Ok(())
    }

    /// Q / (q_0 t 2^shift gain), to the nearest integer.
    fn factor(&self, shift: u32) -> BigUint {
        /// The bits of the gain's inverse, of which its double has fewer.
        const PRECISION: u32 = 60;
        let ring = self.params.params().rlwe().ring();
        let numerator: BigUint = ring.q()[1..].iter().map(|&q| BigUint::from(q)).product();
        let inverse = (libm::exp2(PRECISION.into()) / self.params.circuit().coefficient_gain() + 0.5) as u64;
        let denominator = BigUint::from(self.params.params().plain().value()) << (shift + PRECISION);
        (numerator * inverse + (&denominator >> 1u32)) / denominator
    }

    /// The noise that is left: the error of the bootstrap, what rounding its factor leaves of a
    /// message, and the rounding of [f m]_t / t.
    fn left(&self, factor: &BigUint) -> Noise {
        let (rms, peak) = self.params.error();
        let scale = libm::log2(self.params.circuit().output_scale());
        let factor_log2 = log2(factor);
        let bits = |error: f64| log_add(log_add(libm::log2(error) + factor_log2, -1.0) + scale, -1.0);
        Noise { rms_log2: bits(rms), peak_log2: bits(peak), degree: 1 }
    }
}
