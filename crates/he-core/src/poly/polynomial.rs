//! Polynomials of a ring on a device, with their domain in the type.

use super::Ring;
use crate::backend::{Blocks, Cpu, ExactOps, MessagePhase, PolyOps, RingOps};
use crate::error::{Error, Result};
use crate::ring::{Coeff, Domain, Eval, Operand, Rows, Seed, Span};
use derive_where::derive_where;
use std::marker::PhantomData;
use std::ops::Range;

/// A batch of polynomials over the primes of a span, in domain `D`, on the device of its ring: one
/// allocation, `[limb][batch][coefficient]`.
///
/// Values multiply:
/// ```
/// # use he_core::{Result, backend::Cpu, ring::{Coeff, Eval, Poly}};
/// fn product(a: &mut Poly<Eval, Cpu>, b: &Poly<Eval, Cpu>) -> Result<()> {
///     a.mul_assign(b)
/// }
/// ```
/// coefficients, whose products word by word mean nothing, do not, and the domains do not mix:
/// ```compile_fail
/// # use he_core::{Result, backend::Cpu, ring::{Coeff, Eval, Poly}};
/// fn product(a: &mut Poly<Eval, Cpu>, b: &Poly<Coeff, Cpu>) -> Result<()> {
///     a.mul_assign(b)
/// }
/// ```
/// ```compile_fail
/// # use he_core::{Result, backend::Cpu, ring::{Coeff, Eval, Poly}};
/// fn product(a: &mut Poly<Coeff, Cpu>, b: &Poly<Eval, Cpu>) -> Result<()> {
///     a.mul_assign(b)
/// }
/// ```
#[derive_where(Clone; B::Buf)]
pub struct Poly<D: Domain, B: RingOps = Cpu> {
    ring: Ring<B>,
    span: Span,
    batch: usize,
    buf: B::Buf,
    domain: PhantomData<D>,
}

impl<D: Domain, B: RingOps> std::fmt::Debug for Poly<D, B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Poly {{ {:?}, N = {}, {}, batch {} }}", D::KIND, self.ring.n(), self.span, self.batch)
    }
}

impl<D: Domain, B: RingOps> Poly<D, B> {
    /// Zero.
    ///
    /// # Errors
    /// [`Error::SpanMismatch`] for primes that the ring does not have; [`Error::BatchRange`] for an
    /// empty batch; device errors.
    pub fn zeros(ring: &Ring<B>, span: Span, batch: usize) -> Result<Self> {
        Self::allocate(ring, span, batch, B::zeros)
    }

    /// Makes polynomials from words in the layout of the struct, which must be canonical residues.
    ///
    /// # Errors
    /// [`Error::SpanMismatch`] for primes that the ring does not have; [`Error::Argument`] unless
    /// there are limbs x batch x N words; device errors.
    pub fn from_words(ring: &Ring<B>, span: Span, batch: usize, words: &[u64]) -> Result<Self> {
        ring.check_span(span)?;
        let expected = span.limbs() * batch * ring.n();
        if words.len() != expected || batch == 0 {
            return Err(Error::argument("words", format!("{} given, {expected} needed", words.len())));
        }
        Ok(Self::from_buf(ring, span, batch, ring.backend().upload(words)?))
    }

    /// Downloads the words, in the layout of the struct.
    ///
    /// # Errors
    /// Device errors.
    pub fn to_words(&self) -> Result<Vec<u64>> {
        self.backend().download(&self.buf, 0..self.rows().count() * self.ring.n())
    }

    pub(crate) fn from_buf(ring: &Ring<B>, span: Span, batch: usize, buf: B::Buf) -> Self {
        debug_assert_eq!(ring.backend().words(&buf), span.limbs() * batch * ring.n());
        Self { ring: ring.clone(), span, batch, buf, domain: PhantomData }
    }

    pub(crate) fn buf(&self) -> &B::Buf {
        &self.buf
    }

    pub(crate) fn buf_mut(&mut self) -> &mut B::Buf {
        &mut self.buf
    }

    pub(crate) fn into_buf(self) -> B::Buf {
        self.buf
    }

