//! Descriptions of encrypted columns of integers and of categories.

use super::{MAX_BATCH, bad, check_bounds, check_packed};
use crate::contents::packing::Places;
use crate::data::table::MAX_VALUES;
use crate::data::table::header::HeaderGuess;
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// Encrypted columns of integers modulo t: column after column, in batches of vectors of all slots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntegersNote {
    /// Rows.
    pub rows: u64,
    /// Vectors in a full batch.
    pub batch: u32,
    /// Whether all rows were summed into one, which then stands in every row of the vector, or in
    /// the first of the column's block.
    pub summed: bool,
    /// Rows of the block that each column has in vectors that several share; none if every column
    /// has vectors of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packed: Option<u64>,
    /// The columns.
    pub columns: Vec<IntegerColumnNote>,
    /// The guess about the first row of the table, if it was not certain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<HeaderGuess>,
}

/// One column of integers, or of categories.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntegerColumnNote {
    /// Its name, if the table has a header.
    pub name: Option<String>,
    /// Least possible value: public.
    pub low: i64,
    /// Greatest possible value: public.
    pub high: i64,
    /// The categories, whose names are public. A row takes the next power of two of slots, of which
    /// the one of its category is 1 and the others are 0; once summed each slot is a count.
    pub categories: Option<Vec<String>>,
}

impl IntegerColumnNote {
    /// Slots that a row takes.
    pub fn stride(&self) -> usize {
        self.categories.as_ref().map_or(1, |names| names.len().next_power_of_two())
    }

    /// Rows that fit a vector of so many slots.
    pub fn rows_per_vector(&self, slots: usize) -> usize {
        slots / self.stride()
    }

    /// Vectors of so many rows.
    pub fn vectors(&self, rows: u64, slots: usize) -> usize {
        rows.div_ceil(self.rows_per_vector(slots) as u64) as usize
    }
}

impl IntegersNote {
    /// The places of columns in vectors of so many slots, if several share one.
    pub fn places(&self, slots: usize) -> Option<Places> {
        let packed = self.packed? as usize;
        let kind = |column: &IntegerColumnNote| (column.categories.is_some(), column.stride());
        Some(Places::new(self.columns.iter().map(|column| (kind(column), packed * column.stride())), slots))
    }

    /// Checks that all numbers are possible, for vectors of this many slots.
    ///
    /// # Errors
    /// A number is not possible, and the error names it.
    pub fn check(&self, slots: usize) -> Result<()> {
        let values = self.rows.checked_mul(self.columns.len() as u64);
        if values.is_none_or(|v| v == 0 || v > MAX_VALUES as u64) || !(1..=MAX_BATCH).contains(&self.batch) {
            return Err(bad("number of rows or batch"));
        }
        if let Some(packed) = self.packed {
            let fits = |column: &IntegerColumnNote| column.stride() as u64 <= slots as u64 / 2 / packed;
            check_packed(packed, self.rows, self.batch, slots as u64 / 2)?;
            if !self.columns.iter().all(fits) {
                return Err(bad("number of categories"));
            }
        }
        // Sums are of numbers, or of categories.
        let counts = self.columns.iter().filter(|column| column.categories.is_some()).count();
        if self.summed && (self.rows != 1 || counts != 0 && counts != self.columns.len()) {
            return Err(bad("sum"));
        }
        for column in &self.columns {
            // Sums over categories rotate rows of half of the slots.
            if column.categories.as_ref().is_some_and(|c| c.is_empty() || c.len() > slots / 2) {
                return Err(bad("number of categories"));
            }
            if !check_bounds(column.low, column.high) {
                return Err(bad("range of values"));
            }
        }
        Ok(())
    }
}

/// The name of a column for people, or its number from 1 on.
pub fn title(column: &IntegerColumnNote, index: usize) -> String {
    column.name.clone().unwrap_or_else(|| (index + 1).to_string())
}
