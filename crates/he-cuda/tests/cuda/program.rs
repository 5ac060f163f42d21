//! Whole programs from keys to decoded results, for any back end.

use he_core::Result;
use he_core::backend::RingOps;
use he_core::circuits::ckks::{LUMA, blend, blend_masked, convolution_requirements, convolve, grayscale};
use he_core::circuits::{Kernel, Packing, TileLayout};
use he_core::ckks::{
    Ciphertext, CkksParams, CkksSpec, Complex64, Decryptor, Encryptor, Evaluator, Plaintext, SecretEncryptor,
};
use he_core::ring::Ring;
use he_core::rlwe::{EvaluationKeys, KeyRequirements, PublicKey, SecretKey};
use he_core::wire::{Frame, Wire, WireKeys};
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

/// Vectors of slots.
pub type Values = Vec<Vec<Complex64>>;

/// Parameters and a batch.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub log_n: u32,
    q: &'static [u32],
    p: &'static [u32],
    dnum: usize,
    /// The primes per level.
    level: usize,
    scale_log2: f64,
    pub batch: usize,
}

/// One special prime, digits of one prime.
pub const SINGLE: Shape =
    Shape { log_n: 4, q: &[50, 40, 40], p: &[50], dnum: 3, level: 1, scale_log2: 40.0, batch: 1 };

/// Two primes per level, and a scale that is finer than doubles.
pub const PAIRS: Shape =
    Shape { q: &[45, 45, 40, 40, 40, 40], p: &[46, 46], level: 2, scale_log2: 80.0, ..SINGLE };

/// All primes below 2^50; two digits of five primes.
pub const NARROW: Shape =
    Shape { log_n: 4, q: &[49, 40, 40, 40, 40, 40, 40, 40, 40, 40], p: &[49; 5], dnum: 2, ..SINGLE };

/// Primes of 60 bits and below 2^50; three digits of five primes.
pub const MIXED: Shape = Shape {
    log_n: 4,
    q: &[60, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45],
    p: &[60, 60, 60, 60, 49],
    dnum: 3,
    level: 1,
    scale_log2: 45.0,
    batch: 1,
};

/// Three digits of up to three primes, all above 2^50 but the last special one.
pub const WIDE: Shape = Shape {
    log_n: 4,
    q: &[60, 55, 55, 55, 55, 55, 55],
    p: &[60, 60, 60, 45],
    dnum: 3,
    level: 1,
    scale_log2: 55.0,
    batch: 1,
};

/// One digit of all primes, and an odd number of special ones.
pub const ONE_DIGIT: Shape = Shape { q: &[49, 40, 40], p: &[49; 3], dnum: 1, ..SINGLE };

/// 29 primes below 2^50 and eight special ones, in four digits: a chain for bootstrapping.
pub const LONG: Shape = Shape {
    log_n: 16,
    q: &[
        50, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44,
        44, 44, 44, 44,
    ],
    p: &[46; 8],
    dnum: 4,
    level: 1,
    scale_log2: 44.0,
    batch: 1,
};

impl Shape {
    pub const fn of(self, log_n: u32, batch: usize) -> Self {
        Self { log_n, batch, ..self }
    }

    pub fn params(&self) -> CkksParams {
        let spec =
            CkksSpec::from_bits(self.log_n, self.q, self.p, self.scale_log2).expect("there are primes");
        let levels = (self.level..=spec.q.len()).step_by(self.level).collect();
        CkksParams::insecure(spec.with_dnum(self.dnum).with_levels(levels, self.scale_log2))
            .expect("the parameters are possible")
    }

    /// The tiles of the filter, where a tile fits the slots.
    fn layout(&self) -> Option<TileLayout> {
        let slots = 1usize << (self.log_n - 1);
        (slots >= 16).then(|| TileLayout::new(50, 40, slots, 1, Packing::Complex).expect("tiles fit"))
    }

    /// Rotations that have keys: those of sums over eight slots and of a filter of 3 x 3.
    fn steps(&self) -> Vec<i64> {
        let filter = self.layout().map(|layout| {
            convolution_requirements(&filter(), &layout).expect("the halo is wide enough").keys
        });
        [1, 2, 4]
            .into_iter()
            .chain(filter.iter().flat_map(KeyRequirements::rotation_steps).copied())
            .collect()
    }
}

