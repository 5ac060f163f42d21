//! Shamir's secret sharing in the ring: any `threshold` parties decrypt.

use super::session::check_party;
use super::{KeyShare, MheError, PartyKey, Session};
use crate::arith::Modulus;
use crate::backend::{Cpu, RingOps};
use crate::error::{Error, Result};
use crate::key_set::common;
use crate::ring::{Eval, Poly, Ring, SecretPoly, Seed};
use crate::rlwe::SecretKey;
use rand::CryptoRng;
use std::collections::BTreeSet;

/// A **secret** message of one party to another: the value of its random polynomial at the other's
/// point. It travels confidentially and authentically, to one party alone. It is wiped when
/// dropped, and never printed.
pub struct SecretShare<B: RingOps = Cpu> {
    pub(crate) session: Session,
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) value: SecretPoly<Eval, B>,
}

impl<B: RingOps> std::fmt::Debug for SecretShare<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SecretShare {{ from {} to {}, .. }}", self.from, self.to)
    }
}

impl<B: RingOps> SecretShare<B> {
    /// The party that made it.
    pub fn from(&self) -> u32 {
        self.from
    }

    /// The party that it is for.
    pub fn to(&self) -> u32 {
        self.to
    }
}

/// A power of a party's point modulo each prime.
fn residues<'a>(moduli: impl IntoIterator<Item = &'a Modulus>, of: impl Fn(&Modulus) -> u64) -> Vec<u64> {
    moduli.into_iter().map(of).collect()
}

impl PartyKey {
    /// Deals the secret to all parties, this one included: f(x_j) for each party j, where the point
    /// x_j is its number and f(x) = s_i + r_1 x + ... + r_(t-1) x^(t-1), with fresh uniform r_k
    /// over Q P and t the threshold (Mouchet, Bertrand, Hubaux, *An Efficient Threshold
    /// Access-Structure for RLWE-Based Multiparty Homomorphic Encryption*, 2022). Fewer than t
    /// values are uniform, whatever the secret is. Points are distinct modulo every prime, so that
    /// every t of them determine f.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for a ring of other parameters; device errors.
    pub fn deal<B: RingOps>(
        &self,
        ring: &Ring<B>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Vec<SecretShare<B>>> {
        let session = self.session();
        let share = |(&to, value)| SecretShare { session: session.clone(), from: self.party(), to, value };
        let points = points(session, self.for_keys(ring)?, rng)?;
        Ok(session.parties().iter().zip(points).map(share).collect())
    }
}

/// The values at the parties' points of a random polynomial with this constant term.
fn points<B: RingOps>(
    session: &Session,
    constant: SecretPoly<Eval, B>,
    rng: &mut (impl CryptoRng + ?Sized),
) -> Result<Vec<SecretPoly<Eval, B>>> {
    let (ring, span) = (constant.get().ring().clone(), session.params().key_span());
    let (seed, mut coefficients) = (Seed::random(rng), vec![constant]);
    for k in 1..session.threshold() {
        coefficients.push(SecretPoly::new(Poly::uniform(&ring, span, 1, &seed, k as u32)?));
    }
    let value = |&to: &u32| {
        let point = residues(ring.spec().moduli_of(span), |q| q.reduce(to.into()));
        // Horner's rule, from the highest coefficient on.
        let mut value = Poly::zeros(&ring, span, 1)?;
        for coefficient in coefficients.iter().rev() {
            value.scale_assign(&point)?;
            value.add_assign(coefficient.get())?;
        }
        Ok(SecretPoly::new(value))
    };
    session.parties().iter().map(value).collect()
}

impl Session {
    /// Deals a secret that a dealer has made, to be the session's: the key of each party, in their
    /// order, of which any `threshold` decrypt. It is for keys that no protocol makes, those of
    /// bootstrapping and of [scheme switching](crate::switching).
    ///
    /// **The dealer decrypts alone** until it forgets the secret, and can deal values that fit no
    /// polynomial. Parties that trust nobody so much make their keys together
    /// ([`PartyKey::generate`]). Each key travels confidentially and authentically, to one party
    /// alone.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] for a secret of other parameters; [`Error::KeyMismatch`] unless it
    /// was given the session's key set ([`SecretKey::set_key_set`]), which all that is made with it
    /// then has; [`Error::RingMismatch`] for a ring of other parameters; device errors.
    pub fn deal_secret<B: RingOps>(
        &self,
        secret: &SecretKey,
        ring: &Ring<B>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Vec<ThresholdKey<B>>> {
        self.check_params(secret.params(), "secret key")?;
        common("secret key", Some(secret.key_set()), Some(self.key_set()))?;
        let points = points(self, secret.on(ring, self.params().key_span())?, rng)?;
        let key = |(&party, value)| ThresholdKey { session: self.clone(), party, value };
        Ok(self.parties().iter().zip(points).map(key).collect())
    }
}

/// The sum of the values that all parties dealt to one: its point of the polynomial whose constant
/// term is the collective secret, over Q P. It is wiped when dropped, and never printed.
pub struct ThresholdKey<B: RingOps = Cpu> {
    pub(crate) session: Session,
    pub(crate) party: u32,
    pub(crate) value: SecretPoly<Eval, B>,
}

impl<B: RingOps> std::fmt::Debug for ThresholdKey<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ThresholdKey {{ party {}, .. }}", self.party)
    }
}

