//! Layer normalisation: 1 / sqrt(variance) by a polynomial, after a public factor for each row.
//!
//! Some rows, such as that of the first token, have variances far from those of all others. Their
//! positions are public, thus a factor for such a row brings its variances to those of the others,
//! and its square root goes back into the row afterwards: an exact rearrangement.

use super::polynomial::Polynomial;
use super::range::{Excess, Range};
use crate::graph::LayerNorm;
use crate::transformers::moments;
use he_core::circuits::ckks as circuits;
use serde::{Deserialize, Serialize};

/// Variances may leave those seen by this factor, both ways.
const MARGIN: f64 = 1.5;
/// Rows whose variances differ from the median by more get a factor.
const FAR: f64 = 4.0;
/// The relative error of 1 / sqrt(variance), at most.
const ERROR: f64 = 1.0 / 256.0;
/// Degrees of polynomials, and the steps of Newton's method after each.
const CHOICES: [(usize, usize); 8] = [(7, 0), (15, 0), (15, 1), (31, 0), (31, 1), (31, 2), (63, 1), (63, 2)];

/// The variances of each row that calibration has seen.
#[derive(Clone, Debug)]
pub struct Seen(Vec<Range>);

impl Seen {
    /// An empty sample of so many rows.
    pub fn new(rows: usize) -> Self {
        Self(vec![Range::EMPTY; rows])
    }

    /// Includes a value.
    pub fn see(&mut self, norm: &LayerNorm, x: &[f64]) {
        let rows = x.chunks_exact(norm.scale.len());
        self.0.iter_mut().zip(rows).for_each(|(range, row)| range.see(moments(row).1 + norm.epsilon));
    }
}

impl Seen {
    /// With the sample of other examples.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0.into_iter().zip(other.0).map(|(a, b)| a.with(b)).collect())
    }
}

/// A layer normalisation as it is computed on ciphertexts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Approximate {
    /// The factor of each row's variance.
    pub factors: Vec<f64>,
    /// The variances after these factors.
    pub range: Range,
    /// The polynomial.
    polynomial: Polynomial,
    /// Steps of Newton's method after the polynomial.
    pub newton: usize,
    /// The relative error of 1 / sqrt(variance).
    pub error: f64,
}

impl Approximate {
    /// For variances like those seen.
    pub fn new(seen: &Seen) -> Self {
        let centre = |range: &Range| (range.low * range.high).sqrt();
        let mut centres: Vec<f64> = seen.0.iter().map(centre).collect();
        centres.sort_by(f64::total_cmp);
        let median = centres[centres.len() / 2];
        let factor = |range: &Range| {
            let ratio = median / centre(range);
            if (1.0 / FAR..FAR).contains(&ratio) { 1.0 } else { ratio }
        };
        let factors: Vec<f64> = seen.0.iter().map(factor).collect();
        let scaled = |(range, factor): (&Range, &f64)| Range {
            low: range.low * factor / MARGIN,
            high: range.high * factor * MARGIN,
        };
        let range = seen.0.iter().zip(&factors).map(scaled).fold(Range::EMPTY, Range::with);
        let mut fits = CHOICES.into_iter().map(|(degree, newton)| Self::fit(range, degree, newton));
        let best = fits.clone().find(|(_, _, error)| *error <= ERROR).or_else(|| fits.next_back());
        let (polynomial, newton, error) = best.unwrap_or_else(|| Self::fit(range, 63, 2));
        Self { factors, range, polynomial, newton, error }
    }

    /// Whether it is one of so many rows.
    pub(super) fn is_valid(&self, rows: usize) -> bool {
        let newton = CHOICES.iter().any(|(_, newton)| *newton == self.newton);
        let positive = |x: &f64| x.is_finite() && *x > 0.0;
        self.factors.len() == rows
            && self.factors.iter().all(positive)
            && self.range.is_valid()
            && self.range.low > 0.0
            && self.polynomial.is_valid()
            && newton
            && self.error.is_finite()
    }

    fn fit(range: Range, degree: usize, newton: usize) -> (Polynomial, usize, f64) {
        let polynomial = Polynomial::new(|x| 1.0 / x.sqrt(), [range.low, range.high], degree);
        let error = polynomial.worst(|x, y| refined(x, y, newton) * x.sqrt() - 1.0);
        (polynomial, newton, error)
    }

    /// The ratio of the greatest and the least variance.
    pub fn ratio(&self) -> f64 {
        self.range.high / self.range.low
    }

    /// The bounds of variances after the factors of rows.
    pub(super) fn interval(&self) -> [f64; 2] {
        [self.range.low, self.range.high]
    }

    /// A factor times the polynomial of variances that are mapped to -1 to 1.
    pub(super) fn on_unit_interval(&self, factor: f64) -> he_core::Result<circuits::Polynomial> {
        self.polynomial.on_unit_interval(factor)
    }

    /// The degree of the polynomial.
    pub fn degree(&self) -> usize {
        self.polynomial.degree()
    }

    /// Its levels: the variance, the polynomial, Newton's steps, the products with it.
    pub fn depth(&self) -> usize {
        3 + self.polynomial.depth() + 2 * self.newton
    }

    /// The rows with a factor.
    pub fn outliers(&self) -> usize {
        self.factors.iter().filter(|&&factor| factor != 1.0).count()
    }

    /// The value on rows.
    ///
    /// # Errors
    /// A variance outside the range.
    pub fn apply(&self, node: usize, norm: &LayerNorm, x: &[f64]) -> Result<Vec<f64>, Excess> {
        let mut y = Vec::with_capacity(x.len());
        for (at, (row, factor)) in x.chunks_exact(norm.scale.len()).zip(&self.factors).enumerate() {
            let (mean, variance) = moments(row);
            let scaled = (variance + norm.epsilon) * factor;
            if !self.range.contains(scaled) {
                let quantity = format!("variance of row {at}");
                return Err(Excess { node, quantity, value: scaled, range: self.range });
            }
            let root = refined(scaled, self.polynomial.at(scaled), self.newton) * factor.sqrt();
            let places = row.iter().zip(norm.scale.iter().zip(&norm.shift));
            y.extend(places.map(|(x, (scale, shift))| scale * (x - mean) * root + shift));
        }
        Ok(y)
    }
}

/// Steps of Newton's method towards 1 / sqrt(x).
fn refined(x: f64, y: f64, steps: usize) -> f64 {
    (0..steps).fold(y, |y, _| y * (1.5 - 0.5 * x * y * y))
}
