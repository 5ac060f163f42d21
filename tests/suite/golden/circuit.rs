//! Kinds 42 and 43: keys of circuit bootstrapping, and AES keys under TFHE.

use super::*;
use he::aes::{Key, KeySchedule, KeySize};
use he::tfhe::{CircuitKey, SeededLwe, UnpaddedBits};
use he::transcipher::EncryptedAesKey;

fn resized(frame: &Frame, length: usize) -> Frame {
    let mut body = frame.body.to_vec();
    body.resize(length, 0);
    Frame { kind: frame.kind, fingerprint: frame.fingerprint, body }
}

#[test]
fn golden_keys_of_circuit_bootstrapping_read_back() {
    let params = generator::tfhe_params().unwrap();
    let frame = &frames("tfhe_circuit_key.he")[1];
    let key = CircuitKey::from_frame(&params, (), frame).unwrap();
    assert_eq!(key.params(), &generator::circuit_params().unwrap());
    assert_eq!(key.to_frame(&params).unwrap().body, frame.body);
    assert!(frame.body.len() as u64 <= params.key_frame_limit(frame.kind));

    let read = |frame: &Frame| CircuitKey::from_frame(&params, (), frame).map(drop);
    for length in [0, 3, 4, 35, 36, frame.body.len() - 1, frame.body.len() + 1, 2 * frame.body.len()] {
        assert!(read(&resized(frame, length)).is_err(), "{length}");
    }
    // Decompositions of no bits, of no digits, and of more than the words have.
    for (at, byte) in [(0, 0), (1, 0), (2, 0), (3, 0), (0, 60), (1, 255), (2, 255), (3, 17)] {
        let mut damaged = resized(frame, frame.body.len());
        damaged.body[at] = byte;
        assert!(read(&damaged).is_err(), "byte {at} is {byte}");
    }
    assert!(read(&frames("tfhe_bootstrap_key.he")[1]).is_err());
}

#[test]
fn golden_aes_keys_read_back() {
    let params = generator::tfhe_params().unwrap();
    let secret = TfheSecretKey::from_frame(&params, (), &frames("tfhe_secret_key.he")[1]).unwrap();
    let frame = &frames("tfhe_encrypted_aes_key.he")[1];
    let key = EncryptedAesKey::from_frame(&params, (), frame).unwrap();
    assert_eq!((key.size(), key.params()), (KeySize::Bits128, &params));
    assert_eq!(key.to_frame(&params).unwrap().body, frame.body);
    assert!(frame.body.len() as u64 <= params.key_frame_limit(frame.kind));

    // The bits are those of the round keys.
    let bits: UnpaddedBits =
        UnpaddedBits::from_ciphertexts(SeededLwe::expand(key.ciphertexts(), &Cpu::new()).unwrap());
    let bits = secret.decrypt_unpadded(&bits).unwrap();
    let schedule = KeySchedule::new(&Key::from_slice(&generator::AES_KEY).unwrap());
    let expected = schedule.expose_round_keys().as_flattened();
    let bit = |at: usize| expected[at / 8] >> (at % 8) & 1 == 1;
    assert_eq!(bits, (0..8 * expected.len()).map(bit).collect::<Vec<_>>());

    let read = |frame: &Frame| EncryptedAesKey::from_frame(&params, (), frame).map(drop);
    for length in [0, 1, 32, 33, frame.body.len() - 8, frame.body.len() - 1, frame.body.len() + 8] {
        assert!(read(&resized(frame, length)).is_err(), "{length}");
    }
    for size in [0, 15, 24, 32, 255] {
        let mut damaged = resized(frame, frame.body.len());
        damaged.body[0] = size;
        assert!(read(&damaged).is_err(), "a key of {size} bytes");
    }
    assert!(read(&frames("tfhe_circuit_key.he")[1]).is_err());
}
