//! Writing tables: numbers that read back exactly, and names that no spreadsheet computes.

use super::field::Field;
use super::{Table, guarded};
use crate::error::{Error, Result, TableError};
use std::io::Write;

impl<T> Table<T> {
    /// Writes the table with `delimiter` between fields and one line per row, with numbers that
    /// read back exactly.
    ///
    /// # Errors
    /// `out` cannot be written.
    pub fn write(&self, out: impl Write, delimiter: u8) -> Result<()>
    where
        T: Field,
    {
        self.write_told(out, delimiter, || {})
    }

    /// Writes the table, the same, with a call after each row.
    pub(crate) fn write_told(&self, out: impl Write, delimiter: u8, mut wrote: impl FnMut()) -> Result<()>
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
            wrote();
        }
        writer.flush().map_err(|e| Error::io(e, "write", "the table"))
    }
}

/// Whether a file that begins with this field would seem to begin with a byte-order mark.
fn starts_with_mark(field: &str) -> bool {
    field.starts_with('\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::table::field::plain;
    use crate::data::table::{Cell, Header, TableOptions, looks_like_table};

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
        // Characters that no table may hold are spelt out.
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
}
