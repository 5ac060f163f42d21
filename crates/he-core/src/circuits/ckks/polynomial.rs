//! Polynomials of encrypted values.

use crate::backend::RingOps;
use crate::circuits::Requirements;
use crate::ckks::{Ciphertext, Evaluator};
use crate::error::{Error, Result};
use crate::rlwe::{EvaluationKeys, KeyRequirements};
use num_complex::Complex64;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Basis {
    /// 1, x, x^2 ...
    Power,
    /// T_0, T_1, T_2 ... of the image of x under the affine map from `[a, b]` to `[-1, 1]`.
    Chebyshev { a: f64, b: f64 },
}

/// A polynomial with real coefficients in the power basis or in Chebyshev polynomials on an
/// interval.
///
/// The power basis suits small degrees and coefficients; beyond degree 8 or so Chebyshev
/// polynomials keep intermediate values and coefficients small.
#[derive(Clone, Debug, PartialEq)]
pub struct Polynomial {
    basis: Basis,
    /// The coefficients, lowest degree first; the last is not zero unless it is the only one.
    coefficients: Vec<f64>,
}

/// The largest factor of the map to `[-1, 1]` that is an integer multiplication.
const LARGEST_INTEGER: f64 = 1024.0;

impl Polynomial {
    /// The highest degree.
    pub const MAX_DEGREE: usize = 4095;

    fn new(basis: Basis, coefficients: &[f64]) -> Result<Self> {
        if let Some(at) = coefficients.iter().position(|c| !c.is_finite()) {
            return Err(Error::argument("polynomial", format!("coefficient {at} is not a finite number")));
        }
        let length = coefficients.iter().rposition(|&c| c != 0.0).map_or(1, |last| last + 1);
        if length > Self::MAX_DEGREE + 1 {
            let (found, limit) = (length - 1, Self::MAX_DEGREE);
            return Err(Error::domain(
                "polynomial",
                format!("degree {found}"),
                format!("at most {limit} is possible"),
            ));
        }
        let mut coefficients: Vec<f64> = coefficients.iter().take(length).copied().collect();
        coefficients.resize(length, 0.0);
        Ok(Self { basis, coefficients })
    }

    /// sum_i coefficient_i x^i.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for a coefficient that is not finite or a degree
    /// above [`MAX_DEGREE`](Self::MAX_DEGREE).
    pub fn power(coefficients: &[f64]) -> Result<Self> {
        Self::new(Basis::Power, coefficients)
    }

    /// sum_i coefficient_i T_i((2 x - a - b) / (b - a)), for values in `[a, b]`.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) unless a < b and both are finite; the same as
    /// for [`power`](Self::power).
    pub fn chebyshev(coefficients: &[f64], a: f64, b: f64) -> Result<Self> {
        let factor = 2.0 / (b - a);
        if !(factor > 0.0 && factor.is_finite() && (b - a).is_finite()) {
            return Err(Error::domain("interval", format!("[{a}, {b}]"), "finite bounds a < b are needed"));
        }
        Self::new(Basis::Chebyshev { a, b }, coefficients)
    }

    /// Interpolates a function at the Chebyshev nodes of `[a, b]`: near the best approximation of
    /// this degree for smooth functions. Coefficients below 10^-15 of the largest are rounding
    /// errors and become zero, so that even and odd functions give even and odd polynomials.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for a value that is not finite; the same as for
    /// [`chebyshev`](Self::chebyshev).
    pub fn chebyshev_fit(f: impl Fn(f64) -> f64, degree: usize, a: f64, b: f64) -> Result<Self> {
        if degree > Self::MAX_DEGREE {
            let limit = Self::MAX_DEGREE;
            return Err(Error::domain(
                "polynomial",
                format!("degree {degree}"),
                format!("at most {limit} is possible"),
            ));
        }
        // The interval is checked before the function could be called outside its domain.
        Self::chebyshev(&[0.0], a, b)?;
        let count = degree + 1;
        // cos(pi j (2 k + 1) / (2 count)), the argument reduced exactly.
        let cosine = |j: usize, k: usize| {
            let turn = j * (2 * k + 1) % (4 * count);
            libm::cos(std::f64::consts::PI * turn as f64 / (2 * count) as f64)
        };
        let samples: Vec<f64> = (0..count).map(|k| f(0.5 * (a + b) + 0.5 * (b - a) * cosine(1, k))).collect();
        if let Some(k) = samples.iter().position(|y| !y.is_finite()) {
            let x = 0.5 * (a + b) + 0.5 * (b - a) * cosine(1, k);
            return Err(Error::argument("function", format!("its value at {x} is not a finite number")));
        }
        let mut coefficients: Vec<f64> = (0..count)
            .map(|j| {
                let sum: f64 = samples.iter().enumerate().map(|(k, y)| y * cosine(j, k)).sum();
                sum * if j == 0 { 1.0 } else { 2.0 } / count as f64
            })
            .collect();
        let largest = coefficients.iter().fold(0f64, |most, c| most.max(c.abs()));
        for c in coefficients.iter_mut().filter(|c| c.abs() < 1e-15 * largest) {
            *c = 0.0;
        }
        Self::chebyshev(&coefficients, a, b)
    }

