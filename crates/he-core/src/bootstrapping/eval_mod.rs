//! The reduction modulo one, as a polynomial.

use super::adapted::Adapted;
use super::cosine_fit::fit;
use super::overflow::log2_integer;
use crate::backend::RingOps;
use crate::circuits::Requirements;
use crate::circuits::ckks::Polynomial;
use crate::ckks::{Ciphertext, Evaluator, FusedSum};
use crate::error::Result;
use crate::rlwe::EvaluationKeys;
use num_complex::Complex64;
use std::f64::consts::TAU;

/// x -> amplitude (x mod 1), for x near an integer of magnitude up to `bound`, where x mod 1 lies
/// in \[-1/2, 1/2).
///
/// It is computed as amplitude / (2 pi) sin(2 pi x), whose error for a remainder f is
/// (2 pi f)^2 / 6 of the value, and with the arcsine's first two terms 3 (2 pi f)^4 / 40 of it. The
/// sine is that of a cosine of an angle smaller by 2^doublings, doubled as often:
/// cos(2 a) = 2 cos(a)^2 - 1. The cosine is an even polynomial in (x - 1/4) / reach.
///
/// Source: Cheon, Han, Kim, Kim, Song, *Bootstrapping for Approximate Homomorphic Encryption*,
/// 2018 (the sine); Han, Ki, *Better Bootstrapping for Approximate Homomorphic Encryption*, 2020
/// (the cosine, and doubling its angle); Bossuat, Mouchet, Troncoso-Pastoriza, Hubaux, 2021 (the
/// arcsine).
#[derive(Clone, Debug)]
pub struct EvalMod {
    shape: EvalModShape,
    /// c_0 cos(2 pi reach t / 2^doublings), for t = (x - 1/4) / reach.
    cosine: Polynomial,
    /// The same cosine in fewer products, if it has such a form.
    adapted: Option<Adapted>,
    /// c_0, the cosine's amplitude.
    root: f64,
    /// The constants that the doublings subtract from 2 y^2: c_1 = c_0^2, c_2 = c_1^2 ... of which
    /// the last is the sine's amplitude. To that is added what the sine at an integer would be on
    /// average, which would add up over many refreshes.
    subtracted: Vec<f64>,
    arcsine: Option<Polynomial>,
    reach: f64,
    remainder: f64,
    amplitude: f64,
}

/// The approximation of the reduction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EvalModShape {
    /// The greatest magnitude of the integer that is removed.
    pub bound: u32,
    /// The degree of the cosine's polynomial, even.
    pub degree: usize,
    /// The number of times that the cosine's angle is doubled.
    pub doublings: u32,
    /// Whether the arcsine follows.
    pub arcsine: bool,
    /// The weight of the frequent integers in the polynomial's fit against the rare ones: an
    /// integer weighs its probability to this power. 0 makes all alike.
    pub focus: f64,
}

impl EvalModShape {
    /// The levels that it takes.
    pub fn depth(&self) -> usize {
        let cosine = (self.degree + 1).next_power_of_two().ilog2();
        (cosine + self.doublings) as usize + if self.arcsine { 2 } else { 0 }
    }
}

impl EvalMod {
    /// For remainders of magnitude up to `remainder` < 1/4 and a positive amplitude, where integers
    /// are sums of `summands` uniform numbers in \[-1/2, 1/2), rounded.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for a degree above
    /// [`Polynomial::MAX_DEGREE`].
    pub fn new(shape: EvalModShape, summands: u32, remainder: f64, amplitude: f64) -> Result<Self> {
        // The interval of x - 1/4 is [-bound - remainder - 1/4, bound + remainder - 1/4].
        let reach = f64::from(shape.bound) + remainder + 0.25;
        let last = amplitude / TAU;
        let root = libm::pow(last, libm::exp2(-f64::from(shape.doublings)));
        let mut subtracted: Vec<f64> = std::iter::successors(Some(root * root), |c| Some(c * c))
            .take(shape.doublings as usize)
            .collect();
        let angle = TAU * reach * libm::exp2(-f64::from(shape.doublings));
        let integers: Vec<f64> = (0..=shape.bound).map(|i| log2_integer(summands, i)).collect();
        let mut cosine = fit(&integers, remainder, reach, (angle, root), shape.degree, shape.focus)?;
        let at = |integer: f64| sine(&cosine, &subtracted, (integer - 0.25) / reach);
        let terms = integers
            .iter()
            .zip(0..)
            .map(|(log2, i)| libm::exp2(*log2) * 0.5 * (at(f64::from(i)) + at(-f64::from(i))));
        let mean: f64 = terms.sum();
        match subtracted.last_mut() {
            Some(last) => *last += mean,
            None => cosine = cosine.plus(-mean)?,
        }
        let even: Vec<f64> = cosine.coefficients().iter().copied().step_by(2).collect();
        let adapted = even.try_into().ok().and_then(|even| Adapted::new(&even));
        // y (1 + y^2 / (6 c^2)) for y = c sin.
        let arcsine = shape
            .arcsine
            .then(|| Polynomial::power(&[0.0, 1.0, 0.0, 1.0 / (6.0 * last * last)]))
            .transpose()?;
        Ok(Self { shape, cosine, adapted, root, subtracted, arcsine, reach, remainder, amplitude })
    }

