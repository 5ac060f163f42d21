//! A ring prepared on a device.

use crate::backend::{Cpu, PolyOps, PreparedRing, RingOps};
use crate::error::{Error, Result};
use crate::ring::{RingSpec, Rows, Seed, Span, uniform_row};
use std::sync::{Arc, Mutex, PoisonError};

/// A ring prepared on a device; a cheap handle.
///
/// Clones are the same ring. A [`prefix`](Self::prefix) is another ring, of fewer primes, that
/// shares what was prepared; a [`split`](Self::split) is one with other special primes.
pub struct Ring<B: RingOps = Cpu> {
    prepared: Arc<B::Ring>,
    spec: Arc<RingSpec>,
    family: Arc<Family<B>>,
}

/// All rings that were prepared beside one another, on one device: the first one, and its splits.
struct Family<B: RingOps>(Mutex<Vec<Arc<B::Ring>>>);

impl<B: RingOps> Clone for Ring<B> {
    fn clone(&self) -> Self {
        let Self { prepared, spec, family } = self;
        Self { prepared: Arc::clone(prepared), spec: Arc::clone(spec), family: Arc::clone(family) }
    }
}

impl<B: RingOps> std::fmt::Debug for Ring<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ring {{ {}, {:?} }}", self.backend().name(), self.spec)
    }
}

impl<B: RingOps> Ring<B> {
    /// Prepares the constants of `spec` on a device.
    ///
    /// # Errors
    /// Device errors.
    pub fn new(backend: B, spec: RingSpec) -> Result<Self> {
        let prepared = Arc::new(backend.prepare(&spec)?);
        let family = Arc::new(Family(Mutex::new(vec![Arc::clone(&prepared)])));
        Ok(Self { prepared, spec: Arc::new(spec), family })
    }

    /// The ring of the same degree over the first `q` primes of the chain and the first `p` special
    /// ones, on the same constants: nothing is prepared, uploaded or copied.
    ///
    /// Polynomials of both are operands of each other wherever their spans fit, since a span means
    /// the same primes in both; [`Poly::into_ring`](super::Poly::into_ring) hands one over. An
    /// evaluator, or anything else that was made for parameters of one of them, still asks for its
    /// own ring.
    ///
    /// ```
    /// use he_core::{backend::Cpu, ring::*};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let ring = Ring::new(Cpu::new(), RingSpec::new(3, vec![17, 97], vec![113, 193])?)?;
    /// let prefix = ring.prefix(1, 1)?;
    /// assert_eq!((prefix.spec().q(), prefix.spec().p()), (&[17][..], &[113][..]));
    /// let mut x: Poly<Eval> = Poly::uniform(&ring, Span::chain(1), 1, &Seed([1; 32]), 0)?;
    /// x.add_assign(&Poly::uniform(&prefix, Span::chain(1), 1, &Seed([2; 32]), 0)?)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::SpanMismatch`] if the ring has fewer primes, or none of the chain is left.
    pub fn prefix(&self, q: usize, p: usize) -> Result<Self> {
        let (left, right) = (Span::extended(q, p), self.span());
        let spec = self.spec.prefix(q, p).ok_or(Error::SpanMismatch { left, right })?;
        Ok(Self { spec: Arc::new(spec), ..self.clone() })
    }

    /// The ring of the same degree over the first `q + p` primes, of which the first `q` are its
    /// chain: primes that end the chain here are special there ([`RingSpec::split`]). The device
    /// prepares it once, with the same constants of primes, and keeps it as long as this ring.
    ///
    /// Special primes are others than here, so polynomials of both cannot be operands of each
    /// other. [`Poly::into_ring`](super::Poly::into_ring) hands one over, uncopied, where its span
    /// means the same primes in both.
    ///
    /// ```
    /// use he_core::{backend::Cpu, ring::*};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let ring = Ring::new(Cpu::new(), RingSpec::new(3, vec![17, 97], vec![113, 193])?)?;
    /// let split = ring.split(1, 2)?;
    /// assert_eq!((split.spec().q(), split.spec().p()), (&[17][..], &[97, 113][..]));
    /// let x: Poly<Eval> = Poly::uniform(&ring, Span::chain(1), 1, &Seed([1; 32]), 0)?;
    /// assert!(x.into_ring(&split).is_ok());
    /// let x: Poly<Eval> = Poly::uniform(&ring, Span::extended(1, 1), 1, &Seed([1; 32]), 0)?;
    /// assert!(x.into_ring(&split).is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::SpanMismatch`] if the ring has fewer primes, or none is left for the chain; device
    /// errors.
    pub fn split(&self, q: usize, p: usize) -> Result<Self> {
        let (left, right) = (Span::extended(q, p), self.span());
        let spec = self.spec.split(q, p).ok_or(Error::SpanMismatch { left, right })?;
        // The list stays valid whatever a panicking thread was doing.
        let mut rings = self.family.0.lock().unwrap_or_else(PoisonError::into_inner);
        let prepared = match rings.iter().find(|ring| *ring.spec() == spec) {
            Some(ring) => Arc::clone(ring),
            None => {
                let ring = Arc::new(self.prepared.prepare_beside(&spec)?);
                rings.push(Arc::clone(&ring));
                ring
            }
        };
        Ok(Self { prepared, spec: Arc::new(spec), family: Arc::clone(&self.family) })
    }

