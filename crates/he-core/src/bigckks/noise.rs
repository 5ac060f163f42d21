//! What the paper says about noise, and exact variances.

use super::BigCkksParams;
use crate::ring::ERROR_VARIANCE;

/// Noise of the operations. The `*_bound` functions are the lemmas of the paper (section 3.4 and appendix), high-probability bounds on
/// the canonical embedding norm in units of 1 / scale, for the deviation sigma, the weight h of the secret and the variance of the
/// ephemeral secret that are in use here; the `*_variance` functions are variances of a coefficient.
#[derive(Clone, Copy, Debug)]
pub struct Noise {
    n: f64,
    weight: f64,
    log_p: u32,
    digit_bits: u32,
}

/// Variance of uniform ternary coefficients.
const TERNARY_VARIANCE: f64 = 2.0 / 3.0;

impl Noise {
    /// For parameters.
    pub fn new(params: &BigCkksParams) -> Self {
        let (spec, weight) = (params.spec(), params.secret_weight());
        Self { n: params.ring().n() as f64, weight, log_p: spec.log_p, digit_bits: spec.digit_bits }
    }

    /// For fresh encryptions alone, with a uniform ternary secret.
    pub(crate) fn of_degree(log_n: u32) -> Self {
        let n = f64::from(log_n).exp2();
        Self { n, weight: TERNARY_VARIANCE * n, log_p: 0, digit_bits: 0 }
    }

    /// B_clean = 16 sigma sqrt(V) N + 6 sigma sqrt(N) + 16 sigma sqrt(h N), V the variance of v (the paper's 1/2 gives 8 sqrt(2) sigma N).
    pub fn clean_bound(&self) -> f64 {
        let sigma = ERROR_VARIANCE.sqrt();
        16.0 * sigma * TERNARY_VARIANCE.sqrt() * self.n
            + 6.0 * sigma * self.n.sqrt()
            + 16.0 * sigma * (self.weight * self.n).sqrt()
    }

    /// B_rs = sqrt(N / 3) (3 + 8 sqrt(h)).
    pub fn rescale_bound(&self) -> f64 {
        (self.n / 3.0).sqrt() * (3.0 + 8.0 * self.weight.sqrt())
    }

    /// P^-1 q B_ks + B_rs with B_ks = 8 sigma N / sqrt(3), for digits of q = 2^w, sqrt(D) times for D of them.
    pub fn key_switch_bound(&self, digits: usize) -> f64 {
        let switch = 8.0 * ERROR_VARIANCE.sqrt() * self.n / 3f64.sqrt();
        switch * (digits as f64).sqrt() * self.digit_ratio() + self.rescale_bound()
    }

    fn digit_ratio(&self) -> f64 {
        (f64::from(self.digit_bits) - f64::from(self.log_p)).exp2()
    }

    /// Of v e + e0 + e1 s: sigma^2 (V N + 1 + h).
    pub fn fresh_variance(&self) -> f64 {
        ERROR_VARIANCE * (TERNARY_VARIANCE * self.n + 1.0 + self.weight)
    }

    /// Of the roundings of both parts: (1 + h) / 12.
    pub fn rescale_variance(&self) -> f64 {
        (1.0 + self.weight) / 12.0
    }

    /// Of a key switch of D digits: D N 2^(2w) / 12 sigma^2 / P^2, and the roundings.
    pub fn key_switch_variance(&self, digits: usize) -> f64 {
        let digit = self.digit_ratio().powi(2) / 12.0;
        digits as f64 * self.n * digit * ERROR_VARIANCE + self.rescale_variance()
    }

    /// log2 of six standard deviations of the real part of a slot of a fresh encryption: a slot sums N coefficients at random phases.
    pub(crate) fn fresh_slot_log2(&self) -> f64 {
        libm::log2(6.0 * (self.fresh_variance() * self.n / 2.0).sqrt())
    }
}
