//! Blind rotations by a multi-bit key, written again from the contract of [`LweOps`], in the
//! simplest way.

#![expect(clippy::disallowed_methods, reason = "nothing is secret")]

use super::{BootstrapKey, LweOps, TfheParams, TfheSecretKey, TfheSpec, presets};
use crate::backend::{Backend, Cpu};
use rand::{Rng, SeedableRng, rngs::ChaCha20Rng};

type Complex = (f64, f64);

/// sum + a b.
fn mul_add(a: Complex, b: Complex, sum: Complex) -> Complex {
    let re = (-a.1).mul_add(b.1, a.0.mul_add(b.0, sum.0));
    (re, a.1.mul_add(b.0, a.0.mul_add(b.1, sum.1)))
}

fn forward(x: &mut [Complex], roots: &[Complex]) {
    for d in 0..x.len().ilog2() {
        let block = x.len() >> d;
        for (c, x) in x.chunks_exact_mut(block).enumerate() {
            let (w, (first, second)) = (roots[(1 << d) + c], x.split_at_mut(block / 2));
            for (u, v) in first.iter_mut().zip(second) {
                let re = (-v.1).mul_add(w.1, v.0.mul_add(w.0, u.0));
                let im = v.1.mul_add(w.0, v.0.mul_add(w.1, u.1));
                (*u, *v) = ((re, im), (2f64.mul_add(u.0, -re), 2f64.mul_add(u.1, -im)));
            }
        }
    }
}

fn inverse(x: &mut [Complex], roots: &[Complex]) {
    for d in (0..x.len().ilog2()).rev() {
        let block = x.len() >> d;
        for (c, x) in x.chunks_exact_mut(block).enumerate() {
            let (w, (first, second)) = (roots[(1 << d) + c], x.split_at_mut(block / 2));
            for (s, d) in first.iter_mut().zip(second) {
                let (re, im) = (s.0 - d.0, s.1 - d.1);
                *s = (s.0 + d.0, s.1 + d.1);
                *d = (im.mul_add(w.1, re * w.0), (-re).mul_add(w.1, im * w.0));
            }
        }
    }
}

/// The values of a polynomial of reals.
fn values(p: &[f64], roots: &[Complex]) -> Vec<Complex> {
    let m = p.len() / 2;
    let mut x: Vec<Complex> = (0..m).map(|j| (p[j], p[j + m])).collect();
    forward(&mut x, roots);
    x
}

/// Fraction of a coefficient, to 52 bits, in units of 2^-64.
fn word(p: f64) -> u64 {
    let round = 3.0 * 51f64.exp2();
    let fraction = p - ((p + round) - round);
    (fraction.mul_add(52f64.exp2(), round).to_bits().wrapping_sub(round.to_bits())) << 12
}

