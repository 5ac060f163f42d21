#![no_main]
//! `src/files/arguments.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::files::TARGETS, "arguments"),
    |data: &[u8]| he_fuzz::files::arguments::run(data)
);
