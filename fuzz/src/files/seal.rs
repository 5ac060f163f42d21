//! Files of SEAL.
//!
//! Must hold: bytes are refused, or are parameters with a ring, or a ciphertext that is read again
//! from the file that is written of it.

use he::Device;
use he_any::Engine;
use he_files::seal::{read_ciphertext, read_params, slot_order, write_ciphertext};
use std::sync::OnceLock;

macro_rules! file {
    ($name:literal) => {
        include_bytes!(concat!("../../../tests/data/seal/", $name, ".seal"))
    };
}

/// The parameters of the ciphertexts among the seeds: of CKKS and of BFV.
fn engines() -> &'static [Engine; 2] {
    static ENGINES: OnceLock<[Engine; 2]> = OnceLock::new();
    let made = |bytes: &[u8]| {
        let params = read_params(bytes, None, true).expect("a seed");
        Engine::new(&params, Device::cpu()).expect("a small ring")
    };
    ENGINES.get_or_init(|| [made(file!("ckks_parameters")), made(file!("bfv_parameters"))])
}

pub fn run(data: &[u8]) {
    if let Ok(params) = read_params(data, None, true) {
        let slots = slot_order(&params);
        assert!(slots.iter().all(|&slot| slot < slots.len()), "a place beyond the slots");
    }
    for engine in engines() {
        let engine = engine.rlwe().expect("a scheme over rings");
        let Ok(ct) = read_ciphertext(engine, data) else { continue };
        let written = write_ciphertext(engine, &ct).expect("what was read is written");
        let again = read_ciphertext(engine, &written).expect("what was written is read");
        assert_eq!(write_ciphertext(engine, &again).expect("the same"), written);
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let files: [&[u8]; 8] = [
        file!("ckks_parameters"),
        file!("ckks_parameters_zlib"),
        file!("ckks_parameters_zstd"),
        file!("bfv_parameters"),
        file!("ckks_ciphertext_lower"),
        file!("ckks_ciphertext_zlib"),
        file!("ckks_ciphertext_seeded"),
        file!("bfv_ciphertext_zstd"),
    ];
    files.map(<[u8]>::to_vec).to_vec()
}
