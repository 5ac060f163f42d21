//! Matrices by few keys: every rotation is made of the one before it.

use crate::backend::RingOps;
use crate::ckks::{Ciphertext, Evaluator, Plaintext, StepGroup};
use crate::error::Result;
use crate::rlwe::EvaluationKeys;
use num_integer::gcd;
use std::collections::BTreeSet;

/// Diagonals origin + stride (babies G + b) for b < babies, where indices count modulo the slots of
/// the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Strides {
    origin: usize,
    stride: usize,
    babies: usize,
    slots: usize,
}

impl Strides {
    /// The strides of the fewest rotations for diagonals of these indices, in ascending order.
    pub(super) fn new(indices: &[usize], slots: usize) -> Self {
        // The origin follows the widest gap, around which nothing needs to be rotated.
        let following = indices.iter().skip(1).copied().chain(indices.first().map(|first| first + slots));
        let widest = indices.iter().copied().zip(following).max_by_key(|(index, next)| next - index);
        let origin = widest.map_or(0, |(_, next)| next % slots);
        let relative = indices.iter().map(|index| (index + slots - origin) % slots);
        let (stride, last) = relative.fold((0, 0), |(g, last), r| (gcd(g, r), last.max(r)));
        let stride = stride.max(1);
        let count = last / stride + 1;
        let babies = (0..=count.ilog2())
            .map(|log| 1usize << log)
            .min_by_key(|&babies| babies + count.div_ceil(babies))
            .unwrap_or(1);
        Self { origin, stride, babies, slots }
    }

    /// The giant and the baby step of a diagonal, in multiples of their rotations.
    pub(super) fn of(&self, index: usize) -> (usize, usize) {
        let place = (index + self.slots - self.origin) % self.slots / self.stride;
        (place / self.babies, place % self.babies)
    }

    /// The rotations that giant steps are multiples of.
    pub(super) fn giant(&self) -> usize {
        self.stride * self.babies
    }

    /// The different rotations, other than 0, to reach diagonals of these indices: three at most.
    pub(super) fn rotations(&self, indices: impl Iterator<Item = usize>) -> BTreeSet<i64> {
        let (giants, babies) = indices
            .map(|index| self.of(index))
            .fold((0, 0), |(giants, babies), (giant, baby)| (giants.max(giant), babies.max(baby)));
        let needed = [(1, self.origin), (babies, self.stride), (giants, self.giant())];
        needed.into_iter().filter(|&(count, step)| count * step != 0).map(|(_, step)| step as i64).collect()
    }

    /// sum_G sum_b plain_Gb rotate(ct, origin + G giant + b stride), where plain_Gb is rotated back
    /// by its giant step: babies one after the other, then giants by Horner's rule.
    pub(super) fn sum<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        ct: &Ciphertext<B>,
        groups: &[StepGroup<Plaintext<B>>],
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        let last = groups.iter().flat_map(|(_, group)| group).map(|&(baby, _)| baby).max().unwrap_or(0);
        let mut babies = vec![ev.rotate(ct, self.origin as i64, keys)?];
        for _ in 0..last {
            let next = ev.rotate(&babies[babies.len() - 1], self.stride as i64, keys)?;
            babies.push(next);
        }
        let mut sum: Option<(i64, Ciphertext<B>)> = None;
        for (giant, group) in groups.iter().rev() {
            let terms: Vec<_> = group.iter().map(|(baby, plain)| (&babies[*baby as usize], plain)).collect();
            let mut part = ev.plain_combination(&terms)?;
            if let Some((higher, sum)) = sum {
                part = ev.add(&part, &self.turned(ev, sum, higher - giant, keys)?)?;
            }
            sum = Some((*giant, part));
        }
        match sum {
            Some((giant, sum)) => self.turned(ev, sum, giant, keys),
            // No diagonal: the matrix is zero.
            None => ev.mul_scalar(ct, 0.0),
        }
    }

    /// Rotated by this many giant steps.
    fn turned<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        mut ct: Ciphertext<B>,
        count: i64,
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        for _ in 0..count {
            ct = ev.rotate(&ct, self.giant() as i64, keys)?;
        }
        Ok(ct)
    }
}
