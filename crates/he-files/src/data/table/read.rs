//! Reading tables: which rows hold names, which columns are chosen, and what is missing.

use super::decimal::{Decimal, Mark};
use super::field::excerpt;
use super::formula::unguarded;
use super::header::{self, Header, HeaderGuess, SAMPLE};
use super::rows::Rows;
use super::{MAX_VALUES, Missing, Table, TableOptions, column_number};
use crate::error::{Place, Problem, Result, TableError};
use std::io::Read;
use std::rc::Rc;

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
        let Some(line) = rows.next(&mut record)? else {
            return Err(TableError::Empty { name: name.to_owned() }.into());
        };
        let width = record.len();
        let (named, guess) = first_row(&record, &mut rows, options, &mark)?;
        let titles: Option<Vec<String>> = named.then(|| {
            let name = |field| unguarded(String::from_utf8_lossy(field).trim()).to_owned();
            record.iter().map(name).collect()
        });
        if !named {
            rows.put_back(line, std::mem::take(&mut record));
        }
        let chosen = chosen(options.columns, width, titles.as_deref())?;
        let header: Option<Vec<String>> =
            titles.map(|titles| chosen.iter().map(|&source| titles[source].clone()).collect());
        let mut parse = reader(header.as_deref(), chosen.len(), Rc::clone(&mark))?;
        let values = chosen.iter().map(|_| Vec::new()).collect();
        let missing = options.missing;
        let mut columns =
            Columns { name, width, chosen, header, missing, mark, values, skipped: vec![], doubtful: None };
        while let Some(line) = rows.next(&mut record)? {
            columns.push(line, &record, &mut parse)?;
        }
        columns.finish(guess)
    }
}

/// The chosen columns while they are read.
struct Columns<'a, T> {
    /// The name of the table.
    name: &'a str,
    /// Fields in a row of the file.
    width: usize,
    /// The place of each column in a row of the file.
    chosen: Vec<usize>,
    header: Option<Vec<String>>,
    missing: Missing,
    mark: Rc<Mark>,
    values: Vec<Vec<T>>,
    /// Rows that were left out, from 1 on.
    skipped: Vec<usize>,
    /// The first field with a mark that may not be decimal.
    doubtful: Option<(Place, String)>,
}

