//! Encrypted integers and conditions.

use super::Width;
use super::width::{join, join_flags};
use crate::backend::{Cpu, RingOps};
use crate::ckks::{Ciphertext, Decryptor, SecretEncryptor};
use crate::error::{Error, Result};
use rand::CryptoRng;
use zeroize::Zeroizing;

/// An integer in each slot: a batch of ciphertexts, one for each digit of 4 bits, the
/// lowest first.
#[derive(Debug)]
pub struct SlotIntegers<B: RingOps = Cpu> {
    pub(super) digits: Ciphertext<B>,
    width: Width,
}

/// A condition in each slot: one or zero.
#[derive(Debug)]
pub struct SlotFlags<B: RingOps = Cpu>(pub(super) Ciphertext<B>);

impl<B: RingOps> SlotIntegers<B> {
    /// Digits as they are: messages 0 ... 15.
    ///
    /// # Errors
    /// [`Error::Argument`] for a batch of another number of ciphertexts than there are digits.
    pub fn from_digits(digits: Ciphertext<B>, width: Width) -> Result<Self> {
        let (found, needed) = (digits.batch(), width.digits());
        if found != needed {
            let hint = format!("{needed} ciphertexts are needed, one for each");
            return Err(Error::domain("digits", format!("{found} ciphertexts"), hint));
        }
        Ok(Self { digits, width })
    }

    /// Encrypts one integer for each of all slots of the parameters, or for the first of them, with
    /// zeros in the others: two's complement for a signed width. Constant time.
    ///
    /// # Errors
    /// [`Error::Argument`] for a number beyond the width, and for more numbers than slots; device
    /// errors.
    pub fn encrypt(
        values: &[u64],
        width: Width,
        encryptor: &SecretEncryptor<B>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self> {
        let digits = width.split(values)?;
        let mut encrypt = |digit: &Zeroizing<Vec<f64>>| encryptor.encrypt_real(digit, rng)?.expand();
        let digits = digits.iter().map(&mut encrypt).collect::<Result<Vec<_>>>()?;
        Self::from_digits(Ciphertext::concat(&digits.iter().collect::<Vec<_>>())?, width)
    }

    /// The same for signed integers.
    ///
    /// # Errors
    /// [`Error::Argument`] for a width without sign; the same as for [`encrypt`](Self::encrypt).
    pub fn encrypt_signed(
        values: &[i64],
        width: Width,
        encryptor: &SecretEncryptor<B>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self> {
        Self::encrypt(&width.words(values)?, width, encryptor, rng)
    }

    /// The integers of all slots, or two's complement of signed ones. Constant time.
    ///
    /// # Errors
    /// [`Error::BadDigits`] for digits that are not near an integer from 0 to 15; mismatch of keys
    /// or ring; device errors.
    pub fn decrypt(&self, decryptor: &Decryptor<B>) -> Result<Vec<u64>> {
        join(&real_parts(&self.digits, decryptor)?)
    }

    /// The integers of all slots with their signs, which are those of the width: one without sign
    /// has two's complement of as many bits. Constant time.
    ///
    /// # Errors
    /// The same as for [`decrypt`](Self::decrypt).
    pub fn decrypt_signed(&self, decryptor: &Decryptor<B>) -> Result<Vec<i64>> {
        Ok(self.width.signed(self.decrypt(decryptor)?))
    }

    /// The digits as messages.
    pub fn digits(&self) -> &Ciphertext<B> {
        &self.digits
    }

    /// The width.
    pub fn width(&self) -> Width {
        self.width
    }
}

impl<B: RingOps> SlotFlags<B> {
    /// Messages as they are: zero or one, in a batch of one.
    ///
    /// # Errors
    /// [`Error::Argument`] for another batch.
    pub fn from_ciphertext(ct: Ciphertext<B>) -> Result<Self> {
        match ct.batch() {
            1 => Ok(Self(ct)),
            batch => Err(Error::domain("conditions", format!("{batch} ciphertexts"), "one is needed")),
        }
    }

    /// The conditions of all slots. Constant time.
    ///
    /// # Errors
    /// [`Error::BadDigits`] for slots that are near neither zero nor one; mismatch of keys or ring;
    /// device errors.
    pub fn decrypt(&self, decryptor: &Decryptor<B>) -> Result<Vec<bool>> {
        join_flags(&Zeroizing::new(decryptor.decrypt_real(&self.0)?))
    }

    /// The conditions as messages.
    pub fn ciphertext(&self) -> &Ciphertext<B> {
        &self.0
    }
}

/// The real parts of all slots, for each of a batch.
fn real_parts<B: RingOps>(ct: &Ciphertext<B>, decryptor: &Decryptor<B>) -> Result<Vec<Zeroizing<Vec<f64>>>> {
    let decrypt = |i| decryptor.decrypt_real(&ct.slice_batch(i..i + 1)?).map(Zeroizing::new);
    (0..ct.batch()).map(decrypt).collect()
}
