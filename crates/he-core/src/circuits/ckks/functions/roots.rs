//! Inverse, square root and its inverse.

use super::super::Polynomial;
use super::domain::{Precision, Range};
use super::function::{Function, cost};
use super::program::{LARGEST_INTEGER, Program, Value};
use super::remez::{Minimax, Parity};
use super::series::approximate;
use crate::error::{Error, Result};
use std::ops::RangeInclusive;

/// The greatest log2 of the degree of a first approximation.
const LONGEST: u32 = 7;

/// Iterations of Goldschmidt, each of which squares the relative error.
const MAX_ITERATIONS: usize = 12;

/// T_n(x) for |x| > 1.
fn chebyshev_outside(n: usize, x: f64) -> f64 {
    let magnitude = libm::cosh(n as f64 * libm::acosh(x.abs()));
    if x < 0.0 && n % 2 == 1 { -magnitude } else { magnitude }
}

/// The integer by which a result of this magnitude is divided so that it is at most one.
#[expect(clippy::disallowed_methods, reason = "intervals are public")]
fn divisor(magnitude: f64) -> Result<f64> {
    let divisor = magnitude.ceil().max(1.0);
    if divisor <= LARGEST_INTEGER {
        return Ok(divisor);
    }
    Err(Error::domain("interval", format!("results of {magnitude}"), "results up to 2^40 are possible"))
}

/// The inverse of a value in an interval without zero, to a relative error, divided by an integer
/// that makes it at most one in magnitude: the value and the integer. The range is that of the
/// value, which is mapped to [-1, 1] by the same map.
///
/// The first approximation p of degree n - 1 is the one whose error e = 1 - x p(x) is the least
/// multiple of the Chebyshev polynomial T_n that is 1 at 0. Then Goldschmidt's iteration p <- p + p
/// e, e <- e^2 squares the error, one level each.
pub(super) fn push_inverse(
    program: &mut Program,
    x: Value,
    range: Range,
    relative: f64,
) -> Result<(Value, f64)> {
    let (a, b) = range.bounds();
    let domain = if a > 0.0 { (a, f64::MAX) } else { (f64::MIN, b) };
    let mut best: Option<(Program, f64)> = None;
    for wide in range.mapped_cheaply(domain) {
        for log in 1..=LONGEST {
            let Some((steps, divisor)) = goldschmidt(wide, log, relative)? else { continue };
            if best.as_ref().is_none_or(|(best, _)| cost(&steps) < cost(best)) {
                best = Some((steps, divisor));
            }
        }
    }
    let hint = "choose a narrower interval, or fewer bits";
    let (steps, divisor) =
        best.ok_or_else(|| Error::domain("inverse", format!("the interval [{a}, {b}]"), hint))?;
    Ok((program.inline(&steps, &[x]), divisor))
}

/// The iteration from a first approximation whose error has degree 2^log - 1. `None` if it takes
/// too many.
fn goldschmidt(range: Range, log: u32, relative: f64) -> Result<Option<(Program, f64)>> {
    let (a, b) = range.bounds();
    let n = (1usize << log) - 1;
    let at_zero = chebyshev_outside(n, -(a + b) / (b - a));
    let first = 1.0 / at_zero.abs();
    let count = (0..MAX_ITERATIONS).find(|&k| libm::pow(first, libm::exp2(k as f64)) <= relative);
    let Some(count) = count.filter(|_| at_zero.is_finite()) else { return Ok(None) };
    let divisor = divisor((1.0 + first) / a.abs().min(b.abs()))?;
    let mut order = vec![0.0; n + 1];
    order[n] = 1.0 / at_zero;
    let error = Polynomial::chebyshev(&order, -1.0, 1.0)?;
    let guess = |t: f64| (1.0 - error.apply_plain(t)) / (divisor * range.at(t));
    let guess = Polynomial::chebyshev_fit(guess, n - 1, -1.0, 1.0)?;
    let mut steps = Program::default();
    let x = steps.input(0);
    let t = range.push_map(&mut steps, x);
    let mut result = steps.polynomial(t, guess);
    let mut e = if count > 0 { steps.polynomial(t, error) } else { t };
    for i in 0..count {
        if i > 0 {
            e = steps.product(e, e);
        }
        let correction = steps.product(result, e);
        result = steps.sum(&[(result, 1), (correction, 1)], 0.0);
    }
    Ok(Some((steps.output(result), divisor)))
}

