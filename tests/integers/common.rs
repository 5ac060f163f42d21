//! Parameter sets, keys, and polynomials modulo t as oracle.

use he::backend::{Cpu, RingOps};
use he::exact::{
    Ciphertext, Decryptor, Encryptor, Evaluator, ExactSpec, Params, Plaintext, Scheme, SecretEncryptor,
};
use he::ring::Ring;
use he::rlwe::{EvaluationKeys, KeyRequirements, PublicKey, RlweParams, SecretKey};
use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{One, ToPrimitive};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

/// Runs a test with `count` random generators.
pub fn for_seeds(count: u64, test: impl Fn(&mut ChaCha20Rng)) {
    crate::seeds::for_seeds(count, |seed| test(&mut ChaCha20Rng::seed_from_u64(seed)));
}

/// A prime of this many bits equal to 1 mod 2N.
pub fn slot_prime(bits: u32, log_n: u32) -> u64 {
    he::arith::ntt_primes_below(bits, log_n, 1, &[]).unwrap()[0]
}

/// Plaintext moduli of all kinds.
pub const MODULI: [u64; 8] = [2, 3, 17, 65537, 786_433, 1 << 16, 1 << 20, (1 << 60) - 93];

/// Insecure parameters: chain and special primes by width, digits as wide as the special modulus.
pub fn insecure<S: Scheme>(log_n: u32, q_bits: &[u32], p_bits: &[u32], t: u64) -> Params<S> {
    let spec = ExactSpec::from_bits(log_n, q_bits, p_bits, t).unwrap();
    Params::insecure(spec).unwrap_or_else(|error| panic!("N = 2^{log_n}, t = {t}: {error}"))
}

/// Shapes of every kind that hold `bits` of modulus at least: degrees 4 to 256, one to eight
/// digits, primes of 20 to 61 bits.
pub fn shapes<S: Scheme>(t: u64, bits: u32) -> Vec<Params<S>> {
    let chain = |width: u32| vec![width; bits.div_ceil(width).max(1) as usize];
    let mut shapes = vec![
        insecure(2, &chain(40), &[45], t),
        insecure(3, &chain(61), &[61], t),
        insecure(4, &chain(32), &[40, 40], t),
        insecure(6, &chain(50), &[50], t),
        insecure(8, &chain(30), &[31, 31, 31], t),
    ];
    let mut spec = ExactSpec::from_bits(5, &chain(45), &[46, 46, 46], t).unwrap();
    spec.digits = RlweParams::even_digits(spec.q.len(), spec.q.len().div_ceil(2));
    shapes.push(Params::insecure(spec).unwrap());
    shapes
}

/// Parameters with all keys.
pub struct World<S: Scheme, B: RingOps = Cpu> {
    pub params: Params<S>,
    pub ring: Ring<B>,
    pub secret: SecretKey,
    pub public: PublicKey<B>,
    pub keys: EvaluationKeys<B>,
    pub ev: Evaluator<S, B>,
    pub decryptor: Decryptor<S, B>,
}

impl<S: Scheme> World<S> {
    pub fn new(params: Params<S>, rng: &mut ChaCha20Rng) -> Self {
        Self::on(Cpu::new(), params, rng)
    }
}

impl<S: Scheme, B: RingOps> World<S, B> {
    pub fn on(backend: B, params: Params<S>, rng: &mut ChaCha20Rng) -> Self {
        let ring = Ring::new(backend, params.rlwe().ring().clone()).unwrap();
        let secret = SecretKey::generate(params.rlwe(), rng);
        let public = PublicKey::generate(&secret, &ring, rng).unwrap();
        let steps = (0..ring.spec().log_n() - 1).map(|i| 1i64 << i);
        let keys = EvaluationKeys::generate(
            &secret,
            &ring,
            KeyRequirements::new().relinearisation().rotations(steps).conjugation(),
            rng,
        )
        .unwrap();
        let ev = Evaluator::new(&params, &ring).unwrap();
        let decryptor = Decryptor::new(&params, &secret, &ring).unwrap();
        Self { params, ring, secret, public, keys, ev, decryptor }
    }

    pub fn t(&self) -> u64 {
        self.params.plain().value()
    }

