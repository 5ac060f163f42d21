//! Measurements: what is printed and written. No test asks how fast anything is.

use crate::process::{folder, he, names};
use serde_json::Value;
use std::fs;

/// Every figure is positive; the tables' identifiers with the number of measured figures.
fn check(report: &Value) -> Vec<(String, usize)> {
    for field in ["command", "cpu", "cpu_backend", "date", "version", "commit"] {
        assert!(report["header"][field].as_str().is_some_and(|text| !text.is_empty()), "{field}");
    }
    assert_eq!(report["header"]["quick"], true);
    let tables = report["tables"].as_array().unwrap();
    let count = |table: &Value| {
        let rows = table["rows"].as_array().unwrap().len();
        let mut measured = 0;
        for column in table["columns"].as_array().unwrap() {
            let values = column["values"].as_array().unwrap();
            assert_eq!(values.len(), rows, "{table}");
            for value in values {
                match value {
                    Value::Number(number) => {
                        assert!(number.as_f64().is_some_and(|x| x.is_finite() && x > 0.0), "{table}");
                        measured += usize::from(column["origin"] == "measured");
                    }
                    other => assert!(other.is_null() || other == "not run", "{table}"),
                }
            }
        }
        for pair in table["speed_ups"].as_array().unwrap() {
            let values = pair["values"].as_array().unwrap();
            assert!(
                values.iter().all(|x| x.is_null() || x.as_f64().is_some_and(|x| x.is_finite() && x > 0.0))
            );
        }
        measured
    };
    tables.iter().map(|table| (table["id"].as_str().unwrap().to_owned(), count(table))).collect()
}

#[test]
fn papers() {
    let dir = folder();
    let path = |name: &str| dir.path().join(name);
    let files = ["--json", "r.json", "--csv", "r.csv", "--markdown", "r.md", "--plots", "deep/plots"];
    // Most of P3's figures take longer than the limit.
    let quick = ["bench", "papers", "--quick", "--limit", "0.1"];
    let text = he(quick.iter().chain(&files)).at(dir.path()).text();
    assert!(text.starts_with("he-cli ") && text.contains("\nquick: "), "{text}");
    assert!(text.contains("P4, NTT [p4-ntt], ms\n  a: paper: CPU\n"), "{text}");
    let report: Value = serde_json::from_slice(&fs::read(path("r.json")).unwrap()).unwrap();
    let tables = check(&report);
    let mut expected = vec!["p1".to_owned(), "p2".to_owned()];
    let bits = ["once", "once-each", "sums", "sums-each", "comparison", "comparison-each"];
    expected.push("p3-integers".to_owned());
    expected.extend(bits.map(|name| format!("p3-{name}")));
    let operations = ["ntt", "intt", "encode", "decode", "encrypt", "decrypt", "add", "multiply"];
    expected.extend(operations.map(|name| format!("p4-{name}")));
    expected.extend(["encrypt", "decrypt", "encrypt-runs", "decrypt-runs"].map(|name| format!("p5-{name}")));
    assert_eq!(tables.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>(), expected);
    assert_eq!(known_tables(&["bench", "papers", "--quick"]), expected);
    // Only bits may take longer than the limit.
    for (id, measured) in &tables {
        assert!(*measured > 0 || id.starts_with("p3-"), "{id}");
    }
    // The papers' own figures, as their tables have them.
    let column = |table: usize, column: usize| &report["tables"][table]["columns"][column];
    assert_eq!(column(1, 2)["name"], "paper: GPU");
    assert_eq!(column(1, 2)["values"][9], 1591089.90);
    assert_eq!(column(9, 1)["values"][1], 0.83686);
    packed_bits(&report["tables"]);

    let mut lines = csv::Reader::from_path(path("r.csv")).unwrap();
    let records: Vec<csv::StringRecord> = lines.records().map(Result::unwrap).collect();
    let measured = records.iter().filter(|record| &record[7] == "measured").count();
    assert_eq!(measured, tables.iter().map(|(_, measured)| measured).sum::<usize>());
    for record in &records {
        let value = record[6].parse::<f64>();
        assert!(
            value.is_ok_and(|x| x > 0.0) || (&record[7] == "not run" && record[6].is_empty()),
            "{record:?}"
        );
    }

    let markdown = fs::read_to_string(path("r.md")).unwrap();
    assert!(markdown.starts_with("he-cli ") && markdown.contains("(`p4-ntt`):\n\n| log2 N | paper: CPU |"));
    assert!(markdown.contains("\ncommand: he-cli bench papers --quick --limit 0.1  \nCPU: "), "{markdown}");
    assert_eq!(markdown.matches("\n| --- |").count(), tables.len());

    // Tables in which nothing was measured or quoted have no plot.
    let drawn = |id: &str| records.iter().any(|record| &record[0] == id && !record[6].is_empty());
    let drawn: Vec<&str> = tables.iter().map(|(id, _)| id.as_str()).filter(|id| drawn(id)).collect();
    assert_eq!(markdown.matches("](deep/plots/").count(), drawn.len());
    for id in &drawn {
        let svg = fs::read_to_string(path(&format!("deep/plots/{id}.svg"))).unwrap();
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"), "{id}");
        let png = image::open(path(&format!("deep/plots/{id}.png"))).unwrap().into_rgb8();
        assert!(png.pixels().any(|pixel| pixel.0 != [255; 3]), "{id}");
    }
    assert_eq!(names(&path("deep/plots")).len(), 2 * drawn.len());
}

