//! Measures P1's table: the ten operations of the big-integer CKKS of Reynaldi 2023 on 8192 inputs
//! (8192 slots, N = 2^14, log q = 438), beside the paper's rows, in microseconds: on one thread of
//! the CPU, on all, and on a GPU, if there is one, with and without copies of ciphertexts and keys
//! from and to the host. Then the product modulo 2^438 with relinearisation and rescale, with one,
//! two and three digits.
//!
//! Times are medians of one call, from an idle device to an idle device, including allocation.
//! Vectors of slots are in host memory in both columns of the GPU: only words of polynomials are
//! copied, from and to pageable memory.
//!
//! `cargo bench --bench p1`; with `-- reference` instead the paper's algorithms in big integers on
//! one thread (encoding in O(N^2), products by NTT, that by schoolbook at N = 2^10 and times 2^8),
//! one call each.
#![allow(missing_docs)]

use he::backend::{Backend, Cpu, WideOps, WidePolyOps, WideRows};
use he::bigckks::reference::{
    Embedding, QuotientRing, Scheme, coordinate_wise_random_rounding, gaussian, hamming_weight, schoolbook,
    sparse_ternary,
};
use he::bigckks::{
    BigCkksParams, BigCkksSpec, Ciphertext, Complex64, Decryptor, Encryptor, EvaluationKeys, Evaluator,
    KeyRequirements, PublicKey, SecretKey, WidePoly,
};
use he::cuda::Cuda;
use he::cuda::gpu::{Buffer, Pinned};
use he::ring::{Coeff, Operand, Poly, Ring, Seed, Span};
use num_bigint::BigInt;
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};
use std::hint::black_box;
use std::time::Instant;

const LOG_N: u32 = 14;
const LOG_Q: u32 = 438;
const LOG_SCALE: u32 = 50;
/// Weight of the paper's sparse secret, and the deviation of its errors.
const WEIGHT: usize = 64;
const SIGMA: f64 = 3.2;

/// The paper's rows: operation, serial on a Core i7-9700K, parallel on a GTX 1660.
const PAPER: [(&str, f64, f64); 10] = [
    ("encode", 83_284_134.6, 23.6),
    ("decode", 25_544_100.2, 7.4),
    ("secret key", 297.0, 203.0),
    ("public key", 179_472.6, 1266.0),
    ("evaluation key", 90_145.8, 633.0),
    ("encrypt", 2147.4, 184.0),
    ("decrypt", 89_253.6, 18.6),
    ("add", 535.8, 19.8),
    ("multiply (schoolbook)", 1_316_268.2, 413.0),
    ("multiply (NTT)", 3_086_285.8, 108_481.8),
];

/// Times in microseconds, by name.
type Times = Vec<(String, f64)>;

/// Time of one call, from an idle device to an idle device, in microseconds.
fn time_once<T>(device: &impl Backend, call: impl FnOnce() -> T) -> f64 {
    let wait = || device.synchronize().expect("the device works");
    wait();
    let begin = Instant::now();
    drop(black_box(call()));
    wait();
    begin.elapsed().as_secs_f64() * 1e6
}

/// The median of such times.
fn time<T>(device: &impl Backend, mut call: impl FnMut() -> T) -> f64 {
    let mut once = || time_once(device, &mut call);
    let warm = (0..3).map(|_| once()).fold(f64::MAX, f64::min);
    let repeats = (3e5 / warm).clamp(3.0, 200.0) as usize;
    let mut times: Vec<f64> = (0..repeats).map(|_| once()).collect();
    times.sort_by(f64::total_cmp);
    times[repeats / 2]
}

fn values() -> Vec<Complex64> {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let mut value = || rng.random_range(-1.0..1.0);
    (0..1 << (LOG_N - 1)).map(|_| Complex64::new(value(), value())).collect()
}

/// Parameters, keys and inputs on a device.
struct World<B: WideOps> {
    params: BigCkksParams,
    ring: Ring<B>,
    secret: SecretKey,
    public: PublicKey<B>,
    keys: EvaluationKeys<B>,
    ev: Evaluator<B>,
    x: Ciphertext<B>,
    y: Ciphertext<B>,
}

