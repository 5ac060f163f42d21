//! ECB of whole blocks.

use super::engine::{Blocks, Job, Permutation, in_out};
use crate::aes::Bulk;
use aes::cipher::consts::U16;

/// Every block by itself; the length is a multiple of 16.
pub(super) struct Ecb<'a> {
    pub data: Bulk<'a>,
}

impl Job for Ecb<'_> {
    #[inline(always)]
    fn run<P: Permutation>(self, permutation: &P) {
        let (batches, mut tail) = in_out(self.data).into_chunks::<U16>().0.into_chunks::<P::Size>();
        for batch in batches {
            permutation.batch(batch);
        }
        let count = tail.len();
        if count > 0 {
            let mut blocks = Blocks::<P>::default();
            blocks[..count].copy_from_slice(tail.get_in());
            permutation.first(count, &mut blocks);
            tail.get_out().copy_from_slice(&blocks[..count]);
        }
    }
}
