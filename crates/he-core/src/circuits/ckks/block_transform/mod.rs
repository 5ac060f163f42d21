//! Sparse linear maps between tensors that span several ciphertexts.

mod parts;
mod prepared;
mod split;
#[cfg(test)]
mod tests;

pub use parts::{BlockOutline, BlockParts, MapPart, PartOf, PartValue};
pub use prepared::PreparedBlocks;

use super::TensorLayout;
use crate::circuits::Requirements;
use crate::ckks::{CkksParams, Complex64};
use crate::error::{Error, Result};
use crate::rlwe::KeyRequirements;
use split::{Classes, Sides, centred, steps};
use std::collections::{BTreeMap, BTreeSet};

/// The key of a diagonal: between which ciphertexts, and by which steps in units of examples. In
/// the order of the computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    output: usize,
    giant: i64,
    input: usize,
    baby: i64,
}

/// A sparse matrix between two tensors in [layouts](TensorLayout), with a bias: convolutions,
/// poolings, fully connected layers, changes of layout. One level, whatever the number of
/// ciphertexts.
///
/// With y_i the output ciphertexts and x_j the inputs,
/// y_i = sum_g rotate(sum_j sum_b diagonal_ijgb rotate(x_j, b), g) + bias_i. The baby rotations of
/// an input serve all outputs and share one decomposition; the giant steps of an output serve all
/// inputs; each output is divided once. The numbers of steps are chosen for all diagonals together,
/// so that rotations are fewest. Nothing of the size of a dense matrix is made: time and memory are
/// those of the entries and of the diagonals that they lie on.
///
/// If the vectors of the output have fewer slots than those of the input, diagonals hold partial
/// sums, which log2 of the ratio more rotations add up (as in
/// [`LinearTransform`](super::LinearTransform)); the result then repeats in all slots.
/// [`cheapest`](Self::cheapest) chooses between this and the plain way, as the builders of layers
/// do.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockTransform {
    input: TensorLayout,
    output: TensorLayout,
    diagonals: BTreeMap<Key, Vec<Complex64>>,
    /// One for each output or none, in units of examples.
    bias: Vec<Vec<Complex64>>,
    babies: usize,
}

impl BlockTransform {
    /// From entries (output position, input position, value): positions as
    /// [`TensorLayout::position`] gives them, in any order. Values of equal positions add up, and
    /// positions need not be those of entries of the tensors: a map may fill or read slots between
    /// them. The iterator is cloned, since it is read twice.
    ///
    /// # Errors
    /// [`Error::Argument`] for layouts of different numbers of examples, positions outside of the
    /// ciphertexts or of another example than the first, and values that are not finite.
    pub fn new<T: Copy + Into<Complex64>>(
        input: &TensorLayout,
        output: &TensorLayout,
        entries: impl IntoIterator<Item = (usize, usize, T), IntoIter: Clone>,
    ) -> Result<Self> {
        let entries = checked(input, output, entries.into_iter())?;
        Ok(Self::of_places(input, output, entries))
    }

    /// Makes the transform with the number of slots of the output for which rotations are fewest,
    /// from those that the output needs to those of the input. See [`output`](Self::output).
    ///
    /// # Errors
    /// The same as for [`new`](Self::new).
    pub fn cheapest<T: Copy + Into<Complex64>>(
        input: &TensorLayout,
        output: &TensorLayout,
        entries: impl IntoIterator<Item = (usize, usize, T), IntoIter: Clone>,
    ) -> Result<Self> {
        let entries = checked(input, output, entries.into_iter())?;
        Ok(Self::cheapest_of_places(input, output, entries))
    }

    /// The same with this number of baby steps to a giant step, as a map between these layouts that
    /// was chosen before says ([`babies`](Self::babies)): nothing is searched.
    ///
    /// # Errors
    /// [`Error::Argument`] for a number other than 1 to the slots of the shorter vectors; the same
    /// as for [`new`](Self::new).
    pub fn with_babies<T: Copy + Into<Complex64>>(
        input: &TensorLayout,
        output: &TensorLayout,
        entries: impl IntoIterator<Item = (usize, usize, T), IntoIter: Clone>,
        babies: usize,
    ) -> Result<Self> {
        let entries = checked(input, output, entries.into_iter())?;
        Self::check_babies(input, output, babies)?;
        Ok(Self::filled(input, output, entries, babies))
    }

