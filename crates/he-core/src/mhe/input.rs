//! The public inputs of every protocol on a ciphertext.

use super::session::{Subject, hash_parties};
use super::{Encrypted, KeyShare, ProtocolKind, Session, Statement, Transcript};
use crate::error::{Error, Result};
use crate::key_set::common;
use crate::publisher::Publisher;
use crate::ring::{Eval, Poly, Span};
use crate::rlwe::{Flooded, Flooding, Floods, flood_poly};
use rand::CryptoRng;

/// The accessors that the runs of protocols on a ciphertext, which have an [`Input`] and a subject,
/// share.
macro_rules! on_input {
    () => {
        fn session(&self) -> &crate::mhe::Session {
            self.input.transcript.session()
        }

        fn subject(&self) -> &[u8; 32] {
            &self.subject
        }

        fn parties(&self) -> &[u32] {
            &self.input.quorum
        }

        fn ring(&self) -> &crate::ring::Ring<C::Backend> {
            self.input.ct.rlwe_pair().ring()
        }

        fn layout(&self) -> Vec<(crate::ring::Span, usize)> {
            self.input.layout(<Self::Kind as crate::mhe::ShareKind>::KIND)
        }
    };
}
pub(super) use on_input;

/// A ciphertext of a session, who takes part, and how its noise is hidden.
#[derive(Debug)]
pub(super) struct Input<'a, C: Encrypted> {
    pub transcript: Transcript,
    pub params: &'a C::Params,
    pub ct: &'a C,
    pub quorum: Vec<u32>,
    pub flooding: Flooding,
    /// The floods of all parties that take part.
    pub floods: Floods,
    /// The b of each party's flood.
    pub bits: u32,
}

impl<'a, C: Encrypted> Input<'a, C> {
    /// Makes the input of a run in which the phase of the ciphertext becomes a plaintext, or that
    /// of another ciphertext.
    pub fn new(
        transcript: &Transcript,
        params: &'a C::Params,
        ct: &'a C,
        quorum: &[u32],
        flooding: Flooding,
        becomes: Flooded,
    ) -> Result<Self> {
        let session = transcript.session();
        let quorum = session.quorum(quorum)?;
        session.check_params(C::rlwe(params), "ciphertext")?;
        ct.check_params(params)?;
        common("ciphertext", ct.rlwe_pair().key_set, Some(session.key_set()))?;
        transcript.check_result(ct)?;
        // Keys are those of all parties, whoever of them takes part.
        let floods = Floods { count: quorum.len(), parties: session.parties().len() };
        let bits = ct.flood(params, flooding, floods, becomes)?;
        Ok(Self { transcript: transcript.clone(), params, ct, quorum, flooding, floods, bits })
    }

    pub fn session(&self) -> &Session {
        self.transcript.session()
    }

    /// A hash of all of it, which includes the noise that the ciphertext states and the width of
    /// the floods that follow from it, and of what a protocol adds. Shares that were made from
    /// different statements do not fit each other.
    pub fn subject(
        &self,
        protocol: ProtocolKind,
        more: impl FnOnce(&mut blake3::Hasher) -> Result<()>,
    ) -> Result<Subject> {
        let mut hashed = Ok(());
        let subject = self.session().subject(protocol, |hasher| {
            hash_parties(hasher, &self.quorum);
            let (kind, numbers) = match self.flooding {
                Flooding::Statistical { security_bits, decryptions } => {
                    (0, [security_bits.into(), decryptions])
                }
                Flooding::Bits(bits) => (1, [bits.into(), 0]),
            };
            hasher.update(&[kind]);
            numbers.iter().for_each(|number: &u64| {
                hasher.update(&number.to_le_bytes());
            });
            if kind == 0 {
                hasher.update(&self.bits.to_le_bytes());
            }
            hashed = self.ct.hash(hasher, self.flooding).and_then(|()| more(hasher));
            self.transcript.hash(hasher);
        });
        hashed.map(|()| subject)
    }

    /// Whether a secret is one of this session and quorum, and on the ciphertext's ring, and its
    /// party knows what the ciphertext is.
    pub fn check(&self, key: &KeyShare<C::Backend>, statements: &[Statement]) -> Result<()> {
        self.session().check("secret of the party", key.session.id())?;
        self.transcript.check_statements(key.party, statements)?;
        if key.quorum != self.quorum {
            let why = format!("it is for the quorum {:?} and not for {:?}", key.quorum, self.quorum);
            return Err(Error::argument("secret of the party", why));
        }
        let ring = self.ct.rlwe_pair().ring();
        if key.secret.get().ring().same(ring) { Ok(()) } else { Err(Error::RingMismatch) }
    }

    /// Counts each entry of the batch.
    pub fn count(&self, publisher: &mut Publisher) -> Result<()> {
        if matches!(self.flooding, Flooding::Statistical { .. }) && publisher.flooding() != self.flooding {
            let found = format!("{:?}, and the parties agreed on {:?}", publisher.flooding(), self.flooding);
            return Err(Error::domain("publisher", found, "use one of the security that was agreed on"));
        }
        publisher.take(self.ct.rlwe_pair().batch())
    }

    /// s c1 and a flood.
    pub fn flooded(
        &self,
        secret: &Poly<Eval, C::Backend>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Poly<Eval, C::Backend>> {
        let [_, c1] = self.ct.rlwe_pair().parts();
        let flood = flood_poly(c1.ring(), c1.span(), c1.batch(), self.bits, rng)?;
        let mut h = c1.duplicate()?;
        h.mul_assign(secret)?;
        h.add_assign(flood.get())?;
        Ok(h)
    }

    /// c0 and the sum of the parties' h.
    pub fn phase(&self, sum: Vec<Poly<Eval, C::Backend>>) -> Result<Poly<Eval, C::Backend>> {
        let mut phase = sum.into_iter().next().ok_or(Error::RingMismatch)?;
        let [c0, _] = self.ct.rlwe_pair().parts();
        phase.add_assign(c0)?;
        Ok(phase)
    }

    /// Primes and batch of the polynomials of a share.
    pub fn layout(&self, protocol: ProtocolKind) -> Vec<(Span, usize)> {
        let pair = self.ct.rlwe_pair();
        protocol.layout(C::rlwe(self.params), pair.chain_limbs(), pair.batch())
    }

    /// log2 of the greatest sum of all floods.
    pub fn floods_log2(&self) -> f64 {
        f64::from(self.bits) + libm::log2(self.quorum.len() as f64)
    }
}
