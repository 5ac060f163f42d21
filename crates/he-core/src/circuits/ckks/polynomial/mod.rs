//! Polynomials of encrypted values.

mod complex;
mod plan;
mod powers;
#[cfg(test)]
mod tests;

use crate::backend::RingOps;
use crate::circuits::Requirements;
use crate::circuits::ckks::Refresher;
use crate::ckks::{Ciphertext, Evaluator};
use crate::error::{Error, Result};
use crate::rlwe::{EvaluationKeys, KeyRequirements};
pub(crate) use complex::ComplexPolynomials;
use num_complex::Complex64;
pub(crate) use plan::Part;
use plan::{Plan, Value, depth};
pub(crate) use powers::Powers;

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

    /// The polynomial times a number.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for products that are not finite.
    pub fn scaled(&self, factor: f64) -> Result<Self> {
        let scaled: Vec<f64> = self.coefficients.iter().map(|c| factor * c).collect();
        Self::new(self.basis, &scaled)
    }

    /// The polynomial plus a number.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for a sum that is not finite.
    pub fn plus(&self, constant: f64) -> Result<Self> {
        let mut sum = self.coefficients.clone();
        sum[0] += constant;
        Self::new(self.basis, &sum)
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

    /// ceil(log2(degree + 1)) levels, or one fewer, log2(degree), if the degree is a power of two
    /// and the leading coefficient an integer of at most 2^20 in magnitude, by which the product
    /// takes no level: x^4, 3 x^8 - x^7 / 2, T_16, or 2 x + 1, which takes none. One more for the
    /// map from `[a, b]` to `[-1, 1]` unless 2 / (b - a) is an integer up to 1024 (as for
    /// `[-1, 1]` and `[0, 1]`) or the degree is 0. Relinearisation is needed from degree 2 on, and
    /// rotations are not.
    pub fn requirements(&self) -> Requirements {
        let degree = self.degree();
        let map = usize::from(degree > 0 && !self.integer_map());
        let keys = KeyRequirements::new();
        let keys = if degree > 1 { keys.relinearisation() } else { keys };
        Requirements { depth: depth(&self.coefficients) + map, keys }
    }

    /// The products of two ciphertexts that [`apply`](Self::apply) computes.
    pub fn products(&self) -> usize {
        self.plan().products()
    }

    /// The products and sums of products that [`apply`](Self::apply) relinearises, which is most of
    /// its cost.
    pub fn relinearisations(&self) -> usize {
        self.plan().relinearisations()
    }

    /// The relinearisations of polynomials in one basis that share their powers
    /// ([`apply_many`](Self::apply_many)).
    pub(in crate::circuits) fn shared_relinearisations(polynomials: &[Self]) -> usize {
        Self::plan_many(polynomials).relinearisations()
    }

    /// Evaluates the polynomial on every slot, by the algorithm of Paterson and Stockmeyer (1973)
    /// with the fewest relinearisations that keep the depth: about sqrt(2 degree) powers and as
    /// many sums of products for a full polynomial, fewer if coefficients are zero. Even and odd
    /// polynomials use powers of their parity alone (T_2k(x) = T_k(T_2(x))), so that an even one
    /// costs about as much as one of half the degree. Products that are only added to each other
    /// and to multiples of powers are added first, then relinearised and divided once.
    ///
    /// Slots with imaginary parts are evaluated as complex numbers, so pack real values only. In
    /// the power basis the magnitude of intermediate values is up to sum |coefficient|
    /// max(1, |x|)^degree; in Chebyshev polynomials, for x within `[a, b]`, about twice
    /// sum |coefficient|; outside the interval it grows like a power, and may exceed the range of
    /// the level unnoticed. Noise grows with the polynomial's derivative; each relinearisation adds
    /// its key switching and one rounding. Coefficients are rounded to multiples of 1 / scale,
    /// but for a leading one that [saves a level](Self::requirements).
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
        self.evaluate(&self.plan(), ev, ct, keys)?.pop().ok_or_else(none)
    }

    /// The values of several polynomials in the same basis, on the same interval, from one set of
    /// powers: fewer relinearisations than one after the other takes. Each result is as
    /// many levels lower as its own [`requirements`](Self::requirements) say; those of all together
    /// are their [`union`](Requirements::union).
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) without polynomials or for different bases or
    /// intervals; the same as for [`apply`](Self::apply).
    pub fn apply_many<B: RingOps>(
        polynomials: &[Self],
        ev: &Evaluator<B>,
        ct: &Ciphertext<B>,
        keys: &EvaluationKeys<B>,
    ) -> Result<Vec<Ciphertext<B>>> {
        let first = polynomials.first().ok_or_else(none)?;
        if polynomials.iter().any(|polynomial| polynomial.basis != first.basis) {
            let why = "they are of different bases or intervals";
            let hint = "polynomials that share powers have one basis and one interval";
            return Err(Error::domain("polynomials", why, hint));
        }
        polynomials.iter().try_for_each(|polynomial| polynomial.requirements().check(ct.level(), keys))?;
        first.evaluate(&Self::plan_many(polynomials), ev, ct, keys)
    }

    fn plan(&self) -> Plan {
        Self::plan_many(std::slice::from_ref(self))
    }

    fn plan_many(polynomials: &[Self]) -> Plan {
        let chebyshev = matches!(polynomials.first(), Some(Self { basis: Basis::Chebyshev { .. }, .. }));
        let coefficients: Vec<&[f64]> =
            polynomials.iter().map(|polynomial| polynomial.coefficients.as_slice()).collect();
        Plan::cheapest(&coefficients, chebyshev)
    }

    /// Everything that the plan composes of this polynomial's basis.
    fn evaluate<B: RingOps>(
        &self,
        plan: &Plan,
        ev: &Evaluator<B>,
        ct: &Ciphertext<B>,
        keys: &EvaluationKeys<B>,
    ) -> Result<Vec<Ciphertext<B>>> {
        let constant = |c| ev.add_scalar(&ev.mul_integer(ct, 0)?, Complex64::new(c, 0.0));
        let constants: Option<Vec<f64>> = plan.values().iter().map(Value::as_constant).collect();
        if let Some(constants) = constants {
            return constants.into_iter().map(constant).collect();
        }
        let chebyshev = matches!(self.basis, Basis::Chebyshev { .. });
        let powers = Powers::new(ev, self.mapped(ev, ct)?, plan, chebyshev, keys)?;
        let value = |value: &Value| value.as_constant().map_or_else(|| powers.whole(value), constant);
        plan.values().iter().map(value).collect()
    }

    /// [`apply`](Self::apply) for polynomials of more levels than even a refreshed ciphertext has:
    /// powers are refreshed where their levels run out, and sums of them are kept so shallow that
    /// they need no refresh.
    pub(in crate::circuits) fn apply_long<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        ct: &Ciphertext<B>,
        keys: &EvaluationKeys<B>,
        refresher: &impl Refresher<B>,
    ) -> Result<Ciphertext<B>> {
        let chebyshev = matches!(self.basis, Basis::Chebyshev { .. });
        let available = refresher.top().unwrap_or(0).saturating_sub(refresher.reserve());
        let plan = Plan::shallow(&self.coefficients, available, chebyshev);
        let needed = usize::from(!self.integer_map());
        let x = match refresher.fits(ct.level(), needed)? {
            true => self.mapped(ev, ct)?,
            false => self.mapped(ev, &refresher.refresh(ct)?)?,
        };
        let x = if x.level() > refresher.reserve() { x } else { refresher.refresh(&x)? };
        let depth = plan.rests().map(Part::depth).max().unwrap_or(1);
        let powers = Powers::refreshed(ev, x, &plan, chebyshev, keys, (refresher, depth))?;
        let value = plan.rests().next().map(|part| powers.value(part));
        value.unwrap_or_else(|| Err(none()))
    }

    /// The refreshes of [`apply_long`](Self::apply_long) for a ciphertext of this level, and the
    /// level of the result.
    pub(in crate::circuits) fn plan_long<B: RingOps>(
        &self,
        level: usize,
        refresher: &impl Refresher<B>,
    ) -> Result<(usize, usize)> {
        let chebyshev = matches!(self.basis, Basis::Chebyshev { .. });
        let available = refresher.top().unwrap_or(0).saturating_sub(refresher.reserve());
        let plan = Plan::shallow(&self.coefficients, available, chebyshev);
        let needed = usize::from(!self.integer_map());
        let top = refresher.top().unwrap_or(level);
        let (mut first, mut level) = if refresher.fits(level, needed)? { (0, level) } else { (1, top) };
        level -= needed;
        if level <= refresher.reserve() {
            (first, level) = (first + 1, top);
        }
        let (refreshes, level) = plan.refreshed_levels(level, chebyshev, refresher);
        Ok((first + refreshes, level))
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
}

fn none() -> Error {
    Error::argument("polynomials", "at least one is needed".to_owned())
}
