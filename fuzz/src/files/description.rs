//! The descriptions in files: the JSON behind the parameters.
//!
//! Must hold: any text is refused or describes something; `info` says what, in text and as JSON,
//! without a panic. A description that is read is written and read as the same.
//!
//! Bytes: the scheme modulo 4 (CKKS, BFV, bigckks, TFHE), then the text.

use super::world::{descriptions, file, world};
use he_files::info::describe;
use he_files::io::input::Input;
use he_files::note::Payload;
use he_files::tfhe::note::ColumnsNote;

pub fn run(data: &[u8]) {
    let Some((&scheme, text)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let w = world();
    let bytes = match scheme % 4 {
        0 => file(&w.ckks, text, &[]),
        1 => file(&w.bfv, text, &[]),
        2 => file(&w.bigckks, text, &[]),
        _ => file(&w.tfhe, text, &[]),
    };
    if let Ok(description) = describe(Input::from_bytes("x", bytes), None, None) {
        assert!(description.json().is_object());
    }
    again::<Payload>(text);
    again::<Payload<ColumnsNote>>(text);
}

/// Written, read and written again, it is the same text.
fn again<T: serde::Serialize + serde::de::DeserializeOwned>(text: &str) {
    let Ok(read) = serde_json::from_str::<T>(text) else { return };
    let written = serde_json::to_string(&read).expect("what was read is written");
    // Numbers that are none have no text, and what holds them is refused when it is checked.
    if written.contains("null,\"") || written.contains("null}") {
        return;
    }
    let back: T = serde_json::from_str(&written).expect("what was written is read");
    assert_eq!(serde_json::to_string(&back).expect("text"), written);
}

pub fn seeds() -> Vec<Vec<u8>> {
    let with = |(scheme, text): (u8, String)| [&[scheme][..], text.as_bytes()].concat();
    descriptions().into_iter().map(with).collect()
}
