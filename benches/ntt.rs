//! Measures the transforms of one limb on one thread of the CPU, with vector code beside portable
//! code, and of one and many limbs on a GPU, if there is one; then the loops around them on the
//! CPU.
//!
//! `RAYON_NUM_THREADS=1 cargo bench --bench ntt -- ntt-forward`

#[path = "common/timing.rs"]
mod timing;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use he_core::arith::{nearest_ntt_primes, ntt_primes_below};
use he_core::backend::{Backend, Cpu, CpuBuf, KeySwitchOps, KeySwitchShape, PolyOps, RingOps};
use he_core::ring::{DomainKind, Operand, Ring, RingSpec, Rows, Seed, Span};
use std::time::Duration;

/// Name in the ids, and device.
fn devices() -> Vec<(&'static str, Cpu)> {
    let mut devices = vec![("cpu-portable", Cpu::portable())];
    let best = Cpu::new();
    match ["AVX-512", "AVX2"].iter().position(|name| best.name().contains(name)) {
        Some(i) => devices.push((["cpu-avx512", "cpu-avx2"][i], best)),
        None => eprintln!("SKIPPED: no vector instructions"),
    }
    devices
}

fn ring<B: RingOps>(backend: &B, log_n: u32, q: Vec<u64>, p: Vec<u64>) -> Ring<B> {
    let spec = RingSpec::new(log_n, q, p).expect("valid primes");
    Ring::new(backend.clone(), spec).expect("the device works")
}

fn primes(bits: u32, log_n: u32, count: usize) -> Vec<u64> {
    ntt_primes_below(bits, log_n, count, &[]).expect("enough primes")
}

/// Uniform words of a fixed seed in the rows.
fn random(ring: &Ring<Cpu>, rows: Rows, index: u32) -> CpuBuf {
    let mut words = ring.backend().zeros(rows.count() * ring.n()).expect("the CPU does not fail");
    let filled = ring.prepared().sample_uniform(rows, &Seed([1; 32]), index, &mut words);
    filled.expect("the CPU does not fail");
    words
}

/// Transforms of these numbers of primes, each with a batch, by primes of 50 and 60 bits.
fn transform<B: RingOps>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    device: &str,
    backend: &B,
    forward: bool,
    sizes: &[(usize, usize)],
) {
    for bits in [50, 60] {
        for log_n in 12..=17 {
            for &(count, batch) in sizes {
                let limbs = count * batch;
                let rows = Rows::new(Span::chain(count), batch);
                // Made when first needed, since most runs select only a few ids and the largest
                // take gigabytes.
                let mut made = None;
                let make = || {
                    let ring = ring(backend, log_n, primes(bits, log_n, count), vec![]);
                    let mut a = backend.scratch(limbs * ring.n()).expect("the device works");
                    let filled = ring.prepared().sample_uniform(rows, &Seed([1; 32]), 0, &mut a);
                    filled.expect("the device works");
                    (ring, a)
                };
                group.throughput(Throughput::Elements(limbs as u64));
                let id = BenchmarkId::new(device, format!("n={}/bits={bits}/limbs={limbs}", 1 << log_n));
                group.bench_function(id, |bench| {
                    let (ring, a) = made.get_or_insert_with(make);
                    bench.iter_custom(|iters| {
                        timing::time(backend, iters, || {
                            if forward { ring.prepared().ntt(rows, a) } else { ring.prepared().intt(rows, a) }
                        })
                    });
                });
            }
        }
    }
}

fn transforms(c: &mut Criterion) {
    let cuda = timing::cuda();
    for (direction, forward) in [("ntt-forward", true), ("ntt-inverse", false)] {
        let mut group = c.benchmark_group(direction);
        for (device, cpu) in devices() {
            transform(&mut group, device, &cpu, forward, &[(1, 1)]);
        }
        if let Some(cuda) = &cuda {
            // The latency of one limb, a ciphertext's part of 36, and 2048 as 32 primes of a batch
            // of 64: the throughput.
            transform(&mut group, "cuda", cuda, forward, &[(1, 1), (36, 1), (32, 64)]);
        }
        group.finish();
    }
}

