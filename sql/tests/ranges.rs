//! Bounds of values: results that may leave the numbers that the keys hold are refused before they
//! are computed, and the assumptions behind that are checked while they are.

#![allow(clippy::unwrap_used)]

mod common;

use common::{World, all_sums, integers, partitions};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::Schema;
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use he_core::bfv::Bfv;
use he_core::ckks::presets::ckks_n13_d3;
use he_files::io::output::{Output, OutputOptions};
use he_files::scheme::{Ckks, Rotations};
use he_sql::column::CellType;
use he_sql::csv_table::{self, Encryption};
use he_sql::session::{Options, Session};
use he_sql::table::Writer;
use std::fs::File;
use std::sync::Arc;

fn world(bits: u32, seed: u64) -> World {
    let params = integers::<Bfv>(bits, 1);
    World::new::<Bfv>(&params, &all_sums(params.rlwe().ring().log_n() - 1), seed)
}

fn encrypt(world: &World, csv: &str, columns: &[&str]) {
    world.encrypt("t.parquet", csv, columns, Encryption::default());
}

const BILLIONS: &str = "x\n1000000000\n1000000000\n1000000000\n";

#[tokio::test(flavor = "multi_thread")]
async fn what_may_leave_t_is_refused_with_bits_that_hold_it() {
    let small = world(40, 1);
    encrypt(&small, BILLIONS, &["x"]);
    let mut session = small.session(&[("t", "t.parquet")], partitions(1)).await;
    for query in [
        "SELECT he_sum(he_mul(x, x)) FROM t",
        "SELECT he_dot(x, x) AS dot FROM t",
        "SELECT he_mul(x, 2000) FROM t",
        "SELECT he_polynomial(x, 0, 0, 1) FROM t",
        "SELECT he_total(he_mul(x, 2000)) FROM t",
        "SELECT he_sum(y) FROM (SELECT he_mul(x, 500) AS y FROM t) AS of_y",
        "SELECT CASE WHEN true THEN he_mul(x, 2000) ELSE x END FROM t",
        "SELECT he_add(y, y) FROM (SELECT x AS y FROM t UNION ALL SELECT he_mul(x, 600) FROM t) AS both_of_them",
        "EXPLAIN SELECT he_mul(x, 2000) FROM t",
    ] {
        let refusal = small.refusal(&mut session, query).await;
        assert!(
            refusal.contains("these keys hold") && refusal.contains("--group-rows"),
            "{query}: {refusal}"
        );
    }
    let refusal = small.refusal(&mut session, "SELECT he_sum(he_mul(x, 400)) FROM t").await;
    assert!(refusal.starts_with("he_sum(he_mul(x, 400)) may be from 0 to 1288490188800"), "{refusal}");
    assert!(refusal.contains("keygen bfv --bits 41 or more"), "{refusal}");
}

/// The parameters that the refusal advises hold the result.
#[tokio::test(flavor = "multi_thread")]
async fn the_advised_bits_hold_the_result() {
    let larger = world(41, 2);
    encrypt(&larger, BILLIONS, &["x"]);
    let mut session = larger.session(&[("t", "t.parquet")], partitions(1)).await;
    assert_eq!(
        larger.answer(&mut session, "SELECT he_sum(he_mul(x, 400)) FROM t").await,
        [["1200000000000"]]
    );
}

