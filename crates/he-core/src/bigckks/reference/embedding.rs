//! Conversion between slots and polynomials by the definition, O(N^2).
//!
//! H is the set of vectors of C^N whose second half is the conjugate of the first one, reversed.
//! sigma maps a polynomial to its values at the primitive 2N-th roots of unity; the root of slot
//! j < N/2 is zeta^(5^j), zeta = exp(i pi / N), so that X -> X^5 rotates slots.

use super::IntPoly;
use num_bigint::BigInt;
use num_complex::Complex64;
use num_traits::{FromPrimitive, ToPrimitive};
use rand::{CryptoRng, RngExt};

/// The roots, as exponents of zeta.
#[derive(Clone, Debug)]
pub struct Embedding {
    exponents: Vec<usize>,
    /// zeta^k for k < 2N.
    powers: Vec<Complex64>,
}

impl Embedding {
    /// Prepares the embedding for degree n, a power of two from 4 on.
    pub fn new(n: usize) -> Self {
        let mut exponents = vec![0; n];
        let mut power = 1;
        for j in 0..n / 2 {
            (exponents[j], exponents[n - 1 - j]) = (power, 2 * n - power);
            power = power * 5 % (2 * n);
        }
        let unit = |k: usize| Complex64::from_polar(1.0, std::f64::consts::PI * k as f64 / n as f64);
        Self { exponents, powers: (0..2 * n).map(unit).collect() }
    }

    fn n(&self) -> usize {
        self.exponents.len()
    }

    /// Entry (i, k) of the Vandermonde matrix: root i to the power of k.
    pub fn vandermonde(&self, i: usize, k: usize) -> Complex64 {
        self.powers[self.exponents[i] * k % (2 * self.n())]
    }

    /// The vector of H: the slots, then their conjugates in reverse.
    pub fn pi_inverse(&self, slots: &[Complex64]) -> Vec<Complex64> {
        slots.iter().copied().chain(slots.iter().rev().map(Complex64::conj)).collect()
    }

    /// The first half.
    pub fn pi(&self, values: &[Complex64]) -> Vec<Complex64> {
        values[..values.len() / 2].to_vec()
    }

    /// The coordinates of scale z, z of H, in the basis sigma(X^k) of sigma(R): inner products with
    /// its vectors, which are orthogonal and have the square norm N. They are real.
    pub fn project(&self, z: &[Complex64], scale: f64) -> Vec<f64> {
        let n = self.n();
        let coordinate = |k: usize| (0..n).map(|i| (z[i] * self.vandermonde(i, k).conj()).re).sum::<f64>();
        (0..n).map(|k| coordinate(k) / n as f64 * scale).collect()
    }

    /// sigma: the values of a polynomial at the roots, divided by the scale, that is, the product
    /// with the Vandermonde matrix.
    pub fn sigma(&self, poly: &[BigInt], scale: f64) -> Vec<Complex64> {
        let coefficients: Vec<f64> =
            poly.iter().map(|c| c.to_f64().unwrap_or(f64::INFINITY) / scale).collect();
        let value =
            |i: usize| coefficients.iter().enumerate().map(|(k, &c)| self.vandermonde(i, k) * c).sum();
        (0..self.n()).map(value).collect()
    }

    /// sigma^-1: the coefficients of the polynomial with these values, by the inverse of the
    /// Vandermonde matrix: its conjugate transpose over N.
    pub fn sigma_inverse(&self, values: &[Complex64]) -> Vec<Complex64> {
        let n = self.n();
        let coefficient = |k: usize| {
            (0..n).map(|i| self.vandermonde(i, k).conj() * values[i]).sum::<Complex64>() / n as f64
        };
        (0..n).map(coefficient).collect()
    }
}

/// Rounds coordinates to the nearest integers, ties to even, as the fast path does.
pub fn plain_rounding(coordinates: &[f64]) -> IntPoly {
    coordinates.iter().map(|x| integer(x.round_ties_even())).collect()
}

/// Rounds each coordinate up with the probability of its fraction, otherwise down, without bias
/// (Lyubashevsky, Peikert, Regev 2013, section 2.4.2).
pub fn coordinate_wise_random_rounding(coordinates: &[f64], rng: &mut (impl CryptoRng + ?Sized)) -> IntPoly {
    let mut round = |x: f64| integer(x.floor() + f64::from(u8::from(rng.random::<f64>() < x - x.floor())));
    coordinates.iter().map(|&x| round(x)).collect()
}

/// Converts an integral float64; 0 if it is not finite.
fn integer(x: f64) -> BigInt {
    BigInt::from_f64(x).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::SpecialFft;
    use rand::{SeedableRng, rngs::ChaCha20Rng};

    fn slots(n: usize, rng: &mut ChaCha20Rng) -> Vec<Complex64> {
        let mut random = || rng.random_range(-1.0..1.0);
        (0..n).map(|_| Complex64::new(random(), random())).collect()
    }

    #[test]
    fn sigma_and_its_inverse_are_inverse_on_h() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        for n in [4, 8, 64, 256] {
            let embedding = Embedding::new(n);
            let z = slots(n / 2, &mut rng);
            let h = embedding.pi_inverse(&z);
            assert_eq!(embedding.pi(&h), z);
            let poly = embedding.sigma_inverse(&h);
            let coordinates = embedding.project(&h, 1.0);
            for (c, x) in poly.iter().zip(&coordinates) {
                assert!(c.im.abs() < 1e-12 && (c.re - x).abs() < 1e-12, "N = {n}: {c} {x}");
            }
            let scale = 2f64.powi(40);
            let rounded = plain_rounding(&embedding.project(&h, scale));
            for (a, b) in embedding.sigma(&rounded, scale).iter().zip(&h) {
                assert!((a - b).norm() < n as f64 / scale, "N = {n}: {a} {b}");
            }
        }
    }

    /// The O(N^2) coordinates are the coefficients of the fast transform.
    #[test]
    fn the_fast_transform_is_the_same() {
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        for n in [4, 16, 512] {
            let mut z = slots(n / 2, &mut rng);
            let coordinates = Embedding::new(n).project(&Embedding::new(n).pi_inverse(&z), 1.0);
            SpecialFft::new(n / 2).inverse(&mut z);
            for (k, z) in z.iter().enumerate() {
                let error = (z - Complex64::new(coordinates[k], coordinates[n / 2 + k])).norm();
                assert!(error < 1e-12, "N = {n}, {k}: {error}");
            }
        }
    }

    /// Mean x and variance f (1 - f) for a fraction f, each within six standard errors.
    #[test]
    fn random_rounding_is_unbiased() {
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        for x in [0.0, 0.1, -0.75, 1234.5, -3.999] {
            let count = 20_000;
            let rounded = coordinate_wise_random_rounding(&vec![x; count], &mut rng);
            let errors: Vec<f64> = rounded.iter().map(|r| r.to_f64().unwrap() - x).collect();
            assert!(errors.iter().all(|e| e.abs() < 1.0));
            let fraction = x - x.floor();
            let variance = fraction * (1.0 - fraction);
            let mean = errors.iter().sum::<f64>() / count as f64;
            assert!(mean.abs() <= 6.0 * (variance / count as f64).sqrt() + 1e-9, "{x}: {mean}");
        }
        assert_eq!(plain_rounding(&[0.5, 1.5, -0.5, 2.4]), [0, 2, 0, 2].map(BigInt::from));
    }
}
