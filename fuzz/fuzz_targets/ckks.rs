#![no_main]
//! `src/library/ckks.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::library::TARGETS, "ckks"),
    |data: &[u8]| he_fuzz::library::ckks::run(data)
);
