//! Even polynomials of degree 28 in six products.

use super::cosine_fit::least_squares;
use crate::backend::RingOps;
use crate::circuits::ckks::{Part, Powers};
use crate::ckks::{Ciphertext, Evaluator, FusedSum, Scaled};
use crate::error::Result;
use crate::rlwe::EvaluationKeys;
use std::collections::BTreeMap;

/// The number of coefficients of a polynomial of degree 14 in t^2.
const COEFFICIENTS: usize = 15;

/// The degrees of u, v, w and x in t, by which parts name them.
const U: usize = 2;
const V: usize = 4;
const W: usize = 8;
const X: usize = 16;

/// A polynomial p of degree 14 in t^2, with its coefficients adapted to a scheme of five products
/// beside t^2, where powers and sums of them by [`Polynomial`](crate::circuits::ckks::Polynomial)
/// take seven:
///
/// - u = 2 t^2 - shift, v = u^2 - center, w = v^2 + slope u - 1, x = w^2 - 1;
/// - q = (q_0 v + q_1 u + q_2) w + q_3 v + q_4 u + q_5;
/// - p = q x + (r_0 v + r_1 u + r_2) w + r_3 v + r_4 u + r_5.
///
/// q and the rest are the quotient and the remainder of p by x, whose degree in u is 8. They have
/// 7 + 8 coefficients, but sums of these six monomials lack those of u^3, and the remainder that of
/// u^7: shift, center and slope are such that these three vanish.
///
/// Source: Knuth, *The Art of Computer Programming*, vol. 2, 4.6.4 (adaptation of coefficients);
/// Rabin, Winograd, *Fast Evaluation of Polynomials by Rational Preparation*, 1972.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Adapted {
    chain: Chain,
    quotient: Sum,
    remainder: Sum,
}

/// The parameters of the polynomials u, v, w and x.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Chain {
    shift: f64,
    center: f64,
    slope: f64,
}

/// (c_0 v + c_1 u + c_2) w + c_3 v + c_4 u + c_5.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sum {
    factor: [f64; 3],
    rest: [f64; 3],
}

/// The start of Newton's method: near shift, center and slope of cosines of two periods on either
/// side of zero.
const START: [f64; 3] = [1.6, 1.15, 0.0];
const STEPS: usize = 50;
/// The step of difference quotients.
const DIFFERENCE: f64 = 1e-6;
/// The greatest coefficient of a usable form; those of `fast` and `small` are below 5.
const GREATEST: f64 = 16.0;

impl Adapted {
    /// The form of c_0 + c_1 T_2(t) + c_2 T_4(t) + ... + c_14 T_28(t), if the search finds one
    /// whose coefficients are small.
    pub fn new(chebyshev: &[f64; COEFFICIENTS]) -> Option<Self> {
        let mut at = START;
        let lacking = |at: [f64; 3]| Chain::of(at).parts(chebyshev).1;
        for _ in 0..STEPS {
            let columns: [[f64; 3]; 3] = std::array::from_fn(|i| {
                let [less, more] = [-DIFFERENCE, DIFFERENCE].map(|step| {
                    let mut moved = at;
                    moved[i] += step;
                    lacking(moved)
                });
                std::array::from_fn(|k| (more[k] - less[k]) / (2.0 * DIFFERENCE))
            });
            let rows = (0..3).map(|k| columns.iter().map(|column| column[k]).collect()).collect();
            let step = least_squares(rows, lacking(at).to_vec());
            at.iter_mut().zip(&step).for_each(|(at, step)| *at -= step);
            if step.iter().all(|step| step.abs() < 1e-12) {
                return Chain::of(at).form(chebyshev).filter(Self::is_usable);
            }
        }
        None
    }

    fn is_usable(&self) -> bool {
        let Chain { shift, center, slope } = self.chain;
        let sums = [self.quotient, self.remainder].into_iter();
        let mut all = sums.flat_map(|sum| [sum.factor, sum.rest].concat()).chain([shift, center, slope]);
        all.all(|c| c.abs() < GREATEST)
    }

    /// p(t), in float64.
    #[cfg(test)]
    fn apply_plain(&self, t: f64) -> f64 {
        let values @ [_, _, _, x] = self.chain.values(t);
        self.quotient.at(values) * x + self.remainder.at(values)
    }

    /// The root mean square error of p(t) beside that of each rounding, if all roundings err alike
    /// and independently.
    pub fn amplification(&self, t: f64) -> f64 {
        let values @ [u, v, w, x] = self.chain.values(t);
        let (q, r) = (&self.quotient, &self.remainder);
        let quotient = q.at(values);
        // The derivatives by x, w, v and u, of which each follows from those before.
        let by_x = quotient;
        let by_w = q.factor_at(values) * x + r.factor_at(values) + by_x * 2.0 * w;
        let by_v = (q.factor[0] * w + q.rest[0]) * x + r.factor[0] * w + r.rest[0] + by_w * 2.0 * v;
        let by_u = (q.factor[1] * w + q.rest[1]) * x
            + (r.factor[1] * w + r.rest[1])
            + by_v * 2.0 * u
            + by_w * self.chain.slope;
        // The derivatives by q and by both factors of w, and the last sum's own.
        let all = [by_u, by_v, by_w, by_x, x, w * x, w, 1.0];
        libm::sqrt(all.iter().map(|derivative| derivative * derivative).sum())
    }

