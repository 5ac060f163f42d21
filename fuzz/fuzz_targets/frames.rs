#![no_main]
//! `src/library/frames.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::library::TARGETS, "frames"),
    |data: &[u8]| he_fuzz::library::frames::run(data)
);
