//! The costs of the two ways of hoisting.

use crate::ckks::CkksParams;

/// The cost of the transform of a row in multiply-adds per coefficient: about that on the CPU from
/// N = 2^12 to 2^16; the choice that it enters changes time alone.
const TRANSFORM: usize = 5;

/// The amount of each part of a sum of rotations in two steps.
#[derive(Clone, Copy, Debug)]
pub(in crate::circuits::ckks) struct Work {
    /// Baby steps other than 0, of all inputs.
    pub babies: usize,
    /// Giant steps other than 0, of all outputs.
    pub giants: usize,
    /// Giant steps, of all outputs.
    pub groups: usize,
    /// Products with diagonals.
    pub terms: usize,
    /// Sums.
    pub outputs: usize,
}

/// Whether baby rotations over Q P without divisions cost less than products with diagonals over Q
/// P cost more: the work for one coefficient, without what both ways have in common.
pub(in crate::circuits::ckks) fn double_hoisting_pays(params: &CkksParams, level: usize, work: Work) -> bool {
    let Work { babies, giants, groups, terms, outputs } = work;
    let q = params.levels()[level].primes;
    let below = params.levels()[level - 1].primes;
    let p = params.rlwe().ring().p().len();
    if p == 0 || babies + giants == 0 {
        return false;
    }
    // To transform the dropped limbs, convert them to those kept, and transform them again.
    let divide = |kept: usize, dropped: usize| TRANSFORM * (kept + dropped) + kept * dropped;
    let switch = |q: usize| {
        let digits = params.rlwe().digits().iter().filter(|digit| digit.start < q);
        let per_digit =
            |digit: &std::ops::Range<usize>| (TRANSFORM + digit.end.min(q) - digit.start + 2) * (q + p);
        TRANSFORM * q + digits.map(per_digit).sum::<usize>()
    };
    let single = babies * 2 * divide(q, p)
        + terms * 2 * q
        + groups * 2 * divide(below, q - below)
        + giants * (switch(below) + 2 * divide(below, p));
    // Here babies meet their diagonals where they are made, and are not read again for each.
    let double = babies * 4 * p
        + terms * (q + p)
        + giants * (divide(q, p) + switch(q) + 4 * (q + p))
        + outputs * 2 * divide(below, q - below + p);
    double < single
}
