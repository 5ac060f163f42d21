//! Bootstrapping gives the same words on the device as on the CPU, operation by operation.

use super::devices::{emulated, gpu_or_skip};
use super::program::seed;
use he_core::backend::Cpu;
use he_core::bootstrapping::presets::Preset;
use he_core::bootstrapping::{BootstrapKeys, BootstrapParams, BootstrapSpec, Bootstrapper};
use he_core::ckks::{Decryptor, Evaluator, SecretEncryptor};
use he_core::conformance::Mirror;
use he_core::num_complex::Complex64;
use he_core::rlwe::SecretKey;
use he_cuda::{Arithmetic, Cuda};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

/// A preset's chain at a small degree: keys, matrices and a batch that is refreshed.
fn refresh(cuda: &Cuda, preset: Preset, [log_n, log_slots]: [u32; 2], batch: usize) -> he_core::Result<()> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed());
    let params = BootstrapParams::insecure(BootstrapSpec { log_n, log_slots, ..preset.spec() })?;
    let ring = params.ring(Mirror::new(Cpu::new(), cuda.clone()))?;
    let program = params.params();
    let secret = SecretKey::generate(program.rlwe(), &mut rng);
    let keys = BootstrapKeys::generate(&secret, &params, &ring, &mut rng)?;
    let bootstrapper = Bootstrapper::new(&params, &ring)?;

    let ev = Evaluator::new(program, &ring)?;
    let mut value = || Complex64::new(rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0));
    let vectors: Vec<Vec<Complex64>> =
        (0..batch).map(|_| (0..params.slots()).map(|_| value()).collect()).collect();
    let slices: Vec<&[Complex64]> = vectors.iter().map(Vec::as_slice).collect();
    let to = program.encoding().slots(params.slots()).at_level(program, params.input_level())?;
    let plain = ev.encoder().encode_batch(&slices, to)?;
    let ct = SecretEncryptor::new(program, &secret, &ring)?.encrypt(&plain, &mut rng)?.expand()?;
    let fresh = bootstrapper.refresh(&ct, &keys)?;

    let found = ev.encoder().decode(&Decryptor::new(program, &secret, &ring)?.decrypt(&fresh)?)?;
    for (found, expected) in found.iter().flatten().zip(vectors.iter().flatten()) {
        assert!((found - expected).norm() < 1e-4, "{preset}: {found}, not {expected}");
    }
    Ok(())
}

#[test]
fn emulated_bootstrap() {
    refresh(&emulated(Arithmetic::Float), Preset::Small, [6, 4], 1).unwrap();
}

#[test]
fn emulated_bootstrap_in_integers() {
    refresh(&emulated(Arithmetic::Integer), Preset::Small, [6, 5], 2).unwrap();
}

#[test]
fn device_bootstraps() {
    let Some(cuda) = gpu_or_skip(Arithmetic::Auto) else { return };
    for (preset, log_n, log_slots, batch) in [
        (Preset::Small, 6, 5, 3),
        (Preset::Fast, 11, 10, 1),
        (Preset::Precise, 11, 10, 2),
        (Preset::ExactBound, 11, 6, 1),
        (Preset::Small, 13, 10, 1),
    ] {
        refresh(&cuda, preset, [log_n, log_slots], batch).unwrap();
    }
}
