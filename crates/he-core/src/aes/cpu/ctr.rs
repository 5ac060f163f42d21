//! Counter mode.

use super::engine::{Block, Blocks, Job, Permutation};
use crate::aes::{Buffers, Bulk};
use aes::cipher::typenum::Unsigned;

/// Bits of the counter that count; carries beyond are lost.
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
            // Nothing is carried beyond 32 bits: a loop over words, which becomes vector code.
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
        let mut stream = Blocks::<P>::default();
        for piece in data.pieces(16 * P::Size::USIZE) {
            let len = piece.len();
            width.fill(counter, &mut stream);
            permutation.first(len.div_ceil(16), &mut stream);
            xor(piece, &stream);
            counter = width.add(counter, P::Size::USIZE as u128);
        }
    }
}

/// XOR with as many bytes of the stream as there are data.
#[inline(always)]
fn xor(data: Bulk<'_>, stream: &[Block]) {
    match data.into_buffers() {
        Buffers::InPlace(data) => {
            let (blocks, tail) = data.as_chunks_mut::<16>();
            for (block, stream) in blocks.iter_mut().zip(stream) {
                *block = xor_block(block, stream);
            }
            xor_tail(tail, blocks.len(), stream);
        }
        Buffers::Copy { from, to } => {
            let (blocks, tail) = to.as_chunks_mut::<16>();
            let (from, from_tail) = from.as_chunks::<16>();
            for ((block, from), stream) in blocks.iter_mut().zip(from).zip(stream) {
                *block = xor_block(from, stream);
            }
            tail.copy_from_slice(from_tail);
            xor_tail(tail, blocks.len(), stream);
        }
    }
}

#[inline(always)]
fn xor_block(a: &[u8; 16], b: &Block) -> [u8; 16] {
    (u128::from_ne_bytes(*a) ^ u128::from_ne_bytes(b.0)).to_ne_bytes()
}

/// The bytes that follow the last whole block.
#[inline(always)]
fn xor_tail(tail: &mut [u8], blocks: usize, stream: &[Block]) {
    if let Some(stream) = stream.get(blocks) {
        tail.iter_mut().zip(stream).for_each(|(byte, stream)| *byte ^= stream);
    }
}