fn filter() -> Kernel {
    let weights = vec![0.1, -0.2, 0.3, 0.05, 0.4, -0.15, 0.25, 0.2, -0.3];
    Kernel::new(3, 3, weights).expect("nine weights")
}

/// A seed, or the one of HE_TEST_SEED.
pub fn seed() -> u64 {
    let given = std::env::var("HE_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    given.unwrap_or_else(|| he_core::rand::rng().random())
}

/// Vectors with both parts in -0.7 .. 0.7.
pub fn values(rng: &mut ChaCha20Rng, batch: usize, slots: usize) -> Values {
    let mut part = || rng.random_range(-0.7..0.7);
    (0..batch).map(|_| (0..slots).map(|_| Complex64::new(part(), part())).collect()).collect()
}

/// Slot i of the result is slot i + step.
pub fn rotated(values: &Values, step: i64) -> Values {
    let at = |slots: usize, i: usize| (i as i64 + step).rem_euclid(slots as i64) as usize;
    values.iter().map(|v| (0..v.len()).map(|i| v[at(v.len(), i)]).collect()).collect()
}

pub fn map(values: &Values, f: impl Fn(Complex64) -> Complex64) -> Values {
    values.iter().map(|v| v.iter().map(|&z| f(z)).collect()).collect()
}

pub fn zip(a: &Values, b: &Values, f: impl Fn(Complex64, Complex64) -> Complex64) -> Values {
    a.iter().zip(b).map(|(a, b)| a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect()).collect()
}

/// sum_i weight_i rotation_i.
fn weighted(values: &Values, terms: &[(i64, f64)]) -> Values {
    terms.iter().fold(map(values, |_| Complex64::ZERO), |sum, &(step, weight)| {
        zip(&sum, &rotated(values, step), |sum, z| sum + z * weight)
    })
}

/// Parameters with keys on a back end.
pub struct Session<B: RingOps> {
    pub params: CkksParams,
    pub ring: Ring<B>,
    pub ev: Evaluator<B>,
    pub secret: SecretKey,
    pub public: PublicKey<B>,
    pub keys: EvaluationKeys<B>,
    pub rng: ChaCha20Rng,
    pub shape: Shape,
}

impl<B: RingOps> Session<B> {
    pub fn new(backend: &B, shape: &Shape, seed: u64) -> Result<Self> {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let params = shape.params();
        let ring = Ring::new(backend.clone(), params.rlwe().ring().clone())?;
        let ev = Evaluator::new(&params, &ring)?;
        let secret = SecretKey::generate(params.rlwe(), &mut rng);
        let public = PublicKey::generate(&secret, &ring, &mut rng)?;
        let keys = EvaluationKeys::generate(
            &secret,
            &ring,
            KeyRequirements::new().relinearisation().rotations(shape.steps()).conjugation(),
            &mut rng,
        )?;
        Ok(Self { params, ring, ev, secret, public, keys, rng, shape: *shape })
    }

    pub fn encode(&self, values: &Values) -> Result<Plaintext<B>> {
        let vectors: Vec<&[Complex64]> = values.iter().map(Vec::as_slice).collect();
        let slots = values.first().map_or(1, Vec::len);
        self.ev.encoder().encode_batch(&vectors, self.params.encoding().slots(slots))
    }

    /// A batch of random vectors and its encryption by public key.
    pub fn input(&mut self) -> Result<(Values, Ciphertext<B>)> {
        let plain = values(&mut self.rng, self.shape.batch, self.params.slots());
        let encoded = self.encode(&plain)?;
        let ct = Encryptor::new(&self.params, &self.public)?.encrypt(&encoded, &mut self.rng)?;
        Ok((plain, ct))
    }

    /// A rotation that needs more than one key.
    pub fn composed_step(&self) -> i64 {
        let composed = |step: &i64| self.keys.rotation_path(*step).is_ok_and(|path| path.len() > 1);
        (1..8).find(composed).expect("some step has no key of its own")
    }
}

/// The bytes of everything that a program computed.
#[derive(Debug, Default)]
pub struct Made(pub Vec<(String, Vec<u8>)>);

impl Made {
    fn add(&mut self, what: impl Into<String>, frame: &Frame) {
        self.0.push((what.into(), frame.body.to_vec()));
    }

    /// Panics unless both computed the same.
    pub fn assert_same(&self, expected: &Self, case: &str) {
        let names = |made: &Self| made.0.iter().map(|(what, _)| what.clone()).collect::<Vec<_>>();
        assert_eq!(names(self), names(expected), "{case}");
        assert!(!self.0.is_empty(), "{case}: nothing to compare");
        for ((what, found), (_, expected)) in self.0.iter().zip(&expected.0) {
            let at = found.iter().zip(expected).position(|(a, b)| a != b);
            assert!(found == expected, "{case}: the bytes of {what} differ, from {at:?} on");
        }
    }
}

/// Checks results, and keeps their bytes if asked.
struct Results<'a, B: RingOps> {
    params: &'a CkksParams,
    ev: &'a Evaluator<B>,
    decryptor: Decryptor<B>,
    made: Option<Made>,
    tolerance: f64,
    case: String,
}

