//! Negacyclic number-theoretic transform: tables and the scalar transform.
//!
//! With psi the least primitive 2N-th root of unity mod q, the transform of a is
//! `A[i] = sum_k a[k] psi^((2 brv(i) + 1) k)`, brv reversing log2(N) bits. This order is part of
//! the contract of every back end. The forward transform has Cooley-Tukey butterflies, from natural
//! to bit-reversed order, and the inverse Gentleman-Sande butterflies, in the other direction. The
//! twist by psi is merged into the roots (Longa, Naehrig 2016), with lazy ranges as in Harvey 2014.

use crate::arith::{Modulus, ShoupFactor, primitive_root_2n};
use crate::params::ParamsError;

/// Reverses the lowest `bits` bits of `x`.
#[inline(always)]
pub const fn bit_reverse(x: usize, bits: u32) -> usize {
    if bits == 0 { 0 } else { x.reverse_bits() >> (usize::BITS - bits) }
}

/// The roots of one prime, in the order in which the butterflies read them.
#[derive(Debug, Clone)]
pub struct NttTable {
    modulus: Modulus,
    log_n: u32,
    psi: u64,
    /// `psi^brv(i)` at i, with its Shoup quotient beside it.
    roots: Vec<ShoupFactor>,
    /// `psi^-brv(i)` at i.
    inverse_roots: Vec<ShoupFactor>,
    /// N^-1, and N^-1 times the inverse root of the last stage.
    n_inverse: ShoupFactor,
    n_inverse_last: ShoupFactor,
}

impl NttTable {
    /// Computes the roots of `modulus` for degree 2^log_n.
    ///
    /// # Errors
    /// [`ParamsError::NotNttPrime`] if the modulus is not a prime equal to 1 mod 2N.
    pub fn new(modulus: Modulus, log_n: u32) -> Result<Self, ParamsError> {
        let psi = primitive_root_2n(&modulus, log_n)?;
        let n = 1usize << log_n;
        let powers = |root: u64| {
            let factor = modulus.shoup(root);
            let mut table = vec![ShoupFactor { value: 0, quotient: 0 }; n];
            let mut power = 1;
            for k in 0..n {
                table[bit_reverse(k, log_n)] = modulus.shoup(power);
                power = modulus.mul_shoup(power, factor);
            }
            table
        };
        let roots = powers(psi);
        let inverse_roots = powers(modulus.inv(psi));
        let n_inverse = modulus.inv(modulus.reduce(n as u64));
        let n_inverse_last = modulus.mul(n_inverse, inverse_roots[1].value);
        Ok(Self {
            modulus,
            log_n,
            psi,
            roots,
            inverse_roots,
            n_inverse: modulus.shoup(n_inverse),
            n_inverse_last: modulus.shoup(n_inverse_last),
        })
    }

    /// The prime.
    #[inline(always)]
    pub const fn modulus(&self) -> &Modulus {
        &self.modulus
    }

    /// log2 of the degree.
    pub const fn log_n(&self) -> u32 {
        self.log_n
    }

    /// The primitive 2N-th root.
    pub const fn psi(&self) -> u64 {
        self.psi
    }

    /// The powers of psi in bit-reversed order.
    pub fn roots(&self) -> &[ShoupFactor] {
        &self.roots
    }

    /// The powers of psi^-1 in bit-reversed order.
    pub fn inverse_roots(&self) -> &[ShoupFactor] {
        &self.inverse_roots
    }

    /// N^-1 mod q.
    pub const fn n_inverse(&self) -> ShoupFactor {
        self.n_inverse
    }

    /// N^-1 times `inverse_roots()[1]`: the factor of the inverse transform's last butterflies.
    pub const fn n_inverse_last(&self) -> ShoupFactor {
        self.n_inverse_last
    }

