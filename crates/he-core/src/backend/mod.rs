//! Back ends: the memory of one device and the ring operations on it.
//!
//! # Contract
//! Every implementation must satisfy this page; `conformance` tests it, [`Mirror`](crate::conformance::Mirror)
//! checks any program against another back end.
//!
//! - **Words.** From the same inputs every back end leaves the same words, bit for bit. Inputs and outputs are canonical
//!   residues in `[0, q)`. Lazy ranges never leave an operation.
//! - **Layout.** A buffer is flat. [`Rows`] says where limbs lie: limb i, batch entry b, coefficient k at word
//!   `at + (i batch + b) N + k`. Values in evaluation form follow the order of [`NttTable`](crate::ring::NttTable).
//! - **Aliasing.** `&mut` and `&` operands never overlap; a buffer is exactly one allocation.
//! - **Order.** Operations on one back-end value act as if in program order. A device may run behind the host; an error may
//!   then surface in a later call, at the latest in `synchronize` or `download`.
//! - **Lifetime.** Nothing keeps a pointer into host memory after a call returns.
//! - **Secrets.** `wipe` overwrites in a way that is not optimised away. On the CPU no operation's time depends on words.
//! - **Empty.** No words, no limbs and no terms are valid and leave nothing to do.
//! - **Alignment.** Every offset is a multiple of N. Lists of constants may be longer than there are limbs.
//! - **Sizes.** Callers guarantee that buffers hold the rows that they name, that spans exist in the ring and that a Galois
//!   element is odd; back ends check by `debug_assert`.

mod cpu;
pub mod delegate;
mod embedding;
mod plain_phase;
mod remainders;
mod scaled_tensor;
mod wide;

pub use cpu::Cpu;
pub use embedding::{Embedding, decode_slots, encode_slots};
pub(crate) use embedding::{WIDE_BITS, check_vectors, coefficient_bits, largest_magnitude};
pub(crate) use plain_phase::center_down;
pub use plain_phase::{PlainPhase, encrypt, plain_phase};
pub use remainders::{Remainders, remainders};
pub(crate) use remainders::{remainders_of, scaled_phase};
pub use scaled_tensor::{ScaledTensor, scaled_tensor};
pub use wide::{
    WideConstants, WideEmbedding, WideOps, WideRows, WideSwitchShape, covering_span, decode_wide_slots,
    encode_wide_slots,
};
pub(crate) use wide::{magnitude_words, needed_bits, round_scaled};

use crate::arith::Modulus;
use crate::error::Result;
use crate::ring::{BaseConversion, DomainKind, Operand, RingSpec, Rows, Seed, Span};
use crate::secret_words::SecretWords;
use num_complex::Complex64;
use std::fmt::Debug;
use std::ops::Range;

