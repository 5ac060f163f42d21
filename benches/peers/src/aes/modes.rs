//! Modes of AES-128 on the processor, in place, with one key, which every call expands.

use he_core::aes::{Bulk, BulkCipher, Cpu, Direction, Key, XtsKey};

pub const KEY: [u8; 16] = *b"sixteen byte key";
pub const TWEAK_KEY: [u8; 16] = *b"another key here";
/// Bytes of a data unit of XTS.
pub const UNIT: usize = 512;
pub const FITS: &str = "arguments that fit";

pub type Operation = fn(&mut [u8]);

pub const MODES: [(&str, Operation); 4] = [("ecb", ecb), ("ctr", ctr), ("gcm", gcm), ("xts", xts)];

fn key() -> Key {
    Key::from_slice(&KEY).expect(FITS)
}

fn ecb(data: &mut [u8]) {
    Cpu::new().hazmat_ecb(&key(), Direction::Encrypt, Bulk::in_place(data)).expect(FITS);
}

fn ctr(data: &mut [u8]) {
    Cpu::new().hazmat_ctr(&key(), &[0; 16], Bulk::in_place(data)).expect(FITS);
}

fn gcm(data: &mut [u8]) {
    Cpu::new().gcm_seal(&key(), &[0; 12], &[], Bulk::in_place(data)).expect(FITS);
}

fn xts(data: &mut [u8]) {
    let keys = XtsKey::new(key(), Key::from_slice(&TWEAK_KEY).expect(FITS)).expect(FITS);
    Cpu::new().xts(&keys, 0, UNIT, Direction::Encrypt, Bulk::in_place(data)).expect(FITS);
}
