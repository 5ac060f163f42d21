//! Parameter shapes, keys, and samples: ciphertexts beside the values and the error that they
//! should have.

use he::arith::{nearest_ntt_primes, ntt_primes_below};
use he::backend::Cpu;
use he::ckks::{
    Ciphertext, CkksParams, CkksSpec, Complex64, Decryptor, Encoding, Encryptor, Evaluator, LevelGroup,
    Plaintext,
};
use he::ring::{ERROR_VARIANCE, Ring};
use he::rlwe::{EvaluationKeys, KeyRequirements, PublicKey, RlweParams, SecretKey};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

/// A standard deviation sigma of the coefficients' error becomes sqrt(N) sigma in a slot (absolute
/// value, root mean square). Bounds allow TAIL times that: for a Gaussian error one slot in exp(64)
/// is beyond.
const TAIL: f64 = 8.0;
/// The factor for encryptions by the public key, whose error v e + e' s has products of two
/// Gaussians in each slot: one slot in about exp(2 t) is beyond t times the deviation, and with 8
/// that happens once in some hundred runs.
const PUBLIC_TAIL: f64 = 16.0;
/// Relative error of encoding and decoding in float64, generously.
const FLOAT: f64 = 1.0 / (1u64 << 44) as f64;

/// Runs a test with `count` random generators.
pub fn for_seeds(count: u64, test: impl Fn(&mut ChaCha20Rng)) {
    crate::seeds::for_seeds(count, |seed| test(&mut ChaCha20Rng::seed_from_u64(seed)));
}

pub fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

/// A chain by the widths of its primes, for shapes that `CkksSpec::from_bits` does not make:
/// several primes per level. `levels` are the number of primes of each level; greedy digits.
pub fn chain(log_n: u32, q_bits: &[f64], p_bits: &[u32], levels: &[usize], scale_log2: f64) -> CkksSpec {
    let mut taken: Vec<u64> = Vec::new();
    let mut nearest = |bits: f64| {
        let prime = nearest_ntt_primes(bits.exp2(), 61, log_n, 1, &taken).unwrap()[0];
        taken.push(prime);
        prime
    };
    let q: Vec<u64> = q_bits.iter().map(|&bits| nearest(bits)).collect();
    let mut p = Vec::new();
    for &bits in p_bits {
        let known: Vec<u64> = q.iter().chain(&p).copied().collect();
        p.push(ntt_primes_below(bits, log_n, 1, &known).unwrap()[0]);
    }
    let digits = RlweParams::greedy_digits(&q, &p);
    let groups = vec![LevelGroup { levels: levels.len(), scale_log2 }];
    CkksSpec { log_n, q, p, level_primes: levels.to_vec(), digits, groups }
}

fn bits(log_n: u32, q: &[u32], p: &[u32], scale_log2: f64) -> CkksSpec {
    CkksSpec::from_bits(log_n, q, p, scale_log2).unwrap()
}

/// Insecure parameter sets of all shapes: smallest degrees, 1 to L digits, uneven digits, one to
/// four special primes, several primes per level, primes from 13 to 61 bits.
pub fn shapes() -> Vec<(&'static str, CkksParams)> {
    let five = [50, 40, 40, 40, 40];
    [
        ("N=4, one digit a prime", bits(2, &[45, 36, 36], &[46], 36.0)),
        ("N=8, one digit", bits(3, &[45, 40, 40], &[45, 42, 42], 40.0).with_dnum(1)),
        ("N=16, 5 digits", bits(4, &five, &[51], 40.0).with_dnum(5)),
        ("N=16, 3 uneven digits", bits(4, &five, &[51, 51], 40.0).with_dnum(3)),
        ("N=32, 2 uneven digits", bits(5, &five, &[51, 51, 51], 40.0).with_dnum(2)),
        ("N=32, 61-bit primes", bits(5, &[61, 55, 55, 55], &[61], 55.0)),
        ("N=64, two primes a level", chain(6, &[36., 36., 30., 30., 30., 30.], &[40, 40], &[2, 4, 6], 60.0)),
        (
            "N=64, one to three primes a level",
            chain(6, &[50., 40., 20.5, 19.5, 14., 13., 13.], &[55, 55], &[1, 2, 4, 7], 40.0),
        ),
        ("N=128, narrow primes", bits(7, &[40, 32, 32, 32], &[41], 32.0)),
        ("N=1024, depth 6", bits(10, &[50, 40, 40, 40, 40, 40, 40], &[50, 50], 40.0)),
    ]
    .into_iter()
    .map(|(name, spec)| (name, CkksParams::insecure(spec).unwrap_or_else(|error| panic!("{name}: {error}"))))
    .collect()
}

