//! Encryptions of zero, by public key and by secret key.

use super::{RlweCiphertext, RlweParams, SecretKey};
use crate::backend::{Cpu, ExactOps, MessagePhase, RingOps};
use crate::error::{Error, Result};
use crate::key_set::{KeySetId, key_set_accessors};
use crate::ring::{Eval, Poly, Ring, SecretPoly, Seed, Span};
use derive_where::derive_where;
use rand::CryptoRng;

/// (b, a) over the chain, with b = -a s + e, where a comes from a public seed unless another
/// program made the key.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct PublicKey<B: RingOps = Cpu> {
    params: RlweParams,
    seed: Option<Seed>,
    b: Poly<Eval, B>,
    a: Poly<Eval, B>,
    key_set: Option<KeySetId>,
}

/// An encryption of zero by the secret key, whose second part comes from a public seed: half the
/// bytes.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct SeededZero<B: RingOps = Cpu> {
    /// The first part, -a s + e.
    pub c0: Poly<Eval, B>,
    /// The seed of the second part, a.
    pub seed: Seed,
    /// The key set of the secret, if known.
    pub key_set: Option<KeySetId>,
}

key_set_accessors! {
    [B: RingOps] PublicKey<B> { key_set }
}

impl<B: RingOps> PublicKey<B> {
    /// Generates a public key.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for a ring of other parameters; device errors.
    pub fn generate(secret: &SecretKey, ring: &Ring<B>, rng: &mut (impl CryptoRng + ?Sized)) -> Result<Self> {
        let span = Span::chain(ring.spec().q().len());
        let s = secret.on(ring, span)?;
        let zero = SeededZero::generate(&s, span.q, 1, rng)?;
        let key = Self::from_body(secret.params(), zero.seed, zero.c0)?;
        Ok(Self { key_set: zero.key_set, ..key })
    }

    /// Makes a key from the seed of a, and b over the whole chain.
    ///
    /// # Errors
    /// Mismatch of ring or primes; device errors.
    pub fn from_body(params: &RlweParams, seed: Seed, b: Poly<Eval, B>) -> Result<Self> {
        let a = Poly::uniform(b.ring(), Span::chain(params.ring().q().len()), 1, &seed, 0)?;
        Ok(Self { seed: Some(seed), ..Self::from_pair(params, [b, a])? })
    }

    /// Makes a key from b and a over the whole chain, where a comes from no seed of this library.
    /// It takes twice the bytes of a seeded one.
    ///
    /// ```
    /// # use he_core::{backend::Cpu, ckks::*, ring::{Poly, Ring}, rlwe::*};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let params = CkksParams::for_depth(1).build()?;
    /// # let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    /// # let mut rng = he_core::rand::rng();
    /// # let secret = SecretKey::generate(params.rlwe(), &mut rng);
    /// let key = PublicKey::generate(&secret, &ring, &mut rng)?;
    /// let words = [key.body().to_words()?, key.mask().to_words()?];
    /// let poly = |words: &[u64]| Poly::from_words(&ring, key.body().span(), 1, words);
    /// let pair = [poly(&words[0])?, poly(&words[1])?];
    /// let key = PublicKey::from_pair(params.rlwe(), pair)?;
    /// assert!(key.seed().is_none());
    ///
    /// let x = Encryptor::new(&params, &key)?.encrypt_real(&[0.5], &mut rng)?;
    /// let x = Decryptor::new(&params, &secret, &ring)?.decrypt_real(&x)?;
    /// assert!((x[0] - 0.5).abs() < 1e-4);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Mismatch of ring or primes; [`Error::BatchMismatch`] for batches; device errors.
    pub fn from_pair(params: &RlweParams, pair: [Poly<Eval, B>; 2]) -> Result<Self> {
        let span = Span::chain(params.ring().q().len());
        for poly in &pair {
            if poly.ring().spec() != params.ring() || !poly.ring().same(pair[0].ring()) {
                return Err(Error::RingMismatch);
            }
            if poly.span() != span {
                return Err(Error::SpanMismatch { left: poly.span(), right: span });
            }
            if poly.batch() != 1 {
                return Err(Error::BatchMismatch { left: poly.batch(), right: 1 });
            }
        }
        let [b, a] = pair;
        Ok(Self { params: params.clone(), seed: None, b, a, key_set: None })
    }

