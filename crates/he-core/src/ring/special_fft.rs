//! The special FFT, between the slots and the coefficients of the canonical embedding (Cheon, Han,
//! Kim, Kim, Song 2018).
//!
//! Slot j of a polynomial m is m(zeta^(5^j)), zeta = exp(i pi / N). With n slots the polynomial
//! lives in X^(N / 2n). It uses float64 without contraction, in a fixed order of operations, with
//! roots from a portable library, so results are the same bits everywhere.

use crate::arith::DoubleDouble;
use core::ops::{Add, Mul, Neg, Sub};
use num_complex::{Complex, Complex64};
use std::sync::Arc;

/// The roots of the transforms of up to `max_slots` slots, as a cheap handle.
#[derive(Clone)]
pub struct SpecialFft {
    max_slots: usize,
    /// For the stage with butterflies of distance h: exp(2 pi i (5^j mod 8h) / 8h), j < h, at
    /// h + j.
    roots: Arc<[Complex64]>,
}

impl std::fmt::Debug for SpecialFft {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SpecialFft {{ max_slots: {} }}", self.max_slots)
    }
}

impl SpecialFft {
    /// Computes the roots for up to `max_slots` slots, a power of two.
    pub fn new(max_slots: usize) -> Self {
        debug_assert!(max_slots.is_power_of_two());
        let sin_cos = |turns: f64| libm::sincos(core::f64::consts::FRAC_PI_4 * turns);
        Self { max_slots, roots: root_table(max_slots, 1.0, sin_cos).into() }
    }

    /// The greatest number of slots.
    pub fn max_slots(&self) -> usize {
        self.max_slots
    }

    /// The root table: that of butterfly distance h at h .. 2h.
    pub fn roots(&self) -> &[Complex64] {
        &self.roots
    }

    /// Transforms coefficients c_k + i c_(k + n) to slots, in place; the length is a power of two
    /// up to `max_slots`.
    pub fn forward(&self, values: &mut [Complex64]) {
        forward(&self.roots, values);
    }

    /// Transforms slots to coefficients c_k + i c_(k + n), in place, including the factor 1/n.
    pub fn inverse(&self, values: &mut [Complex64]) {
        inverse(&self.roots, values);
        let scale = 1.0 / values.len() as f64;
        for value in values {
            *value = Complex64::new(value.re * scale, value.im * scale);
        }
    }
}

/// The same transform in numbers of about 106 bits: results are within 2^-95 of the exact ones,
/// relative to the greatest. This is a cheap handle.
#[derive(Clone)]
pub(crate) struct ExtendedFft {
    roots: Arc<[Complex<DoubleDouble>]>,
}

impl std::fmt::Debug for ExtendedFft {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ExtendedFft {{ max_slots: {} }}", self.roots.len())
    }
}

impl ExtendedFft {
    /// Computes the roots for up to `max_slots` slots, a power of two.
    pub(crate) fn new(max_slots: usize) -> Self {
        // 1 / n!: the series of sine and cosine up to here are exact to 2^-106 in the first octant.
        let mut factorials = [DoubleDouble::from(1.0); 30];
        for n in 1..factorials.len() {
            factorials[n] = factorials[n - 1].divide(DoubleDouble::from(n as f64));
        }
        let series = |x: DoubleDouble, first: usize| {
            let square = -(x * x);
            let sum = |sum: DoubleDouble, &c: &DoubleDouble| sum * square + c;
            factorials[first..].iter().step_by(2).rev().fold(DoubleDouble::default(), sum)
        };
        let sin_cos = |turns: f64| {
            let angle = DoubleDouble::FRAC_PI_4 * DoubleDouble::from(turns);
            (angle * series(angle, 1), series(angle, 0))
        };
        Self { roots: root_table(max_slots, DoubleDouble::from(1.0), sin_cos).into() }
    }

    /// [`SpecialFft::forward`].
    pub(crate) fn forward(&self, values: &mut [Complex<DoubleDouble>]) {
        forward(&self.roots, values);
    }

