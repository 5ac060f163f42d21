//! Tables of numbers as CSV.
//!
//! *Delimiter*: a tab if the first line holds one (outside quotes), else `;` if it holds one, else
//! `,`. *Header*: the first row is one if any of its fields is not a number; [`header`] says what
//! is guessed of numbers. *Decimals* are written with a point, or with a comma where that is no
//! delimiter ([`decimal`]). All three can be specified instead. Blank lines are skipped, and spaces
//! around a field and a byte-order mark are ignored.
//!
//! *Formulas*: spreadsheets compute fields that begin with `=`, `+`, `-`, `@`, a tab or a line end,
//! and names may come from anybody. Such names and words, unless they are numbers, are written with
//! an apostrophe before them (`'=1+1`), which spreadsheets take as "this is text", and read without
//! it; a field that already begins with apostrophes before such a character gets one more, so that
//! all fields are restored exactly. Control characters in names and words are written as `\u{1b}`
//! and so on: a file with such characters is not a table.

pub mod decimal;
pub mod header;

use crate::error::{Error, Place, Problem, Result, TableError, lower_first};
use std::borrow::Cow;
use std::cell::Cell as Counter;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::rc::Rc;

use crate::io::input::Peek;
use crate::watch::{Warning, Watch};
use decimal::{Decimal, Mark};
use header::{HeaderGuess, SAMPLE};
use num_bigint::BigUint;

/// The most numbers in a table (1 GiB of them).
pub const MAX_VALUES: usize = 1 << 27;
/// The most bytes in one row, including quoted line breaks.
const MAX_ROW: usize = 1 << 20;
/// The part of the first line that is searched for the delimiter.
const FIRST_LINE: usize = 1 << 16;

/// Whether the first row holds names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Header {
    /// It does if any of its fields is not a number, or if its numbers are guessed to be names.
    #[default]
    Auto,
    /// It does (`--header`).
    Yes,
    /// It holds numbers like every other (`--no-header`).
    No,
}

/// The treatment of missing numbers: of empty fields and, among numbers, of NA, N/A, NaN and null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
}

/// Columns of fields, equally long; at least one column and one row.
#[derive(Clone, Debug, PartialEq)]
pub struct Table<T = f64> {
    header: Option<Vec<String>>,
    columns: Vec<Vec<T>>,
    /// The interpretation of the first row, if it is not certain.
    guess: Option<HeaderGuess>,
    /// The rows that were omitted.
    skipped: usize,
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

/// Whether a file that begins with these bytes may be a table: UTF-8 text without control
/// characters.
pub fn looks_like_table(start: &[u8]) -> bool {
    let control = |b: &u8| b.is_ascii_control() && !matches!(b, b'\n' | b'\r' | b'\t');
    // A character may be cut off at the end of these bytes.
    let text = match std::str::from_utf8(start) {
        Ok(_) => true,
        Err(e) => e.error_len().is_none(),
    };
    text && !start.is_empty() && !start.iter().any(control)
}

impl Table {
    /// Reads a table of finite numbers, which errors call `name`.
    ///
    /// # Errors
    /// The same as for [`read_fields`](Self::read_fields); a field is not a finite number.
    pub fn read(input: impl Read, name: &str, options: TableOptions<'_>) -> Result<Self> {
        Self::read_fields(input, name, options, |_, _, mark| {
            Ok(move |_: usize, field: &[u8]| mark.number(field))
        })
    }
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
        Ok(Self { header, columns, guess: None, skipped: 0 })
    }

