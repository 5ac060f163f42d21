//! The places of keys: a shelf and a cell in each of its three parts.
//!
//! A value is the sum, byte by byte, of the three cells of its key, after a fingerprint of the key:
//! a query that selects all three columns at once is answered by this sum, with one scan. The cells
//! are found by peeling a random hypergraph (Botelho, Pagh, Ziviani, *Simple and space-efficient
//! minimal perfect hash functions*, 2007; as a map of values: Graf, Lemire, *Xor filters*, 2020;
//! in look-ups on lattices: Celi, Davidson, *Call me by my name*, 2024).

use crate::identity::hash;
use crate::plan::{FINGERPRINT, Params};

/// The place of a record: three columns of a shelf if it is looked up by a key, of which the values
/// are added; one otherwise, three times, of which one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) shelf: usize,
    pub(crate) columns: [usize; 3],
    /// The columns that count.
    pub(crate) count: usize,
    pub(crate) fingerprint: [u8; FINGERPRINT],
}

impl Place {
    /// The place of a record by its number.
    pub(crate) fn of_record(params: &Params, record: u64) -> Self {
        let (shelf, column) = params.place(record);
        Self { shelf, columns: [column; 3], count: 1, fingerprint: [0; FINGERPRINT] }
    }

    /// The place of a key under an attempt of a seed.
    pub(crate) fn of_key(params: &Params, seed: &[u8; 32], attempt: u32, key: &[u8]) -> Self {
        let hashed = hash("he-lookup 2026 place", &[seed, &attempt.to_le_bytes(), key]);
        let word =
            |at: usize| hashed[at..at + 8].iter().rev().fold(0u64, |word, &b| word << 8 | u64::from(b));
        let below = |word: u64, bound: usize| ((u128::from(word) * bound as u128) >> 64) as usize;
        let part = params.columns() / 3;
        let short = |at: usize| (word(at) & 0xffff_ffff) << 32;
        let columns = [short(8), short(12), short(16)].map(|word| below(word, part));
        let columns = [columns[0], part + columns[1], 2 * part + columns[2]];
        let mut fingerprint = [0; FINGERPRINT];
        fingerprint.copy_from_slice(&hashed[24..]);
        Self { shelf: below(word(0), params.shelves()), columns, count: 3, fingerprint }
    }
}

/// The order in which the keys of a shelf get their cells, each with the column that it alone may
/// still choose; `None` if they have none.
pub(crate) fn order(columns: usize, places: &[Place]) -> Option<Vec<(usize, usize)>> {
    // A count of the keys that are left in each column, and the sum of their numbers.
    let mut left = vec![(0u32, 0usize); columns];
    let all = |keys: &mut Vec<(u32, usize)>, key: usize, add: bool| {
        for &column in &places[key].columns {
            let (count, sum) = &mut keys[column];
            *count = if add { *count + 1 } else { *count - 1 };
            *sum ^= key;
        }
    };
    (0..places.len()).for_each(|key| all(&mut left, key, true));
    let mut free: Vec<usize> = (0..columns).filter(|&column| left[column].0 == 1).collect();
    let mut peeled = Vec::with_capacity(places.len());
    while let Some(column) = free.pop() {
        let (1, key) = left[column] else { continue };
        all(&mut left, key, false);
        peeled.push((key, column));
        free.extend(places[key].columns.iter().filter(|&&other| left[other].0 == 1));
    }
    peeled.reverse();
    (peeled.len() == places.len()).then_some(peeled)
}
