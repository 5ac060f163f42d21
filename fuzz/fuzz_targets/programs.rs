#![no_main]
//! `src/library/programs.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::library::TARGETS, "programs"),
    |data: &[u8]| he_fuzz::library::programs::run(data)
);
