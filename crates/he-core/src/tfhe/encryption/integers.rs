//! Encryption and decryption of integers and conditions.

use super::words::expect_none;
use super::{
    CompactFlags, CompactInt, CompactPublicKey, CompactUint, FreshFlags, FreshInteger, SeededFlags,
    SeededUint,
};
use crate::error::{Error, Result};
use crate::publisher::Publisher;
use crate::tfhe::integers::{BITS, UNIT, complements, encode};
use crate::tfhe::{
    DIGIT_LOOKUP, EncryptedFlags, EncryptedInt, EncryptedInteger, EncryptedUint, LweBatch, LweOps,
    Signedness, TfheSecretKey,
};
use num_bigint::{BigInt, BigUint, Sign};
use rand::CryptoRng;
use zeroize::Zeroizing;

fn encode_flags(flags: &[bool]) -> Zeroizing<Vec<u64>> {
    Zeroizing::new(flags.iter().map(|&flag| u64::from(flag) * UNIT).collect())
}

impl TfheSecretKey {
    /// The rounded messages of ciphertexts, all of which must be at most `greatest`, a number one
    /// below a power of two. The bits above it in all digits, for carries and padding, are examined
    /// together, by one branch.
    fn digits<B: LweOps>(&self, ciphertexts: &LweBatch<B>, greatest: u64) -> Result<Zeroizing<Vec<u64>>> {
        let mut digits = self.phases(ciphertexts)?;
        let mut bad = 0;
        for digit in digits.iter_mut() {
            *digit = digit.wrapping_add(UNIT / 2) / UNIT;
            // The messages are at most 31, so that a set bit above the greatest carries into bit 5.
            bad += ((*digit & !greatest) + 31) >> 5;
            *digit &= greatest;
        }
        expect_none(bad, digits.len())?;
        Ok(digits)
    }

