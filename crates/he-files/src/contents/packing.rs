//! The layout of short columns that share vectors.
//!
//! A column takes a block of a power of two of slots; blocks follow each other, and a vector holds
//! blocks of one kind only, so that one sequence of rotations adds up all rows of all its columns
//! at once. The sum of a block is then in its first row; the other rows are meaningless.

use he::Device;
use he_core::ckks::{Ciphertext, Evaluator};

/// The place of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The vector.
    pub vector: usize,
    /// The first slot of its block.
    pub slot: usize,
}

/// The places of all columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The place of each column.
    pub of: Vec<Place>,
    /// The columns of each vector, by their slots.
    pub vectors: Vec<Vec<usize>>,
}

impl Places {
    /// Makes a layout for columns of these kinds and block sizes, which are the same for all of a
    /// kind, in vectors of this many slots.
    pub fn new<K: PartialEq>(columns: impl Iterator<Item = (K, usize)>, slots: usize) -> Self {
        let mut kinds: Vec<(K, usize, Vec<usize>)> = Vec::new();
        let mut count = 0;
        for (column, (kind, block)) in columns.enumerate() {
            count += 1;
            match kinds.iter_mut().find(|(known, ..)| *known == kind) {
                Some((.., members)) => members.push(column),
                None => kinds.push((kind, block, vec![column])),
            }
        }
        let mut places = Self { of: vec![Place { vector: 0, slot: 0 }; count], vectors: Vec::new() };
        for (_, block, members) in kinds {
            for columns in members.chunks((slots / block).max(1)) {
                for (at, &column) in columns.iter().enumerate() {
                    places.of[column] = Place { vector: places.vectors.len(), slot: at * block };
                }
                places.vectors.push(columns.to_vec());
            }
        }
        places
    }
}

/// The factors of the slots of a vector.
#[derive(Clone, Debug, PartialEq)]
pub enum Weights {
    /// One for all.
    All(f64),
    /// One per block of this many slots; 0 for the rest.
    Blocks {
        /// Slots of a block.
        block: usize,
        /// The factor of each block.
        of: Vec<f64>,
    },
}

impl Weights {
    /// The factor of a slot.
    pub fn slot(&self, slot: usize) -> f64 {
        match self {
            Self::All(weight) => *weight,
            Self::Blocks { block, of } => of.get(slot / block).copied().unwrap_or(0.0),
        }
    }
}

/// The sum of ciphertexts times weights, a level below.
///
/// # Errors
/// No level is left; weights do not fit the modulus; the device fails.
pub fn weighted(
    ev: &Evaluator<Device>,
    terms: &[(&Ciphertext<Device>, &Weights)],
) -> he_core::Result<Ciphertext<Device>> {
    let scalar = |weights: &Weights| match weights {
        Weights::All(weight) => Some(*weight),
        Weights::Blocks { .. } => None,
    };
    let scalars: Option<Vec<_>> = terms.iter().map(|(ct, weights)| Some((*ct, scalar(weights)?))).collect();
    if let Some(scalars) = scalars {
        return ev.linear_combination(&scalars);
    }
    let encode = |(ct, weights): &(&Ciphertext<Device>, &Weights)| {
        let vector: Vec<f64> = (0..ct.slots()).map(|slot| weights.slot(slot)).collect();
        ev.encoder().encode_real(&vector, ev.params().encoding_for(ct))
    };
    let plain = terms.iter().map(encode).collect::<he_core::Result<Vec<_>>>()?;
    let terms: Vec<_> = terms.iter().zip(&plain).map(|((ct, _), plain)| (*ct, plain)).collect();
    ev.plain_combination(&terms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_do_not_overlap_and_kinds_do_not_mix() {
        let kinds = ["n", "c", "n", "n", "c", "n", "n", "d"];
        let block = |kind: &str| match kind {
            "n" => 8,
            "c" => 32,
            _ => 1,
        };
        let places = Places::new(kinds.iter().map(|&kind| (kind, block(kind))), 32);
        assert_eq!(places.vectors, [vec![0, 2, 3, 5], vec![6], vec![1], vec![4], vec![7]]);
        assert_eq!(places.of[5], Place { vector: 0, slot: 24 });
        assert_eq!(places.of[4], Place { vector: 3, slot: 0 });
        for (vector, columns) in places.vectors.iter().enumerate() {
            let mut taken = [false; 32];
            for &column in columns {
                assert_eq!((places.of[column].vector, kinds[column]), (vector, kinds[columns[0]]));
                for slot in places.of[column].slot..places.of[column].slot + block(kinds[column]) {
                    assert!(!std::mem::replace(&mut taken[slot], true));
                }
            }
        }
        // Without the columns of another kind, those of one kind keep their places, since sums omit
        // some.
        let numbers =
            Places::new(kinds.iter().filter(|&&kind| kind == "n").map(|&kind| (kind, block(kind))), 32);
        let before: Vec<Place> = (0..8).filter(|&i| kinds[i] == "n").map(|i| places.of[i]).collect();
        assert_eq!(numbers.of, before);
        assert_eq!(Places::new(std::iter::empty::<((), usize)>(), 8), Places::default());
    }
}
