//! Z_q[X] / (X^N + 1) for any q.

use super::IntPoly;
use crate::arith::{Modulus, ntt_primes_below};
use crate::params::ParamsError;
use crate::ring::{NttTable, RingSpec};
use num_bigint::{BigInt, BigUint};
use num_traits::{One, Signed, Zero};
use rand::CryptoRng;

/// a b modulo X^N + 1 over the integers, coefficient by coefficient.
pub fn schoolbook(a: &[BigInt], b: &[BigInt]) -> IntPoly {
    let n = a.len();
    let mut product = vec![BigInt::zero(); n];
    for (i, a) in a.iter().enumerate() {
        for (j, b) in b.iter().enumerate() {
            if i + j < n {
                product[i + j] += a * b;
            } else {
                product[i + j - n] -= a * b;
            }
        }
    }
    product
}

/// The same through as many primes of 60 bits as determine the coefficients, by residues,
/// transforms, products and the Chinese remainder theorem. N is a power of two from 4 on.
///
/// # Errors
/// [`ParamsError`] for another N.
pub fn transform_product(a: &[BigInt], b: &[BigInt]) -> Result<IntPoly, ParamsError> {
    let n = a.len();
    let log_n = n.trailing_zeros();
    if !n.is_power_of_two() || n < 4 {
        let (lowest, highest) = (RingSpec::MIN_LOG_N, RingSpec::MAX_LOG_N);
        return Err(ParamsError::Degree { found: n.checked_ilog2().unwrap_or(0), lowest, highest });
    }
    let widest = |x: &[BigInt]| x.iter().map(BigInt::bits).max().unwrap_or(0);
    let count = ((widest(a) + widest(b) + u64::from(log_n) + 2) / 59 + 1) as usize;
    let mut sum = vec![BigInt::zero(); n];
    let primes = ntt_primes_below(60, log_n, count, &[])?;
    let product: BigInt = primes.iter().map(|&q| BigInt::from(q)).product();
    for &prime in &primes {
        let q = Modulus::new(prime)?;
        let table = NttTable::new(q, log_n)?;
        let values = |x: &[BigInt]| {
            let mut values: Vec<u64> = x.iter().map(|x| residue(x, prime)).collect();
            table.forward(&mut values);
            values
        };
        let mut values: Vec<u64> = values(a).into_iter().zip(values(b)).map(|(a, b)| q.mul(a, b)).collect();
        table.inverse(&mut values);
        let hat = &product / prime;
        let inverse = q.inv(residue(&hat, prime));
        for (sum, value) in sum.iter_mut().zip(values) {
            *sum += &hat * q.mul(value, inverse);
        }
    }
    Ok(sum.into_iter().map(|x| centred(x, &product)).collect())
}

/// x mod q in [0, q).
fn residue(x: &BigInt, q: u64) -> u64 {
    floor_mod(x, &BigInt::from(q)).iter_u64_digits().next().unwrap_or(0)
}

fn floor_mod(x: &BigInt, q: &BigInt) -> BigInt {
    let r = x % q;
    if r.is_negative() { r + q } else { r }
}

/// The representative in [-q/2, q/2).
fn centred(x: BigInt, q: &BigInt) -> BigInt {
    let r = floor_mod(&x, q);
    if &r + &r >= *q { r - q } else { r }
}

/// floor(x / d + 1/2): to nearest, halves up; d is positive.
pub(super) fn divide_round(x: &BigInt, d: &BigInt) -> BigInt {
    let doubled = x * 2 + d;
    let divisor: BigInt = d * 2;
    (&doubled - floor_mod(&doubled, &divisor)) / divisor
}

/// Polynomials with centred coefficients modulo q and X^N + 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotientRing {
    n: usize,
    q: BigInt,
    by_transform: bool,
}

impl QuotientRing {
    /// Makes the ring of degree `n`, modulo `q`.
    pub fn new(n: usize, q: BigInt) -> Self {
        Self { n, q, by_transform: false }
    }

    /// Uses [`transform_product`] for products if N allows it, instead of [`schoolbook`].
    #[must_use]
    pub fn by_transform(mut self) -> Self {
        self.by_transform = true;
        self
    }

    /// The ring of the same degree and method of multiplication, modulo `q`.
    #[must_use]
    pub fn with_modulus(&self, q: BigInt) -> Self {
        Self { q, ..self.clone() }
    }

    /// Modulo 2^bits.
    pub fn power_of_two(n: usize, bits: u32) -> Self {
        Self::new(n, BigInt::one() << bits)
    }

    /// The degree.
    pub fn n(&self) -> usize {
        self.n
    }

    /// The modulus.
    pub fn modulus(&self) -> &BigInt {
        &self.q
    }

    /// Centred representatives.
    pub fn reduce(&self, a: &[BigInt]) -> IntPoly {
        a.iter().map(|x| centred(x.clone(), &self.q)).collect()
    }

    /// a + b.
    pub fn add(&self, a: &[BigInt], b: &[BigInt]) -> IntPoly {
        self.reduce(&a.iter().zip(b).map(|(a, b)| a + b).collect::<Vec<_>>())
    }

    /// a - b.
    pub fn sub(&self, a: &[BigInt], b: &[BigInt]) -> IntPoly {
        self.reduce(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>())
    }

    /// -a.
    pub fn neg(&self, a: &[BigInt]) -> IntPoly {
        self.reduce(&a.iter().map(|a| -a).collect::<Vec<_>>())
    }