    /// Transforms coefficients to values, in place; input and output are canonical; constant time.
    pub fn forward(&self, a: &mut [u64]) {
        debug_assert_eq!(a.len(), 1 << self.log_n);
        let m = &self.modulus;
        let (q, q2) = (m.value(), 2 * m.value());
        // Values stay in [0, 4q).
        let butterfly = |x: &mut u64, y: &mut u64, w: ShoupFactor| {
            let u = reduce_2q(*x, q2);
            let v = m.mul_shoup_lazy(*y, w);
            *x = u + v;
            *y = u + q2 - v;
        };
        let (mut blocks, mut half) = (1usize, a.len() / 2);
        // Two stages at a time, which halves the passes over memory.
        while half >= 2 {
            let quarter = half / 2;
            for (i, block) in a.chunks_exact_mut(2 * half).enumerate() {
                let w = self.roots[blocks + i];
                let (w0, w1) = (self.roots[2 * (blocks + i)], self.roots[2 * (blocks + i) + 1]);
                let (left, right) = block.split_at_mut(half);
                let (a0, a1) = left.split_at_mut(quarter);
                let (a2, a3) = right.split_at_mut(quarter);
                for (((x0, x1), x2), x3) in a0.iter_mut().zip(a1).zip(a2).zip(a3) {
                    butterfly(x0, x2, w);
                    butterfly(x1, x3, w);
                    butterfly(x0, x1, w0);
                    butterfly(x2, x3, w1);
                }
            }
            blocks *= 4;
            half /= 4;
        }
        if half == 1 {
            for (pair, &w) in a.chunks_exact_mut(2).zip(&self.roots[blocks..]) {
                let (x, y) = pair.split_at_mut(1);
                butterfly(&mut x[0], &mut y[0], w);
            }
        }
        for x in a {
            *x = canonical(*x, q, q2);
        }
    }

    /// Transforms values to coefficients, in place, including the factor N^-1; input and output are
    /// canonical; constant time.
    pub fn inverse(&self, a: &mut [u64]) {
        debug_assert_eq!(a.len(), 1 << self.log_n);
        let m = &self.modulus;
        let q2 = 2 * m.value();
        // Values stay in [0, 2q).
        let butterfly = |x: &mut u64, y: &mut u64, w: ShoupFactor| {
            let (u, v) = (*x, *y);
            *x = reduce_2q(u + v, q2);
            *y = m.mul_shoup_lazy(u + q2 - v, w);
        };
        let n = a.len();
        let (mut blocks, mut half) = (n / 2, 1usize);
        if self.log_n.is_multiple_of(2) {
            // An odd number of stages comes before the last one.
            for (pair, &w) in a.chunks_exact_mut(2).zip(&self.inverse_roots[blocks..]) {
                let (x, y) = pair.split_at_mut(1);
                butterfly(&mut x[0], &mut y[0], w);
            }
            blocks /= 2;
            half *= 2;
        }
        while blocks > 1 {
            let next = blocks / 2;
            for (i, block) in a.chunks_exact_mut(4 * half).enumerate() {
                let (w0, w1) = (self.inverse_roots[blocks + 2 * i], self.inverse_roots[blocks + 2 * i + 1]);
                let w = self.inverse_roots[next + i];
                let (left, right) = block.split_at_mut(2 * half);
                let (a0, a1) = left.split_at_mut(half);
                let (a2, a3) = right.split_at_mut(half);
                for (((x0, x1), x2), x3) in a0.iter_mut().zip(a1).zip(a2).zip(a3) {
                    butterfly(x0, x1, w0);
                    butterfly(x2, x3, w1);
                    butterfly(x0, x2, w);
                    butterfly(x1, x3, w);
                }
            }
            blocks /= 4;
            half *= 4;
        }
        let (left, right) = a.split_at_mut(n / 2);
        for (x, y) in left.iter_mut().zip(right) {
            let (u, v) = (*x, *y);
            *x = m.mul_shoup(u + v, self.n_inverse);
            *y = m.mul_shoup(u + q2 - v, self.n_inverse_last);
        }
    }
}

/// Reduces x from [0, 4q) to [0, 2q).
#[inline(always)]
fn reduce_2q(x: u64, q2: u64) -> u64 {
    x.min(x.wrapping_sub(q2))
}