    /// The degree, which is that of the last coefficient that is not zero.
    pub fn degree(&self) -> usize {
        self.coefficients.len() - 1
    }

    /// The coefficients, lowest degree first.
    pub fn coefficients(&self) -> &[f64] {
        &self.coefficients
    }

    /// The value at x in float64, by Horner's or Clenshaw's rule.
    pub fn apply_plain(&self, x: f64) -> f64 {
        match self.basis {
            Basis::Power => self.coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c),
            Basis::Chebyshev { a, b } => {
                let x = (2.0 * x - a - b) / (b - a);
                let (mut next, mut after) = (0.0, 0.0);
                for c in self.coefficients[1..].iter().rev() {
                    (next, after) = (c + 2.0 * x * next - after, next);
                }
                self.coefficients[0] + x * next - after
            }
        }
    }

    /// The map to `[-1, 1]` as (factor, offset).
    fn map(&self) -> (f64, f64) {
        match self.basis {
            Basis::Power => (1.0, 0.0),
            Basis::Chebyshev { a, b } => (2.0 / (b - a), -(a + b) / (b - a)),
        }
    }

    /// Whether the factor of the map is applied by [`Evaluator::mul_integer`], without a level.
    #[expect(clippy::disallowed_methods, reason = "coefficients in the clear are public")]
    fn integer_map(&self) -> bool {
        let (factor, _) = self.map();
        factor == factor.floor() && factor <= LARGEST_INTEGER
    }

    /// ceil(log2(degree + 1)) levels, and one more for the map from `[a, b]` to `[-1, 1]` unless
    /// 2 / (b - a) is an integer up to 1024 (as for `[-1, 1]` and `[0, 1]`) or the degree is 0.
    /// Relinearisation is needed from degree 2 on, and rotations are not.
    pub fn requirements(&self) -> Requirements {
        let degree = self.degree();
        let map = usize::from(degree > 0 && !self.integer_map());
        let keys = KeyRequirements::new();
        let keys = if degree > 1 { keys.relinearisation() } else { keys };
        Requirements { depth: levels(degree) + map, keys }
    }

    /// Evaluates the polynomial on every slot, by the algorithm of Paterson and Stockmeyer (1973)
    /// with the fewest products that keep the depth: about 2 sqrt(degree) products for a full
    /// polynomial, fewer if coefficients are zero.
    ///
    /// Slots with imaginary parts are evaluated as complex numbers, so pack real values only. In
    /// the power basis the magnitude of intermediate values is up to sum |coefficient|
    /// max(1, |x|)^degree; in Chebyshev polynomials, for x within `[a, b]`, about twice
    /// sum |coefficient|; outside the interval it grows like a power, and may exceed the range of
    /// the level unnoticed. Noise grows with the polynomial's derivative; each product adds its
    /// relinearisation and rescale. Coefficients are rounded to multiples of 1 / scale.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`](crate::Error::LevelExhausted),
    /// [`Error::MissingRelinKey`](crate::Error::MissingRelinKey),
    /// [`Error::ParamsMismatch`](crate::Error::ParamsMismatch),
    /// [`Error::ValueTooLarge`](crate::Error::ValueTooLarge) for coefficients; device errors.
    pub fn apply<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        ct: &Ciphertext<B>,
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        self.requirements().check(ct.level(), keys)?;
        let plan = self.plan();
        let mut powers = BTreeMap::new();
        if self.degree() > 0 {
            powers.insert(1, self.mapped(ev, ct)?);
        }
        for power in plan.powers_needed() {
            self.add_power(ev, &mut powers, power, keys)?;
        }
        match plan.evaluate(ev, &powers, keys)? {
            Value::Encrypted(ct) => Ok(ct),
            Value::Constant(c) => ev.add_scalar(&ev.mul_integer(ct, 0)?, Complex64::new(c, 0.0)),
        }
    }

    /// The image of x in `[-1, 1]`.
    fn mapped<B: RingOps>(&self, ev: &Evaluator<B>, ct: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        let (factor, offset) = self.map();
        let scaled = match self.integer_map() {
            true if factor == 1.0 => ct.duplicate()?,
            true => ev.mul_integer(ct, factor as i64)?,
            false => ev.mul_scalar(ct, factor)?,
        };
        if offset == 0.0 { Ok(scaled) } else { ev.add_scalar(&scaled, Complex64::new(offset, 0.0)) }
    }

    /// x^k or T_k from those of both halves of k, which exist, at depth ceil(log2(k)).
    fn add_power<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        powers: &mut BTreeMap<usize, Ciphertext<B>>,
        k: usize,
        keys: &EvaluationKeys<B>,
    ) -> Result<()> {
        let (high, low) = (k.div_ceil(2), k / 2);
        let power = match self.basis {
            Basis::Power => ev.mul(&powers[&high], &powers[&low], keys)?,
            Basis::Chebyshev { .. } => {
                // T_(m + n) = 2 T_m T_n - T_(m - n), doubled before the rescale, so that its
                // rounding is not.
                let double = ev.mul(&ev.mul_integer(&powers[&high], 2)?, &powers[&low], keys)?;
                match high == low {
                    true => ev.add_scalar(&double, Complex64::new(-1.0, 0.0))?,
                    false => ev.sub(&double, &powers[&1])?,
                }
            }
        };
        powers.insert(k, power);
        Ok(())
    }

    /// The plan with the fewest products.
    fn plan(&self) -> Plan {
        let chebyshev = matches!(self.basis, Basis::Chebyshev { .. });
        let degree = self.degree();
        (1..=levels(degree).max(1))
            .map(|log| Plan::new(&self.coefficients, levels(degree), 1 << log, chebyshev))
            .min_by_key(Plan::products)
            .unwrap_or(Plan::Sum { constant: self.coefficients[0], terms: Vec::new() })
    }
}

