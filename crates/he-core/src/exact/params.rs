//! Parameters of exact arithmetic, from a chain.

use super::batching::Batching;
use super::{Noise, NoiseModel, PlainModulus, Scheme};
use crate::arith::{is_prime, ntt_primes_below};
use crate::params::ParamsError;
use crate::ring::RingSpec;
use crate::rlwe::{Fingerprint, RlweParams};
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// A plain, unchecked description of parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactSpec {
    /// log2 of the ring degree.
    pub log_n: u32,
    /// The modulus chain; the last prime is dropped first.
    pub q: Vec<u64>,
    /// The special primes for key switching. If there are none, there are no evaluation keys.
    pub p: Vec<u64>,
    /// The digits of key switching, as ranges of chain primes.
    pub digits: Vec<Range<usize>>,
    /// The plaintext modulus t.
    pub plain_modulus: u64,
}

impl ExactSpec {
    /// Takes the largest primes of these widths that do not divide t, and digits as wide as the
    /// special modulus allows.
    ///
    /// # Errors
    /// [`ParamsError::ModulusRange`] unless 2 <= t < 2^61, [`ParamsError::NotEnoughPrimes`] and
    /// similar errors.
    pub fn from_bits(
        log_n: u32,
        q_bits: &[u32],
        p_bits: &[u32],
        plain_modulus: u64,
    ) -> Result<Self, ParamsError> {
        if !(RingSpec::MIN_LOG_N..=RingSpec::MAX_LOG_N).contains(&log_n) {
            let (lowest, highest) = (RingSpec::MIN_LOG_N, RingSpec::MAX_LOG_N);
            return Err(ParamsError::Degree { found: log_n, lowest, highest });
        }
        // This is checked before any prime is searched for, since every prime divides 0.
        PlainModulus::new(plain_modulus)?;
        let highest = RingSpec::MAX_PRIMES;
        for (chain, found, lowest) in [("modulus chain", q_bits.len(), 1), ("special chain", p_bits.len(), 0)]
        {
            if !(lowest..=highest).contains(&found) {
                return Err(ParamsError::ChainLength { chain, found, lowest, highest });
            }
        }
        let mut taken: Vec<u64> = Vec::new();
        let mut take = |&bits: &u32| -> Result<u64, ParamsError> {
            loop {
                let prime = ntt_primes_below(bits, log_n, 1, &taken)?[0];
                taken.push(prime);
                if !plain_modulus.is_multiple_of(prime) {
                    return Ok(prime);
                }
            }
        };
        let q = q_bits.iter().map(&mut take).collect::<Result<Vec<_>, _>>()?;
        let p = p_bits.iter().map(&mut take).collect::<Result<Vec<_>, _>>()?;
        let digits = RlweParams::greedy_digits(&q, &p);
        Ok(Self { log_n, q, p, digits, plain_modulus })
    }

    /// The same with chain primes that are 1 modulo t, so that in BGV every division by one leaves
    /// the correction factor f of a ciphertext at 1: sums of ciphertexts of different levels, which
    /// otherwise cost about log2(t) / 2 bits, cost nothing.
    ///
    /// # Errors
    /// [`ParamsError::NotEnoughPrimes`] and similar errors: there are about 2^bits / (2 N t bits)
    /// such primes.
    pub fn with_unit_correction_factors(
        log_n: u32,
        q_bits: &[u32],
        p_bits: &[u32],
        plain_modulus: u64,
    ) -> Result<Self, ParamsError> {
        let mut spec = Self::from_bits(log_n, q_bits, p_bits, plain_modulus)?;
        let mut taken = spec.p.clone();
        for (&bits, prime) in q_bits.iter().zip(&mut spec.q) {
            let found = unit_prime(log_n, bits, plain_modulus, &taken);
            *prime = found.ok_or(ParamsError::NotEnoughPrimes { bits, log_n, count: q_bits.len() })?;
            taken.push(*prime);
        }
        spec.digits = RlweParams::greedy_digits(&spec.q, &spec.p);
        Ok(spec)
    }
}

