//! Prints latencies on a GPU beside those of the best peers, as a table:
//! `cargo bench --bench marks`, or a part of it with `-- transforms`, `-- operations 16` or
//! `-- presets`. One call, from an idle device to an idle device, median; then calls back to back.
//! The peers' figures were measured on an NVIDIA H200 (docs/benchmarks.md). `HE_DEVICE` names
//! another device than the first; of several as one, `cuda:0+1`, it prints key switches on the
//! group and on its first device.
#![allow(missing_docs)]

use he::Device;
use he_bench::chains;
use he_bench::keys::Ckks;
use he_core::arith::ntt_primes_below;
use he_core::backend::{Backend, PolyOps, RingOps};
use he_core::ckks::{CkksParams, Encryptor, presets};
use he_core::ring::{Ring, RingSpec, Rows, Seed, Span};
use he_cuda::{Cuda, CudaGroup};
use rand::{SeedableRng, rngs::ChaCha20Rng};
use std::time::Instant;

fn setup<B: RingOps>(device: &B, params: &CkksParams, batch: usize) -> Ckks<B> {
    Ckks::new(device, params, batch, &[1]).expect("a device")
}

fn params(chain: &chains::Chain) -> CkksParams {
    chain.params().expect("a valid chain")
}

/// The best peer at 2^12 ... 2^16, µs.
const PEERS: [(&str, [f64; 5]); 10] = [
    ("add", [8.4, 8.7, 9.2, 11.4, 25.0]),
    ("mul+relin", [60.0, 68.0, 113.0, 336.0, 419.0]),
    ("rescale", [33.0, 36.0, 41.0, 72.0, 97.0]),
    ("mul+relin+rescale", [87.0, 94.0, 145.0, 401.0, 426.0]),
    ("rotate", [56.0, 59.0, 116.0, 340.0, 409.0]),
    // From page-locked memory.
    ("encode", [33.0, 33.0, 37.0, 51.0, 108.0]),
    ("encode (host vector)", [33.0, 33.0, 37.0, 51.0, 108.0]),
    ("decode", [f64::NAN, f64::NAN, f64::NAN, f64::NAN, 799.0]),
    ("encrypt", [325.0, 215.0, 402.0, 352.0, 868.0]),
    ("decrypt", [8.5, 9.0, 9.2, 10.6, 21.0]),
];

