//! The sign as a composition of minimax polynomials.

use super::super::Polynomial;
use super::program::{Program, Value};
use super::remez::Minimax;
use super::sign_gains::{FIRST, GAINS, STEP};
use crate::error::{Error, Result};

/// Odd polynomials p_1, p_2 ... p_k, one of the other, whose value is near the sign of x where
/// `gap` <= |x| <= 1.
///
/// Each is the minimax polynomial of the sign on what the one before leaves of the interval (Lee,
/// Lee, No: "Minimax approximation of sign function by composite polynomial for homomorphic
/// comparison", IEEE TDSC 2021): with the error tau, values are in [1 - tau, 1 + tau], which is
/// divided by 1 + tau, so that every value between two polynomials is at most one in magnitude, as
/// a refresh asks. The degrees, up to 31, are those of least depth, and among them those of the
/// fewest relinearisations, by dynamic programming over both.
#[derive(Clone, Debug, PartialEq)]
pub struct CompositeSign {
    gap: f64,
    error: f64,
    stages: Vec<Polynomial>,
}

/// The least gap and error.
const LEAST: f64 = 1.0 / (1u64 << 40) as f64;

/// No composition needs more levels.
const MAX_DEPTH: usize = 80;

/// The compositions of [`CompositeSign::standard`], as [`CompositeSign::of_degrees`] computes them.
const STANDARD: &str = include_str!("sign_coefficients.txt");

impl CompositeSign {
    /// The greatest precision of [`standard`](Self::standard).
    pub const MAX_ALPHA: u32 = 20;

    /// The composition of least depth with an error of at most `error` where `gap` <= |x| <= 1.
    ///
    /// # Errors
    /// [`Error::Argument`] unless both are from 2^-40 to 1, without 1.
    pub fn new(gap: f64, error: f64) -> Result<Self> {
        for (what, x) in [("gap of a sign", gap), ("error of a sign", error)] {
            if !(LEAST..1.0).contains(&x) {
                return Err(Error::domain(what, x.to_string(), "numbers from 2^-40 to 1 are possible"));
            }
        }
        // The gains are known at some positions, and interpolated between them.
        for excess in 0..40 {
            let Some(degrees) = degrees(gap, error, 0.01 * f64::from(excess)) else { break };
            let composite = Self::of_degrees(gap, &degrees)?;
            if composite.error <= error {
                return Ok(composite);
            }
        }
        let found = format!("gap {gap} and error {error}");
        Err(Error::domain("sign", found, "ask for a wider gap or a greater error"))
    }

    /// The comparison of numbers in [0, 1] to precision alpha: the gap is 2^-alpha, and the error
    /// of (sign(a - b) + 1) / 2 is at most 2^-alpha. Its coefficients are a table.
    ///
    /// # Errors
    /// [`Error::Argument`] unless alpha is from 4 to [`MAX_ALPHA`](Self::MAX_ALPHA).
    pub fn standard(alpha: u32) -> Result<Self> {
        let gap = libm::exp2(-f64::from(alpha));
        recorded(alpha)
            .and_then(|(error, stages)| Some(Self { gap, error, stages: stages.collect::<Option<_>>()? }))
            .ok_or_else(|| {
                let hint = format!("from 4 to {} is possible", Self::MAX_ALPHA);
                Error::domain("alpha", alpha.to_string(), hint)
            })
    }

    /// The composition of these degrees, whatever its error is.
    ///
    /// # Errors
    /// [`Error::Argument`] for no degrees, for even ones, and for a gap that is not between 0 and
    /// 1.
    pub fn of_degrees(gap: f64, degrees: &[usize]) -> Result<Self> {
        let (mut lowest, mut error, mut stages) = (gap, 1.0, Vec::with_capacity(degrees.len()));
        for (i, &degree) in degrees.iter().enumerate() {
            let best = Minimax::sign(degree, lowest)?;
            error = best.error();
            let last = i + 1 == degrees.len();
            let factor = if last { 1.0 } else { 1.0 / (1.0 + error) };
            stages.push(best.polynomial().scaled(factor)?);
            lowest = (1.0 - error) * factor;
        }
        if stages.is_empty() {
            return Err(Error::domain("degrees of a sign", "none", "at least one is needed"));
        }
        Ok(Self { gap, error, stages })
    }

    /// The polynomials, the first one first, on [-1, 1].
    pub fn stages(&self) -> &[Polynomial] {
        &self.stages
    }

    /// Their degrees.
    pub fn degrees(&self) -> Vec<usize> {
        self.stages.iter().map(Polynomial::degree).collect()
    }

    /// The least |x| for which the error holds.
    pub fn gap(&self) -> f64 {
        self.gap
    }

