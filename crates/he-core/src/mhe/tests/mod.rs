//! Several parties, against the sum of their secrets, which a test can know.

mod ciphertexts;
mod distributions;
mod errors;
mod keys;
mod proxy;
mod statements;
mod threshold;
mod transcripts;
mod wire;

use super::*;
use crate::Publisher;
use crate::backend::Cpu;
use crate::ckks::{CkksParams, CkksSpec};
use crate::exact::{ExactSpec, Params, Scheme};
use crate::ring::{Coeff, Ring, SecretPoly, Span};
use crate::rlwe::{EvaluationKeys, Flooding, PublicKey, RlweCiphertext, SecretKey};
use num_bigint::BigInt;
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

pub(super) const SECURITY: u32 = 16;
pub(super) const DECRYPTIONS: u64 = 64;

pub(super) fn seeded(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

pub(super) fn publisher() -> Publisher {
    Publisher::new(SECURITY, DECRYPTIONS).unwrap()
}

pub(super) fn flooding() -> Flooding {
    publisher().flooding()
}

/// Every ciphertext of a session.
pub(super) fn unchecked(session: &Session) -> Transcript {
    Transcript::unchecked_insecure(session)
}

/// Three levels at a scale that leaves a flood of about 44 bits below values.
pub(super) fn ckks(log_n: u32) -> CkksParams {
    let spec = CkksSpec::from_bits(log_n, &[60, 60, 56, 56, 56], &[60, 60], 56.0);
    // Two primes below the first scale, so that floods fit at level 0.
    let mut spec = spec.unwrap();
    spec.level_primes = vec![2, 3, 4, 5];
    spec.groups[0].levels = 4;
    CkksParams::insecure(spec).unwrap()
}

pub(super) fn exact<S: Scheme>(log_n: u32) -> Params<S> {
    let t = if log_n <= 9 { 12289 } else { 65537 };
    Params::insecure(ExactSpec::from_bits(log_n, &[58; 6], &[60, 60], t).unwrap()).unwrap()
}

/// The parties of a session with their secrets.
pub(super) struct World<B: RingOps = Cpu> {
    pub session: Session,
    pub ring: Ring<B>,
    pub keys: Vec<PartyKey>,
}

impl<B: RingOps> World<B> {
    pub fn new(
        backend: B,
        params: &RlweParams,
        parties: &[u32],
        threshold: usize,
        rng: &mut ChaCha20Rng,
    ) -> Self {
        let session = Session::new(params, parties.iter().copied(), threshold, rng.random()).unwrap();
        let ring = Ring::new(backend, params.ring().clone()).unwrap();
        Self::on(session, ring, rng)
    }

    pub fn on(session: Session, ring: Ring<B>, rng: &mut ChaCha20Rng) -> Self {
        let key = |&party: &u32| PartyKey::generate(&session, party, rng).unwrap();
        let keys = session.parties().iter().map(key).collect();
        Self { session, ring, keys }
    }

    /// The collective secret, which nobody has outside of a test.
    pub fn secret(&self, span: Span) -> SecretPoly<Eval, B> {
        let mut sum = Poly::zeros(&self.ring, span, 1).unwrap();
        for key in &self.keys {
            sum.add_assign(key.secret().on(&self.ring, span).unwrap().get()).unwrap();
        }
        SecretPoly::new(sum)
    }

    /// Every party's share of a run.
    pub fn run<P: Protocol<Backend = B>>(
        &self,
        protocol: &P,
        mut share: impl FnMut(&PartyKey) -> Share<P::Kind, B>,
    ) -> P::Output {
        let mut all = Aggregate::new(protocol);
        self.keys.iter().for_each(|key| all.add(&share(key)).unwrap());
        all.finish().unwrap()
    }

    pub fn public_key(&self, rng: &mut ChaCha20Rng) -> PublicKey<B> {
        let generation = PublicKeyGeneration::new(&self.session, &self.ring).unwrap();
        self.run(&generation, |key| generation.share(key, rng).unwrap())
    }

    pub fn relin_key(&self, rng: &mut ChaCha20Rng) -> crate::rlwe::SwitchKey<B> {
        let first = RelinearisationRound1::new(&self.session, &self.ring).unwrap();
        let mut ephemeral = Vec::new();
        let sums = self.run(&first, |key| {
            let (share, secret) = first.share(key, rng).unwrap();
            ephemeral.push(secret);
            share
        });
        let second = RelinearisationRound2::new(&self.session, &self.ring, &sums).unwrap();
        let mut ephemeral = ephemeral.into_iter();
        self.run(&second, |key| second.share(key, ephemeral.next().unwrap(), rng).unwrap())
    }

    pub fn galois_key(&self, g: u64, rng: &mut ChaCha20Rng) -> crate::rlwe::SwitchKey<B> {
        let generation = GaloisKeyGeneration::new(&self.session, &self.ring, g).unwrap();
        self.run(&generation, |key| generation.share(key, rng).unwrap())
    }

    /// Keys for products and these elements.
    pub fn evaluation_keys(&self, elements: &[u64], rng: &mut ChaCha20Rng) -> EvaluationKeys<B> {
        let mut keys = EvaluationKeys::empty(self.session.params(), &self.ring).unwrap();
        keys.insert_relin(self.relin_key(rng)).unwrap();
        elements.iter().for_each(|&g| keys.insert_galois(g, self.galois_key(g, rng)).unwrap());
        keys
    }

    /// A decryption under the sum of the secrets.
    pub fn without_floods<C: Encrypted<Backend = B>>(&self, params: &C::Params, ct: &C) -> C::Plaintext {
        let secret = self.secret(Span::chain(ct.rlwe_pair().chain_limbs()));
        ct.plaintext(params, ct.rlwe_pair().message(&secret).unwrap(), 0.0).unwrap()
    }

    pub fn decrypt<C: Encrypted<Backend = B>>(
        &self,
        params: &C::Params,
        ct: &C,
        rng: &mut ChaCha20Rng,
    ) -> C::Plaintext {
        let all = self.session.parties();
        let decryption = Decryption::new(&unchecked(&self.session), params, ct, all, flooding()).unwrap();
        self.run(&decryption, |key| {
            decryption.share(&key.share(&self.ring).unwrap(), &[], &mut publisher(), rng).unwrap()
        })
    }
}

/// The coefficients of the first entry as integers, centred.
pub(super) fn integers<B: RingOps>(poly: Poly<Coeff, B>) -> Vec<BigInt> {
    let (spec, span, batch) = (poly.ring().spec().clone(), poly.span(), poly.batch());
    let words = poly.to_words().unwrap();
    let primes: Vec<u64> = spec.moduli_of(span).map(|q| q.value()).collect();
    let product: BigInt = primes.iter().map(|&q| BigInt::from(q)).product();
    let n = spec.n();
    let integer = |k: usize| {
        let mut x = BigInt::ZERO;
        for (limb, &q) in primes.iter().enumerate() {
            let others = &product / q;
            let inverse = crate::arith::Modulus::new(q).unwrap().inv(u64::try_from(&others % q).unwrap());
            x += BigInt::from(words[limb * batch * n + k]) * inverse % q * others;
        }
        x %= &product;
        if &x * 2 > product { x - &product } else { x }
    };
    (0..n).map(integer).collect()
}

/// The root mean square of integers.
pub(super) fn rms(values: &[BigInt]) -> f64 {
    use num_traits::ToPrimitive;
    let square = |x: &BigInt| x.to_f64().unwrap().powi(2);
    (values.iter().map(square).sum::<f64>() / values.len() as f64).sqrt()
}

/// The phase of a ciphertext under a secret, less another polynomial.
pub(super) fn noise<B: RingOps>(
    pair: &RlweCiphertext<B>,
    secret: &SecretPoly<Eval, B>,
    message: Option<&Poly<Eval, B>>,
) -> Vec<BigInt> {
    let mut phase = pair.message(secret).unwrap();
    if let Some(message) = message {
        phase.sub_assign(message).unwrap();
    }
    integers(phase.into_coeff().unwrap())
}

/// A secret of somebody outside of the session.
pub(super) fn outsider(params: &RlweParams, rng: &mut ChaCha20Rng) -> SecretKey {
    SecretKey::generate(params, rng)
}
