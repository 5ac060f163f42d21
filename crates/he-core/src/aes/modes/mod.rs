//! The modes, written plainly over any block cipher: one block at a time, as the standards describe
//! them.

mod gcm;
mod xts;

use super::{BLOCK, Bulk, BulkCipher, Direction, Key, Result, XtsKey, check_ecb, check_gcm, check_xts};
use std::marker::PhantomData;

/// AES of one block under one key.
pub trait BlockCipher: Send + Sync {
    /// The name of the implementation, for messages.
    const NAME: &'static str;

    /// Expands a key.
    fn new(key: &Key) -> Self;

    /// CIPHER (FIPS-197, 5.1).
    fn encrypt(&self, block: &mut [u8; BLOCK]);

    /// INVCIPHER (FIPS-197, 5.3).
    fn decrypt(&self, block: &mut [u8; BLOCK]);
}

/// All modes of [`BulkCipher`] over one block cipher, on one thread.
///
/// Timing is that of the block cipher; GHASH and tweaks are computed without branches or look-ups
/// by their values.
#[derive(Clone, Copy, Debug)]
pub struct Modes<C>(PhantomData<fn() -> C>);

impl<C> Modes<C> {
    /// The modes.
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<C> Default for Modes<C> {
    fn default() -> Self {
        Self::new()
    }
}

/// The output, which holds the input.
fn copied<'a>(data: Bulk<'a>) -> &'a mut [u8] {
    match data.into_buffers() {
        super::Buffers::InPlace(data) => data,
        super::Buffers::Copy { from, to } => {
            to.copy_from_slice(from);
            to
        }
    }
}

/// Data XOR cipher(counter) || cipher(next(counter)) || ...
fn xor_key_stream(cipher: &impl BlockCipher, mut counter: u128, next: fn(u128) -> u128, data: &mut [u8]) {
    for block in data.chunks_mut(BLOCK) {
        let mut stream = counter.to_be_bytes();
        cipher.encrypt(&mut stream);
        block.iter_mut().zip(stream).for_each(|(byte, stream)| *byte ^= stream);
        counter = next(counter);
    }
}

impl<C: BlockCipher> BulkCipher for Modes<C> {
    fn name(&self) -> String {
        C::NAME.to_owned()
    }

    fn hazmat_ecb(&self, key: &Key, direction: Direction, data: Bulk<'_>) -> Result<()> {
        check_ecb(data.len())?;
        let cipher = C::new(key);
        for block in copied(data).as_chunks_mut().0 {
            match direction {
                Direction::Encrypt => cipher.encrypt(block),
                Direction::Decrypt => cipher.decrypt(block),
            }
        }
        Ok(())
    }

    fn hazmat_ctr(&self, key: &Key, counter: &[u8; 16], data: Bulk<'_>) -> Result<()> {
        let next = |counter: u128| counter.wrapping_add(1);
        xor_key_stream(&C::new(key), u128::from_be_bytes(*counter), next, copied(data));
        Ok(())
    }

    fn xts(
        &self,
        keys: &XtsKey,
        first: u128,
        unit_len: usize,
        direction: Direction,
        data: Bulk<'_>,
    ) -> Result<()> {
        check_xts(first, unit_len, data.len())?;
        let (cipher, tweaks) = (C::new(keys.data()), C::new(keys.tweak()));
        for (i, unit) in copied(data).chunks_mut(unit_len).enumerate() {
            let number = first + i as u128;
            match direction {
                Direction::Encrypt => xts::encrypt(&cipher, &tweaks, number, unit),
                Direction::Decrypt => xts::decrypt(&cipher, &tweaks, number, unit),
            }
        }
        Ok(())
    }

    fn gcm_seal(&self, key: &Key, nonce: &[u8; 12], aad: &[u8], data: Bulk<'_>) -> Result<[u8; 16]> {
        check_gcm(data.len(), aad.len())?;
        Ok(gcm::seal(&C::new(key), nonce, aad, copied(data)))
    }

    fn gcm_open(
        &self,
        key: &Key,
        nonce: &[u8; 12],
        aad: &[u8],
        tag: &[u8; 16],
        data: Bulk<'_>,
    ) -> Result<()> {
        check_gcm(data.len(), aad.len())?;
        gcm::open(&C::new(key), nonce, aad, tag, copied(data))
    }
}
