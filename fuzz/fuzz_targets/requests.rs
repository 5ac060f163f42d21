#![no_main]
//! `src/service/requests.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::service::TARGETS, "requests"),
    |data: &[u8]| he_fuzz::service::requests::run(data)
);
