//! Minimax polynomials by the Remez exchange.

use super::super::Polynomial;
use crate::arith::DoubleDouble;
use crate::error::{Error, Result};

/// The powers that a polynomial has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Parity {
    /// All of them.
    Full,
    /// The odd ones: p(-x) = -p(x).
    Odd,
    /// The even ones: p(-x) = p(x).
    Even,
}

/// The polynomial of a degree whose largest error on a union of intervals is the least.
///
/// It is found by the exchange of Remez (1934), which solves for the polynomial whose error has one
/// magnitude and alternating signs on a set of points, and moves the points to the extrema of that
/// error, until both agree. On several intervals, neighbouring extrema of one sign count as one
/// (Lee, Lee, Lee, Kim, Kim, No: "Near-optimal polynomial for modulus reduction using L2-norm",
/// and "Minimax approximation of sign function by composite polynomial for homomorphic comparison",
/// 2021). All of it is computed in numbers of 106 bits, in Chebyshev polynomials, whose systems of
/// equations are well conditioned.
#[derive(Clone, Debug, PartialEq)]
pub struct Minimax {
    polynomial: Polynomial,
    error: f64,
}

/// The highest degree of [`Minimax`]: the exchange solves dense systems.
const MAX_DEGREE: usize = 255;

/// Exchanges before the last polynomial is taken as it is: convergence is quadratic.
const MAX_EXCHANGES: usize = 60;

/// The exchange ends when the largest error exceeds the levelled one by this ratio at most.
const TOLERANCE: f64 = 1e-10;

impl Minimax {
    /// For a function on intervals [a, b] in ascending order, which do not overlap. Odd and even
    /// polynomials are determined by positive x: their intervals begin at 0 or above, and the
    /// function is taken to have the same parity. Coefficients are those of Chebyshev polynomials
    /// on the hull of all intervals, which for odd and even ones is symmetric.
    ///
    /// # Errors
    /// [`Error::Argument`] for intervals that are empty, not finite, not in order, or negative
    /// where there is a parity; for a degree of 0 or above 255, or of another parity; for a
    /// function whose values are not finite; and where the error does not alternate, as for a
    /// function that is a polynomial of this degree up to rounding.
    pub fn new(
        f: impl Fn(f64) -> f64,
        parity: Parity,
        degree: usize,
        intervals: &[(f64, f64)],
    ) -> Result<Self> {
        Self::weighted(f, |_| 1.0, parity, degree, intervals)
    }

    /// The polynomial of the least weight(x) |f(x) - p(x)|, with a positive weight: 1 / f(x) for
    /// the least relative error of a positive function.
    ///
    /// # Errors
    /// The same as for [`new`](Self::new).
    pub fn weighted(
        f: impl Fn(f64) -> f64,
        weight: impl Fn(f64) -> f64,
        parity: Parity,
        degree: usize,
        intervals: &[(f64, f64)],
    ) -> Result<Self> {
        let exchange = Exchange::new(&f, &weight, parity, degree, intervals)?;
        let (coefficients, error) = exchange.run()?;
        let mut all = vec![0.0; degree + 1];
        exchange.orders.iter().zip(coefficients).for_each(|(&k, c)| all[k] = c.to_f64());
        let (a, b) = exchange.hull;
        Ok(Self { polynomial: Polynomial::chebyshev(&all, a, b)?, error })
    }

    /// The odd polynomial that is nearest to the sign of x where `gap` <= |x| <= 1, a number
    /// between 0 and 1.
    ///
    /// # Errors
    /// The same as for [`new`](Self::new).
    pub fn sign(degree: usize, gap: f64) -> Result<Self> {
        Self::new(|_| 1.0, Parity::Odd, degree, &[(gap, 1.0)])
    }

    /// The polynomial.
    pub fn polynomial(&self) -> &Polynomial {
        &self.polynomial
    }

    /// The largest error on the intervals, times the weight if there is one.
    pub fn error(&self) -> f64 {
        self.error
    }
}

