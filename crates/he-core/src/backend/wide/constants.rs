//! Constants of the conversions between words and residues.

use crate::arith::{Modulus, ShoupFactor};
use num_bigint::BigUint;
use num_traits::One;

/// Constants that carry numbers modulo 2^k to residues modulo primes q_1 ... q_l below 2^50 and
/// back.
///
/// To residues: x = sum_w x_w 2^(64 w) modulo each prime. Back: x = sum_i y_i (Q/q_i) - v Q with
/// y_i = x_i (Q/q_i)^-1 mod q_i and v = round(sum_i y_i / q_i), everything modulo 2^(64 words). The
/// sum is taken in float64, term by term, without contraction; v is correct for |x| < Q/4, whatever
/// the roundings. Since y_i < 2^50 and l <= 128, the l products of one word add up in 128 bits
/// without a carry.
#[derive(Debug, Clone)]
pub struct WideConstants {
    moduli: Vec<Modulus>,
    words: usize,
    /// 2^(64 w) mod q_i at i (words + 1) + w.
    radix: Vec<u64>,
    hat_inverse: Vec<ShoupFactor>,
    reciprocal: Vec<f64>,
    /// Word w of Q/q_i at w l + i.
    hat: Vec<u64>,
    /// Words of -Q.
    minus_product: Vec<u64>,
}

impl WideConstants {
    /// For distinct primes below 2^50, at most 128 of them, and numbers of up to `words` words.
    pub fn new(moduli: &[Modulus], words: usize) -> Self {
        debug_assert!(moduli.len() <= 128 && moduli.iter().all(|q| q.bits() <= 50));
        let product: BigUint = moduli.iter().map(|q| BigUint::from(q.value())).product();
        let hats: Vec<BigUint> = moduli.iter().map(|q| &product / q.value()).collect();
        let modulus = BigUint::one() << (64 * words);
        let digits = |x: &BigUint| {
            let mut digits = (x % &modulus).to_u64_digits();
            digits.resize(words, 0);
            digits
        };
        let mut hat = vec![0; words * moduli.len()];
        for (i, x) in hats.iter().enumerate() {
            digits(x).into_iter().enumerate().for_each(|(w, word)| hat[w * moduli.len() + i] = word);
        }
        let powers = |q: &Modulus| {
            let radix = q.reduce_u128(1 << 64);
            std::iter::successors(Some(1), move |&power| Some(q.mul(power, radix))).take(words + 1).collect()
        };
        Self {
            words,
            radix: moduli.iter().flat_map(|q| -> Vec<u64> { powers(q) }).collect(),
            hat_inverse: moduli.iter().map(|q| q.shoup(q.inv(q.product_of_others(moduli)))).collect(),
            reciprocal: moduli.iter().map(|q| 1.0 / q.value() as f64).collect(),
            hat,
            minus_product: digits(&(&modulus - &product % &modulus)),
            moduli: moduli.to_vec(),
        }
    }

    /// The primes.
    pub fn moduli(&self) -> &[Modulus] {
        &self.moduli
    }

    /// The most words of a number.
    pub fn words(&self) -> usize {
        self.words
    }

    /// 2^(64 w) mod q_i for w = 0 ... words.
    pub fn radix(&self, i: usize) -> &[u64] {
        &self.radix[i * (self.words + 1)..][..self.words + 1]
    }

    /// (Q/q_i)^-1 mod q_i.
    pub fn hat_inverse(&self) -> &[ShoupFactor] {
        &self.hat_inverse
    }

    /// 1 / q_i rounded to nearest.
    pub fn reciprocal(&self) -> &[f64] {
        &self.reciprocal
    }

    /// Word w of Q/q_i for every i.
    pub fn hat(&self, w: usize) -> &[u64] {
        &self.hat[w * self.moduli.len()..][..self.moduli.len()]
    }

    /// -Q modulo 2^(64 words), the least significant word first.
    pub fn minus_product(&self) -> &[u64] {
        &self.minus_product
    }

    /// 2^bits mod q_i, which a set sign bit below it subtracts from the unsigned number.
    pub fn power_of_two(&self, i: usize, bits: u32) -> u64 {
        let q = &self.moduli[i];
        q.mul(self.radix(i)[bits as usize / 64], q.reduce(1 << (bits % 64)))
    }
}
