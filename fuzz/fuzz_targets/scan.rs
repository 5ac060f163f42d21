#![no_main]
//! `src/files/scan.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::files::TARGETS, "scan"),
    |data: &[u8]| he_fuzz::files::scan::run(data)
);
