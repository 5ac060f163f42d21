//! P3's two tables (HElib, TFHE and SEAL, 2018) with bits packed in slots: sums of n numbers by full adders and a Kogge-Stone adder, comparisons of
//! nb-bit numbers, and sums of integers. Beside each, the row of HElib (of SEAL for integers).
//!
//! `cargo bench --bench p3`, or a part: `-- compare`, `-- sum` (by full adders), `-- count` (by counting), `-- integers`, `-- sliced`; `bgv` or `bfv`; `cpu` or `cuda`; `width=64`;
//! `most=64` for the largest n or nb, `least=64` for the smallest. `RAYON_NUM_THREADS=1` for one thread. Latency is one run from an idle device to an
//! idle device, the least of three; "a number" is that over the instances in the slots, all of which are checked.
#![allow(missing_docs)]

use he::Result;
use he::backend::{Backend, Cpu, RingOps};
use he::bfv::Bfv;
use he::bgv::Bgv;
use he::circuits::bits::packed::{Encrypted, ParamsChoice, SlotGates, WordGates, WordLayout, params_for};
use he::circuits::bits::{Builder, less_than};
use he::cuda::Cuda;
use he::exact::{Ciphertext, Decryptor, Encryptor, Evaluator, Params, Scheme};
use he::ring::Ring;
use he::rlwe::{EvaluationKeys, PublicKey, SecretKey};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};
use std::time::Instant;

const SIZES: [usize; 10] = [3, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
/// log2(seconds) of HElib for sums of so many numbers, and of SEAL (32 bits).
const HELIB_SUM: [f64; 10] = [8.044, 8.077, 8.384, 8.801, 9.388, 9.767, 10.98, 11.89, 11.98, 13.03];
const SEAL_SUM: [f64; 10] = [-4.14, -3.34, -2.06, -1.25, -0.35, 0.848, 1.722, 3.178, 3.753, 5.463];
/// log2(seconds) of HElib for comparisons of 2, 4, ... 1024 bits.
const HELIB_COMPARE: [f64; 10] = [6.807, 6.82, 6.846, 6.858, 6.883, 8.17, 8.842, 9.606, 10.49, 11.44];

struct Selection(Vec<String>);

impl Selection {
    /// Whether one of these words was given, or none of its kind.
    fn has(&self, word: &str, kind: &[&str]) -> bool {
        let given = |word: &str| self.0.iter().any(|arg| arg == word);
        given(word) || !kind.iter().any(|word| given(word))
    }

    fn number(&self, name: &str, default: usize) -> usize {
        let value = self.0.iter().find_map(|arg| arg.strip_prefix(name)?.strip_prefix('=')?.parse().ok());
        value.unwrap_or(default)
    }

    fn holds(&self, size: usize) -> bool {
        (self.number("least", 0)..=self.number("most", 1024)).contains(&size)
    }
}

/// Keys and tools of one parameter set on one device.
struct World<S: Scheme, B: RingOps> {
    params: Params<S>,
    public: PublicKey<B>,
    decryptor: Decryptor<S, B>,
    keys: EvaluationKeys<B>,
    ev: Evaluator<S, B>,
    rng: ChaCha20Rng,
}

impl<S: Scheme, B: RingOps> World<S, B> {
    fn new(backend: &B, params: Params<S>, steps: Vec<i64>) -> Result<Self> {
        let mut rng = ChaCha20Rng::seed_from_u64(2018);
        let ring = Ring::new(backend.clone(), params.rlwe().ring().clone())?;
        let secret = SecretKey::generate(params.rlwe(), &mut rng);
        let public = PublicKey::generate(&secret, &ring, &mut rng)?;
        let keys = EvaluationKeys::generate(&secret, &ring, steps, false, &mut rng)?;
        let decryptor = Decryptor::new(&params, &secret, &ring)?;
        let ev = Evaluator::new(&params, &ring)?;
        Ok(Self { params, public, decryptor, keys, ev, rng })
    }

    fn encrypt(&mut self, slots: &[Vec<u64>]) -> Result<Ciphertext<S, B>> {
        let rows: Vec<&[u64]> = slots.iter().map(Vec::as_slice).collect();
        let plaintext = self.ev.encoder().encode_batch(&rows)?;
        Encryptor::new(&self.params, &self.public)?.encrypt(&plaintext, &mut self.rng)
    }

    fn decrypt(&self, ct: &Ciphertext<S, B>) -> Result<Vec<u64>> {
        Ok(self.ev.encoder().decode(&self.decryptor.decrypt(ct)?)?.remove(0))
    }

    fn gates(&self) -> SlotGates<Encrypted<'_, S, B>> {
        SlotGates::new(Encrypted::new(&self.ev, &self.keys))
    }

    fn shape(&self) -> String {
        let ring = self.params.rlwe().ring();
        format!("2^{}, {}+{}, {:.0}", ring.log_n(), ring.q().len(), ring.p().len(), ring.log_qp())
    }
}