/// The accumulator behind all groups.
fn rotated(params: &TfheParams, key: &BootstrapKey, small: &[u64], table: &[u64]) -> Vec<u64> {
    let (n, m, spec, g) = (params.degree(), params.degree() / 2, params.spec(), key.group());
    let (roots, units, components) = (params.roots(), params.units(), spec.glwe_dimension + 1);
    let (rows, gadget) = (params.rows(), spec.bootstrap);
    let power = |word: u64| -> (usize, i64) {
        let shift = 31 - spec.log_degree;
        let rounded = (word + (1 << (shift - 1))) >> shift;
        (rounded as usize % (2 * n), word as i64 - (rounded << shift) as i64)
    };
    let (mask, body) = small.split_at(spec.lwe_dimension);
    let errors: i64 = mask.iter().map(|&word| power(word).1).sum();
    let centred = body[0].wrapping_sub((errors >> 1) as u64) as u32;
    let b = power(centred.into()).0;
    let mut acc = vec![0u64; components * n];
    for (j, &entry) in table.iter().enumerate() {
        let place = (j + 2 * n - b) % (2 * n);
        let entry = if place < n { entry } else { entry.wrapping_neg() };
        acc[(components - 1) * n + place % n] = entry;
    }

    let scale = (-64f64).exp2() / m as f64;
    for (i, mask) in mask.chunks(g).enumerate() {
        // [pattern][row][component].
        let mut bundle: Vec<Vec<Vec<Complex>>> = (0..1 << g)
            .map(|pattern| {
                let row = |row: usize| {
                    let mut words = vec![0; components * n];
                    key.bootstrap_row(((i << g) + pattern) * rows + row, &mut words);
                    let scaled: Vec<f64> = words.iter().map(|&word| word as i64 as f64 * scale).collect();
                    scaled.chunks(n).map(|p| values(p, &roots)).collect::<Vec<_>>().concat()
                };
                (0..rows).map(row).collect()
            })
            .collect();
        for &a in mask {
            bundle = bundle
                .chunks(2)
                .map(|pair| {
                    let add = |(row, other): (&Vec<Complex>, &Vec<Complex>)| {
                        let each = row.iter().zip(other).enumerate();
                        let value = |(at, (&v, &w)): (usize, (&Complex, &Complex))| {
                            let r = (at % m).reverse_bits() >> (usize::BITS - m.ilog2());
                            mul_add(units[(1 + 4 * r) * power(a).0 % (2 * n)], w, v)
                        };
                        each.map(value).collect()
                    };
                    pair[0].iter().zip(&pair[1]).map(add).collect()
                })
                .collect();
        }
        let mut sums = vec![(0.0, 0.0); components * m];
        for (row, key) in bundle[0].iter().enumerate() {
            let (part, j) = (row / gadget.levels as usize, row as u32 % gadget.levels + 1);
            // Ties are rounded up at even places, down at odd ones.
            let digit = |(place, &a): (usize, &u64)| {
                let digit = a.wrapping_add(gadget.offset() - (place as u64 & 1)) >> gadget.shift(j);
                (digit & ((1 << gadget.base_log) - 1)) as f64 - f64::from(gadget.base_log - 1).exp2()
            };
            let digits: Vec<f64> = acc[part * n..][..n].iter().enumerate().map(digit).collect();
            let digits = values(&digits, &roots);
            for (at, (sum, &key)) in sums.iter_mut().zip(key).enumerate() {
                *sum = mul_add(digits[at % m], key, *sum);
            }
        }
        for (sum, acc) in sums.chunks_mut(m).zip(acc.chunks_mut(n)) {
            inverse(sum, &roots);
            for (j, sum) in sum.iter().enumerate() {
                (acc[j], acc[j + m]) = (word(sum.0), word(sum.1));
            }
        }
    }
    acc
}

#[test]
fn the_cpu_follows_the_definition_word_for_word() {
    let small = *presets::insecure_small().unwrap().spec();
    for (seed, (log_degree, glwe_dimension, levels, group)) in
        [(5, 1, 1, 4), (6, 2, 2, 3), (7, 1, 3, 2)].into_iter().enumerate()
    {
        let bootstrap = super::Gadget { base_log: 20 / levels, levels };
        let spec = TfheSpec { log_degree, glwe_dimension, bootstrap, lwe_dimension: 12, ..small };
        let params = TfheParams::insecure(spec).unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(seed as u64);
        let secret = TfheSecretKey::generate(&params, &mut rng);
        let key = BootstrapKey::generate_multi_bit(&secret, group, &mut rng).unwrap();
        let words: Vec<u64> = (0..13).map(|_| rng.next_u32().into()).collect();
        // Half of them are ties between digits.
        let half = 63 - bootstrap.bits();
        let table: Vec<u64> = (0..params.degree()).map(|_| rng.next_u64() >> half << half).collect();
        let cpu = Cpu::new();
        let (lwe, tables) = (cpu.lwe_key(&key).unwrap(), cpu.upload(&table).unwrap());
        let found = cpu.blind_rotate(&lwe, &cpu.upload(&words).unwrap(), 1, &tables, &[0], 1).unwrap();
        let acc = rotated(&params, &key, &words, &table);
        let mut expected = vec![0; params.words()];
        super::external::extract(&acc, 0, params.degree(), &mut expected);
        assert!(found[..] == expected[..], "N = 2^{log_degree}, k = {glwe_dimension}, g = {group}");
    }
}
