//! Descriptions of encrypted columns of machine integers in digits.

use super::bad;
use crate::data::integers::Integers;
use crate::data::table::MAX_VALUES;
use crate::error::Result;
use he_core::bootstrapping::integers::Width;
use serde::{Deserialize, Serialize};

/// The width of conditions.
const CONDITION: u32 = 1;

/// Encrypted columns of integers of 8 to 64 bits, or of conditions: column after column, in vectors
/// of all slots. A frame is a vector, whose ciphertexts are the digits of its integers, the lowest
/// first, or the one of its conditions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DigitsNote {
    /// Bits of each integer, 8, 16, 32 or 64; 1 for conditions, which are 0 or 1.
    pub width: u32,
    /// Whether the integers have a sign: two's complement.
    pub signed: bool,
    /// Rows.
    pub rows: u64,
    /// The columns' names, if the table has a header.
    pub columns: Vec<Option<String>>,
}

impl DigitsNote {
    /// The integers that it holds, if it does not hold conditions.
    pub fn integers(&self) -> Integers {
        Integers { bits: self.width, signed: self.signed }
    }

    /// The same table of other integers.
    #[must_use]
    pub fn of(self, Integers { bits: width, signed }: Integers) -> Self {
        Self { width, signed, ..self }
    }

    /// The description of the results of comparisons.
    #[must_use]
    pub fn conditions(self) -> Self {
        self.of(Integers::unsigned(CONDITION))
    }

    /// Whether it holds conditions.
    pub fn is_conditions(&self) -> bool {
        self.width == CONDITION
    }

    /// The width of its integers; none for conditions, and for widths that there are not.
    pub fn machine(&self) -> Option<Width> {
        machine(self.integers())
    }

    /// The ciphertexts of a vector.
    pub fn digits(&self) -> usize {
        self.machine().map_or(1, Width::digits)
    }

    /// The vectors of a column.
    pub fn vectors(&self, slots: usize) -> usize {
        self.rows.div_ceil(slots as u64) as usize
    }

    /// The number of values that it holds.
    pub fn values(&self) -> u64 {
        self.rows * self.columns.len() as u64
    }

    /// Describes the numbers for people.
    pub fn width_text(&self) -> String {
        if self.is_conditions() { "conditions, 0 or 1".to_owned() } else { self.integers().text() }
    }

    /// Checks that all numbers are possible.
    ///
    /// # Errors
    /// A number is not possible, and the error names it.
    pub fn check(&self) -> Result<()> {
        if !self.is_conditions() && self.machine().is_none() {
            return Err(bad("width"));
        }
        if self.is_conditions() && self.signed {
            return Err(bad("sign of conditions"));
        }
        match self.rows.checked_mul(self.columns.len() as u64) {
            Some(values) if (1..=MAX_VALUES as u64).contains(&values) => Ok(()),
            _ => Err(bad("number of rows or columns")),
        }
    }
}

/// The width of machine integers, if they are some.
pub fn machine(integers: Integers) -> Option<Width> {
    let is = |width: &Width| (width.bits() as u32, width.is_signed()) == (integers.bits, integers.signed);
    Width::ALL.into_iter().find(is)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_descriptions_are_refused() {
        let good = DigitsNote { width: 16, signed: true, rows: 3, columns: vec![None; 2] };
        for width in [8, 16, 32, 64] {
            DigitsNote { width, ..good.clone() }.check().unwrap();
            assert_eq!(DigitsNote { width, ..good.clone() }.digits() as u32, width / 4);
        }
        good.clone().conditions().check().unwrap();
        let refused = |note: DigitsNote, what: &str| {
            let error = note.check().unwrap_err().to_string();
            assert!(error.ends_with(what), "{error}");
        };
        for width in [0, 2, 4, 7, 12, 128, 256, u32::MAX] {
            refused(DigitsNote { width, ..good.clone() }, "impossible width");
        }
        refused(DigitsNote { width: 1, ..good.clone() }, "impossible sign of conditions");
        for (rows, columns) in [(0, 1), (1, 0), (u64::MAX, 1), (u64::MAX, 2), (1 << 62, 1)] {
            let note = DigitsNote { rows, columns: vec![None; columns], ..good.clone() };
            refused(note, "impossible number of rows or columns");
        }
    }

    #[test]
    fn unknown_and_missing_fields_are_refused() {
        let read = |text: &str| serde_json::from_str::<DigitsNote>(text).is_ok();
        assert!(read(r#"{"width":8,"signed":false,"rows":2,"columns":["a",null]}"#));
        assert!(!read(r#"{"width":8,"signed":false,"rows":2,"columns":["a"],"noise":1}"#));
        assert!(!read(r#"{"width":8,"rows":2,"columns":["a"]}"#));
        assert!(!read(r#"{"width":-8,"signed":false,"rows":2,"columns":["a"]}"#));
    }
}
