//! AES keys under homomorphic encryption.

use crate::aes::{BLOCK, Key, KeySchedule, KeySize};
use crate::error::{Error, Result};
use crate::key_set::key_set_accessors;
use crate::tfhe::{LweOps, SeededLwe, TfheParams, TfheSecretKey, UnpaddedBits};
use rand::CryptoRng;
use zeroize::Zeroizing;

/// The round keys of an AES key, each bit encrypted: 1408 bits for keys of 128 bits, 1664 for 192,
/// 1920 for 256. In a file each takes 8 bytes.
#[derive(Clone, Debug)]
pub struct EncryptedAesKey {
    size: KeySize,
    /// `[round][byte][bit]`, the lowest bit first.
    bits: SeededLwe,
}

key_set_accessors! {
    [] EncryptedAesKey { bits.key_set }
}

impl EncryptedAesKey {
    /// Expands and encrypts a key. Constant time.
    ///
    /// # Errors
    /// None for a key and parameters that exist.
    pub fn generate(secret: &TfheSecretKey, key: &Key, rng: &mut (impl CryptoRng + ?Sized)) -> Result<Self> {
        let schedule = KeySchedule::new(key);
        let bytes = schedule.expose_round_keys().as_flattened();
        let bits = bytes.iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1));
        // Collected at its whole length, so that no copy is left behind by growing.
        let mut all = Zeroizing::new(Vec::with_capacity(8 * bytes.len()));
        all.extend(bits);
        Ok(Self { size: key.size(), bits: secret.encrypt_unpadded_seeded(&all, rng)? })
    }

    /// The bits of the round keys of that size.
    pub fn bits_of(size: KeySize) -> usize {
        8 * BLOCK * (size.rounds() + 1)
    }

    /// Wraps the bits of the round keys.
    ///
    /// # Errors
    /// [`Error::BatchMismatch`] for another number of ciphertexts.
    pub(crate) fn from_ciphertexts(size: KeySize, bits: SeededLwe) -> Result<Self> {
        if bits.count() != Self::bits_of(size) {
            return Err(Error::BatchMismatch { left: bits.count(), right: Self::bits_of(size) });
        }
        Ok(Self { size, bits })
    }

    /// The ciphertexts: `[round][byte][bit]`, phases of 0 and 1/2, the lowest bit first.
    pub fn ciphertexts(&self) -> &SeededLwe {
        &self.bits
    }

    /// The size of the key.
    pub fn size(&self) -> KeySize {
        self.size
    }

    /// The parameters.
    pub fn params(&self) -> &TfheParams {
        self.bits.params()
    }

    /// Expands the round keys for computing.
    pub(super) fn expand<B: LweOps>(&self, backend: &B) -> Result<UnpaddedBits<B>> {
        Ok(UnpaddedBits::from_ciphertexts(self.bits.expand(backend)?))
    }
}
