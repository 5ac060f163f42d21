//! Groups of slots, and functions of whole groups.

use super::super::Refresher;
use super::program::{Node, Program, Value};
use crate::backend::RingOps;
use crate::circuits::Requirements;
use crate::ckks::{Ciphertext, Evaluator};
use crate::error::{Error, Result};
use crate::rlwe::EvaluationKeys;
use std::ops::RangeInclusive;

/// Vectors in slots: groups of `size` slots, a power of two, that are `stride` slots apart, of
/// which the first `count` hold numbers.
///
/// Slot i holds entry (i / stride) mod size of a group. All slots of a ciphertext are in groups; a
/// group that spans all of them (`size * stride` = slots) rotates by itself, where others take a
/// mask, and a level, for each rotation within groups. The values in the slots beyond `count` do
/// not matter, as long as they are within the interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Groups {
    slots: usize,
    size: usize,
    stride: usize,
    count: usize,
}

impl Groups {
    /// Vectors of `count` numbers in consecutive slots, each in the next power of two of them.
    ///
    /// # Errors
    /// [`Error::SlotCount`] for a number of slots that is not a power of two; [`Error::Argument`]
    /// for a count of 0 or beyond the slots.
    pub fn consecutive(slots: usize, count: usize) -> Result<Self> {
        Self::strided(slots, count, 1)
    }

    /// Vectors of `count` numbers that are `stride` slots apart: vector k has its entry j in slot
    /// (k mod stride) + stride (j + (k / stride) size), where size is the next power of two.
    ///
    /// # Errors
    /// The same as for [`consecutive`](Self::consecutive); [`Error::Argument`] for a stride that is
    /// not a power of two or leaves no room.
    pub fn strided(slots: usize, count: usize, stride: usize) -> Result<Self> {
        if !slots.is_power_of_two() {
            return Err(Error::SlotCount { found: slots, capacity: slots.next_power_of_two() });
        }
        let size = count.checked_next_power_of_two().unwrap_or(usize::MAX);
        if count < 1 || !stride.is_power_of_two() || size.checked_mul(stride).is_none_or(|all| all > slots) {
            let found = format!("{count} numbers that are {stride} slots apart, in {slots} slots");
            let hint = "a stride that is a power of two, and a count from 1 to slots / stride are possible";
            return Err(Error::domain("groups", found, hint));
        }
        Ok(Self { slots, size, stride, count })
    }

    /// The slots of the ciphertexts.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The slots of each group, a power of two.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The numbers in each group.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The distance of two neighbours of a group.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Whether a rotation of the slots rotates groups.
    fn whole(&self) -> bool {
        self.size * self.stride == self.slots
    }

    /// The position of a slot in its group.
    pub(super) fn position(&self, slot: usize) -> usize {
        slot / self.stride % self.size
    }

    /// A value for every slot, from its position.
    pub(super) fn weights(&self, f: impl Fn(usize) -> f64) -> Vec<f64> {
        (0..self.slots).map(|slot| f(self.position(slot))).collect()
    }

    /// By a number of positions: those that leave a group come from its neighbour.
    pub(super) fn shifted(&self, program: &mut Program, x: Value, positions: i64) -> Value {
        program.rotated(x, positions * self.stride as i64)
    }

    /// Cyclically within groups: one level unless a group has all slots.
    pub(super) fn rotated(&self, program: &mut Program, x: Value, positions: usize) -> Value {
        let (size, by) = (self.size, positions % self.size);
        if by == 0 {
            return x;
        }
        let near = self.shifted(program, x, by as i64);
        if self.whole() {
            return near;
        }
        let far = self.shifted(program, x, by as i64 - size as i64);
        let near = program.weighted(near, self.weights(|at| if at + by < size { 1.0 } else { 0.0 }));
        let far = program.weighted(far, self.weights(|at| if at + by < size { 0.0 } else { 1.0 }));
        program.sum(&[(near, 1), (far, 1)], 0.0)
    }

    /// The values of a group, with a constant beyond `count`: one level unless groups are full.
    pub(super) fn filled(&self, program: &mut Program, x: Value, constant: f64) -> Value {
        if self.count == self.size {
            return x;
        }
        let kept = program.weighted(x, self.weights(|at| if at < self.count { 1.0 } else { 0.0 }));
        if constant == 0.0 {
            return kept;
        }
        let rest = self.weights(|at| if at < self.count { 0.0 } else { constant });
        program.push(Node::Offset(kept, rest.into()))
    }

