//! Polynomials with complex coefficients.

use super::plan::{Part, Plan, TURNED, levels};
use super::powers::Powers;
use crate::backend::RingOps;
use crate::ckks::{Ciphertext, Evaluator};
use crate::error::Result;
use crate::ring::{Eval, Poly};
use crate::rlwe::EvaluationKeys;
use num_complex::Complex64;
use std::collections::BTreeMap;

/// Polynomials with complex coefficients of one value, from one set of powers.
///
/// A coefficient a + b i times a power x^k is a x^k + b (i x^k), where i x^k is x^k times
/// X^(N/2), exactly and without a key: sums have twice as many terms as for real coefficients,
/// and as many relinearisations.
#[derive(Clone, Debug)]
pub(crate) struct ComplexPolynomials {
    /// Whether coefficients are those of 1, T_1(x), T_2(x) ... instead of 1, x, x^2 ...
    chebyshev: bool,
    depth: usize,
    plan: Plan,
}

/// The sensitivity of a polynomial's value to errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sensitivity {
    /// The derivative by x, as a magnitude.
    pub slope: f64,
    /// The root mean square error of the value beside that of each rounding on the way, if all
    /// roundings err alike and independently.
    pub roundings: f64,
}

impl ComplexPolynomials {
    /// sum_k c_k x^k for each list of coefficients, which has two at least, of which the first is
    /// real.
    pub(crate) fn power(coefficients: &[Vec<Complex64>]) -> Self {
        Self::new(coefficients, false)
    }

    /// sum_k c_k T_k(x) likewise, for x in \[-1, 1\].
    pub(crate) fn chebyshev(coefficients: &[Vec<Complex64>]) -> Self {
        Self::new(coefficients, true)
    }

    fn new(coefficients: &[Vec<Complex64>], chebyshev: bool) -> Self {
        let parts = |c: &Vec<Complex64>| {
            [c.iter().map(|c| c.re).collect::<Vec<_>>(), c.iter().map(|c| c.im).collect()]
        };
        let parts: Vec<[Vec<f64>; 2]> = coefficients.iter().map(parts).collect();
        let depth = coefficients.iter().map(|c| levels(c.len().saturating_sub(1))).max().unwrap_or(0);
        Self { chebyshev, depth, plan: Plan::cheapest_complex(&parts, chebyshev) }
    }

    /// ceil(log2(degree + 1)) for the highest degree.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// The products and sums of products that [`apply`](Self::apply) relinearises.
    pub(crate) fn relinearisations(&self) -> usize {
        self.plan.relinearisations()
    }

    /// The values of all polynomials on every slot, each as many levels lower as its degree takes.
    /// `unit` is X^(N/2) over the primes of x.
    ///
    /// # Errors
    /// The same as for [`Polynomial::apply`](super::Polynomial::apply).
    pub(crate) fn apply<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        x: Ciphertext<B>,
        unit: &Poly<Eval, B>,
        keys: &EvaluationKeys<B>,
    ) -> Result<Vec<Ciphertext<B>>> {
        let zero = match self.plan.rests().any(|part| part.as_constant().is_some()) {
            true => {
                let level = x.level().saturating_sub(self.depth);
                Some(ev.mul_integer(&ev.mod_switch_to(&x, level)?, 0)?)
            }
            false => None,
        };
        let powers = Powers::new(ev, x, &self.plan, self.chebyshev, keys)?;
        let powers = powers.with_turned(&self.plan, unit)?;
        let value = |part: &Part| match (part.as_constant(), &zero) {
            (Some(constant), Some(zero)) => ev.add_scalar(zero, Complex64::new(constant, 0.0)),
            _ => powers.value(part),
        };
        self.plan.rests().map(value).collect()
    }

    /// The values in float64.
    pub(crate) fn apply_plain(&self, x: Complex64) -> Vec<Complex64> {
        let powers = self.powers_plain(x);
        let power = |k: usize| powers[k];
        self.plan.rests().map(|part| value(part, &power)).collect()
    }

    /// The sensitivity of each polynomial at x, by derivatives from the value back to x.
    pub(crate) fn sensitivities(&self, x: Complex64) -> Vec<Sensitivity> {
        self.plan.rests().map(|part| self.sensitivity(part, x)).collect()
    }

    fn sensitivity(&self, part: &Part, x: Complex64) -> Sensitivity {
        let powers = self.powers_plain(x);
        let power = |k: usize| powers[k];
        let mut by = BTreeMap::new();
        let mut squares = derivatives(part, Complex64::ONE, &power, &mut by);
        let chain: Vec<_> = self.plan.chain().collect();
        for (k, (m, n)) in chain.into_iter().rev() {
            let Some(&own) = by.get(&k) else { continue };
            squares += own.norm_sqr();
            let factor = if self.chebyshev { 2.0 * own } else { own };
            *by.entry(m).or_default() += factor * power(n);
            *by.entry(n).or_default() += factor * power(m);
            if self.chebyshev && m > n {
                *by.entry(m - n).or_default() -= own;
            }
        }
        let slope = by.get(&1).map_or(0.0, |by| libm::sqrt(by.norm_sqr()));
        Sensitivity { slope, roundings: libm::sqrt(squares) }
    }

    /// All x^k, or T_k(x), up to the greatest degree of this depth.
    fn powers_plain(&self, x: Complex64) -> Vec<Complex64> {
        let mut powers = vec![Complex64::ONE, x];
        for k in 2..1usize << self.depth {
            let [before, now] = [powers[k - 2], powers[k - 1]];
            powers.push(if self.chebyshev { 2.0 * x * now - before } else { x * now });
        }
        powers
    }
}

