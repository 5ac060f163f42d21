//! The ten operations of the big-integer CKKS of Reynaldi 2023 on 8192 inputs: 8192 slots, N = 2^14, log q = 438. Ids `operation/way`:
//! `reference-serial` are the paper's algorithms in big integers on one thread (O(N^2) encoding; products by NTT), `cpu-1` and `cpu-all` the fast
//! path on one thread and on all.
//!
//! The product by schoolbook takes minutes at that degree; it is measured at N = 2^10, beside the product by NTT, as `n=1024`. Then
//! products with relinearisation, key switches and rescale, with one, two and three digits.
//!
//! `cargo bench --bench p1 -- encode`
#![allow(missing_docs)]

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use he::backend::Cpu;
use he::bigckks::reference::{
    Embedding, QuotientRing, Scheme, coordinate_wise_random_rounding, gaussian, hamming_weight, schoolbook,
    sparse_ternary, transform_product,
};
use he::bigckks::{
    BigCkksParams, BigCkksSpec, Complex64, Decryptor, Encryptor, EvaluationKeys, Evaluator, PublicKey,
    SecretKey,
};
use he::ring::Ring;
use num_bigint::BigInt;
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};
use rayon::ThreadPool;
use std::hint::black_box;
use std::time::{Duration, Instant};

const LOG_N: u32 = 14;
const LOG_Q: u32 = 438;
const LOG_SCALE: u32 = 50;
/// Weight of the paper's sparse secret.
const WEIGHT: usize = 64;
const SIGMA: f64 = 3.2;

/// The threads of a pool, or the calling one.
struct Way<'a> {
    name: String,
    pool: Option<&'a ThreadPool>,
}

impl Way<'_> {
    fn measure<T>(&self, c: &mut Criterion, operation: &str, call: impl FnMut() -> T + Send) {
        self.measure_as(c, operation, "", call);
    }

    fn measure_as<T>(
        &self,
        c: &mut Criterion,
        operation: &str,
        suffix: &str,
        mut call: impl FnMut() -> T + Send,
    ) {
        let mut group = c.benchmark_group(operation);
        group
            .sample_size(10)
            .warm_up_time(Duration::from_millis(300))
            .measurement_time(Duration::from_secs(2));
        let id = BenchmarkId::from_parameter(format!("{}{suffix}", self.name));
        group.bench_function(id, |bench| {
            bench.iter_custom(|iters| {
                let mut run = || {
                    let begin = Instant::now();
                    for _ in 0..iters {
                        drop(black_box(call()));
                    }
                    begin.elapsed()
                };
                match self.pool {
                    Some(pool) => pool.install(&mut run),
                    None => run(),
                }
            });
        });
        group.finish();
    }
}

fn values() -> Vec<Complex64> {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let mut value = || rng.random_range(-1.0..1.0);
    (0..1 << (LOG_N - 1)).map(|_| Complex64::new(value(), value())).collect()
}

fn reference(c: &mut Criterion) {
    let (n, way) = (1usize << LOG_N, Way { name: "reference-serial".into(), pool: None });
    let rng = &mut ChaCha20Rng::seed_from_u64(2);
    let embedding = Embedding::new(n);
    let mut scheme = Scheme::new(n, LOG_Q, LOG_Q);
    scheme.q = scheme.q.by_transform();
    let (slots, scale) = (values(), f64::from(LOG_SCALE).exp2());
    let a = scheme.q.uniform(rng);
    let a_key = scheme.key_ring().uniform(rng);
    let s = hamming_weight(n, WEIGHT, rng);
    let e = gaussian(n, SIGMA, rng);
    let square = scheme.q.mul(&s, &s);
    let public = scheme.public_key(&s, &a, &e);
    let message = a.iter().map(|x| x >> (LOG_Q - LOG_SCALE)).collect::<Vec<BigInt>>();
    let v = sparse_ternary(n, 0.5, rng);
    let x = scheme.encrypt(&public, &message, &v, [&e, &e]);
    way.measure(c, "encode", || {
        coordinate_wise_random_rounding(&embedding.project(&embedding.pi_inverse(&slots), scale), rng)
    });
    way.measure(c, "decode", || embedding.pi(&embedding.sigma(&message, scale)));
    way.measure(c, "secret key", || hamming_weight(n, WEIGHT, rng));
    way.measure(c, "public key", || {
        let (a, e) = (scheme.q.uniform(rng), gaussian(n, SIGMA, rng));
        scheme.public_key(&s, &a, &e)
    });
    way.measure(c, "evaluation key", || {
        let e = gaussian(n, SIGMA, rng);
        scheme.switching_key(&s, &square, &BigInt::from(1), &a_key, &e)
    });
    way.measure(c, "encrypt", || {
        let [v, e0, e1] = [sparse_ternary(n, 0.5, rng), gaussian(n, SIGMA, rng), gaussian(n, SIGMA, rng)];
        scheme.encrypt(&public, &message, &v, [&e0, &e1])
    });
    way.measure(c, "decrypt", || scheme.decrypt(&x, &s));
    way.measure(c, "add", || scheme.add(&x, &x));
    way.measure(c, "multiply (NTT)", || scheme.multiply(&x, &x));
    let small = QuotientRing::power_of_two(1 << 10, LOG_Q);
    let (a, b) = (small.uniform(rng), small.uniform(rng));
    way.measure_as(c, "polynomial product (schoolbook)", "/n=1024", || schoolbook(&a, &b));
    way.measure_as(c, "polynomial product (NTT)", "/n=1024", || transform_product(&a, &b));
}

