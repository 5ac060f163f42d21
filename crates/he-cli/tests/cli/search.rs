//! `search`: an index is made, filled, asked, changed and read; and what is refused.

use crate::process::{Call, folder, he};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// A step of a search in a folder.
fn step<'a>(dir: &Path, words: impl IntoIterator<Item = &'a str>) -> Call {
    he(std::iter::once("search").chain(words)).at(dir)
}

/// The message about a request that the index cannot serve, which is wrong usage.
fn unserved(call: Call) -> String {
    let outcome = call.run();
    assert_eq!((outcome.code, &outcome.stdout[..]), (Some(2), &b""[..]), "{}", outcome.stderr);
    outcome.stderr
}

/// Twelve vectors: of each four, one is near the first axis.
const VECTORS: [[f64; 3]; 12] = [
    [5.0, 0.1, 0.0],
    [0.0, 1.0, 0.2],
    [0.0, 0.5, -3.0],
    [-1.0, 0.0, 0.0],
    [0.0, 0.4, 1.0],
    [2.0, -0.1, 0.2],
    [-0.3, 1.0, 0.0],
    [0.1, 0.0, -1.0],
    [-2.0, 0.5, 0.0],
    [0.0, -1.0, 0.0],
    [0.7, 0.0, 0.05],
    [0.1, -1.0, 0.6],
];

fn csv(vectors: &[[f64; 3]]) -> String {
    vectors.iter().map(|[x, y, z]| format!("{x},{y},{z}\n")).collect()
}

/// Two tables of vectors with payloads, and a query.
fn inputs(dir: &Path) {
    for (name, range) in [("a", 0..7), ("b", 7..12)] {
        fs::write(dir.join(format!("{name}.csv")), csv(&VECTORS[range.clone()])).unwrap();
        let names: String = range.map(|record| format!("no. {record}\n")).collect();
        fs::write(dir.join(format!("{name}.txt")), names).unwrap();
    }
    fs::write(dir.join("q.csv"), "1,0,0\n").unwrap();
}

const KEY: [&str; 2] = ["-k", "keys/secret.key"];

/// The table that an answer to the query becomes.
fn asked(dir: &Path, index: &str, want: &[&str], read: &[&str]) -> String {
    let answer = ["answer", index, "q.he", "-k", "keys/eval.key", "-o", "a.he", "--force"];
    step(dir, answer.into_iter().chain(want.iter().copied())).ok();
    step(dir, ["read", "a.he", "-o", "-"].into_iter().chain(KEY).chain(read.iter().copied())).text()
}

#[test]
fn matches_are_counted_fetched_and_deleted() {
    let dir = folder();
    let dir = dir.path();
    inputs(dir);
    let create = ["create", "index", "--dimension", "3", "--threshold", "0.7", "--margin", "0.25"];
    let told = step(dir, create.into_iter().chain(["--payload", "8", "--json"])).ok();
    let told: Value = serde_json::from_slice(&told).unwrap();
    assert_eq!((&told["command"], &told["step"]), (&"search".into(), &"create".into()));
    assert!(told["key_bytes"].as_u64().unwrap() > 1 << 20 && told["segments"] == 0);
    step(dir, ["keygen", "index", "-o", "keys"]).ok();
    for name in ["a", "b"] {
        let (table, payloads) = (format!("{name}.csv"), format!("{name}.txt"));
        let append = ["append", "index", &table, "--payloads", &payloads, "--no-header"];
        step(dir, append.into_iter().chain(KEY)).ok();
    }
    step(dir, ["query", "index", "q.csv", "-o", "q.he", "--no-header"].into_iter().chain(KEY)).ok();
    // Whoever answers has no secret.
    fs::rename(dir.join("keys/secret.key"), dir.join("kept.key")).unwrap();
    step(dir, ["answer", "index", "q.he", "-k", "keys/eval.key", "-o", "first.he"]).ok();
    fs::rename(dir.join("kept.key"), dir.join("keys/secret.key")).unwrap();
    let read = ["read", "first.he", "-o", "-"];
    let all = "segment,slot,payload\n0,0,no. 0\n0,5,no. 5\n0,10,no. 10\n";
    assert_eq!(step(dir, read.into_iter().chain(KEY)).text(), all);
    let told = step(dir, ["merge", "index", "--json"]).ok();
    let told: Value = serde_json::from_slice(&told).unwrap();
    assert_eq!((&told["before"], &told["files"]), (&2.into(), &1.into()));
    assert_eq!(asked(dir, "index", &[], &[]), all);
    assert_eq!(asked(dir, "index", &["--want", "count"], &[]), "matches,undecided\n3,0\n");
    step(dir, ["delete", "index", "0:5", "0:1"]).ok();
    assert_eq!(asked(dir, "index", &[], &[]), "segment,slot,payload\n0,0,no. 0\n0,10,no. 10\n");
    let nearest = asked(dir, "index", &["--want", "scores"], &["--nearest", "2"]);
    let places: Vec<&str> = nearest.lines().map(|line| &line[..line.rfind(',').unwrap()]).collect();
    assert_eq!(places, ["segment,slot", "0,0", "0,10"]);
    assert!(unserved(step(dir, ["delete", "index", "0:5"])).contains("holds no record"));
    let append = ["append", "index", "q.csv", "--payloads", "a.txt", "--no-header"];
    assert!(unserved(step(dir, append.into_iter().chain(KEY))).contains("7 payloads for 1 vectors"));
    // Each command takes files of its own part.
    for (words, error) in [
        (&["answer", "index", "a.he", "-k", "keys/eval.key", "-o", "x.he"][..], "a query is needed"),
        (&["read", "q.he", "-k", "keys/secret.key", "-o", "x"], "an answer is needed"),
        (&["answer", "index", "q.he", "-k", "keys/public.key", "-o", "x.he"], "evaluation key"),
        (&["query", "index", "a.csv", "-k", "keys/secret.key", "-o", "x.he"], "a query is one vector"),
        (&["append", "index", "q.csv", "-k", "keys/eval.key"], "secret key"),
        (&["create", "index", "--dimension", "3", "--rank"], "an index already"),
        (&["info", "keys"], "not the folder of an index"),
    ] {
        let header = ["query", "append"].contains(&words[0]).then_some("--no-header");
        let said = step(dir, words.iter().copied().chain(header)).refuses();
        assert!(said.contains(error), "{words:?}: {said}");
        assert!(!dir.join("x.he").exists());
    }
    let said = he(["decrypt", "q.he", "-k", "keys/secret.key", "-o", "x"]).at(dir).refuses();
    assert!(said.contains("which decrypt does not read"), "{said}");
}

