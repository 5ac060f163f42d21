//! `demo --digits`: a model on handwritten digits that stay encrypted, from keys to answers.

use super::{decrypt, demo, model};
use crate::args::{Cli, Command, Demo};
use crate::console;
use crate::error::{CliError, IoContext, Result};
use he_files::io::output::{Output, OutputOptions, create_dir};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

/// LeNet-5 with squares (models/lenet5.py).
const MODEL: &[u8] = include_bytes!("../../models/lenet5_square.onnx");
/// Digits of MNIST: a byte for the label and one for each pixel. The first are for calibration,
/// from the training set; the others are from the test set.
const DIGITS: &[u8] = include_bytes!("../../models/digits.bin");
/// The bytes of a record.
const RECORD: usize = 785;
/// The records for calibration.
const CALIBRATION: usize = 60;

/// Writes a file of the demo.
fn write(path: &Path, bytes: &[u8], force: bool) -> Result<()> {
    let options = OutputOptions { force, ..OutputOptions::default() };
    let mut output = Output::create(path, options, &[])?;
    output.write_all(bytes).writing(output.name())?;
    Ok(output.commit()?)
}

/// Records as rows of a table.
fn csv(records: &[&[u8]]) -> String {
    let mut text = String::new();
    for record in records {
        let values: Vec<String> =
            record[1..].iter().map(|&x| format!("{:.6}", f64::from(x) / 255.0)).collect();
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}", values.join(","));
    }
    text
}

pub(super) fn run(args: &Demo) -> Result<()> {
    let folder = create_dir(&args.output)?;
    let path = |name: &str| folder.path().join(name);
    let force = args.force || path(demo::REPORT).exists();
    let records: Vec<&[u8]> = DIGITS.chunks_exact(RECORD).collect();
    let (calibration, test) = records.split_at(CALIBRATION.min(records.len()));
    write(&path("lenet5.onnx"), MODEL, force)?;
    write(&path("sample.csv"), csv(calibration).as_bytes(), force)?;
    write(&path("digits.csv"), csv(test).as_bytes(), force)?;
    let device = args.device.choice()?.to_string();
    // The commands as a person would type them.
    let steps: [&[&str]; 5] = [
        &["compile", "lenet5.onnx", "--calibrate", "sample.csv", "-o", "lenet5.plan"],
        &["keygen", "lenet5.plan", "-o", "keys"],
        &["encrypt", "digits.csv", "--model", "lenet5.plan", "-k", "keys/public.key", "-o", "digits.he"],
        &["infer", "digits.he", "--model", "lenet5.plan", "-k", "keys/eval.key", "-o", "outputs.he"],
        &["decrypt", "outputs.he", "-k", "keys/secret.key", "-o", "outputs.csv"],
    ];
    let files = [
        "lenet5.onnx",
        "sample.csv",
        "digits.csv",
        "lenet5.plan",
        "keys",
        "keys/public.key",
        "digits.he",
        "keys/eval.key",
        "outputs.he",
        "keys/secret.key",
        "outputs.csv",
    ];
    for step in steps {
        console::line(&format!("$ he-cli {}", step.join(" ")));
        let word = |word: &&str| match files.contains(word) {
            true => path(word).into_os_string(),
            false => OsString::from(word),
        };
        let mut words: Vec<OsString> = vec!["he-cli".into()];
        words.extend(step.iter().map(word));
        words.extend(["--device".into(), device.clone().into()]);
        words.extend(force.then(|| "--force".into()));
        let parsed = Cli::understand(words).map_err(|error| CliError::new(error.to_string()))?;
        let summary = match &parsed.command {
            Command::Compile(args) => model::compile(args)?,
            Command::Keygen(args) => super::keygen::run(args)?,
            Command::Encrypt(args) => super::encrypt::run(args)?,
            Command::Infer(args) => model::infer(args)?,
            Command::Decrypt(args) => decrypt::run(args)?,
            _ => continue,
        };
        summary.show();
    }
    let outputs = std::fs::read_to_string(path("outputs.csv")).at(path("outputs.csv"))?;
    let answers: Vec<usize> = outputs.lines().skip(1).map(answer).collect();
    let labels: Vec<usize> = test.iter().map(|record| usize::from(record[0])).collect();
    let right = answers.iter().zip(&labels).filter(|(answer, label)| answer == label).count();
    let report = serde_json::json!({
        "command": "demo",
        "answers": answers,
        "labels": labels,
        "right": right,
        "seconds": console::elapsed().as_secs_f64(),
    });
    write(&path(demo::REPORT), format!("{report}\n").as_bytes(), force)?;
    folder.keep();
    let mut out = std::io::stdout().lock();
    let list = |digits: &[usize]| digits.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
    let told = match console::is_json() {
        true => writeln!(out, "{report}"),
        false => writeln!(
            out,
            "digits  {}\nread as {}\n{right} of {} read under encryption as they are labelled",
            list(&labels),
            list(&answers),
            labels.len()
        ),
    };
    told.writing("standard output")
}

/// The place of the greatest number of a row.
fn answer(row: &str) -> usize {
    let values: Vec<f64> = row.split(',').map(|field| field.parse().unwrap_or(f64::NAN)).collect();
    he_nn::graph::argmax(&values)
}
