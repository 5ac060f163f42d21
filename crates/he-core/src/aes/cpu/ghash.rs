//! GHASH (SP 800-38D, algorithm 2) with an explicit state, so that parts of a message can be hashed apart.

use super::engine::Block;
use ghash::GHash;
use ghash::universal_hash::UniversalHash;

/// Multiplication by a key H; constant time.
pub(super) struct Ghash(GHash);

impl Ghash {
    pub(super) fn new(h: &[u8; 16]) -> Self {
        Self(GHash::new(&Block::from(*h)))
    }

    /// The state after these bytes, padded with zeros to whole blocks.
    pub(super) fn update(&self, state: [u8; 16], bytes: &[u8]) -> [u8; 16] {
        let Some((first, rest)) = bytes.split_at_checked(16) else {
            return if bytes.is_empty() { state } else { self.block(state, &padded(bytes)) };
        };
        let mut hash = self.0.clone();
        hash.update(&[xored(state, first).into()]);
        hash.update_padded(rest);
        hash.finalize().0
    }

    /// (state + block) H.
    pub(super) fn block(&self, state: [u8; 16], block: &[u8; 16]) -> [u8; 16] {
        let mut hash = self.0.clone();
        hash.update(&[xored(state, block).into()]);
        hash.finalize().0
    }

    /// Multiplication by H^n, n > 0, for this H.
    pub(super) fn power(h: &[u8; 16], n: usize) -> Self {
        let mut power = *h;
        for bit in (0..n.ilog2()).rev() {
            power = Self::new(&power).block([0; 16], &power);
            if (n >> bit) & 1 == 1 {
                power = Self::new(h).block([0; 16], &power);
            }
        }
        Self::new(&power)
    }
}

fn padded(bytes: &[u8]) -> [u8; 16] {
    let mut block = [0; 16];
    block[..bytes.len()].copy_from_slice(bytes);
    block
}

pub(super) fn xored(mut a: [u8; 16], b: &[u8]) -> [u8; 16] {
    a.iter_mut().zip(b).for_each(|(a, b)| *a ^= b);
    a
}
