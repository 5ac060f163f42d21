//! The automorphism of values as a permutation of a row.

use crate::ring::{Automorphism, bit_reverse};

/// `out[i] = in[source of i]`.
#[derive(Debug)]
pub(in super::super) enum Permutation {
    /// The source of every word, if there are fewer than eight.
    Words(Vec<u32>),
    /// The source of the first word of every aligned group of eight, and the places of the sources
    /// of all eight in their group if that of the first is the s-th. An automorphism moves groups
    /// as a whole: the upper bits of a position are the lower bits of the exponent, which depend
    /// only on those. This takes an eighth of the work to compute and to read.
    Groups { first: Vec<u32>, lanes: Box<[[u64; 8]; 8]> },
}

impl Permutation {
    /// The permutation of X -> X^g.
    pub(in super::super) fn new(g: u64, log_n: u32) -> Self {
        if log_n < 3 {
            return Self::Words(Automorphism::new(g, log_n).permutation());
        }
        let (count, mask, g) = (1usize << (log_n - 3), (2usize << log_n) - 1, g as usize);
        let mut first = vec![0; count];
        for k in 0..count {
            let exponent = g.wrapping_mul(2 * k + 1) & mask;
            first[bit_reverse(k, log_n - 3)] = bit_reverse(exponent >> 1, log_n) as u32;
        }
        let lanes = Box::new(std::array::from_fn(|s| {
            let lane = |l| bit_reverse((bit_reverse(s, 3) + g.wrapping_mul(bit_reverse(l, 3))) & 7, 3) as u64;
            std::array::from_fn(lane)
        }));
        Self::Groups { first, lanes }
    }

    /// The source of the words of an aligned block, from word `at` on: an aligned block of the same
    /// length, which is a power of two, at least eight or the whole row.
    pub(in super::super) fn source(&self, at: usize, len: usize) -> usize {
        match self {
            Self::Words(_) => 0,
            Self::Groups { first, .. } => first[at / 8] as usize & !(len - 1),
        }
    }
}
