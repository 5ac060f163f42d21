//! XTS (IEEE 1619-2018, section 5). RustCrypto's `xts-mode` takes one block at a time; here batches
//! cross the borders of units.

use super::engine::{Block, Blocks, Direct, Encryptor, Job, Permutation, in_out};
use super::{PARALLEL, over_ranges};
use crate::aes::Bulk;
use aes::cipher::consts::U16;
use aes::cipher::typenum::Unsigned;
use zeroize::Zeroizing;

/// Data units of one length, numbered from `first` on.
pub(super) struct Units<'a, C> {
    pub tweaks: &'a Encryptor,
    pub cipher: &'a C,
    pub first: u128,
    pub len: usize,
    /// Whether the tweaks of a stolen block come in the order of decryption.
    pub swapped: bool,
}

/// The tweaks that are computed at once: a multiple of the batches of AES-NI (8) and VAES (30), and
/// close to one of AVX-512 (64).
const TWEAKS: usize = 480;

/// The most units in a batch.
const GROUP: usize = 60;

impl<C: Direct> Units<'_, C> {
    pub(super) fn run(&self, data: Bulk<'_>) {
        if self.len >= PARALLEL {
            for (i, unit) in data.pieces(self.len).enumerate() {
                self.unit(self.first + i as u128, unit);
            }
            return;
        }
        over_ranges(data, self.len, |offset, data| {
            let first = self.first + (offset / self.len) as u128;
            if self.len.is_multiple_of(16) && self.len <= 16 * TWEAKS {
                self.short_units(first, data);
            } else {
                for (i, unit) in data.pieces(self.len).enumerate() {
                    self.unit(first + i as u128, unit);
                }
            }
        });
    }

    /// Units of whole blocks, several per batch; the last may have any length.
    fn short_units(&self, first: u128, data: Bulk<'_>) {
        let (blocks, group) = (self.len / 16, (16 * TWEAKS / self.len).min(GROUP));
        let mut tweaks = [0; TWEAKS];
        for (i, data) in data.pieces(group * self.len).enumerate() {
            let first = first + (i * group) as u128;
            let whole = data.len() / self.len;
            let (data, last) = data.split_at(whole * self.len);
            let starts = &mut [0; GROUP][..whole];
            for (i, start) in starts.iter_mut().enumerate() {
                *start = first + i as u128;
            }
            self.tweaks.run(Numbers(starts));
            for (tweaks, start) in tweaks.chunks_exact_mut(blocks).zip(starts) {
                fill(*start, tweaks);
            }
            self.cipher.run(Xex { tweaks: &tweaks[..whole * blocks], data });
            if !last.is_empty() {
                self.unit(first + whole as u128, last);
            }
        }
    }

    /// A unit of at least 16 bytes.
    fn unit(&self, number: u128, data: Bulk<'_>) {
        let mut start = [number];
        self.tweaks.run(Numbers(&mut start));
        let [tweak] = start;
        let partial = data.len() % 16;
        let whole = data.len() / 16 - usize::from(partial > 0);
        let (data, last) = data.split_at(16 * whole);
        over_ranges(data, 16, |offset, data| {
            let mut tweak = advanced(tweak, offset / 16);
            let mut tweaks = [0; TWEAKS];
            for data in data.pieces(16 * TWEAKS) {
                let count = data.len() / 16;
                fill(tweak, &mut tweaks[..count]);
                self.cipher.run(Xex { tweaks: &tweaks[..count], data });
                tweak = shifted(tweaks[TWEAKS - 1], 1);
            }
        });
        if partial > 0 {
            let tweak = advanced(tweak, whole);
            let order = if self.swapped { [shifted(tweak, 1), tweak] } else { [tweak, shifted(tweak, 1)] };
            self.steal(order, last);
        }
    }

    /// A whole block and a partial one (IEEE 1619, 5.3.2 and 5.4.2, ciphertext stealing).
    fn steal(&self, [full, stolen]: [u128; 2], mut data: Bulk<'_>) {
        let mut bytes = Zeroizing::new([0; 32]);
        bytes[..data.len()].copy_from_slice(data.input());
        let (block, partial) = bytes.split_at_mut(16);
        let partial = &mut partial[..data.len() - 16];
        self.cipher.run(Xex { tweaks: &[full], data: Bulk::in_place(block) });
        block[..partial.len()].swap_with_slice(partial);
        self.cipher.run(Xex { tweaks: &[stolen], data: Bulk::in_place(block) });
        let (to, to_partial) = data.output().split_at_mut(16);
        to.copy_from_slice(block);
        to_partial.copy_from_slice(partial);
    }
}

