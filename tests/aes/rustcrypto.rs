//! Compares with RustCrypto's modes, of which [`Cpu`] shares only the block cipher and GHASH.

use super::{made, seed};
use aes::cipher::{KeyInit, KeyIvInit, StreamCipher};
use aes::{Aes128, Aes256};
use aes_gcm::{AeadInOut, Aes256Gcm};
use he::aes::{BulkCipher, Cpu, Direction, Key, KeySize, XtsKey};
use rand::{Rng, RngExt, SeedableRng, rngs::ChaCha20Rng};
use xts_mode::{Xts128, get_tweak_default};

fn data(len: usize, rng: &mut ChaCha20Rng) -> Vec<u8> {
    let mut data = vec![0; len];
    rng.fill_bytes(&mut data);
    data
}

const LENGTHS: [usize; 6] = [17, 31, 100, 4097, 100_001, 3_000_003];

#[test]
fn ctr() {
    let mut rng = ChaCha20Rng::seed_from_u64(seed());
    for len in LENGTHS {
        let (key, counter): (_, [u8; 16]) = (Key::generate(KeySize::Bits128, &mut rng), rng.random());
        let mut data = data(len, &mut rng);
        let (found, ()) = made(&data, |data| Cpu::new().hazmat_ctr(&key, &counter, data));
        let mut peer = ctr::Ctr128BE::<Aes128>::new_from_slices(key.expose_bytes(), &counter).unwrap();
        peer.apply_keystream(&mut data);
        assert!(found == data, "{len} bytes");
    }
}

#[test]
fn gcm() {
    let mut rng = ChaCha20Rng::seed_from_u64(seed());
    for len in LENGTHS {
        let (key, nonce): (_, [u8; 12]) = (Key::generate(KeySize::Bits256, &mut rng), rng.random());
        let aad = data(len % 50, &mut rng);
        let mut data = data(len, &mut rng);
        let (found, tag) = made(&data, |data| Cpu::new().gcm_seal(&key, &nonce, &aad, data));
        let peer = Aes256Gcm::new_from_slice(key.expose_bytes()).unwrap();
        let peer_tag = peer.encrypt_inout_detached(&nonce.into(), &aad, (&mut data[..]).into()).unwrap();
        assert!(found == data && tag == peer_tag.0, "{len} bytes");
    }
}

#[test]
fn xts() {
    let mut rng = ChaCha20Rng::seed_from_u64(seed());
    for len in LENGTHS {
        let keys = XtsKey::generate(KeySize::Bits256, &mut rng);
        let [cipher, tweaks] =
            [keys.data(), keys.tweak()].map(|key| Aes256::new_from_slice(key.expose_bytes()).unwrap());
        let peer = Xts128::new(cipher, tweaks);
        let first = rng.random::<u128>() >> 1;
        // 5000 is not a whole number of blocks; every unit ends with a stolen one.
        for unit in [512, 5000, 1 << 20] {
            let short = len % unit;
            let mut expected = data(if short < 16 { len - short } else { len }, &mut rng);
            let plain = expected.clone();
            peer.encrypt_area(&mut expected, unit, first, get_tweak_default);
            let run = |data: &[u8], direction| {
                made(data, |data| Cpu::new().xts(&keys, first, unit, direction, data)).0
            };
            assert!(run(&plain, Direction::Encrypt) == expected, "{len} bytes in units of {unit}");
            assert!(run(&expected, Direction::Decrypt) == plain, "{len} bytes in units of {unit}");
        }
    }
}
