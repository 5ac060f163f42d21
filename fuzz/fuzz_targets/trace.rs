#![no_main]
//! `src/files/trace.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::files::TARGETS, "trace"),
    |data: &[u8]| he_fuzz::files::trace::run(data)
);
