//! `lookup`: databases by number and by key are prepared, asked, changed and read; and what is
//! refused.

use crate::process::{Call, folder, he};
use std::fs;
use std::path::Path;

/// A step of a look-up in a folder.
fn step<'a>(dir: &Path, words: impl IntoIterator<Item = &'a str>) -> Call {
    he(std::iter::once("lookup").chain(words)).at(dir)
}

/// The message about a step that fails with this exit code.
fn fails(call: Call, code: i32) -> String {
    let outcome = call.run();
    assert_eq!((outcome.code, &outcome.stdout[..]), (Some(code), &b""[..]), "{}", outcome.stderr);
    outcome.stderr
}

/// Asks a database for a record, and reads the answer.
fn ask(dir: &Path, database: &str, which: [&str; 2]) -> Call {
    let key = ["-k", "client.key"];
    let query = ["query", database, which[0], which[1], "-o", "q", "--force"];
    step(dir, query.into_iter().chain(key)).ok();
    step(dir, ["answer", database, "q", "-o", "a", "--force"]).ok();
    step(dir, ["read", database, "a", which[0], which[1], "-o", "-"].into_iter().chain(key))
}

#[test]
fn records_are_looked_up_by_number() {
    let dir = folder();
    let dir = dir.path();
    let records: String = (0..100).map(|number| format!("record {number:>3}\n")).collect();
    fs::write(dir.join("records"), &records[..60 * 11]).unwrap();
    step(dir, ["prepare", "db", "records", "--record-bytes", "11", "--records", "100"]).ok();
    step(dir, ["keygen", "-o", "client.key"]).ok();
    assert_eq!(ask(dir, "db", ["--number", "17"]).text(), "record  17\n");
    let old = fs::read(dir.join("q")).unwrap();
    fs::write(dir.join("more"), &records[60 * 11..]).unwrap();
    step(dir, ["append", "db", "more"]).ok();
    fs::write(dir.join("other"), "other text\n").unwrap();
    step(dir, ["update", "db", "other", "--first", "99"]).ok();
    assert_eq!(ask(dir, "db", ["--number", "98"]).text(), "record  98\n");
    assert_eq!(ask(dir, "db", ["--number", "99"]).text(), "other text\n");
    let packs = fs::read_dir(dir.join("db")).unwrap().count();
    assert_eq!(packs, 3, "a pack, its list and the description");

    fs::write(dir.join("old"), old).unwrap();
    let stale = fails(step(dir, ["answer", "db", "old", "-o", "b"]), 1);
    assert!(stale.contains("is for database") && stale.contains("query again"), "{stale}");
    let beyond = ["query", "db", "--number", "100", "-k", "client.key", "-o", "b"];
    assert!(fails(step(dir, beyond), 2).contains("no record 100"));
    step(dir, ["keygen", "-o", "another.key"]).ok();
    let foreign = ["read", "db", "a", "--number", "99", "-k", "another.key", "-o", "-"];
    assert!(fails(step(dir, foreign), 1).contains("another query"));
    fs::write(dir.join("odd"), "x").unwrap();
    assert!(fails(step(dir, ["append", "db", "odd"]), 1).contains("not a multiple"));
    assert!(fails(step(dir, ["append", "db", "other"]), 2).contains("planned for 100"));
    assert!(fails(step(dir, ["answer", ".", "q", "-o", "b"]), 1).contains("he-cli lookup prepare"));
    assert_eq!(ask(dir, "db", ["--number", "0"]).text(), "record   0\n");

    let pack = fs::read_dir(dir.join("db")).unwrap().map(|entry| entry.unwrap().path());
    let pack = pack.into_iter().find(|path| path.extension().is_some_and(|end| end == "pack")).unwrap();
    let mut bytes = fs::read(&pack).unwrap();
    bytes[1000] ^= 1;
    fs::write(&pack, bytes).unwrap();
    assert!(fails(step(dir, ["answer", "db", "q", "-o", "b"]), 1).contains("checksum"));
}

#[test]
fn values_are_looked_up_by_key() {
    let dir = folder();
    let dir = dir.path();
    fs::write(dir.join("words"), "salt\tblue\npepper\tred\n\tempty\n").unwrap();
    step(dir, ["prepare", "db", "words", "--by-key", "--record-bytes", "5"]).ok();
    step(dir, ["keygen", "-o", "client.key"]).ok();
    assert_eq!(ask(dir, "db", ["--entry", "salt"]).text(), "blue\0");
    assert!(fails(ask(dir, "db", ["--entry", "sugar"]), 1).contains("no such key"));
    let number = ["query", "db", "--number", "1", "-k", "client.key", "-o", "b"];
    assert!(fails(step(dir, number), 2).contains("looked up by key"));
    fs::write(dir.join("long"), "salt\tultramarine\n").unwrap();
    let long = ["prepare", "other", "long", "--by-key", "--record-bytes", "5"];
    assert!(fails(step(dir, long), 2).contains("11 bytes"));
    assert!(!dir.join("other").exists());
}

/// Sizes of a gigabyte, before anything is prepared.
#[test]
fn plans_are_explained() {
    let dir = folder();
    let explain = ["prepare", "--explain", "--records", "4194304", "--record-bytes", "256", "--json"];
    let facts = step(dir.path(), explain).text();
    let facts: serde_json::Value = serde_json::from_str(&facts).unwrap();
    let sum = facts["query_bytes"].as_u64().unwrap() + facts["answer_bytes"].as_u64().unwrap();
    assert!(sum < 250_000, "{facts}");
    assert!(facts["log2_failure"].as_f64().unwrap() <= -40.0);
}
