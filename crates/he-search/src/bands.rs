//! Bands of scores, and the polynomial that tells them apart.

use crate::error::{Error, Result};
use he_core::circuits::ckks::{Minimax, Parity, Polynomial};

/// Two bands of scores: those of records that do not match, and those of records that do.
///
/// Scores between the bands count as anything from 0 to 1, and answers state how many are
/// undecided.
/// Scores below `lowest` or above `highest` must not occur: the polynomial grows without bound
/// there. With -1 and 1 they cannot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bands {
    /// The least score.
    pub lowest: f64,
    /// The greatest score of records that do not match.
    pub below: f64,
    /// The least score of matches.
    pub above: f64,
    /// The greatest score.
    pub highest: f64,
}

/// The degrees that are tried: one less than a power of two, which a depth can reach.
const DEGREES: [usize; 5] = [15, 31, 63, 127, 255];

/// A polynomial near 0 on the lower band and near 1 on the upper one.
#[derive(Clone, Debug)]
pub struct Step {
    /// The polynomial of u in [-1, 1], where u = (2 s - highest - lowest) / (highest - lowest) for
    /// a score s.
    pub polynomial: Polynomial,
    /// Its largest error on both bands.
    pub error: f64,
}

impl Bands {
    /// All scores, but for those within a margin of a threshold.
    pub fn around(threshold: f64, margin: f64) -> Self {
        Self { lowest: -1.0, below: threshold - margin, above: threshold + margin, highest: 1.0 }
    }

    pub(crate) fn check(&self) -> Result<()> {
        let Self { lowest, below, above, highest } = *self;
        let ordered = lowest < below && below < above && above < highest;
        match ordered && lowest >= -1.0 && highest <= 1.0 {
            true => Ok(()),
            false => Err(Error::Bands { lowest, below, above, highest }),
        }
    }

    /// The bands that hold these scores with errors.
    pub(crate) fn widened(&self, error: f64) -> Self {
        Self {
            lowest: self.lowest - error,
            below: self.below + error,
            above: self.above - error,
            highest: self.highest + error,
        }
    }

    /// The factor and the summand of the map from scores to [-1, 1].
    pub(crate) fn map(&self) -> (f64, f64) {
        let width = self.highest - self.lowest;
        (2.0 / width, -(self.highest + self.lowest) / width)
    }

    /// The polynomial of this degree whose largest error on both bands is the least, by Remez'
    /// exchange on the union of two intervals
    /// ([`Minimax`](he_core::circuits::ckks::Minimax)). Two bands need no odd polynomials and no
    /// composition: at dimension 256 random vectors leave a gap so wide that degree 31 has an error
    /// of 10^-6.
    ///
    /// ```
    /// # fn main() -> he_search::Result<()> {
    /// let bands = he_search::Bands { lowest: -0.5, below: 0.48, above: 0.875, highest: 0.97 };
    /// let step = bands.step(31)?;
    /// assert!(step.error < 1.7e-6);
    /// let u = |score: f64| (2.0 * score - 0.97 + 0.5) / (0.97 + 0.5);
    /// assert!(step.polynomial.apply_plain(u(0.1)).abs() <= 1.001 * step.error);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Core`] for bands that are not in order, for a degree of 0 or above 255, and for one
    /// so high that the error vanishes.
    pub fn step(&self, degree: usize) -> Result<Step> {
        let Self { lowest, below, above, highest } = *self;
        let middle = 0.5 * (below + above);
        let indicator = |score: f64| if score > middle { 1.0 } else { 0.0 };
        let best = Minimax::new(indicator, Parity::Full, degree, &[(lowest, below), (above, highest)])?;
        let polynomial = Polynomial::chebyshev(best.polynomial().coefficients(), -1.0, 1.0)?;
        Ok(Step { polynomial, error: best.error() })
    }

    /// The step of the least degree with at most this error.
    pub(crate) fn cheapest(&self, needed: f64) -> Result<Step> {
        // The constant 1/2 has this error on all bands, also on those that overlap.
        let mut best = (0, 0.5);
        if self.below >= self.above {
            return Err(Error::Gap { degree: best.0, found: best.1, needed });
        }
        for degree in DEGREES {
            let step = self.step(degree)?;
            if step.error <= needed {
                return Ok(step);
            }
            best = (degree, step.error);
        }
        Err(Error::Gap { degree: best.0, found: best.1, needed })
    }

    /// A bound on the probability that a record of random direction has a cosine outside of
    /// [lowest, below]: (1 - x^2)^((d - 1) / 2) / 2 for each end at a distance x from 0.
    ///
    /// The bound holds for every x >= 0. The density of a coordinate of a random unit vector is
    /// c (1 - t^2)^((d - 3) / 2), so the difference of bound and probability has a derivative of
    /// (1 - x^2)^((d - 3) / 2) (c - (d - 1) x / 2), which is first positive and then negative; the
    /// difference is 0 at both x = 0 and x = 1, hence nowhere negative.
    pub fn tail(&self, dimension: usize) -> f64 {
        let beyond = |x: f64| match x {
            ..0.0 => 1.0,
            1.0.. => 0.0,
            _ => 0.5 * libm::pow(1.0 - x * x, 0.5 * (dimension as f64 - 1.0)),
        };
        (beyond(self.below) + beyond(-self.lowest)).min(1.0)
    }
}
