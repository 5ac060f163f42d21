//! From a value of the pseudorandom function: where an item lies, and what hides its label.

use crate::oprf::Output;
use crate::table::Bins;
use blake3::OutputReader;
use he_core::arith::Modulus;
use zeroize::{Zeroize, Zeroizing};

/// The salt of a bundle's tags and pads.
pub(crate) type Salt = [u8; 16];

/// 32 bytes that stand for an item: nobody without the server's key finds them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Digest([u8; 32]);

impl Drop for Digest {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// The place of an item in every set of these parameters.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// Its bins, any of which may be a client's.
    pub bins: Bins,
    /// Its node, modulo t.
    pub node: u64,
}

impl Digest {
    pub fn new(output: &Output) -> Self {
        Self(blake3::derive_key("he-psi 1 digest of an item", &**output))
    }

    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Hashes to places; the time depends on the digest when bins coincide.
    pub fn place(&self, bins: usize, t: &Modulus) -> Place {
        let mut stream = Stream::new(&self.0, &[b"place"]);
        let node = stream.residue(t);
        let mut found = [usize::MAX; 3];
        for i in 0..3 {
            while found[i] == usize::MAX || found[..i].contains(&found[i]) {
                found[i] = stream.below(bins);
            }
        }
        Place { bins: found, node }
    }

    /// Uniform residues for an item in a slot of a bundle with this salt: its tags, and the pads of
    /// its label.
    pub fn residues(&self, salt: &Salt, slot: usize, t: &Modulus, count: usize) -> Zeroizing<Vec<u64>> {
        let mut stream = Stream::new(&self.0, &[salt, &(slot as u64).to_le_bytes()]);
        Zeroizing::new((0..count).map(|_| stream.residue(t)).collect())
    }
}

/// Numbers from BLAKE3 under a key.
pub(crate) struct Stream(OutputReader);

impl Stream {
    pub fn new(key: &[u8; 32], parts: &[&[u8]]) -> Self {
        let mut hasher = blake3::Hasher::new_keyed(key);
        parts.iter().for_each(|part| {
            hasher.update(part);
        });
        let stream = Self(hasher.finalize_xof());
        hasher.zeroize();
        stream
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.0.fill(&mut bytes);
        bytes
    }

    /// A number modulo t from 128 bits: uniform up to a distance of t 2^-128.
    pub fn residue(&mut self, t: &Modulus) -> u64 {
        t.reduce_u128(u128::from_le_bytes(self.bytes()))
    }

    /// A number below a limit from 64 bits: uniform up to a distance of limit 2^-64.
    fn below(&mut self, limit: usize) -> usize {
        ((u128::from(u64::from_le_bytes(self.bytes())) * limit as u128) >> 64) as usize
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}
