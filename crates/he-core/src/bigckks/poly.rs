//! Polynomials modulo a power of two on a device.

use super::params::product_bits;
use crate::backend::{Blocks, Cpu, PreparedRing, WideOps, WidePolyOps, WideRows, covering_span};
use crate::error::{Error, Result};
use crate::poly::Wipe;
use crate::ring::{Eval, Operand, Poly, Ring, Rows, SecretPoly, Seed, Span};
use derive_where::derive_where;
use std::ops::Range;

/// A batch of polynomials modulo 2^bits and X^N + 1, on the device of its ring: one allocation,
/// `[word][batch][coefficient]`, the least significant word first, with zeros above the modulus
/// (see [`WideOps`]).
#[derive_where(Clone; B::Buf)]
pub struct WidePoly<B: WideOps = Cpu> {
    ring: Ring<B>,
    bits: u32,
    batch: usize,
    buf: B::Buf,
}

impl<B: WideOps> std::fmt::Debug for WidePoly<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "WidePoly {{ N = {}, modulo 2^{}, batch {} }}", self.ring.n(), self.bits, self.batch)
    }
}

/// Checks that polynomials of this shape exist: at least one bit, a batch that is not empty, and a
/// modulus that the ring's primes can hold.
fn check_shape<B: WideOps>(ring: &Ring<B>, bits: u32, batch: usize) -> Result<()> {
    if batch == 0 {
        return Err(Error::BatchRange { start: 0, end: 0, batch: 0 });
    }
    let left = ring.spec().log_qp() as u32;
    if bits == 0 || bits > left {
        return Err(Error::ModulusExhausted { needed: bits.max(1), left });
    }
    Ok(())
}

impl<B: WideOps> WidePoly<B> {
    /// Zero.
    ///
    /// # Errors
    /// [`Error::BatchRange`] for an empty batch; [`Error::ModulusExhausted`] for a modulus of no
    /// bits, or above the product of the ring's primes; device errors.
    pub fn zeros(ring: &Ring<B>, bits: u32, batch: usize) -> Result<Self> {
        check_shape(ring, bits, batch)?;
        let buf = ring.backend().zeros(WideRows::new(bits, batch).count() * ring.n())?;
        Ok(Self::from_buf(ring, bits, batch, buf))
    }

    /// Makes polynomials from words in the layout of the struct.
    ///
    /// # Errors
    /// [`Error::Argument`] unless there are words x batch x N words with zeros above the modulus;
    /// the same as for [`zeros`](Self::zeros).
    pub fn from_words(ring: &Ring<B>, bits: u32, batch: usize, words: &[u64]) -> Result<Self> {
        check_shape(ring, bits, batch)?;
        let rows = WideRows::new(bits, batch);
        let expected = rows.count() * ring.n();
        if words.len() != expected {
            let why = format!("{} given, {expected} needed", words.len());
            return Err(Error::argument("words", why));
        }
        let above = words[expected - batch * ring.n()..]
            .iter()
            .fold(0, |above, word| above | word & !rows.top_mask());
        if above != 0 {
            let why = format!("a number is not below 2^{bits}");
            return Err(Error::argument("words", why));
        }
        Ok(Self::from_buf(ring, bits, batch, ring.backend().upload(words)?))
    }

    /// Makes polynomials from batch x N signed coefficients.
    ///
    /// # Errors
    /// [`Error::Argument`] for another number of them; the same as for [`zeros`](Self::zeros).
    pub fn from_signed(ring: &Ring<B>, bits: u32, batch: usize, coefficients: &[i64]) -> Result<Self> {
        check_shape(ring, bits, batch)?;
        if coefficients.len() != batch * ring.n() {
            let why = format!("{} given, {} needed", coefficients.len(), batch * ring.n());
            return Err(Error::argument("coefficients", why));
        }
        let words: Vec<u64> = coefficients.iter().map(|&c| c as u64).collect();
        let mut source = ring.backend().upload(&words)?;
        zeroize::Zeroize::zeroize(&mut { words });
        let poly =
            Self::filled(ring, bits, batch, |ring, rows, buf| ring.wide_from_signed(rows, &source, buf))?;
        ring.backend().wipe(&mut source);
        Ok(poly)
    }