/// Insecure parameter sets with several groups of levels, whose scales differ.
pub fn grouped() -> Vec<(&'static str, CkksParams)> {
    let params = |log_n, base: &[u32], widths: &[&[u32]], p: &[u32], groups: &[(usize, f64)]| {
        let group = |&(levels, scale_log2)| LevelGroup { levels, scale_log2 };
        let groups: Vec<_> = groups.iter().map(group).collect();
        let widths: Vec<_> = widths.iter().map(|widths| widths.to_vec()).collect();
        let spec = CkksSpec::from_level_bits(log_n, base, &widths, p, &groups).unwrap();
        CkksParams::insecure(spec).unwrap()
    };
    // As for bootstrapping: linear maps, users' levels, polynomials, and linear maps again, whose
    // primes are narrower than the scale.
    let bootstrapping = [&[42u32] as &[_], &[42], &[40], &[40], &[50], &[50], &[50], &[45]];
    let of_bootstrapping = [(2, 42.0), (3, 40.0), (3, 50.0), (1, 53.0)];
    // 2^60 to 2^40 by two primes of 40 bits: products of both scales fit everywhere.
    let fitting = [&[40u32] as &[_], &[40, 40], &[60]];
    let rising = [&[50u32] as &[_], &[40], &[30]];
    let extended = [&[40u32] as &[_], &[40], &[35, 35], &[35, 35]];
    vec![
        ("four groups", params(6, &[55], &bootstrapping, &[55, 55], &of_bootstrapping)),
        ("products across a border", params(5, &[50], &fitting, &[61, 61], &[(2, 40.0), (2, 60.0)])),
        ("wider scales below", params(5, &[60], &rising, &[61], &[(2, 50.0), (1, 40.0), (1, 35.0)])),
        ("finer than doubles above", params(4, &[55], &extended, &[61, 61], &[(3, 40.0), (2, 70.0)])),
    ]
}

/// Parameters with all keys.
pub struct World {
    pub params: CkksParams,
    pub ring: Ring<Cpu>,
    pub secret: SecretKey,
    pub public: PublicKey<Cpu>,
    pub keys: EvaluationKeys<Cpu>,
    pub ev: Evaluator<Cpu>,
}

/// A ciphertext, the values that it should hold (`slots` of them for each batch entry), and a bound
/// on the error of each.
pub struct Sample {
    pub ct: Ciphertext<Cpu>,
    pub values: Vec<Vec<Complex64>>,
    pub error: f64,
}

impl Sample {
    pub fn magnitude(&self) -> f64 {
        magnitude(&self.values)
    }

    pub fn duplicate(&self) -> Self {
        Self { ct: self.ct.duplicate().unwrap(), values: self.values.clone(), error: self.error }
    }
}

pub fn magnitude(values: &[Vec<Complex64>]) -> f64 {
    values.iter().flatten().map(|z| z.norm()).fold(0.0, f64::max)
}

