//! Key switches whose digits have many primes, of different numbers in one switch: conversions take
//! other kernels and other shared memory by the longest of them.

use super::devices::{emulated, gpu_or_skip, sized};
use super::program::seed;
use he_core::arith::ntt_primes_below;
use he_core::backend::Cpu;
use he_core::conformance::Mirror;
use he_core::ring::{Poly, Ring, RingSpec, Seed, Span};
use he_core::rlwe::{RlweCiphertext, RlweParams, SecretKey, SwitchKey};
use he_cuda::{Arithmetic, Cuda};
use rand::{SeedableRng, rngs::ChaCha20Rng};

/// Switches ciphertexts over all primes of the digits, and over one less, on the CPU and on CUDA
/// step by step.
fn switches(cuda: &Cuda, log_n: u32, lengths: &[usize], batch: usize) -> he_core::Result<()> {
    let count: usize = lengths.iter().sum();
    let q = ntt_primes_below(40, log_n, count, &[])?;
    let p = ntt_primes_below(48, log_n, lengths.iter().copied().max().unwrap_or(1), &q)?;
    let mut end = 0;
    let digits = lengths.iter().map(|length| {
        end += length;
        end - length..end
    });
    let params = RlweParams::insecure(RingSpec::new(log_n, q, p)?, digits.collect())?;
    let ring = Ring::new(Mirror::new(Cpu::new(), cuda.clone()), params.ring().clone())?;
    let mut rng = ChaCha20Rng::seed_from_u64(seed());
    let [from, to] = [(); 2].map(|()| SecretKey::generate(&params, &mut rng));
    let key = SwitchKey::generate(&from, &to, &params, &ring, &mut rng)?;
    for primes in [count, count - 1] {
        let part = |index| Poly::uniform(&ring, Span::chain(primes), batch, &Seed([7; 32]), index);
        RlweCiphertext::new(part(0)?, part(1)?)?.switch(&key)?;
    }
    Ok(())
}

#[test]
fn emulated_long_digits() {
    for lengths in [[10, sized(4, 9) as usize], [1, 12]] {
        switches(&emulated(Arithmetic::Float), 14, &lengths, 1).unwrap();
    }
}

#[test]
fn device_long_digits() {
    let Some(cuda) = gpu_or_skip(Arithmetic::Auto) else { return };
    for log_n in 14..=16 {
        for longest in 1..=13 {
            for other in [1, 4, 5, 8, 9, longest] {
                switches(&cuda, log_n, &[other.min(longest), longest], 2).unwrap();
            }
        }
    }
}
