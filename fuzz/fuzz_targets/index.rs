#![no_main]
//! `src/files/index.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::files::TARGETS, "index"),
    |data: &[u8]| he_fuzz::files::index::run(data)
);
