//! Sorting.

use super::{Builder, Word, min_max};

/// The numbers in ascending order, by Batcher's odd-even merge network (1968) of depth about
/// log2(n)^2 / 2 comparators, for any n.
pub fn sort(c: &mut Builder, mut numbers: Vec<Word>) -> Vec<Word> {
    // Knuth, The Art of Computer Programming 3, 5.2.2, algorithm M.
    let n = numbers.len();
    let top = n.next_power_of_two() / 2;
    let mut p = top;
    while p > 0 {
        let (mut q, mut r, mut d) = (top, 0, p);
        loop {
            for i in (0..n.saturating_sub(d)).filter(|i| i & p == r) {
                (numbers[i], numbers[i + d]) = min_max(c, &numbers[i], &numbers[i + d]);
            }
            if q == p {
                break;
            }
            (d, q, r) = (q - p, q / 2, p);
        }
        p /= 2;
    }
    numbers
}
