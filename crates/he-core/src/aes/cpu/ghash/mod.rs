//! GHASH (SP 800-38D, algorithm 2) with an explicit state, so that parts of a message can be hashed
//! separately.

#[cfg(target_arch = "x86_64")]
mod vpclmul;

use super::engine::Block;
use ghash::GHash;
use ghash::universal_hash::UniversalHash;

/// Multiplication by a key H; constant time.
pub(super) enum Ghash {
    /// With VPCLMULQDQ.
    #[cfg(target_arch = "x86_64")]
    Vpclmul(Box<vpclmul::Powers>),
    /// RustCrypto's, with PCLMULQDQ or PMULL if the processor has them.
    Portable(GHash),
}

impl Ghash {
    /// The fastest for this processor.
    pub(super) fn new(h: &[u8; 16]) -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(powers) = vpclmul::Powers::new(h) {
            return Self::Vpclmul(Box::new(powers));
        }
        Self::portable(h)
    }

    fn portable(h: &[u8; 16]) -> Self {
        Self::Portable(GHash::new(&Block::from(*h)))
    }

    /// The state after these bytes, padded with zeros to whole blocks.
    pub(super) fn update(&self, state: [u8; 16], bytes: &[u8]) -> [u8; 16] {
        let (blocks, tail) = bytes.as_chunks::<16>();
        let state = self.blocks(state, blocks);
        if tail.is_empty() {
            return state;
        }
        let mut block = [0; 16];
        block[..tail.len()].copy_from_slice(tail);
        self.blocks(state, &[block])
    }

    /// The state after these blocks: (...((state + first) H + second) H + ...) H.
    pub(super) fn blocks(&self, state: [u8; 16], blocks: &[[u8; 16]]) -> [u8; 16] {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Vpclmul(powers) => powers.update(state, blocks),
            Self::Portable(hash) => {
                let Some((first, rest)) = blocks.split_first() else { return state };
                let mut hash = hash.clone();
                hash.update(&[xored(state, first).into()]);
                hash.update(Block::cast_slice_from_core(rest));
                hash.finalize().0
            }
        }
    }

    /// x H.
    pub(super) fn times(&self, x: [u8; 16]) -> [u8; 16] {
        self.blocks(x, &[[0; 16]])
    }

    /// Multiplication by H^n, n > 0, for this H.
    pub(super) fn power(h: &[u8; 16], n: usize) -> Self {
        let by_h = Self::portable(h);
        let mut power = *h;
        for bit in (0..n.ilog2()).rev() {
            power = Self::portable(&power).times(power);
            if (n >> bit) & 1 == 1 {
                power = by_h.times(power);
            }
        }
        Self::portable(&power)
    }
}

pub(super) fn xored(mut a: [u8; 16], b: &[u8; 16]) -> [u8; 16] {
    a.iter_mut().zip(b).for_each(|(a, b)| *a ^= b);
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(count: usize, seed: u8) -> Vec<u8> {
        // Byte i depends on i mod 251, a prime, so that exchanged blocks are noticed.
        (0..count).map(|i| (i % 251) as u8 ^ seed.wrapping_mul(0x9d)).collect()
    }

    /// Compares the vector code with RustCrypto's for all numbers of blocks up to two groups, and
    /// tails.
    #[test]
    fn vector_code_equals_portable() {
        for seed in 0..20 {
            let h: [u8; 16] = bytes(16 + usize::from(seed), seed)[usize::from(seed)..].try_into().unwrap();
            let (fast, portable) = (Ghash::new(&h), Ghash::portable(&h));
            for len in (0..=40).map(|blocks| 16 * blocks).chain([1, 15, 17, 255, 257, 511, 5000]) {
                let (state, data) = ([seed ^ 0x3c; 16], bytes(len, seed));
                assert_eq!(
                    fast.update(state, &data),
                    portable.update(state, &data),
                    "{len} bytes, seed {seed}"
                );
            }
        }
    }

    #[test]
    fn powers() {
        let h = bytes(16, 7).try_into().unwrap();
        let ghash = Ghash::new(&h);
        let x = [0x42; 16];
        let mut product = x;
        for n in 1..70 {
            product = ghash.times(product);
            assert_eq!(Ghash::power(&h, n).times(x), product, "H^{n}");
        }
    }
}
