//! Error bounds of columns of real numbers, and the decimals that they leave.

use super::offset::exponent_of;
use crate::note::{ColumnNote, TableNote};
use crate::scheme::Real;

/// The most bits of precision for which users are told to make keys.
pub(super) const FINEST: u32 = 60;

/// log2 of the error bound of a column's values.
pub(super) fn error_log2(note: &TableNote, column: &ColumnNote) -> f64 {
    let encrypted = f64::from(column.exponent) - note.bits(column);
    // The offset is a double, too.
    let rounding =
        if column.offset == 0.0 { f64::NEG_INFINITY } else { f64::from(exponent_of(column.offset) - 54) };
    encrypted.max(rounding)
}

/// x rounded to the decimals that noise of up to 2^noise_log2 leaves: as many as half a unit of the
/// last one exceeds it, so that whatever had no more decimals comes back as it was.
pub(super) fn round_to_noise(x: f64, noise_log2: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let decimals = decimals(noise_log2);
    let digits = x.abs().log10().floor() + decimals;
    // Sums with 0.0 turn -0.0 into 0.0.
    if digits < 0.0 {
        let unit = unit(decimals);
        return if x.abs() >= unit / 2.0 { x.signum() * unit } else { 0.0 };
    }
    // More digits than numbers have make no difference.
    format!("{x:.0$e}", digits.min(40.0) as usize).parse().unwrap_or(x) + 0.0
}

/// Decimals whose half unit exceeds noise of 2^noise_log2.
pub(super) fn decimals(noise_log2: f64) -> f64 {
    -((noise_log2 + 1.0) * std::f64::consts::LOG10_2).ceil()
}

/// The unit of the last of this many decimals.
pub(super) fn unit(decimals: f64) -> f64 {
    format!("1e{}", -decimals).parse().unwrap_or(0.0)
}

/// The `--precision` of keys with this many more bits than these, if possible.
pub(super) fn precision_for<S: Real>(params: &S::Params, more: f64) -> Option<u32> {
    let bits = (S::fresh_precision_bits(params) + more).ceil();
    let possible = |bits: &u32| *bits <= FINEST && S::reaches(params, *bits);
    Some(bits as u32).filter(possible)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_within_the_noise_come_back() {
        // Noise of 2^-20: half a unit of the fifth decimal is more, of the sixth less.
        for (x, noisy) in
            [(0.1, 0.1 + 9e-7), (-12.34, -12.340_000_9), (99.99999, 99.999_989_2), (1e6, 1e6 - 9e-7)]
        {
            assert_eq!(round_to_noise(noisy, -20.0), x);
        }
        assert_eq!(round_to_noise(0.123_456_7, -20.0), 0.12346);
        assert_eq!(round_to_noise(9.999_999, -20.0), 10.0);
    }

    #[test]
    fn what_is_smaller_than_the_noise_is_zero() {
        for x in [4e-6, -4e-6, 1e-30, -1e-300, 0.0] {
            assert_eq!(round_to_noise(x, -20.0).to_bits(), 0.0f64.to_bits(), "{x}");
        }
        assert_eq!(round_to_noise(-6e-6, -20.0), -1e-5);
        // Noise above one: tens, hundreds, ...
        assert_eq!(round_to_noise(123_456_789.0, 3.0), 123_456_800.0);
        assert_eq!(round_to_noise(-1.7e300, 992.0), -1.7e300);
        assert_eq!(round_to_noise(3.0, 10.0), 0.0);
    }

    #[test]
    fn more_precision_than_numbers_have_changes_nothing() {
        for x in [0.1 + 0.2, 1.0 / 3.0, f64::MAX, f64::MIN_POSITIVE, 5e-324] {
            assert_eq!(round_to_noise(x, -1100.0), x);
            assert_eq!(round_to_noise(-x, -1100.0), -x);
        }
    }
}