/// The least of three runs in seconds, of one if it takes long, and its result.
fn seconds<T>(backend: &impl Backend, mut call: impl FnMut() -> Result<T>) -> Result<(f64, T)> {
    let mut best = f64::INFINITY;
    for run in 0.. {
        backend.synchronize()?;
        let begin = Instant::now();
        let result = call()?;
        backend.synchronize()?;
        let time = begin.elapsed().as_secs_f64();
        best = best.min(time);
        if run >= 2 || time > 5.0 {
            return Ok((best, result));
        }
    }
    unreachable!("a third run ends it")
}

/// One row: what it was, our time and its logarithm, the amortised time, the paper's, and both ratios.
fn row(what: &str, shape: &str, time: f64, instances: usize, paper_log2: Option<f64>) {
    let each = time / instances as f64;
    let (log, paper, ratios) = match paper_log2 {
        None => (time.log2(), String::new(), String::new()),
        Some(paper) => {
            let ratio = paper.exp2() / time;
            (time.log2(), format!("{paper:.2}"), format!("{ratio:.0}x | {:.1e}x", ratio * instances as f64))
        }
    };
    println!(
        "| {what} | {shape} | {time:.4} | {log:.2} | {instances} | {:.3} | {paper} | {ratios} |",
        each * 1e6
    );
}

fn header() {
    println!(
        "| | N, primes, log QP | s | log2 s | instances | µs each | paper, log2 s | faster: latency / each |"
    );
    println!("|---|---|---|---|---|---|---|---|");
}

/// Random numbers of up to 1024 bits, as bits.
fn random_words(count: usize, width: usize, rng: &mut ChaCha20Rng) -> Vec<Vec<bool>> {
    (0..count).map(|_| (0..width).map(|_| rng.random()).collect()).collect()
}

fn comparisons<S: Scheme, B: RingOps>(name: &str, backend: &B, selection: &Selection) -> Result<()> {
    println!("\n## less-than in words, {}, {name}\n", S::NAME);
    header();
    for (i, paper) in HELIB_COMPARE.into_iter().enumerate() {
        let width = 2 << i;
        if !selection.holds(width) {
            continue;
        }
        let layout = |n| WordLayout::for_comparison(n, width);
        let params = params_for::<S>(&ParamsChoice::default(), |prediction| {
            let gates = SlotGates::new(prediction);
            let words = gates.bits(gates.arithmetic().fresh(2));
            WordGates::new(gates, layout(1 << 12)?).less_than(&words[0], &words[1]).map(drop)
        })?;
        let layout = layout(params.rlwe().ring().n())?;
        let mut world = World::new(backend, params, layout.comparison_steps())?;
        let mut numbers = [0, 1].map(|_| random_words(layout.capacity(), width, &mut world.rng));
        // Every other pair differs in one bit at most.
        for (x, y) in numbers[0].clone().iter().zip(&mut numbers[1]).step_by(2) {
            y.clone_from(x);
            y[0] = world.rng.random();
        }
        let ct = world.encrypt(&[layout.pack(&numbers[0])?, layout.pack(&numbers[1])?])?;
        let gates = WordGates::new(world.gates(), layout);
        let words = gates.gates().bits(ct);
        let (time, less) = seconds(backend, || gates.less_than(&words[0], &words[1]))?;
        let slots = world.decrypt(&gates.gates().vector(&less)?.expect("a vector"))?;
        for (j, slots) in layout.unpack(&slots)?.iter().enumerate() {
            let [x, y] = [0, 1].map(|k: usize| numbers[k][j].iter().rev());
            assert_eq!(slots[0] == 1, x.lt(y), "number {j} of {width} bits");
        }
        row(&format!("{width} bits"), &world.shape(), time, layout.capacity(), Some(paper));
    }
    Ok(())
}

