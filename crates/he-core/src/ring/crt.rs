//! From residues to numbers: composition by the Chinese remainder theorem.

use super::RingSpec;
use crate::arith::{DoubleDouble, Modulus, ShoupFactor, round_i64};
use crate::reveal;
use num_bigint::{BigInt, BigUint};
use num_traits::{FromPrimitive, ToPrimitive};
use zeroize::Zeroize;

/// The words of the short composition: values below 2^191 in magnitude take the fast path.
const WORDS: usize = 3;

/// Composes residues modulo q_1 ... q_l to the representative x of least magnitude, as float64.
///
/// x = sum_i y_i (Q/q_i) - v Q with y_i = x_i (Q/q_i)^-1 mod q_i and v = round(sum_i y_i / q_i).
/// Everything is computed modulo 2^192, which suffices for nearly every plaintext; if some x does
/// not fit, the values are composed by big integers instead.
#[derive(Debug, Clone)]
pub struct CrtComposer {
    moduli: Vec<Modulus>,
    hat_inverse: Vec<ShoupFactor>,
    reciprocal: Vec<f64>,
    /// Q/q_i modulo 2^192.
    hat: Vec<[u64; WORDS]>,
    /// -Q modulo 2^192.
    minus_product: [u64; WORDS],
    product: BigUint,
}

fn low_words(x: &BigUint) -> [u64; WORDS] {
    let mut words = [0; WORDS];
    words.iter_mut().zip(x.iter_u64_digits()).for_each(|(word, digit)| *word = digit);
    words
}

/// acc <- acc + y x modulo 2^192.
#[inline(always)]
fn multiply_add(acc: &mut [u64; WORDS], x: &[u64; WORDS], y: u64) {
    let mut carry = 0u128;
    for (acc, &x) in acc.iter_mut().zip(x) {
        let sum = u128::from(x) * u128::from(y) + u128::from(*acc) + carry;
        *acc = sum as u64;
        carry = sum >> 64;
    }
}

impl CrtComposer {
    /// Prepares the composition for the first `l` primes of the chain.
    pub fn new(spec: &RingSpec, l: usize) -> Self {
        let moduli = spec.q_moduli()[..l].to_vec();
        let product: BigUint = moduli.iter().map(|m| BigUint::from(m.value())).product();
        let hats: Vec<BigUint> = moduli.iter().map(|m| &product / m.value()).collect();
        let hat_inverse = moduli.iter().map(|m| m.shoup(m.inv(m.product_of_others(&moduli)))).collect();
        let modulus = BigUint::from(1u8) << (64 * WORDS);
        let minus_product = low_words(&(&modulus - &product % &modulus));
        Self {
            hat_inverse,
            reciprocal: moduli.iter().map(|m| 1.0 / m.value() as f64).collect(),
            hat: hats.iter().map(low_words).collect(),
            minus_product,
            product,
            moduli,
        }
    }

    /// (Q/q_i)^-1 mod q_i.
    pub fn hat_inverse(&self) -> &[ShoupFactor] {
        &self.hat_inverse
    }

    /// 1 / q_i rounded to nearest.
    pub fn reciprocal(&self) -> &[f64] {
        &self.reciprocal
    }

    /// Q/q_i modulo 2^192, the least significant word first.
    pub fn hat(&self) -> &[[u64; 3]] {
        &self.hat
    }

    /// -Q modulo 2^192, likewise.
    pub fn minus_product(&self) -> &[u64; 3] {
        &self.minus_product
    }

    /// Whether Q itself is below 2^191, and therefore every value.
    pub fn is_short(&self) -> bool {
        self.moduli.len() < WORDS
    }

    /// Composes `out.len()` numbers; `row(i)` holds their residues modulo q_i. The time depends on
    /// whether all of them lie below 2^191 in magnitude and, if they do, on nothing else that is
    /// secret.
    pub fn compose<'a>(&self, row: impl Fn(usize) -> &'a [u64], out: &mut [f64]) {
        self.compose_as(row, out, signed_to_f64, |x| x.to_f64().unwrap_or(f64::INFINITY));
    }

    /// [`compose`](Self::compose) in numbers of about 106 bits.
    pub(crate) fn compose_extended<'a>(&self, row: impl Fn(usize) -> &'a [u64], out: &mut [DoubleDouble]) {
        self.compose_as(row, out, signed_to_double_double, |x| {
            let hi = x.to_f64().unwrap_or(f64::INFINITY);
            let rest = BigInt::from_f64(hi).map_or(0.0, |hi| (x - hi).to_f64().unwrap_or(0.0));
            DoubleDouble::new(hi, rest)
        });
    }

    fn compose_as<'a, T: Copy>(
        &self,
        row: impl Fn(usize) -> &'a [u64],
        out: &mut [T],
        short: impl Fn(&[u64; WORDS], u64) -> T,
        wide: impl Fn(&BigInt) -> T,
    ) {
        const BLOCK: usize = 64;
        let rows: Vec<&[u64]> = (0..self.moduli.len()).map(row).collect();
        let single = self.is_short();
        let mut outside = 0u64;
        let (mut acc, mut sum) = ([[0u64; WORDS]; BLOCK], [0f64; BLOCK]);
        for (block, out) in out.chunks_mut(BLOCK).enumerate() {
            acc.fill([0; WORDS]);
            sum.fill(0.0);
            for (i, row) in rows.iter().enumerate() {
                let (m, w, reciprocal, hat) =
                    (&self.moduli[i], self.hat_inverse[i], self.reciprocal[i], &self.hat[i]);
                for ((acc, sum), &x) in acc.iter_mut().zip(&mut sum).zip(&row[block * BLOCK..][..out.len()]) {
                    let y = m.mul_shoup(x, w);
                    *sum += y as f64 * reciprocal;
                    multiply_add(acc, hat, y);
                }
            }
            for ((out, acc), &sum) in out.iter_mut().zip(&mut acc).zip(&sum) {
                multiply_add(acc, &self.minus_product, round_i64(sum) as u64);
                let negative = ((acc[2] as i64) >> 63) as u64;
                // The low 191 bits must determine the number: the top word is only the sign, or Q
                // itself is short.
                outside |= acc[2] ^ negative;
                *out = short(acc, negative);
            }
        }
        acc.zeroize();
        sum.zeroize();
        if !single && reveal::bit(outside != 0) {
            self.compose_wide(&rows, out, wide);
        }
    }

    fn compose_wide<T>(&self, rows: &[&[u64]], out: &mut [T], convert: impl Fn(&BigInt) -> T) {
        let half = &self.product >> 1u32;
        let hats: Vec<BigUint> = self.moduli.iter().map(|m| &self.product / m.value()).collect();
        for (k, out) in out.iter_mut().enumerate() {
            let terms = rows
                .iter()
                .enumerate()
                .map(|(i, row)| &hats[i] * self.moduli[i].mul_shoup(row[k], self.hat_inverse[i]));
            let x = terms.sum::<BigUint>() % &self.product;
            let centred =
                if x > half { BigInt::from(x) - BigInt::from(self.product.clone()) } else { BigInt::from(x) };
            *out = convert(&centred);
        }
    }
}

