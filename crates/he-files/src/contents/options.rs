//! Options for reading and encrypting tables.

use crate::data::table::TableOptions;
use std::str::FromStr;

/// The most categories of a column.
pub const MAX_CATEGORIES: usize = 4096;

/// The options with which a table is read and laid out in ciphertexts.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableFlags<'a> {
    /// Header, delimiter, columns and the like.
    pub options: TableOptions<'a>,
    /// Columns of categories.
    pub categories: &'a [ColumnCategories],
    /// The offsets of columns of real numbers.
    pub offsets: &'a [ColumnOffset],
    /// Whether every column has vectors of its own, however short.
    pub unpacked: bool,
}

/// The offset of one column, or of all that are not named.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnOffset {
    /// The column by name or by number from 1 on; all others if not given.
    pub column: Option<String>,
    /// The offset.
    pub offset: Offset,
}

/// The number that is subtracted from a column before encryption.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Offset {
    /// An offset that suits the numbers, if that gains much.
    #[default]
    Auto,
    /// Nothing.
    None,
    /// A number.
    Given(f64),
}

impl FromStr for ColumnOffset {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let word = |word: &str| match word {
            "auto" => Some(Offset::Auto),
            "none" => Some(Offset::None),
            _ => None,
        };
        // A name may contain an equals sign, but a number does not.
        let (column, value) = match text.rsplit_once('=') {
            Some((column, value)) => (Some(column.to_owned()), value),
            None => (None, text),
        };
        let number = || value.parse().ok().filter(|x: &f64| x.is_finite() && column.is_some());
        let offset = word(value).or_else(|| number().map(Offset::Given));
        let offset = offset.ok_or("auto, none, or a column and a number, as in pressure=101325")?;
        Ok(Self { column, offset })
    }
}

/// A column of categories, and its categories if they are given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnCategories {
    /// The column by name or by number from 1 on.
    pub column: String,
    /// All that may occur; if not given, those that do occur.
    pub names: Option<Vec<String>>,
}

impl FromStr for ColumnCategories {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((column, names)) = text.split_once('=') else {
            return Ok(Self { column: text.to_owned(), names: None });
        };
        let names: Vec<String> = names.split(',').map(|name| name.trim().to_owned()).collect();
        let distinct: std::collections::BTreeSet<&String> = names.iter().collect();
        if distinct.len() != names.len() || names.iter().any(String::is_empty) {
            return Err("a column and different words, as in colour=red,green,blue".to_owned());
        }
        if names.len() > MAX_CATEGORIES {
            return Err(format!("at most {MAX_CATEGORIES} categories"));
        }
        Ok(Self { column: column.to_owned(), names: Some(names) })
    }
}
