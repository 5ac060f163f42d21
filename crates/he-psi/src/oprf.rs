//! The oblivious pseudorandom function of items: OPRF(ristretto255, SHA-512), mode 0, of RFC 9497.

use crate::error::{Error, Result};
use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::IsIdentity;
use rand::CryptoRng;
use rayon::prelude::*;
use sha2::{Digest as _, Sha512};
use zeroize::{Zeroize, Zeroizing};

/// The greatest length of an item in bytes (RFC 9497, section 1.2).
pub const MAX_ITEM_BYTES: usize = 65535;

/// The tag of the hash to the group: "HashToGroup-" and the context string (sections 3.1 and 4.1).
const GROUP_TAG: &[u8] = b"HashToGroup-OPRFV1-\x00-ristretto255-SHA512";

/// A group element as bytes (RFC 9496).
pub(crate) type Point = [u8; 32];
/// A value of the function.
pub(crate) type Output = Zeroizing<[u8; 64]>;

/// Sixteen bytes that tell keys of servers apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerKeyId(pub(crate) [u8; 16]);

impl std::fmt::Display for ServerKeyId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The secret key of a server's function; wiped when dropped.
pub struct ServerKey(Zeroizing<Scalar>);

impl std::fmt::Debug for ServerKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ServerKey { .. }")
    }
}

impl ServerKey {
    /// Draws a key.
    pub fn generate(rng: &mut (impl CryptoRng + ?Sized)) -> Self {
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *seed);
        Self(scalar(&seed, 0))
    }

    /// **The secret**: a scalar, little-endian.
    pub fn to_bytes(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.0.to_bytes())
    }

    /// From the bytes of [`to_bytes`](Self::to_bytes).
    ///
    /// # Errors
    /// [`Error::Bytes`] for zero and for numbers that are not below the order of the group.
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Self> {
        let scalar = Option::<Scalar>::from(Scalar::from_canonical_bytes(*bytes));
        let scalar = scalar.filter(|scalar| *scalar != Scalar::ZERO);
        let refused = Error::Bytes { object: "a server's key", reason: "scalar" };
        scalar.map(|scalar| Self(Zeroizing::new(scalar))).ok_or(refused)
    }

    /// The identity of the key: a hash of its public point, which tells nothing about values.
    pub fn id(&self) -> ServerKeyId {
        let public = hash_to_group(b"he-psi identity of a key") * *self.0;
        let hash = blake3::derive_key("he-psi 1 identity of a server's key", public.compress().as_bytes());
        let mut id = [0; 16];
        id.copy_from_slice(&hash[..16]);
        ServerKeyId(id)
    }

    /// The value of the function at an item; constant time but for the item's length.
    pub(crate) fn value(&self, item: &[u8]) -> Output {
        finish(item, (hash_to_group(item) * *self.0).compress().as_bytes())
    }

    /// Multiplies blinded points; constant time.
    pub(crate) fn evaluate(&self, points: &[Point]) -> Result<Vec<Point>> {
        let evaluate = |(at, bytes)| Ok((point(at, bytes)? * *self.0).compress().to_bytes());
        points.par_iter().enumerate().map(evaluate).collect()
    }
}

/// Items under one-time scalars, which come from a seed.
pub(crate) struct Blinding<'a> {
    seed: &'a [u8; 32],
}

impl<'a> Blinding<'a> {
    pub fn new(seed: &'a [u8; 32]) -> Self {
        Self { seed }
    }

    /// The blinded points of items; constant time but for the items' lengths.
    pub fn blind(&self, items: &[&[u8]]) -> Vec<Point> {
        let blind = |(i, item): (usize, &&[u8])| {
            (hash_to_group(item) * *scalar(self.seed, i as u64)).compress().to_bytes()
        };
        items.par_iter().enumerate().map(blind).collect()
    }

    /// The values of the function from the points that a server evaluated.
    pub fn finish(&self, items: &[&[u8]], evaluated: &[Point]) -> Result<Vec<Output>> {
        let finish_one = |(i, (item, bytes)): (usize, (&&[u8], &Point))| {
            let inverse = Zeroizing::new(scalar(self.seed, i as u64).invert());
            Ok(finish(item, (point(i, bytes)? * *inverse).compress().as_bytes()))
        };
        items.par_iter().zip(evaluated).enumerate().map(finish_one).collect()
    }
}