    /// The factor of the argument of [`apply`](Self::apply): x = reach t.
    pub fn reach(&self) -> f64 {
        self.reach
    }

    /// The factor of x mod 1 in the result.
    pub fn amplitude(&self) -> f64 {
        self.amplitude
    }

    /// The greatest error of [`apply_plain`](Self::apply_plain) near `integer` and its negative,
    /// beside amplitude (x mod 1): what the arithmetic of ciphertexts adds is not in it.
    pub fn error(&self, integer: u32) -> f64 {
        let near = |i: f64, f: f64| (self.apply_plain((i + f) / self.reach) - self.amplitude * f).abs();
        let offsets = (-8..=8).map(|k| f64::from(k) / 8.0 * self.remainder);
        let i = f64::from(integer);
        offsets.map(|f| near(i, f).max(near(-i, f))).fold(0.0, f64::max)
    }

    /// The error that the roundings of the cosine, of the doublings and of the arcsine leave in the
    /// result near `integer`, as root mean square: `rounding` is what one leaves in a slot of a
    /// level, counted up from the result's.
    pub(super) fn noise(&self, integer: u32, rounding: impl Fn(usize) -> f64) -> f64 {
        let after = self.shape.doublings as usize + if self.shape.arcsine { 2 } else { 0 };
        let t = (f64::from(integer) - 0.25) / self.reach;
        let amplification = match &self.adapted {
            Some(adapted) => adapted.amplification(t),
            None => {
                // The last sum of the cosine, and those of T_2, T_4, T_8 ..., each times the
                // derivative by it: that by T_2 is a quarter of that by t, over t, and each next
                // one a quarter of the one before.
                let angle = TAU * self.reach * libm::exp2(-f64::from(self.shape.doublings));
                let slope = self.root * angle * libm::sin(angle * t) / (4.0 * t);
                libm::sqrt(1.0 + slope * slope * 16.0 / 15.0)
            }
        };
        let mut noise = rounding(after) * amplification;
        let mut y = self.cosine.apply_plain(t);
        for (i, c) in self.subtracted.iter().enumerate() {
            noise = libm::hypot(4.0 * y * noise, rounding(after - 1 - i));
            y = 2.0 * y * y - c;
        }
        if self.shape.arcsine { libm::hypot(noise, 2.0 * rounding(0)) } else { noise }
    }

    /// Levels, and the relinearisation key.
    pub fn requirements(&self) -> Requirements {
        Requirements { depth: self.shape.depth(), ..self.cosine.requirements() }
    }

    /// The relinearisations that it computes, which are most of its cost.
    pub fn relinearisations(&self) -> usize {
        let of = Polynomial::relinearisations;
        let cosine = self.adapted.as_ref().map_or_else(|| of(&self.cosine), Adapted::relinearisations);
        cosine + self.shape.doublings as usize + self.arcsine.as_ref().map_or(0, of)
    }

    /// The value that [`apply`](Self::apply) approximates, in float64.
    pub fn apply_plain(&self, t: f64) -> f64 {
        let sine = sine(&self.cosine, &self.subtracted, t - 0.25 / self.reach);
        self.arcsine.as_ref().map_or(sine, |arcsine| arcsine.apply_plain(sine))
    }

