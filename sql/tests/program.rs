//! The program: a table of CSV, a query, its explanation, and the answer as CSV.

#![allow(clippy::unwrap_used)]

mod common;

use common::{World, all_sums};
use he_core::bfv::{self, Bfv};
use std::process::{Command, Output};

fn he_sql(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_he-sql")).args(arguments).output().unwrap()
}

#[track_caller]
fn succeeds(arguments: &[&str]) -> String {
    let output = he_sql(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn fails(arguments: &[&str], words: &[&str]) {
    let output = he_sql(arguments);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(words.iter().all(|word| told.contains(word)), "{told}");
}

#[test]
fn a_table_becomes_an_answer() {
    let world = World::new::<Bfv>(&bfv::presets::bfv_n13_d4().unwrap(), &all_sums(12), 1);
    let [sales, table, answer, absent] =
        ["sales.csv", "sales.parquet", "answer.parquet", "absent.parquet"].map(|name| world.url(name));
    let [public, secret, eval] = ["public.key", "secret.key", "eval.key"].map(|name| world.url(name));
    std::fs::write(&sales, "region,price,qty\nnorth,3,2\nnorth,5,1\nsouth,7,4\nnorth,-1,10\n").unwrap();

    let encrypt = ["encrypt", &sales, "--columns", "price,qty", "--key", &public, "-o", &table];
    succeeds(&encrypt);
    let sql = format!(
        "SELECT region, he_sum(price), he_sum(he_mul(price, qty)) AS p FROM '{table}' \
                       GROUP BY region ORDER BY region"
    );
    let keys = format!("file://{eval}");
    succeeds(&["query", &sql, "--keys", &keys, "-o", &answer]);
    let decrypted = succeeds(&["decrypt", &answer, "--key", &secret]);
    let lines: Vec<&str> = decrypted.lines().skip(1).collect();
    assert_eq!(lines, ["north,7,1", "south,7,28"]);

    // Without a file there are clear columns, and no bytes of ciphertexts at the terminal.
    let shown = succeeds(&["query", &sql, "--keys", &eval]);
    assert!(shown.contains("north") && shown.contains("[bfv, ") && shown.len() < 2000, "{shown}");

    let explained = succeeds(&["query", &format!("EXPLAIN {sql}"), "--keys", &eval]);
    for words in [
        "TableScan",
        "he_mul",
        "keys: relinearisation",
        "depth 1",
        "bits left",
        "at most 4 rows",
        "values from -64 to 512",
    ] {
        assert!(explained.contains(words), "{words} is missing in:\n{explained}");
    }

    let packed = [&encrypt[..], &["--pack", "2", "--force"]].concat();
    succeeds(&packed);
    let sql =
        format!("SELECT region, sum(rows), he_total(he_dot(price, qty)) FROM '{table}' GROUP BY region");
    let sql = format!("{sql} ORDER BY region");
    succeeds(&["query", &sql, "--keys", &eval, "-o", &answer, "--force", "--partitions", "1"]);
    assert!(succeeds(&["decrypt", &answer, "--key", &secret]).ends_with("north,3,1\nsouth,1,28\n"));

    fails(&["query", &sql, "--keys", &secret], &["never see a secret"]);
    fails(
        &["query", "SELECT he_sum(region) FROM t", "--table", &format!("t={table}"), "--keys", &eval],
        &["region"],
    );
    fails(&["decrypt", &answer, "--key", &public], &["secret.key"]);
    fails(&["encrypt", &sales, "--columns", "prise", "--key", &public, "-o", &absent], &["prise", "price"]);
    assert!(!world.path("absent.parquet").exists());
}
