//! Keys of several parties, without a dealer: multiparty homomorphic encryption.
//!
//! Each of n parties has a secret s_i of its own; the collective secret s = s_1 + ... + s_n exists
//! nowhere. They make its public key, relinearisation key and Galois keys together, and together
//! they decrypt, switch ciphertexts to other keys, and refresh them (Mouchet, Troncoso-Pastoriza,
//! Bossuat, Hubaux, *Multiparty Homomorphic Encryption from Ring-Learning-with-Errors*, PETS 2021).
//! The keys are ordinary ones of a key set of their own, so that encryptors and evaluators of CKKS,
//! BFV and BGV work with them as they are, on every device. Parameters are told the number of
//! parties ([`CkksParams::for_parties`](crate::ckks::CkksParams::for_parties),
//! [`Params::for_parties`](crate::exact::Params::for_parties)), because noise grows with it.
//!
//! | protocol | rounds | result |
//! |---|---|---|
//! | [`PublicKeyGeneration`] | 1 | a [`PublicKey`](crate::rlwe::PublicKey) |
//! | [`RelinearisationRound1`], [`RelinearisationRound2`] | 2 | a relinearisation key |
//! | [`GaloisKeyGeneration`] | 1 | a Galois key |
//! | [`PartyKey::deal`], [`ThresholdAggregate`] | 1 | a [`ThresholdKey`], secret, for t of n |
//! | [`Session::deal_secret`], by a dealer | 1 | the same, of a secret that the dealer made |
//! | [`Decryption`] | 1 | the plaintext |
//! | [`KeySwitching`] | 1 | a ciphertext under another collective secret |
//! | [`PublicKeySwitching`] | 1 | a ciphertext under a recipient's public key |
//! | [`Refresh`] | 1 | a ciphertext at the top level |
//!
//! All parties agree on a [`Session`] first. For each protocol they make the same value from the
//! same public inputs (a run), each makes its [`Share`] with it, and whoever has all shares adds
//! them in an [`Aggregate`]. Shares are public, except for those of `deal`. A share names session,
//! protocol and party, and a hash of the run's inputs; what does not belong together is an
//! [`MheError`]. [`proxy`](ReencryptionKey) re-encryption needs no session: one owner of a secret
//! lets a proxy switch its ciphertexts to a recipient.
//!
//! # What is promised
//! Security against *passive* (semi-honest) parties: if all follow the protocols, up to n - 1 of
//! them together, or up to t - 1 with a threshold of t, learn nothing of the others' secrets, nor
//! of messages beyond what is decrypted. Shares of key generation are samples of RLWE. The floods
//! of decryptions, switches and refreshes have the statistical security that their
//! [`Flooding`](crate::rlwe::Flooding) states, for every one of the honest parties by itself
//! (IND-CPA-D for several parties). It rests on the noise estimates, hence on ciphertexts that were
//! computed from honest encryptions, which a [`Transcript`] ties them to.
//!
//! # What ciphertexts state
//! The noise of a ciphertext is what its sender says: a field of the frames of BFV and BGV, and the
//! estimate that a caller gives a ciphertext of CKKS. It never makes a flood narrower than
//!
//! | run | scheme | b of each of the n floods, at least |
//! |---|---|---|
//! | [`Decryption`], [`Refresh`] | BFV, BGV | log2(Q / 8t) - log2 n: as wide as the level allows ([`Params::flood_bits`](crate::exact::Params::flood_bits)) |
//! | [`KeySwitching`], [`PublicKeySwitching`], [`ReencryptionKey::reencrypt`] | BFV, BGV | half of the bits between the noise of a fresh encryption and Q / 4t, which leaves the result a budget; as above if that is too little for a fresh encryption |
//! | [`Refresh`] | CKKS | log2(Q / 4) - log2 n, for masks of values and noise |
//! | all others | CKKS | that of a fresh encryption under the keys of all parties |
//!
//! and can only make it wider, or the run refused. All that is stated is in the hash of the run's
//! inputs, with the width of the floods, so that shares which were made from different statements
//! do not add up. The hash is public: an estimate of CKKS that the parties agree on should follow
//! from the range of the values, not from the values.
//!
//! A statement still decides whether the security that was asked for is reached. Noise that is
//! greater than stated is hidden by as many bits less. Parties that know what was computed state
//! its noise themselves ([`exact::Ciphertext::from_parts`](crate::exact::Ciphertext::from_parts)
//! with the noise of an [`exact::State`](crate::exact::State),
//! [`ckks::Ciphertext::set_noise`](crate::ckks::Ciphertext::set_noise)).
//!
//! # What an active party could do
//! Nothing here proves that a share was made as it should be. A party that deviates can
//! - make keys and results wrong, without being found out: send anything as its share;
//! - choose its share of the public key after it saw those of the others (a rogue key), and so know
//!   the collective secret: its share is its own public key minus all others. Have all parties
//!   commit to their shares, by a hash, before anyone shows one;
//! - choose the session's seed so that the common polynomials are not random: let the seed be a
//!   hash of contributions that were committed to;
//! - have others decrypt what it chose, by encrypting an input as it should not: nothing proves
//!   that an input is an encryption. **A share of a chosen ciphertext is the secret of its party.**
//!   Whoever is not a party cannot: shares are made for the results of a [`Transcript`] alone,
//!   which each party recomputes from inputs that parties say they have encrypted;
//! - make a share of nothing with another party's number: shares are not signed. Use authenticated
//!   channels;
//! - deal shares that fit no polynomial, so that some quorums decrypt wrongly.
//!
//! A share must be made once: whoever sees two shares of one party in the same run learns the
//! difference of their errors, and from many of them the secret.