/// Values of magnitude below one: their powers stay so.
pub fn random_values(rng: &mut ChaCha20Rng, batch: usize, slots: usize) -> Vec<Vec<Complex64>> {
    let mut value = || Complex64::new(rng.random_range(-0.7..0.7), rng.random_range(-0.7..0.7));
    (0..batch).map(|_| (0..slots).map(|_| value()).collect()).collect()
}

/// f on all pairs of values: a single batch entry meets all of the other side, fewer slots repeat.
pub fn zip(
    a: &[Vec<Complex64>],
    b: &[Vec<Complex64>],
    f: impl Fn(Complex64, Complex64) -> Complex64,
) -> Vec<Vec<Complex64>> {
    (0..a.len().max(b.len()))
        .map(|entry| {
            let (a, b) = (&a[entry % a.len()], &b[entry % b.len()]);
            (0..a.len().max(b.len())).map(|i| f(a[i % a.len()], b[i % b.len()])).collect()
        })
        .collect()
}

pub fn map(a: &[Vec<Complex64>], f: impl Fn(Complex64) -> Complex64) -> Vec<Vec<Complex64>> {
    a.iter().map(|a| a.iter().map(|&z| f(z)).collect()).collect()
}

/// Slot i of the result is slot i + step.
pub fn rotated(a: &[Vec<Complex64>], step: i64) -> Vec<Vec<Complex64>> {
    let turn = |a: &Vec<Complex64>| {
        (0..a.len()).map(|i| a[(i as i64 + step).rem_euclid(a.len() as i64) as usize]).collect()
    };
    a.iter().map(turn).collect()
}

/// Standard deviations of coefficients, by the formulas of the documentation, and the slot errors
/// that follow.
pub struct Noise<'a>(pub &'a CkksParams);

impl Noise<'_> {
    pub fn n(&self) -> f64 {
        self.0.rlwe().ring().n() as f64
    }

    pub fn fresh_public(&self) -> f64 {
        (ERROR_VARIANCE * (1.0 + 4.0 * self.n() / 3.0)).sqrt()
    }

    /// The error of a division with rounding of both parts.
    pub fn rounding(&self) -> f64 {
        ((1.0 + 2.0 * self.n() / 3.0) / 12.0).sqrt()
    }

    /// The error of a key switch at a level, without the rounding of its division.
    pub fn key_switch(&self, level: usize) -> f64 {
        let (ring, primes) = (self.0.rlwe().ring(), self.0.levels()[level].primes);
        let log2 = |primes: &[u64]| primes.iter().map(|&q| (q as f64).log2()).sum::<f64>();
        let digits = self.0.rlwe().digits().iter().filter(|digit| digit.start < primes);
        let squares = digits.map(|digit| {
            (2.0 * (log2(&ring.q()[digit.start..digit.end.min(primes)]) - log2(ring.p()))).exp2()
        });
        (squares.sum::<f64>() * self.n() / 12.0 * ERROR_VARIANCE).sqrt()
    }

    /// Bound on the error of a slot.
    pub fn slot(&self, deviation: f64) -> f64 {
        TAIL * deviation * self.n().sqrt()
    }

    /// Bound on the error of a slot of an encryption by the public key.
    pub fn fresh_slot(&self) -> f64 {
        PUBLIC_TAIL * self.fresh_public() * self.n().sqrt()
    }
}

impl World {
    pub fn new(params: &CkksParams, steps: impl IntoIterator<Item = i64>, rng: &mut ChaCha20Rng) -> Self {
        let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
        let secret = SecretKey::generate(params.rlwe(), rng);
        let public = PublicKey::generate(&secret, &ring, rng).unwrap();
        let keys = EvaluationKeys::generate(
            &secret,
            &ring,
            KeyRequirements::new().relinearisation().rotations(steps).conjugation(),
            rng,
        )
        .unwrap();
        let ev = Evaluator::new(params, &ring).unwrap();
        Self { params: params.clone(), ring, secret, public, keys, ev }
    }