fn fast(c: &mut Criterion) {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    for (way, threads) in [("cpu-1", 1), ("cpu-all", threads)] {
        let pool =
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
        on_threads(c, &Way { name: way.into(), pool: Some(&pool) });
    }
}

fn on_threads(c: &mut Criterion, way: &Way<'_>) {
    let rng = &mut ChaCha20Rng::seed_from_u64(3);
    for digits in [2, 1, 3] {
        let spec = BigCkksSpec::new(LOG_N, LOG_Q, LOG_SCALE).with_digits(digits);
        let params = BigCkksParams::insecure(spec).expect("valid widths");
        let ring = Ring::new(Cpu::new(), params.ring().clone()).expect("the CPU does not fail");
        let secret = SecretKey::generate(&params, rng);
        let public = PublicKey::generate(&secret, &ring, rng).expect("the CPU does not fail");
        let keys = EvaluationKeys::generate(&secret, &ring, [1], false, rng).expect("the CPU does not fail");
        let ev = Evaluator::new(&params, &ring).expect("same ring");
        let (encryptor, decryptor) = (
            Encryptor::new(&params, &public).expect("same parameters"),
            Decryptor::new(&params, &secret, &ring).expect("same parameters"),
        );
        let slots = values();
        let plain = ev.encoder().encode(&slots, params.encoding()).expect("small values");
        let x = encryptor.encrypt(&plain, rng).expect("the CPU does not fail");
        let y = encryptor.encrypt(&plain, rng).expect("the CPU does not fail");
        let product = ev.tensor(&x, &y).expect("enough bits");
        if digits == 2 {
            way.measure(c, "encode", || ev.encoder().encode(&slots, params.encoding()));
            way.measure(c, "decode", || ev.encoder().decode(&plain));
            way.measure(c, "secret key", || SecretKey::generate(&params, rng));
            way.measure(c, "public key", || PublicKey::generate(&secret, &ring, rng));
            way.measure(c, "encrypt", || encryptor.encrypt(&plain, rng));
            way.measure(c, "decrypt", || decryptor.decrypt(&x));
            way.measure(c, "add", || ev.add(&x, &y));
            way.measure(c, "multiply (NTT)", || ev.tensor(&x, &y));
            way.measure(c, "square", || ev.tensor(&x, &x));
            let high = ev.relinearize(&product, &keys).expect("same parameters");
            way.measure(c, "rescale", || ev.rescale(&high, LOG_SCALE));
        }
        let shape = format!("/digits={digits}");
        way.measure_as(c, "evaluation key", &shape, || {
            EvaluationKeys::generate(&secret, &ring, [], false, rng)
        });
        way.measure_as(c, "relinearise", &shape, || ev.relinearize(&product, &keys));
        way.measure_as(c, "multiply and relinearise", &shape, || ev.mul(&x, &y, &keys));
        way.measure_as(c, "rotate", &shape, || ev.rotate(&x, 1, &keys));
    }
}

criterion_group!(benches, fast, reference);
criterion_main!(benches);
