//! The deviation of digits and the probability that a word is wrong, from the parameters alone.
//!
//! Slots of fresh ciphertexts have an error whose real and imaginary parts have variance s^2 = N/2
//! (10.5 + 1/12): errors of coefficients, and their rounding. With scales S and S' of the factors,
//! the error of digit m of a product is a sum over the slots j of its weights w_j times x_j e'_j /
//! S' + y_j e_j / S, of variance s^2 (sum |w_j x_j|^2 / S'^2 + sum |w_j y_j|^2 / S^2), which
//! [`Norms`] bounds for all words. The product of both errors, the key switch and the roundings add
//! variances of their own. All of these are sums of many independent bounded terms that are
//! sub-Gaussian with their variance, so that the probability of reaching 1/2 is at most 2 exp(-1 /
//! (8 variance)).
//!
//! A coefficient of the product is a sum over N/2 slots, each times a number that is uniform on the
//! circle (`phases`): sub-Gaussian with the mean square of the slots divided by N as its
//! variance. Sums of c products have c times these deviations, whether the products are independent
//! or not.

use super::digit_ring::Norms;
use crate::ring::ERROR_VARIANCE;
use crate::rlwe::RlweParams;
use crate::rlwe::noise::{key_switch_log2, log_add, rounding_log2};

/// log2 of the greatest probability that parameters may have that a word decrypts wrongly.
pub const FAILURE_LIMIT_LOG2: f64 = -40.0;
/// log2 of the probability below which parameters are chosen.
pub const FAILURE_TARGET_LOG2: f64 = -64.0;
/// log2 of the probability that a coefficient of a ciphertext wraps around, by which scales are
/// chosen: small beside the target.
const WRAP_LOG2: f64 = -70.0;

/// The errors of one set of parameters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Noise {
    n: f64,
    q: f64,
    terms: f64,
    norms: Norms,
    /// The variance that a key switch adds to a coefficient.
    switch: f64,
    /// The variance that rounding a pair adds to a coefficient.
    rounding: f64,
}

impl Noise {
    /// For sums of so many products.
    pub(super) fn new(rlwe: &RlweParams, norms: Norms, terms: u32) -> Self {
        let (n, q) = (rlwe.ring().n() as f64, rlwe.ring().q()[0] as f64);
        let log_p = rlwe.ring().p().iter().map(|&p| libm::log2(p as f64)).sum();
        let switch = key_switch_log2(n, &[0.0, libm::log2(q)], log_p, rlwe.digits(), 1);
        let rounding = libm::exp2(2.0 * rounding_log2(n));
        Self { n, q, terms: f64::from(terms), norms, switch: libm::exp2(2.0 * switch) + rounding, rounding }
    }

    /// The greatest scales of multiplicands and multipliers, in steps of 2^(1/16), at which
    /// products stay within the modulus and both factors add the same error.
    #[expect(clippy::disallowed_methods, reason = "parameters are public")]
    pub(super) fn scales(&self) -> [f64; 2] {
        let deviations = libm::sqrt(2.0 * (1.0 + libm::log2(self.n) - WRAP_LOG2) * core::f64::consts::LN_2);
        let product = libm::log2(self.q / 2.0 / (deviations * self.peak_deviation(1.0)));
        let ratio = libm::log2(self.norms.multiplier / self.norms.multiplicand) / 2.0;
        [(product + ratio) / 2.0, (product - ratio) / 2.0].map(|log| libm::exp2((16.0 * log).floor() / 16.0))
    }

    /// The deviation of a coefficient of a sum of products at a scale.
    fn peak_deviation(&self, scale: f64) -> f64 {
        self.terms * scale * libm::sqrt(self.norms.product / self.n)
    }

    /// The variance of a digit from errors of this variance in the coefficients of a product at a
    /// scale.
    fn digit(&self, coefficient: f64, scale: f64) -> f64 {
        coefficient * self.n / 2.0 / (scale * scale) * self.norms.weights
    }

    /// The bound on the deviation of digits of a sum of products before it is reduced.
    pub(super) fn product_deviation(&self, [left, right]: [f64; 2]) -> f64 {
        let slot = self.n / 2.0 * (ERROR_VARIANCE + 1.0 / 12.0);
        let linear =
            slot * (self.norms.multiplicand / (right * right) + self.norms.multiplier / (left * left));
        let scale = left * right;
        let both = 2.0 * slot * slot / (scale * scale) * self.norms.weights;
        self.terms * libm::sqrt(linear + both + self.digit(self.switch, scale))
    }

    /// The same after the reduction to so many bits.
    pub(super) fn reduced_deviation(&self, scales: [f64; 2], result_bits: u32) -> f64 {
        let scale = scales[0] * scales[1] / self.q * libm::exp2(f64::from(result_bits));
        let product = self.product_deviation(scales);
        libm::sqrt(product * product + self.digit(self.rounding, scale))
    }

    /// log2 of a bound on the probability that a word of a reduced sum of products is wrong.
    pub(super) fn failure_log2(&self, bits: u32, scales: [f64; 2], result_bits: u32) -> f64 {
        let reaches = |distance: f64, deviation: f64, count: f64| {
            let sigmas = distance / deviation;
            libm::log2(2.0 * count) - sigmas * sigmas / (2.0 * core::f64::consts::LN_2)
        };
        let digits = reaches(0.5, self.reduced_deviation(scales, result_bits), f64::from(bits));
        let peak = self.peak_deviation(scales[0] * scales[1]);
        log_add(digits, reaches(self.q / 2.0, peak, self.n))
    }
}
