//! Divisions by one to four primes of every width, whose residues lie where a conversion has the
//! least room: at both ends, and on both sides of half of a prime.

use super::devices::{emulated, emulated_small, gpu_or_skip, sized};
use super::program::seed;
use he_core::arith::ntt_primes_below;
use he_core::backend::{Backend, Cpu, PolyOps};
use he_core::conformance::Mirror;
use he_core::ring::{Ring, RingSpec, Rows, Span};
use he_cuda::{Arithmetic, Cuda};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

/// Targets: a narrow prime, two short ones, a wide one and the widest.
const TARGETS: [u32; 5] = [25, 40, 50, 55, 61];

/// The dropped primes. Primes of 51 and 52 bits are wide, and their residues are exact in float64.
const DROPPED: [&[u32]; 8] =
    [&[61], &[51], &[49], &[60, 40], &[40, 60], &[52, 53], &[61, 20, 50], &[49, 61, 61, 45]];

/// Divides a pair by the primes from `kept` on, on the CPU and on a device. `residues` are those of
/// so many coefficients modulo each prime.
pub(crate) fn divide(
    cuda: &Cuda,
    (log_n, batch): (u32, usize),
    q: &[u64],
    kept: usize,
    mut residues: impl FnMut(u64, usize) -> Vec<u64>,
) -> he_core::Result<()> {
    let backend = Mirror::new(Cpu::new(), cuda.clone());
    let ring = Ring::new(backend.clone(), RingSpec::new(log_n, q.to_vec(), vec![])?)?;
    let rows = Rows::new(Span::chain(q.len()), batch);
    let mut part = || {
        let words: Vec<u64> = q.iter().flat_map(|&q| residues(q, batch << log_n)).collect();
        let mut a = backend.upload(&words)?;
        ring.prepared().ntt(rows, &mut a)?;
        Ok::<_, he_core::Error>(a)
    };
    let [a, b] = [part()?, part()?];
    ring.prepared().mod_down_pair(rows.span, kept, batch, [&a, &b])?;
    Ok(())
}

fn divisions(cuda: &Cuda, log_n: u32, batch: usize, dropped: &[&[u32]]) -> he_core::Result<()> {
    let seed = seed();
    println!("seed {seed}");
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    for &dropped in dropped {
        let mut q: Vec<u64> = Vec::new();
        for &bits in TARGETS.iter().chain(dropped) {
            q.extend(ntt_primes_below(bits, log_n, 1, &q).expect("there are enough primes"));
        }
        divide(cuda, (log_n, batch), &q, TARGETS.len(), |q, count| {
            let extremes = [0, 1, q / 2 - 1, q / 2, q / 2 + 1, q / 2 + 2, q - 2, q - 1];
            (0..count).map(|_| extremes[rng.random_range(0..8)]).collect()
        })?;
    }
    Ok(())
}

#[test]
fn emulated_divisions_by_few_primes() {
    for arithmetic in [Arithmetic::Float, Arithmetic::Integer] {
        for (log_n, batch) in [(9, 2), (12, 1), (13, sized(1, 2) as usize)] {
            divisions(&emulated(arithmetic), log_n, batch, &DROPPED).unwrap();
        }
    }
    // Tiles of 2^12 points.
    let dropped = &DROPPED[sized(6, 0) as usize..];
    divisions(&emulated_small(Arithmetic::Float), 14, 8, dropped).unwrap();
}

#[test]
fn device_divisions_by_few_primes() {
    let Some(cuda) = gpu_or_skip(Arithmetic::Auto) else { return };
    for (log_n, batch) in [(9, 2), (12, 1), (12, 64), (13, 2), (14, 1), (14, 64), (15, 64), (16, 4)] {
        divisions(&cuda, log_n, batch, &DROPPED).unwrap();
    }
}
