//! Encryption, decryption, and the noise that a ciphertext really has.

use super::{Ciphertext, Encoder, Message, Params, PlainValue, Plaintext, Scheme, SeededCiphertext};
use crate::arith::Modulus;
use crate::backend::{Cpu, Remainders, RingOps};
use crate::error::{Error, Result};
use crate::ring::{Eval, Ring, SecretPoly, Span};
use crate::rlwe::{PublicKey, SecretKey, SeededZero};
use num_bigint::BigUint;
use num_traits::ToPrimitive;
use rand::CryptoRng;
use zeroize::Zeroizing;

/// Encrypts by public key.
#[derive(Debug)]
pub struct Encryptor<'a, S: Scheme, B: RingOps = Cpu> {
    params: Params<S>,
    key: &'a PublicKey<B>,
}

impl<'a, S: Scheme, B: RingOps> Encryptor<'a, S, B> {
    /// With a key of these parameters.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`].
    pub fn new(params: &Params<S>, key: &'a PublicKey<B>) -> Result<Self> {
        params.rlwe().expect(key.params(), "public key")?;
        Ok(Self { params: params.clone(), key })
    }

    /// A fresh encryption of each plaintext of the batch, at the top level; noise variance 10.5 (1 + 4N/3) a coefficient.
    /// Constant time.
    ///
    /// # Errors
    /// [`Error::Argument`] for a plaintext of other parameters; device errors.
    pub fn encrypt(
        &self,
        plaintext: &Plaintext,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Ciphertext<S, B>> {
        plaintext.check(self.params.plain(), self.key.ring().n())?;
        self.encrypt_message(&Message::new(self.key.ring(), plaintext)?, rng)
    }

    /// [`encrypt`](Self::encrypt) of what is on the device already.
    ///
    /// # Errors
    /// [`Error::Argument`] for a message of another t, [`Error::RingMismatch`]; device errors.
    pub fn encrypt_message(
        &self,
        message: &Message<B>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Ciphertext<S, B>> {
        message.check(self.params.plain(), self.key.ring())?;
        let meta = self.params.fresh(self.params.noise().public());
        let phase = message.phase(&self.params, meta.factor);
        let pair = self.key.encrypt_phase(meta.primes, message.batch(), Some(phase), rng)?;
        Ok(Ciphertext::with_meta(pair, meta))
    }

    /// Encodes integers in slots and encrypts them: a column of any length, number i in slot i mod
    /// N (the first row first) of batch entry i div N, zeros after the last. An empty column is one
    /// entry of zeros. Other layouts are the [`Encoder`]'s. Noise and timing as for
    /// [`encrypt`](Self::encrypt).
    ///
    /// ```
    /// # use he_core::{backend::Cpu, bfv::*, ring::Ring, rlwe::*};
    /// # fn main() -> he_core::Result<()> {
    /// # let params = BfvParams::for_depth(65537, 1).slots().build()?;
    /// # let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    /// # let mut rng = he_core::rand::rng();
    /// # let secret = SecretKey::generate(params.rlwe(), &mut rng);
    /// let public = PublicKey::generate(&secret, &ring, &mut rng)?;
    /// let encryptor = BfvEncryptor::new(&params, &public)?;
    /// let x = encryptor.encrypt_slots(&[3i64, -5, 7], &mut rng)?;
    /// let y: Vec<i64> = BfvDecryptor::new(&params, &secret, &ring)?.decrypt_slots(&x)?;
    /// assert_eq!(y[..4], [3, -5, 7, 0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ParamsError::NoSlots`](crate::params::ParamsError::NoSlots) unless t is a prime equal to 1
    /// modulo 2N; [`Error::PlainRange`]; device errors.
    pub fn encrypt_slots<T: PlainValue>(
        &self,
        values: &[T],
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Ciphertext<S, B>> {
        self.encrypt(&Encoder::new(&self.params)?.encode_column(values)?, rng)
    }
}

/// Encrypts by secret key: less noise and half the bytes.
#[derive(Debug)]
pub struct SecretEncryptor<S: Scheme, B: RingOps = Cpu> {
    params: Params<S>,
    secret: SecretPoly<Eval, B>,
}

impl<S: Scheme, B: RingOps> SecretEncryptor<S, B> {
    /// With a key of these parameters; holds the secret on the device until it is dropped.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::RingMismatch`]; device errors.
    pub fn new(params: &Params<S>, key: &SecretKey, ring: &Ring<B>) -> Result<Self> {
        params.rlwe().expect(key.params(), "secret key")?;
        let secret = key.on(ring, Span::chain(ring.spec().q().len()))?;
        Ok(Self { params: params.clone(), secret })
    }

    /// A fresh encryption of each plaintext of the batch, at the top level; noise variance 10.5 a coefficient. Constant time.
    ///
    /// # Errors
    /// [`Error::Argument`] for a plaintext of other parameters; device errors.
    pub fn encrypt(
        &self,
        plaintext: &Plaintext,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<SeededCiphertext<S, B>> {
        let ring = self.secret.get().ring();
        plaintext.check(self.params.plain(), ring.n())?;
        self.encrypt_message(&Message::new(ring, plaintext)?, rng)
    }

    /// [`encrypt`](Self::encrypt) of what is on the device already.
    ///
    /// # Errors
    /// [`Error::Argument`] for a message of another t, [`Error::RingMismatch`]; device errors.
    pub fn encrypt_message(
        &self,
        message: &Message<B>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<SeededCiphertext<S, B>> {
        message.check(self.params.plain(), self.secret.get().ring())?;
        let meta = self.params.fresh(self.params.noise().secret());
        let phase = message.phase(&self.params, meta.factor);
        let zero = SeededZero::around(&self.secret, meta.primes, message.batch(), Some(phase), rng)?;
        Ok(SeededCiphertext::with_meta(zero, meta))
    }

    /// Encodes integers in slots and encrypts them: a column of any length, number i in slot i mod
    /// N (the first row first) of batch entry i div N, zeros after the last. An empty column is one
    /// entry of zeros. Other layouts are the [`Encoder`]'s. Noise and timing as for
    /// [`encrypt`](Self::encrypt).
    ///
    /// ```
    /// # use he_core::{backend::Cpu, bfv::*, ring::Ring, rlwe::*};
    /// # fn main() -> he_core::Result<()> {
    /// # let params = BfvParams::for_depth(65537, 1).slots().build()?;
    /// # let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    /// # let mut rng = he_core::rand::rng();
    /// # let secret = SecretKey::generate(params.rlwe(), &mut rng);
    /// let encryptor = BfvSecretEncryptor::new(&params, &secret, &ring)?;
    /// let x = encryptor.encrypt_slots(&[3i64, -5, 7], &mut rng)?.expand()?;
    /// let y: Vec<i64> = BfvDecryptor::new(&params, &secret, &ring)?.decrypt_slots(&x)?;
    /// assert_eq!(y[..4], [3, -5, 7, 0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ParamsError::NoSlots`](crate::params::ParamsError::NoSlots) unless t is a prime equal to 1
    /// modulo 2N; [`Error::PlainRange`]; device errors.
    pub fn encrypt_slots<T: PlainValue>(
        &self,
        values: &[T],
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<SeededCiphertext<S, B>> {
        self.encrypt(&Encoder::new(&self.params)?.encode_column(values)?, rng)
    }
}

/// Decrypts.
#[derive(Debug)]
pub struct Decryptor<S: Scheme, B: RingOps = Cpu> {
    params: Params<S>,
    secret: SecretPoly<Eval, B>,
}

impl<S: Scheme, B: RingOps> Decryptor<S, B> {
    /// With a key of these parameters; holds the secret on the device until it is dropped.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::RingMismatch`]; device errors.
    pub fn new(params: &Params<S>, key: &SecretKey, ring: &Ring<B>) -> Result<Self> {
        params.rlwe().expect(key.params(), "secret key")?;
        Ok(Self { params: params.clone(), secret: key.on(ring, Span::chain(ring.spec().q().len()))? })
    }

    /// t (c0 + c1 s) modulo the primes of the ciphertext: [f m]_t + t e. Beside the ciphertext it tells the secret.
    fn scaled_phase(&self, ct: &Ciphertext<S, B>) -> Result<SecretPoly<Eval, B>> {
        ct.check(&self.params)?;
        let mut phase = ct.pair.message(&self.secret)?;
        phase.scale_assign(&self.factors(ct))?;
        Ok(SecretPoly::new(phase))
    }

    /// t modulo the primes of the ciphertext.
    fn factors(&self, ct: &Ciphertext<S, B>) -> Vec<u64> {
        let t = self.params.plain().value();
        self.primes(ct).iter().map(|q| q.reduce(t)).collect()
    }

    fn primes(&self, ct: &Ciphertext<S, B>) -> Vec<Modulus> {
        let primes = &self.params.rlwe().ring().q()[..ct.meta.primes];
        primes.iter().filter_map(|&q| Modulus::new(q).ok()).collect()
    }

    /// The plaintexts: the representative of t (c0 + c1 s) in `[-Q/2, Q/2)`, modulo t, divided by
    /// f. Right while the noise budget is positive; beyond, the result is unrelated to the message
    /// and no error tells so. Constant time.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] and the like for a ciphertext of other parameters;
    /// [`Error::KeyMismatch`] for one of another secret; device errors.
    pub fn decrypt(&self, ct: &Ciphertext<S, B>) -> Result<Plaintext> {
        self.decrypt_message(ct)?.into_plaintext()
    }

    /// Decrypts and decodes all slots, one batch entry after the other, the first row first: batch
    /// x N numbers, those of a column first, as `u64` in `[0, t)` or as `i64` in `[-t/2, t/2)`.
    /// Right while the noise budget is positive, as [`decrypt`](Self::decrypt).
    ///
    /// ```
    /// # use he_core::{backend::Cpu, bfv::*, ring::Ring, rlwe::*};
    /// # fn main() -> he_core::Result<()> {
    /// # let params = BfvParams::for_depth(65537, 1).slots().build()?;
    /// # let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    /// # let mut rng = he_core::rand::rng();
    /// # let secret = SecretKey::generate(params.rlwe(), &mut rng);
    /// # let encryptor = BfvSecretEncryptor::new(&params, &secret, &ring)?;
    /// # let x = encryptor.encrypt_slots(&[3i64, -5], &mut rng)?.expand()?;
    /// let decryptor = BfvDecryptor::new(&params, &secret, &ring)?;
    /// assert_eq!(decryptor.decrypt_slots::<i64>(&x)?[..3], [3, -5, 0]);
    /// assert_eq!(decryptor.decrypt_slots::<u64>(&x)?[..3], [3, 65532, 0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ParamsError::NoSlots`](crate::params::ParamsError::NoSlots); as for
    /// [`decrypt`](Self::decrypt).
    pub fn decrypt_slots<T: PlainValue>(&self, ct: &Ciphertext<S, B>) -> Result<Vec<T>> {
        Ok(Encoder::new(&self.params)?.decode(&self.decrypt(ct)?)?.concat())
    }

    /// [`decrypt`](Self::decrypt) to the memory of the device.
    ///
    /// # Errors
    /// As for [`decrypt`](Self::decrypt).
    pub fn decrypt_message(&self, ct: &Ciphertext<S, B>) -> Result<Message<B>> {
        ct.check(&self.params)?;
        let plain = *self.params.plain();
        let after = plain.invert(ct.meta.factor).ok_or_else(|| Error::Argument {
            what: "factor",
            why: format!("{} is no unit modulo {}", ct.meta.factor, plain.value()),
        })?;
        let (factors, modulus) = (self.factors(ct), plain.modulus());
        let to = Remainders { factors: &factors, modulus, after };
        Ok(Message {
            ring: ct.pair.ring().clone(),
            plain,
            batch: ct.batch(),
            buf: ct.pair.remainders(&self.secret, to)?,
        })
    }

    /// The bits that are really left for each batch entry before decryption fails: log2 Q - log2(2 max |[f m]_t + t e|), at most
    /// log2 Q - 1. Tells the noise, which tells of the secret: for whoever holds the key. Variable time.
    ///
    /// # Errors
    /// As for [`decrypt`](Self::decrypt).
    pub fn noise_budget(&self, ct: &Ciphertext<S, B>) -> Result<Vec<f64>> {
        let phase = SecretPoly::new(self.scaled_phase(ct)?.get().duplicate()?.into_coeff()?);
        let words = Zeroizing::new(phase.get().to_words()?);
        let (n, batch, primes) = (ct.pair.ring().n(), ct.batch(), self.primes(ct));
        let product: BigUint = primes.iter().map(|q| BigUint::from(q.value())).product();
        let hats: Vec<BigUint> = primes.iter().map(|q| &product / q.value()).collect();
        let inverses: Vec<u64> =
            primes.iter().zip(&hats).map(|(q, hat)| q.inv((hat % q.value()).to_u64().unwrap_or(0))).collect();
        let magnitude = |entry: usize, k: usize| -> BigUint {
            let term = |i: usize| {
                let word = words[(i * batch + entry) * n + k];
                &hats[i] * primes[i].mul(word, inverses[i])
            };
            let x = (0..primes.len()).map(term).sum::<BigUint>() % &product;
            let negative = &product - &x;
            x.min(negative)
        };
        Ok((0..batch)
            .map(|entry| {
                let greatest = (0..n).map(|k| magnitude(entry, k)).max().unwrap_or_default();
                log2(&product) - 1.0 - log2(&greatest.max(BigUint::from(1u8)))
            })
            .collect())
    }
}

/// log2 of a positive number.
fn log2(x: &BigUint) -> f64 {
    let shift = x.bits().saturating_sub(64);
    libm::log2((x >> shift).to_f64().unwrap_or(1.0)) + shift as f64
}