    /// Encrypts a batch of integers of `bits` bits, an even number from 8 to 256. `BigUint` does
    /// not hide leading zeros: the time reveals the number of 64-bit words of a value.
    ///
    /// # Errors
    /// [`Error::Argument`] for other widths and for values that do not fit; the errors of
    /// [`encrypt`](Self::encrypt).
    pub fn encrypt_uint<B: LweOps>(
        &self,
        backend: &B,
        values: &[BigUint],
        bits: usize,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<EncryptedUint<B>> {
        EncryptedInteger::from_ciphertexts(self.encrypt(backend, &encode(values, bits)?, rng)?, bits)
    }

    /// Makes the same encryptions, with their masks as a seed.
    ///
    /// # Errors
    /// [`Error::Argument`] as for [`encrypt_uint`](Self::encrypt_uint).
    pub fn encrypt_uint_seeded(
        &self,
        values: &[BigUint],
        bits: usize,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<SeededUint> {
        Ok(SeededUint::from_ciphertexts(self.encrypt_seeded(&encode(values, bits)?, rng)?, bits))
    }

    /// Encrypts words of 64 bits as integers of any width from 8 to 256 bits, with the same
    /// ciphertexts as [`encrypt_uint`](Self::encrypt_uint) of the same numbers. Constant time for
    /// values that fit.
    ///
    /// # Errors
    /// [`Error::Argument`] for widths that do not exist and for values that do not fit; the errors
    /// of [`encrypt`](Self::encrypt).
    pub fn encrypt_u64<B: LweOps>(
        &self,
        backend: &B,
        values: &[u64],
        bits: usize,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<EncryptedUint<B>> {
        EncryptedInteger::from_ciphertexts(self.encrypt(backend, &encode(values, bits)?, rng)?, bits)
    }

    /// Makes the same encryptions, with their masks as a seed.
    ///
    /// # Errors
    /// [`Error::Argument`] as for [`encrypt_u64`](Self::encrypt_u64).
    pub fn encrypt_u64_seeded(
        &self,
        values: &[u64],
        bits: usize,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<SeededUint> {
        Ok(SeededUint::from_ciphertexts(self.encrypt_seeded(&encode(values, bits)?, rng)?, bits))
    }

    /// Encrypts conditions. Constant time.
    ///
    /// # Errors
    /// The errors of [`encrypt`](Self::encrypt).
    pub fn encrypt_flags<B: LweOps>(
        &self,
        backend: &B,
        flags: &[bool],
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<EncryptedFlags<B>> {
        Ok(EncryptedFlags::from_ciphertexts(self.encrypt(backend, &encode_flags(flags), rng)?))
    }

    /// Makes the same encryptions, with their masks as a seed. Constant time.
    ///
    /// # Errors
    /// The errors of [`encrypt_seeded`](Self::encrypt_seeded).
    pub fn encrypt_flags_seeded(
        &self,
        flags: &[bool],
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<SeededFlags> {
        Ok(SeededFlags::from_ciphertexts(self.encrypt_seeded(&encode_flags(flags), rng)?))
    }

    /// Encrypts words of 64 bits with a sign as integers of any width from 8 to 256 bits. Constant
    /// time for values that fit.
    ///
    /// # Errors
    /// The errors of [`encrypt_u64`](Self::encrypt_u64).
    pub fn encrypt_i64<B: LweOps>(
        &self,
        backend: &B,
        values: &[i64],
        bits: usize,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<EncryptedInt<B>> {
        EncryptedInteger::from_ciphertexts(self.encrypt(backend, &encode(values, bits)?, rng)?, bits)
    }

    /// Encrypts integers with a sign, with the time of [`encrypt_uint`](Self::encrypt_uint), which
    /// also depends on the signs.
    ///
    /// # Errors
    /// The errors of [`encrypt_uint`](Self::encrypt_uint).
    pub fn encrypt_int<B: LweOps>(
        &self,
        backend: &B,
        values: &[BigInt],
        bits: usize,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<EncryptedInt<B>> {
        Ok(self.encrypt_uint(backend, &complements(values, bits)?, bits, rng)?.reinterpret())
    }

    /// The digits of integers of at most 64 bits, as words, `[batch]`.
    fn words<S: Signedness, B: LweOps>(&self, x: &EncryptedInteger<S, B>) -> Result<Vec<u64>> {
        if x.bits() > 64 {
            let hint = match S::SIGNED {
                false => "a u64 holds at most 64, use decrypt_uint",
                true => "an i64 holds at most 64, use decrypt_int",
            };
            return Err(Error::domain("bits of an integer", x.bits().to_string(), hint));
        }
        let digits = self.digits(x.ciphertexts(), (1 << BITS) - 1)?;
        let digit = |b: usize, d: usize| digits[d * x.batch() + b] << (d * BITS);
        Ok((0..x.batch()).map(|b| (0..x.places()).fold(0, |value, d| value | digit(b, d))).collect())
    }

    /// Decrypts a batch of integers of at most 64 bits as words. Constant time.
    ///
    /// # Errors
    /// [`Error::Argument`] for wider integers, whatever their values; [`Error::BadDigits`] as for
    /// [`decrypt_uint`](Self::decrypt_uint); [`Error::ParamsMismatch`], device errors.
    pub fn decrypt_u64<B: LweOps>(&self, x: &EncryptedUint<B>) -> Result<Vec<u64>> {
        self.words(x)
    }

    /// Decrypts a batch of integers with a sign of at most 64 bits as words. Constant time.
    ///
    /// # Errors
    /// The errors of [`decrypt_u64`](Self::decrypt_u64).
    pub fn decrypt_i64<B: LweOps>(&self, x: &EncryptedInt<B>) -> Result<Vec<i64>> {
        let above = 64 - x.bits().min(64);
        Ok(self.words(x)?.into_iter().map(|word| (word << above) as i64 >> above).collect())
    }

    /// Decrypts a batch of integers. Constant time, except that `BigUint` drops leading zeros.
    ///
    /// # Errors
    /// [`Error::BadDigits`] if a digit's bits for carries and padding are not zero: this happens
    /// for 7 of 8 digits under a wrong key or of a ciphertext that is not that of an integer, and
    /// for every lookup that failed by more than a carry. [`Error::ParamsMismatch`],
    /// [`Error::KeyMismatch`], device errors.
    pub fn decrypt_uint<B: LweOps>(&self, x: &EncryptedUint<B>) -> Result<Vec<BigUint>> {
        Ok(self.bytes(x)?.iter().map(|bytes| BigUint::from_bytes_le(bytes)).collect())
    }

    /// Decrypts a batch of integers with a sign, with the time of
    /// [`decrypt_uint`](Self::decrypt_uint), which also depends on the signs.
    ///
    /// # Errors
    /// The errors of [`decrypt_uint`](Self::decrypt_uint).
    pub fn decrypt_int<B: LweOps>(&self, x: &EncryptedInt<B>) -> Result<Vec<BigInt>> {
        let modulus = BigInt::from(1) << x.bits();
        let values = self.bytes(x)?.into_iter().map(|bytes| BigInt::from_bytes_le(Sign::Plus, &bytes));
        Ok(values.map(|v| if v.bit(x.bits() as u64 - 1) { v - &modulus } else { v }).collect())
    }

    /// The bytes of each integer, the lowest first.
    fn bytes<S: Signedness, B: LweOps>(&self, x: &EncryptedInteger<S, B>) -> Result<Vec<Zeroizing<Vec<u8>>>> {
        let digits = self.digits(x.ciphertexts(), (1 << BITS) - 1)?;
        Ok((0..x.batch())
            .map(|b| {
                let mut bytes = Zeroizing::new(vec![0u8; x.bits().div_ceil(8)]);
                for d in 0..x.places() {
                    bytes[d * BITS / 8] |= (digits[d * x.batch() + b] << (d * BITS % 8)) as u8;
                }
                bytes
            })
            .collect())
    }

    /// Counts decryptions that others will see, before they are decrypted: `digits` ciphertexts,
    /// behind each of which are at most 2^lookups_log2 lookups. Their failures, each of which
    /// reveals something of the key, must have a probability of at most 2^-security over all
    /// published decryptions ([`Publisher`]).
    ///
    /// # Errors
    /// [`Error::FailureProbability`] and [`Error::DecryptionsSpent`], neither of which counts.
    pub fn publish(&self, digits: usize, lookups_log2: f64, publisher: &mut Publisher) -> Result<()> {
        let (norm, margin) = DIGIT_LOOKUP;
        let found_log2 = self.params().noise().failure_log2(norm, margin);
        let limit_log2 = publisher.failure_log2(lookups_log2);
        if found_log2.is_nan() || found_log2 > limit_log2 {
            return Err(Error::FailureProbability { found_log2, limit_log2 });
        }
        publisher.take(digits)
    }

    /// Decrypts conditions. Constant time.
    ///
    /// # Errors
    /// [`Error::BadDigits`] for a condition that is neither 0 nor 1, as for
    /// [`decrypt_uint`](Self::decrypt_uint); [`Error::ParamsMismatch`], [`Error::KeyMismatch`],
    /// device errors.
    pub fn decrypt_flags<B: LweOps>(&self, flags: &EncryptedFlags<B>) -> Result<Vec<bool>> {
        Ok(self.digits(flags.ciphertexts(), 1)?.iter().map(|&flag| flag == 1).collect())
    }
}

impl CompactPublicKey {
    /// Encrypts a batch of integers, as the secret key does
    /// ([`TfheSecretKey::encrypt_uint`]).
    ///
    /// # Errors
    /// [`Error::Argument`] for a width that is not an even number from 8 to 256 and for values that
    /// do not fit; the errors of [`encrypt`](Self::encrypt).
    pub fn encrypt_uint(
        &self,
        values: &[BigUint],
        bits: usize,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<CompactUint> {
        Ok(FreshInteger::from_ciphertexts(self.encrypt(&encode(values, bits)?, rng)?, bits))
    }

    /// Encrypts words of 64 bits as integers of any width from 8 to 256 bits. Constant time for
    /// values that fit.
    ///
    /// # Errors
    /// The errors of [`encrypt_uint`](Self::encrypt_uint).
    pub fn encrypt_u64(
        &self,
        values: &[u64],
        bits: usize,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<CompactUint> {
        Ok(FreshInteger::from_ciphertexts(self.encrypt(&encode(values, bits)?, rng)?, bits))
    }

    /// Encrypts integers with a sign, with the time of [`TfheSecretKey::encrypt_int`].
    ///
    /// # Errors
    /// The errors of [`encrypt_uint`](Self::encrypt_uint).
    pub fn encrypt_int(
        &self,
        values: &[BigInt],
        bits: usize,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<CompactInt> {
        Ok(self.encrypt_uint(&complements(values, bits)?, bits, rng)?.reinterpret())
    }

    /// Encrypts words of 64 bits with a sign as integers of any width from 8 to 256 bits. Constant
    /// time for values that fit.
    ///
    /// # Errors
    /// The errors of [`encrypt_uint`](Self::encrypt_uint).
    pub fn encrypt_i64(
        &self,
        values: &[i64],
        bits: usize,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<CompactInt> {
        Ok(FreshInteger::from_ciphertexts(self.encrypt(&encode(values, bits)?, rng)?, bits))
    }

    /// Encrypts conditions. Constant time.
    ///
    /// # Errors
    /// The errors of [`encrypt`](Self::encrypt).
    pub fn encrypt_flags(&self, flags: &[bool], rng: &mut (impl CryptoRng + ?Sized)) -> Result<CompactFlags> {
        Ok(FreshFlags::from_ciphertexts(self.encrypt(&encode_flags(flags), rng)?))
    }
}
