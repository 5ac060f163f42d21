//! Encryption, decryption, and the actual noise of a ciphertext.

use super::{Ciphertext, Encoder, Message, Params, PlainValue, Plaintext, Scheme, SeededCiphertext};
use crate::backend::{Cpu, PhaseModT, RingOps, reduce_phase};
use crate::error::{Error, Result};
use crate::parallel::*;
use crate::publisher::Publisher;
use crate::ring::{Eval, Magnitudes, Ring, SecretPoly, Span};
use crate::rlwe::{KeyParams as _, PublicKey, SecretKey, SeededZero};
use rand::CryptoRng;

/// Encrypts by public key.
#[derive(Debug)]
pub struct Encryptor<'a, S: Scheme, B: RingOps = Cpu> {
    params: Params<S>,
    key: &'a PublicKey<B>,
}

impl<'a, S: Scheme, B: RingOps> Encryptor<'a, S, B> {
    /// Makes an encryptor with a key of these parameters.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`].
    pub fn new(params: &Params<S>, key: &'a PublicKey<B>) -> Result<Self> {
        params.rlwe().check_same(key.params(), "public key")?;
        Ok(Self { params: params.clone(), key })
    }

    /// Encrypts each plaintext of the batch at the top level; noise variance 10.5 (1 + 4N/3) per
    /// coefficient. Constant time.
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

