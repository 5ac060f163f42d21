//! Keys that switch ciphertexts from one secret to another.

use super::sealed::Sealed;
use super::{EvaluationKey, GadgetKey, KeyParams, RlweParams, SecretKey, SwitchSource, noise};
use crate::backend::{Cpu, KeySwitchOps, KeySwitchShape, RingOps, special_product};
use crate::error::{Error, Result};
use crate::ring::{Automorphism, Eval, Poly, Ring, SecretPoly, Seed, check_galois};
use rand::CryptoRng;

/// A key that switches to a secret, on a device: `[digit][b | a][limb][coefficient]`, one buffer.
///
/// It has parameters of its own, [`params`](Self::params): the primes Q and P that it lives over
/// and the digits into which it takes a ciphertext apart. They may be a prefix of the ciphertext's,
/// so that a key which is needed at low levels alone is as small as these levels; it serves
/// ciphertexts over as many primes as it has or fewer. Relinearisation and Galois keys are
/// switching keys, too.
///
/// # Noise
/// A key switch adds noise of variance N 10.5 / 12 sum_j D_j^2 / P^2 per coefficient, D_j being the
/// products of the digits' primes, and of the rounding (1 + h) / 12, where h is the squared norm of
/// the secret that it leads to, 2N/3 if that is uniform ternary: see
/// [`noise_log2`](Self::noise_log2). Cost: as many transforms as (digits + 2) times (primes of the
/// ciphertext and special ones).
///
/// ```
/// use he_core::{backend::Cpu, ckks::*, ring::Ring, rlwe::*};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let params = CkksParams::for_depth(1).build()?;
/// let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
/// let mut rng = he_core::rand::rng();
/// let [ours, theirs] = [(); 2].map(|()| SecretKey::generate(params.rlwe(), &mut rng));
/// let key = SwitchKey::generate(&ours, &theirs, params.rlwe(), &ring, &mut rng)?;
///
/// let encryptor = SecretEncryptor::new(&params, &ours, &ring)?;
/// let x = encryptor.encrypt_real(&[0.5, 2.0], &mut rng)?.expand()?;
/// let y = Evaluator::new(&params, &ring)?.switch(&x, &key)?;
/// let y = Decryptor::new(&params, &theirs, &ring)?.decrypt_real(&y)?;
/// assert!((y[1] - 2.0).abs() < 1e-4);
/// # Ok(())
/// # }
/// ```
pub type SwitchKey<B = Cpu> = GadgetKey<RlweParams, B>;

/// The digits that a ciphertext over the first `q` primes has.
pub(super) fn shape(params: &RlweParams, q: usize, batch: usize) -> Result<KeySwitchShape> {
    if params.digits().is_empty() {
        return Err(Error::domain(
            "parameters",
            "parameters without special primes have no key switching",
            "add special primes",
        ));
    }
    let digits = params
        .digits()
        .iter()
        .filter(|digit| digit.start < q)
        .map(|digit| digit.start..digit.end.min(q))
        .collect();
    Ok(KeySwitchShape { digits, q, key_q: params.ring().q().len(), p: params.ring().p().len(), batch })
}

/// b_j = -a_j u + e_j + P g_j t over Q P for digit j of a key for the message t under the secret u;
/// e_j is polynomial j of the seed `errors`.
pub(crate) fn gadget_body<B: RingOps>(
    params: &RlweParams,
    j: usize,
    a: &Poly<Eval, B>,
    message: &SecretPoly<Eval, B>,
    secret: &SecretPoly<Eval, B>,
    errors: &Seed,
) -> Result<Poly<Eval, B>> {
    let (span, digit) = (params.key_span(), params.digits()[j].clone());
    let mut b = Poly::error(a.ring(), span, 1, errors, j as u32)?.into_eval()?;
    let p_factors = special_product(params.ring(), span.q, span.p);
    let mut factors = vec![0; span.limbs()];
    factors[digit.clone()].copy_from_slice(&p_factors[digit]);
    b.scale_add_assign(message.get(), &factors)?;
    let mut product = a.duplicate()?;
    product.mul_assign(secret.get())?;
    // a is public, so a u reveals u.
    let product = SecretPoly::new(product);
    b.sub_assign(product.get())?;
    Ok(b)
}

