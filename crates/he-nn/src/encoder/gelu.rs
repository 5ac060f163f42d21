//! Functions of hidden units, which are sorted by their ranges.
//!
//! The order of hidden units is free: a permutation of the rows of one linear map and of the
//! columns of the next changes nothing. Units of small values come into ciphertexts of their own,
//! where a polynomial of low degree suffices: as many groups as there are ciphertexts for a token's
//! units.

use super::polynomial::Polynomial;
use super::range::{Excess, Range};
use crate::function::Function;
use he_core::circuits::ckks as circuits;
use serde::{Deserialize, Serialize};

/// Values may exceed those seen by this fraction and this number.
const MARGIN: (f64, f64) = (0.25, 0.5);
/// The error of the function, at most.
const ERROR: f64 = 1.0 / 256.0;
/// Degrees of polynomials.
const DEGREES: [usize; 9] = [11, 15, 23, 31, 47, 63, 95, 127, 255];

/// The greatest magnitude of each unit that calibration has seen.
#[derive(Clone, Debug)]
pub struct Seen(Vec<f64>);

impl Seen {
    /// An empty sample of so many units.
    pub fn new(units: usize) -> Self {
        Self(vec![0.0; units])
    }

    /// Includes a value, rows of units.
    pub fn see(&mut self, x: &[f64]) {
        for row in x.chunks_exact(self.0.len()) {
            self.0.iter_mut().zip(row).for_each(|(most, x)| *most = most.max(x.abs()));
        }
    }
}

impl Seen {
    /// With the sample of other examples.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0.into_iter().zip(other.0).map(|(a, b)| a.max(b)).collect())
    }
}

/// A function as it is computed on ciphertexts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Approximate {
    /// The units in the order of their ranges: the permutation.
    pub order: Vec<usize>,
    /// The group of each unit.
    group: Vec<usize>,
    /// The bound and the polynomial of each group.
    groups: Vec<(f64, Polynomial)>,
    /// The greatest error of any group.
    pub error: f64,
}

impl Approximate {
    /// For values like those seen, in groups of so many units.
    pub fn new(seen: &Seen, function: &Function, size: usize) -> Self {
        let mut order: Vec<usize> = (0..seen.0.len()).collect();
        order.sort_by(|&a, &b| seen.0[a].total_cmp(&seen.0[b]).then(a.cmp(&b)));
        let mut group = vec![0; order.len()];
        let (mut groups, mut error) = (Vec::new(), 0f64);
        for (index, units) in order.chunks(size.max(1)).enumerate() {
            units.iter().for_each(|&unit| group[unit] = index);
            let greatest = units.iter().map(|&unit| seen.0[unit]).fold(0.0, f64::max);
            let bound = greatest * (1.0 + MARGIN.0) + MARGIN.1;
            let fit = |degree: usize| {
                let polynomial = Polynomial::new(|x| function.at(x), [-bound, bound], degree);
                let error = polynomial.worst(|x, y| y - function.at(x));
                (polynomial, error)
            };
            let mut fits = DEGREES.into_iter().map(fit).filter(|(p, e)| *e <= ERROR || p.degree() == 255);
            let (polynomial, found) = fits.next().unwrap_or_else(|| fit(255));
            error = error.max(found);
            groups.push((bound, polynomial));
        }
        Self { order, group, groups, error }
    }

    /// Whether it is one of so many units.
    pub(super) fn is_valid(&self, units: usize) -> bool {
        let mut order = self.order.clone();
        order.sort_unstable();
        let bounded = |(bound, polynomial): &(f64, Polynomial)| {
            bound.is_finite() && *bound > 0.0 && polynomial.is_valid()
        };
        order.into_iter().eq(0..units)
            && self.group.len() == units
            && self.group.iter().all(|&group| group < self.groups.len())
            && self.groups.iter().all(bounded)
            && self.error.is_finite()
    }

    /// The bound and the degree of each group.
    pub fn groups(&self) -> impl Iterator<Item = (f64, usize)> + '_ {
        self.groups.iter().map(|(bound, polynomial)| (*bound, polynomial.degree()))
    }

    /// The bound of each unit, in their order.
    pub(super) fn bounds(&self) -> Vec<f64> {
        self.order.iter().map(|&unit| self.groups[self.group[unit]].0).collect()
    }

    /// The polynomial of each group, of units divided by their bounds.
    pub(super) fn on_unit_intervals(&self) -> he_core::Result<Vec<circuits::Polynomial>> {
        self.groups.iter().map(|(_, polynomial)| polynomial.on_unit_interval(1.0)).collect()
    }

    /// The levels of the deepest group.
    pub fn depth(&self) -> usize {
        self.groups.iter().map(|(_, polynomial)| polynomial.depth()).max().unwrap_or(0)
    }

    /// The value on rows of units.
    ///
    /// # Errors
    /// A value outside the range of its group.
    pub fn apply(&self, node: usize, x: &[f64]) -> Result<Vec<f64>, Excess> {
        let one = |(at, &x): (usize, &f64)| {
            let unit = at % self.group.len();
            let (bound, polynomial) = &self.groups[self.group[unit]];
            let range = Range { low: -bound, high: *bound };
            match range.contains(x) {
                true => Ok(polynomial.at(x)),
                false => Err(Excess { node, quantity: format!("hidden unit {unit}"), value: x, range }),
            }
        };
        x.iter().enumerate().map(one).collect()
    }
}
