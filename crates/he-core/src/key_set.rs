//! Key sets: a public name for each secret key, carried by everything that belongs to it.

use crate::error::{Error, Result};
use crate::params::Fingerprint;
use crate::reveal;
use crate::secret_words::wipe_stack;
use zeroize::{Zeroize, Zeroizing};

/// The identity of a key set: 16 public bytes that a secret key, the keys made from it and
/// everything that they encrypt have in common.
///
/// Keys of two secrets under the same parameters cannot be told apart by their words, and computing
/// with the wrong ones gives noise. Wherever two objects meet whose identities are both known, the
/// identities are compared, and [`Error::KeyMismatch`] says that they differ. An object without one
/// (decoded from a bare frame, or built from words) can be combined with all others. Nothing else
/// depends on identities, neither words nor randomness.
///
/// # How it is made
/// It is derived from the secret, so that no randomness is drawn and every holder of the secret
/// finds the same: it is the first 16 bytes of BLAKE3's `derive_key` (see `docs/format.md`) of the
/// fingerprint of the parameters and all coefficients. The identity can be replaced by the name
/// that an application gives its key sets.
///
/// # Why the secret stays secret
/// The hash takes the whole secret at once, and has no structure that a guess of a part of it could
/// use. The identity only allows testing a guess of the whole secret, as do a public key, an
/// evaluation key or the ciphertext of a known message. Nothing is therefore lost as long as
/// secrets have as much entropy as the parameters have security. Ternary and binary secrets (of
/// TFHE both, the small and the large one, are hashed together) come from seeds of 256 bits and
/// have more coefficients than that at all secure parameters. A sparse secret of weight h has
/// log2(binomial(N, h) 2^h) bits: 394 at the least weight and degree that are not called insecure,
/// h = 32 and N = 2^15. Secrets of toy parameters can be found by search, with or without the
/// identity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeySetId([u8; 16]);

/// Separates this hash from all other hashes of secrets.
const CONTEXT: &str = "he 2026-11 key set: identity of secret key, version 1";

impl KeySetId {
    /// The length of an identity in bytes.
    pub const LEN: usize = 16;

    /// An identity that an application chose: random, or the hash of something public.
    pub const fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub const fn to_bytes(self) -> [u8; Self::LEN] {
        self.0
    }

    /// The identity of a secret under parameters with this fingerprint: each coefficient is hashed
    /// as a byte, 0, 1 and 2 for -1, 0 and 1. Constant time.
    pub(crate) fn of_ternary(params: Fingerprint, coefficients: &[i8]) -> Self {
        Self::derive(params, coefficients.iter().map(|&c| (c + 1) as u8))
    }

    /// The same for bits given as words 0 and 1, each hashed as a byte. Constant time.
    pub(crate) fn of_bits<'a>(params: Fingerprint, bits: impl IntoIterator<Item = &'a u64>) -> Self {
        Self::derive(params, bits.into_iter().map(|&bit| bit as u8))
    }

    fn derive(params: Fingerprint, secret: impl Iterator<Item = u8>) -> Self {
        let whole = hash_of_secret(CONTEXT, params, secret);
        let mut id = [0; Self::LEN];
        id.copy_from_slice(&whole[..Self::LEN]);
        Self(reveal::bytes(id))
    }
}

/// BLAKE3's `derive_key` of the fingerprint of parameters and the coefficients of a secret, a byte
/// each: a secret itself. Constant time.
pub(crate) fn hash_of_secret(
    context: &str,
    params: Fingerprint,
    secret: impl Iterator<Item = u8>,
) -> Zeroizing<[u8; 32]> {
    let whole = hash(context, params, secret);
    // BLAKE3 keeps the words of the message there, and has no function to wipe them.
    wipe_stack();
    whole
}

/// Its frame lies where [`wipe_stack`] writes.
#[inline(never)]
fn hash(context: &str, params: Fingerprint, mut secret: impl Iterator<Item = u8>) -> Zeroizing<[u8; 32]> {
    let mut hasher = blake3::Hasher::new_derive_key(context);
    hasher.update(&params.0);
    let mut piece = Zeroizing::new([0u8; 1024]);
    loop {
        let mut length = 0;
        for (byte, value) in piece.iter_mut().zip(&mut secret) {
            *byte = value;
            length += 1;
        }
        hasher.update(&piece[..length]);
        if length < piece.len() {
            break;
        }
    }
    let mut finished = hasher.finalize();
    hasher.zeroize();
    let whole = Zeroizing::new(*finished.as_bytes());
    finished.zeroize();
    whole
}

impl std::fmt::Display for KeySetId {
    /// 32 hexadecimal digits.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl std::fmt::Debug for KeySetId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeySetId({self})")
    }
}

impl std::str::FromStr for KeySetId {
    type Err = Error;

