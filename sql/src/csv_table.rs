//! Tables of numbers and text as CSV: encrypted into Parquet, and answers decrypted from it.

use crate::cells::Cells;
use crate::column::CellType;
use crate::error::{Error, Result};
use crate::owner::{OwnerKey, Plain};
use crate::table::{ROW_GROUP, Writer};
use datafusion::arrow::array::{
    Array, ArrayRef, BinaryViewBuilder, Float64Array, Int64Array, RecordBatch, StringArray,
};
use datafusion::arrow::datatypes::{DataType, Field as ArrowField, FieldRef, Schema};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use he_any::Params;
use he_any::layout::{Bounds, figure};
use he_files::data::table::decimal::Decimal;
use he_files::data::table::{Header, Table, TableOptions, guarded, looks_like_table, unguarded, whole};
use he_files::io::input::Input;
use he_files::io::output::Output;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

/// The options with which a table is encrypted.
#[derive(Clone, Debug)]
pub struct Encryption {
    /// The columns that are encrypted.
    pub columns: Vec<String>,
    /// The most values of a cell: of rows that agree in all clear columns.
    pub pack: usize,
    /// The width of integers of TFHE.
    pub bits: usize,
    /// Whether integers of TFHE have a sign.
    pub signed: bool,
    /// The mark before decimals.
    pub decimal: Decimal,
}

impl Default for Encryption {
    fn default() -> Self {
        Self { columns: Vec::new(), pack: 1, bits: 32, signed: false, decimal: Decimal::Auto }
    }
}

/// The clear column that counts the values of packed cells.
pub const ROWS: &str = "rows";

/// The most bytes of a table of CSV.
const MOST_BYTES: u64 = 1 << 32;
/// A table begins with so many bytes of text.
const START: usize = 1 << 10;

/// A column of CSV.
struct Column {
    name: String,
    /// The fields as they are written.
    texts: Vec<Option<String>>,
    values: Values,
}

/// The values of a column.
enum Values {
    Integers(Vec<Option<i64>>),
    Reals(Vec<Option<f64>>),
    /// They are the texts.
    Words,
}

/// The types that the fields of a column are read as.
#[derive(Clone, Copy, PartialEq)]
enum Wanted {
    /// Integers of 64 bits.
    Integers,
    /// Whole numbers, however they are written.
    Whole,
    Reals,
    Words,
}

/// A field as it was wanted.
#[derive(Clone, Copy)]
enum Field {
    Integer(i64),
    Real(f64),
    Word,
}

fn text(field: &[u8]) -> Option<String> {
    let text = unguarded(str::from_utf8(field).unwrap_or_default().trim()).to_owned();
    (!text.is_empty()).then_some(text)
}

/// The columns of a table of CSV, which errors call `name`. Columns that `secret` names are of
/// numbers, of whole ones for schemes that are exact; others are of the type that all of their
/// fields have.
fn read(csv: impl Read, name: &str, decimal: Decimal, secret: &[String], exact: bool) -> Result<Vec<Column>> {
    let mut bytes = Vec::new();
    csv.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Error::Table(format!(
            "{name}: more than {} GiB; cut the table into parts",
            MOST_BYTES >> 30
        )));
    }
    if !bytes.is_empty() && !looks_like_table(&bytes[..bytes.len().min(START)]) {
        return Err(Error::Table(format!(
            "{name}: control characters, which no table has; a table is CSV in UTF-8"
        )));
    }
    let options = TableOptions { header: Header::Yes, decimal, ..TableOptions::default() };
    let mut marks = None;
    let table: Table<Option<String>> = Table::read_fields(bytes.as_slice(), name, options, |_, _, mark| {
        marks = Some(mark);
        Ok(|_: usize, field: &[u8]| Ok(text(field)))
    })?;
    let names = table.header().unwrap_or_default().to_vec();
    for (at, found) in names.iter().enumerate() {
        if found.is_empty() || names[..at].contains(found) {
            return Err(Error::Table(format!(
                "{name}: column {} is named {found:?}; give each column a name of its own in the first row",
                at + 1
            )));
        }
    }
    let all =
        |column: &[Option<String>], is: &dyn Fn(&str) -> bool| column.iter().flatten().all(|field| is(field));
    let is_number = |field: &str| marks.as_ref().is_some_and(|mark| mark.check(field.as_bytes()).is_ok());
    let wanted = names.iter().zip(table.columns()).map(|(name, column)| {
        match (all(column, &|field| field.parse::<i64>().is_ok()), secret.contains(name)) {
            (true, _) => Wanted::Integers,
            (false, true) if exact => Wanted::Whole,
            (false, true) => Wanted::Reals,
            (false, false) if all(column, &is_number) => Wanted::Reals,
            (false, false) => Wanted::Words,
        }
    });
    let wanted: Vec<Wanted> = wanted.collect();
    let numbers: Table<Option<Field>> = Table::read_fields(bytes.as_slice(), name, options, |_, _, mark| {
        let wanted = &wanted;
        Ok(move |column: usize, field: &[u8]| {
            let Some(text) = text(field) else { return Ok(None) };
            Ok(Some(match (wanted[column], text.parse()) {
                (Wanted::Integers | Wanted::Whole, Ok(integer)) => Field::Integer(integer),
                (Wanted::Integers | Wanted::Whole, Err(_)) => Field::Integer(whole(field, &mark)?),
                (Wanted::Reals, _) => Field::Real(mark.number(field)?),
                (Wanted::Words, _) => Field::Word,
            }))
        })
    })?;
    let columns = names.into_iter().zip(table.columns()).zip(numbers.columns()).zip(wanted);
    let columns = columns.map(|(((name, texts), fields), wanted)| {
        let values = match wanted {
            Wanted::Words => Values::Words,
            Wanted::Reals => Values::Reals(fields.iter().map(|field| field.map(Field::real)).collect()),
            _ => Values::Integers(fields.iter().map(|field| field.map(Field::integer)).collect()),
        };
        Column { name, texts: texts.clone(), values }
    });
    Ok(columns.collect())
}