/// x^n T modulo x^128 + x^7 + x^2 + x + 1, for n from 1 to 57: the bits carried out, times
/// x^7 + x^2 + x + 1, fit a word.
#[inline(always)]
fn shifted(tweak: u128, n: u32) -> u128 {
    let carry = (tweak >> (128 - n)) as u64;
    (tweak << n) ^ u128::from(carry ^ (carry << 1) ^ (carry << 2) ^ (carry << 7))
}

/// x^n T for any n.
fn advanced(mut tweak: u128, n: usize) -> u128 {
    for _ in 0..n / 32 {
        tweak = shifted(tweak, 32);
    }
    match n % 32 {
        0 => tweak,
        rest => shifted(tweak, rest as u32),
    }
}

/// T, x T, x^2 T, ..., by steps of x^8, which do not wait for each other.
fn fill(tweak: u128, tweaks: &mut [u128]) {
    let mut next = tweak;
    for tweak in tweaks.iter_mut().take(8) {
        *tweak = next;
        next = shifted(next, 1);
    }
    for i in 8..tweaks.len() {
        tweaks[i] = shifted(tweaks[i - 8], 8);
    }
}

/// The cipher of little-endian numbers.
struct Numbers<'a>(&'a mut [u128]);

impl Job for Numbers<'_> {
    #[inline(always)]
    fn run<P: Permutation>(self, permutation: &P) {
        let mut blocks = Blocks::<P>::default();
        for numbers in self.0.chunks_mut(P::Size::USIZE) {
            for (block, number) in blocks.iter_mut().zip(&*numbers) {
                block.0 = number.to_le_bytes();
            }
            permutation.first(numbers.len(), &mut blocks);
            for (block, number) in blocks.iter().zip(numbers) {
                *number = u128::from_le_bytes(block.0);
            }
        }
    }
}

/// XOR with a tweak before and after the cipher, block by block.
struct Xex<'a> {
    tweaks: &'a [u128],
    data: Bulk<'a>,
}

impl Job for Xex<'_> {
    #[inline(always)]
    fn run<P: Permutation>(self, permutation: &P) {
        let (batches, mut tail) = in_out(self.data).into_chunks::<U16>().0.into_chunks::<P::Size>();
        let (tweaks, last) = self.tweaks.split_at(self.tweaks.len() - tail.len());
        let mut blocks = Blocks::<P>::default();
        for (mut batch, tweaks) in batches.into_iter().zip(tweaks.chunks_exact(P::Size::USIZE)) {
            xor(batch.get_in(), tweaks, &mut blocks);
            permutation.batch((&mut blocks).into());
            xor(&blocks, tweaks, batch.get_out());
        }
        if !tail.is_empty() {
            xor(tail.get_in(), last, &mut blocks);
            permutation.first(last.len(), &mut blocks);
            xor(&blocks, last, tail.get_out());
        }
    }
}

#[inline(always)]
fn xor(from: &[Block], tweaks: &[u128], to: &mut [Block]) {
    for ((from, tweak), to) in from.iter().zip(tweaks).zip(to) {
        to.0 = (u128::from_le_bytes(from.0) ^ tweak).to_le_bytes();
    }
}