/// A scalar as a function of a seed: 512 bits of BLAKE3 modulo the order, which is zero with
/// probability 2^-252.
fn scalar(seed: &[u8; 32], index: u64) -> Zeroizing<Scalar> {
    let mut wide = Zeroizing::new([0; 64]);
    let mut hasher = blake3::Hasher::new_keyed(seed);
    hasher.update(&index.to_le_bytes()).finalize_xof().fill(&mut *wide);
    hasher.zeroize();
    Zeroizing::new(Scalar::from_bytes_mod_order_wide(&wide))
}

fn point(at: usize, bytes: &Point) -> Result<RistrettoPoint> {
    let point = CompressedRistretto(*bytes).decompress();
    point.filter(|point| !point.is_identity()).ok_or(Error::Point { at })
}

/// The hash to the group: 64 bytes of `expand_message_xmd` with SHA-512 (RFC 9380, section 5.3.1),
/// mapped by RFC 9496.
fn hash_to_group(item: &[u8]) -> RistrettoPoint {
    let tag = |hash: Sha512| hash.chain_update(GROUP_TAG).chain_update([GROUP_TAG.len() as u8]).finalize();
    let padded = Sha512::new().chain_update([0; 128]).chain_update(item);
    let first = tag(padded.chain_update([0, 64, 0]));
    let uniform = tag(Sha512::new().chain_update(first).chain_update([1]));
    let mut bytes = Zeroizing::new([0; 64]);
    bytes.copy_from_slice(&uniform);
    RistrettoPoint::from_uniform_bytes(&bytes)
}

/// The last hash (section 3.3.1).
fn finish(item: &[u8], element: &Point) -> Output {
    let mut hash = Sha512::new().chain_update((item.len() as u16).to_be_bytes()).chain_update(item);
    hash = hash.chain_update([0, 32]).chain_update(element).chain_update(b"Finalize");
    let mut output = Zeroizing::new([0; 64]);
    output.copy_from_slice(&hash.finalize());
    output
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn bytes<const N: usize>(digits: &str) -> [u8; N] {
        let digit = |i| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).unwrap();
        std::array::from_fn(digit)
    }

    /// RFC 9497, appendix A.1.1, test vector 1.
    #[test]
    fn the_function_is_that_of_the_standard() {
        let key = "5ebcea5ee37023ccb9fc2d2019f9d7737be85591ae8652ffa9ef0f4d37063b0e";
        let key = ServerKey::from_bytes(&bytes(key)).unwrap();
        let blind: [u8; 32] = bytes("64d37aed22a27f5191de1c1d69fadb899d8862b58eb4220029e036ec4c1f6706");
        let blind = Option::<Scalar>::from(Scalar::from_canonical_bytes(blind)).unwrap();
        let blinded = (hash_to_group(&[0]) * blind).compress().to_bytes();
        assert_eq!(blinded, bytes("609a0ae68c15a3cf6903766461307e5c8bb2f95e7e6550e1ffa2dc99e412803c"));
        let evaluated = key.evaluate(&[blinded]).unwrap();
        assert_eq!(evaluated[0], bytes("7ec6578ae5120958eb2db1745758ff379e77cb64fe77b0b2d8cc917ea0869c7e"));
        let expected = "527759c3d9366f277d8c6020418d96bb393ba2afb20ff90df23fb7708264e2f3\
                        ab9135e3bd69955851de4b1f9fe8a0973396719b7912ba9ee8aa7d0b5e24bcf6";
        assert_eq!(*key.value(&[0]), bytes(expected));
        let unblinded = (point(0, &evaluated[0]).unwrap() * blind.invert()).compress().to_bytes();
        assert_eq!(*finish(&[0], &unblinded), bytes(expected));
    }

    #[test]
    fn both_ways_lead_to_the_same_values() {
        let key = ServerKey::generate(&mut he_core::rand::rng());
        let items: [&[u8]; 3] = [b"", b"a", &[7; 1000]];
        let blinding = Blinding::new(&[3; 32]);
        let evaluated = key.evaluate(&blinding.blind(&items)).unwrap();
        let values = blinding.finish(&items, &evaluated).unwrap();
        assert!(values.iter().zip(items).all(|(value, item)| *value == key.value(item)));
    }

    #[test]
    fn points_that_are_none_are_refused() {
        let key = ServerKey::generate(&mut he_core::rand::rng());
        let good = hash_to_group(b"x").compress().to_bytes();
        for bad in [[0; 32], [255; 32]] {
            assert!(matches!(key.evaluate(&[good, bad]), Err(Error::Point { at: 1 })));
        }
        assert!(ServerKey::from_bytes(&[0; 32]).is_err() && ServerKey::from_bytes(&[255; 32]).is_err());
    }
}
