//! The magnitude of the coefficients of a polynomial over several primes.

use super::BaseConversion;
use crate::arith::Modulus;
use crate::reveal;
use crate::secret_words::SecretWords;
use num_bigint::BigUint;
use std::hint::black_box;

/// Composes residues modulo q_1 ... q_l to the representatives x of least magnitude and keeps the
/// greatest |x|.
///
/// x = sum_i y_i (Q/q_i) - v Q with the y_i and v of [`BaseConversion`], modulo 2^(64 w) > 4 Q:
/// exact except within 2^-50 Q of the edges +-Q/2. Constant time, except for the logarithm of the
/// result.
#[derive(Debug)]
pub(crate) struct Magnitudes {
    conversion: BaseConversion,
    words: usize,
    /// The words of Q/q_i, for one i after the other.
    hats: Vec<u64>,
    /// -Q modulo 2^(64 w).
    minus_product: Vec<u64>,
}

/// The coefficients that are converted at a time.
const PIECE: usize = 256;

/// acc <- acc + y x.
fn multiply_add(acc: &mut [u64], x: &[u64], y: u64) {
    let mut carry = 0u128;
    for (acc, &x) in acc.iter_mut().zip(x) {
        let sum = u128::from(x) * u128::from(y) + u128::from(*acc) + carry;
        *acc = sum as u64;
        carry = sum >> 64;
    }
}

/// greatest <- max(greatest, |x|) for x in two's complement, which is replaced by |x|.
fn keep_greater(greatest: &mut [u64], x: &mut [u64]) {
    let negative = (x.last().map_or(0, |&top| top >> 63)).wrapping_neg();
    let (mut carry, mut borrow) = (negative & 1, 0u64);
    for (x, &g) in x.iter_mut().zip(&*greatest) {
        let (magnitude, overflow) = (*x ^ negative).overflowing_add(carry);
        carry = u64::from(overflow);
        *x = magnitude;
        let (difference, below) = g.overflowing_sub(magnitude);
        let (_, again) = difference.overflowing_sub(borrow);
        borrow = u64::from(below) | u64::from(again);
    }
    // The compiler must not know that these are all bits or none: it would load from one of the two
    // addresses.
    let take = black_box(borrow.wrapping_neg());
    for (g, &x) in greatest.iter_mut().zip(&*x) {
        *g ^= (*g ^ x) & take;
    }
}

/// log2 of the number with these words, the least significant first, within 2^-50; for 0 it is that
/// of 1. No address and no branch depends on the number, except in the logarithm of two words.
fn log2(words: &[u64]) -> f64 {
    let (mut high, mut low, mut index, mut below) = (1, 0, 0, 0);
    for (i, &word) in words.iter().enumerate() {
        let some = ((word | word.wrapping_neg()) >> 63).wrapping_neg();
        high ^= (high ^ word) & some;
        low ^= (low ^ below) & some;
        index ^= (index ^ i as u64) & some;
        below = word;
    }
    let value = reveal::number(high as f64 * 18_446_744_073_709_551_616.0 + low as f64);
    libm::log2(value) + 64.0 * (reveal::word(index) as f64 - 1.0)
}

impl Magnitudes {
    /// Prepares the constants for these primes.
    pub(crate) fn new(primes: &[Modulus]) -> Self {
        let product: BigUint = primes.iter().map(|q| BigUint::from(q.value())).product();
        let words = (product.bits() as usize + 2).div_ceil(64);
        let digits = |x: &BigUint| {
            let mut digits = x.to_u64_digits();
            digits.resize(words, 0);
            digits
        };
        let hats = primes.iter().flat_map(|q| digits(&(&product / q.value()))).collect();
        let minus_product = digits(&((BigUint::from(1u8) << (64 * words)) - &product));
        Self { conversion: BaseConversion::new(primes, &[]), words, hats, minus_product }
    }

    /// log2 of the greatest magnitude of `n` coefficients; `row(i)` holds their residues modulo
    /// q_i. 0 counts as 1.
    pub(crate) fn greatest_log2<'a>(&self, n: usize, row: impl Fn(usize) -> &'a [u64]) -> f64 {
        let limbs = self.conversion.from().len();
        let mut greatest = SecretWords::zeros(self.words);
        let mut x = SecretWords::zeros(self.words);
        let (mut y, mut overflow) = (SecretWords::zeros(limbs * PIECE), SecretWords::zeros(PIECE));
        for first in (0..n).step_by(PIECE) {
            let count = PIECE.min(n - first);
            let (y, overflow) = (&mut y[..limbs * count], &mut overflow[..count]);
            self.conversion.decompose(|i| &row(i)[first..][..count], y, overflow);
            for (k, &v) in overflow.iter().enumerate() {
                x.fill(0);
                for (i, hat) in self.hats.chunks_exact(self.words).enumerate() {
                    multiply_add(&mut x, hat, y[i * count + k]);
                }
                multiply_add(&mut x, &self.minus_product, v);
                keep_greater(&mut greatest, &mut x);
            }
        }
        log2(&greatest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arith::ntt_primes_below;
    use num_bigint::BigInt;
    use num_traits::ToPrimitive;
    use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

    #[test]
    fn agrees_with_big_integers() {
        for seed in 0..4 {
            let mut rng = ChaCha20Rng::seed_from_u64(seed);
            for (bits, count) in [(20, 1), (61, 1), (61, 2), (40, 3), (61, 5), (50, 17), (60, 30)] {
                let primes = ntt_primes_below(bits, 4, count, &[]).unwrap();
                let moduli: Vec<Modulus> = primes.iter().map(|&q| Modulus::new(q).unwrap()).collect();
                let product: BigUint = primes.iter().map(|&q| BigUint::from(q)).product();
                let magnitudes = Magnitudes::new(&moduli);
                for width in [0, 1, 17, 63, 64, 65, 127, 128, 500, 2000] {
                    let width = width.min(product.bits() - 2);
                    let numbers: Vec<BigInt> = (0..300)
                        .map(|_| {
                            let digits: Vec<u32> = (0..64).map(|_| rng.random()).collect();
                            let x = BigInt::from(BigUint::new(digits) % (BigUint::from(1u8) << width));
                            if rng.random() { -x } else { x }
                        })
                        .collect();
                    let rows: Vec<Vec<u64>> = primes
                        .iter()
                        .map(|&q| numbers.iter().map(|x| (((x % q) + q) % q).to_u64().unwrap()).collect())
                        .collect();
                    let greatest = numbers.iter().map(|x| x.magnitude().clone()).max().unwrap();
                    let shift = greatest.bits().saturating_sub(64);
                    let expected = (&greatest >> shift).to_f64().unwrap().max(1.0).log2() + shift as f64;
                    let found = magnitudes.greatest_log2(300, |i| &rows[i]);
                    let what = format!("seed {seed}, {count} x {bits} bits, width {width}");
                    assert!((found - expected).abs() < 1e-9, "{what}: {found}, {expected}");
                }
            }
        }
    }
}
