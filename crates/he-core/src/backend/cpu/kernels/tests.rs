//! Compares every loop with the portable one, bit for bit.

use super::{DigitRows, Kernels, KeyRow, NttRoots, Permutation};
use crate::arith::{Modulus, ShoupFactor, ntt_primes_below};
use crate::ring::{Automorphism, BaseConversion, NttTable};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

const BITS: [u32; 11] = [20, 30, 40, 46, 47, 48, 49, 50, 51, 60, 61];
const SEED: u64 = 17;

/// All vector kernels, or a message that there is nothing to test.
fn vector() -> Vec<Kernels> {
    let kernels: Vec<_> = Kernels::all().filter(|kernels| *kernels != Kernels::Portable).collect();
    if kernels.is_empty() {
        eprintln!("SKIPPED: this processor has none of the vector instructions");
    }
    kernels
}

fn prime(bits: u32, log_n: u32) -> Option<Modulus> {
    let q = ntt_primes_below(bits, log_n, 1, &[]).ok()?[0];
    Some(Modulus::new(q).unwrap())
}

/// Rows of n residues: random, extreme, and mixtures of extreme words.
fn rows(rng: &mut ChaCha20Rng, q: &Modulus, n: usize) -> Vec<Vec<u64>> {
    let top = q.value() - 1;
    vec![
        (0..n).map(|_| rng.random_range(0..=top)).collect(),
        vec![top; n],
        vec![0; n],
        (0..n).map(|_| [0, 1, top / 2, top - 1, top][rng.random_range(0..5)]).collect(),
        (0..n).map(|i| if i == n - 1 { top } else { 0 }).collect(),
    ]
}

#[test]
fn transforms() {
    for kernels in vector() {
        let mut rng = ChaCha20Rng::seed_from_u64(SEED);
        for log_n in 2..=17 {
            for bits in BITS {
                let Some(q) = prime(bits, log_n) else { continue };
                let table = NttRoots::new(NttTable::new(q, log_n).unwrap());
                for (i, row) in rows(&mut rng, &q, 1 << log_n).into_iter().enumerate() {
                    let (mut a, mut b) = (row.clone(), row.clone());
                    kernels.ntt(&table, &mut a);
                    Kernels::Portable.ntt(&table, &mut b);
                    assert!(a == b, "forward, N = 2^{log_n}, {bits} bits, row {i}");
                    // At large degrees, where transforms take most of the time, one for each row.
                    let mosts = [1, 20, 49, 50, 51, 52, 59, 60].map(|bits| 1 << bits);
                    let some = if log_n <= 11 { &mosts[..] } else { &mosts[(i + log_n as usize) % 8..][..1] };
                    for &most in some {
                        let signed: Vec<u64> = row
                            .iter()
                            .map(|_| match rng.random_range(0..4) {
                                0 => most,
                                1 => 0u64.wrapping_sub(most),
                                _ => rng.random_range(0..=2 * most).wrapping_sub(most),
                            })
                            .collect();
                        same(kernels, "ntt_signed", &q, [&row], |k, [out]| {
                            k.ntt_signed(&table, &signed, most, out);
                        });
                    }
                    let (mut a, mut b) = (row.clone(), row);
                    kernels.intt(&table, &mut a);
                    Kernels::Portable.intt(&table, &mut b);
                    assert!(a == b, "inverse, N = 2^{log_n}, {bits} bits, row {i}");
                }
            }
        }
    }
}

/// Runs one loop on a copy of the outputs with both kernels.
fn same<const OUT: usize>(
    kernels: Kernels,
    what: &str,
    q: &Modulus,
    out: [&[u64]; OUT],
    f: impl Fn(Kernels, [&mut [u64]; OUT]),
) {
    let [mut a, mut b] = [(); 2].map(|()| out.map(<[u64]>::to_vec));
    f(kernels, a.each_mut().map(Vec::as_mut_slice));
    f(Kernels::Portable, b.each_mut().map(Vec::as_mut_slice));
    assert!(a == b, "{what}, q = {}, {} words", q.value(), out[0].len());
}

