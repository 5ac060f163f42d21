//! Tables of integers that are computed on number by number: they must be alike.

use crate::data::integers::Integers;
use crate::error::{ContentError, Result};
use crate::note::pair_name;

/// A table of integers or conditions, as its file describes it.
#[derive(Clone, Copy)]
pub(crate) struct Described<'a> {
    /// The file.
    pub file: &'a str,
    /// Its integers; none if it holds conditions.
    pub integers: Option<Integers>,
    /// Its rows.
    pub rows: u64,
    /// The names of its columns.
    pub columns: &'a [Option<String>],
}

impl Described<'_> {
    /// Its integers.
    ///
    /// # Errors
    /// It holds conditions.
    pub fn numbers(self, operation: &str) -> Result<Integers> {
        let (name, operation) = (self.file.to_owned(), operation.to_owned());
        self.integers.ok_or_else(|| ContentError::Conditions { name, operation }.into())
    }

    /// Checks that it holds conditions.
    ///
    /// # Errors
    /// It holds numbers.
    pub fn conditions(self, operation: &str) -> Result<()> {
        let (name, operation) = (self.file.to_owned(), operation.to_owned());
        match self.integers {
            None => Ok(()),
            Some(_) => Err(ContentError::NotConditions { name, operation }.into()),
        }
    }

    /// Checks that two tables have as many rows and columns.
    ///
    /// # Errors
    /// They differ.
    pub fn same_shape(self, other: Self, operation: &str) -> Result<()> {
        if (self.rows, self.columns.len()) == (other.rows, other.columns.len()) {
            return Ok(());
        }
        let shape = |of: Self| format!("{} rows of {}", of.rows, of.columns.len());
        let operation = operation.to_owned();
        Err(ContentError::Shapes { left: shape(self), right: shape(other), operation }.into())
    }

    /// The names of columns that are made of two tables of numbers, one by one.
    ///
    /// # Errors
    /// One holds conditions; they differ in their integers, or in shape.
    pub fn paired(self, other: Self, operation: &str) -> Result<Vec<Option<String>>> {
        let (a, b) = (self.numbers(operation)?, other.numbers(operation)?);
        let (left, right) = (self.file.to_owned(), other.file.to_owned());
        if a.bits != b.bits {
            let (left_width, right_width) = (a.text(), b.text());
            return Err(ContentError::Widths { left, left_width, right, right_width }.into());
        }
        if a.signed != b.signed {
            let (signed, unsigned) = if a.signed { (left, right) } else { (right, left) };
            return Err(ContentError::Signs { signed, unsigned }.into());
        }
        self.same_shape(other, operation)?;
        Ok(self.names_with(other))
    }

    /// The names of columns that are made of two tables.
    pub fn names_with(self, other: Self) -> Vec<Option<String>> {
        let name =
            |(x, y): (&Option<String>, &Option<String>)| if x == y { x.clone() } else { pair_name(x, y) };
        self.columns.iter().zip(other.columns).map(name).collect()
    }
}
