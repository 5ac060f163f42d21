//! Two back ends that must leave the same words.

mod wide;

use crate::backend::{
    Backend, Embedding, KeySwitchShape, PlainPhase, Remainders, RingOps, RotationTerm, ScaledTensor, Weight,
};
use crate::error::{Error, Result};
use crate::ring::{DomainKind, Operand, RingSpec, Rows, Seed, Span};
use num_complex::Complex64;
use std::ops::Range;

/// A back end made of two: every operation runs on both, each with its own bodies of the coarse operations, and the whole of
/// each buffer written is compared. The first difference is an [`Error::Backend`] with the operation's name and a
/// [`MirrorMismatch`] as its source.
///
/// `truncate` and `wipe` report nothing; their effect is compared by the next operation that writes or downloads the buffer.
///
/// A tool for tests: it holds everything twice, downloads every result, and its errors tell words, secret ones included.
#[derive(Clone, Debug)]
pub struct Mirror<L, R> {
    left: L,
    right: R,
}

/// One buffer on each side.
#[derive(Debug)]
pub struct MirrorBuf<L, R> {
    left: L,
    right: R,
}

/// The tables of both sides.
#[derive(Debug)]
pub struct MirrorTables<L, R> {
    left: L,
    right: R,
}

/// The first difference between two back ends.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "after {op}, word {index} of result {output} is {} on {left} and {} on {right}",
    word(left_word),
    word(right_word)
)]
pub struct MirrorMismatch {
    /// Name of the left back end.
    pub left: String,
    /// Name of the right back end, or of the rule that the left one broke.
    pub right: String,
    /// The operation.
    pub op: &'static str,
    /// Which of the operation's results differs, counted from 0.
    pub output: usize,
    /// Index of the first word that differs.
    pub index: usize,
    /// The left word; none if the left buffer ends there.
    pub left_word: Option<u64>,
    /// The right word; none if the right buffer ends there.
    pub right_word: Option<u64>,
}

fn word(word: &Option<u64>) -> String {
    word.map_or_else(|| "missing".into(), |word| word.to_string())
}

/// The first index at which two lists of words differ, the length included.
pub(super) fn first_difference(left: &[u64], right: &[u64]) -> Option<usize> {
    let common = left.iter().zip(right).position(|(l, r)| l != r);
    common.or_else(|| (left.len() != right.len()).then(|| left.len().min(right.len())))
}

impl<L, R> Mirror<L, R> {
    /// Joins two back ends.
    pub const fn new(left: L, right: R) -> Self {
        Self { left, right }
    }

    /// The left back end.
    pub const fn left(&self) -> &L {
        &self.left
    }

    /// The right back end.
    pub const fn right(&self) -> &R {
        &self.right
    }
}

impl<L, R> MirrorBuf<L, R> {
    /// The left buffer.
    pub const fn left(&self) -> &L {
        &self.left
    }

    /// The right buffer.
    pub const fn right(&self) -> &R {
        &self.right
    }
}

fn left_of<'a, L, R>(x: Operand<'a, MirrorBuf<L, R>>) -> Operand<'a, L> {
    Operand::at(&x.buf.left, x.batch, x.at)
}

/// The same phases of the words of one side.
fn phase_of<'a, T, S>(message: PlainPhase<'a, T>, words: &'a S) -> PlainPhase<'a, S> {
    let PlainPhase { modulus, factor, scale, .. } = message;
    PlainPhase { words, modulus, factor, scale }
}

fn right_of<'a, L, R>(x: Operand<'a, MirrorBuf<L, R>>) -> Operand<'a, R> {
    Operand::at(&x.buf.right, x.batch, x.at)
}

impl<L: Backend, R: Backend> Mirror<L, R> {
    /// The results of both sides, or the refusal in which they agree.
    fn agreed<T, U>(&self, op: &'static str, left: Result<T>, right: Result<U>) -> Result<(T, U)> {
        match (left, right) {
            (Ok(left), Ok(right)) => Ok((left, right)),
            (Err(left), Err(right)) if left.to_string() == right.to_string() => Err(left),
            (Err(error @ Error::Backend { .. }), _) | (_, Err(error @ Error::Backend { .. })) => Err(error),
            (left, right) => {
                let (left, right) = (left.err(), right.err());
                let source = format!("{}: {left:?}; {}: {right:?}", self.left.name(), self.right.name());
                Err(Error::Backend { op, source: source.into() })
            }
        }
    }

