//! Baby and giant steps.

use std::collections::BTreeSet;

/// The rotations that reach diagonals by one baby and one giant step: diagonal k by the baby step b
/// and the giant step k - b, b one of `babies` neighbouring multiples of `unit`, the least of them
/// `lowest` times it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Steps {
    unit: i64,
    babies: i64,
    lowest: i64,
    /// The number of diagonals modulo which indices count, of a square matrix; 0 if they do not.
    modulus: i64,
}

/// The most diagonals for which every number of baby steps is tried.
const FEW: usize = 256;

impl Steps {
    /// Giant steps are multiples of this number, and baby steps are below it.
    pub(super) fn of_babies(babies: usize) -> Self {
        Self { unit: 1, babies: babies as i64, lowest: 0, modulus: 0 }
    }

    /// The steps with the fewest rotations among powers of two up to `highest`, and of several with
    /// the most baby steps, which need no division.
    pub(super) fn fewest<'a>(diagonals: impl Iterator<Item = &'a usize> + Clone, highest: usize) -> Self {
        let powers = (0..=highest.ilog2()).rev().map(|log| Self::of_babies(1 << log));
        powers.min_by_key(|steps| steps.cost(diagonals.clone(), 1)).unwrap_or(Self::of_babies(1))
    }

    /// The steps for which baby steps and `giant_cost` times the giant steps are fewest, for a
    /// square matrix of this many diagonals or fewer, whose indices may be taken as negative ones.
    pub(super) fn cheapest<'a>(
        diagonals: impl Iterator<Item = &'a usize> + Clone,
        dimension: usize,
        giant_cost: usize,
    ) -> Self {
        let whole = Self { unit: 1, babies: 1, lowest: 0, modulus: dimension as i64 };
        let unit =
            diagonals.clone().fold(0, |unit, &k| greatest_common_divisor(unit, whole.signed(k))).max(1);
        let found = diagonals.clone().count();
        let powers = (0..=dimension.ilog2()).rev().map(|log| 1 << log);
        let few = (1..=found as i64).rev().filter(|_| found <= FEW);
        let candidates = powers.chain(few).flat_map(|babies| {
            // From zero on, or as many on both sides of it.
            [0, -((babies - 1) / 2)].map(|lowest| Self { unit, babies, lowest, ..whole })
        });
        candidates.min_by_key(|steps| steps.cost(diagonals.clone(), giant_cost)).unwrap_or(whole)
    }

    fn cost<'a>(&self, diagonals: impl Iterator<Item = &'a usize>, giant_cost: usize) -> usize {
        let (babies, giants) = self.all(diagonals);
        babies.len().saturating_add(giant_cost.saturating_mul(giants.len()))
    }

    /// The index of least magnitude, where there is a choice.
    fn signed(&self, k: usize) -> i64 {
        let k = k as i64;
        if 2 * k > self.modulus && self.modulus > 0 { k - self.modulus } else { k }
    }

    /// The giant and the baby step of a diagonal, as rotations.
    pub(super) fn of(&self, k: usize) -> (i64, i64) {
        let index = self.signed(k) / self.unit;
        let baby = (index - self.lowest).rem_euclid(self.babies) + self.lowest;
        let giant = (index - baby) * self.unit;
        let giant = if self.modulus > 0 { giant.rem_euclid(self.modulus) } else { giant };
        (giant, baby * self.unit)
    }

    /// The baby and the giant steps of these diagonals, without 0.
    pub(super) fn all<'a>(
        &self,
        diagonals: impl Iterator<Item = &'a usize>,
    ) -> (BTreeSet<i64>, BTreeSet<i64>) {
        let (mut babies, mut giants) = (BTreeSet::new(), BTreeSet::new());
        for &k in diagonals {
            let (giant, baby) = self.of(k);
            babies.insert(baby);
            giants.insert(giant);
        }
        babies.remove(&0);
        giants.remove(&0);
        (babies, giants)
    }
}

fn greatest_common_divisor(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.abs(), b.abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every diagonal is the sum of its steps, modulo the dimension.
    #[test]
    fn steps_add_up() {
        for dimension in [8usize, 64, 1024] {
            for width in [1, 3, 7, 15, 31].into_iter().filter(|&width| width < dimension) {
                let stride = if dimension > 256 { 8 } else { 1 };
                let indices: BTreeSet<usize> = (-(width as i64) / 2..=width as i64 / 2)
                    .map(|k| (k * stride).rem_euclid(dimension as i64) as usize)
                    .collect();
                for giant_cost in 1..=8 {
                    let steps = Steps::cheapest(indices.iter(), dimension, giant_cost);
                    for &k in &indices {
                        let (giant, baby) = steps.of(k);
                        let what = format!("diagonal {k} of {dimension}, {steps:?}");
                        assert_eq!((giant + baby).rem_euclid(dimension as i64), k as i64, "{what}");
                    }
                    let fewest = Steps::fewest(indices.iter(), dimension);
                    assert!(
                        steps.cost(indices.iter(), giant_cost) <= fewest.cost(indices.iter(), giant_cost)
                    );
                }
            }
        }
    }

    /// The matrices of the special FFT: 31 diagonals around 0, and 16 from 0 on.
    #[test]
    fn dear_giant_steps_are_few() {
        let around: BTreeSet<usize> = (-15i64..=15).map(|k| (k * 64).rem_euclid(1 << 15) as usize).collect();
        let from_zero: BTreeSet<usize> = (0..16).map(|k| k << 11).collect();
        let count = |indices: &BTreeSet<usize>, giant_cost| {
            let (babies, giants) = Steps::cheapest(indices.iter(), 1 << 15, giant_cost).all(indices.iter());
            (babies.len(), giants.len())
        };
        assert_eq!([1, 4, 9].map(|cost| count(&around, cost)), [(7, 3), (10, 2), (15, 1)]);
        assert_eq!(count(&around, usize::MAX), (30, 0));
        assert_eq!([1, 4, 9].map(|cost| count(&from_zero, cost)), [(3, 3), (7, 1), (15, 0)]);
    }
}
