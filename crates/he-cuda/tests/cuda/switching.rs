//! Slots and coefficients become the same ciphertexts of TFHE on the device as on the CPU, and
//! these the same coefficients.

use super::devices::{emulated, gpu_or_skip};
use super::program::seed;
use he_core::backend::{Cpu, RingOps};
use he_core::bgv::{BgvEvaluator, BgvParams, BgvSecretEncryptor};
use he_core::ckks::{CkksParams, CkksSpec, Evaluator, SecretEncryptor};
use he_core::exact::ExactSpec;
use he_core::num_complex::Complex64;
use he_core::ring::Ring;
use he_core::rlwe::{EvaluationKeys, SecretKey};
use he_core::switching::{
    FromTfhe, FromTfheKey, FromTfheParams, IntegersToTfhe, SlotTransform, SlotsToTfhe, SlotsToTfheSpec,
    SwitchingParams, TfheToIntegers, ToTfheKey,
};
use he_core::tfhe::{LweOps, TfheSecretKey, presets};
use he_cuda::{Arithmetic, Cuda};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

/// The words of the slots of two random vectors, and how far phases are from what they should be.
fn switched<B: RingOps + LweOps>(backend: &B, log_n: u32, seed: u64) -> he_core::Result<(Vec<u64>, f64)> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let params = CkksParams::insecure(CkksSpec::from_bits(log_n, &[50, 40, 40], &[50], 40.0)?)?;
    let tfhe = presets::insecure_small()?;
    let switching = SwitchingParams::insecure(params.rlwe(), params.levels()[0].primes, &tfhe)?;
    let ring = Ring::new(backend.clone(), params.rlwe().ring().clone())?;
    let there = switching.ring(backend.clone())?;
    let (secret, target) =
        (SecretKey::generate(params.rlwe(), &mut rng), TfheSecretKey::generate(&tfhe, &mut rng));
    let key = ToTfheKey::generate(&secret, &target, &switching, &there, &mut rng)?;
    let ev = Evaluator::new(&params, &ring)?;
    let spec = SlotsToTfheSpec { log_slots: 5, matrices: 2, range: 2.0 };
    let switcher = SlotsToTfhe::new(&ev, &switching, &there, spec)?;
    let keys = EvaluationKeys::generate(&secret, &ring, switcher.requirements(), &mut rng)?;
    let values: Vec<f64> = (0..64).map(|_| rng.random_range(-0.9..0.9)).collect();
    let complex: Vec<Complex64> = values.iter().map(|&value| value.into()).collect();
    let vectors: Vec<&[Complex64]> = complex.chunks(32).collect();
    let plain = ev.encoder().encode_batch(&vectors, params.encoding().slots(32))?;
    let x = SecretEncryptor::new(&params, &secret, &ring)?.encrypt(&plain, &mut rng)?.expand()?;
    let samples = switcher.switch(&x, &keys, &key)?;
    let errors = target.phases(&samples)?.iter().zip(&values).fold(0.0f64, |worst, (&phase, &value)| {
        worst.max(((phase as i64) as f64 / 64f64.exp2() - value / 2.0).abs())
    });
    Ok((samples.download()?, errors))
}

/// The words of random ciphertexts of TFHE in one of the ring.
fn packed<B: RingOps + LweOps>(
    backend: &B,
    log_n: u32,
    count: usize,
    seed: u64,
) -> he_core::Result<Vec<u64>> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let params = CkksParams::insecure(CkksSpec::from_bits(log_n, &[50, 40], &[50], 40.0)?)?;
    let tfhe = presets::insecure_small()?;
    let packing = FromTfheParams::new(&tfhe, params.rlwe())?;
    let ring = Ring::new(backend.clone(), params.rlwe().ring().clone())?;
    let (from, to) = (TfheSecretKey::generate(&tfhe, &mut rng), SecretKey::generate(params.rlwe(), &mut rng));
    let key = FromTfheKey::generate(&from, &to, &packing, &ring, &mut rng)?;
    let messages: Vec<u64> = (0..count).map(|_| rng.random()).collect();
    let samples = from.encrypt(backend, &messages, &mut rng)?;
    let [c0, c1] = FromTfhe::new(&packing, &ring)?.pack(&samples, &key)?.parts().map(|c| c.to_words());
    Ok([c0?, c1?].concat())
}