    pub fn noise(&self) -> Noise<'_> {
        Noise(&self.params)
    }

    pub fn top(&self) -> usize {
        self.params.max_level()
    }

    pub fn scale(&self, level: usize) -> f64 {
        self.params.levels()[level].scale
    }

    pub fn encoding(&self, level: usize, slots: usize) -> Encoding {
        self.params.encoding().at_level(&self.params, level).unwrap().slots(slots)
    }

    pub fn encode(&self, values: &[Vec<Complex64>], level: usize) -> Plaintext<Cpu> {
        let vectors: Vec<&[Complex64]> = values.iter().map(Vec::as_slice).collect();
        self.ev.encoder().encode_batch(&vectors, self.encoding(level, values[0].len())).unwrap()
    }

    /// Error of an encoding at a scale.
    pub fn encoding_error(&self, values: &[Vec<Complex64>], scale: f64) -> f64 {
        self.noise().slot((1f64 / 12.0).sqrt()) / scale + magnitude(values) * FLOAT
    }

    pub fn encrypt_plain(&self, plain: &Plaintext<Cpu>, rng: &mut ChaCha20Rng) -> Ciphertext<Cpu> {
        Encryptor::new(&self.params, &self.public).unwrap().encrypt(plain, rng).unwrap()
    }

    pub fn encrypt(&self, values: &[Vec<Complex64>], level: usize, rng: &mut ChaCha20Rng) -> Sample {
        let ct = self.encrypt_plain(&self.encode(values, level), rng);
        let scale = self.scale(level);
        let error = self.encoding_error(values, scale) + self.noise().fresh_slot() / scale;
        Sample { ct, values: values.to_vec(), error }
    }

    pub fn random(&self, batch: usize, slots: usize, level: usize, rng: &mut ChaCha20Rng) -> Sample {
        let values = random_values(rng, batch, slots);
        self.encrypt(&values, level, rng)
    }

    pub fn decrypt(&self, ct: &Ciphertext<Cpu>) -> Vec<Vec<Complex64>> {
        let plain = Decryptor::new(&self.params, &self.secret, &self.ring).unwrap().decrypt(ct).unwrap();
        self.ev.encoder().decode(&plain).unwrap()
    }

    /// Error of bringing a sample to a level by the aligning operations.
    pub fn error_at(&self, a: &Sample, level: usize) -> f64 {
        if a.ct.level() == level {
            return a.error;
        }
        let factor = self.scale(level) * self.params.dropped(level + 1) / a.ct.scale();
        a.error + a.magnitude() * 0.5 / factor + self.rounding_error(level)
    }

    pub fn rounding_error(&self, level: usize) -> f64 {
        self.noise().slot(self.noise().rounding()) / self.scale(level)
    }

    /// Error of one rotation.
    pub fn switch_error(&self, level: usize) -> f64 {
        self.noise().slot(self.noise().key_switch(level)) / self.scale(level) + self.rounding_error(level)
    }

    /// Error that relinearisation and rescale add at the level of the product.
    pub fn relin_error(&self, level: usize) -> f64 {
        self.noise().slot(self.noise().key_switch(level)) / self.scale(level).powi(2)
            + self.rounding_error(level - 1)
    }

    pub fn lower_level(&self, a: &Sample, b: &Sample) -> usize {
        a.ct.level().min(b.ct.level())
    }

    /// Checks that an operation in place makes `expected` of `a`.
    fn in_place(
        &self,
        a: &Sample,
        expected: &Ciphertext<Cpu>,
        f: impl Fn(&mut Ciphertext<Cpu>) -> he::Result<()>,
    ) {
        let mut ct = a.ct.clone();
        f(&mut ct).unwrap();
        let state = |ct: &Ciphertext<Cpu>| (ct.level(), ct.scale().to_bits(), ct.slots(), ct.noise());
        assert_eq!(state(&ct), state(expected));
        assert!(words(&ct) == words(expected));
    }

    pub fn add(&self, a: &Sample, b: &Sample) -> Sample {
        let level = self.lower_level(a, b);
        let ct = self.ev.add(&a.ct, &b.ct).unwrap();
        self.in_place(a, &ct, |a| self.ev.add_assign(a, &b.ct));
        Sample {
            ct,
            values: zip(&a.values, &b.values, |a, b| a + b),
            error: self.error_at(a, level) + self.error_at(b, level),
        }
    }

    pub fn sub(&self, a: &Sample, b: &Sample) -> Sample {
        let level = self.lower_level(a, b);
        let ct = self.ev.sub(&a.ct, &b.ct).unwrap();
        self.in_place(a, &ct, |a| self.ev.sub_assign(a, &b.ct));
        Sample {
            ct,
            values: zip(&a.values, &b.values, |a, b| a - b),
            error: self.error_at(a, level) + self.error_at(b, level),
        }
    }

    pub fn neg(&self, a: &Sample) -> Sample {
        let ct = self.ev.neg(&a.ct).unwrap();
        self.in_place(a, &ct, |a| self.ev.neg_assign(a));
        Sample { ct, values: map(&a.values, |z| -z), error: a.error }
    }

    /// Error of a product before relinearisation.
    pub fn product_error(&self, a: &Sample, b: &Sample) -> f64 {
        let level = self.lower_level(a, b);
        let (ea, eb) = (self.error_at(a, level), self.error_at(b, level));
        a.magnitude() * eb + b.magnitude() * ea + ea * eb
    }

    pub fn mul(&self, a: &Sample, b: &Sample) -> Sample {
        Sample {
            ct: self.ev.mul(&a.ct, &b.ct, &self.keys).unwrap(),
            values: zip(&a.values, &b.values, |a, b| a * b),
            error: self.product_error(a, b) + self.relin_error(self.lower_level(a, b)),
        }
    }

    pub fn square(&self, a: &Sample) -> Sample {
        let ct = self.ev.square(&a.ct, &self.keys).unwrap();
        Sample { ct, ..self.mul(a, a) }
    }

    /// The plaintext encoded for the ciphertext, and its error.
    fn plain_for(&self, a: &Sample, values: &[Vec<Complex64>]) -> (Plaintext<Cpu>, f64) {
        (self.encode(values, a.ct.level()), self.encoding_error(values, a.ct.scale()))
    }

    pub fn add_plain(&self, a: &Sample, values: &[Vec<Complex64>]) -> Sample {
        let (plain, error) = self.plain_for(a, values);
        Sample {
            ct: self.ev.add_plain(&a.ct, &plain).unwrap(),
            values: zip(&a.values, values, |a, b| a + b),
            error: a.error + error,
        }
    }

    pub fn sub_plain(&self, a: &Sample, values: &[Vec<Complex64>]) -> Sample {
        let (plain, error) = self.plain_for(a, values);
        Sample {
            ct: self.ev.sub_plain(&a.ct, &plain).unwrap(),
            values: zip(&a.values, values, |a, b| a - b),
            error: a.error + error,
        }
    }

    pub fn mul_plain(&self, a: &Sample, values: &[Vec<Complex64>]) -> Sample {
        let (plain, error) = self.plain_for(a, values);
        Sample {
            ct: self.ev.mul_plain(&a.ct, &plain).unwrap(),
            values: zip(&a.values, values, |a, b| a * b),
            error: a.magnitude() * error
                + magnitude(values) * a.error
                + a.error * error
                + self.rounding_error(a.ct.level() - 1),
        }
    }

    pub fn add_scalar(&self, a: &Sample, value: Complex64) -> Sample {
        Sample {
            ct: self.ev.add_scalar(&a.ct, value).unwrap(),
            values: map(&a.values, |z| z + value),
            error: a.error + self.encoding_error(&[vec![value]], a.ct.scale()),
        }
    }

    pub fn mul_scalar(&self, a: &Sample, value: f64) -> Sample {
        let ct = self.ev.mul_scalar(&a.ct, value).unwrap();
        Sample { ct, ..self.linear_combination(&[(a, value)]) }
    }

    pub fn mul_integer(&self, a: &Sample, value: i64) -> Sample {
        Sample {
            ct: self.ev.mul_integer(&a.ct, value).unwrap(),
            values: map(&a.values, |z| z * value as f64),
            error: a.error * value.abs() as f64,
        }
    }

    pub fn linear_combination(&self, terms: &[(&Sample, f64)]) -> Sample {
        let level = terms.iter().map(|(a, _)| a.ct.level()).min().unwrap();
        let mut values = map(&terms[0].0.values, |_| Complex64::ZERO);
        let mut error = self.rounding_error(level - 1);
        for &(a, weight) in terms {
            values = zip(&values, &a.values, |sum, z| sum + z * weight);
            error += (a.magnitude() + a.error) * 0.5 / self.scale(level)
                + (weight.abs() + 0.5 / self.scale(level)) * self.error_at(a, level);
        }
        let operands: Vec<(&Ciphertext<Cpu>, f64)> =
            terms.iter().map(|&(a, weight)| (&a.ct, weight)).collect();
        Sample { ct: self.ev.linear_combination(&operands).unwrap(), values, error }
    }

    pub fn rotate(&self, a: &Sample, step: i64) -> Sample {
        let switches = self.keys.rotation_path(step).unwrap().len() as f64;
        Sample {
            ct: self.ev.rotate(&a.ct, step, &self.keys).unwrap(),
            values: rotated(&a.values, step),
            error: a.error + switches * self.switch_error(a.ct.level()),
        }
    }

    pub fn conjugate(&self, a: &Sample) -> Sample {
        Sample {
            ct: self.ev.conjugate(&a.ct, &self.keys).unwrap(),
            values: map(&a.values, |z| z.conj()),
            error: a.error + self.switch_error(a.ct.level()),
        }
    }

    pub fn mod_switch_to(&self, a: &Sample, level: usize) -> Sample {
        Sample {
            ct: self.ev.mod_switch_to(&a.ct, level).unwrap(),
            values: a.values.clone(),
            error: self.error_at(a, level),
        }
    }

    /// The sample decrypts to its values within its error, and is settled at `level`.
    #[track_caller]
    pub fn check(&self, what: &str, a: &Sample, level: usize) {
        assert_eq!(a.ct.level(), level, "{what}: level");
        assert_eq!(a.ct.scale(), self.scale(level), "{what}: the scale is not the level's");
        assert_eq!(a.ct.slots(), a.values[0].len(), "{what}: slots");
        self.check_values(what, a);
    }

    /// The sample decrypts to its values within its error.
    #[track_caller]
    pub fn check_values(&self, what: &str, a: &Sample) {
        let bound = a.error + a.magnitude() * FLOAT;
        assert!(bound < 0.05 * a.magnitude().max(1.0), "{what}: the bound {bound:e} says nothing");
        let found = self.decrypt(&a.ct);
        assert_eq!(found.len(), a.values.len(), "{what}: batch");
        let worst = worst_difference(&found, &a.values);
        assert!(worst <= bound, "{what}: error {worst:e}, bound {bound:e}");
    }
}

pub fn worst_difference(a: &[Vec<Complex64>], b: &[Vec<Complex64>]) -> f64 {
    assert_eq!(a.len(), b.len());
    let pairs = a.iter().zip(b).flat_map(|(a, b)| {
        assert_eq!(a.len(), b.len());
        a.iter().zip(b)
    });
    pairs.map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
}

/// All words of a ciphertext.
pub fn words(ct: &Ciphertext<Cpu>) -> [Vec<u64>; 2] {
    ct.pair().parts().map(|part| part.to_words().unwrap())
}