    pub(crate) fn operand(&self) -> Operand<'_, B::Buf> {
        Operand::new(&self.buf, self.batch)
    }

    /// The ring.
    pub fn ring(&self) -> &Ring<B> {
        &self.ring
    }

    /// The primes.
    pub fn span(&self) -> Span {
        self.span
    }

    /// The number of polynomials in the batch.
    pub fn batch(&self) -> usize {
        self.batch
    }

    pub(crate) fn rows(&self) -> Rows {
        Rows::new(self.span, self.batch)
    }

    fn backend(&self) -> &B {
        self.ring.backend()
    }

    /// Whether `rhs` can be an operand: same constants; same primes or more of the chain; same
    /// batch or one.
    pub(crate) fn check(&self, rhs: &Self) -> Result<()> {
        if !self.ring.shares(&rhs.ring) {
            return Err(Error::RingMismatch);
        }
        let (a, b) = (self.span, rhs.span);
        let longer = a.p == 0 && b.p == 0 && a.start == b.start && b.q >= a.q;
        if a != b && !longer {
            return Err(Error::SpanMismatch { left: a, right: b });
        }
        if rhs.batch != self.batch && rhs.batch != 1 {
            return Err(Error::BatchMismatch { left: self.batch, right: rhs.batch });
        }
        Ok(())
    }

    /// Makes a copy on the same device.
    ///
    /// # Errors
    /// Device errors.
    pub fn duplicate(&self) -> Result<Self> {
        self.prefix(self.span)
    }

    /// Allocates words of any value, for results that overwrite all of them.
    fn scratch(ring: &Ring<B>, span: Span, batch: usize) -> Result<Self> {
        Self::allocate(ring, span, batch, B::scratch)
    }

    fn allocate(
        ring: &Ring<B>,
        span: Span,
        batch: usize,
        make: impl FnOnce(&B, usize) -> Result<B::Buf>,
    ) -> Result<Self> {
        let rows = Self::rows_of(ring, span, batch)?;
        let buf = make(ring.backend(), rows.count() * ring.n())?;
        Ok(Self::from_buf(ring, span, batch, buf))
    }

    /// The rows of a polynomial that can exist.
    pub(crate) fn rows_of(ring: &Ring<B>, span: Span, batch: usize) -> Result<Rows> {
        ring.check_span(span)?;
        if batch == 0 {
            return Err(Error::BatchRange { start: 0, end: 0, batch: 0 });
        }
        Ok(Rows::new(span, batch))
    }

    fn prefix(&self, span: Span) -> Result<Self> {
        let mut copy = Self::scratch(&self.ring, span, self.batch)?;
        let words = copy.rows().count() * self.ring.n();
        self.backend().copy(&self.buf, 0, &mut copy.buf, 0, words)?;
        Ok(copy)
    }

    /// Copies the first `q` limbs of the chain.
    ///
    /// # Errors
    /// [`Error::SpanMismatch`] if it has fewer or holds special primes; device errors.
    pub fn duplicate_chain(&self, q: usize) -> Result<Self> {
        self.prefix(self.shortened(q)?)
    }

    /// A copy of the limbs of the chain, without those of special primes.
    ///
    /// # Errors
    /// [`Error::SpanMismatch`] if there are none; device errors.
    pub fn chain_part(&self) -> Result<Self> {
        self.prefix(Span { p: 0, ..self.span })
    }

    /// A copy over the first `q` primes of the chain, which is zero modulo those that this one does
    /// not have.
    ///
    /// # Errors
    /// [`Error::SpanMismatch`] if it has more or holds special primes, or if the ring has fewer;
    /// device errors.
    pub fn padded_chain(&self, q: usize) -> Result<Self> {
        let span = Span { q, ..self.span };
        if self.span.p > 0 || q < self.span.q {
            return Err(Error::SpanMismatch { left: self.span, right: span });
        }
        let mut padded = Self::zeros(&self.ring, span, self.batch)?;
        let words = self.rows().count() * self.ring.n();
        self.backend().copy(&self.buf, 0, &mut padded.buf, 0, words)?;
        Ok(padded)
    }

    /// A copy over a ring of the same degree that has the primes of this chain from prime `at` on:
    /// over all primes up to them, and zero modulo the first `at`.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for a ring of other primes there; device errors.
    pub(crate) fn placed(&self, ring: &Ring<B>, at: usize) -> Result<Self> {
        let (here, there) = (self.ring.spec(), ring.spec());
        let primes = here.q().get(self.span.start..self.span.q).unwrap_or_default();
        let to = at + primes.len();
        if self.span.p > 0 || here.log_n() != there.log_n() || there.q().get(at..to) != Some(primes) {
            return Err(Error::RingMismatch);
        }
        let mut placed = Self::zeros(ring, Span::chain(to), self.batch)?;
        let words = self.rows().count() * self.ring.n();
        self.backend().copy(&self.buf, 0, &mut placed.buf, at * self.batch * ring.n(), words)?;
        Ok(placed)
    }

    /// A copy of the words in another order: word k of each row is word `index[k]`.
    ///
    /// # Errors
    /// Device errors.
    pub(crate) fn gathered(&self, index: &B::Buf) -> Result<Self>
    where
        B: RingOps,
    {
        let buf = self.ring.prepared().gather(self.rows(), index, &self.buf)?;
        Ok(Self::from_buf(&self.ring, self.span, self.batch, buf))
    }

    fn shortened(&self, q: usize) -> Result<Span> {
        let span = Span { q, ..self.span };
        if self.span.p > 0 || q > self.span.q || q <= self.span.start {
            return Err(Error::SpanMismatch { left: self.span, right: span });
        }
        Ok(span)
    }

    /// Drops primes from the end of the chain until `q` are left; copies nothing.
    ///
    /// # Errors
    /// [`Error::SpanMismatch`] if it has fewer or holds special primes.
    pub fn truncate_chain(&mut self, q: usize) -> Result<()> {
        self.span = self.shortened(q)?;
        let words = self.rows().count() * self.ring.n();
        self.ring.backend().truncate(&mut self.buf, words);
        Ok(())
    }

    /// self <- self + rhs. `rhs` may have a batch of one, or more primes of the chain.
    ///
    /// # Errors
    /// Mismatch of ring, primes or batch; device errors.
    pub fn add_assign(&mut self, rhs: &Self) -> Result<()> {
        self.check(rhs)?;
        let rows = self.rows();
        let ring = &self.ring;
        ring.prepared().add_assign(rows, &mut self.buf, rhs.operand())
    }

    /// self <- self - rhs, operands as for [`add_assign`](Self::add_assign).
    ///
    /// # Errors
    /// Mismatch of ring, primes or batch; device errors.
    pub fn sub_assign(&mut self, rhs: &Self) -> Result<()> {
        self.check(rhs)?;
        let rows = self.rows();
        let ring = &self.ring;
        ring.prepared().sub_assign(rows, &mut self.buf, rhs.operand())
    }

    /// self <- -self.
    ///
    /// # Errors
    /// Device errors.
    pub fn neg_assign(&mut self) -> Result<()> {
        let rows = self.rows();
        let ring = &self.ring;
        ring.prepared().neg_assign(rows, &mut self.buf)
    }

    /// self <- c self, one residue of c per limb.
    ///
    /// # Errors
    /// [`Error::Argument`] unless there is one residue per limb; device errors.
    pub fn scale_assign(&mut self, factors: &[u64]) -> Result<()> {
        self.check_factors(factors)?;
        let rows = self.rows();
        let ring = &self.ring;
        ring.prepared().scale_assign(rows, &mut self.buf, factors)
    }

    /// self <- self + c rhs, one residue of c per limb.
    ///
    /// # Errors
    /// Mismatch of ring, primes, batch or factors; device errors.
    pub fn scale_add_assign(&mut self, rhs: &Self, factors: &[u64]) -> Result<()> {
        self.check(rhs)?;
        self.check_factors(factors)?;
        let rows = self.rows();
        let ring = &self.ring;
        ring.prepared().scale_add_assign(rows, &mut self.buf, rhs.operand(), factors)
    }

    fn check_factors(&self, factors: &[u64]) -> Result<()> {
        if factors.len() < self.span.limbs() {
            let why = format!("{} given for {} limbs", factors.len(), self.span.limbs());
            return Err(Error::argument("factors", why));
        }
        Ok(())
    }

    /// Returns self(X^g) for an odd Galois element.
    ///
    /// # Errors
    /// [`Error::Argument`] for an even g; device errors.
    pub fn automorphism(&self, g: u64) -> Result<Self> {
        if g.is_multiple_of(2) {
            return Err(Error::argument("Galois element", format!("{g} is even")));
        }
        let mut image = Self::scratch(&self.ring, self.span, self.batch)?;
        let ring = &self.ring;
        ring.prepared().automorphism(self.rows(), D::KIND, g, self.operand(), &mut image.buf)?;
        Ok(image)
    }

    /// Copies batch entries.
    ///
    /// # Errors
    /// [`Error::BatchRange`] for an empty range or one outside the batch; device errors.
    pub fn slice_batch(&self, entries: Range<usize>) -> Result<Self> {
        if entries.is_empty() || entries.end > self.batch {
            return Err(Error::BatchRange { start: entries.start, end: entries.end, batch: self.batch });
        }
        let n = self.ring.n();
        let mut part = Self::scratch(&self.ring, self.span, entries.len())?;
        let words = entries.len() * n;
        let (from, to) =
            (Blocks { at: entries.start * n, step: self.batch * n }, Blocks { at: 0, step: words });
        self.backend().copy_blocks(&self.buf, from, &mut part.buf, to, words, self.span.limbs())?;
        Ok(part)
    }

    /// Copies the entries of a batch in these places, in their order. Places are public.
    ///
    /// # Errors
    /// [`Error::BatchRange`] for no places, or one outside the batch; device errors.
    pub(crate) fn gather_batch(&self, entries: &[usize]) -> Result<Self> {
        self.check_places(entries)?;
        let mut part = Self::scratch(&self.ring, self.span, entries.len())?;
        let places: Vec<[usize; 2]> = entries.iter().enumerate().map(|(to, &from)| [from, to]).collect();
        self.copy_places(&places, &mut part)?;
        Ok(part)
    }

    /// Overwrites the entries of a batch in these places by those of another batch over the same
    /// primes, in its order. No two places are the same.
    ///
    /// # Errors
    /// The same as for [`gather_batch`](Self::gather_batch); [`Error::BatchMismatch`] for another
    /// number of entries.
    pub(crate) fn scatter_batch(&mut self, entries: &[usize], images: &Self) -> Result<()> {
        self.check_places(entries)?;
        if images.batch != entries.len() {
            return Err(Error::BatchMismatch { left: entries.len(), right: images.batch });
        }
        let places: Vec<[usize; 2]> =
            entries.iter().copied().enumerate().map(|(from, to)| [from, to]).collect();
        images.copy_places(&places, self)
    }

    fn check_places(&self, entries: &[usize]) -> Result<()> {
        let past = entries.iter().max().map_or(0, |most| most + 1);
        match (1..=self.batch).contains(&past) {
            true => Ok(()),
            false => Err(Error::BatchRange { start: 0, end: past, batch: self.batch }),
        }
    }

    /// Copies entries from places to places of another batch.
    fn copy_places(&self, places: &[[usize; 2]], to: &mut Self) -> Result<()> {
        let (n, limbs) = (self.ring.n(), self.span.limbs());
        let runs = |batch: usize, at: usize| Blocks { at: at * n, step: batch * n };
        let backend = self.backend();
        match *places {
            [[f, t]] => {
                let (from, into) = (runs(self.batch, f), runs(to.batch, t));
                backend.copy_blocks(&self.buf, from, &mut to.buf, into, n, limbs)
            }
            _ => {
                let (from, into) = (runs(self.batch, 0), runs(to.batch, 0));
                backend.copy_places(&self.buf, from, &mut to.buf, into, places, [n, limbs])
            }
        }
    }

    /// Concatenates batches, in order.
    ///
    /// # Errors
    /// [`Error::BatchRange`] if there are none; mismatch of ring or primes; device errors.
    pub fn concat(parts: &[&Self]) -> Result<Self> {
        let first = parts.first().ok_or(Error::BatchRange { start: 0, end: 0, batch: 0 })?;
        let batch = parts.iter().map(|part| part.batch).sum();
        let n = first.ring.n();
        for part in parts {
            if !part.ring.shares(&first.ring) {
                return Err(Error::RingMismatch);
            }
            if part.span != first.span {
                return Err(Error::SpanMismatch { left: first.span, right: part.span });
            }
        }
        let mut whole = Self::scratch(&first.ring, first.span, batch)?;
        let parts: Vec<_> = parts.iter().map(|part| (&part.buf, part.batch * n)).collect();
        first.backend().join_runs(&parts, &mut whole.buf, first.span.limbs())?;
        Ok(whole)
    }

    /// Copies the polynomial to an equal ring, possibly on another device.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] if degree or primes differ; device errors.
    pub fn to<C: RingOps>(&self, ring: &Ring<C>) -> Result<Poly<D, C>> {
        if ring.spec() != self.ring.spec() {
            return Err(Error::RingMismatch);
        }
        Poly::from_words(ring, self.span, self.batch, &self.to_words()?)
    }

    /// The same polynomial as one of a ring that was made of its own, or from which its own was
    /// made, by [`Ring::prefix`] and [`Ring::split`]: nothing is copied.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for any other ring, and if special primes are others there;
    /// [`Error::SpanMismatch`] if `ring` does not have all of its primes.
    pub fn into_ring(self, ring: &Ring<B>) -> Result<Self> {
        self.ring.check_same_primes(ring, self.span)?;
        Ok(Self { ring: ring.clone(), ..self })
    }

    /// Overwrites every word with zero.
    pub fn wipe(&mut self) {
        self.ring.backend().wipe(&mut self.buf);
    }

    /// Samples uniform polynomials (uniform in either domain).
    ///
    /// # Errors
    /// Device errors.
    pub fn uniform(ring: &Ring<B>, span: Span, batch: usize, seed: &Seed, index: u32) -> Result<Self> {
        let mut poly = Self::scratch(ring, span, batch)?;
        ring.sample_uniform(poly.rows(), seed, index, &mut poly.buf)?;
        Ok(poly)
    }
}