/// ceil(log2(degree + 1)): the levels of a polynomial of this degree.
fn levels(degree: usize) -> usize {
    (degree + 1).next_power_of_two().ilog2() as usize
}

/// How a polynomial is composed of some powers ("powers" also stands for Chebyshev polynomials).
#[derive(Clone, Debug, PartialEq)]
enum Plan {
    /// constant + sum of coefficient times power: one level below the lowest power.
    Sum { constant: f64, terms: Vec<(usize, f64)> },
    /// quotient times power + remainder.
    Split { power: usize, quotient: Box<Plan>, remainder: Box<Plan> },
}

/// A part of a polynomial.
enum Value<B: RingOps> {
    Constant(f64),
    Encrypted(Ciphertext<B>),
}

impl Plan {
    /// Plans within a budget of levels that fits the degree. Powers below `babies` (a power of two)
    /// and powers of two are available. A sum of them is taken if its depth fits, and everything
    /// else is divided by the highest power of two. A division leaves the quotient, of half the
    /// degree, one level less. The depth is therefore that of the degree, and only the few sums
    /// along the quotients are shortened for it.
    fn new(coefficients: &[f64], budget: usize, babies: usize, chebyshev: bool) -> Self {
        let terms: Vec<(usize, f64)> =
            coefficients.iter().copied().enumerate().skip(1).filter(|(_, c)| *c != 0.0).collect();
        let fits = |k: usize| (k < babies || k.is_power_of_two()) && levels(k - 1) < budget;
        if terms.iter().all(|&(k, _)| fits(k)) {
            return Self::Sum { constant: coefficients.first().copied().unwrap_or(0.0), terms };
        }
        let degree = terms.last().map_or(0, |&(k, _)| k);
        let power = 1 << degree.ilog2();
        let mut quotient = coefficients[power..=degree].to_vec();
        let mut remainder = coefficients[..power].to_vec();
        if chebyshev {
            // T_(n + i) = 2 T_n T_i - T_(n - i).
            for i in 1..quotient.len() {
                remainder[power - i] -= quotient[i];
                quotient[i] *= 2.0;
            }
        }
        Self::Split {
            power,
            quotient: Box::new(Self::new(&quotient, budget - 1, babies, chebyshev)),
            remainder: Box::new(Self::new(&remainder, budget, babies, chebyshev)),
        }
    }

