//! The complex exponential of a real number of several turns.

use crate::backend::RingOps;
use crate::circuits::ckks::ComplexPolynomials;
use crate::ckks::{Ciphertext, Evaluator, FusedSum};
use crate::error::Result;
use crate::ring::{Eval, Poly};
use crate::rlwe::EvaluationKeys;
use num_complex::Complex64;
use std::f64::consts::TAU;

/// The error of the polynomial, after squarings, from which on a higher degree is of no use.
const SUFFICIENT: f64 = 1.5e-8;
/// The most levels of the polynomial.
const MOST_LEVELS: usize = 7;

/// t -> amplitude exp(2 pi i reach t), for t in \[-1, 1\].
///
/// The exponential of an angle that is smaller by 2^squarings, times a root of the amplitude, is
/// the sum of Bessel's functions J_0(a) + 2 sum_k i^k J_k(a) T_k(t) by Jacobi and Anger, up to the
/// degree 2^levels - 1; squarings follow.
#[derive(Clone, Debug)]
pub(super) struct Exponential {
    polynomial: ComplexPolynomials,
    squarings: usize,
    /// The magnitude of the result.
    amplitude: f64,
    /// The magnitude of the polynomial's values.
    root: f64,
    /// The error of the result that the degree leaves, beside its magnitude.
    error: f64,
}

impl Exponential {
    /// For so many levels in all, of which the polynomial gets as few as make its error sufficient.
    pub(super) fn new(depth: usize, reach: f64, amplitude: f64) -> Self {
        let angle = |levels: usize| TAU * reach * libm::exp2(-((depth - levels) as f64));
        let error = |levels: usize| {
            libm::exp2((depth - levels) as f64) * 2.0 * tail(angle(levels), (1 << levels) - 1)
        };
        let most = depth.min(MOST_LEVELS);
        let levels = (1..most).find(|&levels| error(levels) < SUFFICIENT).unwrap_or(most);
        let (squarings, degree) = (depth - levels, (1 << levels) - 1);
        let root = libm::pow(amplitude, libm::exp2(-(squarings as f64)));
        let term = |k: i32| {
            let factor = if k == 0 { root } else { 2.0 * root };
            turned(factor * libm::jn(k, angle(levels)), k)
        };
        let coefficients: Vec<Complex64> = (0..=degree).map(term).collect();
        let polynomial = ComplexPolynomials::chebyshev(&[coefficients]);
        Self { polynomial, squarings, amplitude, root, error: error(levels) }
    }

    /// The magnitude of the result.
    pub(super) fn amplitude(&self) -> f64 {
        self.amplitude
    }

    /// The products that it relinearises.
    pub(super) fn relinearisations(&self) -> usize {
        self.polynomial.relinearisations() + self.squarings
    }

    /// The error of the result beside its magnitude, as the root mean square of a complex number:
    /// `rounding` is the error that one rounding leaves in a slot of a level, counted up from the
    /// result's.
    pub(super) fn noise(&self, rounding: impl Fn(usize) -> f64) -> f64 {
        let points = (-16..=16).map(|k| Complex64::new(f64::from(k) / 16.0, 0.0));
        let greatest = points.flat_map(|t| self.polynomial.sensitivities(t));
        let greatest = greatest.map(|s| s.roundings).fold(1.0, f64::max);
        let (mut noise, mut magnitude) = (rounding(self.squarings) * greatest, self.root);
        for left in (0..self.squarings).rev() {
            noise = libm::hypot(2.0 * magnitude * noise, rounding(left));
            magnitude *= magnitude;
        }
        libm::hypot(noise / self.amplitude, self.error)
    }

    /// Evaluates it on every slot, for real numbers t; `unit` is X^(N/2) over the primes of t.
    ///
    /// # Errors
    /// The same as for [`Polynomial::apply`](crate::circuits::ckks::Polynomial::apply).
    pub(super) fn apply<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        t: Ciphertext<B>,
        unit: &Poly<Eval, B>,
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        // There is one polynomial.
        let z = self.polynomial.apply(ev, t, unit, keys)?.remove(0);
        (0..self.squarings).try_fold(z, |z, _| {
            let z = ev.scaled(z)?;
            let rest = FusedSum { products: Vec::new(), factor: 1, terms: Vec::new(), constant: 0.0 };
            Ok(ev.fused_product([&z; 2], rest, keys)?.into_ciphertext())
        })
    }

    /// The result in float64.
    #[cfg(test)]
    fn apply_plain(&self, t: f64) -> Complex64 {
        let z = self.polynomial.apply_plain(Complex64::new(t, 0.0))[0];
        (0..self.squarings).fold(z, |z, _| z * z)
    }
}

/// i^k x.
fn turned(x: f64, k: i32) -> Complex64 {
    match k % 4 {
        0 => Complex64::new(x, 0.0),
        1 => Complex64::new(0.0, x),
        2 => Complex64::new(-x, 0.0),
        _ => Complex64::new(0.0, -x),
    }
}

/// The sum of |J_k(angle)| over all k above a degree.
fn tail(angle: f64, degree: i32) -> f64 {
    // J_k vanishes faster than any power once k exceeds the angle.
    let last = degree.max(angle as i32) + 40;
    (degree + 1..=last).map(|k| libm::jn(k, angle).abs()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_have_the_stated_error() {
        for (depth, reach, amplitude, levels, products) in
            [(8, 16.25, 1.0, 5, 13), (8, 16.25, 1e-3, 5, 13), (11, 16.25, 0.5, 4, 14), (8, 2.5, 1.0, 4, 11)]
        {
            let map = Exponential::new(depth, reach, amplitude);
            assert_eq!((depth - map.squarings, map.relinearisations()), (levels, products), "{depth}");
            let worst = (-100..=100).map(|k| f64::from(k) / 100.0).fold(0.0, |worst: f64, t| {
                let exact = Complex64::from_polar(amplitude, TAU * reach * t);
                worst.max((map.apply_plain(t) - exact).norm() / amplitude)
            });
            println!("{depth}, {reach}: {worst:e}, {:e} stated", map.error);
            assert!(worst < map.error + 1e-12 && map.error < SUFFICIENT, "{worst:e}");
        }
    }
}
