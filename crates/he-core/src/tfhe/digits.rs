//! Digits: two bits of message below two bits for carries below a padding bit, m / 32 of the torus
//! for m = 0 ... 15; for comparisons m = -15 ... 15, whose negative half lies where a table takes
//! its negative.

use super::{LookupTables, LweOps, TfheParams};
use crate::error::Result;

/// The worst case over all lookups: the sum of squared coefficients (the comparison's 8, 4, 2, 1)
/// and half the distance of messages, as [`Noise`](super::Noise) takes them. Digits that are
/// operands count twice, as sums of two bootstraps: 2 (16 + 1 + 16 + 1) = 68 for the difference of
/// two blocks; the two results of one bootstrap count as those of two
/// ([`Bootstrapper::bootstrap_pairs`](super::Bootstrapper::bootstrap_pairs)).
pub const DIGIT_LOOKUP: (f64, f64) = (85.0, 1.0 / 64.0);

/// The bits of a digit.
pub(super) const BITS: usize = 2;
/// 1/32: the unit of messages.
pub(super) const UNIT: u64 = 1 << 59;

/// The functions that are looked up, in the order of the tables.
///
/// A sum of digits without its carry has a *state*: 0 if it passes no carry on (kills one), 1 if it
/// passes on the carry that it receives (propagates), 2 if it passes one on in any case
/// (generates). Runs of digits have states, too. For adjacent runs, the lowest first, take the sum
/// of 2^i times state i, plus the carry into the lowest, as for binary digits 0, 1, 2: the runs
/// pass a carry on if this reaches 2^runs. If the carry out of the lowest run is known, it counts
/// as its state, 0 or 1, together with a carry into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Table {
    /// The state of two runs, of 2 high + low.
    TwoRuns,
    /// The state of three runs, of 4 high + 2 middle + low.
    ThreeRuns,
    /// The carry out of two runs, of 2 high + low, where `low` is the known carry out of the lower
    /// one.
    TwoCarry,
    /// The carry out of three runs, of 4 high + 2 middle + low, where `low` is the carry out of the
    /// lowest one.
    ThreeCarry,
    /// Half of an even message plus a state and the carry into it, rounded down, modulo 4.
    Half,
    /// Of 4 condition + digit: the digit if the condition is 1, else 0.
    If,
    /// The digit if the condition is 0, else 0.
    Unless,
    /// The sign of m = -15 ... 15.
    Sign,
    /// 1/2 if m < 0, else -1/2.
    Negative,
    /// Whether m = 0, for m = -15 ... 15.
    Zero,
    /// Whether m = 15.
    Fifteen,
}

/// Pairs of functions of a message below 8, in the order of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Pair {
    /// m mod 4; and the carry, whether m >= 4.
    MessageAndCarry,
    /// 2 (m mod 4); and the state: 1 if m = 3, 2 if m >= 4.
    TwiceAndState,
    /// Of 4 condition + digit: the digit if the condition is 1, else 0; and the digit if it is 0,
    /// else 0.
    IfAndUnless,
}

fn entries(size: u64, f: impl Fn(u64) -> u64) -> Vec<u64> {
    (0..size).map(|m| f(m).wrapping_mul(UNIT)).collect()
}

fn carry(m: u64) -> u64 {
    u64::from(m >= 4)
}

fn state(sum: u64, passing: u64) -> u64 {
    u64::from(sum >= passing) + u64::from(sum > passing)
}

/// Puts all tables of one function on the device.
pub(super) fn tables<B: LweOps>(backend: &B, params: &TfheParams) -> Result<LookupTables<B>> {
    let of = |f: fn(u64) -> u64| entries(16, f);
    let tables = vec![
        of(|m| state(m, 3)),
        of(|m| state(m, 7)),
        of(|m| u64::from(m >= 3)),
        of(|m| u64::from(m >= 7)),
        of(|m| m / 2 % 4),
        of(|m| if m / 4 == 1 { m % 4 } else { 0 }),
        of(|m| if m / 4 == 0 { m } else { 0 }),
        of(|m| u64::from(m != 0)),
        // The entry of zero serves the phases on both sides of it.
        vec![(UNIT / 2).wrapping_neg(); 16],
        of(|m| u64::from(m == 0)),
        of(|m| u64::from(m == 15)),
    ];
    LookupTables::new(backend, params, &tables)
}

/// Puts all tables of two functions on the device.
pub(super) fn pairs<B: LweOps>(backend: &B, params: &TfheParams) -> Result<LookupTables<B>> {
    let of = |f: fn(u64) -> u64, g: fn(u64) -> u64| [entries(8, f), entries(8, g)];
    let tables = [
        of(|m| m % 4, carry),
        of(|m| 2 * (m % 4), |m| state(m, 3)),
        of(|m| carry(m) * (m % 4), |m| (1 - carry(m)) * m),
    ];
    LookupTables::pairs(backend, params, &tables)
}
