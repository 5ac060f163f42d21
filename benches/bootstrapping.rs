//! Prints the time of CKKS bootstrapping by stages and its precision, and the time of refreshes of
//! BFV and BGV and their noise budgets: `cargo bench --bench bootstrapping`, or a part of it with
//! `-- fast small bfv:65537 bgv:257`, on the device of `HE_DEVICE` (`cpu`, `cuda`, `cuda:1`; the
//! first GPU if there is one). `HE_BENCH_RUNS` is the number of bootstraps (5), `HE_BENCH_BATCH`
//! that of ciphertexts in each (1). Times are the least of all runs, from an idle device to an idle
//! device.
#![allow(missing_docs)]

use he::Device;
use he::backend::Backend;
use he::bfv::Bfv;
use he::bgv::Bgv;
use he::bootstrapping::presets::Preset;
use he::bootstrapping::{BootstrapKeys, Bootstrapper, Stage};
use he::ckks::{Decryptor, Evaluator, SecretEncryptor};
use he::exact::{self, Scheme};
use he::num_complex::Complex64;
use he::rlwe::SecretKey;
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};
use std::error::Error;
use std::time::{Duration, Instant};

/// A positive number from the environment.
fn number(variable: &str, default: usize) -> Result<usize, Box<dyn Error>> {
    let Ok(text) = std::env::var(variable) else { return Ok(default) };
    let number = text.parse().ok().filter(|&number| number > 0);
    number.ok_or_else(|| format!("{variable} is {text:?}; a positive number is needed").into())
}

/// The measurements.
#[derive(Clone, Copy)]
enum Job {
    Ckks(Preset),
    /// A refresh that leaves room for one product modulo this t.
    Bfv(u64),
    Bgv(u64),
}

/// The measurements that are made if nothing is asked for, besides all presets.
const EXACT: [Job; 4] = [Job::Bfv(257), Job::Bfv(65537), Job::Bfv(1 << 20), Job::Bgv(65537)];

/// The jobs that are asked for: all, if none is.
fn asked(names: &[String]) -> Result<Vec<Job>, Box<dyn Error>> {
    if names.is_empty() {
        return Ok(Preset::ALL.map(Job::Ckks).into_iter().chain(EXACT).collect());
    }
    let known = Preset::ALL.map(Preset::name).join(", ");
    let job = |name: &String| {
        let exact = |scheme: &str| name.strip_prefix(scheme)?.strip_prefix(':')?.parse().ok();
        let ckks = Preset::by_name(name).map(Job::Ckks);
        let job = ckks.or_else(|| exact("bfv").map(Job::Bfv)).or_else(|| exact("bgv").map(Job::Bgv));
        job.ok_or_else(|| format!("there is no {name:?}; there are {known}, bfv:T and bgv:T").into())
    };
    names.iter().map(job).collect()
}

/// The least time of each stage over all runs, and the errors of every real and imaginary part.
struct Measured {
    stages: Vec<(Stage, Duration)>,
    whole: Duration,
    errors: Vec<f64>,
}

fn measure(preset: Preset, device: &Device, runs: usize, batch: usize) -> Result<Measured, Box<dyn Error>> {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let params = preset.params()?;
    let ring = params.ring(device.clone())?;
    let program = params.params();
    let secret = SecretKey::generate(program.rlwe(), &mut rng);
    let begin = Instant::now();
    let keys = BootstrapKeys::generate(&secret, &params, &ring, &mut rng)?;
    device.synchronize()?;
    println!("{preset}: {:.2} GB of keys in {:.2?}", keys.bytes() as f64 / 1e9, begin.elapsed());
    let begin = Instant::now();
    let bootstrapper = Bootstrapper::new(&params, &ring)?;
    device.synchronize()?;
    println!("{preset}: matrices in {:.2?}", begin.elapsed());

    let ev = Evaluator::new(program, &ring)?;
    let encryptor = SecretEncryptor::new(program, &secret, &ring)?;
    let decryptor = Decryptor::new(program, &secret, &ring)?;
    let mut measured = Measured { stages: Vec::new(), whole: Duration::MAX, errors: Vec::new() };
    for _ in 0..runs {
        let mut real = || rng.random_range(-1.0..1.0);
        let vectors: Vec<Vec<Complex64>> = (0..batch)
            .map(|_| (0..params.slots()).map(|_| Complex64::new(real(), real())).collect())
            .collect();
        let slices: Vec<&[Complex64]> = vectors.iter().map(Vec::as_slice).collect();
        let plain = ev.encoder().encode_batch(&slices, program.encoding().slots(params.slots()))?;
        let ct = ev.mod_switch_to(&encryptor.encrypt(&plain, &mut rng)?.expand()?, params.input_level())?;
        device.synchronize()?;

        let begin = Instant::now();
        drop(bootstrapper.refresh(&ct, &keys)?);
        device.synchronize()?;
        measured.whole = measured.whole.min(begin.elapsed());

        let (mut last, mut stages) = (Instant::now(), Vec::new());
        let fresh = bootstrapper.refresh_observed(&ct, &keys, |stage, _| {
            device.synchronize()?;
            stages.push((stage, last.elapsed()));
            last = Instant::now();
            Ok(())
        })?;
        if measured.stages.is_empty() {
            measured.stages = stages;
        } else {
            measured.stages.iter_mut().zip(stages).for_each(|(least, (_, time))| least.1 = least.1.min(time));
        }
        let found = ev.encoder().decode(&decryptor.decrypt(&fresh)?)?;
        for (found, expected) in found.iter().flatten().zip(vectors.iter().flatten()) {
            measured.errors.extend([(found.re - expected.re).abs(), (found.im - expected.im).abs()]);
        }
    }
    Ok(measured)
}

