//! Uniform words, binary secrets and errors over the torus from a seed, by the rules of
//! [`ring`](crate::ring): every row has a ChaCha20 stream of its own, elements take a fixed number
//! of bytes, nothing is rejected, and the time does not depend on the value of a secret.
//!
//! **Errors** are `c step + d`: c centred binomial of 42 bits (variance 21/2), d uniform on `step`
//! consecutive integers around zero, `step` = sigma / sqrt(21/2 + 1/12). The sum of these two
//! independent variables is close to a rounded Gaussian, has variance sigma^2, is bounded by 6.6
//! sigma, and needs only integers.

use crate::ring::{Seed, for_each_element, ternary};

/// The variance of an error in units of its squared step: 21/2 + 1/12.
const STEP_VARIANCE: f64 = 10.5 + 1.0 / 12.0;

/// The purpose of a stream. The numbers continue those of the ring's samplers.
#[derive(Clone, Copy)]
pub(super) enum Row {
    /// Mask of row `0` of the bootstrapping key.
    BootstrapMask(u32),
    /// Error of that row.
    BootstrapError(u32),
    /// Mask of row `0` of the switching key.
    SwitchMask(u32),
    /// Error of that row.
    SwitchError(u32),
    /// Mask of ciphertext `0`.
    Mask(u32),
    /// Error of ciphertext `0`.
    Error(u32),
    /// The small secret.
    LweSecret,
    /// The large secret.
    GlweSecret,
    /// Mask of row `0` of the key of circuit bootstrapping.
    CircuitMask(u32),
    /// Error of that row.
    CircuitError(u32),
    /// Mask of row `0` of the public key.
    PublicMask(u32),
    /// Error of that row.
    PublicError(u32),
    /// The factors of an encryption by the public key: those of group `0` of ciphertexts.
    Factors(u32),
    /// Errors of such an encryption: polynomial `0`, counted over the groups.
    FactorsError(u32),
}

impl Row {
    fn stream(self) -> u64 {
        let (kind, index) = match self {
            Self::BootstrapMask(index) => (16, index),
            Self::BootstrapError(index) => (17, index),
            Self::SwitchMask(index) => (18, index),
            Self::SwitchError(index) => (19, index),
            Self::Mask(index) => (20, index),
            Self::Error(index) => (21, index),
            Self::LweSecret => (22, 0),
            Self::GlweSecret => (23, 0),
            Self::CircuitMask(index) => (24, index),
            Self::CircuitError(index) => (25, index),
            Self::PublicMask(index) => (26, index),
            Self::PublicError(index) => (27, index),
            Self::Factors(index) => (28, index),
            Self::FactorsError(index) => (29, index),
        };
        kind << 56 | u64::from(index)
    }
}

fn for_each<const WIDTH: usize>(seed: &Seed, row: Row, count: usize, f: impl FnMut(usize, [u8; WIDTH])) {
    for_each_element(seed, row.stream(), 0, count, f);
}

/// Uniform words.
pub(super) fn uniform_row(seed: &Seed, row: Row, out: &mut [u64]) {
    for_each(seed, row, out.len(), |i, bytes| out[i] = u64::from_le_bytes(bytes));
}

/// Uniform words of 32 bits.
pub(super) fn uniform_row_32(seed: &Seed, row: Row, out: &mut [u32]) {
    for_each(seed, row, out.len(), |i, bytes| out[i] = u32::from_le_bytes(bytes));
}

/// Uniform bits.
pub(super) fn binary_row(seed: &Seed, row: Row, out: &mut [u64]) {
    for_each::<4>(seed, row, out.len(), |i, bytes| out[i] = u64::from(bytes[0] & 1));
}

/// Uniform words of {-1, 0, 1}, in two's complement.
pub(super) fn ternary_row(seed: &Seed, row: Row, out: &mut [u64]) {
    for_each(seed, row, out.len(), |i, bytes| out[i] = ternary(bytes) as u64);
}

