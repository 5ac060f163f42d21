#![no_main]
//! `src/library/bigckks.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::library::TARGETS, "bigckks"),
    |data: &[u8]| he_fuzz::library::bigckks::run(data)
);