impl<B: WideOps> World<B> {
    fn new(backend: &B, digits: u32) -> Self {
        let rng = &mut ChaCha20Rng::seed_from_u64(3);
        let spec = BigCkksSpec::new(LOG_N, LOG_Q, LOG_SCALE).with_digits(digits);
        let params = BigCkksParams::insecure(spec).expect("valid widths");
        let ring = Ring::new(backend.clone(), params.ring().clone()).expect("a device");
        let secret = SecretKey::generate(&params, rng);
        let public = PublicKey::generate(&secret, &ring, rng).expect("a device");
        let keys = EvaluationKeys::generate(
            &secret,
            &ring,
            KeyRequirements::new().relinearisation().rotations([1]),
            rng,
        )
        .expect("a device");
        let ev = Evaluator::new(&params, &ring).expect("same ring");
        let plain = ev.encoder().encode(&values(), params.encoding()).expect("small values");
        let mut encrypt = || {
            let encryptor = Encryptor::new(&params, &public).expect("same parameters");
            encryptor.encrypt(&plain, rng).expect("a device")
        };
        let (x, y) = (encrypt(), encrypt());
        Self { params, ring, secret, public, keys, ev, x, y }
    }

    /// The operations of P1 except the product by schoolbook, with all operands and results on the
    /// device.
    fn operations(&self) -> Times {
        let Self { params, ring, secret, public, ev, x, y, .. } = self;
        let rng = &mut ChaCha20Rng::seed_from_u64(4);
        let (device, slots) = (ring.backend(), values());
        let plain = ev.encoder().encode(&slots, params.encoding()).expect("small values");
        let encryptor = Encryptor::new(params, public).expect("same parameters");
        let decryptor = Decryptor::new(params, secret, ring).expect("same parameters");
        let ternary =
            |seed: &Seed| Poly::<Coeff, B>::ternary(ring, Span::chain(1), 1, seed, 0).expect("a device");
        let times = [
            time(device, || ev.encoder().encode(&slots, params.encoding()).expect("small values")),
            time(device, || ev.encoder().decode(&plain).expect("a device")),
            time(device, || ternary(&Seed::random(rng))),
            time(device, || PublicKey::generate(secret, ring, rng).expect("a device")),
            time(device, || {
                EvaluationKeys::generate(secret, ring, KeyRequirements::new().relinearisation(), rng)
                    .expect("a device")
            }),
            time(device, || encryptor.encrypt(&plain, rng).expect("a device")),
            time(device, || decryptor.decrypt(x).expect("a device")),
            time(device, || ev.add(x, y).expect("a device")),
            time(device, || ev.tensor(x, y).expect("a device")),
        ];
        let names = PAPER.iter().map(|row| row.0).filter(|name| !name.contains("schoolbook"));
        names.map(str::to_owned).zip(times).collect()
    }

    /// Products with all that follows them, and their parts.
    fn products(&self, digits: u32) -> Times {
        let Self { ring, keys, ev, x, y, .. } = self;
        let device = ring.backend();
        let product = ev.tensor(x, y).expect("enough bits");
        let high = ev.relinearize(&product, keys).expect("same parameters");
        let times = [
            (
                "mul + relin + rescale",
                time(device, || {
                    ev.rescale(&ev.mul(x, y, keys).expect("a device"), LOG_SCALE).expect("a device")
                }),
            ),
            (
                "square + relin + rescale",
                time(device, || {
                    ev.rescale(&ev.square(x, keys).expect("a device"), LOG_SCALE).expect("a device")
                }),
            ),
            ("relinearise", time(device, || ev.relinearize(&product, keys).expect("a device"))),
            ("rescale", time(device, || ev.rescale(&high, LOG_SCALE).expect("a device"))),
            ("rotate", time(device, || ev.rotate(x, 1, keys).expect("a device"))),
        ];
        times.map(|(name, time)| (format!("{name}, digits {digits}"), time)).into()
    }
}

