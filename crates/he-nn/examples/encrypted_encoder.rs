//! Runs an encoder of sentences on encrypted inputs, on a GPU or on the CPU.
//!
//! ```sh
//! cargo build --release -p he-nn --example encrypted_encoder
//! target/release/examples/encrypted_encoder calibrate MODEL TABLE CALIBRATION
//! target/release/examples/encrypted_encoder plan MODEL CALIBRATION
//! target/release/examples/encrypted_encoder check MODEL CALIBRATION TABLE SENTENCES
//! target/release/examples/encrypted_encoder run MODEL CALIBRATION TABLE SENTENCES
//! ```
//!
//! Each line of a table holds the numbers of all inputs of an example. `calibrate` writes the
//! ranges of a table, and `plan` prints levels, operations and bytes. `check` computes the steps of
//! the plan in the clear. `run` computes the first so many examples of a table that are within the
//! ranges, and prints the cosine to the exact output, and the seconds of each part and of each
//! layer beside those that the plan predicts; with `HE_TRACE=1` also how far the last ciphertext of
//! each step is from the clear. It ends before it starts where the device has too little memory.
//! `HE_DEVICE=cpu` computes on the CPU, and `HE_INSECURE_LOG_N=9` at a degree for tests alone.

use he_core::backend::{Cpu, RingOps};
use he_core::bootstrapping::presets::{self, Preset};
use he_core::bootstrapping::{BootstrapKeys, BootstrapParams, BootstrapSpec, Bootstrapper};
use he_core::ckks::{Complex64, Decryptor, Evaluator, SecretEncryptor};
use he_core::rlwe::{EvaluationKeys, SecretKey};
use he_cuda::Cuda;
use he_nn::encoder::plan::{Made, Packed};
use he_nn::encoder::{Counts, Encoder, Part, Plan};
use he_nn::onnx::{Model, Reading};
use he_nn::{Graph, Parameters};
use std::collections::BTreeMap;
use std::time::Instant;

type Table = Vec<Vec<f64>>;
type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn table(path: &str) -> Outcome<Table> {
    let row = |row: &str| row.split(',').map(str::parse).collect::<Result<Vec<f64>, _>>();
    Ok(std::fs::read_to_string(path)?.lines().map(row).collect::<Result<_, _>>()?)
}

fn model(path: &str) -> Outcome<Graph> {
    Ok(Model::with(&std::fs::read(path)?, &Reading::default())?.graph)
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["calibrate", path, examples, to] => {
            let encoder = Encoder::calibrate(model(path)?, &table(examples)?)?;
            encoder.warnings().iter().for_each(|warning| println!("warning: {warning}"));
            Ok(std::fs::write(to, encoder.calibration_to_bytes()?)?)
        }
        ["plan", path, calibration] => planned(path, calibration).map(drop),
        ["check", path, calibration, examples, count] => {
            let plan = planned(path, calibration)?;
            for (index, example) in table(examples)?.iter().take(count.parse()?).enumerate() {
                let Ok(found) = plan.apply_plain(index, example) else { continue };
                let exact = plan.encoder().graph().apply_plain(example)?;
                println!("sentence {index}: cosine {:.6} in the clear", cosine(&found, &exact));
            }
            Ok(())
        }
        ["run", path, calibration, examples, count] => {
            let plan = planned(path, calibration)?;
            let (examples, count) = (table(examples)?, count.parse()?);
            if std::env::var("HE_DEVICE").is_ok_and(|device| device == "cpu") {
                return run(&plan, &examples, count, Cpu::new());
            }
            let device = Cuda::open(0)?;
            let (free, _) = device.gpu().memory()?;
            if plan.memory()? > free as u64 {
                return Err(format!("{free} bytes of the device are free").into());
            }
            run(&plan, &examples, count, device)
        }
        _ => Err("see the first lines of the example for its arguments".into()),
    }
}

/// The plan of a model with its calibration, which is printed.
fn planned(path: &str, calibration: &str) -> Outcome<Plan> {
    let mut clock = Clock::start();
    let encoder = Encoder::from_calibration(model(path)?, &std::fs::read(calibration)?)?;
    clock.tell("read");
    let parameters = match std::env::var("HE_INSECURE_LOG_N") {
        Ok(log_n) => {
            let log_n: u32 = log_n.parse()?;
            let spec = BootstrapSpec { log_n, log_slots: log_n - 1, ..Preset::Fast.spec() };
            BootstrapParams::insecure(spec)?
        }
        Err(_) => presets::fast()?,
    };
    let plan = encoder.plan(Parameters::Refreshed(parameters))?;
    clock.tell("planned");
    print_plan(&plan)?;
    Ok(plan)
}