/// The functions that are computed from a first approximation of the inverse square root.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Root {
    Sqrt,
    InverseSqrt,
}

impl Function {
    /// 1 / x on an interval without zero, positive or negative, by Goldschmidt's division from a
    /// first approximation of least error, or by one polynomial if that is cheaper. The error is at
    /// most 2^-bits of the greatest magnitude, that of the end nearer to zero. Depth grows with the
    /// logarithm of the ratio of the ends.
    ///
    /// # Errors
    /// [`Error::Argument`] for an interval that contains 0 or is too wide; the same as for
    /// [`approximate`](Self::approximate).
    pub fn inverse(interval: RangeInclusive<f64>, bits: u32) -> Result<Self> {
        let (range, precision) = (Range::new(interval)?, Precision::new(bits)?);
        let (a, b) = range.bounds();
        if a <= 0.0 && b >= 0.0 {
            let found = format!("the interval [{a}, {b}] contains 0");
            return Err(Error::domain("inverse", found, "choose an interval on one side of 0"));
        }
        let f = |x: f64| 1.0 / x;
        let domain = if a > 0.0 { (a, f64::MAX) } else { (f64::MIN, b) };
        let mut candidates: Vec<Self> =
            Self::single("inverse", f, range, precision, domain).into_iter().collect();
        for wide in range.mapped_cheaply(domain) {
            let mut program = Program::default();
            let x = program.input(0);
            let relative = precision.tolerance(1.0);
            let Ok((result, divisor)) = push_inverse(&mut program, x, wide, relative) else { continue };
            let result = program.affine(result, divisor, 0.0);
            let program = program.output(result);
            candidates.push(Self::measured(
                "inverse",
                program,
                range.points(4096),
                range,
                range.peak(&f)?,
                f,
            )?);
        }
        Self::cheapest(candidates, precision).ok_or_else(|| precision.unreachable("inverse", range))
    }

    /// The one of least depth, then fewest relinearisations, that is precise enough.
    pub(super) fn cheapest(candidates: Vec<Self>, precision: Precision) -> Option<Self> {
        let precise = candidates.into_iter().filter(|f| f.error() <= precision.tolerance(f.peak()) / 0.99);
        precise.min_by_key(|function| cost(function.program()))
    }

    /// The square root on an interval from 0 or above. One polynomial, or where that is cheaper, a
    /// first approximation y of x^(-1/2) and x y q(1 - x y^2) with a polynomial q. Close to 0 the
    /// root is not smooth: an interval from 0 takes a degree near 2^bits / 7, up to 14 bits.
    ///
    /// # Errors
    /// [`Error::Argument`] for an interval that begins below 0; the same as for
    /// [`approximate`](Self::approximate).
    pub fn sqrt(interval: RangeInclusive<f64>, bits: u32) -> Result<Self> {
        let range = Range::new(interval)?.within("sqrt", 0.0, false)?;
        Self::root("sqrt", Root::Sqrt, range, Precision::new(bits)?, libm::sqrt)
    }