impl Field {
    fn real(self) -> f64 {
        match self {
            Self::Real(value) => value,
            Self::Integer(value) => value as f64,
            Self::Word => f64::NAN,
        }
    }

    fn integer(self) -> i64 {
        match self {
            Self::Integer(value) => value,
            _ => 0,
        }
    }
}

impl Column {
    /// A clear column of the narrowest type that holds it: integers, numbers, or text.
    fn clear(&self) -> ArrayRef {
        match &self.values {
            Values::Integers(values) => Arc::new(Int64Array::from(values.clone())),
            Values::Reals(values) => Arc::new(Float64Array::from(values.clone())),
            Values::Words => Arc::new(StringArray::from_iter(self.texts.iter().map(Option::as_deref))),
        }
    }

    /// The values of a cell; `None` if it is NULL.
    fn cell(&self, rows: &[usize]) -> Result<Option<Plain>> {
        fn of<T: Copy>(name: &str, values: &[Option<T>], rows: &[usize]) -> Result<Option<Vec<T>>> {
            match rows.iter().find(|&&row| values[row].is_none()) {
                None => Ok(rows.iter().map(|&row| values[row]).collect()),
                Some(_) if rows.len() == 1 => Ok(None),
                Some(at) => Err(Error::Table(format!(
                    "column {name}, row {}: empty among packed values, which cannot be NULL one by one; fill it, \
                     or do not pack",
                    at + 1
                ))),
            }
        }
        Ok(match &self.values {
            Values::Integers(values) => of(&self.name, values, rows)?.map(Plain::Integers),
            Values::Reals(values) => of(&self.name, values, rows)?.map(Plain::Reals),
            Values::Words => None,
        })
    }

    /// Bounds of the values that are published with the column; none under TFHE.
    fn bounds(&self, params: &Params) -> Option<Bounds> {
        params.rlwe()?;
        let limit = params.plain_modulus().map_or(f64::MAX, |t| (t / 2) as f64);
        let values: Box<dyn Iterator<Item = f64>> = match &self.values {
            Values::Integers(values) => Box::new(values.iter().flatten().map(|&value| value as f64)),
            Values::Reals(values) => Box::new(values.iter().flatten().copied()),
            Values::Words => return None,
        };
        let values = Bounds::exact(values).unwrap_or(Bounds::of(0.0));
        Some(values.coarse(1.0).clamped(limit))
    }
}

/// A clear table of CSV, which errors call `name`.
///
/// # Errors
/// It is not a table.
pub fn read_clear(csv: impl Read, name: &str, decimal: Decimal) -> Result<RecordBatch> {
    let columns = read(csv, name, decimal, &[], false)?;
    Ok(RecordBatch::try_from_iter_with_nullable(
        columns.iter().map(|column| (column.name.as_str(), column.clear(), true)),
    )?)
}

/// The rows of each cell: one, or at most `pack` rows that agree in all clear columns, in the order
/// of their first rows.
fn packed(open: &[&Column], rows: usize, pack: usize) -> Vec<Vec<usize>> {
    let mut cells: Vec<Vec<usize>> = Vec::new();
    let mut last: HashMap<Vec<Option<&str>>, usize> = HashMap::new();
    for row in 0..rows {
        let group: Vec<Option<&str>> = open.iter().map(|column| column.texts[row].as_deref()).collect();
        match last.get(&group) {
            Some(&cell) if cells[cell].len() < pack => cells[cell].push(row),
            _ => {
                if pack > 1 {
                    last.insert(group, cells.len());
                }
                cells.push(vec![row]);
            }
        }
    }
    cells
}