/// Memory of one device.
pub trait Backend: Clone + Debug + Send + Sync + 'static {
    /// One allocation of 64-bit words.
    type Buf: Send + Sync;
    /// Constants of one ring on the device.
    type Tables: Send + Sync;

    /// What it is, for people.
    fn name(&self) -> String;
    /// Prepares a ring.
    ///
    /// # Errors
    /// Device errors; parameters are already checked.
    fn tables(&self, spec: &RingSpec) -> Result<Self::Tables>;
    /// `words` words, all zero.
    ///
    /// # Errors
    /// Device errors.
    fn zeros(&self, words: usize) -> Result<Self::Buf>;
    /// `words` words of any value, for results that overwrite every one of them.
    ///
    /// # Errors
    /// Device errors.
    fn scratch(&self, words: usize) -> Result<Self::Buf> {
        self.zeros(words)
    }
    /// A buffer with these words.
    ///
    /// # Errors
    /// Device errors.
    fn upload(&self, words: &[u64]) -> Result<Self::Buf>;
    /// The words of a range.
    ///
    /// # Errors
    /// Device errors, those of earlier operations included.
    fn download(&self, buf: &Self::Buf, range: Range<usize>) -> Result<Vec<u64>>;
    /// All words, of which no trace is left in the buffer: it is wiped and holds none.
    ///
    /// # Errors
    /// As for [`download`](Self::download).
    fn take(&self, buf: &mut Self::Buf) -> Result<Vec<u64>> {
        let words = self.download(buf, 0..self.words(buf));
        self.wipe(buf);
        self.truncate(buf, 0);
        words
    }
    /// Copies words within the device.
    ///
    /// # Errors
    /// Device errors.
    fn copy(
        &self,
        src: &Self::Buf,
        src_at: usize,
        dst: &mut Self::Buf,
        dst_at: usize,
        words: usize,
    ) -> Result<()>;
    /// Number of words.
    fn words(&self, buf: &Self::Buf) -> usize;
    /// Keeps the first `words` words; copies nothing.
    fn truncate(&self, buf: &mut Self::Buf, words: usize);
    /// Overwrites every word with zero.
    fn wipe(&self, buf: &mut Self::Buf);
    /// Waits until everything is done.
    ///
    /// # Errors
    /// Errors of earlier operations.
    fn synchronize(&self) -> Result<()>;
    /// Does `work`, whose operations the device may get together, which costs less where they are many and small. They are done in their
    /// order; errors of operations may come at the end. As provided: nothing but `work`.
    ///
    /// # Errors
    /// What `work` returns; device errors.
    fn together<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T>
    where
        Self: Sized,
    {
        work()
    }
}

/// Shape of a key switch at some level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySwitchShape {
    /// Digits as ranges of chain primes, in order, covering `0..q`.
    pub digits: Vec<Range<usize>>,
    /// Chain primes of the ciphertext.
    pub q: usize,
    /// Chain primes of the key, at least `q`.
    pub key_q: usize,
    /// Special primes.
    pub p: usize,
    /// Batch of the ciphertext. Keys have batch 1.
    pub batch: usize,
}

impl KeySwitchShape {
    /// The primes of the digits and of the results: the ciphertext's and the special ones.
    pub const fn span(&self) -> Span {
        Span::extended(self.q, self.p)
    }

    /// Words of one decomposed digit, for ring degree n.
    pub const fn digit_words(&self, n: usize) -> usize {
        self.span().limbs() * self.batch * n
    }

    /// First word of part `part` (0: b, 1: a) of digit `digit` in a key buffer.
    pub const fn key_at(&self, digit: usize, part: usize, n: usize) -> usize {
        (2 * digit + part) * (self.key_q + self.p) * n
    }
}

/// One term of a sum of rotations: weight times the ciphertext rotated by Galois element g.
#[derive(Debug)]
pub struct RotationTerm<'a, T> {
    /// The Galois element; 1 takes the ciphertext as it is.
    pub g: u64,
    /// The key buffer for g; `None` exactly if g = 1.
    pub key: Option<&'a T>,
    /// The weight.
    pub weight: Weight<'a, T>,
}

/// A plaintext factor modulo every prime of Q P.
#[derive(Debug)]
pub enum Weight<'a, T> {
    /// A constant, one residue a limb of the extended span.
    Scalar(Vec<u64>),
    /// A polynomial in evaluation form, batch 1, with the limbs of the extended span.
    Poly(&'a T),
}

