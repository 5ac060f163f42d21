//! Measurements without a harness, which check the answers themselves.
#![allow(missing_docs, clippy::unwrap_used)]

use std::process::Command;

/// The output of a measurement at a degree without security, or its error.
fn measured(workload: &str, size: &str, degree: &str) -> Result<String, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_he-suite"));
    command
        .args([workload, "measure", size, &format!("--insecure-log-n={degree}")])
        .env("HE_SUITE_DEVICE", "cpu");
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

#[test]
fn images_in_memory_are_measured() {
    let text = measured("ml-inference", "130", "8").unwrap();
    assert!(text.contains("of 130 labels are those of the network on plain pixels"), "{text}");
    for step in ["loading, ms: ", "inference, ms: ", "layer 1 on level 3, ms: ", "outputs, ms: "] {
        assert!(text.contains(step), "{step} is missing in {text}");
    }
    assert!(measured("ml-inference", "0", "8").unwrap_err().contains("0 where 1 to 100000 are needed"));
}

#[test]
fn a_database_in_memory_is_measured() {
    let text = measured("fetch-by-similarity", "0", "10").unwrap();
    assert!(text.contains("1000 records") && text.contains(" matches, 0 undecided slots"), "{text}");
    assert!(text.contains("expansion of the query, ms: "), "{text}");
}
