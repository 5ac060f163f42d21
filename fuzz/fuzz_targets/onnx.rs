#![no_main]
//! `src/files/onnx.rs` says what must hold.

libfuzzer_sys::fuzz_target!(
    init: he_fuzz::begin(he_fuzz::files::TARGETS, "onnx"),
    |data: &[u8]| he_fuzz::files::onnx::run(data)
);
