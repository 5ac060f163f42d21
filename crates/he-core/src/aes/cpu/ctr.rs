//! Counter mode.

use super::engine::{Block, Blocks, Job, Permutation, in_out};
use crate::aes::Bulk;
use aes::cipher::consts::U16;
use aes::cipher::typenum::Unsigned;

/// The bits of the counter that are incremented; carries beyond them are lost.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    /// GCM's inc_32.
    Bits32,
    /// The whole block.
    Bits128,
}

/// Data XOR cipher(counter) || cipher(counter + 1) || ...
pub(super) struct Ctr<'a> {
    pub counter: u128,
    pub width: Width,
    pub data: Bulk<'a>,
}

impl Width {
    /// counter + n.
    #[inline(always)]
    pub(super) fn add(self, counter: u128, n: u128) -> u128 {
        match self {
            Self::Bits32 => (counter >> 32 << 32) | u128::from((counter as u32).wrapping_add(n as u32)),
            Self::Bits128 => counter.wrapping_add(n),
        }
    }

    /// Consecutive counters.
    #[inline(always)]
    fn fill(self, counter: u128, blocks: &mut [Block]) {
        let low = counter as u32;
        if low.checked_add(blocks.len() as u32).is_some() {
            // Nothing is carried beyond 32 bits, so this loop over words becomes vector code.
            let head = (counter & !0xffff_ffff).to_be();
            for (i, block) in blocks.iter_mut().enumerate() {
                let word = u128::from((low + i as u32).to_be());
                block.0 =
                    (head | if cfg!(target_endian = "little") { word << 96 } else { word }).to_ne_bytes();
            }
        } else {
            for (i, block) in blocks.iter_mut().enumerate() {
                block.0 = self.add(counter, i as u128).to_be_bytes();
            }
        }
    }
}

impl Job for Ctr<'_> {
    #[inline(always)]
    fn run<P: Permutation>(self, permutation: &P) {
        let Self { mut counter, width, data } = self;
        let (blocks, mut tail) = in_out(data).into_chunks::<U16>();
        let (batches, mut last) = blocks.into_chunks::<P::Size>();
        let mut stream = Blocks::<P>::default();
        for mut batch in batches {
            width.fill(counter, &mut stream);
            permutation.batch((&mut stream).into());
            batch.xor_in2out(&stream);
            counter = width.add(counter, P::Size::USIZE as u128);
        }
        let count = last.len() + usize::from(!tail.is_empty());
        if count > 0 {
            width.fill(counter, &mut stream);
            // The tail's block is in the batch, as `last` is shorter than one.
            permutation.first(count, &mut stream);
            for i in 0..last.len() {
                last.get(i).xor_in2out(&stream[i]);
            }
            tail.xor_in2out(&stream[count - 1][..tail.len()]);
        }
    }
}
