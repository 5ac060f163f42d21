//! Fresh encryptions in the form in which they are sent: bodies, and the seed of the masks.
//!
//! Encryption of TFHE is by the secret key, so the masks of fresh ciphertexts are uniform words,
//! which a seed replaces. A ciphertext then takes one word instead of k N + 1.

use super::sampler::{Row, uniform_row};
use super::{EncryptedBits, EncryptedFlags, EncryptedUint, LweBatch, LweOps, TfheParams};
use crate::error::Result;
use crate::key_set::{KeySetId, key_set_accessors};
use crate::parallel::*;
use crate::ring::Seed;

/// Fresh ciphertexts, from [`TfheSecretKey::encrypt_seeded`](super::TfheSecretKey::encrypt_seeded).
#[derive(Clone)]
pub struct SeededLwe {
    params: TfheParams,
    masks: Seed,
    bodies: Vec<u64>,
    pub(crate) key_set: Option<KeySetId>,
}

key_set_accessors! {
    [] SeededLwe { key_set }
    [] SeededBits { 0.key_set }
    [] SeededUint { digits.key_set }
    [] SeededFlags { 0.key_set }
}

impl std::fmt::Debug for SeededLwe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SeededLwe {{ params: {:?}, count: {} }}", self.params.fingerprint(), self.bodies.len())
    }
}

impl SeededLwe {
    /// Makes ciphertexts from the seed of the masks and one body per ciphertext.
    pub(crate) fn from_bodies(params: &TfheParams, masks: Seed, bodies: Vec<u64>) -> Self {
        Self { params: params.clone(), masks, bodies, key_set: None }
    }

    /// The seed of the masks, and the bodies.
    pub(crate) fn bodies(&self) -> (&Seed, &[u64]) {
        (&self.masks, &self.bodies)
    }

    /// The parameters.
    pub fn params(&self) -> &TfheParams {
        &self.params
    }

    /// The number of ciphertexts.
    pub fn count(&self) -> usize {
        self.bodies.len()
    }

    /// Expands the ciphertexts: each mask of k N words comes from the seed, that of row i from
    /// stream `20 << 56 | i`.
    ///
    /// # Errors
    /// Device errors.
    pub fn expand<B: LweOps>(&self, backend: &B) -> Result<LweBatch<B>> {
        let width = self.params.words();
        let mut words = vec![0; width * self.bodies.len()];
        words.par_chunks_mut(width).zip(&self.bodies).enumerate().for_each(|(i, (ciphertext, &body))| {
            uniform_row(&self.masks, Row::Mask(i as u32), &mut ciphertext[..width - 1]);
            ciphertext[width - 1] = body;
        });
        let mut batch = LweBatch::upload(backend, &self.params, &words)?;
        batch.set_key_set(self.key_set);
        Ok(batch)
    }
}

/// Fresh bits.
#[derive(Clone, Debug)]
pub struct SeededBits(pub(super) SeededLwe);

/// A batch of fresh integers of one width.
#[derive(Clone, Debug)]
pub struct SeededUint {
    bits: usize,
    /// `[digit][batch]`, the lowest digit first.
    digits: SeededLwe,
}

/// A batch of fresh conditions.
#[derive(Clone, Debug)]
pub struct SeededFlags(pub(super) SeededLwe);

impl SeededBits {
    pub(crate) fn from_ciphertexts(ciphertexts: SeededLwe) -> Self {
        Self(ciphertexts)
    }

    /// The number of bits.
    pub fn count(&self) -> usize {
        self.0.count()
    }

    /// The ciphertexts.
    pub fn ciphertexts(&self) -> &SeededLwe {
        &self.0
    }

    /// Expands the bits, for computing.
    ///
    /// # Errors
    /// Device errors.
    pub fn expand<B: LweOps>(&self, backend: &B) -> Result<EncryptedBits<B>> {
        Ok(EncryptedBits::from_ciphertexts(self.0.expand(backend)?))
    }
}

impl SeededUint {
    /// Requires whole integers of an existing width.
    pub(crate) fn from_ciphertexts(digits: SeededLwe, bits: usize) -> Self {
        Self { bits, digits }
    }

    /// The width in bits.
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// The number of integers.
    pub fn batch(&self) -> usize {
        2 * self.digits.count() / self.bits
    }

