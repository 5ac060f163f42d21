//! Prints what operations cost on one thread of the CPU beside the table in `regress.csv`,
//! and which of them fell behind it by more than 10 %: `cargo bench --bench regress`, or a part of
//! it with `-- mul` or `-- 2^14`. `-- --record` measures everything and writes the table anew.
//!
//! A figure is the least time of a call, and the page faults per call after the first ones. Times
//! are compared as multiples of a yardstick that is measured in the same run, the transform in
//! portable code, since a stored time would otherwise be that of another machine. The table holds
//! for one kind of processor, which it names: the gain of vector instructions differs between them.
#![allow(missing_docs)]

use he_bench::chains::{self, Chain, ExactChain};
use he_bench::keys::{Ckks, Exact};
use he_core::backend::{Backend, Cpu, PolyOps};
use he_core::bfv::Bfv;
use he_core::ckks::Encryptor;
use he_core::ring::{RingSpec, Rows, Span};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The time over which calls are repeated, and the fewest calls.
const DURATION: Duration = Duration::from_secs(2);
const CALLS: u32 = 10;

/// The part of the stored time by which a slower result is a fall.
const FALL: f64 = 0.1;

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/regress.csv");

/// The name under which the table keeps the yardstick.
const YARDSTICK: &str = "yardstick";

/// The page faults of this process so far, where the system tells them.
fn page_faults() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in parentheses, may contain anything.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(7)?.parse().ok()
}

/// The least time of a call in µs, and the page faults per call.
fn measure(mut call: impl FnMut()) -> (f64, Option<f64>) {
    // The pool of buffers fills.
    (0..3).for_each(|_| call());
    let (begin, before) = (Instant::now(), page_faults());
    let (mut least, mut calls) = (Duration::MAX, 0);
    while begin.elapsed() < DURATION || calls < CALLS {
        let start = Instant::now();
        call();
        least = least.min(start.elapsed());
        calls += 1;
    }
    let faults = page_faults().zip(before).map(|(after, before)| (after - before) as f64 / f64::from(calls));
    (least.as_secs_f64() * 1e6, faults)
}

/// The measured times, in the order of measuring, beside the stored ones.
#[derive(Default)]
struct Report {
    filter: String,
    stored: BTreeMap<String, f64>,
    /// The ratio of the yardstick's time to the stored one.
    slower: f64,
    measured: String,
    fallen: Vec<String>,
}

impl Report {
    fn selects(&self, name: &str) -> bool {
        name == YARDSTICK || name.contains(&self.filter)
    }

    fn measure<T>(&mut self, name: &str, mut call: impl FnMut() -> he_core::Result<T>) {
        if !self.selects(name) {
            return;
        }
        let (time, faults) = measure(|| drop(black_box(call().expect("the operation succeeds"))));
        let faults = faults.map_or_else(|| "-".to_owned(), |faults| format!("{faults:.1}"));
        writeln!(self.measured, "{name},{time:.2}").expect("memory");
        if name == YARDSTICK {
            self.slower = self.stored.get(name).map_or(1.0, |stored| time / stored);
        }
        match self.stored.get(name).map(|stored| stored * self.slower) {
            Some(scaled) => {
                let ratio = time / scaled;
                println!("{name:<32} {time:>11.2} {scaled:>11.2} {ratio:>7.2} {faults:>9}");
                if ratio > 1.0 + FALL {
                    self.fallen.push(format!("{name}: {ratio:.2} times the stored time"));
                }
            }
            None => println!("{name:<32} {time:>11.2} {:>11} {:>7} {faults:>9}", "-", "-"),
        }
    }
}

/// A prime for degrees up to 2^16 below 2^bits.
fn prime(bits: u32) -> u64 {
    let is_prime = |&q: &u64| RingSpec::new(16, vec![q], vec![]).is_ok();
    (1..).map(|i| (1 << bits) - (i << 17) + 1).find(is_prime).expect("there are primes")
}

/// Times of the transforms of one row, forward and inverse.
fn transforms(report: &mut Report, cpu: &Cpu, bits: u32, log_n: u32, names: [&str; 2]) {
    let q = prime(bits);
    let ring = cpu.prepare(&RingSpec::new(log_n, vec![q], vec![]).expect("a prime")).expect("memory");
    let rows = Rows::new(Span::chain(1), 1);
    let mut rng = ChaCha20Rng::seed_from_u64(2024);
    let words: Vec<u64> = (0..1 << log_n).map(|_| rng.random_range(0..q)).collect();
    let mut a = cpu.upload(&words).expect("memory");
    report.measure(names[0], || ring.ntt(rows, &mut a));
    report.measure(names[1], || ring.intt(rows, &mut a));
}

