//! Bootstrapping of CKKS, of BFV and of BGV gives the same words on the device as on the CPU,
//! operation by operation.

use super::devices::{emulated, gpu_or_skip};
use super::program::seed;
use he_core::aes::{Bulk, BulkCipher, Key, KeySize, Reference};
use he_core::backend::Cpu;
use he_core::bfv::Bfv;
use he_core::bgv::Bgv;
use he_core::bootstrapping::presets::Preset;
use he_core::bootstrapping::{BootstrapKeys, BootstrapParams, BootstrapSpec, Bootstrapper};
use he_core::ckks::{Decryptor, Evaluator, SecretEncryptor};
use he_core::conformance::Mirror;
use he_core::exact::{self, Scheme};
use he_core::num_complex::Complex64;
use he_core::rlwe::{EvaluationKeys, SecretKey};
use he_core::transcipher::packed::{NumberFormat, PackedAesKey, PackedTranscipher};
use he_cuda::{Arithmetic, Cuda};
use rand::{Rng, RngExt, SeedableRng, rngs::ChaCha20Rng};

/// A preset's chain at a small degree: keys, matrices and a batch that is refreshed.
fn refresh(cuda: &Cuda, preset: Preset, [log_n, log_slots]: [u32; 2], batch: usize) -> he_core::Result<()> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed());
    // Parts are joined where they have slots of their own.
    let join = preset.spec().join.filter(|_| log_slots + 2 <= log_n);
    let params = BootstrapParams::insecure(BootstrapSpec { log_n, log_slots, join, ..preset.spec() })?;
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

/// A refresh modulo t, of a batch that a factor and its inverse have taken budget from.
fn refresh_exact<S: Scheme>(cuda: &Cuda, t: u64, log_n: u32, batch: usize) -> he_core::Result<()> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed());
    let spec = exact::bootstrapping::BootstrapSpec::insecure_for_depth::<S>(t, 1, log_n)?;
    let boot = exact::bootstrapping::BootstrapParams::<S>::insecure(spec)?;
    let (params, ring) = (boot.params(), boot.ring(Mirror::new(Cpu::new(), cuda.clone()))?);
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let keys = BootstrapKeys::generate(&secret, boot.circuit(), &ring, &mut rng)?;
    let bootstrapper = exact::bootstrapping::Bootstrapper::new(&boot, &ring)?;
    let ev = exact::Evaluator::<S, _>::new(params, &ring)?;

    let values: Vec<Vec<u64>> =
        (0..batch).map(|_| (0..ring.n()).map(|_| rng.random_range(0..t)).collect()).collect();
    let slices: Vec<&[u64]> = values.iter().map(Vec::as_slice).collect();
    let plain = ev.encoder().encode_coefficients_batch(&slices)?;
    let encryptor = exact::SecretEncryptor::new(params, &secret, &ring)?;
    let mut ct = encryptor.encrypt(&plain, &mut rng)?.expand()?;
    let inverse = params.plain().invert(3).expect("t is not a multiple of three") as i64;
    loop {
        let spent = ev.mul_scalar(&ev.mul_scalar(&ct, 3)?, inverse)?;
        if spent.predicted_budget(params) < boot.needed_budget() {
            break;
        }
        ct = spent;
    }
    // A level below the top as well, where the chain is padded.
    let fresh = bootstrapper.refresh(&ev.mod_switch_to(&ct, params.max_level() - 1)?, &keys)?;
    assert!(fresh.predicted_budget(params) >= boot.refreshed_budget());
    let decryptor = exact::Decryptor::new(params, &secret, &ring)?;
    let found = ev.encoder().decode_coefficients::<u64>(&decryptor.decrypt(&fresh)?)?;
    assert!(found == values, "{} modulo {t}", S::NAME);
    Ok(())
}

/// AES on a vector of blocks, with its refreshes in pairs.
fn transcipher(cuda: &Cuda, log_n: u32) -> he_core::Result<()> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed());
    let spec = BootstrapSpec { log_n, log_slots: log_n - 1, ..Preset::Fast.spec() };
    let boot = BootstrapParams::insecure(spec)?;
    let (params, ring) = (boot.params(), boot.ring(Mirror::new(Cpu::new(), cuda.clone()))?);
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let key = Key::generate(KeySize::Bits128, &mut rng);
    let host = boot.ring(Cpu::new())?;
    let encrypted = PackedAesKey::generate(params, &secret, &host, &key, &mut rng)?;
    let keys = EvaluationKeys::generate(&secret, &ring, PackedAesKey::requirements(), &mut rng)?;
    let boot_keys = BootstrapKeys::generate(&secret, &boot, &ring, &mut rng)?;
    let (ev, bootstrapper) = (Evaluator::new(params, &ring)?, Bootstrapper::new(&boot, &ring)?);
    let refresher = bootstrapper.with_keys(&boot_keys);
    let transcipher = PackedTranscipher::new(&ev, &keys, &refresher, &encrypted)?;

    let mut message = vec![0; 16 * params.slots()];
    rng.fill_bytes(&mut message);
    let mut sent = message.clone();
    Reference::new().hazmat_ctr(&key, &[3; 16], Bulk::in_place(&mut sent)).expect("lengths are the same");
    let stream = transcipher.key_stream(&[3; 16], params.slots())?;
    let x = transcipher.decrypt(&stream, &sent, NumberFormat::unsigned(8)?)?;
    let found = ev.encoder().decode_real(&Decryptor::new(params, &secret, &ring)?.decrypt(&x)?)?;
    for (i, &byte) in message.iter().enumerate() {
        assert!((found[i % 16][i / 16] - f64::from(byte)).abs() < 0.1, "byte {i}");
    }
    Ok(())
}

#[test]
fn device_transciphers() {
    let Some(cuda) = gpu_or_skip(Arithmetic::Auto) else { return };
    transcipher(&cuda, 7).unwrap();
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
fn emulated_exact_refresh() {
    refresh_exact::<Bfv>(&emulated(Arithmetic::Float), 257, 6, 2).unwrap();
}

#[test]
fn emulated_exact_refresh_in_integers() {
    refresh_exact::<Bgv>(&emulated(Arithmetic::Integer), 257, 6, 1).unwrap();
}

#[test]
fn device_refreshes_exactly() {
    let Some(cuda) = gpu_or_skip(Arithmetic::Auto) else { return };
    refresh_exact::<Bfv>(&cuda, 257, 11, 3).unwrap();
    refresh_exact::<Bfv>(&cuda, 65537, 12, 1).unwrap();
    refresh_exact::<Bgv>(&cuda, 65537, 11, 2).unwrap();
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