/// The words of coefficients of BGV as ciphertexts of TFHE, and of these in coefficients again.
fn integers<B: RingOps + LweOps>(backend: &B, log_n: u32, seed: u64) -> he_core::Result<Vec<u64>> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let params = BgvParams::insecure(ExactSpec::from_bits(log_n, &[50, 40], &[50], 256)?)?;
    let tfhe = presets::insecure_phases()?;
    let switching = SwitchingParams::insecure(params.rlwe(), 1, &tfhe)?;
    let ring = Ring::new(backend.clone(), params.rlwe().ring().clone())?;
    let there = switching.ring(backend.clone())?;
    let (secret, torus) =
        (SecretKey::generate(params.rlwe(), &mut rng), TfheSecretKey::generate(&tfhe, &mut rng));
    let to_key = ToTfheKey::generate(&secret, &torus, &switching, &there, &mut rng)?;
    let packer = TfheToIntegers::new(&params, &tfhe, &ring)?;
    let from_key = FromTfheKey::generate(&torus, &secret, packer.key_params(), &ring, &mut rng)?;
    let ev = BgvEvaluator::new(&params, &ring)?;
    let values: Vec<i64> = (0..100).map(|_| rng.random_range(-128..128)).collect();
    let plain = ev.encoder().encode_coefficients(&values)?;
    let x = BgvSecretEncryptor::new(&params, &secret, &ring)?.encrypt(&plain, &mut rng)?.expand()?;
    let switcher = IntegersToTfhe::new(&params, &switching, &there, 8)?;
    let samples = switcher.switch(&x, &(0..100).collect::<Vec<_>>(), &to_key)?;
    let packed = packer.pack(&samples, switcher.deviation_log2(&x)?, &from_key)?;
    let [c0, c1] = packed.pair().parts().map(|c| c.to_words());
    Ok([samples.download()?, c0?, c1?].concat())
}

/// The words of slots of BGV in coefficients.
fn transformed<B: RingOps + LweOps>(backend: &B, log_n: u32, seed: u64) -> he_core::Result<Vec<u64>> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let params = BgvParams::insecure(ExactSpec::from_bits(log_n, &[50; 4], &[50, 50], 65537)?)?;
    let ring = Ring::new(backend.clone(), params.rlwe().ring().clone())?;
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let ev = BgvEvaluator::new(&params, &ring)?;
    let transform = SlotTransform::to_coefficients(&ev, 5, 2, params.max_level())?;
    let keys = EvaluationKeys::generate(&secret, &ring, transform.requirements(), &mut rng)?;
    let values: Vec<i64> = (0..32).map(|_| rng.random_range(-128..128)).collect();
    let x = BgvSecretEncryptor::new(&params, &secret, &ring)?.encrypt_slots(&values, &mut rng)?.expand()?;
    let [c0, c1] = transform.apply(&ev, &x, &keys)?.pair().parts().map(|c| c.to_words());
    Ok([c0?, c1?].concat())
}

fn same_words(cuda: &Cuda, log_n: u32) -> he_core::Result<()> {
    let seed = seed();
    let (expected, error) = switched(&Cpu::new(), log_n, seed)?;
    assert!(error < 1e-4, "{error:e}");
    assert!(switched(cuda, log_n, seed)?.0 == expected, "N = 2^{log_n}");
    for count in [1, 100] {
        let expected = packed(&Cpu::new(), log_n, count, seed)?;
        assert!(packed(cuda, log_n, count, seed)? == expected, "{count} in N = 2^{log_n}");
    }
    assert!(integers(cuda, log_n, seed)? == integers(&Cpu::new(), log_n, seed)?, "N = 2^{log_n}");
    assert!(transformed(cuda, log_n, seed)? == transformed(&Cpu::new(), log_n, seed)?, "N = 2^{log_n}");
    Ok(())
}

#[test]
fn emulated_slots_are_switched() {
    same_words(&emulated(Arithmetic::Float), 9).unwrap();
    same_words(&emulated(Arithmetic::Integer), 9).unwrap();
}

#[test]
fn device_slots_are_switched() {
    let Some(cuda) = gpu_or_skip(Arithmetic::Auto) else { return };
    same_words(&cuda, 10).unwrap();
    same_words(&cuda, 14).unwrap();
}