    /// Reads a table, which errors call `name`. `reader(header, columns, mark)` makes the reader of
    /// a field of a column, for the chosen columns.
    ///
    /// # Errors
    /// It is empty, a row has more or fewer fields than the first, a field cannot be read (line and
    /// column are named), a row or the whole is too large, or `input` cannot be read; a chosen
    /// column does not exist; its decimal mark cannot be determined; the errors of `reader`.
    pub fn read_fields<F: FnMut(usize, &[u8]) -> Result<T, Problem>>(
        input: impl Read,
        name: &str,
        options: TableOptions<'_>,
        reader: impl FnOnce(Option<&[String]>, usize, Rc<Mark>) -> Result<F>,
    ) -> Result<Self> {
        let (mut rows, delimiter) = Rows::new(input, name, options)?;
        let mark = Rc::new(Mark::new(options.decimal, delimiter));
        let mut record = csv::ByteRecord::new();
        let Some(mut line) = rows.next(&mut record)? else {
            return Err(TableError::Empty { name: name.to_owned() }.into());
        };
        let width = record.len();
        let (named, guess) = first_row(&record, &mut rows, options, &mark)?;
        let titles: Option<Vec<String>> = named.then(|| {
            let name = |field| unguarded(String::from_utf8_lossy(field).trim()).to_owned();
            record.iter().map(name).collect()
        });
        let chosen = chosen(options.columns, width, titles.as_deref())?;
        let header: Option<Vec<String>> =
            titles.map(|titles| chosen.iter().map(|&source| titles[source].clone()).collect());
        let mut parse = reader(header.as_deref(), chosen.len(), Rc::clone(&mark))?;
        let mut columns: Vec<Vec<T>> = chosen.iter().map(|_| Vec::new()).collect();
        let (mut more, mut skipped, mut doubtful) = (!named, 0, None);
        loop {
            if !more {
                match rows.next(&mut record)? {
                    Some(next) => line = next,
                    None => break,
                }
            }
            more = false;
            if record.len() != width {
                return Err(TableError::Fields {
                    name: name.to_owned(),
                    line,
                    found: record.len(),
                    first: width,
                }
                .into());
            }
            if columns.len().saturating_mul(columns[0].len() + 1) > MAX_VALUES {
                return Err(TableError::TooManyValues { name: name.to_owned(), most: MAX_VALUES }.into());
            }
            let place = |index: usize| Place {
                name: name.to_owned(),
                line,
                column: chosen[index] + 1,
                title: header
                    .as_ref()
                    .and_then(|header: &Vec<String>| header.get(index))
                    .map(|title| excerpt(title.as_bytes())),
            };
            let field = |index: usize| record.get(chosen[index]).unwrap_or_default();
            let blank = |index: usize| field(index).trim_ascii().is_empty();
            if options.missing == Missing::Skip && (0..columns.len()).any(blank) {
                skipped += 1;
                continue;
            }
            for index in 0..columns.len() {
                let value = match parse(index, field(index)) {
                    Err(problem) if options.missing != Missing::Error && problem.is_missing(field(index)) => {
                        if options.missing == Missing::Skip {
                            columns[..index].iter_mut().for_each(|column| drop(column.pop()));
                            skipped += 1;
                            break;
                        }
                        parse(index, b"0")
                    }
                    value => value,
                };
                let value = value.map_err(|problem| TableError::Field {
                    place: place(index),
                    field: excerpt(field(index)),
                    problem,
                })?;
                columns[index].push(value);
                if mark.is_doubtful() && doubtful.is_none() {
                    doubtful = Some((place(index), excerpt(field(index))));
                }
            }
        }
        if let Some((place, field)) = doubtful.filter(|_| mark.is_doubtful()) {
            return Err(TableError::DoubtfulComma { place, field }.into());
        }
        if columns.first().is_none_or(Vec::is_empty) {
            let name = name.to_owned();
            return Err(match (skipped, &header) {
                (0, Some(_)) => TableError::HeaderAlone { name },
                (0, None) => TableError::Empty { name },
                _ => TableError::NoWholeRow { name },
            }
            .into());
        }
        Ok(Self { header, columns, guess, skipped })
    }

    /// Reports what was guessed or omitted while the table was read.
    pub fn tell(&self, name: &str, watch: &dyn Watch) {
        if let Some(guess) = self.guess {
            let message = format!("{name}: {}", guess.text());
            watch.warn(&Warning { message, hint: guess.hint().to_owned() });
        }
        if self.skipped > 0 {
            let (skipped, all) = (self.skipped, self.skipped + self.rows());
            let message = format!("{name}: {skipped} of {all} rows are left out, where something is missing");
            let hint = "counts and means are those of the other rows".to_owned();
            watch.warn(&Warning { message, hint });
        }
    }

    /// The interpretation of the first row, if it is not certain.
    pub fn guess(&self) -> Option<HeaderGuess> {
        self.guess
    }