    /// Samples the uniform numbers of polynomial `index` under `seed`.
    ///
    /// # Errors
    /// The same as for [`zeros`](Self::zeros).
    pub fn uniform(ring: &Ring<B>, bits: u32, batch: usize, seed: &Seed, index: u32) -> Result<Self> {
        check_shape(ring, bits, batch)?;
        Self::filled(ring, bits, batch, |ring, rows, buf| ring.wide_sample_uniform(rows, seed, index, buf))
    }

    /// Samples centred binomial errors of deviation 3.24.
    ///
    /// # Errors
    /// The same as for [`zeros`](Self::zeros).
    pub fn error(ring: &Ring<B>, bits: u32, batch: usize, seed: &Seed, index: u32) -> Result<Self> {
        check_shape(ring, bits, batch)?;
        Self::filled(ring, bits, batch, |ring, rows, buf| ring.wide_sample_error(rows, seed, index, buf))
    }

    /// Makes a polynomial of which `fill` writes every word.
    fn filled(
        ring: &Ring<B>,
        bits: u32,
        batch: usize,
        fill: impl FnOnce(&B::Ring, WideRows, &mut B::Buf) -> Result<()>,
    ) -> Result<Self> {
        let rows = WideRows::new(bits, batch);
        let mut buf = ring.backend().scratch(rows.count() * ring.n())?;
        fill(ring.prepared(), rows, &mut buf)?;
        Ok(Self::from_buf(ring, bits, batch, buf))
    }

    pub(crate) fn from_buf(ring: &Ring<B>, bits: u32, batch: usize, buf: B::Buf) -> Self {
        debug_assert_eq!(ring.backend().words(&buf), WideRows::new(bits, batch).count() * ring.n());
        Self { ring: ring.clone(), bits, batch, buf }
    }

    pub(crate) fn buf(&self) -> &B::Buf {
        &self.buf
    }

