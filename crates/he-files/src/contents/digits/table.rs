//! Columns of integers in the clear, and their vectors.

use crate::bootstrap::Named;
use crate::contents::Batches;
use crate::data::integers::Integers;
use crate::data::table::{Table, TableOptions};
use crate::error::{ContentError, Result};
use crate::io::input::Input;
use crate::note::{DigitsNote, machine};
use crate::tfhe::columns;
use crate::watch::Watch;
use he_core::bootstrapping::integers::Width;
use he_core::ckks::{CkksParams, Complex64};
use num_bigint::BigInt;

/// Rows below which TFHE computes sooner, about: a vector takes the same time however few of its
/// slots are in use, as long as some forty comparisons of 16 bits under TFHE.
pub const FEW_ROWS: u64 = 64;

/// Columns of integers in the clear.
pub struct DigitTable {
    table: Table<BigInt>,
    integers: Integers,
}

/// Options for reading columns.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions<'a> {
    /// Options for tables.
    pub table: TableOptions<'a>,
    /// The integers.
    pub integers: Integers,
}

impl DigitTable {
    /// Reads a table of integers.
    ///
    /// # Errors
    /// There are no integers of this width in digits; the input is not a table, or a field, which
    /// is named by line and column, is not such an integer.
    pub fn read(input: Input, options: ReadOptions<'_>, watch: &dyn Watch) -> Result<Self> {
        let ReadOptions { table, integers } = options;
        check_width(integers)?;
        Ok(Self { table: columns::read(input, table, integers, watch)?, integers })
    }

    /// The description of its encryption under parameters, which must be ones with bootstrapping
    /// that compute on integers.
    ///
    /// # Errors
    /// They do not.
    pub fn describe(&self, params: &CkksParams) -> Result<DigitsNote> {
        if !Named::of(params).is_some_and(Named::has_integers) {
            return Err(ContentError::NoDigits { presets: presets() }.into());
        }
        Ok(self.note())
    }

    /// The description of its encryption under any parameters.
    pub fn note(&self) -> DigitsNote {
        let Integers { bits: width, signed } = self.integers;
        let named = |i: usize| self.table.header().map(|names| names[i].clone());
        let columns = (0..self.table.columns().len()).map(named).collect();
        DigitsNote { width, signed, rows: self.table.rows() as u64, columns }
    }

    /// Its vectors of so many slots: a batch for the digits of each vector of a column.
    pub fn pack(&self, slots: usize) -> Batches<'_, Complex64> {
        let vectors = move |column: &'_ Vec<BigInt>| {
            column.chunks(slots).map(|rows| self.digits(rows)).collect::<Vec<_>>()
        };
        Box::new(self.table.columns().iter().flat_map(vectors))
    }

    /// The digits of some rows, the lowest first.
    fn digits(&self, rows: &[BigInt]) -> Result<Vec<Vec<Complex64>>> {
        let word = |number: &BigInt| self.integers.bits_of(number).iter_u64_digits().next().unwrap_or(0);
        let words: Vec<u64> = rows.iter().map(word).collect();
        let digits = check_width(self.integers)?.split(&words)?;
        Ok(digits.iter().map(|digit| digit.iter().map(|&x| x.into()).collect()).collect())
    }
}

/// The machine integers of this width and sign.
fn check_width(integers: Integers) -> Result<Width> {
    machine(integers).ok_or_else(|| ContentError::NoDigitWidth { width: integers.bits }.into())
}

/// The names of parameters that compute on integers, for people.
fn presets() -> String {
    let names = Named::all().filter(|named| named.has_integers()).map(Named::name);
    names.collect::<Vec<_>>().join(" or ")
}