#[test]
fn word_by_word_loops() {
    for kernels in vector() {
        let mut rng = ChaCha20Rng::seed_from_u64(SEED);
        let primes = BITS
            .iter()
            .filter_map(|&bits| prime(bits, 2))
            .chain([17, 97, 257].map(|q| Modulus::new(q).unwrap()));
        for q in primes {
            for n in [1, 4, 7, 8, 9, 16, 29, 64, 100, 1 << 10] {
                let top = q.value() - 1;
                let all = rows(&mut rng, &q, n);
                let mut signed: Vec<u64> = (0..n).map(|_| rng.random()).collect();
                same(kernels, "reduce_signed", &q, [&signed], |k, [a]| k.reduce_signed(&q, a));
                let edges = [
                    0,
                    1,
                    -1,
                    21,
                    -21,
                    i64::MAX,
                    i64::MIN,
                    i64::MIN + 1,
                    q.value() as i64,
                    -(q.value() as i64),
                ];
                signed.iter_mut().zip(edges.iter().cycle()).for_each(|(word, &edge)| *word = edge as u64);
                same(kernels, "reduce_signed", &q, [&signed], |k, [a]| k.reduce_signed(&q, a));
                for x in &all {
                    for c in [0, 1, top / 2, top, rng.random_range(0..=top)] {
                        let w: ShoupFactor = q.shoup(c);
                        same(kernels, "scale", &q, [x], |k, [a]| k.scale(&q, a, w));
                        same(kernels, "add_scalar", &q, [x], |k, [a]| k.add_scalar(&q, a, c));
                        for y in &all {
                            same(kernels, "scale_add", &q, [x], |k, [a]| k.scale_add(&q, a, y, w));
                            same(kernels, "sub_scale", &q, [x], |k, [a]| k.sub_scale(&q, a, y, w));
                        }
                    }
                    same(kernels, "neg", &q, [x], |k, [a]| k.neg(&q, a));
                    for y in &all {
                        same(kernels, "add", &q, [x], |k, [a]| k.add(&q, a, y));
                        same(kernels, "sub", &q, [x], |k, [a]| k.sub(&q, a, y));
                        same(kernels, "mul", &q, [x], |k, [a]| k.mul(&q, a, y));
                        for z in &all {
                            same(kernels, "mul_add", &q, [x], |k, [a]| k.mul_add(&q, a, y, z));
                            same(kernels, "tensor", &q, [x, x, x], |k, d| k.tensor(&q, [x, y], [z, x], d));
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn key_products() {
    for kernels in vector() {
        let mut rng = ChaCha20Rng::seed_from_u64(SEED);
        for q in BITS.iter().filter_map(|&bits| prime(bits, 2)) {
            for n in [4, 8, 16, 24, 40, 64, 100, 256] {
                for count in [1, 2, 3, 7, 64] {
                    let random: Vec<_> =
                        (0..3 * count).map(|_| rows(&mut rng, &q, n).swap_remove(0)).collect();
                    let top = vec![vec![q.value() - 1; n]; 3 * count];
                    for words in [random, top] {
                        let digits: Vec<_> = words
                            .chunks_exact(3)
                            .map(|rows| DigitRows {
                                digit: &rows[0],
                                key: [&rows[1], &rows[2]].map(|row| KeyRow::flat(row)),
                            })
                            .collect();
                        same(kernels, "key_product", &q, [&words[0], &words[1]], |k, out| {
                            k.key_product(&q, &digits, out);
                        });
                        // Keys in blocks that are apart, and the same product.
                        let spread = |row: &Vec<u64>| -> Vec<u64> {
                            row.chunks(KeyRow::BLOCK).flat_map(|block| [block, &[7; 5]].concat()).collect()
                        };
                        let keys: Vec<_> =
                            words.chunks_exact(3).map(|rows| [1, 2].map(|i| spread(&rows[i]))).collect();
                        let product = |digits: &[DigitRows<'_>]| {
                            let mut out = [vec![0; n], vec![0; n]];
                            kernels.key_product(&q, digits, out.each_mut().map(Vec::as_mut_slice));
                            out
                        };
                        let apart: Vec<_> = digits
                            .iter()
                            .zip(&keys)
                            .map(|(rows, key)| DigitRows {
                                digit: rows.digit,
                                key: key.each_ref().map(|words| KeyRow::new(words, KeyRow::BLOCK + 5)),
                            })
                            .collect();
                        assert!(product(&apart) == product(&digits), "q = {}, {n} words", q.value());
                    }
                }
            }
        }
    }
}

#[test]
fn base_conversions() {
    for kernels in vector() {
        let mut rng = ChaCha20Rng::seed_from_u64(SEED);
        let primes = |bits: u32, count: usize| -> Vec<Modulus> {
            let primes = ntt_primes_below(bits, 2, count, &[]).unwrap();
            primes.into_iter().map(|q| Modulus::new(q).unwrap()).collect()
        };
        let mut bases: Vec<Vec<Modulus>> =
            [(1, 61), (1, 20), (1, 50), (2, 50), (3, 40), (7, 61), (18, 50), (64, 61), (64, 50)]
                .map(|(count, bits)| primes(bits, count))
                .into();
        bases.push([primes(60, 2), primes(50, 3), primes(30, 2)].concat());
        for from in bases {
            let mut to: Vec<_> = BITS.iter().filter_map(|&bits| prime(bits, 5)).collect();
            to.extend([17, 97].map(|q| Modulus::new(q).unwrap()));
            to.push(from[0]);
            let conversion = BaseConversion::new(&from, &to);
            for n in [4, 8, 16, 24, 60, 64, 128, 512, 1 << 11] {
                let choices: Vec<Vec<Vec<u64>>> = from.iter().map(|d| rows(&mut rng, d, n)).collect();
                for row in 0..choices[0].len() {
                    let input: Vec<&[u64]> = choices.iter().map(|rows| rows[row].as_slice()).collect();
                    let lifted = [kernels, Kernels::Portable].map(|kernels| {
                        let (mut y, mut v) = (vec![0; n * from.len()], vec![0; n]);
                        kernels.lift(&conversion, &input, &mut y, &mut v);
                        (y, v)
                    });
                    assert!(
                        lifted[0] == lifted[1],
                        "lift {} primes from {}, row {row}",
                        from.len(),
                        from[0].value()
                    );
                    if let [x] = input[..] {
                        same(kernels, "center", &from[0], [x], |k, [out]| k.center(&conversion, x, out));
                    }
                    let (y, v) = &lifted[1];
                    for (j, t) in to.iter().enumerate() {
                        same(kernels, "recompose", t, [v], |k, [out]| {
                            k.recompose(&conversion, y, v, &mut [(j, out)]);
                        });
                    }
                    let together = |kernels: Kernels| {
                        let mut rows = vec![vec![0; n]; to.len()];
                        let mut targets: Vec<_> =
                            rows.iter_mut().map(Vec::as_mut_slice).enumerate().rev().collect();
                        kernels.recompose(&conversion, y, v, &mut targets);
                        rows
                    };
                    assert!(together(kernels) == together(Kernels::Portable), "row {row}");
                }
            }
        }
    }
}

#[test]
fn permutations() {
    let vector = vector();
    // Under Miri each step takes a thousand times as long.
    for log_n in 2..=if cfg!(miri) { 3 } else { 10 } {
        let (n, q) = (1 << log_n, prime(30, log_n).unwrap());
        let src = rows(&mut ChaCha20Rng::seed_from_u64(SEED), &q, n).swap_remove(0);
        for g in (1..2 * n as u64).step_by(2) {
            let (permutation, words) =
                (Permutation::new(g, log_n), Automorphism::new(g, log_n).permutation());
            let mut image = vec![0; n];
            Kernels::Portable.permute(&permutation, 0, &src, &mut image);
            assert_eq!(image, words.iter().map(|&i| src[i as usize]).collect::<Vec<_>>(), "g = {g}, N = {n}");
            // Block by block, each from the block that it comes from.
            for len in [8, 16, 64].into_iter().filter(|&len| len < n) {
                for kernels in vector.iter().copied().chain([Kernels::Portable]) {
                    let mut blocks = vec![0; n];
                    for (i, out) in blocks.chunks_exact_mut(len).enumerate() {
                        let from = permutation.source(i * len, len);
                        kernels.permute(&permutation, i * len, &src[from..from + len], out);
                    }
                    assert!(blocks == image, "blocks of {len}, g = {g}, N = {n}");
                }
            }
            for &kernels in &vector {
                same(kernels, "permute", &q, [&src], |k, [out]| k.permute(&permutation, 0, &src, out));
            }
        }
    }
}

/// Calls of one loop on rows of 2^13 words, whose instructions `tests/aarch64.sh count` counts:
/// `HE_COUNTED` has the kernels, the loop, the bits of the prime and the number of calls.
#[test]
#[ignore = "counted from outside"]
fn counted() {
    let what = std::env::var("HE_COUNTED").unwrap();
    let [name, what, bits, calls] = what.split(' ').collect::<Vec<_>>()[..] else { panic!("{what}") };
    let kernels = Kernels::all().find(|kernels| kernels.name() == name).unwrap();
    let (q, mut rng) = (prime(bits.parse().unwrap(), 13).unwrap(), ChaCha20Rng::seed_from_u64(SEED));
    let table = NttRoots::new(NttTable::new(q, 13).unwrap());
    let [mut a, b, c] = std::array::from_fn(|_| rows(&mut rng, &q, 1 << 13).swap_remove(0));
    let key = [&b, &c].map(|row| KeyRow::flat(row));
    let digits: Vec<_> = (0..8).map(|i| DigitRows { digit: if i % 2 == 0 { &b } else { &c }, key }).collect();
    let mut sums = [a.clone(), a.clone()];
    // The layouts of the roots are made once.
    kernels.ntt(&table, &mut a);
    kernels.intt(&table, &mut a);
    for _ in 0..calls.parse().unwrap() {
        match what {
            "ntt" => kernels.ntt(&table, &mut a),
            "intt" => kernels.intt(&table, &mut a),
            "mul" => kernels.mul(&q, &mut a, &b),
            "key_product" => kernels.key_product(&q, &digits, sums.each_mut().map(Vec::as_mut_slice)),
            _ => panic!("no loop is called {what}"),
        }
    }
}