    pub(crate) fn operand(&self) -> Operand<'_, B::Buf> {
        Operand::new(&self.buf, self.batch)
    }

    fn rows(&self) -> WideRows {
        WideRows::new(self.bits, self.batch)
    }

    /// The ring, with the degree, the device, and the primes of products.
    pub fn ring(&self) -> &Ring<B> {
        &self.ring
    }

    /// log2 of the modulus.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// The number of polynomials in the batch.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// Downloads the words, in the layout of the struct.
    ///
    /// # Errors
    /// Device errors.
    pub fn to_words(&self) -> Result<Vec<u64>> {
        self.ring.backend().download(&self.buf, 0..self.rows().count() * self.ring.n())
    }

    /// Checks that `rhs` can be an operand: it has the same ring, the same modulus or a larger one,
    /// and the same batch or one.
    pub(crate) fn check(&self, rhs: &Self) -> Result<()> {
        if !self.ring.same(&rhs.ring) {
            return Err(Error::RingMismatch);
        }
        if rhs.bits < self.bits {
            return Err(Error::ModulusMismatch { left: self.bits, right: rhs.bits });
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
        self.reduced(self.bits)
    }

    /// self <- self + rhs. `rhs` may have a batch of one, or a larger modulus.
    ///
    /// # Errors
    /// Mismatch of ring, modulus or batch; device errors.
    pub fn add_assign(&mut self, rhs: &Self) -> Result<()> {
        self.check(rhs)?;
        let (rows, ring) = (self.rows(), &self.ring);
        ring.prepared().wide_add_assign(rows, &mut self.buf, rhs.operand())
    }

    /// self <- self - rhs, likewise.
    ///
    /// # Errors
    /// Mismatch of ring, modulus or batch; device errors.
    pub fn sub_assign(&mut self, rhs: &Self) -> Result<()> {
        self.check(rhs)?;
        let (rows, ring) = (self.rows(), &self.ring);
        ring.prepared().wide_sub_assign(rows, &mut self.buf, rhs.operand())
    }

    /// self <- -self.
    ///
    /// # Errors
    /// Device errors.
    pub fn neg_assign(&mut self) -> Result<()> {
        let (rows, ring) = (self.rows(), &self.ring);
        ring.prepared().wide_neg_assign(rows, &mut self.buf)
    }

    /// self <- c self for the unsigned number with these words, the least significant first.
    ///
    /// # Errors
    /// Device errors.
    pub fn scale_assign(&mut self, factor: &[u64]) -> Result<()> {
        let (rows, ring) = (self.rows(), &self.ring);
        ring.prepared().wide_scale_assign(rows, &mut self.buf, factor)
    }

    /// self <- 2^bits self.
    ///
    /// # Errors
    /// Device errors.
    pub fn shift_left_assign(&mut self, bits: u32) -> Result<()> {
        let mut factor = vec![0; bits as usize / 64 + 1];
        factor[bits as usize / 64] = 1 << (bits % 64);
        self.scale_assign(&factor)
    }

    /// round(self / 2^shift), halves up, modulo 2^(bits - shift).
    ///
    /// # Errors
    /// [`Error::ModulusExhausted`] unless shift < bits; device errors.
    pub fn shift_round(&self, shift: u32) -> Result<Self> {
        if shift >= self.bits {
            return Err(Error::ModulusExhausted { needed: shift.saturating_add(1), left: self.bits });
        }
        Self::filled(&self.ring, self.bits - shift, self.batch, |ring, rows, buf| {
            ring.wide_shift_round(self.rows(), &self.buf, shift, rows, buf)
        })
    }

    /// Reduces modulo 2^bits, for at most as many bits.
    ///
    /// # Errors
    /// [`Error::ModulusMismatch`] for more bits or none; device errors.
    pub fn reduced(&self, bits: u32) -> Result<Self> {
        if bits == 0 || bits > self.bits {
            return Err(Error::ModulusMismatch { left: self.bits, right: bits });
        }
        Self::filled(&self.ring, bits, self.batch, |ring, rows, buf| {
            if bits == self.bits {
                return ring.backend().copy(&self.buf, 0, buf, 0, rows.count() * self.ring.n());
            }
            ring.wide_shift_round(self.rows(), &self.buf, 0, rows, buf)
        })
    }

    /// Returns self(X^g) for an odd Galois element.
    ///
    /// # Errors
    /// [`Error::Argument`] for an even g; device errors.
    pub fn automorphism(&self, g: u64) -> Result<Self> {
        if g.is_multiple_of(2) {
            return Err(Error::argument("Galois element", format!("{g} is even")));
        }
        Self::filled(&self.ring, self.bits, self.batch, |ring, rows, buf| {
            ring.wide_automorphism(rows, g, self.operand(), buf)
        })
    }

    /// The centred coefficients over the primes of a span, in evaluation form.
    pub(crate) fn values(&self, span: Span) -> Result<Poly<Eval, B>> {
        let ring = &self.ring;
        let values = ring.prepared().wide_values(self.rows(), &self.buf, span)?;
        Ok(Poly::from_buf(ring, span, self.batch, values))
    }

    /// The integers that are determined by values, modulo 2^bits.
    pub(crate) fn from_values(values: Poly<Eval, B>, bits: u32) -> Result<Self> {
        let (ring, batch) = (values.ring().clone(), values.batch());
        let rows = Rows::new(values.span(), batch);
        let buf = ring.prepared().wide_from_values(rows, values.into_buf(), bits)?;
        Ok(Self::from_buf(&ring, bits, batch, buf))
    }

    /// The integers that are determined by values that reveal a secret; only the result is left.
    pub(crate) fn from_secret_values(values: Poly<Eval, B>, bits: u32) -> Result<Self> {
        let values = SecretPoly::new(values.into_coeff()?);
        let (ring, residues) = (values.get().ring(), Rows::new(values.get().span(), values.get().batch()));
        Self::filled(ring, bits, residues.batch, |ring, rows, buf| {
            ring.wide_compose(residues, values.get().buf(), rows, buf)
        })
    }

    /// self rhs modulo X^N + 1 and 2^bits, through as many primes as determine the product of
    /// centred coefficients. `rhs` may have a batch of one, or a larger modulus.
    ///
    /// # Errors
    /// Mismatch of ring, modulus or batch; [`Error::Argument`] if the ring's primes do not
    /// determine the product; device errors.
    pub fn mul(&self, rhs: &Self) -> Result<Self> {
        self.check(rhs)?;
        self.mul_short(rhs, self.bits)
    }

    /// The product by a factor whose centred coefficients have at most `rhs_bits` bits.
    pub(crate) fn mul_short(&self, rhs: &Self, rhs_bits: u32) -> Result<Self> {
        self.check(rhs)?;
        let ring = &self.ring;
        let bits = rhs_bits.min(self.bits);
        let span = covering_span(ring.spec(), product_bits(ring.spec().log_n(), self.bits, bits))?;
        let factor = WideRows::new(bits, rhs.batch);
        let factor = ring.prepared().wide_values(factor, &rhs.buf, span)?;
        let mut product = self.values(span)?;
        product.mul_assign(&Poly::from_buf(ring, span, rhs.batch, factor))?;
        Self::from_values(product, self.bits)
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
        Self::filled(&self.ring, self.bits, entries.len(), |ring, rows, buf| {
            let words = entries.len() * n;
            let from = Blocks { at: entries.start * n, step: self.batch * n };
            let to = Blocks { at: 0, step: words };
            ring.backend().copy_blocks(&self.buf, from, buf, to, words, rows.words())
        })
    }

    /// Concatenates batches, in order.
    ///
    /// # Errors
    /// [`Error::BatchRange`] if there are none; mismatch of ring or modulus; device errors.
    pub fn concat(parts: &[&Self]) -> Result<Self> {
        let first = parts.first().ok_or(Error::BatchRange { start: 0, end: 0, batch: 0 })?;
        for part in parts {
            if !part.ring.same(&first.ring) {
                return Err(Error::RingMismatch);
            }
            if part.bits != first.bits {
                return Err(Error::ModulusMismatch { left: first.bits, right: part.bits });
            }
        }
        let (n, batch) = (first.ring.n(), parts.iter().map(|part| part.batch).sum());
        Self::filled(&first.ring, first.bits, batch, |ring, rows, buf| {
            let mut entry = 0;
            for part in parts {
                let words = part.batch * n;
                let from = Blocks { at: 0, step: words };
                let to = Blocks { at: entry * n, step: batch * n };
                ring.backend().copy_blocks(&part.buf, from, buf, to, words, rows.words())?;
                entry += part.batch;
            }
            Ok(())
        })
    }

    /// Copies the polynomial to an equal ring, possibly on another device.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] if degree or primes differ; device errors.
    pub fn to<C: WideOps>(&self, ring: &Ring<C>) -> Result<WidePoly<C>> {
        if ring.spec() != self.ring.spec() {
            return Err(Error::RingMismatch);
        }
        WidePoly::from_words(ring, self.bits, self.batch, &self.to_words()?)
    }

    /// Overwrites every word with zero.
    pub fn wipe(&mut self) {
        self.ring.backend().wipe(&mut self.buf);
    }
}

impl<B: WideOps> Wipe for WidePoly<B> {
    fn wipe(&mut self) {
        WidePoly::wipe(self);
    }
}
