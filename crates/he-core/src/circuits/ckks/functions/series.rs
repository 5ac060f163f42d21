//! Polynomials of least depth for a function of one variable.

use super::super::Polynomial;
use super::remez::{Minimax, Parity, cosine_points};
use crate::error::{Error, Result};

/// The highest degree that is tried with a minimax polynomial.
const MINIMAX_DEGREE: usize = 63;

/// The coefficients of a function in Chebyshev polynomials on [-1, 1], from its values at `count`
/// nodes (the discrete cosine transform, with the cosines of a table).
fn coefficients(f: &dyn Fn(f64) -> f64, count: usize) -> Result<Vec<f64>> {
    let table: Vec<f64> = (0..4 * count)
        .map(|turn| libm::cos(std::f64::consts::PI * turn as f64 / (2 * count) as f64))
        .collect();
    let samples: Vec<f64> = (0..count).map(|k| f(table[2 * k + 1])).collect();
    if let Some(k) = samples.iter().position(|y| !y.is_finite()) {
        let why =
            format!("its value at {} of the interval is not a finite number", 0.5 + 0.5 * table[2 * k + 1]);
        return Err(Error::domain("function", why, "choose an interval where it is defined"));
    }
    let coefficient = |j: usize| {
        let (mut turn, mut sum) = (j, 0.0);
        for y in &samples {
            sum += y * table[turn];
            turn = (turn + 2 * j) % (4 * count);
        }
        sum * if j == 0 { 1.0 } else { 2.0 } / count as f64
    };
    let mut all: Vec<f64> = (0..count).map(coefficient).collect();
    let largest = all.iter().fold(0.0, |most: f64, c| most.max(c.abs()));
    // Rounding errors, which would spoil the parity.
    all.iter_mut().filter(|c| c.abs() < 1e-15 * largest).for_each(|c| *c = 0.0);
    Ok(all)
}

fn levels(degree: usize) -> usize {
    (degree + 1).next_power_of_two().ilog2() as usize
}

/// The largest difference from a function on [-1, 1], on a grid that is dense at the ends.
pub(super) fn largest_error(f: &dyn Fn(f64) -> f64, polynomial: &Polynomial) -> f64 {
    let points = cosine_points(-1.0, 1.0, 16 * (polynomial.degree() + 64));
    points.into_iter().map(|x| (f(x) - polynomial.apply_plain(x)).abs()).fold(0.0, f64::max)
}

/// A polynomial on [-1, 1] within `tolerance` of a function: of the least depth that truncated
/// Chebyshev series or, up to degree 63, minimax polynomials reach, and of a low degree. `None` if
/// no degree up to [`Polynomial::MAX_DEGREE`] suffices.
pub(super) fn approximate(f: &dyn Fn(f64) -> f64, tolerance: f64) -> Result<Option<Polynomial>> {
    for count in [128, 1024, Polynomial::MAX_DEGREE + 1] {
        let all = coefficients(f, count)?;
        // The coefficients beyond a degree bound the error of the series that ends there. The upper
        // half holds what the nodes confuse.
        let mut tail = 0.0;
        let mut degree = count;
        while degree > 0 && tail + all[degree - 1].abs() <= 0.9 * tolerance {
            degree -= 1;
            tail += all[degree].abs();
        }
        let degree = degree.saturating_sub(1);
        let last = count > Polynomial::MAX_DEGREE;
        if degree >= count - 1 || (degree > count / 2 && !last) {
            continue;
        }
        let series = Polynomial::chebyshev(&all[..=degree], -1.0, 1.0)?;
        if largest_error(f, &series) > tolerance {
            continue;
        }
        return Ok(Some(shallower(f, &series, tolerance).unwrap_or(series)));
    }
    Ok(None)
}

/// A minimax polynomial of one level less, if there is one, or of a lower degree.
fn shallower(f: &dyn Fn(f64) -> f64, series: &Polynomial, tolerance: f64) -> Option<Polynomial> {
    let c = series.coefficients();
    let (even, odd) =
        (c.iter().step_by(2).all(|&c| c == 0.0), c.iter().skip(1).step_by(2).all(|&c| c == 0.0));
    let (parity, step, low) = match (even, odd) {
        (true, false) => (Parity::Odd, 2, 0.0),
        (false, true) => (Parity::Even, 2, 0.0),
        _ => (Parity::Full, 1, -1.0),
    };
    let fit = |degree: usize| {
        let best = Minimax::new(f, parity, degree, &[(low, 1.0)]).ok()?;
        (largest_error(f, best.polynomial()) <= tolerance).then(|| best.polynomial().clone())
    };
    let degree = series.degree();
    let highest = ((1usize << levels(degree)) / 2).saturating_sub(1);
    let highest = if parity == Parity::Even { highest.saturating_sub(1) } else { highest };
    if (1..=MINIMAX_DEGREE).contains(&highest)
        && degree <= 2 * highest
        && let Some(found) = fit(highest)
    {
        return Some(found);
    }
    // Not shallower, but a little shorter.
    let mut best = None;
    let mut degree = degree;
    while degree > highest + step && degree <= MINIMAX_DEGREE {
        degree -= step;
        match fit(degree) {
            Some(found) => best = Some(found),
            None => break,
        }
    }
    best
}
