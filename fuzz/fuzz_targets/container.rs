#![no_main]
//! `src/library/container.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::library::TARGETS, "container"),
    |data: &[u8]| he_fuzz::library::container::run(data)
);
