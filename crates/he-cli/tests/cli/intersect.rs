//! `intersect`: two sets and their common items, through files; and what is refused.

use crate::process::{Call, folder, he};
use std::fs;
use std::path::Path;

/// A step of an intersection in a folder.
fn step<'a>(dir: &Path, words: impl IntoIterator<Item = &'a str>) -> Call {
    he(std::iter::once("intersect").chain(words)).at(dir)
}

/// The message about a step that fails with this exit code.
fn fails(call: Call, code: i32) -> String {
    let outcome = call.run();
    assert_eq!((outcome.code, &outcome.stdout[..]), (Some(code), &b""[..]), "{}", outcome.stderr);
    outcome.stderr
}

#[test]
fn common_items_are_found_with_their_labels() {
    let dir = folder();
    let dir = dir.path();
    fs::write(dir.join("users"), "ann\tparis\nbob\tcairo\ncho\tseoul\n").unwrap();
    fs::write(dir.join("friends"), "cho\ndan\nann\n").unwrap();
    let labels = ["--label-bytes", "6", "--client-items", "5"];
    step(dir, ["prepare", "set", "users"].into_iter().chain(labels)).ok();
    step(dir, ["request", "set", "friends", "-s", "state", "-o", "request"]).ok();
    step(dir, ["respond", "set", "request", "-o", "response"]).ok();
    step(dir, ["query", "set/plan.psi", "response", "-s", "state", "-o", "query"]).ok();
    step(dir, ["answer", "set", "query", "-o", "answer"]).ok();
    let read = ["read", "set", "response", "answer", "-s", "state", "-o", "-"];
    assert_eq!(step(dir, read).text(), "cho\tseoul\nann\tparis\n");

    step(dir, ["prepare", "other", "friends", "--client-items", "5"]).ok();
    assert!(fails(step(dir, ["respond", "other", "request", "-o", "b"]), 1).contains("belongs to plan"));
    step(dir, ["prepare", "again", "users"].into_iter().chain(labels)).ok();
    assert!(fails(step(dir, ["answer", "again", "query", "-o", "b"]), 1).contains("server key"));
    assert!(fails(step(dir, ["answer", ".", "query", "-o", "b"]), 1).contains("he-cli intersect prepare"));
    let bare = ["prepare", "bare", "friends", "--client-items", "5", "--label-bytes", "6"];
    assert!(fails(step(dir, bare), 1).contains("line 1"));
    assert!(!dir.join("bare").exists());
    let kept = ["request", "set", "friends", "-s", "state", "-o", "b"];
    assert!(fails(step(dir, kept), 1).contains("state"), "a state is never replaced");
    let mut bytes = fs::read(dir.join("answer")).unwrap();
    bytes[100] ^= 1;
    fs::write(dir.join("answer"), bytes).unwrap();
    assert!(fails(step(dir, read), 1).contains("checksum"));
}

/// Sizes of a million items, before anything is prepared.
#[test]
fn plans_are_explained() {
    let dir = folder();
    let explain = ["prepare", "--explain", "--items", "1000000", "--client-items", "1000", "--json"];
    let facts = step(dir.path(), explain).text();
    let facts: serde_json::Value = serde_json::from_str(&facts).unwrap();
    assert!(facts["answer_bytes"].as_u64().unwrap() > 0, "{facts}");
    assert!(facts["false_positive_log2"].as_f64().unwrap() <= -40.0);
}