/// A point, and the error there.
type Extremum = (f64, f64);

struct Exchange<'a> {
    f: &'a dyn Fn(f64) -> f64,
    weight: &'a dyn Fn(f64) -> f64,
    /// The orders of the Chebyshev polynomials.
    orders: Vec<usize>,
    hull: (f64, f64),
    intervals: &'a [(f64, f64)],
}

fn refused(found: String, hint: &str) -> Error {
    Error::domain("minimax polynomial", found, hint)
}

impl<'a> Exchange<'a> {
    fn new(
        f: &'a dyn Fn(f64) -> f64,
        weight: &'a dyn Fn(f64) -> f64,
        parity: Parity,
        degree: usize,
        intervals: &'a [(f64, f64)],
    ) -> Result<Self> {
        let fits = match parity {
            Parity::Full => true,
            Parity::Odd => degree % 2 == 1,
            Parity::Even => degree.is_multiple_of(2),
        };
        if !(1..=MAX_DEGREE).contains(&degree) || !fits {
            let hint = format!("a degree from 1 to {MAX_DEGREE} of the same parity is possible");
            return Err(refused(format!("degree {degree}"), &hint));
        }
        let lowest = if parity == Parity::Full { f64::NEG_INFINITY } else { 0.0 };
        let mut last = None;
        for &(a, b) in intervals {
            let after = last.is_none_or(|last| a > last);
            if !(a.is_finite() && b.is_finite() && a < b && a >= lowest && after) {
                let hint = "finite intervals a < b in ascending order are needed, from 0 on for a parity";
                return Err(refused(format!("[{a}, {b}]"), hint));
            }
            last = Some(b);
        }
        let (Some(&(first, _)), Some(last)) = (intervals.first(), last) else {
            return Err(refused("no interval".to_owned(), "at least one is needed"));
        };
        let (hull, step) = match parity {
            Parity::Full => ((first, last), 1),
            Parity::Odd | Parity::Even => ((-last, last), 2),
        };
        Ok(Self { f, weight, orders: (degree % step..=degree).step_by(step).collect(), hull, intervals })
    }

    /// The argument of the Chebyshev polynomials.
    fn mapped(&self, x: f64) -> DoubleDouble {
        let (a, b) = self.hull;
        let twice = DoubleDouble::new(x, x) - DoubleDouble::new(a, b);
        twice.divide(DoubleDouble::new(b, -a))
    }

    /// The Chebyshev polynomials at x.
    fn basis(&self, x: f64) -> Vec<DoubleDouble> {
        let t = self.mapped(x);
        let twice = t.times_power_of_two(2.0);
        let highest = self.orders.last().copied().unwrap_or(0);
        let mut all = vec![DoubleDouble::from(1.0), t];
        while all.len() <= highest {
            let next = twice * all[all.len() - 1] - all[all.len() - 2];
            all.push(next);
        }
        self.orders.iter().map(|&k| all[k]).collect()
    }

    /// weight (f - p) at x.
    fn error_at(&self, coefficients: &[DoubleDouble], x: f64) -> f64 {
        let basis = self.basis(x);
        let start = DoubleDouble::from((self.f)(x));
        let error = basis.into_iter().zip(coefficients).fold(start, |rest, (t, &c)| rest - t * c);
        (self.weight)(x) * error.to_f64()
    }

    /// Extrema of a Chebyshev polynomial, shared among the intervals by their lengths.
    fn spread(&self, count: usize) -> Vec<Vec<f64>> {
        let total: f64 = self.intervals.iter().map(|(a, b)| b - a).sum();
        let mut left = count;
        let last = self.intervals.len() - 1;
        let share = |(i, &(a, b)): (usize, &(f64, f64))| {
            let own = ((b - a) / total * count as f64) as usize;
            let own = if i == last { left } else { own.clamp(1, left - (last - i)) };
            left -= own;
            cosine_points(a, b, own)
        };
        self.intervals.iter().enumerate().map(share).collect()
    }

