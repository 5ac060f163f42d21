//! The agreement between the parties that precedes their keys.

use super::{MheError, ProtocolKind, SessionId};
use crate::error::{Error, Result};
use crate::key_set::KeySetId;
use crate::ring::Seed;
use crate::rlwe::{KeyParams as _, RlweParams};
use std::sync::Arc;

/// The accessors that the runs of protocols that make keys, which have a session, a subject and a
/// ring, share.
macro_rules! in_session {
    () => {
        fn session(&self) -> &crate::mhe::Session {
            &self.session
        }

        fn subject(&self) -> &[u8; 32] {
            &self.subject
        }

        fn ring(&self) -> &Ring<B> {
            &self.ring
        }
    };
}
pub(super) use in_session;

/// 32 bytes that say what a share concerns: a hash.
pub(super) type Subject = [u8; 32];

const SESSION: &str = "he 2026-11 session of several parties: identity, version 1";
const KEY_SET: &str = "he 2026-11 session of several parties: key set, version 1";
const COMMON: &str = "he 2026-11 session of several parties: common random polynomials, version 1";
const SUBJECT: &str = "he 2026-11 session of several parties: subject of a share, version 1";

#[derive(Debug)]
struct Inner {
    params: RlweParams,
    parties: Vec<u32>,
    threshold: usize,
    seed: [u8; 32],
    id: SessionId,
    key_set: KeySetId,
}

/// The agreement between the parties that precedes their keys, as a cheap handle: the parameters,
/// the numbers of the parties, how many of them it takes to decrypt, and a public seed.
///
/// All common random polynomials come from the seed, apart for each protocol, and every message
/// carries the identity of the session, a hash of all of this. Everything under the collective key
/// has the session's [`key_set`](Self::key_set).
///
/// The seed must be fresh: two sessions with one seed, the same parties and the same secrets have
/// the same common polynomials, and each party then gives away the difference of its errors.
#[derive(Clone, Debug)]
pub struct Session(Arc<Inner>);

impl PartialEq for Session {
    fn eq(&self, other: &Self) -> bool {
        self.0.id == other.0.id
    }
}

impl Eq for Session {}