    fn check_babies(input: &TensorLayout, output: &TensorLayout, babies: usize) -> Result<()> {
        let most = Sides::new(input, output).modulus();
        if (1..=most).contains(&babies) {
            return Ok(());
        }
        let hint = format!("from 1 to {most} are possible");
        Err(Error::domain("baby steps", babies.to_string(), hint))
    }

    /// A matrix of any shape, row by row, from a vector of `columns` numbers to one of `rows`
    /// numbers, each in as many ciphertexts of `capacity` slots (N / 2) as needed.
    ///
    /// # Errors
    /// [`Error::Argument`] for no rows or columns, another number of entries, or an entry that is
    /// not finite; a capacity that is not a power of two.
    pub fn matrix<T: Copy + Into<Complex64>>(
        rows: usize,
        columns: usize,
        entries: &[T],
        capacity: usize,
    ) -> Result<Self> {
        if rows == 0 || columns == 0 || rows.checked_mul(columns) != Some(entries.len()) {
            let found = entries.len();
            return Err(Error::argument("matrix", format!("{found} entries for {rows} x {columns}")));
        }
        let input = TensorLayout::vector(columns, capacity)?;
        let output = TensorLayout::vector(rows, capacity)?;
        let entries = entries.iter().enumerate().map(|(i, &x)| (i / columns, i % columns, x));
        Self::cheapest(&input, &output, entries)
    }

    /// The map that moves a tensor from one layout to another one of the same shape.
    ///
    /// # Errors
    /// [`Error::Argument`] for different shapes or numbers of examples.
    pub fn relayout(from: &TensorLayout, to: &TensorLayout) -> Result<Self> {
        if from.shape() != to.shape() {
            let why = format!("a tensor of {:?} has no place in one of {:?}", from.shape(), to.shape());
            return Err(Error::argument("layout", why));
        }
        same_examples(from, to)?;
        let entries = to.places().zip(from.places()).map(|(to, from)| (to, from, Complex64::ONE));
        Ok(Self::of_places(from, to, entries))
    }

    /// The best of the possible slots of the output, for entries in units of examples.
    pub(super) fn cheapest_of_places(
        input: &TensorLayout,
        output: &TensorLayout,
        entries: impl Iterator<Item = (usize, usize, Complex64)> + Clone,
    ) -> Self {
        let more = std::iter::successors(Some(output.slots()), |slots| slots.checked_mul(2));
        let candidates = more.take_while(|&slots| slots <= input.slots().max(output.slots()));
        let candidates = candidates.filter_map(|slots| output.with_slots(slots).ok());
        let chosen = candidates
            .map(|output| (Self::split(input, &output, entries.clone()), output))
            // Ties go to the choice with the fewest slots, which leaves the next map fewer
            // diagonals.
            .min_by_key(|((_, cost), _)| *cost);
        match chosen {
            Some(((babies, _), output)) => Self::filled(input, &output, entries, babies),
            None => Self::of_places(input, output, entries),
        }
    }

    /// For entries in units of examples.
    pub(super) fn of_places(
        input: &TensorLayout,
        output: &TensorLayout,
        entries: impl Iterator<Item = (usize, usize, Complex64)> + Clone,
    ) -> Self {
        let (babies, _) = Self::split(input, output, entries.clone());
        Self::filled(input, output, entries, babies)
    }

    /// The number of baby steps to a giant step, and the cost.
    fn split(
        input: &TensorLayout,
        output: &TensorLayout,
        entries: impl Iterator<Item = (usize, usize, Complex64)>,
    ) -> (usize, usize) {
        let mut classes = Classes::new(Sides::new(input, output));
        entries.filter(|(_, _, value)| *value != Complex64::ZERO).for_each(|(o, i, _)| classes.insert(o, i));
        classes.cheapest([input, output])
    }

    fn filled(
        input: &TensorLayout,
        output: &TensorLayout,
        entries: impl Iterator<Item = (usize, usize, Complex64)>,
        babies: usize,
    ) -> Self {
        let diagonals = Self::diagonals_of(input, output, entries, babies, |_| true);
        Self { input: *input, output: *output, diagonals, bias: Vec::new(), babies }
    }

