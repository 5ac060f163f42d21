//! Back ends: the memory of one device, and rings that are prepared on it.
//!
//! A [`Backend`] is the memory. It prepares a [`PreparedRing`] for a [`RingSpec`]: the constants of
//! that ring on that device, whose methods are the operations ([`PolyOps`], [`KeySwitchOps`],
//! [`CkksOps`], [`ExactOps`], [`MatrixOps`], [`WidePolyOps`]). Types that are generic over the back
//! end ask for [`RingOps`] or [`WideOps`], which say what its rings can do.
//!
//! # Contract
//! Every implementation must satisfy this page; `conformance` tests it,
//! [`Mirror`](crate::conformance::Mirror) checks any program against another back end.
//!
//! - **Words.** From the same inputs every back end leaves the same words, bit for bit. Inputs and
//!   outputs are canonical residues in `[0, q)`. Lazy ranges never leave an operation.
//! - **Layout.** A buffer is flat. [`Rows`] says where limbs lie: limb i, batch entry b,
//!   coefficient k at word `at + (i batch + b) N + k`. Values in evaluation form follow the order
//!   of [`NttTable`](crate::ring::NttTable).
//! - **Aliasing.** `&mut` and `&` operands never overlap; a buffer is exactly one allocation.
//! - **Order.** Operations on one back-end value act as if in program order. A device may run
//!   behind the host; an error may then surface in a later call, at the latest in `synchronize` or
//!   `download`.
//! - **Lifetime.** Nothing keeps a pointer into host memory after a call returns, except into that
//!   of a [`HostVector`], which waits before it is written or dropped.
//! - **Secrets.** `wipe` overwrites in a way that is not optimised away. On the CPU no operation's
//!   time depends on words.
//! - **Empty.** Empty lists of words, limbs and terms are valid and leave nothing to do.
//! - **Alignment.** Every offset is a multiple of N, except those of matrices. Lists of constants
//!   may be longer than there are limbs.
//! - **Sizes.** Callers guarantee that buffers hold the rows that they name, that spans exist in
//!   the ring and that a Galois element is odd; back ends check by `debug_assert`.

mod cpu;
pub mod delegate;
mod embedding;
mod exact;
mod greatest_squares;
mod host_vector;
mod key_switch;
mod matrix;
mod message_phase;
mod opaque;
mod phase_mod_t;
mod scaled_tensor;
mod tally;
mod wide;

pub use cpu::{Cpu, CpuBuf};
pub use embedding::{CkksOps, Embedding, decode_slots, encode_slots};
pub(crate) use embedding::{
    WIDE_BITS, check_finite, check_vectors, coefficient_bits, decode_coefficients, encode_coefficients,
    largest_magnitude,
};
pub use exact::ExactOps;
pub use greatest_squares::greatest_squares;
pub use host_vector::{HostMemory, HostVector};
pub use key_switch::{GiantStep, KeySwitchOps, KeySwitchShape, Rotation, RotationBlocks, Weight};
pub use matrix::{LeftMatrix, MatrixNumbers, MatrixOps, MatrixProduct, RightMatrix};
pub(crate) use message_phase::center_down;
pub use message_phase::{MessagePhase, encrypt, message_phase};
pub use opaque::{DigitBuf, KeyBuf, KeyShape};
pub use phase_mod_t::{PhaseModT, phase_mod_t};
pub(crate) use phase_mod_t::{reduce_phase, with_scaled_phase};
pub use scaled_tensor::{ScaledTensor, scaled_tensor};
pub use tally::{Tally, TallyRing};
pub use wide::{
    WideConstants, WideEmbedding, WidePolyOps, WideRows, WideSwitchShape, covering_span, decode_wide_slots,
    encode_wide_slots,
};
pub(crate) use wide::{for_wide_digits, magnitude_words, needed_bits, round_scaled, round_wide_sums};