fn loops(c: &mut Criterion) {
    let log_n = 13;
    for (device, cpu) in devices() {
        for bits in [50, 60] {
            let ring = ring(&cpu, log_n, primes(bits, log_n, 1), vec![]);
            let (prepared, rows) = (ring.prepared(), Rows::new(Span::chain(1), 1));
            let [x, y, z] = [1, 2, 3].map(|index| random(&ring, rows, index));
            let [x, y, z] = [&x, &y, &z].map(|x| Operand::new(x, 1));
            let mut a = random(&ring, rows, 0);
            let mut group = c.benchmark_group(format!("row/{device}/bits={bits}"));
            group.bench_function("add", |b| b.iter(|| prepared.add_assign(rows, &mut a, x)));
            group.bench_function("mul", |b| b.iter(|| prepared.mul_assign(rows, &mut a, x)));
            group.bench_function("mul_add", |b| b.iter(|| prepared.mul_add_assign(rows, &mut a, x, y)));
            group.bench_function("scale", |b| b.iter(|| prepared.scale_assign(rows, &mut a, &[12345])));
            group.bench_function("scale_add", |b| {
                b.iter(|| prepared.scale_add_assign(rows, &mut a, x, &[12345]))
            });
            group.bench_function("tensor", |b| b.iter(|| prepared.tensor(rows, [x, y], [z, x])));
            group.bench_function("automorphism", |b| {
                b.iter(|| prepared.automorphism(rows, DomainKind::Eval, 5, x, &mut a))
            });
        }
        let ring = ring(&cpu, log_n, primes(50, log_n, 1), vec![]);
        let (prepared, rows) = (ring.prepared(), Rows::new(Span::chain(1), 1));
        let mut a = random(&ring, rows, 0);
        let seed = Seed([2; 32]);
        let mut group = c.benchmark_group(format!("sample/{device}"));
        group.bench_function("uniform", |b| b.iter(|| prepared.sample_uniform(rows, &seed, 0, &mut a)));
        group.bench_function("ternary", |b| b.iter(|| prepared.sample_ternary(rows, &seed, 0, &mut a)));
        group.bench_function("error", |b| b.iter(|| prepared.sample_error(rows, &seed, 0, &mut a)));
    }
}

/// The parts of a key switch of 15 + 5 limbs in 3 digits, all of about the same width.
fn key_switch(c: &mut Criterion) {
    for (device, cpu) in devices() {
        for bits in [50, 60] {
            for log_n in [13, 15] {
                let (q, p) = (15, 5);
                let all = nearest_ntt_primes(f64::from(bits).exp2() * 0.9, bits, log_n, q + p, &[]);
                let all = all.expect("enough primes");
                let ring = ring(&cpu, log_n, all[..q].to_vec(), all[q..].to_vec());
                let prepared = ring.prepared();
                let shape = KeySwitchShape { digits: vec![0..5, 5..10, 10..15], q, key_q: q, p, batch: 1 };
                let x = random(&ring, Rows::new(Span::chain(q), 1), 0);
                let extended = Rows::new(shape.span(), 1);
                let mut key = prepared.empty_key(&shape.key()).expect("the CPU does not fail");
                for (digit, part) in (0..3).flat_map(|digit| [(digit, 0), (digit, 1)]) {
                    let poly = random(&ring, extended, 2 * digit as u32 + part as u32 + 1);
                    let written = prepared.write_key(&shape.key(), key.as_mut(), digit, part, &poly);
                    written.expect("the CPU does not fail");
                }
                let digits = prepared.decompose(&shape, &x).expect("the CPU does not fail");
                let sum = random(&ring, extended, 7);
                let mut coefficients = sum.clone();
                let from = Rows::new(Span::digit(0, 5), 1);
                let mut group = c.benchmark_group(format!("key_switch/{device}/n={}/bits={bits}", ring.n()));
                group.bench_function("convert", |b| {
                    b.iter(|| prepared.convert_basis(from, &x, extended, &mut coefficients))
                });
                group.bench_function("decompose", |b| b.iter(|| prepared.decompose(&shape, &x)));
                group.bench_function("key_product", |b| {
                    b.iter(|| prepared.key_product(&shape, digits.as_ref(), key.as_ref()))
                });
                group.bench_function("mod_down", |b| {
                    b.iter(|| prepared.mod_down(shape.span(), q, 1, sum.clone()))
                });
            }
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    targets = transforms, loops, key_switch
}
criterion_main!(benches);
