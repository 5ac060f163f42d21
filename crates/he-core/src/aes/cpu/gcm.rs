//! GCM: counter mode and GHASH in one pass over the data.

use super::ctr::{Ctr, Width};
use super::engine::{Direct, Encryptor};
use super::ghash::{Ghash, xored};
use super::range_len;
use crate::aes::Bulk;
use crate::parallel::*;
use crate::reveal;
use crate::secret_words::wipe_stack;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// The number of bytes that are encrypted and then hashed while they are in the first-level cache:
/// whole batches of 8, 30 and 64 blocks.
const PIECE: usize = 15 << 10;

/// A key ready for any number of messages.
pub(super) struct Gcm {
    cipher: Encryptor,
    h: Zeroizing<[u8; 16]>,
    ghash: Ghash,
}

/// The one of input and output that is the ciphertext.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hashed {
    Input,
    Output,
}

impl Gcm {
    pub(super) fn new(key: &super::Key) -> Self {
        let cipher = Encryptor::new(key);
        let h = Zeroizing::new(encrypted(&cipher, 0));
        let ghash = Ghash::new(&h);
        Self { cipher, h, ghash }
    }

    /// Encrypts, and returns the tag.
    pub(super) fn seal(&self, nonce: &[u8; 12], aad: &[u8], data: Bulk<'_>) -> [u8; 16] {
        self.transform(nonce, aad, data, Hashed::Output)
    }

    /// Decrypts. If the tag is wrong, wipes the output and returns false.
    pub(super) fn open(&self, nonce: &[u8; 12], aad: &[u8], tag: &[u8; 16], mut data: Bulk<'_>) -> bool {
        let found = self.transform(nonce, aad, data.reborrow(), Hashed::Input);
        let right = reveal::bit(found.ct_eq(tag).into());
        if !right {
            data.output().fill(0);
        }
        right
    }

    fn transform(&self, nonce: &[u8; 12], aad: &[u8], data: Bulk<'_>, hashed: Hashed) -> [u8; 16] {
        let len = data.len();
        let j0 = nonce.iter().fold(0, |number, &byte| (number << 8) | u128::from(byte)) << 32 | 1;
        let state = self.ranges(j0, self.ghash.update([0; 16], aad), data, hashed);
        let lengths = ((aad.len() as u128 * 8) << 64) | (len as u128 * 8);
        let hash = self.ghash.blocks(state, &[lengths.to_be_bytes()]);
        xored(hash, &encrypted(&self.cipher, j0))
    }

    /// The state after the data, which are split over threads: the hash of ranges A_1, ..., A_k,
    /// all of which except the first have n blocks, is (...(A_1 H^n + A_2) H^n + ...) + A_k, where
    /// A_1 includes the state so far and each A_i is hashed from zero.
    fn ranges(&self, j0: u128, state: [u8; 16], data: Bulk<'_>, hashed: Hashed) -> [u8; 16] {
        let (len, range) = (data.len(), range_len(data.len(), PIECE));
        if range >= len {
            return self.range(Width::Bits32.add(j0, 1), state, data, hashed);
        }
        // The last range ends with the data's partial block, if any, which counts as a block.
        let rest = (len.div_ceil(16) * 16 - 1) / range * range;
        let first = len.div_ceil(16) * 16 - rest;
        let (head, tail) = data.split_at(first);
        let mut ranges = vec![(0, state, head)];
        ranges.extend(tail.pieces(range).enumerate().map(|(i, data)| (first + i * range, [0; 16], data)));
        let states: Vec<[u8; 16]> = ranges
            .into_par_iter()
            .map(|(offset, state, data)| {
                let blocks = offset as u128 / 16;
                let state = self.range(Width::Bits32.add(j0, 1 + blocks), state, data, hashed);
                wipe_stack();
                state
            })
            .collect();
        let power = Ghash::power(&self.h, range / 16);
        states.into_iter().reduce(|sum, state| xored(power.times(sum), &state)).unwrap_or(state)
    }

    /// The state after the data, on this thread.
    fn range(&self, mut counter: u128, mut state: [u8; 16], data: Bulk<'_>, hashed: Hashed) -> [u8; 16] {
        for mut data in data.pieces(PIECE) {
            if hashed == Hashed::Input {
                state = self.ghash.update(state, data.input());
            }
            self.cipher.run(Ctr { counter, width: Width::Bits32, data: data.reborrow() });
            if hashed == Hashed::Output {
                state = self.ghash.update(state, data.output());
            }
            counter = Width::Bits32.add(counter, PIECE as u128 / 16);
        }
        state
    }
}

/// The cipher of one block.
fn encrypted(cipher: &Encryptor, block: u128) -> [u8; 16] {
    let mut bytes = [0; 16];
    let data = Bulk::in_place(&mut bytes);
    cipher.run(Ctr { counter: block, width: Width::Bits128, data });
    bytes
}
