//! Tables of numbers as CSV.
//!
//! The text is in UTF-8; others are refused.
//!
//! *Delimiter*: a tab if the first line holds one (outside quotes), else `;` if it holds one, else
//! `,`. *Header*: the first row is one if any of its fields is not a number, nor one as people
//! write it (`1 234`); [`header`] says what is guessed of numbers. *Decimals* are written with a
//! point, or with a comma where that is no delimiter ([`decimal`]). All three can be specified
//! instead. Blank lines are skipped, and spaces around a field and a byte-order mark are ignored.
//!
//! *Formulas*: spreadsheets compute fields that begin with `=`, `+`, `-`, `@`, a tab or a line end,
//! and names may come from anybody. Such names and words, unless they are numbers, are written with
//! an apostrophe before them (`'=1+1`), which spreadsheets take as "this is text", and read without
//! it; a field that already begins with apostrophes before such a character gets one more, so that
//! all fields are restored exactly. Control characters in names and words are written as `\u{1b}`
//! and so on: a file with such characters is not a table.

pub mod decimal;
mod field;
mod formula;
pub mod header;
mod read;
mod rows;
mod write;

pub use field::{Cell, Field, signed, unsigned, whole};
pub use formula::{guarded, unguarded};
pub use header::Header;

use crate::error::{Result, TableError};
use crate::watch::{Remedy, Warning, Watch};
use decimal::Decimal;
use header::HeaderGuess;
use serde::Deserialize;

/// The most numbers in a table (1 GiB of them).
pub const MAX_VALUES: usize = 1 << 27;

/// The treatment of missing numbers: of empty fields and, among numbers, of NA, N/A, NaN and null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Missing {
    /// The table is refused.
    #[default]
    Error,
    /// The row is left out.
    Skip,
    /// The number is 0.
    Zero,
}

/// The options for reading a table.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableOptions<'a> {
    /// Whether the first row holds names.
    pub header: Header,
    /// The delimiter of fields; recognised if not given.
    pub delimiter: Option<u8>,
    /// The columns to be read, in this order, by name or number from 1 on; all if none is named.
    pub columns: &'a [String],
    /// The treatment of missing numbers.
    pub missing: Missing,
    /// The mark before decimals.
    pub decimal: Decimal,
    /// Whether names only choose columns while the table is read, and are not encrypted with it:
    /// they are public there.
    pub nameless: bool,
}

/// Columns of fields, equally long; at least one column and one row.
#[derive(Clone, Debug, PartialEq)]
pub struct Table<T = f64> {
    header: Option<Vec<String>>,
    columns: Vec<Vec<T>>,
    /// The interpretation of the first row, if it is not certain.
    guess: Option<HeaderGuess>,
    /// The rows that were omitted, from 1 on.
    skipped: Vec<usize>,
}

/// The index of a column by its name, or its number from 1 on.
///
/// # Errors
/// There is no such column, or more than one.
pub fn column_number<'a>(
    count: usize,
    name: impl Fn(usize) -> Option<&'a str>,
    wanted: &str,
) -> Result<usize> {
    let mut named = (0..count).filter(|&i| name(i) == Some(wanted));
    match (named.next(), named.next(), wanted.parse::<usize>()) {
        (Some(index), None, _) => Ok(index),
        (Some(_), Some(_), _) => Err(TableError::TwoColumns { column: wanted.to_owned(), count }.into()),
        (None, _, Ok(number)) if (1..=count).contains(&number) => Ok(number - 1),
        _ => Err(TableError::NoColumn { column: wanted.to_owned(), count }.into()),
    }
}

/// Whether a file that begins with these bytes may be a table: text without control characters. The
/// reader refuses text that is not in UTF-8, and says so.
pub fn looks_like_table(start: &[u8]) -> bool {
    let control = |b: &u8| b.is_ascii_control() && !matches!(b, b'\n' | b'\r' | b'\t');
    rows::is_utf_16(start) || !start.is_empty() && !start.iter().any(control)
}

impl<T> Table<T> {
    /// A table from its columns.
    ///
    /// # Errors
    /// There is no column or no row, the columns differ in length, or the names differ in number
    /// from the columns.
    pub fn new(header: Option<Vec<String>>, columns: Vec<Vec<T>>) -> Result<Self> {
        let rows = columns.first().map_or(0, Vec::len);
        if rows == 0 {
            return Err(TableError::NoNumbers.into());
        }
        if let Some(column) = columns.iter().position(|c| c.len() != rows) {
            return Err(TableError::UnequalColumns {
                column: column + 1,
                rows: columns[column].len(),
                first: rows,
            }
            .into());
        }
        if let Some(names) = &header
            && names.len() != columns.len()
        {
            return Err(TableError::Names { names: names.len(), columns: columns.len() }.into());
        }
        Ok(Self { header, columns, guess: None, skipped: Vec::new() })
    }

    /// Reports what was guessed or omitted while the table was read.
    pub fn tell(&self, name: &str, watch: &dyn Watch) {
        self.tell_guess(name, watch);
        if !self.skipped.is_empty() {
            let (skipped, all) = (self.skipped.len(), self.skipped.len() + self.rows());
            let message = format!(
                "{name}: {skipped} of {all} rows are left out in every column, because something is missing in them"
            );
            watch.warn(&Warning { message, remedy: Remedy::RowsLeft });
        }
    }

    /// Reports how the first row was taken, if that is not certain.
    pub fn tell_guess(&self, name: &str, watch: &dyn Watch) {
        if let Some(guess) = self.guess {
            let message = format!("{name}: {}", guess.text());
            let remedy = Remedy::Header { names: guess == HeaderGuess::Names };
            watch.warn(&Warning { message, remedy });
        }
    }

    /// The rows that were left out because something is missing in them, counted from 1 on among
    /// all rows of numbers.
    pub fn skipped(&self) -> &[usize] {
        &self.skipped
    }

    /// The interpretation of the first row, if it is not certain.
    pub fn guess(&self) -> Option<HeaderGuess> {
        self.guess
    }

    /// The names of the columns, if the table has any.
    pub fn header(&self) -> Option<&[String]> {
        self.header.as_deref()
    }

    /// The columns.
    pub fn columns(&self) -> &[Vec<T>] {
        &self.columns
    }

    /// Leaves the names out.
    pub fn forget_names(&mut self) {
        self.header = None;
    }

    /// The columns, for changing them.
    pub fn columns_mut(&mut self) -> &mut [Vec<T>] {
        &mut self.columns
    }

    /// The number of rows of numbers.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_tables_are_refused() {
        assert!(Table::<f64>::new(None, vec![]).is_err());
        assert!(Table::<f64>::new(None, vec![vec![]]).is_err());
        assert!(Table::new(None, vec![vec![1.0], vec![]]).is_err());
        assert!(Table::new(Some(vec![]), vec![vec![1.0]]).is_err());
    }

    #[test]
    fn text_is_told_from_binary() {
        assert!(looks_like_table(b"1,2\n3,4\n"));
        assert!(looks_like_table("größe\n1".as_bytes()));
        assert!(looks_like_table(&"grö".as_bytes()[..3]));
        for encoded in [&b"Gr\xf6\xdfe\n1"[..], b"\xff\xfea\0", b"\xfe\xff\0a"] {
            assert!(looks_like_table(encoded));
        }
        for other in [&b""[..], b"HE\0\x01", b"\x89PNG\r\n\x1a\n", b"a\0"] {
            assert!(!looks_like_table(other));
        }
    }
}