/// An index that ranks, and descriptions of it that are damaged.
#[test]
fn records_are_ranked_and_damaged_indexes_refused() {
    let dir = folder();
    let dir = dir.path();
    inputs(dir);
    let create = ["create", "index", "--dimension", "3", "--metric", "euclidean", "--norm", "6", "--rank"];
    step(dir, create).ok();
    step(dir, ["keygen", "index", "-o", "keys"]).ok();
    step(dir, ["append", "index", "a.csv", "--no-header"].into_iter().chain(KEY)).ok();
    step(dir, ["query", "index", "q.csv", "-o", "q.he", "--no-header"].into_iter().chain(KEY)).ok();
    let nearest = asked(dir, "index", &[], &["--nearest", "3"]);
    let rows: Vec<Vec<f64>> =
        nearest.lines().skip(1).map(|row| row.split(',').map(|x| x.parse().unwrap()).collect()).collect();
    let mut expected: Vec<(usize, f64)> = VECTORS[..7]
        .iter()
        .map(|[x, y, z]| ((x - 1.0) * (x - 1.0) + y * y + z * z).sqrt())
        .enumerate()
        .collect();
    expected.sort_by(|a, b| a.1.total_cmp(&b.1));
    for (row, (record, distance)) in rows.iter().zip(&expected) {
        assert_eq!(row[1], *record as f64);
        assert!((row[2] - distance).abs() < 1e-3, "{} {distance}", row[2]);
    }
    assert_eq!(rows.len(), 3);
    let count = ["answer", "index", "q.he", "--want", "count", "-k", "keys/eval.key", "-o", "x.he"];
    assert!(unserved(step(dir, count)).contains("do not serve matches"));
    let path = dir.join("index/index.json");
    let good = fs::read_to_string(&path).unwrap();
    for (from, to, error) in [
        ("\"version\": 1", "\"version\": 2", "is of version 2"),
        ("\"records\": 7", "\"records\": 8193", "exceed"),
        ("\"records\": 7", "\"records\": 4294967295", "exceed"),
        ("\"dimension\": 3", "\"dimension\": 4000000000", "dimension"),
        ("\"dimension\": 3", "\"dimension\": 4", "another plan"),
        ("\"norm\": 6.0", "\"norm\": -6.0", "norm"),
        ("\"file\": 0", "\"file\": 7", "cannot read"),
        ("\"file\": 0", "\"path\": 0", "unknown field"),
        ("{", "[", "does not describe an index"),
    ] {
        assert!(good.contains(from), "{good}");
        fs::write(&path, good.replacen(from, to, 1)).unwrap();
        let answer = ["answer", "index", "q.he", "-k", "keys/eval.key", "-o", "x.he"];
        let said = step(dir, answer).refuses();
        assert!(said.contains(error), "{to}: {said}");
    }
    fs::write(&path, &good).unwrap();
    // A damaged segment.
    let segment = dir.join("index/000000.he");
    let mut bytes = fs::read(&segment).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&segment, bytes).unwrap();
    step(dir, ["answer", "index", "q.he", "-k", "keys/eval.key", "-o", "x.he"]).refuses();
    assert!(!dir.join("x.he").exists());
    // Keys of another set.
    step(dir, ["keygen", "index", "-o", "others"]).ok();
    let append = ["append", "index", "b.csv", "--no-header", "-k", "others/secret.key"];
    assert!(step(dir, append).refuses().contains("key set"));
    let answer = ["answer", "index", "q.he", "-k", "others/eval.key", "-o", "x.he"];
    assert!(step(dir, answer).refuses().contains("key set"));
}
