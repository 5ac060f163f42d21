//! Divisions by eleven to nineteen short primes, whose residues are those for which the sums of a
//! conversion are greatest and least, and some between.

use super::devices::{emulated, gpu_or_skip};
use super::few_sources::divide;
use super::program::seed;
use he_core::arith::{Modulus, nearest_ntt_primes, ntt_primes_below};
use he_cuda::{Arithmetic, Cuda};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

/// Targets: on both sides of 2^36 and 2^47, where quotients and reductions change, and wide ones.
const TARGETS: [u32; 7] = [25, 35, 37, 46, 48, 50, 50];

/// Sources at the ends of the kernels for up to ten, 13 and 18, and one that is too many.
const DROPPED: [usize; 6] = [11, 12, 13, 14, 18, 19];

/// log2 of primes whose residues have the greatest bytes, and of some above 2^50 that are still
/// short.
const GREATEST: f64 = 49.999_99;
const WIDEST: f64 = 50.005;

fn divisions(cuda: &Cuda, log_n: u32, batch: usize, bits: f64) -> he_core::Result<()> {
    let seed = seed();
    println!("seed {seed}");
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    for count in DROPPED {
        let mut q: Vec<u64> = Vec::new();
        for target in TARGETS {
            q.extend(ntt_primes_below(target, log_n, 1, &q).expect("there are enough primes"));
        }
        let dropped = nearest_ntt_primes(bits.exp2(), 61, log_n, count, &q).expect("there are enough primes");
        q.extend(&dropped);
        divide(cuda, (log_n, batch), &q, TARGETS.len(), |q, coefficients| {
            let modulus = Modulus::new(q).expect("a prime");
            // The conversion divides by the product of the other dropped primes.
            let others = dropped.iter().filter(|&&d| d != q);
            let hat = others.fold(1, |hat, &d| modulus.mul(hat, modulus.reduce(d)));
            let extremes = [0, 1, q / 2, q / 2 + 1, q - 1];
            let mut y = |k| match k {
                // The sum is greatest, then least.
                0..16 => q - 1,
                16..32 => 0,
                _ if rng.random() => rng.random_range(0..q),
                _ => extremes[rng.random_range(0..extremes.len())],
            };
            (0..coefficients).map(|k| modulus.mul(y(k), hat)).collect()
        })?;
    }
    Ok(())
}

#[test]
fn emulated_divisions_by_many_primes() {
    for (log_n, batch, bits) in [(7, 1, WIDEST), (9, 3, GREATEST), (9, 1, 40.0), (12, 1, WIDEST)] {
        divisions(&emulated(Arithmetic::Float), log_n, batch, bits).unwrap();
    }
}

#[test]
fn device_divisions_by_many_primes() {
    let Some(cuda) = gpu_or_skip(Arithmetic::Auto) else { return };
    let cases =
        [(7, 1, WIDEST), (9, 3, GREATEST), (9, 1, 40.0), (12, 2, WIDEST), (15, 1, WIDEST), (17, 1, GREATEST)];
    for (log_n, batch, bits) in cases {
        divisions(&cuda, log_n, batch, bits).unwrap();
    }
}