/// The step whose errors have deviation 2^(bits + sigma_log2), at least 1.
#[expect(clippy::disallowed_methods, reason = "parameters are public")]
pub(super) fn error_step(sigma_log2: f64, bits: u32) -> u64 {
    let sigma = libm::exp2(f64::from(bits) + sigma_log2);
    libm::round(sigma / libm::sqrt(STEP_VARIANCE)).max(1.0) as u64
}

/// Errors of the given step, in two's complement.
pub(super) fn error_row(seed: &Seed, row: Row, step: u64, out: &mut [u64]) {
    const MASK: u64 = (1 << 21) - 1;
    for_each::<16>(seed, row, out.len(), |i, bytes| {
        let words = u128::from_le_bytes(bytes);
        let (word, dither) = (words as u64, (words >> 64) as u64);
        let binomial =
            u64::from((word & MASK).count_ones()).wrapping_sub(u64::from((word >> 21 & MASK).count_ones()));
        let uniform = ((u128::from(dither) * u128::from(step)) >> 64) as u64;
        out[i] = binomial.wrapping_mul(step).wrapping_add(uniform).wrapping_sub(step / 2);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With fixed seeds, every statistic must be within six deviations.
    #[test]
    fn moments_are_as_documented() {
        const COUNT: usize = 1 << 16;
        let n = COUNT as f64;
        for sigma_log2 in [-17.3, -35.6, -48.32, -60.0] {
            let step = error_step(sigma_log2, 64);
            let mut e = vec![0; COUNT];
            error_row(&Seed([3; 32]), Row::Error(1), step, &mut e);
            let e: Vec<f64> = e.iter().map(|&e| (e as i64) as f64 / step as f64).collect();
            let mean = e.iter().sum::<f64>() / n;
            let variance = e.iter().map(|e| e * e).sum::<f64>() / n;
            // Rounding leaves the mean of d within 1/2 of zero.
            assert!(
                mean.abs() < 0.5 / step as f64 + 6.0 * (STEP_VARIANCE / n).sqrt(),
                "{sigma_log2}: {mean}"
            );
            assert!((variance / STEP_VARIANCE - 1.0).abs() < 6.0 * (2.0 / n).sqrt() + 0.01, "{variance}");
            let sigma = step as f64 * STEP_VARIANCE.sqrt();
            assert!((sigma.log2() - 64.0 - sigma_log2).abs() < 0.1, "{sigma_log2}");
            assert!(e.iter().all(|e| e.abs() <= 21.5));
        }
        let mut bits = vec![0; COUNT];
        binary_row(&Seed([4; 32]), Row::LweSecret, &mut bits);
        let ones = bits.iter().filter(|&&b| b == 1).count() as f64;
        assert!((ones - n / 2.0).abs() < 3.0 * n.sqrt() && bits.iter().all(|&b| b < 2));
        let mut factors = vec![0; COUNT];
        ternary_row(&Seed([5; 32]), Row::Factors(0), &mut factors);
        for value in [u64::MAX, 0, 1] {
            let found = factors.iter().filter(|&&x| x == value).count() as f64;
            assert!((found - n / 3.0).abs() < 6.0 * (n * 2.0 / 9.0).sqrt(), "{value:x}: {found}");
        }
        assert!(factors.iter().all(|x| x.wrapping_add(1) < 3));
    }

    #[test]
    fn rows_differ() {
        let rows = [Row::Mask(0), Row::Mask(1), Row::BootstrapMask(0), Row::SwitchMask(0), Row::Error(0)];
        let words: Vec<[u64; 4]> = rows
            .iter()
            .map(|&row| {
                let mut out = [0; 4];
                uniform_row(&Seed([9; 32]), row, &mut out);
                out
            })
            .collect();
        for i in 0..words.len() {
            assert!(words[..i].iter().all(|other| other != &words[i]));
        }
    }
}
