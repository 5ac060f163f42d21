#![no_main]
//! `src/library/tfhe.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::library::TARGETS, "tfhe"),
    |data: &[u8]| he_fuzz::library::tfhe::run(data)
);
