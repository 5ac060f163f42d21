#![no_main]
//! `src/library/parties.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::library::TARGETS, "parties"),
    |data: &[u8]| he_fuzz::library::parties::run(data)
);
