//! Proxy re-encryption: from one secret to a public key, by somebody who has neither secret.

use super::Encrypted;
use crate::backend::special_product;
use crate::backend::{Cpu, RingOps};
use crate::error::{Error, Result};
use crate::key_set::{KeySetId, common, key_set_accessors};
use crate::publisher::Publisher;
use crate::ring::{Coeff, Eval, Poly, Ring, SecretPoly, Seed, Span};
use crate::rlwe::{
    Flooded, Floods, KeyParams as _, RlweCiphertext, RlweParams, SecretKey, SwitchKey, SwitchSource,
    flood_poly, noise,
};
use rand::CryptoRng;

/// The public key from which others make re-encryption keys to its recipient: (b, a) over Q P, with
/// b = -a s + e and a from a public seed. A [`PublicKey`](crate::rlwe::PublicKey) has the primes of
/// Q alone, and switching keys those of P as well.
#[derive(Debug)]
pub struct RecipientKey<B: RingOps = Cpu> {
    pub(crate) params: RlweParams,
    pub(crate) seed: Seed,
    pub(crate) b: Poly<Eval, B>,
    a: Poly<Eval, B>,
    key_set: Option<KeySetId>,
}

key_set_accessors! {
    [B: RingOps] RecipientKey<B> { key_set }
}

impl<B: RingOps> RecipientKey<B> {
    /// The key of a recipient.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for a ring of other parameters; [`Error::Argument`] for parameters
    /// without special primes; device errors.
    pub fn generate(secret: &SecretKey, ring: &Ring<B>, rng: &mut (impl CryptoRng + ?Sized)) -> Result<Self> {
        let params = secret.params();
        super::check_switching(params)?;
        let s = secret.on(ring, params.key_span())?;
        let seed = Seed::random(rng);
        let errors = Seed::random(rng);
        let product = s.times_uniform(params.key_span(), 1, &seed, 0)?;
        let mut b = Poly::error(ring, params.key_span(), 1, &errors, 0)?.into_eval()?;
        b.sub_assign(product.get())?;
        let key = Self::from_body(params, seed, b)?;
        Ok(Self { key_set: Some(secret.key_set()), ..key })
    }

    /// From the seed of a, and b over Q P; of no known key set.
    ///
    /// # Errors
    /// Mismatch of ring or primes; device errors.
    pub fn from_body(params: &RlweParams, seed: Seed, b: Poly<Eval, B>) -> Result<Self> {
        let span = params.key_span();
        if b.ring().spec() != params.ring() {
            return Err(Error::RingMismatch);
        }
        if b.span() != span || b.batch() != 1 {
            return Err(Error::SpanMismatch { left: b.span(), right: span });
        }
        let a = Poly::uniform(b.ring(), span, 1, &seed, 0)?;
        Ok(Self { params: params.clone(), seed, b, a, key_set: None })
    }

    /// The parameters.
    pub fn params(&self) -> &RlweParams {
        &self.params
    }

    /// The ring.
    pub fn ring(&self) -> &Ring<B> {
        self.b.ring()
    }