    /// The ciphertexts of the digits, `[digit][batch]`, the lowest digit first.
    pub fn ciphertexts(&self) -> &SeededLwe {
        &self.digits
    }

    /// Expands the integers, for computing.
    ///
    /// # Errors
    /// Device errors.
    pub fn expand<B: LweOps>(&self, backend: &B) -> Result<EncryptedUint<B>> {
        EncryptedUint::from_ciphertexts(self.digits.expand(backend)?, self.bits)
    }
}

impl SeededFlags {
    pub(crate) fn from_ciphertexts(ciphertexts: SeededLwe) -> Self {
        Self(ciphertexts)
    }

    /// The number of conditions.
    pub fn batch(&self) -> usize {
        self.0.count()
    }

    /// The ciphertexts.
    pub fn ciphertexts(&self) -> &SeededLwe {
        &self.0
    }

    /// Expands the conditions, for computing.
    ///
    /// # Errors
    /// Device errors.
    pub fn expand<B: LweOps>(&self, backend: &B) -> Result<EncryptedFlags<B>> {
        Ok(EncryptedFlags::from_ciphertexts(self.0.expand(backend)?))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{SeededUint, TfheSecretKey, presets};
    use crate::backend::Cpu;
    use num_bigint::BigUint;
    use rand::{SeedableRng, rngs::ChaCha20Rng};

    /// Seeded or not, the same generator gives the same words and ends in the same state.
    #[test]
    fn seeded_encryptions_expand_to_the_same_words() {
        let (cpu, params) = (Cpu::new(), presets::insecure_small().unwrap());
        for seed in 0..4 {
            let rng = || ChaCha20Rng::seed_from_u64(seed);
            let key = TfheSecretKey::generate(&params, &mut rng());
            let (mut a, mut b) = (rng(), rng());
            let messages: Vec<u64> = (0..40u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
            let whole = key.encrypt(&cpu, &messages, &mut a).unwrap().download().unwrap();
            let seeded = key.encrypt_seeded(&messages, &mut b).unwrap();
            assert_eq!((seeded.count(), seeded.key_set()), (40, Some(key.key_set())));
            assert!(whole == seeded.expand(&cpu).unwrap().download().unwrap(), "seed {seed}");

            let bits = [true, false, true, true];
            let whole = key.encrypt_bits(&cpu, &bits, &mut a).unwrap();
            let seeded = key.encrypt_bits_seeded(&bits, &mut b).unwrap().expand(&cpu).unwrap();
            let words = |bits: &super::EncryptedBits<Cpu>| bits.ciphertexts().download().unwrap();
            assert!(words(&whole) == words(&seeded), "seed {seed}");
            assert_eq!(key.decrypt_bits(&seeded).unwrap(), bits);

            let values = [7u64, 0xfedc_ba98_7654_3210, 0];
            let big: Vec<BigUint> = values.map(BigUint::from).to_vec();
            let whole = key.encrypt_uint(&cpu, &big, 64, &mut a).unwrap();
            let seeded = key.encrypt_uint_seeded(&big, 64, &mut b).unwrap();
            let seeded = SeededUint::from_bytes(&params, &seeded.to_bytes(&params).unwrap()).unwrap();
            assert_eq!(seeded.key_set(), Some(key.key_set()));
            assert_eq!((seeded.bits(), seeded.batch()), (64, 3));
            let seeded = seeded.expand(&cpu).unwrap();
            let words = |x: &super::EncryptedUint<Cpu>| x.ciphertexts().download().unwrap();
            assert!(words(&whole) == words(&seeded), "seed {seed}");
            let short = key.encrypt_u64(&cpu, &values, 64, &mut a).unwrap();
            let seeded = key.encrypt_u64_seeded(&values, 64, &mut b).unwrap().expand(&cpu).unwrap();
            assert!(words(&short) == words(&seeded), "seed {seed}");
            assert_eq!(key.decrypt_u64(&seeded).unwrap(), values);

            let whole = key.encrypt_flags(&cpu, &bits, &mut a).unwrap();
            let seeded = key.encrypt_flags_seeded(&bits, &mut b).unwrap();
            assert_eq!(seeded.batch(), 4);
            let seeded = seeded.expand(&cpu).unwrap();
            assert!(whole.ciphertexts().download().unwrap() == seeded.ciphertexts().download().unwrap());
            assert_eq!(key.decrypt_flags(&seeded).unwrap(), bits);
        }
    }
}