/// P3's columns of bits in slots: of the cheapest job always, and the same runs a number.
fn packed_bits(tables: &Value) {
    let table = |id: &str| tables.as_array().unwrap().iter().find(|table| table["id"] == id).unwrap();
    // Their cheapest rows.
    let ways = [
        ("p3-once", 1, &["packed, BGV", "packed, BFV"][..]),
        ("p3-sums", 0, &["packed, BGV", "packed, BFV", "packed, BGV, by counting"]),
        ("p3-comparison", 0, &["packed, BGV", "packed, BFV", "BGV, a ciphertext a bit"]),
    ];
    for (id, row, ways) in ways {
        let (runs, each) = (table(id), table(&format!("{id}-each")));
        let column = |table: &Value, name: &str| {
            let columns = table["columns"].as_array().unwrap();
            columns.iter().find(|column| column["name"] == name).unwrap()["values"].clone()
        };
        for (i, way) in ways.iter().enumerate() {
            let name = format!("{way}, CPU, 1 thread");
            let remark = each["remarks"][i]["texts"][row].as_str().unwrap();
            let (numbers, chain) = remark.split_once("; 2^").unwrap();
            let numbers: f64 = numbers.parse().unwrap();
            assert!(numbers >= 100.0 && chain.contains('+'), "{remark}");
            let (seconds, each) = (column(runs, &name), column(each, &name));
            let expected = seconds[row].as_f64().unwrap() / numbers * 1e6;
            assert!((each[row].as_f64().unwrap() / expected - 1.0).abs() < 1e-9, "{id}, {way}");
        }
    }
}

#[test]
fn operations_aes_and_gates() {
    // Wide integers of gates would take seconds each.
    let limits =
        [("ops", 8, "1"), ("rings", 6, "1"), ("matrices", 6, "1"), ("aes", 14, "1"), ("gates", 12, "0.2")];
    for (subject, least, limit) in limits {
        let outcome = he(["bench", subject, "--quick", "--limit", limit, "--json", "-"]).run();
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{subject}");
        let known = known_tables(&["bench", subject, "--quick"]);
        // Nothing but JSON.
        let report: Value = serde_json::from_slice(&outcome.stdout).unwrap();
        let tables = check(&report);
        assert!(tables.len() >= least, "{subject}: {tables:?}");
        assert_eq!(tables.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), known, "{subject}");
        assert!(
            tables.iter().filter(|(_, measured)| *measured > 0).count() >= least.min(5),
            "{subject}: {tables:?}"
        );
    }
}

/// The names of the tables that take minutes.
#[test]
fn refreshes_and_switches() {
    for (subject, tables) in [
        (&["refresh", "bfv:65537"][..], &["refresh"][..]),
        (&["switching", "--bits", "8"], &["switching"]),
        (&["transcipher", "--blocks", "2"], &["transcipher-tfhe", "transcipher-ckks"]),
    ] {
        assert_eq!(known_tables(&[&["bench"][..], subject].concat()), tables);
    }
    let modulus = he(["bench", "refresh", "ckks:3"]).run();
    assert!(
        modulus.code == Some(2) && modulus.stderr.contains("such as bfv:65537 or bgv:257"),
        "{}",
        modulus.stderr
    );
    assert_eq!(he(["bench", "switching", "--bits", "5"]).run().code, Some(2));
}