    /// Copies the key to an equal ring, possibly on another device.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] if degree or primes differ; device errors.
    pub fn to<C: RingOps>(&self, ring: &Ring<C>) -> Result<PublicKey<C>> {
        let key = PublicKey::from_pair(&self.params, [self.b.to(ring)?, self.a.to(ring)?])?;
        Ok(PublicKey { seed: self.seed.clone(), key_set: self.key_set, ..key })
    }

    /// The parameters.
    pub fn params(&self) -> &RlweParams {
        &self.params
    }

    /// The seed of a, which is public; `None` for a key of [`from_pair`](Self::from_pair).
    pub fn seed(&self) -> Option<&Seed> {
        self.seed.as_ref()
    }

    /// b over the whole chain.
    pub fn body(&self) -> &Poly<Eval, B> {
        &self.b
    }

    /// a over the whole chain.
    pub fn mask(&self) -> &Poly<Eval, B> {
        &self.a
    }

    /// The ring.
    pub fn ring(&self) -> &Ring<B> {
        self.b.ring()
    }

    /// Fresh encryptions of zero over the first `q` primes: (b v + e0, a v + e1), v ternary. The
    /// noise e v + e0 + e1 s has variance 10.5 (1 + 4N/3) per coefficient. Constant time.
    ///
    /// # Errors
    /// [`Error::SpanMismatch`] for no or too many primes, [`Error::BatchRange`] for an empty batch;
    /// device errors.
    pub fn encrypt_zero(
        &self,
        q: usize,
        batch: usize,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<RlweCiphertext<B>> {
        self.encrypt_phase(q, batch, None, rng)
    }

    /// The same as [`encrypt_zero`](Self::encrypt_zero), plus the phases of messages of this batch.
    pub(crate) fn encrypt_phase(
        &self,
        q: usize,
        batch: usize,
        message: Option<MessagePhase<'_, B::Buf>>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<RlweCiphertext<B>> {
        let (ring, span) = (self.ring(), Span::chain(q));
        let seed = Seed::random(rng);
        let rows = Poly::<Eval, B>::rows_of(ring, span, batch)?;
        let key = [self.b.operand(), self.a.operand()];
        let pair = ring.prepared().encrypt(rows, &seed, key, message)?;
        let [c0, c1] = pair.map(|buf| Poly::from_buf(ring, span, batch, buf));
        RlweCiphertext::new(c0, c1).map(|pair| pair.of(self.key_set))
    }
}

impl<B: RingOps> SeededZero<B> {
    /// Fresh encryptions of zero by the secret over (at least) the first `q` primes. The noise has
    /// variance 10.5 per coefficient. Constant time.
    ///
    /// # Errors
    /// [`Error::SpanMismatch`] for no or too many primes, [`Error::BatchRange`] for an empty batch;
    /// device errors.
    pub fn generate(
        secret: &SecretPoly<Eval, B>,
        q: usize,
        batch: usize,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self> {
        Self::around(secret, q, batch, None, rng)
    }

    /// The same as [`generate`](Self::generate), plus the phases of messages of this batch.
    pub(crate) fn around(
        secret: &SecretPoly<Eval, B>,
        q: usize,
        batch: usize,
        message: Option<MessagePhase<'_, B::Buf>>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self> {
        let (ring, span) = (secret.get().ring(), Span::chain(q));
        let seed = Seed::random(rng);
        let errors = Seed::random(rng);
        let product = secret.times_uniform(span, batch, &seed, 0)?;
        let mut phase = Poly::error(ring, span, batch, &errors, 0)?;
        if let Some(message) = message {
            phase.add_assign(&Poly::message_phase(ring, span, batch, message)?)?;
        }
        let mut c0 = phase.into_eval()?;
        c0.sub_assign(product.get())?;
        Ok(Self { c0, seed, key_set: secret.key_set() })
    }

    /// Expands the second part.
    ///
    /// # Errors
    /// Device errors.
    pub fn expand(self) -> Result<RlweCiphertext<B>> {
        let a = Poly::uniform(self.c0.ring(), self.c0.span(), self.c0.batch(), &self.seed, 0)?;
        RlweCiphertext::new(self.c0, a).map(|pair| pair.of(self.key_set))
    }
}