    /// p of every slot, five levels lower.
    ///
    /// # Errors
    /// The errors of sums of products: missing levels or relinearisation key, mismatch of keys or
    /// ring, device errors.
    pub fn apply<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        t: Ciphertext<B>,
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        let square = |y: &Scaled<B>, factor: i64, terms: Vec<(&Scaled<B>, f64)>, constant: f64| {
            let rest = FusedSum { products: Vec::new(), factor, terms, constant };
            ev.fused_product([y, y], rest, keys)
        };
        let Chain { shift, center, slope } = self.chain;
        // Doubled before the division, so that its rounding is not.
        let u = square(&ev.scaled(t)?, 2, Vec::new(), -shift)?;
        let v = square(&u, 1, Vec::new(), -center)?;
        let w = square(&v, 1, vec![(&u, slope)], -1.0)?;
        let x = square(&w, 1, Vec::new(), -1.0)?;
        let chain = BTreeMap::from([(U, u), (V, v), (W, w), (X, x)]);
        Powers::of(ev, chain, keys).value(&self.part())
    }

    /// The relinearisations of the chain and of the sums of products.
    pub fn relinearisations(&self) -> usize {
        [U, V, W, X].len() + self.part().relinearisations()
    }

    /// p as a sum of products of the chain's polynomials.
    fn part(&self) -> Part {
        let mut part = self.remainder.part();
        part.products.push((X, self.quotient.part()));
        part
    }
}

impl Sum {
    fn factor_at(&self, [u, v, _, _]: [f64; 4]) -> f64 {
        self.factor[0] * v + self.factor[1] * u + self.factor[2]
    }

    fn at(&self, values @ [u, v, w, _]: [f64; 4]) -> f64 {
        self.factor_at(values) * w + self.rest[0] * v + self.rest[1] * u + self.rest[2]
    }

    fn part(&self) -> Part {
        let of =
            |[v, u, constant]: [f64; 3]| Part { products: Vec::new(), terms: vec![(V, v), (U, u)], constant };
        Part { products: vec![(W, of(self.factor))], ..of(self.rest) }
    }

    /// The sum for a polynomial in u of degree 6, and its coefficient of u^3 that the sum lacks.
    fn of(mut polynomial: Vec<f64>, [u, v, w]: [&[f64]; 3]) -> (Self, f64) {
        let mut take = |from: &[f64]| {
            let degree = from.len() - 1;
            let c = polynomial[degree] / from[degree];
            from.iter().zip(&mut polynomial).for_each(|(from, left)| *left -= c * from);
            c
        };
        let factor = [take(&product(v, w)), take(&product(u, w)), take(w)];
        let lacking = take(&[0.0, 0.0, 0.0, 1.0]);
        let rest = [take(v), take(u), take(&[1.0])];
        (Self { factor, rest }, lacking)
    }
}

impl Chain {
    fn of([shift, center, slope]: [f64; 3]) -> Self {
        Self { shift, center, slope }
    }

    /// u, v, w and x.
    fn values(&self, t: f64) -> [f64; 4] {
        let u = 2.0 * t * t - self.shift;
        let v = u * u - self.center;
        let w = v * v + self.slope * u - 1.0;
        [u, v, w, w * w - 1.0]
    }

    /// The same as polynomials in u.
    fn polynomials(&self) -> [Vec<f64>; 4] {
        let u = vec![0.0, 1.0];
        let v = vec![-self.center, 0.0, 1.0];
        let mut w = product(&v, &v);
        w[0] -= 1.0;
        w[1] += self.slope;
        let mut x = product(&w, &w);
        x[0] -= 1.0;
        [u, v, w, x]
    }

    /// The quotient and the remainder of a polynomial by x, and what their sums lack.
    fn parts(&self, chebyshev: &[f64; COEFFICIENTS]) -> ([Sum; 2], [f64; 3]) {
        let [u, v, w, x] = self.polynomials();
        let mut left = in_monomials(chebyshev, self.shift - 1.0);
        let mut quotient = vec![0.0; COEFFICIENTS + 1 - x.len()];
        for (k, c) in quotient.iter_mut().enumerate().rev() {
            *c = left[k + x.len() - 1];
            x.iter().zip(&mut left[k..]).for_each(|(x, left)| *left -= *c * x);
        }
        let highest = left[x.len() - 2];
        left.truncate(x.len() - 2);
        let [(quotient, in_quotient), (rest, in_rest)] = [quotient, left].map(|p| Sum::of(p, [&u, &v, &w]));
        ([quotient, rest], [highest, in_quotient, in_rest])
    }