impl<B: RingOps> Results<'_, B> {
    fn check(&mut self, what: &str, ct: &Ciphertext<B>, expected: &Values) -> Result<()> {
        if let Some(made) = &mut self.made {
            made.add(what, &ct.to_frame(self.params)?);
        }
        let found = self.ev.encoder().decode(&self.decryptor.decrypt(ct)?)?;
        assert_eq!(found.len(), expected.len(), "{what}: batch; {}", self.case);
        for (entry, (found, expected)) in found.iter().zip(expected).enumerate() {
            assert_eq!(found.len(), expected.len(), "{what}: slots; {}", self.case);
            for (slot, (z, e)) in found.iter().zip(expected).enumerate() {
                let error = (z - e).norm();
                assert!(
                    error < self.tolerance,
                    "{what}: slot {slot} of {entry} is {z}, expected {e} within {}; {}",
                    self.tolerance,
                    self.case
                );
            }
        }
        Ok(())
    }
}

/// Runs everything: keys, encryption, circuits, products, rotations, decryption; every result is
/// compared with float64.
///
/// # Errors
/// The errors of the back end, including the differences of a mirror.
pub fn run<B: RingOps>(backend: &B, shape: &Shape, seed: u64, record: bool) -> Result<Made> {
    let mut s = Session::new(backend, shape, seed)?;
    let [(a, x), (b, y), (c, z)] = [s.input()?, s.input()?, s.input()?];
    let sparse = values(&mut s.rng, shape.batch, s.params.slots() / 4);
    let encryptor = SecretEncryptor::new(&s.params, &s.secret, &s.ring)?;
    let seeded = encryptor.encrypt(&s.encode(&sparse)?, &mut s.rng)?;
    let mask = values(&mut s.rng, 1, s.params.slots());
    let mut made = record.then(Made::default);
    if let Some(made) = &mut made {
        made.add("the secret key", &s.secret.to_frame(&s.params)?);
        made.add("the public key", &s.public.to_frame(&s.params)?);
        for (i, frame) in s.keys.to_frames(&s.params).enumerate() {
            made.add(format!("evaluation key {i}"), &frame?);
        }
        made.add("a seeded ciphertext", &seeded.to_frame(&s.params)?);
    }
    let seeded = seeded.expand()?;
    let (params, ev, keys) = (&s.params, &s.ev, &s.keys);
    let mut results = Results {
        params,
        ev,
        decryptor: Decryptor::new(params, &s.secret, &s.ring)?,
        made,
        // Every result is a sum of a few products; key switching adds less than encryption. The
        // reference is in doubles.
        tolerance: (64.0 * (-params.fresh_precision_bits()).exp2()).max(1e-13),
        case: format!("{shape:?}, HE_TEST_SEED={seed}"),
    };

    for (what, ct, plain) in [("x", &x, &a), ("y", &y, &b), ("z", &z, &c), ("seeded", &seeded, &sparse)] {
        results.check(what, ct, plain)?;
    }

    let product = zip(&a, &b, |a, b| a * b);
    let xy = ev.mul(&x, &y, keys)?;
    results.check("product", &xy, &product)?;
    let triple = ev.tensor(&x, &y)?;
    let manual = ev.rescale(&ev.relinearize(&triple, keys)?)?;
    results.check("product in steps", &manual, &product)?;
    let square = ev.square(&xy, keys)?;
    results.check("square of the product", &square, &map(&product, |z| z * z))?;
    let masked = ev.mul_plain(&x, &s.encode(&mask)?)?;
    let expected = a.iter().map(|a| a.iter().zip(&mask[0]).map(|(a, m)| a * m).collect()).collect();
    results.check("product with one plaintext", &masked, &expected)?;

    let mixed = blend(ev, &x, &y, 0.3)?;
    results.check("blend", &mixed, &zip(&a, &b, |a, b| a * 0.7 + b * 0.3))?;
    let by_mask = blend_masked(ev, &x, &y, &z, Packing::Real, keys)?;
    let expected = zip(&a, &zip(&zip(&b, &a, |b, a| b - a), &c, |d, c| d * c), |a, d| a + d);
    results.check("blend by a mask", &by_mask, &expected)?;
    let gray = grayscale(ev, [&x, &y, &z])?;
    let [red, green, blue] = LUMA;
    let gray_plain = zip(&zip(&a, &b, |a, b| a * red + b * green), &c, |ab, c| ab + c * blue);
    results.check("gray", &gray, &gray_plain)?;

    if let Some(layout) = shape.layout() {
        let (kernel, row) = (filter(), layout.tile_w() as i64);
        let terms: Vec<(i64, f64)> = kernel.taps().map(|(dy, dx, weight)| (dy * row + dx, weight)).collect();
        let filtered = convolve(ev, &gray, &kernel, &layout, keys)?;
        let plain = weighted(&gray_plain, &terms);
        results.check("convolution", &filtered, &plain)?;
        results.check("rotated convolution", &ev.rotate(&filtered, 2, keys)?, &rotated(&plain, 2))?;
    }

    let composed = s.composed_step();
    for (what, step) in [("rotation", 1), ("composed rotation", composed), ("no rotation", 0)] {
        results.check(what, &ev.rotate(&x, step, keys)?, &rotated(&a, step))?;
    }
    results.check("rotated product", &ev.rotate(&xy, 4, keys)?, &rotated(&product, 4))?;
    results.check("rotated square", &ev.rotate(&square, 1, keys)?, &rotated(&map(&product, |z| z * z), 1))?;
    results.check("conjugate", &ev.conjugate(&y, keys)?, &map(&b, |z| z.conj()))?;
    let steps = [1, 4, composed, 0, 2];
    for (&step, ct) in steps.iter().zip(&ev.rotate_many(&z, &steps, keys)?) {
        results.check("hoisted rotation", ct, &rotated(&c, step))?;
    }
    let all: Vec<(i64, f64)> = (0..8).map(|step| (step, 1.0)).collect();
    results.check("inner sum", &ev.inner_sum(&x, 8, keys)?, &weighted(&a, &all))?;
    let terms = [(0, 0.5), (1, -0.75), (composed, 0.25), (2, 1.5)];
    results.check("sum of rotations", &ev.sum_of_rotations(&y, &terms, keys)?, &weighted(&b, &terms))?;

    let weights = values(&mut s.rng, 2, s.params.slots());
    let encoded = [ev.encode_weight(&weights[0], y.level())?, ev.encode_weight(&weights[1], y.level())?];
    let sum = ev.sum_of_masked_rotations(&y, &[(0, &encoded[0]), (1, &encoded[1])], keys)?;
    let times = |v: &Values, w: &Vec<Complex64>| zip(v, &vec![w.clone(); v.len()], |z, w| z * w);
    let expected = zip(&times(&b, &weights[0]), &times(&rotated(&b, 1), &weights[1]), |a, b| a + b);
    results.check("sum of masked rotations", &sum, &expected)?;
    Ok(results.made.unwrap_or_default())
}

/// [`run`], with the case in the message of a failure.
pub fn run_or_panic<B: RingOps>(backend: &B, shape: &Shape, seed: u64, record: bool) -> Made {
    run(backend, shape, seed, record)
        .unwrap_or_else(|error| panic!("{error}; {shape:?}, HE_TEST_SEED={seed}, {}", backend.name()))
}
