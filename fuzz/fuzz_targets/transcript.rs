#![no_main]
//! `src/files/transcript.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::files::TARGETS, "transcript"),
    |data: &[u8]| he_fuzz::files::transcript::run(data)
);
