//! Fresh encryptions by the secret key: their masks are uniform words, which a seed replaces, so
//! that a ciphertext takes one word instead of k N + 1.

use super::fresh::sealed::Sealed;
use super::{FreshBits, FreshFlags, FreshInteger, FreshLwe, Masks};
use crate::ring::Seed;
use crate::tfhe::TfheParams;
use crate::tfhe::sampler::{Row, uniform_row};

/// Fresh ciphertexts, from [`TfheSecretKey::encrypt_seeded`](crate::tfhe::TfheSecretKey::encrypt_seeded).
pub type SeededLwe = FreshLwe<Seed>;

/// Fresh bits, from [`TfheSecretKey::encrypt_bits_seeded`](crate::tfhe::TfheSecretKey::encrypt_bits_seeded).
pub type SeededBits = FreshBits<Seed>;

/// Fresh integers, from
/// [`TfheSecretKey::encrypt_uint_seeded`](crate::tfhe::TfheSecretKey::encrypt_uint_seeded).
pub type SeededUint = FreshInteger<Seed>;

/// Fresh conditions, from
/// [`TfheSecretKey::encrypt_flags_seeded`](crate::tfhe::TfheSecretKey::encrypt_flags_seeded).
pub type SeededFlags = FreshFlags<Seed>;

impl Sealed for Seed {}

/// The mask of ciphertext i comes from stream `20 << 56 | i`.
impl Masks for Seed {
    fn mask(&self, _: &TfheParams, index: usize, out: &mut [u64]) {
        uniform_row(self, Row::Mask(index as u32), out);
    }
}

#[cfg(test)]
mod tests {
    use super::SeededUint;
    use crate::backend::Cpu;
    use crate::tfhe::{EncryptedBits, EncryptedUint, TfheSecretKey, presets};
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
            let words = |bits: &EncryptedBits<Cpu>| bits.ciphertexts().download().unwrap();
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
            let words = |x: &EncryptedUint<Cpu>| x.ciphertexts().download().unwrap();
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