    /// [`SpecialFft::inverse`].
    pub(crate) fn inverse(&self, values: &mut [Complex<DoubleDouble>]) {
        inverse(&self.roots, values);
        let scale = 1.0 / values.len() as f64;
        for value in values {
            value.re = value.re.times_power_of_two(scale);
            value.im = value.im.times_power_of_two(scale);
        }
    }
}

/// The numbers in which the butterflies compute.
trait Real:
    Copy + Default + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Neg<Output = Self>
{
}

impl Real for f64 {}
impl Real for DoubleDouble {}

/// The root table for up to `max_slots` slots; `sin_cos` takes an angle of the first octant in
/// units of it.
fn root_table<T: Real>(max_slots: usize, one: T, sin_cos: impl Fn(f64) -> (T, T)) -> Vec<Complex<T>> {
    let mut roots = vec![Complex { re: one, im: T::default() }; max_slots.max(1)];
    let mut half = 1;
    while half < max_slots {
        let order = 8 * half as u64;
        let mut power = 1u64;
        for j in 0..half {
            roots[half + j] = unit(power, order, &sin_cos);
            power = power * 5 % order;
        }
        half *= 2;
    }
    roots
}

fn forward<T: Real>(roots: &[Complex<T>], values: &mut [Complex<T>]) {
    bit_reverse_permute(values);
    let mut half = 1;
    while half < values.len() {
        let roots = &roots[half..2 * half];
        for block in values.chunks_exact_mut(2 * half) {
            let (left, right) = block.split_at_mut(half);
            for ((x, y), w) in left.iter_mut().zip(right).zip(roots) {
                let (u, v) = (*x, mul(*y, *w));
                *x = Complex { re: u.re + v.re, im: u.im + v.im };
                *y = Complex { re: u.re - v.re, im: u.im - v.im };
            }
        }
        half *= 2;
    }
}

/// Without the factor 1/n.
fn inverse<T: Real>(roots: &[Complex<T>], values: &mut [Complex<T>]) {
    let mut half = values.len() / 2;
    while half >= 1 {
        let roots = &roots[half..2 * half];
        for block in values.chunks_exact_mut(2 * half) {
            let (left, right) = block.split_at_mut(half);
            for ((x, y), w) in left.iter_mut().zip(right).zip(roots) {
                let (u, v) = (*x, *y);
                *x = Complex { re: u.re + v.re, im: u.im + v.im };
                let difference = Complex { re: u.re - v.re, im: u.im - v.im };
                *y = mul(difference, Complex { re: w.re, im: -w.im });
            }
        }
        half /= 2;
    }
    bit_reverse_permute(values);
}

/// exp(2 pi i k / order), from the first octant, so that symmetric roots are exactly symmetric.
fn unit<T: Real>(k: u64, order: u64, sin_cos: impl Fn(f64) -> (T, T)) -> Complex<T> {
    let eighths = 8 * (k % order);
    let (octant, rest) = (eighths / order, eighths % order);
    let angle = |rest: u64| rest as f64 / order as f64;
    // Odd octants are mirrored at their upper end.
    let (sin, cos) = if octant.is_multiple_of(2) {
        sin_cos(angle(rest))
    } else {
        let (sin, cos) = sin_cos(angle(order - rest));
        (cos, sin)
    };
    let (re, im) = match octant / 2 {
        0 => (cos, sin),
        1 => (-sin, cos),
        2 => (-cos, -sin),
        _ => (sin, -cos),
    };
    Complex { re, im }
}

/// The product by its four real products, without contraction or special cases.
#[inline(always)]
fn mul<T: Real>(x: Complex<T>, y: Complex<T>) -> Complex<T> {
    Complex { re: x.re * y.re - x.im * y.im, im: x.re * y.im + x.im * y.re }
}

