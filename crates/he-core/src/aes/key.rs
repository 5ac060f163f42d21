//! Keys, pairs of keys for XTS, and the key expansion of FIPS-197.

use super::field;
use super::{AesError, Result};
use crate::reveal;
use crate::secret_words::wipe_stack;
use rand::CryptoRng;
use std::fmt;
use subtle::{Choice, ConstantTimeEq};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// Bytes of a block.
pub const BLOCK: usize = 16;

/// The most rounds of any key size: 14, for 256 bits.
const MAX_ROUNDS: usize = 14;

/// The three sizes of AES keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeySize {
    /// 128 bits, 10 rounds.
    Bits128,
    /// 192 bits, 12 rounds.
    Bits192,
    /// 256 bits, 14 rounds.
    Bits256,
}

impl KeySize {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Bits128, Self::Bits192, Self::Bits256];

    /// Bytes of the key: 16, 24 or 32.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Bits128 => 16,
            Self::Bits192 => 24,
            Self::Bits256 => 32,
        }
    }

    /// Bits of the key: 128, 192 or 256.
    pub const fn bits(self) -> usize {
        8 * self.bytes()
    }

    /// Rounds: 10, 12 or 14.
    pub const fn rounds(self) -> usize {
        self.bytes() / 4 + 6
    }

    /// The size of a key of this many bytes.
    pub const fn from_bytes(bytes: usize) -> Option<Self> {
        match bytes {
            16 => Some(Self::Bits128),
            24 => Some(Self::Bits192),
            32 => Some(Self::Bits256),
            _ => None,
        }
    }
}

/// An AES key of 128, 192 or 256 bits. It is wiped when dropped, as are the copies that ciphers
/// left on this thread's stack, and never printed.
#[derive(Clone)]
pub struct Key {
    size: KeySize,
    /// On the heap, so that moving the key leaves no copy behind.
    bytes: Box<[u8; 32]>,
}

impl Drop for Key {
    fn drop(&mut self) {
        self.bytes.zeroize();
        wipe_stack();
    }
}

impl ZeroizeOnDrop for Key {}

impl Key {
    /// Makes a key from 16, 24 or 32 bytes. The caller must wipe its own copy.
    ///
    /// # Errors
    /// [`AesError::KeyLength`] for any other length.
    pub fn from_slice(bytes: &[u8]) -> Result<Self> {
        let size = KeySize::from_bytes(bytes.len()).ok_or(AesError::KeyLength { found: bytes.len() })?;
        let mut key = Self { size, bytes: Box::new([0; 32]) };
        key.bytes[..bytes.len()].copy_from_slice(bytes);
        Ok(key)
    }

    /// Draws a fresh key.
    pub fn generate(size: KeySize, rng: &mut (impl CryptoRng + ?Sized)) -> Self {
        let mut key = Self { size, bytes: Box::new([0; 32]) };
        rng.fill_bytes(&mut key.bytes[..size.bytes()]);
        key
    }

    /// The size.
    pub fn size(&self) -> KeySize {
        self.size
    }

    /// The key's bytes: the secret itself.
    pub fn expose_bytes(&self) -> &[u8] {
        &self.bytes[..self.size.bytes()]
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({} bits)", self.size.bits())
    }
}

impl ConstantTimeEq for Key {
    /// The time depends only on the sizes.
    fn ct_eq(&self, other: &Self) -> Choice {
        Choice::from(u8::from(self.size == other.size)) & self.bytes[..].ct_eq(&other.bytes[..])
    }
}

/// The two keys of XTS (IEEE 1619): one for data, another, of the same size, for tweaks.
///
/// The standard defines pairs of 128 and of 256 bits; 192 bits follow the same formulas.
#[derive(Clone, Debug)]
pub struct XtsKey {
    data: Key,
    tweak: Key,
}

impl XtsKey {
    /// From two keys.
    ///
    /// # Errors
    /// [`AesError::XtsKeySizes`] for keys of different sizes, [`AesError::XtsEqualKeys`] for equal
    /// keys, which FIPS 140 forbids: with them, XTS succumbs to a chosen-ciphertext attack (Rogaway
    /// 2004, section 6). The comparison is constant time.
    pub fn new(data: Key, tweak: Key) -> Result<Self> {
        if data.size != tweak.size {
            return Err(AesError::XtsKeySizes { data: data.size.bits(), tweak: tweak.size.bits() });
        }
        if reveal::bit(data.ct_eq(&tweak).into()) {
            return Err(AesError::XtsEqualKeys);
        }
        Ok(Self { data, tweak })
    }