/// The time since the last step.
struct Clock(Instant);

impl Clock {
    fn start() -> Self {
        Self(Instant::now())
    }

    fn lap(&mut self) -> f64 {
        let seconds = self.0.elapsed().as_secs_f64();
        self.0 = Instant::now();
        seconds
    }

    fn tell(&mut self, what: &str) {
        println!("{what:<32}{:>10.3} s", self.lap());
    }
}

fn print_plan(plan: &Plan) -> Outcome<()> {
    let giga = |bytes: u64| bytes as f64 / 1e9;
    let rotations = plan.requirements().rotation_steps().len();
    for layer in plan.layers() {
        let part = format!("{:?}", layer.part);
        println!("level {:>2}, {part:<9} of {}: {:?}", layer.level, layer.name, layer.counts);
    }
    println!("{} vectors from level {}, {:?}", plan.batch(), plan.input_level(), plan.counts());
    println!("keys of {rotations} rotations and a product: {:.2} GB", giga(plan.key_bytes()));
    println!("keys of refreshes: {:.2} GB", giga(plan.bootstrap_key_bytes()?));
    println!("maps: {:.2} GB", giga(plan.plaintext_bytes()));
    println!("ciphertexts at once: {:.2} GB", giga(plan.ciphertext_bytes()));
    println!("memory: {:.2} GB", giga(plan.memory()?));
    Ok(())
}

/// Seconds and predicted work of each part in each layer.
type Times = BTreeMap<(usize, Part), (f64, f64)>;

fn run<B: RingOps>(plan: &Plan, examples: &[Vec<f64>], count: usize, device: B) -> Outcome<()> {
    let rng = &mut he_core::rand::rng();
    let Some(boot) = plan.parameters().bootstrapping() else { return Err("no refreshes".into()) };
    let (params, ring) = (plan.parameters().params(), boot.ring(device.clone())?);
    let mut clock = Clock::start();
    let secret = SecretKey::generate(params.rlwe(), rng);
    let keys = EvaluationKeys::generate(&secret, &ring, plan.requirements(), rng)?;
    let boot_keys = BootstrapKeys::generate(&secret, boot, &ring, rng)?;
    let bootstrapper = Bootstrapper::new(boot, &ring)?;
    device.synchronize()?;
    clock.tell("keys");
    let (ev, refresher) = (Evaluator::new(params, &ring)?, bootstrapper.with_keys(&boot_keys));
    let speed = he_nn::speed(&ev, rng)?;
    println!("{:.3e} butterflies a second, {:.3} s predicted", speed, plan.work() / speed);
    clock.lap();
    let prepared = plan.prepare(&ev)?;
    device.synchronize()?;
    clock.tell("encoded");
    println!("encoded: {:.2} GB", prepared.bytes() as f64 / 1e9);
    let encryptor = SecretEncryptor::new(params, &secret, &ring)?;
    let decryptor = Decryptor::new(params, &secret, &ring)?;
    let mut done = 0;
    for (index, example) in examples.iter().enumerate() {
        let Ok(packed) = plan.pack(index, example) else { continue };
        if done == count {
            break;
        }
        let plain = encode(&ev, &packed)?;
        let input = encryptor.encrypt(&plain, rng)?.expand()?;
        device.synchronize()?;
        clock.lap();
        if done == 0 {
            prepared.infer(&ev, &input, &packed.mask, &keys, &refresher)?;
            device.synchronize()?;
            clock.tell("first of all sentences");
        }
        let output = prepared.infer(&ev, &input, &packed.mask, &keys, &refresher)?;
        device.synchronize()?;
        clock.tell("sentence");
        let (mut times, mut kinds) = (Times::new(), BTreeMap::<(Part, String), (f64, f64, usize)>::new());
        let (mut norms, mut last) = (0, Part::Linear);
        prepared.infer_watched(&ev, &input, &packed.mask, &keys, &refresher, &mut |made, _| {
            device.synchronize()?;
            if made.part != Part::Norm && last == Part::Norm && made.part != Part::Refresh {
                norms += 1;
            }
            last = if made.part == Part::Refresh { last } else { made.part };
            let seconds = clock.lap();
            let entry = times.entry((norms / 2, made.part)).or_default();
            entry.0 += seconds;
            entry.1 += made.work / speed;
            let entry = kinds.entry((made.part, kind(&made.counts))).or_default();
            *entry = (entry.0 + seconds, entry.1 + made.work / speed, entry.2 + 1);
            Ok(())
        })?;
        print_times(&times);
        if std::env::var_os("HE_TRACE").is_some() {
            let far = trace(plan, index, example)?;
            prepared.infer_watched(&ev, &input, &packed.mask, &keys, &refresher, &mut |made, value| {
                let Some(last) = value.last() else { return Ok(()) };
                let found = ev.encoder().decode_real(&decryptor.decrypt(last)?)?;
                far(&made, last.level(), &found[0]);
                Ok(())
            })?;
        }
        for ((part, kind), (seconds, predicted, steps)) in kinds {
            println!("{part:?} of {kind}: {steps} steps, {seconds:.4} s, predicted {predicted:.4}");
        }
        clock.lap();
        let decrypted: Table = ev.encoder().decode_real(&decryptor.decrypt(&output)?)?;
        let found = plan.unpack(&decrypted)?;
        let exact = plan.encoder().graph().apply_plain(example)?;
        let simulated = plan.encoder().simulate(index, example)?;
        println!(
            "sentence {index} of {} tokens: cosine {:.6} to the exact output, {:.6} to the simulated one",
            packed.mask.iter().filter(|&&bit| bit).count(),
            cosine(&found, &exact),
            cosine(&found, &simulated)
        );
        done += 1;
    }
    Ok(())
}

