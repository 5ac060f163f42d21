//! The work of key switches and divisions, in multiply-adds per coefficient and ciphertext: the
//! measure by which linear maps choose their rotations, and others follow programs.

use crate::backend::{GiantStep, KeySwitchShape, RingOps, Rotation};
use crate::ring::Ring;

/// The cost of the transform of a row: about that on the CPU from N = 2^12 to 2^16. The choices
/// that it enters change time alone.
const TRANSFORM: usize = 5;

/// A division of one polynomial: the dropped limbs are transformed and converted to those kept,
/// which are transformed again.
pub(crate) const fn divide(kept: usize, dropped: usize) -> usize {
    TRANSFORM * (kept + dropped) + kept * dropped
}

/// A polynomial over `q` primes taken apart into digits of so many primes, over as many and `p`
/// special ones, and their products with both parts of a key.
pub(crate) fn switch(q: usize, p: usize, digits: impl Iterator<Item = usize>) -> usize {
    TRANSFORM * q + digits.map(|primes| (TRANSFORM + primes + 2) * (q + p)).sum::<usize>()
}

/// The products with both parts of a key, of digits that there are already.
pub(crate) fn products(shape: &KeySwitchShape) -> usize {
    2 * shape.digits.len() * shape.span().limbs()
}

/// The digits of a polynomial.
pub(crate) fn decompose(shape: &KeySwitchShape) -> usize {
    switch(shape.q, shape.p, shape.digits.iter().map(ExactSizeIterator::len)) - products(shape)
}

/// A key switch with the division of both parts, which leaves the first `keep` primes; of digits
/// that there are already if `decomposed`.
pub(crate) fn whole_switch(shape: &KeySwitchShape, keep: usize, decomposed: bool) -> usize {
    let digits = if decomposed { 0 } else { decompose(shape) };
    digits + products(shape) + 2 * divide(keep, shape.q - keep + shape.p)
}

/// A sum of rotations in two steps, for one ciphertext of each of its groups.
pub(crate) fn rotations<T>(
    shape: &KeySwitchShape,
    babies: &[Rotation<'_, T>],
    giants: &[GiantStep<'_, T>],
) -> usize {
    let limbs = shape.span().limbs();
    // Babies meet their weights where they are made, and are not read again for each.
    let baby = |baby: &Rotation<'_, T>| 2 * limbs + baby.key.map_or(0, |_| products(shape));
    let giant = |giant: &GiantStep<'_, T>| {
        let switched = divide(shape.q, shape.p) + decompose(shape) + products(shape) + 4 * limbs;
        giant.terms.len() * limbs + giant.rotation.key.map_or(0, |_| switched)
    };
    babies.iter().map(baby).sum::<usize>() + giants.iter().map(giant).sum::<usize>()
}

/// Tells those who oversee the back end of a ring of so much work for each of `batch` ciphertexts.
pub(super) fn tell<B: RingOps>(ring: &Ring<B>, batch: usize, per_coefficient: usize) {
    ring.backend().worked((per_coefficient * batch * ring.n()) as u64);
}
