//! Descriptions of encrypted columns of real numbers.

use super::{MAX_BATCH, bad, check_packed};
use crate::contents::packing::Places;
use crate::data::table::MAX_VALUES;
use crate::data::table::header::HeaderGuess;
use crate::error::Result;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// Exponents of columns: those of every number, and room for what results take.
pub const EXPONENT: RangeInclusive<i32> = -1100..=1100;
/// Bits of precision of a table.
const PRECISION: RangeInclusive<f64> = -200.0..=200.0;

/// Encrypted columns: column after column, in batches of vectors of real slots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableNote {
    /// Rows.
    pub rows: u64,
    /// Slots of a vector.
    pub slots: u64,
    /// Ciphertexts in a full batch.
    pub batch: u32,
    /// -log2 of six standard deviations of a value's error, before the column's exponent.
    pub precision_bits: f64,
    /// Slots of the block that each column has in vectors that several share; none if every column
    /// has vectors of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packed: Option<u64>,
    /// The columns.
    pub columns: Vec<ColumnNote>,
    /// The guess about the first row of the table, if it was not certain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<HeaderGuess>,
}

impl TableNote {
    /// Checks that all numbers are possible, for vectors of at most this many slots.
    ///
    /// # Errors
    /// A number is not possible, and the error names it.
    pub fn check(&self, slots: usize) -> Result<()> {
        let values = self.rows.checked_mul(self.columns.len() as u64);
        if values.is_none_or(|v| v == 0 || v > MAX_VALUES as u64) || !(1..=MAX_BATCH).contains(&self.batch) {
            return Err(bad("number of rows or batch"));
        }
        if !self.slots.is_power_of_two() || self.slots > slots as u64 {
            return Err(bad("number of slots"));
        }
        if let Some(packed) = self.packed {
            check_packed(packed, self.rows, self.batch, self.slots)?;
        }
        let possible = |column: &ColumnNote| {
            EXPONENT.contains(&column.exponent)
                && column.count > 0
                && column.offset.is_finite()
                && PRECISION.contains(&self.bits(column))
        };
        if !self.columns.iter().all(possible) || !PRECISION.contains(&self.precision_bits) {
            return Err(bad("column"));
        }
        Ok(())
    }

    /// The places of columns, if several share a vector.
    pub fn places(&self) -> Option<Places> {
        let packed = self.packed? as usize;
        Some(Places::new(self.columns.iter().map(|_| ((), packed)), self.slots as usize))
    }

    /// A bound on the magnitudes of all columns.
    pub fn largest(&self) -> u64 {
        self.columns.iter().map(|column| column.count).max().unwrap_or(1)
    }

    /// Bits of precision of a column's values, before its exponent.
    pub fn bits(&self, column: &ColumnNote) -> f64 {
        column.precision_bits.unwrap_or(self.precision_bits)
    }
}

/// One column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnNote {
    /// Its name, if the table has a header.
    pub name: Option<String>,
    /// Values are the encrypted ones times 2^exponent, and more by the offset: public.
    pub exponent: i32,
    /// A bound on the magnitude of the encrypted ones: 1 when fresh, the number of rows in a sum.
    pub count: u64,
    /// The public difference between the values and the encrypted ones times 2^exponent. Not zero
    /// in columns that lie far from zero beside their spread.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub offset: f64,
    /// -log2 of six standard deviations of a value's error, before the exponent, where it differs
    /// from the table's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision_bits: Option<f64>,
}

impl ColumnNote {
    /// The offset in units of 2^exponent.
    pub fn shift(&self) -> f64 {
        scale(self.offset, -self.exponent)
    }
}

fn is_zero(x: &f64) -> bool {
    *x == 0.0
}

/// x 2^exponent without overflow on the way.
pub fn scale(x: f64, exponent: i32) -> f64 {
    let half = exponent / 2;
    x * f64::from(half).exp2() * f64::from(exponent - half).exp2()
}

/// The name of the product or another mix of two columns.
pub fn pair_name(a: &Option<String>, b: &Option<String>) -> Option<String> {
    Some(format!("{} {}", a.as_ref()?, b.as_ref()?))
}
