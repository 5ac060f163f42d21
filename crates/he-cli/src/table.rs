//! Tables of numbers as CSV.
//!
//! *Delimiter*: a tab if the first line holds one (outside quotes), else `;` if it holds one, else `,`.
//! *Header*: the first row is one if any of its fields is not a number. Both can be given instead. Decimals are
//! written with a point; blank lines are skipped; spaces around a field do not count; a byte-order mark is ignored.

use std::borrow::Cow;
use std::cell::Cell as Counter;
use std::io::{self, Read, Write};
use std::rc::Rc;

use crate::error::{CliError, Result, lower_first};
use crate::input::Peek;
use crate::units;
use num_bigint::BigUint;

/// Most numbers in a table (1 GiB of them).
pub const MAX_VALUES: usize = 1 << 27;
/// Most bytes in one row, quoted line breaks included.
const MAX_ROW: usize = 1 << 20;
/// How far the first line is looked at for its delimiter.
const FIRST_LINE: usize = 1 << 16;

/// Whether the first row holds names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Header {
    /// It does if any of its fields is not a number.
    #[default]
    Auto,
    /// It does (`--header`).
    Yes,
    /// It holds numbers like every other (`--no-header`).
    No,
}

/// How to read a table.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableOptions {
    /// Whether the first row holds names.
    pub header: Header,
    /// What separates the fields; recognised if not given.
    pub delimiter: Option<u8>,
}

/// Columns of fields, equally long; at least one column and one row.
#[derive(Clone, Debug, PartialEq)]
pub struct Table<T = f64> {
    header: Option<Vec<String>>,
    columns: Vec<Vec<T>>,
}

/// A field as it is written.
pub trait Field {
    /// Its text.
    fn text(&self) -> Cow<'_, str>;
}

impl Field for f64 {
    /// Reads back exactly.
    fn text(&self) -> Cow<'_, str> {
        plain(*self).into()
    }
}

/// A field that holds a whole number or a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// A number.
    Number(i64),
    /// A word.
    Word(Rc<str>),
}

impl Field for Cell {
    fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Number(number) => number.to_string().into(),
            Self::Word(word) => Cow::Borrowed(word),
        }
    }
}

/// Whether a file that begins with these bytes may be a table: UTF-8 text without control characters.
pub fn looks_like_table(start: &[u8]) -> bool {
    let control = |b: &u8| b.is_ascii_control() && !matches!(b, b'\n' | b'\r' | b'\t');
    // A character may be cut at the end of what is seen.
    let text = match std::str::from_utf8(start) {
        Ok(_) => true,
        Err(e) => e.error_len().is_none(),
    };
    text && !start.is_empty() && !start.iter().any(control)
}

impl Table {
    /// Reads a table of finite numbers; `name` is what errors call it.
    ///
    /// # Errors
    /// As for [`read_fields`](Self::read_fields); a field is not a finite number.
    pub fn read(input: impl Read, name: &str, options: TableOptions) -> Result<Self> {
        Self::read_fields(input, name, options, |_, _| Ok(|_: usize, field: &[u8]| number(field)))
    }
}

impl<T> Table<T> {
    /// A table from its columns.
    ///
    /// # Errors
    /// There is no column or no row, the columns differ in length, or the names differ in number from the columns.
    pub fn new(header: Option<Vec<String>>, columns: Vec<Vec<T>>) -> Result<Self> {
        let rows = columns.first().map_or(0, Vec::len);
        if rows == 0 {
            return Err(CliError::new("the table has no numbers"));
        }
        if let Some(column) = columns.iter().position(|c| c.len() != rows) {
            return Err(CliError::new(format!(
                "column {} has {} rows, the first has {rows}",
                column + 1,
                columns[column].len()
            )));
        }
        if let Some(names) = &header
            && names.len() != columns.len()
        {
            return Err(CliError::new(format!("{} names for {} columns", names.len(), columns.len())));
        }
        Ok(Self { header, columns })
    }