impl<T> Columns<'_, T> {
    /// Adds a row, unless something is missing in it and such rows are left out.
    fn push(
        &mut self,
        line: u64,
        record: &csv::ByteRecord,
        parse: &mut impl FnMut(usize, &[u8]) -> Result<T, Problem>,
    ) -> Result<()> {
        if record.len() != self.width {
            let (found, first) = (record.len(), self.width);
            return Err(TableError::Fields { name: self.name.to_owned(), line, found, first }.into());
        }
        let count = self.values.len();
        if count.saturating_mul(self.values[0].len() + 1) > MAX_VALUES {
            return Err(TableError::TooManyValues { name: self.name.to_owned(), most: MAX_VALUES }.into());
        }
        let fields = |index: usize| record.get(index).unwrap_or_default();
        let blank = |&index: &usize| fields(index).trim_ascii().is_empty();
        let number = self.skipped.len() + self.values[0].len() + 1;
        if self.missing == Missing::Skip && self.chosen.iter().any(blank) {
            self.skipped.push(number);
            return Ok(());
        }
        for index in 0..count {
            let field = fields(self.chosen[index]);
            let value = match parse(index, field) {
                Err(problem) if self.missing != Missing::Error && problem.is_missing(field) => {
                    if self.missing == Missing::Skip {
                        self.values[..index].iter_mut().for_each(|column| drop(column.pop()));
                        self.skipped.push(number);
                        return Ok(());
                    }
                    parse(index, b"0")
                }
                value => value,
            };
            let value = value.map_err(|problem| TableError::Field {
                place: self.place(line, index),
                field: excerpt(field),
                problem,
            })?;
            self.values[index].push(value);
            if self.doubtful.is_none() && self.mark.doubtful().is_some() {
                self.doubtful = Some((self.place(line, index), excerpt(field)));
            }
        }
        Ok(())
    }

    /// The place of a field, for errors.
    fn place(&self, line: u64, index: usize) -> Place {
        let title = self.header.as_ref().and_then(|header| header.get(index));
        Place {
            name: self.name.to_owned(),
            line,
            column: self.chosen[index] + 1,
            title: title.map(|title| excerpt(title.as_bytes())),
        }
    }

    /// The table, if it has any rows and nobody needs to guess what its marks stand for.
    fn finish(self, guess: Option<HeaderGuess>) -> Result<Table<T>> {
        if let (Some((place, field)), Some(mark)) = (self.doubtful, self.mark.doubtful()) {
            let mark = if mark == Decimal::Comma { "comma" } else { "point" };
            return Err(TableError::DoubtfulMark { place, field, mark }.into());
        }
        if self.values.first().is_none_or(Vec::is_empty) {
            let name = self.name.to_owned();
            return Err(match (self.skipped.len(), &self.header) {
                (0, Some(_)) => TableError::HeaderAlone { name },
                (0, None) => TableError::Empty { name },
                _ => TableError::NoWholeRow { name },
            }
            .into());
        }
        Ok(Table { header: self.header, columns: self.values, guess, skipped: self.skipped })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::table::Header;
    use crate::data::table::decimal::Decimal;
    use crate::data::table::rows::MAX_ROW;

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
        // A German table: points between thousands, and nothing that says so.
        for text in [
            "x;y\r\n1.234;2\r\n-12.500;3\r\n",
            "x\ty\n1.234\t2\n",
            "x,y\n1.234,2\n",
            "x,y\n\"1.234\",\"2\"\n",
            "x\n1.234\n999.999\n",
            "x;y\n+1.234;2\n",
            "x|y\n 1.234 |2\n",
        ] {
            let delimiter = text.contains('|').then_some(b'|');
            let auto = TableOptions { delimiter, ..TableOptions::default() };
            let told = message(text, auto);
            assert!(told.contains("line 2, column 1 (\"x\"): "), "{told}");
            assert!(told.ends_with(" may have a decimal point or one between thousands"), "{told}");
            let given = TableOptions { delimiter, ..point };
            assert_eq!(read_with(text, given).unwrap().columns()[0][0], 1.234, "{text:?}");
        }
        // One number that can only have decimals decides for all.
        assert_eq!(read("x;y\n1.500;2.25\n").unwrap().columns(), [[1.5], [2.25]]);
        // Numbers that go on with a comma.
        assert_eq!(
            error("x;y\n1.234;0,5\n"),
            "data.csv, line 2, column 2 (\"y\"): \"0,5\" has another decimal mark than the numbers before it"
        );
    }

    /// A first row of numbers in a form that is not read is not a row of names.
    #[test]
    fn numbers_that_are_not_read_are_not_names() {
        for text in ["1 234;5\n2;3\n", "1.234,5;2\n2;3\n", "\"1,234\",5\n6,7\n", "\u{20ac} 5;6\n7;8\n"] {
            let told = error(text);
            assert!(
                told.starts_with("data.csv, line 1, column 1: ") && told.ends_with(" is not a number"),
                "{told}"
            );
        }
        let named = TableOptions { header: Header::Yes, ..TableOptions::default() };
        assert_eq!(read_with("1 234;5\n2;3\n", named).unwrap().header().unwrap(), ["1 234", "5"]);
        assert_eq!(read("2020/21;2021/22\n2;3\n").unwrap().rows(), 1);
    }

    #[test]
    fn other_encodings_are_refused() {
        // "Größe" in Windows-1252, in the header, in a word far down, and in UTF-16.
        let told = |bytes: &[u8]| Table::read(bytes, "x.csv", TableOptions::default()).unwrap_err();
        for (bytes, line) in
            [(&b"Gr\xf6\xdfe\n1\n"[..], 1), (b"a,b\n1,2\n3,4\xa0\n", 3), (b"\xc3,\xa4\n1,2\n", 1)]
        {
            let error = told(bytes);
            assert_eq!(
                error.to_string(),
                format!(
                    "x.csv, line {line}: the text is not in UTF-8, but in Windows-1252 or another encoding of 8 bits"
                )
            );
            assert!(error.hint().unwrap().ends_with("iconv -f WINDOWS-1252 -t UTF-8"));
        }
        for swapped in [false, true] {
            let units = "\u{feff}a\tb\r\n1\t2\r\n".encode_utf16();
            let bytes: Vec<u8> = units
                .flat_map(|unit| if swapped { unit.to_be_bytes() } else { unit.to_le_bytes() })
                .collect();
            let error = told(&bytes);
            assert_eq!(error.to_string(), "x.csv, line 1: the text is not in UTF-8, but in UTF-16");
            assert!(error.hint().unwrap().ends_with("iconv -f UTF-16 -t UTF-8"));
        }
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
        // A column that is not chosen may hold anything, and decides nothing.
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
        assert_eq!(skip.columns(), [[1.0, 5.0], [2.0, 6.0]]);
        // The second to the sixth row but for the fourth.
        assert_eq!(skip.skipped, [2, 3, 5, 6]);
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
}
