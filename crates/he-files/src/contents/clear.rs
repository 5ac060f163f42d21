//! The contents that are encrypted, and those that are decrypted.

pub use super::view::View;
use crate::contents::numbers::Numbers;
use crate::data::picture::{Format, Picture};
use crate::data::table::{Cell, Field, Table};
use crate::error::Result;
use crate::watch::{Meter, Stage, Watch};
use num_bigint::BigInt;
use std::io::Write;

/// The content to be encrypted.
pub enum Clear<T> {
    /// An image.
    Picture(Picture),
    /// Numbers.
    Table(T),
}

/// The decrypted content.
pub enum Plain {
    /// An image.
    Picture(Picture),
    /// The numbers of an image.
    Numbers(Numbers),
    /// Real numbers.
    Table(Table<f64>),
    /// Integers, categories and counts.
    Cells(Table<Cell>),
    /// Machine integers.
    Integers(Table<BigInt>),
}

impl Plain {
    /// The rows and columns of a table. They are those of its file but for results that are
    /// computed after decryption, as the fit of a regression is from its moments.
    pub fn dimensions(&self) -> Option<(u64, usize)> {
        match self {
            Self::Picture(_) | Self::Numbers(_) => None,
            Self::Table(table) => Some((table.rows() as u64, table.columns().len())),
            Self::Cells(table) => Some((table.rows() as u64, table.columns().len())),
            Self::Integers(table) => Some((table.rows() as u64, table.columns().len())),
        }
    }

    /// Writes it: an image in its format, numbers and tables as CSV.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn write(&self, format: Format, output: &mut impl Write) -> Result<()> {
        self.write_watched(format, output, &())
    }

    /// Writes it, the same, and tells of the rows of tables.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn write_watched(&self, format: Format, output: &mut impl Write, watch: &dyn Watch) -> Result<()> {
        match self {
            Self::Picture(picture) => picture.encode(format, output),
            Self::Numbers(numbers) => numbers.write(output),
            Self::Table(table) => write_table(table, output, watch),
            Self::Cells(table) => write_table(table, output, watch),
            Self::Integers(table) => write_table(table, output, watch),
        }
    }
}

fn write_table<T: Field>(table: &Table<T>, output: &mut impl Write, watch: &dyn Watch) -> Result<()> {
    /// The rows that are told of together.
    const ROWS: u64 = 1 << 10;
    let (rows, mut wrote) = (table.rows() as u64, 0);
    let meter = Meter::new(watch, Stage::Writing, rows);
    table.write_told(output, b',', || {
        wrote += 1;
        if wrote % ROWS == 0 {
            meter.inc(ROWS);
        }
    })?;
    meter.inc(rows % ROWS);
    meter.finish();
    Ok(())
}