fn bit_reverse_permute<T>(values: &mut [T]) {
    let bits = values.len().trailing_zeros();
    for i in 0..values.len() {
        let j = crate::ring::bit_reverse(i, bits);
        if i < j {
            values.swap(i, j);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

    fn unit(k: u64, order: u64) -> Complex64 {
        super::unit(k, order, |turns: f64| libm::sincos(core::f64::consts::FRAC_PI_4 * turns))
    }

    /// Evaluates sum_k c_k X^k, k < 2n, at zeta^(5^j), zeta = exp(i pi / 2n): the definition.
    fn naive(coefficients: &[Complex64]) -> Vec<Complex64> {
        let n = coefficients.len() as u64;
        let mut power = 1;
        (0..n)
            .map(|_| {
                let root = |k: u64| unit(k * power % (4 * n), 4 * n);
                let value = coefficients.iter().enumerate().fold(Complex64::ZERO, |sum, (k, c)| {
                    sum + root(k as u64) * c.re + root(k as u64 + n) * c.im
                });
                power = power * 5 % (4 * n);
                value
            })
            .collect()
    }

    #[test]
    fn equals_its_definition_and_inverts() {
        let fft = SpecialFft::new(1 << 10);
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        for log_slots in 0..=10 {
            let n = 1usize << log_slots;
            let input: Vec<Complex64> = (0..n)
                .map(|_| Complex64::new(rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0)))
                .collect();
            let mut values = input.clone();
            fft.forward(&mut values);
            for (fast, slow) in values.iter().zip(naive(&input)) {
                assert!((fast - slow).norm() < 1e-13 * n as f64, "{n}: {fast} {slow}");
            }
            fft.inverse(&mut values);
            for (a, b) in values.iter().zip(&input) {
                assert!((a - b).norm() < 1e-14, "{n}: {a} {b}");
            }
        }
    }

    #[test]
    fn roots_are_accurate_and_symmetric() {
        for order in [8u64, 16, 1 << 17] {
            for k in 0..order.min(4096) {
                let (w, opposite) = (unit(k, order), unit(k + order / 2, order));
                assert_eq!((w.re, w.im), (-opposite.re, -opposite.im));
                // The angle itself is rounded here, by up to half an ulp of 2 pi.
                let angle = 2.0 * core::f64::consts::PI * k as f64 / order as f64;
                assert!(
                    (w.re - angle.cos()).abs() < 1e-15 && (w.im - angle.sin()).abs() < 1e-15,
                    "{k}/{order}"
                );
            }
        }
    }

    /// Tests forward and inverse transforms, and compares them with the transform in doubles, whose
    /// errors are far larger.
    #[test]
    fn the_extended_transform_is_the_same_one() {
        let (short, long) = (SpecialFft::new(1 << 10), ExtendedFft::new(1 << 10));
        for (root, extended) in short.roots.iter().zip(long.roots.iter()) {
            let norm = extended.re * extended.re + extended.im * extended.im - DoubleDouble::from(1.0);
            assert!(norm.to_f64().abs() < 2f64.powi(-98), "{norm:?}");
            assert!((root.re - extended.re.to_f64()).abs() < 2e-16, "{root} {extended:?}");
            assert!((root.im - extended.im.to_f64()).abs() < 2e-16, "{root} {extended:?}");
        }
        // Squares of roots are roots, which shows that the table is more accurate than its
        // agreement with doubles.
        for half in [2usize, 16, 512] {
            for j in 0..half / 2 {
                let square = mul(long.roots[half + j], long.roots[half + j]);
                let root = long.roots[half / 2 + j];
                let (re, im) = (square.re - root.re, square.im - root.im);
                assert!(re.to_f64().abs() + im.to_f64().abs() < 2f64.powi(-98), "{half} {j}");
            }
        }
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        for log_slots in 0..=10 {
            let input: Vec<Complex64> = (0..1 << log_slots)
                .map(|_| Complex64::new(rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0)))
                .collect();
            let extend = |z: &Complex64| Complex { re: z.re.into(), im: z.im.into() };
            let (mut a, mut b) = (input.clone(), input.iter().map(extend).collect::<Vec<_>>());
            short.inverse(&mut a);
            long.inverse(&mut b);
            for (a, b) in a.iter().zip(&b) {
                assert!((a - Complex64::new(b.re.to_f64(), b.im.to_f64())).norm() < 1e-15);
            }
            long.forward(&mut b);
            for (z, b) in input.iter().zip(&b) {
                let (re, im) = (b.re - z.re.into(), b.im - z.im.into());
                assert!(re.to_f64().abs() + im.to_f64().abs() < 2f64.powi(-95), "{log_slots}");
            }
        }
    }
}
