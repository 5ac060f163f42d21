//! Mixed jobs for a stated time, every result checked, with memory and handles watched:
//!
//! ```sh
//! HE_SOAK_MINUTES=60 HE_DEVICE=cuda:0 cargo test --release --test main soak -- --ignored --nocapture
//! ```
//!
//! Each job makes its keys, encrypts, computes, passes what it has through bytes, decrypts, and
//! compares with plain arithmetic; its seed is printed when it fails (`HE_SOAK_SEED` starts there).

use super::common::rng;
use he::aes::conformance as aes_conformance;
use he::bfv::Bfv;
use he::bgv::Bgv;
use he::exact::{Decryptor as ExactDecryptor, Encryptor as ExactEncryptor};
use he::exact::{Evaluator as ExactEvaluator, Params, Scheme};
use he::ring::Ring;
use he::rlwe::{EvaluationKeys, KeyRequirements, PublicKey, SecretKey};
use he::tfhe::{BootstrapKey, Carry, GateEvaluator, IntegerEvaluator, TfheSecretKey, presets};
use he::{Device, bfv, bgv, ckks};
use rand::{RngExt, rngs::ChaCha20Rng};
use std::fmt;
use std::time::{Duration, Instant};

/// The resources that must not grow.
#[derive(Clone, Copy, Debug)]
struct Usage {
    /// Bytes that the process has in memory.
    resident: u64,
    /// Open files.
    files: usize,
    threads: usize,
    /// Bytes of the device that are taken, by whomever; 0 on the CPU.
    on_device: u64,
}

impl Usage {
    fn now(device: &Device) -> Self {
        let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
        let field = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name)).expect(name);
            line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
        };
        Self {
            resident: field("VmRSS:") << 10,
            files: std::fs::read_dir("/proc/self/fd").expect("Linux").count(),
            threads: field("Threads:") as usize,
            on_device: on_device(device),
        }
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resident, files, threads, on_device } = self;
        let (resident, on_device) = (resident >> 20, on_device >> 20);
        write!(f, "{resident} MiB, {on_device} MiB on the device, {files} files, {threads} threads")
    }
}

#[cfg(feature = "cuda")]
fn on_device(device: &Device) -> u64 {
    match device {
        Device::Cuda(cuda) => {
            let (free, total) = cuda.gpu().memory().unwrap();
            (total - free) as u64
        }
        _ => 0,
    }
}

#[cfg(not(feature = "cuda"))]
fn on_device(_: &Device) -> u64 {
    0
}

/// Products, rotations, sums and a conjugation of approximate numbers.
fn approximate(device: &Device, rng: &mut ChaCha20Rng) {
    let params = ckks::presets::ckks_n13_d3().unwrap();
    let ring = Ring::new(device.clone(), params.rlwe().ring().clone()).unwrap();
    let secret = SecretKey::generate(params.rlwe(), rng);
    let public = PublicKey::generate(&secret, &ring, rng).unwrap();
    let needed = KeyRequirements::new().relinearisation().rotations([1, 7]).conjugation();
    let keys = EvaluationKeys::generate(&secret, &ring, needed, rng).unwrap();
    let ev = ckks::Evaluator::new(&params, &ring).unwrap();
    let n = params.slots();
    let mut numbers = || -> Vec<ckks::Complex64> {
        (0..n)
            .map(|_| ckks::Complex64::new(rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0)))
            .collect()
    };
    let (x, y) = (numbers(), numbers());
    let encryptor = ckks::Encryptor::new(&params, &public).unwrap();
    let [a, b] = [&x, &y].map(|values| {
        encryptor.encrypt(&ev.encoder().encode(values, params.encoding()).unwrap(), rng).unwrap()
    });
    // ((x y) turned by one + x) conjugated, times y turned by seven.
    let product = ev.rotate(&ev.mul(&a, &b, &keys).unwrap(), 1, &keys).unwrap();
    let sum = ev.conjugate(&ev.add(&product, &a).unwrap(), &keys).unwrap();
    let result = ev.mul(&sum, &ev.rotate(&b, 7, &keys).unwrap(), &keys).unwrap();
    let result = ckks::Ciphertext::from_bytes(&params, &ring, &result.to_bytes(&params).unwrap()).unwrap();
    let plain = ckks::Decryptor::new(&params, &secret, &ring).unwrap().decrypt(&result).unwrap();
    let found = &ev.encoder().decode(&plain).unwrap()[0];
    for (i, found) in found.iter().enumerate() {
        let expected = (x[(i + 1) % n] * y[(i + 1) % n] + x[i]).conj() * y[(i + 7) % n];
        assert!((found - expected).norm() < 1e-3, "slot {i}: {found}, {expected} expected");
    }
}

/// A program on exact integers modulo t, in both schemes.
fn exact<S: Scheme>(params: &Params<S>, device: &Device, rng: &mut ChaCha20Rng) {
    let ring = Ring::new(device.clone(), params.rlwe().ring().clone()).unwrap();
    let secret = SecretKey::generate(params.rlwe(), rng);
    let public = PublicKey::generate(&secret, &ring, rng).unwrap();
    let needed = KeyRequirements::new().relinearisation().rotations([3]);
    let keys = EvaluationKeys::generate(&secret, &ring, needed, rng).unwrap();
    let (ev, t) = (ExactEvaluator::new(params, &ring).unwrap(), 65537u64);
    let n = 1usize << params.rlwe().ring().log_n();
    let mut numbers = || -> Vec<u64> { (0..n).map(|_| rng.random_range(0..t)).collect() };
    let (x, y) = (numbers(), numbers());
    let encryptor = ExactEncryptor::new(params, &public).unwrap();
    let [a, b] = [&x, &y].map(|values| encryptor.encrypt_slots(values, rng).unwrap());
    let turned = ev.rotate(&ev.mul(&a, &b, &keys).unwrap(), 3, &keys).unwrap();
    let result = ev.sub(&turned, &a).unwrap();
    let decryptor = ExactDecryptor::new(params, &secret, &ring).unwrap();
    let found: Vec<u64> = decryptor.decrypt_slots(&result).unwrap();
    let row = n / 2;
    for (i, found) in found.into_iter().enumerate() {
        let from = i / row * row + (i + 3) % row;
        let expected = (x[from] * y[from] + t - x[i]) % t;
        assert_eq!(found, expected, "slot {i}");
    }
}

