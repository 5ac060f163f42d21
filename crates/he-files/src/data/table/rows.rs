//! The rows of a CSV file: its delimiter, its lines, and bounds on both.

use super::TableOptions;
use super::decimal::Decimal;
use crate::error::{EIGHT_BITS, Error, Result, TableError, UTF_16, lower_first};
use crate::io::input::Peek;
use std::cell::Cell as Counter;
use std::collections::VecDeque;
use std::io::{self, Read};
use std::rc::Rc;

/// The most bytes in one row, including quoted line breaks.
pub(super) const MAX_ROW: usize = 1 << 20;
/// The part of the first line that is searched for the delimiter.
const FIRST_LINE: usize = 1 << 16;

/// The rows of a table, blank lines left out.
pub(super) struct Rows<'a, R: Read> {
    records: csv::Reader<Lines<Peek<R>>>,
    row_bytes: Rc<Counter<usize>>,
    /// Rows that were looked at already, and their lines.
    waiting: VecDeque<(u64, csv::ByteRecord)>,
    name: &'a str,
}

impl<'a, R: Read> Rows<'a, R> {
    /// Reads from the start of a file; returns the delimiter as well.
    pub(super) fn new(input: R, name: &'a str, options: TableOptions<'_>) -> Result<(Self, u8)> {
        let read_error = |e: io::Error| Error::io(e, "read", name);
        let mut peek = Peek::new(input);
        let start = peek.peek(3).map_err(read_error)?;
        if is_utf_16(start) {
            return Err(TableError::Encoding { name: name.to_owned(), line: 1, found: UTF_16 }.into());
        }
        if start == b"\xef\xbb\xbf" {
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
    pub(super) fn next(&mut self, record: &mut csv::ByteRecord) -> Result<Option<u64>> {
        match self.waiting.pop_front() {
            Some((line, waiting)) => {
                *record = waiting;
                Ok(Some(line))
            }
            None => self.fetch(record),
        }
    }

    /// Makes a row that was read the next one again.
    pub(super) fn put_back(&mut self, line: u64, record: csv::ByteRecord) {
        self.waiting.push_front((line, record));
    }

    fn fetch(&mut self, record: &mut csv::ByteRecord) -> Result<Option<u64>> {
        self.row_bytes.set(0);
        if !self.records.read_byte_record(record).map_err(|e| csv_error(e, self.name))? {
            return Ok(None);
        }
        // Every line ends with one line break, the record's own ones stand in its fields.
        let breaks = record.as_slice().iter().filter(|&&byte| byte == b'\n').count() as u64;
        let line = self.records.position().line().saturating_sub(breaks + 1);
        if !record.as_slice().is_ascii() && record.iter().any(|field| std::str::from_utf8(field).is_err()) {
            return Err(TableError::Encoding { name: self.name.to_owned(), line, found: EIGHT_BITS }.into());
        }
        Ok(Some(line))
    }

    /// Looks ahead at this many rows at most, of no more bytes than one may have.
    pub(super) fn look(&mut self, count: usize) -> Result<impl Iterator<Item = &csv::ByteRecord>> {
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

/// Whether text begins with the byte-order mark of UTF-16.
pub(super) fn is_utf_16(start: &[u8]) -> bool {
    start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff")
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
