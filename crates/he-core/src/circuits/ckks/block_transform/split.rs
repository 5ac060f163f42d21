//! The diagonals of a map, and their split into baby and giant steps.

use super::BlockTransform;
use crate::circuits::ckks::TensorLayout;
use std::collections::{BTreeMap, BTreeSet};

/// The cost of a giant step in baby steps: beside an inner product with a key it takes a division
/// and a decomposition.
const GIANT: usize = 2;
/// The cost of a rotation by itself, which folds partial sums.
const FOLD: usize = 2;

/// The cost of rotations together, in baby steps.
pub(super) fn cost(babies: usize, giants: usize, folds: usize) -> usize {
    babies + GIANT * giants + FOLD * folds
}

/// The slots of vectors on both sides of a map, in units of examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sides {
    /// Slots of each input.
    pub input: usize,
    /// Slots of each output.
    pub output: usize,
}

impl Sides {
    pub fn new(input: &TensorLayout, output: &TensorLayout) -> Self {
        let unit = input.examples();
        Self { input: input.slots() / unit, output: output.slots() / unit }
    }

    /// Diagonals count modulo this.
    pub fn modulus(&self) -> usize {
        self.input.min(self.output)
    }

    /// Slots of a diagonal.
    pub fn period(&self) -> usize {
        self.input.max(self.output)
    }

    /// The diagonal of an entry between two slots.
    fn class(&self, output: usize, input: usize) -> usize {
        let modulus = self.modulus();
        (input % modulus + modulus - output % modulus) % modulus
    }
}

/// The representative of smallest magnitude.
pub(super) fn centred(k: i64, modulus: usize) -> i64 {
    let modulus = modulus as i64;
    let k = k.rem_euclid(modulus);
    if 2 * k > modulus { k - modulus } else { k }
}

/// The giant and the baby step of a diagonal, for `babies` baby steps around zero to a giant step.
pub(super) fn steps(k: usize, babies: usize, modulus: usize) -> (i64, i64) {
    let (k, babies) = (centred(k as i64, modulus), babies as i64);
    let baby = (k + babies / 2).rem_euclid(babies) - babies / 2;
    (centred(k - baby, modulus), baby)
}

/// The diagonals that are not zero, for every output and input.
pub(super) struct Classes {
    sides: Sides,
    of: BTreeMap<(usize, usize), Vec<u64>>,
}

impl Classes {
    pub fn new(sides: Sides) -> Self {
        Self { sides, of: BTreeMap::new() }
    }

    /// Adds the entry between two positions.
    pub fn insert(&mut self, output: usize, input: usize) {
        let Sides { input: inputs, output: outputs } = self.sides;
        let words = self.sides.modulus().div_ceil(64);
        let set = self.of.entry((output / outputs, input / inputs)).or_insert_with(|| vec![0; words]);
        let class = self.sides.class(output % outputs, input % inputs);
        set[class / 64] |= 1 << (class % 64);
    }

    fn each(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let bits = |(&(output, input), set): (&(usize, usize), &Vec<u64>)| {
            let of_word = |(at, &word): (usize, &u64)| {
                (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * 64 + bit)
            };
            let classes: Vec<usize> = set.iter().enumerate().flat_map(of_word).collect();
            classes.into_iter().map(move |class| (output, input, class))
        };
        self.of.iter().flat_map(bits)
    }

    /// Rotations with this number of baby steps, giant steps weighted.
    fn cost(&self, babies: usize) -> usize {
        let (mut baby, mut giant) = (BTreeSet::new(), BTreeSet::new());
        for (output, input, class) in self.each() {
            let (g, b) = steps(class, babies, self.sides.modulus());
            giant.insert((output, g));
            baby.insert((input, b));
        }
        let turns = |set: &BTreeSet<(usize, i64)>| set.iter().filter(|(_, step)| *step != 0).count();
        let folds = if self.of.is_empty() { 0 } else { self.folds() };
        cost(turns(&baby), turns(&giant), folds)
    }

    /// Rotations that add up partial sums.
    fn folds(&self) -> usize {
        (self.sides.input / self.sides.modulus()).ilog2() as usize
    }

    /// The number of baby steps that costs least, and that cost: of powers of two and of numbers
    /// that the layouts suggest.
    pub fn cheapest(&self, layouts: [&TensorLayout; 2]) -> (usize, usize) {
        let modulus = self.sides.modulus();
        let suggested = layouts.into_iter().flat_map(|layout| {
            let grid = layout.grid();
            [grid.pitch, grid.pitch * grid.gap[0], grid.plane]
        });
        let doubled = |start: usize| std::iter::successors(Some(start), |n| n.checked_mul(2));
        let candidates: BTreeSet<usize> = suggested
            .chain([1])
            .flat_map(|start| doubled(start).take_while(|&babies| babies <= modulus))
            .collect();
        // Ties go to the choice with the most baby steps, which need no division.
        let costs = candidates.into_iter().rev().map(|babies| (babies, self.cost(babies)));
        costs.min_by_key(|&(_, cost)| cost).unwrap_or((1, 0))
    }
}

/// The amounts that the choice between the two ways of hoisting depends on.
impl BlockTransform {
    /// Baby steps of all inputs, other than 0.
    pub(super) fn baby_steps(&self) -> BTreeSet<(usize, i64)> {
        self.diagonals.keys().map(|key| (key.input, key.baby)).filter(|&(_, step)| step != 0).collect()
    }

    /// Giant steps of all outputs, other than 0.
    pub(super) fn giant_steps(&self) -> BTreeSet<(usize, i64)> {
        self.diagonals.keys().map(|key| (key.output, key.giant)).filter(|&(_, step)| step != 0).collect()
    }
}
