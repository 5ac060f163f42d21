//! The arithmetic of which gates are made.

use crate::error::Result;
use std::hash::Hash;
use std::ops::Range;

/// Arithmetic modulo t on batches of slot vectors, or on stand-ins for them.
pub trait Arithmetic {
    /// Vectors side by side.
    type Batch;
    /// The properties that vectors of one batch must share.
    type Kind: Copy + Eq + Hash + Ord;

    /// The modulus t of the slots, a prime.
    fn plain_modulus(&self) -> u64;

    /// The number of vectors.
    fn count(&self, x: &Self::Batch) -> usize;

    /// The kind of the vectors of a batch.
    fn kind(&self, x: &Self::Batch) -> Self::Kind;

    /// The depth of the vectors of a kind, which grows with the products behind them.
    fn depth(&self, kind: Self::Kind) -> usize;

    /// Selects some of the vectors.
    ///
    /// # Errors
    /// [`BatchRange`](crate::Error::BatchRange); device errors.
    fn slice(&self, x: &Self::Batch, range: Range<usize>) -> Result<Self::Batch>;

    /// Concatenates vectors of one kind.
    ///
    /// # Errors
    /// Batches of several kinds, or no batches; device errors.
    fn concat(&self, parts: &[&Self::Batch]) -> Result<Self::Batch>;

    /// x + y.
    ///
    /// # Errors
    /// [`BudgetSpent`](crate::Error::BudgetSpent); mismatch of batches; device errors.
    fn add(&self, x: &Self::Batch, y: &Self::Batch) -> Result<Self::Batch>;

    /// x - y.
    ///
    /// # Errors
    /// The same as for [`add`](Self::add).
    fn sub(&self, x: &Self::Batch, y: &Self::Batch) -> Result<Self::Batch>;

    /// -x.
    ///
    /// # Errors
    /// The same as for [`add`](Self::add).
    fn neg(&self, x: &Self::Batch) -> Result<Self::Batch>;

    /// x + c in every slot.
    ///
    /// # Errors
    /// The same as for [`add`](Self::add).
    fn add_scalar(&self, x: &Self::Batch, c: i64) -> Result<Self::Batch>;

    /// c x.
    ///
    /// # Errors
    /// The same as for [`add`](Self::add).
    fn mul_scalar(&self, x: &Self::Batch, c: i64) -> Result<Self::Batch>;

    /// x y, relinearised.
    ///
    /// # Errors
    /// The same as for [`add`](Self::add); missing keys.
    fn mul(&self, x: &Self::Batch, y: &Self::Batch) -> Result<Self::Batch>;

    /// Slot i of a row becomes slot i + step.
    ///
    /// # Errors
    /// The same as for [`mul`](Self::mul).
    fn rotate(&self, x: &Self::Batch, step: i64) -> Result<Self::Batch>;
}
