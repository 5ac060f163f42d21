//! Metrics, and the scores in [-1, 1] that they become.

use crate::error::{Error, Result};

/// The measure by which vectors are compared.
///
/// Every metric becomes a *score* s in [-1, 1], the greater the nearer, which is an inner product
/// of columns of the record and coefficients of the query:
///
/// | metric | value | score |
/// |---|---|---|
/// | cosine | x y / (\|x\| \|y\|) | the value |
/// | dot product, norms up to r | x y | x y / r^2 |
/// | Euclidean, norms up to r | \|x - y\| | 1 - \|x - y\|^2 / (2 r^2) |
///
/// ```
/// use he_search::Metric;
/// let metric = Metric::Euclidean { norm: 2.0 };
/// assert_eq!(metric.score(2.0), 0.5);
/// assert_eq!(metric.value(0.5), 2.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric {
    /// The cosine of the angle between two vectors, which are divided by their norms.
    Cosine,
    /// The inner product.
    Dot {
        /// The greatest norm r of records and queries.
        norm: f64,
    },
    /// The distance.
    Euclidean {
        /// The greatest norm r of records and queries.
        norm: f64,
    },
}

/// Norms beyond which squares leave the range of doubles.
const GREATEST: f64 = 1e150;

/// The rounding of norms that is accepted above the greatest.
const ROUNDING: f64 = 1e-6;

impl Metric {
    /// The score of a value of the metric.
    pub fn score(self, value: f64) -> f64 {
        match self {
            Self::Cosine => value,
            Self::Dot { norm } => value / norm / norm,
            Self::Euclidean { norm } => 1.0 - 0.5 * (value / norm) * (value / norm),
        }
    }

    /// The value of the metric for a score.
    pub fn value(self, score: f64) -> f64 {
        match self {
            Self::Cosine => score,
            Self::Dot { norm } => score * norm * norm,
            Self::Euclidean { norm } => norm * libm::sqrt((2.0 - 2.0 * score).max(0.0)),
        }
    }

    /// The range of norms.
    fn norms(self) -> (f64, f64) {
        match self {
            Self::Cosine => (1.0 / GREATEST, GREATEST),
            Self::Dot { norm } | Self::Euclidean { norm } => (0.0, norm * (1.0 + ROUNDING)),
        }
    }

    pub(crate) fn check(self) -> Result<()> {
        match self {
            Self::Dot { norm } | Self::Euclidean { norm } if !(norm > 1.0 / GREATEST && norm < GREATEST) => {
                Err(Error::GreatestNorm { found: norm, highest: GREATEST })
            }
            _ => Ok(()),
        }
    }

    /// The columns of a record.
    pub(crate) fn columns(self, dimension: usize) -> usize {
        dimension + usize::from(matches!(self, Self::Euclidean { .. }))
    }

    /// The coefficients of a query: one for each column, and where there is one more, a summand.
    pub(crate) fn coefficients(self, dimension: usize) -> usize {
        dimension + 2 * usize::from(matches!(self, Self::Euclidean { .. }))
    }

    /// The vector divided by its norm or the greatest one, and the square of the norm that it has
    /// then.
    fn scaled(self, index: usize, vector: &[f64], dimension: usize) -> Result<(Vec<f64>, f64)> {
        if vector.len() != dimension {
            return Err(Error::Dimension { vector: index, found: vector.len(), expected: dimension });
        }
        if let Some((at, &value)) = vector.iter().enumerate().find(|(_, x)| !x.is_finite()) {
            return Err(Error::Coordinate { vector: index, at, value });
        }
        let largest = vector.iter().fold(0.0, |most: f64, x| most.max(x.abs())).max(f64::MIN_POSITIVE);
        let squares: f64 = vector.iter().map(|x| (x / largest) * (x / largest)).sum();
        let found = largest * libm::sqrt(squares);
        let (lowest, highest) = self.norms();
        if !(lowest..=highest).contains(&found) {
            return Err(Error::Norm { vector: index, found, lowest, highest });
        }
        let (divisor, square) = match self {
            Self::Cosine => (found, 1.0),
            Self::Dot { norm } | Self::Euclidean { norm } => (norm, (found / norm) * (found / norm)),
        };
        Ok((vector.iter().map(|x| x / divisor).collect(), square))
    }

    /// The columns of one record.
    pub(crate) fn record(self, index: usize, vector: &[f64], dimension: usize) -> Result<Vec<f64>> {
        let (mut columns, square) = self.scaled(index, vector, dimension)?;
        if let Self::Euclidean { .. } = self {
            columns.push(0.5 - 0.5 * square);
        }
        Ok(columns)
    }

    /// The coefficients of a query.
    pub(crate) fn query(self, vector: &[f64], dimension: usize) -> Result<Vec<f64>> {
        let (mut coefficients, square) = self.scaled(0, vector, dimension)?;
        if let Self::Euclidean { .. } = self {
            coefficients.extend([1.0, 0.5 - 0.5 * square]);
        }
        Ok(coefficients)
    }
}