/// The magnitude of two's complement.
#[inline(always)]
fn magnitude(x: &[u64; WORDS], negative: u64) -> [u64; WORDS] {
    let mut carry = negative & 1;
    let mut magnitude = [0u64; WORDS];
    for (word, &x) in magnitude.iter_mut().zip(x) {
        let (sum, overflow) = (x ^ negative).overflowing_add(carry);
        *word = sum;
        carry = u64::from(overflow);
    }
    magnitude
}

/// 2^64.
const BASE: f64 = 18_446_744_073_709_551_616.0;

/// Converts two's complement to float64, within one ulp.
#[inline(always)]
fn signed_to_f64(x: &[u64; WORDS], negative: u64) -> f64 {
    let words = magnitude(x, negative);
    let value = words.iter().rev().fold(0.0, |value, &word| value * BASE + word as f64);
    // The sign goes straight into the sign bit.
    f64::from_bits(value.to_bits() | (negative << 63))
}

/// Converts two's complement to a number of 106 bits.
#[inline(always)]
fn signed_to_double_double(x: &[u64; WORDS], negative: u64) -> DoubleDouble {
    let add =
        |value: DoubleDouble, &word: &u64| value.times_power_of_two(BASE) + DoubleDouble::from_u64(word);
    let value = magnitude(x, negative).iter().rev().fold(DoubleDouble::default(), add);
    // 1 or -1, without a branch.
    value.times_power_of_two(1.0 - 2.0 * ((negative & 1) as u32 as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arith::ntt_primes_below;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "nothing is secret")]
    fn agrees_with_the_numbers_composed() {
        for (bits, l) in [(20, 1), (61, 1), (61, 2), (40, 3), (61, 4), (50, 9), (60, 30)] {
            let spec = RingSpec::new(4, ntt_primes_below(bits, 4, l, &[]).unwrap(), vec![]).unwrap();
            let composer = CrtComposer::new(&spec, l);
            let limit = (&composer.product >> 1u32).to_f64().unwrap().min(1e300);
            for wide in [false, true] {
                let mut numbers: Vec<BigInt> = vec![0.into(), 1.into(), (-1).into()];
                for exponent in 0..90 {
                    let value = 1.37f64.powi(exponent) * if exponent % 2 == 0 { 1.0 } else { -1.0 };
                    numbers.push(FromPrimitive::from_f64(value.trunc()).unwrap());
                }
                if wide {
                    numbers.push(BigInt::from(&composer.product >> 2u32));
                    numbers.push(-BigInt::from(&composer.product / 3u32));
                }
                numbers.retain(|x| x.to_f64().unwrap().abs() < limit);
                let rows: Vec<Vec<u64>> = spec
                    .q()
                    .iter()
                    .map(|&q| numbers.iter().map(|x| (((x % q) + q) % q).to_u64().unwrap()).collect())
                    .collect();
                let mut out = vec![f64::NAN; numbers.len()];
                composer.compose(|i| &rows[i], &mut out);
                let mut extended = vec![DoubleDouble::default(); numbers.len()];
                composer.compose_extended(|i| &rows[i], &mut extended);
                for (found, x) in extended.iter().zip(&numbers) {
                    // The rest of the number after the nearest double is subtracted, to within
                    // 2^-100 of the number.
                    let nearest = x.to_f64().unwrap();
                    let rest = (x - BigInt::from_f64(nearest).unwrap()).to_f64().unwrap();
                    let difference = *found - DoubleDouble::new(nearest, rest);
                    let bound = nearest.abs() * 2f64.powi(-100);
                    assert!(difference.to_f64().abs() <= bound, "{l} x {bits} bits: {x}");
                }
                for (out, x) in out.iter().zip(&numbers) {
                    let expected = x.to_f64().unwrap();
                    assert!(
                        (out - expected).abs() <= expected.abs() * 4e-16,
                        "{l} x {bits} bits: {out} {expected}"
                    );
                }
            }
        }
    }
}
