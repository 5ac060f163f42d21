#![no_main]
//! `src/library/base_conversion.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::library::TARGETS, "base_conversion"),
    |data: &[u8]| he_fuzz::library::base_conversion::run(data)
);
