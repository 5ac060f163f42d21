//! XTS (IEEE 1619-2018, section 5) of one data unit.

use super::BlockCipher;
use crate::aes::BLOCK;

/// x T in GF(2^128) modulo x^128 + x^7 + x^2 + x + 1, bytes little-endian (IEEE 1619, 5.2).
fn double(tweak: u128) -> u128 {
    (tweak << 1) ^ (0x87 & (tweak >> 127).wrapping_neg())
}

/// T_0: the number of the unit under the key for tweaks.
fn first_tweak(tweaks: &impl BlockCipher, number: u128) -> u128 {
    let mut tweak = number.to_le_bytes();
    tweaks.encrypt(&mut tweak);
    u128::from_le_bytes(tweak)
}

/// XOR with the tweak before and after the cipher (IEEE 1619, 5.3.1).
fn block(tweak: u128, block: &mut [u8; BLOCK], cipher: impl Fn(&mut [u8; BLOCK])) {
    *block = (u128::from_le_bytes(*block) ^ tweak).to_le_bytes();
    cipher(block);
    *block = (u128::from_le_bytes(*block) ^ tweak).to_le_bytes();
}

/// One data unit of at least one block; the two tweaks of a stolen block are used in the order that
/// `swapped` says.
fn unit(cipher: impl Fn(&mut [u8; BLOCK]), mut tweak: u128, swapped: bool, data: &mut [u8]) {
    let (blocks, partial) = data.as_chunks_mut::<BLOCK>();
    let whole = blocks.len() - usize::from(!partial.is_empty());
    for data in &mut blocks[..whole] {
        block(tweak, data, &cipher);
        tweak = double(tweak);
    }
    if let Some(last) = blocks.get_mut(whole) {
        let (full, stolen) = if swapped { (double(tweak), tweak) } else { (tweak, double(tweak)) };
        block(full, last, &cipher);
        let len = partial.len();
        last[..len].swap_with_slice(partial);
        block(stolen, last, &cipher);
    }
}

/// XTS-AES encryption of a data unit (IEEE 1619, 5.3.2).
pub(super) fn encrypt(cipher: &impl BlockCipher, tweaks: &impl BlockCipher, number: u128, data: &mut [u8]) {
    unit(|block| cipher.encrypt(block), first_tweak(tweaks, number), false, data);
}

/// XTS-AES decryption of a data unit (IEEE 1619, 5.4.2): the tweaks of a stolen block come in the
/// other order.
pub(super) fn decrypt(cipher: &impl BlockCipher, tweaks: &impl BlockCipher, number: u128, data: &mut [u8]) {
    unit(|block| cipher.decrypt(block), first_tweak(tweaks, number), true, data);
}
