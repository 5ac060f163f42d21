//! Encryption and decryption.

use super::ciphertext::Meta;
use super::columns::{column_decryption, column_encryption, real_column};
use super::{Ciphertext, CkksParams, Encoder, Plaintext, SeededCiphertext};
use crate::backend::{Cpu, RingOps};
use crate::error::{Error, Result};
use crate::poly::PlainPoly;
use crate::publisher::Publisher;
use crate::ring::{Eval, Ring, SecretPoly, Span};
use crate::rlwe::{Flooding, Floods, KeyParams as _, PublicKey, SecretKey, SeededZero, flood_poly};
use num_complex::Complex64;
use rand::CryptoRng;

/// Encrypts by public key.
#[derive(Debug)]
pub struct Encryptor<'a, B: RingOps = Cpu> {
    params: CkksParams,
    key: &'a PublicKey<B>,
}

impl<'a, B: RingOps> Encryptor<'a, B> {
    /// Makes an encryptor with a key of these parameters.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`].
    pub fn new(params: &CkksParams, key: &'a PublicKey<B>) -> Result<Self> {
        params.rlwe().check_same(key.params(), "public key")?;
        Ok(Self { params: params.clone(), key })
    }

    /// Encrypts each vector of the batch; noise variance 10.5 (1 + 4N/3) per coefficient. Constant
    /// time.
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
        let noise = plaintext.meta.noise.map(|noise| self.params.noise().encrypted(noise));
        Ok(Ciphertext { pair, meta: Meta { noise, ..plaintext.meta } })
    }

    column_encryption! {
        /// Encodes real numbers at the top level, with its scale, and encrypts them: a column of
        /// any length, with number i in slot i mod N/2 of batch entry i div N/2 and zeros after the
        /// last, as in [`pack_column`](crate::circuits::pack_column). An empty column is one entry
        /// of zeros. For other levels, scales and slots use the [`Encoder`]. Noise and timing are
        /// those of [`encrypt`](Self::encrypt).
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
        /// [`Error::NotFinite`], [`Error::ValueTooLarge`] if value x scale does not fit the
        /// modulus; device errors.
        encrypt_real;

        /// The same as [`encrypt_real`](Self::encrypt_real), for complex numbers.
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
        /// The same as for [`encrypt_real`](Self::encrypt_real).
        encrypt_complex;
    }
}

/// Encrypts by secret key: less noise and half the bytes.
pub struct SecretEncryptor<B: RingOps = Cpu> {
    params: CkksParams,
    secret: SecretPoly<Eval, B>,
}

impl<B: RingOps> std::fmt::Debug for SecretEncryptor<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecretEncryptor").field("secret", &self.secret).finish()
    }
}

impl<B: RingOps> SecretEncryptor<B> {
    /// Takes a key of these parameters, and holds the secret on the device until it is dropped.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::RingMismatch`]; device errors.
    pub fn new(params: &CkksParams, key: &SecretKey, ring: &Ring<B>) -> Result<Self> {
        params.rlwe().check_same(key.params(), "secret key")?;
        let secret = key.on(ring, Span::chain(ring.spec().q().len()))?;
        Ok(Self { params: params.clone(), secret })
    }

    /// Encrypts each vector of the batch; noise variance 10.5 per coefficient. Constant time.
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
        let noise = plaintext.meta.noise.map(|noise| noise.encrypted_secretly(poly.ring().n() as f64));
        Ok(SeededCiphertext { zero, meta: Meta { noise, ..plaintext.meta } })
    }

    /// Encodes real numbers at the top level, with its scale, and encrypts them: a column of any
    /// length, with number i in slot i mod N/2 of batch entry i div N/2 and zeros after the last,
    /// as in [`pack_column`](crate::circuits::pack_column). An empty column is one entry of zeros.
    /// For other levels, scales and slots use the [`Encoder`]. Noise and timing are those of
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

    /// The same as [`encrypt_real`](Self::encrypt_real), for complex numbers.
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
    /// The same as for [`encrypt_real`](Self::encrypt_real).
    pub fn encrypt_complex(
        &self,
        values: &[Complex64],
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<SeededCiphertext<B>> {
        self.encrypt(&Encoder::new(&self.params, self.secret.get().ring())?.encode_column(values)?, rng)
    }
}

/// Decrypts. Decrypted values that others may see leak information about the key (IND-CPA-D): see
/// [`Decryptor::decrypt_flooded`].
pub struct Decryptor<B: RingOps = Cpu> {
    params: CkksParams,
    secret: SecretPoly<Eval, B>,
}

