//! The collective relinearisation key, in two rounds.

use super::session::{Subject, in_session};
use super::share::sealed::Sealed;
use super::{PartyKey, Protocol, ProtocolKind, Session, SessionId, Share, hash_poly, kinds};
use crate::backend::{Cpu, RingOps};
use crate::error::{Error, Result};
use crate::ring::{Eval, Poly, Ring, Seed};
use crate::rlwe::{KeyParams as _, SecretKey, SwitchKey, SwitchSource, gadget_body};
use rand::CryptoRng;

/// The ephemeral secret u_i of a party, which both rounds need. It is wiped when dropped, and never
/// printed; after the second round nobody needs it.
pub struct EphemeralKey {
    pub(crate) session: SessionId,
    pub(crate) party: u32,
    pub(crate) secret: SecretKey,
}

impl std::fmt::Debug for EphemeralKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EphemeralKey {{ party {}, .. }}", self.party)
    }
}

impl EphemeralKey {
    /// The party.
    pub fn party(&self) -> u32 {
        self.party
    }

    fn check(&self, session: &Session, key: &PartyKey) -> Result<()> {
        session.check("ephemeral secret", self.session)?;
        session.params().check_same(self.secret.params(), "ephemeral secret")?;
        if self.party != key.party() {
            let why = format!("it is of party {}, and the secret of party {}", self.party, key.party());
            return Err(Error::argument("ephemeral secret", why));
        }
        Ok(())
    }
}

/// The first round of the collective relinearisation key: for common a_j, h0 = -a_j u_i + e_j +
/// P g_j s_i and h1 = a_j s_i + e'_j (PETS 2021, protocol 2). Their sums are the public input of
/// the [second round](RelinearisationRound2).
#[derive(Debug)]
pub struct RelinearisationRound1<B: RingOps = Cpu> {
    session: Session,
    ring: Ring<B>,
    subject: Subject,
}

/// The sums of the first round, h0 and h1 by digit, which all parties have before the second.
#[derive(Debug)]
pub struct RelinearisationSums<B: RingOps = Cpu> {
    h: [Vec<Poly<Eval, B>>; 2],
}

impl<B: RingOps> RelinearisationRound1<B> {
    /// The run of a session, of which there is one.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for a ring of other parameters; [`Error::Argument`] for parameters
    /// without special primes.
    pub fn new(session: &Session, ring: &Ring<B>) -> Result<Self> {
        if ring.spec() != session.params().ring() {
            return Err(Error::RingMismatch);
        }
        super::check_switching(session.params())?;
        let subject = session.subject(ProtocolKind::Relinearisation1, |_| ());
        Ok(Self { session: session.clone(), ring: ring.clone(), subject })
    }

    /// The share of a party, and the secret that it keeps for the second round. Make it once.
    ///
    /// # Errors
    /// [`MheError::ForeignSession`](super::MheError::ForeignSession); device errors.
    pub fn share(
        &self,
        key: &PartyKey,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<(Share<kinds::Relinearisation1, B>, EphemeralKey)> {
        key.check(&self.session)?;
        let (params, party) = (self.session.params(), key.party());
        let (ring, span) = (&self.ring, params.key_span());
        let ephemeral = SecretKey::generate(params, rng);
        let (s, u) = (key.for_keys(ring)?, ephemeral.on(ring, span)?);
        let seed = self.session.common_seed(ProtocolKind::Relinearisation1, &self.subject);
        let errors = Seed::random(rng);
        let others = Seed::random(rng);
        let (mut polys, mut second) = (Vec::new(), Vec::new());
        for j in 0..params.digits().len() {
            let a = Poly::uniform(ring, span, 1, &seed, j as u32)?;
            polys.push(gadget_body(params, j, &a, &s, &u, &errors)?);
            let mut h1 = Poly::error(ring, span, 1, &others, j as u32)?.into_eval()?;
            h1.mul_add_assign(&a, s.get())?;
            second.push(h1);
        }
        polys.extend(second);
        let ephemeral = EphemeralKey { session: self.session.id(), party, secret: ephemeral };
        Ok((Share::new(self, party, polys), ephemeral))
    }
}

impl<B: RingOps> Sealed for RelinearisationRound1<B> {}

impl<B: RingOps> Protocol for RelinearisationRound1<B> {
    type Kind = kinds::Relinearisation1;
    type Backend = B;
    type Output = RelinearisationSums<B>;