/// Median latency of one call, and the time of a call among many, µs.
fn time<T>(device: &impl Backend, mut call: impl FnMut() -> T) -> [f64; 2] {
    let wait = || device.synchronize().expect("the device works");
    for _ in 0..5 {
        drop(call());
    }
    wait();
    let begin = Instant::now();
    drop(call());
    wait();
    let repeats = (0.06 / begin.elapsed().as_secs_f64()).clamp(5.0, 300.0) as usize;
    let mut latencies: Vec<f64> = (0..repeats)
        .map(|_| {
            let begin = Instant::now();
            drop(call());
            wait();
            begin.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    latencies.sort_by(f64::total_cmp);
    let begin = Instant::now();
    for _ in 0..repeats {
        drop(call());
    }
    wait();
    [latencies[repeats / 2], begin.elapsed().as_secs_f64() * 1e6 / repeats as f64]
}

fn transforms(device: &Cuda) {
    println!("\nNTT, µs a limb, primes of 50 bits (peers: 0.10 0.19 0.38 0.74 1.44 at 2^12 ... 2^16)");
    println!(
        "{:>6} {:>6} {:>6} {:>9} {:>9} {:>9}",
        "log N", "primes", "batch", "forward", "inverse", "60 bits"
    );
    for log_n in 12..=17u32 {
        let prime = |bits| ntt_primes_below(bits, log_n, 36, &[]).expect("there are enough primes");
        let ring = |bits| {
            let spec = RingSpec::new(log_n, prime(bits), vec![]).expect("valid primes");
            Ring::new(device.clone(), spec).expect("a device")
        };
        let (short, long) = (ring(50), ring(60));
        for (primes, batch) in [(4, 1), (36, 1), (32, 8), (32, 64)] {
            if log_n >= 16 && batch > 8 {
                continue;
            }
            let each = |ring: &Ring<Cuda>, forward: bool| {
                let (backend, prepared) = (ring.backend(), ring.prepared());
                let rows = Rows::new(Span::chain(primes), batch);
                let mut buf = backend.scratch(rows.count() * ring.n()).expect("a device");
                prepared.sample_uniform(rows, &Seed([1; 32]), 0, &mut buf).expect("a device");
                let [_, mean] = time(backend, || {
                    if forward { prepared.ntt(rows, &mut buf) } else { prepared.intt(rows, &mut buf) }
                });
                mean / (primes * batch) as f64
            };
            println!(
                "{log_n:>6} {primes:>6} {batch:>6} {:>9.3} {:>9.3} {:>9.3}",
                each(&short, true),
                each(&short, false),
                each(&long, true)
            );
        }
    }
}

fn operations(device: &Cuda, only: Option<u32>) {
    println!(
        "\n{:>22} {:>6} {:>9} {:>9} {:>9} {:>7}",
        "operation", "log N", "one call", "many", "peer", "peer/us"
    );
    for (column, chain) in chains::on_gpus().iter().enumerate() {
        if only.is_some_and(|log_n| log_n != chain.log_n) {
            continue;
        }
        let params = params(chain);
        let x = setup(device, &params, 1);
        let (ev, keys, [a, b]) = (&x.ev, &x.keys, &x.inputs);
        let encryptor = Encryptor::new(&params, &x.public).expect("same parameters");
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let encoding = params.encoding();
        let mut vector = ev.encoder().host_vector(x.values.len()).expect("a device");
        vector.numbers_mut().expect("a device").copy_from_slice(&x.values);
        let results: [[f64; 2]; 10] = [
            time(device, || ev.add(a, b).expect("a device")),
            time(device, || ev.relinearize(&ev.tensor(a, b).expect("a device"), keys).expect("a device")),
            time(device, || ev.rescale(a).expect("a device")),
            time(device, || ev.mul(a, b, keys).expect("a device")),
            time(device, || ev.rotate(a, 1, keys).expect("a device")),
            time(device, || ev.encoder().encode(&x.values, encoding).expect("a device")),
            time(device, || ev.encoder().encode_host_vector(&vector, encoding).expect("a device")),
            time(device, || ev.encoder().decode(&x.plain).expect("a device")),
            time(device, || encryptor.encrypt(&x.plain, &mut rng).expect("a device")),
            time(device, || x.decryptor.decrypt(a).expect("a device")),
        ];
        for ((name, peers), [one, many]) in PEERS.iter().zip(results) {
            let peer = peers[column];
            println!("{name:>22} {:>6} {one:>9.1} {many:>9.1} {peer:>9.1} {:>7.2}", chain.log_n, peer / one);
        }
        if chain.log_n <= 14 {
            let x = setup(device, &params, 32);
            let [a, b] = &x.inputs;
            let [one, many] = time(device, || x.ev.mul(a, b, &x.keys).expect("a device"));
            println!(
                "{:>22} {:>6} {:>9.1} {:>9.1} a ciphertext",
                "mul+relin+rescale x32",
                chain.log_n,
                one / 32.0,
                many / 32.0
            );
        }
    }
}

/// A rotation and a product with its key switch and rescaling, one call and many.
fn key_switches<B: RingOps>(device: &B, params: &CkksParams) -> [(&'static str, [f64; 2]); 2] {
    let x = setup(device, params, 1);
    let (ev, keys, [a, b]) = (&x.ev, &x.keys, &x.inputs);
    [
        ("rotate", time(device, || ev.rotate(a, 1, keys).expect("a device"))),
        ("mul+relin+rescale", time(device, || ev.mul(a, b, keys).expect("a device"))),
    ]
}

/// Measures the same operations with the presets, whose primes are below 2^50.
fn presets(device: &Cuda) {
    println!("\n{:>22} {:>9} {:>9} {:>9}", "operation", "preset", "one call", "many");
    for (name, params) in [
        ("n12_d1", presets::ckks_n12_d1()),
        ("n13_d3", presets::ckks_n13_d3()),
        ("n14_d7", presets::ckks_n14_d7()),
        ("n15_d14", presets::ckks_n15_d14()),
        ("n16_d28", presets::ckks_n16_d28()),
    ] {
        for (operation, [one, many]) in key_switches(device, &params.expect("a preset")) {
            println!("{operation:>22} {name:>9} {one:>9.1} {many:>9.1}");
        }
    }
}

fn group(group: &CudaGroup) {
    println!(
        "\n{:>22} {:>6} {:>9} {:>9} {:>9} {:>9} {:>7}",
        "operation", "log N", "one call", "many", "alone", "many", "ratio"
    );
    // The degree of the marks and the next one.
    for chain in [16, 17].map(chains::long) {
        let params = params(&chain);
        let alone = key_switches(&group.devices()[0], &params);
        let together = key_switches(group, &params);
        for ((name, [one, many]), (_, [one_alone, many_alone])) in together.into_iter().zip(alone) {
            println!(
                "{name:>22} {:>6} {one:>9.1} {many:>9.1} {one_alone:>9.1} {many_alone:>9.1} {:>7.2}",
                chain.log_n,
                many_alone / many
            );
        }
    }
}

fn main() {
    // `cargo test --benches` and `cargo bench -- --test` only check that it starts.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let name = std::env::var("HE_DEVICE").unwrap_or_else(|_| "cuda:0".into());
    match name.parse() {
        Ok(Device::Cuda(device)) => {
            println!("{}", device.name());
            let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
            let only = arguments.next().unwrap_or_default();
            if only.is_empty() || only == "transforms" {
                transforms(&device);
            }
            if only.is_empty() || only == "operations" {
                operations(&device, arguments.next().and_then(|log_n| log_n.parse().ok()));
            }
            if only.is_empty() || only == "presets" {
                presets(&device);
            }
        }
        Ok(Device::Group(devices)) => {
            println!("{}", devices.name());
            group(&devices);
        }
        Ok(_) => println!("skipped: {name} is not a CUDA device"),
        Err(error) => println!("skipped: {error}"),
    }
}
