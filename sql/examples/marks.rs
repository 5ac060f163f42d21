//! A table of BFV ciphertexts and a plain loop of the functions over it, beside which `docs/sql.md`
//! holds its queries.
//!
//! ```text
//! marks data FOLDER ROWS     keys and a table of two encrypted columns, in files of 128 rows
//! marks loop FOLDER          sums and sums of products by region, in a plain loop in which each
//!                            function reads its own arguments, as those of SQL do
//! ```
//!
//! The query of the loop is
//! `SELECT region, he_sum(price), he_sum(he_mul(price, qty)) FROM t GROUP BY region`.

use datafusion::arrow::array::{ArrayRef, AsArray, LargeBinaryBuilder, RecordBatch, StringArray};
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use he::Device;
use he_core::bfv::{Bfv, presets};
use he_files::io::output::{Output, OutputOptions};
use he_files::key_set::{KeyFiles, KeySet};
use he_files::passphrase::{Passphrase, Purpose};
use he_files::scheme::Rotations;
use he_files::scheme::engine::{Engine, rng};
use he_sql::column::Kind;
use he_sql::engine::Value;
use he_sql::keys::{self, Compute};
use he_sql::owner::{OwnerKey, Plain};
use he_sql::table::Writer;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

type Any = Result<(), Box<dyn std::error::Error>>;

/// Rows of a file.
const ROWS: usize = 128;
const REGIONS: [&str; 4] = ["east", "north", "south", "west"];

fn no_passphrase(_: Purpose, what: &str) -> he_files::Result<Passphrase> {
    Err(he_files::Error::Caller(format!("{what} is sealed").into()))
}

fn data(folder: &Path, rows: usize) -> Any {
    std::fs::create_dir_all(folder.join("t"))?;
    let params = presets::bfv_n13_d4()?;
    let engine = Engine::<Bfv>::new(&params, Device::cpu())?;
    let set = KeySet::<Bfv>::generate(&engine, &Rotations::default(), &mut rng()?)?;
    KeyFiles::create(folder, false)?.write(&set, &params, None)?;
    let key = OwnerKey::open(&folder.join("public.key"), &no_passphrase)?;
    let column = key.column(4096, false)?;
    // A file's worth of ciphertexts; the files hold them again and again.
    let cell = |row: usize| {
        let values = (0..4096).map(|slot| ((row * 31 + slot * 7) % 100) as i64).collect();
        key.encrypt(&column, &Plain::Integers(values), 0)
    };
    let cells = (0..2 * ROWS).map(cell).collect::<he_sql::Result<Vec<_>>>()?;
    let schema = datafusion::arrow::datatypes::Schema::new(vec![
        datafusion::arrow::datatypes::Field::new(
            "region",
            datafusion::arrow::datatypes::DataType::Utf8,
            false,
        ),
        column.stored("price", false),
        column.stored("qty", false),
    ]);
    for file in 0..rows.div_ceil(ROWS) {
        let mut writer = Writer::new(
            Output::create(folder.join(format!("t/{file}.parquet")), OutputOptions::default(), &[])?,
            &schema,
        )?;
        for group in 0..ROWS / 32 {
            let rows = group * 32..(group + 1) * 32;
            let encrypted = |of: usize| {
                let mut column = LargeBinaryBuilder::new();
                rows.clone().for_each(|row| column.append_value(&cells[2 * row + of]));
                Arc::new(column.finish()) as ArrayRef
            };
            let regions = StringArray::from_iter_values(rows.clone().map(|row| REGIONS[row % 4]));
            let columns: Vec<ArrayRef> = vec![Arc::new(regions), encrypted(0), encrypted(1)];
            writer.write(&RecordBatch::try_new(Arc::new(schema.clone()), columns)?)?;
        }
        writer.finish()?;
    }
    println!("{} rows of two cells of {} bytes", rows.div_ceil(ROWS) * ROWS, cells[0].len());
    Ok(())
}

fn plain_loop(folder: &Path) -> Any {
    let set = keys::KeySet::open(folder.join("eval.key").to_str().ok_or("not text")?)?;
    let compute = Compute::of(&set)?;
    let (engine, keys) = (&compute.engine, compute.keys()?);
    let started = Instant::now();
    let mut sums: BTreeMap<String, [Value; 2]> = BTreeMap::new();
    let mut files: Vec<_> = std::fs::read_dir(folder.join("t"))?
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<_>>()?;
    files.sort();
    for file in files {
        for batch in
            ParquetRecordBatchReaderBuilder::try_new(File::open(file)?)?.with_batch_size(32).build()?
        {
            let batch = batch?;
            let regions = batch.column(0).as_string::<i32>();
            let (prices, quantities) =
                (batch.column(1).as_binary::<i64>(), batch.column(2).as_binary::<i64>());
            for row in 0..batch.num_rows() {
                let price = engine.decode(Kind::Ciphertext, prices.value(row))?;
                let summed = engine.decode(Kind::Ciphertext, prices.value(row))?;
                let quantity = engine.decode(Kind::Ciphertext, quantities.value(row))?;
                let product = engine.mul(&price, &quantity, &keys)?;
                match sums.get_mut(regions.value(row)) {
                    Some([price_sum, product_sum]) => {
                        engine.add_assign(price_sum, &summed, None)?;
                        engine.add_assign(product_sum, &product, None)?;
                    }
                    None => {
                        sums.insert(regions.value(row).to_owned(), [summed, product]);
                    }
                }
            }
        }
    }
    let bytes: usize = sums
        .values()
        .flatten()
        .map(|sum| engine.encode(sum).map(|bytes| bytes.len()))
        .sum::<Result<_, _>>()?;
    println!("{} groups, {bytes} bytes, {:.2} s", sums.len(), started.elapsed().as_secs_f64());
    Ok(())
}

fn main() -> Any {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["data", folder, rows] => data(Path::new(folder), rows.parse()?),
        ["loop", folder] => plain_loop(Path::new(folder)),
        _ => Err("marks data FOLDER ROWS, or marks loop FOLDER".into()),
    }
}