    /// Reads a table; `name` is what errors call it. `reader(header, columns)` makes what reads a field of a column.
    ///
    /// # Errors
    /// It is empty, a row has more or fewer fields than the first, a field cannot be read (line and column
    /// are named), a row or the whole is too large, or `input` cannot be read; those of `reader`.
    pub fn read_fields<F: FnMut(usize, &[u8]) -> Result<T, Problem>>(
        input: impl Read,
        name: &str,
        options: TableOptions,
        reader: impl FnOnce(Option<&[String]>, usize) -> Result<F>,
    ) -> Result<Self> {
        let read_error = |e: &io::Error| CliError::from_io(e, "read", name);
        let mut peek = Peek::new(input);
        if peek.peek(3).map_err(|e| read_error(&e))? == b"\xef\xbb\xbf" {
            peek.read_exact(&mut [0; 3]).map_err(|e| read_error(&e))?;
        }
        let delimiter = match options.delimiter {
            Some(given) => given,
            None => guess_delimiter(peek.peek(FIRST_LINE).map_err(|e| read_error(&e))?),
        };
        let row_bytes = Rc::new(Counter::new(0));
        let lines = Lines { inner: peek, row_bytes: Rc::clone(&row_bytes), last: b'\n', ended: false };
        let mut records = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .from_reader(lines);
        let mut header = None;
        let mut columns: Vec<Vec<T>> = Vec::new();
        let (mut reader, mut parse) = (Some(reader), None);
        let mut record = csv::ByteRecord::new();
        let mut first = true;
        loop {
            row_bytes.set(0);
            if !records.read_byte_record(&mut record).map_err(|e| csv_error(&e, name))? {
                break;
            }
            // Every line ends with one line break, the record's own ones stand in its fields.
            let breaks = record.as_slice().iter().filter(|&&byte| byte == b'\n').count() as u64;
            let line = records.position().line().saturating_sub(breaks + 1);
            if first {
                first = false;
                columns.resize_with(record.len(), Vec::new);
                let named = match options.header {
                    Header::Yes => true,
                    Header::No => false,
                    Header::Auto => record.iter().any(|field| number(field).is_err_and(|p| p.is_text())),
                };
                if named {
                    header =
                        Some(record.iter().map(|f| String::from_utf8_lossy(f).trim().to_owned()).collect());
                    continue;
                }
            }
            if record.len() != columns.len() {
                return Err(CliError::new(format!(
                    "{name}, line {line}: {} where the first row has {}",
                    fields(record.len()),
                    columns.len()
                ))
                .hint("every row needs the same number of fields; if the delimiter was guessed wrong, give --delimiter"));
            }
            if columns.len().saturating_mul(columns[0].len() + 1) > MAX_VALUES {
                return Err(CliError::new(format!(
                    "{name} holds more than {MAX_VALUES} numbers ({})",
                    units::bytes(8 * MAX_VALUES as u64)
                ))
                .hint("cut it into parts"));
            }
            if let Some(reader) = reader.take() {
                parse = Some(reader(header.as_deref(), columns.len())?);
            }
            let Some(parse) = &mut parse else { break };
            for (index, field) in record.iter().enumerate() {
                let value = parse(index, field).map_err(|problem| {
                    let named = header.as_ref().and_then(|h: &Vec<String>| h.get(index));
                    let column = match named {
                        Some(title) => format!("{} ({})", index + 1, excerpt(title.as_bytes())),
                        None => (index + 1).to_string(),
                    };
                    CliError::new(format!("{name}, line {line}, column {column}: {}", problem.text(field)))
                        .hint(problem.hint())
                })?;
                columns[index].push(value);
            }
        }
        if columns.first().is_none_or(Vec::is_empty) {
            let what = if header.is_some() { "holds a header and no numbers" } else { "is empty" };
            return Err(CliError::new(format!("{name} {what}"))
                .hint("a table has rows of numbers; use --no-header if the first row is data"));
        }
        Ok(Self { header, columns })
    }

