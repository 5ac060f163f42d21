//! Every RNS-CKKS operation at the chains of the peers. `RAYON_NUM_THREADS=1` for one thread.
#![allow(missing_docs)]

mod common;

use common::{Setup, peer_chains};
use criterion::{Criterion, criterion_group, criterion_main};
use he::backend::Cpu;
use he::ckks::Encryptor;
use rand::{SeedableRng, rngs::ChaCha20Rng};
use std::hint::black_box;
use std::time::Duration;

fn operations(c: &mut Criterion) {
    for chain in peer_chains() {
        let setup = Setup::new(Cpu::new(), &chain);
        let limbs = chain.q_bits.len();
        let id = |operation: &str| {
            format!("{operation}/cpu/n={}/limbs={limbs}+{}", 1 << chain.log_n, chain.p_bits.len())
        };
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let params = setup.params().clone();
        let decryptor = setup.decryptor();
        let encryptor = Encryptor::new(&params, &setup.public).expect("same parameters");
        let (ev, keys) = (&setup.evaluator, &setup.keys);
        let [a, b] = &setup.ciphertexts;
        let product = ev.tensor(a, b).expect("same ring");
        let mut group = c.benchmark_group("ckks");
        group
            .sample_size(10)
            .warm_up_time(Duration::from_millis(500))
            .measurement_time(Duration::from_secs(2));
        let encoding = params.encoding();
        group.bench_function(id("encode"), |bench| {
            bench.iter(|| ev.encoder().encode(black_box(&setup.values), encoding))
        });
        group.bench_function(id("decode"), |bench| {
            bench.iter(|| ev.encoder().decode(black_box(&setup.plaintext)))
        });
        group.bench_function(id("encrypt"), |bench| {
            bench.iter(|| encryptor.encrypt(black_box(&setup.plaintext), &mut rng))
        });
        group.bench_function(id("decrypt"), |bench| bench.iter(|| decryptor.decrypt(black_box(a))));
        group.bench_function(id("add"), |bench| bench.iter(|| ev.add(black_box(a), b)));
        group.bench_function(id("mul-plain"), |bench| {
            bench.iter(|| ev.mul_plain(black_box(a), &setup.plaintext))
        });
        group.bench_function(id("tensor"), |bench| bench.iter(|| ev.tensor(black_box(a), b)));
        group.bench_function(id("relinearize"), |bench| {
            bench.iter(|| ev.relinearize(black_box(&product), keys))
        });
        group.bench_function(id("mul-relin"), |bench| {
            bench.iter(|| ev.relinearize(&ev.tensor(black_box(a), b).expect("same ring"), keys));
        });
        group.bench_function(id("mul-relin-rescale"), |bench| bench.iter(|| ev.mul(black_box(a), b, keys)));
        group.bench_function(id("rescale"), |bench| bench.iter(|| ev.rescale(black_box(a))));
        group.bench_function(id("rotate"), |bench| bench.iter(|| ev.rotate(black_box(a), 1, keys)));
        group.bench_function(id("rotate-hoisted-2"), |bench| {
            bench.iter(|| ev.rotate_many(black_box(a), &[1, 2], keys))
        });
        group.finish();
    }
}

criterion_group!(benches, operations);
criterion_main!(benches);
