//! The protocols, as values.

use crate::ring::Span;
use crate::rlwe::RlweParams;

/// The protocols, by the number that stands for them in files and hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum ProtocolKind {
    /// [`PublicKeyGeneration`](super::PublicKeyGeneration).
    PublicKey = 1,
    /// The first round of [`RelinearisationRound1`](super::RelinearisationRound1).
    Relinearisation1 = 2,
    /// The second round, [`RelinearisationRound2`](super::RelinearisationRound2).
    Relinearisation2 = 3,
    /// [`GaloisKeyGeneration`](super::GaloisKeyGeneration).
    GaloisKey = 4,
    /// [`Decryption`](super::Decryption).
    Decryption = 5,
    /// [`KeySwitching`](super::KeySwitching).
    KeySwitching = 6,
    /// [`PublicKeySwitching`](super::PublicKeySwitching).
    PublicKeySwitching = 7,
    /// [`Refresh`](super::Refresh).
    Refresh = 8,
}

impl std::fmt::Display for ProtocolKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::PublicKey => "the generation of a public key",
            Self::Relinearisation1 => "the first round of a relinearisation key",
            Self::Relinearisation2 => "the second round of a relinearisation key",
            Self::GaloisKey => "the generation of a Galois key",
            Self::Decryption => "a decryption",
            Self::KeySwitching => "a key switch",
            Self::PublicKeySwitching => "a key switch to a public key",
            Self::Refresh => "a refresh",
        })
    }
}

impl ProtocolKind {
    /// The protocol of a number.
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        [
            Self::PublicKey,
            Self::Relinearisation1,
            Self::Relinearisation2,
            Self::GaloisKey,
            Self::Decryption,
            Self::KeySwitching,
            Self::PublicKeySwitching,
            Self::Refresh,
        ]
        .into_iter()
        .find(|&kind| kind as u8 == number)
    }

    /// The polynomials of a share, by their primes and their batch: those of keys follow from the
    /// parameters, the others from the ciphertext, over `primes` primes in this batch.
    pub(crate) fn layout(self, params: &RlweParams, primes: usize, batch: usize) -> Vec<(Span, usize)> {
        let (chain, digits) = (Span::chain(params.key_span().q), params.digits().len());
        match self {
            Self::PublicKey => vec![(chain, 1)],
            Self::Relinearisation1 => vec![(params.key_span(), 1); 2 * digits],
            Self::Relinearisation2 | Self::GaloisKey => vec![(params.key_span(), 1); digits],
            Self::Decryption | Self::KeySwitching => vec![(Span::chain(primes), batch)],
            Self::PublicKeySwitching => vec![(Span::chain(primes), batch); 2],
            Self::Refresh => vec![(Span::chain(primes), batch), (chain, batch)],
        }
    }

    /// Whether its shares concern keys, and not a ciphertext.
    pub(crate) fn of_keys(self) -> bool {
        use ProtocolKind::{GaloisKey, PublicKey, Relinearisation1, Relinearisation2};
        matches!(self, PublicKey | Relinearisation1 | Relinearisation2 | GaloisKey)
    }
}
