//! Digits: two bits of message below two bits for carries below a padding bit, m / 32 of the torus
//! for m = 0 ... 15; for comparisons m = -15 ... 15, whose negative half lies where a table takes
//! its negative.

use crate::error::Result;
use crate::tfhe::{LookupTables, LweOps, TfheParams};

/// The worst case over all lookups: the sum of squared coefficients (the comparison's 8, 4, 2, 1)
/// and half the distance of messages, as [`Noise`](crate::tfhe::Noise) takes them. Digits that are
/// operands count twice, as sums of two bootstraps: 2 (16 + 1 + 16 + 1) = 68 for the difference of
/// two blocks; the two results of one bootstrap count as those of two
/// ([`Bootstrapper::bootstrap_pairs`](crate::tfhe::Bootstrapper::bootstrap_pairs)). A digit that
/// stands in several places, with coefficients c, counts with the square of their sum: 50 for five
/// equal terms of a sum.
pub const DIGIT_LOOKUP: (f64, f64) = (85.0, 1.0 / 64.0);

/// The bits of a digit.
pub(in crate::tfhe) const BITS: usize = 2;
/// 1/32: the unit of messages.
pub(in crate::tfhe) const UNIT: u64 = 1 << 59;

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
    /// The digit if the condition is 1, else 0, of m = 4 condition + digit.
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
    /// The bits that are set in both of x and y, of m = 4 x + y.
    And,
    /// The bits that are set in x or in y.
    Or,
    /// The bits that differ.
    Xor,
    /// m modulo 4.
    Message,
    /// Whether m > 0.
    Positive,
    /// Whether m is at least 2.
    AtLeastTwo,
    /// Whether m is odd.
    Odd,
    /// x if the condition is 1, else y, of m = 4 condition + 2 x + y with conditions x and y.
    Choice,
    /// 3 - digit if the condition is 1, else the digit, of m = 4 condition + digit.
    ComplementIf,
    /// (m + 2) modulo 4: the digit whose order is that of the highest digit of a signed integer.
    FlippedSign,
    /// Whether signs x, y of terms and z of their sum mean an overflow, of m = 4 x + 2 y + z.
    SumOverflow,
    /// Whether signs x, y and z of their difference mean an overflow, of m = 4 x + 2 y + z.
    DifferenceOverflow,
    /// m unless the condition is 1, else 0, of 3 condition + m with m = 0, 1, 2.
    UnlessThree,
    /// 1 if a result is too large, 2 if it is too small, else 0, of m = 2 overflow + negative.
    Beyond,
    /// The digit, or that of the greatest number, 3, or of the least one, 0, of
    /// m = 4 beyond + digit.
    Saturated,
    /// The highest digit of a signed integer, or 1 for the greatest number, or 2 for the least one,
    /// of m = 4 beyond + digit.
    SaturatedSign,
    /// Whether a remainder, not zero, and its divisor have signs x, y that differ, of
    /// m = 4 nonzero + 2 x + y.
    OtherSign,
    /// The two bits of a digit in the opposite order.
    Swapped,
    /// m / 4, rounded down.
    Quarter,
}

/// Pairs of functions of a message below 8, in the order of the tables. The two halves of a
/// function of messages up to 15 are a pair as well, of which the first result is that of the
/// function: lookups of both kinds then are one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Pair {
    /// m mod 4; and the carry, whether m >= 4.
    MessageAndCarry,
    /// 2 (m mod 4); and the state: 1 if m = 3, 2 if m >= 4.
    TwiceAndState,
    /// The digit if the condition is 1, else 0, and the digit if it is 0, else 0, of
    /// m = 4 condition + digit.
    IfAndUnless,
    /// The digit, or twice the digit modulo 4 if the condition is 1, of m = 4 condition + digit;
    /// and the bit that this shifts into the next digit.
    ShiftUp,
    /// The digit, or half of it if the condition is 1, of m = 4 condition + digit; and twice the
    /// bit that this shifts out, for the digit below.
    ShiftDown,
    /// The filling of a shift to the right if the condition is 1, else 0, of
    /// m = 4 condition + digit with the highest digit of a signed integer: twice the sign, for half
    /// a digit; and three times the sign, for a whole one.
    Fill,
    /// (j + 2) digit modulo 4, of m = 4 j + digit; and (j + 2) digit / 4, rounded down.
    Multiple,
    /// m (m - 3) / 2 + 1 modulo 4, of the sum m of two digits; and its quarter, rounded down.
    Triangle,
    /// The lower bit of a digit; and its upper one.
    Bits,
    /// Whether a digit is positive; and its leading zeros, 0 to 2.
    PositiveAndLeading,
    /// Whether a digit is positive; and its trailing zeros, 0 to 2.
    PositiveAndTrailing,
    /// m modulo 4, of all messages.
    Message,
    /// m / 4, rounded down, of all messages.
    Quarter,
    /// x (3 - x) / 2 + y (3 - y) / 2, of m = 4 x + y.
    Corrections,
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