    /// The points that the exchange begins with. On several intervals, of which a short one has
    /// more than its share of the extrema, they are Leja points: each is the one with the largest
    /// product of distances from those before it.
    fn reference(&self, count: usize, grid: &[Vec<f64>]) -> Vec<f64> {
        if self.intervals.len() == 1 || self.orders.len() <= self.orders[self.orders.len() - 1] {
            let mut points = self.spread(count.max(self.intervals.len())).concat();
            points.truncate(count);
            return points;
        }
        let candidates = grid.concat();
        let mut products = vec![0.0; candidates.len()];
        let mut points = vec![self.hull.1];
        while points.len() < count {
            let last = points[points.len() - 1];
            products.iter_mut().zip(&candidates).for_each(|(sum, x)| *sum += libm::log((x - last).abs()));
            let furthest = (0..candidates.len()).max_by(|&i, &j| products[i].total_cmp(&products[j]));
            points.push(candidates[furthest.unwrap_or(0)]);
        }
        points.sort_by(f64::total_cmp);
        points
    }

    /// The coefficients of the best polynomial, and its largest error.
    fn run(&self) -> Result<(Vec<DoubleDouble>, f64)> {
        let count = self.orders.len() + 1;
        let grid = self.spread(count * 24);
        let mut points = self.reference(count, &grid);
        let finite = |x: &f64| (self.f)(*x).is_finite() && (self.weight)(*x) > 0.0;
        if let Some(x) = grid.iter().flatten().find(|x| !finite(x)) {
            let found = format!("the function's value or the weight at {x}");
            return Err(refused(found, "both must be finite, and the weight positive"));
        }
        let mut best: Option<(Vec<DoubleDouble>, f64)> = None;
        for _ in 0..MAX_EXCHANGES {
            let (coefficients, levelled) = self.solve(&points)?;
            let extrema = self.extrema(&coefficients, &grid);
            let largest = extrema.iter().fold(0.0, |most: f64, (_, e)| most.max(e.abs()));
            if best.as_ref().is_none_or(|(_, least)| largest < *least) {
                best = Some((coefficients, largest));
            }
            let close = largest - levelled.abs() <= TOLERANCE * largest;
            if close || extrema.len() < count {
                break;
            }
            points = alternating(extrema, count).into_iter().map(|(x, _)| x).collect();
        }
        let why = || refused("an error that does not alternate".to_owned(), "ask for a lower degree");
        best.filter(|(_, error)| error.is_finite()).ok_or_else(why)
    }

    /// The polynomial whose weighted errors at the points have one magnitude and alternating signs,
    /// and the first of these errors.
    fn solve(&self, points: &[f64]) -> Result<(Vec<DoubleDouble>, f64)> {
        let n = points.len();
        let mut rows: Vec<Vec<DoubleDouble>> = points
            .iter()
            .enumerate()
            .map(|(i, &x)| {
                let sign = if i % 2 == 0 { 1.0 } else { -1.0 };
                let mut row = self.basis(x);
                let levelled = DoubleDouble::from(sign).divide(DoubleDouble::from((self.weight)(x)));
                row.extend([levelled, DoubleDouble::from((self.f)(x))]);
                row
            })
            .collect();
        for column in 0..n {
            let size = |row: &[DoubleDouble]| row[column].to_f64().abs();
            let pivot = (column..n).max_by(|&i, &j| size(&rows[i]).total_cmp(&size(&rows[j])));
            let pivot = pivot.unwrap_or(column);
            let largest = size(&rows[pivot]);
            if largest.is_nan() || largest == 0.0 {
                return Err(refused("points that coincide".to_owned(), "ask for a lower degree"));
            }
            rows.swap(column, pivot);
            let (above, below) = rows.split_at_mut(column + 1);
            let own = &above[column];
            for row in below {
                let factor = row[column].divide(own[column]);
                row[column..].iter_mut().zip(&own[column..]).for_each(|(x, &y)| *x = *x - factor * y);
            }
        }
        let mut solution = vec![DoubleDouble::default(); n];
        for i in (0..n).rev() {
            let known = rows[i][i + 1..n].iter().zip(&solution[i + 1..]);
            let rest = known.fold(rows[i][n], |rest, (&a, &x)| rest - a * x);
            solution[i] = rest.divide(rows[i][i]);
        }
        let levelled = solution.pop().unwrap_or_default().to_f64();
        Ok((solution, levelled))
    }