/// The greatest prime of that many bits that is 1 modulo 2N and modulo t, and not taken.
pub(super) fn unit_prime(log_n: u32, bits: u32, plain_modulus: u64, taken: &[u64]) -> Option<u64> {
    let two_n = 2u64 << log_n;
    let shared = 1u64 << plain_modulus.trailing_zeros().min(log_n + 1);
    let step = u128::from(two_n / shared) * u128::from(plain_modulus);
    let top = (1u128 << bits) - 1;
    let candidates = (1..=top / step).rev().map(|i| i * step + 1).take_while(|c| c >> (bits - 1) == 1);
    candidates.filter_map(|c| u64::try_from(c).ok()).find(|c| is_prime(*c) && !taken.contains(c))
}

#[derive(Debug)]
struct Inner {
    rlwe: RlweParams,
    plain: PlainModulus,
    /// t^-1 modulo each prime of the chain.
    t_inverse: Vec<u64>,
    noise: NoiseModel,
    fingerprint: Fingerprint,
    explanation: String,
    /// The transform of slots, if there are slots, once it is needed.
    batching: OnceLock<Option<Arc<Batching>>>,
}

/// Checked parameters of a scheme, as a cheap handle.
#[derive(Debug)]
pub struct Params<S> {
    inner: Arc<Inner>,
    scheme: PhantomData<S>,
}

impl<S> Clone for Params<S> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), scheme: PhantomData }
    }
}

impl<S> PartialEq for Params<S> {
    fn eq(&self, other: &Self) -> bool {
        self.inner.fingerprint == other.inner.fingerprint
    }
}

impl<S> Eq for Params<S> {}

impl<S: Scheme> TryFrom<ExactSpec> for Params<S> {
    type Error = ParamsError;

    /// Accepts parameters of at least 128-bit security.
    fn try_from(spec: ExactSpec) -> Result<Self, ParamsError> {
        let ring = RingSpec::new(spec.log_n, spec.q, spec.p)?;
        Self::with_rlwe(RlweParams::new(ring, spec.digits)?, spec.plain_modulus, String::new())
    }
}

impl<S: Scheme> Params<S> {
    /// Accepts any degree from 2^2 and any chain, whatever the security; for experiments and tests
    /// only.
    ///
    /// # Errors
    /// Any [`ParamsError`] except [`ParamsError::Insecure`].
    pub fn insecure(spec: ExactSpec) -> Result<Self, ParamsError> {
        let ring = RingSpec::new(spec.log_n, spec.q, spec.p)?;
        Self::with_rlwe(RlweParams::insecure(ring, spec.digits)?, spec.plain_modulus, String::new())
    }

