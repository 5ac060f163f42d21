#![no_main]
//! `src/library/keys.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::library::TARGETS, "keys"),
    |data: &[u8]| he_fuzz::library::keys::run(data)
);
