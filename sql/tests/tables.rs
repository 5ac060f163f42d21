//! Tables of CSV: encrypted ones, small ones, and clear ones beside them.

#![allow(clippy::unwrap_used)]

mod common;

use common::{World, decrypted, partitions};
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use he_core::bfv::{self, Bfv};
use he_core::ckks::presets::ckks_n13_d3;
use he_files::data::table::decimal::Decimal;
use he_files::io::output::{Output, OutputOptions};
use he_files::scheme::{Ckks, Rotations};
use he_sql::csv_table::{self, Encryption};
use std::fs::File;

fn world(seed: u64) -> World {
    World::new::<Bfv>(&bfv::presets::bfv_n13_d4().unwrap(), &Rotations::default(), seed)
}

/// The rows of a file, and the least and greatest length of a cell of its last column.
fn shape(world: &World, name: &str) -> (usize, usize) {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(world.path(name)).unwrap()).unwrap();
    let batches = reader.build().unwrap().map(Result::unwrap);
    let (mut rows, mut bytes) = (0, 0);
    for batch in batches {
        let cells = he_sql::cells::Cells::of(batch.columns().last().unwrap()).unwrap();
        bytes = (0..cells.len()).map(|row| cells.get(row).unwrap().len()).fold(bytes, usize::max);
        rows += batch.num_rows();
    }
    (rows, bytes)
}

/// Rows are packed by groups of the clear columns, wherever they stand.
#[tokio::test(flavor = "multi_thread")]
async fn rows_of_a_group_are_packed() {
    let world = world(1);
    let mut csv = "region,x,day\n".to_owned();
    (0..60).for_each(|row| csv += &format!("{},{row},{}\n", ["n", "s", "w"][row % 3], row % 2));
    world.encrypt("t.parquet", &csv, &["x"], Encryption { pack: 8, ..Encryption::default() });
    // Six groups of ten rows, in cells of eight and two.
    assert_eq!(shape(&world, "t.parquet").0, 12);
    let mut session = world.session(&[("t", "t.parquet")], partitions(2)).await;
    let query = "SELECT region, day, sum(rows), he_sum(x) FROM t GROUP BY region, day ORDER BY region, day";
    let answer = world.answer(&mut session, query).await;
    assert_eq!(answer.len(), 6);
    for (at, row) in answer.iter().enumerate() {
        let (region, day) = (at / 2, at % 2);
        let rows: Vec<usize> = (0..60).filter(|row| row % 3 == region && row % 2 == day).collect();
        let slots: Vec<usize> = row[3].split(' ').map(|slot| slot.parse().unwrap()).collect();
        let expected = |slot: usize| rows.iter().skip(slot).step_by(8).sum::<usize>();
        assert_eq!(row[2], "10");
        assert_eq!(slots, (0..8).map(expected).collect::<Vec<_>>(), "{row:?}");
    }
    // The columns that differ are encrypted as well, in one cell of each group.
    world.encrypt("all.parquet", &csv, &["x", "day"], Encryption { pack: 64, ..Encryption::default() });
    assert_eq!(shape(&world, "all.parquet").0, 3);
}

/// The secret key writes half of every ciphertext as a seed.
#[tokio::test(flavor = "multi_thread")]
async fn cells_by_the_secret_key_are_seeded() {
    let world = world(2);
    let how = Encryption { columns: vec!["x".to_owned()], ..Encryption::default() };
    let csv = "k,x\n1,5\n2,-7\n";
    world.encrypt("public.parquet", csv, &["x"], Encryption::default());
    let output = Output::create(world.path("secret.parquet"), OutputOptions::default(), &[]).unwrap();
    csv_table::encrypt(csv.as_bytes(), "t.csv", output, &world.owner(), &how).unwrap();
    let [whole, seeded] = ["public.parquet", "secret.parquet"].map(|name| shape(&world, name).1);
    assert!(seeded * 2 < whole + 1000, "{seeded} bytes, and {whole} by the public key");
    assert_eq!(decrypted(&world.owner(), &world.path("secret.parquet")), [["1", "5"], ["2", "-7"]]);
    let mut session = world.session(&[("t", "secret.parquet"), ("u", "public.parquet")], partitions(1)).await;
    let query = "SELECT he_sum(he_mul(t.x, u.x)), he_sum(CASE WHEN t.k = 1 THEN t.x ELSE u.x END) \
                 FROM t JOIN u ON t.k = u.k";
    assert_eq!(world.answer(&mut session, query).await, [["74", "-2"]]);
}

