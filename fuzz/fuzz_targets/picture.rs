#![no_main]
//! `src/files/picture.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::files::TARGETS, "picture"),
    |data: &[u8]| he_fuzz::files::picture::run(data)
);
