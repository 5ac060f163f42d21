//! The paper's bounds on noise, and exact variances.

use super::BigCkksParams;
use crate::ckks::NoiseEstimate;
use crate::ring::ERROR_VARIANCE;
use crate::rlwe::noise::{clean_bound, rounding_bound};

/// The noise of operations. The `*_bound` functions are the lemmas of the paper (section 3.4 and
/// appendix), high-probability bounds on the canonical embedding norm in units of 1 / scale, for
/// the deviation sigma, the weight h of the secret and the variance of the ephemeral secret that
/// are used here; the `*_variance` functions are variances of a coefficient.
#[derive(Clone, Copy, Debug)]
pub struct Noise {
    n: f64,
    weight: f64,
    log_p: u32,
    digit_bits: u32,
}

/// The variance of uniform ternary coefficients.
const TERNARY_VARIANCE: f64 = 2.0 / 3.0;

impl Noise {
    /// For parameters.
    pub fn new(params: &BigCkksParams) -> Self {
        let (spec, weight) = (params.spec(), params.secret_weight());
        Self { n: params.ring().n() as f64, weight, log_p: spec.log_p, digit_bits: spec.digit_bits }
    }

    /// Only for fresh encryptions, with a uniform ternary secret.
    pub(crate) fn of_degree(log_n: u32) -> Self {
        let n = f64::from(log_n).exp2();
        Self { n, weight: TERNARY_VARIANCE * n, log_p: 0, digit_bits: 0 }
    }

    /// B_clean = 16 sigma sqrt(V) N + 6 sigma sqrt(N) + 16 sigma sqrt(h N), with V the variance of
    /// v (the paper's 1/2 gives 8 sqrt(2) sigma N).
    pub fn clean_bound(&self) -> f64 {
        clean_bound(self.n, self.weight, 1.0)
    }

    /// B_rs = sqrt(N / 3) (3 + 8 sqrt(h)).
    pub fn rescale_bound(&self) -> f64 {
        rounding_bound(self.n, self.weight)
    }

    /// P^-1 q B_ks + B_rs with B_ks = 8 sigma N / sqrt(3), for digits of q = 2^w, and sqrt(D) times
    /// that for D digits.
    pub fn key_switch_bound(&self, digits: usize) -> f64 {
        let switch = 8.0 * ERROR_VARIANCE.sqrt() * self.n / 3f64.sqrt();
        switch * (digits as f64).sqrt() * self.digit_ratio() + self.rescale_bound()
    }

    fn digit_ratio(&self) -> f64 {
        (f64::from(self.digit_bits) - f64::from(self.log_p)).exp2()
    }

    /// The variance of v e + e0 + e1 s: sigma^2 (V N + 1 + h).
    pub fn fresh_variance(&self) -> f64 {
        ERROR_VARIANCE * (TERNARY_VARIANCE * self.n + 1.0 + self.weight)
    }

    /// The variance of the roundings of both parts: (1 + h) / 12.
    pub fn rescale_variance(&self) -> f64 {
        (1.0 + self.weight) / 12.0
    }

    /// The variance of a key switch of D digits: D N 2^(2w) / 12 sigma^2 / P^2, and the roundings.
    pub fn key_switch_variance(&self, digits: usize) -> f64 {
        let digit = self.digit_ratio().powi(2) / 12.0;
        digits as f64 * self.n * digit * ERROR_VARIANCE + self.rescale_variance()
    }

    /// N.
    pub(crate) fn n(&self) -> f64 {
        self.n
    }

    /// The estimate of a plaintext's encryption by public key.
    pub(crate) fn encrypted(&self, plain: NoiseEstimate) -> NoiseEstimate {
        with(plain, self.fresh_variance(), self.clean_bound())
    }

    /// The estimate after a division by 2^bits.
    pub(crate) fn divided(&self, noise: NoiseEstimate, bits: u32) -> NoiseEstimate {
        with(noise.shifted(-f64::from(bits)), self.rescale_variance(), self.rescale_bound())
    }

    /// The estimate after a key switch of D digits.
    pub(crate) fn key_switched(&self, noise: NoiseEstimate, digits: usize) -> NoiseEstimate {
        with(noise, self.key_switch_variance(digits), self.key_switch_bound(digits))
    }

    /// log2 of six standard deviations of the real part of a slot of a fresh encryption, where a
    /// slot sums N coefficients at random phases.
    pub(crate) fn fresh_slot_log2(&self) -> f64 {
        libm::log2(6.0 * (self.fresh_variance() * self.n / 2.0).sqrt())
    }
}

/// The estimate with additional noise of this variance and of at most this magnitude at the roots.
fn with(noise: NoiseEstimate, variance: f64, peak: f64) -> NoiseEstimate {
    noise.with(libm::log2(variance) / 2.0, libm::log2(peak))
}
