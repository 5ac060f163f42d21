//! Trigonometric Hermite interpolation of tables.

use crate::circuits::ckks::ComplexPolynomials;
use num_complex::Complex64;
use std::f64::consts::TAU;

/// The coefficients c_0 / 2, c_1 ... c_(p-1) with which f(x) = 2 Re sum_k c_k exp(2 pi i k x) has
/// the value y_j and the derivative 0 at x = j / p, for the p entries y_j of a table.
///
/// f is the sum of the entries times Fejér's kernel (sin(pi p x) / (p sin(pi x)))^2 around their
/// points, which is nowhere negative: f is an average of the entries, and never beyond them.
///
/// Source: Alexandru, Kim, Polyakov, *General Functional Bootstrapping using CKKS*, 2024, section
/// 3 (first-order interpolation).
pub(super) fn coefficients(table: &[f64]) -> Vec<Complex64> {
    let p = table.len();
    let turn = |k: usize| circle(-((k % p) as f64) / p as f64);
    let coefficient = |k: usize| {
        let sum: Complex64 = table.iter().enumerate().map(|(j, y)| *y * turn(j * k)).sum();
        sum * ((p - k) as f64 / (p * p) as f64)
    };
    let constant = 0.5 * table.iter().sum::<f64>() / p as f64;
    std::iter::once(Complex64::new(constant, 0.0)).chain((1..p).map(coefficient)).collect()
}

/// exp(2 pi i x), to the same bits everywhere.
pub(super) fn circle(x: f64) -> Complex64 {
    Complex64::new(libm::cos(TAU * x), libm::sin(TAU * x))
}

/// f(m / p) for every table, in float64.
pub(super) fn values(interpolation: &ComplexPolynomials, m: f64, p: usize) -> Vec<f64> {
    interpolation.apply_plain(circle(m / p as f64)).into_iter().map(|value| 2.0 * value.re).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::seeded;
    use rand::RngExt;

    /// Values and derivatives at all points, and no value beyond the entries between them.
    #[test]
    fn tables_are_interpolated_flat() {
        let mut rng = seeded();
        for p in [2, 4, 16, 256] {
            let table: Vec<f64> = (0..p).map(|_| rng.random_range(-8.0..8.0)).collect();
            let interpolation = ComplexPolynomials::power(&[coefficients(&table)]);
            let at = |m: f64| values(&interpolation, m, p)[0];
            for (j, y) in (0u32..).zip(&table) {
                let j = f64::from(j);
                assert!((at(j) - y).abs() < 1e-9, "{p}, {j}: {}", at(j));
                // Errors are squared: 3.3 times the span of 16.
                assert!((at(j + 1e-4) - y).abs() < 54.0 * 1e-8, "{p}, {j}: {}", at(j + 1e-4));
                assert!(at(j + 0.4).abs() < 8.0 + 1e-9);
            }
        }
    }
}