    fn collect_powers(&self, powers: &mut BTreeSet<usize>) {
        match self {
            Self::Sum { terms, .. } => powers.extend(terms.iter().map(|(k, _)| k)),
            Self::Split { power, quotient, remainder } => {
                powers.insert(*power);
                quotient.collect_powers(powers);
                remainder.collect_powers(powers);
            }
        }
    }

    /// All powers from 2 on, including intermediate ones, in ascending order.
    fn powers_needed(&self) -> BTreeSet<usize> {
        let (mut used, mut all) = (BTreeSet::new(), BTreeSet::new());
        self.collect_powers(&mut used);
        while let Some(k) = used.pop_last() {
            if k > 1 {
                all.insert(k);
                used.extend([k / 2, k.div_ceil(2)]);
            }
        }
        all
    }

    fn splits(&self) -> usize {
        match self {
            Self::Sum { .. } => 0,
            Self::Split { quotient, remainder, .. } => {
                usize::from(!quotient.is_constant()) + quotient.splits() + remainder.splits()
            }
        }
    }

    fn is_constant(&self) -> bool {
        matches!(self, Self::Sum { terms, .. } if terms.is_empty())
    }

    /// The number of products of two ciphertexts.
    fn products(&self) -> usize {
        self.powers_needed().len() + self.splits()
    }

