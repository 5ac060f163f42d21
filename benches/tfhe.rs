//! Measures TFHE: encryption by either key, gates, lookups and integers, and the transform's share
//! of them.
//!
//! `RAYON_NUM_THREADS=1 cargo bench --bench tfhe` for one thread;
//! `cargo bench --bench tfhe -- cuda` for the first GPU, from an idle device to an idle device.
//! Marks of the project on one thread: NAND 12 ms, 32-bit addition 600 ms, 64-bit less-than 800 ms
//! (TFHE-rs 14.5, 653 and 881 on a machine with AVX-512).

#[path = "common/timing.rs"]
mod timing;

use criterion::{Bencher, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use he::backend::{Backend, Cpu};
use he::circuits::bits::{Builder, Circuit, less_than, sum};
use he::tfhe::{
    BootstrapKey, Bootstrapper, Carry, CompactPublicKey, GateEvaluator, IntegerEvaluator, LookupTables,
    LweOps, TfheParams, TfheSecretKey, presets,
};
use num_bigint::BigUint;
use rand::{SeedableRng, rngs::ChaCha20Rng};
use std::time::Duration;

fn keys(params: &TfheParams) -> (TfheSecretKey, BootstrapKey, ChaCha20Rng) {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let secret = TfheSecretKey::generate(params, &mut rng);
    let key = BootstrapKey::generate(&secret, &mut rng);
    (secret, key, rng)
}

/// A device, and its batches of gates.
struct Device<'a, B> {
    name: &'a str,
    backend: &'a B,
    batches: &'a [usize],
}

impl<B: Backend> Device<'_, B> {
    /// Measures a call until its work is complete.
    fn bench<T>(&self, b: &mut Bencher<'_>, call: impl Fn() -> he::Result<T>) {
        b.iter_custom(|iters| {
            timing::time(self.backend, iters, || {
                let result = call()?;
                self.backend.synchronize()?;
                Ok(result)
            })
        });
    }
}

/// Key switch and blind rotation separately, by the name of the parameters.
fn parts<B: LweOps>(c: &mut Criterion, device: &Device<'_, B>) {
    let backend = device.backend;
    let mut group = c.benchmark_group(format!("tfhe-{}-parts", device.name));
    for (name, params) in [("gates-2m128", presets::gates_2m128()), ("digits-2m128", presets::digits_2m128())]
    {
        let params = params.expect("a preset");
        let (secret, key, mut rng) = keys(&params);
        let expanded = backend.lwe_key(&key).expect("the device works");
        for &count in device.batches {
            let words = secret
                .encrypt(backend, &vec![0; count], &mut rng)
                .and_then(|x| x.download())
                .and_then(|words| backend.upload(&words))
                .expect("the device works");
            let table = backend.upload(&vec![1 << 61; params.degree()]).expect("the device works");
            group.throughput(Throughput::Elements(count as u64));
            group.bench_function(BenchmarkId::new(format!("key-switch-{name}"), count), |b| {
                device.bench(b, || backend.key_switch(&expanded, &words, count));
            });
            let small = backend.key_switch(&expanded, &words, count).expect("the device works");
            let which = vec![0; count];
            group.bench_function(BenchmarkId::new(format!("blind-rotation-{name}"), count), |b| {
                device.bench(b, || backend.blind_rotate(&expanded, &small, count, &table, &which, 1));
            });
        }
    }
}

/// x + y + z of 32 bits, and, with enough processors, x < y of 1024 bits.
fn circuits(large: bool) -> Vec<(&'static str, Circuit)> {
    let mut three = Builder::new(96);
    let numbers = (0..3).map(|i| three.input(32 * i..32 * i + 32)).collect();
    let out = sum(&mut three, numbers, 32);
    let mut circuits = vec![("three-32-bit-numbers", three.finish(&out))];
    if large {
        let mut comparison = Builder::new(2048);
        let (x, y) = (comparison.input(0..1024), comparison.input(1024..2048));
        let out = less_than(&mut comparison, &x, &y);
        circuits.push(("less-than-of-1024-bits", comparison.finish(&[out])));
    }
    circuits
}

fn gates<B: LweOps>(c: &mut Criterion, device: &Device<'_, B>) {
    let backend = device.backend;
    let mut group = c.benchmark_group(format!("tfhe-{}-gates", device.name));
    for (name, params) in [
        ("2m128", presets::gates_2m128()),
        ("2m40", presets::gates_2m40()),
        ("insecure-lambda100", presets::insecure_lambda100()),
    ] {
        let (secret, key, mut rng) = keys(&params.expect("a preset"));
        let gates = GateEvaluator::new(backend, &key).expect("the device works");
        for &count in device.batches {
            let mut encrypt =
                |bit| secret.encrypt_bits(backend, &vec![bit; count], &mut rng).expect("the device works");
            let (x, y) = (encrypt(true), encrypt(false));
            group.throughput(Throughput::Elements(count as u64));
            group.bench_function(BenchmarkId::new(format!("nand-{name}"), count), |b| {
                device.bench(b, || gates.nand(&x, &y));
            });
        }
        if name == "2m128" {
            for (what, circuit) in circuits(device.batches.len() > 2) {
                let bits = vec![true; circuit.inputs()];
                let bits = secret.encrypt_bits(backend, &bits, &mut rng).expect("the device works");
                let id = format!("{what}-{}-gates-depth-{}", circuit.gate_count(), circuit.depth());
                group.throughput(Throughput::Elements(circuit.gate_count() as u64));
                group.bench_function(id, |b| device.bench(b, || circuit.run(&gates, &bits)));
            }
        }
    }
}