use crate::arith::Modulus;
use crate::error::Result;
use crate::ring::{BaseConversion, DomainKind, Operand, RingSpec, Rows, Seed, Span};
use crate::secret_words::SecretWords;
use std::fmt::Debug;
use std::ops::Range;

/// The memory of one device.
pub trait Backend: Clone + Debug + Send + Sync + 'static {
    /// One allocation of 64-bit words.
    type Buf: Send + Sync;
    /// A ring that was prepared on the device: its constants and its operations.
    type Ring: PreparedRing<Backend = Self, Buf = Self::Buf>;

    /// A description for people.
    fn name(&self) -> String;
    /// Prepares a ring.
    ///
    /// # Errors
    /// Device errors; parameters are already checked.
    fn prepare(&self, spec: &RingSpec) -> Result<Self::Ring>;
    /// Allocates `words` words, all zero.
    ///
    /// # Errors
    /// Device errors.
    fn zeros(&self, words: usize) -> Result<Self::Buf>;
    /// Allocates `words` words of any value, for results that overwrite all of them.
    ///
    /// # Errors
    /// Device errors.
    fn scratch(&self, words: usize) -> Result<Self::Buf> {
        self.zeros(words)
    }
    /// Allocates a buffer with these words.
    ///
    /// # Errors
    /// Device errors.
    fn upload(&self, words: &[u64]) -> Result<Self::Buf>;
    /// Zeros for `count` complex numbers, in memory of the host that the device reads by itself if
    /// it can. The provided body takes ordinary memory.
    ///
    /// # Errors
    /// Device errors.
    fn host_vector(&self, count: usize) -> Result<HostVector> {
        Ok(HostVector::ordinary(count))
    }
    /// Downloads the words of a range.
    ///
    /// # Errors
    /// Device errors, including those of earlier operations.
    fn download(&self, buf: &Self::Buf, range: Range<usize>) -> Result<Vec<u64>>;
    /// Downloads all words and leaves no trace of them in the buffer, which is wiped and empty
    /// afterwards.
    ///
    /// # Errors
    /// The same as for [`download`](Self::download).
    fn take(&self, buf: &mut Self::Buf) -> Result<Vec<u64>> {
        let words = self.download(buf, 0..self.words(buf));
        self.wipe(buf);
        self.truncate(buf, 0);
        words
    }
    /// Hands all words to `read`, in place where the host can read them there, and leaves no trace
    /// of them: the buffer is consumed, and the words are wiped when `read` returns or panics. The
    /// provided body hands over what [`take`](Self::take) downloads.
    ///
    /// # Errors
    /// The same as for [`take`](Self::take), in which case `read` is not called; the errors of
    /// `read`.
    fn take_with<T>(&self, mut buf: Self::Buf, read: impl FnOnce(&[u64]) -> Result<T>) -> Result<T> {
        let words = SecretWords::from(self.take(&mut buf)?);
        drop(buf);
        read(&words)
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
    /// Copies `count` blocks of `words` words each within the device. The provided body copies them
    /// one by one.
    ///
    /// # Errors
    /// Device errors.
    fn copy_blocks(
        &self,
        src: &Self::Buf,
        from: Blocks,
        dst: &mut Self::Buf,
        to: Blocks,
        words: usize,
        count: usize,
    ) -> Result<()> {
        (0..count).try_for_each(|i| self.copy(src, from.block(i), dst, to.block(i), words))
    }
    /// Copies blocks of `words` words each from listed places to listed places within the device,
    /// in each of `runs` runs, whose first words are those of `from` and `to`: for each `[f, t]` of
    /// `places`, the block at f `words` words of a run goes to t `words` words of the same run of
    /// the destination. No two go to the same place. Places are public. The provided body copies
    /// the blocks one by one.
    ///
    /// # Errors
    /// Device errors.
    fn copy_places(
        &self,
        src: &Self::Buf,
        from: Blocks,
        dst: &mut Self::Buf,
        to: Blocks,
        places: &[[usize; 2]],
        [words, runs]: [usize; 2],
    ) -> Result<()> {
        (0..runs).flat_map(|run| places.iter().map(move |place| (run, place))).try_for_each(
            |(run, [f, t])| {
                self.copy(src, from.block(run) + f * words, dst, to.block(run) + t * words, words)
            },
        )
    }
    /// Joins buffers run by run within the device: each of the `runs` runs of `dst` has the words
    /// of this run of every part in turn. A part is a buffer with as many runs, from its start on,
    /// of so many words. The provided body copies part by part.
    ///
    /// # Errors
    /// Device errors.
    fn join_runs(&self, parts: &[(&Self::Buf, usize)], dst: &mut Self::Buf, runs: usize) -> Result<()> {
        let step = parts.iter().map(|(_, words)| words).sum();
        let mut at = 0;
        parts.iter().try_for_each(|&(part, words)| {
            let (from, to) = (Blocks { at: 0, step: words }, Blocks { at, step });
            at += words;
            self.copy_blocks(part, from, dst, to, words, runs)
        })
    }
    /// Transposes `count` matrices of words within the device, which lie one behind the other from
    /// word `src_at` and then `dst_at` on: word j of row i becomes word i of row j. The provided
    /// body copies row by row.
    ///
    /// # Errors
    /// Device errors.
    fn transpose_words(
        &self,
        src: &Self::Buf,
        src_at: usize,
        dst: &mut Self::Buf,
        dst_at: usize,
        [rows, columns]: [usize; 2],
        count: usize,
    ) -> Result<()> {
        (0..count).flat_map(|matrix| (0..rows).map(move |row| (matrix * rows * columns, row))).try_for_each(
            |(matrix, row)| {
                let from = Blocks { at: src_at + matrix + row * columns, step: 1 };
                let to = Blocks { at: dst_at + matrix + row, step: rows };
                self.copy_blocks(src, from, dst, to, 1, columns)
            },
        )
    }
    /// The number of words.
    fn words(&self, buf: &Self::Buf) -> usize;
    /// Keeps the first `words` words, without copying.
    fn truncate(&self, buf: &mut Self::Buf, words: usize);
    /// Overwrites every word with zero.
    fn wipe(&self, buf: &mut Self::Buf);
    /// Asks those who oversee the back end whether the work goes on: before long work of the host
    /// that serves it, and between the pieces of such work. The provided body never ends work.
    ///
    /// # Errors
    /// [`Error::Cancelled`](crate::Error::Cancelled) if it is to end.
    fn check(&self) -> Result<()> {
        Ok(())
    }
    /// Tells those who oversee the back end of the [work](crate::Overseer::worked) of operations
    /// that were submitted. The provided body tells nobody.
    fn worked(&self, work: u64) {
        let _ = work;
    }
    /// The entries of a batch that work in many steps takes through all of them at once, where the
    /// steps give buffers of the same lengths back for the next such portion. At least 1; the
    /// results do not depend on it. The provided body takes whole batches.
    fn portion(&self) -> usize {
        usize::MAX
    }
    /// Waits until everything is done.
    ///
    /// # Errors
    /// Errors of earlier operations.
    fn synchronize(&self) -> Result<()>;
    /// Runs `work`, whose operations the back end may submit as one batch, which is cheaper when
    /// there are many small ones. They keep their order; errors of operations may be reported at
    /// the end. The provided body only runs `work`.
    ///
    /// # Errors
    /// The errors of `work`; device errors.
    fn batched<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T>
    where
        Self: Sized,
    {
        work()
    }
}

