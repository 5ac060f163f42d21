#![no_main]
//! `src/files/table.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::files::TARGETS, "table"),
    |data: &[u8]| he_fuzz::files::table::run(data)
);