/// Words of polynomials on the host.
struct Hosted {
    bits: u32,
    words: Vec<u64>,
}

impl Hosted {
    fn from<B: WideOps>(poly: &WidePoly<B>) -> Self {
        Self { bits: poly.bits(), words: poly.to_words().expect("a device") }
    }

    fn to<B: WideOps>(&self, ring: &Ring<B>) -> WidePoly<B> {
        WidePoly::from_words(ring, self.bits, 1, &self.words).expect("a device")
    }
}

/// d0, d1 and d2 of a product of pairs, each polynomial product by its definition.
fn schoolbook_tensor(ring: &Ring<Cuda>, x: &[Buffer; 2], y: &[Buffer; 2]) -> [Buffer; 3] {
    let (prepared, rows) = (ring.prepared(), WideRows::new(LOG_Q, 1));
    let product = |a, b| prepared.wide_schoolbook(rows, a, b).expect("a device");
    let mut middle = product(&x[0], &y[1]);
    let other = product(&x[1], &y[0]);
    prepared.wide_add_assign(rows, &mut middle, Operand::new(&other, 1)).expect("a device");
    [product(&x[0], &y[0]), middle, product(&x[1], &y[1])]
}

impl World<Cuda> {
    /// The product by schoolbook, without copies and with them.
    fn schoolbook(&self) -> [f64; 2] {
        let device = self.ring.backend();
        let words = [&self.x, &self.y].map(|ct| ct.parts().map(|part| part.to_words().expect("a device")));
        let upload =
            |pair: &[Vec<u64>; 2]| pair.each_ref().map(|words| device.upload(words).expect("a device"));
        let [x, y] = words.each_ref().map(upload);
        let alone = time(device, || schoolbook_tensor(&self.ring, &x, &y));
        let copied = time(device, || {
            let [x, y] = words.each_ref().map(upload);
            let d = schoolbook_tensor(&self.ring, &x, &y);
            d.map(|part| device.download(&part, 0..device.words(&part)).expect("a device"))
        });
        [alone, copied]
    }

    /// A sum with both operands and the result in page-locked memory of the host.
    fn pinned_addition(&self) -> f64 {
        let (device, ring, rows) = (self.ring.backend(), &self.ring, WideRows::new(LOG_Q, 1));
        let (stream, words) = (device.stream(), rows.count() * ring.n());
        let mut memory: Vec<Pinned> =
            (0..4).map(|_| device.gpu().pinned(words).expect("page-locked memory")).collect();
        let parts = self.x.parts().into_iter().chain(self.y.parts());
        for (memory, part) in memory.iter_mut().zip(parts) {
            let words = part.to_words().expect("a device");
            memory.as_mut_slice().expect("a device").copy_from_slice(&words);
        }
        let mut sums = [(); 2].map(|()| device.gpu().pinned(words).expect("page-locked memory"));
        time(device, || {
            for (i, sum) in sums.iter_mut().enumerate() {
                let upload = |memory: &Pinned| {
                    let mut buf = stream.alloc(words).expect("a device");
                    stream.write_pinned(memory, 0, &mut buf, 0, words).expect("a device");
                    buf
                };
                let (mut a, b) = (upload(&memory[i]), upload(&memory[2 + i]));
                ring.prepared().wide_add_assign(rows, &mut a, Operand::new(&b, 1)).expect("a device");
                stream.read_pinned(&a, 0, sum, 0, words).expect("a device");
            }
        })
    }

    /// A product with relinearisation and rescale in a batch, as the time per product.
    fn batched_product(&self, batch: usize) -> f64 {
        let copies = |ct| Ciphertext::concat(&vec![ct; batch]).expect("one shape");
        let (x, y) = (copies(&self.x), copies(&self.y));
        let all = time(self.ring.backend(), || {
            let product = self.ev.mul(&x, &y, &self.keys).expect("a device");
            self.ev.rescale(&product, LOG_SCALE).expect("a device")
        });
        all / batch as f64
    }

