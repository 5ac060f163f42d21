#![no_main]
//! `src/library/ckks_embedding.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::library::TARGETS, "ckks_embedding"),
    |data: &[u8]| he_fuzz::library::ckks_embedding::run(data)
);
