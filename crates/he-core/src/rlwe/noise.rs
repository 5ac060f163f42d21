//! The noise of encryptions, roundings and key switches in every ring-LWE scheme: root mean squares
//! of a coefficient, as logarithms to base 2, for secrets that are the sum of uniform ternary ones
//! of one or several parties.

use crate::ring::ERROR_VARIANCE;
use std::ops::Range;

/// A sum of many independent terms is assumed to be at most this many times its root mean square.
pub const TAIL: f64 = 8.0;

/// log2(2^a + 2^b).
pub(crate) fn log_add(a: f64, b: f64) -> f64 {
    // This also holds for two zeros, whose logarithms have no difference.
    if a == b {
        return a + 1.0;
    }
    a.max(b) + libm::log2(1.0 + libm::exp2(-(a - b).abs()))
}

/// The squared norm of the secret of k parties, on average: k 2N/3.
pub(crate) fn mean_weight(n: f64, parties: f64) -> f64 {
    parties * 2.0 * n / 3.0
}

/// The noise of an encryption by the public key of k parties: e v + e0 + e1 s, where the key's
/// error e and the secret s are sums of k; a variance of 10.5 (1 + k 4N/3).
pub(crate) fn public_log2(n: f64, parties: f64) -> f64 {
    libm::log2(ERROR_VARIANCE * (1.0 + parties * 4.0 * n / 3.0)) / 2.0
}

/// By how much the errors of a Galois key of k parties exceed those of one: their variance is k
/// 10.5.
pub(crate) fn galois_excess_log2(parties: f64) -> f64 {
    libm::log2(parties) / 2.0
}

/// By how much the errors of a relinearisation key of k parties exceed those of one party: its
/// errors s e0 + u e1 + e have a variance of k 10.5 (1 + k 4N/3) (`mhe::RelinearisationRound2`).
pub(crate) fn relinearisation_excess_log2(n: f64, parties: f64) -> f64 {
    let generated = if parties > 1.0 { 1.0 + parties * 4.0 * n / 3.0 } else { 1.0 };
    libm::log2(parties * generated) / 2.0
}

/// The noise of an encryption by secret key: variance 10.5.
pub(crate) fn secret_log2() -> f64 {
    libm::log2(ERROR_VARIANCE) / 2.0
}

/// The noise of the rounding of a pair: variance (1 + 2N/3) / 12.
pub(crate) fn rounding_log2(n: f64) -> f64 {
    weighted_rounding_log2(mean_weight(n, 1.0))
}

/// The noise of the rounding of a pair for a secret of weight h: variance (1 + h) / 12.
pub(crate) fn weighted_rounding_log2(weight: f64) -> f64 {
    libm::log2((1.0 + weight) / 12.0) / 2.0
}

/// The noise of a key switch over the first `primes` primes, without its rounding: digits of size
/// D_j against errors, divided by P, a variance of N 10.5 / 12 sum_j D_j^2 / P^2. `log_q[i]` is
/// log2 of the product of the first i primes.
pub(crate) fn key_switch_log2(
    n: f64,
    log_q: &[f64],
    log_p: f64,
    digits: &[Range<usize>],
    primes: usize,
) -> f64 {
    let squares = digits
        .iter()
        .filter(|digit| digit.start < primes)
        .map(|digit| 2.0 * (log_q[digit.end.min(primes)] - log_q[digit.start]))
        .fold(f64::NEG_INFINITY, log_add);
    (squares + libm::log2(n * ERROR_VARIANCE / 12.0)) / 2.0 - log_p
}

/// The greatest |e(z)| over the roots z of X^N + 1 for an encryption by public key, with high
/// probability: B_clean of Cheon, Kim, Kim, Song, *Homomorphic Encryption for Arithmetic of
/// Approximate Numbers* (Asiacrypt 2017, appendix), 16 sigma sqrt(2/3) N + 6 sigma sqrt(N) + 16
/// sigma sqrt(h N), for a secret of weight h; the first term grows with the error of the public
/// key, sqrt(k) sigma for k parties.
pub(crate) fn clean_bound(n: f64, weight: f64, parties: f64) -> f64 {
    let sigma = libm::sqrt(ERROR_VARIANCE);
    16.0 * sigma * libm::sqrt(parties * 2.0 / 3.0) * n
        + 6.0 * sigma * libm::sqrt(n)
        + 16.0 * sigma * libm::sqrt(weight * n)
}

/// The greatest |e(z)| for the rounding of a pair: B_rs = sqrt(N / 3) (3 + 8 sqrt(h)).
pub(crate) fn rounding_bound(n: f64, weight: f64) -> f64 {
    libm::sqrt(n / 3.0) * (3.0 + 8.0 * libm::sqrt(weight))
}
