//! The special FFT: between the slots and the coefficients of the canonical embedding (Cheon, Han, Kim, Kim, Song 2018).
//!
//! Slot j of a polynomial m is m(zeta^(5^j)), zeta = exp(i pi / N). With n slots the polynomial lives in X^(N / 2n).
//! Float64 without contraction, in a fixed order of operations, with roots from a portable library: bit-equal everywhere.

use num_complex::Complex64;
use std::sync::Arc;

/// Roots of the transforms of up to `max_slots` slots; a cheap handle.
#[derive(Clone)]
pub struct SpecialFft {
    max_slots: usize,
    /// For the stage of butterflies of distance h: exp(2 pi i (5^j mod 8h) / 8h), j < h, at h + j.
    roots: Arc<[Complex64]>,
}

impl std::fmt::Debug for SpecialFft {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SpecialFft {{ max_slots: {} }}", self.max_slots)
    }
}

impl SpecialFft {
    /// Roots for up to `max_slots` slots, a power of two.
    pub fn new(max_slots: usize) -> Self {
        debug_assert!(max_slots.is_power_of_two());
        let mut roots = vec![Complex64::new(1.0, 0.0); max_slots.max(1)];
        let mut half = 1;
        while half < max_slots {
            let order = 8 * half as u64;
            let mut power = 1u64;
            for j in 0..half {
                roots[half + j] = unit(power, order);
                power = power * 5 % order;
            }
            half *= 2;
        }
        Self { max_slots, roots: roots.into() }
    }

    /// Most slots.
    pub fn max_slots(&self) -> usize {
        self.max_slots
    }

    /// The root table: that of butterfly distance h at h .. 2h.
    pub fn roots(&self) -> &[Complex64] {
        &self.roots
    }

    /// Coefficients c_k + i c_(k + n) to slots, in place; the length is a power of two up to `max_slots`.
    pub fn forward(&self, values: &mut [Complex64]) {
        bit_reverse_permute(values);
        let mut half = 1;
        while half < values.len() {
            let roots = &self.roots[half..2 * half];
            for block in values.chunks_exact_mut(2 * half) {
                let (left, right) = block.split_at_mut(half);
                for ((x, y), w) in left.iter_mut().zip(right).zip(roots) {
                    let (u, v) = (*x, mul(*y, *w));
                    *x = u + v;
                    *y = u - v;
                }
            }
            half *= 2;
        }
    }

    /// Slots to coefficients c_k + i c_(k + n), in place, the factor 1/n included.
    pub fn inverse(&self, values: &mut [Complex64]) {
        let n = values.len();
        let mut half = n / 2;
        while half >= 1 {
            let roots = &self.roots[half..2 * half];
            for block in values.chunks_exact_mut(2 * half) {
                let (left, right) = block.split_at_mut(half);
                for ((x, y), w) in left.iter_mut().zip(right).zip(roots) {
                    let (u, v) = (*x, *y);
                    *x = u + v;
                    *y = mul(u - v, w.conj());
                }
            }
            half /= 2;
        }
        bit_reverse_permute(values);
        let scale = 1.0 / n as f64;
        for value in values {
            *value = Complex64::new(value.re * scale, value.im * scale);
        }
    }
}

/// exp(2 pi i k / order), from the first octant, so that symmetric roots are exactly symmetric.
fn unit(k: u64, order: u64) -> Complex64 {
    let eighths = 8 * (k % order);
    let (octant, rest) = (eighths / order, eighths % order);
    let angle = |rest: u64| core::f64::consts::FRAC_PI_4 * (rest as f64 / order as f64);
    // Odd octants are mirrored at their upper end.
    let (sin, cos) = if octant.is_multiple_of(2) {
        libm::sincos(angle(rest))
    } else {
        let (sin, cos) = libm::sincos(angle(order - rest));
        (cos, sin)
    };
    let (re, im) = match octant / 2 {
        0 => (cos, sin),
        1 => (-sin, cos),
        2 => (-cos, -sin),
        _ => (sin, -cos),
    };
    Complex64::new(re, im)
}

/// The product by its four real products: no contraction, no special cases.
#[inline(always)]
fn mul(x: Complex64, y: Complex64) -> Complex64 {
    Complex64::new(x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re)
}

fn bit_reverse_permute(values: &mut [Complex64]) {
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
}