impl<B: RingOps> Poly<Coeff, B> {
    /// Transforms to evaluation form, in place.
    ///
    /// # Errors
    /// Device errors.
    pub fn into_eval(mut self) -> Result<Poly<Eval, B>> {
        let rows = self.rows();
        self.ring.prepared().ntt(rows, &mut self.buf)?;
        Ok(Poly::from_buf(&self.ring, self.span, self.batch, self.buf))
    }

    /// The same polynomials over other primes of the ring (ModUp): with D the product of the primes
    /// of [`span`](Poly::span), each coefficient x modulo D becomes its centred representative in
    /// `[-D/2, D/2)`, reduced modulo every prime of `span`. For primes that are already held, this
    /// is the identity.
    ///
    /// The result is exact unless x lies within about k 2^-52 D of +-D/2, for k primes, where it
    /// may be the representative of the other sign, x -+ D
    /// ([`BaseConversion`](crate::ring::BaseConversion)). This says nothing about noise: a ciphertext
    /// with phase m modulo D has phase m + D I after both of its polynomials were extended, with a
    /// small polynomial I (ModRaise). Constant time on the CPU.
    ///
    /// # Errors
    /// [`Error::SpanMismatch`] for primes that the ring does not have; device errors.
    pub fn extend(&self, span: Span) -> Result<Self> {
        let to = Self::rows_of(&self.ring, span, self.batch)?;
        let ring = &self.ring;
        let mut extended = ring.backend().zeros(to.count() * ring.n())?;
        ring.prepared().convert_basis(self.rows(), &self.buf, to, &mut extended)?;
        Ok(Self::from_buf(ring, span, self.batch, extended))
    }

