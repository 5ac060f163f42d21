//! Decryptions that fill the modulus, as a wrong secret key leaves them.

use crate::error::{Error, Result};
use crate::reveal;
use num_complex::Complex64;

/// Vectors of fewer slots have too few coefficients to distinguish uniform ones from others.
const LEAST_SLOTS: usize = 64;

/// Refuses decoded vectors of 64 slots and more whose coefficients fill the modulus Q = 2^log_q.
///
/// A wrong secret key, a damaged ciphertext and values that have wrapped around Q in most
/// coefficients leave phases that are uniform modulo Q, with a mean square of Q^2 / 12. Values z_j
/// of magnitude Q / (2 S) at most, which the range of the parameters promises to hold, leave
/// coefficients whose squares sum to S^2 sum_j |z_j|^2 / n <= Q^2 / 4, over 2 n coefficients for n
/// slots (Parseval). A mean square above Q^2 / 64 is refused. This never refuses values within the
/// range, nor values that are sqrt(n / 8) times as large without wrapping, and it accepts uniform
/// phases only with probability below 2^(-0.42 n) (Hoeffding: 2 n squares in `[0, Q^2 / 4]`, 0.068
/// Q^2 below their mean).
///
/// It cannot detect wrong keys on vectors of few slots, or values beyond the range that wrap in few
/// coefficients, as constants do in one.
///
/// # Errors
/// [`Error::NotDecrypted`] for the first such vector. There is one comparison per vector; the sums
/// take the same time for all values.
pub(crate) fn check_not_filled(vectors: &[Vec<Complex64>], scale_log2: f64, log_q: f64) -> Result<()> {
    vectors.iter().filter(|values| values.len() >= LEAST_SLOTS).try_for_each(|values| {
        let squares = values.iter().map(|z| z.re * z.re + z.im * z.im).sum();
        check_squares(squares, values.len(), scale_log2, log_q)
    })
}

/// The same for the decoded coefficients of whole polynomials.
///
/// # Errors
/// The same as for [`check_not_filled`].
pub(crate) fn check_coefficients_not_filled(
    polynomials: &[Vec<f64>],
    scale_log2: f64,
    log_q: f64,
) -> Result<()> {
    polynomials.iter().filter(|coefficients| coefficients.len() >= 2 * LEAST_SLOTS).try_for_each(|c| {
        let slots = c.len() / 2;
        let squares: f64 = c.iter().map(|c| c * c).sum();
        check_squares(squares * slots as f64, slots, scale_log2, log_q)
    })
}

/// Checks the sum of the squared magnitudes of a vector's slots.
fn check_squares(squares: f64, slots: usize, scale_log2: f64, log_q: f64) -> Result<()> {
    let (limit_log2, count_log2) = (log_q - 3.0, libm::log2(slots as f64));
    // Sums that overflow, to infinity or to NaN, are refused whatever the limit.
    let most = libm::exp2(2.0 * (limit_log2 - scale_log2 + count_log2) + 1.0).min(f64::MAX);
    if reveal::bit(squares <= most) {
        return Ok(());
    }
    let found_log2 = (libm::log2(squares) - 1.0) / 2.0 - count_log2 + scale_log2;
    Err(Error::NotDecrypted { found_log2, limit_log2 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_is_accepted_and_a_full_modulus_refused() {
        for slots in [1usize, 2, 8, 64, 4096] {
            let largest = vec![vec![Complex64::new(0.0, -32768.0); slots]];
            assert!(check_not_filled(&largest, 30.0, 46.0).is_ok(), "{slots} slots");
            // Uniform coefficients of root mean square Q / sqrt(12) leave slots sqrt(2 n) times
            // that.
            let uniform = 46f64.exp2() / 12f64.sqrt() * (2.0 * slots as f64).sqrt() / 30f64.exp2();
            let filled = vec![largest[0].clone(), vec![Complex64::new(uniform, 0.0); slots]];
            let found = check_not_filled(&filled, 30.0, 46.0);
            assert_eq!(found.is_err(), slots >= 64, "{slots} slots: {found:?}");
        }
        for (n, root_log2, refused) in [(64, 46.0, false), (128, 45.0, true), (128, 42.9, false)] {
            let uniform = vec![f64::exp2(root_log2 - 30.0); n];
            let found = check_coefficients_not_filled(&[uniform], 30.0, 46.0);
            assert_eq!(found.is_err(), refused, "{n} coefficients of 2^{root_log2}: {found:?}");
        }
        for value in [f64::INFINITY, f64::NAN] {
            assert!(check_not_filled(&[vec![Complex64::new(value, 0.0); 64]], 30.0, 46.0).is_err());
        }
        assert!(check_not_filled(&[vec![Complex64::ZERO; 64]], 30.0, 46.0).is_ok());
    }
}
