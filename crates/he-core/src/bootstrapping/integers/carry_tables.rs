//! The tables that operations share.

use super::width::{DIGIT_BITS, RADIX};
use crate::bootstrapping::BootstrapParams;
use crate::bootstrapping::lookup::LookupTables;
use crate::error::Result;
use std::sync::OnceLock;

/// The bits of the largest tables.
pub(super) const LARGEST_BITS: usize = 10;
/// The entries of tables of sums and differences of two digits: 0 ... 30, or -15 ... 15.
const SUMS: usize = 2 * RADIX;
/// The greatest sum of digits that carries one at most, with a carry.
pub(super) const GREATEST_SUM: u64 = SUMS as u64 - 2;

/// The tables that all operations share.
#[derive(Debug)]
pub(super) struct CarryTables {
    /// The digit of a sum, whether it carries, and whether it passes a carry on.
    pub sum: LookupTables,
    /// The same for a difference, modulo 32.
    pub difference: LookupTables,
    /// The two flags of a difference: whether it is negative, and whether it is zero.
    pub order: LookupTables,
    /// Whether a difference is zero.
    pub same: LookupTables,
    /// The digit itself, and its highest bit.
    pub digit: LookupTables,
    pub sign: LookupTables,
    /// The condition itself.
    pub flag: LookupTables,
    /// All digits of a number of so many bits, made when they are first needed.
    spread: [OnceLock<LookupTables>; LARGEST_BITS + 1],
}

impl CarryTables {
    pub(super) fn new(params: &BootstrapParams) -> Result<Self> {
        let flag = |yes: bool| u64::from(yes);
        let of = |entries, all: &[&dyn Fn(u64) -> u64]| tables(params, entries, all);
        let (radix, same) = (RADIX as u64, |m| flag(m == 0));
        let (digit, negative) = (|m| m % radix, |m| flag(m >= radix));
        Ok(Self {
            sum: of(SUMS, &[&digit, &negative, &|m| flag(m == radix - 1)])?,
            difference: of(SUMS, &[&digit, &negative, &same])?,
            order: of(SUMS, &[&negative, &same])?,
            same: of(SUMS, &[&same])?,
            digit: of(RADIX, &[&digit])?,
            sign: of(RADIX, &[&|m| flag(m >= radix / 2)])?,
            flag: of(2, &[&|m| m])?,
            spread: Default::default(),
        })
    }

    /// The digits of numbers of so many bits, [`LARGEST_BITS`] at most.
    pub(super) fn spread(&self, params: &BootstrapParams, bits: usize) -> Result<&LookupTables> {
        let place = &self.spread[bits];
        if let Some(made) = place.get() {
            return Ok(made);
        }
        let digit = |j: usize| move |m: u64| (m >> (DIGIT_BITS * j)) % RADIX as u64;
        let digits: Vec<_> = (0..bits.div_ceil(DIGIT_BITS)).map(digit).collect();
        let all: Vec<&dyn Fn(u64) -> u64> = digits.iter().map(|digit| digit as _).collect();
        let made = tables(params, 1 << bits, &all)?;
        Ok(place.get_or_init(|| made))
    }
}

/// Tables of so many entries, each by its function.
pub(super) fn tables(
    params: &BootstrapParams,
    entries: usize,
    all: &[&dyn Fn(u64) -> u64],
) -> Result<LookupTables> {
    let table =
        |entry: &&dyn Fn(u64) -> u64| (0..entries as u64).map(|m| entry(m) as f64).collect::<Vec<_>>();
    let all: Vec<Vec<f64>> = all.iter().map(table).collect();
    LookupTables::new(params, &all.iter().map(Vec::as_slice).collect::<Vec<_>>())
}
