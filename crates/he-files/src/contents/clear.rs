//! The contents that are encrypted, and those that are decrypted.

pub use super::view::View;
use crate::contents::numbers::Numbers;
use crate::data::picture::{Format, Picture};
use crate::data::table::{Cell, Table};
use crate::error::Result;
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
}

impl Plain {
    /// Writes it: an image in its format, numbers and tables as CSV.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn write(&self, format: Format, output: &mut impl Write) -> Result<()> {
        match self {
            Self::Picture(picture) => picture.encode(format, output),
            Self::Numbers(numbers) => numbers.write(output),
            Self::Table(table) => table.write(output, b','),
            Self::Cells(table) => table.write(output, b','),
        }
    }
}
