//! Digits: two bits of message below two bits for carries below a padding bit, m / 32 of the torus for m = 0 ... 15; for comparisons m = -15 ... 15,
//! whose negative half lies where a table takes its negative.

use super::{LookupTables, LweOps, TfheParams};
use crate::error::Result;

/// Worst case over what is looked up: sum of squared coefficients (the comparison's 8, 4, 2, 1) and half the distance of messages, as
/// [`Noise`](super::Noise) takes them. Digits that operations take count twice, as sums of two bootstraps: 2 (16 + 1 + 16 + 1) =
/// 68 for the difference of two blocks.
pub const DIGIT_LOOKUP: (f64, f64) = (85.0, 1.0 / 64.0);

/// Bits of a digit.
pub(super) const BITS: usize = 2;
/// 1/32: the unit of messages.
pub(super) const UNIT: u64 = 1 << 59;

/// What is looked up, in the order of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Table {
    /// m mod 4.
    Message,
    /// m >= 4.
    Carry,
    /// 2 if m = 3, which passes a carry on; 1 if m >= 4.
    State,
    /// Of 4 high + low: low if high passes on, else high.
    Compose,
    /// Of 4 condition + digit: the digit if the condition is 1, else 0.
    If,
    /// The digit if the condition is 0, else 0.
    Unless,
    /// Sign of m = -15 ... 15.
    Sign,
    /// 1/2 if m < 0, else -1/2.
    Negative,
    /// Whether m = 0, for m = -15 ... 15.
    Zero,
    /// Whether m = 15.
    Fifteen,
}

/// All tables, on the device.
pub(super) fn tables<B: LweOps>(backend: &B, params: &TfheParams) -> Result<LookupTables<B>> {
    let of = |f: fn(u64) -> u64| (0..16).map(|m| f(m).wrapping_mul(UNIT)).collect::<Vec<_>>();
    let tables = vec![
        of(|m| m % 4),
        of(|m| u64::from(m >= 4)),
        of(|m| if m == 3 { 2 } else { u64::from(m >= 4) }),
        of(|m| if m / 4 == 2 { m % 4 } else { m / 4 }),
        of(|m| if m / 4 == 1 { m % 4 } else { 0 }),
        of(|m| if m / 4 == 0 { m } else { 0 }),
        of(|m| u64::from(m != 0)),
        // Zero's entry serves the phases on both sides of it.
        vec![(UNIT / 2).wrapping_neg(); 16],
        of(|m| u64::from(m == 0)),
        of(|m| u64::from(m == 15)),
    ];
    LookupTables::new(backend, params, &tables)
}
