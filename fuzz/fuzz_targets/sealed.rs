#![no_main]
//! `src/files/sealed.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::files::TARGETS, "sealed"),
    |data: &[u8]| he_fuzz::files::sealed::run(data)
);
