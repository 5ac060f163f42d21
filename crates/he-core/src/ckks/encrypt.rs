//! Encryption and decryption.

use super::ciphertext::Meta;
use super::{Ciphertext, CkksParams, Plaintext, SeededCiphertext};
use crate::backend::{Cpu, RingOps};
use crate::error::{Error, Result};
use crate::ring::{Eval, Poly, Ring, SecretPoly, Span};
use crate::rlwe::{PublicKey, SecretKey, SeededZero, flood};
use rand::CryptoRng;

/// Encrypts by public key.
#[derive(Debug)]
pub struct Encryptor<'a, B: RingOps = Cpu> {
    key: &'a PublicKey<B>,
}

impl<'a, B: RingOps> Encryptor<'a, B> {
    /// With a key of these parameters.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`].
    pub fn new(params: &CkksParams, key: &'a PublicKey<B>) -> Result<Self> {
        params.rlwe().expect(key.params(), "public key")?;
        Ok(Self { key })
    }

    /// A fresh encryption of each vector of the batch; noise variance 10.5 (1 + 4N/3) a coefficient. Constant time.
    ///
    /// # Errors
    /// [`Error::RingMismatch`]; device errors.
    pub fn encrypt(
        &self,
        plaintext: &Plaintext<B>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Ciphertext<B>> {
        let poly = &plaintext.poly;
        if !poly.ring().same(self.key.ring()) {
            return Err(Error::RingMismatch);
        }
        let mut pair = self.key.encrypt_zero(poly.span().q, poly.batch(), rng)?;
        pair.c[0].add_assign(poly)?;
        Ok(Ciphertext { pair, meta: plaintext.meta })
    }
}

/// Encrypts by secret key: less noise and half the bytes.
#[derive(Debug)]
pub struct SecretEncryptor<B: RingOps = Cpu> {
    secret: SecretPoly<Eval, B>,
}

impl<B: RingOps> SecretEncryptor<B> {
    /// With a key of these parameters; holds the secret on the device until it is dropped.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::RingMismatch`]; device errors.
    pub fn new(params: &CkksParams, key: &SecretKey, ring: &Ring<B>) -> Result<Self> {
        params.rlwe().expect(key.params(), "secret key")?;
        Ok(Self { secret: key.on(ring, Span::chain(ring.spec().q().len()))? })
    }

    /// A fresh encryption of each vector of the batch; noise variance 10.5 a coefficient. Constant time.
    ///
    /// # Errors
    /// [`Error::RingMismatch`]; device errors.
    pub fn encrypt(
        &self,
        plaintext: &Plaintext<B>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<SeededCiphertext<B>> {
        let poly = &plaintext.poly;
        if !poly.ring().same(self.secret.get().ring()) {
            return Err(Error::RingMismatch);
        }
        let mut zero = SeededZero::generate(&self.secret, poly.span().q, poly.batch(), rng)?;
        zero.c0.add_assign(poly)?;
        Ok(SeededCiphertext { zero, meta: plaintext.meta })
    }
}

/// Decrypts. Decrypted values that others may see leak the key's noise (IND-CPA-D): see [`Decryptor::decrypt_flooded`].
#[derive(Debug)]
pub struct Decryptor<B: RingOps = Cpu> {
    secret: SecretPoly<Eval, B>,
}

impl<B: RingOps> Decryptor<B> {
    /// With a key of these parameters; holds the secret on the device until it is dropped.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::RingMismatch`]; device errors.
    pub fn new(params: &CkksParams, key: &SecretKey, ring: &Ring<B>) -> Result<Self> {
        params.rlwe().expect(key.params(), "secret key")?;
        Ok(Self { secret: key.on(ring, Span::chain(ring.spec().q().len()))? })
    }

    /// c0 + c1 s. The result holds the ciphertext's noise: keep it to yourself. Constant time.
    ///
    /// # Errors
    /// [`Error::RingMismatch`]; device errors.
    pub fn decrypt(&self, ct: &Ciphertext<B>) -> Result<Plaintext<B>> {
        Ok(Plaintext { poly: ct.pair.message(&self.secret)?, meta: Meta { ..ct.meta } })
    }

    /// Decrypts and adds to each coefficient a fresh uniform integer of [-2^bits, 2^bits): noise flooding, for values that are
    /// shown to others (Li, Micciancio 2021; Li, Micciancio, Schultz, Sorrell 2022). 30 bits above the ciphertext's own noise make
    /// 2^30 / N decryptions statistically safe to a few bits; the precision of the result falls accordingly.
    ///
    /// # Errors
    /// [`Error::Argument`] for more than 61 bits; as for [`decrypt`](Self::decrypt).
    pub fn decrypt_flooded(
        &self,
        ct: &Ciphertext<B>,
        bits: u32,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Plaintext<B>> {
        let noise = flood(bits, ct.batch() * ct.pair().ring().n(), rng)?;
        let mut plaintext = self.decrypt(ct)?;
        let ring = plaintext.poly.ring().clone();
        let noise =
            Poly::from_signed(&ring, plaintext.poly.span(), plaintext.batch(), &noise)?.into_eval()?;
        plaintext.poly.add_assign(&noise)?;
        Ok(plaintext)
    }
}
