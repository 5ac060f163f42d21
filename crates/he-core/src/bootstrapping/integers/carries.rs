//! The tables that digits and carries are found by.
//!
//! A digit's *state* is two if its sum carries or its difference borrows, one if it does so where
//! the digits below do, and zero otherwise. The digits below number i carry into it if the sum of
//! 2^j times the state of number j, over all j < i, is 2^i or more: by induction, since states are
//! two at most.

use super::super::BootstrapParams;
use super::super::lookup::LookupTables;
use super::Width;
use super::width::RADIX;
use crate::error::Result;

/// The entries of tables of sums and differences of two digits: 0 ... 30, or -15 ... 15.
const SUMS: usize = 2 * RADIX;

/// The tables for integers of a width.
#[derive(Debug)]
pub(super) struct CarryTables {
    /// The digit of a sum, its state, and whether the state is one.
    pub sum: LookupTables,
    /// The same for a difference, modulo 32.
    pub difference: LookupTables,
    /// The state of a difference alone.
    pub order: LookupTables,
    /// Whether the states below each digit, weighted to the same threshold, carry.
    pub carry: LookupTables,
    /// Whether the first number is less, by the states of all digits.
    pub less: LookupTables,
    /// Whether both numbers are equal, by the same states.
    pub equal: LookupTables,
}

impl CarryTables {
    pub(super) fn new(params: &BootstrapParams, width: Width) -> Result<Self> {
        let of = |entries: usize, entry: &dyn Fn(usize) -> usize| -> Vec<f64> {
            (0..entries).map(|m| entry(m) as f64).collect()
        };
        let digits = |state: &dyn Fn(usize) -> usize| {
            let once = |m: usize| usize::from(state(m) == 1);
            let tables = [of(SUMS, &|m| m % RADIX), of(SUMS, state), of(SUMS, &once)];
            LookupTables::new(params, &tables.each_ref().map(Vec::as_slice))
        };
        let one = |table: Vec<f64>| LookupTables::new(params, &[&table]);
        let count = width.digits();
        let (threshold, all_once) = (1 << count, (1 << count) - 1);
        Ok(Self {
            sum: digits(&sum_state)?,
            difference: digits(&difference_state)?,
            order: one(of(SUMS, &difference_state))?,
            carry: one(of(1 << count, &|m| usize::from(m >= threshold / 2)))?,
            less: one(of(2 << count, &|m| usize::from(m >= threshold)))?,
            equal: one(of(2 << count, &|m| usize::from(m == all_once)))?,
        })
    }
}

/// The state of a digit whose sum is m.
fn sum_state(m: usize) -> usize {
    match m {
        RADIX.. => 2,
        _ if m == RADIX - 1 => 1,
        _ => 0,
    }
}

/// The state of a digit whose difference is m modulo 32.
fn difference_state(m: usize) -> usize {
    match m {
        0 => 1,
        1..RADIX => 0,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Weighted sums of states, for all sums and differences of two digits.
    #[test]
    fn states_tell_carries() {
        let weighted = |states: &[usize]| (0..).zip(states).map(|(j, state)| state << j).sum::<usize>();
        for a in 0..256usize {
            for b in 0..256usize {
                let (low, high) = ([a % 16, b % 16], [a / 16, b / 16]);
                let sums = [low, high].map(|[a, b]| sum_state(a + b));
                assert_eq!(weighted(&sums[..1]) >= 2, low[0] + low[1] > 15);
                assert_eq!(weighted(&sums) >= 4, a + b > 255, "{a} + {b}");
                let differences = [low, high].map(|[a, b]| difference_state((32 + a - b) % 32));
                assert_eq!(weighted(&differences) >= 4, a < b, "{a} - {b}");
                assert_eq!(weighted(&differences) == 3, a == b, "{a} = {b}");
            }
        }
    }
}
