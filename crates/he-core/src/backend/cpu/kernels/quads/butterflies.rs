//! The arithmetic that the transforms are generic over.

use crate::arith::ShoupFactor;

/// Arithmetic modulo a prime, four values at a time, lazily reduced within bounds that two levels
/// keep.
pub(super) trait Butterflies: Copy {
    /// Four values.
    type V: Copy;
    /// One factor for each, with the constants that its products need.
    type Factor: Copy;
    /// A table of roots.
    type Roots: ?Sized;

    fn load_words(self, x: &[u64; 4]) -> Self::V;
    /// Makes values from canonical ones.
    fn store_words(self, v: Self::V, x: &mut [u64; 4]);
    /// Values in the form between passes.
    fn load(self, x: &[u64; 4]) -> Self::V;
    fn store(self, v: Self::V, x: &mut [u64; 4]);
    /// Value i of x_j becomes value j of x_i.
    fn transpose(self, x: [Self::V; 4]) -> [Self::V; 4];
    fn constant(self, w: ShoupFactor) -> Self::Factor;
    /// Root k.
    fn root(self, roots: &Self::Roots, k: usize) -> Self::Factor;
    /// The roots of nodes 4 k to 4 k + 3, and of their first and of their second children.
    fn leaf_roots(self, roots: &Self::Roots, k: usize) -> [Self::Factor; 3];

    /// x + w y, x - w y.
    fn split(self, x: Self::V, y: Self::V, w: Self::Factor) -> (Self::V, Self::V);
    /// x + y, (x - y) w.
    fn join(self, x: Self::V, y: Self::V, w: Self::Factor) -> (Self::V, Self::V);
    /// x + y and x - y by the factors 1/N and w/N, canonical.
    fn end(self, x: Self::V, y: Self::V, w: [Self::Factor; 2]) -> (Self::V, Self::V);
    /// After all levels.
    fn canonical(self, x: Self::V) -> Self::V;
    /// The reduction that two levels of [`split`](Self::split) require beforehand of values that
    /// they never multiply.
    fn before(self, x: Self::V) -> Self::V;
    /// The reduction that two levels of [`join`](Self::join) require afterwards of values that they
    /// never multiplied, or only before a sum.
    fn after(self, x: Self::V) -> Self::V;
}
