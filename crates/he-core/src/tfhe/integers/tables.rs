//! Digits: two bits of message below two bits for carries below a padding bit, m / 32 of the torus
//! for m = 0 ... 15; for comparisons m = -15 ... 15, whose negative half lies where a table takes
//! its negative.

use crate::error::Result;
use crate::tfhe::{Combination, LookupTables, LweOps, TfheParams};

/// The worst case over all lookups: the sum of squared coefficients (the comparison's 8, 4, 2, 1)
/// and half the distance of messages, as [`Noise`](crate::tfhe::Noise) takes them. Digits that are
/// operands count twice, as sums of two bootstraps: 2 (16 + 1 + 16 + 1) = 68 for the difference of
/// two blocks; the two results of one bootstrap count as those of two
/// ([`Bootstrapper::bootstrap_pairs`](crate::tfhe::Bootstrapper::bootstrap_pairs)). A digit that
/// stands in several places, with coefficients c, counts with the square of their sum: 50 for five
/// equal terms of a sum. Remainders of sums that are split count 12, and differ in their noise even
/// where the sums are equal.
pub const DIGIT_LOOKUP: (f64, f64) = (85.0, 1.0 / 64.0);

/// The bits of a digit.
pub(in crate::tfhe) const BITS: usize = 2;
/// 1/32: the unit of messages.
pub(in crate::tfhe) const UNIT: u64 = 1 << 59;

/// The functions that are looked up, in the order of the tables.
///
/// A sum of digits without its carry has a *state*: -1 if it passes no carry on (kills one), 0 if
/// it passes on the carry that it receives (propagates), 1 if it passes one on in any case
/// (generates). Runs of digits have states, too: for adjacent runs, the lowest first, it is the
/// sign of the sum of 2^i times state i, since the highest run that does not propagate decides. A
/// carry that is known is -1/2 or 1/2, so that with 1/2 added it is 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Table {
    /// The carry out of runs whose states are even multiples in m = -14 ... 15, and the carry into
    /// them: 1/2 if m > 0, else -1/2.
    Known,
    /// The digit plus 1 if j is at least 2, modulo 4, of m = 4 digit + j.
    Incremented,
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
    /// m mod 4; and the carry, as one that is known.
    MessageAndKnown,
    /// 4 (m mod 4); and the state: the sign of m - 3.
    FourfoldAndState,
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
    /// x (3 - x) / 2 + y (3 - y) / 2, of m = 4 x + y.
    Corrections,
}

fn entries(size: u64, f: impl Fn(u64) -> u64) -> Vec<u64> {
    (0..size).map(|m| f(m).wrapping_mul(UNIT)).collect()
}

fn carry(m: u64) -> u64 {
    u64::from(m >= 4)
}

/// A carry that is known: 1/2, or else -1/2.
fn known(carry: bool) -> u64 {
    if carry { UNIT / 2 } else { (UNIT / 2).wrapping_neg() }
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
        (0..16).map(|m| known(m > 0)).collect(),
        of(|m| (m / 4 + m % 4 / 2) % 4),
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
        [entries(8, |m| m % 4), (0..8).map(|m| known(m >= 4)).collect()],
        of(|m| 4 * (m % 4), |m| u64::from(m > 3).wrapping_sub(u64::from(m < 3))),
        of(|m| carry(m) * (m % 4), |m| (1 - carry(m)) * m),
        of(|m| if m < 4 { m } else { 2 * m % 4 }, |m| carry(m) * (m % 4 / 2)),
        of(|m| if m < 4 { m } else { m % 4 / 2 }, |m| carry(m) * (m % 2) * 2),
        of(|m| carry(m) * (m % 4 / 2) * 2, |m| carry(m) * (m % 4 / 2) * 3),
        of(|m| (m / 4 + 2) * (m % 4) % 4, |m| (m / 4 + 2) * (m % 4) / 4),
        of(|m| triangle(m) % 4, |m| triangle(m) / 4 % 4),
        of(|m| m % 2, |m| m / 2 % 2),
        of(|m| u64::from(m > 0), |m| u64::from(m < 2) + u64::from(m < 1)),
        of(|m| u64::from(m > 0), |m| u64::from(m % 2 < 1) + u64::from(m < 1)),
        halves(|m| correction(m / 4) + correction(m % 4)),
    ];
    LookupTables::pairs(backend, params, &tables)
}

/// The copies of the table T of [`splits`].
pub(super) const SPLIT_COPIES: usize = 128;
/// The table of [`splits`] of messages below 8.
pub(super) const SPLIT_SMALL: u32 = SPLIT_COPIES as u32;
/// The functions of a table of [`splits`]: their results are its entries from a message m on.
pub(super) const SPLIT_FUNCTIONS: usize = 16;

/// Puts the table T(m) = floor(m / 4) - 2 of messages below 20 on the device, in copies whose
/// results have noise of their own. It has 16 entries, and those from 16 on are minus those from 0
/// on: 2, as they should be. One rotation yields T(m), T(m + 1), T(m + 2) and T(m + 3), which are
/// all that m modulo 4 and m / 4 need for m = 0 ... 15: see [`split`]. One more table has both for
/// messages below 8, as [`Pair::MessageAndCarry`] does.
pub(super) fn splits<B: LweOps>(backend: &B, params: &TfheParams) -> Result<LookupTables<B>> {
    let small = [entries(8, |m| m % 4), entries(8, carry)].concat();
    let large = entries(SPLIT_FUNCTIONS as u64, |m| (m / 4).wrapping_sub(2));
    let tables: Vec<_> = std::iter::repeat_n(large, SPLIT_COPIES).chain([small]).collect();
    LookupTables::apart(backend, params, &tables, SPLIT_FUNCTIONS)
}

