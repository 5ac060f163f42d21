#![no_main]
//! `src/library/byte_strings.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::library::TARGETS, "byte_strings"),
    |data: &[u8]| he_fuzz::library::byte_strings::run(data)
);