    /// The extrema of the error with alternating signs: the largest error of each stretch of one
    /// sign.
    fn extrema(&self, coefficients: &[DoubleDouble], grid: &[Vec<f64>]) -> Vec<Extremum> {
        let mut found: Vec<Extremum> = Vec::new();
        for points in grid {
            let errors: Vec<f64> = points.iter().map(|&x| self.error_at(coefficients, x)).collect();
            for i in 0..points.len() {
                let e = errors[i];
                let neighbours = [i.checked_sub(1), Some(i + 1)].map(|j| j.and_then(|j| errors.get(j)));
                let peak =
                    neighbours.iter().flatten().all(|other| e.abs() >= other.abs() || e * **other < 0.0);
                if !peak || e == 0.0 {
                    continue;
                }
                let (low, high) = (points[i.saturating_sub(1)], points[(i + 1).min(points.len() - 1)]);
                let refined = self.refine(coefficients, (points[i], e), low, high);
                match found.last_mut() {
                    Some(last) if last.1 * refined.1 > 0.0 => {
                        if refined.1.abs() > last.1.abs() {
                            *last = refined;
                        }
                    }
                    _ => found.push(refined),
                }
            }
        }
        found
    }

    /// The largest error of this sign near a point of the grid, by golden sections.
    fn refine(&self, coefficients: &[DoubleDouble], at: Extremum, mut low: f64, mut high: f64) -> Extremum {
        const GOLDEN: f64 = 0.618_033_988_749_894_8;
        let sign = at.1.signum();
        let mut best = at;
        let mut value = |x: f64| {
            let e = self.error_at(coefficients, x);
            if e * sign > best.1 * sign {
                best = (x, e);
            }
            e * sign
        };
        let inner = |low: f64, high: f64| (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
        let (mut left, mut right) = inner(low, high);
        let (mut at_left, mut at_right) = (value(left), value(right));
        for _ in 0..24 {
            if at_left > at_right {
                high = right;
                (right, at_right) = (left, at_left);
                left = inner(low, high).0;
                at_left = value(left);
            } else {
                low = left;
                (left, at_left) = (right, at_right);
                right = inner(low, high).1;
                at_right = value(right);
            }
        }
        best
    }
}

/// As many of the alternating extrema as are needed, with the largest among them: from the ends,
/// the smaller one is dropped.
fn alternating(mut extrema: Vec<Extremum>, count: usize) -> Vec<Extremum> {
    while extrema.len() > count {
        let size = |e: Option<&Extremum>| e.map_or(0.0, |e| e.1.abs());
        if size(extrema.first()) < size(extrema.last()) {
            extrema.remove(0);
        } else {
            extrema.pop();
        }
    }
    extrema
}

/// The extrema of the Chebyshev polynomial of degree count - 1 on an interval, in ascending order,
/// ends included.
pub(super) fn cosine_points(a: f64, b: f64, count: usize) -> Vec<f64> {
    let last = count.max(2) - 1;
    let at = |i: usize| {
        let cosine = libm::cos(std::f64::consts::PI * (last - i) as f64 / last as f64);
        (0.5 * (a + b) + 0.5 * (b - a) * cosine).clamp(a, b)
    };
    (0..count)
        .map(|i| {
            if i == 0 {
                a
            } else if i == last {
                b
            } else {
                at(i)
            }
        })
        .collect()
}