    /// Writes the table with `delimiter` between fields and one line per row, with numbers that
    /// read back exactly.
    ///
    /// # Errors
    /// `out` cannot be written.
    pub fn write(&self, out: impl Write, delimiter: u8) -> Result<()>
    where
        T: Field,
    {
        let failed = |e: csv::Error| match e.into_kind() {
            csv::ErrorKind::Io(e) => Error::io(e, "write", "the table"),
            _ => TableError::Write.into(),
        };
        let mut out = out;
        if let Some(names) = &self.header {
            // A name with another delimiter also needs quotes, because readers guess the delimiter
            // from this line.
            let foreign = |c: char| matches!(c, ',' | ';' | '\t') && c != char::from(delimiter);
            let foreign = names.iter().any(|name| name.contains(foreign)) || starts_with_mark(&names[0]);
            let quotes = if foreign { csv::QuoteStyle::Always } else { csv::QuoteStyle::Necessary };
            let mut writer =
                csv::WriterBuilder::new().delimiter(delimiter).quote_style(quotes).from_writer(&mut out);
            writer.write_record(names.iter().map(|name| guarded(name).into_owned())).map_err(failed)?;
        }
        let marked = self.header.is_none() && starts_with_mark(&self.columns[0][0].text());
        let quotes = if marked { csv::QuoteStyle::Always } else { csv::QuoteStyle::Necessary };
        let mut writer = csv::WriterBuilder::new().delimiter(delimiter).quote_style(quotes).from_writer(out);
        for row in 0..self.rows() {
            for column in &self.columns {
                writer.write_field(guarded(&column[row].text()).as_ref()).map_err(failed)?;
            }
            writer.write_record(None::<&[u8]>).map_err(failed)?;
        }
        writer.flush().map_err(|e| Error::io(e, "write", "the table"))
    }

    /// The names of the columns, if the table has any.
    pub fn header(&self) -> Option<&[String]> {
        self.header.as_deref()
    }

    /// The columns.
    pub fn columns(&self) -> &[Vec<T>] {
        &self.columns
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

/// The rows of a table, blank lines left out.
struct Rows<'a, R: Read> {
    records: csv::Reader<Lines<Peek<R>>>,
    row_bytes: Rc<Counter<usize>>,
    /// Rows that were looked at already, and their lines.
    waiting: VecDeque<(u64, csv::ByteRecord)>,
    name: &'a str,
}

impl<'a, R: Read> Rows<'a, R> {
    /// Reads from the start of a file; returns the delimiter as well.
    fn new(input: R, name: &'a str, options: TableOptions<'_>) -> Result<(Self, u8)> {
        let read_error = |e: io::Error| Error::io(e, "read", name);
        let mut peek = Peek::new(input);
        if peek.peek(3).map_err(read_error)? == b"\xef\xbb\xbf" {
            peek.read_exact(&mut [0; 3]).map_err(read_error)?;
        }
        let delimiter = match options.delimiter {
            Some(given) => given,
            None => match guess_delimiter(peek.peek(FIRST_LINE).map_err(read_error)?) {
                // Commas cannot be both.
                b',' if options.decimal == Decimal::Comma => b';',
                guessed => guessed,
            },
        };
        let row_bytes = Rc::new(Counter::new(0));
        let lines = Lines { inner: peek, row_bytes: Rc::clone(&row_bytes), last: b'\n', ended: false };
        let records = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .from_reader(lines);
        Ok((Self { records, row_bytes, waiting: VecDeque::new(), name }, delimiter))
    }

    /// Reads the next row; returns its line.
    fn next(&mut self, record: &mut csv::ByteRecord) -> Result<Option<u64>> {
        match self.waiting.pop_front() {
            Some((line, waiting)) => {
                *record = waiting;
                Ok(Some(line))
            }
            None => self.fetch(record),
        }
    }

    fn fetch(&mut self, record: &mut csv::ByteRecord) -> Result<Option<u64>> {
        self.row_bytes.set(0);
        if !self.records.read_byte_record(record).map_err(|e| csv_error(e, self.name))? {
            return Ok(None);
        }
        // Every line ends with one line break, the record's own ones stand in its fields.
        let breaks = record.as_slice().iter().filter(|&&byte| byte == b'\n').count() as u64;
        Ok(Some(self.records.position().line().saturating_sub(breaks + 1)))
    }

