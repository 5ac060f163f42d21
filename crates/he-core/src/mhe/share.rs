//! Shares, and their sums: the two messages of every protocol.

use super::session::{Subject, check_party};
use super::{MheError, ProtocolKind, Session, SessionId};
use crate::backend::{Cpu, RingOps};
use crate::error::{Error, Result};
use crate::ring::{Eval, Poly, Ring, Span};
use derive_where::derive_where;
use std::collections::BTreeSet;
use std::marker::PhantomData;

pub(super) mod sealed {
    pub trait Sealed {}
}

/// The protocol of a [`Share`], as a type.
pub trait ShareKind: sealed::Sealed {
    /// The same as a value.
    const KIND: ProtocolKind;
}

/// Defines the types of shares.
macro_rules! share_kinds {
    ($($name:ident: $about:literal;)*) => {
        /// The protocols of shares, as types.
        pub mod kinds {
            use super::{ProtocolKind, ShareKind, sealed};
            $(
                #[doc = $about]
                #[derive(Debug)]
                pub enum $name {}
                impl sealed::Sealed for $name {}
                impl ShareKind for $name {
                    const KIND: ProtocolKind = ProtocolKind::$name;
                }
            )*
        }
    };
}

share_kinds! {
    PublicKey: "Of a public key.";
    Relinearisation1: "Of the first round of a relinearisation key.";
    Relinearisation2: "Of the second round of a relinearisation key.";
    GaloisKey: "Of a Galois key.";
    Decryption: "Of a decryption.";
    KeySwitching: "Of a switch to another collective secret.";
    PublicKeySwitching: "Of a switch to a public key.";
    Refresh: "Of a refresh.";
}

/// A message of one party in a protocol. It is public, and says which session, party and input it
/// belongs to, but it is not signed: see the [module](super) for what an active party can do.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct Share<K: ShareKind, B: RingOps = Cpu> {
    pub(crate) session: SessionId,
    pub(crate) party: u32,
    pub(crate) subject: Subject,
    pub(crate) polys: Vec<Poly<Eval, B>>,
    pub(crate) kind: PhantomData<K>,
}

impl<K: ShareKind, B: RingOps> Share<K, B> {
    pub(super) fn new<P>(protocol: &P, party: u32, polys: Vec<Poly<Eval, B>>) -> Self
    where
        P: Protocol<Kind = K, Backend = B> + ?Sized,
    {
        let (session, subject) = (protocol.session().id(), *protocol.subject());
        Self { session, party, subject, polys, kind: PhantomData }
    }

    /// The session.
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// The party that made it.
    pub fn party(&self) -> u32 {
        self.party
    }

    /// A hash of what it concerns: the Galois element, or ciphertext, quorum and options.
    pub fn subject(&self) -> &[u8; 32] {
        &self.subject
    }

    /// The polynomials.
    pub fn polys(&self) -> &[Poly<Eval, B>] {
        &self.polys
    }
}

/// One run of a protocol in a session: all parties make it from the same public inputs, and then
/// their shares with it.
pub trait Protocol: sealed::Sealed {
    /// The shares.
    type Kind: ShareKind;
    /// The device.
    type Backend: RingOps;
    /// The result.
    type Output;

    /// The session.
    fn session(&self) -> &Session;

    /// A hash of the public inputs.
    fn subject(&self) -> &[u8; 32];

    /// The parties that take part: all of the session, unless a quorum decrypts.
    fn parties(&self) -> &[u32] {
        self.session().parties()
    }

    /// The ring of the shares.
    fn ring(&self) -> &Ring<Self::Backend>;

    /// Primes and batch of each polynomial of a share.
    #[doc(hidden)]
    fn layout(&self) -> Vec<(Span, usize)> {
        Self::Kind::KIND.layout(self.session().params(), 0, 0)
    }

    /// The result from the sum of all shares.
    ///
    /// # Errors
    /// The protocol's.
    #[doc(hidden)]
    fn finished(&self, sum: Vec<Poly<Eval, Self::Backend>>) -> Result<Self::Output>;
}

/// The sum of the shares of a protocol's run, in any order. Whoever has all shares can make it:
/// a party or a server.
#[derive(Debug)]
pub struct Aggregate<'p, P: Protocol> {
    protocol: &'p P,
    heard: BTreeSet<u32>,
    sum: Vec<Poly<Eval, P::Backend>>,
}

impl<'p, P: Protocol> Aggregate<'p, P> {
    /// No shares yet.
    pub fn new(protocol: &'p P) -> Self {
        Self { protocol, heard: BTreeSet::new(), sum: Vec::new() }
    }

    /// Adds the share of a party.
    ///
    /// # Errors
    /// [`MheError::ForeignSession`], [`MheError::Outsider`], [`MheError::Doubled`],
    /// [`MheError::WrongSubject`], as [`Error::Mhe`]; mismatch of ring, primes or batch; device
    /// errors. After an error the sum is as it was, unless the device failed.
    pub fn add(&mut self, share: &Share<P::Kind, P::Backend>) -> Result<()> {
        let (protocol, party) = (self.protocol, share.party);
        protocol.session().check("share", share.session)?;
        check_party(party, protocol.parties())?;
        if self.heard.contains(&party) {
            return Err(MheError::Doubled { party }.into());
        }
        if share.subject != *protocol.subject() {
            return Err(MheError::WrongSubject { party, protocol: P::Kind::KIND }.into());
        }
        let layout = protocol.layout();
        if layout.len() != share.polys.len() {
            let why = format!("{} given, {} needed", share.polys.len(), layout.len());
            return Err(Error::argument("polynomials of a share", why));
        }
        for (poly, (span, batch)) in share.polys.iter().zip(layout) {
            if !poly.ring().same(protocol.ring()) {
                return Err(Error::RingMismatch);
            }
            if poly.span() != span {
                return Err(Error::SpanMismatch { left: poly.span(), right: span });
            }
            if poly.batch() != batch {
                return Err(Error::BatchMismatch { left: poly.batch(), right: batch });
            }
        }
        if self.sum.is_empty() {
            self.sum = share.polys.iter().map(Poly::duplicate).collect::<Result<_>>()?;
        } else {
            self.sum.iter_mut().zip(&share.polys).try_for_each(|(sum, poly)| sum.add_assign(poly))?;
        }
        self.heard.insert(party);
        Ok(())
    }

    /// The parties whose shares are still missing.
    pub fn missing(&self) -> Vec<u32> {
        self.protocol.parties().iter().copied().filter(|party| !self.heard.contains(party)).collect()
    }

    /// The result, once all shares are there.
    ///
    /// # Errors
    /// [`MheError::Missing`], as [`Error::Mhe`]; the errors of the protocol.
    pub fn finish(self) -> Result<P::Output> {
        let parties = self.missing();
        if !parties.is_empty() {
            return Err(MheError::Missing { parties }.into());
        }
        self.protocol.finished(self.sum)
    }
}
