//! Encryption and decryption of words.

use super::codec::Codec;
use super::role::{Operand, Product, Role};
use super::{ReducedWords, SeededWords, WordParams, Words};
use crate::backend::{Cpu, RingOps, center_down};
use crate::ckks::{Encoder, SecretEncryptor};
use crate::error::Result;
use crate::ring::{Eval, Ring, SecretPoly, Span};
use crate::rlwe::{KeyParams as _, RlweCiphertext, SecretKey};
use num_complex::Complex64;
use rand::CryptoRng;
use zeroize::Zeroizing;

/// Encrypts words by the secret key.
#[derive(Debug)]
pub struct WordEncryptor<B: RingOps = Cpu> {
    codec: Codec,
    encoder: Encoder<B>,
    encryptor: SecretEncryptor<B>,
}

impl<B: RingOps> WordEncryptor<B> {
    /// Takes a key of [`WordParams::ckks`], and holds the secret on the device until it is dropped.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`](crate::Error::ParamsMismatch),
    /// [`Error::RingMismatch`](crate::Error::RingMismatch); device errors.
    pub fn new(params: &WordParams, key: &SecretKey, ring: &Ring<B>) -> Result<Self> {
        let encryptor = SecretEncryptor::new(params.ckks(), key, ring)?;
        let encoder = Encoder::new(params.ckks(), ring)?;
        Ok(Self { codec: Codec::new(params, key.key_set()), encoder, encryptor })
    }

    /// Encrypts words modulo 2^k, [`words_per_ciphertext`](WordParams::words_per_ciphertext) in
    /// each entry of the batch and zeros after the last. The noise of a coefficient has variance
    /// 10.5, and its rounding 1/12. Constant time.
    ///
    /// # Errors
    /// [`Error::BatchRange`](crate::Error::BatchRange) without words; device errors.
    pub fn encrypt<R: Operand>(
        &self,
        words: &[u64],
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<SeededWords<R, B>> {
        let params = self.codec.params();
        let slots = self.codec.slots::<R>(words);
        let vectors: Vec<&[Complex64]> = slots.chunks_exact(params.ckks().slots()).collect();
        let encoding = params.ckks().encoding().scale(R::scale(params));
        let plaintext = self.encoder.encode_batch(&vectors, encoding)?;
        SeededWords::from_ciphertext(params, self.encryptor.encrypt(&plaintext, rng)?)
    }
}

/// Decrypts words. A result that others see tells nothing of the noise as long as it is right,
/// which it is but for the probability of [`WordParams::failure_log2`] if the ciphertext was
/// computed from honest encryptions.
pub struct WordDecryptor<B: RingOps = Cpu> {
    codec: Codec,
    ring: Ring<B>,
    secret: SecretPoly<Eval, B>,
}

impl<B: RingOps> std::fmt::Debug for WordDecryptor<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WordDecryptor").field("secret", &self.secret).finish()
    }
}

impl<B: RingOps> WordDecryptor<B> {
    /// Takes a key of [`WordParams::ckks`], and holds the secret on the device until it is dropped.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`](crate::Error::ParamsMismatch),
    /// [`Error::RingMismatch`](crate::Error::RingMismatch); device errors.
    pub fn new(params: &WordParams, key: &SecretKey, ring: &Ring<B>) -> Result<Self> {
        params.ckks().rlwe().check_same(key.params(), "secret key")?;
        let secret = key.on(ring, Span::chain(1))?;
        Ok(Self { codec: Codec::new(params, key.key_set()), ring: ring.clone(), secret })
    }

    /// The words of all ciphertexts of the batch, with those that encryption filled up.
    /// Constant time.
    ///
    /// # Errors
    /// [`Error::BadDigits`](crate::Error::BadDigits) for a wrong key or a damaged ciphertext;
    /// [`Error::KeyMismatch`](crate::Error::KeyMismatch),
    /// [`Error::TooManyTerms`](crate::Error::TooManyTerms),
    /// [`Error::RingMismatch`](crate::Error::RingMismatch); device errors.
    pub fn decrypt<R: Role>(&self, words: &Words<R, B>) -> Result<Zeroizing<Vec<u64>>> {
        let params = self.codec.params();
        words.check(params, &self.ring)?;
        self.read::<R>(&words.pair, R::scale(params), |centred| centred)
    }

    /// The same for reduced products.
    ///
    /// # Errors
    /// The same as for [`decrypt`](Self::decrypt);
    /// [`Error::ParamsMismatch`](crate::Error::ParamsMismatch).
    pub fn decrypt_reduced(&self, words: &ReducedWords) -> Result<Zeroizing<Vec<u64>>> {
        let params = self.codec.params();
        words.check(params)?;
        // The phase is below 2^(bits + 1 + log2 N) and does not wrap around the prime.
        let shift = 64 - params.spec().result_bits;
        let centred = |phase: i64| (phase << shift) >> shift;
        self.read::<Product>(&words.lifted(&self.ring)?, ReducedWords::scale_of(params), centred)
    }

    /// The words of the phase, whose coefficients are taken through a function once they are
    /// centred.
    fn read<R: Role>(
        &self,
        pair: &RlweCiphertext<B>,
        scale: f64,
        reduced: impl Fn(i64) -> i64 + Sync,
    ) -> Result<Zeroizing<Vec<u64>>> {
        let q = *self.ring.spec().modulus(Span::chain(1), 0);
        let centred = |c: u64| reduced(center_down(&q, c));
        pair.with_phase_words(&self.secret, &[1], |phase| self.codec.words::<R>(phase, centred, scale))
            .map(|words| Zeroizing::new(words.to_vec()))
    }
}
