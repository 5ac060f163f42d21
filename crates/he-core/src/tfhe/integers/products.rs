//! Products of all digits of two integers.

use super::IntegerEvaluator;
use super::columns::Columns;
use super::rows::{Form, Rows};
use super::tables::Pair;
use crate::error::Result;
use crate::tfhe::LweOps;

/// The digits whose corrections are added up for all columns that have them: no more, since their
/// sum, of twice as much at most, is looked up.
const BLOCK: usize = 7;

/// -(the number of products in each column) modulo 4^`keep`, as digits.
fn minus_counts(places: usize, keep: usize) -> impl Iterator<Item = u64> {
    (0..keep).scan(0i64, move |carry, d| {
        let sum = *carry - first_to_last(places, d).len() as i64;
        *carry = sum.div_euclid(4);
        Some(sum.rem_euclid(4) as u64)
    })
}

/// The digits of an operand whose products with the other's are in column d.
fn first_to_last(places: usize, d: usize) -> std::ops::Range<usize> {
    (d + 1).saturating_sub(places)..places.min(d + 1)
}

impl<B: LweOps> IntegerEvaluator<B> {
    /// The digits of x y modulo 4^`keep`, where those of y follow those of x in the pool, `places`
    /// each.
    ///
    /// A digit times a digit, x y, would take two bootstraps, since a lookup for all 16 pairs has
    /// one result of up to 3. With T(m) = m (m - 3) / 2 it is T(x + y) - T(x) - T(y), and x + y is
    /// at most 6, so that one bootstrap yields both digits of T(x + y) + 1. The other terms depend
    /// on one digit of each operand: w_i = -T(x_i) - T(y_i), at most 2, of which column d takes the
    /// sum for all i that have a product in it, and minus the number of these products.
    pub(super) fn product(&self, pool: &Rows<B>, places: usize, keep: usize) -> Result<Rows<B>> {
        let mut columns = Columns::new(keep);
        let pairs: Vec<_> =
            (0..keep).flat_map(|d| first_to_last(places, d).map(move |i| (d, i, d - i))).collect();
        let triangles = pairs.iter().map(|&(_, i, j)| (Form::sum([i, places + j]), Pair::Triangle));
        let corrections = (0..places).map(|i| (Form::of([(4, i), (1, places + i)]), Pair::Corrections));
        let forms: Vec<_> = triangles.chain(corrections).collect();
        let found = self.lookup_pairs(pool, &forms)?;
        for (row, &(d, ..)) in pairs.iter().enumerate() {
            columns.push(d, row, 3);
            if d + 1 < keep {
                columns.push(d + 1, forms.len() + row, 2);
            }
        }

        let row = |i: usize| pairs.len() + i;
        let mut of_block = vec![Vec::new(); places / BLOCK];
        for d in 0..keep {
            let all = first_to_last(places, d);
            let blocks = all.start.div_ceil(BLOCK)..all.end / BLOCK;
            let (left, right) = match blocks.is_empty() {
                true => (all.clone(), all.end..all.end),
                false => (all.start..blocks.start * BLOCK, blocks.end * BLOCK..all.end),
            };
            left.chain(right).for_each(|i| columns.push(d, row(i), 2));
            blocks.for_each(|block| of_block[block].push(d));
        }
        for (block, to) in of_block.into_iter().enumerate() {
            columns.push_shared(to, (block * BLOCK..(block + 1) * BLOCK).map(row), 2);
        }
        let constants = columns.push_constant(minus_counts(places, keep), found.count);
        let constants = self.combine(pool, &constants)?;
        self.summed(Rows::stack(&[&found, &constants])?, columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each product of digits is in its column, and the public number is minus their number.
    #[test]
    fn columns_have_their_products() {
        for places in 1..=40usize {
            for keep in places..=2 * places {
                let mut counts = vec![0i64; keep];
                for (i, j) in (0..places * places).map(|ij| (ij / places, ij % places)) {
                    if i + j < keep {
                        counts[i + j] += 1;
                        let all = first_to_last(places, i + j);
                        assert!(all.contains(&i) && all.contains(&j));
                    }
                }
                let mut carry = 0;
                for (d, digit) in minus_counts(places, keep).enumerate() {
                    assert_eq!(first_to_last(places, d).len() as i64, counts[d]);
                    assert!(digit < 4);
                    // The sum of both is a multiple of 4, which the next column carries.
                    let sum = counts[d] + digit as i64 + carry;
                    assert_eq!(sum % 4, 0, "{places} digits, column {d} of {keep}");
                    carry = sum / 4;
                }
            }
        }
    }
}