    /// Looks ahead at this many rows at most, of no more bytes than one may have.
    fn look(&mut self, count: usize) -> Result<impl Iterator<Item = &csv::ByteRecord>> {
        let mut bytes = 0;
        while self.waiting.len() < count && bytes < MAX_ROW {
            let mut record = csv::ByteRecord::new();
            let Some(line) = self.fetch(&mut record)? else { break };
            bytes += record.as_slice().len();
            self.waiting.push_back((line, record));
        }
        Ok(self.waiting.iter().map(|(_, record)| record))
    }
}

/// Whether the first row holds names, and whether that is a guess. If columns are chosen by number
/// only, those alone decide.
fn first_row<R: Read>(
    first: &csv::ByteRecord,
    rows: &mut Rows<'_, R>,
    options: TableOptions<'_>,
    mark: &Mark,
) -> Result<(bool, Option<HeaderGuess>)> {
    match options.header {
        Header::Yes => return Ok((true, None)),
        Header::No => return Ok((false, None)),
        Header::Auto => {}
    }
    let place = |wanted: &String| wanted.parse::<usize>().ok().filter(|n| (1..=first.len()).contains(n));
    let places: Option<Vec<usize>> = options.columns.iter().map(|c| place(c).map(|n| n - 1)).collect();
    let Some(mut places) = places else {
        // One of them can only be a name.
        return Ok((true, None));
    };
    if places.is_empty() {
        places = (0..first.len()).collect();
    }
    let field = |record: &csv::ByteRecord, at: usize| {
        String::from_utf8_lossy(record.get(at).unwrap_or_default()).trim().to_owned()
    };
    let problems = || places.iter().filter_map(|&at| mark.check(first.get(at).unwrap_or_default()).err());
    if problems().any(|problem| problem == Problem::Text) {
        return Ok((true, None));
    }
    if problems().any(|problem| problem == Problem::Empty) {
        // A name is missing, or a number.
        return Ok(match options.missing {
            Missing::Error => (true, Some(HeaderGuess::Names)),
            _ => (false, Some(HeaderGuess::Numbers)),
        });
    }
    let names: Vec<String> = places.iter().map(|&at| field(first, at)).collect();
    let below = rows.look(SAMPLE)?;
    let below: Vec<Vec<String>> =
        below.map(|record| places.iter().map(|&at| field(record, at)).collect()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let below: Vec<Vec<&str>> = below.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
    let (header, guess) = header::guess(&names, &below);
    Ok((header == Header::Yes, guess))
}

/// The places of the chosen columns; all if none is named.
fn chosen(wanted: &[String], width: usize, titles: Option<&[String]>) -> Result<Vec<usize>> {
    if wanted.is_empty() {
        return Ok((0..width).collect());
    }
    let mut chosen = Vec::with_capacity(wanted.len());
    for column in wanted {
        let at = column_number(width, |i| titles.map(|titles| titles[i].as_str()), column)?;
        if chosen.contains(&at) {
            return Err(TableError::ChosenTwice { column: column.clone() }.into());
        }
        chosen.push(at);
    }
    Ok(chosen)
}

/// Whether a file that begins with this field would seem to begin with a byte-order mark.
fn starts_with_mark(field: &str) -> bool {
    field.starts_with('\u{feff}')
}

/// Whether a spreadsheet would compute a field, with or without apostrophes before it.
fn is_formula(field: &str) -> bool {
    let text = field.trim_start_matches('\'');
    // The wide forms count in East Asian versions.
    text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'])
        && !text.trim().parse::<f64>().is_ok_and(f64::is_finite)
}

/// A name or word as it is written: what spreadsheets would compute is text by an apostrophe before
/// it; control characters, which no table that is read may hold, are spelt out.
fn guarded(field: &str) -> Cow<'_, str> {
    let is_odd = |c: char| c.is_control() && !matches!(c, '\t' | '\r' | '\n');
    if field.contains(is_odd) {
        let mut text = String::with_capacity(field.len());
        for c in field.chars() {
            if is_odd(c) { text.extend(c.escape_default()) } else { text.push(c) }
        }
        return guarded(&text).into_owned().into();
    }
    if is_formula(field) { Cow::Owned(format!("'{field}")) } else { Cow::Borrowed(field) }
}

/// A name or word as it was before `guarded`.
pub fn unguarded(field: &str) -> &str {
    match field.strip_prefix('\'') {
        Some(text) if is_formula(text) => text,
        _ => field,
    }
}

/// The shortest text that reads back as the same number, with an exponent if that is much shorter.
fn plain(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-5..1e16).contains(&size) { format!("{value:e}") } else { format!("{value}") }
}