/// Reduces x from [0, 4q) to [0, q).
#[inline(always)]
fn canonical(x: u64, q: u64, q2: u64) -> u64 {
    let x = reduce_2q(x, q2);
    x.min(x.wrapping_sub(q))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arith::ntt_primes_below;
    use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

    /// The definition, O(N^2).
    fn naive(table: &NttTable, a: &[u64]) -> Vec<u64> {
        let m = table.modulus();
        (0..a.len())
            .map(|i| {
                let x = m.pow(table.psi(), 2 * bit_reverse(i, table.log_n()) as u64 + 1);
                a.iter().rev().fold(0, |sum, &c| m.add(m.mul(sum, x), c))
            })
            .collect()
    }

    #[test]
    fn equals_its_definition_and_inverts() {
        let seed = 7;
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        for log_n in 2..=9 {
            for bits in [15, 31, 50, 61] {
                let q = ntt_primes_below(bits, log_n, 1, &[]).unwrap()[0];
                let table = NttTable::new(Modulus::new(q).unwrap(), log_n).unwrap();
                let n = 1 << log_n;
                for input in [
                    (0..n).map(|_| rng.random_range(0..q)).collect::<Vec<_>>(),
                    vec![q - 1; n],
                    vec![0; n],
                    (0..n).map(|k| u64::from(k == n - 1)).collect(),
                ] {
                    let mut a = input.clone();
                    table.forward(&mut a);
                    assert_eq!(a, naive(&table, &input), "seed {seed}, N = 2^{log_n}, q = {q}");
                    table.inverse(&mut a);
                    assert_eq!(a, input, "seed {seed}, N = 2^{log_n}, q = {q}");
                }
            }
        }
    }

    /// Origin: `tests/vectors/ntt.py`, an independent program; a[k] = (k + 1)^20.
    #[test]
    fn known_answers() {
        #[rustfmt::skip]
        let answers = [
            (97, 8, [68, 84, 92, 87, 81, 67, 90, 21]),
            (1125899906842273, 59898041737463, [
                812053275889149, 928165204570176, 812463368133479, 655186603170212,
                601771504160691, 553917235473296, 16667422634484, 123375013337613,
            ]),
            (2305843009213693921, 378544403021442738, [
                1924111086053246488, 515376406005175587, 919648333415895059, 1113264943611281180,
                106795214752601364, 1871845424395419221, 238595983778562905, 227891635628899967,
            ]),
            (113, 35, [3, 13, 16, 0, 71, 8, 11, 112]),
        ];
        for (q, psi, values) in answers {
            let q = Modulus::new(q).unwrap();
            let table = NttTable::new(q, 3).unwrap();
            assert_eq!(table.psi(), psi);
            let mut a = std::array::from_fn(|k| q.pow(k as u64 + 1, 20));
            table.forward(&mut a);
            assert_eq!(a, values);
        }
    }

    #[test]
    fn large_degrees_invert_and_multiply_like_the_ring() {
        let mut rng = ChaCha20Rng::seed_from_u64(11);
        for log_n in 10..=17 {
            for bits in [50, 60] {
                let q = ntt_primes_below(bits, log_n, 1, &[]).unwrap()[0];
                let table = NttTable::new(Modulus::new(q).unwrap(), log_n).unwrap();
                let m = table.modulus();
                let n = 1usize << log_n;
                let input: Vec<u64> = (0..n).map(|_| rng.random_range(0..q)).collect();
                let mut a = input.clone();
                table.forward(&mut a);
                // Times X^(n-1), a negacyclic shift.
                let mut x = vec![0; n];
                x[n - 1] = 1;
                table.forward(&mut x);
                let mut product: Vec<u64> = a.iter().zip(&x).map(|(&a, &x)| m.mul(a, x)).collect();
                table.inverse(&mut product);
                let shifted: Vec<u64> =
                    (0..n).map(|k| if k == n - 1 { input[0] } else { m.neg(input[k + 1]) }).collect();
                assert_eq!(product, shifted, "N = 2^{log_n}, q = {q}");
                table.inverse(&mut a);
                assert_eq!(a, input);
            }
        }
    }
}
