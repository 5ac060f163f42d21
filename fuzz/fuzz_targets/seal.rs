#![no_main]
//! `src/files/seal.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::files::TARGETS, "seal"),
    |data: &[u8]| he_fuzz::files::seal::run(data)
);