    /// Samples uniform ternary coefficients.
    ///
    /// # Errors
    /// Device errors.
    pub fn ternary(ring: &Ring<B>, span: Span, batch: usize, seed: &Seed, index: u32) -> Result<Self> {
        let mut poly = Self::scratch(ring, span, batch)?;
        ring.prepared().sample_ternary(poly.rows(), seed, index, &mut poly.buf)?;
        Ok(poly)
    }

    /// Samples centred binomial errors of deviation 3.24.
    ///
    /// # Errors
    /// Device errors.
    pub fn error(ring: &Ring<B>, span: Span, batch: usize, seed: &Seed, index: u32) -> Result<Self> {
        let mut poly = Self::scratch(ring, span, batch)?;
        ring.prepared().sample_error(poly.rows(), seed, index, &mut poly.buf)?;
        Ok(poly)
    }

    /// The phases of messages, as [`message_phase`](crate::backend::ExactOps::message_phase).
    pub(crate) fn message_phase(
        ring: &Ring<B>,
        span: Span,
        batch: usize,
        message: MessagePhase<'_, B::Buf>,
    ) -> Result<Self> {
        let rows = Self::rows_of(ring, span, batch)?;
        let buf = ring.prepared().message_phase(rows, message)?;
        Ok(Self::from_buf(ring, span, batch, buf))
    }

