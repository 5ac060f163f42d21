//! GCM (SP 800-38D) with nonces of 96 bits and tags of 128 bits.

use super::{BlockCipher, xor_key_stream};
use crate::aes::{AesError, BLOCK, Result};
use subtle::ConstantTimeEq;

/// Multiplication in GF(2^128) (SP 800-38D, algorithm 1). Blocks are big-endian numbers: bit 0 of
/// the standard is the highest.
fn mul(x: u128, y: u128) -> u128 {
    const R: u128 = 0xe1 << 120;
    let (mut z, mut v) = (0, y);
    for i in (0..128).rev() {
        z ^= v & ((x >> i) & 1).wrapping_neg();
        v = (v >> 1) ^ (R & (v & 1).wrapping_neg());
    }
    z
}

/// GHASH (SP 800-38D, algorithm 2) of padded associated data, padded ciphertext and both lengths in
/// bits.
fn ghash(h: u128, aad: &[u8], ciphertext: &[u8]) -> u128 {
    let lengths = ((aad.len() as u128 * 8) << 64) | (ciphertext.len() as u128 * 8);
    let blocks = aad.chunks(BLOCK).chain(ciphertext.chunks(BLOCK)).map(|bytes| {
        let mut block = [0; BLOCK];
        block[..bytes.len()].copy_from_slice(bytes);
        u128::from_be_bytes(block)
    });
    blocks.chain([lengths]).fold(0, |y, block| mul(y ^ block, h))
}

/// The tag of a ciphertext (SP 800-38D, algorithm 4, steps 5 and 6).
fn tag(cipher: &impl BlockCipher, j0: u128, aad: &[u8], ciphertext: &[u8]) -> [u8; BLOCK] {
    let mut h = [0; BLOCK];
    cipher.encrypt(&mut h);
    let mut tag = ghash(u128::from_be_bytes(h), aad, ciphertext).to_be_bytes();
    xor_key_stream(cipher, j0, inc32, &mut tag);
    tag
}

/// J_0 of a nonce of 96 bits.
fn pre_counter(nonce: &[u8; 12]) -> u128 {
    nonce.iter().fold(0, |number, &byte| (number << 8) | u128::from(byte)) << 32 | 1
}

/// inc_32: the last 32 bits plus 1, modulo 2^32.
fn inc32(counter: u128) -> u128 {
    (counter >> 32 << 32) | u128::from((counter as u32).wrapping_add(1))
}

/// Authenticated encryption (SP 800-38D, algorithm 4); returns the tag.
pub(super) fn seal(cipher: &impl BlockCipher, nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> [u8; BLOCK] {
    let j0 = pre_counter(nonce);
    xor_key_stream(cipher, inc32(j0), inc32, data);
    tag(cipher, j0, aad, data)
}

/// Authenticated decryption (SP 800-38D, algorithm 5).
pub(super) fn open(
    cipher: &impl BlockCipher,
    nonce: &[u8; 12],
    aad: &[u8],
    expected: &[u8; BLOCK],
    data: &mut [u8],
) -> Result<()> {
    let j0 = pre_counter(nonce);
    if !bool::from(tag(cipher, j0, aad, data).ct_eq(expected)) {
        data.fill(0);
        return Err(AesError::Tag);
    }
    xor_key_stream(cipher, inc32(j0), inc32, data);
    Ok(())
}
