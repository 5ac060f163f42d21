//! Collective Galois keys.

use super::session::{Subject, in_session};
use super::share::sealed::Sealed;
use super::{PartyKey, Protocol, ProtocolKind, Session, Share, kinds};
use crate::backend::{Cpu, RingOps};
use crate::error::{Error, Result};
use crate::ring::{Automorphism, Eval, Poly, Ring, SecretPoly, Seed, check_galois};
use crate::rlwe::{SwitchKey, SwitchSource, gadget_body};
use rand::CryptoRng;

/// The collective Galois key for X -> X^g in one round: the bodies -a_j s_i(X^(1/g)) + e_j + P g_j
/// s_i of all parties, for common a_j, sum to those of an ordinary key (PETS 2021, protocol 3).
#[derive(Debug)]
pub struct GaloisKeyGeneration<B: RingOps = Cpu> {
    session: Session,
    ring: Ring<B>,
    g: u64,
    subject: Subject,
}

impl<B: RingOps> GaloisKeyGeneration<B> {
    /// The run of a session for this element, of which there is one.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for a ring of other parameters; [`Error::Argument`] for an element
    /// that is even or not below 2N, and for parameters without special primes.
    pub fn new(session: &Session, ring: &Ring<B>, g: u64) -> Result<Self> {
        if ring.spec() != session.params().ring() {
            return Err(Error::RingMismatch);
        }
        check_galois(g, ring.spec().log_n())?;
        super::check_switching(session.params())?;
        let subject = session.subject(ProtocolKind::GaloisKey, |hasher| {
            hasher.update(&g.to_le_bytes());
        });
        Ok(Self { session: session.clone(), ring: ring.clone(), g, subject })
    }

    /// The Galois element.
    pub fn element(&self) -> u64 {
        self.g
    }

    fn seed(&self) -> Seed {
        self.session.common_seed(ProtocolKind::GaloisKey, &self.subject)
    }

    /// The share of a party. Make it once: the difference of two is that of their errors.
    ///
    /// # Errors
    /// [`MheError::ForeignSession`](super::MheError::ForeignSession); device errors.
    pub fn share(
        &self,
        key: &PartyKey,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Share<kinds::GaloisKey, B>> {
        key.check(&self.session)?;
        let params = self.session.params();
        let secret = key.for_keys(&self.ring)?;
        let inverse = Automorphism::new(self.g, params.ring().log_n()).inverse_element();
        let image = SecretPoly::new(secret.get().automorphism(inverse)?);
        let (seed, errors) = (self.seed(), Seed::random(rng));
        let body = |j: usize| {
            let a = Poly::uniform(&self.ring, params.key_span(), 1, &seed, j as u32)?;
            gadget_body(params, j, &a, &secret, &image, &errors)
        };
        let bodies = (0..params.digits().len()).map(body).collect::<Result<_>>()?;
        Ok(Share::new(self, key.party(), bodies))
    }
}

impl<B: RingOps> Sealed for GaloisKeyGeneration<B> {}

impl<B: RingOps> Protocol for GaloisKeyGeneration<B> {
    type Kind = kinds::GaloisKey;
    type Backend = B;
    type Output = SwitchKey<B>;

    in_session! {}

    fn finished(&self, sum: Vec<Poly<Eval, B>>) -> Result<SwitchKey<B>> {
        let key = SwitchKey::from_bodies(self.session.params(), &self.ring, self.seed(), &sum)?;
        Ok(key.leading(SwitchSource::Image(self.g), self.session.key_set()))
    }
}
