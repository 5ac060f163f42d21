#![no_main]
//! `src/library/aes_modes.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::library::TARGETS, "aes_modes"),
    |data: &[u8]| he_fuzz::library::aes_modes::run(data)
);
