#![no_main]
//! `src/files/model.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::files::TARGETS, "model"),
    |data: &[u8]| he_fuzz::files::model::run(data)
);