    /// The diagonals of entries in units of examples, of the keys that are wanted.
    fn diagonals_of(
        input: &TensorLayout,
        output: &TensorLayout,
        entries: impl Iterator<Item = (usize, usize, Complex64)>,
        babies: usize,
        wanted: impl Fn(&Key) -> bool,
    ) -> BTreeMap<Key, Vec<Complex64>> {
        let sides = Sides::new(input, output);
        let (modulus, period) = (sides.modulus(), sides.period());
        let mut diagonals: BTreeMap<Key, Vec<Complex64>> = BTreeMap::new();
        for (to, from, value) in entries.filter(|(_, _, value)| *value != Complex64::ZERO) {
            let (to, output) = (to % sides.output, to / sides.output);
            let (from, input) = (from % sides.input, from / sides.input);
            let class = centred(from as i64 - to as i64, modulus).rem_euclid(modulus as i64);
            let (giant, baby) = steps(class as usize, babies, modulus);
            let key = Key { output, giant, input, baby };
            if !wanted(&key) {
                continue;
            }
            // Any slot congruent to the output's will do where the input is the longer one.
            let slot = if sides.input >= sides.output {
                (from as i64 - giant - baby).rem_euclid(sides.input as i64) as usize
            } else {
                to
            };
            diagonals.entry(key).or_insert_with(|| vec![Complex64::ZERO; period])[slot] += value;
        }
        diagonals.retain(|_, diagonal| diagonal.iter().any(|z| *z != Complex64::ZERO));
        diagonals
    }

    /// With numbers that are added to the product: (position, value), which add up to those that
    /// were added before.
    ///
    /// # Errors
    /// [`Error::Argument`] for positions outside of the output, and values that are not finite.
    pub fn with_bias<T: Copy + Into<Complex64>>(
        mut self,
        bias: impl IntoIterator<Item = (usize, T)>,
    ) -> Result<Self> {
        let (unit, slots) = (self.output.examples(), self.output.slots());
        let mut vectors = std::mem::take(&mut self.bias);
        if vectors.is_empty() {
            vectors = vec![vec![Complex64::ZERO; slots / unit]; self.output.ciphertexts()];
        }
        for (position, value) in bias {
            let value = finite("bias", position, value)?;
            let place = place("bias", &self.output, position)? * unit;
            vectors[place / slots][place % slots / unit] += value;
        }
        if vectors.iter().flatten().any(|z| *z != Complex64::ZERO) {
            self.bias = vectors;
        }
        Ok(self)
    }

    /// The layout of the tensors that it takes.
    pub fn input(&self) -> &TensorLayout {
        &self.input
    }

    /// The layout of the tensors that it leaves. Its slots may be more than those asked for: see
    /// [`cheapest`](Self::cheapest).
    pub fn output(&self) -> &TensorLayout {
        &self.output
    }

    /// Diagonals that are not zero, between all pairs of ciphertexts: the number of products with
    /// plaintexts, and of plaintexts.
    pub fn diagonals(&self) -> usize {
        self.diagonals.len()
    }

    /// Rotations, of all ciphertexts: baby steps of all inputs, giant steps of all outputs, and
    /// those that add up partial sums.
    pub fn rotations(&self) -> usize {
        self.baby_steps().len() + self.giant_steps().len() + self.folds().len()
    }

    /// Baby steps to a giant step.
    pub fn babies(&self) -> usize {
        self.babies
    }

    /// The cost by which builders choose: rotations, those of more work weighted.
    pub(super) fn cost(&self) -> usize {
        split::cost(self.baby_steps().len(), self.giant_steps().len(), self.folds().len())
    }

    /// Rotations that add up partial sums, the shortest first.
    fn folds(&self) -> Vec<i64> {
        let doubled = std::iter::successors(Some(self.output.slots()), |step| step.checked_mul(2));
        let end = if self.diagonals.is_empty() { 0 } else { self.input.slots() };
        doubled.take_while(|&step| step < end).map(|step| step as i64).collect()
    }

    /// One level, and the keys of all rotations.
    pub fn requirements(&self) -> Requirements {
        let unit = self.input.examples() as i64;
        let steps: BTreeSet<i64> = self.baby_steps().into_iter().map(|(_, step)| step).collect();
        let giants: BTreeSet<i64> = self.giant_steps().into_iter().map(|(_, step)| step).collect();
        let steps: BTreeSet<i64> = steps.into_iter().chain(giants).map(|step| step * unit).collect();
        let steps: BTreeSet<i64> = steps.into_iter().chain(self.folds()).collect();
        Requirements { depth: 1, keys: KeyRequirements::new().rotations(steps) }
    }

