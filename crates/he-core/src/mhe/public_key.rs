//! The collective public key.

use super::session::{Subject, in_session};
use super::share::sealed::Sealed;
use super::{PartyKey, Protocol, ProtocolKind, Session, Share, kinds};
use crate::backend::{Cpu, RingOps};
use crate::error::{Error, Result};
use crate::ring::{Eval, Poly, Ring, Seed, Span};
use crate::rlwe::PublicKey;
use rand::CryptoRng;

/// The collective public key in one round: p_i = -a s_i + e_i over the chain, for a common a, sums
/// to (b, a) with b = -a s + e, an ordinary [`PublicKey`] (PETS 2021, protocol 1).
#[derive(Debug)]
pub struct PublicKeyGeneration<B: RingOps = Cpu> {
    session: Session,
    ring: Ring<B>,
    subject: Subject,
}

impl<B: RingOps> PublicKeyGeneration<B> {
    /// The run of a session, of which there is one.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for a ring of other parameters.
    pub fn new(session: &Session, ring: &Ring<B>) -> Result<Self> {
        if ring.spec() != session.params().ring() {
            return Err(Error::RingMismatch);
        }
        let subject = session.subject(ProtocolKind::PublicKey, |_| ());
        Ok(Self { session: session.clone(), ring: ring.clone(), subject })
    }

    fn seed(&self) -> Seed {
        self.session.common_seed(ProtocolKind::PublicKey, &self.subject)
    }

    /// The share of a party. Make it once: the difference of two is that of their errors.
    ///
    /// # Errors
    /// [`MheError::ForeignSession`](super::MheError::ForeignSession); device errors.
    pub fn share(
        &self,
        key: &PartyKey,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Share<kinds::PublicKey, B>> {
        key.check(&self.session)?;
        let span = Span::chain(self.session.params().key_span().q);
        let secret = key.secret().on(&self.ring, span)?;
        let masked = secret.times_uniform(span, 1, &self.seed(), 0)?;
        let mut p = Poly::error(&self.ring, span, 1, &Seed::random(rng), 0)?.into_eval()?;
        p.sub_assign(masked.get())?;
        Ok(Share::new(self, key.party(), vec![p]))
    }
}

impl<B: RingOps> Sealed for PublicKeyGeneration<B> {}

impl<B: RingOps> Protocol for PublicKeyGeneration<B> {
    type Kind = kinds::PublicKey;
    type Backend = B;
    type Output = PublicKey<B>;

    in_session! {}

    fn finished(&self, sum: Vec<Poly<Eval, B>>) -> Result<PublicKey<B>> {
        let b = sum.into_iter().next().ok_or(Error::RingMismatch)?;
        let mut key = PublicKey::from_body(self.session.params(), self.seed(), b)?;
        key.set_key_set(Some(self.session.key_set()));
        Ok(key)
    }
}