    /// Writes the table with `delimiter` between fields, a line a row; numbers so that they read back exactly.
    ///
    /// # Errors
    /// `out` cannot be written.
    pub fn write(&self, out: impl Write, delimiter: u8) -> Result<()>
    where
        T: Field,
    {
        let failed = |e: csv::Error| match e.into_kind() {
            csv::ErrorKind::Io(e) => CliError::from_io(&e, "write", "the table"),
            _ => CliError::new("cannot write the table"),
        };
        let mut out = out;
        if let Some(names) = &self.header {
            // A name with a foreign delimiter needs quotes too: readers guess the delimiter from this line.
            let foreign = |c: char| matches!(c, ',' | ';' | '\t') && c != char::from(delimiter);
            let foreign = names.iter().any(|name| name.contains(foreign));
            let quotes = if foreign { csv::QuoteStyle::Always } else { csv::QuoteStyle::Necessary };
            let mut writer =
                csv::WriterBuilder::new().delimiter(delimiter).quote_style(quotes).from_writer(&mut out);
            writer.write_record(names).map_err(failed)?;
        }
        let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(out);
        for row in 0..self.rows() {
            for column in &self.columns {
                writer.write_field(column[row].text().as_ref()).map_err(failed)?;
            }
            writer.write_record(None::<&[u8]>).map_err(failed)?;
        }
        writer.flush().map_err(|e| CliError::from_io(&e, "write", "the table"))
    }

    /// The names of the columns, if the table has any.
    pub fn header(&self) -> Option<&[String]> {
        self.header.as_deref()
    }

    /// The columns.
    pub fn columns(&self) -> &[Vec<T>] {
        &self.columns
    }

    /// The columns, to be changed.
    pub fn columns_mut(&mut self) -> &mut [Vec<T>] {
        &mut self.columns
    }

    /// How many rows of numbers there are.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }
}

/// The shortest text that reads back as the same number, with an exponent where that is shorter by far.
fn plain(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-5..1e16).contains(&size) { format!("{value:e}") } else { format!("{value}") }
}

/// Why a field is not what its column holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// Nothing is there.
    Empty,
    /// No number.
    Text,
    /// `nan` or `inf`.
    NotFinite,
    /// Beyond the largest number.
    TooLarge,
    /// A number with a fraction.
    NotWhole,
    /// A whole number beyond 2^53.
    BeyondExact,
    /// No unsigned integer.
    NotUnsigned,
    /// An unsigned integer of more bits.
    BeyondWidth(u32),
    /// None of the categories.
    NoCategory(String),
    /// One category more than there may be.
    TooManyCategories(usize),
}

impl Problem {
    /// Whether a header may look like this; `nan` and `1e999` are numbers gone wrong.
    fn is_text(&self) -> bool {
        matches!(self, Self::Text | Self::Empty)
    }

    fn text(&self, field: &[u8]) -> String {
        match self {
            Self::Empty => "the field is empty".to_owned(),
            Self::Text => format!("{} is not a number", excerpt(field)),
            Self::NotFinite => format!("{} is not a finite number", excerpt(field)),
            Self::TooLarge | Self::BeyondExact => format!("{} is too large", excerpt(field)),
            Self::NotWhole => format!("{} is not a whole number", excerpt(field)),
            Self::NotUnsigned => format!("{} is not an unsigned integer", excerpt(field)),
            Self::BeyondWidth(bits) => format!("{} does not fit {bits} bits", excerpt(field)),
            Self::NoCategory(_) => format!("{} is none of the categories", excerpt(field)),
            Self::TooManyCategories(most) => format!("{} is category {}", excerpt(field), most + 1),
        }
    }

