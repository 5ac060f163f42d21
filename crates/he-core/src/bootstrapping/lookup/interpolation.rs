//! Trigonometric Hermite interpolation of tables.

use crate::circuits::ckks::ComplexPolynomials;
use num_complex::Complex64;
use std::f64::consts::{PI, TAU};

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
    let turns: Vec<Complex64> = (0..p).map(|k| circle(-(k as f64) / p as f64)).collect();
    let coefficient = |k: usize| {
        let sum: Complex64 = table.iter().enumerate().map(|(j, y)| *y * turns[j * k % p]).sum();
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

/// The greatest distance of f(m / p) from the entry at the integer nearest to m, if that is
/// `error` or less away on either side: by Fejér's kernel, to which all entries contribute.
pub(super) fn distance(table: &[f64], error: f64) -> f64 {
    let error = error.min(0.5);
    let of = |error: f64| {
        let weights: Vec<f64> = (0..table.len()).map(|d| kernel(d as f64 + error, table.len())).collect();
        let off = |(m, y): (usize, &f64)| {
            let (before, after) = table.split_at(m + 1);
            let sum = |entries: &[f64], weights: &[f64]| -> f64 {
                entries.iter().rev().zip(weights).map(|(y, weight)| y * weight).sum()
            };
            (sum(before, weights.as_slice()) + sum(after, &weights[m + 1..]) - y).abs()
        };
        table.iter().enumerate().map(off).fold(0.0, f64::max)
    };
    of(error).max(of(-error))
}

/// Fejér's kernel of p points.
fn kernel(x: f64, p: usize) -> f64 {
    let sine = p as f64 * libm::sin(PI * x / p as f64);
    if sine == 0.0 { 1.0 } else { (libm::sin(PI * x) / sine).powi(2) }
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
            for error in [0.0, 0.01, 0.3] {
                let off = |(j, y): (u32, &f64)| {
                    let j = f64::from(j);
                    (at(j + error) - y).abs().max((at(j - error) - y).abs())
                };
                let expected = (0..).zip(&table).map(off).fold(0.0, f64::max);
                assert!((distance(&table, error) - expected).abs() < 1e-9, "{p}, {error}: {expected}");
            }
        }
    }
}
