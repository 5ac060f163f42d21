#![no_main]
//! `src/files/sensor.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::files::TARGETS, "sensor"),
    |data: &[u8]| he_fuzz::files::sensor::run(data)
);
