//! Keys, clients and random records at a small, insecure degree.

use crate::plain::value;
use he_core::backend::Cpu;
use he_core::ckks::Evaluator;
use he_core::ring::Ring;
use he_core::rlwe::{EvaluationKeys, SecretKey};
use he_search::{Client, Metric, Params, Plan};
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

/// The degree of these tests: segments of 64 records.
pub const LOG_N: u32 = 7;

/// A generator with a printed seed.
pub fn rng() -> ChaCha20Rng {
    let seed: u64 = he_core::rand::rng().random();
    println!("seed {seed}");
    ChaCha20Rng::seed_from_u64(seed)
}

/// Both sides of a search.
pub struct Setup {
    pub params: Params,
    pub ring: Ring,
    pub secret: SecretKey,
    pub keys: EvaluationKeys,
    pub client: Client,
    pub ev: Evaluator,
}

impl Setup {
    pub fn new(plan: Plan, rng: &mut ChaCha20Rng) -> Self {
        let params = plan.params().unwrap();
        let ring = Ring::new(Cpu::new(), params.ckks().rlwe().ring().clone()).unwrap();
        let secret = SecretKey::generate(params.ckks().rlwe(), rng);
        let needs = params.requirements().union(&params.merge_requirements());
        let keys = EvaluationKeys::generate(&secret, &ring, needs, rng).unwrap();
        let client = Client::new(&params, &secret, &ring).unwrap();
        let ev = Evaluator::new(params.ckks(), &ring).unwrap();
        Self { params, ring, secret, keys, client, ev }
    }
}

/// A vector of coordinates in [-1, 1], scaled to a norm of at most one.
pub fn vector(dimension: usize, rng: &mut ChaCha20Rng) -> Vec<f64> {
    let x: Vec<f64> = (0..dimension).map(|_| rng.random_range(-1.0..1.0)).collect();
    let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
    let length = rng.random_range(0.7..1.0);
    x.iter().map(|x| x / norm * length).collect()
}

/// Records of which about one in eight is near the query, and none within the margin of the
/// threshold.
pub fn records(
    metric: Metric,
    query: &[f64],
    (threshold, margin): (f64, f64),
    count: usize,
    rng: &mut ChaCha20Rng,
) -> Vec<Vec<f64>> {
    let mut found = Vec::new();
    while found.len() < count {
        let mut x = vector(query.len(), rng);
        if rng.random_range(0..8) == 0 {
            x = query.iter().zip(&x).map(|(q, x)| 0.9 * q + 0.1 * x).collect();
        }
        if (value(metric, query, &x) - threshold).abs() > margin {
            found.push(x);
        }
    }
    found
}

/// A payload that names its record.
pub fn payload(record: usize) -> [u8; 5] {
    let [a, b] = (record as u16).to_le_bytes();
    [a, b, !a, 255, a ^ 85]
}
