//! The predicted errors of scores.

use he_core::ring::ERROR_VARIANCE;

/// The standard deviations that a bound holds: a normal variable exceeds them with probability
/// 10^-15.
const DEVIATIONS: f64 = 8.0;

/// The variance per coefficient of a rounding to an integer in both parts of a ciphertext, whose
/// second is multiplied by a uniform ternary secret.
fn rounding(n: f64) -> f64 {
    (1.0 + 2.0 * n / 3.0) / 12.0
}

/// Eight deviations of a score's error: those of the constants into which the query expands, of
/// the columns, and of the division that ends the product, at this scale. The widest digits of key
/// switching have `digit_log2` bits less than the special primes.
///
/// A round of the expansion doubles the variance of a coefficient on average, since half of them
/// double and the others vanish, and adds that of a key switch. A record of norm one multiplies the
/// errors of independent constants.
fn error(log_n: u32, coefficients: usize, scale_log2: f64, digits: f64, digit_log2: f64) -> f64 {
    let n = f64::from(log_n).exp2();
    let switched = rounding(n) + digits * n * ERROR_VARIANCE * (2.0 * digit_log2).exp2() / 12.0;
    let expanded = (coefficients.next_power_of_two() - 1) as f64 * switched;
    let coefficient = expanded + 2.0 * ERROR_VARIANCE + 2.0 * rounding(n);
    DEVIATIONS * libm::sqrt(0.5 * n * coefficient) / scale_log2.exp2()
}

/// The error of a score under the parameters of matches: primes of 34 bits, three to a digit, and
/// special ones of 108 bits together.
pub(crate) fn score_error(log_n: u32, coefficients: usize) -> f64 {
    error(log_n, coefficients, 34.0, 4.0, -6.0)
}

/// The error of a score under the parameters of rankings: a digit of 90 bits, special primes of
/// 104.
pub(crate) fn ranking_error(log_n: u32, coefficients: usize) -> f64 {
    error(log_n, coefficients, 40.0, 1.0, -14.0)
}