/// m (m - 3) / 2 + 1: 1, 0, 0, 1, 3, 6, 10 for sums of two digits.
fn triangle(m: u64) -> u64 {
    (m * m + 2 - 3 * m) / 2
}

/// x (3 - x) / 2: 0, 1, 1, 0.
fn correction(x: u64) -> u64 {
    x * (3 - x) / 2
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
        of(|m| (m / 4) & (m % 4)),
        of(|m| (m / 4) | (m % 4)),
        of(|m| (m / 4) ^ (m % 4)),
        of(|m| m % 4),
        of(|m| u64::from(m > 0)),
        of(|m| u64::from(m >= 2)),
        of(|m| m % 2),
        of(|m| if m / 4 == 1 { m / 2 % 2 } else { m % 2 }),
        of(|m| if m / 4 == 1 { 3 - m % 4 } else { m % 4 }),
        of(|m| (m + 2) % 4),
        of(|m| u64::from(m == 0b110 || m == 0b001)),
        of(|m| u64::from(m == 0b100 || m == 0b011)),
        of(|m| if m < 3 { m } else { 0 }),
        of(|m| if m < 2 { 0 } else { m % 2 + 1 }),
        of(|m| [m % 4, 3, 0, 0][m as usize / 4]),
        of(|m| [m % 4, 1, 2, 0][m as usize / 4]),
        of(|m| u64::from(m == 0b110 || m == 0b101)),
        of(|m| m % 2 * 2 + m / 2 % 2),
        of(|m| m / 4),
    ];
    LookupTables::new(backend, params, &tables)
}

/// Puts all tables of two functions on the device.
pub(super) fn pairs<B: LweOps>(backend: &B, params: &TfheParams) -> Result<LookupTables<B>> {
    let of = |f: fn(u64) -> u64, g: fn(u64) -> u64| [entries(8, f), entries(8, g)];
    let halves = |f: fn(u64) -> u64| [entries(8, f), entries(8, |m| f(m + 8))];
    let tables = [
        of(|m| m % 4, carry),
        of(|m| 2 * (m % 4), |m| state(m, 3)),
        of(|m| carry(m) * (m % 4), |m| (1 - carry(m)) * m),
        of(|m| if m < 4 { m } else { 2 * m % 4 }, |m| carry(m) * (m % 4 / 2)),
        of(|m| if m < 4 { m } else { m % 4 / 2 }, |m| carry(m) * (m % 2) * 2),
        of(|m| carry(m) * (m % 4 / 2) * 2, |m| carry(m) * (m % 4 / 2) * 3),
        of(|m| (m / 4 + 2) * (m % 4) % 4, |m| (m / 4 + 2) * (m % 4) / 4),
        of(|m| triangle(m) % 4, |m| triangle(m) / 4 % 4),
        of(|m| m % 2, |m| m / 2 % 2),
        of(|m| u64::from(m > 0), |m| u64::from(m < 2) + u64::from(m < 1)),
        of(|m| u64::from(m > 0), |m| u64::from(m % 2 < 1) + u64::from(m < 1)),
        halves(|m| m % 4),
        halves(|m| m / 4),
        halves(|m| correction(m / 4) + correction(m % 4)),
    ];
    LookupTables::pairs(backend, params, &tables)
}