    fn hint(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Empty => "every row needs a number in every column",
            Self::Text => {
                "numbers look like -1.5 or 2e-3, with a decimal point; give --header or --delimiter if they were guessed wrong"
            }
            Self::NotFinite => "remove the row or put a number there",
            Self::TooLarge => "scale the column first",
            Self::NotWhole => {
                "bfv and bgv take whole numbers: count in smaller units (cents), use keys of ckks, or name the column in --categories"
            }
            Self::NotUnsigned => {
                "tfhe takes whole numbers from 0 on, in digits: count in smaller units (cents), from the least"
            }
            Self::BeyondWidth(bits) => {
                return format!("{bits} bits hold numbers below 2^{bits}: give a larger --width, up to 256")
                    .into();
            }
            Self::BeyondExact => "whole numbers of a table stay below 2^53 in magnitude",
            Self::TooManyCategories(most) => {
                return format!("at most {most} are possible: put rare ones together").into();
            }
            Self::NoCategory(categories) => return format!("the categories are {categories}").into(),
        })
    }
}

/// A whole number below 2^53 in magnitude: every one is told from its neighbours, however it is written.
///
/// # Errors
/// It is none.
pub fn whole(field: &[u8]) -> Result<i64, Problem> {
    let value = number(field)?;
    if value.fract() != 0.0 {
        return Err(Problem::NotWhole);
    }
    if value.abs() >= (1u64 << 53) as f64 {
        return Err(Problem::BeyondExact);
    }
    Ok(value as i64)
}

/// An unsigned integer of so many bits, in decimal digits.
///
/// # Errors
/// It is none.
pub fn unsigned(field: &[u8], bits: u32) -> Result<BigUint, Problem> {
    let digits = field.trim_ascii();
    if digits.is_empty() {
        return Err(Problem::Empty);
    }
    if !digits.iter().all(u8::is_ascii_digit) {
        return Err(if number(field).is_ok() { Problem::NotUnsigned } else { Problem::Text });
    }
    let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
    let significant = &digits[zeros..];
    // No number of so few bits has as many digits; longer ones are not worth reading.
    let value = match significant.len() as u32 <= bits {
        true => BigUint::parse_bytes(significant, 10).unwrap_or_default(),
        false => return Err(Problem::BeyondWidth(bits)),
    };
    if value.bits() > u64::from(bits) { Err(Problem::BeyondWidth(bits)) } else { Ok(value) }
}

fn number(field: &[u8]) -> Result<f64, Problem> {
    let text = std::str::from_utf8(field).map_err(|_| Problem::Text)?.trim();
    if text.is_empty() {
        return Err(Problem::Empty);
    }
    let value: f64 = text.parse().map_err(|_| Problem::Text)?;
    if value.is_finite() {
        Ok(value)
    } else if text.bytes().any(|b| b.is_ascii_digit()) {
        Err(Problem::TooLarge)
    } else {
        Err(Problem::NotFinite)
    }
}

/// A field in quotes, at most 32 characters of it, control characters escaped.
fn excerpt(field: &[u8]) -> String {
    let text = String::from_utf8_lossy(&field[..field.len().min(256)]);
    let text = text.trim();
    let short: String = text.chars().take(32).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("\"{}{more}\"", short.escape_debug())
}

fn fields(count: usize) -> String {
    if count == 1 { "1 field".to_owned() } else { format!("{count} fields") }
}

fn guess_delimiter(start: &[u8]) -> u8 {
    let (mut semicolon, mut quoted, mut blank) = (false, false, true);
    for &byte in start {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' | b'\r' if !quoted && !blank => break,
            b'\t' if !quoted => return b'\t',
            b';' if !quoted => semicolon = true,
            _ => {}
        }
        blank &= matches!(byte, b'\n' | b'\r');
    }
    if semicolon { b';' } else { b',' }
}

/// Ends every line, the last one too, with a single `\n`, so that lines can be counted; and fails when more than
/// [`MAX_ROW`] bytes are read since the counter was set to zero: a file without line ends, or with a quote that never
/// closes, is not kept in memory.
struct Lines<R> {
    inner: R,
    row_bytes: Rc<Counter<usize>>,
    /// The last byte read, before it was changed.
    last: u8,
    ended: bool,
}