/// Operations on RNS polynomials. The small ones are required; the coarse ones, which decide the speed, have a provided body
/// composed of the small ones, which is their definition: a device may override them by fused kernels that leave the
/// same words.
pub trait RingOps: Backend {
    /// The ring that the tables were made for.
    fn spec<'a>(&self, t: &'a Self::Tables) -> &'a RingSpec;

    /// Coefficients to values, in place.
    ///
    /// # Errors
    /// Device errors; likewise for every operation below.
    fn ntt(&self, t: &Self::Tables, rows: Rows, a: &mut Self::Buf) -> Result<()>;
    /// Values to coefficients, in place.
    fn intt(&self, t: &Self::Tables, rows: Rows, a: &mut Self::Buf) -> Result<()>;
    /// a <- a + b.
    fn add_assign(
        &self,
        t: &Self::Tables,
        rows: Rows,
        a: &mut Self::Buf,
        b: Operand<'_, Self::Buf>,
    ) -> Result<()>;
    /// a <- a - b.
    fn sub_assign(
        &self,
        t: &Self::Tables,
        rows: Rows,
        a: &mut Self::Buf,
        b: Operand<'_, Self::Buf>,
    ) -> Result<()>;
    /// a <- -a.
    fn neg_assign(&self, t: &Self::Tables, rows: Rows, a: &mut Self::Buf) -> Result<()>;
    /// a <- a b, word by word: the ring product in evaluation form.
    fn mul_assign(
        &self,
        t: &Self::Tables,
        rows: Rows,
        a: &mut Self::Buf,
        b: Operand<'_, Self::Buf>,
    ) -> Result<()>;
    /// acc <- acc + x y, word by word.
    fn mul_add_assign(
        &self,
        t: &Self::Tables,
        rows: Rows,
        acc: &mut Self::Buf,
        x: Operand<'_, Self::Buf>,
        y: Operand<'_, Self::Buf>,
    ) -> Result<()>;
    /// a <- c a with one constant a limb, `factors[i]` in `[0, q_i)`.
    fn scale_assign(&self, t: &Self::Tables, rows: Rows, a: &mut Self::Buf, factors: &[u64]) -> Result<()>;
    /// acc <- acc + c x with one constant a limb.
    fn scale_add_assign(
        &self,
        t: &Self::Tables,
        rows: Rows,
        acc: &mut Self::Buf,
        x: Operand<'_, Self::Buf>,
        factors: &[u64],
    ) -> Result<()>;
    /// a <- a + c in every word, one constant a limb: the constant polynomial c in evaluation form.
    fn shift_assign(&self, t: &Self::Tables, rows: Rows, a: &mut Self::Buf, terms: &[u64]) -> Result<()>;
    /// dst <- src(X^g) for odd g < 2N.
    fn automorphism(
        &self,
        t: &Self::Tables,
        rows: Rows,
        domain: DomainKind,
        g: u64,
        src: Operand<'_, Self::Buf>,
        dst: &mut Self::Buf,
    ) -> Result<()>;
    /// Coefficients modulo the primes of `from` to those of `to`, as [`BaseConversion`] defines; both have one batch.
    /// Towards a prime of `from` itself it is the identity.
    fn convert_basis(
        &self,
        t: &Self::Tables,
        from: Rows,
        src: &Self::Buf,
        to: Rows,
        dst: &mut Self::Buf,
    ) -> Result<()>;
    /// Signed words (two's complement, batch x N of them) modulo every prime of the rows.
    fn reduce_signed(&self, t: &Self::Tables, rows: Rows, src: &Self::Buf, dst: &mut Self::Buf)
    -> Result<()>;
    /// Uniform residues of polynomial `index` under `seed`, as [`uniform_row`](crate::ring::uniform_row); batch entry b
    /// starts at element b N.
    fn sample_uniform(
        &self,
        t: &Self::Tables,
        rows: Rows,
        seed: &Seed,
        index: u32,
        dst: &mut Self::Buf,
    ) -> Result<()>;
    /// Ternary coefficients, as [`ternary_row`](crate::ring::ternary_row), modulo every prime of the rows.
    fn sample_ternary(
        &self,
        t: &Self::Tables,
        rows: Rows,
        seed: &Seed,
        index: u32,
        dst: &mut Self::Buf,
    ) -> Result<()>;
    /// Errors, as [`error_row`](crate::ring::error_row), modulo every prime of the rows.
    fn sample_error(
        &self,
        t: &Self::Tables,
        rows: Rows,
        seed: &Seed,
        index: u32,
        dst: &mut Self::Buf,
    ) -> Result<()>;

    /// (a0 b0, a0 b1 + a1 b0, a1 b1) in evaluation form; the rows start at word 0.
    fn tensor(
        &self,
        t: &Self::Tables,
        rows: Rows,
        a: [Operand<'_, Self::Buf>; 2],
        b: [Operand<'_, Self::Buf>; 2],
    ) -> Result<[Self::Buf; 3]> {
        let words = rows.count() * self.spec(t).n();
        let mut d = [self.zeros(words)?, self.zeros(words)?, self.zeros(words)?];
        self.mul_add_assign(t, rows, &mut d[0], a[0], b[0])?;
        self.mul_add_assign(t, rows, &mut d[1], a[0], b[1])?;
        self.mul_add_assign(t, rows, &mut d[1], a[1], b[0])?;
        self.mul_add_assign(t, rows, &mut d[2], a[1], b[1])?;
        Ok(d)
    }

    /// (a0 + b0, a1 + b1); the rows start at word 0 and have the batch of `a`, `b` that or one.
    fn add_pairs(
        &self,
        t: &Self::Tables,
        rows: Rows,
        a: [Operand<'_, Self::Buf>; 2],
        b: [Operand<'_, Self::Buf>; 2],
    ) -> Result<[Self::Buf; 2]> {
        let [first, second] = a;
        let mut sums = [copy_of(self, t, rows, first)?, copy_of(self, t, rows, second)?];
        for (sum, b) in sums.iter_mut().zip(b) {
            self.add_assign(t, rows, sum, b)?;
        }
        Ok(sums)
    }

    /// (a0 - b0, a1 - b1), likewise.
    fn sub_pairs(
        &self,
        t: &Self::Tables,
        rows: Rows,
        a: [Operand<'_, Self::Buf>; 2],
        b: [Operand<'_, Self::Buf>; 2],
    ) -> Result<[Self::Buf; 2]> {
        let [first, second] = a;
        let mut differences = [copy_of(self, t, rows, first)?, copy_of(self, t, rows, second)?];
        for (difference, b) in differences.iter_mut().zip(b) {
            self.sub_assign(t, rows, difference, b)?;
        }
        Ok(differences)
    }

    /// a + x y, word by word; the rows start at word 0 and have the batch of `a`, `x` and `y` that or one.
    fn mul_add(
        &self,
        t: &Self::Tables,
        rows: Rows,
        a: Operand<'_, Self::Buf>,
        x: Operand<'_, Self::Buf>,
        y: Operand<'_, Self::Buf>,
    ) -> Result<Self::Buf> {
        let mut sum = copy_of(self, t, rows, a)?;
        self.mul_add_assign(t, rows, &mut sum, x, y)?;
        Ok(sum)
    }

    /// ModUp of key switching: `src` over the chain primes `0..q`, in evaluation form, to its digits over Q P in evaluation
    /// form, one digit after the other. Digit j is the representative of src mod D_j in `[-D_j/2, D_j/2)`.
    fn decompose(&self, t: &Self::Tables, shape: &KeySwitchShape, src: &Self::Buf) -> Result<Self::Buf> {
        let n = self.spec(t).n();
        let chain = Rows::new(Span::chain(shape.q), shape.batch);
        let mut coefficients = self.zeros(chain.count() * n)?;
        self.copy(src, 0, &mut coefficients, 0, chain.count() * n)?;
        self.intt(t, chain, &mut coefficients)?;
        let mut digits = self.zeros(shape.digits.len() * shape.digit_words(n))?;
        for (j, digit) in shape.digits.iter().enumerate() {
            let from =
                Rows::new(Span::digit(digit.start, digit.end), shape.batch).at(digit.start * shape.batch * n);
            let to = Rows::new(shape.span(), shape.batch).at(j * shape.digit_words(n));
            self.convert_basis(t, from, &coefficients, to, &mut digits)?;
            self.ntt(t, to, &mut digits)?;
        }
        Ok(digits)
    }

    /// Inner products of the digits with both parts of a key, over Q P in evaluation form.
    fn key_product(
        &self,
        t: &Self::Tables,
        shape: &KeySwitchShape,
        digits: &Self::Buf,
        key: &Self::Buf,
    ) -> Result<[Self::Buf; 2]> {
        let n = self.spec(t).n();
        let mut sums = [self.zeros(shape.digit_words(n))?, self.zeros(shape.digit_words(n))?];
        let parts = [
            (Rows::new(Span::chain(shape.q), shape.batch), 0),
            (Rows::new(Span::special(shape.p), shape.batch).at(shape.q * shape.batch * n), shape.key_q * n),
        ];
        for (part, sum) in sums.iter_mut().enumerate() {
            for j in 0..shape.digits.len() {
                for (rows, key_offset) in parts {
                    let x = Operand::at(digits, shape.batch, j * shape.digit_words(n) + rows.at);
                    let y = Operand::at(key, 1, shape.key_at(j, part, n) + key_offset);
                    self.mul_add_assign(t, rows, sum, x, y)?;
                }
            }
        }
        Ok(sums)
    }

    /// Division with rounding to nearest by the product D of the limbs from `keep` on, in evaluation form: the result holds
    /// the first `keep` limbs, all of the chain. Equals `(x - [x]_D) / D` with `[x]_D` in `[-D/2, D/2)`. ModDown drops the special
    /// primes, rescale the last of the chain, and both can be one division.
    fn mod_down(
        &self,
        t: &Self::Tables,
        span: Span,
        keep: usize,
        batch: usize,
        mut src: Self::Buf,
    ) -> Result<Self::Buf> {
        let n = self.spec(t).n();
        let kept = Rows::new(Span { start: span.start, q: span.start + keep, p: 0 }, batch);
        let dropped = Rows::new(span.tail(keep), batch).at(keep * batch * n);
        self.intt(t, dropped, &mut src)?;
        let mut remainder = self.zeros(kept.count() * n)?;
        self.convert_basis(t, dropped, &src, kept, &mut remainder)?;
        self.ntt(t, kept, &mut remainder)?;
        self.truncate(&mut src, kept.count() * n);
        self.sub_assign(t, kept, &mut src, Operand::new(&remainder, batch))?;
        self.scale_assign(t, kept, &mut src, &inverse_of_dropped(self.spec(t), span, keep))?;
        Ok(src)
    }

    /// The pair that the triple `d` over the chain becomes by key switching d2, divided by the chain's primes from `keep` on, all
    /// in one division: `(d0, d1) + (sum_j digit_j(d2) key_j) / P`, rounded once.
    fn relinearize(
        &self,
        t: &Self::Tables,
        shape: &KeySwitchShape,
        d: [&Self::Buf; 3],
        key: &Self::Buf,
        keep: usize,
    ) -> Result<[Self::Buf; 2]> {
        let digits = self.decompose(t, shape, d[2])?;
        let sums = self.key_product(t, shape, &digits, key)?;
        let p_factors = special_product(self.spec(t), shape.q, shape.p);
        let chain = Rows::new(Span::chain(shape.q), shape.batch);
        let finish = |mut sum: Self::Buf, d: &Self::Buf| {
            self.scale_add_assign(t, chain, &mut sum, Operand::new(d, shape.batch), &p_factors)?;
            self.mod_down(t, shape.span(), keep, shape.batch, sum)
        };
        let [sum0, sum1] = sums;
        Ok([finish(sum0, d[0])?, finish(sum1, d[1])?])
    }

    /// The image of c = (c0, c1) over the chain under X -> X^g, `digits` = [`decompose`](Self::decompose) of c1 and `key` made for
    /// g's inverse image of the secret: `((c0, 0) + (sum_j digit_j key_j) / P)(X^g)`.
    fn switch_automorphism(
        &self,
        t: &Self::Tables,
        shape: &KeySwitchShape,
        c0: &Self::Buf,
        digits: &Self::Buf,
        key: &Self::Buf,
        g: u64,
    ) -> Result<[Self::Buf; 2]> {
        let chain = Rows::new(Span::chain(shape.q), shape.batch);
        let words = chain.count() * self.spec(t).n();
        let image = |sum: Self::Buf, addend: Option<&Self::Buf>| -> Result<Self::Buf> {
            let mut part = self.mod_down(t, shape.span(), shape.q, shape.batch, sum)?;
            if let Some(addend) = addend {
                self.add_assign(t, chain, &mut part, Operand::new(addend, shape.batch))?;
            }
            let mut image = self.scratch(words)?;
            let part = Operand::new(&part, shape.batch);
            self.automorphism(t, chain, DomainKind::Eval, g, part, &mut image)?;
            Ok(image)
        };
        let [sum0, sum1] = self.key_product(t, shape, digits, key)?;
        Ok([image(sum0, Some(c0))?, image(sum1, None)?])
    }

    /// [`decompose`](Self::decompose) of c1, then [`switch_automorphism`](Self::switch_automorphism): one rotation.
    fn apply_automorphism(
        &self,
        t: &Self::Tables,
        shape: &KeySwitchShape,
        c: [&Self::Buf; 2],
        key: &Self::Buf,
        g: u64,
    ) -> Result<[Self::Buf; 2]> {
        let digits = self.decompose(t, shape, c[1])?;
        self.switch_automorphism(t, shape, c[0], &digits, key, g)
    }

    /// [`mod_down`](Self::mod_down) of two polynomials, which stay as they are.
    fn mod_down_pair(
        &self,
        t: &Self::Tables,
        span: Span,
        keep: usize,
        batch: usize,
        src: [&Self::Buf; 2],
    ) -> Result<[Self::Buf; 2]> {
        let divided = |src: &Self::Buf| {
            let copy = copy_of(self, t, Rows::new(span, batch), Operand::new(src, batch))?;
            self.mod_down(t, span, keep, batch, copy)
        };
        Ok([divided(src[0])?, divided(src[1])?])
    }

    /// P times sum_i weight_i rotation_i(c) over Q P, in evaluation form, without the division by P: c = (c0, c1) over the
    /// chain, `digits` = [`decompose`](Self::decompose) of c1. Rotation i switches the key by inner products
    /// with `key` (made for g's inverse image of the secret) and applies X -> X^g to both parts.
    fn rotate_and_sum(
        &self,
        t: &Self::Tables,
        shape: &KeySwitchShape,
        c: [&Self::Buf; 2],
        digits: &Self::Buf,
        terms: &[RotationTerm<'_, Self::Buf>],
    ) -> Result<[Self::Buf; 2]> {
        let n = self.spec(t).n();
        let rows = Rows::new(shape.span(), shape.batch);
        let chain = Rows::new(Span::chain(shape.q), shape.batch);
        let p_factors = special_product(self.spec(t), shape.q, shape.p);
        let words = shape.digit_words(n);
        let mut sums = [self.zeros(words)?, self.zeros(words)?];
        for term in terms {
            let mut parts = match term.key {
                Some(key) => self.key_product(t, shape, digits, key)?,
                None => {
                    let mut parts = [self.zeros(words)?, self.zeros(words)?];
                    self.scale_add_assign(
                        t,
                        chain,
                        &mut parts[1],
                        Operand::new(c[1], shape.batch),
                        &p_factors,
                    )?;
                    parts
                }
            };
            self.scale_add_assign(t, chain, &mut parts[0], Operand::new(c[0], shape.batch), &p_factors)?;
            for (sum, part) in sums.iter_mut().zip(parts) {
                let rotated = if term.g == 1 {
                    part
                } else {
                    let mut rotated = self.scratch(words)?;
                    self.automorphism(
                        t,
                        rows,
                        DomainKind::Eval,
                        term.g,
                        Operand::new(&part, shape.batch),
                        &mut rotated,
                    )?;
                    rotated
                };
                match &term.weight {
                    Weight::Scalar(factors) => {
                        self.scale_add_assign(t, rows, sum, Operand::new(&rotated, shape.batch), factors)?;
                    }
                    Weight::Poly(poly) => {
                        self.mul_add_assign(
                            t,
                            rows,
                            sum,
                            Operand::new(&rotated, shape.batch),
                            Operand::new(*poly, 1),
                        )?;
                    }
                }
            }
        }
        Ok(sums)
    }

    /// round(t a round(R b / Q) / R) for the three parts of the tensor product, over the chain's primes with product Q, in
    /// evaluation form: the scale-invariant product t a b / Q of BFV through an auxiliary modulus R. Operands are over the chain, in
    /// evaluation form, `a` with the batch of the shape and `b` with that or one. Representatives are the centred ones, each
    /// rounding to nearest, as [`convert_basis`](Self::convert_basis) and [`mod_down`](Self::mod_down) take them.
    fn scaled_tensor(
        &self,
        t: &Self::Tables,
        shape: &ScaledTensor,
        a: [Operand<'_, Self::Buf>; 2],
        b: [Operand<'_, Self::Buf>; 2],
    ) -> Result<[Self::Buf; 3]> {
        scaled_tensor(self, t, shape, a, b)
    }

    /// The phases of messages modulo t without noise, as coefficients: [f m]_t / t with [.]_t in `[-t/2, t/2)`. The rows start at
    /// word 0.
    fn plain_phase(
        &self,
        t: &Self::Tables,
        rows: Rows,
        message: PlainPhase<'_, Self::Buf>,
    ) -> Result<Self::Buf> {
        plain_phase(self, t, rows, message)
    }

    /// Encryptions by a public key (b, a), in evaluation form: (b v + e0 + phase, a v + e1), with v ternary polynomial 0 and e0, e1
    /// errors 0 and 1 under `seed`, and the phase that [`plain_phase`](Self::plain_phase) makes of the message, 0 without one. The rows
    /// start at word 0; the key has batch 1. Leaves no trace of v and e0, e1 in memory that it gives back.
    fn encrypt(
        &self,
        t: &Self::Tables,
        rows: Rows,
        seed: &Seed,
        key: [Operand<'_, Self::Buf>; 2],
        message: Option<PlainPhase<'_, Self::Buf>>,
    ) -> Result<[Self::Buf; 2]> {
        encrypt(self, t, rows, seed, key, message)
    }

    /// The coefficients of c0 + c1 s, operands in evaluation form over the chain's first primes, multiplied by the factors, taken
    /// in `[-Q/2, Q/2)` as [`BaseConversion`] does, modulo any modulus, and multiplied once more: batch x N words. The rows start at word 0,
    /// and the secret has batch 1. Leaves no trace of the phase in memory that it gives back.
    fn remainders(
        &self,
        t: &Self::Tables,
        rows: Rows,
        c: [Operand<'_, Self::Buf>; 2],
        secret: Operand<'_, Self::Buf>,
        to: Remainders<'_>,
    ) -> Result<Self::Buf> {
        remainders(self, t, rows, c, secret, to)
    }

    /// Words in another order: word k of each row is word `index[k]` of the same row of `src`, `index` being N words below N. The rows
    /// start at word 0 of both.
    fn gather(&self, t: &Self::Tables, rows: Rows, index: &Self::Buf, src: &Self::Buf) -> Result<Self::Buf> {
        let n = self.spec(t).n();
        let index = self.download(index, 0..n)?;
        let words = SecretWords::from(self.download(src, 0..rows.count() * n)?);
        let ordered = words.chunks_exact(n).flat_map(|row| index.iter().map(|&k| row[k as usize]));
        self.upload(&SecretWords::from(ordered.collect::<Vec<u64>>()))
    }

    /// The plaintexts of vectors of slots in evaluation form; the rows start at word 0, hold the chain's first primes and
    /// one batch entry a vector. Coefficients k (N / 2 slots) and N/2 + k (N / 2 slots) are round(Re z_k scale) and
    /// round(Im z_k scale), ties to even, with z = [`SpecialFft::inverse`](crate::ring::SpecialFft::inverse) of the vector
    /// padded with zeros; all others are 0. float64, in that order of operations; up to 126 bits and below the modulus.
    ///
    /// Waits for the device as far as the size of the coefficients needs it. Which path is taken depends on the greatest
    /// coefficient: 2^62 and beyond are rounded on the host.
    ///
    /// # Errors
    /// [`Error::TooManyValues`](crate::Error::TooManyValues) and [`Error::NotFinite`](crate::Error::NotFinite) of the first such
    /// vector; [`Error::ValueTooLarge`](crate::Error::ValueTooLarge) of the first of the greatest coefficients; device errors.
    fn encode_slots(
        &self,
        t: &Self::Tables,
        rows: Rows,
        vectors: &[&[Complex64]],
        to: Embedding<'_>,
    ) -> Result<Self::Buf> {
        encode_slots(self, t, rows, vectors, to)
    }

    /// The vectors of plaintexts in evaluation form over the chain's first primes: the inverse of
    /// [`encode_slots`](Self::encode_slots) up to rounding. Coefficients are composed as
    /// [`CrtComposer`](crate::ring::CrtComposer) does, multiplied by 1 / scale, and transformed by
    /// [`SpecialFft::forward`](crate::ring::SpecialFft::forward).
    ///
    /// The time depends on whether every coefficient lies below 2^191 in magnitude, and on no other value, if so.
    fn decode_slots(
        &self,
        t: &Self::Tables,
        rows: Rows,
        src: &Self::Buf,
        from: Embedding<'_>,
    ) -> Result<Vec<Vec<Complex64>>> {
        decode_slots(self, t, rows, src, from)
    }
}

/// A copy of an operand with the rows' batch.
fn copy_of<B: RingOps>(
    backend: &B,
    t: &B::Tables,
    rows: Rows,
    operand: Operand<'_, B::Buf>,
) -> Result<B::Buf> {
    let words = rows.count() * backend.spec(t).n();
    let mut copy = backend.scratch(words)?;
    backend.copy(operand.buf, operand.at, &mut copy, 0, words)?;
    Ok(copy)
}

/// D^-1 modulo each kept prime, D the product of the dropped ones: the constants of [`RingOps::mod_down`].
pub fn inverse_of_dropped(spec: &RingSpec, span: Span, keep: usize) -> Vec<u64> {
    let dropped = spec.moduli_of(span).skip(keep);
    spec.moduli_of(span).take(keep).map(|q| q.inv(q.product_of(dropped.clone()))).collect()
}

/// P modulo the first `q` primes of the chain, P the product of the first `p` special ones.
pub fn special_product(spec: &RingSpec, q: usize, p: usize) -> Vec<u64> {
    spec.q_moduli()[..q].iter().map(|q| q.product_of(&spec.p_moduli()[..p])).collect()
}

/// The conversion between two sets of primes of a ring, for back ends that prepare it.
pub fn base_conversion(spec: &RingSpec, from: Span, to: Span) -> BaseConversion {
    base_conversion_to(spec, from, &spec.moduli_of(to).copied().collect::<Vec<_>>())
}

/// The conversion from a set of primes of a ring to any moduli.
pub fn base_conversion_to(spec: &RingSpec, from: Span, to: &[Modulus]) -> BaseConversion {
    BaseConversion::new(&spec.moduli_of(from).copied().collect::<Vec<_>>(), to)
}
