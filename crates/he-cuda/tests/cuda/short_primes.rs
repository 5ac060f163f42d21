//! Primes on both sides of 2^50, up to the last that are computed in float64: the arithmetic there
//! has the least room, and sums of an inverse transform that are larger than elsewhere. Primes on
//! both sides of 2^47, up to where forward transforms are not reduced on their way.

use super::devices::{emulated, gpu_or_skip};
use super::program::seed;
use he_core::arith::nearest_ntt_primes;
use he_core::backend::{Backend, Cpu, PolyOps};
use he_core::ckks::{CkksParams, CkksSpec, Complex64, Encryptor, Evaluator, LevelGroup};
use he_core::conformance::Mirror;
use he_core::ring::{Ring, RingSpec, Rows, Span};
use he_core::rlwe::{EvaluationKeys, KeyRequirements, PublicKey, SecretKey};
use he_cuda::{Arithmetic, Cuda};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

/// The end of the primes that are computed in float64.
const END: f64 = ((1_u64 << 50) + (1 << 44)) as f64;

/// Primes just below and just above 2^47 and 2^50, and around the end.
fn primes(log_n: u32) -> Vec<u64> {
    let nearest =
        |target: f64| nearest_ntt_primes(target, 61, log_n, 4, &[]).expect("there are enough primes");
    [nearest(47_f64.exp2()), nearest(50_f64.exp2()), nearest(END)].concat()
}

/// Transforms of residues near q / 2 of one sign, whose sums grow as far as they can in inverse
/// ones, and of others.
fn transforms(cuda: &Cuda, log_n: u32) -> he_core::Result<()> {
    let seed = seed();
    println!("seed {seed}");
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let spec = RingSpec::new(log_n, primes(log_n), vec![])?;
    let q = spec.q().to_vec();
    let backend = Mirror::new(Cpu::new(), cuda.clone());
    let ring = Ring::new(backend.clone(), spec)?;
    let rows = Rows::new(Span::chain(q.len()), 1);
    for from_half in [true, false] {
        for close in [1 << 10, 1 << 30, 1 << 49] {
            let words: Vec<u64> = q
                .iter()
                .flat_map(|&q| std::iter::repeat_n(q, 1 << log_n))
                .map(|q| if from_half { q / 2 } else { q - 1 })
                .map(|most| most - rng.random_range(0..close.min(most)))
                .collect();
            let mut a = backend.upload(&words)?;
            ring.prepared().intt(rows, &mut a)?;
            ring.prepared().ntt(rows, &mut a)?;
            assert_eq!(backend.download(&a, 0..words.len())?, words, "N = 2^{log_n}, {close}");
            ring.prepared().ntt(rows, &mut a)?;
            ring.prepared().intt(rows, &mut a)?;
            assert_eq!(backend.download(&a, 0..words.len())?, words, "N = 2^{log_n}, {close}");
        }
    }
    Ok(())
}

/// Products, rotations and divisions with levels of 50 bits.
fn operations(cuda: &Cuda, log_n: u32, digits: usize) -> he_core::Result<()> {
    let groups = [LevelGroup { levels: 8, scale_log2: 50.0 }];
    let levels = vec![vec![50]; 7];
    let special = vec![50; 9_usize.div_ceil(digits)];
    let spec = CkksSpec::from_level_bits(log_n, &[30, 30], &levels, &special, &groups)?;
    assert!(spec.q.iter().any(|&q| q > 1 << 50));
    let params = CkksParams::insecure(spec.with_dnum(digits))?;
    let ring = Ring::new(Mirror::new(Cpu::new(), cuda.clone()), params.rlwe().ring().clone())?;
    let mut rng = ChaCha20Rng::seed_from_u64(seed());
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let public = PublicKey::generate(&secret, &ring, &mut rng)?;
    let needs = KeyRequirements::new().relinearisation().rotations([1]);
    let keys = EvaluationKeys::generate(&secret, &ring, needs, &mut rng)?;
    let ev = Evaluator::new(&params, &ring)?;
    let plaintext = ev.encoder().encode(&[Complex64::new(0.5, -1.0)], params.encoding())?;
    let encryptor = Encryptor::new(&params, &public)?;
    let [a, b] = [encryptor.encrypt(&plaintext, &mut rng)?, encryptor.encrypt(&plaintext, &mut rng)?];
    let product = ev.mul(&a, &b, &keys)?;
    ev.rotate(&product, 1, &keys)?;
    ev.mul_plain(&product, &plaintext)?;
    Ok(())
}

#[test]
fn emulated_primes_at_the_end_of_float64() {
    for log_n in [10, 12, 13, 14] {
        transforms(&emulated(Arithmetic::Float), log_n).unwrap();
    }
    for digits in [9, 3, 1] {
        operations(&emulated(Arithmetic::Float), 12, digits).unwrap();
    }
}

#[test]
fn device_primes_at_the_end_of_float64() {
    let Some(cuda) = gpu_or_skip(Arithmetic::Auto) else { return };
    for log_n in 10..=17 {
        transforms(&cuda, log_n).unwrap();
    }
    for log_n in 12..=16 {
        for digits in [9, 5, 3, 2, 1] {
            operations(&cuda, log_n, digits).unwrap();
        }
    }
}
