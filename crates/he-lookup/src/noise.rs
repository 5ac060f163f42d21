//! The noise of an answer, as variances in units of the square of the modulus, and the probability
//! that it changes a byte.
//!
//! Rounding errors are uniform and errors of the encryption centred binomial. Both are strictly
//! sub-Gaussian: the tails of their weighted sums are below those of a Gaussian of the same
//! variance, 2 exp(-x^2 / 2 v), whatever the weights. Bytes of the database are weights and taken
//! at their worst, 128; digits of masks are pseudorandom and taken at their variance.

use he_core::ring::ERROR_VARIANCE;

/// The variance of a rounding error, in units of the square of the step.
const ROUNDING: f64 = 1.0 / 12.0;

/// The mean square of a coefficient of a secret.
const SECRET: f64 = 2.0 / 3.0;

/// The greatest weight of a coefficient of a query.
const WORST_BYTE: f64 = 128.0;

/// Half of the distance between two bytes, without what the roundings of the scale and of the
/// modulus take of it.
const HALF_STEP: f64 = (1.0 - 1.0 / 1024.0) / 512.0;

/// The failures that are allowed: at most one record in 2^40.
pub(crate) const LOG2_FAILURE: f64 = -40.0;

fn power(bits: f64) -> f64 {
    libm::exp2(bits)
}

/// The noise of `columns` coefficients of a query of `bits` bits.
pub(crate) fn query(columns: usize, bits: u32, log_q: f64) -> f64 {
    let each = ROUNDING * power(-2.0 * f64::from(bits)) + ERROR_VARIANCE * power(-2.0 * log_q);
    columns as f64 * WORST_BYTE * WORST_BYTE * each
}

/// The noise of N - 1 key switches of N coefficients, with digits in units of 2^`log_unit`.
pub(crate) fn packing(n: usize, log_unit: u32, log_q: f64) -> f64 {
    let products = (n * n) as f64;
    let unit = 2.0 * f64::from(log_unit);
    // A digit is uniform in an interval of length q / 2^log_unit, and leaves a remainder uniform in
    // one of length 2^log_unit.
    products * ROUNDING * (ERROR_VARIANCE * power(-unit) + SECRET * power(unit - 2.0 * log_q))
}

/// The noise of the rounding of a mask to `bits` bits.
pub(crate) fn mask(n: usize, bits: u32) -> f64 {
    n as f64 * SECRET * ROUNDING * power(-2.0 * f64::from(bits))
}

/// The noise of the rounding of a body to `bits` bits.
pub(crate) fn body(bits: u32) -> f64 {
    ROUNDING * power(-2.0 * f64::from(bits))
}

/// log2 of a bound on the probability that one of `bytes` bytes changes.
pub(crate) fn log2_failure(variance: f64, bytes: usize) -> f64 {
    let exponent = HALF_STEP * HALF_STEP / (2.0 * variance);
    let bound = 1.0 + libm::log2(bytes as f64) - exponent * std::f64::consts::LOG2_E;
    bound.min(0.0)
}

/// The greatest variance with the failures that are allowed.
pub(crate) fn greatest(bytes: usize) -> f64 {
    let exponent = (1.0 + libm::log2(bytes as f64) - LOG2_FAILURE) * std::f64::consts::LN_2;
    HALF_STEP * HALF_STEP / (2.0 * exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_variance_has_the_failures_that_are_allowed() {
        for bytes in [1, 64, 1 << 20] {
            let variance = greatest(bytes);
            assert!((log2_failure(variance, bytes) - LOG2_FAILURE).abs() < 1e-9);
            assert!(log2_failure(variance * 1.01, bytes) > LOG2_FAILURE);
        }
    }
}
