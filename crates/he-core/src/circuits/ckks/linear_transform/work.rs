//! The costs of the two ways of hoisting.

use crate::ckks::CkksParams;
use crate::rlwe::work::{self, divide};

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
    let switch = |q: usize| {
        let digits = params.rlwe().digits().iter().filter(|digit| digit.start < q);
        work::switch(q, p, digits.map(|digit| digit.end.min(q) - digit.start))
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
