//! The secrets of one party.

use super::Session;
use crate::backend::{Cpu, RingOps};
use crate::error::Result;
use crate::ring::{Eval, Ring, SecretPoly, Span};
use crate::rlwe::{KeyParams as _, SecretKey};
use rand::CryptoRng;

/// The secret of one party, which it made by itself and which never leaves it: s_i, uniform
/// ternary. The collective secret s is the sum of all, which nobody knows. It is wiped when
/// dropped, and never printed.
pub struct PartyKey {
    session: Session,
    party: u32,
    secret: SecretKey,
}

impl std::fmt::Debug for PartyKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PartyKey {{ party {}, .. }}", self.party)
    }
}

impl PartyKey {
    /// A fresh secret of a party. Constant time.
    ///
    /// # Errors
    /// [`MheError::Outsider`](super::MheError::Outsider) for a party that the session does not
    /// have.
    pub fn generate(session: &Session, party: u32, rng: &mut (impl CryptoRng + ?Sized)) -> Result<Self> {
        Self::from_secret(session, party, SecretKey::generate(session.params(), rng))
    }

    /// A party's secret that exists already.
    ///
    /// # Errors
    /// The same as for [`generate`](Self::generate);
    /// [`Error::ParamsMismatch`](crate::Error::ParamsMismatch).
    pub fn from_secret(session: &Session, party: u32, secret: SecretKey) -> Result<Self> {
        session.check_party(party)?;
        session.params().check_same(secret.params(), "secret key")?;
        Ok(Self { session: session.clone(), party, secret })
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The party.
    pub fn party(&self) -> u32 {
        self.party
    }

    /// The secret.
    pub fn secret(&self) -> &SecretKey {
        &self.secret
    }

    /// The secret as a summand of the collective one, for what all parties do together.
    ///
    /// # Errors
    /// [`Error::RingMismatch`](crate::Error::RingMismatch) for a ring of other parameters; device
    /// errors.
    pub fn share<B: RingOps>(&self, ring: &Ring<B>) -> Result<KeyShare<B>> {
        let secret = self.secret.on(ring, Span::chain(ring.spec().q().len()))?;
        let (session, quorum) = (self.session.clone(), self.session.parties().to_vec());
        Ok(KeyShare { session, party: self.party, quorum, secret })
    }

    /// The secret over all primes, for making keys.
    pub(super) fn for_keys<B: RingOps>(&self, ring: &Ring<B>) -> Result<SecretPoly<Eval, B>> {
        self.secret.on(ring, self.session.params().key_span())
    }

    /// Whether it belongs to a session.
    pub(super) fn check(&self, session: &Session) -> Result<()> {
        session.check("secret of the party", self.session.id())
    }
}

/// A party's summand of the collective secret, over the chain, among the parties of a quorum: its
/// own secret if all take part, its weighted Shamir share otherwise. The summands of the quorum add
/// up to the collective secret. It is wiped when dropped, and never printed.
pub struct KeyShare<B: RingOps = Cpu> {
    pub(super) session: Session,
    pub(super) party: u32,
    pub(super) quorum: Vec<u32>,
    pub(super) secret: SecretPoly<Eval, B>,
}

impl<B: RingOps> std::fmt::Debug for KeyShare<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeyShare {{ party {} of {:?}, .. }}", self.party, self.quorum)
    }
}

impl<B: RingOps> KeyShare<B> {
    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The party.
    pub fn party(&self) -> u32 {
        self.party
    }

    /// The parties that take part, in order.
    pub fn quorum(&self) -> &[u32] {
        &self.quorum
    }
}
