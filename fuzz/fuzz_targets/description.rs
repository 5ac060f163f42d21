#![no_main]
//! `src/files/description.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::files::TARGETS, "description"),
    |data: &[u8]| he_fuzz::files::description::run(data)
);
