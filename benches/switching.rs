//! Prints the time of exact functions of 1024 slots of CKKS by way of TFHE, and of their parts:
//! `cargo bench --bench switching`, or for other widths `-- 8 14`, on the device of `HE_DEVICE`
//! (`cpu`, `cuda`, `cuda:1`; the first GPU if there is one). `HE_BENCH_RUNS` is the number of runs
//! (3), of which the least time counts, from an idle device to an idle device.
#![allow(missing_docs)]

use he::Device;
use he::backend::Backend;
use he::bootstrapping::presets::Preset;
use he::bootstrapping::{BootstrapKeys, Bootstrapper};
use he::ckks::{Ciphertext, Decryptor, Evaluator, SecretEncryptor};
use he::rlwe::{EvaluationKeys, SecretKey};
use he::switching::{
    ExactFunctions, FromTfheKey, SlotsToTfhe, SlotsToTfheSpec, SwitchingKeys, SwitchingParams, TfheToSlots,
    ToTfheKey,
};
use he::tfhe::{BootstrapKey, Carry, IntegerEvaluator, TfheSecretKey, presets};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};
use std::error::Error;
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn Error>> {
    let device = std::env::var("HE_DEVICE").map_or_else(|_| Ok(Device::auto()), |name| name.parse())?;
    let runs: usize = std::env::var("HE_BENCH_RUNS").map_or(Ok(3), |runs| runs.parse())?;
    let asked = std::env::args().skip(1).filter(|arg| !arg.starts_with('-'));
    let mut widths = asked.map(|arg| arg.parse()).collect::<Result<Vec<usize>, _>>()?;
    if widths.is_empty() {
        widths = vec![8, 12];
    }
    let rng = &mut ChaCha20Rng::seed_from_u64(1);
    let (boot, torus) = (Preset::Small.params()?, presets::phases_2m128()?);
    let (params, slots) = (boot.params(), boot.slots());
    let to = SwitchingParams::new(params.rlwe(), params.levels()[0].primes, &torus)?;
    let (ring, there) = (boot.ring(device.clone())?, to.ring(device.clone())?);
    let ev = Evaluator::new(params, &ring)?;
    let spec = SlotsToTfheSpec { log_slots: slots.ilog2(), matrices: 2, range: 2.0 };
    let forth = SlotsToTfhe::new(&ev, &to, &there, spec)?;
    let back = TfheToSlots::new(&torus, Bootstrapper::new(&boot, &ring)?, &ring)?;
    let secret = SecretKey::generate(params.rlwe(), rng);
    let torus_secret = TfheSecretKey::generate(&torus, rng);
    let evaluation = EvaluationKeys::generate(&secret, &ring, forth.requirements(), rng)?;
    let to_tfhe = ToTfheKey::generate(&secret, &torus_secret, &to, &there, rng)?;
    let from_tfhe = FromTfheKey::generate(&torus_secret, &secret, back.params(), &ring, rng)?;
    let bootstrapping = BootstrapKeys::generate(&secret, &boot, &ring, rng)?;
    let boot_key = BootstrapKey::generate(&torus_secret, rng);
    let integers = IntegerEvaluator::new(&device, &boot_key, Carry::Ripple)?;
    println!("{}, N = 2^{}, {slots} slots, {runs} runs", device.name(), boot.ring_spec().log_n());

    let encryptor = SecretEncryptor::new(params, &secret, &ring)?;
    let numbers = [(); 2].map(|()| (0..slots).map(|_| rng.random_range(-0.49..0.49)).collect::<Vec<f64>>());
    let mut encrypt = |values: &[f64]| -> he::Result<Ciphertext<Device>> {
        let plain = ev.encoder().encode_real(values, params.encoding().slots(slots))?;
        encryptor.encrypt(&plain, rng)?.expand()
    };
    let (x, y) = (encrypt(&numbers[0])?, encrypt(&numbers[1])?);
    let least = |what: &str, call: &mut dyn FnMut() -> he::Result<()>| -> he::Result<()> {
        let mut time = Duration::MAX;
        for _ in 0..runs.max(1) {
            let begin = Instant::now();
            call()?;
            device.synchronize()?;
            time = time.min(begin.elapsed());
        }
        println!("{what}: {time:.2?}");
        Ok(())
    };
    least("slots to TFHE", &mut || forth.switch(&x, &evaluation, &to_tfhe).map(drop))?;
    let phases = forth.switch(&x, &evaluation, &to_tfhe)?;
    least("TFHE to slots", &mut || back.switch(&phases, &from_tfhe, &bootstrapping).map(drop))?;
    let decryptor = Decryptor::new(params, &secret, &ring)?;
    for bits in widths {
        let keys = SwitchingKeys {
            evaluation: &evaluation,
            to_tfhe: &to_tfhe,
            from_tfhe: &from_tfhe,
            bootstrapping: &bootstrapping,
        };
        let exact = ExactFunctions::new(&ev, &forth, &integers, &back, keys, bits)?;
        let mut less = None;
        least(&format!("{bits} bits: less and back"), &mut || {
            less = Some(exact.less(&x, &y)?);
            Ok(())
        })?;
        let found = decryptor.decrypt_real(&less.ok_or("no result")?)?;
        let wrong = (0..slots).filter(|&i| {
            let difference = (numbers[0][i] - numbers[1][i]) / exact.unit();
            // Between -1 and 0 the nearest integer decides, and noise near the middle.
            (difference + 0.5).abs() > 0.1 && (found[i] - f64::from(difference < -0.5)).abs() > 0.1
        });
        let wrong = wrong.count();
        assert!(wrong == 0, "{wrong} of {slots} comparisons are wrong");
        least(&format!("{bits} bits: sign and back"), &mut || exact.sign(&x).map(drop))?;
    }
    Ok(())
}
