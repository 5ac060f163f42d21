//! AES: keys and messages are secret; nonces, tags and ciphertexts are public.

use super::Secret;
use super::valgrind::{public, public_value, secret};
use he::aes::container::UserKey;
use he::aes::{Bulk, BulkCipher, Cpu, Direction, Key, KeySchedule, KeySize, XtsKey};
use he::transcipher::SensorKey;
use rand::Rng;

const SIZES: [KeySize; 3] = [KeySize::Bits128, KeySize::Bits192, KeySize::Bits256];

/// Lengths around the batches of blocks, and whole ones.
const LENGTHS: [usize; 5] = [1, 16, 100, 1024, 5000];

fn message(length: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..length).map(|i| (i * 31 % 251) as u8).collect();
    secret(&mut bytes);
    bytes
}

/// Marks decrypted bytes as public, once they are shown.
fn shown(mut bytes: Vec<u8>) -> Vec<u8> {
    public(&mut bytes);
    bytes
}

#[test]
fn aes_gcm() {
    let mut rng = Secret::new(1);
    for (size, length) in SIZES.into_iter().flat_map(|size| LENGTHS.map(|length| (size, length))) {
        let key = Key::generate(size, &mut rng);
        let mut data = message(length);
        let tag = Cpu::new().gcm_seal(&key, &[1; 12], b"data", Bulk::in_place(&mut data)).unwrap();
        let (tag, sealed) = (public_value(tag), shown(data));
        let mut opened = sealed.clone();
        Cpu::new().gcm_open(&key, &[1; 12], b"data", &tag, Bulk::in_place(&mut opened)).unwrap();
        assert!(shown(opened) == shown(message(length)));
        // A wrong tag.
        let mut wrong = tag;
        wrong[3] ^= 1;
        let mut refused = sealed;
        assert!(Cpu::new().gcm_open(&key, &[1; 12], b"data", &wrong, Bulk::in_place(&mut refused)).is_err());
    }
}

#[test]
fn aes_ctr_ecb_and_xts() {
    let mut rng = Secret::new(2);
    for size in SIZES {
        let (key, length) = (Key::generate(size, &mut rng), 1024);
        let mut data = message(length);
        Cpu::new().hazmat_ctr(&key, &[9; 16], Bulk::in_place(&mut data)).unwrap();
        Cpu::new().hazmat_ctr(&key, &[9; 16], Bulk::in_place(&mut data)).unwrap();
        let directions = [Direction::Encrypt, Direction::Decrypt];
        for direction in directions {
            Cpu::new().hazmat_ecb(&key, direction, Bulk::in_place(&mut data)).unwrap();
        }
        assert!(shown(data) == shown(message(length)));
        let keys = XtsKey::generate(size, &mut rng);
        // Units with and without a last partial block.
        for unit in [512, 500] {
            let mut data = message(2 * unit);
            for direction in directions {
                Cpu::new().xts(&keys, 5, unit, direction, Bulk::in_place(&mut data)).unwrap();
            }
            assert!(shown(data) == shown(message(2 * unit)));
        }
    }
}

#[test]
fn aes_keys() {
    let mut rng = Secret::new(3);
    for size in SIZES {
        let _ = KeySchedule::new(&Key::generate(size, &mut rng));
    }
    let mut bytes = [0; 32];
    rng.fill_bytes(&mut bytes);
    let key = UserKey::new(&bytes);
    let frame = key.to_frame();
    // The fingerprint is public, the body is not.
    let read = UserKey::from_frame(&frame).unwrap();
    assert_eq!(read.id(), key.id());
    for size in SIZES {
        let key = SensorKey::generate(size, &mut rng);
        assert_eq!(SensorKey::from_frame(&key.to_frame()).unwrap().id(), key.id());
    }
}