/// The remainders m modulo 4 of messages, and then the quotients, of the results of [`splits`] by
/// these tables, `[function][message]`: T(m + 1) + T(m + 2) + T(m + 3) - 3 T(m), whose squared
/// factors add up to 12, and T(m) + 2; those of small messages are results themselves.
pub(super) fn split(which: &[u32]) -> Vec<Combination> {
    let count = which.len();
    let all = |of: &dyn Fn(usize, bool) -> Combination| {
        which.iter().enumerate().map(|(i, &table)| of(i, table == SPLIT_SMALL)).collect::<Vec<_>>()
    };
    let remainders = all(&|i, small| Combination {
        constant: 0,
        terms: match small {
            true => vec![(1, i)],
            false => vec![(-3, i), (1, count + i), (1, 2 * count + i), (1, 3 * count + i)],
        },
    });
    let quotients = all(&|i, small| match small {
        true => Combination { constant: 0, terms: vec![(1, SPLIT_FUNCTIONS / 2 * count + i)] },
        false => Combination { constant: 2 * UNIT, terms: vec![(1, i)] },
    });
    [remainders, quotients].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Cpu;
    use crate::testing::seeded;
    use crate::tfhe::{BootstrapKey, Bootstrapper, Gadget, LweBatch, TfheSecretKey, TfheSpec};
    use rand::RngExt;

    /// The mean square of errors over a variance.
    fn square(errors: &[f64], variance: f64) -> f64 {
        errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64 / variance
    }

    /// Errors less the mean of those of one message, which all copies of the table have looked up.
    fn spread(errors: &[f64], messages: usize) -> Vec<f64> {
        let mean = |m: usize| errors.iter().skip(m).step_by(messages).sum::<f64>() / SPLIT_COPIES as f64;
        let means: Vec<f64> = (0..messages).map(mean).collect();
        errors.iter().enumerate().map(|(at, e)| e - means[at % messages]).collect()
    }

    /// Remainders have the noise of 12 bootstraps, quotients that of one, and those of one
    /// ciphertext by different copies are independent, whether the message is encrypted or public.
    #[test]
    fn splits_have_the_noise_that_sums_expect() {
        let params = TfheParams::insecure(TfheSpec {
            lwe_dimension: 120,
            lwe_sigma_log2: -24.0,
            glwe_dimension: 1,
            log_degree: 10,
            glwe_sigma_log2: -36.0,
            bootstrap: Gadget { base_log: 12, levels: 2 },
            switch: Gadget { base_log: 5, levels: 4 },
        })
        .unwrap();
        let (cpu, mut rng, messages) = (Cpu::new(), seeded(), 8);
        let secret = TfheSecretKey::generate(&params, &mut rng);
        for (group, public) in [(1, false), (4, false), (4, true)] {
            let key = match group {
                1 => BootstrapKey::generate(&secret, &mut rng),
                _ => BootstrapKey::generate_multi_bit(&secret, group, &mut rng).unwrap(),
            };
            let boot = Bootstrapper::new(&cpu, &key).unwrap();
            let numbers: Vec<u64> = (0..messages).map(|_| rng.random_range(0..16)).collect();
            let words: Vec<u64> = numbers.iter().map(|m| m * UNIT).collect();
            let some = match public {
                true => LweBatch::trivial(&cpu, &params, &words).unwrap(),
                false => secret.encrypt(&cpu, &words, &mut rng).unwrap(),
            };
            let count = messages * SPLIT_COPIES;
            let same = |at: usize| Combination { constant: 0, terms: vec![(1, at % messages)] };
            let all = boot.combine(&some, &(0..count).map(same).collect::<Vec<_>>()).unwrap();
            let which: Vec<u32> = (0..count).map(|at| (at / messages) as u32).collect();
            let tables = splits(&cpu, &params).unwrap();
            let found = boot.bootstrap_functions(&all, &tables, &which, SPLIT_FUNCTIONS).unwrap();
            let phases = secret.phases(&boot.combine(&found, &split(&which)).unwrap()).unwrap();
            let errors = |at: usize, expected: fn(u64) -> u64| -> Vec<f64> {
                let off =
                    |i: usize| phases[at + i].wrapping_sub(expected(numbers[i % messages]) * UNIT) as i64;
                (0..count).map(|i| off(i) as f64 * 64f64.exp2().recip()).collect()
            };
            let one = params.noise_of_groups(group).blind_rotation;
            for (errors, variance) in [(errors(0, |m| m % 4), 12.0 * one), (errors(count, |m| m / 4), one)] {
                let found = [square(&errors, variance), square(&spread(&errors, messages), variance)];
                println!("groups of {group}, public: {public}: {found:?}");
                // Six deviations, and what depends on the key.
                let most = 6.0 * (2.0 / count as f64).sqrt() + 0.15;
                assert!(found.iter().all(|found| (found - 1.0).abs() < most), "{found:?}");
            }
        }
    }
}