/// Encrypts columns of a table of CSV with names in its first row, which errors call `name`;
/// returns the rows of the Parquet file.
///
/// Each row of the file is a row of the table, or with `pack` as many rows that agree in all clear
/// columns, with a clear column `rows` that counts them.
///
/// # Errors
/// The table does not have the columns, or other things than numbers in them; the file cannot be
/// written.
pub fn encrypt(
    csv: impl Read,
    name: &str,
    parquet: Output,
    key: &OwnerKey,
    how: &Encryption,
) -> Result<usize> {
    let exact = key.params().ckks().is_none();
    let table = read(csv, name, how.decimal, &how.columns, exact)?;
    let total = table.first().map_or(0, |column| column.texts.len());
    for wanted in &how.columns {
        if !table.iter().any(|column| &column.name == wanted) {
            let names: Vec<&str> = table.iter().map(|column| column.name.as_str()).collect();
            return Err(Error::Table(format!(
                "{name}: no column {wanted:?}; there are {}",
                names.join(", ")
            )));
        }
    }
    let (secret, open): (Vec<&Column>, Vec<&Column>) =
        table.iter().partition(|column| how.columns.contains(&column.name));
    if how.pack > 1 && table.iter().any(|column| column.name == ROWS) {
        return Err(Error::Table(format!(
            "{name}: a column {ROWS:?} of the table, which counts packed rows; rename it, or do not pack"
        )));
    }
    let cells = packed(&open, total, how.pack);
    let cell = key.column(how.pack.max(1), how.signed)?;
    let types: Vec<CellType> = secret
        .iter()
        .map(|column| {
            let layout = cell.layout.map(|layout| layout.bounded(column.bounds(key.params())));
            CellType { layout, ..cell.clone() }
        })
        .collect();
    let clear_columns: Vec<ArrayRef> = open.iter().map(|column| column.clear()).collect();
    let mut fields: Vec<ArrowField> = open
        .iter()
        .zip(&clear_columns)
        .map(|(column, array)| ArrowField::new(&column.name, array.data_type().clone(), true))
        .collect();
    if how.pack > 1 {
        fields.push(ArrowField::new(ROWS, DataType::Int64, false));
    }
    fields.extend(secret.iter().zip(&types).map(|(column, of)| of.field(&column.name).as_ref().clone()));
    let schema = Arc::new(Schema::new(fields));
    let mut writer = Writer::new(parquet, &schema)?;
    for group in cells.chunks(ROW_GROUP) {
        let starts = Int64Array::from_iter_values(group.iter().map(|rows| rows[0] as i64));
        let mut arrays = Vec::with_capacity(schema.fields().len());
        for array in &clear_columns {
            arrays.push(datafusion::arrow::compute::take(array, &starts, None)?);
        }
        if how.pack > 1 {
            arrays.push(Arc::new(Int64Array::from_iter_values(group.iter().map(|rows| rows.len() as i64))));
        }
        for (column, of) in secret.iter().zip(&types) {
            let mut encrypted = BinaryViewBuilder::new().with_fixed_block_size(8 << 20);
            for rows in group {
                let place = || format!("{name}: column {}, row {}", column.name, rows[0] + 1);
                let plain = column.cell(rows).map_err(|error| error.within(name))?;
                let made = plain.map(|plain| key.encrypt(of, &plain, how.bits)).transpose();
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
    writer.write_record(schema.fields().iter().map(|field| guarded(field.name()).into_owned()))?;
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
        let text = |row: usize| formatter.value(row).to_string();
        return Ok((0..array.len()).map(|row| guarded(&text(row)).into_owned()).collect());
    };
    let cells = Cells::of(array)?;
    let shown = |row: usize| match cells.get(row) {
        None => Ok(String::new()),
        Some(bytes) => Ok(match key.decrypt(field.name(), &cell, bytes)? {
            Plain::Integers(values) => {
                check_bounds(field.name(), cell.bounds(), &values)?;
                joined(&values)
            }
            Plain::Reals(values) => joined(&values),
        }),
    };
    (0..array.len()).map(shown).collect()
}

/// Refuses values outside the bounds that were planned with: the bounds of a table were wrong.
fn check_bounds(name: &str, bounds: Option<Bounds>, values: &[i64]) -> Result<()> {
    let Some(bounds) = bounds else { return Ok(()) };
    match values.iter().find(|&&value| !bounds.hold(value as f64)) {
        None => Ok(()),
        Some(value) => Err(Error::Table(format!(
            "column {name}: {value}, where the file states {} to {}; the file, or a table that it was computed \
             from, states wrong bounds: encrypt that table again",
            figure(bounds.low),
            figure(bounds.high)
        ))),
    }
}

fn joined<T: ToString>(values: &[T]) -> String {
    values.iter().map(T::to_string).collect::<Vec<_>>().join(" ")
}