impl<R: Read> Read for Lines<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut kept = 0;
        while kept == 0 && !self.ended && !out.is_empty() {
            let count = self.inner.read(out)?;
            self.row_bytes.set(self.row_bytes.get() + count);
            if self.row_bytes.get() > MAX_ROW {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            for at in 0..count {
                let byte = out[at];
                // The second half of \r\n was written with the first.
                if !(byte == b'\n' && self.last == b'\r') {
                    out[kept] = if byte == b'\r' { b'\n' } else { byte };
                    kept += 1;
                }
                self.last = byte;
            }
            if count == 0 {
                self.ended = true;
                if !matches!(self.last, b'\n' | b'\r') {
                    out[0] = b'\n';
                    kept = 1;
                }
            }
        }
        Ok(kept)
    }
}

fn csv_error(error: &csv::Error, name: &str) -> CliError {
    match error.kind() {
        csv::ErrorKind::Io(e) if e.kind() == io::ErrorKind::FileTooLarge => {
            CliError::new(format!("{name}: a row is longer than {}", units::bytes(MAX_ROW as u64)))
                .hint("is this a CSV file? a quote that never closes has this effect, too")
        }
        csv::ErrorKind::Io(e) => CliError::from_io(e, "read", name),
        _ => CliError::new(format!("cannot read {name}: {}", lower_first(&error.to_string()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Table> {
        read_with(text, TableOptions::default())
    }

    fn read_with(text: &str, options: TableOptions) -> Result<Table> {
        Table::read(text.as_bytes(), "data.csv", options)
    }

    fn error(text: &str) -> String {
        let error = read(text).unwrap_err();
        assert!(error.hint_text().is_some(), "{error} has no hint");
        error.message().to_owned()
    }

    #[test]
    fn plain_numbers() {
        let table = read("1,2.5\n-3,4e-2\n").unwrap();
        assert_eq!(table.columns(), [vec![1.0, -3.0], vec![2.5, 0.04]]);
        assert_eq!((table.header(), table.rows()), (None, 2));
    }

    #[test]
    fn headers_are_recognised_or_given() {
        let table = read("a,\"b, c\"\n1,2\n").unwrap();
        assert_eq!(table.header().unwrap(), ["a", "b, c"]);
        assert_eq!(table.columns(), [[1.0], [2.0]]);
        let years = TableOptions { header: Header::Yes, ..TableOptions::default() };
        assert_eq!(read_with("2024,2025\n1,2\n", years).unwrap().header().unwrap(), ["2024", "2025"]);
        let none = TableOptions { header: Header::No, ..TableOptions::default() };
        let error = read_with("a,b\n1,2\n", none).unwrap_err();
        assert_eq!(error.message(), "data.csv, line 1, column 1: \"a\" is not a number");
        // One name suffices, and a missing one counts.
        assert_eq!(read("1,b\n1,2\n").unwrap().header().unwrap(), ["1", "b"]);
        assert_eq!(read(",b\n1,2\n").unwrap().header().unwrap(), ["", "b"]);
    }

    #[test]
    fn delimiters_are_recognised_or_given() {
        for text in ["1,2\n3,4", "1;2\n3;4", "1\t2\n3\t4", "\r\n1 , 2\r\n\r\n3,4\r\n", "\u{feff}1,2\n3,4\n"] {
            assert_eq!(read(text).unwrap().columns(), [[1.0, 3.0], [2.0, 4.0]], "{text:?}");
        }
        // Only outside quotes, and only in the first line.
        assert_eq!(read("\"a;b\",c\n1,2\n").unwrap().header().unwrap(), ["a;b", "c"]);
        let given = TableOptions { delimiter: Some(b'|'), ..TableOptions::default() };
        assert_eq!(read_with("1|2\n", given).unwrap().columns(), [[1.0], [2.0]]);
        // Decimal commas are refused with a word about points.
        let decimal = read("x;y\n1,5;2,5\n").unwrap_err();
        assert_eq!(decimal.message(), "data.csv, line 2, column 1 (\"x\"): \"1,5\" is not a number");
        assert!(decimal.hint_text().unwrap().contains("decimal point"));
    }

    #[test]
    fn one_column_is_a_table() {
        assert_eq!(read("x\n1\n\n2\n").unwrap().columns(), [[1.0, 2.0]]);
        assert_eq!(read("7").unwrap().columns(), [[7.0]]);
    }

    #[test]
    fn errors_name_the_place() {
        assert_eq!(error("1,2\n3,x\n"), "data.csv, line 2, column 2: \"x\" is not a number");
        assert_eq!(
            error("a,b\n1,2\n\n3,NaN\n"),
            "data.csv, line 4, column 2 (\"b\"): \"NaN\" is not a finite number"
        );
        for text in ["\"a\nb\"\r\n\r\n\n1\r\nx", "\r\"a\nb\"\r\r1\rx\r\n", "\na\n\n\n1\nx"] {
            assert!(error(text).starts_with("data.csv, line 6, column 1 ("), "{text:?}: {}", error(text));
        }
        assert_eq!(error("1\n-inf\n"), "data.csv, line 2, column 1: \"-inf\" is not a finite number");
        assert_eq!(error("nan,1\n"), "data.csv, line 1, column 1: \"nan\" is not a finite number");
        assert_eq!(error("1\n1e999\n"), "data.csv, line 2, column 1: \"1e999\" is too large");
        assert_eq!(error("1,2\n3,\n"), "data.csv, line 2, column 2: the field is empty");
        assert_eq!(error("1,2\n3\n"), "data.csv, line 2: 1 field where the first row has 2");
        assert_eq!(error("1\n2,3\n"), "data.csv, line 2: 2 fields where the first row has 1");
        assert_eq!(error(""), "data.csv is empty");
        assert_eq!(error("\n\n"), "data.csv is empty");
        assert_eq!(error("a,b\n"), "data.csv holds a header and no numbers");
        assert_eq!(error("1\n\u{1b}[2J\n"), "data.csv, line 2, column 1: \"\\u{1b}[2J\" is not a number");
        let long = format!("1\n{}\n", "x".repeat(1000));
        assert!(error(&long).len() < 120);
    }

    #[test]
    fn foreign_bytes_do_not_panic() {
        let bytes: Vec<u8> = (0..=255).rev().cycle().take(5000).collect();
        assert!(Table::read(bytes.as_slice(), "x", TableOptions::default()).is_err());
        for start in 0..256 {
            let _ = Table::read(&bytes[start..start + 40], "x", TableOptions::default());
        }
    }

    #[test]
    fn endless_rows_are_refused() {
        for endless in ["1".repeat(MAX_ROW + 10_000), format!("\"{}", "1\n".repeat(MAX_ROW))] {
            assert_eq!(error(&endless), "data.csv: a row is longer than 1.00 MiB");
        }
        // Many short rows are as long as they like.
        assert_eq!(read(&"12345\n".repeat(MAX_ROW / 3)).unwrap().rows(), MAX_ROW / 3);
    }

    #[test]
    fn written_tables_read_back_exactly() {
        let values =
            vec![0.1, -0.0, 1.0 / 3.0, f64::MAX, f64::MIN_POSITIVE, 5e-324, 123_456_789.0, 1e16, 1e-5];
        let header = Some(vec!["a;b".to_owned(), "say \"x\", y".to_owned()]);
        let table = Table::new(header, vec![values.clone(), values.iter().map(|v| -v).collect()]).unwrap();
        for delimiter in [b',', b';', b'\t'] {
            let mut out = Vec::new();
            table.write(&mut out, delimiter).unwrap();
            let back = Table::read(out.as_slice(), "x", TableOptions::default()).unwrap();
            assert_eq!(back, table);
            for (a, b) in back.columns().iter().flatten().zip(table.columns().iter().flatten()) {
                assert_eq!(a.to_bits(), b.to_bits());
            }
        }
        assert_eq!(plain(f64::MAX), "1.7976931348623157e308");
    }

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
        for other in [&b""[..], b"HE\0\x01", b"\x89PNG\r\n", b"ab\xff"] {
            assert!(!looks_like_table(other));
        }
    }
}