    pub(super) fn with_rlwe(rlwe: RlweParams, t: u64, explanation: String) -> Result<Self, ParamsError> {
        let plain = PlainModulus::new(t)?;
        let mut t_inverse = Vec::new();
        for q in rlwe.ring().q_moduli() {
            match q.reduce(t) {
                0 => return Err(ParamsError::PlainModulusNotCoprime { found: t, prime: q.value() }),
                residue => t_inverse.push(q.inv(residue)),
            }
        }
        let noise = NoiseModel::new(&rlwe, t);
        let budget = noise.budget(noise.public(), noise.chain());
        if budget <= 0.0 {
            let log_q = noise.log_q(noise.chain());
            return Err(ParamsError::PlainModulusTooLarge { found: t, excess_bits: -budget, log_q });
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(format!("he {} parameters 1", S::NAME).as_bytes());
        hasher.update(&rlwe.fingerprint().0);
        hasher.update(&t.to_le_bytes());
        let fingerprint = Fingerprint(*hasher.finalize().as_bytes());
        let batching = OnceLock::new();
        let inner = Inner { rlwe, plain, t_inverse, noise, fingerprint, explanation, batching };
        Ok(Self { inner: Arc::new(inner), scheme: PhantomData })
    }

    /// The same parameters, of the same fingerprint, with the noise of keys that so many parties
    /// made together ([`mhe`](crate::mhe)): encryptors and evaluators that are made with them
    /// predict the noise of ciphertexts under the collective secret, which is larger.
    #[must_use]
    pub fn for_parties(&self, parties: usize) -> Self {
        let Inner { rlwe, plain, t_inverse, noise, fingerprint, explanation, batching } = &*self.inner;
        let inner = Inner {
            rlwe: rlwe.clone(),
            plain: *plain,
            t_inverse: t_inverse.clone(),
            noise: noise.for_parties(parties),
            fingerprint: *fingerprint,
            explanation: explanation.clone(),
            batching: batching.clone(),
        };
        Self { inner: Arc::new(inner), scheme: PhantomData }
    }

    /// The plain description.
    pub fn spec(&self) -> ExactSpec {
        let ring = self.rlwe().ring();
        ExactSpec {
            log_n: ring.log_n(),
            q: ring.q().to_vec(),
            p: ring.p().to_vec(),
            digits: self.rlwe().digits().to_vec(),
            plain_modulus: self.plain().value(),
        }
    }

    /// The ring, the digits and the security.
    pub fn rlwe(&self) -> &RlweParams {
        &self.inner.rlwe
    }

    /// The plaintext modulus t.
    pub fn plain(&self) -> &PlainModulus {
        &self.inner.plain
    }

    /// t^-1 modulo each prime of the chain.
    pub(crate) fn t_inverse(&self) -> &[u64] {
        &self.inner.t_inverse
    }

    /// The transform of slots, made once; `None` if there are no slots.
    pub(super) fn batching(&self) -> Result<Option<Arc<Batching>>, ParamsError> {
        if let Some(known) = self.inner.batching.get() {
            return Ok(known.clone());
        }
        let made = match Batching::new(*self.plain().modulus(), self.rlwe().ring().log_n()) {
            Err(ParamsError::NoSlots { .. }) => None,
            batching => Some(Arc::new(batching?)),
        };
        Ok(self.inner.batching.get_or_init(|| made).clone())
    }

    /// The predictions of noise.
    pub fn noise(&self) -> &NoiseModel {
        &self.inner.noise
    }

    /// The top level, which is that of the whole chain. At level l, a ciphertext has the first
    /// l + 1 primes.
    pub fn max_level(&self) -> usize {
        self.rlwe().ring().q().len() - 1
    }

    /// Whether t is a prime equal to 1 modulo 2N, so that there are slots.
    pub fn has_slots(&self) -> bool {
        has_slots(self.plain().value(), self.rlwe().ring().log_n())
    }

    /// The predicted budget of an encryption by public key, in bits.
    pub fn fresh_budget(&self) -> f64 {
        self.noise().budget(self.noise().public(), self.noise().chain())
    }

    /// The noise and the primes after a relinearised product of two ciphertexts of this noise over
    /// this many primes, as [`Evaluator::mul`](super::Evaluator::mul) predicts them; `None` if the
    /// budget does not suffice.
    pub fn after_product(&self, noise: Noise, primes: usize) -> Option<(usize, Noise)> {
        after_product::<S>(self.noise(), noise, primes)
    }

    /// The identity of these parameters in files.
    pub fn fingerprint(&self) -> Fingerprint {
        self.inner.fingerprint
    }

    /// The reasons for the builder's choices; empty for parameters given as a chain.
    pub fn explanation(&self) -> &str {
        &self.inner.explanation
    }
}

pub(super) fn has_slots(t: u64, log_n: u32) -> bool {
    t % (2 << log_n) == 1 && is_prime(t)
}

/// The noise and the primes after a product of two such ciphertexts.
fn after_product<S: Scheme>(model: &NoiseModel, noise: Noise, primes: usize) -> Option<(usize, Noise)> {
    let (at, budget) = model.plan((noise, primes), (noise, primes), S::product_noise);
    let operand = model.switched(noise, primes, at);
    let product = S::product_noise(model, operand, operand, at);
    (budget > 0.0).then(|| (at, model.key_switched(product, at)))
}

/// The primes and the noise after that many products, one after the other, of equal operands.
pub(super) fn after_products<S: Scheme>(
    model: &NoiseModel,
    noise: Noise,
    primes: usize,
    depth: usize,
) -> Option<(usize, Noise)> {
    (0..depth).try_fold((primes, noise), |(primes, noise), _| after_product::<S>(model, noise, primes))
}
