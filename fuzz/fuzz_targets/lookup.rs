#![no_main]
//! `src/files/lookup.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::files::TARGETS, "lookup"),
    |data: &[u8]| he_fuzz::files::lookup::run(data)
);
