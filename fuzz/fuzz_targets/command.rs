#![no_main]
//! `src/files/command.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::files::TARGETS, "command"),
    |data: &[u8]| he_fuzz::files::command::run(data)
);