    /// The form, if no sum lacks anything.
    fn form(self, chebyshev: &[f64; COEFFICIENTS]) -> Option<Adapted> {
        let ([quotient, remainder], lacking) = self.parts(chebyshev);
        let complete = lacking.iter().all(|c| c.abs() < 1e-11);
        complete.then_some(Adapted { chain: self, quotient, remainder })
    }
}

/// The coefficients in powers of u of c_0 T_0(z) + c_1 T_1(z) + ... for z = u + offset.
///
/// With z = 2 t^2 - 1 = u + shift - 1, T_k(z) is T_2k(t).
fn in_monomials(chebyshev: &[f64; COEFFICIENTS], offset: f64) -> Vec<f64> {
    let mut sum = vec![0.0; COEFFICIENTS];
    let (mut now, mut next) = (vec![1.0], vec![offset, 1.0]);
    for c in chebyshev {
        now.iter().zip(&mut sum).for_each(|(now, sum)| *sum += c * now);
        // T_(k + 1) = 2 z T_k - T_(k - 1).
        let mut after = product(&next, &[2.0 * offset, 2.0]);
        now.iter().zip(&mut after).for_each(|(now, after)| *after -= now);
        (now, next) = (next, after);
    }
    sum
}

fn product(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut c = vec![0.0; a.len() + b.len() - 1];
    for (i, a) in a.iter().enumerate() {
        b.iter().zip(&mut c[i..]).for_each(|(b, c)| *c += a * b);
    }
    c
}

#[cfg(test)]
mod tests {
    use super::super::{cosine_fit::fit, overflow::log2_integer};
    use super::*;
    use rand::RngExt;
    use std::f64::consts::TAU;

    /// The cosine of up to `periods` periods, fitted as for the bootstrapping of CKKS.
    fn cosine(periods: f64, focus: f64) -> [f64; COEFFICIENTS] {
        let (bound, remainder) = (16, libm::exp2(-10.0));
        let integers: Vec<f64> = (0..=bound).map(|i| log2_integer(33, i)).collect();
        let reach = f64::from(bound) + remainder + 0.25;
        let angle = TAU * periods * reach / f64::from(bound);
        let fitted = fit(&integers, remainder, reach, (angle, 0.8), 28, focus).unwrap();
        std::array::from_fn(|k| fitted.coefficients()[2 * k])
    }

    fn chebyshev(coefficients: &[f64], t: f64) -> f64 {
        let angle = libm::acos(2.0 * t * t - 1.0);
        coefficients.iter().zip(0..).map(|(c, k)| c * libm::cos(f64::from(k) * angle)).sum()
    }

    #[test]
    fn adapted_polynomials_are_the_same() {
        for focus in [0.2, 0.25, 0.3, 0.4] {
            let coefficients = cosine(2.0, focus);
            let adapted = Adapted::new(&coefficients).unwrap();
            for t in (0..=1000).map(|k| f64::from(k) / 500.0 - 1.0) {
                let error = adapted.apply_plain(t) - chebyshev(&coefficients, t);
                assert!(error.abs() < 1e-12, "{focus}, {t}: {error}");
            }
        }
    }

    /// A cosine of one period has leading coefficients so small that other methods are better.
    #[test]
    fn ill_conditioned_forms_are_refused() {
        for (periods, focus) in [(1.0, 0.0), (1.0, 0.3), (0.5, 0.0)] {
            assert_eq!(Adapted::new(&cosine(periods, focus)), None, "{periods}, {focus}");
        }
        assert_eq!(Adapted::new(&[0.0; COEFFICIENTS]), None);
        assert_eq!(Adapted::new(&[f64::NAN; COEFFICIENTS]), None);
    }

    /// Against errors that are added to every step.
    #[test]
    fn amplification_is_that_of_random_errors() {
        let adapted = Adapted::new(&cosine(2.0, 0.25)).unwrap();
        let mut rng = crate::testing::seeded();
        for i in 0..=10 {
            let t = (f64::from(i) - 0.25) / 16.25;
            let size = 1e-7;
            let mut off = || size * (rng.random::<f64>() - 0.5) * libm::sqrt(12.0);
            let trials = 20_000;
            let mut squares = 0.0;
            for _ in 0..trials {
                let Adapted { chain, quotient, remainder } = &adapted;
                let u = 2.0 * t * t - chain.shift + off();
                let v = u * u - chain.center + off();
                let w = v * v + chain.slope * u - 1.0 + off();
                let x = w * w - 1.0 + off();
                let mut sum = |sum: &Sum| {
                    let [c0, c1, c2] = sum.factor;
                    let factor = c0 * v + c1 * u + c2 + off();
                    factor * w + sum.rest[0] * v + sum.rest[1] * u + sum.rest[2] + off()
                };
                let error = sum(quotient) * x + sum(remainder) - adapted.apply_plain(t);
                squares += error * error;
            }
            let ratio = libm::sqrt(squares / f64::from(trials)) / size / adapted.amplification(t);
            assert!((ratio - 1.0).abs() < 0.05, "{i}: {ratio}");
        }
    }
}
