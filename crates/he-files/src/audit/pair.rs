//! Values between the parts of an operation, as bytes.

use super::values;
use crate::error::{Result, TraceError};
use crate::listing::Checksum;
use he::Device;
use he_core::ring::{Ring, Span};
use he_core::rlwe::RlweCiphertext;
use std::path::Path;

/// The first bytes.
const MAGIC: &[u8; 8] = b"HE-PAIR1";
/// The bytes before the words: primes of the chain, special primes, and batch as well.
const HEAD: usize = MAGIC.len() + 3 * 4;

/// The bytes of a value: its primes and its batch, and the words of both polynomials as they lie
/// in memory, little-endian.
///
/// # Errors
/// The device fails.
pub fn to_bytes(pair: &RlweCiphertext<Device>) -> Result<Vec<u8>> {
    let span = pair.parts()[0].span();
    let mut bytes = MAGIC.to_vec();
    for number in [span.q, span.p, pair.batch()] {
        bytes.extend((number as u32).to_le_bytes());
    }
    for part in pair.parts() {
        let words = part.to_words()?;
        bytes.reserve(words.len() * size_of::<u64>());
        words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    }
    Ok(bytes)
}

/// The value in these bytes, which errors call `name`: over primes that the ring has, and nothing
/// else.
fn from_bytes(name: &str, bytes: &[u8], ring: &Ring<Device>) -> Result<RlweCiphertext<Device>> {
    let bad = |why| TraceError::NotAPair { name: name.to_owned(), why };
    let (head, words) = bytes.split_at_checked(HEAD).ok_or_else(|| bad("it ends too early"))?;
    let (magic, numbers) = head.split_at(MAGIC.len());
    if magic != MAGIC {
        return Err(bad("it begins otherwise").into());
    }
    let mut numbers = numbers.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes) as usize);
    let mut number = || numbers.next().unwrap_or_default();
    let (span, batch) = (Span::extended(number(), number()), number());
    let most = ring.spec().q().len() + ring.spec().p().len();
    let row = batch.saturating_mul(ring.n()).saturating_mul(size_of::<u64>());
    let fits = span.q <= most && span.p <= most && 2 * span.limbs() * row == words.len();
    if !fits {
        return Err(bad("its length is that of other primes or another batch").into());
    }
    let words: Vec<u64> = words.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
    let (c0, c1) = words.split_at(words.len() / 2);
    Ok(RlweCiphertext::from_words(ring, span, batch, [c0, c1])?)
}

/// The value with this digest from a folder; an operation takes it.
///
/// # Errors
/// [`TraceError::NotKept`] if it is not there, [`TraceError::NotAPair`] if it is another one.
pub fn kept(
    folder: &Path,
    digest: &Checksum,
    operation: usize,
    ring: &Ring<Device>,
) -> Result<RlweCiphertext<Device>> {
    let (name, bytes) = values::kept_bytes(folder, digest, operation)?;
    if *blake3::hash(&bytes).as_bytes() != *digest {
        return Err(TraceError::NotAPair { name, why: "its digest is another one" }.into());
    }
    from_bytes(&name, &bytes, ring)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use he_core::ring::{Poly, RingSpec, Seed};
    use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

    fn ring() -> Ring<Device> {
        Ring::new(Device::cpu(), RingSpec::new(3, vec![17, 97], vec![113]).unwrap()).unwrap()
    }

    /// Values come back; bytes that are altered, cut or longer are refused.
    #[test]
    fn bytes_are_those_of_one_value() {
        let seed = he_core::rand::rng().random();
        println!("seed {seed}");
        let (ring, rng) = (ring(), &mut ChaCha20Rng::seed_from_u64(seed));
        for span in [Span::chain(1), Span::chain(2), Span::extended(1, 1), Span::extended(2, 1)] {
            let poly = |index| Poly::uniform(&ring, span, 2, &Seed([3; 32]), index).unwrap();
            let pair = RlweCiphertext::new(poly(0), poly(1)).unwrap();
            let bytes = to_bytes(&pair).unwrap();
            let back = from_bytes("x", &bytes, &ring).unwrap();
            assert_eq!(to_bytes(&back).unwrap(), bytes);
            let refused = |bytes: &[u8]| {
                let error = from_bytes("x", bytes, &ring).unwrap_err();
                assert!(matches!(error, Error::Trace(TraceError::NotAPair { .. })), "{error}");
            };
            for length in 0..bytes.len() {
                refused(&bytes[..length]);
            }
            refused(&[&bytes[..], &[0]].concat());
            for at in 0..HEAD {
                let mut altered = bytes.clone();
                altered[at] ^= 1 << rng.random_range(0..8);
                // Special primes are not among the first ones of the chain.
                if let Ok(other) = from_bytes("x", &altered, &ring) {
                    assert_ne!(other.parts()[0].span(), span);
                }
            }
            let mut altered = bytes.clone();
            let at = HEAD + 8 * rng.random_range(0..(bytes.len() - HEAD) / 8) + rng.random_range(1..8);
            altered[at] = 1;
            assert!(from_bytes("x", &altered, &ring).is_err(), "a word beyond its prime");
        }
    }
}