    /// The operations of P1 with inputs that come from the host and results that go there.
    fn copied_operations(&self) -> Times {
        let Self { params, ring, secret, public, ev, .. } = self;
        let rng = &mut ChaCha20Rng::seed_from_u64(4);
        let (device, slots) = (ring.backend(), values());
        let plain = ev.encoder().encode(&slots, params.encoding()).expect("small values");
        let encryptor = Encryptor::new(params, public).expect("same parameters");
        let decryptor = Decryptor::new(params, secret, ring).expect("same parameters");
        let plain_words = Hosted::from(plain.poly());
        let [x, y] = [&self.x, &self.y].map(|ct| ct.parts().map(Hosted::from));
        let here = |ct: &[Hosted; 2]| {
            let parts = ct.each_ref().map(|part| part.to(ring));
            Ciphertext::from_parts(params, parts, LOG_SCALE, params.slots()).expect("a ciphertext")
        };
        let there = |polys: &[&WidePoly<Cuda>]| -> Vec<Vec<u64>> {
            polys.iter().map(|poly| poly.to_words().expect("a device")).collect()
        };
        let times = [
            time(device, || {
                there(&[ev.encoder().encode(&slots, params.encoding()).expect("small values").poly()])
            }),
            // A plaintext of the same words takes their place.
            time(device, || (plain_words.to(ring), ev.encoder().decode(&plain).expect("a device"))),
            time(device, || {
                let secret = Poly::<Coeff, Cuda>::ternary(ring, Span::chain(1), 1, &Seed::random(rng), 0);
                secret.and_then(|poly| poly.to_words()).expect("a device")
            }),
            time(device, || {
                let key = PublicKey::generate(secret, ring, rng).expect("a device");
                there(&[&key.body().expect("a device")])
            }),
            time(device, || {
                let keys =
                    EvaluationKeys::generate(secret, ring, KeyRequirements::new().relinearisation(), rng)
                        .expect("a device");
                let key = keys.relin().expect("it was made");
                (0..params.digits(LOG_Q))
                    .map(|j| there(&[&key.body(j).expect("a device")]))
                    .collect::<Vec<_>>()
            }),
            time(device, || {
                let _same = plain_words.to(ring);
                there(&encryptor.encrypt(&plain, rng).expect("a device").parts())
            }),
            time(device, || there(&[decryptor.decrypt(&here(&x)).expect("a device").poly()])),
            time(device, || there(&ev.add(&here(&x), &here(&y)).expect("a device").parts())),
            time(device, || there(&ev.tensor(&here(&x), &here(&y)).expect("a device").parts())),
        ];
        let names = PAPER.iter().map(|row| row.0).filter(|name| !name.contains("schoolbook"));
        names.map(str::to_owned).zip(times).collect()
    }
}

/// The paper's algorithms in big integers on one thread.
fn reference() -> Times {
    let (n, cpu) = (1usize << LOG_N, Cpu::new());
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
    let small = QuotientRing::power_of_two(1 << 10, LOG_Q);
    let (short, other) = (small.uniform(rng), small.uniform(rng));
    let times = [
        time_once(&cpu, || {
            coordinate_wise_random_rounding(&embedding.project(&embedding.pi_inverse(&slots), scale), rng)
        }),
        time_once(&cpu, || embedding.pi(&embedding.sigma(&message, scale))),
        time_once(&cpu, || hamming_weight(n, WEIGHT, rng)),
        time_once(&cpu, || {
            let (a, e) = (scheme.q.uniform(rng), gaussian(n, SIGMA, rng));
            scheme.public_key(&s, &a, &e)
        }),
        time_once(&cpu, || {
            let e = gaussian(n, SIGMA, rng);
            scheme.switching_key(&s, &square, &BigInt::from(1), &a_key, &e)
        }),
        time_once(&cpu, || {
            let [v, e0, e1] = [sparse_ternary(n, 0.5, rng), gaussian(n, SIGMA, rng), gaussian(n, SIGMA, rng)];
            scheme.encrypt(&public, &message, &v, [&e0, &e1])
        }),
        time_once(&cpu, || scheme.decrypt(&x, &s)),
        time_once(&cpu, || scheme.add(&x, &x)),
        // Four products of 2^10 coefficients: a square of the degree's ratio less.
        4.0 * 256.0 * time_once(&cpu, || schoolbook(&short, &other)),
        time_once(&cpu, || scheme.multiply(&x, &x)),
    ];
    PAPER.iter().map(|row| row.0.to_owned()).zip(times).collect()
}