/// Rows of groups and clear numbers are assumed in a plan, and checked while it runs.
#[tokio::test(flavor = "multi_thread")]
async fn assumptions_are_checked() {
    let world = world(20, 3);
    encrypt(&world, "k,x,y\n1,500000,5\n2,400000,4\n", &["x", "y"]);
    let mut session = world.session(&[("t", "t.parquet")], partitions(1)).await;
    assert_eq!(world.answer(&mut session, "SELECT he_sum(x) FROM t").await, [["900000"]]);

    // A join makes more rows than a table has.
    let joined = "SELECT he_sum(t.x) FROM t CROSS JOIN t AS u";
    let error = fails(&mut session, joined).await;
    assert!(error.contains("a group of 4 rows") && error.contains("--group-rows 4"), "{error}");
    let options = Options { group_rows: Some(4), ..partitions(1) };
    let mut more = world.session(&[("t", "t.parquet")], options).await;
    let refusal = world.refusal(&mut more, joined).await;
    assert!(refusal.contains("2097152") && refusal.contains("--bits 22"), "{refusal}");

    // Files state the greatest magnitudes of their clear columns, and nothing of expressions.
    assert_eq!(world.answer(&mut session, "SELECT he_mul(x, k) FROM t WHERE k = 2").await, [["800000"]]);
    let error = fails(&mut session, "SELECT he_mul(y, k * 3) FROM t").await;
    assert!(error.contains("clear number 6") && error.contains("--clear-most 6"), "{error}");
    let options = Options { clear_most: Some(6), ..partitions(1) };
    let mut more = world.session(&[("t", "t.parquet")], options).await;
    assert_eq!(world.answer(&mut more, "SELECT he_mul(y, k * 3) FROM t").await, [["15"], ["24"]]);
    let refusal = world.refusal(&mut more, "SELECT he_mul(x, k * 3) FROM t").await;
    assert!(refusal.contains("3145728"), "{refusal}");
}

/// The message of a query that fails while it runs.
async fn fails(session: &mut Session, query: &str) -> String {
    let frame = session.sql(query).await.unwrap_or_else(|error| panic!("{query}: {error}"));
    let failed = frame.collect().await.err().unwrap_or_else(|| panic!("{query} was answered"));
    he_sql::Error::from(failed).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn reals_stay_within_their_level() {
    let world = World::new::<Ckks>(&ckks_n13_d3().unwrap(), &Rotations::default(), 4);
    world.encrypt("t.parquet", "x\n1000.5\n-2000\n", &["x"], Encryption::default());
    let mut session = world.session(&[("t", "t.parquet")], partitions(1)).await;
    let refusal =
        world.refusal(&mut session, "SELECT he_mul(he_mul(he_mul(x, x), he_mul(x, x)), 0.5) FROM t").await;
    assert!(refusal.contains("these keys hold") && refusal.contains("he_mul"), "{refusal}");
    let refusal =
        world.refusal(&mut session, "SELECT he_mul(he_mul(he_mul(x, 50.5), 50.5), 50.5) FROM t").await;
    assert!(refusal.contains("keygen ckks --range"), "{refusal}");
}

/// Bounds of an answer travel with it, and values outside them are not shown.
#[tokio::test(flavor = "multi_thread")]
async fn answers_have_bounds_that_are_checked() {
    let world = world(20, 5);
    encrypt(&world, "x\n3\n-9\n", &["x"]);
    let mut session = world.session(&[("t", "t.parquet")], partitions(1)).await;
    world.answer(&mut session, "SELECT he_sum(x) AS total FROM t").await;
    session.register("a", &world.url("answer.parquet")).await.unwrap();
    let frame = session.sql("SELECT he_sum(total) AS total FROM a").await.unwrap();
    let bounds = |field| CellType::of(field).unwrap().unwrap().bounds().map(<(f64, f64)>::from);
    assert_eq!(bounds(frame.schema().field(0)), Some((-32.0, 8.0)));
    assert!(session.unbounded(frame.logical_plan()).unwrap().is_empty());

    // A file that states others.
    let path = world.path("t.parquet");
    let bytes = std::fs::read(&path).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap()).unwrap();
    let batch = reader.build().unwrap().next().unwrap().unwrap();
    let schema = batch.schema();
    let mut metadata = schema.field(0).metadata().clone();
    metadata.insert("he.bounds".to_owned(), "[0, 4]".to_owned());
    let field = schema.field(0).clone().with_metadata(metadata);
    let schema = Schema::new(vec![field]);
    let stated = RecordBatch::try_new(Arc::new(schema), batch.columns().to_vec()).unwrap();
    let options = OutputOptions { force: true, ..OutputOptions::default() };
    let mut writer = Writer::new(Output::create(&path, options, &[]).unwrap(), &stated.schema()).unwrap();
    writer.write(&stated).unwrap();
    writer.finish().unwrap();
    let told = csv_table::decrypt(&path, Vec::new(), &world.owner()).unwrap_err().to_string();
    assert!(told.contains("column x: -9") && told.contains("0 to 4"), "{told}");
    std::fs::write(&path, bytes).unwrap();
    csv_table::decrypt(&path, Vec::new(), &world.owner()).unwrap();
}