    /// x^(-1/2) on a positive interval: one polynomial, or a first approximation y of least
    /// relative error and y q(1 - x y^2) with a polynomial q, whichever is cheaper.
    ///
    /// # Errors
    /// [`Error::Argument`] for an interval that does not begin above 0; the same as for
    /// [`approximate`](Self::approximate).
    pub fn inverse_sqrt(interval: RangeInclusive<f64>, bits: u32) -> Result<Self> {
        let range = Range::new(interval)?.within("inverse_sqrt", 0.0, true)?;
        let f = |x| 1.0 / libm::sqrt(x);
        Self::root("inverse_sqrt", Root::InverseSqrt, range, Precision::new(bits)?, f)
    }

    fn root(
        name: &'static str,
        what: Root,
        range: Range,
        precision: Precision,
        f: impl Fn(f64) -> f64 + Copy,
    ) -> Result<Self> {
        let (a, _) = range.bounds();
        let domain = (a, f64::MAX);
        let mut candidates: Vec<Self> = Self::single(name, f, range, precision, domain).into_iter().collect();
        let wide = if a > 0.0 { range.mapped_cheaply(domain) } else { Vec::new() };
        for (wide, log) in wide.iter().flat_map(|wide| (1..=6).map(move |log| (*wide, log))) {
            if let Some(program) = two_stages(what, wide, log, precision.tolerance(1.0))? {
                let peak = range.peak(&f)?;
                candidates.push(Self::measured(name, program, range.points(4096), range, peak, f)?);
            }
        }
        Self::cheapest(candidates, precision).ok_or_else(|| precision.unreachable(name, range))
    }
}

/// y q(e), times x for the square root, for the first approximation y of degree 2^log - 1 and the
/// error e = 1 - x y^2, itself a polynomial of x.
fn two_stages(what: Root, range: Range, log: u32, relative: f64) -> Result<Option<Program>> {
    let degree = (1usize << log) - 1;
    let inverse_root = |t: f64| 1.0 / libm::sqrt(range.at(t));
    let root = |t: f64| libm::sqrt(range.at(t));
    let first = Minimax::weighted(inverse_root, root, Parity::Full, degree, &[(-1.0, 1.0)]);
    let Ok(first) = first else { return Ok(None) };
    let rho = first.error();
    let greatest = rho * (2.0 + rho);
    if greatest.is_nan() || greatest >= 0.95 {
        return Ok(None);
    }
    let y = |t: f64| first.polynomial().apply_plain(t);
    let (a, b) = range.bounds();
    let magnitude = match what {
        Root::Sqrt => libm::sqrt(b),
        Root::InverseSqrt => 1.0 / libm::sqrt(a),
    };
    let divisor = divisor(magnitude * (1.0 + rho))?;
    let start = |t: f64| match what {
        Root::Sqrt => range.at(t) * y(t) / divisor,
        Root::InverseSqrt => y(t) / divisor,
    };
    let start = Polynomial::chebyshev_fit(start, degree + usize::from(what == Root::Sqrt), -1.0, 1.0)?;
    let error = |t: f64| (1.0 - range.at(t) * y(t) * y(t)) / greatest;
    let error = Polynomial::chebyshev_fit(error, 2 * degree + 1, -1.0, 1.0)?;
    let correction = |s: f64| 1.0 / libm::sqrt(1.0 - greatest * s);
    // At most about (1 - 0.95)^(-1/2) < 5: kept below one before the product.
    let most = divisor_of_correction(correction(1.0));
    let scaled = |s: f64| correction(s) / most;
    let Some(correction) = approximate(&scaled, relative * (1.0 - rho) / most / 2.0)? else {
        return Ok(None);
    };
    let mut program = Program::default();
    let x = program.input(0);
    let t = range.push_map(&mut program, x);
    let start = program.polynomial(t, start);
    let error = program.polynomial(t, error);
    let correction = program.polynomial(error, correction);
    let product = program.product(start, correction);
    let product = program.affine(product, divisor * most, 0.0);
    Ok(Some(program.output(product)))
}

#[expect(clippy::disallowed_methods, reason = "intervals are public")]
fn divisor_of_correction(greatest: f64) -> f64 {
    greatest.ceil()
}
