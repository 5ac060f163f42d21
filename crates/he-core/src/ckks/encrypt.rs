//! Encryption and decryption.

use super::ciphertext::Meta;
use super::encoder::real_column;
use super::{Ciphertext, CkksParams, Encoder, Plaintext, SeededCiphertext};
use crate::backend::{Cpu, RingOps};
use crate::error::{Error, Result};
use crate::ring::{Eval, Poly, Ring, SecretPoly, Span};
use crate::rlwe::{PublicKey, SecretKey, SeededZero, flood};
use num_complex::Complex64;
use rand::CryptoRng;

/// Encrypts by public key.
#[derive(Debug)]
pub struct Encryptor<'a, B: RingOps = Cpu> {
    params: CkksParams,
    key: &'a PublicKey<B>,
}

impl<'a, B: RingOps> Encryptor<'a, B> {
    /// With a key of these parameters.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`].
    pub fn new(params: &CkksParams, key: &'a PublicKey<B>) -> Result<Self> {
        params.rlwe().expect(key.params(), "public key")?;
        Ok(Self { params: params.clone(), key })
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

    /// Encodes real numbers at the top level, with its scale, and encrypts them: a column of any
    /// length, number i in slot i mod N/2 of batch entry i div N/2, zeros after the last, as
    /// [`pack_column`](crate::circuits::pack_column) lays it. An empty column is one entry of
    /// zeros. Other levels, scales and slots are the [`Encoder`]'s. Noise and timing as for
    /// [`encrypt`](Self::encrypt).
    ///
    /// ```
    /// # use he_core::{backend::Cpu, ckks::*, ring::Ring, rlwe::*};
    /// # fn main() -> he_core::Result<()> {
    /// # let params = CkksParams::for_depth(0).build()?;
    /// # let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    /// # let mut rng = he_core::rand::rng();
    /// # let secret = SecretKey::generate(params.rlwe(), &mut rng);
    /// let public = PublicKey::generate(&secret, &ring, &mut rng)?;
    /// let encryptor = Encryptor::new(&params, &public)?;
    /// let x = encryptor.encrypt_real(&[0.5, -1.25, 3.0], &mut rng)?;
    /// let y = Decryptor::new(&params, &secret, &ring)?.decrypt_real(&x)?;
    /// assert!((y[1] + 1.25).abs() < 1e-5 && y.len() == params.slots());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFinite`], [`Error::ValueTooLarge`] if value x scale does not fit the modulus;
    /// device errors.
    pub fn encrypt_real(&self, values: &[f64], rng: &mut (impl CryptoRng + ?Sized)) -> Result<Ciphertext<B>> {
        self.encrypt_complex(&real_column(values), rng)
    }

    /// [`encrypt_real`](Self::encrypt_real) of complex numbers.
    ///
    /// ```
    /// # use he_core::{backend::Cpu, ckks::*, ring::Ring, rlwe::*};
    /// # fn main() -> he_core::Result<()> {
    /// # let params = CkksParams::for_depth(0).build()?;
    /// # let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    /// # let mut rng = he_core::rand::rng();
    /// # let secret = SecretKey::generate(params.rlwe(), &mut rng);
    /// let public = PublicKey::generate(&secret, &ring, &mut rng)?;
    /// let encryptor = Encryptor::new(&params, &public)?;
    /// let x = encryptor.encrypt_complex(&[Complex64::new(0.5, -1.0)], &mut rng)?;
    /// let y = Decryptor::new(&params, &secret, &ring)?.decrypt_complex(&x)?;
    /// assert!((y[0] - Complex64::new(0.5, -1.0)).norm() < 1e-5);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`encrypt_real`](Self::encrypt_real).
    pub fn encrypt_complex(
        &self,
        values: &[Complex64],
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Ciphertext<B>> {
        self.encrypt(&Encoder::new(&self.params, self.key.ring())?.encode_column(values)?, rng)
    }
}

/// Encrypts by secret key: less noise and half the bytes.
#[derive(Debug)]
pub struct SecretEncryptor<B: RingOps = Cpu> {
    params: CkksParams,
    secret: SecretPoly<Eval, B>,
}

impl<B: RingOps> SecretEncryptor<B> {
    /// With a key of these parameters; holds the secret on the device until it is dropped.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::RingMismatch`]; device errors.
    pub fn new(params: &CkksParams, key: &SecretKey, ring: &Ring<B>) -> Result<Self> {
        params.rlwe().expect(key.params(), "secret key")?;
        let secret = key.on(ring, Span::chain(ring.spec().q().len()))?;
        Ok(Self { params: params.clone(), secret })
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

    /// Encodes real numbers at the top level, with its scale, and encrypts them: a column of any
    /// length, number i in slot i mod N/2 of batch entry i div N/2, zeros after the last, as
    /// [`pack_column`](crate::circuits::pack_column) lays it. An empty column is one entry of
    /// zeros. Other levels, scales and slots are the [`Encoder`]'s. Noise and timing as for
    /// [`encrypt`](Self::encrypt).
    ///
    /// ```
    /// # use he_core::{backend::Cpu, ckks::*, ring::Ring, rlwe::*};
    /// # fn main() -> he_core::Result<()> {
    /// # let params = CkksParams::for_depth(0).build()?;
    /// # let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    /// # let mut rng = he_core::rand::rng();
    /// # let secret = SecretKey::generate(params.rlwe(), &mut rng);
    /// let encryptor = SecretEncryptor::new(&params, &secret, &ring)?;
    /// let x = encryptor.encrypt_real(&[0.5, -1.25, 3.0], &mut rng)?.expand()?;
    /// let y = Decryptor::new(&params, &secret, &ring)?.decrypt_real(&x)?;
    /// assert!((y[1] + 1.25).abs() < 1e-5 && y.len() == params.slots());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFinite`], [`Error::ValueTooLarge`] if value x scale does not fit the modulus;
    /// device errors.
    pub fn encrypt_real(
        &self,
        values: &[f64],
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<SeededCiphertext<B>> {
        self.encrypt_complex(&real_column(values), rng)
    }

    /// [`encrypt_real`](Self::encrypt_real) of complex numbers.
    ///
    /// ```
    /// # use he_core::{backend::Cpu, ckks::*, ring::Ring, rlwe::*};
    /// # fn main() -> he_core::Result<()> {
    /// # let params = CkksParams::for_depth(0).build()?;
    /// # let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    /// # let mut rng = he_core::rand::rng();
    /// # let secret = SecretKey::generate(params.rlwe(), &mut rng);
    /// let encryptor = SecretEncryptor::new(&params, &secret, &ring)?;
    /// let x = encryptor.encrypt_complex(&[Complex64::new(0.5, -1.0)], &mut rng)?.expand()?;
    /// let y = Decryptor::new(&params, &secret, &ring)?.decrypt_complex(&x)?;
    /// assert!((y[0] - Complex64::new(0.5, -1.0)).norm() < 1e-5);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`encrypt_real`](Self::encrypt_real).
    pub fn encrypt_complex(
        &self,
        values: &[Complex64],
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<SeededCiphertext<B>> {
        self.encrypt(&Encoder::new(&self.params, self.secret.get().ring())?.encode_column(values)?, rng)
    }
}

/// Decrypts. Decrypted values that others may see leak the key's noise (IND-CPA-D): see [`Decryptor::decrypt_flooded`].
#[derive(Debug)]
pub struct Decryptor<B: RingOps = Cpu> {
    params: CkksParams,
    secret: SecretPoly<Eval, B>,
}

impl<B: RingOps> Decryptor<B> {
    /// With a key of these parameters; holds the secret on the device until it is dropped.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::RingMismatch`]; device errors.
    pub fn new(params: &CkksParams, key: &SecretKey, ring: &Ring<B>) -> Result<Self> {
        params.rlwe().expect(key.params(), "secret key")?;
        let secret = key.on(ring, Span::chain(ring.spec().q().len()))?;
        Ok(Self { params: params.clone(), secret })
    }

    /// c0 + c1 s. The result holds the ciphertext's noise: keep it to yourself. Constant time.
    ///
    /// # Errors
    /// [`Error::RingMismatch`]; [`Error::KeyMismatch`] for a ciphertext of another secret; device
    /// errors.
    pub fn decrypt(&self, ct: &Ciphertext<B>) -> Result<Plaintext<B>> {
        Ok(Plaintext { poly: ct.pair.message(&self.secret)?, meta: Meta { ..ct.meta } })
    }

    /// Decrypts and decodes the real parts of all slots, one batch entry after the other: batch x
    /// slots numbers, those of a column first. They hold the ciphertext's noise: keep them to
    /// yourself, as those of [`decrypt`](Self::decrypt).
    ///
    /// ```
    /// # use he_core::{backend::Cpu, ckks::*, ring::Ring, rlwe::*};
    /// # fn main() -> he_core::Result<()> {
    /// # let params = CkksParams::for_depth(0).build()?;
    /// # let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    /// # let mut rng = he_core::rand::rng();
    /// # let secret = SecretKey::generate(params.rlwe(), &mut rng);
    /// # let public = PublicKey::generate(&secret, &ring, &mut rng)?;
    /// # let encryptor = Encryptor::new(&params, &public)?;
    /// let decryptor = Decryptor::new(&params, &secret, &ring)?;
    /// let y = decryptor.decrypt_real(&encryptor.encrypt_real(&[1.5; 3], &mut rng)?)?;
    /// assert!((y[2] - 1.5).abs() < 1e-5 && y[3].abs() < 1e-5);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`decrypt`](Self::decrypt) and [`Encoder::decode`].
    pub fn decrypt_real(&self, ct: &Ciphertext<B>) -> Result<Vec<f64>> {
        Ok(self.decrypt_complex(ct)?.into_iter().map(|z| z.re).collect())
    }

    /// [`decrypt_real`](Self::decrypt_real), the imaginary parts included.
    ///
    /// ```
    /// # use he_core::{backend::Cpu, ckks::*, ring::Ring, rlwe::*};
    /// # fn main() -> he_core::Result<()> {
    /// # let params = CkksParams::for_depth(0).build()?;
    /// # let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    /// # let mut rng = he_core::rand::rng();
    /// # let secret = SecretKey::generate(params.rlwe(), &mut rng);
    /// # let public = PublicKey::generate(&secret, &ring, &mut rng)?;
    /// # let encryptor = Encryptor::new(&params, &public)?;
    /// let decryptor = Decryptor::new(&params, &secret, &ring)?;
    /// let y = decryptor.decrypt_complex(&encryptor.encrypt_real(&[1.5], &mut rng)?)?;
    /// assert!((y[0].re - 1.5).abs() < 1e-5 && y[0].im.abs() < 1e-5);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`decrypt_real`](Self::decrypt_real).
    pub fn decrypt_complex(&self, ct: &Ciphertext<B>) -> Result<Vec<Complex64>> {
        let encoder = Encoder::new(&self.params, self.secret.get().ring())?;
        Ok(encoder.decode(&self.decrypt(ct)?)?.concat())
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