    /// The largest error where `gap` <= |x| <= 1.
    pub fn error(&self) -> f64 {
        self.error
    }

    /// The levels of all polynomials.
    pub fn depth(&self) -> usize {
        self.stages.iter().map(|stage| stage.requirements().depth).sum()
    }

    /// The value at x in float64.
    pub fn apply_plain(&self, x: f64) -> f64 {
        self.stages.iter().fold(x, |x, stage| stage.apply_plain(x))
    }

    /// Appends factor sign(x) + offset for a value x in [-1, 1]. Both numbers are part of the last
    /// polynomial, so that they take no level.
    pub(super) fn push(&self, program: &mut Program, x: Value, factor: f64, offset: f64) -> Result<Value> {
        let Some((last, stages)) = self.stages.split_last() else { return Ok(x) };
        let before = stages.iter().fold(x, |x, stage| program.polynomial(x, stage.clone()));
        Ok(program.polynomial(before, last.scaled(factor)?.plus(offset)?))
    }
}

/// An entry of the table: a line of alpha, error and the number of polynomials, and as many lines
/// of the odd coefficients of each.
fn recorded(alpha: u32) -> Option<(f64, impl Iterator<Item = Option<Polynomial>>)> {
    let mut lines = STANDARD.lines();
    loop {
        let mut head = lines.next()?.split_whitespace();
        let found: u32 = head.next()?.parse().ok()?;
        let (error, count) = (head.next()?.parse().ok()?, head.next()?.parse().ok()?);
        if found == alpha {
            let stage = |line: &'static str| {
                let odd: Result<Vec<f64>, _> = line.split_whitespace().map(str::parse).collect();
                let all: Vec<f64> = odd.ok()?.into_iter().flat_map(|c| [0.0, c]).collect();
                Polynomial::chebyshev(&all, -1.0, 1.0).ok()
            };
            return Some((error, lines.take(count).map(stage)));
        }
        for _ in 0..count {
            lines.next()?;
        }
    }
}

/// The position that a polynomial moves a gap to, inverted: where a gap must be to come to this
/// position.
fn position_before(gains: &[f64; 20], after: f64) -> f64 {
    let at = |i: usize| FIRST + STEP * i as f64;
    let image = |i: usize| at(i) + gains[i];
    match (0..gains.len()).find(|&i| image(i) >= after) {
        Some(0) => after - gains[0],
        Some(i) => at(i - 1) + STEP * (after - image(i - 1)) / (image(i) - image(i - 1)),
        None => after - gains[gains.len() - 1],
    }
}

/// The degrees of least depth, then fewest relinearisations, that bring a gap to an error, with
/// this much more than needed.
fn degrees(gap: f64, error: f64, excess: f64) -> Option<Vec<usize>> {
    let start = libm::log2(libm::atanh(gap));
    let goal = libm::log2(-0.5 * libm::log(error)) + excess;
    // By depth and relinearisations: where a gap may be at most, and the first degree from there.
    let mut reach: Vec<Vec<(f64, usize)>> = Vec::new();
    for depth in 0..MAX_DEPTH {
        let mut row: Vec<(f64, usize)> = Vec::new();
        for count in 0..2 * MAX_DEPTH {
            let mut best = (if depth == 0 { goal } else { f64::INFINITY }, 0);
            for (degree, relinearisations, gains) in &GAINS {
                let own = (degree + 1).next_power_of_two().ilog2() as usize;
                let (Some(before), Some(left)) =
                    (depth.checked_sub(own), count.checked_sub(*relinearisations))
                else {
                    continue;
                };
                let after = reach[before][left].0;
                if after.is_finite() {
                    let position = position_before(gains, after);
                    if position < best.0 {
                        best = (position, *degree);
                    }
                }
            }
            row.push(best);
            if best.0 <= start && best.1 > 0 {
                reach.push(row);
                return Some(path(&reach, depth, count));
            }
        }
        reach.push(row);
    }
    None
}

fn path(reach: &[Vec<(f64, usize)>], mut depth: usize, mut count: usize) -> Vec<usize> {
    let mut degrees = Vec::new();
    while depth > 0 {
        let (_, degree) = reach[depth][count];
        let cost = GAINS.iter().find(|(d, _, _)| *d == degree).map_or(0, |(_, cost, _)| *cost);
        degrees.push(degree);
        depth -= (degree + 1).next_power_of_two().ilog2() as usize;
        count -= cost;
    }
    degrees
}

#[cfg(test)]
mod tests {
    use super::super::remez::cosine_points;
    use super::*;