/// The names that are offered for one that there is not; nothing is measured.
fn known_tables(arguments: &[&str]) -> Vec<String> {
    let outcome = he(arguments.iter().chain(&["--table", "nonsense"])).run();
    assert_eq!((outcome.code, outcome.stdout.as_slice()), (Some(1), &b""[..]), "{}", outcome.stderr);
    let lines: Vec<&str> = outcome.stderr.lines().collect();
    assert_eq!(lines[0], "he-cli: error: there is no table of the name nonsense");
    let names = lines[1].strip_prefix("he-cli: hint: choose --table among ").unwrap();
    names.split(", ").map(str::to_owned).collect()
}

/// Before anything is measured.
#[test]
fn places_that_cannot_be() {
    let dir = folder();
    let path = |name: &str| dir.path().join(name);
    fs::write(path("there"), "old").unwrap();
    fs::create_dir(path("full")).unwrap();
    fs::write(path("full/x"), "old").unwrap();
    let bench =
        |options: &[&str]| he(["bench", "papers", "p4", "--quick"].iter().chain(options)).at(dir.path());
    for (options, message) in [
        (&["--json", "no/r.json"][..], "cannot write no/r.json: the folder no does not exist"),
        (&["--csv", "there"], "there exists already"),
        (&["--csv", "full"], "cannot write full: it is a folder"),
        (&["--markdown", "there"], "there exists already"),
        (&["--plots", "there"], "cannot write into there: it is not a folder"),
        (&["--plots", "full"], "full is not empty"),
    ] {
        assert_eq!(bench(options).refuses(), message);
    }
    for files in [["--markdown", "-", "--csv", "-"], ["--markdown", "x", "--json", "x"]] {
        bench(&files).fails(
            2,
            "results of two kinds would go to one place",
            "give --json, --csv and --markdown different files",
        );
    }
    // JSON on standard output: the error is JSON, too.
    for files in [&["--json", "-", "--csv", "-"][..], &["--csv", "-", "--json"]] {
        let outcome = bench(files).run();
        let told: Value = serde_json::from_str(&outcome.stderr).unwrap();
        assert_eq!((outcome.code, &told["exit_code"]), (Some(2), &2.into()), "{files:?}");
        assert_eq!(told["error"], "results of two kinds would go to one place");
    }
    for options in
        [&["p9"][..], &["--limit", "0"], &["--limit", "-1"], &["--limit", "nan"], &["--limit", "x"]]
    {
        assert_eq!(bench(options).run().code, Some(2), "{options:?}");
    }
    let outcome = bench(&["--table", "p5-encrypt", "--json", "r.json"]).run();
    assert_eq!((outcome.code, outcome.stdout.as_slice()), (Some(1), &b""[..]), "nothing was measured");
    assert!(
        outcome.stderr.starts_with("he-cli: error: there is no table of the name p5-encrypt\n"),
        "{}",
        outcome.stderr
    );
    assert_eq!(names(dir.path()), ["full", "there"]);
    // One name too many, of the tables of a whole afternoon.
    let known = known_tables(&["bench", "papers", "p3", "--table", "p3-sums-64"]);
    assert!(
        known.contains(&"p3-sums-64-each".to_owned()) && !known.contains(&"p4-ntt".to_owned()),
        "{known:?}"
    );
    let some = bench(&["--table", "p4-ntt", "--table", "p4-add"]).text();
    assert!(some.contains("[p4-ntt]") && some.contains("[p4-add]") && !some.contains("[p4-intt]"), "{some}");
    // With --force files are replaced, and others in the folder stay.
    bench(&["--force", "--csv", "there", "--plots", "full"]).ok();
    assert!(fs::read_to_string(path("there")).unwrap().starts_with("table,unit,row,"));
    assert_eq!(fs::read(path("full/x")).unwrap(), b"old");
    assert_eq!(names(&path("full")).len(), 17);
}
