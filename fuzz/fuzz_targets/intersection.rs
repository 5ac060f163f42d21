#![no_main]
//! `src/files/intersection.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::files::TARGETS, "intersection"),
    |data: &[u8]| he_fuzz::files::intersection::run(data)
);
