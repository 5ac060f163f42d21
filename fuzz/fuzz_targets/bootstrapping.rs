#![no_main]
//! `src/library/bootstrapping.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::library::TARGETS, "bootstrapping"),
    |data: &[u8]| he_fuzz::library::bootstrapping::run(data)
);