/// A whole number below 2^53 in magnitude: each of these is distinct from its neighbours, however
/// it is written.
///
/// # Errors
/// It is none.
pub fn whole(field: &[u8], mark: &Mark) -> Result<i64, Problem> {
    let value = mark.number(field)?;
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
        return Err(if parse(field).is_ok() { Problem::NotUnsigned } else { Problem::Text });
    }
    let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
    let significant = &digits[zeros..];
    // No number of this few bits has as many digits, so longer ones need not be read.
    let value = match significant.len() as u32 <= bits {
        true => BigUint::parse_bytes(significant, 10).unwrap_or_default(),
        false => return Err(Problem::BeyondWidth(bits)),
    };
    if value.bits() > u64::from(bits) { Err(Problem::BeyondWidth(bits)) } else { Ok(value) }
}

/// A number with a decimal point.
fn parse(field: &[u8]) -> Result<f64, Problem> {
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

/// Ends every line, the last one too, with a single `\n`, so that lines can be counted; and fails
/// when more than [`MAX_ROW`] bytes are read since the counter was set to zero: a file without line
/// ends, or with a quote that never closes, is not kept in memory.
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

fn csv_error(error: csv::Error, name: &str) -> Error {
    let reason = lower_first(&error.to_string());
    match error.into_kind() {
        csv::ErrorKind::Io(e) if e.kind() == io::ErrorKind::FileTooLarge => {
            TableError::LongRow { name: name.to_owned(), most: MAX_ROW as u64 }.into()
        }
        csv::ErrorKind::Io(e) => Error::io(e, "read", name),
        _ => TableError::Csv { name: name.to_owned(), reason }.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Table> {
        read_with(text, TableOptions::default())
    }

    fn read_with(text: &str, options: TableOptions<'_>) -> Result<Table> {
        Table::read(text.as_bytes(), "data.csv", options)
    }

    fn error(text: &str) -> String {
        let error = read(text).unwrap_err();
        assert!(error.hint().is_some(), "{error} has no hint");
        error.to_string().to_owned()
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
        assert_eq!(error.to_string(), "data.csv, line 1, column 1: \"a\" is not a number");
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
        // Decimal commas are read where commas separate nothing, and refused elsewhere with a word
        // about points.
        assert_eq!(read("x;y\n1,5;2,5\n").unwrap().columns(), [[1.5], [2.5]]);
        let decimal = read("x,y\n\"1,5\",2\n").unwrap_err();
        assert_eq!(decimal.to_string(), "data.csv, line 2, column 1 (\"x\"): \"1,5\" is not a number");
        assert!(decimal.hint().unwrap().contains("decimal point"));
    }

    #[test]
    fn decimal_commas_are_never_thousands_by_chance() {
        let comma = TableOptions { decimal: Decimal::Comma, ..TableOptions::default() };
        let point = TableOptions { decimal: Decimal::Point, ..TableOptions::default() };
        for (text, column) in
            [("x\ty\n1,500\t1\n2,5\t2\n", [1.5, 2.5]), ("x;y\n0,125;1\n-7,1234;2\n", [0.125, -7.1234])]
        {
            assert_eq!(read(text).unwrap().columns()[0], column, "{text}");
        }
        assert_eq!(read_with("x\n1,5\n2,500\n", comma).unwrap().columns(), [[1.5, 2.5]]);
        assert_eq!(
            read_with("x,y\n\"1,5\",2\n", TableOptions { delimiter: Some(b','), ..comma }).unwrap().columns(),
            [[1.5], [2.0]]
        );
        assert_eq!(
            error("x;y\n7;2\n1,500;2\n"),
            "data.csv, line 3, column 1 (\"x\"): \"1,500\" may have a decimal comma or one between thousands"
        );
        assert_eq!(
            error("x;y\n1.5;2\n2;1,5\n"),
            "data.csv, line 3, column 2 (\"y\"): \"1,5\" has another decimal mark than the numbers before it"
        );
        assert_eq!(
            error("x;y\n1.234,5;2\n"),
            "data.csv, line 2, column 1 (\"x\"): \"1.234,5\" is not a number"
        );
        let message = |text: &str, options| read_with(text, options).unwrap_err().to_string().to_owned();
        assert_eq!(
            message("x;y\n1.5;2\n", comma),
            "data.csv, line 2, column 1 (\"x\"): \"1.5\" has a decimal point"
        );
        assert_eq!(
            message("x;y\n1,5;2\n", point),
            "data.csv, line 2, column 1 (\"x\"): \"1,5\" is not a number"
        );
        // A point is decimal wherever commas do not say otherwise.
        assert_eq!(read("x;y\n1.500;2\n").unwrap().columns(), [[1.5], [2.0]]);
    }

    #[test]
    fn columns_are_chosen_by_name_or_number() {
        let text = "name,age,size\nAnn,31,1.5\nBob,42,1.75\n";
        let chosen = |columns: &[&str], text: &str| {
            let columns: Vec<String> = columns.iter().map(|&c| c.to_owned()).collect();
            read_with(text, TableOptions { columns: &columns, ..TableOptions::default() })
        };
        let table = chosen(&["size", "age"], text).unwrap();
        assert_eq!(
            (table.header().unwrap(), table.columns()),
            (&["size".to_owned(), "age".to_owned()][..], &[vec![1.5, 1.75], vec![31.0, 42.0]][..])
        );
        assert_eq!(chosen(&["2"], text).unwrap().header().unwrap(), ["age"]);
        // What is not chosen may be anything, and decides nothing.
        let table = chosen(&["2"], "Ann,31\nBob,42\n").unwrap();
        assert_eq!((table.header(), table.columns()), (None, &[vec![31.0, 42.0]][..]));
        assert_eq!(chosen(&["2024"], "2023,2024\n1,2\n").unwrap().columns(), [[2.0]]);
        for (columns, message) in [
            (&["age", "2"][..], "column 2 is chosen twice"),
            (&["weight"], "there is no column weight"),
            (&["4"], "there is no column 4"),
            (&["name"], "data.csv, line 2, column 1 (\"name\"): \"Ann\" is not a number"),
        ] {
            assert_eq!(chosen(columns, text).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn missing_numbers_are_refused_left_out_or_zero() {
        let text = "a,b\n1,2\n,3\n4,NA\n5,6\n7,nan\nnull, \n";
        let with = |missing, text| read_with(text, TableOptions { missing, ..TableOptions::default() });
        assert_eq!(
            with(Missing::Error, text).unwrap_err().to_string(),
            "data.csv, line 3, column 1 (\"a\"): the field is empty"
        );
        let skip = with(Missing::Skip, text).unwrap();
        assert_eq!((skip.columns(), skip.skipped), (&[vec![1.0, 5.0], vec![2.0, 6.0]][..], 4));
        let zero = with(Missing::Zero, text).unwrap();
        assert_eq!(zero.columns(), [[1.0, 0.0, 4.0, 5.0, 7.0, 0.0], [2.0, 3.0, 0.0, 6.0, 0.0, 0.0]]);
        for missing in [Missing::Skip, Missing::Zero] {
            let error = with(missing, "a,b\n1,x\n").unwrap_err();
            assert_eq!(error.to_string(), "data.csv, line 2, column 2 (\"b\"): \"x\" is not a number");
        }
        assert_eq!(
            with(Missing::Skip, "a,b\n,1\n2,\n").unwrap_err().to_string(),
            "data.csv holds no row in which nothing is missing"
        );
        // A first row with a gap holds data once gaps are expected.
        assert_eq!(
            with(Missing::Zero, "1,,3\n4,5,6\n").unwrap().columns(),
            [[1.0, 4.0], [0.0, 5.0], [3.0, 6.0]]
        );
        assert_eq!(with(Missing::Error, "1,,3\n4,5,6\n").unwrap().guess(), Some(HeaderGuess::Names));
    }

    #[test]
    fn numbers_above_the_table_are_taken_for_names_with_care() {
        for (text, names, guess) in [
            ("2023,2024\n1,2\n", true, Some(HeaderGuess::Names)),
            ("2003;2004\n1;2\n3;4\n", true, Some(HeaderGuess::Names)),
            ("1,2\n0.5,1.5\n1.0,2.0\n0.1,0.2\n", true, Some(HeaderGuess::Names)),
            ("1,2,3\n4,5,6\n", false, Some(HeaderGuess::Numbers)),
            ("1,2\n3,4\n", false, None),
            ("2023,2024\n2022,5\n", false, None),
        ] {
            let table = read(text).unwrap();
            assert_eq!((table.header().is_some(), table.guess()), (names, guess), "{text}");
        }
        for header in [Header::Yes, Header::No] {
            let options = TableOptions { header, ..TableOptions::default() };
            let table = read_with("2023,2024\n1,2\n", options).unwrap();
            assert_eq!((table.header().is_some(), table.guess()), (header == Header::Yes, None));
        }
        // Rows that were looked at are neither lost nor counted twice.
        let text = format!("3,2\n{}", "1,2\n".repeat(250));
        let table = read(&text).unwrap();
        assert_eq!((table.rows(), table.columns()[0].iter().sum::<f64>()), (251, 253.0));
        assert_eq!(error(&format!("{text}x,1\n")), "data.csv, line 252, column 1: \"x\" is not a number");
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
    fn names_come_back_whatever_they_are() {
        let words = [
            "=1+1",
            "'=1",
            "''=1",
            "+x",
            "-x",
            "-5",
            "'-5",
            "+1e5",
            "@a",
            "\tx",
            "\r=x",
            "\nx",
            "\u{ff1d}x",
            "'",
            "''",
            "'a",
        ];
        let marks = ["\u{feff}a", "\u{feff}", "\u{feff}\u{feff}=", "\u{feff},", "=\u{feff}"];
        for name in words.into_iter().chain(marks) {
            let table =
                Table::new(Some(vec![name.to_owned(), "b".to_owned()]), vec![vec![1.0], vec![-2.0]]).unwrap();
            for delimiter in [b',', b';', b'\t'] {
                let mut out = Vec::new();
                table.write(&mut out, delimiter).unwrap();
                let text = String::from_utf8(out.clone()).unwrap();
                let first = text.trim_start_matches('"').chars().next().unwrap();
                assert!(name == "-5" || name == "+1e5" || !"=+-@\t\r\n\u{ff1d}".contains(first), "{text:?}");
                assert!(!text.starts_with('\u{feff}') && text.ends_with("-2\n"), "{text:?}");
                let options = TableOptions { header: Header::Yes, ..TableOptions::default() };
                let back = Table::read(out.as_slice(), "x", options).unwrap();
                assert_eq!(back.columns(), table.columns());
                // Line ends are all one to the reader.
                assert_eq!(back.header().unwrap(), [name.replace('\r', "\n"), "b".to_owned()], "{text:?}");
            }
        }
        // What no table may hold is spelt out.
        let table = Table::new(Some(vec!["a\u{1b}]0;\u{7}\u{9b}".to_owned()]), vec![vec![1.0]]).unwrap();
        let mut out = Vec::new();
        table.write(&mut out, b',').unwrap();
        assert_eq!(String::from_utf8(out.clone()).unwrap(), "\"a\\u{1b}]0;\\u{7}\\u{9b}\"\n1\n");
        assert!(looks_like_table(&out));
        // Words in a table without a header, too.
        let words = vec![Cell::Word("\u{feff}a".into()), Cell::Word("=b".into())];
        let table = Table::new(None, vec![words, vec![Cell::Number(-1), Cell::Number(2)]]).unwrap();
        let mut out = Vec::new();
        table.write(&mut out, b',').unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "\"\u{feff}a\",\"-1\"\n\"'=b\",\"2\"\n");
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