    /// A fresh encryption of zero over primes that the key has, for each entry of a batch:
    /// (b v + e0, a v + e1), v ternary.
    fn encrypt_zero(
        &self,
        span: Span,
        batch: usize,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<[Poly<Eval, B>; 2]> {
        let ring = self.ring();
        let mask = Seed::random(rng);
        let errors = Seed::random(rng);
        let v: Poly<Coeff, B> = Poly::ternary(ring, span, batch, &mask, 0)?;
        let v = SecretPoly::new(v.into_eval()?);
        let part = |key: &Poly<Eval, B>, index: u32| {
            let mut part = Poly::error(ring, span, batch, &errors, index)?.into_eval()?;
            // Over the chain alone, the key's special primes are left out.
            let chain;
            let key = if span.p > 0 {
                key
            } else {
                chain = key.chain_part()?;
                &chain
            };
            part.mul_add_assign(v.get(), key)?;
            Ok::<_, Error>(part)
        };
        Ok([part(&self.b, 0)?, part(&self.a, 1)?])
    }
}

/// A key that turns ciphertexts of one secret into those of a recipient: a switching key, of which
/// each digit is an encryption under the [recipient's public key](RecipientKey) (Polyakov, Rohloff,
/// Sahu, Vaikuntanathan, *Fast Proxy Re-Encryption for Publish/Subscribe Systems*, 2017). Only the
/// secret that it leads away from is needed to make it.
///
/// The proxy that has it learns nothing (it sees encryptions alone), and cannot go back from the
/// recipient to the sender. But **the proxy and the recipient together learn the sender's secret**:
/// the key is an encryption of it that the recipient can decrypt. Give it to a proxy that does not
/// collude with the recipient.
///
/// A recipient decrypts a re-encrypted ciphertext with the noise in it, which depends on the
/// sender's secret and its other ciphertexts. Security against recipients who see many of them
/// (against honest re-encryption attacks: Cohen, *What about Bob? The Inadequacy of CPA Security
/// for Proxy Reencryption*, 2019) needs a flood, which [`reencrypt`](Self::reencrypt) always adds.
#[derive(Debug)]
pub struct ReencryptionKey<B: RingOps = Cpu> {
    pub(crate) key: SwitchKey<B>,
}

impl<B: RingOps> ReencryptionKey<B> {
    /// A key from a secret to a recipient.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] for a secret of other parameters; device errors.
    pub fn generate(
        from: &SecretKey,
        to: &RecipientKey<B>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self> {
        let params = to.params();
        params.check_same(from.params(), "secret key")?;
        let (ring, span) = (to.ring(), params.key_span());
        let message = from.on(ring, span)?;
        let p_factors = special_product(params.ring(), span.q, span.p);
        let pair = |digit: &std::ops::Range<usize>| {
            let [mut b, a] = to.encrypt_zero(span, 1, rng)?;
            let mut factors = vec![0; span.limbs()];
            factors[digit.clone()].copy_from_slice(&p_factors[digit.clone()]);
            b.scale_add_assign(message.get(), &factors)?;
            Ok([b, a])
        };
        let pairs: Vec<_> = params.digits().iter().map(pair).collect::<Result<_>>()?;
        let mut key = SwitchKey::from_pairs(params, ring, &pairs)?;
        key.set_source(SwitchSource::Secret(Some(from.key_set())))?;
        key.set_key_set(to.key_set());
        Ok(Self { key })
    }

    /// From a switching key that was read, of no known key sets.
    pub(crate) fn from_key(mut key: SwitchKey<B>) -> Result<Self> {
        key.set_source(SwitchSource::Secret(None))?;
        Ok(Self { key })
    }

    /// The key set of the recipient, if known.
    pub fn key_set(&self) -> Option<KeySetId> {
        self.key.key_set()
    }

    /// The key set of the sender, if known.
    pub fn source(&self) -> Option<KeySetId> {
        match self.key.source() {
            Some(SwitchSource::Secret(from)) => from,
            _ => None,
        }
    }

    /// Names the key sets of the sender and of the recipient, for a key that was read.
    ///
    /// # Errors
    /// None in practice.
    pub fn set_key_sets(&mut self, from: Option<KeySetId>, to: Option<KeySetId>) -> Result<()> {
        self.key.set_source(SwitchSource::Secret(from))?;
        self.key.set_key_set(to);
        Ok(())
    }

    /// Re-encrypts a ciphertext for the recipient: a key switch, a fresh encryption of zero under
    /// the recipient's key, and a flood of uniform integers that hides the noise of the ciphertext
    /// and of the switch with the security of the publisher, which counts each entry of the batch.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`] for a ciphertext of another secret or another recipient's key;
    /// [`Error::NoiseUnknown`], [`Error::FloodTooWide`], [`Error::DecryptionsSpent`]; mismatch of
    /// parameters; device errors.
    pub fn reencrypt<C: Encrypted<Backend = B>>(
        &self,
        params: &C::Params,
        ct: &C,
        to: &RecipientKey<B>,
        publisher: &mut Publisher,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<C> {
        ct.check_params(params)?;
        C::rlwe(params).check_same(to.params(), "recipient's key")?;
        common("recipient's key", to.key_set(), self.key_set())?;
        let n = to.ring().n() as f64;
        let switched = ct.key_switched(params, ct.rlwe_pair().switch(&self.key)?, Self::excess_log2(n))?;
        let bits = switched.flood(params, publisher.flooding(), Floods::ONE, Flooded::Ciphertext)?;
        let (span, batch) = (Span::chain(ct.rlwe_pair().chain_limbs()), ct.rlwe_pair().batch());
        publisher.take(batch)?;
        let [mut c0, c1] = to.encrypt_zero(span, batch, rng)?;
        c0.add_assign(flood_poly(to.ring(), span, batch, bits, rng)?.get())?;
        let zero = RlweCiphertext::new(c0, c1)?.of(to.key_set());
        let pair = switched.rlwe_pair().add(&zero)?;
        // Eight root mean squares of the encryption of zero.
        let added = noise::log_add(f64::from(bits), noise::public_log2(n, 1.0) + 3.0);
        switched.flooded(params, pair, added)
    }

    /// By how much the errors of the key, those of encryptions by public key, exceed those of keys
    /// that are made with the secret.
    pub(super) fn excess_log2(n: f64) -> f64 {
        noise::public_log2(n, 1.0) - noise::secret_log2()
    }
}