/// A function that prints how far the first vector of a step's last ciphertext is from the clear.
fn trace(plan: &Plan, index: usize, example: &[f64]) -> Outcome<impl Fn(&Made<'_>, usize, &[f64])> {
    let mut clear: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    plan.apply_plain_watched(index, example, &mut |step, value| {
        if let Some(first) = value.last().and_then(|value| value.first()) {
            clear.insert(step, first.clone());
        }
    })?;
    Ok(move |made: &Made<'_>, level: usize, found: &[f64]| {
        let Some(clear) = clear.get(&made.step) else { return };
        let far = clear.iter().zip(found).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
        let most = clear.iter().fold(0f64, |most, x| most.max(x.abs()));
        let (step, part, kind) = (made.step, made.part, kind(&made.counts));
        println!("step {step} {part:?} {kind}: level {level}, at most {most:.3e}, off by {far:.3e}");
    })
}

fn encode<B: RingOps>(ev: &Evaluator<B>, packed: &Packed) -> Outcome<he_core::ckks::Plaintext<B>> {
    let complex = |vector: &Vec<f64>| vector.iter().map(|&x| x.into()).collect();
    let vectors: Vec<Vec<Complex64>> = packed.vectors.iter().map(complex).collect();
    let vectors: Vec<&[Complex64]> = vectors.iter().map(Vec::as_slice).collect();
    Ok(ev.encoder().encode_batch(&vectors, ev.params().encoding())?)
}

/// The operations of a step in words.
fn kind(counts: &Counts) -> String {
    let Counts { baby, hoisted, rotations, plain, products, sums, refreshes } = *counts;
    let names = ["maps", "hoisted", "rotations", "plain", "products", "sums", "refreshes"];
    let counts = [baby, hoisted, rotations, plain, products, sums, refreshes];
    let found = names.into_iter().zip(counts).filter(|(_, count)| *count > 0).map(|(name, _)| name);
    found.collect::<Vec<_>>().join("+")
}

/// A line for each layer and for all of them: measured and predicted seconds of each part.
fn print_times(times: &Times) {
    let mut parts: BTreeMap<Part, (f64, f64)> = BTreeMap::new();
    let mut layers: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for (&(layer, part), &(seconds, predicted)) in times {
        println!("layer {layer} {:<12}{seconds:>10.4} s, predicted {predicted:>10.4}", format!("{part:?}"));
        let add = |sum: &mut (f64, f64)| *sum = (sum.0 + seconds, sum.1 + predicted);
        add(parts.entry(part).or_default());
        add(layers.entry(layer).or_default());
    }
    for (layer, (seconds, predicted)) in layers {
        println!("layer {layer:<14}{seconds:>10.4} s, predicted {predicted:>10.4}");
    }
    for (part, (seconds, predicted)) in parts {
        println!("{:<20}{seconds:>10.4} s, predicted {predicted:>10.4}", format!("{part:?}"));
    }
}

/// a b / (|a| |b|).
fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}
