//! Circuits: whole computations on ciphertexts, written once for every back end.
//!
//! Each room holds the circuits of one kind of ciphertext: [`ckks`] those on vectors of complex
//! numbers, [`bits`] those of gates, over TFHE and over the slots of BFV and BGV. The items of this
//! module serve all of them and know no ciphertext: the requirements of a circuit
//! ([`Requirements`]: levels and keys), images in tiles with a halo ([`TileLayout`]) and filters on
//! them ([`Kernel`]), and columns of numbers over batches of slots ([`pack_column`]).

pub mod bits;
pub mod ckks;
mod columns;
mod kernel;
#[cfg(test)]
mod testing;
mod tiles;

pub use columns::pack_column;
pub use kernel::Kernel;
pub use tiles::{Packing, TileLayout, TileSpec};

use crate::backend::RingOps;
use crate::error::{Error, Result};
use crate::rlwe::{EvaluationKeys, KeyRequirements};
use std::collections::BTreeSet;

/// The parameters and evaluation keys that a circuit needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirements {
    /// Levels that it consumes.
    pub depth: usize,
    /// Evaluation keys: what [`EvaluationKeys::generate`] takes, to which the whole can be passed.
    pub keys: KeyRequirements,
}

impl Requirements {
    /// Levels, and no keys.
    pub(crate) fn levels(depth: usize) -> Self {
        Self { depth, keys: KeyRequirements::new() }
    }

    /// Serves both circuits, each on fresh ciphertexts: the larger depth, the keys of both.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self { depth: self.depth.max(other.depth), keys: self.keys.union(&other.keys) }
    }

    /// Serves one circuit after the other: the sum of the depths, the keys of both.
    #[must_use]
    pub fn then(&self, next: &Self) -> Self {
        Self { depth: self.depth + next.depth, ..self.union(next) }
    }

    /// Whether a ciphertext on level `left` and these keys suffice.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`]; missing keys, as [`KeyRequirements::check`].
    pub fn check<B: RingOps>(&self, left: usize, keys: &EvaluationKeys<B>) -> Result<()> {
        check_level(self.depth, left)?;
        self.keys.check(keys)
    }
}

impl AsRef<KeyRequirements> for Requirements {
    fn as_ref(&self) -> &KeyRequirements {
        &self.keys
    }
}

fn check_level(needed: usize, left: usize) -> Result<()> {
    if left < needed { Err(Error::LevelExhausted { needed, left }) } else { Ok(()) }
}

/// The steps of [`Evaluator::inner_sum`](crate::ckks::Evaluator::inner_sum) over `slots`.
fn doubling_steps(slots: usize) -> BTreeSet<i64> {
    (0..slots.max(1).ilog2()).map(|bit| 1i64 << bit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_combine() {
        let a = Requirements { depth: 1, keys: KeyRequirements::new().rotations([1, -3]) };
        let b = Requirements { depth: 2, keys: KeyRequirements::new().rotations([1, 8]).relinearisation() };
        let (either, both) = (a.union(&b), a.then(&b));
        assert_eq!((either.depth, both.depth), (2, 3));
        assert_eq!(either.keys, KeyRequirements::new().rotations([1, -3, 8]).relinearisation());
        assert_eq!(either.keys, both.keys);
        assert_eq!(doubling_steps(8), BTreeSet::from([1, 2, 4]));
        assert!(doubling_steps(1).is_empty());
    }
}
