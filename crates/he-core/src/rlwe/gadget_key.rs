//! The gadget ciphertexts of which the switching keys of every scheme consist.

use super::sealed::Sealed;
use super::{Fingerprint, KeyParams, TernarySecret};
use crate::backend::{KeyBuf, KeySwitchOps, RingOps};
use crate::error::{Error, Result};
use crate::key_set::{KeySetId, key_set_accessors};
use crate::ring::{Ring, Seed};
use derive_where::derive_where;
use rand::CryptoRng;

/// The source of a [switching key](GadgetKey). It always leads to a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchSource {
    /// Another secret, of this key set if that is known: for
    /// [`switch`](super::RlweCiphertext::switch).
    Secret(Option<KeySetId>),
    /// The square of the secret itself: a relinearisation key.
    Square,
    /// The secret itself under X -> X^g: a Galois key for g.
    Image(u64),
}

/// A key that switches to a secret under parameters `P`, on a device: for each digit two
/// polynomials, (b_j, a_j), where the a_j come from a public seed unless the key was made without
/// the secret that it leads to, or by another program. [`SwitchKey`](super::SwitchKey)
/// is that of `rlwe`, [`SwitchKey`](crate::bigckks::SwitchKey) that of `bigckks`.
#[derive_where(Clone; B::Buf)]
pub struct GadgetKey<P: KeyParams, B: RingOps> {
    pub(crate) ring: Ring<B>,
    pub(crate) params: P,
    pub(crate) seed: Option<Seed>,
    pub(crate) buf: KeyBuf<B::Buf>,
    pub(crate) source: Option<SwitchSource>,
    pub(crate) key_set: Option<KeySetId>,
}

key_set_accessors! {
    [P: KeyParams, B: RingOps] GadgetKey<P, B> { key_set }
}

impl<P: KeyParams, B: RingOps> std::fmt::Debug for GadgetKey<P, B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let fingerprint: Fingerprint = self.params.key_fingerprint();
        write!(f, "SwitchKey {{ {fingerprint} }}")
    }
}

impl<P: KeyParams, B: RingOps> GadgetKey<P, B> {
    /// The parameters that it is made for: its primes and digits.
    pub fn params(&self) -> &P {
        &self.params
    }

    /// The ring.
    pub fn ring(&self) -> &Ring<B> {
        &self.ring
    }

    /// The memory that it takes on the device, in bytes: 2 (digits) (primes) N words of 64 bits, or
    /// fewer where the back end packs them.
    pub fn bytes(&self) -> usize {
        self.ring.backend().words(self.buf.as_ref().buf()) * size_of::<u64>()
    }

    /// The seed of the a_j, which is public; `None` if they come from none: those of a
    /// [`ReencryptionKey`](crate::mhe::ReencryptionKey), and of a key that another program made.
    pub fn seed(&self) -> Option<&Seed> {
        self.seed.as_ref()
    }

    /// The source of the key; `None` if it was made of words and not said.
    pub fn source(&self) -> Option<SwitchSource> {
        self.source
    }

    /// Says what it leads away from.
    ///
    /// # Errors
    /// [`Error::Argument`] if it is known to lead away from something else.
    pub fn set_source(&mut self, source: SwitchSource) -> Result<()> {
        source.check(self.source)?;
        self.source = Some(source);
        Ok(())
    }

    /// Copies the key to an equal ring, possibly on another device.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] if degree or primes differ; device errors.
    pub fn to<C: RingOps>(&self, ring: &Ring<C>) -> Result<GadgetKey<P, C>> {
        if ring.spec() != self.ring.spec() {
            return Err(Error::RingMismatch);
        }
        let shape = self.params.key_shape();
        let words = shape.span.limbs() * ring.n();
        let mut buf = ring.prepared().empty_key(&shape)?;
        for (digit, part) in (0..shape.digits).flat_map(|digit| [(digit, 0), (digit, 1)]) {
            let poly = self.ring.prepared().read_key(&shape, self.buf(), digit, part)?;
            let poly = ring.backend().upload(&self.ring.backend().download(&poly, 0..words)?)?;
            ring.prepared().write_key(&shape, buf.as_mut(), digit, part, &poly)?;
        }
        let (ring, params, seed) = (ring.clone(), self.params.clone(), self.seed.clone());
        Ok(GadgetKey { ring, params, seed, buf, source: self.source, key_set: self.key_set })
    }

    /// The seed of the a_j, for writing the key as that and its bodies.
    ///
    /// # Errors
    /// [`Error::Argument`] for a key whose a_j come from no seed.
    pub(crate) fn known_seed(&self) -> Result<&Seed> {
        self.seed().ok_or_else(|| Error::argument("switching key", "its second parts come from no seed"))
    }

    pub(crate) fn buf(&self) -> KeyBuf<&B::Buf> {
        self.buf.as_ref()
    }

    /// The same key as one from a source to a key set.
    pub(crate) fn leading(self, source: SwitchSource, key_set: KeySetId) -> Self {
        Self { source: Some(source), key_set: Some(key_set), ..self }
    }
}

/// Switching keys that a secret makes of itself, over the parameters that it has.
pub trait EvaluationKey<P: KeyParams, B: RingOps>: Sized + Sealed {
    /// The relinearisation key: from s^2 to s.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for a ring of other parameters; device errors.
    fn relinearisation(
        secret: &TernarySecret<P>,
        ring: &Ring<B>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self>;

    /// The Galois key for X -> X^g, g odd and below 2N.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for a ring of other parameters; device errors.
    fn galois(
        secret: &TernarySecret<P>,
        g: u64,
        ring: &Ring<B>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self>;
}

impl SwitchSource {
    /// Whether a key from `found`, where that is known, can be used as one from this source. The
    /// identity of another secret makes no difference here.
    pub(crate) fn check(self, found: Option<Self>) -> Result<()> {
        match (found, self) {
            (None, _) | (Some(Self::Secret(_)), Self::Secret(_)) => Ok(()),
            (Some(found), expected) if found == expected => Ok(()),
            (Some(found), expected) => {
                let why = format!("it leads away from {found}, and one from {expected} is needed");
                Err(Error::argument("switching key", why))
            }
        }
    }
}

impl std::fmt::Display for SwitchSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Secret(_) => f.write_str("another secret"),
            Self::Square => f.write_str("the square of its secret"),
            Self::Image(g) => write!(f, "the image of its secret under X -> X^{g}"),
        }
    }
}
