//! Every instruction set leaves the words of the portable code, in all orders of blocks.

use crate::arith::ntt_primes_below;
use crate::backend::{Backend, Cpu, MatrixNumbers, MatrixOps, MatrixProduct};
use crate::ring::{RingSpec, Span};

/// A word that looks random.
fn word(i: u64) -> u64 {
    let x = i.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x1234_5678_9abc_def1);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ (x >> 27)
}

#[test]
fn instruction_sets_agree() {
    let primes: Vec<u64> = [61, 52, 50, 31, 26]
        .into_iter()
        .flat_map(|bits| ntt_primes_below(bits, 2, 1, &[]).unwrap())
        .collect();
    let (spec, span) = (RingSpec::new(2, primes.clone(), vec![]).unwrap(), Span::chain(5));
    // Several blocks of rows, tiles, and blocks of the inner size; few columns, with rows that end
    // within a word and a line, and with several strips of them.
    let shapes = [(401, 40, 35), (14, 4100, 34), (9, 77, 1), (6, 33_000, 3), (5, 64, 16), (3, 8, 17)];
    for (rows, inner, columns) in shapes {
        for numbers in [MatrixNumbers::Residues(span), MatrixNumbers::SignedBytes(span), MatrixNumbers::Bytes]
        {
            let product = MatrixProduct::new(numbers, rows, inner, columns).unwrap();
            let residues = |count: usize, seed: u64| -> Vec<u64> {
                let limb = count / product.limbs();
                (0..count)
                    .map(|i| word(seed + i as u64) % product.span().map_or(1 << 32, |_| primes[i / limb]))
                    .collect()
            };
            let a = match numbers {
                MatrixNumbers::Residues(_) => residues(product.left_words(), 1 << 32),
                _ => (0..product.left_words() as u64).map(word).collect(),
            };
            let (b, c) =
                (residues(product.right_words(), 1 << 33), residues(product.result_words(), 1 << 34));
            let computed = Cpu::all().map(|cpu| {
                let ring = cpu.prepare(&spec).unwrap();
                let left = ring.pack_left(&product, &cpu.upload(&a).unwrap(), 0).unwrap();
                let right = ring.pack_right(&product, &cpu.upload(&b).unwrap(), 0).unwrap();
                let mut c = cpu.upload(&c).unwrap();
                ring.multiply_matrices(left.as_ref(), right.as_ref(), true, 0, &mut c).unwrap();
                (cpu.name(), c)
            });
            let all: Vec<_> = computed.collect();
            for (name, words) in &all[1..] {
                assert!(words[..] == all[0].1[..], "{product}: {name} differs from {}", all[0].0);
            }
        }
    }
}
