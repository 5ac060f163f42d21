//! Tables of numbers and text as CSV: encrypted into Parquet, and answers decrypted from it.

use crate::cells::Cells;
use crate::column::CellType;
use crate::error::{Error, Result};
use crate::owner::{OwnerKey, Plain};
use crate::table::{ROW_GROUP, Writer};
use datafusion::arrow::array::{
    Array, ArrayRef, BinaryViewBuilder, Float64Array, Int64Array, RecordBatch, StringArray,
};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use he_files::io::input::Input;
use he_files::io::output::Output;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

/// How a table is encrypted.
#[derive(Clone, Debug)]
pub struct Encryption {
    /// The columns that are encrypted.
    pub columns: Vec<String>,
    /// The values of a cell: rows that follow each other and agree in all clear columns.
    pub pack: usize,
    /// The width of integers of TFHE.
    pub bits: usize,
    /// Whether integers of TFHE have a sign.
    pub signed: bool,
}

impl Default for Encryption {
    fn default() -> Self {
        Self { columns: Vec::new(), pack: 1, bits: 32, signed: false }
    }
}

/// The clear column that counts the values of packed cells.
pub const ROWS: &str = "rows";

/// A column of CSV.
struct Column {
    name: String,
    fields: Vec<Option<String>>,
}

/// A reader of text, which has no zero bytes: other files, and texts in UTF-16, have them soon.
struct Text<R>(R);

impl<R: Read> Read for Text<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(out)?;
        match out[..count].contains(&0) {
            true => Err(io::Error::other("a zero byte, which no text in UTF-8 has")),
            false => Ok(count),
        }
    }
}

fn read_csv(csv: impl Read) -> Result<Vec<Column>> {
    let mut reader = csv::Reader::from_reader(Text(csv));
    let mut columns: Vec<Column> = Vec::new();
    for name in reader.headers()?.iter().map(str::trim) {
        if name.is_empty() || columns.iter().any(|column| column.name == name) {
            return Err(Error::Table(format!(
                "column {} is named {name:?}; give each column a name of its own in the first row",
                columns.len() + 1
            )));
        }
        columns.push(Column { name: name.to_owned(), fields: Vec::new() });
    }
    if columns.is_empty() {
        return Err(Error::Table("it is empty; the first row holds the names of the columns".to_owned()));
    }
    for record in reader.records() {
        for (column, field) in columns.iter_mut().zip(&record?) {
            let field = field.trim();
            column.fields.push((!field.is_empty()).then(|| field.to_owned()));
        }
    }
    Ok(columns)
}

/// The fields as numbers, if all of them are.
fn parsed<T: std::str::FromStr>(fields: &[Option<String>]) -> Option<Vec<Option<T>>> {
    fields.iter().map(|field| field.as_deref().map(str::parse).transpose().ok()).collect()
}

/// A clear column of the narrowest type that holds it: integers, numbers, or text.
fn clear(fields: &[Option<String>]) -> ArrayRef {
    if let Some(integers) = parsed::<i64>(fields) {
        return Arc::new(Int64Array::from(integers));
    }
    match parsed::<f64>(fields) {
        Some(numbers) => Arc::new(Float64Array::from(numbers)),
        None => Arc::new(StringArray::from_iter(fields.iter().map(Option::as_deref))),
    }
}

/// The values of an encrypted column.
enum Numbers {
    Integers(Vec<Option<i64>>),
    Reals(Vec<Option<f64>>),
}

impl Numbers {
    fn of(column: &Column) -> Result<Self> {
        if let Some(integers) = parsed(&column.fields) {
            return Ok(Self::Integers(integers));
        }
        let reals = column.fields.iter().enumerate().map(|(row, field)| {
            let Some(field) = field else { return Ok(None) };
            match field.parse() {
                Ok(number) if f64::is_finite(number) => Ok(Some(number)),
                _ => Err(Error::Table(format!(
                    "column {}, row {}: {field:?}, where a number is encrypted; leave the column clear, or correct it",
                    column.name,
                    row + 1
                ))),
            }
        });
        Ok(Self::Reals(reals.collect::<Result<_>>()?))
    }

    /// The values of a cell; `None` if it is NULL.
    fn cell(&self, name: &str, rows: std::ops::Range<usize>) -> Result<Option<Plain>> {
        fn of<T: Copy>(name: &str, values: &[Option<T>], first: usize) -> Result<Option<Vec<T>>> {
            match values.iter().position(Option::is_none) {
                None => Ok(values.iter().copied().collect()),
                Some(_) if values.len() == 1 => Ok(None),
                Some(at) => Err(Error::Table(format!(
                    "column {name}, row {}: empty among packed values, which cannot be NULL one by one; fill it, \
                     or do not pack",
                    first + at + 1
                ))),
            }
        }
        let first = rows.start;
        Ok(match self {
            Self::Integers(values) => of(name, &values[rows], first)?.map(Plain::Integers),
            Self::Reals(values) => of(name, &values[rows], first)?.map(Plain::Reals),
        })
    }
}

