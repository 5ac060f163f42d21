//! Transcripts: the computations that parties say that they have done.
//!
//! Must hold: any JSON in a file of a session is refused or is a transcript, and `info` describes
//! exactly those that are.
//!
//! Bytes: the JSON.

use super::world::{ID, file, world};
use he_core::wire::Frame;
use he_files::info::describe;
use he_files::io::input::Input;
use he_files::party::Outline;

pub fn run(data: &[u8]) {
    let w = world();
    let Ok(frame) = Frame::attachment(w.ckks.fingerprint(), data.to_vec()) else { return };
    let bytes = file(&w.ckks, &format!("{{\"key_id\":\"{ID}\"}}"), &[frame]);
    let input = || Input::from_bytes("x", bytes.clone());
    let is_one = Outline::is_of(&mut input()).expect("bytes are read");
    assert_eq!(is_one, !data.is_empty());
    let (read, told) = (Outline::read(input()), describe(input(), None, None));
    assert_eq!(read.is_ok(), told.is_ok());
    if let (Ok(read), Ok(told)) = (read, told) {
        let told = told.json();
        assert_eq!((&told["party"], &told["ciphertexts"]), (&read.party.into(), &read.results.into()));
        assert_eq!(told["program"].as_array().map(Vec::len), Some(read.steps.len()));
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let digest = "0123456789abcdef".repeat(4);
    let step = r#"{"operation":{"name":"mean"},"of":[{"input":0}]}"#;
    [(String::new(), String::new()), (step.to_owned(), format!(r#""key":"{digest}","#))]
        .map(|(steps, key)| {
            let program = format!(r#"{{"steps":[{steps}],{key}"description":"{digest}"}}"#);
            let inputs = format!(r#"[{{"party":1,"digest":"{digest}"}},{{"party":2,"digest":"{digest}"}}]"#);
            format!(
                r#"{{"party":2,"inputs":{inputs},"program":{program},"results":["{digest}"],"tag":"{digest}"}}"#
            )
            .into_bytes()
        })
        .into()
}