impl Session {
    /// A session of these parties, of which `threshold` can decrypt together: all of them, or fewer
    /// once they have [dealt](super::PartyKey::deal) their secrets. The numbers of parties are the
    /// points of Shamir's polynomials; their order does not matter.
    ///
    /// # Errors
    /// [`Error::Argument`] for fewer than two parties, numbers that are repeated, 0 or not below
    /// every prime of the parameters, and a threshold that is 0 or above the number of parties.
    pub fn new(
        params: &RlweParams,
        parties: impl IntoIterator<Item = u32>,
        threshold: usize,
        seed: [u8; 32],
    ) -> Result<Self> {
        let mut parties: Vec<u32> = parties.into_iter().collect();
        parties.sort_unstable();
        let least = params.ring().primes().min().unwrap_or(0).min(1 << 16);
        if parties.len() < 2 {
            let found = format!("{} given", parties.len());
            return Err(Error::domain("parties", found, "a session has at least two"));
        }
        if let Some(pair) = parties.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::domain("parties", format!("{} twice", pair[0]), "give each its own number"));
        }
        if let Some(party) = parties.iter().find(|&&party| party == 0 || u64::from(party) >= least) {
            let hint = format!("1 to {} are possible", least - 1);
            return Err(Error::domain("parties", format!("number {party}"), hint));
        }
        if !(1..=parties.len()).contains(&threshold) {
            let hint = format!("1 to {} are possible", parties.len());
            return Err(Error::domain("threshold", format!("{threshold} parties"), hint));
        }
        let mut hasher = blake3::Hasher::new_derive_key(SESSION);
        hasher.update(&params.fingerprint().0);
        hasher.update(&(threshold as u32).to_le_bytes());
        hash_parties(&mut hasher, &parties);
        hasher.update(&seed);
        let id = SessionId(*hasher.finalize().as_bytes());
        let mut key_set = [0; KeySetId::LEN];
        key_set.copy_from_slice(&blake3::derive_key(KEY_SET, &id.0)[..KeySetId::LEN]);
        let key_set = KeySetId::from_bytes(key_set);
        Ok(Self(Arc::new(Inner { params: params.clone(), parties, threshold, seed, id, key_set })))
    }

    /// The parameters.
    pub fn params(&self) -> &RlweParams {
        &self.0.params
    }

    /// The numbers of the parties, in order.
    pub fn parties(&self) -> &[u32] {
        &self.0.parties
    }

    /// The number of parties that it takes to decrypt.
    pub fn threshold(&self) -> usize {
        self.0.threshold
    }

    /// The public seed.
    pub fn seed(&self) -> &[u8; 32] {
        &self.0.seed
    }

    /// The identity.
    pub fn id(&self) -> SessionId {
        self.0.id
    }

    /// The key set of the collective keys, and of what is encrypted under them.
    pub fn key_set(&self) -> KeySetId {
        self.0.key_set
    }

    /// Whether something belongs to this session.
    pub(super) fn check(&self, what: &'static str, found: SessionId) -> Result<()> {
        let expected = self.id();
        if found == expected {
            Ok(())
        } else {
            Err(MheError::ForeignSession { what, found, expected }.into())
        }
    }

    /// Whether parameters are those of the session.
    pub(super) fn check_params(&self, params: &RlweParams, what: &'static str) -> Result<()> {
        self.params().check_same(params, what)
    }

    /// Whether a party takes part.
    pub(super) fn check_party(&self, party: u32) -> Result<()> {
        check_party(party, self.parties())
    }

    /// A quorum in order, after checking that it can decrypt.
    ///
    /// # Errors
    /// [`MheError::Doubled`], [`MheError::Outsider`], [`MheError::SmallQuorum`].
    pub fn quorum(&self, parties: &[u32]) -> Result<Vec<u32>> {
        let mut quorum = parties.to_vec();
        quorum.sort_unstable();
        if let Some(pair) = quorum.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(MheError::Doubled { party: pair[0] }.into());
        }
        quorum.iter().try_for_each(|&party| self.check_party(party))?;
        let (found, threshold) = (quorum.len(), self.threshold());
        if found < threshold {
            return Err(MheError::SmallQuorum { found, threshold }.into());
        }
        Ok(quorum)
    }

    /// The seed of the common random polynomials of a protocol.
    pub(super) fn common_seed(&self, protocol: ProtocolKind, subject: &Subject) -> Seed {
        let mut hasher = blake3::Hasher::new_derive_key(COMMON);
        hasher.update(&self.id().0).update(&[protocol as u8]).update(subject);
        Seed(*hasher.finalize().as_bytes())
    }

    /// The subject of a share.
    pub(super) fn subject(&self, protocol: ProtocolKind, hash: impl FnOnce(&mut blake3::Hasher)) -> Subject {
        let mut hasher = blake3::Hasher::new_derive_key(SUBJECT);
        hasher.update(&self.id().0).update(&[protocol as u8]);
        hash(&mut hasher);
        *hasher.finalize().as_bytes()
    }
}

/// Whether a party is one of these.
pub(super) fn check_party(party: u32, parties: &[u32]) -> Result<()> {
    if parties.contains(&party) {
        Ok(())
    } else {
        Err(MheError::Outsider { party, parties: parties.to_vec() }.into())
    }
}

/// Adds the numbers of parties to a hash.
pub(super) fn hash_parties(hasher: &mut blake3::Hasher, parties: &[u32]) {
    hasher.update(&(parties.len() as u32).to_le_bytes());
    parties.iter().for_each(|party| {
        hasher.update(&party.to_le_bytes());
    });
}