    pub fn n(&self) -> usize {
        self.ring.n()
    }

    /// A random polynomial modulo t.
    pub fn random(&self, rng: &mut ChaCha20Rng) -> Vec<u64> {
        (0..self.n()).map(|_| rng.random_range(0..self.t())).collect()
    }

    pub fn plaintext(&self, polynomials: &[Vec<u64>]) -> Plaintext {
        let rows: Vec<&[u64]> = polynomials.iter().map(Vec::as_slice).collect();
        self.ev.encoder().encode_coefficients_batch(&rows).unwrap()
    }

    pub fn encrypt(&self, polynomials: &[Vec<u64>], rng: &mut ChaCha20Rng) -> Ciphertext<S, B> {
        let encryptor = Encryptor::new(&self.params, &self.public).unwrap();
        encryptor.encrypt(&self.plaintext(polynomials), rng).unwrap()
    }

    pub fn encrypt_secretly(&self, polynomials: &[Vec<u64>], rng: &mut ChaCha20Rng) -> Ciphertext<S, B> {
        let encryptor = SecretEncryptor::new(&self.params, &self.secret, &self.ring).unwrap();
        encryptor.encrypt(&self.plaintext(polynomials), rng).unwrap().expand().unwrap()
    }

    pub fn decrypt(&self, ct: &Ciphertext<S, B>) -> Vec<Vec<u64>> {
        let plaintext = self.decryptor.decrypt(ct).unwrap();
        self.ev.encoder().decode_coefficients(&plaintext).unwrap()
    }

    /// The noise e of every coefficient: t times the phase is [f m]_t + t e.
    pub fn noise(&self, ct: &Ciphertext<S, B>) -> Vec<BigInt> {
        let t = BigInt::from(self.t());
        let scaled = self.scaled_phase(ct);
        scaled
            .iter()
            .map(|c| {
                let m = centred_mod(&((c % &t) + &t), &t);
                (c - m) / &t
            })
            .collect()
    }

    /// t (c0 + c1 s) in [-Q/2, Q/2), batch entry after batch entry, with big integers.
    pub fn scaled_phase(&self, ct: &Ciphertext<S, B>) -> Vec<BigInt> {
        let phase = phase(&self.secret, ct.pair());
        let q = modulus(&self.params, ct.level() + 1);
        phase.into_iter().map(|c| centred_mod(&(c * self.t()), &q)).collect()
    }
}

/// The product of the first primes.
pub fn modulus<S: Scheme>(params: &Params<S>, primes: usize) -> BigInt {
    params.rlwe().ring().q()[..primes].iter().map(|&q| BigInt::from(q)).product()
}

/// x modulo q in [-q/2, q/2).
pub fn centred_mod(x: &BigInt, q: &BigInt) -> BigInt {
    let x = ((x % q) + q) % q;
    if &x * 2 >= *q { x - q } else { x }
}

/// round(a / b), b positive; halves up.
pub fn round_div(a: &BigInt, b: &BigInt) -> BigInt {
    let double: BigInt = a * 2 + b;
    let twice: BigInt = b * 2;
    let quotient = &double / &twice;
    if (&double % &twice) < BigInt::ZERO { quotient - 1 } else { quotient }
}

/// a b mod X^N + 1 over the integers: the polynomials at a power of two are two integers, whose
/// product has the coefficients as its digits (L. Kronecker, *Grundzuege einer arithmetischen
/// Theorie der algebraischen Groessen*, 1882).
pub fn negacyclic(a: &[BigInt], b: &[BigInt]) -> Vec<BigInt> {
    let widest = |poly: &[BigInt]| poly.iter().map(BigInt::bits).max().unwrap_or(0) as usize;
    // Digits of 32 bits that hold a sum of N products and its sign.
    let digits = (widest(a) + widest(b) + a.len().ilog2() as usize + 2).div_ceil(32);
    let product = at_power_of_two(a, digits) * at_power_of_two(b, digits);
    let all = coefficients(product, digits, 2 * a.len());
    let (low, high) = all.split_at(a.len());
    low.iter().zip(high).map(|(low, high)| low - high).collect()
}