mod ciphertext;
mod decryption;
mod digest;
mod error;
mod galois;
mod input;
mod key_switching;
mod party;
mod protocol_kind;
mod proxy;
mod public_key;
mod refresh;
mod relinearisation;
mod session;
mod session_id;
mod share;
#[cfg(test)]
mod tests;
mod threshold;
mod transcript;

pub use ciphertext::Encrypted;
pub use decryption::Decryption;
pub use digest::Digest;
pub use error::MheError;
pub use galois::GaloisKeyGeneration;
use input::Input;
pub use key_switching::{KeySwitching, PublicKeySwitching};
pub use party::{KeyShare, PartyKey};
pub use protocol_kind::ProtocolKind;
pub use proxy::{RecipientKey, ReencryptionKey};
pub use public_key::PublicKeyGeneration;
pub use refresh::Refresh;
pub use relinearisation::{EphemeralKey, RelinearisationRound1, RelinearisationRound2, RelinearisationSums};
pub use session::Session;
pub use session_id::SessionId;
pub use share::{Aggregate, Protocol, Share, ShareKind, kinds};
pub use threshold::{SecretShare, ThresholdAggregate, ThresholdKey};
pub use transcript::{Statement, Transcript};

use crate::backend::RingOps;
use crate::error::{Error, Result};
use crate::ring::{Eval, Poly};
use crate::rlwe::RlweParams;

/// Whether parameters have switching keys.
fn check_switching(params: &RlweParams) -> Result<()> {
    if params.digits().is_empty() {
        let found = "parameters without special primes have no key switching";
        return Err(Error::domain("parameters", found, "add special primes"));
    }
    Ok(())
}

/// Adds the words of a public polynomial to a hash.
fn hash_poly<B: RingOps>(hasher: &mut blake3::Hasher, poly: &Poly<Eval, B>) -> Result<()> {
    let words = poly.to_words()?;
    hasher.update(&(words.len() as u64).to_le_bytes());
    let mut bytes = [0; 8 << 10];
    for piece in words.chunks(bytes.len() / 8) {
        for (bytes, word) in bytes.chunks_exact_mut(8).zip(piece) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        hasher.update(&bytes[..8 * piece.len()]);
    }
    Ok(())
}
