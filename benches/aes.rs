//! Measures AES-128 by chunk size on one and two threads: the sizes of Jiwandono, "AES-128-ECB on
//! CUDA" (2011), 16 bytes to 8 MiB, and on to 256 MiB. XTS has units of 512 bytes. RustCrypto's
//! modes are in benches/peers.
//!
//! `cargo bench --bench aes -- 'aes-128-gcm/.*/8388608$'`

#[path = "common/aes.rs"]
mod modes;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use modes::MODES;
use rayon::ThreadPoolBuilder;
use std::cell::RefCell;
use std::time::Duration;

fn chunk_sizes() -> impl Iterator<Item = usize> {
    let paper = [16, 64, 256].into_iter().chain((10..=23).map(|log| 1 << log));
    paper.chain([16 << 20, 64 << 20, 256 << 20])
}

fn by_size(c: &mut Criterion) {
    let pools = [1, 2].map(|threads| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        (format!("cpu-{threads}"), pool)
    });
    // Made when first needed, since most runs select only a few ids.
    let buffer = RefCell::new(Vec::new());
    for (mode, call) in MODES {
        let mut group = c.benchmark_group(format!("aes-128-{mode}"));
        group
            .warm_up_time(Duration::from_millis(300))
            .measurement_time(Duration::from_secs(1))
            .sample_size(20);
        for size in chunk_sizes() {
            group.throughput(Throughput::Bytes(size as u64));
            let data = || {
                let mut buffer = buffer.borrow_mut();
                let len = buffer.len().max(size);
                buffer.resize(len, 0x5a);
                buffer
            };
            for (name, pool) in &pools {
                group.bench_function(BenchmarkId::new(name, size), |b| {
                    let buffer = &mut data()[..size];
                    pool.install(|| b.iter(|| call(buffer)));
                });
            }
        }
    }
}

criterion_group!(benches, by_size);
criterion_main!(benches);
