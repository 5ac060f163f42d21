#![no_main]
//! `src/library/exact_integers.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::library::TARGETS, "exact_integers"),
    |data: &[u8]| he_fuzz::library::exact_integers::run(data)
);
