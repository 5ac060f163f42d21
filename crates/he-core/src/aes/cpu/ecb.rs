//! ECB of whole blocks.

use super::engine::{Blocks, Job, Permutation};
use crate::aes::Bulk;
use aes::cipher::typenum::Unsigned;

/// Every block for itself; the length is a multiple of 16.
pub(super) struct Ecb<'a> {
    pub data: Bulk<'a>,
}

impl Job for Ecb<'_> {
    #[inline(always)]
    fn run<P: Permutation>(self, permutation: &P) {
        let mut blocks = Blocks::<P>::default();
        for mut data in self.data.pieces(16 * P::Size::USIZE) {
            for (block, from) in blocks.iter_mut().zip(data.input().as_chunks().0) {
                block.0 = *from;
            }
            permutation.first(data.len() / 16, &mut blocks);
            for (block, to) in blocks.iter().zip(data.output().as_chunks_mut().0) {
                *to = block.0;
            }
        }
    }
}