    /// Parses 32 hexadecimal digits.
    fn from_str(text: &str) -> Result<Self> {
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        let byte = |&[high, low]: &[u8; 2]| Some((digit(high)? << 4 | digit(low)?) as u8);
        let bytes: Option<Vec<u8>> = pairs.iter().map(byte).collect();
        let bytes = bytes.filter(|_| rest.is_empty()).and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(|| {
            Error::argument(
                "key set identity",
                format!("{} bytes of text that are not 32 hexadecimal digits", text.len()),
            )
        })
    }
}

/// The key set of the combination of two objects: the one that is known. `what` names the first
/// object.
///
/// # Errors
/// [`Error::KeyMismatch`] if both are known and differ.
pub(crate) fn common(
    what: &'static str,
    found: Option<KeySetId>,
    expected: Option<KeySetId>,
) -> Result<Option<KeySetId>> {
    match (found, expected) {
        (Some(found), Some(expected)) if found != expected => {
            Err(Error::KeyMismatch { what, found, expected })
        }
        _ => Ok(expected.or(found)),
    }
}

/// The key set of all of these: [`common`] along the list, whose first identity is expected of the
/// others.
pub(crate) fn common_of(
    what: &'static str,
    all: impl IntoIterator<Item = Option<KeySetId>>,
) -> Result<Option<KeySetId>> {
    all.into_iter().try_fold(None, |expected, found| common(what, found, expected))
}

/// Reading and setting the identity of types that keep it in a field.
macro_rules! key_set_accessors {
    ($([$($generics:tt)*] $type:ty { $($field:tt).+ })*) => {$(
        impl<$($generics)*> $type {
            /// The key set to which it belongs, if known: see [`KeySetId`](crate::KeySetId).
            pub fn key_set(&self) -> Option<crate::KeySetId> {
                self.$($field).+
            }

            /// Sets the key set, for an object that was decoded from a bare frame or that is named
            /// by an application. Nothing is checked. With `None` it can be combined with objects
            /// of all key sets.
            pub fn set_key_set(&mut self, key_set: Option<crate::KeySetId>) {
                self.$($field).+ = key_set;
            }
        }
    )*};
}
pub(crate) use key_set_accessors;

/// The accessors of secret keys, whose identity is always known.
macro_rules! secret_key_set_accessors {
    ($($type:ty),*) => {$(
        impl $type {
            /// The identity of its key set, carried by everything that is made with it. It is
            /// derived from the secret unless it was set.
            pub fn key_set(&self) -> crate::KeySetId {
                self.key_set
            }

            /// Names its key set, for everything that is made with it from now on.
            pub fn set_key_set(&mut self, key_set: crate::KeySetId) {
                self.key_set = key_set;
            }
        }
    )*};
}
pub(crate) use secret_key_set_accessors;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_what_the_specification_says() {
        for length in [0, 1, 7, 1023, 1024, 1025, 5000] {
            let coefficients: Vec<i8> = (0..length).map(|i| (i * i % 3) as i8 - 1).collect();
            let bytes: Vec<u8> = coefficients.iter().map(|&c| (c + 1) as u8).collect();
            let fingerprint = Fingerprint([9; 32]);
            let whole = blake3::derive_key(CONTEXT, &[&fingerprint.0[..], &bytes].concat());
            let id = KeySetId::of_ternary(fingerprint, &coefficients);
            assert_eq!(id.to_bytes(), whole[..16], "{length}");
            let bits: Vec<u64> = bytes.iter().map(|&b| u64::from(b)).collect();
            assert_eq!(KeySetId::of_bits(fingerprint, &bits), id, "{length}");
        }
    }

    #[test]
    fn text_is_hexadecimal() {
        let id = KeySetId::from_bytes(std::array::from_fn(|i| (17 * i) as u8));
        assert_eq!(id.to_string(), "00112233445566778899aabbccddeeff");
        assert_eq!(id.to_string().parse::<KeySetId>().unwrap(), id);
        assert_eq!("00112233445566778899AABBCCDDEEFF".parse::<KeySetId>().unwrap(), id);
        let long = "0".repeat(33);
        for bad in
            ["", "0", "00112233445566778899aabbccddeef", &long, "+0112233445566778899aabbccddeeff", "é"]
        {
            let error = bad.parse::<KeySetId>().unwrap_err();
            assert!(error.to_string().contains("32 hexadecimal digits"), "{error}");
        }
    }

    #[test]
    fn what_is_known_is_compared() {
        let [a, b] = [1, 2].map(|byte| Some(KeySetId::from_bytes([byte; 16])));
        assert_eq!(common("x", None, None).unwrap(), None);
        for (left, right) in [(a, None), (None, a), (a, a)] {
            assert_eq!(common("x", left, right).unwrap(), a);
        }
        let error = common("evaluation key", a, b).unwrap_err();
        assert!(
            matches!(error, Error::KeyMismatch { found, expected, .. } if Some(found) == a && Some(expected) == b)
        );
        assert_eq!(common_of("x", [None, b, None, b]).unwrap(), b);
        assert!(common_of("x", [None, b, None, a]).is_err());
        assert_eq!(common_of("x", []).unwrap(), None);
    }
}
