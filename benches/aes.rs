//! AES-128 by chunk size on one and two threads, beside RustCrypto's modes: the sizes of Jiwandono, "AES-128-ECB on CUDA" (2011), 16
//! bytes to 8 MiB, and on to 256 MiB. XTS has units of 512 bytes. RustCrypto's run on one thread.
//!
//! `cargo bench --bench aes -- 'aes-128-gcm/.*/8388608$'`

use aes::Aes128;
use aes::cipher::{BlockCipherEncrypt, KeyInit, KeyIvInit, StreamCipher, array::Array};
use aes_gcm::{AeadInOut, Aes128Gcm};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use he::aes::{Bulk, BulkCipher, Cpu, Direction, Key, XtsKey};
use rayon::ThreadPoolBuilder;
use std::cell::RefCell;
use std::time::Duration;
use xts_mode::{Xts128, get_tweak_default};

const KEY: [u8; 16] = *b"sixteen byte key";
const TWEAK_KEY: [u8; 16] = *b"another key here";
const UNIT: usize = 512;
const FITS: &str = "arguments that fit";

type Operation = fn(&mut [u8]);

/// Every mode: name, ours, RustCrypto's. All expand the key in every call.
const MODES: [(&str, Operation, Operation); 4] = [
    ("ecb", ecb, rustcrypto_ecb),
    ("ctr", ctr, rustcrypto_ctr),
    ("gcm", gcm, rustcrypto_gcm),
    ("xts", xts, rustcrypto_xts),
];

fn key() -> Key {
    Key::from_slice(&KEY).expect(FITS)
}

fn ecb(data: &mut [u8]) {
    Cpu::new().hazmat_ecb(&key(), Direction::Encrypt, Bulk::in_place(data)).expect(FITS);
}

fn ctr(data: &mut [u8]) {
    Cpu::new().hazmat_ctr(&key(), &[0; 16], Bulk::in_place(data)).expect(FITS);
}

fn gcm(data: &mut [u8]) {
    Cpu::new().gcm_seal(&key(), &[0; 12], &[], Bulk::in_place(data)).expect(FITS);
}

fn xts(data: &mut [u8]) {
    let keys = XtsKey::new(key(), Key::from_slice(&TWEAK_KEY).expect(FITS)).expect(FITS);
    Cpu::new().xts(&keys, 0, UNIT, Direction::Encrypt, Bulk::in_place(data)).expect(FITS);
}

fn rustcrypto_ecb(data: &mut [u8]) {
    Aes128::new(&KEY.into()).encrypt_blocks(Array::slice_as_chunks_mut(data).0);
}

fn rustcrypto_ctr(data: &mut [u8]) {
    ctr::Ctr128BE::<Aes128>::new(&KEY.into(), &[0; 16].into()).apply_keystream(data);
}

fn rustcrypto_gcm(data: &mut [u8]) {
    let sealed = Aes128Gcm::new(&KEY.into()).encrypt_inout_detached(&[0; 12].into(), &[], data.into());
    sealed.expect(FITS);
}

fn rustcrypto_xts(data: &mut [u8]) {
    let xts = Xts128::new(Aes128::new(&KEY.into()), Aes128::new(&TWEAK_KEY.into()));
    xts.encrypt_area(data, UNIT, 0, get_tweak_default);
}

fn chunk_sizes() -> impl Iterator<Item = usize> {
    let paper = [16, 64, 256].into_iter().chain((10..=23).map(|log| 1 << log));
    paper.chain([16 << 20, 64 << 20, 256 << 20])
}

fn modes(c: &mut Criterion) {
    let pools = [1, 2].map(|threads| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        (format!("cpu-{threads}"), pool)
    });
    // Made when first needed: most runs select a few ids.
    let buffer = RefCell::new(Vec::new());
    for (mode, ours, rustcrypto) in MODES {
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
                    pool.install(|| b.iter(|| ours(buffer)));
                });
            }
            group.bench_function(BenchmarkId::new("rustcrypto", size), |b| {
                let buffer = &mut data()[..size];
                b.iter(|| rustcrypto(buffer));
            });
        }
    }
}

criterion_group!(benches, modes);
criterion_main!(benches);