    /// The same as [`encrypt`](Self::encrypt), for a message that is already on the device.
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
        let phase = message.phase(&self.params, meta.correction_factor);
        let pair = self.key.encrypt_phase(meta.primes, message.batch(), Some(phase), rng)?;
        Ok(Ciphertext::with_meta(pair, meta))
    }

    /// Encodes integers in slots and encrypts them: a column of any length, with number i in slot i
    /// mod N (the first row first) of batch entry i div N and zeros after the last. An empty column
    /// is one entry of zeros. For other layouts use the [`Encoder`]. Noise and timing are those of
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
    /// Takes a key of these parameters, and holds the secret on the device until it is dropped.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::RingMismatch`]; device errors.
    pub fn new(params: &Params<S>, key: &SecretKey, ring: &Ring<B>) -> Result<Self> {
        params.rlwe().check_same(key.params(), "secret key")?;
        let secret = key.on(ring, Span::chain(ring.spec().q().len()))?;
        Ok(Self { params: params.clone(), secret })
    }

    /// Encrypts each plaintext of the batch at the top level; noise variance 10.5 per coefficient.
    /// Constant time.
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

    /// The same as [`encrypt`](Self::encrypt), for a message that is already on the device.
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
        let phase = message.phase(&self.params, meta.correction_factor);
        let zero = SeededZero::around(&self.secret, meta.primes, message.batch(), Some(phase), rng)?;
        Ok(SeededCiphertext::with_meta(zero, meta))
    }

    /// Encodes integers in slots and encrypts them: a column of any length, with number i in slot i
    /// mod N (the first row first) of batch entry i div N and zeros after the last. An empty column
    /// is one entry of zeros. For other layouts use the [`Encoder`]. Noise and timing are those of
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
    /// Takes a key of these parameters, and holds the secret on the device until it is dropped.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::RingMismatch`]; device errors.
    pub fn new(params: &Params<S>, key: &SecretKey, ring: &Ring<B>) -> Result<Self> {
        params.rlwe().check_same(key.params(), "secret key")?;
        Ok(Self { params: params.clone(), secret: key.on(ring, Span::chain(ring.spec().q().len()))? })
    }

    /// Reads t (c0 + c1 s) modulo the primes of the ciphertext, [f m]_t + t e, as coefficients.
    fn with_scaled_phase<T>(
        &self,
        ct: &Ciphertext<S, B>,
        read: impl FnOnce(&[u64]) -> Result<T>,
    ) -> Result<T> {
        ct.check(&self.params)?;
        ct.pair.with_phase_words(&self.secret, &self.params.t_residues(ct.meta.primes), read)
    }

    /// The plaintexts: the representative of t (c0 + c1 s) in `[-Q/2, Q/2)`, modulo t, divided by
    /// f. The result is correct while the noise budget is positive. Beyond that it is unrelated to
    /// the message, without an error; [`decrypt_checked`](Self::decrypt_checked) detects this.
    /// Constant time.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] and similar errors for a ciphertext of other parameters;
    /// [`Error::KeyMismatch`] for one of another secret; device errors.
    pub fn decrypt(&self, ct: &Ciphertext<S, B>) -> Result<Plaintext> {
        self.decrypt_message(ct)?.into_plaintext()
    }

    /// Decrypts and decodes all slots, batch entry by batch entry, the first row first: batch x N
    /// numbers, those of a column first, as `u64` in `[0, t)` or as `i64` in `[-t/2, t/2)`. The
    /// result is correct while the noise budget is positive, as for [`decrypt`](Self::decrypt).
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
    /// [`ParamsError::NoSlots`](crate::params::ParamsError::NoSlots); the same as for
    /// [`decrypt`](Self::decrypt).
    pub fn decrypt_slots<T: PlainValue>(&self, ct: &Ciphertext<S, B>) -> Result<Vec<T>> {
        Ok(Encoder::new(&self.params)?.decode(&self.decrypt(ct)?)?.concat())
    }

    /// Decrypts like [`decrypt`](Self::decrypt), but measures the noise, and refuses ciphertexts
    /// with less than `margin_bits` of [`noise_budget`](Self::noise_budget) left.
    /// [`DECRYPTION_MARGIN`] distinguishes wrong secret keys and ciphertexts beyond their budget,
    /// whose phases are uniform modulo Q, from correct ones with an error of 2^-N. The noise that a
    /// ciphertext claims does not matter. This is one pass over the phase on the host, whatever the
    /// device.
    ///
    /// A decryption that fails or errs reveals information about the secret key: do not let those
    /// who send ciphertexts see which ones do (see SECURITY.md).
    ///
    /// Constant time except for one number, the greatest coefficient of each phase: its logarithm,
    /// and its comparison with the margin, once for the whole batch.
    ///
    /// # Errors
    /// [`Error::NoiseBudget`]; [`Error::Argument`] for a margin that is negative or not a number;
    /// the same as for [`decrypt`](Self::decrypt).
    pub fn decrypt_checked(&self, ct: &Ciphertext<S, B>, margin_bits: f64) -> Result<Plaintext> {
        if margin_bits.is_nan() || margin_bits < 0.0 {
            return Err(Error::domain(
                "margin",
                format!("{margin_bits} bits asked"),
                "0 or more are possible",
            ));
        }
        self.with_scaled_phase(ct, |words| ct.plaintext_of(&self.params, words, margin_bits))
    }

    /// Decrypts for others. The *predicted* noise must leave a budget in which no coefficient of
    /// all published decryptions fails, except with probability 2^-security
    /// ([`Publisher`]): log2(k / 8), and [`DECRYPTION_MARGIN`] on top of that. Whether it does is
    /// known without the key, so that a refusal reveals nothing. Then it is decrypted like
    /// [`decrypt_checked`](Self::decrypt_checked) with that margin, which honest ciphertexts never
    /// fall short of, and counted. Timing is as there.
    ///
    /// Predictions are averages over keys and encryptions, and do not cover ciphertexts that a
    /// stranger made and whose noise they stated: publish the results of your own computations. A
    /// false statement makes no wrong result, since the noise is measured as well; what it gains is
    /// a refusal that depends on the key.
    ///
    /// # Errors
    /// [`Error::PredictedBudget`] and [`Error::DecryptionsSpent`], neither of which counts;
    /// [`Error::NoiseBudget`] for a ciphertext that states less noise than it has, or of another
    /// key, which counts; the same as for [`decrypt`](Self::decrypt).
    pub fn publish(&self, ct: &Ciphertext<S, B>, publisher: &mut Publisher) -> Result<Plaintext> {
        ct.check(&self.params)?;
        let needed_bits = publisher.margin_bits(ct.pair.ring().n()) + DECRYPTION_MARGIN;
        let predicted_bits = self.params.noise().budget(ct.meta.noise, ct.meta.primes);
        if predicted_bits.is_nan() || predicted_bits < needed_bits {
            return Err(Error::PredictedBudget { predicted_bits, needed_bits });
        }
        publisher.take(ct.batch())?;
        self.decrypt_checked(ct, DECRYPTION_MARGIN)
    }

    /// The same as [`decrypt`](Self::decrypt), into the memory of the device.
    ///
    /// # Errors
    /// The same as for [`decrypt`](Self::decrypt).
    pub fn decrypt_message(&self, ct: &Ciphertext<S, B>) -> Result<Message<B>> {
        ct.check(&self.params)?;
        let plain = *self.params.plain();
        let (factors, modulus) = (self.params.t_residues(ct.meta.primes), plain.modulus());
        let after = self.params.inverse_correction(ct.meta.correction_factor)?;
        let to = PhaseModT { factors: &factors, modulus, after };
        Ok(Message {
            ring: ct.pair.ring().clone(),
            plain,
            batch: ct.batch(),
            buf: ct.pair.phase_mod_t(&self.secret, to)?,
        })
    }

    /// Measures the bits that are left for each batch entry before decryption fails: log2
    /// Q - log2(2 max |[f m]_t + t e|), at most log2 Q - 1. This reveals the noise, which depends
    /// on the secret, so it is for the holder of the key. Constant time except for the logarithm of
    /// each entry's greatest coefficient.
    ///
    /// # Errors
    /// The same as for [`decrypt`](Self::decrypt).
    pub fn noise_budget(&self, ct: &Ciphertext<S, B>) -> Result<Vec<f64>> {
        self.with_scaled_phase(ct, |words| Ok(ct.budgets(&self.params, words)))
    }
}