    /// The table is what the exchange computes, with degrees of least depth by the search.
    #[test]
    fn tables_are_recomputed() {
        let mut table = String::new();
        for alpha in 4..=CompositeSign::MAX_ALPHA {
            let gap = libm::exp2(-f64::from(alpha));
            let found = CompositeSign::new(gap, 2.0 * gap).unwrap();
            let stages = found.stages();
            table += &format!("{alpha} {:e} {}\n", found.error(), stages.len());
            for stage in stages {
                let odd: Vec<String> =
                    stage.coefficients().iter().skip(1).step_by(2).map(|c| format!("{c:e}")).collect();
                table += &(odd.join(" ") + "\n");
            }
        }
        if std::env::var_os("HE_WRITE_SIGN_TABLE").is_some() {
            std::fs::write("src/circuits/ckks/functions/sign_coefficients.txt", &table).unwrap();
            return;
        }
        for alpha in 4..=CompositeSign::MAX_ALPHA {
            let recorded = CompositeSign::standard(alpha).unwrap();
            let computed = CompositeSign::of_degrees(recorded.gap(), &recorded.degrees()).unwrap();
            println!("{alpha}: {:?}, depth {}", recorded.degrees(), recorded.depth());
            assert!((recorded.error() - computed.error()).abs() < 1e-12, "{alpha}");
            for (a, b) in recorded.stages().iter().zip(computed.stages()) {
                for (a, b) in a.coefficients().iter().zip(b.coefficients()) {
                    assert!((a - b).abs() < 1e-9, "{alpha}: {a} and {b}");
                }
            }
            let searched = CompositeSign::new(recorded.gap(), 2.0 * recorded.gap()).unwrap();
            assert_eq!(searched.degrees(), recorded.degrees(), "{alpha}");
        }
    }

    /// No composition of one level less reaches the precision: of each depth, the highest degree is
    /// the best.
    #[test]
    fn depths_are_the_least() {
        fn best(gap: f64, depth: usize, asked: f64) -> f64 {
            let degrees = [(2, 3), (3, 7), (4, 15), (5, 31)];
            let errors = degrees.into_iter().filter(|&(own, _)| own <= depth).map(|(own, degree)| {
                let error = Minimax::sign(degree, gap).unwrap().error();
                if error <= asked || own == depth {
                    return error;
                }
                best((1.0 - error) / (1.0 + error), depth - own, asked)
            });
            errors.fold(1.0, f64::min)
        }
        for alpha in 4..=11 {
            let composite = CompositeSign::standard(alpha).unwrap();
            let asked = 2.0 * composite.gap();
            let shallower = best(composite.gap(), composite.depth() - 1, asked);
            assert!(shallower > asked, "{alpha}: {shallower:e} with less than {} levels", composite.depth());
        }
    }

    /// Errors as stated on both sides, and values between polynomials at most one.
    #[test]
    fn errors_hold_from_the_gap_on() {
        for alpha in [4, 9, 13, CompositeSign::MAX_ALPHA] {
            let composite = CompositeSign::standard(alpha).unwrap();
            let mut largest: f64 = 0.0;
            for x in cosine_points(composite.gap(), 1.0, 20_000) {
                let y = composite.apply_plain(x);
                assert!((composite.apply_plain(-x) + y).abs() < 1e-12);
                largest = largest.max((y - 1.0).abs());
                let last = composite.stages().len() - 1;
                let between = composite.stages()[..last].iter().fold(x, |x, stage| stage.apply_plain(x));
                assert!(between <= 1.0 + 1e-12, "{alpha}: {between} at {x}");
            }
            assert!(largest <= composite.error() * (1.0 + 1e-6) + 1e-14, "{alpha}: {largest}");
            assert!(largest <= 2.0 * composite.gap(), "{alpha}: {largest}");
            for x in cosine_points(0.0, composite.gap(), 1000) {
                assert!(
                    (-1e-12..=1.0 + composite.error()).contains(&composite.apply_plain(x)),
                    "{alpha}: {x}"
                );
            }
        }
    }

    #[test]
    fn gaps_and_errors_out_of_range_are_refused() {
        for (gap, error) in [(0.0, 0.1), (1.0, 0.1), (f64::NAN, 0.1), (0.1, 0.0), (0.1, 1.5), (-0.1, 0.1)] {
            assert!(matches!(CompositeSign::new(gap, error), Err(Error::Argument { .. })), "{gap}, {error}");
        }
        assert!(CompositeSign::standard(3).is_err() && CompositeSign::standard(21).is_err());
        assert!(CompositeSign::of_degrees(0.1, &[]).is_err());
        assert!(CompositeSign::of_degrees(0.1, &[4]).is_err());
    }
}