/// The value of a polynomial at 2^(32 digits).
fn at_power_of_two(poly: &[BigInt], digits: usize) -> BigInt {
    let part = |sign| {
        let mut all = vec![0; poly.len() * digits];
        for (c, out) in poly.iter().zip(all.chunks_exact_mut(digits)).filter(|(c, _)| c.sign() == sign) {
            let magnitude = c.magnitude().to_u32_digits();
            out[..magnitude.len()].copy_from_slice(&magnitude);
        }
        BigInt::from(BigUint::new(all))
    };
    part(Sign::Plus) - part(Sign::Minus)
}

/// The coefficients of the polynomial of this value at 2^(32 digits), all of magnitudes below half
/// of that.
fn coefficients(value: BigInt, digits: usize, count: usize) -> Vec<BigInt> {
    let half = BigInt::one() << (32 * digits - 1);
    let mut halves = vec![0; count * digits];
    halves.iter_mut().skip(digits - 1).step_by(digits).for_each(|top| *top = 1 << 31);
    let mut all = (value + BigInt::from(BigUint::new(halves))).magnitude().to_u32_digits();
    all.resize(count * digits, 0);
    all.chunks_exact(digits).map(|digits| BigInt::from(BigUint::from_slice(digits)) - &half).collect()
}

/// The coefficients of a polynomial over a prefix of the chain, composed, in [-Q/2, Q/2).
pub fn compose<B: RingOps>(poly: &he::ring::Poly<he::ring::Eval, B>) -> Vec<BigInt> {
    let primes = &poly.ring().spec().q()[..poly.span().q];
    let q: BigInt = primes.iter().map(|&q| BigInt::from(q)).product();
    let words = poly.duplicate().unwrap().into_coeff().unwrap().to_words().unwrap();
    let rows = words.len() / primes.len();
    let hats: Vec<BigInt> = primes
        .iter()
        .map(|&prime| {
            let hat = &q / prime;
            let inverse = BigInt::from(prime);
            let inverse = (&hat % prime).modpow(&(&inverse - 2), &inverse);
            hat * inverse
        })
        .collect();
    (0..rows)
        .map(|k| {
            let sum: BigInt = hats.iter().enumerate().map(|(i, hat)| hat * words[i * rows + k]).sum();
            centred_mod(&sum, &q)
        })
        .collect()
}

/// c0 + c1 s modulo Q with big integers.
pub fn phase<B: RingOps>(secret: &SecretKey, pair: &he::rlwe::RlweCiphertext<B>) -> Vec<BigInt> {
    let [c0, c1] = pair.parts().map(compose);
    let s: Vec<BigInt> = secret.expose_coefficients().iter().map(|&c| BigInt::from(c)).collect();
    let product = c1.chunks(s.len()).flat_map(|c1| negacyclic(c1, &s));
    c0.iter().zip(product).map(|(a, b)| a + b).collect()
}

/// a b mod X^N + 1 and t.
pub fn product_mod(a: &[u64], b: &[u64], t: u64) -> Vec<u64> {
    let wide = |x: &[u64]| -> Vec<BigInt> { x.iter().map(|&c| BigInt::from(c)).collect() };
    let t = BigInt::from(t);
    negacyclic(&wide(a), &wide(b)).iter().map(|c| (((c % &t) + &t) % &t).to_u64().unwrap()).collect()
}

/// f on all pairs of residues, modulo t.
pub fn zip_mod(a: &[u64], b: &[u64], t: u64, f: impl Fn(i128, i128) -> i128) -> Vec<u64> {
    let wide = |x: u64| i128::from(x);
    a.iter().zip(b).map(|(&a, &b)| f(wide(a), wide(b)).rem_euclid(wide(t)) as u64).collect()
}

pub fn add_mod(a: &[u64], b: &[u64], t: u64) -> Vec<u64> {
    zip_mod(a, b, t, |a, b| a + b)
}

pub fn sub_mod(a: &[u64], b: &[u64], t: u64) -> Vec<u64> {
    zip_mod(a, b, t, |a, b| a - b)
}

/// c a modulo t.
pub fn scale_mod(a: &[u64], c: i64, t: u64) -> Vec<u64> {
    zip_mod(a, a, t, |a, _| a * i128::from(c).rem_euclid(i128::from(t)) % i128::from(t))
}