    /// c a for an integer c.
    pub fn scale(&self, a: &[BigInt], c: &BigInt) -> IntPoly {
        self.reduce(&a.iter().map(|a| a * c).collect::<Vec<_>>())
    }

    /// a b.
    pub fn mul(&self, a: &[BigInt], b: &[BigInt]) -> IntPoly {
        let transformed = if self.by_transform { transform_product(a, b).ok() } else { None };
        self.reduce(&transformed.unwrap_or_else(|| schoolbook(a, b)))
    }

    /// a(X^g) for odd g.
    pub fn automorphism(&self, a: &[BigInt], g: u64) -> IntPoly {
        let mut image = vec![BigInt::zero(); self.n];
        for (k, a) in a.iter().enumerate() {
            let index = (k as u64 * g % (2 * self.n as u64)) as usize;
            image[index % self.n] = if index < self.n { a.clone() } else { -a };
        }
        self.reduce(&image)
    }

    /// round(a / d) in this ring, halves up.
    pub fn divide_round(&self, a: &[BigInt], d: &BigInt) -> IntPoly {
        self.reduce(&a.iter().map(|a| divide_round(a, d)).collect::<Vec<_>>())
    }

    /// Balanced digits d_j of a in base 2^w: a = sum_j d_j 2^(j w) modulo q, d_j in [-2^(w - 1),
    /// 2^(w - 1)).
    pub fn digits(&self, a: &[BigInt], w: u32) -> Vec<IntPoly> {
        let base = BigInt::one() << w;
        let mut rest = a.to_vec();
        let count = (self.q.bits() - 1).div_ceil(u64::from(w));
        (0..count)
            .map(|j| {
                // The highest digit takes the rest of q, which wraps around.
                let left: BigInt = &self.q >> (j * u64::from(w));
                let modulus = if left < base { left } else { base.clone() };
                let digit: IntPoly = rest.iter().map(|x| centred(x.clone(), &modulus)).collect();
                rest = rest.iter().zip(&digit).map(|(x, d)| (x - d) >> w).collect();
                digit
            })
            .collect()
    }

    /// Uniform coefficients, to a bias below 2^-64.
    pub fn uniform(&self, rng: &mut (impl CryptoRng + ?Sized)) -> IntPoly {
        let bytes = self.q.bits().div_ceil(8) as usize + 8;
        (0..self.n)
            .map(|_| {
                let mut random = vec![0; bytes];
                rng.fill_bytes(&mut random);
                centred(BigInt::from(BigUint::from_bytes_le(&random)), &self.q)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{SeedableRng, rngs::ChaCha20Rng};

    #[test]
    fn both_products_agree() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        for (n, bits) in [(4, 1), (8, 64), (16, 438), (64, 1200), (256, 100)] {
            let ring = QuotientRing::power_of_two(n, bits);
            for _ in 0..3 {
                let (a, b) = (ring.uniform(&mut rng), ring.uniform(&mut rng));
                assert_eq!(schoolbook(&a, &b), transform_product(&a, &b).unwrap(), "N = {n}, {bits} bits");
                let least = vec![-(BigInt::one() << (bits - 1)); n];
                assert_eq!(schoolbook(&least, &least), transform_product(&least, &least).unwrap());
            }
        }
        assert!(transform_product(&vec![BigInt::one(); 3], &vec![BigInt::one(); 3]).is_err());
    }

    #[test]
    fn known_answers() {
        // (1 + 2 X)(3 - X^3) = 3 + 6 X - X^3 - 2 X^4 = 5 + 6 X - X^3 modulo X^4 + 1.
        let int = |x: &[i64]| x.iter().map(|&x| BigInt::from(x)).collect::<Vec<_>>();
        assert_eq!(schoolbook(&int(&[1, 2, 0, 0]), &int(&[3, 0, 0, -1])), int(&[5, 6, 0, -1]));
        let ring = QuotientRing::new(4, BigInt::from(10));
        assert_eq!(ring.reduce(&int(&[5, -5, 14, -16])), int(&[-5, -5, 4, 4]));
        assert_eq!(ring.automorphism(&int(&[1, 2, 3, 4]), 3), int(&[1, 4, -3, 2]));
        let rounded = [(5, 2), (-5, 2), (7, 2), (-7, 4), (4, 3), (-1, 2)]
            .map(|(x, d)| divide_round(&x.into(), &d.into()));
        assert_eq!(rounded.to_vec(), int(&[3, -2, 4, -2, 1, 0]));
    }

    #[test]
    fn digits_are_balanced_and_add_up() {
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        for (bits, w) in [(20, 20), (20, 7), (65, 33), (438, 219), (10, 3)] {
            let ring = QuotientRing::power_of_two(8, bits);
            let a = ring.uniform(&mut rng);
            let digits = ring.digits(&a, w);
            assert_eq!(digits.len() as u32, bits.div_ceil(w));
            let bound = BigInt::one() << (w - 1);
            assert!(digits.iter().flatten().all(|d| -&bound <= *d && *d < bound));
            let sum = digits.iter().enumerate().fold(vec![BigInt::zero(); 8], |sum, (j, digit)| {
                ring.add(&sum, &ring.scale(digit, &(BigInt::one() << (j as u32 * w))))
            });
            assert_eq!(sum, a);
        }
    }
}