    /// Makes polynomials from batch x N signed coefficients.
    ///
    /// # Errors
    /// [`Error::Argument`] for another number of them; device errors.
    pub fn from_signed(ring: &Ring<B>, span: Span, batch: usize, coefficients: &[i64]) -> Result<Self> {
        if coefficients.len() != batch * ring.n() {
            let why = format!("{} given, {} needed", coefficients.len(), batch * ring.n());
            return Err(Error::argument("coefficients", why));
        }
        let words: Vec<u64> = coefficients.iter().map(|&c| c as u64).collect();
        let mut source = ring.backend().upload(&words)?;
        let mut poly = Self::scratch(ring, span, batch)?;
        ring.prepared().reduce_signed(poly.rows(), &source, &mut poly.buf)?;
        ring.backend().wipe(&mut source);
        zeroize::Zeroize::zeroize(&mut { words });
        Ok(poly)
    }

    /// X^k for each of the exponents k below 2N, where X^N = -1. They are made on the device, where
    /// only ones and places are sent. Exponents are public.
    ///
    /// # Errors
    /// [`Error::SpanMismatch`] for primes that the ring does not have; device errors.
    pub(crate) fn monomials(ring: &Ring<B>, span: Span, exponents: &[usize]) -> Result<Self> {
        let (backend, n) = (ring.backend(), ring.n());
        let mut poly = Self::zeros(ring, span, exponents.len())?;
        let ones: Vec<u64> = ring.spec().moduli_of(span).flat_map(|q| [1, q.value() - 1]).collect();
        let place = |(entry, k): (usize, &usize)| [k / n % 2, entry * n + k % n];
        let places: Vec<[usize; 2]> = exponents.iter().enumerate().map(place).collect();
        let (from, to) = (Blocks { at: 0, step: 2 }, Blocks { at: 0, step: exponents.len() * n });
        backend.copy_places(&backend.upload(&ones)?, from, &mut poly.buf, to, &places, [1, span.limbs()])?;
        Ok(poly)
    }
}