/// Encrypts columns of a table of CSV with names in its first row; returns the rows of the Parquet
/// file.
///
/// Each row of the file is a row of the table, or with `pack` as many rows that follow each other
/// and agree in all clear columns, with a clear column `rows` that counts them.
///
/// # Errors
/// The table does not have the columns, or other things than numbers in them; the file cannot be
/// written.
pub fn encrypt(csv: impl Read, parquet: Output, key: &OwnerKey, how: &Encryption) -> Result<usize> {
    let table = read_csv(csv)?;
    let total = table.first().map_or(0, |column| column.fields.len());
    for name in &how.columns {
        if !table.iter().any(|column| &column.name == name) {
            let names: Vec<&str> = table.iter().map(|column| column.name.as_str()).collect();
            return Err(Error::Table(format!("no column {name:?}; there are {}", names.join(", "))));
        }
    }
    let (secret, open): (Vec<&Column>, Vec<&Column>) =
        table.iter().partition(|column| how.columns.contains(&column.name));
    if how.pack > 1 && table.iter().any(|column| column.name == ROWS) {
        return Err(Error::Table(format!(
            "a column {ROWS:?} of the table, which counts packed rows; rename it, or do not pack"
        )));
    }
    // Rows of each cell.
    let mut cells: Vec<std::ops::Range<usize>> = Vec::new();
    for row in 0..total {
        match cells.last_mut() {
            Some(last)
                if last.len() < how.pack
                    && open.iter().all(|column| column.fields[row] == column.fields[last.start]) =>
            {
                last.end = row + 1;
            }
            _ => cells.push(row..row + 1),
        }
    }
    let cell = key.column(how.pack.max(1), how.signed)?;
    let clear_columns: Vec<ArrayRef> = open.iter().map(|column| clear(&column.fields)).collect();
    let mut fields: Vec<Field> = open
        .iter()
        .zip(&clear_columns)
        .map(|(column, array)| Field::new(&column.name, array.data_type().clone(), true))
        .collect();
    if how.pack > 1 {
        fields.push(Field::new(ROWS, DataType::Int64, false));
    }
    fields.extend(secret.iter().map(|column| cell.field(&column.name).as_ref().clone()));
    let schema = Arc::new(Schema::new(fields));
    let numbers = secret.iter().map(|column| Numbers::of(column)).collect::<Result<Vec<_>>>()?;
    let mut writer = Writer::new(parquet, &schema)?;
    for group in cells.chunks(ROW_GROUP) {
        let starts = Int64Array::from_iter_values(group.iter().map(|rows| rows.start as i64));
        let mut arrays = Vec::with_capacity(schema.fields().len());
        for array in &clear_columns {
            arrays.push(datafusion::arrow::compute::take(array, &starts, None)?);
        }
        if how.pack > 1 {
            arrays.push(Arc::new(Int64Array::from_iter_values(group.iter().map(|rows| rows.len() as i64))));
        }
        for (column, numbers) in secret.iter().zip(&numbers) {
            let mut encrypted = BinaryViewBuilder::new().with_fixed_block_size(8 << 20);
            for rows in group {
                let plain = numbers.cell(&column.name, rows.clone())?;
                let made = plain.map(|plain| key.encrypt(&cell, &plain, how.bits)).transpose();
                let place = || format!("column {}, row {}", column.name, rows.start + 1);
                encrypted.append_option(made.map_err(|error| error.within(place()))?);
            }
            arrays.push(Arc::new(encrypted.finish()));
        }
        writer.write(&RecordBatch::try_new(Arc::clone(&schema), arrays)?)?;
    }
    writer.finish()
}

/// Decrypts an answer into CSV: a cell of several values is one field, with spaces between them.
///
/// # Errors
/// The file is damaged or of other keys; the output cannot be written.
pub fn decrypt(parquet: &Path, csv: impl Write, key: &OwnerKey) -> Result<usize> {
    let name = parquet.display();
    let file = Input::open(parquet)?.into_file();
    let file =
        file.ok_or_else(|| Error::Table(format!("{name}: not a file; Parquet is not read from a pipe")))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file);
    let builder = builder.map_err(|error| Error::from(error).within(name))?;
    let schema = Arc::clone(builder.schema());
    for field in schema.fields() {
        if let Some(cell) = CellType::of(field)? {
            key.check(field.name(), &cell)?;
        }
    }
    let mut writer = csv::Writer::from_writer(csv);
    writer.write_record(schema.fields().iter().map(|field| field.name()))?;
    let mut rows = 0;
    for batch in builder.with_batch_size(ROW_GROUP).build()? {
        let batch = batch?;
        let columns = batch.columns().iter().zip(schema.fields());
        let columns =
            columns.map(|(array, field)| decrypted(array, field, key)).collect::<Result<Vec<_>>>()?;
        for row in 0..batch.num_rows() {
            writer.write_record(columns.iter().map(|column| column[row].as_str()))?;
        }
        rows += batch.num_rows();
    }
    writer.flush()?;
    Ok(rows)
}

fn decrypted(array: &ArrayRef, field: &FieldRef, key: &OwnerKey) -> Result<Vec<String>> {
    let Some(cell) = CellType::of(field)? else {
        let options = FormatOptions::default();
        let formatter = ArrayFormatter::try_new(array, &options)?;
        return Ok((0..array.len()).map(|row| formatter.value(row).to_string()).collect());
    };
    let cells = Cells::of(array)?;
    let shown = |row: usize| match cells.get(row) {
        None => Ok(String::new()),
        Some(bytes) => Ok(match key.decrypt(field.name(), &cell, bytes)? {
            Plain::Integers(values) => joined(&values),
            Plain::Reals(values) => joined(&values),
        }),
    };
    (0..array.len()).map(shown).collect()
}

fn joined<T: ToString>(values: &[T]) -> String {
    values.iter().map(T::to_string).collect::<Vec<_>>().join(" ")
}
