#![no_main]
//! `src/library/tfhe_integers.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::library::TARGETS, "tfhe_integers"),
    |data: &[u8]| he_fuzz::library::tfhe_integers::run(data)
);
