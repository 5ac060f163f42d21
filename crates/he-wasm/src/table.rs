//! Tables as text, read as `he-cli encrypt` reads them.

use crate::error::{Error, Result};
use crate::session::Column;
use crate::task::Tell;
use he_files::data::table::decimal::Decimal;
use he_files::data::table::{Header, Missing, Table, TableOptions, looks_like_table, whole};
use serde::Deserialize;
use serde_json::Value;

/// The options with which a table is read, as JavaScript states them. Options that are not given
/// are as in `he-cli encrypt`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct ReadOptions {
    /// Whether the first row holds names.
    pub header: Header,
    /// The character between fields.
    pub delimiter: Option<char>,
    /// The columns to be read, in this order, by name or number from 1 on; all if none is named.
    pub columns: Vec<String>,
    /// The treatment of missing numbers.
    pub missing: Missing,
    /// The mark before decimals.
    pub decimal: Decimal,
    /// Whether the numbers are whole, for columns of integers.
    pub integers: bool,
}

impl ReadOptions {
    /// From JSON.
    ///
    /// # Errors
    /// [`Error::Reading`]: there is no such option, or none with such a value.
    pub fn parse(json: &str) -> Result<Self> {
        let refused = |why: String| Error::Reading { why };
        let options: Self = serde_json::from_str(json).map_err(|error| refused(error.to_string()))?;
        let separates = |c: char| c.is_ascii() && !c.is_ascii_alphanumeric() && !"\"\n\r".contains(c);
        match options.delimiter {
            Some(c) if !separates(c) => Err(refused(format!("{c:?} cannot stand between fields"))),
            _ => Ok(options),
        }
    }
}

/// A table in the clear.
#[derive(Debug)]
pub struct Read {
    /// The names of the columns, if the table has any.
    pub names: Option<Vec<String>>,
    /// The columns.
    pub columns: Vec<Column>,
    /// The guesses and omissions, as [`Tell::warnings`] gives them.
    pub warnings: Value,
}

/// Reads a table, which errors call `name`.
///
/// # Errors
/// [`Error::NotATable`] if the bytes are not text; those of [`Table::read`], which name the line
/// and the column.
pub fn read(bytes: &[u8], name: &str, options: &ReadOptions) -> Result<Read> {
    text(bytes, name)?;
    let ReadOptions { header, delimiter, ref columns, missing, decimal, integers } = *options;
    let delimiter = delimiter.and_then(|c| u8::try_from(c).ok());
    let options = TableOptions { header, delimiter, columns, missing, decimal, nameless: false };
    let tell = Tell::default();
    let (names, columns) = if integers {
        let table = Table::read_fields(bytes, name, options, |_, _, mark| {
            Ok(move |_: usize, field: &[u8]| whole(field, &mark))
        })?;
        table.tell(name, &tell);
        (table.header().map(<[_]>::to_vec), table.columns().iter().cloned().map(Column::Integer).collect())
    } else {
        let table = Table::read(bytes, name, options)?;
        table.tell(name, &tell);
        (table.header().map(<[_]>::to_vec), table.columns().iter().cloned().map(Column::Real).collect())
    };
    Ok(Read { names, columns, warnings: tell.warnings() })
}

/// The text of a file that may be a table, which errors call `name`, without its byte-order mark.
///
/// # Errors
/// [`Error::NotATable`] if it is not UTF-8 or holds control characters: a picture, or a workbook.
pub fn text<'a>(bytes: &'a [u8], name: &str) -> Result<&'a str> {
    let text = std::str::from_utf8(bytes).ok().filter(|_| bytes.is_empty() || looks_like_table(bytes));
    let text = text.ok_or_else(|| Error::NotATable { name: name.to_owned() })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}
