//! Files of SEAL.
//!
//! Must hold: bytes are refused, or are parameters with a ring that are written and read again, or
//! keys, or a ciphertext that is read again from the file that is written of it.

use he::Device;
use he_any::Engine;
use he_files::seal::{
    read_ciphertext, read_galois_keys, read_params, read_public_key, read_relin_key, slot_order,
    write_ciphertext, write_params,
};
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
        let written = write_params(&params).expect("what was read is written");
        let again = read_params(&written, None, true).expect("what was written is read");
        assert_eq!(again.rlwe(), params.rlwe());
    }
    for engine in engines() {
        let engine = engine.rlwe().expect("a scheme over rings");
        if let Ok(key) = read_public_key(engine, data) {
            assert!(key.seed().is_none() && key.key_set().is_none());
        }
        if let Ok(keys) = read_relin_key(engine, data) {
            assert!(keys.relin().is_ok());
        }
        let _ = read_galois_keys(engine, data);
        let Ok(ct) = read_ciphertext(engine, data) else { continue };
        let written = write_ciphertext(engine, &ct).expect("what was read is written");
        let again = read_ciphertext(engine, &written).expect("what was written is read");
        assert_eq!(write_ciphertext(engine, &again).expect("the same"), written);
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let files: [&[u8]; 12] = [
        file!("ckks_parameters"),
        file!("ckks_parameters_zlib"),
        file!("ckks_parameters_zstd"),
        file!("bfv_parameters"),
        file!("ckks_ciphertext_lower"),
        file!("ckks_ciphertext_zlib"),
        file!("ckks_ciphertext_seeded"),
        file!("bfv_ciphertext_zstd"),
        file!("ckks_public_key_seeded"),
        file!("bfv_public_key"),
        file!("bfv_relin_keys"),
        file!("bfv_galois_keys"),
    ];
    files.map(<[u8]>::to_vec).to_vec()
}
