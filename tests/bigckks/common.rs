//! Parameters with all keys, and polynomials as big integers.

pub use crate::seeds::for_seeds;
use he::backend::Cpu;
use he::bigckks::reference::{IntPoly, QuotientRing};
use he::bigckks::{
    BigCkksParams, BigCkksSpec, Ciphertext, Complex64, Decryptor, Encryptor, EvaluationKeys, Evaluator,
    KeyRequirements, PublicKey, SecretKey, WidePoly,
};
use he::ring::Ring;
use num_bigint::{BigInt, BigUint};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

pub fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

/// Values of magnitude below one: their powers stay so.
pub fn random_values(rng: &mut ChaCha20Rng, batch: usize, slots: usize) -> Vec<Vec<Complex64>> {
    let mut value = || Complex64::new(rng.random_range(-0.7..0.7), rng.random_range(-0.7..0.7));
    (0..batch).map(|_| (0..slots).map(|_| value()).collect()).collect()
}

/// The centred coefficients of each batch entry.
pub fn integers(poly: &WidePoly<Cpu>) -> Vec<IntPoly> {
    let (n, batch, words) = (poly.ring().n(), poly.batch(), poly.to_words().unwrap());
    let ring = QuotientRing::power_of_two(n, poly.bits());
    (0..batch)
        .map(|entry| {
            let number = |k: usize| {
                let words = words.chunks(batch * n).map(|plane| plane[entry * n + k]);
                let halves: Vec<u32> = words.flat_map(|word| [word as u32, (word >> 32) as u32]).collect();
                let number = BigUint::new(halves);
                assert!(number.bits() <= u64::from(poly.bits()), "a word above the modulus");
                BigInt::from(number)
            };
            ring.reduce(&(0..n).map(number).collect::<Vec<_>>())
        })
        .collect()
}

/// Parameters with keys for rotations by 1 and -2, and for conjugation.
pub struct World {
    pub params: BigCkksParams,
    pub ring: Ring<Cpu>,
    pub secret: SecretKey,
    pub public: PublicKey<Cpu>,
    pub keys: EvaluationKeys<Cpu>,
    pub ev: Evaluator<Cpu>,
}

impl World {
    pub fn new(spec: BigCkksSpec, rng: &mut ChaCha20Rng) -> Self {
        Self::with_params(BigCkksParams::insecure(spec).unwrap(), rng)
    }

    pub fn with_params(params: BigCkksParams, rng: &mut ChaCha20Rng) -> Self {
        let ring = Ring::new(Cpu::new(), params.ring().clone()).unwrap();
        let secret = SecretKey::generate(&params, rng);
        let public = PublicKey::generate(&secret, &ring, rng).unwrap();
        let keys = EvaluationKeys::generate(
            &secret,
            &ring,
            KeyRequirements::new().relinearisation().rotations([1, -2]).conjugation(),
            rng,
        )
        .unwrap();
        let ev = Evaluator::new(&params, &ring).unwrap();
        Self { params, ring, secret, public, keys, ev }
    }

    pub fn encrypt(&self, values: &[Vec<Complex64>], rng: &mut ChaCha20Rng) -> Ciphertext<Cpu> {
        let vectors: Vec<&[Complex64]> = values.iter().map(Vec::as_slice).collect();
        let to = self.params.encoding().slots(values[0].len());
        let plain = self.ev.encoder().encode_batch(&vectors, to).unwrap();
        Encryptor::new(&self.params, &self.public).unwrap().encrypt(&plain, rng).unwrap()
    }

    pub fn decrypt(&self, ct: &Ciphertext<Cpu>) -> Vec<Vec<Complex64>> {
        let decryptor = Decryptor::new(&self.params, &self.secret, &self.ring).unwrap();
        self.ev.encoder().decode(&decryptor.decrypt(ct).unwrap()).unwrap()
    }

    /// The centred coefficients that a ciphertext decrypts to.
    pub fn message(&self, ct: &Ciphertext<Cpu>) -> Vec<IntPoly> {
        let decryptor = Decryptor::new(&self.params, &self.secret, &self.ring).unwrap();
        integers(decryptor.decrypt(ct).unwrap().poly())
    }

    #[track_caller]
    pub fn near(&self, what: &str, ct: &Ciphertext<Cpu>, values: &[Vec<Complex64>], tolerance: f64) {
        let error = worst_difference(&self.decrypt(ct), values);
        assert!(error < tolerance, "{what}: {error:e}, at most {tolerance:e} is expected");
    }
}

pub fn worst_difference(a: &[Vec<Complex64>], b: &[Vec<Complex64>]) -> f64 {
    assert_eq!(a.len(), b.len());
    let entries = a.iter().zip(b).flat_map(|(a, b)| {
        assert_eq!(a.len(), b.len());
        a.iter().zip(b).map(|(a, b)| (a - b).norm())
    });
    entries.fold(0.0, f64::max)
}

/// f on all pairs of values; a single batch entry meets all of the other side.
pub fn zip(
    a: &[Vec<Complex64>],
    b: &[Vec<Complex64>],
    f: impl Fn(Complex64, Complex64) -> Complex64,
) -> Vec<Vec<Complex64>> {
    a.iter()
        .enumerate()
        .map(|(i, a)| a.iter().zip(&b[i % b.len()]).map(|(&a, &b)| f(a, b)).collect())
        .collect()
}

pub fn map(a: &[Vec<Complex64>], f: impl Fn(Complex64) -> Complex64) -> Vec<Vec<Complex64>> {
    a.iter().map(|a| a.iter().map(|&z| f(z)).collect()).collect()
}
