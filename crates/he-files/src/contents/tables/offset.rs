//! The offset that is subtracted from a column, and the power of two that scales the rest.

use crate::contents::options::Offset;
use crate::error::{ContentError, Result};
use crate::note::scale;

/// The bits by which an offset must bring a column closer to zero to be chosen by default: a
/// variance of such numbers loses twice as many.
const WORTHWHILE: i32 = 4;
/// The most bits of an offset, in units of its column, with which sums over rows stay exact, or
/// nearly so.
const OFFSET_BITS: i32 = 40;

/// The offset of a column, and the exponent of the differences.
///
/// An offset is a multiple k 2^e of the power of two that scales the column, which reveals that all
/// numbers lie between (k - 1) 2^e and (k + 1) 2^e. It is chosen for columns that are narrower than
/// a sixteenth of the power of two above their greatest magnitude, with the least e for which such
/// a k exists, and not for a column of one repeated number, which it would reveal.
///
/// # Errors
/// A given offset is too far away.
pub(super) fn placed(column: &[f64], offset: Offset, title: &str) -> Result<(f64, i32)> {
    let start = (f64::INFINITY, f64::NEG_INFINITY);
    let (low, high) = column.iter().fold(start, |(low, high), &x| (x.min(low), x.max(high)));
    let plain = exponent_of(low.abs().max(high.abs()));
    // The multiple of 2^e next to x, if all numbers lie less than 2^e away from it.
    let near = |x: f64, exponent: i32| {
        let units = scale(x, -exponent);
        if units.abs() >= f64::from(OFFSET_BITS + 1).exp2() {
            return None;
        }
        // Rounds to the nearest whole number.
        const WHOLE: f64 = 6_755_399_441_055_744.0;
        let offset = scale((units + WHOLE) - WHOLE, exponent);
        let unit = scale(1.0, exponent);
        (offset.is_finite() && high - offset < unit && offset - low < unit).then_some((offset, exponent))
    };
    match offset {
        Offset::None => Ok((0.0, plain)),
        Offset::Given(value) => {
            let widest = (high - value).max(value - low);
            if !widest.is_finite() {
                return Err(ContentError::FarOffset { value, column: title.to_owned() }.into());
            }
            Ok((value, exponent_of(widest).max(exponent_of(value) - OFFSET_BITS)))
        }
        Offset::Auto => {
            let width = high - low;
            if low == high || !width.is_finite() || exponent_of(width) + WORTHWHILE > plain {
                return Ok((0.0, plain));
            }
            let least = (exponent_of(width) - 1).max(plain - OFFSET_BITS);
            let found = (least..least + 2).find_map(|exponent| near(low + width / 2.0, exponent));
            Ok(found.unwrap_or((0.0, plain)))
        }
    }
}

/// The least exponent with 2^exponent > x, for x >= 0, also for subnormal numbers; 0 for 0.
pub(super) fn exponent_of(x: f64) -> i32 {
    let bits = x.abs().to_bits();
    match (bits >> 52) as i32 {
        0 if bits == 0 => 0,
        0 => (64 - bits.leading_zeros()) as i32 - 1074,
        biased => biased - 1022,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaling_neither_overflows_nor_underflows_on_the_way() {
        for x in [f64::MAX, 1.5, f64::MIN_POSITIVE, 5e-324] {
            let exponent = exponent_of(x);
            let scaled = scale(x, -exponent);
            assert!((0.5..1.0).contains(&scaled), "{x}: {scaled}");
            assert_eq!(scale(scaled, exponent), x);
        }
        assert_eq!(exponent_of(0.0), 0);
        assert_eq!(exponent_of(1.0), 1);
    }

    #[test]
    fn offsets_are_chosen_where_they_gain_much() {
        let placed = |column: &[f64], offset| placed(column, offset, "x").unwrap();
        for (column, expected) in [
            (&[9999.0, 10001.0, 10000.0][..], (10_000.0, 1)),
            (&[101_275.0, 101_375.0], (101_312.0, 6)),
            (&[-101_275.0, -101_375.0], (-101_312.0, 6)),
            // As far from zero as wide; both signs; one number, which an offset would tell.
            (&[10.0, 20.0], (0.0, 5)),
            (&[100.0, 110.0], (0.0, 7)),
            (&[-1.0, 1e300], (0.0, 997)),
            (&[12_345.678, 12_345.678], (0.0, 14)),
            (&[12_345.678], (0.0, 14)),
            (&[0.0], (0.0, 0)),
            (&[f64::MAX, -f64::MAX], (0.0, 1024)),
        ] {
            assert_eq!(placed(column, Offset::Auto), expected, "{column:?}");
            assert_eq!(placed(column, Offset::None).0, 0.0);
        }
        assert_eq!(placed(&[95.0, 106.0], Offset::Given(100.0)), (100.0, 3));
        assert_eq!(placed(&[5.0], Offset::Given(5.0)).0, 5.0);
        assert_eq!(placed(&[1.0, -1.0], Offset::Given(0.0)), (0.0, 1));
        let mut random = 1u64;
        for _ in 0..10_000 {
            let mut next = || {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (random >> 11) as f64 / (1u64 << 53) as f64
            };
            let (centre, width) = ((next() - 0.5) * (next() * 100.0).exp2(), (next() * 60.0 - 30.0).exp2());
            let column: Vec<f64> = (0..5).map(|_| centre + width * next()).collect();
            for offset in [Offset::Auto, Offset::Given(column[2])] {
                let whole = offset == Offset::Auto;
                let (offset, exponent) = placed(&column, offset);
                let unit = scale(1.0, exponent);
                assert!(!whole || (offset / unit).fract() == 0.0, "{column:?}: {offset}, {unit}");
                assert!(column.iter().all(|x| (x - offset).abs() < unit), "{column:?}: {offset}, {unit}");
            }
        }
        assert!(super::placed(&[f64::MAX], Offset::Given(-f64::MAX), "x").is_err());
    }
}
