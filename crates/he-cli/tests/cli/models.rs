//! Models: compiled, with keys, on encrypted examples; and what is refused.

use crate::process::{folder, he};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A file of the models that are committed.
fn model(name: &str) -> String {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../models").join(name).display().to_string()
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

fn numbers(text: &str) -> Vec<Vec<f64>> {
    let rows = text.lines().filter(|line| !line.contains('_'));
    rows.map(|row| row.split(',').map(|x| x.parse().unwrap()).collect()).collect()
}

/// The first rows of a table, with its header.
fn head(name: &str, rows: usize, to: &Path) {
    let text = fs::read_to_string(model(name)).unwrap();
    let lines: Vec<&str> = text.lines().take(rows + 1).collect();
    fs::write(to, lines.join("\n") + "\n").unwrap();
}

#[test]
fn a_table_is_decided_without_being_seen() {
    let dir = folder();
    let at = |args: &[&str]| he(args.iter().copied()).at(dir.path());
    let (wine, train) = (model("wine.onnx"), model("wine_train.csv"));
    let compile = ["compile", &wine, "--calibrate", &train, "-o", "wine.plan"];
    let told = json(&at(&[&compile[..], &["--json"]].concat()).ok());
    assert_eq!((&told["command"], &told["refreshes"]), (&"compile".into(), &0.into()));
    assert_eq!(told["layers"].as_array().unwrap().len(), 3);
    for field in ["estimated_seconds", "memory_bytes", "key_bytes", "levels"] {
        assert!(told[field].as_f64().unwrap() > 0.0, "{field}");
    }
    // What is there is not replaced.
    at(&compile).refuses();

    at(&["keygen", "wine.plan", "-o", "keys"]).ok();
    head("wine_test.csv", 8, &dir.path().join("x.csv"));
    for (key, encrypted) in [("keys/public.key", "x.he"), ("keys/secret.key", "s.he")] {
        at(&["encrypt", "x.csv", "--model", "wine.plan", "-k", key, "-o", encrypted]).ok();
    }
    // The server has no secret.
    fs::rename(dir.path().join("keys/secret.key"), dir.path().join("secret.key")).unwrap();
    for (encrypted, outputs) in [("x.he", "y.he"), ("s.he", "z.he")] {
        at(&["infer", encrypted, "--model", "wine.plan", "-k", "keys/eval.key", "-o", outputs]).ok();
        at(&["decrypt", outputs, "-k", "secret.key", "-o", "y.csv", "--force"]).ok();
        let found = numbers(&fs::read_to_string(dir.path().join("y.csv")).unwrap());
        let expected = numbers(&fs::read_to_string(model("wine_outputs.csv")).unwrap());
        assert_eq!((found.len(), found[0].len()), (8, 3));
        for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
            assert!((found - expected).abs() < 0.05, "{found} for {expected}");
        }
    }
    let info = json(&at(&["info", "y.he", "--json"]).ok());
    assert_eq!((&info["examples"], &info["decision"]), (&8.into(), &"none".into()));
    assert_eq!(info["history"], serde_json::json!(["infer"]));

    // Wrong inputs, each with what to do.
    for (args, what) in [
        (
            &["infer", "y.he", "--model", "wine.plan", "-k", "keys/eval.key", "-o", "no.he"][..],
            "encrypted outputs",
        ),
        (&["decrypt", "x.he", "-k", "secret.key", "-o", "no.csv"], "holds the inputs of a model"),
        (
            &["infer", "x.he", "--model", "x.csv", "-k", "keys/eval.key", "-o", "no.he"],
            "not a compiled model",
        ),
        (
            &["infer", "x.he", "--model", "wine.plan", "-k", "keys/public.key", "-o", "no.he"],
            "evaluation key",
        ),
        (
            &["encrypt", "y.csv", "--model", "wine.plan", "-k", "keys/public.key", "-o", "no.he"],
            "takes 13 numbers",
        ),
        (
            &["encrypt", "keys", "--model", "wine.plan", "-k", "keys/public.key", "-o", "no.he"],
            "not pictures",
        ),
        (&["eval", "add", "x.he", "--with", "x.he", "-k", "keys/eval.key", "-o", "no.he"], "x.he"),
        (&["compile", "x.csv", "--calibrate", "x.csv", "-o", "no.plan"], "not an ONNX model"),
    ] {
        let said = at(args).refuses();
        assert!(said.contains(what), "{args:?}: {said}");
    }
    let mut far = fs::read_to_string(dir.path().join("x.csv")).unwrap();
    far.push_str(&["1e5"; 13].join(","));
    fs::write(dir.path().join("far.csv"), far).unwrap();
    let said =
        at(&["encrypt", "far.csv", "--model", "wine.plan", "-k", "keys/public.key", "-o", "no.he"]).refuses();
    assert!(said.contains("row 9") && said.contains("Tanh") && said.contains("calibration"), "{said}");

    // Keys and files of another model.
    let other = ["compile", &wine, "--calibrate", &train, "--bits", "12", "-o", "other.plan"];
    at(&other).ok();
    at(&["keygen", "other.plan", "-o", "others"]).ok();
    for args in [
        &["infer", "x.he", "--model", "other.plan", "-k", "others/eval.key", "-o", "no.he"][..],
        &["infer", "x.he", "--model", "wine.plan", "-k", "others/eval.key", "-o", "no.he"],
    ] {
        at(args).refuses();
    }
    // Damage anywhere is seen, and nothing is left behind.
    let mut plan = fs::read(dir.path().join("wine.plan")).unwrap();
    for place in [3, 9, 20, 60, plan.len() - 1] {
        plan[place] ^= 1;
        fs::write(dir.path().join("bad.plan"), &plan).unwrap();
        at(&["keygen", "bad.plan", "-o", "no"]).refuses();
        plan[place] ^= 1;
    }
    assert!(!["no.he", "no.csv", "no.plan", "no"].iter().any(|name| dir.path().join(name).exists()));
}
