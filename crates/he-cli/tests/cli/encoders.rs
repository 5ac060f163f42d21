//! Encoders of sentences: compiled, and run on encrypted sentences by the commands of other models.

use crate::pictures::noise;
use crate::process::{folder, he};
use he_core::bootstrapping::presets::Preset;
use he_core::bootstrapping::{BootstrapParams, BootstrapSpec};
use he_nn::encoder::Encoder;
use he_nn::{AnyModel, Graph, Parameters};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A file of an encoder of six tokens, or of what onnxruntime computes with it.
fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../he-nn/tests/data/encoders").join(name)
}

fn rows(path: &Path) -> Vec<Vec<f64>> {
    let text = fs::read_to_string(path).unwrap();
    let numbers = text.lines().filter(|line| !line.contains("output"));
    numbers.map(|row| row.split(',').map(|x| x.parse().unwrap()).collect()).collect()
}

fn write(path: &Path, rows: &[Vec<f64>]) {
    let row = |row: &Vec<f64>| row.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
    fs::write(path, rows.iter().map(row).collect::<Vec<_>>().join("\n") + "\n").unwrap();
}

/// The sentences of the data, and others of random words and lengths.
fn sentences() -> Vec<Vec<f64>> {
    let mut next = noise(5);
    let mut below = |count: usize| (next() as usize % count) as f64;
    let random = (0..200).map(|_| {
        let words = (0..6).map(|_| below(11)).collect::<Vec<_>>();
        let types = (0..6).map(|_| below(2)).collect::<Vec<_>>();
        let length = 1.0 + below(6);
        let mask = (0..6).map(|at| f64::from(u8::from(f64::from(at) < length))).collect();
        [words, types, mask].concat()
    });
    let random: Vec<_> = random.collect();
    rows(&data("inputs.csv")).into_iter().chain(random).collect()
}

/// A plan at insecure parameters.
fn write_plan(path: &Path, sentences: &[Vec<f64>]) {
    let toy = BootstrapSpec { log_n: 10, log_slots: 9, ..Preset::Fast.spec() };
    let parameters = Parameters::Refreshed(BootstrapParams::insecure(toy).unwrap());
    let graph = Graph::from_onnx(&fs::read(data("optimum.onnx")).unwrap()).unwrap();
    let plan = Encoder::calibrate(graph, sentences).unwrap().plan(parameters).unwrap();
    fs::write(path, AnyModel::from(plan).to_bytes().unwrap()).unwrap();
}

fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

/// Two sentences through four commands are near what onnxruntime computes; wrong inputs are refused
/// before anything is computed, each with what to do.
#[test]
fn sentences_become_embeddings_without_being_seen() {
    let dir = folder();
    let path = |name: &str| dir.path().join(name);
    let at = |args: &[&str]| he(args.iter().copied()).at(dir.path());
    let known = rows(&data("inputs.csv"));
    write_plan(&path("encoder.plan"), &sentences());
    write_plan(&path("other.plan"), &sentences()[..100]);
    write(&path("x.csv"), &known[..2]);
    at(&["keygen", "encoder.plan", "-o", "keys"]).ok();
    fn encrypt<'a>(input: &'a str, output: &'a str) -> [&'a str; 9] {
        let key = "keys/public.key";
        ["encrypt", input, "--no-header", "--model", "encoder.plan", "-k", key, "-o", output]
    }
    at(&encrypt("x.csv", "x.he")).ok();
    let info: Value = serde_json::from_slice(&at(&["info", "x.he", "--json"]).ok()).unwrap();
    assert_eq!((&info["examples"], &info["masks"]), (&2.into(), &serde_json::json!(["111111", "100000"])));
    let infer = ["infer", "x.he", "--model", "encoder.plan", "-k", "keys/eval.key", "-o", "y.he"];
    at(&infer).ok();
    at(&["decrypt", "y.he", "-k", "keys/secret.key", "-o", "y.csv"]).ok();
    let found = rows(&path("y.csv"));
    assert_eq!(found.len(), 2);
    for (found, exact) in found.iter().zip(rows(&data("outputs.csv"))) {
        let length = found.iter().map(|x| x * x).sum::<f64>();
        assert!((length - 1.0).abs() < 1e-9 && cosine(found, &exact) > 0.99, "{found:?} for {exact:?}");
    }

    for (change, what) in [
        (&(|row: &mut Vec<f64>| row.push(1.0)) as &dyn Fn(&mut Vec<f64>), "(6 ids below 11), then"),
        (&|row| row[3] = 11.0, "integers below 11"),
        (&|row| row[13] = 0.5, "integers below 2"),
        (&|row| row[12..].fill(0.0), "keeps no token"),
    ] {
        let mut row = known[0].clone();
        change(&mut row);
        write(&path("wrong.csv"), &[row]);
        let told = at(&encrypt("wrong.csv", "no.he")).run();
        assert!(told.code == Some(1) && told.stderr.contains(what), "{}", told.stderr);
        assert_eq!(told.stderr.lines().filter(|line| line.contains("error: ")).count(), 1);
    }
    for (args, what) in [
        (&["infer", "x.he", "--model", "other.plan", "-k", "keys/eval.key", "-o", "no.he"][..], "other.plan"),
        (&[&infer[..7], &["no.he", "--record", "no.trace"]].concat(), "not recorded"),
        (&["decrypt", "x.he", "-k", "keys/secret.key", "-o", "no.csv"], "holds the inputs of a model"),
    ] {
        let said = at(args).refuses();
        assert!(said.contains(what), "{args:?}: {said}");
    }
}

/// The costs of an encoder are known before any key is made.
#[test]
fn encoders_are_compiled() {
    let dir = folder();
    let at = |args: &[&str]| he(args.iter().copied()).at(dir.path());
    write(&dir.path().join("sentences.csv"), &sentences());
    let model = data("torch.onnx").display().to_string();
    let rest = ["--calibrate", "sentences.csv", "--no-header", "-o", "encoder.plan"];
    let compile = [&["compile", &model], &rest[..]].concat();
    let told = at(&compile).run();
    assert!(
        told.code == Some(1) && told.stderr.contains("--dimension sequence_length=SIZE"),
        "{}",
        told.stderr
    );
    let compile = [&compile[..], &["--dimension", "sequence_length=6"]].concat();
    let said = at(&[&compile[..], &["--bits", "12"]].concat()).refuses();
    assert!(said.contains("encoder of sentences"), "{said}");
    let told: Value = serde_json::from_slice(&at(&[&compile[..], &["--json"]].concat()).ok()).unwrap();
    assert_eq!((&told["decision"], &told["degree"]), (&"unit-length".into(), &65536.into()));
    assert!(told["refreshes"].as_u64().unwrap() > 0 && told["key_bytes"].as_u64().unwrap() > 0);
    assert!(told["layers"].as_array().unwrap().iter().any(|layer| layer["what"] == "MatMul: softmax"));
}
