//! Encryption and decryption of bits.

use super::words::expect_none;
use super::{CompactBits, CompactPublicKey, FreshBits, SeededBits};
use crate::error::Result;
use crate::tfhe::gates::encode;
use crate::tfhe::{EncryptedBits, LweOps, TfheSecretKey};
use rand::CryptoRng;
use zeroize::Zeroizing;

fn encode_all(bits: &[bool]) -> Zeroizing<Vec<u64>> {
    Zeroizing::new(bits.iter().map(|&bit| encode(bit)).collect())
}

impl TfheSecretKey {
    /// Encrypts bits. Constant time.
    ///
    /// # Errors
    /// The errors of [`encrypt`](Self::encrypt).
    pub fn encrypt_bits<B: LweOps>(
        &self,
        backend: &B,
        bits: &[bool],
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<EncryptedBits<B>> {
        Ok(EncryptedBits::from_ciphertexts(self.encrypt(backend, &encode_all(bits), rng)?))
    }

    /// Makes the same encryptions, with their masks as a seed. Constant time.
    ///
    /// # Errors
    /// The errors of [`encrypt_seeded`](Self::encrypt_seeded).
    pub fn encrypt_bits_seeded(
        &self,
        bits: &[bool],
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<SeededBits> {
        Ok(SeededBits::from_ciphertexts(self.encrypt_seeded(&encode_all(bits), rng)?))
    }

    /// Decrypts bits. Constant time.
    ///
    /// # Errors
    /// [`Error::BadDigits`](crate::Error::BadDigits) if a phase is nearer to 3/8 or -3/8 than to 1/8
    /// or -1/8: this happens for half of the bits under a wrong key, or of a ciphertext that is not
    /// that of a bit. [`Error::ParamsMismatch`](crate::Error::ParamsMismatch),
    /// [`Error::KeyMismatch`](crate::Error::KeyMismatch), device errors.
    pub fn decrypt_bits<B: LweOps>(&self, bits: &EncryptedBits<B>) -> Result<Vec<bool>> {
        let phases = self.phases(bits.ciphertexts())?;
        // Phases from -1/4 to 1/4 have two equal bits at the top.
        let bad = phases.iter().map(|phase| (phase >> 63) ^ (phase >> 62 & 1)).sum();
        expect_none(bad, phases.len())?;
        Ok(phases.iter().map(|phase| phase >> 63 == 0).collect())
    }
}

impl CompactPublicKey {
    /// Encrypts bits. Constant time.
    ///
    /// # Errors
    /// The errors of [`encrypt`](Self::encrypt).
    pub fn encrypt_bits(&self, bits: &[bool], rng: &mut (impl CryptoRng + ?Sized)) -> Result<CompactBits> {
        Ok(FreshBits::from_ciphertexts(self.encrypt(&encode_all(bits), rng)?))
    }
}