    fn evaluate<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        powers: &BTreeMap<usize, Ciphertext<B>>,
        keys: &EvaluationKeys<B>,
    ) -> Result<Value<B>> {
        let (sum, rest) = match self {
            Self::Sum { constant, terms } if terms.is_empty() => return Ok(Value::Constant(*constant)),
            Self::Sum { constant, terms } => {
                let terms: Vec<_> = terms.iter().map(|(k, c)| (&powers[k], *c)).collect();
                (ev.linear_combination(&terms)?, Value::Constant(*constant))
            }
            Self::Split { power, quotient, remainder } => {
                let power = &powers[power];
                let product = match quotient.evaluate(ev, powers, keys)? {
                    Value::Constant(c) => ev.mul_scalar(power, c)?,
                    Value::Encrypted(quotient) => ev.mul(&quotient, power, keys)?,
                };
                (product, remainder.evaluate(ev, powers, keys)?)
            }
        };
        Ok(Value::Encrypted(match rest {
            Value::Constant(0.0) => sum,
            Value::Constant(c) => ev.add_scalar(&sum, Complex64::new(c, 0.0))?,
            Value::Encrypted(rest) => ev.add(&sum, &rest)?,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Cpu;
    use crate::circuits::testing::{Fixture, seeded};
    use rand::RngExt;

    /// Evaluates on 128 values of the interval, and compares values and levels.
    fn check(fixture: &mut Fixture, keys: &EvaluationKeys<Cpu>, polynomial: &Polynomial, a: f64, b: f64) {
        let values: Vec<f64> = (0..128).map(|_| fixture.rng.random_range(a..=b)).collect();
        let slots: Vec<Complex64> = values.iter().map(|&x| Complex64::new(x, 0.0)).collect();
        let ct = fixture.encrypt(&[slots], 128);
        let requirements = polynomial.requirements();
        let out = polynomial.apply(&fixture.ev, &ct, keys).unwrap();
        assert_eq!(ct.level() - out.level(), requirements.depth, "{polynomial:?}");
        let slope = 2.0 / (b - a);
        let total: f64 = polynomial.coefficients().iter().map(|c| c.abs()).sum();
        // Markov's bound on the derivative.
        let bound = 1e-7 + 2e-8 * total * slope.max(1.0) * (polynomial.degree() as f64).powi(2);
        for (x, z) in values.iter().zip(&fixture.decrypt(&out)[0]) {
            let expected = polynomial.apply_plain(*x);
            let error = (z - expected).norm();
            assert!(error < bound, "{polynomial:?} at {x}: {z}, not {expected}: {error:e} > {bound:e}");
        }
    }

    fn relin() -> KeyRequirements {
        KeyRequirements::new().relinearisation()
    }

    fn coefficients(fixture: &mut Fixture, degree: usize, keep: impl Fn(usize) -> bool) -> Vec<f64> {
        let mut c: Vec<f64> =
            (0..=degree).map(|k| if keep(k) { fixture.rng.random_range(-1.0..1.0) } else { 0.0 }).collect();
        c[degree] = 0.5;
        let total: f64 = c.iter().map(|c| c.abs()).sum();
        c.iter().map(|c| c / total).collect()
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "nothing is secret")]
    fn all_degrees_in_both_bases_match() {
        let mut fixture = Fixture::new(8, 8);
        let keys = fixture.keys(relin());
        for degree in (0..=40).chain([63, 64, 100, 127]) {
            let c = coefficients(&mut fixture, degree, |_| true);
            let power = Polynomial::power(&c).unwrap();
            let depth = (degree as f64 + 1.0).log2().ceil() as usize;
            assert_eq!(power.requirements().depth, depth);
            check(&mut fixture, &keys, &power, -1.0, 1.0);
            let chebyshev = Polynomial::chebyshev(&c, -1.0, 1.0).unwrap();
            assert_eq!(chebyshev.requirements().depth, depth);
            check(&mut fixture, &keys, &chebyshev, -1.0, 1.0);
        }
    }

    #[test]
    fn zero_coefficients_and_parity() {
        let mut fixture = Fixture::new(8, 7);
        let keys = fixture.keys(relin());
        for degree in [2, 3, 5, 8, 9, 16, 21, 31, 32, 33, 59, 127] {
            for keep in [|k| k % 2 == 1, |k| k % 2 == 0, |k| k % 5 == 3, |_| false] {
                let c = coefficients(&mut fixture, degree, keep);
                check(&mut fixture, &keys, &Polynomial::power(&c).unwrap(), -1.0, 1.0);
                check(&mut fixture, &keys, &Polynomial::chebyshev(&c, -1.0, 1.0).unwrap(), -1.0, 1.0);
            }
        }
    }

    #[test]
    fn intervals_cost_a_level_unless_the_factor_is_an_integer() {
        let mut fixture = Fixture::new(8, 6);
        let keys = fixture.keys(relin());
        for (a, b, map) in [
            (-1.0, 1.0, 0),
            (0.0, 1.0, 0),
            (4.0, 6.0, 0),
            (-2.0, 2.0, 1),
            (-8.0, 3.0, 1),
            (0.25, 0.75, 0),
            (0.0, 2.0 / 3.3, 1),
        ] {
            for degree in [0, 1, 2, 7, 13, 31] {
                let c = coefficients(&mut fixture, degree, |_| true);
                let polynomial = Polynomial::chebyshev(&c, a, b).unwrap();
                let map = if degree == 0 { 0 } else { map };
                assert_eq!(polynomial.requirements().depth, levels(degree) + map, "[{a}, {b}]");
                check(&mut fixture, &keys, &polynomial, a, b);
            }
        }
    }

    #[test]
    fn fits_approximate() {
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let fit = Polynomial::chebyshev_fit(sigmoid, 31, -8.0, 8.0).unwrap();
        for i in 0..=100 {
            let x = -8.0 + 0.16 * f64::from(i);
            assert!((fit.apply_plain(x) - sigmoid(x)).abs() < 1e-5, "{x}");
        }
        // Odd except for the constant.
        assert!(fit.coefficients().iter().skip(2).step_by(2).all(|&c| c.abs() < 1e-14));
        let odd = Polynomial::chebyshev_fit(f64::sin, 15, -2.0, 2.0).unwrap();
        assert!((odd.apply_plain(1.3) - 1.3f64.sin()).abs() < 1e-12);
        let mut fixture = Fixture::new(8, 6);
        let keys = fixture.keys(relin());
        check(&mut fixture, &keys, &fit, -8.0, 8.0);
        let exact = Polynomial::chebyshev_fit(|x| 3.0 * x * x - x, 9, 1.0, 4.0).unwrap();
        for x in [1.0, 2.2, 4.0] {
            assert!((exact.apply_plain(x) - (3.0 * x * x - x)).abs() < 1e-12);
        }
        assert!(Polynomial::chebyshev_fit(f64::sqrt, 2, -1.0, 1.0).is_err());
        assert!(Polynomial::chebyshev_fit(f64::exp, 2, 1.0, 1.0).is_err());
        assert!(Polynomial::chebyshev_fit(f64::exp, 1 << 20, 0.0, 1.0).is_err());
    }

    #[test]
    fn plain_rules_agree_with_the_definition() {
        let mut rng = seeded();
        for degree in 0..12 {
            let c: Vec<f64> = (0..=degree).map(|_| rng.random_range(-1.0..1.0)).collect();
            let x: f64 = rng.random_range(-1.0..1.0);
            let power: f64 = c.iter().enumerate().map(|(k, c)| c * x.powi(k as i32)).sum();
            assert!((Polynomial::power(&c).unwrap().apply_plain(x) - power).abs() < 1e-12);
            let chebyshev: f64 = c.iter().enumerate().map(|(k, c)| c * (k as f64 * x.acos()).cos()).sum();
            let found = Polynomial::chebyshev(&c, 3.0, 7.0).unwrap().apply_plain(5.0 + 2.0 * x);
            assert!((found - chebyshev).abs() < 1e-12);
        }
    }

    #[test]
    fn products_stay_near_twice_the_root() {
        for degree in [7, 15, 31, 63, 100, 127, 255, 1000, 4095] {
            let polynomial = Polynomial::power(&vec![1.0; degree + 1]).unwrap();
            let products = polynomial.plan().products();
            let bound = 2.0 * ((degree + 1) as f64).sqrt() + 2.0 * levels(degree) as f64;
            println!("degree {degree}: {products} products");
            assert!((products as f64) < bound, "degree {degree}: {products} products");
        }
    }

    #[test]
    fn what_is_missing_is_said() {
        assert!(Polynomial::power(&[0.0, f64::NAN]).is_err());
        assert!(Polynomial::power(&vec![1.0; 5000]).is_err());
        assert_eq!(Polynomial::power(&[]).unwrap(), Polynomial::power(&[0.0, 0.0]).unwrap());
        for (a, b) in [(1.0, 1.0), (1.0, -1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY), (f64::MIN, f64::MAX)] {
            assert!(Polynomial::chebyshev(&[1.0], a, b).is_err(), "[{a}, {b}]");
        }
        let mut fixture = Fixture::new(8, 2);
        let ct = fixture.encrypt(&[vec![Complex64::ONE; 128]], 128);
        let [none, keys] = [KeyRequirements::new(), relin()].map(|r| fixture.keys(&r));
        let ev = &fixture.ev;
        let cubic = Polynomial::power(&[1.0; 4]).unwrap();
        assert!(matches!(cubic.apply(ev, &ct, &none), Err(Error::MissingRelinKey)));
        assert_eq!(cubic.apply(ev, &ct, &keys).unwrap().level(), 0);
        let quartic = Polynomial::power(&[1.0; 5]).unwrap();
        let result = quartic.apply(ev, &ct, &keys);
        assert!(matches!(result, Err(Error::LevelExhausted { needed: 3, left: 2 })));
        let linear = Polynomial::power(&[0.5, 2.0]).unwrap();
        assert!((fixture.decrypt(&linear.apply(ev, &ct, &none).unwrap())[0][3].re - 2.5).abs() < 1e-7);
    }
}
