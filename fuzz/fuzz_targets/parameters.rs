#![no_main]
//! `src/library/parameters.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::library::TARGETS, "parameters"),
    |data: &[u8]| he_fuzz::library::parameters::run(data)
);