fn ckks(report: &mut Report, chain: &Chain) {
    let operations = [
        "mul+relin+rescale",
        "rotate",
        "add",
        "add in place",
        "add plain",
        "add plain in place",
        "mul plain",
        "encode",
        "decode",
        "encrypt",
        "decrypt",
    ];
    let names = operations.map(|operation| format!("CKKS {operation} 2^{}", chain.log_n));
    if !names.iter().any(|name| report.selects(name)) {
        return;
    }
    let params = chain.params().expect("a valid chain");
    let x = Ckks::new(&Cpu::new(), &params, 1, &[1]).expect("memory");
    let (ev, keys, [a, b]) = (&x.ev, &x.keys, &x.inputs);
    let mut sum = a.clone();
    let decrypted = x.decryptor.decrypt(a).expect("same parameters");
    let encryptor = Encryptor::new(&params, &x.public).expect("same parameters");
    let mut rng = ChaCha20Rng::seed_from_u64(2025);
    let [mul, rotate, add, in_place, add_plain, plain_in_place, plain, encode, decode, encrypt, decrypt] =
        &names;
    report.measure(mul, || ev.mul(a, b, keys));
    report.measure(rotate, || ev.rotate(a, 1, keys));
    report.measure(add, || ev.add(a, b));
    report.measure(in_place, || ev.add_assign(&mut sum, b));
    report.measure(add_plain, || ev.add_plain(a, &x.plain));
    report.measure(plain_in_place, || ev.add_plain_assign(&mut sum, &x.plain));
    report.measure(plain, || ev.mul_plain(a, &x.plain));
    report.measure(encode, || ev.encoder().encode(&x.values, params.encoding()));
    report.measure(decode, || ev.encoder().decode(&decrypted));
    report.measure(encrypt, || encryptor.encrypt(&x.plain, &mut rng));
    report.measure(decrypt, || x.decryptor.decrypt(a));
}

fn bfv(report: &mut Report, chain: &ExactChain) {
    let names = ["mul+relin", "rotate"].map(|operation| format!("BFV {operation} 2^{}", chain.0));
    if !names.iter().any(|name| report.selects(name)) {
        return;
    }
    let params = chains::exact_params::<Bfv>(chain).expect("a valid chain");
    let x = Exact::new(&Cpu::new(), &params, 1).expect("memory");
    let [a, b] = &x.inputs;
    report.measure(&names[0], || x.ev.mul(a, b, &x.keys));
    report.measure(&names[1], || x.ev.rotate(a, 1, &x.keys));
}

/// The stored times, and the processor that they are of.
fn stored() -> (BTreeMap<String, f64>, String) {
    let table = std::fs::read_to_string(TABLE).unwrap_or_default();
    let row = |line: &str| {
        let (name, time) = line.split_once(',')?;
        Some((name.to_owned(), time.parse().ok()?))
    };
    let of = table.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or_default();
    (table.lines().filter_map(row).collect(), of.to_owned())
}

fn all(report: &mut Report) {
    for bits in [40, 50, 60] {
        let names = ["forward", "inverse"].map(|way| format!("NTT {way} {bits} bits 2^14"));
        transforms(report, &Cpu::new(), bits, 14, names.each_ref().map(String::as_str));
    }
    for chain in chains::on_cpus().iter().filter(|chain| chain.log_n > 12) {
        ckks(report, chain);
    }
    chains::exact_on_gpus().iter().for_each(|chain| bfv(report, chain));
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let record = arguments.iter().any(|a| a == "--record");
    let filter = arguments.into_iter().find(|a| !a.starts_with("--")).filter(|_| !record).unwrap_or_default();
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    one_thread.install(|| {
        let name = Cpu::new().name();
        let (stored, of) = if record { Default::default() } else { stored() };
        if !record && of != name {
            println!("the stored times are of another processor: {of}");
        }
        println!("{name:<32} {:>11} {:>11} {:>7} {:>9}", "µs", "stored, µs", "ratio", "faults");
        let mut report = Report { filter, stored, ..Report::default() };
        transforms(&mut report, &Cpu::portable(), 60, 13, [YARDSTICK, "yardstick, inverse"]);
        all(&mut report);
        if record {
            let table = format!("# {name}\n{}", report.measured);
            std::fs::write(TABLE, table).expect("the table can be written");
            println!("written to {TABLE}");
        } else if report.fallen.is_empty() {
            println!("nothing fell by more than {:.0} %", 100.0 * FALL);
        } else {
            report.fallen.iter().for_each(|line| println!("FELL: {line}"));
        }
    });
}