fn print_ckks(preset: Preset, device: &Device, runs: usize, batch: usize) -> Result<(), Box<dyn Error>> {
    let Measured { stages, whole, errors } = measure(preset, device, runs, batch)?;
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    for (stage, time) in stages {
        println!("{preset}: {stage:?} {:.3} ms", ms(time));
    }
    let worst = errors.iter().copied().fold(0.0, f64::max);
    let rms = (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt();
    let per_ciphertext = ms(whole) / batch as f64;
    println!(
        "{preset}: {:.3} ms in one call, {per_ciphertext:.3} ms per ciphertext; precision {:.2} bits at worst, {:.2} in the mean",
        ms(whole),
        -worst.log2(),
        -rms.log2()
    );
    Ok(())
}

/// Refreshes of ciphertexts with just enough budget left.
fn measure_exact<S: Scheme>(
    t: u64,
    device: &Device,
    runs: usize,
    batch: usize,
) -> Result<(), Box<dyn Error>> {
    let name = format!("{}, t = {t}", S::NAME);
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let begin = Instant::now();
    let boot = exact::bootstrapping::BootstrapParams::<S>::for_depth(t, 1)?;
    let (params, ring) = (boot.params(), boot.ring(device.clone())?);
    println!(
        "{name}: {} primes of {} for programs, {} iterations, found in {:.2?}",
        params.max_level() + 1,
        boot.ring_spec().q().len(),
        boot.spec().iterations,
        begin.elapsed()
    );
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let begin = Instant::now();
    let keys = BootstrapKeys::generate(&secret, boot.circuit(), &ring, &mut rng)?;
    device.synchronize()?;
    println!("{name}: {:.2} GB of keys in {:.2?}", keys.bytes() as f64 / 1e9, begin.elapsed());
    let bootstrapper = exact::bootstrapping::Bootstrapper::new(&boot, &ring)?;
    let ev = exact::Evaluator::new(params, &ring)?;
    let decryptor = exact::Decryptor::new(params, &secret, &ring)?;

    let values: Vec<Vec<u64>> =
        (0..batch).map(|_| (0..ring.n()).map(|_| rng.random_range(0..t)).collect()).collect();
    let slices: Vec<&[u64]> = values.iter().map(Vec::as_slice).collect();
    let plain = ev.encoder().encode_coefficients_batch(&slices)?;
    let encryptor = exact::SecretEncryptor::new(params, &secret, &ring)?;
    let mut ct = encryptor.encrypt(&plain, &mut rng)?.expand()?;
    // A factor and its inverse take budget, and leave the message.
    let unit = [3, 5, 7].into_iter().find(|&u| !t.is_multiple_of(u)).ok_or("t is a multiple of 105")?;
    let inverse = params.plain().invert(unit % t).ok_or("t is a multiple of the factor")?;
    let before = loop {
        let spent = ev.mul_scalar(&ev.mul_scalar(&ct, unit as i64)?, inverse as i64)?;
        let left = ct.predicted_budget(params);
        if spent.predicted_budget(params) < boot.needed_budget() {
            break left;
        }
        ct = spent;
    };
    let mut least = Duration::MAX;
    let mut measured = f64::INFINITY;
    let mut predicted = 0.0;
    for _ in 0..runs {
        device.synchronize()?;
        let begin = Instant::now();
        let fresh = bootstrapper.refresh(&ct, &keys)?;
        device.synchronize()?;
        least = least.min(begin.elapsed());
        predicted = fresh.predicted_budget(params);
        measured = decryptor.noise_budget(&fresh)?.into_iter().fold(measured, f64::min);
        let found = ev.encoder().decode_coefficients::<u64>(&decryptor.decrypt(&fresh)?)?;
        assert_eq!(found, values, "{name}: wrong");
    }
    let ms = least.as_secs_f64() * 1e3;
    println!(
        "{name}: {ms:.3} ms in one call, {:.3} ms per ciphertext; budget {before:.1} before, {predicted:.1} predicted after, {measured:.1} measured",
        ms / batch as f64
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = std::env::var("HE_DEVICE").map_or_else(|_| Ok(Device::auto()), |name| name.parse())?;
    let (runs, batch) = (number("HE_BENCH_RUNS", 5)?, number("HE_BENCH_BATCH", 1)?);
    let names: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let jobs = asked(&names)?;
    println!("{}, {runs} runs, batch {batch}", device.name());
    for job in jobs {
        match job {
            Job::Ckks(preset) => print_ckks(preset, &device, runs, batch)?,
            Job::Bfv(t) => measure_exact::<Bfv>(t, &device, runs, batch)?,
            Job::Bgv(t) => measure_exact::<Bgv>(t, &device, runs, batch)?,
        }
    }
    Ok(())
}
