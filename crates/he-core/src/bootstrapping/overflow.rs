//! The probabilities of the integers that the modular reduction has to remove.

use num_bigint::{BigInt, BigUint};

/// log2 of the probability that the sum of `summands` uniform numbers in \[-1/2, 1/2) exceeds
/// `halves` / 2: the tail of the Irwin-Hall distribution, exact before the logarithm. It is minus
/// infinity where no sum is so large.
///
/// After ModRaise, every coefficient of the integer polynomial I is such a sum of h + 1 numbers, h
/// being the weight of the sparse secret, rounded: |I| reaches i where the sum exceeds i - 1/2.
///
/// ```
/// use he_core::bootstrapping::log2_tail;
/// // For a secret of weight 32, 2^16 coefficients and both signs: no sum exceeds 16 in 2^138 runs.
/// assert!((17.0 + log2_tail(33, 32) + 138.7).abs() < 0.1);
/// ```
pub fn log2_tail(summands: u32, halves: u32) -> f64 {
    // P = 1 / (m! 2^m) sum_k (-1)^k C(m, k) (a - 2 k)^m over 2 k < a, where a = m - halves.
    let Some(a) = summands.checked_sub(halves).filter(|&a| a > 0) else { return f64::NEG_INFINITY };
    let (mut sum, mut binomial) = (BigInt::ZERO, BigInt::from(1));
    for k in 0..a.div_ceil(2) {
        let term = &binomial * BigInt::from(a - 2 * k).pow(summands);
        sum += if k % 2 == 0 { term } else { -term };
        binomial = binomial * (summands - k) / (k + 1);
    }
    let factorial: BigUint = (1..=summands).map(BigUint::from).product();
    log2(sum.magnitude()) - log2(&factorial) - f64::from(summands)
}

/// log2 of the probability that the integer at a coefficient is `i` or `-i`.
pub(super) fn log2_integer(summands: u32, i: u32) -> f64 {
    let tail = |halves: u32| libm::exp2(log2_tail(summands, halves));
    match i {
        0 => libm::log2(1.0 - 2.0 * tail(1)),
        _ => libm::log2(2.0 * (tail(2 * i - 1) - tail(2 * i + 1))),
    }
}

/// log2 of a positive integer; its leading 64 bits decide.
pub(crate) fn log2(x: &BigUint) -> f64 {
    let shift = x.bits().saturating_sub(64);
    let leading = (x >> shift).iter_u64_digits().next().unwrap_or(0);
    libm::log2(leading as f64) + shift as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bounds for a union over 2^16 coefficients at weight 32: the values that Lattigo and OpenFHE
    /// state for K = 16, and those of ESTIMATES for integers, which start half a unit earlier.
    #[test]
    fn tails_are_those_published() {
        for (bound, expected) in [(12.0, -34.1), (13.0, -46.1), (14.0, -62.1), (15.0, -86.4), (16.0, -138.7)]
        {
            let found = 17.0 + log2_tail(33, (2.0 * bound) as u32);
            assert!((found - expected).abs() < 0.1, "{bound}: {found}");
        }
        for (integer, expected) in [(16, -105.7), (15, -72.7), (14, -53.4), (13, -39.7), (12, -29.1)] {
            let found = 17.0 + log2_tail(33, 2 * integer - 1);
            assert!((found - expected).abs() < 0.1, "{integer}: {found}");
        }
        assert_eq!(log2_tail(33, 33), f64::NEG_INFINITY);
        assert!((log2_tail(1, 0) + 1.0).abs() < 1e-12);
        // Two uniforms: a triangle, of which an eighth lies above 1/2.
        assert!((log2_tail(2, 1) + 3.0).abs() < 1e-12);
    }

    #[test]
    fn integers_have_probability_one() {
        for summands in [2, 5, 33, 65] {
            let total: f64 = (0..=summands / 2 + 1).map(|i| libm::exp2(log2_integer(summands, i))).sum();
            assert!((total - 1.0).abs() < 1e-9, "{summands}: {total}");
        }
    }
}
