//! Choices by secrets, in constant time.

use std::hint::black_box;

/// All ones if both are equal, otherwise 0.
pub(crate) fn equal(a: u64, b: u64) -> u64 {
    let off = black_box(a ^ b);
    (((off | off.wrapping_neg()) >> 63) ^ 1).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_those_of_comparisons() {
        for (a, b) in [(0, 0), (0, 1), (5, 4), (u64::MAX >> 1, 0), (1 << 62, 1 << 62)] {
            assert_eq!(equal(a, b) != 0, a == b);
            assert!([0, u64::MAX].contains(&equal(a, b)));
        }
    }
}