/// One ciphertext a bit, an instance in every slot.
fn sliced<S: Scheme, B: RingOps>(name: &str, backend: &B, selection: &Selection) -> Result<()> {
    println!("\n## less-than, a ciphertext a bit, {}, {name}\n", S::NAME);
    header();
    for (i, paper) in HELIB_COMPARE.into_iter().enumerate() {
        let width = 2 << i;
        if !selection.holds(width) {
            continue;
        }
        let mut c = Builder::new(2 * width).with_multiplexers();
        let (x, y) = (c.input(0..width), c.input(width..2 * width));
        let less = less_than(&mut c, &x, &y);
        let circuit = c.finish(&[less]);
        let params = params_for::<S>(&ParamsChoice::default(), |prediction| {
            let gates = SlotGates::new(prediction);
            let bits = gates.bits(gates.arithmetic().fresh(2 * width));
            circuit.run(&gates, &bits).map(drop)
        })?;
        let n = params.rlwe().ring().n();
        let mut world = World::new(backend, params, Vec::new())?;
        let mut bits: Vec<Vec<u64>> =
            (0..2 * width).map(|_| (0..n).map(|_| world.rng.random_range(0..2)).collect()).collect();
        for k in 1..width {
            // Half of the pairs differ in the lowest bit at most.
            let (low, high) = bits.split_at_mut(width);
            high[k][..n / 2].copy_from_slice(&low[k][..n / 2]);
        }
        let mut inputs = Vec::new();
        for some in bits.chunks(64) {
            let ct = world.encrypt(some)?;
            inputs.extend(world.gates().bits(ct));
        }
        let gates = world.gates();
        let (time, less) = seconds(backend, || circuit.run(&gates, &inputs))?;
        let found = world.decrypt(&gates.vector(&less[0])?.expect("a vector"))?;
        for (slot, &found) in found.iter().enumerate() {
            let [x, y] =
                [0, width].map(|at| (at..at + width).rev().map(|k| bits[k][slot]).collect::<Vec<_>>());
            assert_eq!(found == 1, x < y, "slot {slot} of {width} bits");
        }
        row(&format!("{width} bits"), &world.shape(), time, n, Some(paper));
    }
    Ok(())
}

/// The sums of numbers given by their bits.
fn column_sums(words: &[Vec<Vec<bool>>], number: usize) -> u128 {
    let value = |bits: &[bool]| bits.iter().rev().fold(0u128, |all, &bit| all << 1 | u128::from(bit));
    words.iter().map(|word| value(&word[number])).sum()
}

fn sums<S: Scheme, B: RingOps>(
    name: &str,
    backend: &B,
    selection: &Selection,
    (width, counted): (usize, bool),
) -> Result<()> {
    let way = if counted { "counting" } else { "full adders" };
    println!("\n## sums of {width}-bit numbers in words by {way}, {}, {name}\n", S::NAME);
    header();
    for (count, paper) in [2].into_iter().chain(SIZES).zip([f64::NAN].into_iter().chain(HELIB_SUM)) {
        if !selection.holds(count) {
            continue;
        }
        let layout = |n| WordLayout::for_sum(n, count, width);
        let params = params_for::<S>(&ParamsChoice::default(), |prediction| {
            let gates = SlotGates::new(prediction);
            let words = gates.bits(gates.arithmetic().fresh(count));
            let gates = WordGates::new(gates, layout(1 << 12)?);
            if counted { gates.sum_by_counting(&words) } else { gates.sum(&words) }.map(drop)
        })?;
        let layout = layout(params.rlwe().ring().n())?;
        let mut world = World::new(backend, params, layout.addition_steps())?;
        eprintln!("{count} numbers: {}", world.shape());
        let words: Vec<Vec<Vec<bool>>> =
            (0..count).map(|_| random_words(layout.capacity(), width, &mut world.rng)).collect();
        let mut inputs = Vec::new();
        for some in words.chunks(32) {
            let slots = some.iter().map(|word| layout.pack(word)).collect::<Result<Vec<_>>>()?;
            let ct = world.encrypt(&slots)?;
            inputs.extend(world.gates().bits(ct));
        }
        let gates = WordGates::new(world.gates().with_batch(32), layout);
        let sum = || if counted { gates.sum_by_counting(&inputs) } else { gates.sum(&inputs) };
        let (time, sum) = seconds(backend, sum)?;
        let slots = world.decrypt(&gates.gates().vector(&sum)?.expect("a vector"))?;
        for (j, slots) in layout.unpack(&slots)?.iter().enumerate() {
            let found = slots.iter().rev().fold(0u128, |all, &bit| all << 1 | u128::from(bit));
            assert_eq!(found, column_sums(&words, j), "number {j} of {count} x {width} bits");
        }
        let paper = Some(paper).filter(|paper| !paper.is_nan());
        row(&format!("{count} numbers"), &world.shape(), time, layout.capacity(), paper);
        if count == 3 && !counted {
            let (time, _) = seconds(backend, || gates.carry_save(&inputs))?;
            row("full adder (paper: 7 s)", &world.shape(), time, layout.capacity(), Some(7f64.log2()));
            let (time, _) = seconds(backend, || gates.add(&inputs[0], &inputs[1]))?;
            row("KSA (paper: 120 s)", &world.shape(), time, layout.capacity(), Some(120f64.log2()));
        }
    }
    Ok(())
}

