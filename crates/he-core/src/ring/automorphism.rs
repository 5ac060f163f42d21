//! The automorphisms X -> X^g, g odd, in both domains.

use super::ntt::bit_reverse;
use crate::arith::Modulus;
use crate::error::{Error, Result};

/// The Galois element that rotates slots left by `step` (right if negative): 5^step mod 2N.
pub fn galois_rotation(step: i64, log_n: u32) -> u64 {
    let mask = (2u64 << log_n) - 1;
    let order = 1i64 << (log_n - 1);
    let mut exponent = step.rem_euclid(order) as u64;
    let (mut g, mut power) = (1u64, 5u64);
    while exponent != 0 {
        if exponent & 1 == 1 {
            g = g.wrapping_mul(power) & mask;
        }
        power = power.wrapping_mul(power) & mask;
        exponent >>= 1;
    }
    g
}

/// The Galois element of complex conjugation: 2N - 1.
pub const fn galois_conjugation(log_n: u32) -> u64 {
    (2 << log_n) - 1
}

/// Checks that X -> X^g is an automorphism in the only form that keys and files use: g is odd and
/// below 2N.
///
/// # Errors
/// [`Error::Argument`].
pub(crate) fn check_galois(g: u64, log_n: u32) -> Result<()> {
    if g.is_multiple_of(2) {
        return Err(Error::argument("Galois element", format!("{g} is even")));
    }
    if g >> (log_n + 1) != 0 {
        let (two_n, reduced) = (2u64 << log_n, g % (2 << log_n));
        return Err(Error::domain(
            "Galois element",
            format!("{g} is not below 2N = {two_n}"),
            format!("modulo 2N it is {reduced}"),
        ));
    }
    Ok(())
}

/// An automorphism prepared for one degree.
#[derive(Debug, Clone)]
pub struct Automorphism {
    g: u64,
    log_n: u32,
}

impl Automorphism {
    /// X -> X^g; `g` is taken modulo 2N and must be odd.
    pub fn new(g: u64, log_n: u32) -> Self {
        debug_assert!(g & 1 == 1);
        Self { g: g & ((2 << log_n) - 1), log_n }
    }

    /// The inverse automorphism's Galois element.
    pub fn inverse_element(&self) -> u64 {
        // The group has exponent N / 2 (and 2 for N = 4 ...): g^(N - 1) is the inverse for every
        // odd g.
        let mask = (2u64 << self.log_n) - 1;
        let (mut result, mut power) = (1u64, self.g);
        for _ in 0..self.log_n {
            result = result.wrapping_mul(power) & mask;
            power = power.wrapping_mul(power) & mask;
        }
        result
    }

    /// In coefficient form: `a[k]` moves to index g k mod N, negated if g k mod 2N >= N. Constant
    /// time.
    pub fn coefficients(&self, q: &Modulus, src: &[u64], dst: &mut [u64]) {
        let n = src.len();
        let (mask, g) = (2 * n - 1, self.g as usize);
        let mut index = 0;
        for &a in src {
            let negative = 0u64.wrapping_sub((index >> self.log_n) as u64);
            dst[index & (n - 1)] = (a & !negative) | (q.neg(a) & negative);
            index = (index + g) & mask;
        }
    }

    /// In evaluation form, the automorphism is a permutation: `out[i] = in[permutation[i]]`.
    pub fn permutation(&self) -> Vec<u32> {
        let n = 1usize << self.log_n;
        let (mask, g) = (2 * n - 1, self.g as usize);
        (0..n)
            .map(|i| {
                let exponent = (g * (2 * bit_reverse(i, self.log_n) + 1)) & mask;
                bit_reverse(exponent >> 1, self.log_n) as u32
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arith::ntt_primes_below;
    use crate::ring::NttTable;

    #[test]
    fn both_domains_agree_and_invert() {
        for log_n in 2..=8 {
            let n = 1usize << log_n;
            let q = Modulus::new(ntt_primes_below(40, log_n, 1, &[]).unwrap()[0]).unwrap();
            let table = NttTable::new(q, log_n).unwrap();
            let a: Vec<u64> =
                (0..n as u64).map(|k| q.reduce(k.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
            for g in (1..2 * n as u64).step_by(2) {
                let map = Automorphism::new(g, log_n);
                let (mut image, mut back) = (vec![0; n], vec![0; n]);
                map.coefficients(&q, &a, &mut image);
                Automorphism::new(map.inverse_element(), log_n).coefficients(&q, &image, &mut back);
                assert_eq!(back, a, "g = {g}, N = {n}");
                let mut values = a.clone();
                table.forward(&mut values);
                let permuted: Vec<u64> = map.permutation().iter().map(|&i| values[i as usize]).collect();
                table.forward(&mut image);
                assert_eq!(permuted, image, "g = {g}, N = {n}");
            }
        }
    }

    #[test]
    fn rotations_compose() {
        for log_n in [2, 5, 13] {
            let mask = (2u64 << log_n) - 1;
            let half = 1i64 << (log_n - 1);
            for (a, b) in [(1, 2), (-1, 1), (3, -7), (half, 1), (half - 1, 1)] {
                let composed = (galois_rotation(a, log_n) * galois_rotation(b, log_n)) & mask;
                assert_eq!(composed, galois_rotation(a + b, log_n));
            }
            assert_eq!(galois_rotation(half, log_n), 1);
            assert_eq!(galois_conjugation(log_n), mask);
        }
    }
}