    /// The sum over each group, in every slot of it: one level unless a group has all slots. The
    /// operand keeps a level for what follows.
    pub(super) fn sum(&self, program: &mut Program, x: Value) -> Value {
        self.fold(program, x, |program, x, y| program.sum(&[(x, 1), (y, 1)], 0.0))
    }

    /// A commutative operation over each group, whose result comes to every slot of it.
    pub(super) fn fold(
        &self,
        program: &mut Program,
        x: Value,
        mut combine: impl FnMut(&mut Program, Value, Value) -> Value,
    ) -> Value {
        let mut total = x;
        let steps = (0..self.size.ilog2()).map(|bit| 1i64 << bit);
        for step in steps.clone() {
            let other = self.shifted(program, total, step);
            total = combine(program, total, other);
        }
        if self.whole() {
            return total;
        }
        let mut total = program.weighted(total, self.weights(|at| if at == 0 { 1.0 } else { 0.0 }));
        for step in steps {
            let other = self.shifted(program, total, -step);
            total = program.sum(&[(total, 1), (other, 1)], 0.0);
        }
        total
    }
}

/// A function of the vectors in groups of slots: softmax, argmax, the largest, or sorting.
///
/// As for a [`Function`](super::Function), keys (rotations among them), depth, refreshes and an
/// error are known before there is a ciphertext. All vectors of a ciphertext, and of its batch, are
/// computed at once.
///
/// ```
/// # fn main() -> Result<(), he_core::Error> {
/// use he_core::circuits::ckks::{GroupFunction, Groups};
/// let groups = Groups::consecutive(16, 16)?;
/// let sort = GroupFunction::sort(groups, 0.0..=1.0, 8)?;
/// let sorted = sort.apply_plain(&[0.9, 0.1, 0.4, 0.7].repeat(4));
/// assert!((sorted[0] - 0.1).abs() < sort.error() && (sorted[15] - 0.9).abs() < sort.error());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct GroupFunction {
    name: &'static str,
    groups: Groups,
    interval: (f64, f64),
    program: Program,
    error: f64,
}

impl GroupFunction {
    pub(super) fn new(
        name: &'static str,
        groups: Groups,
        interval: (f64, f64),
        program: Program,
        error: f64,
    ) -> Self {
        Self { name, groups, interval, program, error }
    }

    /// The name, such as `sort`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The places of the vectors.
    pub fn groups(&self) -> Groups {
        self.groups
    }

    /// The interval in which all numbers must be.
    pub fn interval(&self) -> RangeInclusive<f64> {
        self.interval.0..=self.interval.1
    }

    /// A bound on the error, from the measured errors of the functions that it is composed of.
    pub fn error(&self) -> f64 {
        self.error
    }

    /// Levels and keys without refreshes: the relinearisation key, and rotations.
    pub fn requirements(&self) -> Requirements {
        self.program.requirements()
    }

    /// Products and sums of products that are relinearised, where batches count as one.
    pub fn relinearisations(&self) -> usize {
        self.program.relinearisations()
    }

    /// The refreshes of [`apply`](Self::apply) for a ciphertext of this level, and the level of its
    /// result. Some may refresh several ciphertexts as one batch.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] if levels do not suffice and there are no refreshes.
    pub fn plan<B: RingOps>(&self, level: usize, refresher: &impl Refresher<B>) -> Result<(usize, usize)> {
        self.program.plan(&[level], refresher)
    }

    /// The function of every group of slots.
    ///
    /// # Errors
    /// [`Error::SlotCount`] for a ciphertext of another number of slots; [`Error::LevelExhausted`]
    /// if levels do not suffice and there are no refreshes; [`Error::MissingGaloisKey`],
    /// [`Error::MissingRelinKey`], [`Error::ParamsMismatch`]; those of the refresher; device
    /// errors.
    pub fn apply<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        ct: &Ciphertext<B>,
        keys: &EvaluationKeys<B>,
        refresher: &impl Refresher<B>,
    ) -> Result<Ciphertext<B>> {
        if ct.slots() != self.groups.slots {
            let (found, expected) = (ct.slots(), self.groups.slots);
            let hint = format!("pack vectors of {expected} slots, or make the groups for {found}");
            return Err(Error::domain("ciphertext", format!("{found} slots"), hint));
        }
        self.program.apply(ev, &[ct], keys, refresher)
    }

    /// Evaluates the same steps on the values of all slots, in float64.
    ///
    /// # Panics
    /// Never; vectors of another length than the slots give an empty one.
    pub fn apply_plain(&self, x: &[f64]) -> Vec<f64> {
        if x.len() != self.groups.slots {
            return Vec::new();
        }
        self.program.apply_plain(&[x])
    }
}