impl<B: RingOps> Poly<Eval, B> {
    /// One word of each run of 2^`log_run` neighbours of every row, `[limb][batch][run]`. A
    /// polynomial in X^(2^`log_run`) has equal words there: word i belongs to the root
    /// psi^(2 brv(i) + 1), whose power 2^`log_run` has the same value throughout a run.
    ///
    /// # Errors
    /// Device errors.
    pub(crate) fn into_runs(self, log_run: u32) -> Result<B::Buf> {
        if log_run == 0 {
            return Ok(self.buf);
        }
        let (n, rows) = (self.ring.n(), self.rows().count());
        let index: Vec<u64> = (0..n).map(|k| ((k << log_run) & (n - 1)) as u64).collect();
        let ordered = self.gathered(&self.backend().upload(&index)?)?;
        let kept = n >> log_run;
        let mut words = self.backend().scratch(rows * kept)?;
        let (from, to) = (Blocks { at: 0, step: n }, Blocks { at: 0, step: kept });
        self.backend().copy_blocks(&ordered.buf, from, &mut words, to, kept, rows)?;
        Ok(words)
    }

    /// The polynomial whose runs of 2^`log_run` neighbours have these words, of which there may be
    /// more, for further limbs: the inverse of [`into_runs`](Self::into_runs) for a batch of one.
    ///
    /// # Errors
    /// [`Error::SpanMismatch`] for primes that the ring does not have; device errors.
    pub(crate) fn from_runs(ring: &Ring<B>, span: Span, words: &B::Buf, log_run: u32) -> Result<Self> {
        let (n, kept) = (ring.n(), ring.n() >> log_run);
        let mut poly = Self::scratch(ring, span, 1)?;
        if log_run == 0 {
            ring.backend().copy(words, 0, &mut poly.buf, 0, span.limbs() * n)?;
            return Ok(poly);
        }
        let (from, to) = (Blocks { at: 0, step: kept }, Blocks { at: 0, step: n });
        ring.backend().copy_blocks(words, from, &mut poly.buf, to, kept, span.limbs())?;
        let index: Vec<u64> = (0..n).map(|k| (k >> log_run) as u64).collect();
        poly.gathered(&ring.backend().upload(&index)?)
    }