impl<B: RingOps> SwitchKey<B> {
    /// A key from one secret to another of the same degree, over the primes and digits of `params`;
    /// `ring` is theirs. It takes ciphertexts of the key set of `from` to that of `to`.
    ///
    /// The key is an encryption under `to`, so its primes must be a prefix of those that the
    /// parameters of `to` allow: a secret that is secure only for a small modulus, such as a sparse
    /// one, never meets a larger one. `from` may have any parameters of the same degree.
    ///
    /// # Errors
    /// [`Error::Argument`] for parameters without special primes or beyond those of `to`;
    /// [`Error::RingMismatch`] for a ring of other parameters or a secret of another degree; device
    /// errors.
    pub fn generate(
        from: &SecretKey,
        to: &SecretKey,
        params: &RlweParams,
        ring: &Ring<B>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self> {
        let target = Self::target(to, params, ring)?;
        if from.params().ring().log_n() != params.ring().log_n() {
            return Err(Error::RingMismatch);
        }
        let message = from.values(ring, params.key_span())?;
        let seed = Seed::random(rng);
        let errors = Seed::random(rng);
        let key = Self::encrypted(params, &message, &target, seed, &errors)?;
        Ok(key.leading(SwitchSource::Secret(Some(from.key_set())), to.key_set()))
    }

    /// A relinearisation key over the primes and digits of `params`: from s^2 to s.
    ///
    /// # Errors
    /// The same as for `generate`.
    pub fn for_square(
        secret: &SecretKey,
        params: &RlweParams,
        ring: &Ring<B>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self> {
        let s = Self::target(secret, params, ring)?;
        let mut square = s.get().duplicate()?;
        square.mul_assign(s.get())?;
        let square = SecretPoly::new(square);
        let seed = Seed::random(rng);
        let errors = Seed::random(rng);
        let key = Self::encrypted(params, &square, &s, seed, &errors)?;
        Ok(key.leading(SwitchSource::Square, secret.key_set()))
    }

    /// A Galois key for X -> X^g over the primes and digits of `params`. It leads from s to s(X^h),
    /// h the inverse of g modulo 2N; the automorphism, which follows the switch, takes that to s.
    ///
    /// # Errors
    /// The same as for `generate`; [`Error::Argument`] for a g that is even or
    /// not below 2N.
    pub fn for_image(
        secret: &SecretKey,
        g: u64,
        params: &RlweParams,
        ring: &Ring<B>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self> {
        let log_n = params.ring().log_n();
        check_galois(g, log_n)?;
        let s = Self::target(secret, params, ring)?;
        let inverse = Automorphism::new(g, log_n).inverse_element();
        let image = SecretPoly::new(s.get().automorphism(inverse)?);
        let seed = Seed::random(rng);
        let errors = Seed::random(rng);
        let key = Self::encrypted(params, &s, &image, seed, &errors)?;
        Ok(key.leading(SwitchSource::Image(g), secret.key_set()))
    }

    /// The secret under which a key of these parameters is encrypted, if it allows them.
    fn target(secret: &SecretKey, params: &RlweParams, ring: &Ring<B>) -> Result<SecretPoly<Eval, B>> {
        if ring.spec() != params.ring() {
            return Err(Error::RingMismatch);
        }
        if !params.ring().is_prefix_of(secret.params().ring()) {
            return Err(Error::domain(
                "switching key",
                "the key would have primes that the parameters of its secret do not have",
                "generate it over a prefix of the secret's primes",
            ));
        }
        secret.on(ring, params.key_span())
    }

    /// Makes a key for `message` under `secret`, both over Q P. Public randomness comes from
    /// `seed`, and errors from `errors`.
    fn encrypted(
        params: &RlweParams,
        message: &SecretPoly<Eval, B>,
        secret: &SecretPoly<Eval, B>,
        seed: Seed,
        errors: &Seed,
    ) -> Result<Self> {
        let ring = message.get().ring();
        let mut key = Self::empty(params, ring, Some(seed.clone()))?;
        for j in 0..params.digits().len() {
            let a = Poly::uniform(ring, params.key_span(), 1, &seed, j as u32)?;
            key.write_pair(j, [&gadget_body(params, j, &a, message, secret, errors)?, &a])?;
        }
        Ok(key)
    }

    /// A key whose polynomials are still zero, of no known source and key set.
    pub(crate) fn empty(params: &RlweParams, ring: &Ring<B>, seed: Option<Seed>) -> Result<Self> {
        // Parameters without digits have no keys.
        shape(params, params.key_span().q, 1)?;
        let buf = ring.prepared().empty_key(&params.key_shape())?;
        Ok(Self { ring: ring.clone(), params: params.clone(), seed, buf, source: None, key_set: None })
    }

    /// From the seed of the a_j and the b_j over Q P; of no known source and key set.
    ///
    /// # Errors
    /// [`Error::Argument`] for another number of digits; mismatch of ring or primes; device errors.
    pub fn from_bodies(
        params: &RlweParams,
        ring: &Ring<B>,
        seed: Seed,
        bodies: &[Poly<Eval, B>],
    ) -> Result<Self> {
        let span = params.key_span();
        if ring.spec() != params.ring() || bodies.iter().any(|b| !b.ring().same(ring)) {
            return Err(Error::RingMismatch);
        }
        if bodies.len() != params.digits().len() {
            let why = format!("{} given for {} digits", bodies.len(), params.digits().len());
            return Err(Error::argument("key bodies", why));
        }
        let mut key = Self::empty(params, ring, Some(seed.clone()))?;
        for (j, b) in bodies.iter().enumerate() {
            let a = Poly::uniform(ring, span, 1, &seed, j as u32)?;
            key.write_pair(j, [b, &a])?;
        }
        Ok(key)
    }

    /// From pairs (b_j, a_j) over Q P whose a_j come from no seed, such as those of a key that
    /// another program made; of no known source and key set. As bytes it takes twice those of a
    /// seeded key.
    ///
    /// # Errors
    /// The same as for [`from_bodies`](Self::from_bodies).
    pub fn from_pairs(params: &RlweParams, ring: &Ring<B>, pairs: &[[Poly<Eval, B>; 2]]) -> Result<Self> {
        if ring.spec() != params.ring() || pairs.iter().flatten().any(|poly| !poly.ring().same(ring)) {
            return Err(Error::RingMismatch);
        }
        if pairs.len() != params.digits().len() {
            let why = format!("{} given for {} digits", pairs.len(), params.digits().len());
            return Err(Error::argument("key pairs", why));
        }
        let mut key = Self::empty(params, ring, None)?;
        for (j, [b, a]) in pairs.iter().enumerate() {
            key.write_pair(j, [b, a])?;
        }
        Ok(key)
    }

    /// Puts the pair of a digit in its place.
    fn write_pair(&mut self, digit: usize, pair: [&Poly<Eval, B>; 2]) -> Result<()> {
        let (span, shape) = (self.params.key_span(), self.params.key_shape());
        for (part, poly) in pair.into_iter().enumerate() {
            if poly.span() != span || poly.batch() != 1 {
                return Err(Error::SpanMismatch { left: poly.span(), right: span });
            }
            self.ring.prepared().write_key(&shape, self.buf.as_mut(), digit, part, poly.buf())?;
        }
        Ok(())
    }

    /// Whether it can be used as a key from this source.
    pub(super) fn check_source(&self, expected: SwitchSource) -> Result<()> {
        expected.check(self.source)
    }

    /// log2 of the root mean square of a coefficient of the noise that a switch of a ciphertext
    /// over the first `q` primes adds, for a secret of squared norm 2N/3; less for sparse ones.
    pub fn noise_log2(&self, q: usize) -> f64 {
        let spec = self.params.ring();
        let log2 = |primes: &[u64]| primes.iter().map(|&prime| libm::log2(prime as f64)).sum::<f64>();
        let log_q: Vec<f64> = (0..=spec.q().len()).map(|i| log2(&spec.q()[..i])).collect();
        let (n, digits) = (spec.n() as f64, self.params.digits());
        let switched = noise::key_switch_log2(n, &log_q, log2(spec.p()), digits, q.min(spec.q().len()));
        // Variances add.
        noise::log_add(2.0 * switched, 2.0 * noise::rounding_log2(n)) / 2.0
    }

    /// Downloads the words of b_j over Q P, limb by limb.
    ///
    /// # Errors
    /// Device errors.
    pub fn body_words(&self, digit: usize) -> Result<Vec<u64>> {
        self.part_words(digit, 0)
    }

    /// Downloads the words of b_j or a_j, part 0 or 1, over Q P.
    pub(crate) fn part_words(&self, digit: usize, part: usize) -> Result<Vec<u64>> {
        let shape = self.params.key_shape();
        let poly = self.ring.prepared().read_key(&shape, self.buf(), digit, part)?;
        self.ring.backend().download(&poly, 0..shape.span.limbs() * self.ring.n())
    }
}

impl<B: RingOps> Sealed for SwitchKey<B> {}

impl<B: RingOps> EvaluationKey<RlweParams, B> for SwitchKey<B> {
    fn relinearisation(
        secret: &SecretKey,
        ring: &Ring<B>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self> {
        Self::for_square(secret, secret.params(), ring, rng)
    }

    fn galois(
        secret: &SecretKey,
        g: u64,
        ring: &Ring<B>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self> {
        Self::for_image(secret, g, secret.params(), ring, rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arith::ntt_primes_below;
    use crate::conformance::{Mirror, Naive};
    use crate::params::ParamsError;
    use crate::ring::{RingSpec, Span};
    use crate::rlwe::{EvaluationKeys, RlweCiphertext, SeededZero};
    use crate::testing::seeded;
    use rand::rngs::ChaCha20Rng;

    const LOG_N: u32 = 8;

    /// Five primes of the chain, two special ones, and two primes a digit.
    fn params() -> RlweParams {
        let primes = ntt_primes_below(45, LOG_N, 5, &[]).unwrap();
        let special = ntt_primes_below(46, LOG_N, 2, &primes).unwrap();
        let ring = RingSpec::new(LOG_N, primes, special).unwrap();
        RlweParams::insecure(ring, vec![0..2, 2..4, 4..5]).unwrap()
    }

    /// The parameters over the first `q` primes of the chain and the first `p` special ones.
    fn prefix(params: &RlweParams, q: usize, p: usize) -> RlweParams {
        let ring = params.ring().prefix(q, p).unwrap();
        let digits = RlweParams::greedy_digits(ring.q(), ring.p());
        RlweParams::insecure(ring, digits).unwrap()
    }

    /// The phase c0 + c1 s modulo each prime, centred.
    fn phase<B: RingOps>(ct: &RlweCiphertext<B>, secret: &SecretKey, ring: &Ring<B>) -> Vec<Vec<i128>> {
        let secret = secret.on(ring, Span::chain(ct.chain_limbs())).unwrap();
        let words = ct.message(&secret).unwrap().into_coeff().unwrap().to_words().unwrap();
        let limbs = words.chunks_exact(words.len() / ct.chain_limbs()).zip(ring.spec().q());
        let centred =
            |word: u64, q: u64| if word > q / 2 { i128::from(word) - i128::from(q) } else { word.into() };
        limbs.map(|(limb, &q)| limb.iter().map(|&word| centred(word, q)).collect()).collect()
    }

    /// Whether two phases differ by no more than eight times the documented noise, and by no less
    /// than a quarter of it on average.
    fn close(before: &[Vec<i128>], after: &[Vec<i128>], q: &[u64], rms_log2: f64, what: &str) {
        let difference = |limb: usize| {
            let q = i128::from(q[limb]);
            before[limb].iter().zip(&after[limb]).map(move |(b, a)| {
                let difference = (a - b).rem_euclid(q);
                if difference > q / 2 { difference - q } else { difference }
            })
        };
        let noise: Vec<i128> = difference(0).collect();
        for limb in 1..before.len() {
            assert!(difference(limb).eq(noise.iter().copied()), "{what}: limb {limb}");
        }
        let mean = noise.iter().map(|&e| (e * e) as f64).sum::<f64>() / noise.len() as f64;
        let (rms, greatest) = (mean.sqrt(), noise.iter().map(|e| e.abs()).max().unwrap() as f64);
        let expected = rms_log2.exp2();
        assert!(rms < 2.0 * expected && rms > expected / 4.0, "{what}: {rms}, not {expected}");
        assert!(greatest < 8.0 * expected + 1.0, "{what}: {greatest}, not {expected}");
    }

    fn encryption<B: RingOps>(
        secret: &SecretKey,
        ring: &Ring<B>,
        primes: usize,
        rng: &mut ChaCha20Rng,
    ) -> RlweCiphertext<B> {
        let s = secret.on(ring, Span::chain(primes)).unwrap();
        SeededZero::generate(&s, primes, 2, rng).unwrap().expand().unwrap()
    }

    #[test]
    fn ciphertexts_change_secrets_at_every_level() {
        let (params, mut rng) = (params(), seeded());
        let ring = Ring::new(Mirror::new(Cpu::new(), Naive), params.ring().clone()).unwrap();
        let [a, b] = [(); 2].map(|()| SecretKey::generate(&params, &mut rng));
        for (key_q, key_p) in [(5, 2), (5, 1), (3, 2), (1, 1)] {
            let own = prefix(&params, key_q, key_p);
            let key =
                SwitchKey::generate(&a, &b, &own, &ring.prefix(key_q, key_p).unwrap(), &mut rng).unwrap();
            assert_eq!(key.source(), Some(SwitchSource::Secret(Some(a.key_set()))));
            assert_eq!(key.key_set(), Some(b.key_set()));
            for primes in 1..=key_q {
                let ct = encryption(&a, &ring, primes, &mut rng);
                let switched = ct.switch(&key).unwrap();
                assert_eq!(switched.key_set(), Some(b.key_set()));
                assert!(switched.ring().same(&ring) && switched.chain_limbs() == primes);
                let what = format!("a key over {key_q} + {key_p} primes, a ciphertext over {primes}");
                let (before, after) = (phase(&ct, &a, &ring), phase(&switched, &b, &ring));
                close(&before, &after, params.ring().q(), key.noise_log2(primes), &what);
                // Under its old secret it is noise.
                assert!(matches!(
                    switched.message(&a.on(&ring, Span::chain(primes)).unwrap()),
                    Err(Error::KeyMismatch { .. })
                ));
            }
        }
    }

    /// Encapsulation: at level 0 to a sparse secret that no modulus but q0 p ever meets, and back.
    #[test]
    fn sparse_secrets_are_reached_at_the_lowest_level() {
        let (params, mut rng) = (params(), seeded());
        let ring = Ring::new(Cpu::new(), params.ring().clone()).unwrap();
        let dense = SecretKey::generate(&params, &mut rng);
        let (low, low_ring) = (prefix(&params, 1, 1), ring.prefix(1, 1).unwrap());
        let sparse = SecretKey::generate_sparse_insecure(&low, 32, &mut rng).unwrap();
        assert_eq!(sparse.expose_coefficients().iter().filter(|&&c| c != 0).count(), 32);

        let down = SwitchKey::generate(&dense, &sparse, &low, &low_ring, &mut rng).unwrap();
        let up = SwitchKey::generate(&sparse, &dense, &params, &ring, &mut rng).unwrap();
        let ct = encryption(&dense, &ring, 1, &mut rng);
        let lowered = ct.switch(&down).unwrap();
        // The same words as in a ring that was prepared for these primes alone.
        let alone = Ring::new(Cpu::new(), low.ring().clone()).unwrap();
        let parts =
            ct.parts().map(|c| c.duplicate().unwrap().into_ring(&low_ring).unwrap().to(&alone).unwrap());
        let [c0, c1] = parts;
        let there = RlweCiphertext::new(c0, c1).unwrap().switch(&down.to(&alone).unwrap()).unwrap();
        for (here, there) in lowered.parts().into_iter().zip(there.parts()) {
            assert_eq!(here.to_words().unwrap(), there.to_words().unwrap());
        }
        // Roundings meet a secret of norm 32 instead of 2N/3: less noise than for dense ones.
        let (n, weight) = (params.ring().n() as f64, 32.0);
        let rounding = libm::log2((1.0 + weight) / 12.0);
        let spec = low.ring();
        let digit = libm::log2(spec.q()[0] as f64) - libm::log2(spec.p()[0] as f64);
        let switched = libm::log2(n * 10.5 / 12.0) + 2.0 * digit;
        let expected = noise::log_add(rounding, switched) / 2.0;
        assert!(expected < down.noise_log2(1));
        let (before, after) = (phase(&ct, &dense, &ring), phase(&lowered, &sparse, &low_ring));
        close(&before, &after, spec.q(), expected, "down");

        let raised = lowered.switch(&up).unwrap();
        close(&after, &phase(&raised, &dense, &ring), spec.q(), up.noise_log2(1), "up");
        assert_eq!(raised.key_set(), Some(dense.key_set()));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let (params, mut rng) = (params(), seeded());
        let ring = Ring::new(Cpu::new(), params.ring().clone()).unwrap();
        let [a, b, c] = [(); 3].map(|()| SecretKey::generate(&params, &mut rng));
        let key = SwitchKey::generate(&a, &b, &params, &ring, &mut rng).unwrap();
        let ct = encryption(&a, &ring, 3, &mut rng);
        let foreign = encryption(&c, &ring, 3, &mut rng).switch(&key);
        assert!(matches!(foreign, Err(Error::KeyMismatch { found, expected, .. })
            if found == c.key_set() && expected == a.key_set()));
        // A ciphertext of no known key set is taken to be of the key's.
        let mut nameless = ct.duplicate().unwrap();
        nameless.key_set = None;
        assert_eq!(nameless.switch(&key).unwrap().key_set(), Some(b.key_set()));

        // Keys of other uses, each in place of the others.
        let relin = SwitchKey::for_square(&a, &params, &ring, &mut rng).unwrap();
        let galois = SwitchKey::for_image(&a, 5, &params, &ring, &mut rng).unwrap();
        let product = ct.tensor(&ct).unwrap();
        for error in [
            ct.switch(&relin).unwrap_err(),
            ct.switch(&galois).unwrap_err(),
            ct.apply_automorphism(&galois, 25).unwrap_err(),
            ct.apply_automorphism(&relin, 5).unwrap_err(),
            product.relinearize(&galois, 3).unwrap_err(),
            product.relinearize(&key, 3).unwrap_err(),
            ct.multiply_relinearize(&ct, &galois, 3).unwrap_err(),
            EvaluationKeys::empty(&params, &ring).unwrap().insert_relin(galois.clone()).unwrap_err(),
        ] {
            assert!(matches!(error, Error::Argument { what: "switching key", .. }), "{error}");
            assert!(error.to_string().contains("leads away from"), "{error}");
        }
        assert!(ct.apply_automorphism(&galois, 5).is_ok() && product.relinearize(&relin, 3).is_ok());
        let multiplied = ct.multiply_relinearize(&ct, &relin, 2).unwrap();
        assert_eq!((multiplied.chain_limbs(), multiplied.key_set()), (2, Some(a.key_set())));
        for keep in [0, 4] {
            let result = ct.multiply_relinearize(&ct, &relin, keep);
            assert!(matches!(result, Err(Error::SpanMismatch { .. })), "{keep}");
        }
        let other = encryption(&c, &ring, 3, &mut rng);
        assert!(matches!(ct.multiply_relinearize(&other, &relin, 3), Err(Error::KeyMismatch { .. })));
        for g in [0, 4, 2 << LOG_N | 1] {
            let result = SwitchKey::for_image(&a, g, &params, &ring, &mut rng);
            assert!(matches!(result, Err(Error::Argument { what: "Galois element", .. })), "{g}");
        }

        // A key over fewer primes than the ciphertext has.
        let (low, low_ring) = (prefix(&params, 2, 1), ring.prefix(2, 1).unwrap());
        let short = SwitchKey::generate(&a, &b, &low, &low_ring, &mut rng).unwrap();
        assert!(matches!(ct.switch(&short), Err(Error::SpanMismatch { .. })));
        // A secret is not used beyond the primes of its parameters.
        let limited = SecretKey::generate_sparse_insecure(&low, 9, &mut rng).unwrap();
        let beyond = SwitchKey::generate(&a, &limited, &params, &ring, &mut rng).unwrap_err();
        assert!(matches!(beyond, Error::Argument { what: "switching key", .. }), "{beyond}");
        assert!(matches!(limited.on(&ring, Span::chain(1)), Err(Error::RingMismatch)));
        // Rings of other parameters, other preparations, and other degrees.
        let other = Ring::new(Cpu::new(), params.ring().clone()).unwrap();
        assert!(matches!(ct.to(&other).unwrap().switch(&key), Err(Error::RingMismatch)));
        let result = SwitchKey::generate(&a, &b, &low, &ring, &mut rng);
        assert!(matches!(result, Err(Error::RingMismatch)));
        let small = RingSpec::new(4, ntt_primes_below(45, 4, 1, &[]).unwrap(), vec![]).unwrap();
        let small = RlweParams::insecure(small, vec![]).unwrap();
        let small = SecretKey::generate(&small, &mut rng);
        let result = SwitchKey::generate(&small, &b, &params, &ring, &mut rng);
        assert!(matches!(result, Err(Error::RingMismatch)));
        // No special primes, no key switching.
        let bare = RlweParams::insecure(params.ring().prefix(5, 0).unwrap(), vec![]).unwrap();
        let result = SwitchKey::generate(&a, &b, &bare, &ring.prefix(5, 0).unwrap(), &mut rng);
        assert!(matches!(result, Err(Error::Argument { what: "parameters", .. })));
    }

    #[test]
    fn sparse_secrets_are_insecure_by_name() {
        let mut rng = seeded();
        let ring = |bits, q: usize, p: usize| {
            let primes = ntt_primes_below(bits, 15, q + p, &[]).unwrap();
            RingSpec::new(15, primes[..q].to_vec(), primes[q..].to_vec()).unwrap()
        };
        let secure = RlweParams::new(ring(50, 1, 1), RlweParams::even_digits(1, 1)).unwrap();
        let secret = SecretKey::generate_sparse(&secure, 32, &mut rng).unwrap();
        assert_eq!(secret.expose_coefficients().iter().filter(|&&c| c != 0).count(), 32);
        // Secure for uniform ternary secrets, but not for sparse ones; and below the least weight.
        let wide = RlweParams::new(ring(50, 3, 1), RlweParams::even_digits(3, 3)).unwrap();
        for (params, weight, bound) in [(&wide, 32, 185), (&secure, 31, 0), (&wide, 8, 0)] {
            let error = SecretKey::generate_sparse(params, weight, &mut rng).unwrap_err();
            assert!(
                matches!(error, Error::InvalidParams(ParamsError::InsecureSecret { limit, .. }) if limit == bound),
                "{error}"
            );
            assert!(SecretKey::generate_sparse_insecure(params, weight, &mut rng).is_ok());
        }
        for weight in [0, (1 << 15) + 1] {
            let error = SecretKey::generate_sparse_insecure(&secure, weight, &mut rng).unwrap_err();
            assert!(matches!(error, Error::InvalidParams(ParamsError::OutOfRange { .. })), "{error}");
        }
    }
}