fn find(times: &Times, name: &str) -> Option<f64> {
    times.iter().find(|(found, _)| found == name).map(|&(_, time)| time)
}

fn print(name: &str, columns: &[Option<f64>]) {
    print!("{name:>36}");
    for column in columns {
        match column {
            Some(time) if *time >= 1000.0 => print!(" {time:>12.0}"),
            Some(time) => print!(" {time:>12.1}"),
            None => print!(" {:>12}", "-"),
        }
    }
    println!();
}

/// Runs on this many threads.
fn on_threads<T: Send>(threads: usize, call: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
    pool.install(call)
}

/// P1's table.
fn table(threads: usize, device: Option<&Cuda>) {
    let cpu = |threads| on_threads(threads, || World::new(&Cpu::new(), 2).operations());
    let (one, all) = (cpu(1), cpu(threads));
    let world = device.map(|device| World::new(device, 2));
    let (copied, alone, schoolbook) = match &world {
        Some(world) => (world.copied_operations(), world.operations(), Some(world.schoolbook())),
        None => (Times::new(), Times::new(), None),
    };
    println!(
        "{:>36} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12}",
        "us", "paper CPU", "paper GPU", "CPU 1", "CPU all", "GPU copies", "GPU"
    );
    for (name, serial, parallel) in PAPER {
        let is_schoolbook = name.contains("schoolbook");
        let gpu = |times: &Times, i: usize| {
            if is_schoolbook { schoolbook.map(|times| times[i]) } else { find(times, name) }
        };
        let cpu = [find(&one, name), find(&all, name)];
        print(name, &[Some(serial), Some(parallel), cpu[0], cpu[1], gpu(&copied, 1), gpu(&alone, 0)]);
    }
    let pinned = world.as_ref().map(World::pinned_addition);
    print("add, copies of page-locked memory", &[None, None, None, None, pinned, None]);
}

/// Products with relinearisation and rescale.
fn products(threads: usize, device: Option<&Cuda>) {
    println!("{:>36} {:>12} {:>12} {:>12}", "us", "CPU 1", "CPU all", "GPU");
    for digits in [2, 1, 3] {
        let cpu = |threads| on_threads(threads, || World::new(&Cpu::new(), digits).products(digits));
        let (one, all) = (cpu(1), cpu(threads));
        let gpu = device.map(|device| World::new(device, digits).products(digits)).unwrap_or_default();
        for (name, time) in &one {
            print(name, &[Some(*time), find(&all, name), find(&gpu, name)]);
        }
    }
    if let Some(device) = device {
        let each = World::new(device, 2).batched_product(16);
        print("mul + relin + rescale, one of 16", &[None, None, Some(each)]);
    }
}

fn main() {
    // `cargo test --benches` and `cargo bench -- --test` only check that it starts.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if std::env::args().any(|argument| argument == "reference") {
        let times = on_threads(1, reference);
        println!("{:>36} {:>12} {:>12}", "us", "paper CPU", "big integers");
        PAPER.iter().for_each(|&(name, serial, _)| print(name, &[Some(serial), find(&times, name)]));
        return;
    }
    let device = Cuda::open(0).inspect_err(|error| println!("no GPU: {error}")).ok();
    let name = device.as_ref().map_or("-".to_owned(), Backend::name);
    println!("{} on {threads} threads; {name}", Cpu::new().name());
    table(threads, device.as_ref());
    products(threads, device.as_ref());
}
