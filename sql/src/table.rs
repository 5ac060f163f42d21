//! Parquet files with encrypted columns beside clear ones, as the Python package writes them.

use crate::cells::Cells;
use crate::column::CellType;
use crate::error::Result;
use datafusion::arrow::array::{ArrayRef, LargeBinaryBuilder, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::{Compression, ZstdLevel};
use datafusion::parquet::file::properties::{EnabledStatistics, WriterProperties};
use datafusion::parquet::schema::types::ColumnPath;
use futures::StreamExt;
use he_files::io::output::Output;
use std::sync::Arc;

/// Rows of a row group, which readers take at once.
pub const ROW_GROUP: usize = 64;

/// A Parquet file that appears under its name when it is finished, and not at all if it is dropped
/// before.
pub struct Writer {
    writer: ArrowWriter<Output>,
    schema: SchemaRef,
    rows: usize,
}

impl Writer {
    /// Begins a file of a query's columns: ciphertexts are stored as they are, without statistics,
    /// and clear columns are compressed.
    ///
    /// # Errors
    /// The file cannot be written; damaged metadata of a column.
    pub fn new(output: Output, schema: &Schema) -> Result<Self> {
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(ROW_GROUP));
        let mut fields = Vec::new();
        for field in schema.fields() {
            let Some(cell) = CellType::of(field)? else {
                fields.push(clear(field));
                continue;
            };
            let column = ColumnPath::new(vec![field.name().clone()]);
            properties = properties
                .set_column_compression(column.clone(), Compression::UNCOMPRESSED)
                .set_column_dictionary_enabled(column.clone(), false)
                .set_column_statistics_enabled(column, EnabledStatistics::None);
            fields.push(cell.stored(field.name(), field.is_nullable()));
        }
        let schema = Arc::new(Schema::new(fields));
        let writer = ArrowWriter::try_new(output, Arc::clone(&schema), Some(properties.build()))?;
        Ok(Self { writer, schema, rows: 0 })
    }

    /// Writes a batch of a query.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns = batch.columns().iter().zip(self.schema.fields());
        let columns = columns.map(|(array, field)| stored(array, field)).collect::<Result<Vec<_>>>()?;
        self.writer.write(&RecordBatch::try_new(Arc::clone(&self.schema), columns)?)?;
        self.rows += batch.num_rows();
        Ok(())
    }

    /// Completes the file, and gives it its name; returns its rows.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(self) -> Result<usize> {
        self.writer.into_inner()?.commit()?;
        Ok(self.rows)
    }
}

/// Views are stored as the types that they are views of, which other readers know.
fn clear(field: &Field) -> Field {
    let stored = match field.data_type() {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        other => other.clone(),
    };
    field.clone().with_data_type(stored)
}

fn stored(array: &ArrayRef, field: &Field) -> Result<ArrayRef> {
    if CellType::of(field)?.is_none() {
        return Ok(cast(array, field.data_type())?);
    }
    let cells = Cells::of(array)?;
    let mut stored = LargeBinaryBuilder::new();
    for row in 0..cells.len() {
        stored.append_option(cells.get(row));
    }
    Ok(Arc::new(stored.finish()))
}

/// Writes the answer of a query, in memory of one row group; returns its rows.
///
/// # Errors
/// The query fails; the file cannot be written.
pub async fn write(output: Output, mut answer: SendableRecordBatchStream) -> Result<usize> {
    let mut writer = Writer::new(output, &answer.schema())?;
    while let Some(batch) = answer.next().await {
        writer.write(&batch?)?;
    }
    writer.finish()
}