/// Gates, and integers of eight bits.
fn bits(device: &Device, rng: &mut ChaCha20Rng) {
    let params = presets::gates_2m128().unwrap();
    let secret = TfheSecretKey::generate(&params, rng);
    let key = BootstrapKey::generate(&secret, rng);
    let gates = GateEvaluator::new(device, &key).unwrap();
    let mut some = || -> Vec<bool> { (0..32).map(|_| rng.random()).collect() };
    let (x, y) = (some(), some());
    let [a, b] = [&x, &y].map(|values| secret.encrypt_bits(device, values, rng).unwrap());
    let result = gates.nand(&gates.xor(&a, &b).unwrap(), &a).unwrap();
    let found = secret.decrypt_bits(&result).unwrap();
    let expected: Vec<bool> = x.iter().zip(&y).map(|(&x, &y)| !((x ^ y) & x)).collect();
    assert_eq!(found, expected);
}

fn integers(device: &Device, rng: &mut ChaCha20Rng) {
    let params = presets::digits_2m128().unwrap();
    let secret = TfheSecretKey::generate(&params, rng);
    let key = BootstrapKey::generate(&secret, rng);
    let ev = IntegerEvaluator::new(device, &key, Carry::default()).unwrap();
    let mut some = || -> Vec<u64> { (0..4).map(|_| rng.random_range(0..256)).collect() };
    let (x, y) = (some(), some());
    let [a, b] = [&x, &y].map(|values| secret.encrypt_u64(device, values, 8, rng).unwrap());
    let sums = secret.decrypt_u64(&ev.add(&a, &b).unwrap()).unwrap();
    let less = secret.decrypt_flags(&ev.lt(&a, &b).unwrap()).unwrap();
    for i in 0..x.len() {
        assert_eq!((sums[i], less[i]), ((x[i] + y[i]) % 256, x[i] < y[i]), "{} and {}", x[i], y[i]);
    }
}

/// Bulk encryption beside the reference.
fn bulk(device: &Device, seed: u64) {
    match device {
        #[cfg(feature = "cuda")]
        Device::Cuda(cuda) => {
            let aes = aes_gpu::AesGpu::on(&[cuda.gpu().clone()]).unwrap();
            aes_conformance::gcm_chunks(&aes, seed);
        }
        _ => aes_conformance::gcm_chunks(&he::aes::Cpu::new(), seed),
    }
}

fn job(device: &Device, seed: u64) {
    let rng = &mut rng(seed);
    match seed % 8 {
        0 | 4 => approximate(device, rng),
        1 => exact::<Bfv>(&bfv::presets::bfv_n13_d4().unwrap(), device, rng),
        5 => exact::<Bgv>(&bgv::presets::bgv_n13_d3().unwrap(), device, rng),
        2 | 6 => bits(device, rng),
        3 => integers(device, rng),
        _ => bulk(device, seed),
    }
}

#[test]
#[ignore = "runs for HE_SOAK_MINUTES"]
fn soak() {
    let number = |name: &str, or: f64| std::env::var(name).map_or(or, |text| text.parse().expect(name));
    let (minutes, first) = (number("HE_SOAK_MINUTES", 60.0), number("HE_SOAK_SEED", 0.0) as u64);
    let device: Device = std::env::var("HE_DEVICE").map_or(Device::cpu(), |name| name.parse().unwrap());
    let (start, length) = (Instant::now(), Duration::from_secs_f64(60.0 * minutes));
    println!("{minutes} minutes on {device}");
    let (mut warm, mut shown) = (None, Duration::ZERO);
    let mut seed = first;
    while start.elapsed() < length || seed % 8 != 0 {
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| job(&device, seed)));
        if let Err(cause) = done {
            println!("HE_SOAK_SEED={seed} fails");
            std::panic::resume_unwind(cause);
        }
        seed += 1;
        // Pools, caches and threads are there once every kind of job has run a few times.
        if seed == first + 32 {
            warm = Some(Usage::now(&device));
        }
        if start.elapsed() >= shown {
            println!(
                "{:4} min, {} jobs: {}",
                start.elapsed().as_secs() / 60,
                seed - first,
                Usage::now(&device)
            );
            shown += length / 10;
        }
    }
    let end = Usage::now(&device);
    println!("{} jobs without an error: {end}", seed - first);
    let warm = warm.expect("the time is enough for 32 jobs");
    println!("after 32 jobs: {warm}");
    let near = |found: u64, before: u64| found <= before + before / 10 + (64 << 20);
    assert!(near(end.resident, warm.resident), "memory grew from {warm} to {end}");
    assert!(near(end.on_device, warm.on_device), "the device's memory grew from {warm} to {end}");
    assert_eq!((end.files, end.threads), (warm.files, warm.threads), "handles are left");
}