    in_session! {}

    fn finished(&self, mut sum: Vec<Poly<Eval, B>>) -> Result<RelinearisationSums<B>> {
        let second = sum.split_off(sum.len() / 2);
        Ok(RelinearisationSums { h: [sum, second] })
    }
}

/// The second round of the collective relinearisation key: r_j = s_i h0_j + u_i h1_j - a'_j s_i +
/// e_j for other common a'_j, from the sums h of the first round. All r_j sum to the bodies of an
/// ordinary key, b_j = -a'_j s + P g_j s^2 + (s e0_j + u e1_j + e_j).
///
/// The protocol of 2021 publishes s_i h0 and (u_i - s_i) h1, and leaves the key (sum, h1), whose
/// second part comes from no seed. The switch from h1 to a'_j is part of the same sum here, so that
/// the message and the key have half the size. A share remains a sample of module LWE under the
/// secrets (s_i, u_i) with the public pair (h0_j - a'_j, h1_j), of which a'_j is independent of
/// everything before. The variance of the key's error is n 10.5 (1 + n 4N/3) for n parties, as it
/// is there, against 10.5 in a key that one party made.
#[derive(Debug)]
pub struct RelinearisationRound2<'a, B: RingOps = Cpu> {
    session: Session,
    ring: Ring<B>,
    sums: &'a RelinearisationSums<B>,
    subject: Subject,
}

impl<'a, B: RingOps> RelinearisationRound2<'a, B> {
    /// The run of a session, of which there is one, after the first round.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for a ring of other parameters, or sums of another ring; device
    /// errors.
    pub fn new(session: &Session, ring: &Ring<B>, sums: &'a RelinearisationSums<B>) -> Result<Self> {
        let fits = |poly: &Poly<Eval, B>| poly.ring().same(ring);
        if ring.spec() != session.params().ring() || !sums.h.iter().flatten().all(fits) {
            return Err(Error::RingMismatch);
        }
        let mut hashed = Ok(());
        let subject = session.subject(ProtocolKind::Relinearisation2, |hasher| {
            hashed = sums.h.iter().flatten().try_for_each(|poly| hash_poly(hasher, poly));
        });
        hashed?;
        Ok(Self { session: session.clone(), ring: ring.clone(), sums, subject })
    }

    /// Common to all parties whatever the first round was.
    fn seed(&self) -> Seed {
        self.session.common_seed(ProtocolKind::Relinearisation2, &self.subject)
    }

    /// The share of a party, whose ephemeral secret is then wiped. Make it once.
    ///
    /// # Errors
    /// [`MheError::ForeignSession`](super::MheError::ForeignSession); [`Error::Argument`] for the
    /// ephemeral secret of another party; device errors.
    pub fn share(
        &self,
        key: &PartyKey,
        ephemeral: EphemeralKey,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Share<kinds::Relinearisation2, B>> {
        key.check(&self.session)?;
        ephemeral.check(&self.session, key)?;
        let params = self.session.params();
        let (ring, span) = (&self.ring, params.key_span());
        let (s, u) = (key.for_keys(ring)?, ephemeral.secret.on(ring, span)?);
        let (seed, errors) = (self.seed(), Seed::random(rng));
        let [h0, h1] = &self.sums.h;
        let mut polys = Vec::new();
        for (j, (h0, h1)) in h0.iter().zip(h1).enumerate() {
            let mut r = Poly::error(ring, span, 1, &errors, j as u32)?.into_eval()?;
            r.mul_add_assign(h0, s.get())?;
            r.mul_add_assign(h1, u.get())?;
            r.sub_assign(s.times_uniform(span, 1, &seed, j as u32)?.get())?;
            polys.push(r);
        }
        Ok(Share::new(self, key.party(), polys))
    }
}

impl<B: RingOps> Sealed for RelinearisationRound2<'_, B> {}

impl<B: RingOps> Protocol for RelinearisationRound2<'_, B> {
    type Kind = kinds::Relinearisation2;
    type Backend = B;
    type Output = SwitchKey<B>;

    in_session! {}

    fn finished(&self, sum: Vec<Poly<Eval, B>>) -> Result<SwitchKey<B>> {
        let key = SwitchKey::from_bodies(self.session.params(), &self.ring, self.seed(), &sum)?;
        Ok(key.leading(SwitchSource::Square, self.session.key_set()))
    }
}
