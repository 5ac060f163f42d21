#![no_main]
//! `src/files/archive.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::files::TARGETS, "archive"),
    |data: &[u8]| he_fuzz::files::archive::run(data)
);