/// The places of blocks of words in a buffer: the first at word `at`, each next one `step` words
/// further on. Blocks do not overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// The first word of the first block.
    pub at: usize,
    /// The words from the beginning of one block to that of the next.
    pub step: usize,
}

impl Blocks {
    /// The first word of block i.
    pub const fn block(self, i: usize) -> usize {
        self.at + i * self.step
    }
}

/// A ring that a back end has prepared.
///
/// It holds the constants of one [`RingSpec`] on one device, and the operations of the ring are its
/// methods ([`PolyOps`] and the traits above it). No operation can therefore meet the constants of
/// another ring, or of another device.
///
/// ```
/// use he_core::backend::{Backend, Cpu, PolyOps, PreparedRing};
/// use he_core::ring::{RingSpec, Rows, Span};
///
/// let cpu = Cpu::new();
/// let ring = cpu.prepare(&RingSpec::new(3, vec![97, 113], vec![])?)?;
/// let rows = Rows::new(Span::chain(2), 1);
/// let mut a = cpu.upload(&[7; 16])?;
/// ring.ntt(rows, &mut a)?;
/// ring.intt(rows, &mut a)?;
/// assert_eq!(ring.backend().download(&a, 0..16)?, [7; 16]);
/// # Ok::<(), he_core::Error>(())
/// ```
pub trait PreparedRing: Send + Sync + Sized {
    /// One allocation of words: [`Backend::Buf`].
    type Buf: Send + Sync;
    /// The back end that prepared the ring.
    type Backend: Backend<Buf = Self::Buf, Ring = Self>;