    /// The ring that was prepared, of which this is a [`prefix`](Self::prefix) or all.
    pub fn whole(&self) -> Self {
        Self { spec: Arc::new(self.prepared().spec().clone()), ..self.clone() }
    }

    /// The degree and the primes.
    pub fn spec(&self) -> &RingSpec {
        &self.spec
    }

    /// The degree N.
    pub fn n(&self) -> usize {
        self.spec.n()
    }

    /// The device.
    pub fn backend(&self) -> &B {
        self.prepared.backend()
    }

    /// The ring that the device prepared, with the operations as methods: this ring, or the one
    /// that it is a prefix of.
    pub fn prepared(&self) -> &B::Ring {
        &self.prepared
    }

    /// Whether both handles are the same ring: one was cloned from the other, or both are the same
    /// prefix of a ring.
    pub fn same(&self, other: &Self) -> bool {
        self.shares(other) && (Arc::ptr_eq(&self.spec, &other.spec) || self.spec == other.spec)
    }

    /// Whether both have what was prepared in common, so that polynomials of one can be operands of
    /// the other's: the same ring, or prefixes of one.
    pub fn shares(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.prepared, &other.prepared)
    }

    /// Whether a span of this ring means the same primes, on the same device, in the other, which
    /// has all of them.
    pub(super) fn check_same_primes(&self, other: &Self, span: Span) -> Result<()> {
        if !Arc::ptr_eq(&self.family, &other.family) {
            return Err(Error::RingMismatch);
        }
        other.check_span(span)?;
        if self.shares(other) || self.spec().moduli_of(span).eq(other.spec().moduli_of(span)) {
            return Ok(());
        }
        Err(Error::RingMismatch)
    }

    /// All primes.
    fn span(&self) -> Span {
        Span::extended(self.spec().q().len(), self.spec().p().len())
    }

    /// Returns whether the ring has these primes, of which there is at least one.
    pub(crate) fn check_span(&self, span: Span) -> Result<()> {
        let all = self.span();
        let exists = span.start <= span.q && span.q <= all.q && span.p <= all.p && span.limbs() > 0;
        if exists { Ok(()) } else { Err(Error::SpanMismatch { left: span, right: all }) }
    }

    /// [`PolyOps::sample_uniform`] with the streams of this ring's primes.
    ///
    /// A stream has the number of its prime. Special primes follow the chain, so those of a prefix
    /// have other numbers than in what was prepared: their rows are made on the host, in order that
    /// a seed gives the same words here as in a ring that was prepared for these primes alone.
    pub(crate) fn sample_uniform(&self, rows: Rows, seed: &Seed, index: u32, buf: &mut B::Buf) -> Result<()> {
        let (prepared, n) = (self.prepared(), self.n());
        let (span, chain) = (rows.span, self.spec().q().len());
        if span.p == 0 || prepared.spec().q().len() == chain {
            return prepared.sample_uniform(rows, seed, index, buf);
        }
        let of_chain = Rows { span: Span { p: 0, ..span }, ..rows };
        prepared.sample_uniform(of_chain, seed, index, buf)?;
        let mut words = vec![0; span.p * rows.batch * n];
        for (i, limb) in words.chunks_exact_mut(rows.batch * n).enumerate() {
            uniform_row(seed, index, chain + i, &self.spec().p_moduli()[i], 0, limb);
        }
        let at = rows.at + of_chain.count() * n;
        let backend = self.backend();
        backend.copy(&backend.upload(&words)?, 0, buf, at, words.len())
    }
}
