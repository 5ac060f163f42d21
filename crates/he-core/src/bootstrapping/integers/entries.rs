//! Public tables at encrypted places, and comparisons with plain numbers.

use super::carry_tables::tables;
use super::width::{DIGIT_BITS, RADIX};
use super::{IntegerEvaluator, SlotFlags, SlotIntegers, Width};
use crate::backend::RingOps;
use crate::bootstrapping::BootstrapParams;
use crate::bootstrapping::lookup::LookupTables;
use crate::ckks::Ciphertext;
use crate::error::{Error, Result};

/// The numbers of 8 bits.
const BYTES: usize = RADIX * RADIX;
/// The growth of noise where two digits are one message.
const GROWTH: f64 = RADIX as f64 + 1.0;

/// A table of integers for each number of 8 bits, prepared for the parameters under which it is
/// looked up.
#[derive(Clone, Debug)]
pub struct ByteTable {
    digits: LookupTables,
    width: Width,
}

impl ByteTable {
    /// From its 256 entries, words of any width.
    ///
    /// # Errors
    /// [`Error::Argument`] for another number of entries, and entries beyond the width.
    pub fn new(params: &BootstrapParams, entries: &[u64], width: Width) -> Result<Self> {
        if entries.len() != BYTES {
            let hint = "there is one for each number of 8 bits";
            return Err(Error::domain("entries", entries.len().to_string(), hint));
        }
        if let Some(beyond) = entries.iter().find(|&&entry| entry > width.mask()) {
            let hint = format!("results have {} bits", width.bits());
            return Err(Error::domain("entries", beyond.to_string(), hint));
        }
        let digit = |k: usize| move |m: u64| (entries[m as usize] >> (DIGIT_BITS * k)) % RADIX as u64;
        let digits: Vec<_> = (0..width.digits()).map(digit).collect();
        let all: Vec<&dyn Fn(u64) -> u64> = digits.iter().map(|digit| digit as _).collect();
        Ok(Self { digits: tables(params, BYTES, &all)?, width })
    }
}

/// Lists of plain numbers of 8 bits, one for each of several integers that are compared with them,
/// prepared for the parameters of the comparison.
#[derive(Clone, Debug)]
pub struct Thresholds {
    /// For each list, how many of its numbers are at most a message, and the place of each number
    /// in their order.
    ranks: Vec<(LookupTables, Vec<usize>)>,
    /// Whether a rank is below 1, 2 ...
    below: LookupTables,
}

impl Thresholds {
    /// From the lists.
    ///
    /// # Errors
    /// [`Error::Argument`] without lists, for an empty one, and for numbers beyond 255.
    pub fn new(params: &BootstrapParams, lists: &[&[u64]]) -> Result<Self> {
        let sorted = lists.iter().map(|numbers| in_order(numbers)).collect::<Result<Vec<_>>>()?;
        let rank = |(numbers, sorted): (&&[u64], &Vec<u64>)| {
            let rank = |m: u64| sorted.partition_point(|&number| number <= m) as u64;
            let place = |number: &u64| sorted.partition_point(|other| other < number);
            Ok((tables(params, BYTES, &[&rank])?, numbers.iter().map(place).collect()))
        };
        let ranks = lists.iter().zip(&sorted).map(rank).collect::<Result<Vec<_>>>()?;
        let most = sorted.iter().map(Vec::len).max().unwrap_or(0) as u64;
        let below: Vec<_> = (1..=most).map(|i| move |rank: u64| u64::from(rank < i)).collect();
        let below: Vec<&dyn Fn(u64) -> u64> = below.iter().map(|below| below as _).collect();
        let below = tables(params, (most as usize + 1).next_power_of_two(), &below)?;
        Ok(Self { ranks, below })
    }
}

impl<B: RingOps> IntegerEvaluator<'_, B> {
    /// The entry of a table for each integer of 8 bits; that of a signed integer is the one of its
    /// two's complement. One look-up of 256 entries for all digits of the result.
    ///
    /// # Errors
    /// [`Error::Argument`] for an evaluator of another width than 8 bits; the errors of all
    /// operations, at the [type](Self).
    pub fn entries(&self, a: &SlotIntegers<B>, table: &ByteTable) -> Result<SlotIntegers<B>> {
        let found = self.of_bytes(a, &table.digits)?;
        SlotIntegers::from_digits(Ciphertext::concat(&found.iter().collect::<Vec<_>>())?, table.width)
    }

    /// Whether integers of 8 bits without sign are below each number of their lists, a condition
    /// for each. One look-up of 256 entries for each of the integers tells how many numbers are at
    /// most that, and one for all of them every condition from it.
    ///
    /// # Errors
    /// [`Error::Argument`] for another number of integers than of lists, and for an evaluator of
    /// another width; the errors of all operations, at the [type](Self).
    pub fn lt_each(
        &self,
        all: &[&SlotIntegers<B>],
        thresholds: &Thresholds,
    ) -> Result<Vec<Vec<SlotFlags<B>>>> {
        if all.len() != thresholds.ranks.len() {
            let hint = format!("thresholds are for {}", thresholds.ranks.len());
            return Err(Error::domain("integers", all.len().to_string(), hint));
        }
        let rank = |(a, (tables, _)): (&&SlotIntegers<B>, &(LookupTables, _))| {
            Ok(self.of_bytes(a, tables)?.remove(0))
        };
        let ranks = all.iter().zip(&thresholds.ranks).map(rank).collect::<Result<Vec<_>>>()?;
        let found = self.look_up(&self.joined(&ranks.iter().collect::<Vec<_>>())?, &thresholds.below)?;
        let flags = |(at, (_, places)): (usize, &(_, Vec<usize>))| {
            places.iter().map(|&place| found[place].slice_batch(at..at + 1).map(SlotFlags)).collect()
        };
        thresholds.ranks.iter().enumerate().map(flags).collect()
    }

    /// Tables of integers of 8 bits.
    fn of_bytes(&self, a: &SlotIntegers<B>, tables: &LookupTables) -> Result<Vec<Ciphertext<B>>> {
        self.check(a, a)?;
        if self.width.bits() != 2 * DIGIT_BITS {
            let hint = "tables are for integers of 8 bits";
            return Err(Error::domain("width", format!("{} bits", self.width.bits()), hint));
        }
        self.cleaned([&a.digits], GROWTH, |[digits]| {
            let high = self.ev().mul_integer(&digits.slice_batch(1..2)?, RADIX as i64)?;
            self.look_up(&self.ev().add(&digits.slice_batch(0..1)?, &high)?, tables)
        })
    }
}

/// Numbers of 8 bits, each once.
fn in_order(numbers: &[u64]) -> Result<Vec<u64>> {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    match sorted.last() {
        Some(most) if *most < BYTES as u64 => Ok(sorted),
        found => {
            let found = found.map_or_else(|| "none".to_owned(), u64::to_string);
            Err(Error::domain("thresholds", found, "compare with numbers from 0 to 255"))
        }
    }
}
