//! Circuits: whole computations on ciphertexts, written once for every back end.
//!
//! Each states what it needs ([`Requirements`]: levels and keys) without a ciphertext, and its
//! documentation says what it does to level, noise and the magnitude of the values. Images are cut
//! into tiles with a halo ([`TileLayout`]), columns of numbers are laid over batches of slots
//! ([`pack_column`]).

mod affine;
pub mod bits;
mod convolution;
mod inner_product;
mod kernel;
mod linear_transform;
mod polynomial;
mod statistics;
mod sweep;
#[cfg(test)]
mod testing;
mod tiles;

pub use affine::{
    Affine, LUMA, blend, blend_masked, blend_masked_requirements, blend_requirements, grayscale,
    grayscale_requirements,
};
pub use convolution::{compact_convolution_requirements, convolution_requirements, convolve};
pub use inner_product::{inner_product, inner_product_requirements};
pub use kernel::Kernel;
pub use linear_transform::{LinearTransform, PreparedTransform};
pub use polynomial::Polynomial;
pub use statistics::{Statistic, dot, mean, pack_column, sum, variance};
pub use tiles::{Packing, TileLayout, TileSpec};

use crate::backend::RingOps;
use crate::error::{Error, Result};
use crate::rlwe::{EvaluationKeys, KeyRequirements};
use std::collections::BTreeSet;

/// What a circuit needs of parameters and evaluation keys.
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

fn argument(what: &'static str, why: impl Into<String>) -> Error {
    Error::Argument { what, why: why.into() }
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