    /// The device, on which the operations run.
    fn backend(&self) -> &Self::Backend;
    /// The ring for which the constants were made.
    fn spec(&self) -> &RingSpec;
    /// Prepares another ring of the same degree on the same device. Constants of primes that both
    /// have may be shared.
    ///
    /// # Errors
    /// Device errors.
    fn prepare_beside(&self, spec: &RingSpec) -> Result<Self> {
        self.backend().prepare(spec)
    }
}

/// Both parts of a ciphertext.
pub type Pair<'a, T> = [Operand<'a, T>; 2];

/// A multiple of a ciphertext in a sum.
#[derive(Debug)]
pub struct Multiple<'a, T> {
    /// Both parts.
    pub pair: Pair<'a, T>,
    /// The constant by which both are multiplied, modulo the prime of each limb.
    pub factors: Vec<u64>,
}

/// Operations on RNS polynomials: the operations of the ring. The small ones are required; the
/// others have a provided body composed of the small ones, which is their definition: a device may
/// override them by fused kernels that leave the same words.
pub trait PolyOps: PreparedRing {
    /// Coefficients to values, in place.
    ///
    /// # Errors
    /// Device errors; likewise for every operation below.
    fn ntt(&self, rows: Rows, a: &mut Self::Buf) -> Result<()>;
    /// Values to coefficients, in place.
    fn intt(&self, rows: Rows, a: &mut Self::Buf) -> Result<()>;
    /// a <- a + b.
    fn add_assign(&self, rows: Rows, a: &mut Self::Buf, b: Operand<'_, Self::Buf>) -> Result<()>;
    /// a <- a - b.
    fn sub_assign(&self, rows: Rows, a: &mut Self::Buf, b: Operand<'_, Self::Buf>) -> Result<()>;
    /// a <- -a.
    fn neg_assign(&self, rows: Rows, a: &mut Self::Buf) -> Result<()>;
    /// a <- a b, word by word: the ring product in evaluation form.
    fn mul_assign(&self, rows: Rows, a: &mut Self::Buf, b: Operand<'_, Self::Buf>) -> Result<()>;
    /// acc <- acc + x y, word by word.
    fn mul_add_assign(
        &self,
        rows: Rows,
        acc: &mut Self::Buf,
        x: Operand<'_, Self::Buf>,
        y: Operand<'_, Self::Buf>,
    ) -> Result<()>;
    /// a <- c a with one constant per limb, `factors[i]` in `[0, q_i)`.
    fn scale_assign(&self, rows: Rows, a: &mut Self::Buf, factors: &[u64]) -> Result<()>;
    /// acc <- acc + c x with one constant per limb.
    fn scale_add_assign(
        &self,
        rows: Rows,
        acc: &mut Self::Buf,
        x: Operand<'_, Self::Buf>,
        factors: &[u64],
    ) -> Result<()>;
    /// a <- a + c in every word, with one constant per limb: the constant polynomial c in
    /// evaluation form.
    fn add_scalar_assign(&self, rows: Rows, a: &mut Self::Buf, terms: &[u64]) -> Result<()>;
    /// dst <- src(X^g) for odd g < 2N.
    fn automorphism(
        &self,
        rows: Rows,
        domain: DomainKind,
        g: u64,
        src: Operand<'_, Self::Buf>,
        dst: &mut Self::Buf,
    ) -> Result<()>;
    /// Coefficients modulo the primes of `from` to those of `to`, as [`BaseConversion`] defines;
    /// both have one batch. For a prime of `from` itself it is the identity.
    fn convert_basis(&self, from: Rows, src: &Self::Buf, to: Rows, dst: &mut Self::Buf) -> Result<()>;
    /// Signed words (two's complement, batch x N of them) modulo every prime of the rows.
    fn reduce_signed(&self, rows: Rows, src: &Self::Buf, dst: &mut Self::Buf) -> Result<()>;
    /// Uniform residues of polynomial `index` under `seed`, as
    /// [`uniform_row`](crate::ring::uniform_row); batch entry b starts at element b N.
    fn sample_uniform(&self, rows: Rows, seed: &Seed, index: u32, dst: &mut Self::Buf) -> Result<()>;
    /// Ternary coefficients, as [`ternary_row`](crate::ring::ternary_row), modulo every prime of
    /// the rows.
    fn sample_ternary(&self, rows: Rows, seed: &Seed, index: u32, dst: &mut Self::Buf) -> Result<()>;
    /// Errors, as [`error_row`](crate::ring::error_row), modulo every prime of the rows.
    fn sample_error(&self, rows: Rows, seed: &Seed, index: u32, dst: &mut Self::Buf) -> Result<()>;

    /// (a0 b0, a0 b1 + a1 b0, a1 b1) in evaluation form; the rows start at word 0.
    fn tensor(
        &self,
        rows: Rows,
        a: [Operand<'_, Self::Buf>; 2],
        b: [Operand<'_, Self::Buf>; 2],
    ) -> Result<[Self::Buf; 3]> {
        let words = rows.count() * self.spec().n();
        let mut d =
            [self.backend().zeros(words)?, self.backend().zeros(words)?, self.backend().zeros(words)?];
        self.mul_add_assign(rows, &mut d[0], a[0], b[0])?;
        self.mul_add_assign(rows, &mut d[1], a[0], b[1])?;
        self.mul_add_assign(rows, &mut d[1], a[1], b[0])?;
        self.mul_add_assign(rows, &mut d[2], a[1], b[1])?;
        Ok(d)
    }

    /// A sum of tensor products, of multiples and of a constant, in evaluation form:
    /// (f sum_i a_i0 b_i0 + sum_j f_j t_j0 + c, f sum_i (a_i0 b_i1 + a_i1 b_i0) + sum_j f_j t_j1,
    /// f sum_i a_i1 b_i1), with f = 1 and c = 0 where `factors` and `constant` are empty.
    ///
    /// The rows start at word 0 and have at least one of the batches; operands have that or one.
    fn tensor_sum(
        &self,
        rows: Rows,
        products: &[[Pair<'_, Self::Buf>; 2]],
        factors: &[u64],
        multiples: &[Multiple<'_, Self::Buf>],
        constant: &[u64],
    ) -> Result<[Self::Buf; 3]> {
        let words = rows.count() * self.spec().n();
        let mut d =
            [self.backend().zeros(words)?, self.backend().zeros(words)?, self.backend().zeros(words)?];
        for &[a, b] in products {
            self.mul_add_assign(rows, &mut d[0], a[0], b[0])?;
            self.mul_add_assign(rows, &mut d[1], a[0], b[1])?;
            self.mul_add_assign(rows, &mut d[1], a[1], b[0])?;
            self.mul_add_assign(rows, &mut d[2], a[1], b[1])?;
        }
        if !factors.is_empty() {
            d.iter_mut().try_for_each(|d| self.scale_assign(rows, d, factors))?;
        }
        let [d0, d1, d2] = d;
        let [d0, d1] = add_multiples(self, rows, [d0, d1], multiples, constant)?;
        Ok([d0, d1, d2])
    }

    /// (sum_j f_j t_j0 + c, sum_j f_j t_j1), likewise.
    fn combine(
        &self,
        rows: Rows,
        multiples: &[Multiple<'_, Self::Buf>],
        constant: &[u64],
    ) -> Result<[Self::Buf; 2]> {
        let words = rows.count() * self.spec().n();
        let zeros = [self.backend().zeros(words)?, self.backend().zeros(words)?];
        add_multiples(self, rows, zeros, multiples, constant)
    }

    /// (a0 + b0, a1 + b1); the rows start at word 0 and have the batch of `a`, `b` that or one.
    fn add_pairs(
        &self,
        rows: Rows,
        a: [Operand<'_, Self::Buf>; 2],
        b: [Operand<'_, Self::Buf>; 2],
    ) -> Result<[Self::Buf; 2]> {
        on_copies(self, rows, a, b, Self::add_assign)
    }

    /// (a0 - b0, a1 - b1), likewise.
    fn sub_pairs(
        &self,
        rows: Rows,
        a: [Operand<'_, Self::Buf>; 2],
        b: [Operand<'_, Self::Buf>; 2],
    ) -> Result<[Self::Buf; 2]> {
        on_copies(self, rows, a, b, Self::sub_assign)
    }

    /// (a0 b0, a1 b1), likewise.
    fn mul_pairs(
        &self,
        rows: Rows,
        a: [Operand<'_, Self::Buf>; 2],
        b: [Operand<'_, Self::Buf>; 2],
    ) -> Result<[Self::Buf; 2]> {
        on_copies(self, rows, a, b, Self::mul_assign)
    }

    /// a + x y, word by word; the rows start at word 0 and have the batch of `a`, `x` and `y` that
    /// or one.
    fn mul_add(
        &self,
        rows: Rows,
        a: Operand<'_, Self::Buf>,
        x: Operand<'_, Self::Buf>,
        y: Operand<'_, Self::Buf>,
    ) -> Result<Self::Buf> {
        let mut sum = copy_of(self, rows, a)?;
        self.mul_add_assign(rows, &mut sum, x, y)?;
        Ok(sum)
    }

    /// Division with rounding to nearest by the product D of the limbs from `keep` on, in
    /// evaluation form: the result holds the first `keep` limbs, all of the chain. Equals
    /// `(x - [x]_D) / D` with `[x]_D` in `[-D/2, D/2)`. ModDown drops the special primes, rescaling
    /// drops the last one of the chain, and both can be one division.
    fn mod_down(&self, span: Span, keep: usize, batch: usize, mut src: Self::Buf) -> Result<Self::Buf> {
        let n = self.spec().n();
        let kept = Rows::new(span.head(keep), batch);
        let dropped = Rows::new(span.tail(keep), batch).at(keep * batch * n);
        self.intt(dropped, &mut src)?;
        let mut remainder = self.backend().zeros(kept.count() * n)?;
        self.convert_basis(dropped, &src, kept, &mut remainder)?;
        self.ntt(kept, &mut remainder)?;
        self.backend().truncate(&mut src, kept.count() * n);
        self.sub_assign(kept, &mut src, Operand::new(&remainder, batch))?;
        self.scale_assign(kept, &mut src, &inverse_of_dropped(self.spec(), span, keep))?;
        Ok(src)
    }

    /// [`mod_down`](Self::mod_down) of two polynomials, which are left unchanged.
    fn mod_down_pair(
        &self,
        span: Span,
        keep: usize,
        batch: usize,
        src: [&Self::Buf; 2],
    ) -> Result<[Self::Buf; 2]> {
        let divided = |src: &Self::Buf| {
            let copy = copy_of(self, Rows::new(span, batch), Operand::new(src, batch))?;
            self.mod_down(span, keep, batch, copy)
        };
        Ok([divided(src[0])?, divided(src[1])?])
    }

    /// [`mod_down`](Self::mod_down) of the products of two polynomials and a factor of their batch
    /// or of one.
    fn mul_mod_down_pair(
        &self,
        span: Span,
        keep: usize,
        batch: usize,
        src: [&Self::Buf; 2],
        factor: Operand<'_, Self::Buf>,
    ) -> Result<[Self::Buf; 2]> {
        let operands = src.map(|src| Operand::new(src, batch));
        let [first, second] = self.mul_pairs(Rows::new(span, batch), operands, [factor; 2])?;
        Ok([self.mod_down(span, keep, batch, first)?, self.mod_down(span, keep, batch, second)?])
    }
}

/// A back end whose rings have all operations of the schemes over RNS rings: what public types ask
/// of a back end. Whatever has the parts has this.
pub trait RingOps: Backend<Ring: KeySwitchOps + CkksOps + ExactOps + MatrixOps> {}

impl<B: Backend<Ring: KeySwitchOps + CkksOps + ExactOps + MatrixOps>> RingOps for B {}

/// A [`RingOps`] whose rings also have the operations modulo powers of two.
pub trait WideOps: RingOps + Backend<Ring: WidePolyOps> {}

impl<B: RingOps + Backend<Ring: WidePolyOps>> WideOps for B {}

/// Adds multiples to both parts of a pair, and a constant to the first.
fn add_multiples<R: PolyOps>(
    ring: &R,
    rows: Rows,
    mut sums: [R::Buf; 2],
    multiples: &[Multiple<'_, R::Buf>],
    constant: &[u64],
) -> Result<[R::Buf; 2]> {
    for Multiple { pair, factors } in multiples {
        for (sum, part) in sums.iter_mut().zip(pair) {
            ring.scale_add_assign(rows, sum, *part, factors)?;
        }
    }
    if !constant.is_empty() {
        ring.add_scalar_assign(rows, &mut sums[0], constant)?;
    }
    Ok(sums)
}

/// Copies an operand with the batch of the rows.
fn copy_of<R: PolyOps>(ring: &R, rows: Rows, operand: Operand<'_, R::Buf>) -> Result<R::Buf> {
    let words = rows.count() * ring.spec().n();
    let mut copy = ring.backend().scratch(words)?;
    ring.backend().copy(operand.buf, operand.at, &mut copy, 0, words)?;
    Ok(copy)
}

/// Copies of both `a` with the batch of the rows, to each of which `f` applies its `b`.
fn on_copies<R: PolyOps>(
    ring: &R,
    rows: Rows,
    [first, second]: [Operand<'_, R::Buf>; 2],
    b: [Operand<'_, R::Buf>; 2],
    f: impl Fn(&R, Rows, &mut R::Buf, Operand<'_, R::Buf>) -> Result<()>,
) -> Result<[R::Buf; 2]> {
    let mut copies = [copy_of(ring, rows, first)?, copy_of(ring, rows, second)?];
    for (copy, b) in copies.iter_mut().zip(b) {
        f(ring, rows, copy, b)?;
    }
    Ok(copies)
}

/// D^-1 modulo each kept prime, D the product of the dropped ones: the constants of
/// [`PolyOps::mod_down`].
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