impl<B: RingOps> ThresholdKey<B> {
    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The party.
    pub fn party(&self) -> u32 {
        self.party
    }

    /// The summand of the collective secret in a quorum: the value times the Lagrange coefficient
    /// prod_k x_k / (x_k - x_j) over the other parties k of the quorum.
    ///
    /// # Errors
    /// [`MheError::SmallQuorum`], [`MheError::Doubled`], [`MheError::Outsider`], the last also for
    /// a quorum without this party; device errors.
    pub fn share(&self, quorum: &[u32]) -> Result<KeyShare<B>> {
        let quorum = self.session.quorum(quorum)?;
        check_party(self.party, &quorum)?;
        let mut secret = self.value.get().chain_part()?;
        let others = || quorum.iter().copied().filter(|&party| party != self.party);
        let lagrange = residues(secret.ring().spec().moduli_of(secret.span()), |q| {
            let own = q.reduce(self.party.into());
            others().fold(1, |product, party| {
                let point = q.reduce(party.into());
                q.mul(product, q.mul(point, q.inv(q.sub(point, own))))
            })
        });
        let scaled = secret.scale_assign(&lagrange);
        let secret = SecretPoly::new(secret);
        scaled?;
        Ok(KeyShare { session: self.session.clone(), party: self.party, quorum, secret })
    }
}

/// The sum of the values that were dealt to one party.
pub struct ThresholdAggregate<B: RingOps = Cpu> {
    session: Session,
    party: u32,
    heard: BTreeSet<u32>,
    sum: Option<SecretPoly<Eval, B>>,
}

impl<B: RingOps> std::fmt::Debug for ThresholdAggregate<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ThresholdAggregate {{ party {}, from {:?}, .. }}", self.party, self.heard)
    }
}

impl<B: RingOps> ThresholdAggregate<B> {
    /// Nothing yet, for this party.
    ///
    /// # Errors
    /// [`MheError::Outsider`].
    pub fn new(session: &Session, party: u32) -> Result<Self> {
        session.check_party(party)?;
        Ok(Self { session: session.clone(), party, heard: BTreeSet::new(), sum: None })
    }

    /// Adds what another party, or this one, dealt to this one.
    ///
    /// # Errors
    /// [`MheError::ForeignSession`], [`MheError::Outsider`], [`MheError::WrongRecipient`],
    /// [`MheError::Doubled`]; [`Error::RingMismatch`]; device errors.
    pub fn add(&mut self, share: SecretShare<B>) -> Result<()> {
        self.session.check("secret share", share.session.id())?;
        self.session.check_party(share.from)?;
        if share.to != self.party {
            return Err(MheError::WrongRecipient { found: share.to, expected: self.party }.into());
        }
        if self.heard.contains(&share.from) {
            return Err(MheError::Doubled { party: share.from }.into());
        }
        self.sum = Some(match self.sum.take() {
            None => share.value,
            Some(sum) => {
                let mut poly = sum.get().duplicate()?;
                let added = poly.add_assign(share.value.get());
                let total = SecretPoly::new(poly);
                // The old sum stays if it cannot be added to.
                if let Err(error) = added {
                    self.sum = Some(sum);
                    return Err(error);
                }
                total
            }
        });
        self.heard.insert(share.from);
        Ok(())
    }

    /// The party's key, once all parties have dealt.
    ///
    /// # Errors
    /// [`MheError::Missing`].
    pub fn finish(self) -> Result<ThresholdKey<B>> {
        let missing = |party: &u32| !self.heard.contains(party);
        let parties: Vec<u32> = self.session.parties().iter().copied().filter(missing).collect();
        match self.sum {
            Some(value) if parties.is_empty() => {
                Ok(ThresholdKey { session: self.session, party: self.party, value })
            }
            _ => Err(Error::from(MheError::Missing { parties })),
        }
    }
}