impl<S: Scheme> Params<S> {
    /// t modulo the first `primes` primes.
    pub(crate) fn t_residues(&self, primes: usize) -> Vec<u64> {
        let t = self.plain().value();
        self.rlwe().ring().q_moduli()[..primes].iter().map(|q| q.reduce(t)).collect()
    }

    /// 1 / f modulo t.
    fn inverse_correction(&self, f: u64) -> Result<u64> {
        let why = || format!("{f} is not a unit modulo {}", self.plain().value());
        self.plain().invert(f).ok_or_else(|| Error::argument("correction factor", why()))
    }
}

impl<S: Scheme, B: RingOps> Ciphertext<S, B> {
    /// The plaintexts of a ciphertext whose phase, multiplied by t, has these coefficients, if it
    /// leaves this margin.
    ///
    /// # Errors
    /// [`Error::NoiseBudget`]; [`Error::Argument`] for a correction factor without an inverse.
    pub(crate) fn plaintext_of(
        &self,
        params: &Params<S>,
        words: &[u64],
        margin_bits: f64,
    ) -> Result<Plaintext> {
        let after = params.inverse_correction(self.meta.correction_factor)?;
        let left_bits = self.budgets(params, words).into_iter().fold(f64::INFINITY, f64::min);
        if left_bits < margin_bits {
            return Err(Error::NoiseBudget { left_bits, margin_bits });
        }
        let (plain, spec, rows) = (*params.plain(), self.pair.ring().spec(), self.pair.c[0].rows());
        let factors = params.t_residues(self.meta.primes);
        let to = PhaseModT { factors: &factors, modulus: plain.modulus(), after };
        Ok(Plaintext { plain, n: spec.n(), coefficients: reduce_phase(spec, rows, words, to) })
    }

    /// The bits that such a phase leaves for each batch entry.
    fn budgets(&self, params: &Params<S>, words: &[u64]) -> Vec<f64> {
        let (n, batch) = (self.pair.ring().n(), self.batch());
        let magnitudes = Magnitudes::new(&params.rlwe().ring().q_moduli()[..self.meta.primes]);
        let log_q = params.noise().log_q(self.meta.primes);
        let row = |entry: usize, i: usize| &words[(i * batch + entry) * n..][..n];
        let greatest = |entry: usize| magnitudes.greatest_log2(n, |i| row(entry, i));
        (0..batch).into_par_iter().map(|entry| log_q - 1.0 - greatest(entry)).collect()
    }
}

/// The noise budget, in bits, that [`Decryptor::decrypt_checked`] should require unless more is
/// known. It requires all coefficients to lie below Q / 4, which holds for uniform ones modulo Q
/// with probability 2^-N.
pub const DECRYPTION_MARGIN: f64 = 1.0;
