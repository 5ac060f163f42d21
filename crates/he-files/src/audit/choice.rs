//! The operations that an auditor computes again, and what that finds.

use crate::error::{Result, TraceError};
use rand::Rng;
use rand::seq::index;

/// A choice of operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// All of them.
    All,
    /// So many, drawn at random without repetition; all if there are fewer.
    Random(usize),
    /// These.
    These(Vec<usize>),
}

impl Choice {
    /// The places of the operations that are chosen of so many, in order.
    ///
    /// # Errors
    /// [`TraceError::NoOperations`] if there are none.
    pub fn of(&self, operations: usize, rng: &mut impl Rng) -> Result<Vec<usize>> {
        let mut chosen = match self {
            Self::All => (0..operations).collect(),
            Self::Random(count) => index::sample(rng, operations, operations.min(*count)).into_vec(),
            Self::These(places) => places.clone(),
        };
        chosen.sort_unstable();
        chosen.dedup();
        match chosen.last() {
            Some(&last) if last < operations => Ok(chosen),
            _ => Err(TraceError::NoOperations.into()),
        }
    }
}

/// The probability that at least one of `wrong` operations out of `operations` is among `chosen`
/// that are drawn at random without repetition:
/// 1 - C(operations - wrong, chosen) / C(operations, chosen), at least
/// 1 - (1 - wrong / operations)^chosen. The wrong ones are fixed before the draw.
///
/// ```
/// use he_files::audit::caught;
/// assert_eq!(caught(100, 0, 7), 0.0);
/// assert!((caught(100, 1, 7) - 0.07).abs() < 1e-12);
/// assert_eq!(caught(100, 1, 100), 1.0);
/// assert!((caught(100, 2, 1) - 0.02).abs() < 1e-12);
/// ```
pub fn caught(operations: usize, wrong: usize, chosen: usize) -> f64 {
    let (wrong, chosen) = (wrong.min(operations), chosen.min(operations));
    if wrong + chosen > operations {
        return 1.0;
    }
    let right = (operations - wrong) as f64;
    let missed = (0..chosen).map(|drawn| (right - drawn as f64) / (operations - drawn) as f64);
    1.0 - missed.product::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

    #[test]
    fn choices_are_places_in_order() {
        let rng = &mut ChaCha20Rng::seed_from_u64(he_core::rand::rng().random());
        for count in [1, 3, 10, 11] {
            let chosen = Choice::Random(count).of(10, rng).unwrap();
            assert_eq!(chosen.len(), count.min(10));
            assert!(chosen.windows(2).all(|pair| pair[0] < pair[1]) && chosen.iter().all(|&at| at < 10));
        }
        assert_eq!(Choice::All.of(3, rng).unwrap(), [0, 1, 2]);
        assert_eq!(Choice::These(vec![2, 0, 2]).of(3, rng).unwrap(), [0, 2]);
        for (choice, operations) in
            [(Choice::Random(0), 3), (Choice::These(vec![3]), 3), (Choice::All, 0), (Choice::Random(2), 0)]
        {
            assert!(choice.of(operations, rng).unwrap_err().is_request());
        }
    }

    /// Against the share of all choices that hit a wrong one.
    #[test]
    fn probabilities_are_shares_of_choices() {
        for operations in 1..=8usize {
            for wrong in 0..=operations {
                let cheated = (1u32 << wrong) - 1;
                for chosen in 0..=operations {
                    let choices = (0..1u32 << operations).filter(|set| set.count_ones() as usize == chosen);
                    let (all, hit) = choices
                        .fold((0u32, 0u32), |(all, hit), set| (all + 1, hit + u32::from(set & cheated != 0)));
                    let expected = f64::from(hit) / f64::from(all);
                    let found = caught(operations, wrong, chosen);
                    assert!((found - expected).abs() < 1e-12, "{operations} {wrong} {chosen}");
                    let bound = 1.0 - (1.0 - wrong as f64 / operations as f64).powi(chosen as i32);
                    assert!(found >= bound - 1e-12);
                }
            }
        }
    }
}