/// The value of a term's power, which may be one times i.
fn term(k: usize, power: &impl Fn(usize) -> Complex64) -> Complex64 {
    let value = power(k & !TURNED);
    if k & TURNED == 0 { value } else { Complex64::I * value }
}

fn value(part: &Part, power: &impl Fn(usize) -> Complex64) -> Complex64 {
    let products = part.products.iter().map(|(k, factor)| power(*k) * value(factor, power));
    let terms = part.terms.iter().map(|(k, c)| *c * term(*k, power));
    part.constant + products.chain(terms).sum::<Complex64>()
}

/// Adds the derivatives by powers of `outer` times the part to `by`, and returns the sum of squares
/// of those by its own rounding and by those of its factors.
fn derivatives(
    part: &Part,
    outer: Complex64,
    power: &impl Fn(usize) -> Complex64,
    by: &mut BTreeMap<usize, Complex64>,
) -> f64 {
    let mut squares = outer.norm_sqr();
    for &(k, c) in &part.terms {
        let turned = if k & TURNED == 0 { Complex64::ONE } else { Complex64::I };
        *by.entry(k & !TURNED).or_default() += outer * c * turned;
    }
    for (k, factor) in &part.products {
        *by.entry(*k).or_default() += outer * value(factor, power);
        squares += derivatives(factor, outer * power(*k), power, by);
    }
    squares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::seeded;
    use rand::RngExt;

    fn random(degree: usize) -> Vec<Complex64> {
        let mut rng = seeded();
        let mut part = || rng.random_range(-1.0..1.0);
        let mut all: Vec<_> = (0..=degree).map(|_| Complex64::new(part(), part())).collect();
        all[0].im = 0.0;
        all
    }

    /// Plans against sums of powers, at all degrees up to 40 and some above.
    #[test]
    fn plans_compose_the_polynomials() {
        for degree in (1..=40).chain([63, 64, 127, 255]) {
            let both = [random(degree), random(degree)];
            for chebyshev in [false, true] {
                let polynomials = ComplexPolynomials::new(&both, chebyshev);
                let x = if chebyshev { Complex64::new(0.7, 0.0) } else { Complex64::from_polar(1.0, 0.3) };
                let powers = polynomials.powers_plain(x);
                let expected = both.each_ref().map(|c| {
                    let terms = c.iter().zip(&powers).map(|(c, power)| c * power);
                    terms.sum::<Complex64>()
                });
                for (found, expected) in polynomials.apply_plain(x).iter().zip(expected) {
                    assert!((found - expected).norm() < 1e-9, "{degree}: {found} and {expected}");
                }
            }
        }
    }

    /// As many as real polynomials of the same degrees take, and three more for a second one of
    /// degree 15.
    #[test]
    fn relinearisations_are_few() {
        let of = |degrees: &[usize]| {
            let all: Vec<_> = degrees.iter().map(|&degree| random(degree)).collect();
            ComplexPolynomials::power(&all).relinearisations()
        };
        assert_eq!((of(&[1]), of(&[15]), of(&[15, 15]), of(&[255])), (0, 7, 10, 29));
        assert_eq!(ComplexPolynomials::chebyshev(&[random(31)]).relinearisations(), 10);
    }

    /// Difference quotients give the slope.
    #[test]
    fn slopes_are_derivatives() {
        let polynomials = ComplexPolynomials::power(&[random(15)]);
        let (x, step) = (Complex64::from_polar(1.0, 0.3), 1e-6);
        let at = |x| polynomials.apply_plain(x)[0];
        let slope = (at(x + step) - at(x - step)).norm() / (2.0 * step);
        let found = polynomials.sensitivities(x)[0];
        assert!((found.slope / slope - 1.0).abs() < 1e-6 && found.roundings > 1.0, "{found:?}");
    }
}