/// Clear tables of CSV are tables of a query, with the types of their columns.
#[tokio::test(flavor = "multi_thread")]
async fn clear_tables_stand_beside() {
    let world = world(3);
    world.encrypt("t.parquet", "region,x\nn,3\ns,5\nn,4\n", &["x"], Encryption::default());
    std::fs::write(world.path("k.csv"), "region;name;weight;share\nn;\"North; far\";2;0,5\ns;South;;1,25\n")
        .unwrap();
    let mut session = world.session(&[("t", "t.parquet")], partitions(2)).await;
    session.register("k", &world.url("k.csv")).await.unwrap();
    let query = "SELECT name, sum(share), he_sum(he_mul(x, weight)) FROM t JOIN k ON t.region = k.region \
                 GROUP BY name ORDER BY name";
    assert_eq!(world.answer(&mut session, query).await, [["North; far", "1.0", "14"], ["South", "1.25", ""]]);
    // The query may name the file itself.
    let query = format!("SELECT weight, 1 FROM '{}' ORDER BY weight NULLS FIRST", world.url("k.csv"));
    assert_eq!(world.answer(&mut session, &query).await, [["", "1"], ["2", "1"]]);
}

/// Columns of an answer are called as the query writes them.
#[tokio::test(flavor = "multi_thread")]
async fn columns_are_named_as_they_are_written() {
    let world = world(4);
    world.encrypt("t.parquet", "region,x\nn,3\n", &["x"], Encryption::default());
    let mut session = world.session(&[], partitions(1)).await;
    let table = world.url("t.parquet");
    let query = format!(
        "SELECT region, he_sum(he_mul(x, x)), he_sum(x) AS total, count(*), max(t.region) \
         FROM '{table}' AS t GROUP BY region UNION ALL SELECT 'x', NULL, NULL, 1, 'y'"
    );
    let frame = session.sql(&query).await.unwrap();
    let names: Vec<&str> = frame.schema().fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["region", "he_sum(he_mul(x, x))", "total", "count(*)", "max(t.region)"]);
    let query = format!(
        "SELECT CASE WHEN region = 'n' THEN x END, length(t.region) + 1 FROM '{table}' AS t \
         ORDER BY length(t.region) + 1"
    );
    let frame = session.sql(&query).await.unwrap();
    let names: Vec<&str> = frame.schema().fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["CASE WHEN region = 'n' THEN x END", "length(t.region) + 1"]);
    assert_eq!(world.answer(&mut session, &query).await, [["3", "2"]]);
    let query = format!("SELECT he_sum(x) FROM '{table}' GROUP BY region ORDER BY max(region), count(*)");
    assert_eq!(world.answer(&mut session, &query).await, [["3"]]);
    assert_eq!(session.sql(&query).await.unwrap().schema().field(0).name(), "he_sum(x)");
}

/// Marks that may stand between thousands are refused unless the mark is given, in encrypted and in
/// clear columns alike.
#[test]
fn doubtful_decimals_are_refused() {
    let world = World::new::<Ckks>(&ckks_n13_d3().unwrap(), &Rotations::default(), 5);
    let encrypt = |csv: &str, decimal| {
        let path = world.path("t.parquet");
        let options = OutputOptions { force: true, ..OutputOptions::default() };
        let how = Encryption { columns: vec!["x".to_owned()], decimal, ..Encryption::default() };
        let output = Output::create(&path, options, &[]).unwrap();
        csv_table::encrypt(csv.as_bytes(), "t.csv", output, &world.owner(), &how)?;
        Ok::<_, he_sql::Error>(decrypted(&world.owner(), &path))
    };
    for (csv, line) in [("x\n1.234\n999.999\n", 2), ("x;k\n1,234;a\n", 2), ("k,x\n2.500,7\n1.000,8\n", 2)] {
        let error = encrypt(csv, Decimal::Auto).unwrap_err();
        let (told, hint) = (error.to_string(), error.hint().unwrap());
        assert!(
            told.starts_with(&format!("t.csv, line {line}, column 1")) && told.contains("thousands"),
            "{told}"
        );
        assert!(hint.contains("--decimal point or --decimal comma"), "{hint}");
    }
    let near = |row: &[String], expected: f64| {
        let found: f64 = row.last().unwrap().parse().unwrap();
        assert!((found - expected).abs() < 1e-3, "{found}, where {expected} is expected");
    };
    near(&encrypt("x\n1.234\n", Decimal::Point).unwrap()[0], 1.234);
    near(&encrypt("k;x\na;1,234\n", Decimal::Comma).unwrap()[0], 1.234);
    near(&encrypt("k;x\na;1,5\nb;2,250\n", Decimal::Auto).unwrap()[1], 2.25);
}

/// Words that spreadsheets would compute come back as words.
#[test]
fn words_are_no_formulas() {
    let world = world(6);
    world.encrypt("t.parquet", "name,x\n'=1+1,3\n-5,4\n", &["x"], Encryption::default());
    assert_eq!(decrypted(&world.owner(), &world.path("t.parquet")), [["'=1+1", "3"], ["-5", "4"]]);
}
