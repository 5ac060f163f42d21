//! Structures that kernels read, exactly as kernels/include declares them.

use bytemuck::{NoUninit, Pod, Zeroable};
use he_core::ring::{Rows, Span};

/// Constants of one prime.
#[repr(C)]
#[derive(Clone, Copy, NoUninit, Debug)]
pub(crate) struct Prime {
    pub(crate) q: u64,
    pub(crate) minus_q: u64,
    pub(crate) is_short: u64,
    pub(crate) unused: u64,
    pub(crate) q_double: f64,
    pub(crate) q_inverse: f64,
    pub(crate) roots: u64,
    pub(crate) inverse_roots: u64,
    pub(crate) ratio_high: u64,
    pub(crate) ratio_low: u64,
    pub(crate) shift_25: f64,
    pub(crate) shift_50: f64,
}

impl Prime {
    /// Number of words.
    pub(crate) const WORDS: usize = 12;

    pub(crate) fn words(&self) -> [u64; Self::WORDS] {
        [
            self.q,
            self.minus_q,
            self.is_short,
            self.unused,
            self.q_double.to_bits(),
            self.q_inverse.to_bits(),
            self.roots,
            self.inverse_roots,
            self.ratio_high,
            self.ratio_low,
            self.shift_25.to_bits(),
            self.shift_50.to_bits(),
        ]
    }
}

/// A factor with the constants that each arithmetic needs.
#[repr(C)]
#[derive(Clone, Copy, NoUninit, Debug, Default)]
pub(crate) struct Factor {
    pub(crate) value: u64,
    pub(crate) quotient: u64,
    pub(crate) centered: f64,
}

impl Factor {
    pub(crate) fn words(&self) -> [u64; 3] {
        [self.value, self.quotient, self.centered.to_bits()]
    }
}

/// One base conversion.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable, Debug)]
pub(crate) struct Basis {
    pub(crate) reciprocal: u64,
    pub(crate) hat: u64,
    pub(crate) minus_product: u64,
    pub(crate) hat_parts: u64,
    pub(crate) minus_parts: u64,
    pub(crate) bytes: u64,
    pub(crate) first: u64,
    pub(crate) count: u64,
    pub(crate) own_first: u64,
    pub(crate) own_count: u64,
    pub(crate) is_short: u64,
}

/// The primes of the limbs of rows.
#[repr(C)]
#[derive(Clone, Copy, NoUninit, Debug)]
pub(crate) struct Limbs {
    pub(crate) start: u32,
    pub(crate) split: u32,
    pub(crate) chain: u32,
    pub(crate) batch: u32,
}

impl Limbs {
    pub(crate) fn new(span: Span, batch: usize, chain: usize) -> Self {
        Self {
            start: span.start as u32,
            split: span.chain_limbs() as u32,
            chain: chain as u32,
            batch: batch as u32,
        }
    }
}

/// The words of a row that a block of an elementwise kernel handles.
pub(crate) const LOG_ROW_WORDS: u32 = 8;
/// The threads of such a block.
pub(crate) const ROW_THREADS: u32 = 128;

/// Rows and their distribution over blocks.
#[repr(C)]
#[derive(Clone, Copy, NoUninit, Debug)]
pub(crate) struct Grid {
    pub(crate) limbs: Limbs,
    pub(crate) primes: u64,
    pub(crate) log_n: u32,
    pub(crate) log_chunks: u32,
}

impl Grid {
    pub(crate) fn new(rows: Rows, chain: usize, primes: u64, log_n: u32) -> Self {
        Self {
            limbs: Limbs::new(rows.span, rows.batch, chain),
            primes,
            log_n,
            log_chunks: log_n.saturating_sub(LOG_ROW_WORDS),
        }
    }

    /// The blocks of a kernel over rows of this span.
    pub(crate) fn blocks(&self, span: Span) -> [u32; 3] {
        [self.limbs.batch << self.log_chunks, span.limbs() as u32, 1]
    }
}

/// The most primes of a ring, of the chain and special ones together.
pub(crate) const MAX_PRIMES: usize = 128;

/// One word per limb, padded.
pub(crate) fn per_limb<const N: usize>(words: &[u64]) -> [u64; N] {
    let mut padded = [0; N];
    let count = words.len().min(N);
    padded[..count].copy_from_slice(&words[..count]);
    padded
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    #[test]
    fn layouts_are_those_of_the_kernels() {
        assert_eq!((size_of::<Prime>(), offset_of!(Prime, roots)), (8 * Prime::WORDS, 48));
        assert_eq!(size_of::<Factor>(), 24);
        assert_eq!((size_of::<Basis>(), offset_of!(Basis, own_first)), (88, 64));
        assert_eq!(size_of::<Limbs>(), 16);
        assert_eq!((size_of::<Grid>(), offset_of!(Grid, primes), offset_of!(Grid, log_n)), (32, 16, 24));
    }
}
