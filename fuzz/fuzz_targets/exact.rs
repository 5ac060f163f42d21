#![no_main]
//! `src/library/exact.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::library::TARGETS, "exact"),
    |data: &[u8]| he_fuzz::library::exact::run(data)
);
