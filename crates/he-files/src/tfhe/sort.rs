//! Sorting a column by compare-exchange of its rows.

use crate::error::Result;
use he::Device;
use he_core::tfhe::{EncryptedInteger, IntegerEvaluator, LweBatch, Signedness};

/// Pairs of rows (i, j), i < j, to be put in order, level by level; no row is twice in a level.
/// Batcher's odd-even merge network (1968) for any n: Knuth, The Art of Computer Programming 3,
/// 5.2.2, algorithm M. About n log2(n)^2 / 4 pairs in log2(n)^2 / 2 levels.
fn levels(n: usize) -> Vec<Vec<(usize, usize)>> {
    let mut levels = Vec::new();
    let top = n.next_power_of_two() / 2;
    let mut p = top;
    while p > 0 {
        let (mut q, mut r, mut d) = (top, 0, p);
        loop {
            levels.push((0..n.saturating_sub(d)).filter(|i| i & p == r).map(|i| (i, i + d)).collect());
            if q == p {
                break;
            }
            (d, q, r) = (q - p, q / 2, p);
        }
        p /= 2;
    }
    levels.retain(|level: &Vec<_>| !level.is_empty());
    levels
}

/// Copies rows between a column `[digit][row]` and a batch of some of them.
struct Rows<'a> {
    device: &'a Device,
    digits: LweBatch<Device>,
    bits: usize,
    count: usize,
}

impl Rows<'_> {
    fn places(&self) -> usize {
        self.digits.count() / self.count
    }

    fn gather<S: Signedness>(&self, rows: &[usize]) -> he_core::Result<EncryptedInteger<S, Device>> {
        let mut some = LweBatch::zeros(self.device, self.digits.params(), self.places() * rows.len())?;
        for place in 0..self.places() {
            for (at, row) in rows.iter().enumerate() {
                let from = place * self.count + row;
                some.write(place * rows.len() + at, &self.digits, from..from + 1)?;
            }
        }
        EncryptedInteger::from_ciphertexts(some, self.bits)
    }

    fn scatter<S: Signedness>(
        &mut self,
        rows: &[usize],
        some: &EncryptedInteger<S, Device>,
    ) -> he_core::Result<()> {
        for place in 0..self.places() {
            for (at, row) in rows.iter().enumerate() {
                let from = place * rows.len() + at;
                self.digits.write(place * self.count + row, some.ciphertexts(), from..from + 1)?;
            }
        }
        Ok(())
    }
}

/// The integers of a batch in ascending order. A pair takes about three bootstraps per digit; those
/// of a level are one batch.
///
/// # Errors
/// The device fails.
pub fn ascending<S: Signedness>(
    evaluator: &IntegerEvaluator<Device>,
    x: &EncryptedInteger<S, Device>,
    mut done: impl FnMut(usize),
) -> Result<EncryptedInteger<S, Device>> {
    let device = evaluator.backend();
    let digits = x.ciphertexts().part(0..x.ciphertexts().count())?;
    let mut column = Rows { device, digits, bits: x.bits(), count: x.batch() };
    for level in levels(x.batch()) {
        let (low, high): (Vec<usize>, Vec<usize>) = level.into_iter().unzip();
        let (a, b) = (column.gather::<S>(&low)?, column.gather(&high)?);
        let (least, most) = evaluator.min_max(&a, &b)?;
        column.scatter(&low, &least)?;
        column.scatter(&high, &most)?;
        done(low.len());
    }
    Ok(EncryptedInteger::from_ciphertexts(column.digits, x.bits())?)
}

/// Pairs that sorting so many rows takes.
pub fn pairs(rows: usize) -> usize {
    levels(rows).iter().map(Vec::len).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_sort_all_zeros_and_ones() {
        // A network that sorts all of these sorts everything (Knuth, 5.3.4, theorem Z).
        for n in 1..=12 {
            for pattern in 0..1u32 << n {
                let mut bits: Vec<u32> = (0..n).map(|i| pattern >> i & 1).collect();
                for level in levels(n) {
                    let mut rows: Vec<usize> = level.iter().flat_map(|&(i, j)| [i, j]).collect();
                    rows.sort_unstable();
                    rows.dedup();
                    assert_eq!(rows.len(), 2 * level.len(), "a row twice in a level of {n}");
                    for (i, j) in level {
                        (bits[i], bits[j]) = (bits[i].min(bits[j]), bits[i].max(bits[j]));
                    }
                }
                assert!(bits.is_sorted(), "{n} rows, {pattern:b}");
            }
        }
        assert_eq!((pairs(1), pairs(2), pairs(4), pairs(8)), (0, 1, 5, 19));
    }
}