    /// Bytes of the plaintexts that [`prepare`](Self::prepare) makes for a level. With double
    /// hoisting, diagonals whose values repeat take less.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] for level 0, [`Error::LevelTooHigh`].
    pub fn plaintext_bytes(&self, params: &CkksParams, level: usize) -> Result<u64> {
        crate::circuits::check_level(1, level)?;
        let (above, below) = (params.level(level)?.primes, params.level(level - 1)?.primes);
        let (ring, unit) = (params.rlwe().ring(), self.input.examples());
        let limb = ring.n() * size_of::<u64>();
        let diagonals: usize = match self.prefers_double_hoisting(params, level) {
            true => {
                let bytes =
                    self.diagonals.values().map(|diagonal| params.extended_limb_bytes(diagonal, unit));
                bytes.sum::<usize>() * (above + ring.p().len())
            }
            false => self.diagonals.len() * above * limb,
        };
        Ok((diagonals + self.bias.len() * below * limb) as u64)
    }

    /// The map in float64, on the slots of all input ciphertexts
    /// ([`TensorLayout::pack`]): those of the output ciphertexts.
    ///
    /// # Errors
    /// [`Error::Argument`] for another number of vectors, or vectors of fewer slots.
    pub fn apply_plain<T: Copy + Into<Complex64>>(&self, x: &[Vec<T>]) -> Result<Vec<Vec<Complex64>>> {
        self.input.check_vectors(x)?;
        let (unit, sides) = (self.input.examples(), Sides::new(&self.input, &self.output));
        let mut y = vec![vec![Complex64::ZERO; self.output.slots()]; self.output.ciphertexts()];
        for (key, diagonal) in &self.diagonals {
            let nonzero = diagonal.iter().enumerate().filter(|(_, value)| **value != Complex64::ZERO);
            for (slot, value) in nonzero {
                let from = (slot as i64 + key.giant + key.baby).rem_euclid(sides.input as i64) as usize;
                let to = slot % sides.output;
                for example in 0..unit {
                    y[key.output][to * unit + example] += value * x[key.input][from * unit + example].into();
                }
            }
        }
        for (y, bias) in y.iter_mut().zip(&self.bias) {
            y.iter_mut().enumerate().for_each(|(slot, y)| *y += bias[slot / unit]);
        }
        Ok(y)
    }
}

fn same_examples(input: &TensorLayout, output: &TensorLayout) -> Result<()> {
    if input.examples() == output.examples() {
        return Ok(());
    }
    let why = format!("{} examples and {}", input.examples(), output.examples());
    Err(Error::domain("layouts", why, "a map takes as many examples as it leaves"))
}

/// The entries in units of examples.
fn checked<T: Copy + Into<Complex64>>(
    input: &TensorLayout,
    output: &TensorLayout,
    entries: impl Iterator<Item = (usize, usize, T)> + Clone,
) -> Result<impl Iterator<Item = (usize, usize, Complex64)> + Clone> {
    same_examples(input, output)?;
    for (to, from, value) in entries.clone() {
        place("entry", output, to)?;
        place("entry", input, from)?;
        finite("entry", to, value)?;
    }
    let unit = input.examples();
    Ok(entries.map(move |(to, from, value)| (to / unit, from / unit, value.into())))
}

fn place(what: &'static str, layout: &TensorLayout, position: usize) -> Result<usize> {
    let (unit, end) = (layout.examples(), layout.slots() * layout.ciphertexts());
    if position >= end || !position.is_multiple_of(unit) {
        let why = format!("position {position} of {end} slots for {unit} examples");
        return Err(Error::domain(what, why, "positions are those of the first example"));
    }
    Ok(position / unit)
}

fn finite<T: Into<Complex64>>(what: &'static str, position: usize, value: T) -> Result<Complex64> {
    let value = value.into();
    match value.is_finite() {
        true => Ok(value),
        false => {
            Err(Error::argument(what, format!("the value at position {position} is not a finite number")))
        }
    }
}