    /// Compares vectors of complex numbers bit by bit.
    fn same_vectors(
        &self,
        op: &'static str,
        left: &[Vec<Complex64>],
        right: &[Vec<Complex64>],
    ) -> Result<()> {
        let bits = |vectors: &[Vec<Complex64>]| -> Vec<u64> {
            vectors.iter().flatten().flat_map(|z| [z.re.to_bits(), z.im.to_bits()]).collect()
        };
        self.same_words(op, 0, &bits(left), &bits(right))
    }

    fn same_words(&self, op: &'static str, output: usize, left: &[u64], right: &[u64]) -> Result<()> {
        match first_difference(left, right) {
            None => Ok(()),
            Some(index) => Err(Error::Backend {
                op,
                source: Box::new(MirrorMismatch {
                    left: self.left.name(),
                    right: self.right.name(),
                    op,
                    output,
                    index,
                    left_word: left.get(index).copied(),
                    right_word: right.get(index).copied(),
                }),
            }),
        }
    }

    fn compare(&self, op: &'static str, output: usize, buf: &MirrorBuf<L::Buf, R::Buf>) -> Result<()> {
        let left = self.left.download(&buf.left, 0..self.left.words(&buf.left))?;
        let right = self.right.download(&buf.right, 0..self.right.words(&buf.right))?;
        self.same_words(op, output, &left, &right)
    }

    fn join<const N: usize>(
        &self,
        op: &'static str,
        left: [L::Buf; N],
        right: [R::Buf; N],
    ) -> Result<[MirrorBuf<L::Buf, R::Buf>; N]> {
        let joined: Vec<_> =
            left.into_iter().zip(right).map(|(left, right)| MirrorBuf { left, right }).collect();
        for (output, buf) in joined.iter().enumerate() {
            self.compare(op, output, buf)?;
        }
        joined.try_into().map_err(|_| Error::Argument { what: "results", why: "too few".into() })
    }
}

impl<L: Backend, R: Backend> Backend for Mirror<L, R> {
    type Buf = MirrorBuf<L::Buf, R::Buf>;
    type Tables = MirrorTables<L::Tables, R::Tables>;

    fn name(&self) -> String {
        format!("mirror of {} and {}", self.left.name(), self.right.name())
    }

    fn tables(&self, spec: &RingSpec) -> Result<Self::Tables> {
        Ok(MirrorTables { left: self.left.tables(spec)?, right: self.right.tables(spec)? })
    }

    fn zeros(&self, words: usize) -> Result<Self::Buf> {
        let buf = MirrorBuf { left: self.left.zeros(words)?, right: self.right.zeros(words)? };
        self.compare("zeros", 0, &buf)?;
        Ok(buf)
    }

    fn upload(&self, words: &[u64]) -> Result<Self::Buf> {
        let buf = MirrorBuf { left: self.left.upload(words)?, right: self.right.upload(words)? };
        self.compare("upload", 0, &buf)?;
        Ok(buf)
    }

    fn download(&self, buf: &Self::Buf, range: Range<usize>) -> Result<Vec<u64>> {
        let left = self.left.download(&buf.left, range.clone())?;
        let right = self.right.download(&buf.right, range)?;
        self.same_words("download", 0, &left, &right)?;
        Ok(left)
    }

    fn copy(
        &self,
        src: &Self::Buf,
        src_at: usize,
        dst: &mut Self::Buf,
        dst_at: usize,
        words: usize,
    ) -> Result<()> {
        self.left.copy(&src.left, src_at, &mut dst.left, dst_at, words)?;
        self.right.copy(&src.right, src_at, &mut dst.right, dst_at, words)?;
        self.compare("copy", 0, dst)
    }

    /// Words of the left buffer; another number on the right is reported by the next comparison.
    fn words(&self, buf: &Self::Buf) -> usize {
        self.left.words(&buf.left)
    }

    fn truncate(&self, buf: &mut Self::Buf, words: usize) {
        self.left.truncate(&mut buf.left, words);
        self.right.truncate(&mut buf.right, words);
    }

    fn wipe(&self, buf: &mut Self::Buf) {
        self.left.wipe(&mut buf.left);
        self.right.wipe(&mut buf.right);
    }

    fn synchronize(&self) -> Result<()> {
        self.left.synchronize()?;
        self.right.synchronize()
    }

