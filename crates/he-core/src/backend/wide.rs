//! Operations on polynomials modulo a power of two, in words of 64 bits.
//!
//! # Contract
//! In addition to that of [`backend`](crate::backend):
//!
//! - **Words.** A number modulo 2^bits is an unsigned number of ceil(bits / 64) words. Results hold
//!   zeros above `bits`; inputs are read modulo 2^bits, so that a number modulo a larger power of
//!   two also serves, unchanged, as one modulo a smaller one. *Centred* means the representative in
//!   `[-2^(bits - 1), 2^(bits - 1))`, as in two's complement.
//! - **Layout.** Word w of coefficient k of batch entry b at `at + (w batch + b) N + k`: planes of
//!   words, the least significant first, in the same layout as limbs of residues. Neighbouring
//!   threads of a GPU read neighbouring addresses, vectors of a CPU hold one word of neighbouring
//!   coefficients, carries stay within a thread or lane, and a smaller modulus is a prefix, so that
//!   dropping bits truncates.
//! - **Residues.** Conversions take rings whose primes are below 2^50, at most 128 of them.
//! - **Time.** On the CPU no operation's time depends on words.

mod constants;
mod embedding;

pub use constants::WideConstants;
pub use embedding::{WideEmbedding, decode_wide_slots, encode_wide_slots};
pub(crate) use embedding::{magnitude_words, needed_bits, round_scaled};

use super::{Backend, KeyBuf, KeyShape, KeySwitchOps};
use crate::error::{Error, Result};
use crate::ring::{Operand, RingSpec, Rows, Seed, Span, wide_uniform_row};
use num_complex::Complex64;

/// The place of polynomials modulo 2^bits in a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WideRows {
    /// log2 of the modulus, at least 1.
    pub bits: u32,
    /// Polynomials side by side.
    pub batch: usize,
    /// First word.
    pub at: usize,
}

impl WideRows {
    /// From the start of a buffer.
    pub const fn new(bits: u32, batch: usize) -> Self {
        Self { bits, batch, at: 0 }
    }

    /// The same polynomials at another place.
    #[must_use]
    pub const fn at(self, at: usize) -> Self {
        Self { at, ..self }
    }

    /// The words of a coefficient.
    pub const fn words(&self) -> usize {
        self.bits.div_ceil(64) as usize
    }

    /// Number of rows of N words.
    pub const fn count(&self) -> usize {
        self.words() * self.batch
    }

    /// The bits of the highest word that belong to the number.
    pub const fn top_mask(&self) -> u64 {
        u64::MAX >> (self.words() as u32 * 64 - self.bits)
    }
}

/// The shape of a key switch modulo 2^bits.
///
/// The polynomial is cut into balanced digits of `digit_bits` bits: c = sum_j d_j 2^(j w), d_j
/// centred. A key holds for each j a pair modulo 2^(key bits + special bits), as centred numbers
/// over the primes of `key_span`, in evaluation form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WideSwitchShape {
    /// log2 of the polynomial's modulus.
    pub bits: u32,
    /// The batch of the polynomial. Keys have batch 1.
    pub batch: usize,
    /// The bits of a digit.
    pub digit_bits: u32,
    /// log2 of the special modulus P.
    pub special_bits: u32,
    /// The primes that determine the sum of the products: a prefix of `key_span`.
    pub span: Span,
    /// The primes of the key.
    pub key_span: Span,
}

impl WideSwitchShape {
    /// The number of digits.
    pub const fn digits(&self) -> usize {
        self.bits.div_ceil(self.digit_bits) as usize
    }

    /// The shape of the key, of which these are the first digits.
    pub const fn key(&self) -> KeyShape {
        KeyShape { digits: self.digits(), span: self.key_span }
    }
}

/// The shortest prefix of a ring's primes whose product is at least 2^(bits + 2): integers below
/// 2^bits in magnitude are determined by their residues, and composed exactly.
///
/// # Errors
/// [`Error::Argument`] if the ring has too few primes.
pub fn covering_span(spec: &RingSpec, bits: u32) -> Result<Span> {
    let needed = f64::from(bits) + 2.0;
    let mut covered = 0.0;
    for (i, prime) in spec.primes().enumerate() {
        covered += libm::log2(prime as f64);
        if covered >= needed {
            return Ok(first_primes(spec, i + 1));
        }
    }
    Err(Error::domain(
        "ring",
        format!("its primes determine {covered:.0} bits, {needed} are needed"),
        "use the ring of the parameters",
    ))
}

