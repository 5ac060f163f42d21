//! Modes of AES against other implementations.
//!
//! Must hold: CTR, GCM and XTS of the CPU are those of the crates `ctr`, `aes-gcm` and `xts-mode`,
//! and of the table implementation, for all lengths; what was encrypted decrypts; a changed tag
//! does not.
//!
//! Bytes: length of the key, length of the associated data, two keys, a counter block, a nonce,
//! the number and the length of units, then associated data and message.

use super::target::Fields;
use aes::cipher::{KeyInit, KeyIvInit, StreamCipher};
use aes_gcm::aead::{Aead, Payload};
use he_core::aes::{Bulk, BulkCipher, Cpu, Direction, Key, TTable, XtsKey};

pub fn run(data: &[u8]) {
    let mut fields = Fields(data);
    let Some([size, aad_len]) = fields.take::<2>() else { return };
    let (Some(data_key), Some(tweak_key)) = (fields.take::<32>(), fields.take::<32>()) else { return };
    let (Some(counter), Some(nonce)) = (fields.take::<16>(), fields.take::<12>()) else { return };
    let (Some(first), Some(unit)) = (fields.u64(), fields.u16()) else { return };
    let length = [16, 24, 32][usize::from(size) % 3];
    let (aad, message) = fields.0.split_at(usize::from(aad_len).min(fields.0.len()));
    let key = Key::from_slice(&data_key[..length]).expect("a length of AES");
    let cpu = Cpu::new();
    let encrypted = |cipher: &dyn BulkCipher| {
        let mut text = message.to_vec();
        cipher.hazmat_ctr(&key, &counter, Bulk::in_place(&mut text)).expect("any length");
        text
    };
    let found = encrypted(&cpu);
    let mut expected = message.to_vec();
    match length {
        16 => ctr::Ctr128BE::<aes::Aes128>::new(data_key[..16].try_into().expect("16"), &counter.into())
            .apply_keystream(&mut expected),
        24 => ctr::Ctr128BE::<aes::Aes192>::new(data_key[..24].try_into().expect("24"), &counter.into())
            .apply_keystream(&mut expected),
        _ => ctr::Ctr128BE::<aes::Aes256>::new(data_key[..32].try_into().expect("32"), &counter.into())
            .apply_keystream(&mut expected),
    }
    assert!(found == expected, "CTR of {} bytes", message.len());
    assert!(encrypted(&TTable::new()) == expected, "CTR of {} bytes by tables", message.len());

    let mut text = message.to_vec();
    let tag = cpu.gcm_seal(&key, &nonce, aad, Bulk::in_place(&mut text)).expect("short data");
    let payload = Payload { msg: message, aad };
    let sealed = match length {
        16 => {
            aes_gcm::Aes128Gcm::new_from_slice(&data_key[..16]).expect("16").encrypt(&nonce.into(), payload)
        }
        24 => aes_gcm::AesGcm::<aes::Aes192, aes_gcm::aead::consts::U12>::new_from_slice(&data_key[..24])
            .expect("24")
            .encrypt(&nonce.into(), payload),
        _ => aes_gcm::Aes256Gcm::new_from_slice(&data_key).expect("32").encrypt(&nonce.into(), payload),
    };
    let sealed = sealed.expect("short data");
    assert!(sealed[..] == [&text[..], &tag].concat(), "GCM of {} and {} bytes", aad.len(), message.len());
    let mut wrong = tag;
    wrong[usize::from(size) % 16] ^= 1 << (aad_len % 8);
    let mut kept = text.clone();
    assert!(cpu.gcm_open(&key, &nonce, aad, &wrong, Bulk::in_place(&mut kept)).is_err());
    cpu.gcm_open(&key, &nonce, aad, &tag, Bulk::in_place(&mut text)).expect("the tag is right");
    assert!(text == message);

    let tweak = Key::from_slice(&tweak_key[..length]).expect("a length of AES");
    let Ok(xts) = XtsKey::new(key, tweak) else { return };
    let mut text = message.to_vec();
    let unit = usize::from(unit);
    if cpu.xts(&xts, first.into(), unit, Direction::Encrypt, Bulk::in_place(&mut text)).is_err() {
        return;
    }
    let mut expected = message.to_vec();
    let sector = |number: u128| number.to_le_bytes().into();
    macro_rules! xts {
        ($cipher:ty) => {{
            let cipher = |key: &[u8; 32]| <$cipher>::new_from_slice(&key[..length]).expect("its length");
            xts_mode::Xts128::new(cipher(&data_key), cipher(&tweak_key)).encrypt_area(
                &mut expected,
                unit,
                first.into(),
                sector,
            );
        }};
    }
    match length {
        16 => xts!(aes::Aes128),
        24 => xts!(aes::Aes192),
        _ => xts!(aes::Aes256),
    }
    assert!(text == expected, "XTS of {} bytes in units of {unit}", message.len());
    cpu.xts(&xts, first.into(), unit, Direction::Decrypt, Bulk::in_place(&mut text)).expect("as before");
    assert!(text == message);
}

pub fn seeds() -> Vec<Vec<u8>> {
    let seed = |i: u8, length: usize, unit: u16| {
        let mut bytes = vec![i, 16 * (i % 5)];
        bytes.extend((0..64 + 16 + 12u8).map(|j| j.wrapping_mul(i + 3)));
        bytes.extend(u64::from(i).to_le_bytes());
        bytes.extend(unit.to_le_bytes());
        bytes.extend((0..length).map(|j| (j * 7) as u8));
        bytes
    };
    let lengths = [(0, 16), (1, 16), (17, 17), (100, 64), (512, 512), (700, 33), (300, 0)];
    (0u8..).zip(lengths).map(|(i, (length, unit))| seed(i, length, unit)).collect()
}
