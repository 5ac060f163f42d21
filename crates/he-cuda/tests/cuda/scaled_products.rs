//! Scale-invariant products with as many primes as BFV takes, of which both conversions of the
//! second operand are one launch or two, and the tensor product is computed where it is used, or
//! before.

use super::devices::{emulated, gpu_or_skip, sized};
use super::program::seed;
use he_core::arith::ntt_primes_below;
use he_core::backend::{Backend, Cpu, ExactOps, PolyOps, ScaledTensor};
use he_core::conformance::Mirror;
use he_core::ring::{Operand, Ring, RingSpec, Rows, Span};
use he_cuda::{Arithmetic, Cuda};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

/// Primes of the chain and special ones, at the ends of the kernels for up to 4, 10, 13 and 18
/// sources, and in different ones.
const COUNTS: [(usize, usize); 8] = [(1, 2), (3, 4), (4, 5), (9, 10), (10, 11), (12, 13), (13, 14), (16, 18)];

/// Products and squares, on the CPU and on a device.
fn products(
    cuda: &Cuda,
    counts: &[(usize, usize)],
    (log_n, batch, bits): (u32, usize, u32),
) -> he_core::Result<()> {
    let seed = seed();
    println!("seed {seed}");
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    for &(q, p) in counts {
        let primes = ntt_primes_below(bits, log_n, q + p, &[]).expect("there are enough primes");
        let (chain, special) = primes.split_at(q);
        let spec = RingSpec::new(log_n, chain.to_vec(), special.to_vec())?;
        let backend = Mirror::new(Cpu::new(), cuda.clone());
        let ring = Ring::new(backend.clone(), spec.clone())?;
        let rows = Rows::new(Span::chain(q), batch);
        let mut part = || {
            let places = chain.iter().flat_map(|&q| (0..batch << log_n).map(move |k| (k, q)));
            let words: Vec<u64> = places
                .map(|(k, q)| match k {
                    0..16 => q - 1,
                    16..32 => 0,
                    32..48 => [q / 2, q / 2 + 1][k % 2],
                    _ => rng.random_range(0..q),
                })
                .collect();
            let mut a = backend.upload(&words)?;
            ring.prepared().ntt(rows, &mut a)?;
            Ok::<_, he_core::Error>(a)
        };
        let parts = [part()?, part()?, part()?, part()?];
        let [a0, a1, b0, b1] = parts.each_ref().map(|part| Operand::new(part, batch));
        let shape = ScaledTensor::new(&spec, q, p, batch, 65537);
        ring.prepared().scaled_tensor(&shape, [a0, a1], [b0, b1])?;
        ring.prepared().scaled_tensor(&shape, [a0, a1], [a0, a1])?;
    }
    Ok(())
}

#[test]
fn emulated_scaled_products() {
    let float = emulated(Arithmetic::Float);
    let log_n = sized(8, 10);
    for case in [(6, 2, 40), (9, 1, 49), (log_n, 1, 50), (log_n, 2, 60)] {
        products(&float, &COUNTS, case).unwrap();
    }
    products(&float, &COUNTS[2..4], (12, 1, 50)).unwrap();
    products(&float, &COUNTS[4..5], (12, 2, 60)).unwrap();
    products(&emulated(Arithmetic::Integer), &COUNTS, (log_n, 1, 49)).unwrap();
    // Tiles of 2^11 points.
    products(&float, &COUNTS[..1], (16, 1, 49)).unwrap();
    products(&float, &COUNTS[..1], (16, 1, 60)).unwrap();
}

#[test]
fn device_scaled_products() {
    let Some(cuda) = gpu_or_skip(Arithmetic::Auto) else { return };
    let cases = [(6, 2, 40), (9, 1, 49), (12, 1, 49), (12, 32, 49), (13, 1, 60), (13, 64, 49), (14, 1, 50)];
    for case in cases {
        products(&cuda, &COUNTS, case).unwrap();
    }
    for case in [(15, 1, 49), (15, 4, 60), (16, 1, 49)] {
        products(&cuda, &COUNTS[1..], case).unwrap();
    }
}