/// The first `limbs` primes: of the chain, then special ones.
fn first_primes(spec: &RingSpec, limbs: usize) -> Span {
    let chain = limbs.min(spec.q().len());
    Span::extended(chain, limbs - chain)
}

/// Operations modulo powers of two. The first eight are required. The others have provided bodies
/// composed of them, which are their definitions; a device may override them with code that leaves
/// the same words.
pub trait WidePolyOps: KeySwitchOps {
    /// a <- a + b modulo 2^bits. The operand has the rows' batch or one; it may hold more words.
    ///
    /// # Errors
    /// Device errors; likewise for every operation below.
    fn wide_add_assign(&self, rows: WideRows, a: &mut Self::Buf, b: Operand<'_, Self::Buf>) -> Result<()>;
    /// a <- a - b, likewise.
    fn wide_sub_assign(&self, rows: WideRows, a: &mut Self::Buf, b: Operand<'_, Self::Buf>) -> Result<()>;
    /// a <- -a.
    fn wide_neg_assign(&self, rows: WideRows, a: &mut Self::Buf) -> Result<()>;
    /// a <- c a for the unsigned number c of these words, any number of them.
    fn wide_scale_assign(&self, rows: WideRows, a: &mut Self::Buf, factor: &[u64]) -> Result<()>;
    /// dst <- round(src / 2^shift), halves up, modulo 2^(to.bits); to.bits + shift <= from.bits,
    /// and both have one batch. A shift of 0 reduces. Rescaling, ModDown and the division by P are
    /// this operation.
    fn wide_shift_round(
        &self,
        from: WideRows,
        src: &Self::Buf,
        shift: u32,
        to: WideRows,
        dst: &mut Self::Buf,
    ) -> Result<()>;
    /// dst <- src(X^g) for odd g < 2N.
    fn wide_automorphism(
        &self,
        rows: WideRows,
        g: u64,
        src: Operand<'_, Self::Buf>,
        dst: &mut Self::Buf,
    ) -> Result<()>;
    /// The centred numbers modulo every prime of `rows`, in coefficient form; both have one batch.
    fn wide_residues(&self, wide: WideRows, src: &Self::Buf, rows: Rows, dst: &mut Self::Buf) -> Result<()>;
    /// From residues in coefficient form, of integers below a quarter of the primes' product in
    /// magnitude, to these integers modulo 2^bits; both have one batch, and 2^bits is below the
    /// product of all primes of the ring.
    fn wide_compose(&self, rows: Rows, src: &Self::Buf, wide: WideRows, dst: &mut Self::Buf) -> Result<()>;

    /// Signed words (two's complement, batch x N of them) modulo 2^bits. The ring has at least two
    /// primes.
    fn wide_from_signed(&self, wide: WideRows, src: &Self::Buf, dst: &mut Self::Buf) -> Result<()> {
        let rows = Rows::new(covering_span(self.spec(), 63)?, wide.batch);
        let mut residues = self.backend().scratch(rows.count() * self.spec().n())?;
        self.reduce_signed(rows, src, &mut residues)?;
        self.wide_compose(rows, &residues, wide, dst)?;
        self.backend().wipe(&mut residues);
        Ok(())
    }

    /// Uniform numbers modulo 2^bits of polynomial `index` under `seed`, as [`wide_uniform_row`];
    /// batch entry b starts at element b N. The same seed gives the same numbers modulo a smaller
    /// power of two.
    fn wide_sample_uniform(
        &self,
        wide: WideRows,
        seed: &Seed,
        index: u32,
        dst: &mut Self::Buf,
    ) -> Result<()> {
        let plane = wide.batch * self.spec().n();
        let mut words = vec![0; wide.words() * plane];
        for (w, row) in words.chunks_exact_mut(plane).enumerate() {
            wide_uniform_row(seed, index, w, 0, row);
        }
        words[(wide.words() - 1) * plane..].iter_mut().for_each(|word| *word &= wide.top_mask());
        let count = words.len();
        self.backend().copy(&self.backend().upload(&words)?, 0, dst, wide.at, count)
    }

    /// Ternary coefficients, as [`ternary_row`](crate::ring::ternary_row), modulo 2^bits.
    fn wide_sample_ternary(
        &self,
        wide: WideRows,
        seed: &Seed,
        index: u32,
        dst: &mut Self::Buf,
    ) -> Result<()> {
        let rows = Rows::new(Span::chain(1), wide.batch);
        let mut residues = self.backend().scratch(rows.count() * self.spec().n())?;
        self.sample_ternary(rows, seed, index, &mut residues)?;
        self.wide_compose(rows, &residues, wide, dst)?;
        self.backend().wipe(&mut residues);
        Ok(())
    }

    /// Errors, as [`error_row`](crate::ring::error_row), modulo 2^bits.
    fn wide_sample_error(&self, wide: WideRows, seed: &Seed, index: u32, dst: &mut Self::Buf) -> Result<()> {
        let rows = Rows::new(Span::chain(1), wide.batch);
        let mut residues = self.backend().scratch(rows.count() * self.spec().n())?;
        self.sample_error(rows, seed, index, &mut residues)?;
        self.wide_compose(rows, &residues, wide, dst)?;
        self.backend().wipe(&mut residues);
        Ok(())
    }

    /// The centred numbers modulo the primes of `span` in evaluation form, from word 0 of the
    /// result.
    fn wide_values(&self, wide: WideRows, src: &Self::Buf, span: Span) -> Result<Self::Buf> {
        let rows = Rows::new(span, wide.batch);
        let mut values = self.backend().scratch(rows.count() * self.spec().n())?;
        self.wide_residues(wide, src, rows, &mut values)?;
        self.ntt(rows, &mut values)?;
        Ok(values)
    }

    /// The inverse: the integers that are determined by `values`, in evaluation form from word 0,
    /// modulo 2^bits.
    fn wide_from_values(&self, rows: Rows, mut values: Self::Buf, bits: u32) -> Result<Self::Buf> {
        let wide = WideRows::new(bits, rows.batch);
        self.intt(rows, &mut values)?;
        let mut composed = self.backend().scratch(wide.count() * self.spec().n())?;
        self.wide_compose(rows, &values, wide, &mut composed)?;
        Ok(composed)
    }

    /// (a0 b0, a0 b1 + a1 b0, a1 b1) modulo 2^bits: products of centred numbers over the primes of
    /// `span`, which determine them. The operands hold exactly the words of `rows`; both of `a`
    /// have the rows' batch, both of `b` that or one. If `a` and `b` are the same pair, it is
    /// transformed once.
    fn wide_tensor(
        &self,
        span: Span,
        rows: WideRows,
        a: [Operand<'_, Self::Buf>; 2],
        b: [Operand<'_, Self::Buf>; 2],
    ) -> Result<[Self::Buf; 3]> {
        let values = |x: Operand<'_, Self::Buf>| {
            self.wide_values(WideRows { bits: rows.bits, batch: x.batch, at: x.at }, x.buf, span)
        };
        let left = [values(a[0])?, values(a[1])?];
        let square = (0..2).all(|i| std::ptr::eq(a[i].buf, b[i].buf) && a[i].at == b[i].at);
        let right = if square { None } else { Some([values(b[0])?, values(b[1])?]) };
        let right = right.as_ref().unwrap_or(&left);
        let residues = Rows::new(span, rows.batch);
        let (left, right) = (
            left.each_ref().map(|x| Operand::new(x, a[0].batch)),
            right.each_ref().map(|x| Operand::new(x, b[0].batch)),
        );
        let d = self.tensor(residues, left, right)?;
        let [d0, d1, d2] = d.map(|d| self.wide_from_values(residues, d, rows.bits));
        Ok([d0?, d1?, d2?])
    }

    /// round(P^-1 sum_j d_j key_j) modulo 2^bits for both parts of a key, plus an addend for each,
    /// with d_j the digits of `c`; `c` and the addends start at word 0, have one batch, and hold
    /// exactly the words of the shape.
    fn wide_key_switch(
        &self,
        shape: &WideSwitchShape,
        c: &Self::Buf,
        key: KeyBuf<&Self::Buf>,
        addend: [Option<&Self::Buf>; 2],
    ) -> Result<[Self::Buf; 2]> {
        let n = self.spec().n();
        let rows = Rows::new(shape.span, shape.batch);
        let zeros = || self.backend().zeros(rows.count() * n);
        let mut sums = [zeros()?, zeros()?];
        for_wide_digits(self, shape, c, |j, values| {
            for (part, sum) in sums.iter_mut().enumerate() {
                let key = Operand::at(key.buf(), 1, shape.key().flat_at(j, part, n));
                self.mul_add_assign(rows, sum, Operand::new(&values, shape.batch), key)?;
            }
            Ok(())
        })?;
        round_wide_sums(self, shape, sums, addend)
    }

    /// Coefficients round(2^scale_log2 c) modulo 2^bits, ties to even, of the inverse special FFT c
    /// of each vector, padded with zeros; and the bits of the largest of them, including the sign.
    /// There is one vector per batch entry; `wide` starts at word 0.
    ///
    /// # Errors
    /// [`Error::TooManyValues`] and [`Error::NotFinite`] for the first vector that is longer than
    /// the slots or holds such a value; [`Error::CoefficientTooLarge`] for more than `bits` bits;
    /// device errors.
    fn wide_encode_slots(
        &self,
        wide: WideRows,
        vectors: &[&[Complex64]],
        to: WideEmbedding<'_>,
    ) -> Result<(Self::Buf, u32)> {
        encode_wide_slots(self, wide, vectors, to)
    }

    /// The inverse: 2^-scale_log2 times the special FFT of the centred coefficients, in float64, to
    /// which words are added from the least significant on. Values that do not fit yield
    /// meaningless numbers, at worst infinite ones.
    fn wide_decode_slots(
        &self,
        wide: WideRows,
        src: &Self::Buf,
        from: WideEmbedding<'_>,
    ) -> Result<Vec<Vec<Complex64>>> {
        decode_wide_slots(self, wide, src, from)
    }
}

/// Calls f(j, values) for each digit d_j of `c`, with its values modulo the primes of the shape.
pub(crate) fn for_wide_digits<R: WidePolyOps>(
    ring: &R,
    shape: &WideSwitchShape,
    c: &R::Buf,
    mut f: impl FnMut(usize, R::Buf) -> Result<()>,
) -> Result<()> {
    let mut rest: Option<R::Buf> = None;
    let mut left = WideRows::new(shape.bits, shape.batch);
    for j in 0..shape.digits() {
        let from = rest.as_ref().unwrap_or(c);
        let digit = WideRows { bits: shape.digit_bits.min(left.bits), ..left };
        f(j, ring.wide_values(digit, from, shape.span)?)?;
        if left.bits > shape.digit_bits {
            // (c - d_j) / 2^w: rounding halves up leaves centred digits.
            let next = WideRows { bits: left.bits - shape.digit_bits, ..left };
            let mut shifted = ring.backend().scratch(next.count() * ring.spec().n())?;
            ring.wide_shift_round(left, from, shape.digit_bits, next, &mut shifted)?;
            (rest, left) = (Some(shifted), next);
        }
    }
    Ok(())
}

/// round(P^-1 sum) modulo 2^bits for both sums of a key switch, given by their values, plus the
/// addends.
pub(crate) fn round_wide_sums<R: WidePolyOps>(
    ring: &R,
    shape: &WideSwitchShape,
    sums: [R::Buf; 2],
    addend: [Option<&R::Buf>; 2],
) -> Result<[R::Buf; 2]> {
    let rows = Rows::new(shape.span, shape.batch);
    let from = WideRows::new(shape.bits + shape.special_bits, shape.batch);
    let to = WideRows::new(shape.bits, shape.batch);
    let part = |sum: R::Buf, addend: Option<&R::Buf>| -> Result<R::Buf> {
        let product = ring.wide_from_values(rows, sum, from.bits)?;
        let mut rounded = ring.backend().scratch(to.count() * ring.spec().n())?;
        ring.wide_shift_round(from, &product, shape.special_bits, to, &mut rounded)?;
        if let Some(addend) = addend {
            ring.wide_add_assign(to, &mut rounded, Operand::new(addend, to.batch))?;
        }
        Ok(rounded)
    };
    let [first, second] = sums;
    Ok([part(first, addend[0])?, part(second, addend[1])?])
}
