//! Weighted sums of rotations of batches with packed keys, two entries of which are computed
//! together.

use super::devices::{emulated, gpu_or_skip};
use super::program::seed;
use he_core::backend::Cpu;
use he_core::circuits::ckks::{BlockTransform, LinearTransform, TensorLayout};
use he_core::ckks::{CkksParams, CkksSpec, Complex64, Evaluator, LevelGroup, SecretEncryptor};
use he_core::conformance::Mirror;
use he_core::ring::Ring;
use he_core::rlwe::{EvaluationKeys, SecretKey};
use he_cuda::{Arithmetic, Cuda};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

/// Products of matrices of several dimensions, which take one to four sums, and batches of even
/// and odd size, on the CPU and on CUDA step by step.
fn products(cuda: &Cuda, log_n: u32, special: &[u32], dnum: usize) -> he_core::Result<()> {
    let seed = seed();
    println!("seed {seed}, {dnum} digits");
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let groups = [LevelGroup { levels: 6, scale_log2: 40.0 }];
    let spec = CkksSpec::from_level_bits(log_n, &[45], &vec![vec![40]; 5], special, &groups)?;
    let params = CkksParams::insecure(spec.with_dnum(dnum))?;
    let ring = Ring::new(Mirror::new(Cpu::new(), cuda.clone()), params.rlwe().ring().clone())?;
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let ev = Evaluator::new(&params, &ring)?;
    let encryptor = SecretEncryptor::new(&params, &secret, &ring)?;
    for dimension in [1, 2, 4, 16] {
        let entries: Vec<f64> = (0..dimension * dimension).map(|_| rng.random_range(-1.0..1.0)).collect();
        let matrix = LinearTransform::from_real(dimension, &entries)?;
        let keys = EvaluationKeys::generate(&secret, &ring, matrix.requirements(), &mut rng)?;
        for batch in 1..=3 {
            let vectors: Vec<Vec<_>> = (0..batch)
                .map(|_| (0..dimension).map(|_| rng.random_range(-1.0..1.0).into()).collect())
                .collect();
            let slices: Vec<_> = vectors.iter().map(Vec::as_slice).collect();
            let to = params.encoding().slots(matrix.input_slots());
            let plaintext = ev.encoder().encode_batch(&slices, to)?;
            let x = encryptor.encrypt(&plaintext, &mut rng)?.expand()?;
            matrix.apply(&ev, &x, &keys)?;
        }
    }
    Ok(())
}

/// A map to nine ciphertexts: more sums than a launch has.
fn many_outputs(cuda: &Cuda, log_n: u32, special: &[u32], dnum: usize) -> he_core::Result<()> {
    const SLOTS: usize = 2;
    const OUTPUTS: usize = 9;
    let seed = seed();
    println!("seed {seed}, {dnum} digits");
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let groups = [LevelGroup { levels: 2, scale_log2: 40.0 }];
    let spec = CkksSpec::from_level_bits(log_n, &[45], &[vec![40]], special, &groups)?;
    let params = CkksParams::insecure(spec.with_dnum(dnum))?;
    let ring = Ring::new(Mirror::new(Cpu::new(), cuda.clone()), params.rlwe().ring().clone())?;
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let ev = Evaluator::new(&params, &ring)?;
    let encryptor = SecretEncryptor::new(&params, &secret, &ring)?;
    let side = |ciphertexts: usize| TensorLayout::vector(ciphertexts * SLOTS, SLOTS);
    let weights: Vec<f64> = (0..OUTPUTS * SLOTS * SLOTS).map(|_| rng.random_range(-1.0..1.0)).collect();
    let entries = weights.iter().enumerate().map(|(at, &weight)| (at / SLOTS, at % SLOTS, weight));
    let map = BlockTransform::new(&side(1)?, &side(OUTPUTS)?, entries)?;
    let keys = EvaluationKeys::generate(&secret, &ring, map.requirements(), &mut rng)?;
    let vector = [Complex64::new(0.5, 0.0), Complex64::new(-0.25, 0.0)];
    let plaintext = ev.encoder().encode_batch(&[&vector, &vector], params.encoding().slots(SLOTS))?;
    let x = encryptor.encrypt(&plaintext, &mut rng)?.expand()?;
    assert_eq!(map.apply(&ev, &[x], &keys)?.len(), OUTPUTS);
    Ok(())
}

#[test]
fn emulated_maps_to_many_outputs() {
    many_outputs(&emulated(Arithmetic::Float), 11, &[45], 2).unwrap();
}

#[test]
fn device_maps_to_many_outputs() {
    let Some(cuda) = gpu_or_skip(Arithmetic::Auto) else { return };
    many_outputs(&cuda, 11, &[48; 2], 1).unwrap();
    many_outputs(&cuda, 14, &[45], 2).unwrap();
}

#[test]
fn emulated_sums_of_batches() {
    products(&emulated(Arithmetic::Float), 11, &[48; 3], 2).unwrap();
    products(&emulated(Arithmetic::Float), 11, &[45], 6).unwrap();
}

#[test]
fn device_sums_of_batches() {
    let Some(cuda) = gpu_or_skip(Arithmetic::Auto) else { return };
    for log_n in [11, 14] {
        products(&cuda, log_n, &[48; 3], 2).unwrap();
        products(&cuda, log_n, &[45], 6).unwrap();
    }
}