    fn together<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.left.together(|| self.right.together(work))
    }
}

/// One side of the terms of a sum of rotations.
fn side<'a, L, R, T>(
    terms: &'a [RotationTerm<'_, MirrorBuf<L, R>>],
    take: impl Fn(&'a MirrorBuf<L, R>) -> &'a T,
) -> Vec<RotationTerm<'a, T>> {
    terms
        .iter()
        .map(|term| RotationTerm {
            g: term.g,
            key: term.key.map(&take),
            weight: match &term.weight {
                Weight::Scalar(factors) => Weight::Scalar(factors.clone()),
                Weight::Poly(poly) => Weight::Poly(take(poly)),
            },
        })
        .collect()
}

impl<L: RingOps, R: RingOps> RingOps for Mirror<L, R> {
    fn spec<'a>(&self, t: &'a Self::Tables) -> &'a RingSpec {
        self.left.spec(&t.left)
    }

    fn ntt(&self, t: &Self::Tables, rows: Rows, a: &mut Self::Buf) -> Result<()> {
        self.left.ntt(&t.left, rows, &mut a.left)?;
        self.right.ntt(&t.right, rows, &mut a.right)?;
        self.compare("ntt", 0, a)
    }

    fn intt(&self, t: &Self::Tables, rows: Rows, a: &mut Self::Buf) -> Result<()> {
        self.left.intt(&t.left, rows, &mut a.left)?;
        self.right.intt(&t.right, rows, &mut a.right)?;
        self.compare("intt", 0, a)
    }

    fn add_assign(
        &self,
        t: &Self::Tables,
        rows: Rows,
        a: &mut Self::Buf,
        b: Operand<'_, Self::Buf>,
    ) -> Result<()> {
        self.left.add_assign(&t.left, rows, &mut a.left, left_of(b))?;
        self.right.add_assign(&t.right, rows, &mut a.right, right_of(b))?;
        self.compare("add_assign", 0, a)
    }

    fn sub_assign(
        &self,
        t: &Self::Tables,
        rows: Rows,
        a: &mut Self::Buf,
        b: Operand<'_, Self::Buf>,
    ) -> Result<()> {
        self.left.sub_assign(&t.left, rows, &mut a.left, left_of(b))?;
        self.right.sub_assign(&t.right, rows, &mut a.right, right_of(b))?;
        self.compare("sub_assign", 0, a)
    }

    fn neg_assign(&self, t: &Self::Tables, rows: Rows, a: &mut Self::Buf) -> Result<()> {
        self.left.neg_assign(&t.left, rows, &mut a.left)?;
        self.right.neg_assign(&t.right, rows, &mut a.right)?;
        self.compare("neg_assign", 0, a)
    }

    fn mul_assign(
        &self,
        t: &Self::Tables,
        rows: Rows,
        a: &mut Self::Buf,
        b: Operand<'_, Self::Buf>,
    ) -> Result<()> {
        self.left.mul_assign(&t.left, rows, &mut a.left, left_of(b))?;
        self.right.mul_assign(&t.right, rows, &mut a.right, right_of(b))?;
        self.compare("mul_assign", 0, a)
    }

    fn mul_add_assign(
        &self,
        t: &Self::Tables,
        rows: Rows,
        acc: &mut Self::Buf,
        x: Operand<'_, Self::Buf>,
        y: Operand<'_, Self::Buf>,
    ) -> Result<()> {
        self.left.mul_add_assign(&t.left, rows, &mut acc.left, left_of(x), left_of(y))?;
        self.right.mul_add_assign(&t.right, rows, &mut acc.right, right_of(x), right_of(y))?;
        self.compare("mul_add_assign", 0, acc)
    }

    fn scale_assign(&self, t: &Self::Tables, rows: Rows, a: &mut Self::Buf, factors: &[u64]) -> Result<()> {
        self.left.scale_assign(&t.left, rows, &mut a.left, factors)?;
        self.right.scale_assign(&t.right, rows, &mut a.right, factors)?;
        self.compare("scale_assign", 0, a)
    }

    fn scale_add_assign(
        &self,
        t: &Self::Tables,
        rows: Rows,
        acc: &mut Self::Buf,
        x: Operand<'_, Self::Buf>,
        factors: &[u64],
    ) -> Result<()> {
        self.left.scale_add_assign(&t.left, rows, &mut acc.left, left_of(x), factors)?;
        self.right.scale_add_assign(&t.right, rows, &mut acc.right, right_of(x), factors)?;
        self.compare("scale_add_assign", 0, acc)
    }

    fn shift_assign(&self, t: &Self::Tables, rows: Rows, a: &mut Self::Buf, terms: &[u64]) -> Result<()> {
        self.left.shift_assign(&t.left, rows, &mut a.left, terms)?;
        self.right.shift_assign(&t.right, rows, &mut a.right, terms)?;
        self.compare("shift_assign", 0, a)
    }

    fn automorphism(
        &self,
        t: &Self::Tables,
        rows: Rows,
        domain: DomainKind,
        g: u64,
        src: Operand<'_, Self::Buf>,
        dst: &mut Self::Buf,
    ) -> Result<()> {
        self.left.automorphism(&t.left, rows, domain, g, left_of(src), &mut dst.left)?;
        self.right.automorphism(&t.right, rows, domain, g, right_of(src), &mut dst.right)?;
        self.compare("automorphism", 0, dst)
    }

    fn convert_basis(
        &self,
        t: &Self::Tables,
        from: Rows,
        src: &Self::Buf,
        to: Rows,
        dst: &mut Self::Buf,
    ) -> Result<()> {
        self.left.convert_basis(&t.left, from, &src.left, to, &mut dst.left)?;
        self.right.convert_basis(&t.right, from, &src.right, to, &mut dst.right)?;
        self.compare("convert_basis", 0, dst)
    }

    fn reduce_signed(
        &self,
        t: &Self::Tables,
        rows: Rows,
        src: &Self::Buf,
        dst: &mut Self::Buf,
    ) -> Result<()> {
        self.left.reduce_signed(&t.left, rows, &src.left, &mut dst.left)?;
        self.right.reduce_signed(&t.right, rows, &src.right, &mut dst.right)?;
        self.compare("reduce_signed", 0, dst)
    }

    fn sample_uniform(
        &self,
        t: &Self::Tables,
        rows: Rows,
        seed: &Seed,
        index: u32,
        dst: &mut Self::Buf,
    ) -> Result<()> {
        self.left.sample_uniform(&t.left, rows, seed, index, &mut dst.left)?;
        self.right.sample_uniform(&t.right, rows, seed, index, &mut dst.right)?;
        self.compare("sample_uniform", 0, dst)
    }

    fn sample_ternary(
        &self,
        t: &Self::Tables,
        rows: Rows,
        seed: &Seed,
        index: u32,
        dst: &mut Self::Buf,
    ) -> Result<()> {
        self.left.sample_ternary(&t.left, rows, seed, index, &mut dst.left)?;
        self.right.sample_ternary(&t.right, rows, seed, index, &mut dst.right)?;
        self.compare("sample_ternary", 0, dst)
    }

    fn sample_error(
        &self,
        t: &Self::Tables,
        rows: Rows,
        seed: &Seed,
        index: u32,
        dst: &mut Self::Buf,
    ) -> Result<()> {
        self.left.sample_error(&t.left, rows, seed, index, &mut dst.left)?;
        self.right.sample_error(&t.right, rows, seed, index, &mut dst.right)?;
        self.compare("sample_error", 0, dst)
    }

    fn tensor(
        &self,
        t: &Self::Tables,
        rows: Rows,
        a: [Operand<'_, Self::Buf>; 2],
        b: [Operand<'_, Self::Buf>; 2],
    ) -> Result<[Self::Buf; 3]> {
        let left = self.left.tensor(&t.left, rows, a.map(left_of), b.map(left_of))?;
        let right = self.right.tensor(&t.right, rows, a.map(right_of), b.map(right_of))?;
        self.join("tensor", left, right)
    }

    fn decompose(&self, t: &Self::Tables, shape: &KeySwitchShape, src: &Self::Buf) -> Result<Self::Buf> {
        let buf = MirrorBuf {
            left: self.left.decompose(&t.left, shape, &src.left)?,
            right: self.right.decompose(&t.right, shape, &src.right)?,
        };
        self.compare("decompose", 0, &buf)?;
        Ok(buf)
    }

    fn key_product(
        &self,
        t: &Self::Tables,
        shape: &KeySwitchShape,
        digits: &Self::Buf,
        key: &Self::Buf,
    ) -> Result<[Self::Buf; 2]> {
        let left = self.left.key_product(&t.left, shape, &digits.left, &key.left)?;
        let right = self.right.key_product(&t.right, shape, &digits.right, &key.right)?;
        self.join("key_product", left, right)
    }

    fn add_pairs(
        &self,
        t: &Self::Tables,
        rows: Rows,
        a: [Operand<'_, Self::Buf>; 2],
        b: [Operand<'_, Self::Buf>; 2],
    ) -> Result<[Self::Buf; 2]> {
        let left = self.left.add_pairs(&t.left, rows, a.map(left_of), b.map(left_of))?;
        let right = self.right.add_pairs(&t.right, rows, a.map(right_of), b.map(right_of))?;
        self.join("add_pairs", left, right)
    }

    fn sub_pairs(
        &self,
        t: &Self::Tables,
        rows: Rows,
        a: [Operand<'_, Self::Buf>; 2],
        b: [Operand<'_, Self::Buf>; 2],
    ) -> Result<[Self::Buf; 2]> {
        let left = self.left.sub_pairs(&t.left, rows, a.map(left_of), b.map(left_of))?;
        let right = self.right.sub_pairs(&t.right, rows, a.map(right_of), b.map(right_of))?;
        self.join("sub_pairs", left, right)
    }

    fn mul_add(
        &self,
        t: &Self::Tables,
        rows: Rows,
        a: Operand<'_, Self::Buf>,
        x: Operand<'_, Self::Buf>,
        y: Operand<'_, Self::Buf>,
    ) -> Result<Self::Buf> {
        let left = self.left.mul_add(&t.left, rows, left_of(a), left_of(x), left_of(y))?;
        let right = self.right.mul_add(&t.right, rows, right_of(a), right_of(x), right_of(y))?;
        let [sum] = self.join("mul_add", [left], [right])?;
        Ok(sum)
    }

    fn apply_automorphism(
        &self,
        t: &Self::Tables,
        shape: &KeySwitchShape,
        c: [&Self::Buf; 2],
        key: &Self::Buf,
        g: u64,
    ) -> Result<[Self::Buf; 2]> {
        let left = self.left.apply_automorphism(&t.left, shape, c.map(|c| &c.left), &key.left, g)?;
        let right = self.right.apply_automorphism(&t.right, shape, c.map(|c| &c.right), &key.right, g)?;
        self.join("apply_automorphism", left, right)
    }

    fn mod_down_pair(
        &self,
        t: &Self::Tables,
        span: Span,
        keep: usize,
        batch: usize,
        src: [&Self::Buf; 2],
    ) -> Result<[Self::Buf; 2]> {
        let left = self.left.mod_down_pair(&t.left, span, keep, batch, src.map(|src| &src.left))?;
        let right = self.right.mod_down_pair(&t.right, span, keep, batch, src.map(|src| &src.right))?;
        self.join("mod_down_pair", left, right)
    }

    fn relinearize(
        &self,
        t: &Self::Tables,
        shape: &KeySwitchShape,
        d: [&Self::Buf; 3],
        key: &Self::Buf,
        keep: usize,
    ) -> Result<[Self::Buf; 2]> {
        let left = self.left.relinearize(&t.left, shape, d.map(|d| &d.left), &key.left, keep)?;
        let right = self.right.relinearize(&t.right, shape, d.map(|d| &d.right), &key.right, keep)?;
        self.join("relinearize", left, right)
    }

    fn switch_automorphism(
        &self,
        t: &Self::Tables,
        shape: &KeySwitchShape,
        c0: &Self::Buf,
        digits: &Self::Buf,
        key: &Self::Buf,
        g: u64,
    ) -> Result<[Self::Buf; 2]> {
        let left = self.left.switch_automorphism(&t.left, shape, &c0.left, &digits.left, &key.left, g)?;
        let right =
            self.right.switch_automorphism(&t.right, shape, &c0.right, &digits.right, &key.right, g)?;
        self.join("switch_automorphism", left, right)
    }

    fn mod_down(
        &self,
        t: &Self::Tables,
        span: Span,
        keep: usize,
        batch: usize,
        src: Self::Buf,
    ) -> Result<Self::Buf> {
        let buf = MirrorBuf {
            left: self.left.mod_down(&t.left, span, keep, batch, src.left)?,
            right: self.right.mod_down(&t.right, span, keep, batch, src.right)?,
        };
        self.compare("mod_down", 0, &buf)?;
        Ok(buf)
    }

    fn rotate_and_sum(
        &self,
        t: &Self::Tables,
        shape: &KeySwitchShape,
        c: [&Self::Buf; 2],
        digits: &Self::Buf,
        terms: &[RotationTerm<'_, Self::Buf>],
    ) -> Result<[Self::Buf; 2]> {
        let left = self.left.rotate_and_sum(
            &t.left,
            shape,
            c.map(|c| &c.left),
            &digits.left,
            &side(terms, |buf| &buf.left),
        )?;
        let right = self.right.rotate_and_sum(
            &t.right,
            shape,
            c.map(|c| &c.right),
            &digits.right,
            &side(terms, |buf| &buf.right),
        )?;
        self.join("rotate_and_sum", left, right)
    }

    fn scaled_tensor(
        &self,
        t: &Self::Tables,
        shape: &ScaledTensor,
        a: [Operand<'_, Self::Buf>; 2],
        b: [Operand<'_, Self::Buf>; 2],
    ) -> Result<[Self::Buf; 3]> {
        let left = self.left.scaled_tensor(&t.left, shape, a.map(left_of), b.map(left_of))?;
        let right = self.right.scaled_tensor(&t.right, shape, a.map(right_of), b.map(right_of))?;
        self.join("scaled_tensor", left, right)
    }

    fn plain_phase(
        &self,
        t: &Self::Tables,
        rows: Rows,
        message: PlainPhase<'_, Self::Buf>,
    ) -> Result<Self::Buf> {
        let left = self.left.plain_phase(&t.left, rows, phase_of(message, &message.words.left))?;
        let right = self.right.plain_phase(&t.right, rows, phase_of(message, &message.words.right))?;
        let [buf] = self.join("plain_phase", [left], [right])?;
        Ok(buf)
    }

    fn encrypt(
        &self,
        t: &Self::Tables,
        rows: Rows,
        seed: &Seed,
        key: [Operand<'_, Self::Buf>; 2],
        message: Option<PlainPhase<'_, Self::Buf>>,
    ) -> Result<[Self::Buf; 2]> {
        let phase = message.map(|message| phase_of(message, &message.words.left));
        let left = self.left.encrypt(&t.left, rows, seed, key.map(left_of), phase)?;
        let phase = message.map(|message| phase_of(message, &message.words.right));
        let right = self.right.encrypt(&t.right, rows, seed, key.map(right_of), phase)?;
        self.join("encrypt", left, right)
    }

    fn remainders(
        &self,
        t: &Self::Tables,
        rows: Rows,
        c: [Operand<'_, Self::Buf>; 2],
        secret: Operand<'_, Self::Buf>,
        to: Remainders<'_>,
    ) -> Result<Self::Buf> {
        let left = self.left.remainders(&t.left, rows, c.map(left_of), left_of(secret), to)?;
        let right = self.right.remainders(&t.right, rows, c.map(right_of), right_of(secret), to)?;
        let [buf] = self.join("remainders", [left], [right])?;
        Ok(buf)
    }

    fn gather(&self, t: &Self::Tables, rows: Rows, index: &Self::Buf, src: &Self::Buf) -> Result<Self::Buf> {
        let left = self.left.gather(&t.left, rows, &index.left, &src.left)?;
        let right = self.right.gather(&t.right, rows, &index.right, &src.right)?;
        let [buf] = self.join("gather", [left], [right])?;
        Ok(buf)
    }

    /// Refusals are compared by their messages.
    fn encode_slots(
        &self,
        t: &Self::Tables,
        rows: Rows,
        vectors: &[&[Complex64]],
        to: Embedding<'_>,
    ) -> Result<Self::Buf> {
        let left = self.left.encode_slots(&t.left, rows, vectors, to);
        let right = self.right.encode_slots(&t.right, rows, vectors, to);
        let (left, right) = self.agreed("encode_slots", left, right)?;
        let [buf] = self.join("encode_slots", [left], [right])?;
        Ok(buf)
    }

    fn decode_slots(
        &self,
        t: &Self::Tables,
        rows: Rows,
        src: &Self::Buf,
        from: Embedding<'_>,
    ) -> Result<Vec<Vec<Complex64>>> {
        let left = self.left.decode_slots(&t.left, rows, &src.left, from)?;
        let right = self.right.decode_slots(&t.right, rows, &src.right, from)?;
        self.same_vectors("decode_slots", &left, &right)?;
        Ok(left)
    }
}
