//! TFHE: gates, lookups and integers, and the transform's share of them.
//!
//! `RAYON_NUM_THREADS=1 cargo bench --bench tfhe` for one thread. Marks of the project on one thread: NAND 12 ms, 32-bit addition 600 ms, 64-bit
//! less-than 800 ms (TFHE-rs 14.5, 653 and 881 on a machine with AVX-512).

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use he::backend::{Backend, Cpu};
use he::circuits::bits::{Builder, sum};
use he::tfhe::{
    BootstrapKey, Bootstrapper, Carry, GateEvaluator, LookupTables, LweOps, TfheParams, TfheSecretKey,
    UintEvaluator, presets,
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

/// Key switch and blind rotation apart, by the name of the parameters.
fn parts(c: &mut Criterion) {
    let cpu = Cpu::new();
    let mut group = c.benchmark_group("tfhe-parts");
    for (name, params) in [("gates-2m128", presets::gates_2m128()), ("digits-2m128", presets::digits_2m128())]
    {
        let params = params.expect("a preset");
        let (secret, key, mut rng) = keys(&params);
        let device = cpu.lwe_key(&key).expect("the CPU");
        let words = secret.encrypt(&cpu, &[0], &mut rng).and_then(|x| x.download(&cpu)).expect("the CPU");
        let table = cpu.upload(&vec![1 << 61; params.degree()]).expect("the CPU");
        group.bench_function(BenchmarkId::new("key-switch", name), |b| {
            b.iter(|| cpu.key_switch(&device, &words, 1).expect("the CPU"));
        });
        let small = cpu.key_switch(&device, &words, 1).expect("the CPU");
        group.bench_function(BenchmarkId::new("blind-rotation", name), |b| {
            b.iter(|| cpu.blind_rotate(&device, &small, 1, &table, &[0]).expect("the CPU"));
        });
    }
}

fn gates(c: &mut Criterion) {
    let cpu = Cpu::new();
    let mut group = c.benchmark_group("tfhe-gates");
    for (name, params) in [
        ("2m128", presets::gates_2m128()),
        ("2m40", presets::gates_2m40()),
        ("insecure-lambda100", presets::insecure_lambda100()),
    ] {
        let (secret, key, mut rng) = keys(&params.expect("a preset"));
        let gates = GateEvaluator::new(&cpu, &key).expect("the CPU");
        for count in [1, 64] {
            let x = secret.encrypt_bits(&cpu, &vec![true; count], &mut rng).expect("the CPU");
            let y = secret.encrypt_bits(&cpu, &vec![false; count], &mut rng).expect("the CPU");
            group.throughput(Throughput::Elements(count as u64));
            group.bench_function(BenchmarkId::new(format!("nand-{name}"), count), |b| {
                b.iter(|| gates.nand(&x, &y).expect("equal batches"));
            });
        }
        if name == "2m128" {
            let mut builder = Builder::new(96);
            let numbers = (0..3).map(|i| builder.input(32 * i..32 * i + 32)).collect();
            let out = sum(&mut builder, numbers, 32);
            let circuit = builder.finish(&out);
            let bits = secret.encrypt_bits(&cpu, &[true; 96], &mut rng).expect("the CPU");
            let id = format!("three-32-bit-numbers-{}-gates-depth-{}", circuit.gate_count(), circuit.depth());
            group.throughput(Throughput::Elements(circuit.gate_count() as u64));
            group.bench_function(id, |b| b.iter(|| circuit.run(&gates, &bits).expect("fitting inputs")));
        }
    }
}

fn integers(c: &mut Criterion) {
    let cpu = Cpu::new();
    let mut group = c.benchmark_group("tfhe-integers");
    for (name, params) in [("2m128", presets::digits_2m128()), ("2m40", presets::digits_2m40())] {
        let params = params.expect("a preset");
        let (secret, key, mut rng) = keys(&params);
        let boot = Bootstrapper::new(&cpu, &key).expect("the CPU");
        let tables =
            LookupTables::new(&cpu, &params, &[(0..16).map(|m| m << 59).collect()]).expect("16 entries");
        let message = secret.encrypt(&cpu, &[5 << 59], &mut rng).expect("the CPU");
        group.bench_function(BenchmarkId::new("lookup", name), |b| {
            b.iter(|| boot.bootstrap(&message, &tables, &[0]).expect("one table"));
        });
        for (how, carry) in [("ripple", Carry::Ripple), ("prefix", Carry::Prefix)] {
            let ev = UintEvaluator::new(&cpu, &key, carry).expect("a preset for digits");
            let mut pair = |bits: usize| {
                [0x0123_4567_89ab_cdefu64, 0xfedc_ba98_7654_3210]
                    .map(|x| BigUint::from(x >> (64 - bits)))
                    .map(|x| secret.encrypt_uint(&cpu, &[x], bits, &mut rng).expect("values that fit"))
            };
            for bits in [32, 64] {
                let [x, y] = pair(bits);
                group.bench_function(BenchmarkId::new(format!("add-{bits}-{how}"), name), |b| {
                    b.iter(|| ev.add(&x, &y).expect("equal widths"));
                });
                if carry == Carry::Ripple {
                    group.bench_function(BenchmarkId::new(format!("lt-{bits}"), name), |b| {
                        b.iter(|| ev.lt(&x, &y).expect("equal widths"));
                    });
                }
            }
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
    targets = parts, gates, integers
}
criterion_main!(benches);