fn integers<B: LweOps>(c: &mut Criterion, device: &Device<'_, B>) {
    let backend = device.backend;
    let mut group = c.benchmark_group(format!("tfhe-{}-integers", device.name));
    for (name, params) in [("2m128", presets::digits_2m128()), ("2m40", presets::digits_2m40())] {
        let params = params.expect("a preset");
        let (secret, key, mut rng) = keys(&params);
        let boot = Bootstrapper::new(backend, &key).expect("the device works");
        let tables =
            LookupTables::new(backend, &params, &[(0..16).map(|m| m << 59).collect()]).expect("16 entries");
        for &count in device.batches {
            let messages =
                secret.encrypt(backend, &vec![5 << 59; count], &mut rng).expect("the device works");
            let which = vec![0; count];
            group.throughput(Throughput::Elements(count as u64));
            group.bench_function(BenchmarkId::new(format!("lookup-{name}"), count), |b| {
                device.bench(b, || boot.bootstrap(&messages, &tables, &which));
            });
        }
        group.throughput(Throughput::Elements(1));
        for (how, carry) in [("ripple", Carry::Ripple), ("prefix", Carry::Prefix)] {
            let ev = IntegerEvaluator::new(backend, &key, carry).expect("a preset for digits");
            let mut pair = |bits: usize| {
                [0x0123_4567_89ab_cdefu64, 0xfedc_ba98_7654_3210]
                    .map(|x| BigUint::from(x >> (64 - bits)))
                    .map(|x| secret.encrypt_uint(backend, &[x], bits, &mut rng).expect("values that fit"))
            };
            for bits in [32, 64] {
                let [x, y] = pair(bits);
                group.bench_function(BenchmarkId::new(format!("add-{bits}-{how}"), name), |b| {
                    device.bench(b, || ev.add(&x, &y));
                });
                group.bench_function(BenchmarkId::new(format!("mul-{bits}-{how}"), name), |b| {
                    device.bench(b, || ev.mul(&x, &y));
                });
                group.bench_function(BenchmarkId::new(format!("div-{bits}-{how}"), name), |b| {
                    device.bench(b, || ev.div(&y, &x));
                });
                if carry == Carry::Ripple {
                    group.bench_function(BenchmarkId::new(format!("lt-{bits}"), name), |b| {
                        device.bench(b, || ev.lt(&x, &y));
                    });
                }
            }
        }
    }
}

/// 1000 integers of 64 bits by the secret key and by the public one, and what expands them.
fn encryption<B: LweOps>(c: &mut Criterion, device: &Device<'_, B>) {
    let mut group = c.benchmark_group(format!("tfhe-{}-encryption", device.name));
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let secret = TfheSecretKey::generate(&presets::digits_2m128().expect("a preset"), &mut rng);
    let public = CompactPublicKey::generate(&secret, &mut rng);
    let values: Vec<u64> = (0..1000u64).map(|i| i.wrapping_mul(0x0123_4567_89ab_cdef)).collect();
    group.throughput(Throughput::Elements(1000));
    group.bench_function("secret", |b| b.iter(|| secret.encrypt_u64_seeded(&values, 64, &mut rng)));
    group.bench_function("public", |b| b.iter(|| public.encrypt_u64(&values, 64, &mut rng)));
    let seeded = secret.encrypt_u64_seeded(&values, 64, &mut rng).expect("values that fit");
    let list = public.encrypt_u64(&values, 64, &mut rng).expect("values that fit");
    group.bench_function("expand-seeded", |b| device.bench(b, || seeded.expand(device.backend)));
    group.bench_function("expand-list", |b| device.bench(b, || list.expand(device.backend)));
}

fn all<B: LweOps>(c: &mut Criterion, device: &Device<'_, B>) {
    encryption(c, device);
    parts(c, device);
    gates(c, device);
    integers(c, device);
}

fn cpu(c: &mut Criterion) {
    all(c, &Device { name: "cpu", backend: &Cpu::new(), batches: &[1, 64] });
}

fn cuda(c: &mut Criterion) {
    if let Some(cuda) = timing::cuda() {
        all(c, &Device { name: "cuda", backend: &cuda, batches: &[1, 1000, 10_000] });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
    targets = cpu, cuda
}
criterion_main!(benches);