    /// Evaluates it on every slot, for real x / [`reach`](Self::reach).
    ///
    /// # Errors
    /// The same as for [`Polynomial::apply`].
    pub fn apply<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        ct: &Ciphertext<B>,
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        let shifted = ev.add_scalar(ct, Complex64::new(-0.25 / self.reach, 0.0))?;
        let mut y = match &self.adapted {
            Some(adapted) => {
                self.cosine.requirements().check(shifted.level(), keys)?;
                adapted.apply(ev, shifted, keys)?
            }
            None => self.cosine.apply(ev, &shifted, keys)?,
        };
        for c in &self.subtracted {
            let y_scaled = ev.scaled(y)?;
            // Doubled before the division, so that its rounding is not.
            let rest = FusedSum { products: Vec::new(), factor: 2, terms: Vec::new(), constant: -c };
            y = ev.fused_product([&y_scaled; 2], rest, keys)?.into_ciphertext();
        }
        match &self.arcsine {
            Some(arcsine) => arcsine.apply(ev, &y, keys),
            None => Ok(y),
        }
    }
}

/// The cosine of t, with its angle doubled as often as something is subtracted.
fn sine(cosine: &Polynomial, subtracted: &[f64], t: f64) -> f64 {
    subtracted.iter().fold(cosine.apply_plain(t), |y, c| 2.0 * y * y - c)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// log2 of the greatest error of x mod 1 near each integer, for remainders up to 2^-10; the
    /// sine's own error is taken out.
    fn errors(shape: EvalModShape) -> Vec<f64> {
        let remainder = libm::exp2(-10.0);
        let map = EvalMod::new(shape, 33, remainder, 1.0).unwrap();
        let error = |integer: f64, f: f64| {
            let exact = if shape.arcsine { f } else { libm::sin(TAU * f) / TAU };
            (map.apply_plain((integer + f) / map.reach()) - exact).abs()
        };
        let near = |i: u32| {
            let offsets = (-8..=8).map(|k| f64::from(k) / 8.0 * remainder);
            let worst = offsets.map(|f| error(f64::from(i), f).max(error(-f64::from(i), f)));
            libm::log2(worst.fold(0.0, f64::max))
        };
        (0..=shape.bound).map(near).collect()
    }

    /// The error of each integer, beside those of another program (NumPy's least squares by
    /// singular values, with the same weights).
    #[test]
    fn frequent_integers_are_removed_best() {
        let shape = EvalModShape { bound: 16, degree: 30, doublings: 3, arcsine: false, focus: 0.5 };
        let found = errors(shape);
        let expected =
            [(0, -43.1), (5, -43.0), (8, -38.5), (10, -38.3), (12, -32.5), (14, -27.5), (16, -10.9)];
        for (i, expected) in expected {
            assert!((found[i] - expected).abs() < 1.0, "{i}: {found:?}");
        }
        let even = errors(EvalModShape { focus: 0.0, ..shape });
        assert!(even.iter().all(|&error| error < -30.0), "{even:?}");
        let doubled = errors(EvalModShape { focus: 0.0, doublings: 4, ..shape });
        assert!(doubled.iter().all(|&error| error < -43.0), "{doubled:?}");
        // The arcsine leaves 3 (2 pi f)^4 / 40 of f, below 2^-43 here.
        let arcsine = errors(EvalModShape { focus: 0.0, doublings: 4, arcsine: true, ..shape });
        assert!(arcsine.iter().all(|&error| error < -42.0), "{arcsine:?}");
    }

    #[test]
    fn depth_is_that_of_the_parts() {
        let shape = EvalModShape { bound: 16, degree: 30, doublings: 3, arcsine: false, focus: 0.5 };
        assert_eq!(shape.depth(), 8);
        assert_eq!(EvalModShape { arcsine: true, doublings: 4, ..shape }.depth(), 11);
    }

    /// Eight for the cosine, three doublings, and two for the arcsine: with one relinearisation per
    /// product, and T_6 from T_3, they were 13 and 15. Six for one of degree 28 whose coefficients
    /// can be adapted.
    #[test]
    fn relinearisations_are_few() {
        let shape = EvalModShape { bound: 16, degree: 30, doublings: 3, arcsine: false, focus: 0.3 };
        let of = |shape| EvalMod::new(shape, 33, libm::exp2(-10.0), 1.0).unwrap().relinearisations();
        assert_eq!((of(shape), of(EvalModShape { arcsine: true, ..shape })), (11, 13));
        let adapted = EvalModShape { degree: 28, ..shape };
        assert_eq!((of(adapted), of(EvalModShape { doublings: 4, ..adapted })), (9, 11));
    }
}
