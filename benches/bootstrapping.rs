//! Prints the time of CKKS bootstrapping by stages and its precision:
//! `cargo bench --bench bootstrapping`, or a part of it with `-- fast small`, on the device of
//! `HE_DEVICE` (`cpu`, `cuda`, `cuda:1`; the first GPU if there is one). `HE_BENCH_RUNS` is the
//! number of bootstraps (5), `HE_BENCH_BATCH` that of ciphertexts in each (1). Times are the least
//! of all runs, from an idle device to an idle device.
#![allow(missing_docs)]

use he::Device;
use he::backend::Backend;
use he::bootstrapping::presets::Preset;
use he::bootstrapping::{BootstrapKeys, Bootstrapper, Stage};
use he::ckks::{Decryptor, Evaluator, SecretEncryptor};
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

/// The presets that are asked for: all, if none is.
fn asked(names: &[String]) -> Result<Vec<Preset>, Box<dyn Error>> {
    if names.is_empty() {
        return Ok(Preset::ALL.to_vec());
    }
    let known = Preset::ALL.map(Preset::name).join(", ");
    let preset = |name: &String| {
        Preset::by_name(name).ok_or_else(|| format!("there is no preset {name:?}; there are {known}").into())
    };
    names.iter().map(preset).collect()
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

fn main() -> Result<(), Box<dyn Error>> {
    let device = std::env::var("HE_DEVICE").map_or_else(|_| Ok(Device::auto()), |name| name.parse())?;
    let (runs, batch) = (number("HE_BENCH_RUNS", 5)?, number("HE_BENCH_BATCH", 1)?);
    let names: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let presets = asked(&names)?;
    println!("{}, {runs} runs, batch {batch}", device.name());
    for preset in presets {
        let Measured { stages, whole, errors } = measure(preset, &device, runs, batch)?;
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
    }
    Ok(())
}