impl<B: RingOps> std::fmt::Debug for Decryptor<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decryptor").field("secret", &self.secret).finish()
    }
}

impl<B: RingOps> Decryptor<B> {
    /// Takes a key of these parameters, and holds the secret on the device until it is dropped.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::RingMismatch`]; device errors.
    pub fn new(params: &CkksParams, key: &SecretKey, ring: &Ring<B>) -> Result<Self> {
        params.rlwe().check_same(key.params(), "secret key")?;
        let secret = key.on(ring, Span::chain(ring.spec().q().len()))?;
        Ok(Self { params: params.clone(), secret })
    }

    /// Computes c0 + c1 s. The result holds the ciphertext's noise: keep it to yourself.
    /// Constant time.
    ///
    /// # Errors
    /// [`Error::RingMismatch`]; [`Error::KeyMismatch`] for a ciphertext of another secret; device
    /// errors.
    pub fn decrypt(&self, ct: &Ciphertext<B>) -> Result<Plaintext<B>> {
        Ok(Plaintext { poly: PlainPoly::decrypted(ct.pair.message(&self.secret)?), meta: ct.meta })
    }

    column_decryption! {
        /// Decrypts and decodes the real parts of all slots, batch entry by batch entry:
        /// batch x slots numbers, those of a column first. They hold the ciphertext's noise: keep
        /// them to yourself, like those of [`decrypt`](Self::decrypt).
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
        /// The same as for [`decrypt`](Self::decrypt) and [`Encoder::decode`].
        decrypt_real;

        /// The same as [`decrypt_real`](Self::decrypt_real), including the imaginary parts.
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
        /// The same as for [`decrypt_real`](Self::decrypt_real).
        decrypt_complex;
    }

    /// Decrypts and drowns the noise, for values that are shown to others: adds to each coefficient
    /// a fresh uniform integer of `[-2^b, 2^b)`, with b chosen by [`Flooding`] from the
    /// ciphertext's [`noise`](Ciphertext::noise). The addition moves a slot by 2^b
    /// sqrt(N / 3) / scale, root mean square: decrypt at the highest level that the result can
    /// have, with a scale above 2^b. Constant time.
    ///
    /// The promise rests on the estimate, which is a bound for ciphertexts that the evaluator
    /// computed from honest encryptions, and on `decryptions`, over the whole life of the secret
    /// key. It does not hold for ciphertexts that a stranger made. Whatever the estimate says, the
    /// flood is at least that of a fresh encryption by public key.
    ///
    /// # Errors
    /// [`Error::NoiseUnknown`] for a ciphertext of which no noise is known; [`Error::FloodTooWide`]
    /// if flood, values and noise do not fit half of the modulus; [`Error::Argument`] for a
    /// security or a number of decryptions out of range; the same as for
    /// [`decrypt`](Self::decrypt).
    pub fn decrypt_flooded(
        &self,
        ct: &Ciphertext<B>,
        flooding: Flooding,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Plaintext<B>> {
        let bits = self.flood_bits(ct, flooding)?;
        let (ring, span, batch) = (ct.pair.ring(), ct.pair.c[0].span(), ct.batch());
        let flood = flood_poly(ring, span, batch, bits, rng)?;
        let mut plaintext = self.decrypt(ct)?;
        plaintext.poly.add_assign(flood.get())?;
        plaintext.meta.noise = ct.meta.noise.map(|noise| noise.flooded(f64::from(bits), ring.n() as f64));
        Ok(plaintext)
    }

    /// Decrypts for others: [`decrypt_flooded`](Self::decrypt_flooded) with the flood of the
    /// publisher, which counts each entry of the batch. Constant time.
    ///
    /// # Errors
    /// [`Error::DecryptionsSpent`], and the same as for
    /// [`decrypt_flooded`](Self::decrypt_flooded): a flood that does not fit is refused and not
    /// counted.
    pub fn publish(
        &self,
        ct: &Ciphertext<B>,
        publisher: &mut Publisher,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Plaintext<B>> {
        let fits = |flooding| self.flood_bits(ct, flooding);
        publisher.flooded(ct.batch(), fits, |flooding| self.decrypt_flooded(ct, flooding, rng))
    }

    /// The b of [`decrypt_flooded`](Self::decrypt_flooded): the flood hides values of this
    /// ciphertext below multiples of about 2^b / scale.
    ///
    /// # Errors
    /// The same as for [`decrypt_flooded`](Self::decrypt_flooded).
    pub fn flood_bits(&self, ct: &Ciphertext<B>, flooding: Flooding) -> Result<u32> {
        ct.flood_bits(flooding, Floods::ONE)
    }
}