/// SEAL's row: add() of integers, in the slots of BFV modulo a prime of 50 bits, or two of them for 64 bits.
fn integers<B: RingOps>(name: &str, backend: &B, selection: &Selection, width: usize) -> Result<()> {
    println!("\n## sums of {width}-bit integers, bfv, {name}\n");
    header();
    let moduli = he::arith::ntt_primes_below(50, 13, width.div_ceil(32), &[])?;
    let mut worlds = moduli
        .iter()
        .map(|&t| {
            let params = Params::<Bfv>::for_depth(t, 0).slots().log_n(13).margin_bits(12).build()?;
            World::new(backend, params, Vec::new())
        })
        .collect::<Result<Vec<_>>>()?;
    for (count, paper) in SIZES.into_iter().zip(SEAL_SUM).filter(|(count, _)| selection.holds(*count)) {
        let top = u64::MAX >> (64 - width);
        let mut sum = 0u128;
        let numbers: Vec<u64> = (0..count).map(|_| worlds[0].rng.random_range(0..=top)).collect();
        numbers.iter().for_each(|&x| sum += u128::from(x));
        let mut inputs = Vec::new();
        for world in &mut worlds {
            let t = world.params.plain().value();
            let n = world.ev.ring().n();
            let cts = numbers.iter().map(|&x| world.encrypt(&[vec![x % t; n]]));
            inputs.push(cts.collect::<Result<Vec<_>>>()?);
        }
        let (time, sums) = seconds(backend, || {
            let add = |(world, cts): (&World<Bfv, B>, &Vec<Ciphertext<Bfv, B>>)| {
                let mut sum = cts[0].duplicate()?;
                for ct in &cts[1..] {
                    sum = world.ev.add(&sum, ct)?;
                }
                Ok(sum)
            };
            worlds.iter().zip(&inputs).map(add).collect::<Result<Vec<_>>>()
        })?;
        for (world, ct) in worlds.iter().zip(&sums) {
            let expected = (sum % u128::from(world.params.plain().value())) as u64;
            assert!(world.decrypt(ct)?.iter().all(|&slot| slot == expected));
        }
        row(&format!("{count} numbers"), &worlds[0].shape(), time, worlds[0].ev.ring().n(), Some(paper));
    }
    Ok(())
}

fn on<B: RingOps>(name: &str, backend: &B, selection: &Selection) -> Result<()> {
    let (jobs, schemes) = (["compare", "sliced", "sum", "count", "integers"], ["bgv", "bfv"]);
    let job = |job| selection.has(job, &jobs);
    let widths: Vec<usize> = [32, 64].into_iter().filter(|&w| w == selection.number("width", w)).collect();
    if selection.has("bgv", &schemes) {
        if job("compare") {
            comparisons::<Bgv, B>(name, backend, selection)?;
        }
        if job("sliced") {
            sliced::<Bgv, B>(name, backend, selection)?;
        }
        for &width in &widths {
            for (_, counted) in [("sum", false), ("count", true)].into_iter().filter(|(name, _)| job(name)) {
                sums::<Bgv, B>(name, backend, selection, (width, counted))?;
            }
        }
    }
    if selection.has("bfv", &schemes) {
        if job("compare") {
            comparisons::<Bfv, B>(name, backend, selection)?;
        }
        if job("sliced") {
            sliced::<Bfv, B>(name, backend, selection)?;
        }
        for &width in &widths {
            for (_, counted) in [("sum", false), ("count", true)].into_iter().filter(|(name, _)| job(name)) {
                sums::<Bfv, B>(name, backend, selection, (width, counted))?;
            }
        }
    }
    for &width in widths.iter().filter(|_| job("integers")) {
        integers(name, backend, selection, width)?;
    }
    Ok(())
}

fn main() {
    let selection = Selection(std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect());
    let devices = ["cpu", "cuda"];
    if selection.has("cuda", &devices) {
        match Cuda::open(0) {
            Ok(cuda) => on("cuda", &cuda, &selection).expect("the GPU works"),
            Err(error) => eprintln!("skipped: {error}"),
        }
    }
    if selection.has("cpu", &devices) {
        on("cpu", &Cpu::new(), &selection).expect("the CPU works");
    }
}