    /// The monomial X^exponent in evaluation form. Since X^N = -1, the exponent counts modulo 2N:
    /// X^(2N - k) is the inverse of X^k. Products by it are exact, and move and negate
    /// coefficients: the coefficient of X^i goes to X^(i + exponent).
    ///
    /// ```
    /// use he_core::{backend::Cpu, ring::*};
    /// # fn main() -> he_core::Result<()> {
    /// let ring = Ring::new(Cpu::new(), RingSpec::new(2, vec![17], vec![])?)?;
    /// let x: Poly<Coeff> = Poly::from_signed(&ring, Span::chain(1), 1, &[1, 2, 3, 4])?;
    /// let mut y = x.into_eval()?;
    /// y.mul_assign(&Poly::monomial(&ring, Span::chain(1), 1)?)?;
    /// // 4 X^4 = -4, modulo 17.
    /// assert_eq!(y.into_coeff()?.to_words()?, [13, 1, 2, 3]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::SpanMismatch`] for primes that the ring does not have; device errors.
    pub fn monomial(ring: &Ring<B>, span: Span, exponent: usize) -> Result<Self> {
        Poly::<Coeff, B>::monomials(ring, span, &[exponent % (2 * ring.n())])?.into_eval()
    }

    /// Transforms to coefficient form, in place.
    ///
    /// # Errors
    /// Device errors.
    pub fn into_coeff(mut self) -> Result<Poly<Coeff, B>> {
        let rows = self.rows();
        self.ring.prepared().intt(rows, &mut self.buf)?;
        Ok(Poly::from_buf(&self.ring, self.span, self.batch, self.buf))
    }

    /// self <- self rhs in the ring, operands as for [`add_assign`](Poly::add_assign).
    ///
    /// # Errors
    /// Mismatch of ring, primes or batch; device errors.
    pub fn mul_assign(&mut self, rhs: &Self) -> Result<()> {
        self.check(rhs)?;
        let rows = self.rows();
        let ring = &self.ring;
        ring.prepared().mul_assign(rows, &mut self.buf, rhs.operand())
    }

    /// self <- self + x y in the ring; both operands as for [`add_assign`](Poly::add_assign).
    ///
    /// # Errors
    /// Mismatch of ring, primes or batch; device errors.
    pub fn mul_add_assign(&mut self, x: &Self, y: &Self) -> Result<()> {
        self.check(x)?;
        self.check(y)?;
        let rows = self.rows();
        let ring = &self.ring;
        ring.prepared().mul_add_assign(rows, &mut self.buf, x.operand(), y.operand())
    }

    /// self <- self + c for a constant c, one residue per limb.
    ///
    /// # Errors
    /// [`Error::Argument`] unless there is one residue per limb; device errors.
    pub fn add_scalar_assign(&mut self, terms: &[u64]) -> Result<()> {
        self.check_factors(terms)?;
        let rows = self.rows();
        let ring = &self.ring;
        ring.prepared().add_scalar_assign(rows, &mut self.buf, terms)
    }

    /// The primes that are left by a division by those after the first `keep` limbs.
    pub(crate) fn kept(&self, keep: usize) -> Result<Span> {
        let kept = self.span.head(keep);
        if keep == 0 || keep > self.span.chain_limbs() || keep >= self.span.limbs() {
            return Err(Error::SpanMismatch { left: self.span, right: kept });
        }
        Ok(kept)
    }

    /// Division with rounding by the primes after the first `keep` limbs, as
    /// [`mod_down`](crate::backend::PolyOps::mod_down).
    ///
    /// # Errors
    /// [`Error::SpanMismatch`] if nothing is kept or dropped; device errors.
    pub fn mod_down(self, keep: usize) -> Result<Self> {
        let kept = self.kept(keep)?;
        let Self { ring, span, batch, buf, .. } = self;
        let buf = ring.prepared().mod_down(span, keep, batch, buf)?;
        Ok(Self::from_buf(&ring, kept, batch, buf))
    }
}