    /// Makes the pair from 32, 48 or 64 bytes, with the key for data first.
    ///
    /// # Errors
    /// [`AesError::XtsKeyLength`] for any other length, [`AesError::XtsEqualKeys`] for equal
    /// halves.
    pub fn from_slice(bytes: &[u8]) -> Result<Self> {
        let wrong = AesError::XtsKeyLength { found: bytes.len() };
        if !bytes.len().is_multiple_of(2) || KeySize::from_bytes(bytes.len() / 2).is_none() {
            return Err(wrong);
        }
        let (data, tweak) = bytes.split_at(bytes.len() / 2);
        Self::new(Key::from_slice(data)?, Key::from_slice(tweak)?)
    }

    /// Draws two fresh keys.
    pub fn generate(size: KeySize, rng: &mut (impl CryptoRng + ?Sized)) -> Self {
        loop {
            // Equal keys have probability 2^-128 or less, unless the generator is broken.
            if let Ok(keys) = Self::new(Key::generate(size, rng), Key::generate(size, rng)) {
                return keys;
            }
        }
    }

    /// The key for data.
    pub fn data(&self) -> &Key {
        &self.data
    }

    /// The key for tweaks.
    pub fn tweak(&self) -> &Key {
        &self.tweak
    }

    /// The size of each of the two keys.
    pub fn size(&self) -> KeySize {
        self.data.size
    }
}

/// Round keys of one direction, in order of use. Wiped when dropped; never printed.
#[derive(Clone, ZeroizeOnDrop)]
pub struct KeySchedule {
    #[zeroize(skip)]
    size: KeySize,
    keys: [[u8; BLOCK]; MAX_ROUNDS + 1],
}

impl KeySchedule {
    /// Round keys of the cipher: KeyExpansion (FIPS-197, 5.2), bytes w[4 r .. 4 r + 4] for round r.
    ///
    /// The S-box is computed in GF(2^8), so the time depends only on the size of the key. It takes
    /// microseconds: expand a key once for much data.
    pub fn new(key: &Key) -> Self {
        let (size, words_of_key) = (key.size, key.size.bytes() / 4);
        let words = 4 * (size.rounds() + 1);
        let mut w = Zeroizing::new([[0u8; 4]; 4 * (MAX_ROUNDS + 1)]);
        for (word, bytes) in w.iter_mut().zip(key.expose_bytes().chunks_exact(4)) {
            word.copy_from_slice(bytes);
        }
        let mut round_constant = 1;
        for i in words_of_key..words {
            let mut t = w[i - 1];
            if i % words_of_key == 0 {
                t.rotate_left(1);
                t = t.map(field::sub);
                t[0] ^= round_constant;
                round_constant = field::xtime(round_constant);
            } else if words_of_key > 6 && i % words_of_key == 4 {
                t = t.map(field::sub);
            }
            for j in 0..4 {
                w[i][j] = w[i - words_of_key][j] ^ t[j];
            }
            t.zeroize();
        }
        let mut schedule = Self { size, keys: [[0; BLOCK]; MAX_ROUNDS + 1] };
        for (key, words) in schedule.keys.iter_mut().zip(w[..words].chunks_exact(4)) {
            key.copy_from_slice(words.as_flattened());
        }
        schedule
    }

    /// Round keys of the equivalent inverse cipher (FIPS-197, 5.3.5): those of [`new`](Self::new)
    /// in reverse, all but the first and the last through InvMixColumns. Constant time.
    pub fn inverse(key: &Key) -> Self {
        let mut schedule = Self::new(key);
        let rounds = schedule.size.rounds();
        schedule.keys[..=rounds].reverse();
        for key in &mut schedule.keys[1..rounds] {
            for column in key.as_chunks_mut::<4>().0 {
                *column = field::mix_column(*column, field::INV_MIX);
            }
        }
        schedule
    }

    /// The size of the key.
    pub fn size(&self) -> KeySize {
        self.size
    }

    /// The rounds + 1 round keys, in order of use. They are as secret as the key.
    pub fn expose_round_keys(&self) -> &[[u8; BLOCK]] {
        &self.keys[..=self.size.rounds()]
    }
}

impl fmt::Debug for KeySchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeySchedule({} bits)", self.size.bits())
    }
}

#[cfg(test)]
mod tests;
